/* What a table does to its rows: order, search, CSV, and which of many are on screen. Pure.
 *
 * A column is {id, name, value(row), kind}: kind "number", "decimal" (money as text), "time" or "text". */

import {decimalCompare} from "./format.js";

const collator = new Intl.Collator("en", {numeric: true, sensitivity: "base"});

function comparison(kind) {
  if (kind === "decimal") return decimalCompare;
  if (kind === "number") return (a, b) => Number(a) - Number(b);
  return (a, b) => collator.compare(String(a), String(b));
}

/** A sorted copy. Rows without a value come last, whichever way; equal rows keep their order. */
export function sortRows(rows, column, descending) {
  if (!column) return rows;
  const compare = comparison(column.kind), way = descending ? -1 : 1;
  const isNothing = (value) => value === null || value === undefined || value === "";
  return rows.map((row) => [column.value(row), row]).sort(([a], [b]) => (isNothing(a) || isNothing(b)
    ? Number(isNothing(a)) - Number(isNothing(b)) : way * compare(a, b))).map(([, row]) => row);
}

/** Rows in which every word of the search stands somewhere. */
export function searchRows(rows, columns, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return rows;
  return rows.filter((row) => {
    const whole = columns.map((column) => column.value(row) ?? "").join("\n").toLowerCase();
    return words.every((word) => whole.includes(word));
  });
}

/* A spreadsheet must not run what a row says: text that begins like a formula gets an apostrophe, and so
 * does what some of them read as one: white space in front, signs of full width. */
function cell(value, kind) {
  let text = value === null || value === undefined ? "" : value === Infinity ? "new" : String(value);
  if (kind !== "number" && kind !== "decimal" && /^[\s=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** RFC 4180, the names of the columns first, the values as they are and not as they are shown. */
export function csv(columns, rows) {
  const lines = [columns.map((column) => cell(column.field ?? column.name ?? column.id, "text"))];
  for (const row of rows) lines.push(columns.map((column) => cell(column.value(row), column.kind)));
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}

/** Which rows of many are drawn: [first, end), with some above and below what is seen. */
export function slice(count, height, top, seen, more = 10) {
  const first = Math.max(0, Math.floor(top / height) - more);
  return [Math.min(first, count), Math.min(count, Math.ceil((top + seen) / height) + more)];
}

/** "name" or "-name" in an address: which column, which way. */
export function parseSort(text, columns) {
  const descending = (text ?? "").startsWith("-"), id = descending ? text.slice(1) : text;
  const column = columns.find((one) => one.id === id);
  return column ? {column, descending} : null;
}
