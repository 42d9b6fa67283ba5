import assert from "node:assert/strict";
import {test} from "node:test";
import {chosen} from "../../server/console/js/views/events.js";

const ZONES = [{shieldZoneId: 42, pullZoneId: 101, name: "acme"}, {shieldZoneId: 43, pullZoneId: null, name: null}, {shieldZoneId: 44, pullZoneId: 102, name: "shop"}];
const of = (text, zones = ZONES) => chosen(zones, new URLSearchParams(text));

test("the address names a shield zone, whether it is listed or not", () => {
  assert.deepEqual(of("shield=44"), {shield: "44", zone: ""});
  assert.deepEqual(of("shield=9&zone=101"), {shield: "9", zone: ""});
});

test("a pull zone is shown by the shield zone that protects it", () => {
  assert.deepEqual(of("zone=102"), {shield: "44", zone: "102"});
  assert.deepEqual(of("zone=103"), {shield: "", zone: "103"});
  assert.deepEqual(of("zone=103", [ZONES[0]]), {shield: "", zone: "103"}, "not the only one there is, which protects another");
});

test("without either it is the only one there is, and of several none", () => {
  assert.deepEqual(of("", [ZONES[1]]), {shield: "43", zone: ""});
  assert.deepEqual(of(""), {shield: "", zone: ""});
  assert.deepEqual(of("shield=x&zone=y", []), {shield: "", zone: ""});
});
