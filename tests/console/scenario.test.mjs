import {breakText} from "../../server/console/js/scenario.js";
import assert from "node:assert/strict";
import {test} from "node:test";
import * as s from "../../server/console/js/scenario.js";

const book = {book: "b", minimum_monthly: "1.00", bandwidth: {premium: {per: "GB", regions: {EU: "0.01", NA: "0.01"}},
  volume: {per: "GB", tiers: [{from: "0", to: "100", price: "0.5"}, {from: "100", to: null, price: "0.4"}]}}};

test("a patch made of two documents makes one of the other", () => {
  let changed = s.withAt(book, ["bandwidth", "premium", "regions", "EU"], "0.011");
  changed = s.withAt(changed, ["optimizer", "monthly"], "9.50");
  changed = s.withAt(changed, ["minimum_monthly"], undefined);
  const patch = s.diff(book, changed);
  assert.deepEqual(patch, {bandwidth: {premium: {regions: {EU: "0.011"}}}, optimizer: {monthly: "9.50"}, minimum_monthly: null});
  assert.deepEqual(s.merge(book, patch), changed);
  assert.deepEqual(s.diff(book, book), {});
  assert.equal(book.bandwidth.premium.regions.EU, "0.01", "the book stays as it was");
});

test("lists go whole, and empty objects go", () => {
  const tiers = [{from: "0", to: null, price: "0.3"}];
  assert.deepEqual(s.diff(book, s.withAt(book, ["bandwidth", "volume", "tiers"], tiers)), {bandwidth: {volume: {tiers}}});
  assert.deepEqual(s.withAt({a: {b: {c: 1}}, d: 2}, ["a", "b", "c"], undefined), {d: 2});
});

test("factors: one a region, others stay", () => {
  const mine = {scenario: "x", usage: [{region: "EU", factor: "1.10"}, {region: "EU", account: 7, factor: "2"}]};
  assert.equal(s.factor(mine, "EU"), "1.10");
  assert.equal(s.factor(mine, "NA"), "1");
  assert.deepEqual(s.withFactor(mine, "EU", "1").usage, [{region: "EU", account: 7, factor: "2"}]);
  assert.deepEqual(s.withFactor({scenario: "x"}, null, "0.5").usage, [{product: "load_balancer", factor: "0.5"}]);
  assert.deepEqual(s.withFactor({scenario: "x", usage: [{region: "EU", factor: "3"}]}, "EU", "1.00"), {scenario: "x"});
});

test("what is no scenario says why", () => {
  assert.match(s.read("{").problem, /no JSON/);
  assert.match(s.read("[1]").problem, /object/);
  assert.match(s.read('{"usage":"EU"}').problem, /usage/);
  assert.deepEqual(s.read('{"patch":{},"base":""}').scenario, {scenario: "what-if"});
});

test("tiers touch", () => {
  assert.deepEqual(s.touching([{from: "0", to: "50", price: "1"}, {from: "9", to: "80", price: "2"}, {from: "1", to: "5", price: "3"}], ["from", "to"]).map((one) => [one.from, one.to]),
    [["0", "50"], ["50", "80"], ["80", null]]);
});

test("tiers cost as the price book's page says", () => {
  const tiers = [{from: 0, to: 100, price: 0.5, flat: 0}, {from: 100, to: null, price: 0.4, flat: 10}];
  const costs = (more) => [0, 50, 100, 101, 200].map((n) => Number(s.cost({tiers, ...more}, n).toFixed(6)));
  assert.deepEqual(costs({}), [0, 25, 50, 60.4, 100]);
  assert.deepEqual(costs({mode: "volume"}), [0, 25, 50, 50.4, 90]);
  assert.deepEqual(costs({mode: "package", block: 30}), [0, 1, 2, 12.4, 13.6]);
  assert.deepEqual(costs({included: 60, axis: "absolute"}), [0, 0, 20, 30.4, 70]);
  assert.deepEqual(costs({included: 60, axis: "net"}), [0, 0, 20, 20.5, 76]);
});

test("a curve has both sides of each step, and reaches past the break-even", () => {
  const pricing = s.pricingOf(book, "volume");
  assert.deepEqual([pricing.tiers.length, pricing.fee, s.pricingOf({}, "volume"), s.pricingOf(book, "load_balancer")], [2, 0, null, null]);
  const at = s.curveAt([pricing], 200, 4);
  assert.deepEqual(at.map((n) => Math.round(n)), [0, 50, 100, 100, 150, 200]);
  assert.ok(s.curveAt([{...pricing, axis: "net", included: 30}], 200, 4).some((n) => n === 130), "free units move the thresholds");
  assert.ok(s.reach([pricing], [500]) >= 800);
});

test("a histogram counts everybody once, with 0 as an edge", () => {
  const bins = s.histogram(["-12", "0", "3", "3.5", null, "40"]);
  assert.equal(bins.reduce((sum, bin) => sum + bin.count, 0), 5);
  assert.ok(bins.some((bin) => bin.from === 0));
  assert.ok(bins.length <= 14);
  assert.deepEqual(s.histogram([]), []);
});

test("where books cost the same is said in words, and the end of counting is no break-even", () => {
  const text = (kind, costs, words = "") => breakText({kind, costs, words}, "1000", {a: "old", b: "new"}, (units) => `${units} GB`, (amount) => `${amount} USD`);
  assert.equal(text("overlap", [{units: "0", a: "0", b: "0"}, {units: "1000", a: "3", b: "3"}]), "Both cost the same, whatever the usage.");
  assert.equal(text("overlap", [{units: "5", a: "1", b: "1"}, {units: "1000", a: "3", b: "3"}], "x. Below, b is cheaper."), "From 5 GB on both cost the same. Below, new is cheaper.");
  assert.equal(text("overlap", [{units: "0", a: "0", b: "0"}, {units: "9", a: "0", b: "0"}], "x. Above, a is cheaper."), "From 0 GB to 9 GB both cost the same, 0 USD. Above, old is cheaper.");
  assert.equal(text("crossing", [{units: "7", a: "2", b: "1"}, {units: "8", a: "2", b: "3"}], "x. Below, b is cheaper. Above, a is cheaper."),
    "At 8 GB the order changes: old costs 2 USD, new 3 USD. Below, new is cheaper. Above, old is cheaper.");
  assert.equal(text("many", [{units: "7", a: "2", b: "1"}, {units: "8", a: "2", b: "3"}]), "From 7 GB to 8 GB the order changes too often to list.");
});
