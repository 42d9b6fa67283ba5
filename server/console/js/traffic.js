/* The figures of traffic: their names in the API, on screen, and how each is read. Pure. */

import {bytes, bytesFull, change, changePoints, compact, milliseconds, number, percent, time, toMs} from "./format.js";

const full = (ms) => (ms === null || ms === undefined ? "–" : `${number(ms)} ms`);

/* How many percent of the requests. */
export const rate = (count, requests) => (Number(requests) ? 100 * Number(count) / Number(requests) : null);
export const rates = (counts, requests) => counts.map((count, n) => rate(count, requests[n]));

/** A tile's text: a figure of the totals; errors as a part of the requests. */
export function tileText(one, totals) {
  const value = totals[one.total], share = one.isError ? rate(value, totals.TotalRequestsServed) : null;
  return share === null ? {text: one.short(value), full: one.full(value)} : {text: percent(share, 2), full: `${one.full(value)} of ${number(totals.TotalRequestsServed)} requests`};
}

/** How a figure's points are read: errors as percent of the requests. */
export const pointsText = (one) => (one.isError ? RATE : one);
export const RATE = {short: (v) => percent(v, v < 0.1 ? 3 : 2), full: (v) => percent(v, 3)};

/** A tile, and the series behind it. more: whether more of it is worse (1), better (-1) or neither (0). */
export const FIGURES = [
  {id: "requests", name: "Requests", total: "TotalRequestsServed", points: (p) => p.RequestsServed, short: compact, full: number, more: 0},
  {id: "bandwidth", name: "Bandwidth", total: "TotalBandwidthUsed", points: (p) => p.BandwidthUsed, short: bytes, full: bytesFull, more: 0},
  {id: "hit-rate", name: "Hit rate, of requests", total: "CacheHitRate", points: (p) => ofSomething(p.CacheHitRate, p.RequestsServed), short: (v) => percent(v), full: (v) => percent(v, 2), more: -1, isRatio: true, top: 100},
  {id: "5xx", name: "Errors 5xx", total: "Errors5xx", points: (p) => rates(p.Error5xx, p.RequestsServed), short: compact, full: number, more: 1, isError: true},
  {id: "4xx", name: "Errors 4xx", total: "Errors4xx", points: (p) => rates(p.Error4xx, p.RequestsServed), short: compact, full: number, more: 1, isError: true},
  {id: "origin", name: "Origin traffic", total: "TotalOriginTraffic", points: (p) => p.OriginTraffic, short: bytes, full: bytesFull, more: 0},
  {id: "origin-time", name: "Origin response", total: "AverageOriginResponseTime", points: (p) => ofSomething(p.OriginResponseTime, p.PullRequestsPulled), short: milliseconds, full, more: 1},
];

export const STATUSES = [
  {name: "4xx", points: "Error4xx", colour: 1},
  {name: "5xx", points: "Error5xx", colour: 2},
];

export const times = (points) => points.at.map(toMs);

/** Series end with the clock: a bucket that has not begun is a gap, not a zero. */
export const untilNow = (values, at, now) => values.map((value, n) => (at[n] >= now ? null : value));

/** Values without the zero of the bucket that has just begun: nothing is counted in it yet. done: how many buckets are over. */
export const counted = (values, done) => values.map((value, n) => (n === done && !Number(value) ? null : value));

/** A ratio or a mean of nothing is a gap, not a zero. counts: what each is of. */
export const ofSomething = (values, counts) => values.map((value, n) => (Number(counts[n]) ? value : null));

/** The stretches of values between gaps: [first, end], end not in it. */
export function stretches(values) {
  const found = [];
  values.forEach((value, n) => {
    if (value === null || value === undefined) return;
    if (found.length && found.at(-1)[1] === n) found.at(-1)[1] = n + 1;
    else found.push([n, n + 1]);
  });
  return found;
}

/** When the bucket that begins at ms ends. */
export function bucketEnd(ms, by) {
  const at = new Date(ms);
  return by === "month" ? Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1) : ms + (by === "hour" ? 3600000 : 86400000);
}

/** How many buckets are over; the next one, where it has begun, is counted so far. */
export const finished = (at, by, now) => at.filter((ms) => bucketEnd(ms, by) <= now).length;

/** The part of a row's small line that is over: its numbers cover from to to in equal steps, and a day that is
 * running would look like a fall. Where no two are over, the running one too. */
export function sparkUntilNow(values, {from, to}, now) {
  const part = values.length * Math.max(0, Math.min(1, (now - from) / (to - from))), over = Math.floor(part + 1e-9);
  return values.slice(0, over > 1 ? over : Math.ceil(part));
}

/** Values of the time before beside the buckets at: by their number from the start, whichever has more. */
export const beside = (before, at) => at.map((_, n) => before[n] ?? null);

/** Which row of the time before is of a part of its bucket, and which part: it ends with the part of today that is
 * over. null: none is. answer: of GET /insights. */
export function partBefore(answer) {
  const rows = answer.previous_points?.RequestsServed.length ?? 0, end = new Date(rows ? answer.compare.to : 0);
  const isWhole = end % 86400000 === 0 && (answer.by === "day" || end.getUTCDate() === 1);
  return answer.by === "hour" || !rows || isWhole ? null : [rows - 1, answer.by === "day" ? "to the same hour" : "to the same day"];
}

/** What the changes are against, for a title; answer: of GET /insights. What is still to come of its time is not
 * compared: compare.to says where the time before ends. */
export function againstText(answer, now) {
  if (!answer.compare) return "";
  return toMs(answer.to) > now ? `against the same hours before, to ${time(answer.compare.to)} UTC` : "against the time before";
}

/** What was sent and did not come from cache: no measure of what the origin sent, which is OriginTraffic. */
export const notFromCache = (points) => points.BandwidthUsed.map((all, at) => Math.max(0, Number(all) - Number(points.BandwidthCached[at])));

/** "+12.5 % against before", and whether that is worse; now, before: totals. Errors that grow with the requests are no change. */
export function changeText(one, now, before) {
  const of = (totals) => (one.isError ? rate(totals[one.total], totals.TotalRequestsServed) : totals[one.total]);
  const changed = one.isError ? changePoints(of(now), of(before), 2) : one.isRatio ? changePoints(of(now), of(before)) : change(of(now), of(before));
  return {text: changed.text, worse: one.more !== 0 && changed.way === one.more};
}
