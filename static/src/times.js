import { ago, duration } from "./format.js";

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

// The server's clock less this browser's. A desk in a hospital meets clocks that are minutes off.
let offset = 0;

export function noteServerTime(ms) {
  const seen = ms - Date.now();
  if (Math.abs(seen - offset) > 2000) offset = seen;
}

// Relative times stay true while the page is open, and the exact ones are in the reader's own zone.
export function startTimes() {
  noteServerTime(Number(document.documentElement.dataset.now) || Date.now());
  tick();
  setInterval(tick, 1000);
  document.addEventListener("pointerover", (event) => {
    const time = event.target.closest?.("time[datetime]");
    if (time) time.title = exact.format(new Date(time.dateTime));
  });
}

function tick() {
  if (document.hidden) return;
  const now = Date.now() + offset;
  for (const time of document.querySelectorAll("time[data-ago]")) {
    say(time, ago(now - Date.parse(time.dateTime)));
  }
  for (const time of document.querySelectorAll("time[data-since]")) {
    say(time, duration(now - Date.parse(time.dateTime)));
  }
}

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
