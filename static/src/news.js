// Rows that arrive fade in, once. Ends are said aloud to those who do not see the rows; progress is not.
const ends = { finished: "finished", error: "failed", canceled: "canceled", interrupted: "was interrupted" };

export function startNews() {
  const announce = document.getElementById("announce");
  if (!announce) return;
  new MutationObserver((changes) => {
    for (const { target, oldValue, addedNodes } of changes) {
      for (const row of addedNodes) if (row.classList?.contains("row")) row.classList.add("arrived");
      const end = ends[target.dataset.status];
      if (!target.dataset?.task || oldValue === null || !end || oldValue === target.dataset.status) continue;
      const name = target.querySelector("bdi")?.textContent ?? "A task";
      announce.textContent = `${name} ${end}`;
    }
  }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-status"], attributeOldValue: true });
}
