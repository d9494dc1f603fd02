-- Whose a receipt is; it outlives its task.
CREATE TABLE receipt_libraries (
	taskId TEXT PRIMARY KEY,
	libraryId TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Imports whose task is gone are known by what they brought.
INSERT OR IGNORE INTO receipt_libraries
	SELECT taskId, libraryId FROM tasks JOIN libraries ON ownerId = tasks.userId
	WHERE EXISTS (SELECT 1 FROM receipts WHERE receipts.taskId = tasks.taskId);
INSERT OR IGNORE INTO receipt_libraries SELECT DISTINCT taskId, libraryId FROM instances;
