/* Numbers, sizes, money and times as text. Nothing here touches a page: `node --test` runs it.
 *
 * Counters come as numbers, or as text where a double would lose digits; money is always text and
 * never becomes a double. What is not there is "–". */

const LOCALE = "en-GB"; // the page's language; 1,234.5 and 24 hours
export const NOTHING = "–";

const plain = new Intl.NumberFormat(LOCALE, {maximumFractionDigits: 20});
const isNothing = (value) => value === null || value === undefined || value === "" || Number.isNaN(value);

/** All digits: 1234567 -> "1,234,567". */
export function number(value) {
  if (isNothing(value)) return NOTHING;
  return plain.format(typeof value === "string" && /^-?\d+$/.test(value) ? BigInt(value) : value);
}

const STEPS = ["", "k", "M", "G", "T", "P", "E"];
const COUNTS = ["", "k", "M", "bn", "tn"];

/* Three digits that count: 1.23, 12.3, 123; 999.95 becomes the next step's 1.00. */
function scaled(value, steps) {
  let size = Number(value), step = 0;
  while (Math.abs(size) >= 999.5 && step < steps.length - 1) {
    size /= 1000;
    step++;
  }
  if (step === 0) return [Number.isInteger(size) ? String(size) : String(Number(size.toPrecision(3))), step];
  const digits = Math.abs(size) >= 99.95 ? 0 : Math.abs(size) >= 9.995 ? 1 : 2;
  return [size.toFixed(digits), step];
}

/** For tiles and axes: 1234567 -> "1.23 M". Under a thousand nothing is lost. */
export function compact(value) {
  if (isNothing(value)) return NOTHING;
  const [text, step] = scaled(value, COUNTS);
  return step ? `${text} ${COUNTS[step]}` : text;
}

/** Decimal units, as bandwidth is priced: 2874180 -> "2.87 MB". */
export function bytes(value) {
  if (isNothing(value)) return NOTHING;
  const [text, step] = scaled(value, STEPS);
  return `${text} ${step === 1 ? "k" : STEPS[step]}B`;
}

/** "2,874,180 bytes", for a title beside the short form. */
export function bytesFull(value) {
  return isNothing(value) ? NOTHING : `${number(value)} ${Number(value) === 1 ? "byte" : "bytes"}`;
}

/** The API's ratios are percent, 0 to 100. */
export function percent(value, digits = 1) {
  if (isNothing(value)) return NOTHING;
  return `${new Intl.NumberFormat(LOCALE, {minimumFractionDigits: digits, maximumFractionDigits: digits}).format(value)} %`;
}

export function milliseconds(value) {
  if (isNothing(value)) return NOTHING;
  const ms = Number(value);
  return ms >= 9995 ? `${(ms / 1000).toFixed(1)} s` : ms >= 1000 ? `${(ms / 1000).toFixed(2)} s`
    : `${Number.isInteger(ms) ? ms : ms.toFixed(1)} ms`;
}

/** 93784 seconds -> "1 d 2 h". The two largest units. */
export function duration(seconds) {
  if (isNothing(seconds)) return NOTHING;
  let left = Math.max(0, Math.round(Number(seconds)));
  const parts = [];
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

const DECIMAL = /^([+-]?)0*(\d+)(?:\.(\d*))?$/;

/* Sign, digits before and after the point; null for what is no plain decimal. */
function decimal(text) {
  const match = DECIMAL.exec(String(text).trim());
  return match && {sign: match[1] === "-" ? "-" : "", whole: match[2], part: match[3] ?? ""};
}

/* ISO 4217's currencies of other than two decimals, as amounts are billed in them. */
const DECIMALS = [[0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"], [3, "BHD IQD JOD KWD LYD OMR TND"], [4, "CLF UYW"]];

/** How many decimals an amount of the currency has: 2 of "USD", 0 of "JPY". */
export const decimals = (currency) => (DECIMALS.find(([, codes]) => currency && codes.split(" ").includes(currency)) ?? [2])[0];

/** Exact: every digit that the API sent stays, as many decimals as the currency has at least. "1234.5" -> "1,234.50 USD".
 * of: the currency whose decimals it has, where it is not named. */
export function money(value, currency = "", of = currency) {
  if (isNothing(value)) return NOTHING;
  const amount = decimal(value);
  if (!amount) return String(value);
  const part = amount.part.replace(/0+$/, "").padEnd(decimals(of), "0");
  const whole = amount.whole.replace(/\B(?=(\d{3})+$)/g, ",");
  const nil = /^0*$/.test(amount.whole + part);
  return `${nil ? "" : amount.sign === "-" ? "\u2212" : ""}${whole}${part ? `.${part}` : ""}${currency ? `\u00a0${currency}` : ""}`;
}

/** Decimals as text, added without a double: decimalSum(["0.1", "0.2"]) -> "0.3". */
export function decimalSum(values) {
  let sum = 0n, places = 0;
  const all = values.map(decimal).filter(Boolean);
  for (const one of all) places = Math.max(places, one.part.length);
  for (const one of all) {
    const units = BigInt(one.whole + one.part.padEnd(places, "0"));
    sum += one.sign ? -units : units;
  }
  const text = (sum < 0n ? -sum : sum).toString().padStart(places + 1, "0");
  const whole = places ? text.slice(0, -places) : text;
  return `${sum < 0n ? "-" : ""}${whole}${places ? `.${text.slice(-places)}` : ""}`;
}

/** -1, 0 or 1, as a sort wants it. */
export function decimalCompare(a, b) {
  const sum = decimalSum([a, String(b).trim().startsWith("-") ? String(b).trim().slice(1) : `-${String(b).trim()}`]);
  return /^-?[0.]*$/.test(sum) ? 0 : sum.startsWith("-") ? -1 : 1;
}

/** {text: "+12.5 %", way: 1}. With nothing before, or nothing now, there is no ratio. */
export function change(now, before) {
  if (isNothing(now) || isNothing(before)) return {text: NOTHING, way: 0};
  const a = Number(now), b = Number(before);
  if (b === 0) return a === 0 ? {text: "±0 %", way: 0} : {text: "new", way: 1};
  const ratio = 100 * (a - b) / Math.abs(b);
  return signed(ratio, Math.abs(ratio) >= 99.95 ? 0 : 1, " %");
}

/** The difference of two percentages, in points: {text: "+1.2 pt", way: 1}. */
export function changePoints(now, before, digits = 1) {
  if (isNothing(now) || isNothing(before)) return {text: NOTHING, way: 0};
  return signed(Number(now) - Number(before), digits, " pt");
}

function signed(value, digits, unit) {
  const text = new Intl.NumberFormat(LOCALE, {minimumFractionDigits: digits, maximumFractionDigits: digits}).format(Math.abs(value));
  if (Number(text.replace(/,/g, "")) === 0) return {text: `±0${unit}`, way: 0};
  return {text: `${value > 0 ? "+" : "\u2212"}${text}${unit}`, way: value > 0 ? 1 : -1};
}

/* --- times: milliseconds since 1970 or RFC 3339 text, and a zone's IANA name --- */

const formats = new Map();

function dateFormat(zone, options) {
  const key = zone + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(LOCALE, {timeZone: zone, hourCycle: "h23", ...options}));
  return formats.get(key);
}

export const toMs = (time) => (typeof time === "number" ? time : Date.parse(time));

/** A zone that the browser knows, or "UTC". */
export function knownZone(zone) {
  try {
    return zone ? new Intl.DateTimeFormat(LOCALE, {timeZone: zone}).resolvedOptions().timeZone : "UTC";
  } catch {
    return "UTC";
  }
}

export const localZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** How far a zone's wall clock is ahead of UTC at an instant, in ms. */
export function zoneOffset(ms, zone) {
  if (zone === "UTC") return 0;
  const parts = Object.fromEntries(dateFormat(zone, {year: "numeric", month: "numeric", day: "numeric", hour: "numeric",
    minute: "numeric", second: "numeric"}).formatToParts(ms).map((part) => [part.type, Number(part.value)]));
  return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second) - Math.floor(ms / 1000) * 1000;
}

/** "4 Nov 2026, 09:00:00"; seconds only where asked for. The page says the zone. */
export function time(value, zone = "UTC", seconds = false) {
  const ms = toMs(value);
  if (!Number.isFinite(ms)) return NOTHING;
  return dateFormat(zone, {day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
    ...(seconds ? {second: "2-digit"} : {})}).format(ms);
}

/** "4 Nov 2026" */
export function day(value, zone = "UTC") {
  const ms = toMs(value);
  return Number.isFinite(ms) ? dateFormat(zone, {day: "numeric", month: "short", year: "numeric"}).format(ms) : NOTHING;
}

/** "November 2026"; "2026-11" is taken too. */
export function month(value) {
  const ms = typeof value === "string" && /^\d{4}-\d{2}$/.test(value) ? Date.parse(`${value}-01T00:00:00Z`) : toMs(value);
  return Number.isFinite(ms) ? dateFormat("UTC", {month: "long", year: "numeric"}).format(ms) : NOTHING;
}

/* " UTC+2" at an hour that the clock on the wall shows twice, as it goes back in autumn; else nothing. */
function twice(ms, zone) {
  const hour = 3600000, offset = zoneOffset(ms, zone);
  if (zoneOffset(ms - hour, zone) <= offset && offset <= zoneOffset(ms + hour, zone)) return "";
  const minutes = Math.abs(offset) / 60000, rest = minutes % 60;
  return ` UTC${offset < 0 ? "\u2212" : "+"}${Math.floor(minutes / 60)}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

/** A bucket's name: an hour in the zone, a day or month as it is counted, in UTC. */
export function bucket(value, by, zone = "UTC") {
  const ms = toMs(value);
  if (!Number.isFinite(ms)) return NOTHING;
  if (by === "month") return month(ms);
  if (by === "day") return dateFormat("UTC", {weekday: "short", day: "numeric", month: "short", year: "numeric"}).format(ms);
  return `${dateFormat(zone, {weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", ...(by === "second" ? {second: "2-digit"} : {})}).format(ms)}${twice(ms, zone)}`;
}

/** An axis's label: as short as the step between two of them allows. */
export function tick(ms, step, zone = "UTC") {
  const options = step === "year" ? {year: "numeric"} : step === "month" ? {month: "short", year: "2-digit"}
    : step === "day" ? {day: "numeric", month: "short"} : {hour: "2-digit", minute: "2-digit", ...(step === "second" ? {second: "2-digit"} : {})};
  return dateFormat(zone, options).format(ms);
}

/** "3 minutes ago", by the server's clock. */
export function ago(value, now) {
  const seconds = (now - toMs(value)) / 1000;
  if (!Number.isFinite(seconds)) return NOTHING;
  return Math.abs(seconds) < 5 ? "now" : seconds > 0 ? `${duration(seconds)} ago` : `in ${duration(-seconds)}`;
}

/** 1, "line" -> "1 line"; 2 -> "2 lines". */
export function count(n, one, many = `${one}s`) {
  return `${number(n)} ${Number(n) === 1 ? one : many}`;
}
