/* The month's run, worked out of a preview's rows. */
import assert from "node:assert/strict";
import test from "node:test";

import {canChoose, fieldText, gaps, inShort, isChosen, isIncomplete, lookFirst, namesOf, stateOf, sums, totalRows} from "../../server/console/js/run.js";

const row = (account, more = {}) => ({account, name: `a${account}`, state: "draft", invoice: null, currency: "USD", net: "10.00", total: "10.00", bytes: "5", requests: "1",
  last: {}, usual: null, looks_wrong: [], missing: [], ...more});
const wrong = (...whats) => whats.map((what) => ({what, text: what}));
const unusual = (account, percent) => row(account, {usual: {percent, net: "1", change: "1", months: 3}, looks_wrong: wrong("unusual")});

test("a row's state says whether it can be chosen, and whether it is", () => {
  const cases = [[row(1), "draft", true, true], [unusual(2, "60.0"), "odd", true, false], [row(3, {looks_wrong: wrong("unpriced")}), "stopped", false, false],
    [row(4, {state: "refused", total: null, looks_wrong: wrong("refused")}), "stopped", false, false], [row(5, {state: "final"}), "final", false, false],
    [row(6, {state: "elsewhere"}), "elsewhere", false, false], [row(7, {total: "0.00", bytes: "0", requests: "0"}), "nothing", false, false],
    [row(8, {looks_wrong: wrong("lacks"), missing: ["buyer.name"]}), "draft", true, true], [row(9, {total: "0.00"}), "draft", true, true]];
  for (const [one, state, can, is] of cases) assert.deepEqual([stateOf(one), canChoose(one), isChosen(one)], [state, can, is], `row ${one.account}`);
});

test("what stops comes first, then what is furthest from usual, then the largest", () => {
  const rows = [row(1, {total: "5"}), row(2, {state: "final", total: "900"}), unusual(3, "-60.0"), row(4, {total: "70.5"}), unusual(5, "102.0"),
    row(6, {looks_wrong: wrong("unpriced")}), row(7, {total: "0", bytes: "0", requests: "0"}), row(8, {looks_wrong: wrong("odd_hour")}), {...unusual(9, "55.0"), state: "final"}];
  assert.deepEqual(lookFirst(rows).map((one) => one.account), [6, 5, 3, 8, 4, 1, 9, 2, 7]);
  assert.equal(rows[0].account, 1); // a copy
});

test("the first thing wrong is said in a word", () => {
  assert.deepEqual([unusual(1, "102.0"), unusual(1, "-60.0"), row(1, {looks_wrong: wrong("unpriced", "unusual")}), row(1, {looks_wrong: wrong("lacks")})].map(inShort),
    ["+102.0 %", "\u221260.0 %", "no price", ""]);
});

test("sums are exact and by currency", () => {
  assert.deepEqual(sums([row(1, {total: "0.10"}), row(2, {total: "0.20"}), row(3, {currency: "EUR", total: "-1"}), row(4, {currency: null, total: null})]),
    [["EUR", "-1"], ["USD", "0.30"]]);
});

test("missing fields stand once each, in words, without those of documents that nobody gets", () => {
  const rows = [row(1, {missing: ["buyer.name", "accounts[].tax"]}), row(2, {missing: ["buyer.name"]}), row(3, {missing: ["buyer.name"], total: "0", bytes: "0", requests: "0"}),
    row(4, {state: "elsewhere", missing: ["seller.vat_id"]})];
  assert.deepEqual(gaps(rows).map((one) => [one.field, one.text, one.rows.length, one.isSeller]), [["buyer.name", "the buyer's name", 2, false], ["accounts[].tax", "the account's tax", 1, false]]);
  assert.deepEqual(rows.map(isIncomplete), [true, true, false, false]);
  assert.deepEqual(["seller", "seller.vat_id", "buyer.postal_code"].map(fieldText), ["the seller", "the seller's VAT number", "the buyer's postal code"]);
});

test("totals become rows with exact differences", () => {
  const one = {currency: "USD", net: "10.5", total: "12", last: {net: "-1.25", total: "3"}, products: [{product: "bandwidth", name: "Bandwidth", net: "10.5", last: "-1.25"}, {product: "cap", name: "Spending cap", net: "1", last: "1"}]};
  assert.deepEqual(totalRows([one]).map((each) => [each.name, each.difference, each.isSum]),
    [["Bandwidth", "11.75", false], ["Spending cap", "0", false], ["Before tax", "11.75", true], ["With tax", "9", true]]);
});

test("a few names and how many more", () => {
  assert.equal(namesOf([row(1), row(2)]), "a1, a2");
  assert.equal(namesOf([row(1), row(2), row(3), row(4), row(5)]), "a1, a2, a3 and 2 more");
});
