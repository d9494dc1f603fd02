package sqlite

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"filmroom/sqlite/internal/lite"
)

// everyQueryHasAnIndex reads the plan of each statement: none walks over a whole table and none sorts what
// it found.
func everyQueryHasAnIndex(t *testing.T, all []string) {
	c, err := lite.Open(filepath.Join(t.TempDir(), "plan.db"), 0, nil)
	must(t, err)
	defer c.Close()
	must(t, migrate(c, false))
	if len(all) < 100 {
		t.Fatalf("only %d statements were heard of", len(all))
	}
	for _, sql := range all {
		if plan := explain(t, c, sql); scans(plan) != "" {
			t.Errorf("%s\n%s: %s", sql, scans(plan), plan)
		}
	}
}

// statements gathers what connections plan.
type statements struct {
	mu    sync.Mutex
	sql   map[string]bool
	again map[string]int
}

func (s *statements) add(sql string, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sql[sql] = true
	if again {
		s.again[sql]++
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

// small is what may be read whole: a row a user, a row a lane, a row for tasks that are alike, a row for a
// thousand tasks, what a limit bounds, and the index of the few tasks whose successor is still to come.
var small = regexp.MustCompile(`^SCAN (CONSTANT ROW|\(subquery-\d\)|(users|lanes|task_counts|task_chunks)( USING .*)?|tasks USING INDEX tasks_unfollowed)$`)

// scans names the step of a plan that costs more the more rows there are, or nothing.
func scans(plan string) string {
	for _, step := range strings.Split(plan, "; ") {
		if strings.Contains(step, "TEMP B-TREE") || strings.HasPrefix(step, "SCAN") && !small.MatchString(step) {
			return fmt.Sprintf("walks or sorts (%s)", step)
		}
	}
	return ""
}
