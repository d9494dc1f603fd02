import { refreshBoard } from "./board.js";
import { chosen, dropped } from "./files.js";
import { Transfer } from "./transfer.js";

// Files dropped anywhere on the page, or chosen, become transfers, of which two run at a time: more would
// only share the same line.
const atOnce = 2;
const waiting = [];
const running = new Set();

export function startTransfers() {
  const form = document.getElementById("bring");
  if (!document.getElementById("transfer-template")) return;
  form?.addEventListener("change", (event) => {
    const files = [...event.target.files];
    if (files.length > 0) begin(chosen(files));
    event.target.value = "";
  });
  listenForDrops();
  addEventListener("beforeunload", (event) => { if (running.size + waiting.length > 0) event.preventDefault(); });
  document.addEventListener("htmx:after:swap", handOver);
}

function listenForDrops() {
  const veil = document.getElementById("drop");
  let depth = 0;
  const over = (on) => veil.toggleAttribute("data-over", on);
  const withFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (withFiles(event)) { depth++; over(true); } });
  addEventListener("dragleave", (event) => { if (withFiles(event) && --depth <= 0) { depth = 0; over(false); } });
  addEventListener("dragover", (event) => { if (withFiles(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    depth = 0;
    over(false);
    begin(dropped(event.dataTransfer));
  });
}

async function begin(files) {
  const transfer = new Transfer(document.getElementById("transfers"), settled);
  transfer.again = () => enqueue(transfer);
  if (await transfer.gather(files)) enqueue(transfer);
}

function enqueue(transfer) {
  waiting.push(transfer);
  transfer.wait();
  next();
}

function next() {
  while (running.size < atOnce && waiting.length > 0) {
    const transfer = waiting.shift();
    if (!transfer.send()) continue; // aborted while it waited
    running.add(transfer);
  }
}

// settled is called when a transfer has ended, well or not.
function settled(transfer) {
  running.delete(transfer);
  next();
  if (transfer.taskId && document.getElementById("board")) refreshBoard().then(handOver);
}

// A transfer's row goes when its task's row is on the page; where the list does not show that task, it stays
// as a link to it.
function handOver() {
  for (const row of document.querySelectorAll(".transfer[data-became]")) {
    if (document.getElementById(`task-${row.dataset.became}`)) row.remove();
  }
}
