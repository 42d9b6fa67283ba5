import assert from "node:assert/strict";
import {test} from "node:test";
import {clicked, columnsOf, isOn} from "../../server/console/js/explorer.js";
import {reasonSeries} from "../../server/console/js/refused.js";
import {keptHours, seriesOf, spanOf} from "../../server/console/js/views/logs.js";

const NOW = Date.parse("2026-11-04T09:17:20Z"), HOUR = 3600000;
const at = (text) => Date.parse(text);

test("a click on a value filters by it, a second click no longer", () => {
  const status = {filter: "status", isList: true}, url = {filter: "urlContains"};
  assert.deepEqual(clicked(status, "502", null), {status: "502"});
  assert.deepEqual(clicked(status, "502", "502"), {status: null});
  assert.deepEqual(clicked(status, "502", "404"), {status: "502"});
  assert.deepEqual(clicked(status, "502", "404,502,503"), {status: "404,503"});
  assert.deepEqual(clicked(url, "/a,b", "/a,b"), {urlContains: null});
  assert.deepEqual(clicked(url, "/a", "/a,b"), {urlContains: "/a"});
  assert.deepEqual([isOn(status, "502", "404,502"), isOn(status, "50", "502"), isOn(url, "/a", "/a,b"), isOn(status, "", ""), isOn(status, "502", null)],
    [true, false, false, false, false]);
});

test("dragging asks for whole columns, within the histogram", () => {
  const points = ["09:00", "09:15", "09:30", "09:45"].map((time) => ({at: `2026-11-04T${time}:00Z`}));
  const zoomed = (from, to) => columnsOf(points, 900, at(`2026-11-04T${from}Z`), at(`2026-11-04T${to}Z`));
  assert.deepEqual(zoomed("09:16", "09:31"), {from: "2026-11-04T09:15:00Z", to: "2026-11-04T09:45:00Z"});
  assert.deepEqual(zoomed("09:09", "09:21"), {from: "2026-11-04T09:15:00Z", to: "2026-11-04T09:30:00Z"}); // a column begins half a step before its moment
  assert.deepEqual(zoomed("07:00", "12:00"), {from: "2026-11-04T09:00:00Z", to: "2026-11-04T10:00:00Z"});
});

test("today and yesterday are UTC's, and only what is kept", () => {
  const span = (last, now = NOW) => spanOf(new URLSearchParams({last}), now);
  assert.deepEqual(span("today"), {from: at("2026-11-04T00:00Z"), to: null, last: "today"});
  assert.deepEqual(span("yesterday"), {from: at("2026-11-03T00:00Z"), to: at("2026-11-04T00:00Z"), last: "yesterday"});
  assert.equal(span("sometime").last, "24h");
});

test("any of the 72 hours, by day, the newest first", () => {
  const days = keptHours(NOW);
  assert.deepEqual(days.map((one) => [new Date(one.day).getUTCDate(), one.hours.length]), [[4, 10], [3, 24], [2, 24], [1, 15]]);
  assert.equal(days.at(-1).hours.at(-1).from, at("2026-11-01T09:00Z"), "of which a part is kept");
  assert.ok(days.flatMap((one) => one.hours).every((hour) => hour.to - hour.from === HOUR));
  assert.equal(keptHours(at("2026-11-04T09:00Z")).at(-1).hours.at(-1).from, at("2026-11-01T09:00Z"), "an hour that is over for 72 hours is gone");
});

test("the histogram: a class for each status, the gravest at the bottom; or what came from cache", () => {
  const data = {totals: {"1xx": 0}, points: [{requests: 9, cached: 4, "1xx": 0, "2xx": 5, "3xx": 1, "4xx": 2, "5xx": 1}]};
  assert.deepEqual(seriesOf(data, false).map((one) => [one.name, one.values]), [["2xx", [5]], ["3xx", [1]], ["4xx", [2]], ["5xx", [1]]]);
  assert.equal(seriesOf({...data, totals: {"1xx": 3}}, false)[0].name, "1xx");
  assert.deepEqual(seriesOf(data, true).map((one) => [one.name, one.values]), [["not from cache", [5]], ["from cache", [4]]]);
});

test("refused lines: a series for each frequent reason, and the rest", () => {
  const points = [{lines: "7", byReason: ["4", "2"]}, {lines: "0", byReason: ["0", "0"]}];
  assert.deepEqual(reasonSeries({reasons: ["a", "b"], points}).map((one) => [one.name, one.values]), [["other reasons", [1, 0]], ["b", [2, 0]], ["a", [4, 0]]]);
  assert.deepEqual(reasonSeries({reasons: ["a"], points: [{lines: "2", byReason: ["2"]}]}).map((one) => one.name), ["a"]);
  assert.deepEqual(reasonSeries({reasons: [], points: []}), []);
});
