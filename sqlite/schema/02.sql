CREATE TABLE users (
	userId TEXT NOT NULL PRIMARY KEY,
	email TEXT NOT NULL,
	emailFold TEXT NOT NULL, -- in lower case: what makes it unique
	name TEXT NOT NULL,
	admin INTEGER NOT NULL,
	passwordHash TEXT NOT NULL,
	disabledAt INTEGER,
	createdAt INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX users_email ON users(emailFold);

CREATE TABLE tokens (
	id TEXT NOT NULL PRIMARY KEY,
	userId TEXT NOT NULL,
	name TEXT NOT NULL,
	hash TEXT NOT NULL,
	createdAt INTEGER,
	lastUsedAt INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX tokens_hash ON tokens(hash);
CREATE INDEX tokens_user ON tokens(userId, id);

CREATE TABLE sessions (
	hash TEXT NOT NULL PRIMARY KEY,
	userId TEXT NOT NULL,
	data BLOB,
	expiresAt INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_user ON sessions(userId);
CREATE INDEX sessions_expiry ON sessions(expiresAt);

-- Rises whenever a right may have ended; other processes read it here.
CREATE TABLE accounts_version (
	one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	version INTEGER NOT NULL
) STRICT;

INSERT INTO accounts_version (one, version) VALUES (1, 1);
