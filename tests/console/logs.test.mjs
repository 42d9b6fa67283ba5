import assert from "node:assert/strict";
import {test} from "node:test";
import {spanOf} from "../../server/console/js/views/logs.js";

const NOW = Date.parse("2026-11-04T09:17:20Z"), KEPT = 72 * 3600000;
const span = (text, now = NOW) => spanOf(new URLSearchParams(text), now);
const at = (text) => Date.parse(text);

test("a last day counts whole, and a moment without Z is UTC's", () => {
  assert.deepEqual(span("from=2026-11-03&to=2026-11-03"), {from: at("2026-11-03T00:00Z"), to: at("2026-11-04T00:00Z")});
  assert.deepEqual(span("from=2026-11-03T08:15&to=2026-11-03T08:45"), {from: at("2026-11-03T08:15Z"), to: at("2026-11-03T08:45Z")});
});

test("the last hours move with the clock by minutes, and never ask for what is no longer kept", () => {
  assert.deepEqual(span(""), {from: at("2026-11-03T09:18Z"), to: null, last: "24h"});
  assert.equal(span("", NOW + 5000).from, span("").from, "the same question a poll later: it costs a 304");
  for (let later = 0; later < 3; later += 1 / 60) {
    const now = NOW + later * 60000, {from} = span("last=3d", now);
    assert.ok(from - (now - KEPT) >= 30000 && from - (now - KEPT) <= 90000, String(later));
  }
  assert.equal(span("from=2026-10-01&to=2026-11-04").from, span("last=3d").from);
});
