// What this browser remembers by itself: the theme, and whether names are hidden. Both are read again
// before the first paint by the script in the page's head.
const root = document.documentElement.dataset;

export function startPreferences() {
  document.addEventListener("click", (event) => { if (event.target.closest("#names")) toggleNames(); });
  showNames();
  const theme = document.getElementById("theme");
  if (!theme) return;
  theme.querySelector(`input[value="${root.theme ?? ""}"]`).checked = true;
  theme.addEventListener("change", (event) => keep("theme", event.target.value));
}

function toggleNames() {
  keep("names", root.names === "hidden" ? "" : "hidden");
  showNames();
}

function showNames() {
  const button = document.getElementById("names");
  button?.setAttribute("aria-pressed", String(root.names === "hidden"));
}

function keep(key, value) {
  try {
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch { /* storage is switched off: it lasts until the page is left */ }
  if (value) root[key] = value;
  else delete root[key];
}
