/* The operator's operations, as the views ask for them, and the server's own figures. */

import {el, inCode} from "./dom.js";

/** Runs an operation ("book list") until it is done. A long one is asked again and again: step(n) hears of each
 * answer, step(n, data), and may return false to end it. body: a document as text; the arguments go into the address then. query: what goes there
 * in any case, such as dryRun.
 * {ok: true, path, answer, out, said: [sentences], no, stopped, entry: of the audit log} or the API's error. */
export async function operation(page, name, given = {}, {body, step, signal, query = {}} = {}) {
  const path = `/operations/${name.replaceAll(" ", "-")}`;
  const whole = {ok: true, path, answer: null, out: "", said: [], no: false, stopped: false, entry: null};
  for (let next = "", steps = 1; ; steps++) {
    const all = next ? {...given, next} : given;
    const options = {exact: true, ...(signal ? {signal} : {})};
    const reply = body === undefined ? await page.post(path, all, {...options, query})
      : await page.post(path, body, {...options, type: "application/json", query: {...all, ...query}});
    if (!reply.ok) return reply;
    const {answer, out, said, no, entry} = reply.data;
    Object.assign(whole, {answer: answer ?? whole.answer, out: whole.out + out, said: [...whole.said, ...said], no: whole.no || no, entry: entry ?? whole.entry});
    next = reply.data.next;
    const goesOn = !step || step(steps, reply.data) !== false;
    if (!next) return whole;
    if (!goesOn) return {...whole, stopped: true};
  }
}

const ACCOUNT_SORTS = ["account", "name", "pays", "monthToDate", "balance", "owed", "overdue"];

/** How `account list` sorts: {sort, descending} of "-owed" in an address; by number where it names nothing that it
 * sorts by. Pure. */
export function accountSort(text) {
  const sort = (text ?? "").replace(/^-/, "");
  if (!ACCOUNT_SORTS.includes(sort)) return {sort: "account"};
  return {sort, ...(text.startsWith("-") ? {descending: true} : {})};
}

/** Prometheus' text as {name: number, 'name{label="x"}': number}. Pure. */
export function metrics(text) {
  const found = {};
  for (const line of text.split("\n")) {
    const match = /^([a-z_]+(?:\{[^}]*\})?) (-?[\d.e+]+)$/i.exec(line);
    if (match) found[match[1]] = Number(match[2]);
  }
  return found;
}

/** Where a document is wrong: the byte or the line that an error names. A byte counts from the document's beginning, or in some
 *  errors from the line's. Pure. */
export function place(message, text) {
  const line = /\bLine (\d+)/i.exec(message), byte = /\bbyte (\d+)/i.exec(message);
  if (!line && !byte) return null;
  const lines = text.split("\n");
  const bytes = new TextEncoder().encode(text).slice(0, Math.max(0, Number(byte?.[1]) - 1));
  const start = new TextDecoder().decode(bytes).length, found = text.slice(0, start).split("\n").length;
  if (line && !(byte && found === Number(line[1]))) {
    const at = lines.slice(0, Number(line[1]) - 1).join("\n").length + (Number(line[1]) > 1 ? 1 : 0);
    return {line: Number(line[1]), start: at, end: at + (lines[Number(line[1]) - 1] ?? "").length};
  }
  return {line: found, start, end: Math.min(text.length, start + 1)};
}

/** The month before or after "2026-10". Pure. */
export function monthBeside(month, by) {
  const [year, number] = month.split("-").map(Number);
  const at = new Date(Date.UTC(year, number - 1 + by, 1));
  return at.toISOString().slice(0, 7);
}

/** What is shown while an operation works: its words, how far it is (say("Half …", 0.5)), and a button that calls it off. Give `signal` to the operation. */
export function working(page, text) {
  const stop = new AbortController(), said = el("span", {}, text), bar = el("progress", {"aria-label": text});
  page.signal.addEventListener("abort", () => stop.abort(), {signal: stop.signal});
  return {signal: stop.signal, say(next, share) {
    said.textContent = next;
    if (share !== undefined) bar.value = share;
  }, node: el("div", {class: "running"}, said, bar, el("button", {type: "button", onclick: () => stop.abort()}, "Cancel"))};
}

/** What an operation said, a sentence a line. */
export const sentences = (said) => said.map((text) => el("p", {}, inCode(text)));

/** The names of all accounts by their numbers; of a customer's key none. */
export async function accountNames(page) {
  const names = new Map();
  for (let number = 1; page.offers("operator"); number++) {
    const found = await operation(page, "account list", {names: true, limit: 1000, page: number});
    if (!found.ok) break;
    for (const row of found.answer.accounts) names.set(row.account, row.name);
    if (names.size >= found.answer.total || !found.answer.accounts.length) break;
  }
  return names;
}
