package taskstest

import (
	"testing"
	"time"

	"filmroom/tasks"
)

var logScenarios = []scenario{
	{"log lines come back in the order of their sequence", logOrder},
}

func lines(taskID string, from, to int64) []tasks.LogLine {
	var out []tasks.LogLine
	for seq := from; seq <= to; seq++ {
		out = append(out, tasks.LogLine{TaskID: taskID, Attempt: int(1 + seq/10), Seq: seq,
			At: After(time.Duration(seq) * time.Millisecond), Level: "info", Text: "é \"line\"\n"})
	}
	return out
}

func logOrder(t *testing.T, s tasks.Store) {
	a, b := ID(), ID()
	for _, batch := range [][]tasks.LogLine{lines(a, 1, 2), append(lines(b, 1, 3), lines(a, 3, 12)...), nil, lines(a, 13, 13)} {
		if err := s.AppendLog(t.Context(), batch); err != nil {
			t.Fatalf("append: %v", err)
		}
	}
	for _, c := range []struct {
		task  string
		after int64
		limit int
		want  []tasks.LogLine
	}{
		{a, 0, 100, lines(a, 1, 13)}, {a, 0, 3, lines(a, 1, 3)}, {a, 3, 9, lines(a, 4, 12)}, {a, 13, 9, nil}, {b, 0, 9, lines(b, 1, 3)}, {ID(), 0, 9, nil},
	} {
		got, err := s.Log(t.Context(), c.task, c.after, c.limit)
		if err != nil {
			t.Fatalf("log: %v", err)
		}
		same(t, "lines", c.want, got)
	}
}
