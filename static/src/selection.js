import { count, plural, size } from "./format.js";

// What is chosen in the library outlives a search: series that are no longer on the page stay in the form
// as hidden fields.
const chosen = new Map(); // seriesId -> {instances, bytes}
let last = null;

export function startSelection() {
  const form = document.getElementById("selection");
  if (!form) return;
  document.addEventListener("click", (event) => {
    const study = event.target.closest?.("[data-pick-study]")?.closest(".study");
    if (study) {
      pickStudy(study);
      show(form);
    }
    const box = event.target.closest?.("[data-pick]");
    if (!box) return;
    if (event.shiftKey && last?.isConnected) range(last, box);
    last = box;
    note(box);
    show(form);
  });
  document.getElementById("selection-clear").addEventListener("click", () => { clear(); show(form); });
  document.addEventListener("htmx:after:swap", () => restore(form));
  boxes().forEach(note); // what the browser kept ticked over a reload
  show(form);
}

const boxes = () => [...document.querySelectorAll("[data-pick]")];

function note(box) {
  const { instances, bytes } = box.closest("[data-series]").dataset;
  if (box.checked) chosen.set(box.value, { instances: Number(instances), bytes: Number(bytes) });
  else chosen.delete(box.value);
}

function range(from, to) {
  const all = boxes();
  const [a, b] = [all.indexOf(from), all.indexOf(to)].sort((x, y) => x - y);
  for (const box of all.slice(a, b + 1)) {
    box.checked = to.checked;
    note(box);
  }
}

// pickStudy ticks all series of a study, or none if all are.
function pickStudy(study) {
  const all = [...study.querySelectorAll("[data-pick]")];
  const tick = all.some((box) => !box.checked);
  for (const box of all) {
    box.checked = tick;
    note(box);
  }
}

function clear() {
  chosen.clear();
  boxes().forEach((box) => (box.checked = false));
}

function restore(form) {
  boxes().forEach((box) => (box.checked = chosen.has(box.value)));
  show(form);
}

function show(form) {
  form.toggleAttribute("data-some", chosen.size > 0);
  let images = 0, bytes = 0;
  for (const series of chosen.values()) {
    images += series.instances;
    bytes += series.bytes;
  }
  document.getElementById("selection-summary").textContent =
    `${count(chosen.size)} series · ${plural(images, "image")} · ${size(bytes)}`;
  const here = new Set(boxes().map((box) => box.value));
  form.querySelectorAll("input[type=hidden][name=seriesIds]").forEach((field) => field.remove());
  for (const id of chosen.keys()) {
    if (here.has(id)) continue;
    const field = Object.assign(document.createElement("input"), { type: "hidden", name: "seriesIds", value: id });
    form.append(field);
  }
}
