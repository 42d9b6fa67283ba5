/* A pull zone's settings in groups, in words. Pure. The first group whose pattern fits a name has it. */

import {bytes, duration, milliseconds, money, number} from "./format.js";
import {rounded} from "./money.js";

const GROUPS = [
  ["Prices and charges", /Discount$|^PriceOverride|Pricing$|^MonthlyCharges/],
  ["Optimizer", /^Optimizer|BunnyAi|BunnyImageAi/],
  ["Origin shield", /^OriginShield|^EnableOriginShield/],
  ["SafeHop and retries", /SafeHop|^OriginRetr/],
  ["Logging", /Log(s|ging|ged|Forwarding|Anonymi[sz]ation|Format)?([A-Z]|$)/],
  ["Cache", /Cache|Vary|QueryString|^UseStale|^UseBackground|Coalescing|DisableCookies/],
  ["Security", /^ZoneSecurity|^Block|^Allowed|Referrer|AccessControl|Tls|TLS|SSL|LetsEncrypt|DDos/],
  ["Limits", /Limit|^BurstSize|WebSocket|^MonthlyBandwidth/],
  ["Network", /^EnableGeoZone|^IpFamily|^Routing|Countries$|^StickySession/],
  ["Pages", /^ErrorPage|^PreloadingScreen/],
  ["Origin", /^Origin|HostHeader|^FollowRedirects|^VerifyOrigin|^AWS|^StorageZone|Script|MagicContainers|^LoadBalancer|^Dns|^VideoLibrary|CanonicalHeader/],
  ["Zone", /^(Id|Name|Type|Enabled|Suspended|Hostnames|CnameDomain|UserId|EdgeRules)$/],
  ["Other", /./],
];
const ORDER = ["Zone", "Origin", "Cache", "Origin shield", "SafeHop and retries", "Optimizer", "Security", "Limits", "Network", "Logging", "Pages", "Prices and charges", "Other"];
const SECRET = /(SecurityKey|SigningKey|SigningSecret|Token|Certificate)$/;

const WHOLE = [[/WebP/, "Webp"], [/DDos/, "Ddos"], [/JavaScript/, "Javascript"], [/WordPress/, "Wordpress"], [/5XX/, " 5xx "], [/SafeHop/, "Safehop"], [/WebSocket/, "Websocket"], [/^EUUS/, "EuropeNorthAmerica"],
  [/MinifyCSS/, "MinifyCss"], [/LlmsTxt/, "Llms.txt"], [/(TLS|Tls)(?=\d)/, "Tls "], [/GeoZoneASIA/, "GeoZoneAsia"]];

/* How a word of a name is written, where that is neither small nor all large. */
const SPELT = {url: "URL", dns: "DNS", ip: "IP", tls: "TLS", ssl: "SSL", html: "HTML", css: "CSS", ai: "AI", waf: "WAF", cname: "CNAME", webp: "WebP", avif: "AVIF",
  ddos: "DDoS", javascript: "JavaScript", wordpress: "WordPress", id: "ID", ips: "IPs", north: "North", america: "America", south: "South", europe: "Europe", africa: "Africa", asia: "Asia", oceania: "Oceania",
  lets: "Let's", encrypt: "Encrypt", post: "POST", safehop: "SafeHop", websockets: "WebSockets", websocket: "WebSocket", bunny: "Bunny", mb: "MB"};

/** "EnableGeoZoneUS" -> "Enable geo zone US" */
export function words(name) {
  const spelt = WHOLE.reduce((text, [pattern, word]) => text.replace(pattern, word), name);
  const parts = spelt.replace(/_/g, ".").match(/[A-Z]{2,}[0-9.]*(?=[A-Z][a-z]|$)|[A-Z]?[a-z0-9.]+|[A-Z]+/g) ?? [name];
  return parts.map((part, at) => SPELT[part.toLowerCase()] ?? (at === 0 || /^[A-Z]{2,}/.test(part) ? part : part.toLowerCase())).join(" ");
}

/* What the numbers of an enumeration mean (docs/pull-zone.md, "Enumerations"). */
const FORMATS = ["plain", "JSON"];
const NAMES = {
  Type: ["premium", "volume"],
  EdgeScriptExecutionPhase: ["cache", "load balancer", "before the cache"],
  IpFamilyPolicy: ["IPv4 only", "IPv4 and IPv6", "IPv4 and IPv6, IPv6 first", "IPv6 only"],
  TlsSecurityLevel: ["legacy", "compatible", "modern only"],
  LogForwardingProtocol: ["UDP", "TCP", "TCP, encrypted", "DataDog"],
  LogAnonymizationType: ["one octet is dropped", "the address is dropped"],
  LogFormat: FORMATS, LogForwardingFormat: FORMATS,
  OptimizerHtmlToMarkdown: ["off", "simple"],
  OptimizerWatermarkPosition: ["bottom left", "bottom right", "top left", "top right", "centre", "centre, stretched"],
  PermaCacheType: ["automatic", "manual"],
  ShieldDDosProtectionType: ["detect only", "active, standard", "active, aggressive"],
  OriginType: ["origin URL", "DNS", "storage zone", "load balancer", "edge script", "Magic Containers", "push zone"],
  PreloadingScreenTheme: ["light", "dark"],
  StickySessionType: ["off", "on"],
};

/* A number's text: (value, currency). The first pattern that fits a name has it. Where 0 or -1 stands for nothing set, that
 * is said. What the interface gives no unit stays a bare number. */
const unset = (text, f) => (value, currency) => (Number(value) > 0 ? f(value, currency) : text);
const FORMS = [
  [/^MonthlyBandwidthLimit$/, unset("no limit", bytes)],
  [/^MonthlyBandwidthUsed$/, bytes],
  [/^MonthlyCharges$/, (value, currency) => rounded(plain(value), currency)],
  [/^PriceOverride$/, unset("none", (value, currency) => `${money(plain(Number((Number(value) * 1e9).toPrecision(12))), currency)} per GB`)],
  [/^OptimizerPricing$/, (value, currency) => `${money(plain(value), currency)} per month`],
  [/Discount$|ImageQuality$/, (value) => `${number(value)} %`],
  [/^CacheControl.*MaxAgeOverride$/, (value) => (Number(value) < 0 ? "not overridden" : duration(value))],
  [/^Origin(Connect|Response)Timeout$|^OriginRetryDelay$|^RequestCoalescingTimeout$|^OriginShieldQueueMaxWaitTime$/, duration],
  [/^Optimizer.*(MaxWidth|MinImageSize)$/, (value) => `${number(value)} px`],
  [/^PreloadingScreenDelay$/, milliseconds],
  [/^RequestLimit$/, unset("no limit", (value) => `${number(value)} per second and address`)],
  [/^LimitRatePerSecond$/, unset("no limit", (value) => `${number(value)} kb/s`)],
  [/(ZoneId|LibraryId|RecordId|ScriptId)$/, unset("none", String)],
];

/* A double as a plain decimal: 1e-11 too. */
const plain = (value) => (typeof value === "string" && !/e/i.test(value) ? value : Number(value).toFixed(15).replace(/\.?0+$/, ""));
const isNumber = (value) => typeof value === "number" || (typeof value === "string" && /^-?\d+(\.\d+)?(e-?\d+)?$/i.test(value));

/** A value as text. field: its name; currency: of prices. */
export function valueText(value, field = "", currency = "") {
  if (value === null || value === undefined || value === "") return "–";
  if (value === true) return "on";
  if (value === false) return "off";
  if (Array.isArray(value)) return value.length ? value.map((one) => (typeof one === "object" ? one?.Value ?? JSON.stringify(one) : String(one))).join(", ") : "none";
  if (NAMES[field]?.[value] !== undefined) return NAMES[field][value];
  const form = isNumber(value) ? FORMS.find(([pattern]) => pattern.test(field)) : null;
  if (form) return form[1](value, currency);
  return typeof value === "object" ? JSON.stringify(value) : typeof value === "number" && !/Id$/.test(field) ? number(value) : String(value);
}

/* Defaults other than off, nothing and 0 (docs/pull-zone.md); a test holds them against a fresh zone. */
const DEFAULTS = {
  EdgeScriptId: -1, EnableGeoZoneUS: true, EnableGeoZoneEU: true, EnableGeoZoneASIA: true, EnableGeoZoneSA: true, EnableGeoZoneAF: true,
  IpFamilyPolicy: 1, IgnoreQueryStrings: true,
  AccessControlOriginHeaderExtensions: ["eot", "ttf", "woff", "woff2", "css", "js", "jpg", "jpeg", "png", "webp", "gif", "mp3", "mp4", "mpeg", "svg", "webm"],
  EnableAccessControlOriginHeader: true, DisableCookies: true, CacheControlMaxAgeOverride: -1, CacheControlPublicMaxAgeOverride: -1,
  EnableLogging: true, LoggingIPAnonymizationEnabled: true, EnableTLS1: true, EnableTLS1_1: true, OriginShieldZoneCode: "FR",
  VideoLibraryId: -1, OptimizerDesktopMaxWidth: 1600, OptimizerMobileMaxWidth: 800, OptimizerImageQuality: 85,
  OptimizerMobileImageQuality: 70, OptimizerEnableWebP: true, OptimizerEnableManipulationEngine: true, OptimizerMinifyCSS: true,
  OptimizerMinifyJavaScript: true, OptimizerWatermarkOffset: 3.0, OptimizerWatermarkMinImageSize: 300,
  OptimizerAutomaticOptimizationEnabled: true, OriginConnectTimeout: 10, OriginResponseTimeout: 60, OriginRetryConnectionTimeout: true,
  OriginRetryResponseTimeout: true, OriginShieldMaxConcurrentRequests: 200, OriginShieldQueueMaxWaitTime: 30,
  OriginShieldMaxQueuedRequests: 5000, EnableQueryStringOrdering: true, LogFormat: 1, LogForwardingFormat: 1, ShieldDDosProtectionType: 1,
  RequestCoalescingTimeout: 30, PreloadingScreenDelay: 1000, RoutingFilters: ["all"], CacheVersion: 1, EnableWebSockets: true,
  MaxWebSocketConnections: 500
};

/* What a zone is, and what is counted or priced: no settings that anybody changed. */
const GIVEN = /^(Id|UserId|Name|Type|Hostnames|CnameDomain|ZoneSecurityKey|OriginLinkValue|OptimizerPricing|MonthlyCharges|MonthlyBandwidthUsed)$/;
const isNothing = (value) => !value || (Array.isArray(value) && !value.length) || Number(value) === 0;

/** Whether a setting has another value than in a fresh zone. */
export function isChanged(field, value) {
  if (GIVEN.test(field)) return false;
  if (field === "Enabled") return value === false;
  return field in DEFAULTS ? JSON.stringify(value) !== JSON.stringify(DEFAULTS[field]) : !isNothing(value);
}

export const isSecret = (name) => SECRET.test(name);

/** [{name, items: [{field, words, text, exact: what a number is in the API, isChanged, secret}]}], those that a search fits; empty groups are left out. currency: of prices. */
export function groups(zone, search = "", currency = "") {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = new Map(ORDER.map((name) => [name, []]));
  for (const [field, value] of Object.entries(zone)) {
    const item = {field, words: words(field), text: valueText(value, field, currency), exact: typeof value === "number" ? String(value) : null, isChanged: isChanged(field, value), secret: isSecret(field) && value !== null && value !== ""};
    const group = GROUPS.find(([, pattern]) => pattern.test(field))[0];
    const whole = `${field} ${item.words} ${item.secret ? "" : item.text} ${group}`.toLowerCase();
    if (wanted.every((word) => whole.includes(word))) found.get(group).push(item);
  }
  return [...found].filter(([, items]) => items.length).map(([name, items]) => ({name, items}));
}
