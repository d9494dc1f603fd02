package sqlite

import (
	"context"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

const (
	// A line that is there already was sent again after an unknown outcome.
	insertLine  = "INSERT INTO task_logs (taskId, seq, attempt, at, level, text) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
	selectLines = "SELECT seq, attempt, at, level, text FROM task_logs WHERE taskId = ? AND seq > ? ORDER BY seq LIMIT ?"
)

func (s *taskStore) AppendLog(ctx context.Context, lines []tasks.LogLine) error {
	if len(lines) == 0 {
		return ctx.Err()
	}
	err := s.db.write(ctx, func(tx *tx) error {
		for i := range lines {
			l := &lines[i]
			stmt := tx.Stmt(insertLine).Text(l.TaskID).Int(l.Seq).Int(int64(l.Attempt))
			if err := stmt.Time(l.At).Text(l.Level).Text(l.Text).Run(); err != nil {
				return err
			}
		}
		return nil
	})
	return wrapN(err, "append log lines", len(lines))
}

func (s *taskStore) Log(ctx context.Context, taskID string, after int64, limit int) (lines []tasks.LogLine, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		stmt := c.Stmt(selectLines).Text(taskID).Int(after).Int(int64(limit))
		for stmt.Next() {
			lines = append(lines, tasks.LogLine{
				TaskID: taskID, Seq: stmt.ReadInt(), Attempt: int(stmt.ReadInt()),
				At: stmt.ReadTime(), Level: stmt.ReadText(), Text: stmt.ReadText(),
			})
		}
		return stmt.Err()
	})
	return lines, wrap(err, "read the log of task", taskID)
}
