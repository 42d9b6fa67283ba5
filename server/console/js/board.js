/* Traffic on one board: tiles, the series of the chosen tile, answers by class, bandwidth by source. The
 * overview and a zone show it; one request fills it. */

import {chart, sparkline} from "./chart.js";
import {calmSpan} from "./controls.js";
import {el, figure, fill} from "./dom.js";
import {bytes, bytesFull, NOTHING} from "./format.js";
import {addMonths, ask as asked, monthsBetween, write, zoomTo} from "./range.js";
import {againstText, beside, changeText, FIGURES, finished, notFromCache, partBefore, pointsText, RATE, rate, rates, sparkUntilNow, STATUSES, tileText, times, untilNow} from "./traffic.js";
import {spansOf, whyButton, whyPanel} from "./why.js";

/** board(page, {query(), hint(data), f(data)}): query adds to the question; hint says what to do where there
 * is nothing; f gets each new answer; below: what else stands there. {node, update()} */
export function board(page, options = {}) {
  const group = {};
  const zoom = (from, to) => page.set(write({...zoomTo(page.range(), from, to), compare: page.range().compare}));
  const tiles = el("div", {class: "tiles", role: "group", "aria-label": "Totals"});
  const series = el("section", {class: "panel", "aria-label": "Over time"});
  const classes = chart({label: "Errors, of requests", name: "status", page, group, kind: "stack", format: RATE.short, full: RATE.full, onZoom: zoom});
  const sources = chart({label: "Bandwidth by source, of bytes", name: "bandwidth", page, group, kind: "stack", format: bytes, full: bytesFull, onZoom: zoom});
  const hint = el("p", {class: "notice", hidden: true});
  const reason = whyPanel(page, {spans: () => spansOf(data, page.now()), zone: options.query?.().zone ?? null, ids: FIGURES.map((one) => one.id)});
  const parts = [tiles, reason.node, series, el("div", {class: "columns"}, el("section", {class: "panel", "aria-label": "Errors"}, classes.node),
    el("section", {class: "panel", "aria-label": "Bandwidth by source, of bytes"}, sources.node)), ...(options.below ?? [])];
  const node = el("div", {class: "view"}, hint, parts);

  let data = null, main = null, asking = null, shown = "";
  const question = () => ({...asked(page.range()), account: page.account, ...options.query?.()});
  const chosen = () => FIGURES.find((one) => one.id === page.query.get("show")) ?? FIGURES[0];
  const past = (values, at) => untilNow(values, at, page.now());

  function drawTiles(at) {
    const against = againstText(data, page.now()), done = finished(at, data.by, page.now()), begun = at.filter((ms) => ms < page.now()).length;
    const active = document.activeElement, had = active?.closest?.(".tile")?.dataset.figure, asked = tiles.contains(active) ? active.dataset.why : null;
    fill(tiles, FIGURES.map((one) => {
      const now = tileText(one, data.totals), before = data.previous && tileText(one, data.previous);
      const changed = data.previous ? changeText(one, data.totals, data.previous) : null;
      return el("div", {class: "tile-box"}, el("button", {type: "button", class: "tile", "aria-pressed": String(one === chosen()), data: {figure: one.id},
        onclick: () => page.set({show: one === FIGURES[0] ? null : one.id})},
        el("span", {class: "name"}, one.name),
        el("span", {class: "value"}, figure(one.total, data.totals[one.total], now.text, now.full)),
        changed ? el("span", {class: `change ${changed.worse ? "worse" : ""}`, title: `before: ${one.isError ? `${before.text}, ` : ""}${before.full}, ${against}`}, changed.text, el("span", {class: "sr-only"}, " against before")) : null,
        sparkline(one.points(data.points).slice(0, done > 1 ? done : begun), {width: 160, height: 28, label: `${one.name} over this time`})), changed ? whyButton(page, one.id, one.name) : null);
    }));
    if (asked) tiles.querySelector(`[data-why="${asked}"]`)?.focus();
    if (had) tiles.querySelector(`[data-figure="${had}"]`)?.focus();
  }

  function drawMain(at) {
    const one = chosen();
    if (main?.id !== one.id) {
      main?.chart.destroy();
      main = {id: one.id, chart: chart({label: one.name, name: "series", page, group, height: "tall", format: pointsText(one).short, full: pointsText(one).full, top: one.top, onZoom: zoom})};
      fill(series, main.chart.node);
    }
    const lines = [{name: one.name, values: past(one.points(data.points), at)}];
    if (data.previous_points) {
      const {from, to} = data.compare;
      lines.push({name: `before, ${calmSpan({from: Date.parse(from), to: Date.parse(to)}, page.zone)}`, values: beside(one.points(data.previous_points), at), dashed: true, colour: 3, part: partBefore(data),
        times: at.map((ms) => (data.by === "month" ? addMonths(Date.parse(from), monthsBetween(at[0], ms)) : Date.parse(from) + ms - at[0]))});
    }
    main.chart.set({at, by: data.by, now: page.now(), series: lines});
  }

  function draw() {
    const at = times(data.points);
    drawTiles(at);
    drawMain(at);
    classes.set({at, by: data.by, now: page.now(), series: STATUSES.map((one) => ({name: one.name, values: past(rates(data.points[one.points], data.points.RequestsServed), at), colour: one.colour}))});
    sources.set({at, by: data.by, now: page.now(), series: [
      {name: "from cache", values: past(data.points.BandwidthCached, at), colour: 1},
      {name: "not from cache", values: past(notFromCache(data.points), at), colour: 2}]});
    const text = Number(data.totals.TotalRequestsServed) || !options.hint ? "" : options.hint(data);
    hint.hidden = !text;
    hint.textContent = text;
    options.f?.(data);
    reason.update();
  }

  /* What the clock has moved on is another question: what was shown is not its answer. */
  function moving() {
    const next = question(), text = JSON.stringify(next);
    if (text !== shown) {
      shown = text;
      data = null;
      node.setAttribute("aria-busy", "true");
    }
    return next;
  }

  function load() {
    asking?.abort();
    asking = new AbortController();
    page.signal.addEventListener("abort", () => asking.abort(), {signal: asking.signal});
    page.poll("/insights", {query: moving, seconds: 30, signal: asking.signal}, (answer) => {
      node.removeAttribute("aria-busy");
      if (page.failed(answer)) return node.classList.toggle("old", !data); // what stands there is of another time
      node.classList.remove("old");
      data = answer.data;
      draw();
    });
  }

  function update() {
    if (JSON.stringify(question()) !== shown) load();
    else if (data) draw();
  }
  return {node, update};
}

/** Columns of traffic that tables of zones and regions share; errors as a part of the requests. Their ids are the API's orders. */
export function trafficColumns(ids) {
  return FIGURES.filter((one) => ids.includes(one.total)).map((one) => (one.isError ? {id: `${one.total}.rate`, name: `${one.name.replace("Errors ", "")}, of requests`, kind: "number",
    value: (row) => rate(row[one.total], row.TotalRequestsServed), cell: (row) => (Number(row.TotalRequestsServed) ? figure(one.total, row[one.total], tileText(one, row).text, tileText(one, row).full) : NOTHING)} : {id: one.total, name: one.name, kind: "number", field: one.total,
    value: (row) => row[one.total], cell: (row) => one.short(row[one.total]), title: (row) => one.full(row[one.total])}));
}

/** The page writes "-field" for the largest first; the API's order is that without a "-". Without a comparison nothing changed. */
export function serverSort(text, {compare}) {
  const usual = "-TotalRequestsServed", sort = text && !(compare === "none" && text.endsWith(".change")) ? text : usual;
  const descending = sort.startsWith("-"), field = sort.replace(/^-/, "");
  return descending === (field === "name") ? `-${field}` : field;
}

/** How a figure of a row changed against the time before; total: which figure; to(row, members): where its reason is shown. */
export function changeColumn(total, to = null) {
  const one = FIGURES.find((figure) => figure.total === total);
  const shown = (row, text) => (to ? el("a", {class: "delta", href: to(row, {why: one.id}), "aria-label": `${text}: why did ${row.name} change?`}, text) : text);
  return {id: `${total}.change`, name: "Change", kind: "number",
    value: (row) => (!row.previous ? null : Number(row.previous[total]) ? Number(row[total]) / Number(row.previous[total]) - 1 : Number(row[total]) ? Infinity : null),
    cell: (row) => (row.previous && (Number(row[total]) || Number(row.previous[total])) ? shown(row, changeText(one, row, row.previous).text) : NOTHING),
    title: (row) => (row.previous ? `before: ${one.full(row.previous[total])}` : null)};
}

export const sparkColumn = (page) => ({id: "spark", name: "Over time", sort: false, csv: false, wideOnly: true, value: () => "",
  cell: (row) => sparkline(sparkUntilNow(row.spark ?? [], page.range(), page.now()), {label: `Requests of ${row.name} over this time`})});

