/* What the views of meters work out of GET /meters and its usage: quantities in units that people read. Pure.
 *
 * A counter's windows are sums. A gauge's are unit-seconds and are shown as the mean value over the window, or over a month in
 * unit-months. Samples are sums and are shown as a mean rate; over a month their value is the interval of the percentile. */

import {compact, count, decimalSum, number} from "./format.js";

const HOUR = 3600000, DAY = 24 * HOUR;
const digits = (value) => (Math.abs(value) < 1e5 ? number(Number(value.toPrecision(4))) : compact(value));
const many = (unit) => count(2, unit, /s$/.test(unit) ? `${unit}es` : /[^aeiou]y$/.test(unit) ? `${unit.slice(0, -1)}ies` : undefined).slice(2);

const per = (meter) => Number(meter.display?.per ?? 1);
const isBytes = (meter) => meter.unit === "byte";

/** What a meter's windows are measured in: {name, of(value, seconds)}, which gives a number. */
export function measure(meter) {
  const unit = meter.display?.unit ?? many(meter.unit);
  if (meter.kind === "gauge") return {name: unit, of: (value, seconds) => (seconds ? Number(value) / seconds / per(meter) : 0)};
  if (meter.kind === "sample" && isBytes(meter)) return {name: "Mbit/s", of: (value, seconds) => (seconds ? Number(value) * 8 / seconds / 1e6 : 0)};
  if (meter.kind === "sample") return {name: `${unit} a second`, of: (value, seconds) => (seconds ? Number(value) / seconds / per(meter) : 0)};
  return {name: unit, of: (value) => Number(value) / per(meter)};
}

/** "12.34 GB" of a number in a meter's measure. */
export const shown = (meter, value) => `${digits(value)} ${measure(meter).name}`;

/** A month's quantity, as it is billed: "650 GB-months", "26.0 M requests", "880 Mbit/s". at: the month's beginning and end, ms. */
export function monthText(meter, value, {start, end}) {
  if (meter.kind === "gauge") return `${digits(Number(value) / per(meter) / ((end - start) / 1000))} ${meter.display?.unit ?? meter.unit}-months`;
  if (meter.kind === "sample") return shown(meter, measure(meter).of(value, meter.interval));
  return shown(meter, measure(meter).of(value));
}

/** The same with all digits, in the meter's own units. */
export const exactText = (meter, value) => `${number(value)} ${meter.kind === "gauge" ? `${meter.unit}-seconds` : many(meter.unit)}${meter.kind === "sample" ? ` in ${meter.interval} s` : ""}`;

/** The windows from one moment to another, ms: their beginnings. by: "hour", "day", "month". */
export function beginnings(from, to, by) {
  const all = [];
  const first = new Date(from), step = by === "hour" ? HOUR : DAY;
  if (by !== "month") for (let at = Math.floor(from / step) * step; at < to; at += step) all.push(at);
  else for (let n = 0; ; n++) {
    const at = Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + n, 1);
    if (at >= to) break;
    all.push(at);
  }
  return all;
}

/** What a window is of: its resource, a value of a dimension, or "". by: "resource", a dimension, or "". */
export const groupOf = (row, by) => (!by ? "" : by === "resource" ? row.resource ?? "" : row.dimensions?.[by] ?? "");

/** Windows as series of a chart, the largest so many groups and then the others together; and rows of a table, the largest first.
 * name: of the only group where nothing is grouped. until: the clock, ms. */
export function seriesOf(meter, windows, {at, by, name, until, most = 5}) {
  const {of} = measure(meter), place = new Map(at.map((ms, n) => [ms, n])), groups = new Map();
  for (const row of windows) {
    const n = place.get(Date.parse(row.start));
    if (n === undefined) continue;
    const key = groupOf(row, by), group = groups.get(key) ?? groups.set(key, {key, sum: [], values: at.map(() => 0)}).get(key);
    const seconds = (Math.min(Date.parse(row.end), Math.max(until, at[n] + 1000)) - at[n]) / 1000;
    group.sum.push(row.value);
    group.values[n] += of(row.value, seconds);
  }
  const rows = [...groups.values()].map((one) => ({...one, sum: decimalSum(one.sum)})).sort((a, b) => Number(b.sum) - Number(a.sum));
  const gap = (values) => values.map((value, n) => (at[n] >= until ? null : value));
  const series = rows.slice(0, most).map((one) => ({name: one.key || (by ? "none" : name), values: gap(one.values)}));
  const rest = rows.slice(most);
  if (rest.length) series.push({name: "Others", values: gap(at.map((_, n) => rest.reduce((sum, one) => sum + one.values[n], 0)))});
  return {series: series.length ? series : [{name, values: gap(at.map(() => 0))}], rows};
}
