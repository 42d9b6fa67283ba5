/* Where a chart's time axis gets its labels, and where its value axis does. Pure. */

import {tick, zoneOffset} from "./format.js";

const SECOND = 1000, MINUTE = 60000, HOUR = 3600000, DAY = 24 * HOUR;
const STEPS = [["second", 5], ["second", 15], ["second", 30], ["minute", 1], ["minute", 2], ["minute", 5], ["minute", 10], ["minute", 15], ["minute", 30], ["hour", 1], ["hour", 2], ["hour", 3], ["hour", 6], ["hour", 12], ["day", 1], ["day", 2], ["day", 3], ["day", 7], ["day", 14],
  ["month", 1], ["month", 2], ["month", 3], ["month", 6], ["year", 1], ["year", 2], ["year", 5]];
const FINE = {second: SECOND, minute: MINUTE, hour: HOUR}; // units whose steps have one length in every zone
const LENGTH = {...FINE, day: DAY, month: 30.4 * DAY, year: 365 * DAY};

const UNITS = ["second", "minute", "hour", "day", "month", "year"];

/* The instant at which a zone's wall clock shows what wall says as if it were UTC. */
function instant(wall, zone) {
  const guess = wall - zoneOffset(wall, zone);
  return wall - zoneOffset(guess, zone);
}

function after(wall, unit, n) {
  const at = new Date(wall);
  if (FINE[unit]) return wall + n * FINE[unit];
  if (unit === "day") return wall + n * DAY;
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + n * (unit === "year" ? 12 : 1), 1);
}

function start(wall, unit, n) {
  const at = new Date(wall);
  if (FINE[unit]) return Math.floor(wall / (n * FINE[unit])) * n * FINE[unit];
  if (unit === "day") return Math.floor(wall / DAY) * DAY; // counted from where the axis begins
  if (unit === "month") return Date.UTC(at.getUTCFullYear(), Math.floor(at.getUTCMonth() / n) * n, 1);
  return Date.UTC(Math.floor(at.getUTCFullYear() / n) * n, 0, 1);
}

/** Labels between from and to, two of them at least where there are as many, at most about max, on the zone's
 * round hours, days, months.
 * Buckets of days and months are UTC's, so their labels are too. */
export function timeTicks(from, to, max, by, zone) {
  const place = FINE[by] ? zone : "UTC";
  const steps = STEPS.filter(([unit]) => UNITS.indexOf(unit) >= UNITS.indexOf(by));
  const found = steps.findIndex(([unit, n]) => (to - from) / (LENGTH[unit] * n) <= max);
  for (let n = found < 0 ? steps.length - 1 : found; ; n--) {
    const ticks = ticksOf(from, to, steps[n], place);
    if (ticks.length > 1 || n === 0) return ticks;
  }
}

function ticksOf(from, to, [unit, n], place) {
  const ticks = [];
  for (let wall = start(from + zoneOffset(from, place), unit, n), i = 0; i < 200; wall = after(wall, unit, n), i++) {
    const ms = instant(wall, place);
    if (ms > to) break;
    if (ms >= from && ms !== ticks.at(-1)?.v) // where the clock skips an hour two of its labels are one
      ticks.push({v: ms, label: tick(ms, FINE[unit] && wall % DAY === 0 ? "day" : unit, place)});
  }
  return ticks;
}

/** Round steps from 0 (or low) past high: the axis ends on a label. */
export function valueTicks(low, high, max, format) {
  if (!(high > low)) high = low + 1;
  const rough = (high - low) / Math.max(1, max), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((one) => one >= rough * 0.999);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
    const v = Number((n * step).toPrecision(12));
    ticks.push({v, label: format(v)});
  }
  return ticks;
}

/** The top of an axis that shows high: the next round step. */
export function niceTop(high, max = 5) {
  if (!(high > 0)) return 1;
  const rough = high / max, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((one) => one >= rough * 0.999);
  return Number((Math.ceil(high / step - 1e-9) * step).toPrecision(12));
}
