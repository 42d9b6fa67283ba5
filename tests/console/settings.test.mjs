import assert from "node:assert/strict";
import {test} from "node:test";
import {groups, valueText, words} from "../../server/console/js/settings.js";

const zone = {Id: 101, Name: "acme", OriginUrl: "https://o.example", EnableOriginShield: true, OriginShieldZoneCode: "FR", CacheControlMaxAgeOverride: -1,
  EnableLogging: true, LogForwardingToken: "abc", OptimizerEnabled: false, EUUSDiscount: 5, ZoneSecurityKey: "k", BlockedIps: [], MyNewField: 1, Hostnames: [{Value: "a.example"}],
  LogFormat: 1, EnableGeoZoneUS: true};
const names = (found) => Object.fromEntries(found.map((group) => [group.name, group.items.map((item) => item.field)]));

test("each setting is in one group, an unknown one too", () => {
  assert.deepEqual(names(groups(zone)), {
    Zone: ["Id", "Name", "Hostnames"], Origin: ["OriginUrl"], Cache: ["CacheControlMaxAgeOverride"], "Origin shield": ["EnableOriginShield", "OriginShieldZoneCode"],
    Optimizer: ["OptimizerEnabled"], Security: ["ZoneSecurityKey", "BlockedIps"], Network: ["EnableGeoZoneUS"], Logging: ["EnableLogging", "LogForwardingToken", "LogFormat"],
    "Prices and charges": ["EUUSDiscount"], Other: ["MyNewField"]});
});

test("a search finds names, words, values and groups, but not what a secret says", () => {
  assert.deepEqual(names(groups(zone, "geo zone")), {Network: ["EnableGeoZoneUS"]});
  assert.deepEqual(names(groups(zone, "o.example")), {Origin: ["OriginUrl"]});
  assert.deepEqual(names(groups(zone, "abc")), {});
  assert.deepEqual(Object.keys(names(groups(zone, "shield"))), ["Origin shield"]);
});

test("names in words, values as text", () => {
  assert.deepEqual(["EnableGeoZoneUS", "OptimizerEnableWebP", "TlsSecurityLevel", "EnableTLS1_1", "Id"].map(words),
    ["Enable geo zone US", "Optimizer enable webp", "Tls security level", "Enable TLS1.1", "Id"]);
  assert.deepEqual([true, false, null, "", [], [1, 2], [{Value: "a"}], 0].map(valueText), ["on", "off", "–", "–", "none", "1, 2", "a", "0"]);
});
