// Says on the page, in words, that a script went wrong. Without it, a panel would stay empty and give no reason.

const MOST_FAILURES = 3; // more of them say nothing new
const failuresTold = new Set(); // texts
const errorsTold = new WeakSet();

function tellFailure(text, error = null) {
  if (error) errorsTold.add(error);
  if (failuresTold.has(text) || failuresTold.size >= MOST_FAILURES) return;
  failuresTold.add(text);
  const line = document.createElement("p");
  line.className = "finding error";
  line.textContent = text;
  document.getElementById("failure").append(line);
}

function onFailure(error, message) {
  if (error instanceof Object && errorsTold.has(error)) return;
  const what = error instanceof Error ? `${error.name}: ${error.message}` : message;
  tellFailure(`Something on this page went wrong, and a part of it may be missing (${what}). Reload the page. If it happens again, report this text.`);
}

addEventListener("error", (event) => {
  // Browsers report late resize notices as errors without an exception. They do no harm.
  if (event.error) onFailure(event.error, event.message);
});
addEventListener("unhandledrejection", (event) => onFailure(event.reason, String(event.reason)));
