/* What can be changed here: the list of forms, and the form of one operation. A form previews what it would do, does it
 * once, and says where it is noted and how it is taken back. */

import {pageHead, panel} from "../controls.js";
import {el, figure, fill} from "../dom.js";
import {day, money} from "../format.js";
import {argumentsOf, fieldsOf, formView, outcomeView, ownReference, placeOf} from "../form.js";
import {formOf, groupsOf} from "../forms.js";
import {operation, sentences} from "../operator.js";
import {showBook} from "./do-book.js";
import {showDocument} from "./do-document.js";
import {showWithdrawal} from "./do-withdraw.js";

export function show(page) {
  const groups = groupsOf(page.may), form = formOf(page.params.form);
  if (!page.params.form) showList(page, groups);
  else if (!form || !groups.some((one) => one.forms.includes(form))) {
    page.root.append(el("h1", {}, form ? "Not for this key" : "There is no such form"), el("p", {}, el("a", {href: page.href("/do")}, "All that can be changed here")));
  } else {
    page.title(form.title);
    if (form.document) showDocument(page, form);
    else if (form.book) showBook(page, form);
    else if (form.withdraw) showWithdrawal(page, form);
    else showOperation(page, form);
  }
}

function showList(page, groups) {
  page.root.append(pageHead(page, "Changes", {beside: el("span", {class: "soft"}, "Each is previewed first, and noted in the audit log.")}),
    el("div", {class: "do-groups"}, groups.map((group) => el("section", {class: "panel"}, el("h2", {}, group.name),
      el("ul", {}, group.forms.map((one) => el("li", {}, el("a", {href: page.href(`/do/${one.id}`)}, one.entry ?? one.title))))))));
}

async function showOperation(page, form) {
  const operations = await page.get("/operations");
  if (page.failed(operations)) return;
  const given = Object.fromEntries(page.query), fields = fieldsOf(operations.data.operations.find((one) => one.name === form.operation), form, given);
  if (form.reference && !given[form.reference]) fields.find((one) => one.name === form.reference).initial = ownReference(page.now(), Math.random());
  if (form.shadows) {
    const listed = await operation(page, "book list");
    if (page.failed(listed)) return;
    fields.find((one) => one.name === form.shadows).choices = listed.answer.books.filter((one) => one.state === "shadow").map((one) => one.book);
  }
  const outcome = outcomeView(page), beside = form.money ? panel("The account") : null;
  const view = formView(page, fields, {submit: "Preview", onsubmit: preview, onchange: changed});
  page.root.append(pageHead(page, form.title, {above: el("a", {class: "soft", href: page.href("/do")}, "Changes")}),
    el("p", {class: "soft do-says"}, form.says ?? ""),
    el("div", {class: "beside"}, el("div", {class: "view"}, el("section", {class: "panel"}, view.node)), el("div", {class: "view"}, outcome.node, beside)));
  if (beside) beside.hidden = true;
  let shown = "", before = null;
  tellAccount();

  /* What was previewed is no longer what would be sent. */
  function changed(name) {
    outcome.clear();
    if (name === "account") tellAccount();
  }

  async function tellAccount() {
    const account = view.input("account")?.value.trim();
    if (!beside || account === shown) return;
    shown = account;
    beside.hidden = true;
    before = null;
    if (!/^[1-9]\d*$/.test(account) || !Number.isSafeInteger(Number(account))) return;
    const [ledger, aging] = await Promise.all([operation(page, "ledger", {account: Number(account)}), operation(page, "ledger aging", {account: Number(account)})]);
    if (page.signal.aborted || account !== shown || !ledger.ok || !aging.ok) return;
    before = ledger.answer;
    const currency = before.currency || aging.answer.accounts[0]?.currency || "", open = aging.answer.accounts[0]?.invoices ?? [];
    fill(beside, el("h2", {}, `Account ${account}`), el("dl", {class: "facts"}, el("dt", {}, "Balance"), el("dd", {}, figure("balance", before.balance, money(before.balance, currency)))),
      open.length ? el("h3", {}, "To be paid") : el("p", {class: "soft"}, "Nothing is to be paid."),
      el("ul", {class: "open-items"}, open.map((one) => el("li", {}, fields.some((field) => field.name === "invoice")
        ? el("button", {type: "button", class: "quiet", onclick: () => take(one)}, `${one.number}, ${money(one.remaining, currency)}`) : `${one.number}, ${money(one.remaining, currency)}`,
      one.due ? el("span", {class: "soft"}, ` due ${day(one.due)}`) : null))));
    beside.hidden = false;
  }

  function take(open) {
    view.input("amount").value = open.remaining;
    view.input("invoice").value = open.number;
    view.input("invoice").closest("details")?.setAttribute("open", "");
    outcome.clear();
    view.input("reference").focus();
  }

  function wrong(answer) {
    const name = placeOf(answer.field, view.names);
    if (name) view.wrong({[name]: answer.message});
    else page.failed(answer);
    outcome.clear();
    return !name && answer.lost;
  }

  async function preview() {
    const typed = await view.values(), sent = argumentsOf(fields, typed, form);
    page.failed({ok: true, path: `/operations/${form.operation.replaceAll(" ", "-")}`});
    view.wrong(sent.problems);
    if (Object.keys(sent.problems).length) return;
    outcome.wait("Trying it …");
    const answer = await operation(page, form.operation, sent.given, {body: sent.body, query: {...sent.query, dryRun: true}});
    if (!answer.ok) return wrong(answer);
    const isKnown = answer.answer?.known === true; // of a ledger's entry: this reference is there already
    const content = [isKnown ? null : balances(answer, "Balance now"), table(answer.out, answer.answer), sentences(answer.answer?.known === false ? answer.said.slice(1) : answer.said)];
    if (isKnown || (answer.no && form.operation !== "ledger import")) outcome.refused(content);
    else outcome.preview(content, form.does, () => run(sent));
  }

  /* What an entry says of itself is as if it were entered: a preview has the figures instead. */
  function balances(answer, now) {
    if (!form.money || answer.answer?.balance === undefined) return null;
    const currency = answer.answer.currency;
    return el("dl", {class: "facts"}, el("dt", {}, now), el("dd", {}, before ? money(before.balance, currency) : "–"),
      el("dt", {}, "Balance after"), el("dd", {}, figure("after", answer.answer.balance, money(answer.answer.balance, currency))));
  }

  async function run(sent) {
    const answer = await operation(page, form.operation, sent.given, {body: sent.body, query: sent.query});
    if (!answer.ok) {
      wrong(answer);
      return false;
    }
    const undo = form.undo?.(sent.given, answer.answer);
    const entered = answer.answer; // of a ledger's entry: what it says has a number without a currency
    if (entered?.known === false) answer.said[0] = `Entered: ${money(sent.given.amount, entered.currency)} for account ${entered.account}${sent.given.reference ? `, reference "${sent.given.reference}"` : ""}.`;
    outcome.done(answer, [balances(answer, "Balance before"), table(answer.out, answer.answer), answer.entry === null ? null : Array.isArray(undo)
      ? el("p", {}, el("a", {class: "button", href: page.href(`/do/${undo[1]}`, undo[2])}, undo[0])) : undo ? el("p", {class: "soft"}, undo) : null,
    el("p", {}, el("a", {href: page.href("/do")}, "Other changes"))]);
    shown = "";
    tellAccount();
    return true;
  }
}

/* What an operation prints as tab-separated lines; JSON is in the answer already. */
function table(out, answer) {
  if (answer?.months?.length) return rows(["Month", "Hours", "Days"], answer.months.map((one) => [one.month, `${one.hourRows} rows`, `${one.dayRows} rows`]));
  const lines = out.split("\n").filter(Boolean).map((line) => line.split("\t"));
  return lines.length > 1 && lines[0].length > 2 ? rows(lines[0], lines.slice(1)) : null;
}

function rows(head, list) {
  return el("div", {class: "table-scroll", tabindex: "0", role: "region", "aria-label": "What it does"}, el("table", {"aria-label": "What it does"},
    el("thead", {}, el("tr", {}, head.map((name) => el("th", {scope: "col"}, name)))), el("tbody", {}, list.map((line) => el("tr", {}, line.map((cell) => el("td", {}, cell)))))));
}
