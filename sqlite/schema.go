package sqlite

import (
	"embed"
	"errors"
	"fmt"

	"filmroom/sqlite/internal/lite"
)

// scripts holds the schema's versions: 01.sql makes the first, each other one goes on from the one
// before. A script that was released is never changed.
//
//go:embed schema/*.sql
var scripts embed.FS

// applicationID marks the file as ours, see PRAGMA application_id: "Film".
const applicationID = 0x46696c6d

// setsVersion is the version that brought task_sets, which no SQL can fill.
const setsVersion = 6

// migrate brings the schema to the newest version, in one transaction, or leaves the file as it was.
// Beside a server only an empty file is written to: changing the schema is the server's to do.
func migrate(c *lite.Conn, beside bool) (err error) {
	newest, err := newestVersion()
	if err != nil {
		return err
	}
	if version, err := schemaVersion(c); err != nil || version == newest {
		return err
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil { // not kept: the schema it was planned for is about to go
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Do("ROLLBACK"))
		}
	}()
	version, err := schemaVersion(c) // another process may have been faster
	if err != nil {
		return err
	}
	if version > newest || beside && version > 0 && version < newest {
		return fmt.Errorf("its schema has version %d, this program needs %d: run the version of the program that the server runs", version, newest)
	}
	for v := version + 1; v <= newest; v++ {
		if err := upgrade(c, v); err != nil {
			return fmt.Errorf("schema version %d: %w", v, err)
		}
	}
	return c.Do("COMMIT")
}

func newestVersion() (int, error) {
	files, err := scripts.ReadDir("schema")
	return len(files), err
}

func upgrade(c *lite.Conn, version int) error {
	script, err := scripts.ReadFile(fmt.Sprintf("schema/%02d.sql", version))
	if err != nil {
		return err
	}
	if err := c.Exec(string(script)); err != nil {
		return err
	}
	if version == setsVersion {
		if err := sealAll(c); err != nil {
			return err
		}
	}
	return c.Exec(fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d;", version, applicationID))
}

// schemaVersion is 0 for an empty file. A file that is some other program's is refused.
func schemaVersion(c *lite.Conn) (int, error) {
	version, err := pragma(c, "PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	id, err := pragma(c, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	if version != 0 && id != applicationID {
		return 0, errors.New("it is a database of another program")
	}
	return version, nil
}

func pragma(c *lite.Conn, sql string) (value int, err error) {
	s := c.Stmt(sql)
	if s.Next() {
		value = int(s.ReadInt())
	}
	return value, s.Err()
}
