import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";
import * as f from "../../server/console/js/format.js";

test("all digits are shown, also of numbers that no double holds", () => {
  assert.equal(f.number(1234567), "1,234,567");
  assert.equal(f.number("9223372036854775807"), "9,223,372,036,854,775,807");
  assert.equal(f.number(0), "0");
  assert.equal(f.number(null), "–");
});

test("a currency has the decimals that it is billed with", () => {
  const table = readFileSync(new URL("../../engine/billing/book.c", import.meta.url), "utf8").matchAll(/\{"([A-Z]{3})", (\d)\}/g);
  const billed = Object.fromEntries([...table].map(([, code, digits]) => [code, Number(digits)]));
  assert.deepEqual([billed.JPY, billed.KWD, billed.USD], [0, 3, undefined]);
  for (const code of [...Intl.supportedValuesOf("currency"), ...Object.keys(billed)]) assert.equal(f.decimals(code), billed[code] ?? 2, code);
  assert.equal(f.decimals(""), 2);
});

test("short forms keep three digits and step up where rounding fills them", () => {
  const shown = [0, 972, 999, 1000, 1234, 12345, 123456, 999499, 999500, 1234567, 2.5].map(f.compact);
  assert.deepEqual(shown, ["0", "972", "999", "1.00 k", "1.23 k", "12.3 k", "123 k", "999 k", "1.00 M", "1.23 M", "2.5"]);
  assert.equal(f.compact(99950), "100 k");
  assert.deepEqual([2e9, 3.4e12, 5e16].map(f.compact), ["2.00 bn", "3.40 tn", "50000 tn"]);
  assert.equal(f.compact(null), "–");
});

test("bytes are decimal, as they are priced", () => {
  assert.deepEqual([0, 999, 1000, 2874180, 1e12].map(f.bytes), ["0 B", "999 B", "1.00 kB", "2.87 MB", "1.00 TB"]);
  assert.equal(f.bytesFull(1), "1 byte");
  assert.equal(f.bytesFull(2874180), "2,874,180 bytes");
});

test("ratios and times of answers", () => {
  assert.equal(f.percent(94.43513241702983), "94.4 %");
  assert.equal(f.percent(100, 2), "100.00 %");
  assert.equal(f.percent(null), "–");
  assert.deepEqual([0, 182, 1240, 12400].map(f.milliseconds), ["0 ms", "182 ms", "1.24 s", "12.4 s"]);
  assert.deepEqual([0, 59, 3600, 93784].map(f.duration), ["0 s", "59 s", "1 h", "1 d 2 h"]);
});

test("money keeps every digit and has two decimals at least", () => {
  assert.equal(f.money("1234.5", "USD"), "1,234.50\u00a0USD");
  assert.equal(f.money("0.1"), "0.10");
  assert.equal(f.money("-12345678901234567890.123456789"), "\u221212,345,678,901,234,567,890.123456789");
  assert.equal(f.money("-0.000"), "0.00");
  assert.equal(f.money("007"), "7.00");
  assert.equal(f.money("0.0000049"), "0.0000049");
  assert.equal(f.money(null), "–");
  assert.equal(f.money("n/a"), "n/a");
  assert.equal(f.money("1234", "JPY"), "1,234\u00a0JPY");
  assert.equal(f.money("-0.0", "JPY"), "0\u00a0JPY");
  assert.equal(f.money("1.5", "JPY"), "1.5\u00a0JPY");
  assert.equal(f.money("1.5", "KWD"), "1.500\u00a0KWD");
  assert.equal(f.money("1.5", "", "KWD"), "1.500");
});

test("decimals are added and compared without a double", () => {
  assert.equal(f.decimalSum(["0.1", "0.2"]), "0.3");
  assert.equal(f.decimalSum(["99999999999999999999.99", "0.01"]), "100000000000000000000.00");
  assert.equal(f.decimalSum(["1.50", "-2"]), "-0.50");
  assert.equal(f.decimalSum([]), "0");
  assert.equal(f.decimalCompare("10", "9.99"), 1);
  assert.equal(f.decimalCompare("-10", "9.99"), -1);
  assert.equal(f.decimalCompare("-1", "-2"), 1);
  assert.equal(f.decimalCompare("1.0", "1.00"), 0);
});

test("changes say which way, and nothing where nothing was", () => {
  assert.deepEqual(f.change(110, 100), {text: "+10.0 %", way: 1});
  assert.deepEqual(f.change(50, 100), {text: "−50.0 %", way: -1});
  assert.deepEqual(f.change(1000, 10), {text: "+9,900 %", way: 1});
  assert.deepEqual(f.change(5, 0), {text: "new", way: 1});
  assert.deepEqual(f.change(0, 0), {text: "±0 %", way: 0});
  assert.deepEqual(f.change(100001, 100000), {text: "±0 %", way: 0});
  assert.deepEqual(f.change(5, null), {text: "–", way: 0});
  assert.deepEqual(f.changePoints(93.4, 92.1), {text: "+1.3 pt", way: 1});
});

test("times are UTC unless a zone is asked for; days and months stay UTC's", () => {
  const at = "2026-11-04T23:30:00Z";
  assert.equal(f.time(at), "4 Nov 2026, 23:30");
  assert.equal(f.time(at, "Asia/Tokyo"), "5 Nov 2026, 08:30");
  assert.equal(f.time(at, "UTC", true), "4 Nov 2026, 23:30:00");
  const plain = (text) => text.replace(/,/g, ""); // where commas stand differs from one release of ICU to the next
  assert.equal(plain(f.bucket(at, "hour", "Asia/Tokyo")), "Thu 5 Nov 08:30");
  assert.equal(plain(f.bucket("2026-11-04T00:00:00Z", "day", "America/New_York")), "Wed 4 Nov 2026");
  assert.equal(f.month("2026-11"), "November 2026");
  assert.equal(f.time("never"), "–");
});

test("zones: known ones, their offsets, summer and winter", () => {
  assert.equal(f.knownZone("Europe/Berlin"), "Europe/Berlin");
  assert.equal(f.knownZone("<script>"), "UTC");
  assert.equal(f.knownZone(null), "UTC");
  assert.equal(f.zoneOffset(Date.UTC(2026, 6, 1), "Europe/Berlin"), 7200000);
  assert.equal(f.zoneOffset(Date.UTC(2026, 11, 1), "Europe/Berlin"), 3600000);
  assert.equal(f.zoneOffset(Date.UTC(2026, 11, 1), "Asia/Kolkata"), 19800000);
});

test("how long ago", () => {
  const now = Date.UTC(2026, 10, 4, 9);
  assert.equal(f.ago("2026-11-04T08:57:00Z", now), "3 min ago");
  assert.equal(f.ago(now, now), "now");
  assert.equal(f.ago(now + 7200000, now), "in 2 h");
  assert.equal(f.count(1, "line"), "1 line");
  assert.equal(f.count(1200, "line"), "1,200 lines");
});

test("an hour that the wall's clock shows twice says which it is", () => {
  const names = (zone, ...times) => times.map((at) => f.bucket(at, "hour", zone).replace(/,/g, ""));
  assert.deepEqual(names("Europe/Berlin", "2026-10-24T23:00Z", "2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"),
    ["Sun 25 Oct 01:00", "Sun 25 Oct 02:00 UTC+2", "Sun 25 Oct 02:00 UTC+1", "Sun 25 Oct 03:00"]);
  assert.deepEqual(names("America/St_Johns", "2026-11-01T03:30Z", "2026-11-01T04:30Z"), ["Sun 1 Nov 01:00 UTC\u22122:30", "Sun 1 Nov 01:00 UTC\u22123:30"]);
  assert.deepEqual(names("Europe/Berlin", "2026-03-29T00:00Z", "2026-03-29T01:00Z"), ["Sun 29 Mar 01:00", "Sun 29 Mar 03:00"]);
});
