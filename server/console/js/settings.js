/* A pull zone's settings in groups, in words. Pure. The first group whose pattern fits a name has it. */

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

const WHOLE = [[/WebP/, "Webp"], [/DDos/, "Ddos"], [/JavaScript/, "Javascript"], [/WordPress/, "Wordpress"], [/5XX/, "5xx"], [/^EUUS/, "EuropeAmerica"], [/MinifyCSS/, "MinifyCss"]];

/** "EnableGeoZoneUS" -> "Enable geo zone US" */
export function words(name) {
  const spelt = WHOLE.reduce((text, [pattern, word]) => text.replace(pattern, word), name);
  const parts = spelt.replace(/_/g, ".").match(/[A-Z]{2,}[0-9.]*(?=[A-Z][a-z]|$)|[A-Z]?[a-z0-9.]+|[A-Z]+/g) ?? [name];
  return parts.map((part, at) => (at === 0 || /^[A-Z]{2,}/.test(part) ? part : part.toLowerCase())).join(" ");
}

/** A value as text. */
export function valueText(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (value === true) return "on";
  if (value === false) return "off";
  if (Array.isArray(value)) return value.length ? value.map((one) => (typeof one === "object" ? one?.Value ?? JSON.stringify(one) : String(one))).join(", ") : "none";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export const isSecret = (name) => SECRET.test(name);

/** [{name, items: [{field, words, text, secret}]}], those that a search fits; empty groups are left out. */
export function groups(zone, search = "") {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = new Map(ORDER.map((name) => [name, []]));
  for (const [field, value] of Object.entries(zone)) {
    const item = {field, words: words(field), text: valueText(value), secret: isSecret(field) && value !== null && value !== ""};
    const group = GROUPS.find(([, pattern]) => pattern.test(field))[0];
    const whole = `${field} ${item.words} ${item.secret ? "" : item.text} ${group}`.toLowerCase();
    if (wanted.every((word) => whole.includes(word))) found.get(group).push(item);
  }
  return [...found].filter(([, items]) => items.length).map(([name, items]) => ({name, items}));
}
