import { showKeys } from "./dialogs.js";

// The keys of the list under "?". They never fire while somebody types, with a modifier, or in a dialog.
let leader = 0;

const plain = {
  "/": () => { const box = document.querySelector("[data-search]"); box?.focus(); box?.select(); return box; },
  "?": showKeys,
  j: () => move(1),
  k: () => move(-1),
  x: () => current()?.querySelector("[data-pick]")?.click(),
  c: () => press("c"),
  r: () => press("r"),
  d: () => press("d"),
};
const afterG = { b: "/", l: "/library" };

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "g") { leader = Date.now(); return; }
    const led = Date.now() - leader < 1500;
    leader = 0;
    if (led && afterG[event.key]) { location.assign(afterG[event.key]); return; }
    if (plain[event.key]) {
      event.preventDefault();
      plain[event.key]();
    }
  });
}

const typing = (element) =>
  element.isContentEditable || element.matches?.("textarea, select, input:not([type=checkbox]):not([type=radio]):not([type=file])");

const rows = () => [...document.querySelectorAll("a[data-row]")];
const current = () => document.activeElement?.closest(".row") ?? document.querySelector("#task-head");

function move(step) {
  const all = rows();
  if (all.length === 0) return;
  const row = document.activeElement?.closest(".row");
  const at = all.findIndex((link) => link.closest(".row") === row);
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
  all[next].focus({ focusVisible: true });
  all[next].closest(".row").scrollIntoView({ block: "nearest" });
}

function press(key) {
  current()?.querySelector(`[data-key="${key}"]`)?.click();
}
