import assert from "node:assert/strict";
import test from "node:test";

import {beginnings, exactText, groupOf, measure, monthText, seriesOf, shown} from "../../server/console/js/meters.js";

const HOUR = 3600000, DAY = 24 * HOUR, at = (text) => Date.parse(text);
const storage = {meter: "storage", kind: "gauge", unit: "byte", display: {unit: "GB", per: "1000000000"}, resource: "storage_zone", dimensions: ["region"]};
const requests = {meter: "script_requests", kind: "counter", unit: "request", resource: "script"};
const port = {meter: "port", kind: "sample", unit: "byte", interval: 300, resource: "port"};
const november = {start: at("2026-11-01T00:00:00Z"), end: at("2026-12-01T00:00:00Z")};

test("a month's quantity is said as it is billed", () => {
  assert.equal(monthText(storage, String(650n * 10n ** 9n * 2592000n), november), "650 GB-months");
  assert.equal(monthText(requests, "26000000", november), "26.0 M requests");
  assert.equal(monthText(port, "33000000000", november), "880 Mbit/s");
  assert.equal(monthText({...requests, display: {unit: "CPU-hour", per: "3600"}}, "36000", november), "10 CPU-hour");
  assert.equal(exactText(storage, "2592000"), "2,592,000 byte-seconds");
  assert.equal(exactText(port, "300"), "300 bytes in 300 s");
  assert.equal(exactText(requests, "1200"), "1,200 requests");
});

test("a window is a sum, a mean or a rate", () => {
  assert.equal(measure(storage).of(String(10 ** 9 * 3600), 3600), 1);
  assert.equal(measure(requests).of("7", 3600), 7);
  assert.equal(measure(port).of("450000000", 3600), 1);
  assert.equal(measure({...port, unit: "query"}).name, "queries a second");
  assert.equal(shown(storage, 0.12345), "0.1235 GB");
});

test("windows begin with hours, days and months", () => {
  assert.deepEqual(beginnings(at("2026-11-01T00:00:00Z"), at("2026-11-01T03:00:00Z"), "hour").length, 3);
  assert.deepEqual(beginnings(at("2026-10-15T00:00:00Z"), at("2026-12-01T00:00:00Z"), "month").map((ms) => new Date(ms).toISOString().slice(0, 10)), ["2026-10-01", "2026-11-01"]);
});

const row = (start, value, resource, region) => ({start, end: new Date(at(start) + HOUR).toISOString(), value, resource, dimensions: {region}});

test("series are the largest groups, then the others; what has not come is a gap", () => {
  const hours = beginnings(november.start, november.start + 4 * HOUR, "hour"), until = november.start + 2.5 * HOUR;
  const windows = [row("2026-11-01T00:00:00Z", "5", "a", "DE"), row("2026-11-01T02:00:00Z", "6", "b", "DE"), row("2026-11-01T01:00:00Z", "1", "c", "NY")];
  const made = seriesOf(requests, windows, {at: hours, by: "resource", name: "Requests", until, most: 2});
  assert.deepEqual(made.series.map((one) => [one.name, one.values]), [["b", [0, 0, 6, null]], ["a", [5, 0, 0, null]], ["Others", [0, 1, 0, null]]]);
  assert.deepEqual(made.rows.map((one) => [one.key, one.sum]), [["b", "6"], ["a", "5"], ["c", "1"]]);
  assert.deepEqual(seriesOf(requests, windows, {at: hours, by: "region", name: "Requests", until}).rows.map((one) => [one.key, one.sum]), [["DE", "11"], ["NY", "1"]]);
  assert.deepEqual(seriesOf(requests, [], {at: hours, by: "", name: "Requests", until}).series, [{name: "Requests", values: [0, 0, 0, null]}]);
  assert.equal(groupOf(windows[0], "region"), "DE");
});

test("the running window of a gauge is the mean so far", () => {
  const hours = beginnings(november.start, november.start + HOUR, "hour");
  const made = seriesOf(storage, [row("2026-11-01T00:00:00Z", String(2 * 10 ** 9 * 1800), "a", "DE")], {at: hours, by: "", name: "Storage", until: november.start + HOUR / 2});
  assert.deepEqual(made.series[0].values, [2]);
});
