/* One page of traffic: tiles, the series of the tile that is chosen, status classes, regions, top zones. */

import {chart, sparkline} from "../chart.js";
import {pageHead, panel} from "../controls.js";
import {el, figure, fill} from "../dom.js";
import {bytes} from "../format.js";
import {ask as asked, zoomTo, write} from "../range.js";
import {table} from "../table.js";
import {changeText, FIGURES, previousValue, STATUSES, times, untilNow} from "../traffic.js";

const TOP = 10;

export function show(page) {
  const tiles = el("div", {class: "tiles", role: "group", "aria-label": "Totals"});
  const zoom = (from, to) => page.set(write({...zoomTo(page.range(), from, to), compare: page.range().compare}));
  const mainPanel = el("section", {class: "panel"});
  const status = chart({label: "Errors by class", name: "status", page, group: "overview", kind: "stack", onZoom: zoom});
  const origin = chart({label: "Bandwidth", name: "bandwidth", page, group: "overview", kind: "stack", format: bytes, full: bytes, onZoom: zoom});
  const regions = table({label: "Regions", name: "regions", key: "region-", page, search: false, sort: "-TotalBandwidthUsed",
    empty: "No region had traffic in this time.", columns: regionColumns(), rowData: (row) => ({region: row.id})});
  const zones = table({label: "Top zones", name: "top-zones", key: "top-", page, search: false, empty: "No zone yet. Declare one: tollbook apply --db FILE catalog.json",
    columns: zoneColumns(page), rowData: (row) => ({zone: row.id})});
  const body = el("div", {class: "view"}, tiles, mainPanel,
    el("div", {class: "columns"}, el("section", {class: "panel"}, status.node), el("section", {class: "panel"}, origin.node)),
    el("div", {class: "columns"}, panel("Regions", regions.node), panel("Top zones", zones.node, el("p", {}, el("a", {href: page.href("/zones")}, "All zones")))));
  const hint = el("p", {class: "notice", hidden: true});
  page.root.append(pageHead(page, "Overview", {range: true}), hint, body);

  let data = null, stop = new AbortController(), main = null;

  const past = (values) => untilNow(values, times(data.points), page.now());

  function chosen() {
    return FIGURES.find((one) => one.id === page.query.get("show")) ?? FIGURES[0];
  }

  function drawTiles() {
    const had = document.activeElement?.closest?.(".tile")?.dataset.figure;
    fill(tiles, FIGURES.map((one) => {
      const now = data.totals[one.total], before = previousValue(data.previous, one.total);
      const changed = data.previous ? changeText(one, now, before) : null;
      return el("button", {type: "button", class: "tile", "aria-pressed": String(one === chosen()), data: {figure: one.id},
        onclick: () => page.set({show: one === FIGURES[0] ? null : one.id})},
        el("span", {class: "name"}, one.name),
        el("span", {class: "value"}, figure(one.total, now, one.short(now), one.full(now))),
        changed ? el("span", {class: `change ${changed.worse ? "worse" : ""}`, title: `before: ${one.full(before)}`}, changed.text) : null,
        sparkline(one.points(data.points).slice(-60), {width: 160, height: 28, label: `${one.name} over this time`}));
    }));
    if (had) tiles.querySelector(`[data-figure="${had}"]`)?.focus();
  }

  function drawMain() {
    const one = chosen(), at = times(data.points);
    const series = [{name: one.name, values: past(one.points(data.points))}];
    if (data.previous_points) series.push({name: "before", values: one.points(data.previous_points).slice(0, at.length), dashed: true, colour: 3});
    if (main?.id !== one.id) {
      main?.chart.destroy();
      main = {id: one.id, chart: chart({label: one.name, name: "series", page, group: "overview", height: "tall", format: one.short, full: one.full, top: one.top, onZoom: zoom})};
      fill(mainPanel, main.chart.node);
    }
    main.chart.set({at, by: data.by, series});
  }

  function draw() {
    drawTiles();
    drawMain();
    const at = times(data.points);
    status.set({at, by: data.by, series: STATUSES.map((one) => ({name: one.name, values: past(data.points[one.points]), colour: one.colour}))});
    origin.set({at, by: data.by, series: [
      {name: "from cache", values: past(data.points.BandwidthCached), colour: 1},
      {name: "from the origin", values: past(data.points.BandwidthUsed.map((all, n) => Math.max(0, all - data.points.BandwidthCached[n]))), colour: 2}]});
    regions.set(data.regions);
    zones.set(data.zones.items);
    hint.hidden = Number(data.totals.TotalRequestsServed) !== 0;
    hint.textContent = data.zones.total === 0
      ? "There is no pull zone yet. Declare one: tollbook apply --db FILE catalog.json, then take in its log: tollbook ingest --db FILE requests.log"
      : "No traffic in this time. Choose a longer time, or take in a log: tollbook ingest --db FILE requests.log";
  }

  function load() {
    stop.abort();
    stop = new AbortController();
    page.signal.addEventListener("abort", () => stop.abort(), {signal: stop.signal});
    body.setAttribute("aria-busy", "true");
    page.poll("/insights", {query: {...asked(page.range()), top: TOP}, seconds: 30, signal: stop.signal}, (answer) => {
      body.removeAttribute("aria-busy");
      if (page.failed(answer)) return;
      data = answer.data;
      draw();
    });
  }

  let shown = "";
  function update() {
    const wanted = JSON.stringify([asked(page.range()), page.zone]);
    if (wanted !== shown || !data) {
      shown = wanted;
      load();
    } else draw();
  }
  update();
  return {update};
}

function regionColumns() {
  return [
    {id: "name", name: "Region", kind: "text", value: (row) => row.name ?? row.id},
    {id: "TotalRequestsServed", name: "Requests", kind: "number", field: "TotalRequestsServed", value: (row) => row.TotalRequestsServed, cell: (row) => FIGURES[0].full(row.TotalRequestsServed)},
    {id: "TotalBandwidthUsed", name: "Bandwidth", kind: "number", field: "TotalBandwidthUsed", value: (row) => row.TotalBandwidthUsed, cell: (row) => bytes(row.TotalBandwidthUsed), title: (row) => FIGURES[1].full(row.TotalBandwidthUsed)},
  ];
}

function zoneColumns(page) {
  return [
    {id: "name", name: "Zone", kind: "text", value: (row) => row.name, cell: (row) => el("a", {href: page.href(`/zones/${row.id}`)}, row.name), title: (row) => row.name},
    {id: "spark", name: "Requests over time", sort: false, csv: false, value: () => "", cell: (row) => sparkline(row.spark ?? [], {label: `Requests of ${row.name} over this time`})},
    {id: "TotalRequestsServed", name: "Requests", kind: "number", field: "TotalRequestsServed", value: (row) => row.TotalRequestsServed, cell: (row) => FIGURES[0].short(row.TotalRequestsServed), title: (row) => FIGURES[0].full(row.TotalRequestsServed)},
    {id: "TotalBandwidthUsed", name: "Bandwidth", kind: "number", field: "TotalBandwidthUsed", value: (row) => row.TotalBandwidthUsed, cell: (row) => bytes(row.TotalBandwidthUsed), title: (row) => FIGURES[1].full(row.TotalBandwidthUsed)},
    {id: "CacheHitRate", name: "Hit rate", kind: "number", field: "CacheHitRate", value: (row) => row.CacheHitRate, cell: (row) => FIGURES[2].short(row.CacheHitRate)},
  ];
}
