-- Lanes that people steer: fair share, locks, successors. NULL in the new columns is unset: it takes no
-- room, and reading it does not walk over a row to its end.
ALTER TABLE tasks ADD COLUMN timeout INTEGER; -- nanoseconds
ALTER TABLE tasks ADD COLUMN next TEXT;

CREATE INDEX tasks_unfollowed ON tasks(taskId) WHERE next IS NOT NULL;

-- Whose turn it is: the tasks of one partition, of each lock apart, in their order.
CREATE INDEX tasks_lined ON tasks(lane, priority, partitionKey, lockKey, availableAt, taskId) WHERE status = 'queued';

-- Who holds slots, and who holds a lock.
CREATE INDEX tasks_slots ON tasks(lane, partitionKey, leaseExpiresAt) WHERE status = 'processing';
CREATE INDEX tasks_locks ON tasks(lockKey, leaseExpiresAt) WHERE status = 'processing' AND lockKey <> '';

-- Lists of everybody's tasks by their end: retention, estimates, failures.
CREATE INDEX tasks_ended_all ON tasks(status, kind, endedAt, taskId, createdAt) WHERE endedAt IS NOT NULL;

CREATE TABLE lanes (
	name TEXT NOT NULL PRIMARY KEY,
	capacity INTEGER NOT NULL,
	paused INTEGER NOT NULL,
	rate REAL NOT NULL,
	burst INTEGER NOT NULL,
	"by" TEXT NOT NULL,
	reason TEXT NOT NULL,
	changedAt INTEGER,
	rev INTEGER NOT NULL,
	turns INTEGER NOT NULL DEFAULT 0 -- tasks ever started
) STRICT, WITHOUT ROWID;

-- When a partition of a lane was served last, as a number of lanes.turns, 0 for never; and the first of
-- its tasks that wait at this priority, NULL for none. So a claim finds whose turn it is however many wait.
CREATE TABLE lane_turns (
	lane TEXT NOT NULL,
	partitionKey TEXT NOT NULL,
	priority INTEGER NOT NULL,
	served INTEGER NOT NULL,
	availableAt INTEGER,
	taskId TEXT,
	PRIMARY KEY (lane, partitionKey, priority)
) STRICT, WITHOUT ROWID;

CREATE INDEX lane_turns_order ON lane_turns(lane, priority, served, availableAt, taskId, partitionKey) WHERE taskId IS NOT NULL;

-- The first task that waits for each lock, so that a claim passes over the others that wait for it.
CREATE TABLE lane_locks (
	lane TEXT NOT NULL,
	priority INTEGER NOT NULL,
	partitionKey TEXT NOT NULL,
	lockKey TEXT NOT NULL,
	availableAt INTEGER NOT NULL,
	taskId TEXT NOT NULL,
	PRIMARY KEY (lane, priority, partitionKey, lockKey)
) STRICT, WITHOUT ROWID;

CREATE INDEX lane_locks_order ON lane_locks(lane, priority, partitionKey, availableAt, taskId, lockKey);

-- What waits already.
INSERT INTO lane_locks (lane, priority, partitionKey, lockKey, availableAt, taskId)
	SELECT lane, priority, partitionKey, lockKey, availableAt, taskId FROM (
		SELECT *, row_number() OVER (PARTITION BY lane, priority, partitionKey, lockKey ORDER BY availableAt, taskId) AS place
		FROM tasks WHERE status = 'queued' AND lockKey <> '')
	WHERE place = 1;

INSERT INTO lane_turns (lane, partitionKey, priority, served, availableAt, taskId)
	SELECT lane, partitionKey, priority, 0, availableAt, taskId FROM (
		SELECT *, row_number() OVER (PARTITION BY lane, partitionKey, priority ORDER BY availableAt, taskId) AS place
		FROM tasks WHERE status = 'queued')
	WHERE place = 1;
