package lite

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

// A Stmt is one prepared statement in use: arguments are bound and columns read one after another, in
// their order in the SQL. The first error sticks and comes out of [Stmt.Err] or [Stmt.Run]:
//
//	s := c.Stmt(`SELECT name FROM users WHERE userId = ?`).Text(id)
//	for s.Next() {
//		name = s.ReadText()
//	}
//	return s.Err()
type Stmt struct {
	c      *Conn
	p      *sqlite.Stmt // nil when it could not be prepared
	sql    string
	params int
	arg    int  // the last argument bound
	col    int  // the next column to read
	active bool // between the first Next and the end
	err    error
}

// Stmt returns the statement, prepared once per connection and ready for its arguments. A statement
// that is still being read must not be asked for again.
func (c *Conn) Stmt(sql string) *Stmt {
	s := c.stmts[sql]
	if s == nil {
		if s = c.prepare(sql); s.p == nil {
			return s
		}
		c.stmts[sql] = s
	}
	if s.active {
		panic("sqlite: a statement is used inside its own rows: " + sql)
	}
	s.arg, s.col, s.err = 0, 0, nil
	return s
}

// SQLite looks into the values of parameters when it plans: of a bare "LIMIT ?", and of "status = ?" because
// partial indexes name statuses. It then plans the statement anew whenever another value is bound, which costs
// several times what the statement does. Behind a plus it does not look.
var settled = strings.NewReplacer("LIMIT ?", "LIMIT ?+0", "status = ?", "status = +?")

func (c *Conn) prepare(sql string) *Stmt {
	p, err := c.db.Prepare(settled.Replace(strings.TrimSpace(sql)))
	if err != nil {
		return &Stmt{c: c, err: err}
	}
	if c.planned != nil {
		c.planned(sql, false)
	}
	return &Stmt{c: c, p: p, sql: sql, params: p.BindParamCount()}
}

// bind gives the next argument, unless the statement has failed already.
func (s *Stmt) bind(one func(p *sqlite.Stmt, arg int)) *Stmt {
	s.arg++
	if s.p != nil {
		one(s.p, s.arg)
	}
	return s
}

// Int binds an integer.
func (s *Stmt) Int(v int64) *Stmt {
	return s.bind(func(p *sqlite.Stmt, arg int) { p.BindInt64(arg, v) })
}

// Float binds a number.
func (s *Stmt) Float(v float64) *Stmt {
	return s.bind(func(p *sqlite.Stmt, arg int) { p.BindFloat(arg, v) })
}

// Bool binds 1 or 0.
func (s *Stmt) Bool(v bool) *Stmt {
	return s.bind(func(p *sqlite.Stmt, arg int) { p.BindBool(arg, v) })
}

// Time binds whole milliseconds since 1970, or NULL for the zero time.
func (s *Stmt) Time(v time.Time) *Stmt {
	if v.IsZero() {
		return s.Null()
	}
	return s.Int(v.UnixMilli())
}

// Null binds NULL.
func (s *Stmt) Null() *Stmt {
	return s.bind(func(p *sqlite.Stmt, arg int) { p.BindNull(arg) })
}

// Text binds a string.
func (s *Stmt) Text(v string) *Stmt {
	return s.bind(func(p *sqlite.Stmt, arg int) { p.BindText(arg, v) })
}

// JSON binds bytes of UTF-8 as text, or NULL for nil.
func (s *Stmt) JSON(v []byte) *Stmt {
	if v == nil {
		return s.Null()
	}
	return s.Text(string(v))
}

// Blob binds bytes, or NULL for nil.
func (s *Stmt) Blob(v []byte) *Stmt {
	if v == nil {
		return s.Null()
	}
	return s.bind(func(p *sqlite.Stmt, arg int) { p.BindBytes(arg, v) })
}

// Encode binds v as JSON text.
func (s *Stmt) Encode(v any) *Stmt {
	text, err := json.Marshal(v)
	if err != nil && s.err == nil {
		s.err = err
	}
	return s.JSON(text)
}

// Next moves to the next row; false at the end and on an error.
func (s *Stmt) Next() bool {
	if s.err != nil {
		s.Done()
		return false
	}
	if !s.active && s.arg != s.params {
		panic(fmt.Sprintf("sqlite: %d arguments for %d parameters", s.arg, s.params))
	}
	s.active, s.col = true, 0
	plans := s.c.plans
	row, err := s.p.Step()
	if s.c.plans != plans {
		s.c.planned(s.sql, true)
	}
	if row {
		return true
	}
	s.err = err
	s.Done()
	return false
}

// Done leaves the rows that have not been read.
func (s *Stmt) Done() {
	if s.active {
		_ = s.p.Reset() // repeats the error of the last step
		s.active = false
	}
}

// Err ends the statement's use and returns what went wrong.
func (s *Stmt) Err() error {
	s.Done()
	return s.err
}

// Run runs the statement to its end.
func (s *Stmt) Run() error {
	for s.Next() {
	}
	return s.err
}

// Changes runs the statement and returns how many rows it changed.
func (s *Stmt) Changes() (int, error) {
	if err := s.Run(); err != nil {
		return 0, err
	}
	return s.c.db.Changes(), nil
}
