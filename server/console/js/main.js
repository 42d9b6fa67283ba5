// The thinnest whole path: sign in, see whose session it is, sign out.
const form = document.getElementById("sign-in");
const says = document.getElementById("says");
const signOut = document.getElementById("sign-out");

async function ask(method, body) {
  const answer = await fetch("/console/session", {
    method,
    headers: { "X-Tollbook-Console": "1", "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  return { status: answer.status, body: answer.status === 204 ? null : await answer.json() };
}

function show({ status, body }) {
  const signedIn = status === 200;
  form.hidden = signedIn;
  signOut.hidden = !signedIn;
  says.textContent = signedIn ? `${body.role}, account ${body.account ?? "of the operator"}` : body?.Message ?? "";
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  show(await ask("POST", { key: form.elements.key.value }));
});
signOut.addEventListener("click", async () => show(await ask("DELETE")));
show(await ask("GET"));
