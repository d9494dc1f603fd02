-- Lists find tasks by sets: which tasks are canceled, which belong to this user, which have that word. A set is
-- cut into chunks of neighbouring rows, see tasks_sets.go, so that a filter over a million tasks is a few
-- thousand small entries, and combining filters is arithmetic on bits.
CREATE TABLE task_sets (
	name TEXT NOT NULL,
	chunk INTEGER NOT NULL,
	bits BLOB NOT NULL,
	PRIMARY KEY (name, chunk)
) STRICT, WITHOUT ROWID;

-- The chunks that have their entries in task_sets, and between which times their tasks were created and
-- ended. The bounds only ever widen.
CREATE TABLE task_chunks (
	chunk INTEGER PRIMARY KEY,
	createdMin INTEGER NOT NULL,
	createdMax INTEGER NOT NULL,
	endedMin INTEGER NOT NULL,
	endedMax INTEGER NOT NULL
) STRICT;

-- The times of a chunk's tasks in order, apart from the tasks, which are long.
CREATE INDEX tasks_begins ON tasks(row / 1024, createdAt);
CREATE INDEX tasks_ends ON tasks(row / 1024, endedAt) WHERE endedAt IS NOT NULL;

DROP INDEX tasks_created;
DROP INDEX tasks_ended;
DROP INDEX tasks_ended_all;
DROP TABLE task_words;
