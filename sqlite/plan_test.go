package sqlite

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"filmroom/accounts"
	"filmroom/accounts/accountstest"
	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// TestEveryQueryHasAnIndex runs the suites, which use all there is, and reads the plan of each statement
// that was prepared: none walks over a whole table and none sorts what it found.
func TestEveryQueryHasAnIndex(t *testing.T) {
	t.Parallel()
	heard := &statements{}
	t.Run("suites", func(t *testing.T) { heard.listen(t) })

	c, err := lite.Open(filepath.Join(t.TempDir(), "plan.db"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := migrate(c, false); err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(maps.Keys(heard.sql))
	if len(all) < 60 {
		t.Fatalf("only %d statements were heard of", len(all))
	}
	for _, sql := range all {
		plan := explain(t, c, sql)
		if bad := scans(plan); bad != "" {
			t.Errorf("%s\n%s: %s", sql, bad, plan)
		}
	}
}

// statements gathers what connections prepare.
type statements struct {
	mu  sync.Mutex
	sql map[string]bool
}

func (s *statements) add(sql string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sql == nil {
		s.sql = map[string]bool{}
	}
	s.sql[sql] = true
}

func (s *statements) listen(t *testing.T) {
	for _, tune := range append(large, tuning{}) {
		open := func(t testing.TB) *DB {
			return openAt(t, filepath.Join(t.TempDir(), "test.db"), Options{prepared: s.add, tuning: tune})
		}
		taskstest.Test(t, taskstest.Harness{New: func(t testing.TB) tasks.Store { return open(t).Tasks() }})
		imagingtest.Test(t, imagingtest.Harness{New: func(t testing.TB) imaging.Store { return open(t).Imaging() }})
		accountstest.Test(t, accountstest.Harness{New: func(t testing.TB) accounts.Store { return open(t).Accounts() }})
	}
}

func explain(t *testing.T, c *lite.Conn, sql string) string {
	t.Helper()
	s := c.Stmt("EXPLAIN QUERY PLAN " + sql)
	for range strings.Count(sql, "?") {
		s.Null()
	}
	var lines []string
	for s.Next() {
		s.Skip()
		s.Skip()
		s.Skip()
		lines = append(lines, s.ReadText())
	}
	if err := s.Err(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "; ")
}

// small is what may be read whole: a row a user, a row a lane, a row for tasks that are alike, what a limit
// bounds, and the index of the few tasks whose successor is still to come.
var small = regexp.MustCompile(`^SCAN (CONSTANT ROW|\(subquery-\d\)|(users|lanes|task_counts)( USING .*)?|tasks USING INDEX tasks_unfollowed)$`)

// scans names the step of a plan that costs more the more rows there are, or nothing.
func scans(plan string) string {
	for _, step := range strings.Split(plan, "; ") {
		if strings.Contains(step, "TEMP B-TREE") || strings.HasPrefix(step, "SCAN") && !small.MatchString(step) {
			return fmt.Sprintf("walks or sorts (%s)", step)
		}
	}
	return ""
}
