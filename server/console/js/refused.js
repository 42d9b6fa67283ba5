/* Refused lines of the last 72 hours, for the operator: how many over time, why, from where, and each with its text.
 * All of it is one operation, `refused`. */

import {zoneSwitch} from "./controls.js";
import {el} from "./dom.js";
import {entries, filterBar} from "./entries.js";
import {explorer} from "./explorer.js";
import {compact, number, time, toMs} from "./format.js";
import {operation} from "./operator.js";
import {spanOf, spanPicker} from "./views/logs.js";

const LIMIT = 100, SECONDS = 15;

const FILTERS = [
  {id: "contains", name: "text", hint: "part of the line"},
  {id: "reason", name: "reason", hint: "in its own words"},
  {id: "source", name: "source", hint: "a file or a key"},
];
const KINDS = [{id: "reason", name: "Reason", filter: "reason"}, {id: "source", name: "Source", filter: "source"}];
const COLOURS = [2, 5, 1, 4, 6];

/** A series for each of the most frequent reasons, the most frequent one at the bottom, and the rest on top. Pure. */
export function reasonSeries({reasons, points}) {
  const named = reasons.map((name, n) => ({name, colour: COLOURS[n % COLOURS.length], values: points.map((point) => Number(point.byReason[n]))}));
  const rest = points.map((point) => Number(point.lines) - point.byReason.reduce((sum, n) => sum + Number(n), 0));
  return [...(rest.some(Boolean) ? [{name: "other reasons", colour: 3, values: rest}] : []), ...named.reverse()];
}

const fields = (row) => Object.entries(row).map(([name, value]) => ({name, value: value ?? "empty", only: name === "reason" || name === "source" ? {[name]: value} : null}));

export function refused(page) {
  const bar = filterBar(page, FILTERS), times = spanPicker(page);
  const sum = explorer({page, label: "Refused lines over time", unit: "line", kinds: KINDS, series: reasonSeries,
    totals: ({totals, top}) => [{id: "lines", name: "Refused lines", value: totals.lines, text: compact(totals.lines), title: number(totals.lines)},
      ...KINDS.map((kind) => ({id: `${kind.id}s`, name: `${kind.name}s`, value: top[kind.id].distinct ?? "", text: top[kind.id].exact ? number(top[kind.id].distinct) : "many"}))],
    pick: (name) => name !== "other reasons" && page.set({reason: page.query.get("reason") === name ? null : name}),
    picked: (name) => page.query.get("reason") === name});
  const notice = el("p", {class: "notice", hidden: true});
  let end = null, stop = null, newest = ""; // end: no line that came after the first answer shifts the pages behind it
  const list = entries({page, label: "Refused lines", name: "refused", fields, time: (row) => toMs(row.at), older, columns: [
    {id: "at", name: "Taken in", value: (row) => row.at, cell: (row) => el("time", {datetime: row.at}, time(row.at, page.zone, true))},
    {id: "reason", name: "Reason", value: (row) => row.reason, wide: true},
    {id: "source", name: "Source", value: (row) => row.source, wideOnly: true},
    {id: "line", name: "Line", kind: "number", value: (row) => number(row.line)},
    {id: "text", name: "Text", wide: true, value: (row) => row.text ?? "empty", cell: (row) => (row.text === null ? "empty" : el("code", {}, row.text))}],
  empty: () => (bar.node.querySelector(".chip") ? "No refused line of this time passes the filters." : "No line was refused in this time.")});

  const text = (ms) => new Date(ms).toISOString().replace(".000Z", "Z");
  function question() {
    const {from, to} = spanOf(page.query, page.now());
    return {...bar.values(), from: text(from), ...(to === null ? {} : {to: text(to)}), limit: LIMIT};
  }

  async function load(mine) {
    const answer = await operation(page, "refused", question(), {signal: mine.signal});
    if (mine.signal.aborted) return;
    if (page.failed(answer)) sum.set(null);
    else if (JSON.stringify(answer.answer) !== newest) {
      const {lines, hasMore, complete, from, to} = answer.answer;
      newest = JSON.stringify(answer.answer);
      end = to;
      sum.set(plain(answer.answer));
      list.reset();
      list.merge(lines, hasMore);
      notice.hidden = complete;
      notice.textContent = `There are too many to count: these are the newest 500,000, taken in since ${time(from, page.zone, true)}.`;
    }
    const timer = setTimeout(() => load(mine), SECONDS * 1000);
    mine.signal.addEventListener("abort", () => clearTimeout(timer), {once: true});
  }

  async function older(rows) {
    const answer = await operation(page, "refused", {...question(), to: end, offset: rows.length}, {signal: stop.signal});
    if (page.failed(answer)) return null;
    return {rows: answer.answer.lines, done: !answer.answer.hasMore};
  }

  function redraw() {
    stop?.abort();
    stop = new AbortController();
    page.signal.addEventListener("abort", () => stop.abort(), {once: true, signal: stop.signal});
    bar.redraw();
    times.redraw();
    sum.wait();
    newest = "";
    page.title("Refused lines");
    load(stop);
  }

  sum.node.append(el("section", {class: "panel"}, list.node));
  page.root.append(el("div", {class: "range"}, times.node, zoneSwitch(page)), bar.node, notice, sum.node);
  redraw();
  return {update: redraw, again: redraw};
}

/* Counts as numbers: the operation's answer is read with exact digits. */
const plain = (answer) => ({...answer, stepSeconds: Number(answer.stepSeconds), points: answer.points.map((point) => ({...point, lines: Number(point.lines)})),
  totals: {lines: Number(answer.totals.lines)}});
