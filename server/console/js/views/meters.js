/* All meters with the running month's quantity and money. */

import {pageHead} from "../controls.js";
import {el} from "../dom.js";
import {money, month, NOTHING} from "../format.js";
import {exactText, monthText} from "../meters.js";
import {inCurrency} from "../money.js";
import {monthSpans, ask as why} from "../why.js";
import {table} from "../table.js";

const KINDS = {counter: "counted", gauge: "held", sample: "sampled"};

export function show(page) {
  const hasMoney = page.offers("billing") && page.account;
  const used = new Map(), charges = new Map(), span = monthSpans(new Date(page.now()).toISOString().slice(0, 7));
  let meters = null, currency = "";
  const t = table({label: "Meters", name: "meters", page, sort: "name", rowData: (row) => ({meter: row.meter}), file: inCurrency(() => currency),
    empty: page.session.account === null ? "No meter yet. Declare what is counted in the catalogue's `meters`: tollbook apply --db FILE catalog.json" : "Nothing is counted beside traffic.",
    columns: [
      {id: "name", name: "Meter", kind: "text", value: (row) => row.name, title: (row) => row.meter, cell: (row) => el("a", {href: page.href(`/meters/${row.meter}`)}, row.name)},
      {id: "kind", name: "Kind", kind: "text", wideOnly: true, value: (row) => KINDS[row.kind] ?? row.kind},
      {id: "resource", name: "Of each", kind: "text", wideOnly: true, value: (row) => row.resource.replaceAll("_", " ")},
      {id: "value", name: `Used in ${month(span.from)}`, kind: "decimal", field: "value", value: (row) => used.get(row.meter) ?? "",
        cell: (row) => (used.has(row.meter) ? monthText(row, used.get(row.meter), {start: span.from, end: span.to}) : NOTHING), title: (row) => (used.has(row.meter) ? exactText(row, used.get(row.meter)) : null)},
      ...(hasMoney ? [{id: "charges", name: "Charges so far", kind: "decimal", field: "charges", value: (row) => charges.get(row.meter) ?? "",
        cell: (row) => (charges.has(row.meter) ? money(charges.get(row.meter), currency) : NOTHING)}] : []),
    ]});
  page.root.append(pageHead(page, "Meters", {account: true}), el("section", {class: "panel"}, t.node));
  const draw = () => t.set(meters);
  const first = (ms) => new Date(ms).toISOString().slice(0, 10);

  page.poll("/meters", {seconds: 120, query: {account: page.account}}, (answer) => {
    if (page.failed(answer)) return;
    meters = answer.data.meters;
    draw();
    for (const one of meters) page.get(`/meters/${encodeURIComponent(one.meter)}/usage`, {exact: true, query: {account: page.account, from: first(span.from), to: first(span.to), window: "MONTH"}}).then((usage) => {
      if (page.failed(usage)) return;
      if (usage.data.data.length) used.set(one.meter, String(usage.data.data[0].value));
      draw();
    });
  });
  if (hasMoney) page.poll("/insights/why", {seconds: 120, exact: true, query: {...why("charges", "product", span), account: page.account, top: 100}}, (answer) => {
    if (page.failed(answer)) return;
    currency = answer.data.currency ?? "";
    for (const part of answer.data.parts) if (part.key.startsWith("meter:")) charges.set(part.key.slice(6), part.value);
    draw();
  });
  return {update: draw};
}
