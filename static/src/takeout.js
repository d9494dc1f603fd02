// A field of the take-out dialog is marked as wrong for as long as something is said of it. What is said comes with
// each dry run; nothing that somebody types into is replaced.
export function startTakeOut() {
  document.addEventListener("htmx:after:swap", mark);
  mark();
}

function mark() {
  for (const field of document.querySelectorAll("#take-out [aria-describedby]")) {
    const wrong = document.getElementById(field.getAttribute("aria-describedby"))?.textContent.trim();
    if (wrong) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}
