// Dialogs open when there is something in them, and close by their button, Escape or a click beside them.
export function startDialogs() {
  document.addEventListener("htmx:after:swap", () => {
    const dialog = document.getElementById("dialog");
    if (dialog && !dialog.open && dialog.childElementCount > 0) dialog.showModal();
  });
  document.addEventListener("close", (event) => { if (event.target.id === "dialog") event.target.replaceChildren(); }, true);
  document.addEventListener("click", (event) => {
    if (event.target instanceof HTMLDialogElement && event.target.open && beside(event)) event.target.close();
    if (event.target.closest("#keys-open")) showKeys();
    const menu = document.querySelector("details.menu[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
    copy(event.target.closest("[data-copy]"));
    copyLink(event.target.closest("[data-copy-link]"));
  });
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset?.confirm;
    if (question && !confirm(question)) event.preventDefault();
  });
}

export function showKeys() {
  const keys = document.getElementById("keys");
  if (keys && !keys.open) keys.showModal();
}

function beside(event) {
  const box = event.target.getBoundingClientRect();
  return event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom;
}

async function copy(button) {
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  const text = source.value ?? source.textContent;
  if (source.select) source.select();
  else getSelection().selectAllChildren(source);
  await put(button, text);
}

async function copyLink(button) {
  if (button) await put(button, location.href);
}

async function put(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl+C"; // no clipboard without https; the text is selected
  }
  setTimeout(() => { button.textContent = before; }, 4000);
}
