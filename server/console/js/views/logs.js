/* Request logs of a pull zone: what they come to (GET /v2/pullzones/{id}/logs/summary), and line by line (the same path
 * without /summary). For the operator, refused lines beside them (refused.js). */

import {pageHead, zoneSwitch} from "../controls.js";
import {el, fill} from "../dom.js";
import {entries, filterBar} from "../entries.js";
import {explorer} from "../explorer.js";
import {bytes, bytesFull, compact, day, number, percent, time, toMs} from "../format.js";
import {countryCodes, countryName} from "../names.js";
import {parseMoment} from "../range.js";
import {refused} from "../refused.js";

const LIMIT = 100, SECONDS = 5, SUM_SECONDS = 20, HOUR = 3600000, DAY = 24 * HOUR, KEPT_MS = 72 * HOUR, MINUTE = 60000;
const SERVED = "HIT,REVALIDATED,STALE,UPDATING";

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

const LASTS = [{id: "1h", name: "1 h", ms: HOUR}, {id: "today", name: "Today", day: 0}, {id: "yesterday", name: "Yesterday", day: 1},
  {id: "24h", name: "24 h", ms: DAY}, {id: "3d", name: "3 d", ms: KEPT_MS}];

/* On a narrow place a URL loses its host, not its path. */
function hostAndPath(url) {
  const [, host, path] = /^([^/]*)(.*)$/s.exec(url);
  return host && path ? [el("span", {class: "host"}, host), el("span", {class: "path"}, path)] : url;
}

const KINDS = [
  {id: "status", name: "Status", filter: "status", isList: true},
  {id: "country", name: "Country", filter: "country", isList: true, say: countryName},
  {id: "cacheStatus", name: "Cache", filter: "cacheStatus", isList: true},
  {id: "url", name: "URL", filter: "urlContains", say: hostAndPath},
  {id: "userAgent", name: "User agent", filter: "userAgentContains"},
  {id: "host", name: "Host", filter: "urlContains"},
  {id: "edgeLocation", name: "Edge location", filter: "edgeLocation"},
];
const CLASSES = [{name: "1xx", colour: 6}, {name: "2xx", colour: 4}, {name: "3xx", colour: 3}, {name: "4xx", colour: 5}, {name: "5xx", colour: 2}];

/* A field of a line, and the filter that finds it. */
const FINDS = {statusCode: "status", cacheStatus: "cacheStatus", countryCode: "country", edgeLocation: "edgeLocation", remoteIp: "remoteIp",
  userAgent: "userAgentContains", referer: "refererContains", host: "urlContains", path: "urlContains", requestId: "requestId"};

const fields = (row) => Object.entries(row).map(([name, value]) => ({name, value, only: FINDS[name] && value !== "" ? {[FINDS[name]]: String(value)} : null}));
/* What tells a zone's URLs apart is the path; the host has a list of its own. */
const pathOf = (url) => el("span", {title: url}, /^(?:[a-z]+:\/\/[^/]*)?(\/.*)$/s.exec(url ?? "")?.[1] ?? url);

const at = (row) => Date.parse(row.timestamp);

/** What of the time an address asks for, in its own words: from= and to=, or the last hours. What moves with the
 * clock moves by whole minutes, and stays within what is kept. */
export function spanOf(query, now) {
  const from = parseMoment(query.get("from")), to = parseMoment(query.get("to"), true);
  const after = (ms) => Math.ceil(ms / MINUTE) * MINUTE, oldest = after(now - KEPT_MS + MINUTE / 2);
  if (from !== null && to !== null && from < to) return {from: Math.max(from, oldest), to};
  const last = LASTS.find((one) => one.id === query.get("last")) ?? LASTS.find((one) => one.id === "24h");
  if (last.ms) return {from: Math.max(after(now - last.ms), oldest), to: null, last: last.id};
  const midnight = (Math.floor(now / DAY) - last.day) * DAY;
  return {from: Math.max(midnight, oldest), to: last.day ? midnight + DAY : null, last: last.id};
}

/** The hours that are kept, the newest first, by their day: [{day, hours: [{from, to}]}]. Of the oldest the part that is kept. */
export function keptHours(now) {
  const days = [];
  for (let from = Math.floor(now / HOUR) * HOUR; from + HOUR > now - KEPT_MS; from -= HOUR) {
    const day = Math.floor(from / DAY) * DAY;
    if (days.at(-1)?.day !== day) days.push({day, hours: []});
    days.at(-1).hours.push({from, to: from + HOUR});
  }
  return days;
}

/** A select of any of those hours. */
export function hourChoice(page, shown) {
  const text = (ms) => `${new Date(ms).toISOString().slice(0, 16)}Z`, chosen = (hour) => hour.from === shown.from && hour.to === shown.to;
  const days = keptHours(page.now()), isOne = days.some((one) => one.hours.some(chosen));
  const choice = el("select", {"aria-label": "One hour", onchange: () => {
    const from = Number(choice.value);
    page.set({from: text(from), to: text(from + HOUR), last: null, range: null});
  }}, el("option", {value: "", disabled: true, selected: !isOne}, "One hour"),
  days.map((one) => el("optgroup", {label: day(one.day)}, one.hours.map((hour) => el("option", {value: hour.from, selected: chosen(hour)}, `${time(hour.from, page.zone).split(", ").at(-1)} to ${time(hour.to, page.zone).split(", ").at(-1)}`)))));
  return choice;
}

/** Buttons of the times that move with the clock, and a select of single hours: for request logs and for refused lines. */
export function spanPicker(page) {
  const node = el("div", {class: "range span", role: "group", "aria-label": "Time shown"});
  return {node, redraw() {
    const shown = spanOf(page.query, page.now()), had = node.contains(document.activeElement) ? document.activeElement.dataset.last ?? "hour" : null;
    const says = shown.last === undefined ? el("span", {class: "soft"}, `${time(shown.from, page.zone)} to ${time(shown.to, page.zone)}`) : null;
    fill(node, el("div", {class: "segments"}, LASTS.map((last) => el("button", {type: "button", "aria-pressed": String(last.id === shown.last), data: {last: last.id}, title: last.ms ? null : "By UTC",
      onclick: () => page.set({last: last.id === "24h" ? null : last.id, from: null, to: null, range: null})}, last.name))), hourChoice(page, shown), says);
    if (had) (node.querySelector(`[data-last="${had}"]`) ?? node.querySelector("select")).focus();
  }};
}

const sums = (points, name) => points.map((point) => point[name]);
/** The histogram by status, or with show=cache by what came from cache. */
export function seriesOf(data, byCache) {
  if (byCache) return [{name: "not from cache", values: data.points.map((point) => point.requests - point.cached), colour: 5}, {name: "from cache", values: sums(data.points, "cached"), colour: 1}];
  return CLASSES.filter((one) => one.name !== "1xx" || data.totals["1xx"]).map((one) => ({...one, values: sums(data.points, one.name)}));
}
function totalsOf({totals}) {
  const share = (n) => (totals.requests ? percent(100 * n / totals.requests) : "–");
  return [{id: "requests", name: "Requests", value: totals.requests, text: compact(totals.requests), title: number(totals.requests)},
    {id: "bytes", name: "Sent", value: totals.bytes, text: bytes(totals.bytes), title: bytesFull(totals.bytes)},
    {id: "cached", name: "From cache, of requests", value: totals.cached, text: share(totals.cached), title: number(totals.cached)},
    ...["4xx", "5xx"].map((name) => ({id: name, name: `Errors ${name}`, value: totals[name], text: totals[name] ? `${compact(totals[name])}, ${share(totals[name])}` : "0", title: number(totals[name])}))];
}

export function show(page) {
  const tabs = [["requests", "Requests", "logs"], ["refused", "Refused lines", "operator"]].filter(([, , offer]) => page.offers(offer));
  const tab = () => (tabs.find(([id]) => id === page.query.get("tab")) ?? tabs[0])[0], shown = tab();
  const head = pageHead(page, tabs.length > 1 || shown === "requests" ? "Logs" : "Refused lines"), nav = el("nav", {class: "segments", "aria-label": "Kinds of lines", hidden: tabs.length < 2},
    tabs.map(([id, name]) => el("a", {class: "button", href: page.href("/logs", {tab: id === tabs[0][0] ? null : id}), "aria-current": id === shown ? "page" : null}, name)));
  page.root.append(head, nav);
  return shown === "refused" ? refused(page) : requests(page);
}

function requests(page) {
  const zone = () => /^\d+$/.test(page.query.get("zone") ?? "") ? page.query.get("zone") : "";
  const bar = filterBar(page, FILTERS);
  const picker = zonePicker(page, zone);
  const times = spanPicker(page);
  const days = el("details", {class: "pop"});
  const byCache = () => page.query.get("show") === "cache";
  const views = el("div", {class: "segments", role: "group", "aria-label": "Histogram"});
  const sum = explorer({page, label: "Requests over time", unit: "request", kinds: KINDS, tools: views, series: (data) => seriesOf(data, byCache()), totals: totalsOf,
    pick: (name) => (byCache() ? name === "from cache" && page.set({cacheStatus: page.query.get("cacheStatus") === SERVED ? null : SERVED}) : page.set({status: page.query.get("status") === name ? null : name})),
    picked: (name) => page.query.get(byCache() ? "cacheStatus" : "status") === (byCache() ? name === "from cache" && SERVED : name)});
  const columns = [
    {id: "timestamp", name: "Time", value: (row) => row.timestamp, cell: (row) => el("time", {datetime: row.timestamp}, el("span", {class: "wide-only"}, `${day(row.timestamp, page.zone).slice(0, -5)}, `), time(row.timestamp, page.zone, true).split(", ").at(-1))},
    {id: "statusCode", name: "Status", value: (row) => row.statusCode, cell: (row) => el("span", {class: row.statusCode >= 400 ? "error" : null}, String(row.statusCode))},
    {id: "cacheStatus", name: "Cache", wideOnly: true, value: (row) => row.cacheStatus},
    {id: "url", name: "URL", value: (row) => row.url ?? row.path, wide: true, cell: (row) => pathOf(row.url ?? row.path)},
    {id: "bytesSent", name: "Sent", kind: "number", value: (row) => row.bytesSent, cell: (row) => el("span", {title: `${number(row.bytesSent)} bytes`}, bytes(row.bytesSent))},
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
    sum.wait();
    if (!zone()) {
      sum.set(null);
      return list.merge([], false);
    }
    const {from, to} = span();
    const query = () => ({...bar.values(), from: moment(span().from), to: moment(to), limit: LIMIT});
    if (to !== null && from >= to) {
      sum.set(null);
      return list.merge([], false);
    }
    const whole = () => ({...bar.values(), from: moment(span().from), to: moment(to ?? Math.ceil(page.now() / MINUTE) * MINUTE)}); // asked again within a minute it costs a 304
    page.poll(`${path()}/summary`, {query: whole, seconds: SUM_SECONDS, signal: AbortSignal.any([page.signal, stop.signal])}, (answer) => {
      const isSaid = [400, 403, 404].includes(answer.status); // by the lines' answer
      if (isSaid || page.failed(answer)) sum.set(null);
      else sum.set(answer.data);
    });
    page.poll(path(), {query, seconds: SECONDS, signal: AbortSignal.any([page.signal, stop.signal])}, (answer) => {
      if (page.failed(answer)) {
        if (![400, 403, 404].includes(answer.status)) return;
        stop.abort();
        sum.set(null);
        return;
      }
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
    times.redraw();
    fill(views, [[null, "By status"], ["cache", "By cache"]].map(([id, name]) => el("button", {type: "button", "aria-pressed": String((id === "cache") === byCache()), onclick: () => page.set({show: id}, {replace: true})}, name)));
    fill(days, el("summary", {class: "control"}, "Download a day"), el("div", {class: "pop-body"}, zone() ? [0, 1, 2, 3].map((back) => {
      const day = new Date(page.now() - back * 86400000).toISOString().slice(0, 10), [year, month, date] = day.split("-");
      return el("a", {href: `/${month}-${date}-${year.slice(2)}/${zone()}.log`, download: `${day}-${zone()}.log`}, day);
    }) : el("p", {}, "Choose a pull zone.")));
    days.open = false;
    page.title(zone() ? `Logs of zone ${zone()}` : "Logs");
    const now = question();
    if (now === asked) sum.redraw();
    else load();
    asked = now;
  }
  /* What the lines and sums depend on: to draw the histogram otherwise asks for nothing. */
  const question = () => JSON.stringify([zone(), bar.values(), page.query.get("from"), page.query.get("to"), page.query.get("last"), page.zone]);
  let asked = "";

  sum.node.append(el("section", {class: "panel"}, list.node));
  page.root.append(el("div", {class: "range"}, picker.node, times.node, days), el("div", {class: "range"}, bar.node, zoneSwitch(page)), sum.node);
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

  /* The zone with the most requests since yesterday. */
  async function busiest() {
    if (!page.offers("statistics")) return null;
    const answer = await page.get("/insights", {query: {from: new Date(page.now() - DAY).toISOString().slice(0, 10), top: 1, compare: "none", account: page.account}});
    return answer.ok ? answer.data.zones.items[0]?.id : null;
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
      if (!id) return offer().then(async () => {
        const first = found.length > 1 ? await busiest() ?? found[0].Id : found[0]?.Id;
        if (first && !zone() && !page.signal.aborted) page.set({zone: first}, {replace: true});
      });
      const answer = await page.get(`/pullzone/${id}`);
      if (answer.ok && zone() === id) fill(name, el("a", {href: page.href(`/zones/${id}`)}, answer.data.Name));
    },
  };
}
