/* One zone: its traffic, what optimizer, origin shield and SafeHop did, and its settings. */

import {board} from "../board.js";
import {chart} from "../chart.js";
import {linkButton, pageHead, panel, spanText} from "../controls.js";
import {el, figure, fill, later} from "../dom.js";
import {bytes, bytesFull, compact, count, milliseconds, number, percent} from "../format.js";
import {featureDays, formatDate, write, zoomTo} from "../range.js";
import {groups} from "../settings.js";
import {counted, finished, ofSomething, untilNow} from "../traffic.js";

const TYPES = ["premium", "volume"];

/* A tab that is one of the zone's statistics: what is asked, tiles, charts; on: the setting it belongs to. A chart's series: its
 * name, its field, and for a ratio the field that counts what it is of. */
const FEATURES = {
  optimizer: {name: "Optimizer", path: "optimizer/statistics", on: "OptimizerEnabled", totals: [
    ["TotalRequestsOptimized", "Files optimized", compact, number], ["TotalTrafficSaved", "Traffic saved", bytes, bytesFull],
    ["AverageCompressionRatio", "Average reduction", percent, (v) => percent(v, 2)], ["AverageProcessingTime", "Processing time", milliseconds, milliseconds]], charts: [
    ["Files optimized", [["files", "RequestsOptimizedChart"]], compact, number], ["Traffic saved", [["bytes saved", "TrafficSavedChart"]], bytes, bytesFull],
    ["Average reduction", [["percent", "AverageCompressionChart", "RequestsOptimizedChart"]], percent, percent], ["Processing time", [["per file", "AverageProcessingTimeChart", "RequestsOptimizedChart"]], milliseconds, milliseconds]]},
  shield: {name: "Origin shield", path: "originshield/queuestatistics", on: "EnableOriginShield", totals: [], charts: [
    ["Requests at the origin shield, at most", [["at once", "ConcurrentRequestsChart"], ["waiting", "QueuedRequestsChart"]], compact, number]]},
  safehop: {name: "SafeHop", path: "safehop/statistics", on: "EnableSafeHop", totals: [
    ["TotalRequestsRetried", "Requests tried again", compact, number], ["TotalRequestsSaved", "Of these, saved", compact, number]], charts: [
    ["Requests to the origin", [["tried again", "RequestsRetriedChart"], ["saved", "RequestsSavedChart"]], compact, number]]},
};
const TABS = [["traffic", "Traffic"], ...Object.entries(FEATURES).map(([id, feature]) => [id, feature.name]), ["settings", "Settings"]];

export function show(page) {
  const id = page.params.id;
  const title = el("span", {}, `Zone ${id}`), chips = el("span", {});
  const tabs = el("nav", {class: "segments", "aria-label": "Parts of this zone"});
  const body = el("div", {class: "view"});
  const links = el("span", {class: "page-title"},
    page.offers("logs") ? el("a", {href: page.href("/logs", {zone: id})}, "Log") : null,
    page.offers("events") ? el("a", {href: page.href("/events", {zone: id})}, "Shield events") : null);
  /* A key that may see statistics alone, such as the operator's, gets these. */
  const isWhole = page.offers("zones"), offered = isWhole ? TABS : TABS.slice(0, 1);
  const tab = () => (offered.some(([one]) => one === page.query.get("tab")) ? page.query.get("tab") : "traffic");
  const head = pageHead(page, title, {range: true, compare: () => tab() === "traffic", above: el("a", {href: page.href("/zones")}, "Zones /"), beside: [chips, links, page.may("catalog change") ? el("a", {class: "button", href: page.href("/do/zone", {id: page.params.id})}, "Change") : null]});
  page.root.append(head, tabs, body);
  page.root.dataset.zone = id;

  let zone = null, part = null, shown = "";

  function drawTabs() {
    tabs.hidden = !isWhole;
    fill(tabs, offered.map(([one, name]) => el("a", {class: "button", href: page.href(`/zones/${id}`, {tab: one === "traffic" ? null : one}), "aria-current": one === tab() ? "page" : null}, name)));
  }

  function name(text) {
    title.textContent = text;
    page.title(text);
  }

  function drawHead() {
    name(zone.Name);
    fill(chips, el("span", {class: "chip"}, TYPES[zone.Type] ?? `type ${zone.Type}`), " ",
      zone.Suspended ? el("span", {class: "chip warn"}, "suspended") : zone.Enabled ? "" : el("span", {class: "chip warn"}, "disabled"));
  }

  function update() {
    drawTabs();
    if (shown !== tab()) {
      shown = tab();
      part?.leave?.();
      part = shown === "traffic" ? traffic(page, id, isWhole ? null : name) : shown === "settings" ? settings(page) : feature(page, id, FEATURES[shown]);
      fill(body, part.node);
    }
    head.querySelector(".range").hidden = shown === "settings"; // settings are as they are now
    part.update();
    if (zone) part.zone?.(zone);
  }

  if (isWhole) page.poll(`/pullzone/${encodeURIComponent(id)}`, {seconds: 120}, (answer) => {
    if (page.failed(answer)) {
      if (answer.status === 404) fill(body, el("p", {class: "empty"}, "There is no such zone, or this key may not see it. ", el("a", {href: page.href("/zones")}, "All zones")));
      return;
    }
    zone = answer.data;
    drawHead();
    part?.zone?.(zone);
  });
  update();
  return {update};
}

function traffic(page, id, name) {
  const only = el("p", {class: "chips", hidden: true}), region = () => page.query.get("region");
  const made = board(page, {query: () => ({zone: id, top: 1, region: region()}), f(data) {
    name?.(data.zones.items[0]?.name ?? `Zone ${id}`);
    only.hidden = !region();
    fill(only, el("span", {class: "chip on"}, `only ${data.regions.find((one) => one.id === region())?.name ?? region()}`,
      el("button", {type: "button", "aria-label": "All regions", title: "All regions", onclick: () => page.set({region: null})}, "×")));
  }, hint: () => "No traffic of this zone in this time. Choose a longer time."});
  return {node: el("div", {class: "view"}, only, made.node), update: made.update};
}

function feature(page, id, what) {
  const group = {}, tiles = el("div", {class: "tiles"}), hint = el("p", {class: "notice", hidden: true});
  const days = el("p", {class: "soft", role: "status"});
  const zoom = (from, to) => page.set(write({...zoomTo(page.range(), from, to), compare: page.range().compare}));
  const charts = what.charts.map(([label, series, format, full]) => ({series, chart: chart({label, page, group, format, full, onZoom: zoom})}));
  const node = el("div", {class: "view"}, hint, days, what.totals.length ? tiles : null,
    el("div", {class: charts.length > 1 ? "columns" : "view"}, charts.map((one) => el("section", {class: "panel"}, one.chart.node))));
  let data = null, asking = null, question = "";

  function draw() {
    fill(tiles, what.totals.map(([field, name, short, full]) => el("div", {class: "tile"}, el("span", {class: "name"}, name),
      el("span", {class: "value"}, figure(field, data[field], short(data[field]), full(data[field]))))));
    const values = (field) => Object.values(data[field] ?? {});
    for (const {series, chart: drawn} of charts) {
      const at = Object.keys(data[series[0][1]] ?? {}).map(Date.parse);
      const by = at.length > 1 && at[1] - at[0] < 86400000 ? "hour" : "day", now = page.now();
      drawn.set({at, by, now, series: series.map(([name, field, of]) => (
        {name, values: untilNow(of ? ofSomething(values(field), values(of)) : counted(values(field), finished(at, by, now)), at, now)}))});
    }
  }

  function query() {
    const range = page.range(), asked = featureDays(range, page.now());
    if (!asked) return null;
    return {dateFrom: formatDate(asked.from, false, false), dateTo: formatDate(asked.to, true, false), hourly: range.by === "hour" && page.now() - asked.from < 30 * 86400000};
  }

  /* Whole days of the last year: said where the range is another time. */
  function drawDays() {
    const range = page.range(), asked = featureDays(range, page.now());
    days.hidden = Boolean(asked) && asked.from === range.from && asked.to === range.to;
    days.textContent = !asked ? "These figures go back one year. Choose a later time."
      : `These figures are of whole days of the last year: ${spanText(asked, "UTC")}.`;
  }

  /* What the clock has moved on is another question. */
  function moving() {
    const next = query(), text = JSON.stringify(next);
    if (text !== question) {
      question = text;
      data = null;
      drawDays();
    }
    return next;
  }

  function update() {
    drawDays();
    if (JSON.stringify(query()) === question) {
      if (data) draw();
      return;
    }
    asking?.abort();
    asking = new AbortController();
    tiles.replaceChildren();
    for (const one of charts) one.chart.set({at: [], series: []});
    if (!moving()) return;
    page.signal.addEventListener("abort", () => asking.abort(), {signal: asking.signal});
    page.poll(`/pullzone/${encodeURIComponent(id)}/${what.path}`, {query: moving, seconds: 60, signal: asking.signal}, (answer) => {
      if (page.failed(answer)) return;
      data = answer.data;
      draw();
    });
  }

  return {node, update, leave: () => asking?.abort(), zone(zone) {
    hint.hidden = zone[what.on] === true;
    hint.textContent = `${what.name} is off in this zone. Figures are what was counted while it was on. Your provider turns it on.`;
  }};
}

function settings(page) {
  let zone = null, currency = "";
  const field = el("input", {type: "search", placeholder: "Search settings", "aria-label": "Search settings",
    oninput: later(() => page.set({search: field.value || null}, {replace: true}), 150)});
  const place = el("div", {class: "view"}), said = el("span", {class: "soft", role: "status"});
  const node = el("div", {class: "view"}, el("div", {class: "table-tools"}, field, said, el("span", {class: "does"}, linkButton())), place);

  function hidden(item) {
    const button = el("button", {type: "button", class: "quiet", "aria-label": `Show ${item.words}`, onclick: () => button.replaceWith(item.text)}, "•••••• Show");
    return button;
  }

  function draw() {
    if (!zone) return;
    const text = page.query.get("search") ?? "";
    if (document.activeElement !== field) field.value = text;
    const found = groups(zone, text, currency);
    said.textContent = text ? count(found.reduce((sum, group) => sum + group.items.length, 0), "setting") : "";
    if (!found.length) return fill(place, el("p", {class: "empty"}, "No setting matches the search."));
    const all = el("div", {class: "settings"}, found.map((group) => panel(group.name, facts(group.items))));
    if (text) return fill(place, all);
    const changed = found.flatMap((group) => group.items.filter((item) => item.isChanged)), isOpen = Boolean(place.querySelector("details[open]"));
    fill(place, panel("Changed", changed.length ? facts(changed) : el("p", {class: "soft"}, "Nothing: every setting has its default.")),
      el("details", {class: "all", open: isOpen}, el("summary", {}, `All ${count(found.reduce((sum, group) => sum + group.items.length, 0), "setting")}`), all));
  }

  const facts = (items) => el("dl", {class: "facts"}, items.map((item) => [
    el("dt", {title: item.field}, item.words), el("dd", {data: {setting: item.field}, title: item.secret ? null : item.exact}, item.secret ? hidden(item) : item.text)]));
  if (page.session.role.startsWith("User")) page.get("/user").then((answer) => {
    if (!answer.ok) return;
    currency = answer.data.Currency;
    draw();
  });
  return {node, update: draw, zone(next) { zone = next; draw(); }};
}
