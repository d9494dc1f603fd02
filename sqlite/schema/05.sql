ALTER TABLE users ADD COLUMN webhookUrl TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN webhookSecret TEXT NOT NULL DEFAULT '';

-- An entry's id carries its time, so the order of (at, id) is that of the ids; with the time in front, a
-- range of days is a range of each index.
CREATE TABLE audit (
	at INTEGER NOT NULL,
	id TEXT NOT NULL,
	userId TEXT NOT NULL,
	email TEXT NOT NULL,
	action TEXT NOT NULL,
	target TEXT NOT NULL,
	note TEXT NOT NULL,
	address TEXT NOT NULL,
	PRIMARY KEY (at, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX audit_id ON audit(id);
CREATE INDEX audit_user ON audit(userId, at, id);
CREATE INDEX audit_action ON audit(action, at, id);
CREATE INDEX audit_target ON audit(target, at, id) WHERE target <> '';
