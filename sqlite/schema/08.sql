-- The dedupeKey that a task gave back at its end.
ALTER TABLE tasks ADD COLUMN freedKey TEXT;
