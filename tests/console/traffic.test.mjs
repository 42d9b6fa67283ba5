import assert from "node:assert/strict";
import {test} from "node:test";
import {againstText, beside, bucketEnd, changeText, counted, FIGURES, finished, ofSomething, partBefore, sparkUntilNow, STATUSES, stretches, tileText, untilNow} from "../../server/console/js/traffic.js";

const at = (...times) => times.map((time) => Date.parse(time));
const NOW = Date.parse("2026-11-04T09:17:00Z");

test("what has not begun is a gap; what is running is not finished", () => {
  const hours = at("2026-11-04T08:00Z", "2026-11-04T09:00Z", "2026-11-04T10:00Z");
  assert.deepEqual(untilNow([1, 2, 0], hours, NOW), [1, 2, null]);
  assert.deepEqual(untilNow([1, 0, 0], hours, Date.parse("2026-11-04T09:00Z")), [1, null, null]);
  assert.equal(finished(hours, "hour", NOW), 1);
  assert.equal(finished(hours, "hour", Date.parse("2026-11-04T10:00Z")), 2);
  assert.equal(finished(at("2026-11-03", "2026-11-04"), "day", NOW), 1);
  assert.equal(finished(at("2026-10-01", "2026-11-01"), "month", NOW), 1);
  assert.equal(bucketEnd(Date.parse("2026-12-01"), "month"), Date.parse("2027-01-01"));
});

test("a ratio of nothing is a gap, and a line has the stretches between gaps", () => {
  assert.deepEqual(ofSomething([50, 0, 0, "7"], [2, 0, 3, "1"]), [50, null, 0, "7"]);
  assert.deepEqual(ofSomething([0], []), [null]);
  assert.deepEqual(stretches([null, 1, 2, null, 0, undefined, 5]), [[1, 3], [4, 5], [6, 7]]);
  assert.deepEqual(stretches([null]), []);
  assert.deepEqual(stretches([1, 2]), [[0, 2]]);
});

test("an hour without requests has no hit rate and no origin time, and an hour that has just begun no count", () => {
  const points = {RequestsServed: [10, 0], CacheHitRate: [80, 0], PullRequestsPulled: [2, 0], OriginResponseTime: [70, 0]};
  const of = (id) => FIGURES.find((one) => one.id === id).points(points);
  assert.deepEqual([of("requests"), of("hit-rate"), of("origin-time")], [[10, 0], [80, null], [70, null]]);
  assert.deepEqual(counted([3, 0, 0], 2), [3, 0, null]);
  assert.deepEqual([counted([3, 0, 5], 2), counted([0, 0], 2)], [[3, 0, 5], [0, 0]]);
});

test("a hit rate says what it is of", () => {
  assert.equal(FIGURES.find((one) => one.id === "hit-rate").name, "Hit rate, of requests");
});

test("errors are a part of the requests: more of both is no change", () => {
  const errors = FIGURES.find((one) => one.id === "5xx");
  const totals = (requests, count) => ({TotalRequestsServed: requests, Errors5xx: count});
  assert.deepEqual(tileText(errors, totals(14581685, 3367)), {text: "0.02 %", full: "3,367 of 14,581,685 requests"});
  assert.deepEqual(tileText(errors, totals(0, 0)), {text: "0", full: "0"});
  assert.deepEqual(changeText(errors, totals(1015000, 1019), totals(1000000, 1000)), {text: "±0 pt", worse: false});
  assert.deepEqual(changeText(errors, totals(1000, 30), totals(1000, 10)), {text: "+2.00 pt", worse: true});
  assert.deepEqual(errors.points({RequestsServed: [200, 0], Error5xx: [1, 0]}), [0.5, null]);
  assert.deepEqual(STATUSES.map((one) => one.name), ["4xx", "5xx"]);
});

test("a row's small line ends with what is over", () => {
  const day = {from: Date.parse("2026-11-04"), to: Date.parse("2026-11-05")};
  assert.deepEqual(sparkUntilNow(Array(24).fill(0), day, NOW).length, 9);
  assert.deepEqual(sparkUntilNow([5, 5, 1], {from: Date.parse("2026-11-02"), to: Date.parse("2026-11-05")}, NOW), [5, 5]);
  assert.deepEqual(sparkUntilNow([5, 1, 0], {from: Date.parse("2026-11-03"), to: Date.parse("2026-11-06")}, NOW), [5, 1], "a line needs two");
  assert.deepEqual(sparkUntilNow([1, 2], {from: 0, to: 10}, NOW), [1, 2]);
});

test("the time before stands beside, whichever is longer", () => {
  assert.deepEqual(beside([1, 2, 3], at("2026-11-01", "2026-11-02")), [1, 2]);
  assert.deepEqual(beside([1], at("2026-11-01", "2026-11-02")), [1, null]);
});

test("a change says what it is against", () => {
  const answer = {to: "2026-11-05T00:00:00Z", compare: {from: "2026-10-22T00:00:00Z", to: "2026-10-28T10:00:00Z"}};
  assert.equal(againstText(answer, NOW), "against the same hours before, to 28 Oct 2026, 10:00 UTC");
  assert.equal(againstText({...answer, to: "2026-11-04T00:00:00Z"}, NOW), "against the time before");
  assert.equal(againstText({...answer, compare: null}, NOW), "");
});

test("the time before says which of its rows is of a part, and of hours none", () => {
  const answer = (by, rows, to) => ({by, previous_points: {RequestsServed: Array(rows).fill(7)}, compare: {to}});
  assert.deepEqual(partBefore(answer("day", 2, "2026-10-30T09:00:00Z")), [1, "to the same hour"]);
  assert.equal(partBefore(answer("day", 2, "2026-10-31T00:00:00Z")), null);
  assert.deepEqual(partBefore(answer("month", 1, "2025-10-05T00:00:00Z")), [0, "to the same day"]);
  assert.equal(partBefore(answer("month", 1, "2025-11-01T00:00:00Z")), null);
  assert.equal(partBefore(answer("hour", 1, "2026-10-30T08:30:00Z")), null);
  assert.equal(partBefore(answer("day", 0, "2026-10-30T09:00:00Z")), null);
  assert.equal(partBefore({by: "day", compare: null}), null);
});
