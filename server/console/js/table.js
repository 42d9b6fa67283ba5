/* A table: sorted by a click on its head, searched, saved as CSV, linked to. Many rows are drawn
 * only where they are seen.
 *
 *   const t = table({label: "Zones", name: "zones", columns, rows, page,
 *                    empty: "No zone yet. Declare one: tollbook apply --db FILE catalog.json"});
 *   root.append(t.node);  t.set(rows);
 *
 * column: {id, name, value(row), kind, cell(row), field, title(row), sort: false, wide: true, wideOnly: true, acts: true}
 *   value   what it is sorted, searched and saved by; money as text with kind "decimal"
 *   cell    what is shown: text or an element; the value where it is absent
 *   wide    its text may be long: it is cut, and whole where it has the focus; wideOnly: left out where the page is narrow
 *   acts    it has buttons alone, which neither paper nor a file needs
 *   field   the API's name of the figure: the cell gets data-field and data-value
 * Also: rowData(row) -> {zone: 101} for the row's data- attributes, search: true, sort: "-requests",
 * key: a name in front of its parts of the address where a view has two tables,
 * onsort(text), onsearch(text) where the server sorts and searches, want(first, end) where rows that are null are
 * still to be read, all(says) to read them before they are saved (null: no file; says(0.5): half of them), title: a heading in the tools' line (heading: "h3"
 * where one stands above it), tools: elements
 * beside the search, more: a line below, file: columns that the CSV has and the page does not, such as the currency that
 * cells name. */

import {csv, parseSort, searchRows, slice, sortRows} from "./rows.js";
import {announce, download, el, fill, later} from "./dom.js";
import {count as counted} from "./format.js";

/* How each table on the page draws anew: on paper all its rows are drawn. */
const redraws = new WeakMap();
const paper = globalThis.matchMedia?.("print");
paper?.addEventListener("change", () => document.querySelectorAll(".table-box").forEach((node) => redraws.get(node)?.()));

const ROW = globalThis.matchMedia?.("(max-width: 40rem)").matches ? 44 : 37; // px, as in base.css
const VIRTUAL = 150;

export const classes = (column) => [column.acts ? "acts" : "", column.kind === "number" || column.kind === "decimal" ? "right" : "", column.wide ? "wide" : "", column.wideOnly ? "wide-only" : ""].join(" ").trim() || null;

export function table(options) {
  const {columns, page, title, label = title, key = ""} = options;
  const names = {sort: `${key}sort`, search: `${key}search`};
  const state = {rows: options.rows ?? [], known: Boolean(options.rows), shown: [], sort: null, text: ""};
  const own = new URLSearchParams(), read = () => page?.query ?? own;
  const keep = (name, text, quiet) => (page ? page.set({[name]: text || null}, {replace: true, quiet}) : own.set(name, text));

  const body = el("tbody");
  const heads = columns.map(head);
  const grid = el("table", {"aria-label": label}, el("thead", {}, el("tr", {}, heads)), body);
  const scroller = el("div", {class: "table-scroll", tabindex: "0", role: "region", "aria-label": `${label}, scrolls`}, grid);
  const empty = el("p", {class: "empty", hidden: true});
  const foot = el("p", {class: "table-foot"});
  const typed = later((text) => searched(text), 150);
  const field = el("input", {type: "search", placeholder: "Search", "aria-label": `Search in ${label}`,
    oninput: (event) => typed(event.target.value)});
  const node = el("section", {class: "table-box", "aria-label": label},
    el("div", {class: "table-tools"}, title ? el(options.heading ?? "h2", {}, title) : null, options.search === false ? null : field, options.tools ?? [],
      el("span", {class: "does"},
        el("button", {type: "button", class: "quiet", onclick: save}, "CSV"),
        el("button", {type: "button", class: "quiet", onclick: (event) => copyLink(event.currentTarget)}, "Copy link"))),
    scroller, empty, foot);

  function head(column) {
    const cell = el("th", {scope: "col", class: classes(column)});
    if (column.sort === false) cell.append(column.name);
    else cell.append(el("button", {type: "button", class: "sort", onclick: () => sorted(column)}, column.name, el("span", {class: "arrow", "aria-hidden": "true"})));
    return cell;
  }

  function sorted(column) {
    const first = column.kind === "number" || column.kind === "decimal" || column.kind === "time";
    const descending = state.sort?.column === column ? !state.sort.descending : first;
    const text = `${descending ? "-" : ""}${column.id}`;
    keep(names.sort, text, !options.onsort);
    state.sort = {column, descending};
    scroller.scrollTop = 0;
    if (options.onsort) options.onsort(text);
    else arrange();
    announce(`${label}: sorted by ${column.name}, ${descending ? "descending" : "ascending"}`);
  }

  function searched(text) {
    state.text = text;
    scroller.scrollTop = 0;
    keep(names.search, text, !options.onsearch);
    if (options.onsearch) options.onsearch(text);
    else arrange();
  }

  function arrange() {
    columns.forEach((column, at) => {
      const way = state.sort?.column === column ? (state.sort.descending ? "descending" : "ascending") : null;
      if (way) heads[at].setAttribute("aria-sort", way);
      else heads[at].removeAttribute("aria-sort");
    });
    let rows = options.onsearch ? state.rows : searchRows(state.rows, columns, state.text);
    if (!options.onsort && state.sort) rows = sortRows(rows, state.sort.column, state.sort.descending);
    state.shown = rows;
    drawn = null;
    node.classList.toggle("many", rows.length > VIRTUAL);
    grid.setAttribute("aria-rowcount", String(rows.length + 1));
    empty.hidden = rows.length > 0;
    scroller.hidden = rows.length === 0;
    empty.textContent = !state.known ? "" : state.text && (options.onsearch || state.rows.length) ? "Nothing matches the search." : options.empty ?? "Nothing here.";
    fill(foot, rows.length > 20 || rows.length !== state.rows.length
      ? `${counted(rows.length, "row")}${rows.length !== state.rows.length ? ` of ${counted(state.rows.length, "row").replace(/ rows?$/, "")}` : ""}` : "",
      options.more ?? []);
    draw();
  }

  let drawn = null;
  function draw() {
    const many = state.shown.length > VIRTUAL && !paper.matches;
    const [first, end] = many ? slice(state.shown.length, ROW, scroller.scrollTop, scroller.clientHeight || 800) : [0, state.shown.length];
    if (drawn && drawn[0] === first && drawn[1] === end) return;
    drawn = [first, end];
    if (end > first && !paper.matches) want(first, end);
    const rows = state.shown.slice(first, end).map((row, at) => (row !== null ? line(row, first + at) : paper.matches ? null : waiting(first + at))).filter(Boolean);
    const had = focused();
    fill(body, spacer(first), rows, spacer(state.shown.length - end));
    if (had) focusOn(had);
  }

  /* Where the focus is among the rows stays, as they are drawn anew: what of which row; where the row has gone, the table. */
  const marks = new WeakMap();
  const stops = (row) => [...row.querySelectorAll("a[href], button")];
  function focused() {
    const row = body.contains(document.activeElement) ? document.activeElement.closest("tr") : null;
    return row && {mark: marks.get(row), stop: stops(row).indexOf(document.activeElement)};
  }
  function focusOn({mark, stop}) {
    const row = [...body.children].find((one) => marks.get(one) === mark);
    ((row && stops(row)[stop]) ?? scroller).focus({preventScroll: true});
  }
  const want = later((first, end) => options.want?.(first, end), 60); // not for what only flies by
  const spacer = (rows) => (rows ? el("tr", {class: "spacer", "aria-hidden": "true"}, el("td", {colspan: columns.length, style: {height: `${rows * ROW}px`}})) : null);

  const waiting = (at) => el("tr", {"aria-rowindex": String(at + 2), "aria-busy": "true"}, el("td", {colspan: columns.length, class: "soft"}, "…"));

  function line(row, at) {
    const node = el("tr", {"aria-rowindex": String(at + 2), data: options.rowData?.(row)}, columns.map((column) => {
      const value = column.value(row);
      return el("td", {class: classes(column), title: column.title?.(row), tabindex: column.wide && value ? "0" : null,
        data: column.field ? {field: column.field, value: value === null || value === undefined ? "" : String(value)} : null},
        column.cell ? column.cell(row) : value ?? "–");
    }));
    marks.set(node, `${columns[0].value(row)} ${JSON.stringify(options.rowData?.(row) ?? "")}`);
    return node;
  }

  async function save({currentTarget: button}) {
    if (button.ariaBusy) return;
    button.ariaBusy = "true";
    const rows = options.all ? await options.all((share) => { button.textContent = `CSV ${Math.max(0, Math.floor(100 * share))} %`; }) : state.shown;
    button.ariaBusy = null;
    button.textContent = "CSV";
    if (rows) download(`${options.name ?? "table"}.csv`, "text/csv;charset=utf-8", csv([...columns.filter((column) => column.csv !== false && !column.acts), ...options.file ?? []], rows));
  }

  let frame = 0;
  scroller.addEventListener("scroll", () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(draw);
  }, {passive: true});

  function fromAddress() {
    state.sort = parseSort(read().get(names.sort) ?? options.sort, columns);
    state.text = read().get(names.search) ?? "";
    if (document.activeElement !== field) field.value = state.text;
  }
  redraws.set(node, () => {
    drawn = null;
    draw();
  });
  fromAddress();
  arrange();
  return {
    node,
    get rows() { return state.rows; },
    /** Its rows are of another question than the one that was asked now. */
    wait() { node.ariaBusy = "true"; },
    /** null: they are not known. */
    set(rows) {
      node.ariaBusy = null;
      state.rows = rows ?? [];
      state.known = rows !== null;
      fromAddress();
      arrange();
    },
    say(text) { empty.textContent = text; },
    foot(...children) { fill(foot, ...children); },
  };
}

/** Copies the address, which holds the whole view. */
export async function copyLink(button) {
  const said = (button.dataset.says ??= button.textContent); // twice within two seconds too
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
  announce(button.textContent);
  setTimeout(() => { button.textContent = said; }, 2000);
}
