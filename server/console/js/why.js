/* Why a figure changed: GET /insights/why as one sentence and a table of its parts, each with a bar and a way on.
 * The address says which: why=bandwidth&split=day; of an invoice's line why=3. The first half is pure. */

import {el, fill, figure} from "./dom.js";
import {bucket, bytes, bytesFull, day, decimalCompare, decimalSum, money, month, NOTHING, number} from "./format.js";
import {productOf, regionText, zoneOf} from "./money.js";
import {table} from "./table.js";
import {FIGURES} from "./traffic.js";

const HOUR = 3600000, DAY = 24 * HOUR, TOP = 10, HOURS_UP_TO = 8 * DAY, LOGS_KEPT = 72 * HOUR;

const SPLITS = {zone: "Zone", region: "Region", status: "Status", product: "Product", day: "Day", hour: "Hour", account: "Account"};

/* The API's name of each figure of the board. */
const FIELDS = {requests: "requests", bandwidth: "bytes", "hit-rate": "hit_rate", "5xx": "status_5xx", "4xx": "status_4xx", origin: "origin_bytes", "origin-time": "origin_time"};
const RATIOS = {hit_rate: " pt", origin_time: " ms"};

const opposite = (text) => (text.startsWith("-") ? text.slice(1) : /^[0.]+$/.test(text) ? text : `-${text}`);
const isNil = (text) => decimalCompare(text, "0") === 0;

/** "+344 GB", "−1.72 USD", "±0". short(text): without a sign, with its unit. */
export function signed(text, short) {
  if (isNil(text)) return "±0";
  return text.startsWith("-") ? `\u2212${short(opposite(text))}` : `+${short(text)}`;
}

/** What a field's values look like: {value(text), change(text), full(text)}. */
export function formats(field, currency = "") {
  if (field === "charges") {
    const full = (text) => money(text, currency);
    return {value: full, change: (text) => signed(text, full), full};
  }
  if (RATIOS[field]) {
    const points = (text) => `${Number(text).toFixed(2)}${RATIOS[field]}`, unit = field === "hit_rate" ? " %" : " ms";
    return {value: (text) => (text === null ? NOTHING : `${Number(text).toFixed(field === "hit_rate" ? 2 : 1)}${unit}`), change: (text) => signed(text, points), full: (text) => (text === null ? NOTHING : `${text}${unit}`)};
  }
  if (field.endsWith("bytes")) return {value: bytes, change: (text) => signed(text, bytes), full: bytesFull};
  return {value: number, change: (text) => signed(text, number), full: number};
}

/** "Bandwidth +344 GB: nordlicht-film +344 GB, the rest −2 GB." The second part is named where it is a quarter of the first. */
export function sentence(answer, name, nameOf, change) {
  const [first, second] = answer.parts;
  if (!first || isNil(first.change) && isNil(answer.change)) return `${name} did not change.`;
  const size = (part) => Math.abs(Number(part.change));
  const named = second && 4 * size(second) >= size(first) ? [first, second] : [first];
  const rest = decimalSum([answer.change, ...named.map((part) => opposite(part.change))]);
  const words = named.map((part) => `${nameOf(part)} ${change(part.change)}`);
  if (!isNil(rest)) words.push(`the rest ${change(rest)}`);
  return `${name} ${change(answer.change)}: ${words.join(", ")}.`;
}

/** The spans of an answer of GET /insights, as the change on screen compares them: where the first goes on after now it ends as
 * long after its start as the other one does. null: nothing is compared. */
export function spansOf(answer, now) {
  if (!answer?.compare) return null;
  const [from, to, againstFrom, againstTo] = [answer.from, answer.to, answer.compare.from, answer.compare.to].map((text) => Date.parse(text));
  const come = from + againstTo - againstFrom, isNow = to > now && come < to && Math.abs(come - now) <= HOUR;
  return {from, to: isNow ? come : to, againstFrom, againstTo};
}

/** The spans of a month and the month before; month: "2026-10". */
export function monthSpans(text) {
  const [year, number] = text.split("-").map(Number), first = (months) => Date.UTC(year, number - 1 + months, 1);
  return {from: first(0), to: first(1), againstFrom: first(-1), againstTo: first(0)};
}

/** How a field can be split over these spans: days and hours are paired, so both spans are as long. */
export function splitsOf(field, spans, {zone, isFleet}) {
  if (field === "charges") return [zone ? null : "zone", "product", "region", isFleet ? "account" : null].filter(Boolean);
  const length = spans.to - spans.from, isPaired = length === spans.againstTo - spans.againstFrom;
  const isSamePhase = (spans.from - spans.againstFrom) % DAY === 0;
  return [isFleet ? "account" : null, zone ? null : "zone", "region", field === "requests" ? "status" : null,
    isPaired && isSamePhase && length > DAY ? "day" : null, isPaired && length <= HOURS_UP_TO ? "hour" : null].filter(Boolean);
}

const moment = (ms) => new Date(ms).toISOString().slice(0, 16) + "Z";

/** The question for GET /insights/why. */
export function ask(field, by, spans) {
  const isMonths = field === "charges"; // whole days, as months are given
  const first = (ms) => (isMonths ? moment(ms).slice(0, 10) : moment(ms)), last = (ms) => (isMonths ? moment(ms - 1).slice(0, 10) : moment(ms));
  return {field, by, from: first(spans.from), to: last(spans.to), against_from: first(spans.againstFrom), against_to: last(spans.againstTo), top: TOP};
}

/** What explains a line of an invoice: the charges of its zone by region, of several zones by zone, else all by product.
 * {zone, or null: all; split; isOwn(key, by): whether a part has this line}. */
export function lineScope(line) {
  const zones = line.shares?.length ? line.shares.map((one) => Number(one.zone)) : [zoneOf(line.resource)].filter(Boolean);
  const hasRegions = (line.region || line.shares?.length) && !line.corrects;
  return {zone: zones.length === 1 ? zones[0] : null, split: zones.length > 1 ? "zone" : hasRegions ? "region" : "product",
    isOwn: (key, by) => (by === "product" ? key === productOf(line) : by === "zone" ? zones.includes(Number(key)) : Boolean(line.region) && key === line.region)};
}

/** A part's name on screen. */
export function partName(part, by, field, zone = "UTC") {
  if (by === "day") return bucket(`${part.key}T00:00:00Z`, "day");
  if (by === "hour") return bucket(`${part.key}:00:00Z`, "hour", zone);
  if (by === "product") return part.name && part.name !== part.key ? part.name : part.key.replaceAll("_", " ");
  if (part.key === "") return by === "region" ? "no region" : "no zone";
  if (by === "region" && field === "charges") return regionText(part.key);
  return part.name || (by === "zone" ? `Zone ${part.key}` : part.key);
}

/* --- on the page --- */

/** Where a part leads: an address, or null. */
function lead(page, part, {by, id, field, spans, zone}) {
  const why = {why: id, show: page.query.get("show")}, own = zone ? `/zones/${zone}` : "/overview", region = page.query.get("region");
  const span = (from, to) => ({from: moment(from), to: moment(to), range: null});
  if (part.key === "" || !page.offers("statistics")) return null;
  if (field === "charges") {
    const days = {from: moment(spans.from).slice(0, 10), to: moment(Math.min(spans.to, Math.ceil(page.now() / DAY) * DAY) - 1).slice(0, 10), range: null};
    return by === "zone" ? page.href(`/zones/${part.key}`, {...days, why: "bandwidth", split: "day"})
      : by === "account" ? page.href("/billing", {account: part.key, why: "charges"}) : null;
  }
  if (by === "zone") return page.href(`/zones/${part.key}`, {...why, region, split: "day"});
  if (by === "account") return page.href("/overview", {...why, account: part.key, split: "zone"});
  if (by === "region") return page.href(own, {...why, region: part.key, split: zone ? "day" : "zone"});
  if (by === "day") {
    const from = Date.parse(`${part.key}T00:00:00Z`);
    return page.href(own, {...why, ...span(from, from + DAY), region, split: "hour"});
  }
  if (by === "hour") {
    const from = Date.parse(`${part.key}:00:00Z`), kept = page.now() - from < LOGS_KEPT;
    return zone && kept && page.offers("logs") ? page.href("/logs", {zone, from: moment(from), to: moment(from + HOUR)})
      : page.href(own, {...why, ...span(from, from + HOUR), region, split: zone ? "region" : "zone"});
  }
  return zone && by === "status" && page.offers("logs") ? page.href("/logs", {zone, status: part.key}) : null;
}

const bar = (change, most, text) => el("span", {class: "bar"},
  el("i", {class: change.startsWith("-") ? "less" : null, style: {width: `${most ? Math.max(1, 100 * Math.abs(Number(change)) / most) : 0}%`}}), el("span", {}, text));

/** The button beside a change that opens its panel. id: of the figure, or "charges". */
export function whyButton(page, id, name) {
  const isOpen = () => page.query.get("why") === id;
  return el("button", {type: "button", class: "quiet why", data: {why: id}, "aria-expanded": String(isOpen()), "aria-label": `Why? ${name}`,
    onclick: () => page.set({why: isOpen() ? null : id, split: null})}, "Why?");
}

/** whyPanel(page, {spans(), zone, ids, scope(id)}): spans() gives what is compared now, null: nothing; ids: the figures that it explains;
 * scope(id): of a line of an invoice as lineScope() and its name, else null. {node, update()} */
export function whyPanel(page, {spans, zone: ofPage = null, ids, scope: scopeOf = () => null}) {
  const said = el("p", {role: "status", class: "reason"}), splits = el("div", {class: "segments", role: "group", "aria-label": "Split by"});
  let answer = null, traffic = null, shown = "", stop = null, wasOpen = "", current = null;
  const nameOf = (row) => (row.isRest ? `the rest (${number(row.count)})` : partName(row, current.by, current.field, page.zone));
  const format = () => formats(current.field, answer?.currency);
  const most = () => Math.max(0, ...(answer?.parts ?? []).map((part) => Math.abs(Number(part.change))), Math.abs(Number(answer?.rest.change ?? 0)));
  const value = (id, name) => ({id, name, kind: "decimal", field: id, sort: false, value: (row) => row[id] ?? "", cell: (row) => format().value(row[id]), title: (row) => format().full(row[id])});
  const rows = table({label: "Parts of the change", title: "Why", tools: [splits, el("button", {type: "button", class: "quiet", onclick: close}, "Close")], name: "why", key: "why-", page, search: false, empty: "Nothing in either time.",
    rowData: (row) => ({part: row.isRest ? "rest" : row.key, own: !row.isRest && current.isOwn?.(row.key, current.by) ? "" : null}), columns: [
      {id: "name", name: "Part", kind: "text", sort: false, value: nameOf, title: nameOf, cell: (row) => {
        const href = row.isRest ? null : lead(page, row, current);
        return href ? el("a", {href}, nameOf(row)) : nameOf(row);
      }},
      {id: "change", name: "Change", kind: "decimal", field: "change", sort: false, value: (row) => row.change, title: (row) => format().full(row.change),
        cell: (row) => bar(row.change, most(), format().change(row.change))},
      {id: "bytes", name: "Bandwidth", kind: "decimal", sort: false, wideOnly: true, value: (row) => row.bytes ?? "", cell: (row) => (row.bytes ? signed(row.bytes, bytes) : NOTHING)},
      {...value("value", "Now"), wideOnly: true}, {...value("previous", "Before"), wideOnly: true}]});
  const node = el("section", {class: "panel why-panel", hidden: true, "aria-label": "Why it changed"}, rows.node), head = node.querySelector("h2");
  head.tabIndex = -1;
  node.querySelector(".table-tools").after(said);

  function close() {
    const id = page.query.get("why");
    page.set({why: null, split: null});
    document.querySelector(`[data-why="${id}"]`)?.focus();
  }

  function draw() {
    const {id, field, by, name} = current, change = format().change;
    const {from, to, againstFrom} = current.spans;
    head.textContent = `Why: ${name}${field === "charges" ? `, ${month(from)}${to > page.now() ? " so far" : ""} against ${month(againstFrom)}` : ""}`;
    said.textContent = answer ? sentence(answer, name, nameOf, change) : "Reading …";
    fill(splits, current.splits.map((one) => el("button", {type: "button", "aria-pressed": String(one === by), data: {split: one}, onclick: () => page.set({split: one})}, SPLITS[one])));
    node.classList.toggle("with-bytes", Boolean(traffic));
    if (wasOpen !== id) {
      wasOpen = id;
      head.focus({preventScroll: true});
      node.scrollIntoView({block: "nearest"});
    }
    if (!answer) return rows.wait();
    const found = new Map((traffic?.parts ?? []).map((part) => [part.key, part.change]));
    const parts = answer.parts.map((part) => ({...part, bytes: traffic ? found.get(part.key) : null}));
    rows.set(answer.rest.count || !isNil(answer.rest.change) ? [...parts, {...answer.rest, isRest: true}] : parts);
  }

  /* Zones' money beside their bandwidth. */
  function load() {
    stop?.abort();
    stop = new AbortController();
    page.signal.addEventListener("abort", () => stop.abort(), {once: true, signal: stop.signal});
    const {signal} = stop, {field, by, zone, spans: asked} = current, scope = {account: page.account, zone, region: field === "charges" ? null : page.query.get("region")};
    answer = traffic = null;
    page.poll("/insights/why", {query: {...ask(field, by, asked), ...scope}, seconds: 60, signal}, (got) => {
      if (page.failed(got)) return;
      answer = got.data;
      draw();
    });
    if (field === "charges" && by === "zone" && page.offers("statistics"))
      page.poll("/insights/why", {query: {...ask("bytes", by, asked), ...scope, top: 100}, seconds: 60, signal}, (got) => {
        if (!got.ok) return;
        traffic = got.data;
        if (answer) draw();
      });
  }

  function update() {
    const id = page.query.get("why"), line = id ? scopeOf(id) : null, between = line || ids.includes(id) ? spans() : null;
    node.hidden = !between;
    for (const button of document.querySelectorAll("[data-why]")) button.setAttribute("aria-expanded", String(button.dataset.why === id && !node.hidden));
    if (!between) {
      stop?.abort();
      shown = wasOpen = "";
      return;
    }
    const field = FIELDS[id] ?? "charges", zone = line?.zone ?? ofPage, offered = splitsOf(field, between, {zone, isFleet: page.account === null});
    const wanted = page.query.get("split") ?? line?.split, by = offered.includes(wanted) ? wanted : offered[0];
    const name = line?.name ?? FIGURES.find((one) => one.id === id)?.name ?? "Charges";
    current = {id, field, by, zone, name, splits: offered, spans: between, isOwn: line?.isOwn};
    const text = JSON.stringify([field, by, zone, between, page.account, page.query.get("region")]);
    if (text !== shown) load();
    shown = text;
    draw();
  }
  return {node, update};
}
