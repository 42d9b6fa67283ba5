/* Request logs of a pull zone, line by line: GET /v2/pullzones/{id}/logs. */

import {pageHead, zoneSwitch} from "../controls.js";
import {el, fill} from "../dom.js";
import {entries, filterBar} from "../entries.js";
import {bytes, day, number, time} from "../format.js";
import {countryCodes} from "../names.js";
import {parseMoment} from "../range.js";

const LIMIT = 100, SECONDS = 5, KEPT_MS = 72 * 3600000, MINUTE = 60000;

const FILTERS = [
  {id: "search", name: "any field", hint: "words"},
  {id: "status", name: "status", hint: "404,5xx"},
  {id: "cacheStatus", name: "cache", hint: "MISS,EXPIRED"},
  {id: "urlContains", name: "URL", hint: "/video/"},
  {id: "country", name: "country", hint: "Germany or DE", read: countryCodes, unknown: "No country of this name. Write it in English, or its two letters."},
  {id: "edgeLocation", name: "edge location", hint: "NY"},
  {id: "remoteIp", name: "address", hint: "192.0.2.1"},
  {id: "userAgentContains", name: "user agent", hint: "curl"},
  {id: "refererContains", name: "referer", hint: "example.com"},
  {id: "requestId", name: "request id", hint: "a UUID"},
];

const LASTS = [{id: "1h", name: "1 h", ms: 3600000}, {id: "24h", name: "24 h", ms: 24 * 3600000}, {id: "3d", name: "3 d", ms: KEPT_MS}];

/* A field of a line, and the filter that finds it. */
const FINDS = {statusCode: "status", cacheStatus: "cacheStatus", countryCode: "country", edgeLocation: "edgeLocation", remoteIp: "remoteIp",
  userAgent: "userAgentContains", referer: "refererContains", host: "urlContains", path: "urlContains", requestId: "requestId"};

const fields = (row) => Object.entries(row).map(([name, value]) => ({name, value, only: FINDS[name] && value !== "" ? {[FINDS[name]]: String(value)} : null}));
/* On a phone a URL begins with its path. */
function urlParts(url) {
  const [, host, path] = /^([a-z]+:\/\/[^/]*)?(.*)$/s.exec(url ?? "");
  return host && path ? [el("span", {class: "wide-only"}, host), path] : url;
}

const at = (row) => Date.parse(row.timestamp);

/** What of the time an address asks for, in its own words: from= and to=, or the last hours. What moves with the
 * clock moves by whole minutes, and stays within what is kept. */
export function spanOf(query, now) {
  const from = parseMoment(query.get("from")), to = parseMoment(query.get("to"), true);
  const after = (ms) => Math.ceil(ms / MINUTE) * MINUTE, oldest = after(now - KEPT_MS + MINUTE / 2);
  if (from !== null && to !== null && from < to) return {from: Math.max(from, oldest), to};
  const last = LASTS.find((one) => one.id === query.get("last")) ?? LASTS[1];
  return {from: Math.max(after(now - last.ms), oldest), to: null, last: last.id};
}

export function show(page) {
  const zone = () => /^\d+$/.test(page.query.get("zone") ?? "") ? page.query.get("zone") : "";
  const bar = filterBar(page, FILTERS);
  const picker = zonePicker(page, zone);
  const lasts = el("div", {class: "segments", role: "group", "aria-label": "Time shown"});
  const days = el("details", {class: "pop"});
  const columns = [
    {id: "timestamp", name: "Time", value: (row) => row.timestamp, cell: (row) => el("time", {datetime: row.timestamp}, el("span", {class: "wide-only"}, `${day(row.timestamp, page.zone)}, `), time(row.timestamp, page.zone, true).split(", ").at(-1))},
    {id: "statusCode", name: "Status", value: (row) => row.statusCode, cell: (row) => el("span", {class: row.statusCode >= 400 ? "error" : null}, String(row.statusCode))},
    {id: "cacheStatus", name: "Cache", wideOnly: true, value: (row) => row.cacheStatus},
    {id: "url", name: "URL", value: (row) => row.url ?? row.path, wide: true, cell: (row) => urlParts(row.url ?? row.path)},
    {id: "bytesSent", name: "Sent", kind: "number", value: (row) => row.bytesSent, cell: (row) => el("span", {title: `${number(row.bytesSent)} bytes`}, bytes(row.bytesSent))},
    {id: "edgeLocation", name: "Edge", value: (row) => row.edgeLocation},
    {id: "countryCode", name: "Country", value: (row) => row.countryCode},
  ];
  const list = entries({page, label: "Request log", name: "log", columns, fields, time: at, older,
    empty: () => (!zone() ? "Choose a pull zone." : bar.node.querySelector(".chip") ? "No line of this time passes the filters."
      : "No line of this time. Requests of the last 72 hours appear here, where logging is on in the zone.")});
  let stop = null;

  const span = () => spanOf(page.query, page.now());
  const moment = (ms) => (ms === null ? null : new Date(ms).toISOString());
  const path = () => `/v2/pullzones/${zone()}/logs`;

  function load() {
    stop?.abort();
    stop = new AbortController();
    page.signal.addEventListener("abort", () => stop.abort(), {once: true, signal: stop.signal});
    list.reset();
    if (!zone()) return list.merge([], false);
    const {from, to} = span();
    const query = () => ({...bar.values(), from: moment(span().from), to: moment(to), limit: LIMIT});
    if (to !== null && from >= to) return list.merge([], false);
    page.poll(path(), {query, seconds: SECONDS, signal: AbortSignal.any([page.signal, stop.signal])}, (answer) => {
      if (page.failed(answer)) return answer.status === 404 || answer.status === 400 || answer.status === 403 ? stop.abort() : undefined;
      list.merge(answer.data.data, answer.data.pagination.hasMore);
    });
  }

  /* Behind the last row: its millisecond once more, without the rows of it that are here. */
  async function older(rows) {
    const last = at(rows[rows.length - 1]), same = rows.filter((row) => at(row) === last).length;
    const answer = await page.get(path(), {query: {...bar.values(), from: moment(span().from), to: moment(last + 1), offset: same, limit: LIMIT}, signal: stop.signal});
    if (page.failed(answer)) return null;
    return {rows: answer.data.data, done: !answer.data.pagination.hasMore};
  }

  function redraw() {
    bar.redraw();
    picker.redraw();
    const shown = span();
    fill(lasts, LASTS.map((last) => el("button", {type: "button", "aria-pressed": String(last.id === shown.last),
      onclick: () => page.set({last: last.id === "24h" ? null : last.id, from: null, to: null, range: null})}, last.name)));
    fill(days, el("summary", {class: "control"}, "Download a day"), el("div", {class: "pop-body"}, zone() ? [0, 1, 2, 3].map((back) => {
      const day = new Date(page.now() - back * 86400000).toISOString().slice(0, 10), [year, month, date] = day.split("-");
      return el("a", {href: `/${month}-${date}-${year.slice(2)}/${zone()}.log`, download: `${day}-${zone()}.log`}, day);
    }) : el("p", {}, "Choose a pull zone.")));
    days.open = false;
    page.title(zone() ? `Logs of zone ${zone()}` : "Logs");
    load();
  }

  page.root.append(pageHead(page, "Logs"), el("div", {class: "range"}, picker.node, lasts, days, zoneSwitch(page)), bar.node, el("section", {class: "panel"}, list.node));
  redraw();
  return {update: redraw};
}

/** Which pull zone: its number, or a part of its name. The browser offers what the API finds. */
function zonePicker(page, zone) {
  const offered = el("datalist", {id: "zones-offered"});
  const field = el("input", {list: "zones-offered", "aria-label": "Pull zone", placeholder: "number or name", autocomplete: "off", required: true});
  const name = el("span", {class: "soft"});
  let found = [];
  const wanted = (text) => found.find((one) => String(one.Id) === text.trim() || one.Name === text.trim());

  async function offer() {
    const text = field.value.trim();
    const answer = await page.get("/pullzone", {query: {page: 1, perPage: 20, search: /^\d+$/.test(text) ? null : text}});
    if (!answer.ok) return;
    found = answer.data.Items;
    fill(offered, found.map((one) => el("option", {value: one.Name}, `zone ${one.Id}`)));
  }

  async function choose() {
    const text = field.value.trim();
    if (!/^\d+$/.test(text) && !wanted(text)) await offer();
    const id = /^\d+$/.test(text) ? text : wanted(text)?.Id ?? found[0]?.Id;
    if (id) page.set({zone: id});
    else field.setCustomValidity("No pull zone has this name.");
    field.reportValidity();
  }

  field.addEventListener("input", () => {
    field.setCustomValidity("");
    if (wanted(field.value)) choose();
    else offer();
  });
  const node = el("form", {class: "filter", onsubmit: (event) => {
    event.preventDefault();
    choose();
  }}, el("label", {class: "inline"}, "zone", field), offered, el("button", {type: "submit"}, "Show"), name);

  return {
    node,
    async redraw() {
      const id = zone();
      if (document.activeElement !== field) field.value = id;
      name.textContent = "";
      if (!id) return offer().then(() => { if (found.length === 1 && !zone()) page.set({zone: found[0].Id}, {replace: true}); });
      const answer = await page.get(`/pullzone/${id}`);
      if (answer.ok && zone() === id) fill(name, el("a", {href: page.href(`/zones/${id}`)}, answer.data.Name));
    },
  };
}
