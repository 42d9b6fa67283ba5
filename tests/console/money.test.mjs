import assert from "node:assert/strict";
import test from "node:test";

import {amountOf, chance, chargesByZone, fromUnits, monthTotals, zoneColumns, daysOf, everyDay, kindText, meteredUnits, monthPoints, priceText, productOf, productsOf, regionText, resourceText, rounded, stateOf, sumText, withEnds, zoneOf} from "../../server/console/js/money.js";

test("amounts are rounded half up, and what is little is not nothing", () => {
  for (const [value, shown] of [["18.000001346", "18.00"], ["0.005", "0.01"], ["0.0049", "< 0.01"], ["1.995", "2.00"], ["0", "0.00"],
    ["-1.005", "\u22121.01"], ["1234567.894", "1,234,567.89"], [216, "216.00"], ["", "–"], [null, "–"],
    ["-0.001", "> \u22120.01"], ["0.0003", "< 0.01"]]) assert.equal(rounded(value), shown, String(value));
  assert.equal(rounded("0.001", "USD"), "< 0.01\u00a0USD");
  for (const [value, currency, shown] of [["1234.5", "JPY", "1,235"], ["-1234.4", "JPY", "\u22121,234"], ["0.4", "JPY", "< 1"], ["-.4", "JPY", "> \u22121"], ["0", "JPY", "0"],
    ["1.0005", "KWD", "1.001"], ["0.0004", "KWD", "< 0.001"], ["2", "KWD", "2.000"], ["0.00005", "CLF", "0.0001"]]) assert.equal(rounded(value, currency), `${shown}\u00a0${currency}`);
});

test("products are those with a charge", () => {
  const rows = productsOf({MonthlyChargesEUTraffic: "54.0", MonthlyChargesUSTraffic: 0, MonthlyChargesOptimizer: "9.5", Balance: 3}, "EUR");
  assert.deepEqual(rows.map((row) => [row.field, row.amount, row.currency]), [["MonthlyChargesEUTraffic", "54.0", "EUR"], ["MonthlyChargesOptimizer", "9.5", "EUR"]]);
  assert.deepEqual(productsOf({ThisMonthCharges: "64.5", MonthlyChargesEUTraffic: "54.0", MonthlyChargesOptimizer: "9.5", MonthlyChargesTaxes: "3"}, "EUR").map((row) => [row.name, row.amount]),
    [["Traffic, Europe", "54.0"], ["Optimizer", "9.5"], ["Other charges", "1.0"], ["Taxes", "3"]]);
  assert.deepEqual(productsOf({ThisMonthCharges: "54", MonthlyChargesEUTraffic: "54.0"}, "EUR").map((row) => row.name), ["Traffic, Europe"]);
});

test("an invoice is overdue from the day after it was due", () => {
  const one = {state: "final", kind: "invoice", due: "2026-11-04", remaining: "1.00"};
  assert.equal(stateOf(one, Date.parse("2026-11-04T23:59:59Z")), "open");
  assert.equal(stateOf(one, Date.parse("2026-11-05T00:00:00Z")), "overdue");
  assert.equal(stateOf({...one, remaining: "0.00"}, Date.parse("2027-01-01")), "paid");
  assert.equal(stateOf({...one, state: "void", remaining: null}, 0), "void");
  assert.equal(stateOf({...one, kind: "credit_note"}, 0), "credit note");
});

const span = (day, p5, p50, p95) => ({day: `2026-02-${String(day).padStart(2, "0")}`, mean: "0", p5: String(p5), p50: String(p50), p95: String(p95)});
const until = (usage_until, from) => ({month: "2026-02", usage_until, bytes: {so_far: "30",
  days: Array.from({length: 29 - from}, (_, n) => span(from + n, 30 + n, 40 + 2 * n, 50 + 3 * n))}});

test("the month goes on day by day with the forecast's own figures, and begins with what was used", () => {
  const drawn = monthPoints(until("2026-02-03T06:00:00Z", 3), {BandwidthUsed: [10, 15, 5]});
  assert.equal(drawn.at.length, 28);
  assert.deepEqual(drawn.past.slice(0, 4), [10, 25, 30, null]);
  assert.deepEqual(drawn.low.slice(0, 4), [null, 25, 30, 31]); // from the end of the last whole day
  assert.deepEqual(drawn.middle.slice(0, 4), [null, 25, 40, 42]);
  assert.deepEqual(drawn.high.slice(0, 4), [null, 25, 50, 53]);
  assert.deepEqual([drawn.low[27], drawn.middle[27], drawn.high[27]], [55, 90, 125]);
});

test("without days of the past the band stands alone", () => {
  const drawn = monthPoints(until("2026-02-03T06:00:00Z", 3), null);
  assert.deepEqual(drawn.past.slice(0, 4), [null, null, 30, null]);
  assert.deepEqual(drawn.middle.slice(0, 4), [null, null, 40, 42]);
});

test("at midnight the band goes on from all that was used", () => {
  const drawn = monthPoints(until("2026-02-03T00:00:00Z", 3), {BandwidthUsed: [10, 20]});
  assert.deepEqual(drawn.past.slice(0, 3), [10, 30, null]);
  assert.deepEqual(drawn.middle.slice(0, 3), [null, 30, 40]);
});

test("a month that has not begun for its usage is all to come", () => {
  const drawn = monthPoints({...until("2026-01-30T00:00:00Z", 1), bytes: {so_far: "0", days: until("", 1).bytes.days}}, null);
  assert.deepEqual([drawn.past[0], drawn.past[1], drawn.middle[0], drawn.middle[27]], [0, null, 40, 94]);
});

test("days know what was crossed on them, and every day has a place", () => {
  const explained = {period: {start: "2026-02-01T00:00:00Z", end: "2026-03-01T00:00:00Z"}, crossings: [{hour: "2026-02-03T05:00:00Z", threshold: "7"}],
    days: [{day: "2026-02-02T00:00:00Z", quantity: "4"}, {day: "2026-02-03T00:00:00Z", quantity: "9"}]};
  assert.deepEqual(daysOf(explained).map((one) => one.crossings.length), [0, 1]);
  const {at, values} = everyDay(explained);
  assert.deepEqual([at.length, values[0], values[1], values[2]], [28, 0, 4, 9]);
});

test("a correction says what it corrects, and that its days are a whole month's", () => {
  const full = (value) => `${value} bytes`, plain = {line: {kind: "load_balancer", quantity: "7"}, sum: "7", agrees: true};
  assert.equal(kindText(plain.line), "load balancer");
  assert.equal(sumText(plain, full), "The days add up to the line's 7 bytes.");
  assert.match(sumText({...plain, agrees: false}, full), /tell the operator/);
  assert.equal(sumText({...plain, sum: null}, full), "No usage is behind this line.");
  const line = {kind: "correction", quantity: "5000000000000", corrects: {invoice: "2026-000001", kind: "bandwidth"}, period: {start: "2026-08-01T00:00:00Z"}};
  assert.equal(kindText(line), "correction of bandwidth, August 2026");
  assert.equal(sumText({line, sum: "5501234563340", agrees: true}, full), "The days add up to 5501234563340 bytes. Billed before, by invoice 2026-000001 and corrections since: 501234563340 bytes. This line is the difference: 5000000000000 bytes.");
  assert.match(sumText({line: {...line, quantity: "-10"}, sum: "20", agrees: true}, full), /since: 30 bytes. This line is the difference: -10 bytes/);
});

test("an invoice's line is named as people know it", () => {
  const names = new Map([[301, "nordlicht-shop"]]);
  for (const [resource, shown] of [["zone:301", "nordlicht-shop"], ["zone:9", "Zone 9"], ["account:3", "all volume zones"], ["else", "else"], [null, ""]])
    assert.equal(resourceText(resource, names), shown, String(resource));
  assert.equal(resourceText("account:3", names, "minimum"), "the account");
  assert.deepEqual(["zone:301", "account:3", null].map(zoneOf), [301, null, null]);
  assert.deepEqual(["ASIA", "XX", null].map(regionText), ["Asia and Oceania", "XX", ""]);
});

test("a tier's list price says of what it is the price", () => {
  const of = (list_price, price, line, currency = "USD") => priceText({list_price, price}, line, currency).replaceAll("\u00a0", " ");
  assert.equal(of("0.01", "0.00000000001", {kind: "bandwidth", unit: "byte"}), "0.01 USD per GB");
  assert.equal(of("5", "0.000000000005", {kind: "volume", unit: "byte"}), "5.00 USD per TB");
  assert.equal(of("1.073741824", "0.000000001", {kind: "volume", unit: "byte"}), "1.073741824 USD per GiB");
  assert.equal(of("0.6", "0.0000006", {kind: "shield", unit: "request"}), "0.60 USD per 1,000,000 requests");
  assert.equal(of("9.5", (9.5 / 2678400).toFixed(15), {kind: "optimizer", unit: "second"}), "9.50 USD per month");
  assert.equal(of("0", "0", {kind: "bandwidth", unit: "byte"}), "0.00 USD");
  assert.equal(of("5", "0.05", {kind: "discount", unit: null}), "5 %");
  assert.equal(of(null, "1", {kind: "fee", unit: null}), "–");
});

test("a tier ends where the next begins, and one that was not used up has no end to see", () => {
  const ends = (tiers) => withEnds(tiers).map((tier) => tier.end);
  assert.deepEqual(ends([{part: 0, from: "0", to: "2000"}, {part: 0, from: "2000", to: "2500"}]), ["2000", null]);
  assert.deepEqual(ends([{part: 0, from: "0", to: "9"}, {part: 1, from: "0", to: "5"}]), [null, null]);
});

test("an invoice's charges by zone: own lines and shares, without corrections", () => {
  const lines = [{resource: "zone:1", exact: "0.1"}, {resource: "zone:1", exact: "0.2"}, {resource: "account:3", exact: "9", shares: [{zone: 2, exact: "5.5"}, {zone: 1, exact: "3.5"}]},
    {resource: "zone:2", exact: "7", corrects: {}}, {resource: "account:3", exact: "1"}];
  assert.deepEqual([...chargesByZone({lines})], [[1, "3.8"], [2, "5.5"]]);
});

test("a probability is said in whole percents, and what is little is not nothing", () => {
  for (const [given, said] of [["0.000000", "0 %"], ["0.000100", "less than 1 %"], ["0.009999", "less than 1 %"], ["0.031200", "3 %"], ["0.035000", "4 %"], ["0.5", "50 %"],
    ["0.990000", "99 %"], ["0.999900", "more than 99 %"], ["1.000000", "100 %"]]) assert.equal(chance(given), said, given);
});

test("an amount is what a person writes, exactly", () => {
  for (const [text, currency, amount] of [["500", "USD", "500.00"], [" 1,250.5 ", "USD", "1250.50"], ["1 250", "EUR", "1250.00"], ["7", "JPY", "7"], ["0.1", "KWD", "0.100"],
    ["123456789012345.67", "USD", "123456789012345.67"], ["1.234", "USD", null], ["1.5", "JPY", null], ["-5", "USD", null], ["1e3", "USD", null], ["", "USD", null], ["12,34", "USD", null]])
    assert.equal(amountOf(text, currency), amount, text);
  for (const [units, currency, amount] of [[50000n, "USD", "500.00"], [5n, "USD", "0.05"], [7n, "JPY", "7"], [1n, "KWD", "0.001"]]) assert.equal(fromUnits(units, currency), amount);
});

test("months are those of final documents, credit notes taken off", () => {
  const one = (number, month, total, more) => ({number, month, total, state: "final", kind: "invoice", ...more});
  const months = monthTotals([one("1", "2026-01", "10.10"), one("2", "2026-01", "-0.20", {kind: "credit_note"}), one("3", "2026-02", "9", {state: "void"}), one("4", "2025-12", "3.00")], "2026-03", 4);
  assert.deepEqual(months.map(({month, total, numbers}) => [month, total, numbers]), [["2025-12", "3.00", ["4"]], ["2026-01", "9.90", ["1", "2"]], ["2026-02", null, []], ["2026-03", null, []]]);
});

test("zones, the others, and fees with taxes add up to the month", () => {
  const months = [{total: "12.00", charges: new Map([[1, "5.5"], [2, "3.25"], [3, "0.25"]])}, {total: null, charges: null}];
  assert.deepEqual(zoneColumns(months, (zone) => `z${zone}`, 2), [{name: "z1", values: ["5.5", null]}, {name: "z2", values: ["3.25", null]},
    {name: "Other zones", values: ["0.25", null]}, {name: "Fees and taxes", values: ["3.00", null]}]);
});

test("meters and fees go by their names, and their quantities by what a price is for", () => {
  const line = {kind: "meter", meter: "storage", description: "Storage", resource: "meter:storage", unit: "byte-second", per: "2592000000000000", per_unit: "GB-month"};
  assert.deepEqual([kindText(line), productOf(line), resourceText(line.resource)], ["Storage", "meter:storage", "all together"]);
  assert.equal(kindText({...line, kind: "minimum"}), "Storage, minimum");
  assert.deepEqual([kindText({kind: "fee", fee: "shield", description: "Shield"}), productOf({kind: "fee", fee: "shield"})], ["Shield", "fee:shield"]);
  assert.deepEqual([kindText({kind: "percentile"}), productOf({kind: "percentile"})], ["bandwidth at a percentile", "percentile"]);
  assert.equal(meteredUnits(line).short("1684800000000000000"), "650 GB-month");
  assert.equal(meteredUnits(line).full("86400"), "86,400 byte-second");
  assert.equal(meteredUnits({meter: "s", unit: "request", per: "1000000"}).short("26000000"), "26.0 M request");
  assert.equal(meteredUnits({kind: "volume", unit: "byte"}), null);
  assert.equal(priceText({list_price: "0.01", price: "0.01"}, line, "EUR"), "0.01\u00a0EUR per GB-month");
  assert.equal(priceText({list_price: "0.2", price: "0.2"}, {kind: "meter", meter: "s", unit: "request", per: "1000000"}, "EUR"), "0.20\u00a0EUR per 1,000,000 request");
});
