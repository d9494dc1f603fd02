// Files from drops and folders, with the path each had, in the order of their names. Folders are read a
// handful of entries at a time, so that many thousands do not freeze the page.

export async function* dropped(transfer) {
  // Entries must be taken before the event ends; afterwards the list is empty.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) {
    for (const file of transfer.files) yield { file, path: file.name };
    return;
  }
  for (const entry of entries) yield* walk(entry);
}

async function* walk(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    yield { file, path: entry.fullPath.replace(/^\//, "") };
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return;
    for (const child of batch) yield* walk(child);
  }
}

export async function* chosen(list) {
  for (const file of list) yield { file, path: file.webkitRelativePath || file.name };
}
