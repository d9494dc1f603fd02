// Previews open large over the list; the arrow keys step through its series.
let htmx, shown = -1;

export function startPreview(library) {
  htmx = library;
  const dialog = document.getElementById("preview");
  if (!dialog) return;
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-preview]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    show(dialog, order().indexOf(link.closest("[data-series]")));
  });
  document.addEventListener("keydown", (event) => {
    if (!dialog.open) return;
    const step = { ArrowRight: 1, ArrowDown: 1, j: 1, ArrowLeft: -1, ArrowUp: -1, k: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(dialog, shown + step);
  });
  dialog.addEventListener("click", (event) => {
    const step = event.target.closest("[data-step]")?.dataset.step;
    if (step) show(dialog, shown + Number(step));
  });
  dialog.addEventListener("close", () => order()[shown]?.querySelector("a[data-row]")?.focus());
}

const order = () => [...document.querySelectorAll("[data-series]")];

async function show(dialog, at) {
  const all = order();
  if (at < 0 || at >= all.length) return;
  shown = at;
  const url = all[at].querySelector("a[data-row]").href;
  if (!dialog.open) dialog.showModal();
  await htmx.ajax("GET", url, { target: "#preview-body", select: "#series-view", swap: "innerHTML ignoreTitle:true" });
  for (const button of dialog.querySelectorAll("[data-step]")) {
    button.disabled = !all[shown + Number(button.dataset.step)];
  }
  document.getElementById("preview-place").textContent = `${shown + 1} of ${all.length}`;
}
