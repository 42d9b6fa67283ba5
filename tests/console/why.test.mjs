/* Why a figure changed: sentences, signs, spans, questions. */
import assert from "node:assert/strict";
import test from "node:test";

import {ask, formats, lineScope, monthSpans, partName, sentence, signed, spansOf, splitsOf} from "../../server/console/js/why.js";

const name = (part) => part.name;

test("a change has a sign, and nothing changed has none", () => {
  const {change} = formats("bytes");
  assert.equal(change("344000000000"), "+344 GB");
  assert.equal(change("-2000000000"), "\u22122.00 GB");
  assert.equal(change("0"), "±0");
  assert.equal(signed("-0.00", String), "±0");
  assert.equal(formats("charges", "USD").change("-1.72"), "\u22121.72\u00a0USD");
  assert.equal(formats("requests").change("9007199254740993"), "+9,007,199,254,740,993");
  assert.equal(formats("hit_rate").change("-6.666667"), "\u22126.67 pt");
  assert.equal(formats("hit_rate").value(null), "–");
});

test("the sentence names the largest part, a second where it is a quarter of it, and the rest", () => {
  const part = (name, change) => ({name, change});
  const said = (change, ...parts) => sentence({change, parts}, "Bandwidth", name, formats("bytes").change);
  assert.equal(said("342000000000", part("nordlicht-film", "344000000000"), part("b", "-2000000000")), "Bandwidth +342 GB: nordlicht-film +344 GB, the rest \u22122.00 GB.");
  assert.equal(said("5", part("a", "8"), part("b", "-3")), "Bandwidth +5 B: a +8 B, b \u22123 B.");
  assert.equal(said("7", part("a", "7")), "Bandwidth +7 B: a +7 B.");
  assert.equal(said("0", part("a", "7"), part("b", "-7")), "Bandwidth ±0: a +7 B, b \u22127 B.");
  assert.equal(said("0"), "Bandwidth did not change.");
  assert.equal(said("0", part("a", "0")), "Bandwidth did not change.");
});

const NOW = Date.parse("2026-11-04T09:20:00Z"), HOUR = 3600000, DAY = 24 * HOUR;
const answer = {from: "2026-10-29T00:00:00Z", to: "2026-11-05T00:00:00Z", compare: {from: "2026-10-22T00:00:00Z", to: "2026-10-28T10:00:00Z"}};

test("what is still to come is left out, so that both spans are as long", () => {
  const spans = spansOf(answer, NOW);
  assert.equal(spans.to, Date.parse("2026-11-04T10:00:00Z"));
  assert.equal(spansOf({...answer, compare: {from: "2026-10-15T00:00:00Z", to: "2026-10-20T00:00:00Z"}}, NOW).to, Date.parse(answer.to));
  assert.deepEqual(splitsOf("requests", spans, {}), ["zone", "region", "status", "day", "hour"]);
  assert.deepEqual(splitsOf("bytes", spans, {zone: "101"}), ["region", "day", "hour"]);
  assert.deepEqual(splitsOf("bytes", {...spans, to: spans.to - DAY}, {isFleet: true}), ["account", "zone", "region"]);
  assert.deepEqual(splitsOf("charges", monthSpans("2026-03"), {}), ["zone", "product", "region"]);
  assert.equal(spansOf({...answer, compare: null}, NOW), null);
  assert.equal(spansOf(null, NOW), null);
});

test("months are asked for in whole days, other spans in hours", () => {
  assert.deepEqual(ask("charges", "zone", monthSpans("2026-03")), {field: "charges", by: "zone", from: "2026-03-01", to: "2026-03-31",
    against_from: "2026-02-01", against_to: "2026-02-28", top: 10});
  assert.deepEqual(ask("charges", "zone", monthSpans("2026-01")).against_from, "2025-12-01");
  assert.equal(ask("bytes", "day", spansOf(answer, NOW)).to, "2026-11-04T10:00Z");
});

test("parts have names", () => {
  assert.equal(partName({key: "2026-11-03", name: "2026-11-03"}, "day", "bytes"), "Tue, 3 Nov 2026");
  assert.match(partName({key: "2026-11-03T12", name: ""}, "hour", "bytes"), /Tue,? 3 Nov, 12:00/);
  assert.equal(partName({key: "balancer_fee", name: "balancer_fee"}, "product", "charges"), "balancer fee");
  assert.equal(partName({key: "", name: ""}, "zone", "charges"), "no zone");
  assert.equal(partName({key: "EU", name: "EU"}, "region", "charges"), "Europe");
  assert.equal(partName({key: "101", name: "acme-video"}, "zone", "bytes"), "acme-video");
});

test("a line is explained by its zone, by its zones, or among all products", () => {
  const of = (line) => { const {zone, split} = lineScope(line); return [zone, split]; };
  const share = (zone) => ({zone, bytes: "1", exact: "1"});
  assert.deepEqual(of({kind: "bandwidth", resource: "zone:301", region: "EU"}), [301, "region"]);
  assert.deepEqual(of({kind: "optimizer", resource: "zone:301"}), [301, "product"]);
  assert.deepEqual(of({kind: "volume", resource: "account:3", shares: [share(302)]}), [302, "region"]);
  assert.deepEqual(of({kind: "volume", resource: "account:3", shares: [share(302), share(305)]}), [null, "zone"]);
  assert.deepEqual(of({kind: "correction", resource: "zone:301", region: "EU", corrects: {kind: "bandwidth"}}), [301, "product"]);
  for (const [kind, resource] of [["minimum", "account:3"], ["balancer_fee", "load_balancer:7"], ["charge", "charge:1"]]) assert.deepEqual(of({kind, resource}), [null, "product"]);
  const volume = lineScope({kind: "volume", resource: "account:3", shares: [share(302), share(305)]});
  assert.deepEqual([["302", "zone"], ["301", "zone"], ["volume", "product"], ["bandwidth", "product"], ["", "region"]].map(([key, by]) => volume.isOwn(key, by)), [true, false, true, false, false]);
});
