import { count, coarse } from "./format.js";
import { noteServerTime } from "./times.js";

// Pace is worked out from values this page has seen, over the last seconds. It says nothing before it has
// seen enough, starts afresh with each phase, and never speaks of an average that is long past.
const windowMs = 10_000, leastMs = 2_000;
const samples = new Map(); // id of the bar -> {phase, max, seen: [{at, value}]}

export function startPace() {
  document.querySelectorAll("progress[data-at]").forEach(look);
  new MutationObserver((changes) => {
    const bars = new Set();
    for (const change of changes) {
      if (change.type === "attributes") bars.add(change.target);
      for (const node of change.addedNodes) {
        if (node.nodeType === Node.ELEMENT_NODE) node.querySelectorAll("progress[data-at]").forEach((bar) => bars.add(bar));
      }
    }
    bars.forEach(look);
  }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-at"] });
}

function look(bar) {
  if (!bar.isConnected || !bar.id) return;
  const at = Number(bar.dataset.at);
  noteServerTime(at);
  const place = document.getElementById(bar.id.replace(/^bar-/, "pace-"));
  if (!place || !bar.hasAttribute("value")) return;
  const text = words(track(bar, at), bar.max - bar.value);
  if (place.textContent !== text) place.textContent = text;
}

function track(bar, at) {
  let known = samples.get(bar.id);
  const last = known?.seen.at(-1);
  if (!known || known.phase !== bar.dataset.phase || known.max !== bar.max || bar.value < last.value) {
    known = { phase: bar.dataset.phase, max: bar.max, seen: [] };
    samples.set(bar.id, known);
  }
  if (at > (known.seen.at(-1)?.at ?? 0)) known.seen.push({ at, value: bar.value });
  while (known.seen.length > 2 && at - known.seen[1].at > windowMs) known.seen.shift();
  return known.seen;
}

function words(seen, rest) {
  const first = seen[0], last = seen.at(-1);
  const ms = last.at - first.at, done = last.value - first.value;
  if (ms < leastMs || done <= 0) return "";
  const rate = (done * 1000) / ms;
  const pace = rate >= 10 ? count(Math.round(rate)) : rate.toFixed(1);
  return rest > 0 ? `${pace}/s · ${coarse((rest / rate) * 1000, true)} left` : `${pace}/s`;
}
