/* Rows as they come: the newest first, new ones on top, older ones when the end comes into sight. A row
 * unfolds into all its fields; a field's value filters by it. Logs and events are shown by it.
 *
 *   const list = entries({page, label: "Request log", name: "log", columns, fields, older, empty: "..."});
 *   page.root.append(list.node);  list.reset();  list.merge(rows, hasMore);
 *
 * column: {id, name, value(row), cell(row), kind: "number"}, as in table.js
 * fields(row) -> [{name, value, only}]   only: the members of the address that show what has this value
 * time(row)   its moment, which orders them
 * older()     asks for what lies before the last row: a promise of {rows, done}, or null after an error
 * MAX rows are on the page at most; then it says how to come to the others. */

import {download, el, fill} from "./dom.js";
import {count} from "./format.js";
import {csv} from "./rows.js";
import {merged, unseen} from "./stream.js";
import {classes, copyLink} from "./table.js";

export const MAX = 2000;

export function entries(options) {
  const {page, columns, label, time, fields, older} = options;
  const nodes = new Map(); // row -> its two lines
  let rows = [], done = true, asks = false;

  const body = el("tbody");
  const more = el("button", {type: "button", class: "older", hidden: true, onclick: ask}, "Older");
  const grid = el("table", {"aria-label": label}, el("thead", {}, el("tr", {}, el("th", {scope: "col"}, el("span", {class: "sr-only"}, "All fields")),
    columns.map((column) => el("th", {scope: "col", class: classes(column)}, column.name)))), body);
  const scroller = el("div", {class: "table-scroll", tabindex: "0", role: "region", "aria-label": `${label}, scrolls`}, grid, more);
  const empty = el("p", {class: "empty", hidden: true});
  const says = el("span", {class: "soft"});
  const node = el("section", {class: "table-box entries", "aria-label": label},
    el("div", {class: "table-tools"}, options.tools ?? [],
      el("span", {class: "does"},
        el("button", {type: "button", class: "quiet", onclick: save}, "CSV"),
        el("button", {type: "button", class: "quiet", onclick: (event) => copyLink(event.currentTarget)}, "Copy link"))),
    scroller, empty, el("p", {class: "table-foot"}, says));

  const seen = new IntersectionObserver((found) => { if (found.some((one) => one.isIntersecting)) ask(); }, {root: scroller, rootMargin: "400px"});
  seen.observe(more);
  page.signal.addEventListener("abort", () => seen.disconnect());

  function lines(row) {
    const all = el("tr", {class: "unfolded", hidden: true});
    const button = el("button", {type: "button", class: "icon quiet", "aria-expanded": "false", "aria-label": "All fields", onclick: () => unfold(row, all, button)}, "›");
    const line = el("tr", {onclick: (event) => { if (!event.target.closest("button,a") && !String(getSelection())) unfold(row, all, button); }}, el("td", {}, button),
      columns.map((column) => el("td", {class: classes(column)},
        column.cell ? column.cell(row) : column.value(row) ?? "–")));
    return [line, all];
  }

  function unfold(row, all, button) {
    const opens = all.hidden;
    if (opens && !all.firstChild)
      all.append(el("td", {colspan: columns.length + 1, class: "wide"}, el("dl", {class: "facts"}, fields(row).map(({name, value, only}) => [
        el("dt", {}, name),
        el("dd", {}, only ? el("button", {type: "button", class: "only", title: `Show only what has this ${name}`, onclick: () => page.set(only)}, String(value)) : String(value)),
      ]))));
    all.hidden = !opens;
    button.setAttribute("aria-expanded", String(opens));
  }

  function draw() {
    for (const row of nodes.keys()) if (!rows.includes(row)) nodes.delete(row);
    let at = body.firstChild;
    for (const row of rows) {
      if (!nodes.has(row)) nodes.set(row, lines(row));
      for (const line of nodes.get(row)) {
        if (line === at) at = at.nextSibling;
        else body.insertBefore(line, at);
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
    const full = rows.length >= MAX;
    scroller.hidden = rows.length === 0;
    empty.hidden = rows.length > 0 || asks;
    empty.textContent = options.empty();
    more.hidden = done || full || rows.length === 0;
    says.textContent = rows.length === 0 ? "" : full ? `The newest ${count(MAX, "row")} are here. Filter for others, or download.`
      : `${count(rows.length, "row")}${done ? ", all there are" : ""}`;
  }

  async function ask() {
    if (asks || done || rows.length >= MAX) return;
    asks = true;
    more.textContent = "Older …";
    const answer = await older(rows);
    asks = false;
    more.textContent = "Older";
    if (!answer || page.signal.aborted) return;
    rows = rows.concat(answer.rows).slice(0, MAX);
    done = answer.done;
    draw();
    seen.unobserve(more); // an observer tells changes: what is still in sight is asked of again
    seen.observe(more);
  }

  function save() {
    const all = [...new Set(rows.flatMap((row) => fields(row).map((field) => field.name)))];
    const named = all.map((name) => ({id: name, name, value: (row) => fields(row).find((field) => field.name === name)?.value}));
    download(`${options.name}.csv`, "text/csv;charset=utf-8", csv(named, rows));
  }

  return {
    node,
    get rows() { return rows; },
    reset() {
      rows = [];
      done = true;
      nodes.clear();
      fill(body);
      empty.hidden = scroller.hidden = more.hidden = true;
      says.textContent = "";
    },
    /** The newest page. Where nothing of it is here there may be a gap behind it: it begins anew. */
    merge(coming, hasMore) {
      const added = unseen(rows, coming, time);
      if (!rows.length || (added.length === coming.length && hasMore)) {
        rows = coming.slice(0, MAX);
        done = !hasMore;
      } else {
        rows = merged(rows, added, time).slice(0, MAX);
      }
      draw();
    },
  };
}

/** The filters of the address as chips, and a form that adds one. filters: [{id, name, hint, read, unknown}]; read(text): the
 * value that the API knows, or null, and `unknown` says so at the field. */
export function filterBar(page, filters) {
  const node = el("div", {class: "filters", role: "group", "aria-label": "Filters"});
  const which = el("select", {"aria-label": "Filter by"}, filters.map((filter) => el("option", {value: filter.id}, filter.name)));
  const value = el("input", {"aria-label": "Value of the filter", placeholder: filters[0].hint ?? "", required: true, maxlength: 1000});
  which.addEventListener("change", () => { value.placeholder = filters.find((filter) => filter.id === which.value).hint ?? ""; });
  const form = el("form", {class: "filter", onsubmit: (event) => {
    event.preventDefault();
    const filter = filters.find((one) => one.id === which.value), typed = value.value.trim();
    const text = filter.read ? filter.read(typed) : typed;
    value.setCustomValidity(typed && text === null ? filter.unknown : "");
    if (!value.reportValidity() || !text) return;
    value.value = "";
    page.set({[filter.id]: text});
  }}, which, value, el("button", {type: "submit"}, "Filter"));
  const chips = el("ul", {class: "chips"});
  value.addEventListener("input", () => value.setCustomValidity(""));
  which.addEventListener("change", () => value.setCustomValidity(""));
  node.append(form, chips);
  return {
    node,
    redraw() {
      fill(chips, filters.filter((filter) => page.query.get(filter.id)).map((filter) => el("li", {class: "chip on"},
        el("span", {}, `${filter.name}: ${page.query.get(filter.id)}`),
        el("button", {type: "button", "aria-label": `Take away the filter ${filter.name}`, onclick: () => {
          page.set({[filter.id]: null});
          value.focus();
        }}, "×"))));
    },
    values: () => Object.fromEntries(filters.map((filter) => [filter.id, page.query.get(filter.id)]).filter(([, text]) => text)),
  };
}
