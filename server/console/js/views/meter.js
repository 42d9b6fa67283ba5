/* One meter: its usage over time, by resource or by a dimension. */

import {chart} from "../chart.js";
import {pageHead} from "../controls.js";
import {el, fill} from "../dom.js";
import {compact, number} from "../format.js";
import {beginnings, exactText, measure, monthText, seriesOf, shown} from "../meters.js";
import {write, zoomTo} from "../range.js";
import {table} from "../table.js";
import {counted, finished} from "../traffic.js";

const SAYS = {counter: "Values of an hour add up.", gauge: "A value holds until the next one; shown is the mean.", sample: "Sums over intervals; shown is the mean rate."};

export function show(page) {
  const id = page.params.id, path = `/meters/${encodeURIComponent(id)}/usage`;
  const title = el("span", {}, id), note = el("p", {class: "soft"}), ways = el("div", {class: "segments", role: "group", "aria-label": "Split by"}), body = el("div", {class: "view"});
  page.root.append(pageHead(page, title, {range: true, compare: () => false, above: el("a", {href: page.href("/meters")}, "Meters /")}), note, ways, body);
  page.root.dataset.meter = id;
  let meter = null, drawn = null, rows = null, asked = "";
  const by = () => (["resource", ...meter.dimensions ?? []].includes(page.query.get("split")) ? page.query.get("split") : "");
  const first = (ms) => new Date(ms).toISOString().slice(0, 19) + "Z";

  function begin() {
    title.textContent = meter.name;
    page.title(meter.name);
    drawn = chart({label: `${meter.name}, ${measure(meter).name}`, name: "meter", page, kind: "stack", format: compact, full: (value) => `${number(Number(Number(value).toPrecision(12)))} ${measure(meter).name}`,
      onZoom: (from, to) => page.set(write({...zoomTo(page.range(), from, to), compare: page.range().compare}))});
    rows = table({label: "Usage", name: `meter-${id}`, key: "used-", page, sort: "-value", empty: "No usage in this time.", columns: [
      {id: "key", name: "Part", kind: "text", value: (row) => row.key || (by() ? "none" : "total")},
      {id: "value", name: "Used", kind: "decimal", field: "value", value: (row) => row.sum, cell: (row) => sumText(row.sum), title: (row) => exactText(meter.kind === "sample" ? {...meter, kind: "counter"} : meter, row.sum)},
    ], rowData: (row) => ({group: row.key})});
    fill(body, el("section", {class: "panel"}, drawn.node), el("section", {class: "panel"}, rows.node));
  }

  /* Over the range on screen. */
  function sumText(value) {
    const {from, to} = page.range();
    return shown(meter, measure(meter).of(value, (Math.min(to, page.now()) - from) / 1000));
  }

  function update() {
    if (!meter) return;
    const range = page.range(), query = {account: page.account, from: first(range.from), to: first(range.to), window: range.by.toUpperCase(), groupBy: by() || null};
    fill(ways, [["", "Total"], ["resource", `By ${meter.resource.replaceAll("_", " ")}`], ...(meter.dimensions ?? []).map((one) => [one, `By ${one.replaceAll("_", " ")}`])].map(([name, text]) => el("button",
      {type: "button", data: {split: name}, "aria-pressed": String(name === by()), onclick: () => page.set({split: name || null}, {replace: true})}, text)));
    const mine = asked = JSON.stringify(query);
    /* Samples over a month are a percentile: days add up instead. */
    const window = meter.kind === "sample" && query.window === "MONTH" ? "DAY" : query.window;
    page.get(path, {exact: true, query: {...query, window}}).then((answer) => {
      if (asked !== mine || page.failed(answer)) return;
      const at = beginnings(range.from, range.to, window.toLowerCase());
      const made = seriesOf(meter, answer.data.data.map((row) => ({...row, value: String(row.value)})), {at, by: by(), name: meter.name, until: page.now()});
      drawn.set({at, by: window.toLowerCase(), now: page.now(), series: made.series.map((one) => ({...one, values: counted(one.values, finished(at, window.toLowerCase(), page.now()))}))});
      rows.set(made.rows);
    });
  }

  /* The month that the range ends in. */
  function monthNote() {
    const last = new Date(Math.min(page.range().to - 1, page.now())), start = Date.UTC(last.getUTCFullYear(), last.getUTCMonth(), 1), end = Date.UTC(last.getUTCFullYear(), last.getUTCMonth() + 1, 1);
    page.get(path, {exact: true, query: {account: page.account, from: first(start), to: first(end), window: "MONTH"}}).then((answer) => {
      if (!answer.ok) return;
      const [row] = answer.data.data;
      fill(note, `${SAYS[meter.kind] ?? ""} ${row ? `${first(start).slice(0, 7)}${page.now() < end ? " so far" : ""}: ${monthText(meter, String(row.value), {start, end})}${meter.kind === "sample" ? " at the 95th percentile" : ""}.` : ""}`);
    });
  }

  page.poll("/meters", {seconds: 120, query: {account: page.account}}, (answer) => {
    if (page.failed(answer)) return;
    meter = answer.data.meters.find((one) => one.meter === id) ?? null;
    if (!meter) return void fill(body, el("p", {class: "empty"}, "There is no such meter. ", el("a", {href: page.href("/meters")}, "All meters")));
    if (!drawn) begin();
    update();
    monthNote();
  });
  return {update() {
    update();
    if (meter) monthNote();
  }};
}
