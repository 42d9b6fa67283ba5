import assert from "node:assert/strict";
import {test} from "node:test";
import {groups, isChanged, valueText, words} from "../../server/console/js/settings.js";

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
    ["Enable geo zone US", "Optimizer enable WebP", "TLS security level", "Enable TLS 1.1", "ID"]);
  assert.deepEqual([true, false, null, "", [], [1, 2], [{Value: "a"}], 0].map(valueText), ["on", "off", "–", "–", "none", "1, 2", "a", "0"]);
});

test("words of a name are written as people write them", () => {
  assert.deepEqual(["OriginUrl", "DnsZoneId", "BlockedIps", "OptimizerPrerenderHtml", "LoggingIPAnonymizationEnabled", "OriginRetry5XXResponses", "EnableGeoZoneASIA",
    "DisableLetsEncrypt", "ShieldDDosProtectionType", "OptimizerMinifyJavaScript", "EUUSDiscount", "EnableWebSockets", "OptimizerLlmsTxt"].map(words),
  ["Origin URL", "DNS zone ID", "Blocked IPs", "Optimizer prerender HTML", "Logging IP anonymization enabled", "Origin retry 5xx responses", "Enable geo zone Asia",
    "Disable Let's Encrypt", "Shield DDoS protection type", "Optimizer minify JavaScript", "Europe North America discount", "Enable WebSockets", "Optimizer llms.txt"]);
});

test("a number has its unit, or the name of what it stands for", () => {
  const of = (field, value) => valueText(value, field, "USD");
  assert.deepEqual([of("Type", 0), of("Type", 1), of("Type", 9), of("OriginType", 3), of("LogFormat", 1)], ["premium", "volume", "9", "load balancer", "JSON"]);
  assert.deepEqual([of("MonthlyBandwidthUsed", 402107181119), of("MonthlyBandwidthLimit", 0), of("MonthlyBandwidthLimit", 1e12)], ["402 GB", "no limit", "1.00 TB"]);
  assert.deepEqual([of("MonthlyCharges", 4.02107181119), of("OptimizerPricing", 9.5), of("PriceOverride", 1e-11), of("PriceOverride", 0)],
    ["4.02\u00a0USD", "9.50\u00a0USD per month", "0.01\u00a0USD per GB", "none"]);
  assert.deepEqual([of("OriginResponseTimeout", 60), of("OriginRetryDelay", 0), of("PreloadingScreenDelay", 400), of("CacheControlMaxAgeOverride", -1), of("CacheControlMaxAgeOverride", 86400)],
    ["1 min", "0 s", "400 ms", "not overridden", "1 d"]);
  assert.deepEqual([of("EUUSDiscount", 5), of("OptimizerImageQuality", 85), of("OptimizerDesktopMaxWidth", 1600), of("LimitRatePerSecond", 0), of("StorageZoneId", 0), of("EdgeScriptId", -1),
    of("VideoLibraryId", 12345), of("UserId", "12345")], ["5 %", "85 %", "1,600 px", "no limit", "none", "none", "12345", "12345"]);
});

test("a setting is changed where a fresh zone has another value; what a zone is, is no setting", () => {
  const is = (field, value) => isChanged(field, value);
  assert.deepEqual([is("OptimizerEnabled", true), is("EnableTLS1", false), is("CacheControlMaxAgeOverride", 60), is("BlockedIps", ["192.0.2.1"]), is("Enabled", false)], Array(5).fill(true));
  assert.deepEqual([is("OptimizerEnabled", false), is("EnableTLS1", true), is("CacheControlMaxAgeOverride", -1), is("BlockedIps", []), is("Enabled", true), is("Name", "x"), is("RequestLimit", 0)],
    Array(7).fill(false));
});
