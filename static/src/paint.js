// Rectangles to paint over are rows of numbers in a form. Here they are also boxes on the picture, which are drawn
// and moved with pointer or keys. The rows are the truth: each box is made from its row, and each change of a
// box is written back into it, in pixels of the image, whatever size it is shown at.
const least = 2; // pixels of the image; what is smaller was a slip of the hand
const history = new WeakMap(); // .paint -> what its rows held before each change, the newest last

export function startPaint() {
  document.addEventListener("htmx:after:swap", () => document.querySelectorAll("[data-paint]:not([data-ready])").forEach(begin));
  document.querySelectorAll("[data-paint]").forEach(begin);
}

function begin(paint) {
  paint.dataset.ready = "";
  history.set(paint, []);
  paint.addEventListener("click", (event) => click(paint, event));
  paint.addEventListener("focusin", (event) => { if (event.target.matches("input")) remember(paint); });
  paint.addEventListener("input", (event) => { if (event.isTrusted) show(paint); });
  const layer = paint.querySelector(".paint-layer");
  layer?.addEventListener("pointerdown", (event) => drag(paint, layer, event));
  layer?.addEventListener("keydown", (event) => key(paint, event));
  show(paint);
}

const rows = (paint) => [...paint.querySelectorAll(".paint-row")];
const inputs = (row) => [...row.querySelectorAll("input")];
const read = (row) => inputs(row).map((input) => input.value);
const isEmpty = (row) => read(row).every((value) => value === "");
const values = (row) => read(row).map(Number);

function write(row, box) {
  inputs(row).forEach((input, i) => (input.value = box[i]));
}

// remember keeps the rows as they are, for Undo.
function remember(paint) {
  const before = JSON.stringify(rows(paint).map(read).filter((row) => row.some(Boolean)));
  const past = history.get(paint);
  if (past.at(-1) !== before) past.push(before);
}

// changed shows the rows anew and lets the form know.
function changed(paint) {
  show(paint);
  paint.dispatchEvent(new Event("input", { bubbles: true }));
}

function undo(paint) {
  const past = history.get(paint), now = JSON.stringify(rows(paint).map(read).filter((row) => row.some(Boolean)));
  let before = past.pop();
  while (before === now && past.length > 0) before = past.pop();
  const list = JSON.parse(before ?? "[]");
  while (rows(paint).length < list.length) append(paint);
  rows(paint).forEach((row, i) => write(row, list[i] ?? ["", "", "", ""]));
  changed(paint);
}

function append(paint) {
  const row = rows(paint).at(-1).cloneNode(true);
  write(row, ["", "", "", ""]);
  paint.querySelector(".paint-rows").append(row);
  return row;
}

const emptyRow = (paint) => rows(paint).find(isEmpty) ?? append(paint);

function remove(paint, row) {
  remember(paint);
  write(row, ["", "", "", ""]);
  if (rows(paint).length > 1) row.remove();
  changed(paint);
}

function click(paint, event) {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.matches("[data-remove]")) {
    remove(paint, button.closest(".paint-row"));
    paint.querySelector("[data-add]").focus();
  }
  if (button.matches("[data-add]")) add(paint);
  if (button.matches("[data-undo]")) undo(paint);
  if (button.matches("[data-slice]")) slice(paint, button);
}

// add puts a rectangle where it can be seen, for who types.
function add(paint) {
  remember(paint);
  const { columns, rows: height } = paint.dataset;
  const row = emptyRow(paint);
  write(row, [0, 0, Number(columns) || 100, Math.max(least, Math.round((Number(height) || 500) / 10))]);
  changed(paint);
  inputs(row)[0].focus();
  inputs(row)[0].select();
}

function slice(paint, button) {
  const img = paint.querySelector(".paint-stage img");
  img.src = button.dataset.slice;
  img.alt = img.alt.replace(/^\S+/, button.textContent);
  for (const other of paint.querySelectorAll("[data-slice]")) other.setAttribute("aria-pressed", other === button);
}

// show makes a box of each row that holds a rectangle.
function show(paint) {
  paint.querySelector("[data-undo]").disabled = history.get(paint).length === 0;
  const layer = paint.querySelector(".paint-layer");
  if (!layer) return;
  const { columns, rows: height } = paint.dataset;
  const made = rows(paint).filter((row) => !isEmpty(row));
  while (layer.children.length > made.length) layer.lastChild.remove();
  while (layer.children.length < made.length) layer.append(Object.assign(document.createElement("button"), { type: "button", className: "paint-box" }));
  made.forEach((row, i) => {
    const [x, y, w, h] = values(row), box = layer.children[i];
    box.style.left = `${(100 * x) / columns}%`;
    box.style.top = `${(100 * y) / height}%`;
    box.style.width = `${(100 * w) / columns}%`;
    box.style.height = `${(100 * h) / height}%`;
    box.setAttribute("aria-label", `Rectangle ${i + 1}: ${w} by ${h} pixels at ${x}, ${y}`);
  });
}

const rowOf = (paint, box) => rows(paint).filter((row) => !isEmpty(row))[[...box.parentElement.children].indexOf(box)];

const clamp = (n, low, high) => Math.min(Math.max(n, low), high);

// drag draws a new rectangle, or moves the one under the pointer.
function drag(paint, layer, down) {
  if (down.button !== 0) return;
  down.preventDefault();
  remember(paint);
  const columns = Number(paint.dataset.columns), height = Number(paint.dataset.rows);
  const frame = layer.getBoundingClientRect();
  const at = (event) => [
    clamp(Math.round(((event.clientX - frame.left) / frame.width) * columns), 0, columns),
    clamp(Math.round(((event.clientY - frame.top) / frame.height) * height), 0, height),
  ];
  const [x0, y0] = at(down);
  const held = down.target.closest(".paint-box");
  const row = held ? rowOf(paint, held) : emptyRow(paint);
  const start = values(row);
  const move = (event) => {
    const [x, y] = at(event);
    write(row, held
      ? [clamp(start[0] + x - x0, 0, Math.max(columns - start[2], 0)), clamp(start[1] + y - y0, 0, Math.max(height - start[3], 0)), start[2], start[3]]
      : [Math.min(x, x0), Math.min(y, y0), Math.abs(x - x0), Math.abs(y - y0)]);
    show(paint);
  };
  const end = (event) => {
    layer.removeEventListener("pointermove", move);
    layer.removeEventListener("pointerup", end);
    layer.removeEventListener("pointercancel", end);
    if (event.type === "pointercancel") write(row, held ? start : ["", "", "", ""]);
    const [, , w, h] = values(row);
    if (!held && (w < least || h < least)) write(row, ["", "", "", ""]);
    changed(paint);
    if (!isEmpty(row)) layer.children[rows(paint).filter((r) => !isEmpty(r)).indexOf(row)].focus();
  };
  layer.setPointerCapture(down.pointerId);
  layer.addEventListener("pointermove", move);
  layer.addEventListener("pointerup", end);
  layer.addEventListener("pointercancel", end);
}

const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// key moves the rectangle in focus, with Shift resizes it; Control makes steps of ten.
function key(paint, event) {
  const box = event.target.closest(".paint-box");
  if (!box) return;
  const row = rowOf(paint, box);
  if (event.key === "Delete" || event.key === "Backspace") {
    event.preventDefault();
    remove(paint, row);
    (paint.querySelector(".paint-box") ?? paint.querySelector("[data-add]")).focus();
    return;
  }
  const step = arrows[event.key];
  if (!step) return;
  event.preventDefault();
  remember(paint);
  const columns = Number(paint.dataset.columns), height = Number(paint.dataset.rows);
  const [dx, dy] = step.map((n) => n * (event.ctrlKey ? 10 : 1));
  const [x, y, w, h] = values(row);
  write(row, event.shiftKey
    ? [x, y, clamp(w + dx, 1, Math.max(columns - x, 1)), clamp(h + dy, 1, Math.max(height - y, 1))]
    : [clamp(x + dx, 0, Math.max(columns - w, 0)), clamp(y + dy, 0, Math.max(height - h, 0)), w, h]);
  changed(paint);
}
