// A refused action says why beside where it was taken. The server sends its words as a partial; where it
// could not be reached at all there is nobody else to say so. A session that has ended leads to the sign-in.
export function startRefusals() {
  document.addEventListener("htmx:response:error", (event) => {
    const { sourceElement, response } = event.detail?.ctx ?? {};
    if (sourceElement?.hasAttribute("hx-sse:connect")) return;
    if (response?.status === 401) location.reload();
  });
  document.addEventListener("htmx:error", (event) => {
    const ctx = event.detail?.ctx;
    if (!ctx || ctx.response || ctx.sourceElement?.hasAttribute?.("hx-sse:connect")) return;
    const place = document.getElementById("notice");
    if (!place) return;
    const text = document.createElement("p");
    text.className = "notice notice-failed";
    text.textContent = "The desk cannot be reached. Nothing was changed; try again when the header says live.";
    place.replaceChildren(text);
  });
  // An empty field is no filter: it stays out of the address.
  document.addEventListener("htmx:config:request", (event) => {
    const request = event.detail?.ctx?.request;
    if (request?.method?.toUpperCase() !== "GET" || !(request.body instanceof FormData)) return;
    for (const [name, value] of [...request.body]) if (value === "") request.body.delete(name);
  });
}
