import { coarse, plural, size } from "./format.js";

// A Transfer is one upload and its row. It is sent with XMLHttpRequest, the only way to learn how far an
// upload is. The same key goes with every try, so that sending again can never bring the files in twice.
export class Transfer {
  constructor(list, settled) {
    this.settled = settled;
    this.key = randomKey();
    this.parts = [];
    this.bytes = 0;
    this.aborted = false;
    this.row = document.getElementById("transfer-template").content.firstElementChild.cloneNode(true);
    this.part("[data-abort]").addEventListener("click", () => this.abort());
    this.part("[data-again]").addEventListener("click", () => this.again());
    list.prepend(this.row);
  }

  part(selector) { return this.row.querySelector(selector); }

  // gather reads the files' list, which for a large folder takes a while.
  async gather(files) {
    this.say("Looking through the files");
    let pause = performance.now();
    try {
      for await (const one of files) {
        if (this.aborted) return false;
        this.parts.push(one);
        this.bytes += one.file.size;
        if (performance.now() - pause < 40) continue;
        this.say(`Looking through the files: ${plural(this.parts.length, "file")}`);
        await new Promise((resolve) => setTimeout(resolve));
        pause = performance.now();
      }
    } catch {
      this.fail("A file or folder could not be read. Check that it is still there, and drop it again.", false);
      return false;
    }
    if (this.parts.length === 0) {
      this.fail("There is no file in what was dropped.", false);
      return false;
    }
    this.name();
    return true;
  }

  name() {
    const one = this.parts.length === 1;
    this.part("[data-name]").textContent = one ? this.parts[0].file.name : `${plural(this.parts.length, "file")}, ${size(this.bytes)}`;
  }

  wait() {
    this.state("processing");
    this.part("[data-again]").hidden = true;
    this.part("[data-abort]").textContent = "Abort";
    this.part("[data-progress]").removeAttribute("value");
    this.say("Waiting for the transfers before it");
  }

  send() {
    if (this.aborted) return false;
    const form = new FormData();
    for (const { file, path } of this.parts) form.append("files", file, path);
    const request = (this.request = new XMLHttpRequest());
    request.open("POST", "/api/series");
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Idempotency-Key", this.key);
    request.upload.addEventListener("progress", (event) => this.progress(event));
    request.upload.addEventListener("load", () => this.say("Sent. The desk is taking it in"));
    request.addEventListener("load", () => this.answered(request));
    request.addEventListener("error", () => this.broke());
    request.addEventListener("timeout", () => this.broke());
    this.seen = [{ at: performance.now(), sent: 0 }];
    this.say("Sending. Keep this page open until it is through");
    request.send(form);
    return true;
  }

  progress({ loaded, total }) {
    const now = performance.now();
    this.seen.push({ at: now, sent: loaded });
    while (this.seen.length > 2 && now - this.seen[1].at > 5000) this.seen.shift();
    const bar = this.part("[data-progress]");
    bar.max = total;
    bar.value = loaded;
    this.part("[data-percent]").textContent = `${Math.floor((100 * loaded) / total)} %`;
    this.part("[data-figures]").textContent = `${size(loaded)} of ${size(total)}${this.pace(total - loaded)}`;
  }

  pace(rest) {
    const first = this.seen[0], last = this.seen.at(-1);
    if (last.at - first.at < 1000) return "";
    const rate = ((last.sent - first.sent) * 1000) / (last.at - first.at);
    return rate > 0 ? ` · ${size(rate)}/s · ${coarse((rest / rate) * 1000, true)} left` : "";
  }

  answered(request) {
    const answer = parse(request.responseText);
    if (request.status === 202 || request.status === 200) {
      this.became(answer.taskId);
    } else if (request.status === 401) {
      this.fail("You are signed out. Sign in in another tab, then send again.", true);
    } else if (request.status === 409) {
      this.fail("The desk is still busy with the first try. Send again in a moment.", true);
    } else {
      this.fail(answer.detail || answer.title || `The desk refused it (${request.status}).`, true);
    }
  }

  became(taskId) {
    this.taskId = taskId;
    this.row.dataset.became = taskId;
    this.state("finished");
    this.say("Received; the import goes on by itself");
    this.part("[data-abort]").hidden = true;
    this.part(".bar").hidden = true;
    this.part("[data-figures]").textContent = "";
    const open = this.part("[data-open]");
    open.href = `/tasks/${encodeURIComponent(taskId)}`;
    open.hidden = false;
    this.parts = [];
    this.settled(this);
  }

  broke() {
    if (!this.aborted) this.fail("The connection broke off. Nothing was kept; send it again when you are online.", true);
  }

  fail(why, again) {
    this.state("error");
    if (!this.part("[data-name]").textContent) this.part("[data-name]").textContent = "Transfer";
    this.say(why);
    this.part("[data-percent]").textContent = "";
    this.part("[data-figures]").textContent = "";
    this.part("[data-again]").hidden = !again;
    this.part("[data-abort]").textContent = "Dismiss";
    this.settled(this);
  }

  // abort stops a transfer and takes its row away; the server keeps nothing of one that broke off.
  abort() {
    this.aborted = true;
    this.request?.abort();
    this.row.remove();
    this.settled(this);
  }

  state(name) {
    this.row.dataset.status = name;
    this.part(".row-mark").className = `row-mark status status-${name}`;
    this.part(".row-mark use").setAttribute("href", `#icon-${name}`);
  }

  say(text) { this.part("[data-detail]").textContent = text; }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

// crypto.randomUUID is missing where the desk is reached over plain HTTP.
function randomKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}
