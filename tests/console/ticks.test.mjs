import assert from "node:assert/strict";
import {test} from "node:test";
import {niceTop, timeTicks, valueTicks} from "../../server/console/js/ticks.js";

const at = (text) => Date.parse(text);
const labels = (ticks) => ticks.map((one) => one.label);

test("hours in the zone on screen, a day's name at its midnight", () => {
  const utc = timeTicks(at("2026-11-03T10:00:00Z"), at("2026-11-04T09:00:00Z"), 10, "hour", "UTC");
  assert.deepEqual(labels(utc), ["12:00", "15:00", "18:00", "21:00", "4 Nov", "03:00", "06:00", "09:00"]);
  const kolkata = timeTicks(at("2026-11-03T10:00:00Z"), at("2026-11-04T09:00:00Z"), 5, "hour", "Asia/Kolkata");
  assert.deepEqual(labels(kolkata), ["18:00", "4 Nov", "06:00", "12:00"]);
});

test("the night of the clock change keeps its midnights", () => {
  const ticks = timeTicks(at("2026-10-24T00:00:00Z"), at("2026-10-27T00:00:00Z"), 4, "hour", "Europe/Berlin");
  assert.deepEqual(ticks.map((one) => new Date(one.v).toISOString().slice(8, 16)), ["24T22:00", "25T23:00", "26T23:00"]);
});

test("the hour that the clock skips has no label of its own", () => {
  const ticks = timeTicks(at("2026-03-28T22:00:00Z"), at("2026-03-29T04:00:00Z"), 8, "hour", "Europe/Berlin");
  assert.deepEqual(labels(ticks), ["23:00", "29 Mar", "01:00", "03:00", "04:00", "05:00", "06:00"]);
});

test("buckets of days are UTC's in every zone", () => {
  const ticks = timeTicks(at("2026-11-01T00:00:00Z"), at("2026-11-05T00:00:00Z"), 8, "day", "America/New_York");
  assert.deepEqual(labels(ticks), ["1 Nov", "2 Nov", "3 Nov", "4 Nov", "5 Nov"]);
});

test("a narrow chart of hours has more than one label", () => {
  for (const max of [1, 2, 3]) {
    const week = labels(timeTicks(at("2026-10-29T00:00:00Z"), at("2026-11-04T23:00:00Z"), max, "hour", "UTC"));
    assert.ok(week.length >= 2 && week.length <= 4, `${max}: ${week}`);
  }
  assert.deepEqual(labels(timeTicks(at("2026-10-29T00:00:00Z"), at("2026-11-04T23:00:00Z"), 3, "hour", "UTC")), ["29 Oct", "1 Nov", "4 Nov"]);
  assert.equal(timeTicks(at("2026-11-01T00:00:00Z"), at("2026-11-01T00:00:00Z"), 3, "day", "UTC").length, 1);
});

test("months begin on their first", () => {
  const ticks = timeTicks(at("2025-06-15T00:00:00Z"), at("2026-06-15T00:00:00Z"), 6, "month", "UTC");
  assert.ok(ticks.every((one) => new Date(one.v).getUTCDate() === 1));
  assert.ok(ticks.length <= 6 && ticks.length >= 3, String(ticks.length));
});

test("values: round steps up to the top", () => {
  assert.deepEqual(labels(valueTicks(0, 4000, 4, String)), ["0", "1000", "2000", "3000", "4000"]);
  assert.deepEqual([0, 1, 7, 972, 1001, 0.03].map((value) => niceTop(value)), [1, 1, 8, 1000, 1200, 0.03]);
});

test("minutes and seconds of a short time", () => {
  assert.deepEqual(labels(timeTicks(at("2026-11-04T08:05:00Z"), at("2026-11-04T09:04:30Z"), 7, "minute", "UTC")), ["08:10", "08:20", "08:30", "08:40", "08:50", "09:00"]);
  assert.deepEqual(labels(timeTicks(at("2026-11-04T08:05:00Z"), at("2026-11-04T08:06:00Z"), 5, "second", "Asia/Kolkata")), ["13:35:00", "13:35:15", "13:35:30", "13:35:45", "13:36:00"]);
});
