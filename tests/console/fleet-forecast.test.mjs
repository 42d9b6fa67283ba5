import assert from "node:assert/strict";
import test from "node:test";
import {expected, likeliest} from "../../server/console/js/fleet-forecast.js";

const row = (account, net, more = {}) => ({account, currency: "USD", why: null, complete: true, budget: null, likely: null,
  money: {net: {mean: net}, gross: {mean: net}}, ...more});

test("a fleet is expected to come to the sum of the means, exactly, by currency", () => {
  assert.deepEqual(expected([]), []);
  assert.deepEqual(expected([row(1, "0.10"), row(2, "90071992547409931.20"), row(3, "7", {currency: "JPY"}), row(4, "0.03"), {account: 5, name: "x", why: "No price."}]),
    [{currency: "USD", accounts: 3, net: "90071992547409931.33"}, {currency: "JPY", accounts: 1, net: "7"}]);
});

test("the likeliest to exceed its budget comes first, then the one furthest above it; without a budget none", () => {
  const rows = [row(1, "10.00"), row(2, "12.00", {budget: "10.00", likely: "1.000000"}), row(3, "9.00", {budget: "10.00", likely: "0.030000"}),
    row(4, "99.00", {budget: "50.00", likely: "1.000000"}), row(5, "9.00", {budget: "10.00", likely: "0.300000"}), {account: 6, name: "x", why: "No price."}];
  assert.deepEqual(likeliest(rows).map((one) => one.account), [4, 2, 5, 3]);
});
