/* What the views of money work out of the API's answers. Pure. */

import {compact, decimalCompare, decimals, decimalSum, money, month, NOTHING, number} from "./format.js";

const PRODUCTS = {MonthlyChargesEUTraffic: "Traffic, Europe", MonthlyChargesUSTraffic: "Traffic, North America",
  MonthlyChargesASIATraffic: "Traffic, Asia and Oceania", MonthlyChargesSATraffic: "Traffic, South America",
  MonthlyChargesAFTraffic: "Traffic, Africa", MonthlyChargesOptimizer: "Optimizer", MonthlyChargesLoadBalancer: "Load balancers",
  MonthlyChargesStorage: "Storage", MonthlyChargesDNS: "DNS", MonthlyChargesTranscribe: "Transcription", MonthlyChargesPremiumEncoding: "Premium encoding",
  MonthlyChargesLiveEncoding: "Live encoding", MonthlyChargesExtraPullZones: "Further pull zones", MonthlyChargesExtraStorageZones: "Further storage zones",
  MonthlyChargesExtraDnsZones: "Further DNS zones", MonthlyChargesExtraVideoLibraries: "Further video libraries", MonthlyChargesScripting: "Edge scripts",
  MonthlyChargesScriptingRequests: "Edge scripts, requests", MonthlyChargesScriptingCpu: "Edge scripts, processor", MonthlyChargesDrm: "DRM",
  MonthlyChargesMagicContainers: "Containers", MonthlyChargesShield: "Shield", MonthlyChargesWebSockets: "WebSockets", MonthlyChargesDB: "Databases",
  MonthlyChargesTaxes: "Taxes"};

/** What GET /billing says was charged, without what is zero. What has no field, such as a meter that names none or a contract's
 * discount, is one row. */
export function productsOf(billing, currency) {
  const rows = Object.entries(PRODUCTS).map(([field, name]) => ({field, name, amount: String(billing[field] ?? "0"), currency}));
  const named = rows.filter((row) => row.field !== "MonthlyChargesTaxes").map((row) => (row.amount.startsWith("-") ? row.amount.slice(1) : `-${row.amount}`));
  const rest = {field: null, name: "Other charges", amount: decimalSum([String(billing.ThisMonthCharges ?? "0"), ...named]), currency};
  return [...rows.slice(0, -1), ...billing.ThisMonthCharges === undefined ? [] : [rest], ...rows.slice(-1)].filter((row) => decimalCompare(row.amount, "0") !== 0);
}

/** A file's column for the currency of a row's amounts. of(row): which. */
export const inCurrency = (of = (row) => row.currency) => [{id: "currency", name: "currency", value: of}];

const REGIONS = {EU: "Europe", NA: "North America", ASIA: "Asia and Oceania", SA: "South America", AF: "Africa, Middle East"};

/** A price region in words; one that is not known stays as it is. */
export const regionText = (region) => REGIONS[region] ?? region ?? "";

/** The number of the pull zone that an invoice's line is of, or null. resource: "zone:301", "account:3", ... */
export const zoneOf = (resource) => Number(/^zone:(\d+)$/.exec(resource ?? "")?.[1]) || null;

const spaced = (name) => name.replaceAll("_", " ");

/** What an invoice of a month charges each pull zone, exactly: its own lines, and its shares of lines that zones have together;
 * without what corrects another month. */
export function chargesByZone(invoice) {
  const charges = new Map();
  const add = (zone, amount) => { if (zone) charges.set(zone, decimalSum([charges.get(zone) ?? "0", amount])); };
  for (const line of invoice.lines.filter((one) => !one.corrects)) {
    add(zoneOf(line.resource), line.exact);
    for (const share of line.shares ?? []) add(Number(share.zone), share.exact);
  }
  return charges;
}

const WORDS = {percentile: "bandwidth at a percentile", cap: "spending cap"};

/* Meters and fees by their names. */
const nameOf = (line) => (!line.meter && !line.fee ? WORDS[line.kind] ?? spaced(line.kind)
  : `${line.description ?? line.meter ?? line.fee}${line.kind === "minimum" ? ", minimum" : ""}`);

/** What a line is, in words: "bandwidth"; of a correction also what it corrects, and when: "correction of bandwidth, August 2026". */
export const kindText = (line) => (line.corrects ? `${spaced(line.kind)} of ${nameOf({...line, ...line.corrects})}, ${month(line.period.start)}` : nameOf(line));

/** The product of a line, as GET /insights/why has it. */
export const productOf = (line) => (line.meter ? `meter:${line.meter}` : line.fee ? `fee:${line.fee}` : line.kind);

/** What the days behind a line add up to, as a sentence. A correction's days are the whole month's, of which a part was billed
 * before. full(quantity): with its unit. */
export function sumText({line, sum, agrees}, full) {
  if (sum === null) return "No usage is behind this line.";
  if (!agrees) return "The days do not add up to the line: tell the operator.";
  if (!line.corrects) return `The days add up to the line's ${full(line.quantity)}.`;
  const before = decimalSum([sum, String(line.quantity).startsWith("-") ? String(line.quantity).slice(1) : `-${line.quantity}`]);
  return `The days add up to ${full(sum)}. Billed before, by invoice ${line.corrects.invoice} and corrections since: ${full(before)}. This line is the difference: ${full(line.quantity)}.`;
}

/** What a line is of, in words. names: numbers of pull zones -> their names. What is of an account is of its volume zones
 * together, or of the account itself. */
export function resourceText(resource, names = new Map(), kind = "volume") {
  const zone = zoneOf(resource);
  if (zone) return names.get(zone) ?? `Zone ${zone}`;
  if (resource?.startsWith("meter:")) return "all together";
  return /^account:\d+$/.test(resource ?? "") ? (kind === "volume" ? "all volume zones" : "the account") : resource ?? "";
}

/** A decimal as text rounded half up to the currency's smallest unit, for where the exact amount stands beside; what is more
 * than nothing and less than half of it is "< 0.01"; of what is owed, "> −0.01". */
export function rounded(value, currency = "") {
  const match = /^([-+]?)(\d*)(?:\.(\d*))?$/.exec(String(value ?? "").trim());
  if (!match || !(match[2] || match[3])) return money(value, currency);
  const places = decimals(currency), digits = (match[3] ?? "").padEnd(places + 1, "0");
  const units = BigInt((match[2] || "0") + digits.slice(0, places)) + (digits[places] >= "5" ? 1n : 0n);
  const isSmall = units === 0n && /[1-9]/.test(match[2] + digits);
  const text = (isSmall ? "1" : units.toString()).padStart(places + 1, "0"), at = text.length - places;
  return `${isSmall ? (match[1] === "-" ? "> " : "< ") : ""}${money(`${match[1]}${text.slice(0, at)}.${text.slice(at)}`, currency)}`;
}

/** "paid", "open", "overdue", "void", or "credit note". now: ms. */
export function stateOf(invoice, now) {
  if (invoice.state === "void") return "void";
  if (invoice.kind === "credit_note") return "credit note";
  if (!invoice.remaining || decimalCompare(invoice.remaining, "0") <= 0) return "paid";
  return invoice.due && Date.parse(invoice.due) + 86400000 <= now ? "overdue" : "open";
}

const SCALES = {byte: [[1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"], [2 ** 30, "GiB"], [2 ** 40, "TiB"]],
  second: [[3600, "hour"], [86400, "day"], ...[28, 29, 30, 31].map((days) => [days * 86400, "month"])]};

/* Of what a tier's list price is the price: the book's own unit, which is as many of the line's as the price of one
 * goes into it; "" where that is none that is known. */
function pricedUnit(tier, unit) {
  const many = Number(tier.list_price) / Number(tier.price);
  const near = (n) => Math.abs(many / n - 1) < 1e-6;
  if (near(1)) return unit;
  const found = (SCALES[unit] ?? []).find(([n]) => near(n));
  if (found) return found[1];
  return !SCALES[unit] && many > 1 && near(Math.round(many)) ? `${number(Math.round(many))} ${unit}s` : "";
}

/** How quantities of a meter's line are read: in what its price is for, "650 GB-month", and with all digits in its own unit; axis: where the
 * unit is said elsewhere. null: the
 * line is of no meter. */
export function meteredUnits(line) {
  if ((!line.meter && !line.per_unit) || !line.unit) return null;
  const unit = line.per_unit && Number(line.per) ? line.per_unit : line.unit, per = unit === line.unit ? 1 : Number(line.per);
  const axis = (value) => compact(Number((Number(value) / per).toPrecision(6)));
  return {axis, short: (value) => `${axis(value)} ${unit}`, full: (value) => `${number(value)} ${line.unit}`};
}

/** A tier's list price: "0.01 USD per GB", of a discount "5 %". line: {kind, unit}. */
export function priceText(tier, line, currency) {
  if (tier.list_price === null || tier.list_price === undefined) return NOTHING;
  if (/discount/.test(line.kind)) return `${tier.list_price} %`;
  if (line.per_unit) return `${money(tier.list_price, currency)} per ${line.per_unit}`;
  if (line.meter && line.per) return `${money(tier.list_price, currency)} per ${number(line.per)} ${line.unit}`;
  const unit = line.unit ? pricedUnit(tier, line.unit) : "";
  return `${money(tier.list_price, currency)}${unit ? ` per ${unit}` : ""}`;
}

/** The month by days for a chart: what was used up to each day's end, or up to now; and from the end of the last whole
 * day on the forecast's own span for each day's end. points: of GET /insights by day, or null. */
export function monthPoints(forecast, points, dayMs = 86400000) {
  const first = Date.parse(`${forecast.month}-01T00:00:00Z`);
  const [year, month] = forecast.month.split("-").map(Number);
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const known = Math.min(days, Math.max(1, Math.ceil((Date.parse(forecast.usage_until) - first) / dayMs)));
  const foretold = new Map(forecast.bytes.days.map((one) => [Date.parse(one.day), one]));
  const at = [], past = [], middle = [], low = [], high = [];
  const soFar = Number(forecast.bytes.so_far);
  let sum = 0;
  for (let n = 0; n < days; n++) {
    const ms = first + n * dayMs, day = foretold.get(ms), isBefore = !day && foretold.has(ms + dayMs);
    at.push(ms);
    sum += Number(points?.BandwidthUsed[n] ?? 0);
    past.push(n >= known ? null : n === known - 1 ? soFar : points ? Math.min(sum, soFar) : null);
    const of = (name) => (day ? Number(day[name]) : isBefore ? past[n] : null);
    middle.push(of("p50"));
    low.push(of("p5"));
    high.push(of("p95"));
  }
  return {at, past, middle, low, high};
}

/** A probability of the API, "0.031200", in words: "3 %", "less than 1 %". */
export function chance(probability) {
  const millionths = BigInt((probability.replace(".", "") + "000000").slice(0, 7));
  if (millionths === 0n) return "0 %";
  if (millionths < 10000n) return "less than 1 %";
  if (millionths > 990000n && millionths < 1000000n) return "more than 99 %";
  return `${(millionths + 5000n) / 10000n} %`;
}

/** What a person wrote as an amount, "500", "1,250.5", as the API takes it; null where it is none. Digits beyond the currency's
 * are none. */
export function amountOf(text, currency) {
  const plain = String(text).trim().replace(/(?<=\d)[,\u00a0 '](?=\d{3})/g, "");
  const match = /^(\d{1,15})(?:\.(\d*))?$/.exec(plain), places = decimals(currency);
  if (!match || (match[2] ?? "").length > places) return null;
  return places ? `${match[1]}.${(match[2] ?? "").padEnd(places, "0")}` : match[1];
}

/** An amount of so many of the currency's smallest units. */
export function fromUnits(units, currency) {
  const places = decimals(currency), text = String(units).padStart(places + 1, "0");
  return places ? `${text.slice(0, -places)}.${text.slice(-places)}` : text;
}

/** The last so many months' charges with tax, of final documents, and the running month: [{month, at, total, numbers}], the
 * running month without. Credit notes are taken off. running: "2026-11". */
export function monthTotals(invoices, running, many = 12) {
  const [year, number] = running.split("-").map(Number);
  return Array.from({length: many}, (_, n) => {
    const at = Date.UTC(year, number - many + n, 1), month = new Date(at).toISOString().slice(0, 7);
    const of = invoices.filter((one) => one.month === month && one.state !== "void");
    return {month, at, numbers: of.map((one) => one.number), total: month === running || !of.length ? null : decimalSum(of.map((one) => one.total))};
  });
}

/** Months of charges by zone, as series of columns: the largest so many zones, then "Other zones", then what is of no zone with taxes.
 * months: of monthTotals, each with charges: Map(zone -> amount) or null. */
export function zoneColumns(months, name, most = 4) {
  const all = new Map();
  for (const {charges} of months) for (const [zone, amount] of charges ?? []) all.set(zone, decimalSum([all.get(zone) ?? "0", amount]));
  const first = [...all].sort((a, b) => decimalCompare(b[1], a[1])).slice(0, most).map(([zone]) => zone);
  const minus = (amount) => (amount.startsWith("-") ? amount.slice(1) : `-${amount}`);
  const series = first.map((zone) => ({name: name(zone), values: months.map((one) => one.charges?.get(zone) ?? null)}));
  const others = months.map(({charges}) => (charges ? decimalSum(["0", ...[...charges].filter(([zone]) => !first.includes(zone)).map(([, amount]) => amount)]) : null));
  const rest = months.map(({charges, total}) => (charges && total ? decimalSum([total, ...[...charges.values()].map(minus)]) : null));
  if (all.size > most) series.push({name: "Other zones", values: others});
  series.push({name: "Fees and taxes", values: rest});
  return series;
}

/** A line's tiers with their ends: a tier's own "to" says how far it was used, and the next tier begins where it ends. end: null
 * where that was not reached. */
export const withEnds = (tiers) => tiers.map((tier, n) => ({...tier, end: tiers[n + 1]?.part === tier.part ? tiers[n + 1].from : null}));

/** The line's days, each with the thresholds that were crossed on it. */
export function daysOf(explained) {
  return explained.days.map((one) => ({...one, crossings: explained.crossings.filter((c) => c.hour.slice(0, 10) === one.day.slice(0, 10))}));
}

/** Every day of the line's month with its quantity, those without usage too. */
export function everyDay(explained, dayMs = 86400000) {
  const first = Date.parse(explained.period.start), end = Date.parse(explained.period.end);
  const used = new Map(explained.days.map((one) => [Date.parse(one.day), Number(one.quantity)]));
  const at = [];
  for (let ms = first; ms < end; ms += dayMs) at.push(ms);
  return {at, values: at.map((ms) => used.get(ms) ?? 0)};
}
