/* Price books: which are in force, what two of them price differently, a new one with its mistakes where they are. */

import {pageHead, panel} from "../controls.js";
import {el, fill} from "../dom.js";
import {day} from "../format.js";
import {operation, place, sentences} from "../operator.js";
import {table} from "../table.js";

const STATES = {book: "in force from its day", shadow: "shadow: bills nothing"};

export function show(page) {
  let books = [];
  const mayAdd = page.may("book add");
  const result = el("div", {class: "trouble", role: "status"});
  const columns = [
    {id: "book", name: "Book", kind: "text", value: (row) => row.book,
      cell: (row) => el("a", {href: page.href("/operator/books", {book: row.book})}, row.book)},
    {id: "currency", name: "Currency", kind: "text", value: (row) => row.currency},
    {id: "effectiveFrom", name: "From", kind: "time", value: (row) => row.effectiveFrom, cell: (row) => day(row.effectiveFrom)},
    {id: "state", name: "State", kind: "text", value: (row) => STATES[row.state] ?? row.state},
    {id: "supersededBy", name: "Replaced by", kind: "text", value: (row) => row.supersededBy || null},
    {id: "sha256", name: "SHA-256", kind: "text", value: (row) => row.sha256, cell: (row) => el("code", {}, row.sha256.slice(0, 12)), title: (row) => row.sha256},
    page.may("book activate") ? {id: "do", name: "Actions", kind: "text", sort: false, acts: true, value: () => null, cell: (row) => (row.state === "shadow" ? [
      el("a", {class: "button", href: page.href("/do/activate", {book: row.book})}, "Activate"), " ", el("a", {class: "button", href: page.href("/do/drop", {book: row.book})}, "Drop")] : "")} : null,
  ].filter(Boolean);
  const t = table({label: "Price books", title: "Books", name: "books", page, columns, search: false,
    empty: "No price book yet. Give one below, or: tollbook book --db FILE book.json"});
  const shown = panel("A book"), compared = panel("Two books"), made = panel("A new book");
  page.root.append(pageHead(page, "Price books"), result, el("section", {class: "panel"}, t.node), shown, compared, ...mayAdd ? [made] : []);

  async function read() {
    const answer = await operation(page, "book list");
    if (page.failed(answer)) return;
    books = answer.answer?.books ?? [];
    t.set(books);
    update();
  }

  /* --- one --- */

  async function showOne(name) {
    shown.hidden = !books.some((book) => book.book === name);
    if (shown.hidden) return;
    const answer = await operation(page, "book show", {book: name});
    if (page.failed(answer)) return;
    let text = answer.out;
    try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* as it is */ }
    fill(shown, el("h2", {}, name), el("pre", {tabindex: "0", "aria-label": `Price book ${name}`}, text),
      !mayAdd ? null : el("div", {class: "table-tools"}, el("a", {class: "button", href: page.href("/do/book", {from: name})}, "A copy with other prices"),
        el("button", {type: "button", class: "quiet", onclick: () => { made.querySelector("textarea").value = text; made.querySelector("textarea").focus(); }}, "Start a new book from its text")));
  }

  /* --- two --- */

  async function compare(one, other) {
    const choose = (name, value) => el("select", {"aria-label": name, onchange: (event) => page.set({[name]: event.target.value})},
      [el("option", {value: ""}, "choose"), ...books.map((book) => el("option", {value: book.book, selected: book.book === value}, book.book))]);
    fill(compared, el("h2", {}, "Two books"), el("p", {class: "inline"}, choose("first", one), " beside ", choose("second", other)));
    if (![one, other].every((name) => books.some((book) => book.book === name))) return;
    const answer = await operation(page, "book diff", {book: one, other});
    if (page.failed(answer)) return;
    compared.append(...differences(answer.out, one, other), ...sentences(answer.said));
  }

  function differences(out, one, other) {
    const rows = new Map();
    for (const line of out.split("\n").filter(Boolean)) {
      const [sign, rest] = [line[0], line.slice(2)], [path, value = ""] = rest.split("\t");
      rows.set(path, {...(rows.get(path) ?? {path}), [sign === "-" ? "before" : "after"]: value});
    }
    if (!rows.size) return [];
    const list = table({label: `What ${one} and ${other} price differently`, name: "books-diff", page, key: "diff-", search: false, columns: [
      {id: "path", name: "Price", kind: "text", value: (row) => row.path},
      {id: "before", name: one, kind: "text", value: (row) => row.before},
      {id: "after", name: other, kind: "text", value: (row) => row.after}], rows: [...rows.values()]});
    return [list.node];
  }

  /* --- a new one --- */

  function editor() {
    const text = el("textarea", {rows: 14, spellcheck: "false", "aria-label": "The book, as JSON", "aria-describedby": "book-says", required: true});
    const says = el("p", {class: "error", role: "alert", id: "book-says"});
    const file = el("input", {type: "file", accept: "application/json,.json", "aria-label": "A file", onchange: async () => {
      if (file.files[0]) text.value = await file.files[0].text();
    }});
    const shadow = el("input", {type: "checkbox", checked: true});
    const form = el("form", {class: "book-form", onsubmit: async (event) => {
      event.preventDefault();
      says.textContent = "";
      text.removeAttribute("aria-invalid");
      const answer = await operation(page, "book add", shadow.checked ? {shadow: true} : {}, {body: text.value});
      if (answer.ok) {
        page.failed(answer);
        fill(result, el("div", {class: "notice"}, sentences(answer.said)));
        read();
        return;
      }
      if (answer.lost || answer.cancelled) return;
      const at = place(answer.message, text.value);
      says.textContent = at ? `Line ${at.line}: ${answer.message.replace(/^Line \d+, byte \d+: /, "")}` : answer.message;
      text.setAttribute("aria-invalid", "true");
      text.focus();
      if (at) text.setSelectionRange(at.start, at.end);
    }}, el("label", {}, "From a file ", file), text, says,
    el("label", {}, shadow, " as a shadow: it is compared and bills nothing until it is activated"),
    el("div", {}, el("button", {type: "submit", class: "primary"}, "Add the book")));
    fill(made, el("h2", {}, "A new book"), form);
  }

  function update() {
    showOne(page.query.get("book"));
    compare(page.query.get("first"), page.query.get("second"));
  }

  shown.hidden = true;
  if (mayAdd) editor();
  read();
  return {update, again: read};
}
