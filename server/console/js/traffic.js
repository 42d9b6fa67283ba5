/* The figures of traffic: their names in the API, on screen, and how each is read. Pure. */

import {bytes, bytesFull, change, changePoints, compact, milliseconds, number, percent, toMs} from "./format.js";

const full = (ms) => (ms === null || ms === undefined ? "–" : `${number(ms)} ms`);

/** A tile, and the series behind it. more: whether more of it is worse (1), better (-1) or neither (0). */
export const FIGURES = [
  {id: "requests", name: "Requests", total: "TotalRequestsServed", points: (p) => p.RequestsServed, short: compact, full: number, more: 0},
  {id: "bandwidth", name: "Bandwidth", total: "TotalBandwidthUsed", points: (p) => p.BandwidthUsed, short: bytes, full: bytesFull, more: 0},
  {id: "hit-rate", name: "Cache hit rate", total: "CacheHitRate", points: (p) => p.CacheHitRate, short: (v) => percent(v), full: (v) => percent(v, 2), more: -1, isRatio: true, top: 100},
  {id: "5xx", name: "Errors 5xx", total: "Errors5xx", points: (p) => p.Error5xx, short: compact, full: number, more: 1},
  {id: "4xx", name: "Errors 4xx", total: "Errors4xx", points: (p) => p.Error4xx, short: compact, full: number, more: 1},
  {id: "origin", name: "Origin traffic", total: "TotalOriginTraffic", points: (p) => p.OriginTraffic, short: bytes, full: bytesFull, more: 0},
  {id: "origin-time", name: "Origin response", total: "AverageOriginResponseTime", points: (p) => p.OriginResponseTime, short: milliseconds, full, more: 1},
];

export const STATUSES = [
  {name: "3xx", points: "Error3xx", colour: 3},
  {name: "4xx", points: "Error4xx", colour: 1},
  {name: "5xx", points: "Error5xx", colour: 2},
];

export const times = (points) => points.at.map(toMs);

/** Series end with the clock: what is to come is a gap, not a zero. */
export const untilNow = (values, at, now) => values.map((value, n) => (at[n] > now ? null : value));

/** What was sent and did not come from cache. */
export const fromOrigin = (points) => points.BandwidthUsed.map((all, at) => Math.max(0, Number(all) - Number(points.BandwidthCached[at])));

/** "+12.5 % against before", and whether that is worse. */
export function changeText(one, now, before) {
  const changed = one.isRatio ? changePoints(now, before) : change(now, before);
  return {text: changed.text, worse: one.more !== 0 && changed.way === one.more};
}
