import assert from "node:assert/strict";
import {test} from "node:test";
import {calmSpan, spanText} from "../../server/console/js/controls.js";
import * as r from "../../server/console/js/range.js";

const NOW = Date.UTC(2026, 10, 4, 9, 17);
const at = (text) => Date.parse(text);
const read = (text) => r.read(new URLSearchParams(text), NOW);
const span = (range) => [new Date(range.from).toISOString(), new Date(range.to).toISOString()];
const address = (range) => new URLSearchParams(Object.entries(r.write(range)).filter(([, value]) => value !== null)).toString();

test("nothing in the address is the last seven days, against the seven before", () => {
  const range = read("");
  assert.deepEqual(span(range), ["2026-10-29T00:00:00.000Z", "2026-11-05T00:00:00.000Z"]);
  assert.deepEqual([range.preset, range.compare, range.by], ["7d", "week", "hour"]);
  assert.equal(address(range), "");
});

test("presets move with the clock", () => {
  assert.deepEqual(span(read("range=24h")), ["2026-11-03T10:00:00.000Z", "2026-11-04T10:00:00.000Z"]);
  assert.deepEqual(span(read("range=30d")), ["2026-10-06T00:00:00.000Z", "2026-11-05T00:00:00.000Z"]);
  assert.deepEqual(span(read("range=12m")), ["2025-11-05T00:00:00.000Z", "2026-11-05T00:00:00.000Z"]);
  assert.equal(read("range=90d").by, "day");
  assert.equal(address(read("range=24h")), "range=24h");
});

test("own days: the last one counts whole, as in the API", () => {
  const range = read("from=2026-11-01&to=2026-11-03");
  assert.deepEqual(span(range), ["2026-11-01T00:00:00.000Z", "2026-11-04T00:00:00.000Z"]);
  assert.equal(address(range), "from=2026-11-01&to=2026-11-03");
  assert.deepEqual(r.ask(range), {from: "2026-11-01", to: "2026-11-03", by: "hour", compare: "week"});
});

test("own hours: the end is the end", () => {
  const range = read("from=2026-11-01T05:00Z&to=2026-11-01T09:00Z&compare=year");
  assert.deepEqual(span(range), ["2026-11-01T05:00:00.000Z", "2026-11-01T09:00:00.000Z"]);
  assert.deepEqual(r.ask(range), {from: "2026-11-01T05:00Z", to: "2026-11-01T09:00Z", by: "hour", compare: "year"});
  assert.deepEqual(span(read("from=2026-11-01T05:20&to=2026-11-01T09:20")), ["2026-11-01T05:00:00.000Z", "2026-11-01T10:00:00.000Z"]);
});

test("moments: UTC with Z or without, exact where lines of a log are meant", () => {
  assert.equal(r.parseMoment("2026-11-04T08:58"), at("2026-11-04T08:58Z"));
  assert.equal(r.parseMoment("2026-11-04T08:58:20.250Z"), at("2026-11-04T08:58:20Z"));
  assert.equal(r.parseMoment("2026-11-04", true), at("2026-11-05T00:00Z"));
  assert.equal(r.parseMoment("2026-11-04"), at("2026-11-04T00:00Z"));
  assert.equal(r.parseMoment("2026-11-04T08:58:61Z"), null);
  assert.equal(r.parseDate("2026-11-04T08:58"), at("2026-11-04T08:00Z"));
});

test("points of days and months are of whole days, and the time on screen says so", () => {
  const wide = ["2026-11-01T00:00:00.000Z", "2026-11-04T00:00:00.000Z"];
  for (const by of ["day", "month"]) assert.deepEqual(span(read(`from=2026-11-01T05:00Z&to=2026-11-03T09:00Z&by=${by}`)), wide, by);
  assert.deepEqual(span(read("range=24h&by=day")), ["2026-11-03T00:00:00.000Z", "2026-11-05T00:00:00.000Z"]);
  assert.deepEqual(span(read("from=2026-11-01T05:00Z&to=2026-11-03T09:00Z&by=hour")), ["2026-11-01T05:00:00.000Z", "2026-11-03T09:00:00.000Z"]);
});

test("one feature of a zone: whole days of the last year", () => {
  const days = (text) => r.featureDays(read(text), NOW);
  assert.deepEqual(span(days("range=24h")), ["2026-11-03T00:00:00.000Z", "2026-11-05T00:00:00.000Z"]);
  assert.deepEqual(span(days("from=2024-01-01&to=2026-01-31")), ["2025-11-04T00:00:00.000Z", "2026-02-01T00:00:00.000Z"]);
  assert.equal(days("from=2024-01-01&to=2024-12-31"), null);
});

test("what is no range is left out, never an error", () => {
  for (const text of ["from=2026-02-30&to=2026-03-01", "from=2026-11-03&to=2026-11-01", "from=x", "range=9y", "from=1926-11-03&to=2026-11-01",
    "from=2026-11-01T25:00Z&to=2026-11-03"]) assert.equal(read(text).preset, "7d", text);
  assert.equal(read("compare=<b>").compare, "week");
  assert.equal(read("by=week").by, "hour");
});

test("every address reads back to the same range", () => {
  let range = read("from=2026-10-01&to=2026-10-31&compare=none&by=day");
  for (let i = 0; i < 5; i++) {
    const again = read(address(range));
    assert.deepEqual(span(again), span(range));
    assert.equal(again.compare, range.compare);
    range = {...r.previous(range), compare: "none"};
  }
});

test("before: the same length; calendar months stay calendar months", () => {
  assert.deepEqual(span(r.previous(read("from=2026-11-02&to=2026-11-03"))), ["2026-10-31T00:00:00.000Z", "2026-11-02T00:00:00.000Z"]);
  assert.deepEqual(span(r.previous(read("from=2026-03-01&to=2026-03-31"))), ["2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"]);
  assert.deepEqual(span(r.next(read("from=2026-02-01&to=2026-02-28"), NOW)), ["2026-03-01T00:00:00.000Z", "2026-04-01T00:00:00.000Z"]);
});

test("later ends with today", () => {
  assert.equal(r.next(read(""), NOW), null);
  assert.deepEqual(span(r.next(read("from=2026-10-29&to=2026-11-02"), NOW)), ["2026-10-31T00:00:00.000Z", "2026-11-05T00:00:00.000Z"]);
});

test("zoom: whole buckets in, twice the length out", () => {
  const hours = read("from=2026-11-01&to=2026-11-03");
  const zoomed = r.zoomTo(hours, at("2026-11-01T05:20:00Z"), at("2026-11-01T06:10:00Z"));
  assert.deepEqual([...span(zoomed), zoomed.by], ["2026-11-01T05:00:00.000Z", "2026-11-01T07:00:00.000Z", "hour"]);
  const days = r.zoomTo(read("range=90d"), at("2026-10-01T05:20:00Z"), at("2026-10-01T06:10:00Z"));
  assert.deepEqual(span(days), ["2026-10-01T00:00:00.000Z", "2026-10-02T00:00:00.000Z"]);
  assert.deepEqual(span(r.zoomOut(read("from=2026-10-10&to=2026-10-11"), NOW)), ["2026-10-09T00:00:00.000Z", "2026-10-13T00:00:00.000Z"]);
  assert.deepEqual(span(r.zoomOut(read(""), NOW)), ["2026-10-25T00:00:00.000Z", "2026-11-05T00:00:00.000Z"]);
});

test("zooming out ends at ten years, which an address can still say", () => {
  let range = read("range=12m"), steps = 0;
  for (let next; (next = r.zoomOut(range, NOW)); range = next) {
    assert.ok(next.to - next.from > range.to - range.from && ++steps < 20);
    const back = read(new URLSearchParams(Object.entries(r.write(next)).filter(([, value]) => value)).toString());
    assert.deepEqual(span(back), span(next));
  }
  assert.equal((range.to - range.from) / 86400000, 3660);
  assert.equal(r.zoomOut(read("from=2030-01-01&to=2030-01-05"), NOW), null);
});

test("months: the last day stays the last day", () => {
  assert.equal(r.addMonths(at("2026-03-31T00:00:00Z"), -1), at("2026-02-28T00:00:00Z"));
  assert.equal(r.addMonths(at("2024-02-29T05:00:00Z"), 12), at("2025-02-28T05:00:00Z"));
  assert.equal(r.addMonths(at("2026-01-15T00:00:00Z"), -13), at("2024-12-15T00:00:00Z"));
});

test("own days that are no range say why", () => {
  const range = read("");
  assert.match(r.custom(range, "", "2026-11-01").problem, /first day/);
  assert.match(r.custom(range, "2026-11-02", "2026-11-01").problem, /before the first/);
  assert.deepEqual(span(r.custom(range, "2026-11-01", "2026-11-01").range), ["2026-11-01T00:00:00.000Z", "2026-11-02T00:00:00.000Z"]);
});

test("a time before is said by its days, or by its hours where it is short", () => {
  const of = (from, to) => calmSpan({from: Date.parse(from), to: Date.parse(to)}, "UTC");
  assert.equal(of("2026-09-06T00:00Z", "2026-10-05T09:00Z"), "6 Sept to 5 Oct 2026");
  assert.equal(of("2025-12-20T00:00Z", "2026-01-04T09:00Z"), "20 Dec 2025 to 4 Jan 2026");
  assert.equal(of("2026-11-02T10:00Z", "2026-11-03T09:00Z"), "2 Nov, 10:00 to 3 Nov, 09:00");
});

test("what a time can be compared with: hours with yesterday, months with months", () => {
  const ids = (text) => r.compares(read(text)).map((one) => one.id);
  const name = (text) => r.compares(read(text))[0].name;
  assert.deepEqual(ids("range=24h"), ["week", "day", "previous", "year", "none"]);
  assert.deepEqual(ids("range=30d"), ["week", "previous", "year", "none"]);
  assert.deepEqual(ids("range=12m&by=month"), ["week", "year", "none"]);
  assert.deepEqual(["range=24h", "range=30d", "range=12m&by=month"].map(name), ["the same hours last week", "the same weekdays before", "the months before"]);
  assert.equal(read("range=24h&compare=day").compare, "day");
  assert.equal(read("range=30d&compare=day").compare, "week");
  assert.equal(address(read("range=24h&compare=previous")), "range=24h&compare=previous");
});

test("hours of one day name it once", () => {
  assert.equal(spanText(read("from=2026-11-01T05:00Z&to=2026-11-01T09:00Z"), "UTC"), "1 Nov 2026, 05:00 to 09:00");
  assert.equal(spanText(read("from=2026-11-01T05:00Z&to=2026-11-02T09:00Z"), "UTC"), "1 Nov 2026, 05:00 to 2 Nov 2026, 09:00");
});
