/* Which time a view shows: what its address says of it, the period before it, and the picker's
 * steps. Pure: the caller gives the clock.
 *
 * A range is {preset, from, to, by, compare}: from and to in ms, to exclusive. In the address stands
 * either range=7d, which moves with the clock, or from= and to= with the API's meaning: a last
 * day counts whole, a time on the hour is the end. */

const HOUR = 3600000, DAY = 24 * HOUR;
const MAX = 10 * 366 * DAY;

export const PRESETS = [
  {id: "24h", name: "24 h", full: "the last 24 hours"},
  {id: "7d", name: "7 d", full: "the last 7 days"},
  {id: "30d", name: "30 d", full: "the last 30 days"},
  {id: "90d", name: "90 d", full: "the last 90 days"},
  {id: "12m", name: "12 m", full: "the last 12 months"},
];
const COMPARES = ["week", "day", "previous", "year", "none"];
const COMPARED = "week"; // where the address says nothing

/** What a range can be compared with, in words. Whole weeks earlier is the rule: a Tuesday stands beside a Tuesday, an
 * hour beside the same hour; months stand beside months. */
export function compares(range) {
  const isShort = range.to - range.from <= DAY, isMonths = range.by === "month";
  return [
    {id: "week", name: isMonths ? "the months before" : isShort ? "the same hours last week" : "the same weekdays before"},
    isShort && !isMonths ? {id: "day", name: "the same hours yesterday"} : null,
    isMonths ? null : {id: "previous", name: "the time directly before"},
    {id: "year", name: "the same time last year"},
    {id: "none", name: "nothing"},
  ].filter(Boolean);
}
const BYS = ["hour", "day", "month"];
export const DEFAULT = "7d";

const dayOf = (ms) => Math.floor(ms / DAY) * DAY;
const hourOf = (ms) => Math.floor(ms / HOUR) * HOUR;

/** The same day n months later; the last day of a month where there is no such day. */
export function addMonths(ms, n) {
  const at = new Date(ms);
  const first = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + n, 1);
  const next = new Date(first);
  const last = new Date(Date.UTC(next.getUTCFullYear(), next.getUTCMonth() + 1, 0)).getUTCDate();
  return first + (Math.min(at.getUTCDate(), last) - 1) * DAY + (ms - dayOf(ms));
}

function presetSpan(id, now) {
  const end = dayOf(now) + DAY;
  switch (id) {
    case "24h": return [hourOf(now) - 23 * HOUR, hourOf(now) + HOUR];
    case "30d": return [end - 30 * DAY, end];
    case "90d": return [end - 90 * DAY, end];
    case "12m": return [addMonths(end, -12), end];
    default: return [end - 7 * DAY, end];
  }
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?Z?)?$/;

/** Address text to ms, UTC with Z or without. A day alone is its start, or its end where it is the last one. Else null. */
export function parseMoment(text, isEnd = false) {
  const match = DATE.exec(text ?? "");
  if (!match) return null;
  const [year, month, day, hour = 0, minute = 0, second = 0] = match.slice(1).map((part) => (part === undefined ? undefined : Number(part)));
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  const back = new Date(ms);
  if (back.getUTCMonth() !== month - 1 || back.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59) return null;
  return match[4] === undefined && isEnd ? ms + DAY : ms;
}

/** The same to whole hours: what is counted. */
export function parseDate(text, isEnd = false) {
  const ms = parseMoment(text, isEnd);
  return ms === null ? null : isEnd && ms % HOUR ? hourOf(ms) + HOUR : hourOf(ms);
}

/** Whole days as days, anything else as hours. */
export function formatDate(ms, isEnd, hours) {
  const text = new Date(ms).toISOString();
  return hours ? `${text.slice(0, 16)}Z` : new Date(isEnd ? ms - 1 : ms).toISOString().slice(0, 10);
}

const isWhole = (range) => range.from % DAY === 0 && range.to % DAY === 0;

/** The bucket that suits a length: hours to 8 days, days to 13 months, months beyond. */
export function byFor(range) {
  const days = (range.to - range.from) / DAY;
  return days <= 8 ? "hour" : days <= 400 ? "day" : "month";
}

/** What an address asks for. What it has wrong is left out, never an error. */
export function read(query, now) {
  const compare = COMPARES.includes(query.get("compare")) ? query.get("compare") : COMPARED;
  const wanted = query.get("by");
  const from = parseDate(query.get("from")), to = parseDate(query.get("to"), true);
  let range;
  if (from !== null && to !== null && from < to && to - from <= MAX) range = {preset: null, from, to};
  else {
    const preset = PRESETS.some((one) => one.id === query.get("range")) ? query.get("range") : DEFAULT;
    const [start, end] = presetSpan(preset, now);
    range = {preset, from: start, to: end};
  }
  range.by = BYS.includes(wanted) ? wanted : byFor(range);
  if (range.by === "hour" && range.to - range.from > 100 * DAY) range.by = "day";
  if (range.by !== "hour") [range.from, range.to] = [dayOf(range.from), dayOf(range.to - 1) + DAY]; // as the API counts
  range.compare = compares({...range, compare}).some((one) => one.id === compare) ? compare : COMPARED;
  range.byAsked = BYS.includes(wanted) ? wanted : null;
  return range;
}

/** The members of an address that say a range; null takes one away. */
export function write(range) {
  const hours = !isWhole(range);
  return {
    range: range.preset && range.preset !== DEFAULT ? range.preset : null,
    from: range.preset ? null : formatDate(range.from, false, hours),
    to: range.preset ? null : formatDate(range.to, true, hours),
    compare: range.compare && range.compare !== COMPARED ? range.compare : null,
    by: range.byAsked ?? null,
  };
}

/** The days of a range that the statistics of one feature of a zone can say: whole ones, of the last year. null: none. */
export function featureDays(range, now) {
  const from = Math.max(dayOf(range.from), addMonths(dayOf(now), -12)), to = dayOf(range.to - 1) + DAY;
  return from < to ? {from, to} : null;
}

/** The parameters for GET /insights. */
export function ask(range) {
  const hours = !isWhole(range);
  return {from: formatDate(range.from, false, hours), to: formatDate(range.to, true, hours), by: range.by, compare: range.compare};
}

const own = (range, from, to) => ({...range, preset: null, from, to, byAsked: null, by: byFor({from, to})});

/** The period just before, of the same length; whole calendar months stay whole months. */
export function previous(range) {
  const months = wholeMonths(range);
  return own(range, months ? addMonths(range.from, -months) : range.from - (range.to - range.from), range.from);
}

/** One length later, never past the end of today. */
export function next(range, now) {
  const months = wholeMonths(range), length = range.to - range.from;
  const to = months ? addMonths(range.to, months) : range.to + length;
  const end = dayOf(now) + DAY;
  if (range.to >= end) return null;
  return to > end && !months ? own(range, end - length, end) : own(range, range.to, to);
}

/** Twice the length around the same middle, in whole days from a day on, ten years at most; null where it is no longer than what
 * is shown. */
export function zoomOut(range, now) {
  const length = range.to - range.from, unit = length * 2 >= DAY ? DAY : HOUR;
  const to = Math.min(Math.ceil((range.to + length / 2) / unit) * unit, dayOf(now) + DAY);
  const from = Math.max(Math.floor((range.from - length / 2) / unit) * unit, to - MAX);
  return to - from > length ? own(range, from, to) : null;
}

/** What was dragged on a chart: whole buckets, one at least; days where it is longer than hours suit. */
export function zoomTo(range, from, to) {
  const unit = to - from > 8 * DAY || range.by !== "hour" ? DAY : HOUR;
  const start = Math.floor(from / unit) * unit;
  return own(range, start, Math.max(start + unit, Math.ceil(to / unit) * unit));
}

function wholeMonths(range) {
  const first = (ms) => ms % DAY === 0 && new Date(ms).getUTCDate() === 1;
  if (!first(range.from) || !first(range.to)) return 0;
  return monthsBetween(range.from, range.to);
}

export function monthsBetween(from, to) {
  const a = new Date(from), b = new Date(to);
  return (b.getUTCFullYear() - a.getUTCFullYear()) * 12 + b.getUTCMonth() - a.getUTCMonth();
}

/** What the picker's own fields hold: null and a reason where they are no range. */
export function custom(range, fromText, toText) {
  const from = parseDate(fromText), to = parseDate(toText, true);
  if (from === null) return {range: null, problem: "Give the first day, such as 2026-11-01."};
  if (to === null) return {range: null, problem: "Give the last day, such as 2026-11-30."};
  if (from >= to) return {range: null, problem: "The last day is before the first. Change one of them."};
  if (to - from > MAX) return {range: null, problem: "That is more than ten years. Choose a shorter time."};
  return {range: own(range, from, to), problem: null};
}
