/* Events of a shield zone's firewall. They come from the export, which has every field and filters on the
 * server; windows of time go backwards until there is enough to look at. */

import {pageHead, zoneSwitch} from "../controls.js";
import {download, el, fill} from "../dom.js";
import {entries, filterBar} from "../entries.js";
import {time} from "../format.js";
import {countryCodes} from "../names.js";
import {parseCsv} from "../stream.js";

const HOUR = 3600000, DAY = 24 * HOUR, SECONDS = 15, ENOUGH = 200;

/* A filter of the address, the export's field for it, and how it compares. */
const FILTERS = [
  {id: "query", name: "any field", hint: "words"},
  {id: "action", name: "action", hint: "block", op: "eq"},
  {id: "feature", name: "feature", hint: "waf", op: "eq"},
  {id: "ruleId", name: "rule", hint: "941100", op: "eq"},
  {id: "ip", name: "address", hint: "192.0.2.0/24", op: "eq"},
  {id: "url", name: "URL", hint: "/login", op: "contains"},
  {id: "ua", name: "user agent", hint: "curl", op: "contains"},
  {id: "country", name: "country", hint: "Germany or DE", read: countryCodes, unknown: "No country of this name. Write it in English, or its two letters.", op: "eq"},
  {id: "asn", name: "network", hint: "64500", op: "eq"},
  {id: "ja4", name: "JA4", hint: "t13d…", op: "eq"},
];
const FINDS = {action: "action", feature: "feature", ruleId: "ruleId", ip: "ip", url: "url", userAgent: "ua", country: "country", asn: "asn", ja4: "ja4"};
const DAYS = [{id: "1", name: "today"}, {id: "2", name: "since yesterday"}, {id: "3", name: "3 days"}];

/** Which shield zone the address is about: {shield, zone}. `shield=42` names it; `zone=101` is the one that protects
 * this pull zone, and zone alone is left where none does; without either it is the only one there is. */
export function chosen(zones, query) {
  const named = query.get("shield") ?? "", zone = query.get("zone") ?? "";
  if (/^\d+$/.test(named)) return {shield: named, zone: ""};
  if (/^\d+$/.test(zone)) return {shield: String(zones.find((one) => String(one.pullZoneId) === zone)?.shieldZoneId ?? ""), zone};
  return {shield: zones.length === 1 ? String(zones[0].shieldZoneId) : "", zone: ""};
}

const at = (row) => Date.parse(row.timestamp);
const fields = (row) => Object.entries(row).filter(([, value]) => value !== "").map(([name, value]) => ({name,
  value, only: FINDS[name] ? {[FINDS[name]]: value} : null}));

/* On a phone without year and seconds. */
function shortly(text) {
  const [, day, year, minutes, seconds] = /^(.*)( \d{4})(, \d+:\d+)(.*)$/.exec(text);
  return [day, el("span", {class: "wide-only"}, year), minutes, el("span", {class: "wide-only"}, seconds)];
}

export function show(page) {
  let zones = null; // the account's shield zones, once they are here
  const about = () => chosen(zones ?? [], page.query), shield = () => about().shield;
  const path = () => `/shield/event-logs/${shield()}/export`;
  const bar = filterBar(page, FILTERS);
  const choice = el("select", {"aria-label": "Shield zone", onchange: () => page.set({shield: choice.value, zone: null})});
  const days = el("div", {class: "segments", role: "group", "aria-label": "Time shown"});
  const text = (name) => (row) => row[name] || null;
  const list = entries({page, label: "Shield events", name: "events", fields, time: at, older: before,
    columns: [
      {id: "timestamp", name: "Time", value: (row) => row.timestamp, cell: (row) => el("time", {datetime: row.timestamp}, shortly(time(at(row), page.zone, true)))},
      {id: "action", name: "Action", value: text("action")}, {id: "ruleName", name: "Rule", value: (row) => row.ruleName || row.ruleId || null},
      {id: "severity", name: "Severity", value: text("severity")}, {id: "ip", name: "Address", value: text("ip")},
      {id: "country", name: "Country", value: text("country")}, {id: "url", name: "URL", value: text("url"), wide: true},
    ],
    empty: () => (!shield() ? unchosen() : bar.node.querySelector(".chip") ? "No event of this time passes the filters."
      : "No event of this time. Requests that the shield blocks or logs appear here.")});
  const box = el("section", {class: "panel"}, list.node), unlisted = el("div", {class: "news"}), anyway = new Set(); // numbers that are asked about though no list has them
  const isUnknown = () => Boolean(shield()) && !anyway.has(shield()) && !zones.some((one) => String(one.shieldZoneId) === shield());
  let stop = null, begin = 0, oldest = 0, newest = 0, step = HOUR / 4;

  const body = (from, to) => ({from, to, query: page.query.get("query"), filters: FILTERS.filter((one) => one.op && page.query.get(one.id)).map((one) => {
    const value = page.query.get(one.id);
    return {field: one.id, op: one.id === "ip" && value.includes("/") ? "cidr" : one.op, value: [value]};
  })});
  const ask = (from, to) => page.post(path(), body(from, to), {accept: "text/csv", signal: stop.signal});

  /* Newest first. A window that was nearly empty makes the next one longer, and the other way round. */
  async function before() {
    const rows = [];
    while (rows.length < ENOUGH && oldest > begin) {
      const from = Math.max(begin, oldest - step);
      const answer = await ask(from, oldest);
      if (page.failed(answer)) return null;
      const found = parseCsv(answer.data).reverse();
      for (const row of found) rows.push(row);
      oldest = from;
      if (found.length < ENOUGH / 4) step *= 4;
      else if (found.length > 10 * ENOUGH) step = Math.max(60000, step / 8);
    }
    return {rows, done: oldest <= begin};
  }
  async function load() {
    stop?.abort();
    stop = new AbortController();
    page.signal.addEventListener("abort", () => stop.abort(), {once: true, signal: stop.signal});
    list.reset();
    box.hidden = isUnknown();
    fill(unlisted, isUnknown() ? el("div", {class: "notice"}, el("p", {}, `Shield zone ${shield()} is not one of this account's. Events of a shield zone that was removed can be read while they are kept. `),
      el("button", {type: "button", onclick: () => { anyway.add(shield()); load(); }}, "Look for them")) : null);
    if (!shield() || isUnknown()) return list.merge([], false);
    const back = Number(DAYS.find((one) => one.id === page.query.get("days"))?.id ?? 1), mine = stop;
    newest = oldest = Math.floor(page.now()) + 1;
    begin = (Math.floor(page.now() / DAY) - back + 1) * DAY;
    step = HOUR / 4;
    const first = await before();
    if (!first || mine.signal.aborted) return;
    list.merge(first.rows, !first.done);
    later(mine);
  }

  /* What came since then; nothing is asked while nobody looks. */
  function later(mine) {
    const timer = setTimeout(async () => {
      const to = Math.floor(page.now()) + 1;
      if (document.visibilityState === "visible" && to > newest) {
        const answer = await ask(newest, to);
        if (mine.signal.aborted) return;
        if (!page.failed(answer) && answer.ok) {
          newest = to;
          const rows = parseCsv(answer.data).reverse();
          if (rows.length) list.merge(rows, false);
        }
      }
      later(mine);
    }, SECONDS * 1000);
    mine.signal.addEventListener("abort", () => clearTimeout(timer), {once: true});
  }

  function unchosen() {
    if (!zones) return "";
    if (!zones.length) return "No shield zone yet. Your provider sets one up for a pull zone.";
    return about().zone ? `No shield zone protects zone ${about().zone}. The others are in the list above.` : "Which shield zone? They are in the list above.";
  }

  const nameOf = (one) => `${one.name ?? "shield zone"} (${one.shieldZoneId})${one.pullZoneId === null ? "" : `, zone ${one.pullZoneId}`}`;
  function drawChoice() {
    const mine = shield(), isListed = zones.some((one) => String(one.shieldZoneId) === mine);
    fill(choice, mine ? null : el("option", {value: "", selected: true, disabled: true}, "choose"),
      mine && !isListed ? el("option", {value: mine, selected: true}, `shield zone (${mine})`) : null,
      zones.map((one) => el("option", {value: one.shieldZoneId, selected: String(one.shieldZoneId) === mine}, nameOf(one))));
  }

  async function readZones() {
    const found = [];
    for (let number = 1; number;) {
      const answer = await page.get("/shield/shield-zones", {query: {page: number, perPage: 1000}});
      if (page.failed(answer) || !answer.ok) return;
      found.push(...answer.data.data);
      number = answer.data.page.nextPage;
    }
    zones = found;
    redraw();
  }

  async function save() {
    if (!shield() || isUnknown()) return;
    const answer = await ask(begin, Math.floor(page.now()) + 1);
    if (!page.failed(answer)) download(`event-logs-${shield()}.csv`, "text/csv;charset=utf-8", answer.data);
  }

  function redraw() {
    if (!zones) return;
    bar.redraw();
    drawChoice();
    const chosen = page.query.get("days") ?? "1";
    fill(days, DAYS.map((one) => el("button", {type: "button", "aria-pressed": String(one.id === chosen), onclick: () => page.set({days: one.id === "1" ? null : one.id})}, one.name)));
    page.title(shield() ? `Events of shield zone ${shield()}` : "Shield events");
    load();
  }

  page.root.append(pageHead(page, "Shield events"),
    el("div", {class: "range"}, el("label", {class: "inline"}, "shield zone ", choice), days,
    el("button", {type: "button", onclick: save}, "Export all as CSV"), zoneSwitch(page)),
    unlisted, bar.node, box);
  readZones();
  return {update: redraw, again: () => (zones ? load() : readZones())};
}
