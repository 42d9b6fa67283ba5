/* Checks a bill in the browser: the bundle of a document of this server, or a file that somebody sent. Files are not uploaded. */

import {pageHead, panel} from "../controls.js";
import {announce, el, fill} from "../dom.js";
import {check, readFile, Unreadable} from "../proof.js";

const WORDS = {true: "right", false: "WRONG", null: "not checked"};
const CLASSES = {true: "chip", false: "chip warn", null: "chip"};

export function show(page) {
  const number = page.query.get("number") ?? "";
  const says = el("p", {class: "error", role: "alert"});
  const result = el("div", {});
  const input = (label, attributes, help) => el("div", {class: "field"}, el("label", {for: `check-${attributes.name}`}, label), el("input", {id: `check-${attributes.name}`, type: "text", ...attributes}), help ?? null);
  const form = el("form", {class: "do-form", onsubmit: (event) => { event.preventDefault(); run(); }},
    input("Document", {name: "number", value: number, placeholder: "2026-000012", autocomplete: "off"}),
    input("Or a file (.tollproof), which stays in this browser", {name: "file", type: "file", accept: ".tollproof,.gz,.json"}),
    input("Key of the log", {name: "key", placeholder: "example.com/tollbook+0123abcd+A…", autocomplete: "off", spellcheck: "false"},
      el("p", {class: "help"}, "Take the key from a place that this server cannot change: a contract, a letter, a page that the provider cannot change for you alone.")),
    el("p", {}, el("button", {type: "submit", class: "primary"}, "Check")), says);
  page.root.append(pageHead(page, "Check a bill"), panel("What to check", form), result);

  async function bundle() {
    const [file] = form.elements.file.files, wanted = form.elements.number.value.trim();
    if (file) return readFile(new Uint8Array(await file.arrayBuffer()));
    if (!wanted) throw new Unreadable("Enter the number of a document, or choose a file.");
    const answer = await page.get(`/billing/invoices/${encodeURIComponent(wanted)}/proof`);
    if (!answer.ok) throw new Unreadable(answer.message ?? "The server does not answer.");
    return answer.data;
  }

  async function run() {
    says.textContent = "";
    fill(result, el("p", {class: "soft"}, "Checking …"));
    try {
      if (!globalThis.crypto?.subtle) throw new Unreadable("This browser checks only on pages that come over TLS, or from this machine.");
      draw(await check(await bundle(), form.elements.key.value.trim()));
    } catch (error) {
      fill(result);
      if (!(error instanceof Unreadable)) console.error(error);
      says.textContent = error instanceof Unreadable ? error.message : "The file is no bundle of a bill.";
    }
  }

  function draw(found) {
    const wrong = found.checks.some((one) => one.ok === false), name = found.number || `the usage of ${found.month}`;
    const verdict = wrong ? `${name}: something is wrong.` : `${name}: what was checked is right.`;
    fill(result, panel("Result", el("p", {class: wrong ? "error" : "notice", data: {field: "verdict", value: String(!wrong)}}, verdict),
      el("dl", {class: "facts"}, el("dt", {}, "Log"), el("dd", {}, `${found.log}, ${found.size} entries`),
        found.checks.map((one) => [el("dt", {}, one.name), el("dd", {}, el("span", {class: CLASSES[one.ok], data: {field: one.name, value: String(one.ok)}}, WORDS[one.ok]), ` ${one.detail}`)])),
      el("p", {}, "Here nothing is rated. To rate the month again from its usage and prices, save the file and run:"),
      el("p", {}, el("code", {}, `tollbook-check ${found.number || "receipts"}.tollproof --key KEY`)),
      found.number && !form.elements.file.files.length ? el("p", {}, el("a", {class: "button", href: page.file(`/billing/invoices/${encodeURIComponent(found.number)}/proof`), download: `${found.number}.tollproof`}, "Save the file")) : null));
    announce(verdict);
  }

  if (number) run();
}
