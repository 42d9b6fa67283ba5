/* An invoice as the customer has it, its files, and each line taken apart: tiers, days, hours. The line and the
 * day that are open stand in the address. */

import {chart} from "../chart.js";
import {linkButton, pageHead, panel} from "../controls.js";
import {announce, el, figure, fill} from "../dom.js";
import {bytes, bytesFull, count, day, duration, money, month, NOTHING, number, time, toMs} from "../format.js";
import {daysOf, everyDay, inCurrency, kindText, meteredUnits, priceText, regionText, resourceText, rounded, stateOf, sumText, withEnds, zoneOf} from "../money.js";
import {zoneNames} from "../names.js";
import {printsAs} from "../paper.js";
import {table} from "../table.js";
import {lineScope, monthSpans, whyButton, whyPanel} from "../why.js";

const isCompared = (invoice) => invoice?.kind === "invoice" && invoice.state !== "void"; // with the month before

const FORMS = {pdf: "PDF", ubl: "UBL", xrechnung: "XRechnung", csv: "CSV", focus: "FOCUS", json: "JSON"};

export function show(page) {
  const path = `/billing/invoices/${encodeURIComponent(page.params.number)}`;
  const {names, done} = zoneNames(page);
  const facts = el("dl", {class: "facts"});
  const files = el("p", {class: "segments"}), lacks = el("div", {});

  /* An electronic invoice may lack something: its button says what, and does nothing. */
  function drawForms(forms) {
    const rows = Object.entries(FORMS).map(([form, name]) => ({name, ...forms.find((one) => one.form === form)})), lacking = rows.filter((row) => row.lacks);
    fill(files, el("button", {type: "button", onclick: () => print()}, "Print"), rows.map(({form, name, file, lacks: lack}) => (lack
      ? el("button", {type: "button", disabled: true, title: lack, "aria-describedby": `lacks-${form}`}, name)
      : el("a", {class: "button", href: page.file(path, {format: form}), download: file}, name))),
      page.offers("proof") ? el("a", {class: "button", href: page.href("/check", {number: page.params.number})}, "Check") : null);
    fill(lacks, lacking.map((row) => el("p", {class: "help", id: `lacks-${row.form}`}, `No ${row.name}: ${row.lacks}`)));
  }

  const paper = el("iframe", {class: "paper", title: `Invoice ${page.params.number}`, sandbox: ""});
  const lines = table({label: "Lines of the invoice", title: "Lines", name: `${page.params.number}-lines`, key: "lines-", page, search: false, empty: "The invoice has no lines.",
    columns: lineColumns(page, names), file: inCurrency(), rowData: (row) => ({zone: zoneOf(row.resource)})});
  const opened = el("section", {class: "panel", hidden: true, "aria-label": "The line taken apart"});
  const reason = whyPanel(page, {spans: () => (isCompared(invoice) ? monthSpans(invoice.period.start.slice(0, 7)) : null), ids: ["charges"], scope(id) {
    const line = invoice?.lines.find((one) => String(one.line) === id), scope = line && lineScope(line);
    return scope ? {...scope, name: scope.zone ? names.get(scope.zone) ?? `Zone ${scope.zone}` : "Charges"} : null;
  }});
  const whole = el("div", {class: "view", hidden: true}, facts, files, lacks, reason.node, el("section", {class: "panel"}, lines.node), opened, panel("Document", paper));
  const missing = el("p", {class: "empty", hidden: true}, "There is no such invoice, or this key may not see it. ", el("a", {href: page.href("/billing")}, "All invoices"));
  page.root.append(pageHead(page, page.params.number, {above: el("a", {href: page.href("/billing")}, "Billing /"), beside: linkButton()}), missing, whole);

  const named = done.then(() => {
    if (lines.rows.length) lines.set(lines.rows);
    reason.update();
  });
  let invoice = null;
  const load = () => Promise.all([page.get(path, {exact: true, accept: "application/json"}), page.get("/billing/invoices", {exact: true}), page.get(`${path}/forms`)]).then(([answer, list, forms]) => {
    missing.hidden = answer.status !== 404;
    if (page.failed(answer) || page.failed(list) || page.failed(forms)) return;
    drawForms(forms.data.forms);
    invoice = answer.data;
    whole.hidden = false;
    if (!paper.src) {
      paper.src = page.file(path, {format: "html"});
      page.get(path, {query: {format: "html"}, accept: "text/html"}).then((html) => { if (html.ok) printsAs(html.data, page.signal); });
    }
    const listed = list.data.invoices.find((one) => one.number === invoice.number), state = listed ? stateOf(listed, page.now()) : invoice.state;
    const amount = (name, text, more) => [el("dt", {}, text), el("dd", {}, figure(name, invoice[name], money(invoice[name], invoice.currency)), more)];
    fill(facts, el("dt", {}, "State"), el("dd", {}, el("span", {class: state === "overdue" ? "chip warn" : "chip", data: {field: "state", value: state}}, state)), el("dt", {}, "Month"), el("dd", {}, month(toMs(invoice.period.start))),
      invoice.issued ? [el("dt", {}, "Issued"), el("dd", {}, day(invoice.issued))] : [], invoice.due ? [el("dt", {}, "Due"), el("dd", {}, day(invoice.due))] : [],
      amount("subtotal", "Without tax", isCompared(invoice) ? whyButton(page, "charges", "This invoice") : null), amount("total", "Total"), amount("payable", "To be paid when issued"),
      [["replaces", "Replaces"], ["replacedBy", "Replaced by"]].map(([name, text]) => (listed?.[name] ? [el("dt", {}, text),
        el("dd", {}, el("a", {href: page.href(`/billing/${listed[name]}`)}, listed[name]))] : [])),
      listed?.remaining ? [el("dt", {}, "Still to be paid"), el("dd", {}, figure("remaining", listed.remaining, money(listed.remaining, invoice.currency)))] : []);
    lines.set(invoice.lines.map((one) => ({...one, currency: invoice.currency, isCompared: isCompared(invoice)})));
    reason.update();
  });
  let loaded = load();

  let shown = "", parts = null, inSight = 0;
  function update() {
    const line = Number(page.query.get("line")) || 0, of = page.query.get("day") ?? "";
    const wanted = `${line} ${of} ${page.zone}`;
    reason.update();
    if (wanted === shown) return;
    shown = wanted;
    if (lines.rows.length) lines.set(lines.rows);
    if (!line) {
      opened.hidden = true;
      inSight = 0;
    }
    if (!line || missing.hidden === false) return;
    const isNew = line !== inSight;
    inSight = line;
    page.get(`${path}/lines/${line}/explain`, {query: {day: of || null}, exact: true}).then(async (answer) => {
      await Promise.all([named, loaded]);
      if (shown !== wanted) return;
      opened.hidden = !answer.ok && !answer.lost;
      if (page.failed(answer)) return;
      parts?.forEach((one) => one.destroy());
      parts = takeApart(page, opened, {...answer.data, currency: invoice?.currency ?? ""}, of, names);
      if (!isNew) return;
      const head = opened.querySelector("h2");
      opened.scrollIntoView({block: "start"});
      head.tabIndex = -1;
      head.focus({preventScroll: true});
      announce(`${head.textContent}: taken apart`);
    });
  }
  update();
  return {update, again() {
    loaded = load();
    shown = "";
    update();
  }};
}

const UNITS = {byte: {short: (value) => bytes(Number(value)), full: (value) => bytesFull(Number(value))},
  second: {short: duration, full: (value) => count(value, "second")}, request: {short: number, full: (value) => count(value, "request")}};
const units = (line) => meteredUnits(line) ?? UNITS[line.unit] ?? {short: number, full: number};

/* Draws the line's parts; returns its charts. */
function takeApart(page, root, explained, of, names) {
  const line = explained.line, unit = units(line), days = daysOf(explained), charts = [];
  const made = (options, drawn) => {
    const one = chart({page, format: unit.axis ?? unit.short, full: unit.full, ...options});
    one.set(drawn);
    charts.push(one);
    return one.node;
  };
  const marks = explained.crossings.map((one) => ({at: toMs(one.hour), label: `past ${unit.short(one.threshold)}`}));
  const tiers = table({label: "Tiers", title: "Tiers", heading: "h3", name: "tiers", key: "tiers-", page, search: false, columns: tierColumns(line, unit, explained.currency), file: inCurrency(() => explained.currency), empty: "A price without tiers."});
  tiers.set(withEnds(line.tiers));
  const children = [el("h2", {}, `Line ${line.line}: ${[kindText(line), resourceText(line.resource, names, (line.corrects ?? line).kind), regionText(line.region)].filter(Boolean).join(", ")}`),
    explained.note ? el("p", {class: "notice"}, explained.note) : null, explained.gone ? el("p", {class: "notice"}, explained.gone) : null,
    el("p", {class: "soft"}, sumText(explained, unit.full)),
    line.shares?.length ? zonesOf(page, line, unit, names, explained.currency) : null, tiers.node];
  if (days.length) {
    const rows = table({label: "Days", title: "Days", heading: "h3", name: "days", key: "days-", page, search: false, columns: dayColumns(page, unit), empty: "No day has usage."});
    rows.set(days);
    const drawn = everyDay(explained);
    const dayMarks = marks.map((one) => ({...one, at: Math.floor(one.at / 86400000) * 86400000}));
    children.push(made({label: "Usage by day", name: "days"}, {at: drawn.at, by: "day", series: [{name: "Usage", values: drawn.values}], marks: dayMarks}), rows.node);
  }
  if (explained.hours) {
    const hours = table({label: `Hours of ${day(of)}`, title: "Hours", heading: "h3", name: "hours", key: "hours-", page, search: false, columns: hourColumns(page, unit, explained), empty: "No hour has usage."});
    hours.set(explained.hours);
    children.push(el("h3", {}, day(of)), made({label: `Usage by hour of ${day(of)}`, name: "hours"}, {at: explained.hours.map((one) => toMs(one.hour)), by: "hour",
      series: [{name: "Usage", values: explained.hours.map((one) => Number(one.quantity))}], marks: marks.filter((_, n) => explained.crossings[n].hour.startsWith(of))}), hours.node);
  } else if (of && explained.sum !== null) children.push(el("p", {class: "notice"}, "The hours of this day are no longer kept."));
  fill(root, children);
  return charts;
}

function lineColumns(page, names) {
  const open = (row) => String(row.line) === page.query.get("line");
  return [
    {id: "line", name: "Line", kind: "number", wideOnly: true, value: (row) => row.line},
    {id: "kind", name: "What", kind: "text", value: kindText},
    {id: "resource", name: "Of", kind: "text", value: (row) => resourceText(row.resource, names, (row.corrects ?? row).kind), title: (row) => row.resource},
    {id: "region", name: "Region", kind: "text", wideOnly: true, value: (row) => regionText(row.region)},
    {id: "quantity", name: "Quantity", kind: "decimal", wideOnly: true, field: "quantity", value: (row) => row.quantity ?? "", cell: (row) => (row.quantity ? units(row).short(row.quantity) : NOTHING), title: (row) => (row.quantity ? units(row).full(row.quantity) : null)},
    {id: "amount", name: "Amount", kind: "decimal", field: "amount", value: (row) => row.amount, cell: (row) => money(row.amount, row.currency), title: (row) => `exactly ${row.exact} ${row.currency}`},
    {id: "open", name: "Explain", sort: false, acts: true, value: () => "", cell: (row) => [el("button", {type: "button", class: "quiet", "aria-label": `Explain line ${row.line}`, "aria-expanded": String(open(row)),
      onclick: () => page.set({line: open(row) ? null : row.line, day: null})}, "Explain"), row.isCompared ? whyButton(page, String(row.line), `Line ${row.line}`) : null]},
  ];
}

/* A line that zones share, zone by zone. */
function zonesOf(page, line, unit, names, currency) {
  const name = (row) => names.get(row.zone) ?? `Zone ${row.zone}`;
  return table({label: "Zones of the line", title: "Zones", heading: "h3", name: "line-zones", key: "share-", page, search: false, rows: line.shares, sort: "-exact", rowData: (row) => ({share: row.zone}), file: inCurrency(() => currency), columns: [
    {id: "zone", name: "Zone", kind: "text", value: name, title: name, cell: (row) => (page.offers("statistics") ? el("a", {href: page.href(`/zones/${row.zone}`)}, name(row)) : name(row))},
    {id: "bytes", name: "Used", kind: "decimal", field: "bytes", value: (row) => row.bytes, cell: (row) => unit.short(row.bytes), title: (row) => unit.full(row.bytes)},
    {id: "exact", name: "Amount", kind: "decimal", field: "exact", value: (row) => row.exact, cell: (row) => rounded(row.exact, currency), title: (row) => `exactly ${row.exact} ${currency}`}]}).node;
}

function tierColumns(line, unit, currency) {
  return [
    {id: "from", name: "From", kind: "decimal", field: "from", value: (row) => row.from ?? "", cell: (row) => (row.from === null ? NOTHING : unit.short(row.from)), title: (row) => (row.from === null ? null : unit.full(row.from))},
    {id: "end", name: "To", kind: "decimal", value: (row) => row.end ?? "", cell: (row) => (row.end === null ? "not reached" : unit.short(row.end)), title: (row) => (row.end === null ? null : unit.full(row.end))},
    {id: "to", name: "Used to", kind: "decimal", field: "to", value: (row) => row.to ?? "", cell: (row) => (row.to === null || row.to === undefined ? NOTHING : unit.short(row.to)), title: (row) => (row.to === null || row.to === undefined ? null : unit.full(row.to))},
    {id: "units", name: "Used", kind: "decimal", field: "units", value: (row) => row.units ?? "", cell: (row) => unit.short(row.units), title: (row) => unit.full(row.units)},
    {id: "list_price", name: "List price", kind: "decimal", field: "list_price", value: (row) => row.list_price ?? "", cell: (row) => priceText(row, line, currency), title: (row) => `${row.price} ${currency} per ${line.unit ?? "unit"}`},
    {id: "amount", name: "Amount", kind: "decimal", field: "amount", value: (row) => row.amount, cell: (row) => rounded(row.amount, currency), title: (row) => `exactly ${row.amount} ${currency}`},
  ];
}

const passed = (crossings, unit) => crossings.map((one) => `past ${unit.full(one.threshold)}`).join(", ");

function dayColumns(page, unit) {
  return [
    {id: "day", name: "Day", kind: "time", value: (row) => row.day, cell: (row) => el("button", {type: "button", class: "quiet",
      "aria-expanded": String(page.query.get("day") === row.day.slice(0, 10)), onclick: () => page.set({day: page.query.get("day") === row.day.slice(0, 10) ? null : row.day.slice(0, 10)})}, day(row.day))},
    {id: "quantity", name: "Used", kind: "decimal", field: "quantity", value: (row) => row.quantity, cell: (row) => unit.short(row.quantity), title: (row) => unit.full(row.quantity)},
    {id: "reached", name: "Reached", kind: "decimal", field: "reached", value: (row) => row.reached, cell: (row) => unit.short(row.reached), title: (row) => unit.full(row.reached)},
    {id: "crossings", name: "Threshold", kind: "text", value: (row) => passed(row.crossings, unit), cell: (row) => row.crossings.map((one) => el("span", {class: "chip warn", title: `before ${unit.full(one.before)}, after ${unit.full(one.after)}`}, `past ${unit.short(one.threshold)} at ${time(one.hour, page.zone)}`))},
  ];
}

function hourColumns(page, unit, explained) {
  const crossed = (row) => explained.crossings.filter((one) => one.hour === row.hour);
  return [
    {id: "hour", name: "Hour", kind: "time", value: (row) => row.hour, cell: (row) => time(row.hour, page.zone)},
    {id: "quantity", name: "Used", kind: "decimal", field: "quantity", value: (row) => row.quantity, cell: (row) => unit.short(row.quantity), title: (row) => unit.full(row.quantity)},
    {id: "crossings", name: "Threshold", kind: "text", value: (row) => passed(crossed(row), unit), cell: (row) => crossed(row).map((one) => el("span", {class: "chip warn"}, `past ${unit.short(one.threshold)}`))},
  ];
}
