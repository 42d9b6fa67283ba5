/* One object of the catalogue: its fields, what would change, and the change. All else stays as it is declared. */

import {pageHead} from "../controls.js";
import {el} from "../dom.js";
import {differences, differenceTable, formView, numeral, outcomeView, placeOf, readDocument, textOf, valueOf, writeDocument} from "../form.js";
import {FIELDS} from "../fields.js";
import {operation, sentences} from "../operator.js";
import {at, withAt} from "../scenario.js";
import {whatIf} from "./do-book.js";

const LABELS = {id: "Number", account: "Customer", terms_days: "Days to pay", tax: "Tax", "tax.category": "Kind of tax", "tax.rate": "Rate", "tax.reason": "Reason", "tax.reason_code": "Code of the reason", "contract.discount_percent": "Discount, in percent",
  "contract.minimum_monthly": "Least a month", "contract.commit.monthly": "Commit a month", "contract.commit.from": "First month", "contract.commit.to": "Last month",
  "contract.commit.amount": "Commit a period", "contract.commit.every": "Period", "contract.cap.monthly": "Cap a month", "contract.cap.action": "At the cap",
  "contract.book": "Own price book", "buyer.vat_id": "VAT identifier", vat_id: "VAT identifier", "payment.iban": "IBAN", created: "Exists since", deleted: "Ended"};
/* A tax that has a category, field by field; another is edited as it is written. */
const TAX = [
  {path: "tax.category", type: "string", usual: "", example: "S", help: "of EN 16931: S standard, Z zero, E exempt, AE reverse charge, K within the Union, G export, O not subject to VAT", choices: ["S", "Z", "E", "AE", "K", "G", "O"]},
  {path: "tax.rate", type: "percent", usual: "", example: "19", help: "percent; of category S alone"},
  {path: "tax.reason", type: "string", usual: "", example: "Reverse charge", help: "why there is no tax, as the invoice says it"},
  {path: "tax.reason_code", type: "string", usual: "", example: "VATEX-EU-AE", help: "the same as a code of VATEX"}];

const WORDS = {accounts: "customer", zones: "pull zone", load_balancers: "load balancer", shield_zones: "shield zone", seller: "seller"};
const labelOf = (path) => LABELS[path] ?? path.replace(/[._]/g, " ").replace(/^./, (letter) => letter.toUpperCase());

export async function showDocument(page, form) {
  const list = form.document, isSeller = list === "seller", isPart = list === "accounts" && form.id !== "customer";
  const id = isSeller ? "1" : page.query.get("id") ?? (isPart ? page.query.get("account") : null);
  const head = (title) => pageHead(page, title, {above: el("a", {class: "soft", href: page.href("/do")}, "Changes")});
  if (isPart && !id) return void page.root.append(head(form.title), el("section", {class: "panel"}, chooser(page, form)));
  let before, was = "none";
  if (id) {
    const found = await operation(page, "catalog show", {list}, {query: isSeller ? {} : {id}});
    if (page.signal.aborted) return;
    if (found.ok) {
      before = readDocument(found.out);
      was = found.answer.sha256;
    } else if (!isSeller || found.status !== 404) {
      page.failed(found);
      return;
    }
  }
  const isNew = before === undefined;
  const start = before ?? (list === "accounts" ? {id: await nextAccount(page)} : list === "zones" ? {created: new Date(page.now()).toISOString().replace(/\.\d+Z/, "Z")} : {});
  const split = list === "accounts" && (start.tax === undefined || start.tax?.category !== undefined);
  const known = FIELDS[list].flatMap((one) => (split && one.path === "tax" ? TAX : [one])), first = form.first.flatMap((path) => (split && path === "tax" ? TAX.map((one) => one.path) : [path]));
  const fields = [...first.map((path) => known.find((one) => one.path === path)), ...known.filter((one) => !first.includes(one.path))]
    .filter((one) => isNew || one.path !== "id").map((one) => fieldOf(page, first, one, start));
  const outcome = outcomeView(page), view = formView(page, fields, {submit: "Preview", onsubmit: preview, onchange: outcome.clear});
  const title = isNew ? `A new ${WORDS[list]}` : `${form.title}: ${before.name ?? textOf(before.id)}`;
  const remove = !isNew && !isPart && !isSeller ? el("button", {type: "button", class: "quiet", onclick: () => previewOf({remove: textOf(before.id)}, before, undefined)}, `Remove this ${WORDS[list]}`) : null;
  page.root.append(head(title), el("p", {class: "soft do-says"},
    "A change holds from now on; what is new holds for earlier time too. If you apply the catalogue from a file, change it there as well."),
  el("div", {class: "beside"}, el("div", {class: "view"}, el("section", {class: "panel"}, view.node, remove),
    isNew && !isSeller ? el("details", {class: "panel more"}, el("summary", {}, `Change a ${WORDS[list]} that is there`), chooser(page, form)) : null), el("div", {class: "view"}, outcome.node)));
  page.title(title);

  function fieldsOfDocument(values) {
    let after = before ?? {};
    const problems = {};
    for (const field of fields) {
      if (values[field.name] === field.initial) continue;
      const {value, problem} = valueOf(values[field.name], field.type, at(before, field.name.split(".")));
      if (problem) problems[field.name] = problem;
      else after = withAt(after, field.name.split("."), value);
    }
    for (const field of fields) {
      const said = at(after, field.name.split("."));
      if (isNew && said === undefined && field.initial) after = withAt(after, field.name.split("."), valueOf(field.initial, field.type).value);
      if (!problems[field.name] && (field.required || (field.needs && after[field.needs] !== undefined)) && at(after, field.name.split(".")) === undefined) problems[field.name] = "This is needed.";
    }
    return {after, problems};
  }

  async function preview() {
    const {after, problems} = fieldsOfDocument(await view.values());
    view.wrong(problems);
    if (!Object.keys(problems).length) await previewOf({}, before, after);
  }

  function wrong(answer) {
    const name = placeOf(answer.field, view.names);
    if (name) view.wrong({[name]: answer.message});
    else page.failed(answer);
    outcome.clear();
  }

  async function previewOf(given, one, other) {
    const sent = {list, ...(isSeller && isNew ? {} : {was}), ...given}, body = other === undefined ? undefined : writeDocument(other);
    page.failed({ok: true, path: "/operations/catalog-change"});
    outcome.wait("Trying it …");
    const answer = await change(sent, body, true);
    if (!answer.ok) return wrong(answer);
    const changes = differences(one, other);
    if (!changes.length) return outcome.refused(el("p", {}, "Nothing would change."));
    const asks = el("div", {class: "view"});
    const said = answer.said.map((text) => text.replace(/ Nothing changed\.$/, ""));
    outcome.preview([differenceTable(changes), sentences(said)], other === undefined ? "Remove it" : form.does, () => run(sent, body, one), asks);
    if (other && list === "accounts" && changes.some((row) => row.path.startsWith("contract."))) {
      whatIf(page, asks, {scenario: "contract", contracts: {[textOf(other.id)]: plain(other.contract ?? {})}}, textOf(other.id));
    }
  }

  const change = (sent, body, isDry) => operation(page, "catalog change", {}, {body: body ?? "", query: {...sent, dryRun: isDry || null}});

  async function run(sent, body, one) {
    const answer = await change(sent, body, false);
    if (!answer.ok) {
      wrong(answer);
      return false;
    }
    const made = body === undefined ? null : textOf(readDocument(body).id);
    const undo = el("button", {type: "button", onclick: async () => {
      undo.disabled = true;
      const taken = await change({list, ...(one === undefined ? {remove: made} : {})}, one === undefined ? undefined : writeDocument(one), false);
      if (page.failed(taken)) undo.disabled = false;
      else outcome.done(taken, el("p", {}, el("a", {href: page.href("/do")}, "Other changes")));
    }}, one === undefined ? "Remove it again" : "Put it back as it was");
    const next = list === "accounts" && one === undefined ? [["zone", {account: made}, "Add a pull zone for it"], ["tax", {id: made}, "Its tax and address"], ["contract", {id: made}, "Its contract"]] : [];
    outcome.done(answer, [el("p", {class: "table-tools"}, next.map(([to, members, text]) => el("a", {class: "button", href: page.href(`/do/${to}`, members)}, text)), isSeller && isNew ? null : undo),
      el("p", {}, el("a", {href: page.href("/do")}, "Other changes"))]);
    return true;
  }
}

/* A scenario's JSON, with numbers as they are. */
const plain = (part) => JSON.parse(writeDocument(part));

function fieldOf(page, first, one, document) {
  const asked = page.query.get(one.path), initial = textOf(at(document, one.path.split("."))) || (asked ?? "");
  const isFlag = /^true or false/.test(one.type);
  return {name: one.path, label: labelOf(one.path), help: `${one.help}${one.usual && !isFlag ? `; default: ${one.usual}` : ""}`, type: one.type, required: one.required, needs: one.needs,
    choices: isFlag ? ["true", "false"] : one.choices, kind: "text", isLong: /^object/.test(one.type), isAccount: one.path === "account", example: one.example, more: !first.includes(one.path), initial};
}

/** The number behind the greatest of an account. */
async function nextAccount(page) {
  const found = await operation(page, "account list", {names: true, sort: "account", descending: true, limit: 1});
  return numeral(String(BigInt(found.ok && found.answer.accounts.length ? found.answer.accounts[0].account : 0) + 1n));
}

/* Which one: its number goes into the address. */
function chooser(page, form) {
  const isAccount = form.document === "accounts";
  const view = formView(page, [{name: "id", label: isAccount ? "Customer" : "Its number", help: isAccount ? "by number or name" : "", kind: "number", isAccount, required: true, initial: ""}],
    {submit: "Go on", onsubmit: async () => {
      const id = (await view.values()).id.trim();
      if (/^[1-9]\d*$/.test(id)) page.set({id});
      else view.wrong({id: "This is no number."});
    }});
  return view.node;
}
