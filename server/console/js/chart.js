/* Charts over time, drawn by dygraphs (the global Dygraph), with our own legend.
 *
 *   const c = chart({label: "Requests", group: "overview", page, format: compact, full: number,
 *                    onZoom(from, to) {...}});
 *   root.append(c.node);
 *   c.set({at: [ms, ...], by: "day", series: [{name: "Requests", values: [...]}]});
 *
 * Options: kind "line" (default), "stack", "bars", "columns", "histogram" (columns side by side, stacked) or "band"; height "tall"; format for the axis, full for the
 * legend and the table; group: charts of one group share the pointer's place; top: the least top of
 * the axis (100 for percentages).
 * A series: {name, values, colour: 1..6, field, dashed: true, quiet: true, low: [...], high: [...], part: [row, words]}.
 * times: the series' own moments, of a time before: its dates and the change are in the tooltip.
 * part: this row's value is of a part of its bucket, and which one.
 * "columns" stacks its series, but for one with `frame: true`, which is drawn as a frame from 0 to its value with a line from low to
 * high. values may hold null: a gap. "band" draws low to high around values. marks in set(): [{at, label}]
 * draws a line at an instant. now in set(): the clock; the bucket that it stands in is drawn dashed and named "so
 * far", for dashed series not at all, and what is behind it is not drawn. xFormat and xTicks in the options make the axis something else than time.
 * onPick(name): a click on a series' part of a column, or on its key in the legend, chooses it; picked(name): whether it is.
 * Dragging zooms, arrow keys walk, a button opens the numbers as a table.
 * One set() is one drawing: node.dataset.draws counts them. */

import {colour, el, fill, svg} from "./dom.js";
import {bucket, change, compact, number, NOTHING} from "./format.js";
import {niceTop, timeTicks, valueTicks} from "./ticks.js";
import {table} from "./table.js";
import {bucketEnd, finished, stretches} from "./traffic.js";

const groups = new Map();
const live = new Set();
let prepared = false;

/* The library's own legend, annotations and range selector write inline styles and a data: image,
 * which the page's policy forbids: they are left out. */
function prepare() {
  if (prepared) return;
  prepared = true;
  const {Axes, Grid} = window.Dygraph.Plugins;
  window.Dygraph.PLUGINS = [Axes, Grid];
  window.addEventListener("themechange", () => live.forEach((one) => one.repaint()));
  window.matchMedia("print").addEventListener("change", () => live.forEach((one) => one.shrink()));
}

/* Bars side by side, one of each series at an instant. Called once a series; the first draws all. */
function drawBars(e) {
  if (e.seriesIndex !== 0) return;
  const {drawingContext: context, plotArea: area, allSeriesPoints: all} = e;
  const points = all[0], bottom = e.dygraph.toDomYCoord(0);
  const room = points.length > 1 ? Math.min(...points.slice(1).map((point, n) => point.canvasx - points[n].canvasx)) : area.w / 2;
  const width = Math.max(1, Math.min(36, Math.floor(room * 0.72 / all.length)));
  const colours = e.dygraph.getColors();
  all.forEach((series, n) => {
    context.fillStyle = colours[n];
    for (const point of series) {
      if (Number.isNaN(point.canvasy)) continue;
      context.fillRect(point.canvasx + (n - all.length / 2) * width, point.canvasy, width - 1, bottom - point.canvasy);
    }
  });
}

/* Columns: series on each other, and frames around them; of a histogram side by side, the last series at the bottom. series: those
 * that are seen. */
function drawColumns(e, series, isHistogram) {
  if (e.seriesIndex !== 0) return;
  const {drawingContext: context, plotArea: area, allSeriesPoints: all, dygraph} = e;
  const points = all[0], colours = dygraph.getColors(), y = (value) => dygraph.toDomYCoord(value);
  const room = points.length > 1 ? Math.min(...points.slice(1).map((point, n) => point.canvasx - points[n].canvasx)) : area.w / 4;
  const width = isHistogram ? room - (room > 4 ? 1 : 0) : Math.max(3, Math.min(44, Math.floor(room * 0.66)));
  const order = isHistogram ? [...all.keys()].reverse() : [...all.keys()];
  points.forEach(({canvasx}, at) => {
    let sum = 0;
    const left = Math.round(canvasx - width / 2);
    order.forEach((n) => {
      const value = all[n][at].yval, {frame, low, high} = series[n];
      if (value === null || Number.isNaN(value)) return;
      context.fillStyle = context.strokeStyle = colours[n];
      if (!frame) {
        context.fillRect(left, y(sum + value), width, y(sum) - y(sum + value));
        sum += value;
        return;
      }
      context.save();
      context.lineWidth = 1.5;
      context.setLineDash([3, 3]);
      context.strokeRect(left + 0.75, y(value), width - 1.5, y(0) - y(value));
      context.setLineDash([]);
      if (low && high) {
        context.beginPath();
        context.moveTo(canvasx, y(Number(low[at])));
        context.lineTo(canvasx, y(Number(high[at])));
        for (const end of [low[at], high[at]]) {
          context.moveTo(canvasx - width / 5, y(Number(end)));
          context.lineTo(canvasx + width / 5, y(Number(end)));
        }
        context.stroke();
      }
      context.restore();
    });
  });
}

/* A plotter of the library that sees the finished buckets alone. */
const whole = (plot, limit) => (e) => plot(limit === null ? e
  : {...e, points: e.points.slice(0, limit), allSeriesPoints: e.allSeriesPoints.map((points) => points.slice(0, limit))});

/* From the last finished bucket to what is counted so far. */
function drawOpen(e, limit) {
  const [a, b] = [e.points[limit - 1], e.points[limit]], context = e.drawingContext;
  if (!b || Number.isNaN(a.canvasy) || Number.isNaN(b.canvasy)) return;
  context.save();
  context.strokeStyle = e.color;
  context.lineWidth = 1.25;
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(a.canvasx, a.canvasy);
  context.lineTo(b.canvasx, b.canvasy);
  context.stroke();
  context.restore();
}

/* An axis's "20.0 M" is "20 M". */
const shorter = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

const PALETTE = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6"];
const paint = (series, at) => PALETTE[((series.colour ?? at + 1) - 1) % PALETTE.length];

export function chart(options) {
  const {label, group, page, kind = "line"} = options;
  const format = options.format ?? compact, full = options.full ?? number;
  let data = null, graph = null, row = -1, numbers = null, width = 0;
  const hidden = new Set();

  const legend = el("div", {class: "legend"});
  const tip = el("div", {class: "tip", hidden: true, "aria-hidden": "true"}); // what is read out is in `spoken`
  const canvas = el("div", {class: "canvas"});
  const rule = el("div", {class: "rule", hidden: true});
  const drag = el("div", {class: "drag", hidden: true});
  const stage = el("div", {class: `stage ${options.height ?? ""}`, role: "img", tabindex: "0", "aria-label": label}, canvas, rule, drag, tip);
  const around = el("div", {class: "around"}, stage); // what can be used beside the picture stands here
  const toggle = el("button", {type: "button", class: "quiet", "aria-expanded": "false", onclick: showTable}, "Table");
  const place = el("div", {class: "chart-table", hidden: true});
  const node = el("figure", {class: "chart", data: {chart: options.name ?? label, draws: "0"}},
    el("figcaption", {}, el("span", {class: "chart-head"}, el("span", {class: "chart-title"}, label), legend), toggle), around, place);

  const zone = () => page?.zone ?? "UTC";
  const isOpen = (ms) => Boolean(data.now) && ms < data.now && data.now < bucketEnd(ms, data.by);
  const nameOf = (ms) => (options.xFormat ? options.xFormat(ms) : `${bucket(ms, data.by, zone())}${isOpen(ms) ? ", so far" : ""}`);
  const visible = () => data.series.map((series) => !hidden.has(series.name));

  function showLegend() {
    const had = [...legend.children].indexOf(document.activeElement);
    fill(legend, data.series.map((series, n) => (options.onPick
      ? el("button", {type: "button", class: "key", "aria-pressed": String(options.picked(series.name)), data: {picks: series.name}, title: `Only ${series.name}, or again all`,
        onclick: () => options.onPick(series.name)}, swatch(series, n), series.name)
      : el("button", {type: "button", class: "key", "aria-pressed": String(!hidden.has(series.name)),
        disabled: data.series.length < 2, title: data.series.length < 2 ? null : `Show or hide ${series.name}`,
        onclick: () => flip(series.name)}, swatch(series, n), series.name))));
    legend.children[had]?.focus({preventScroll: true});
  }

  const swatch = (series, n) => el("span", {class: series.dashed ? "swatch dashed" : "swatch", style: {"--swatch": `var(${paint(series, n)})`}});

  /* A rule through all charts of the group; the numbers at the pointer in the chart that is read, on the side that has room. */
  function showTip(isRead) {
    rule.hidden = row < 0 || row >= data.at.length;
    tip.hidden = rule.hidden || !isRead;
    if (rule.hidden) return;
    const x = graph.toDomXCoord(data.at[row]);
    rule.style.left = `${x}px`;
    if (tip.hidden) return;
    const onLeft = x > stage.clientWidth / 2;
    const other = data.series.find((series) => series.times && !hidden.has(series.name));
    fill(tip, el("div", {class: "when"}, nameOf(data.at[row])), data.series.map((series, n) => (hidden.has(series.name) ? null
      : el("div", {class: "row"}, swatch(series, n), el("span", {}, series.times ? bucket(series.times[row], data.by, zone()) : series.name), el("b", {}, said(series, row))))),
    other ? el("div", {class: "row"}, el("span"), el("span", {}, "Change"), el("b", {}, change(data.series[0].values[row], other.values[row]).text)) : null);
    tip.style.left = onLeft ? "" : `${x + 12}px`;
    tip.style.right = onLeft ? `${stage.clientWidth - x + 12}px` : "";
  }

  function said(series, at) {
    const value = series.values[at];
    const text = value === null || value === undefined ? NOTHING : full(value);
    if (series.part?.[0] === at && text !== NOTHING) return `${text} ${series.part[1]}`;
    return series.low && series.low[at] !== series.high[at] ? `${text} (${full(series.low[at])} to ${full(series.high[at])})` : text;
  }

  function flip(name) {
    if (hidden.has(name)) hidden.delete(name);
    else hidden.add(name);
    draw();
  }

  function select(at, isOwn, isRead = true) {
    if (at === row || !graph) return;
    row = at;
    if (at < 0) graph.clearSelection();
    else if (!isOwn) graph.setSelection(at);
    showTip(isRead);
  }

  function share(at) {
    for (const other of groups.get(group) ?? []) if (other.select !== select) other.select(at, false, false);
  }

  const triple = kind === "band", isColumns = kind === "columns" || kind === "histogram";
  function file() {
    return data.at.map((at, n) => [at, ...data.series.map((series) => {
      const value = series.values[n];
      const known = value === null || value === undefined ? null : Number(value);
      if (!triple) return known;
      return known === null ? [null, null, null] : [Number(series.low?.[n] ?? known), known, Number(series.high?.[n] ?? known)];
    })]);
  }

  function top() {
    let most = 0;
    const seen = data.series.filter((series) => !hidden.has(series.name));
    for (let n = 0; n < data.at.length; n++) {
      let sum = 0;
      for (const series of seen) {
        const value = Number(series.high?.[n] ?? series.values[n] ?? 0);
        if (series.frame) most = Math.max(most, value);
        else sum = kind === "stack" || isColumns ? sum + value : Math.max(sum, value);
      }
      most = Math.max(most, sum);
    }
    const least = data.top ?? options.top ?? 0;
    return most > 0 || least > 0 ? Math.max(niceTop(Math.max(most, least)), options.top ?? 0) : 0;
  }

  const span = () => {
    const at = data.at, last = at[at.length - 1];
    const step = at.length > 1 ? at[1] - at[0] : 3600000;
    if (kind === "bars" || kind === "columns") return [at[0] - step * 0.55, last + step * 0.55];
    if (kind === "histogram") return [at[0] - step / 2, last + step / 2];
    return at.length > 1 ? [at[0], last] : [at[0] - step, last + step];
  };

  /* How many buckets are drawn as finished; null: all. */
  function limit() {
    const done = data.now ? finished(data.at, data.by, data.now) : 0;
    return done > 0 && done < data.at.length ? done : null;
  }

  function plotters() {
    if (kind === "bars") return {plotter: drawBars};
    if (isColumns) return {plotter: (e) => drawColumns(e, data.series.filter((series) => !hidden.has(series.name)), kind === "histogram")};
    if (kind === "band") return {};
    const {fillPlotter, linePlotter} = window.Dygraph.Plotters, end = limit();
    const isDashed = (e) => Boolean(data.series.find((series) => series.name === e.setName)?.dashed);
    const line = whole(linePlotter, end);
    return {plotter: [whole(fillPlotter, end), (e) => {
      line(e);
      if (end !== null && !isDashed(e)) drawOpen(e, end);
    }]};
  }

  function settings() {
    const soft = colour("--soft");
    const most = top(), high = most || 1; // of nothing the axis has its 0 alone
    return {
      file: file(), labels: ["at", ...data.series.map((series) => series.name)], visibility: visible(),
      colors: data.series.map((series, n) => colour(paint(series, n))), dateWindow: span(), valueRange: [0, high * 1.0001],
      stackedGraph: kind === "stack", customBars: triple, fillGraph: kind === "stack" || (kind === "line" && data.series.filter((s) => !s.dashed).length === 1),
      fillAlpha: kind === "stack" ? 0.55 : kind === "band" ? 0.2 : 0.1, strokeWidth: 1.75, drawPoints: data.at.length < 3, pointSize: 2.5, highlightCircleSize: isColumns ? 0 : 3.5,
      connectSeparatedPoints: false, axisLineColor: colour("--line"), gridLineColor: colour("--line"), gridLineWidth: 1, axisLabelFontSize: 12,
      xRangePad: 0, rightGap: 8, axisTickSize: 4, xAxisHeight: 26,
      series: Object.fromEntries(data.series.map((series) => [series.name, series.dashed
        ? {strokePattern: [5, 4], strokeWidth: 1.25, fillGraph: false} : series.quiet ? {strokeWidth: 1} : {}])),
      axes: {
        x: {drawGrid: false, axisLabelColor: soft, ticker: (a, b, pixels) => (options.xTicks ?? timeTicks)(a, b, Math.max(2, Math.floor(pixels / 68)), data.by, zone())},
        y: {axisLabelWidth: 60, axisLabelColor: soft, ticker: (a, b, pixels) => (most ? valueTicks(0, high, Math.max(2, Math.min(5, Math.floor(pixels / 36))), (v) => (v === 0 ? "0" : shorter(format(v)))) : [{v: 0, label: "0"}])},
      },
      underlayCallback: underlay, ...plotters(),
    };
  }

  function underlay(context, area, g) {
    for (const mark of data?.marks ?? []) {
      const x = g.toDomXCoord(mark.at);
      context.strokeStyle = colour("--accent-2");
      context.fillStyle = colour("--accent-2");
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(x, area.y);
      context.lineTo(x, area.y + area.h);
      context.stroke();
      context.font = "12px system-ui, sans-serif";
      const before = x > area.x + area.w * 0.6;
      context.textAlign = before ? "right" : "left";
      context.fillText(mark.label ?? "", before ? x - 5 : x + 5, area.y + 12);
    }
  }

  function draw() {
    if (!node.isConnected) return; // drawn by the ResizeObserver once it is on the page
    showLegend();
    tip.hidden = rule.hidden = true;
    summary();
    if (!data.at.length || !data.series.length) return;
    prepare();
    width = stage.clientWidth;
    if (graph) {
      graph.updateOptions(settings());
      return;
    }
    const all = {...settings(), interactionModel: {}, legend: "never", animatedZooms: false, pixelRatio: undefined,
      drawCallback: () => {
        node.dataset.draws = String(Number(node.dataset.draws) + 1);
        options.drawn?.();
      },
      highlightCallback: (event, x, points, at) => { select(at, true); share(at); },
      unhighlightCallback: () => { select(-1, true); share(-1); }};
    const rows = all.file;
    delete all.file;
    graph = new window.Dygraph(canvas, rows, all);
  }

  function summary() {
    const parts = data.series.map((series) => {
      const known = series.values.filter((value) => value !== null && value !== undefined).map(Number);
      return known.length ? `${series.name} from ${full(Math.min(...known))} to ${full(Math.max(...known))}` : `${series.name}: nothing`;
    });
    stage.setAttribute("aria-label", data.at.length ? `${label}, ${nameOf(data.at[0])} to ${nameOf(data.at[data.at.length - 1])}: ${parts.join("; ")}. `
      + "Arrow keys read single values; the Table button has them all." : `${label}: nothing in this time.`);
    stage.classList.toggle("bare", !data.at.length);
  }

  function showTable() {
    const open = place.hidden;
    place.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    if (open) fillTable();
  }

  let tableOf = "";
  function fillTable() {
    const rows = data.at.map((_, n) => n), of = JSON.stringify([data.by, zone(), data.series.map((series) => series.name)]);
    if (of === tableOf) return numbers.set(rows); // sorted and scrolled as it was
    tableOf = of;
    const columns = [{id: "at", name: options.xName ?? (data.by === "hour" ? `Hour (${zone()})` : data.by === "minute" || data.by === "second" ? `Time (${zone()})` : "Date (UTC)"), kind: options.xFormat ? "number" : "text",
      value: (n) => (options.xFormat ? data.at[n] : new Date(data.at[n]).toISOString()), cell: (n) => nameOf(data.at[n])},
    ...data.series.map((series, at) => ({id: `s${at}`, name: series.name, kind: "number", value: (n) => data.series[at].values[n], cell: (n) => said(data.series[at], n)}))];
    numbers = table({label: `${label}, numbers`, name: (options.name ?? label).toLowerCase().replace(/\W+/g, "-"), columns, rows, search: false});
    fill(place, numbers.node);
  }

  /* --- pointer and keys --- */

  /* The last series is at the bottom. */
  function pick(event) {
    const value = graph.toDataYCoord(event.clientY - canvas.getBoundingClientRect().top), at = graph.toDataXCoord(x(event));
    const step = data.at.length > 1 ? data.at[1] - data.at[0] : Infinity, n = data.at.findIndex((ms) => Math.abs(at - ms) <= step / 2);
    let sum = 0;
    const found = n < 0 ? null : [...data.series].reverse().find((series) => (sum += Number(series.values[n] ?? 0)) >= value && value >= 0);
    if (found) options.onPick(found.name);
  }

  let from = null;
  const x = (event) => Math.max(0, Math.min(event.clientX - canvas.getBoundingClientRect().left, canvas.clientWidth));
  if (options.onZoom) {
    stage.classList.add("zooms");
    stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch" || !graph) return;
      from = x(event);
      stage.setPointerCapture(event.pointerId);
    });
    stage.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = x(event);
      drag.hidden = Math.abs(to - from) < 6;
      drag.style.left = `${Math.min(from, to)}px`;
      drag.style.width = `${Math.abs(to - from)}px`;
    });
    const end = (event) => {
      if (from === null) return;
      const to = x(event), start = from;
      from = null;
      drag.hidden = true;
      if (event.type === "pointerup" && Math.abs(to - start) < 6 && options.onPick) pick(event);
      if (event.type === "pointerup" && Math.abs(to - start) >= 6) options.onZoom(graph.toDataXCoord(Math.min(start, to)), graph.toDataXCoord(Math.max(start, to)));
    };
    stage.addEventListener("pointerup", end);
    stage.addEventListener("pointercancel", end);
  }
  stage.addEventListener("keydown", (event) => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    const to = by ? Math.max(0, Math.min(data.at.length - 1, (row < 0 ? (by > 0 ? -1 : data.at.length) : row) + by))
      : event.key === "Home" ? 0 : event.key === "End" ? data.at.length - 1 : event.key === "Escape" ? -1 : null;
    if (to === null || !data) return;
    event.preventDefault();
    select(to, false);
    share(to);
    spoken.textContent = to < 0 ? "" : `${nameOf(data.at[to])}: ${data.series.map((series) => `${series.name} ${said(series, to)}`).join(", ")}`;
  });
  const spoken = el("span", {class: "sr-only", "aria-live": "polite"});
  node.append(spoken);

  const observer = new ResizeObserver(() => {
    if (!data || !stage.clientWidth) return;
    if (!graph) draw();
    else if (stage.clientWidth !== width) {
      width = stage.clientWidth;
      graph.resize();
    }
  });
  observer.observe(stage);

  const self = {
    node, select, around, stage,
    /* Of the value axis: pixels from the stage's top, and back; null before it is drawn. */
    y: (value) => (graph ? graph.toDomYCoord(value) : null),
    valueAt: (y) => (graph ? graph.toDataYCoord(y) : null),
    get top() { return graph ? graph.yAxisRange()[1] / 1.0001 : 0; },
    /* On paper, where nothing is drawn anew: what was drawn for the screen, as wide as the panel is now. */
    shrink() { canvas.style.transform = graph && stage.clientWidth && stage.clientWidth < width ? `scale(${stage.clientWidth / width})` : ""; },
    repaint() { if (graph) draw(); },
    set(next) {
      const read = data && next.at.length === data.at.length && next.at[row] === data.at[row] ? row : -1;
      data = {marks: [], by: "day", ...next};
      row = -1;
      draw();
      if (read >= 0) select(read, false); // who reads it point by point stays where he is
      if (!place.hidden) fillTable();
    },
    destroy() {
      observer.disconnect();
      graph?.destroy();
      graph = null;
      live.delete(self);
      groups.get(group)?.delete(self);
    },
  };
  live.add(self);
  if (group) groups.set(group, (groups.get(group) ?? new Set()).add(self));
  page?.signal?.addEventListener("abort", self.destroy);
  return self;
}

/** A line the size of a word; its numbers are in the row beside it. null is a gap. */
export function sparkline(values, options = {}) {
  const {width = 96, height = 24, label = "over time"} = options;
  const numbers = values.map((value) => Number(value ?? 0));
  const most = Math.max(1e-9, ...numbers), step = values.length > 1 ? (width - 2) / (values.length - 1) : 0;
  const x = (at) => (1 + at * step).toFixed(1);
  const points = numbers.map((value, at) => `${x(at)},${(height - 1.5 - (height - 3) * value / most).toFixed(1)}`);
  const drawn = (first, end) => {
    const line = points.slice(first, end).join(" ");
    return [svg("polygon", {points: `${x(first)},${height} ${line} ${x(end - 1)},${height}`}), svg("polyline", {points: end - first > 1 ? line : `${line} ${line}`})];
  };
  return svg("svg", {class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, preserveAspectRatio: "none", role: "img", "aria-label": label},
    values.length > 1 ? stretches(values).flatMap(([first, end]) => drawn(first, end)) : []);
}
