/* What the month's run makes of a preview's rows: which need a look first, which can be made final, what documents lack.
 * Pure. */

import {decimalCompare, decimalSum} from "./format.js";

/** What looks wrong with a row, without what its document lacks. */
export const oddities = (row) => row.looks_wrong.filter((one) => one.what !== "lacks");

const SHORT = {refused: "cannot be rated", unpriced: "no price", new: "new", negative: "below zero", currency: "currency", no_usage: "no usage", more: "more", odd_hour: "odd hour"};

/** The first thing that looks wrong, in a word or two: "no price", "+103.9 %". */
export function inShort(row) {
  const [first] = oddities(row);
  if (!first) return "";
  if (first.what !== "unusual") return SHORT[first.what] ?? first.what;
  return `${row.usual.percent.startsWith("-") ? "\u2212" : "+"}${magnitude(row.usual.percent)} %`;
}

const isNothing = (row) => !row.looks_wrong.some((one) => one.what === "unpriced") && row.bytes === "0" && row.requests === "0" &&
  (row.total === null || decimalCompare(row.total, "0") === 0);

/** "stopped": a draft that cannot be made final as it is; "odd": a draft that looks wrong; "draft"; "final"; "elsewhere": billed by
 * another document; "nothing": nothing is due. */
export function stateOf(row) {
  if (row.state === "final" || row.state === "elsewhere") return row.state;
  if (row.looks_wrong.some((one) => one.what === "refused" || one.what === "unpriced")) return "stopped";
  if (isNothing(row)) return "nothing";
  return oddities(row).length ? "odd" : "draft";
}

const ORDER = ["stopped", "odd", "draft", "final", "elsewhere", "nothing"];
const magnitude = (text) => (text.startsWith("-") ? text.slice(1) : text);

/** A copy with what needs a look first: what stops, then what is furthest from its usual amount, then the largest. */
export function lookFirst(rows) {
  const rank = (row) => {
    const state = stateOf(row);
    return ORDER.indexOf(state) * 2 + (oddities(row).length ? 0 : 1);
  };
  const off = (row) => (row.looks_wrong.some((one) => one.what === "unusual") ? magnitude(row.usual.percent) : "0");
  return [...rows].sort((a, b) => rank(a) - rank(b) || decimalCompare(off(b), off(a)) || decimalCompare(b.total ?? "0", a.total ?? "0") || a.account - b.account);
}

/** Whether a draft is chosen at first: those that look right are. */
export const isChosen = (row) => stateOf(row) === "draft";
/** Whether it can be chosen. */
export const canChoose = (row) => ["odd", "draft"].includes(stateOf(row));

/** [[currency, sum]] of rows' totals, by currency. */
export function sums(rows) {
  const of = new Map();
  for (const row of rows) if (row.total !== null && row.currency) of.set(row.currency, [...(of.get(row.currency) ?? []), row.total]);
  return [...of].sort(([a], [b]) => (a < b ? -1 : 1)).map(([currency, all]) => [currency, decimalSum(all)]);
}

const WORDS = {vat_id: "VAT number", tax_id: "tax number", registration_id: "registration number", postal_code: "postal code", iban: "IBAN"};

/** A field of the catalogue in words: "buyer.postal_code" -> "the buyer's postal code". */
export function fieldText(path) {
  const [owner, ...rest] = path.replace("accounts[]", "account").split(".");
  return `the ${owner}${rest.length ? `'s ${rest.map((one) => WORDS[one] ?? one.replaceAll("_", " ")).join(" ")}` : ""}`;
}

/** Whether there is a document, or will be one, that lacks what the law wants of an invoice. */
export const isIncomplete = (row) => row.missing.length > 0 && !["nothing", "elsewhere"].includes(stateOf(row));

/** What documents lack, once a field: [{field, text, rows, isSeller}], what most documents lack first. */
export function gaps(rows) {
  const of = new Map();
  for (const row of rows.filter(isIncomplete)) for (const field of row.missing) of.set(field, [...(of.get(field) ?? []), row]);
  return [...of].map(([field, lacking]) => ({field, text: fieldText(field), rows: lacking, isSeller: field.startsWith("seller")}))
    .sort((a, b) => b.rows.length - a.rows.length);
}

/** A preview's totals as rows of a table: [{currency, name, now, before, difference, isSum}]. */
export function totalRows(totals) {
  const row = (currency, name, now, before, isSum = false) => ({currency, name, now, before, isSum,
    difference: decimalSum([now, before.startsWith("-") ? before.slice(1) : `-${before}`])});
  return totals.flatMap((one) => [...one.products.map((p) => row(one.currency, p.name, p.net, p.last)),
    row(one.currency, "Before tax", one.net, one.last.net, true), row(one.currency, "With tax", one.total, one.last.total, true)]);
}

/** "Aurora Inc, Brick Inc and 71 more". */
export function namesOf(rows, most = 3) {
  const names = rows.slice(0, most).map((row) => row.name), more = rows.length - names.length;
  return more ? `${names.join(", ")} and ${more} more` : names.join(", ");
}
