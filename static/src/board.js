import { count } from "./format.js";

// Rows never move under somebody's hand: what is new is counted above the list. Where nobody is at the list
// it is fetched at once, so that a second screen simply follows.
const pauseMs = 1000;
let htmx, fetching = false, lastFetch = 0;

export function startBoard(library) {
  htmx = library;
  if (!document.getElementById("board")) return;
  document.addEventListener("htmx:after:swap", consider);
  setInterval(consider, pauseMs);
}

function consider() {
  const place = document.getElementById("new");
  const link = place?.querySelector("a");
  if (!link) return;
  const known = place.dataset.ids.split(" ").filter((id) => id && document.getElementById(`task-${id}`)).length;
  const left = Number(place.dataset.new) - known;
  place.hidden = left <= 0;
  const text = `+${count(left)} new`;
  if (link.textContent !== text) link.textContent = text;
  if (left > 0 && unattended()) refreshBoard();
}

function unattended() {
  const board = document.getElementById("board");
  const list = document.getElementById("list");
  return "follows" in board.dataset && !document.hidden && Date.now() - lastFetch > pauseMs &&
    !board.contains(document.activeElement) && !list.matches(":hover") &&
    !document.querySelector("dialog[open], details.menu[open]") && list.getBoundingClientRect().top > 0;
}

// refreshBoard loads the board's part of the page anew; its rows morph, so focus and selection stay.
export async function refreshBoard() {
  if (fetching) return;
  fetching = true;
  try {
    await htmx.ajax("GET", location.pathname + location.search, { target: "#board", select: "#board", swap: "outerMorph" });
  } finally {
    fetching = false;
    lastFetch = Date.now();
  }
}
