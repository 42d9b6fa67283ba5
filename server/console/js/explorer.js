/* What many lines come to: a histogram over time, totals, and the most frequent values of each kind. Request logs and
 * refused lines are looked through by it.
 *
 *   const e = explorer({page, label: "Requests over time", unit: "request", kinds, series(data), totals(data), pick, picked});
 *   e.set(data);   data: {stepSeconds, points: [{at, ...}], top: {kind: {exact, values: [{value, ...}]}}}
 *
 * kinds: [{id, name, filter, say(value), isList}]   filter: the member of the address that a click sets; isList: it holds
 *              several values, with commas between them
 * series(data) -> [{name, values, colour}]   the last one lies at the bottom
 * totals(data) -> [{id, name, value, text, title}]
 * pick(name), picked(name): as in chart.js
 * Dragging over the histogram asks for that time: from= and to= in the address, whole columns of it. */

import {chart} from "./chart.js";
import {el, figure, fill} from "./dom.js";
import {bytesFull, compact, count, number, percent, toMs} from "./format.js";

const WIDE = "(min-width: 70rem)";

/** What a click on a value makes of a filter: {filter: text}; null takes it away. Pure. */
export function clicked(kind, value, had) {
  const items = kind.isList ? (had ?? "").split(",").filter(Boolean) : [had ?? ""];
  return {[kind.filter]: items.includes(value) ? items.filter((one) => one !== value).join(",") || null : value};
}
export const isOn = (kind, value, had) => value !== "" && (kind.isList ? (had ?? "").split(",") : [had]).includes(value);

/** The whole columns that a stretch of the histogram touches, as moments of the address. Pure. */
export function columnsOf(points, stepSeconds, from, to) {
  const first = toMs(points[0].at), step = stepSeconds * 1000, last = points.length - 1;
  const column = (ms) => Math.max(0, Math.min(last, Math.floor((ms - first) / step + 0.5))); // a column is drawn around its moment
  const text = (ms) => new Date(ms).toISOString().replace(".000Z", "Z");
  return {from: text(first + column(from) * step), to: text(first + (column(to) + 1) * step)};
}

export function explorer({page, label, unit, kinds, series, totals, pick, picked, tools}) {
  let data = null;
  const tiles = el("div", {class: "tiles small", role: "group", "aria-label": "Totals"});
  const histogram = chart({label, name: "histogram", page, kind: "histogram", height: "short", format: compact, full: number, onPick: pick, picked,
    onZoom: (from, to) => page.set({...columnsOf(data.points, data.stepSeconds, from, to), last: null, range: null})});
  const lists = el("div", {class: "value-lists"});
  const wide = matchMedia(WIDE), side = el("details", {class: "values", open: wide.matches}, el("summary", {}, el("h2", {}, "Top values")), lists);
  wide.addEventListener("change", () => { side.open = wide.matches; }, {signal: page.signal});
  const drawn = el("section", {class: "panel", "aria-label": label}, tools ?? null, histogram.node), beside = el("section", {class: "panel", "aria-label": "Top values"}, side);
  const node = el("div", {class: "explorer"}, el("div", {class: "view"}, tiles, drawn), beside);

  function list(kind) {
    const {exact, missed, distinct, values} = data.top[kind.id], had = page.query.get(kind.filter);
    const all = data.points.reduce((sum, point) => sum + point[`${unit}s`], 0);
    const more = distinct > values.length ? `${number(distinct)} in all` : exact ? null : `each may be up to ${number(missed)} more`;
    return el("section", {class: "value-list", "aria-label": kind.name, data: {kind: kind.id}}, el("h3", {}, kind.name, more ? el("span", {class: "soft small"}, ` ${more}`) : null),
      values.map((row) => {
        const n = row[`${unit}s`], said = row.value === "" ? "none" : kind.say ? kind.say(row.value) : row.value;
        const title = `${row.value || "none"}: ${count(n, unit)}, ${percent(100 * n / all)}${row.bytes === undefined ? "" : `, ${bytesFull(row.bytes)}`}`;
        return el("button", {type: "button", class: "top-value", title, disabled: row.value === "", "aria-pressed": String(isOn(kind, row.value, had)), data: {value: row.value, count: String(n)},
          style: {"--share": `${100 * n / all}%`}, onclick: () => page.set(clicked(kind, row.value, page.query.get(kind.filter)))},
          el("span", {class: "what"}, said), el("span", {class: "many"}, compact(n)));
      }), values.length ? null : el("p", {class: "soft"}, "–"));
  }

  function draw() {
    const had = document.activeElement?.closest?.(".top-value"), kind = had?.closest(".value-list")?.dataset.kind;
    fill(tiles, totals(data).map((one) => el("div", {class: "tile"}, el("span", {class: "name"}, one.name),
      el("span", {class: "value"}, figure(one.id, one.value, one.text, one.title)))));
    histogram.set({at: data.points.map((point) => toMs(point.at)), by: data.stepSeconds < 60 ? "second" : data.stepSeconds < 3600 ? "minute" : "hour", series: series(data)});
    fill(lists, kinds.map(list));
    if (had) [...lists.querySelectorAll(`[data-kind="${kind}"] .top-value`)].find((one) => one.dataset.value === had.dataset.value)?.focus({preventScroll: true});
  }

  return {
    node,
    /** null: nothing is known. */
    set(next) {
      for (const part of [tiles, drawn, beside]) part.hidden = next === null;
      node.ariaBusy = null;
      data = next;
      if (data) draw();
    },
    wait() { node.ariaBusy = "true"; },
    redraw() { if (data) draw(); },
  };
}
