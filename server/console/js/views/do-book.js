/* A price book: a copy of one with other prices, what differs, and what the months gone by would have cost under it. */

import {pageHead} from "../controls.js";
import {el, fill} from "../dom.js";
import {differences, differenceTable, formView, outcomeView, placeOf, readDocument, writeDocument} from "../form.js";
import {accountNames, monthBeside, operation, sentences, working} from "../operator.js";
import {regionText} from "../money.js";
import {diff, withAt} from "../scenario.js";
import {answerView} from "./what-if-answer.js";

const MONTHS = 3; // that a preview bills again

/** Bills the last months again under a scenario, and shows what comes of it. */
export async function whatIf(page, place, scenario, account = null) {
  const last = monthBeside(new Date(page.now()).toISOString().slice(0, 7), -1);
  const work = working(page, `Billing the last ${MONTHS} months again …`);
  const question = {from: monthBeside(last, 1 - MONTHS), to: last, ...(account ? {account: Number(account)} : {}), scenarios: [scenario]};
  fill(place, work.node);
  const answer = await page.post("/billing/what-if", question, {signal: work.signal});
  if (page.signal.aborted) return;
  if (!answer.ok) {
    fill(place, el("p", {class: "soft"}, answer.cancelled ? "The months were not billed again." : answer.message));
    return;
  }
  const names = await accountNames(page);
  const more = el("a", {href: page.href("/what-if", {scenario: JSON.stringify(scenario), first: question.from, last, account})}, "Ask more in What if");
  fill(place, el("h3", {}, `The last ${MONTHS} full months, billed again`), answerView(page, answer.data, names, null), el("p", {}, more));
}

const STEPS = {bandwidth: "Traffic", premium: "", regions: "", volume: "volume zones", tiers: "", optimizer: "Optimizer", load_balancer: "Load balancer", monthly: "a month",
  monthly_fee: "a month", minimum_monthly: "Least a month", price: "", price_per_million: "", overage: "beyond"};

/** The prices of a book: [{path: ["bandwidth", "premium", "regions", "EU"], text}], and of tiers how far each goes. */
export function pricesOf(book) {
  const found = [];
  const walk = (value, path, above) => {
    const name = path.at(-1);
    if (Array.isArray(value)) value.forEach((one, at) => walk(one, [...path, at], value));
    else if (value && typeof value === "object") for (const [key, inner] of Object.entries(value)) walk(inner, [...path, key], value);
    else if (/^(price.*|monthly.*|minimum_monthly|flat)$/.test(String(name)) || path.at(-2) === "regions") found.push({path, value, above});
  };
  walk(book, [], null);
  return found.map(({path, value, above}) => ({path, text: String(value).replace("\u0001", ""), isNumber: String(value)[0] === "\u0001", label: labelOf(path, above)}));
}

const shown = (value) => String(value).replace("\u0001", "");

function labelOf(path, above) {
  const words = path.filter((step) => typeof step === "string").map((step) => (path.includes("regions") && step === path.at(-1) ? regionText(step) : STEPS[step] ?? step.replaceAll("_", " "))).filter(Boolean);
  const from = above?.from ?? above?.from_millions, to = above?.to ?? above?.to_millions;
  const unit = above?.from === undefined ? "million requests" : "GB";
  if (from !== undefined) words.push(to === null || to === undefined ? `from ${shown(from)} ${unit} on` : `from ${shown(from)} to ${shown(to)} ${unit}`);
  return words.join(", ");
}

/** A list is changed within a copy of it. */
export function withPrice(book, path, value) {
  const at = path.findIndex((step) => typeof step === "number");
  if (at < 0) return withAt(book, path, value);
  const list = path.slice(0, at).reduce((part, step) => part[step], book);
  return withAt(book, path.slice(0, at), list.map((one, n) => (n === path[at] ? {...one, [path[at + 1]]: value} : one)));
}

export async function showBook(page, form) {
  const head = pageHead(page, "A price book", {above: el("a", {class: "soft", href: page.href("/operator/books")}, "Price books")});
  const listed = await operation(page, "book list");
  if (page.failed(listed)) return;
  const books = listed.answer.books, from = page.query.get("from") ?? books.at(-1)?.book ?? "";
  if (!books.length) {
    page.root.append(head, el("p", {class: "empty"}, "There is no price book to begin with. ", el("a", {href: page.href("/operator/books")}, "Give one as a file.")));
    return;
  }
  const found = await operation(page, "book show", {book: from});
  if (page.failed(found)) return;
  const base = readDocument(found.out), prices = pricesOf(base);
  const next = `${monthBeside(new Date(page.now()).toISOString().slice(0, 7), 1)}-01T00:00:00Z`;
  const fields = [
    {name: "book", label: "Name", kind: "text", required: true, maxLength: 64, help: "a name that no book has", initial: freeName(books, from)},
    {name: "effective_from", label: "In force from", kind: "text", required: true, help: "an hour, UTC", initial: next},
    ...prices.map((one) => ({name: one.path.join("."), label: one.label, kind: "text", required: true, initial: one.text, isPrice: true}))];
  const outcome = outcomeView(page), view = formView(page, fields, {submit: "Preview", onsubmit: preview, onchange: changed});
  for (const {path} of prices) view.input(path.join(".")).inputMode = "decimal";
  const choice = el("label", {class: "inline"}, "a copy of ", el("select", {onchange: (event) => page.set({from: event.target.value})}, books.map((one) => el("option", {value: one.book, selected: one.book === from}, one.book))));
  page.root.append(head, el("p", {class: "soft do-says"}, choice, ` in ${base.currency}. Prices are without tax. The other parts of the book are copied: change them in the text of a book, in `,
    el("a", {href: page.href("/operator/books", {book: from})}, "Price books"), "."),
  el("div", {class: "beside"}, el("div", {class: "view"}, el("section", {class: "panel price-form"}, view.node)), el("div", {class: "view"}, outcome.node)));

  function changed(name) {
    const field = fields.find((one) => one.name === name);
    if (field.isPrice) view.input(name).classList.toggle("changed", view.input(name).value.trim() !== field.initial);
    outcome.clear();
  }

  async function bookOf() {
    const values = await view.values(), problems = {};
    let book = {...base, book: values.book.trim(), effective_from: values.effective_from.trim()};
    delete book.supersedes;
    for (const {path, text, isNumber} of prices) {
      const typed = values[path.join(".")].trim();
      if (!/^\d+(\.\d+)?$/.test(typed)) problems[path.join(".")] = "A price is written like 0.012.";
      else if (typed !== text) book = withPrice(book, path, isNumber ? `\u0001${typed}` : typed);
    }
    for (const name of ["book", "effective_from"]) if (!book[name]) problems[name] = "This is needed.";
    view.wrong(problems);
    return Object.keys(problems).length ? null : book;
  }

  function wrong(answer) {
    const name = placeOf(answer.field || /^([a-z_.]+): /.exec(answer.message)?.[1], view.names);
    if (name) view.wrong({[name]: answer.message});
    else page.failed(answer);
    outcome.clear();
  }

  async function preview() {
    const book = await bookOf();
    page.failed({ok: true, path: "/operations/book-add"});
    if (!book) return;
    outcome.wait("Trying it …");
    const text = writeDocument(book, 1), answer = await operation(page, "book add", {shadow: true}, {body: text, query: {dryRun: true}});
    if (!answer.ok) return wrong(answer);
    const asks = el("div", {class: "view"}), shadow = el("input", {type: "checkbox", checked: true});
    const patch = JSON.parse(writeDocument(diff(base, {...book, book: base.book, effective_from: base.effective_from, supersedes: base.supersedes})));
    outcome.preview([differenceTable(differences(base, book), [from, book.book]),
      el("label", {}, shadow, " as a shadow book: it is compared each month and bills nothing until it is brought into force")], form.does,
    () => run(text, book, shadow.checked), asks);
    if (Object.keys(patch).length) whatIf(page, asks, {scenario: book.book, base: from, patch});
    else fill(asks, el("p", {class: "soft"}, "Its prices are those of the other book."));
  }

  async function run(text, book, isShadow) {
    const answer = await operation(page, "book add", isShadow ? {shadow: true} : {}, {body: text});
    if (!answer.ok) {
      wrong(answer);
      return false;
    }
    outcome.done(answer, [el("p", {class: "table-tools"}, isShadow ? [el("a", {class: "button", href: page.href("/do/activate", {book: book.book})}, "Bring it into force"),
      el("a", {class: "button", href: page.href("/do/drop", {book: book.book})}, "Drop it again")]
      : el("span", {class: "soft"}, "A book that is in force stays: a later book replaces it.")), el("p", {}, el("a", {href: page.href("/operator/books")}, "Price books"))]);
    return true;
  }
}

/* "standard-2026-2" of "standard-2026". */
function freeName(books, from) {
  const names = new Set(books.map((one) => one.book)), stem = from.replace(/-v\d+$/, "").slice(0, 58);
  let n = 2;
  while (names.has(`${stem}-v${n}`)) n++;
  return `${stem}-v${n}`;
}
