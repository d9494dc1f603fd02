-- Columns are named as the fields of the records' JSON. Times are milliseconds since 1970, NULL when
-- unset; nested values that no query looks into are JSON text. What is short stands first in a row and
-- what is long last, so that reading the former does not walk over the latter.

CREATE TABLE tasks (
	row INTEGER PRIMARY KEY,
	taskId TEXT NOT NULL,
	userId TEXT NOT NULL,
	status TEXT NOT NULL,
	kind TEXT NOT NULL,
	lane TEXT NOT NULL,
	dismissed INTEGER NOT NULL,
	createdAt INTEGER,
	endedAt INTEGER,
	priority INTEGER NOT NULL,
	availableAt INTEGER,
	leaseExpiresAt INTEGER,
	leaseOwner TEXT,
	leaseToken TEXT,
	rev INTEGER NOT NULL,
	updatedAt INTEGER,
	startedAt INTEGER,
	heartbeatAt INTEGER,
	cancelRequestedAt INTEGER,
	attempt INTEGER NOT NULL,
	maxAttempts INTEGER NOT NULL,
	progressMessage TEXT NOT NULL,
	progressValue INTEGER NOT NULL,
	progressMax INTEGER NOT NULL,
	phase TEXT NOT NULL,
	name TEXT NOT NULL,
	userEmail TEXT NOT NULL,
	partitionKey TEXT NOT NULL,
	lockKey TEXT NOT NULL,
	idempotencyKey TEXT NOT NULL,
	dedupeKey TEXT NOT NULL,
	downloadable TEXT NOT NULL,
	file TEXT,
	error TEXT NOT NULL,
	args TEXT,
	result TEXT,
	journal TEXT,
	failures TEXT,
	sealed BLOB,
	checkpoint BLOB
) STRICT;

CREATE UNIQUE INDEX tasks_id ON tasks(taskId);

-- A key that holds the task's own id is unset: it cannot clash, so it needs no entry.
CREATE UNIQUE INDEX tasks_idempotency ON tasks(userId, idempotencyKey) WHERE idempotencyKey <> taskId;
CREATE UNIQUE INDEX tasks_dedupe ON tasks(userId, dedupeKey) WHERE dedupeKey <> taskId;

-- Lists merge the streams of these two that the counters say are not empty; see tasks_list.go.
CREATE INDEX tasks_created ON tasks(userId, status, kind, lane, dismissed, createdAt, taskId);
CREATE INDEX tasks_ended ON tasks(userId, status, kind, lane, dismissed, endedAt, taskId, createdAt) WHERE endedAt IS NOT NULL;

-- Claims and rescues cost the same however many tasks have ended.
CREATE INDEX tasks_waiting ON tasks(lane, priority, availableAt, taskId) WHERE status = 'queued';
CREATE INDEX tasks_running ON tasks(leaseExpiresAt, taskId) WHERE status = 'processing';

CREATE TABLE task_words (
	userId TEXT NOT NULL,
	word TEXT NOT NULL,
	row INTEGER NOT NULL, -- of tasks
	PRIMARY KEY (userId, word, row)
) STRICT, WITHOUT ROWID;

-- How many tasks are alike, changed in the transaction that changes the tasks.
CREATE TABLE task_counts (
	userId TEXT NOT NULL,
	status TEXT NOT NULL,
	kind TEXT NOT NULL,
	lane TEXT NOT NULL,
	dismissed INTEGER NOT NULL,
	n INTEGER NOT NULL,
	PRIMARY KEY (userId, status, kind, lane, dismissed)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_logs (
	taskId TEXT NOT NULL,
	seq INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	at INTEGER,
	level TEXT NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (taskId, seq)
) STRICT, WITHOUT ROWID;
