// The set-up link's secret is its fragment, which no server, log or Referer sees. It goes into the form and
// out of the address and the history.
export function startSetup() {
  const form = document.getElementById("setup");
  if (!form || location.hash.length < 2) return;
  form.elements.token.value = location.hash.slice(1);
  document.getElementById("setup-secret").hidden = true;
  history.replaceState(null, "", location.pathname);
}
