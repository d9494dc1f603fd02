import { coarse } from "./format.js";

// The header says in words whether the page is alive: the stream is, it is being reconnected (and since
// when), or nobody is signed in any more. A stream that falls silent without closing counts as lost once the
// server has shown that it sends beats.
const silenceMs = 25_000;

let state = "none", since = 0, lastBeat = 0;

export function startConnection() {
  const place = document.getElementById("connection");
  if (!place || !document.querySelector("[hx-sse\\:connect]")) return;
  become("reconnecting", "connecting");
  document.addEventListener("htmx:sse:before:connection", (event) => { if (event.detail.connection.attempt > 0) lost(); });
  document.addEventListener("htmx:sse:after:connection", () => become("live"));
  document.addEventListener("htmx:sse:before:message", () => become("live"));
  document.addEventListener("beat", () => (lastBeat = Date.now()));
  document.addEventListener("end", ended);
  document.addEventListener("htmx:sse:error", (event) => refused(event.detail?.status));
  document.addEventListener("htmx:sse:close", () => lost());
  document.addEventListener("htmx:response:error", (event) => {
    if (fromStream(event)) refused(event.detail?.ctx?.response?.status);
  });
  document.addEventListener("htmx:error", (event) => { if (fromStream(event)) lost(); });
  addEventListener("offline", lost);
  setInterval(watch, 1000);
}

const fromStream = (event) => event.detail?.ctx?.sourceElement?.hasAttribute?.("hx-sse:connect");

function refused(status) {
  if (status === 401) {
    become("out", "signed out");
    location.reload();
    return;
  }
  lost();
}

function lost() {
  if (state === "live") {
    since = Date.now();
    become("reconnecting", "reconnecting");
  }
}

// A task that has ended has nothing more to say.
function ended(event) {
  lastBeat = 0;
  become("none", "");
  event.target.remove();
}

function watch() {
  const beatLost = lastBeat > 0 && Date.now() - lastBeat > silenceMs;
  if (state === "live" && beatLost && !document.hidden) {
    since = lastBeat;
    lastBeat = 0;
    become("reconnecting", "reconnecting");
    reconnect();
  }
  if (state === "reconnecting" && since > 0) {
    document.querySelector(".connection-since").textContent = `as of ${coarse(Date.now() - since)} ago`;
  }
}

// A new element begins a new stream; htmx closes the old one with its element.
function reconnect() {
  for (const old of document.querySelectorAll("[hx-sse\\:connect]")) {
    const fresh = old.cloneNode(true);
    old.replaceWith(fresh);
    window.htmx.process(fresh);
  }
}

function become(next, word = next) {
  if (state === next && next === "live") return;
  state = next;
  if (next !== "reconnecting") since = 0;
  const place = document.getElementById("connection");
  place.dataset.state = next;
  place.querySelector(".connection-word").textContent = word;
  place.querySelector(".connection-since").textContent = "";
}
