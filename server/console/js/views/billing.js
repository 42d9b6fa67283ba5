/* What is due, twelve months of charges with the running one's forecast and a budget, and below what they are made of. */

import {budget} from "../budget.js";
import {chart} from "../chart.js";
import {pageHead} from "../controls.js";
import {el, figure, fill, inCode} from "../dom.js";
import {bytes, bytesFull, compact, day, decimalCompare, decimalSum, money, month, NOTHING, number, toMs} from "../format.js";
import {formsOf} from "../forms.js";
import {chargesByZone, inCurrency, monthPoints, monthTotals, productsOf, regionText, rounded, stateOf, zoneColumns as columnsOfZones} from "../money.js";
import {zoneNames} from "../names.js";
import {table} from "../table.js";
import {monthSpans, whyButton, whyPanel} from "../why.js";

const DAY = 86400000;

const box = (list) => el("section", {class: "panel"}, list.node);

export function show(page) {
  if (!page.account) return void page.root.append(pageHead(page, "Billing", {account: true}), el("p", {class: "empty"}, "Find a customer above: a bill is of one account."));
  const tiles = el("div", {class: "tiles money", role: "group", "aria-label": "This month"});
  const note = el("p", {class: "soft"});
  const months = chart({label: "Charges by month, tax included", name: "months", page, kind: "columns", format: (value) => `${compact(value)} ${currency()}`, full: (value) => rounded(value, currency()), drawn: () => plan?.place()});
  const ways = el("div", {class: "segments", role: "group", "aria-label": "Charges shown"}, [["", "Total"], ["zones", "By zone"]].map(([id, name]) => el("button",
    {type: "button", data: {months: id}, onclick: () => page.set({months: id || null}, {replace: true})}, name)));
  const trend = chart({label: "Bandwidth this month, and how it may go on", name: "month", page, kind: "band", format: bytes, full: bytes});
  const products = table({label: "Charges by product", title: "By product", name: "products", key: "product-", page, search: false, columns: productColumns(), file: inCurrency(),
    empty: "Nothing was charged this month."});
  const usage = table({label: "Forecast by product and region", title: "Usage to the month's end", name: "forecast", key: "usage-", page, search: false, columns: usageColumns(), rowData: (row) => ({product: row.product, region: row.region}),
    empty: "No usage yet. The forecast begins with the first traffic of your zones."});
  const metered = table({label: "Forecast of meters", title: "Meters to the month's end", name: "meters", key: "meters-", page, search: false, file: inCurrency(() => currency()), empty: "", columns: [
    {id: "meter", name: "Meter", kind: "text", value: (row) => row.name, title: (row) => row.meter, cell: (row) => (page.offers("statistics") ? el("a", {href: page.href(`/meters/${row.meter}`)}, row.name) : row.name)},
    {id: "net", name: "Charges at the month's end", kind: "decimal", field: "net", value: (row) => row.net, cell: (row) => money(row.net, currency())}]});
  const meters = box(metered);
  meters.hidden = true;
  const {names, done} = zoneNames(page);
  const zones = table({label: "Charges by zone", title: "By zone", name: "zones", key: "zone-", page, sort: "-MonthlyUsage", columns: zoneColumns(page, names, () => currency()), file: inCurrency(() => currency()),
    empty: "No zone was charged this month.", rowData: (row) => ({zone: row.PullZoneId})});
  const invoices = table({label: "Invoices and credit notes", title: "Invoices", name: "invoices", key: "invoice-", page, sort: "-number", columns: invoiceColumns(page), file: inCurrency(),
    empty: "No invoice yet. Your provider issues one after each month."});
  const seen = {billing: null, forecast: null, points: null, invoices: [], zones: null, documents: new Map()};
  const currency = () => seen.forecast?.currency ?? seen.invoices[0]?.currency ?? "";
  const plan = budget(page, {months, currency, rescale: () => drawMonths()});
  const balance = el("p", {class: "soft"});
  const forms = page.session.account === null ? formsOf(page.may, "account").filter((one) => one.money) : [];
  const changes = forms.length ? el("p", {class: "table-tools"}, forms.map((one) => el("a", {class: "button", href: page.href(`/do/${one.id}`)}, one.title))) : null;
  const reason = whyPanel(page, {spans: () => monthSpans(new Date(page.now()).toISOString().slice(0, 7)), ids: ["charges"]});
  page.root.append(pageHead(page, "Billing", {account: true}), changes ?? "", tiles, note, reason.node, el("section", {class: "panel", "aria-label": "Months and budget"}, ways, months.node, plan.node), el("section", {class: "panel"}, trend.node),
    el("div", {class: "columns"}, box(products), box(zones)), box(usage), meters, box(invoices), balance);

  function tile(name, field, value, text, title, below) {
    return el("div", {class: "tile"}, el("span", {class: "name"}, name),
      el("span", {class: "value"}, figure(field, value, text, title)), below ? el("span", {class: "change"}, below) : null);
  }

  function drawTiles() {
    const b = seen.billing, f = seen.forecast;
    if (!b) return;
    const amount = (value) => rounded(value, currency()).replace("\u00a0", " "); // a narrow tile breaks it there
    const open = seen.invoices.filter((one) => one.remaining && decimalCompare(one.remaining, "0") > 0).sort((one, other) => ((one.due ?? "") < (other.due ?? "") ? -1 : 1));
    const [next] = open, isLate = next && stateOf(next, page.now()) === "overdue";
    fill(tiles,
      next ? tile(next.due ? `${isLate ? "Overdue since" : "Due"} ${day(next.due)}` : "To be paid", "due", next.remaining, money(next.remaining, next.currency).replace("\u00a0", " "), next.number,
        [el("a", {href: page.file(`/billing/invoices/${encodeURIComponent(next.number)}`, {format: "pdf"}), download: `${next.number}.pdf`}, `${next.number} as PDF`),
          open.length > 1 ? `, and ${open.length - 1} more` : ""]) : null,
      tile("This month so far", "ThisMonthCharges", b.ThisMonthCharges, amount(b.ThisMonthCharges), `${b.ThisMonthCharges} ${currency()}, without tax`, ["without tax ", whyButton(page, "charges", "This month's charges")]),
      f ? tile("At the month's end", "p50", f.money.net.p50, amount(f.money.net.p50), `${f.money.net.p50} ${f.currency}, without tax`,
        `${amount(f.money.net.p5)} to ${amount(f.money.net.p95)} in nine cases of ten, without tax`) : null,
      f?.balance_lasts_until ? tile("Balance", "Balance", b.Balance, amount(b.Balance), `${b.Balance} ${currency()}`) : null,
      f?.balance_lasts_until ? tile("Available", "AvailableBalance", b.AvailableBalance, amount(b.AvailableBalance), `${b.AvailableBalance} ${currency()}`, decimalCompare(b.AvailableBalance, b.Balance) < 0 ? "less what is used and not billed" : null) : null,
      f?.balance_lasts_until ? tile("Balance lasts until", "balance_lasts_until", f.balance_lasts_until.p50, f.balance_lasts_until.p50 ? day(f.balance_lasts_until.p50) : "beyond this month",
        null, f.balance_lasts_until.p5 ? `${day(f.balance_lasts_until.p5)} in the worst of twenty cases` : null) : null);
    fill(balance, f?.balance_lasts_until ? [] : ["Balance ", figure("Balance", b.Balance, amount(b.Balance), `${b.Balance} ${currency()}`),
      ", available ", figure("AvailableBalance", b.AvailableBalance, amount(b.AvailableBalance), `${b.AvailableBalance} ${currency()}`)]);
    fill(note, inCode(f ? [f.reason, f.complete ? null : "Some usage has no price yet: ask the operator."].filter(Boolean).join(" ") : ""));
  }

  /* With tax: the running month's charges come without. */
  const soFar = () => decimalSum([seen.billing.ThisMonthCharges, seen.billing.MonthlyChargesTaxes ?? "0"].map(String));

  function drawMonths() {
    const f = seen.forecast;
    if (!f || !seen.billing) return;
    const all = monthTotals(seen.invoices, f.month), last = all.length - 1, isByZone = page.query.get("months") === "zones";
    const alone = (value) => all.map((_, n) => (n === last ? value : null));
    const ends = {name: "at its end", frame: true, colour: 2, values: alone(f.money.gross.p50), low: alone(f.money.gross.p5), high: alone(f.money.gross.p95)};
    const most = Math.max(Number(f.money.gross.p95), Number(plan.amount ?? 0) * 1.12);
    for (const one of ways.children) one.setAttribute("aria-pressed", String((one.dataset.months === "zones") === isByZone));
    if (isByZone) readDocuments(all);
    const split = isByZone ? columnsOfZones(all.map((one, n) => (n === last
      ? {charges: new Map((seen.zones ?? []).map((zone) => [zone.PullZoneId, String(zone.MonthlyUsage)])), total: soFar()}
      : {charges: chargesOf(one), total: one.total})), (zone) => names.get(zone) ?? `Zone ${zone}`).map((series, n) => ({...series, colour: [1, 3, 4, 5, 6, 6][n]})) : null;
    months.set({at: all.map((one) => one.at), by: "month", now: page.now(), top: most, series: [
      ...(split ?? [{name: "invoiced", values: all.map((one) => one.total), colour: 1}, {name: "so far", values: alone(soFar()), colour: 3}]), ends]});
    plan.place();
  }

  /* Of a month's documents together; null until all are read, or where there are none. */
  function chargesOf({numbers}) {
    const read = numbers.map((one) => seen.documents.get(one));
    if (!read.length || read.some((one) => !one)) return null;
    const sum = new Map();
    for (const charges of read) for (const [zone, one] of charges) sum.set(zone, decimalSum([sum.get(zone) ?? "0", one]));
    return sum;
  }

  function readDocuments(all) {
    const wanted = all.flatMap((one) => one.numbers).filter((one) => !seen.documents.has(one));
    for (const one of wanted) seen.documents.set(one, null); // asked for
    Promise.all(wanted.map(async (one) => {
      const answer = await page.get(`/billing/invoices/${encodeURIComponent(one)}`, {exact: true});
      if (!page.failed(answer) && answer.ok) seen.documents.set(one, chargesByZone(answer.data));
    })).then(() => { if (wanted.length) drawMonths(); });
  }

  function drawTrend() {
    const f = seen.forecast;
    if (!f) return;
    const drawn = monthPoints(f, seen.points, DAY);
    trend.set({at: drawn.at, by: "day", series: [
      {name: "so far", values: drawn.past, colour: 1},
      {name: "may come", values: drawn.middle, low: drawn.low, high: drawn.high, dashed: true, colour: 2}]});
  }

  function draw() {
    drawTiles();
    drawMonths();
    drawTrend();
    if (seen.billing) products.set(productsOf(seen.billing, currency()));
    if (seen.forecast) usage.set(seen.forecast.usage);
    meters.hidden = !seen.forecast?.meters;
    if (seen.forecast?.meters) metered.set(seen.forecast.meters);
    if (seen.zones) zones.set(seen.zones);
    invoices.set(seen.invoices.map((one) => ({...one, shown: stateOf(one, page.now())})));
    reason.update();
  }

  const take = (path, options, f) => page.poll(path, {seconds: 60, exact: true, ...options}, (answer) => {
    if (page.failed(answer)) return;
    f(answer.data);
    draw();
  });
  take("/billing", {}, (data) => { seen.billing = data; });
  take("/billing/invoices", {}, (data) => { seen.invoices = data.invoices; });
  take("/billing/summary", {}, (data) => { seen.zones = data; });
  let asked = "";
  take("/billing/forecast", {}, (data) => {
    seen.forecast = data;
    plan.begin(data);
    if (!page.offers("statistics") || asked === data.month) return;
    asked = data.month;
    page.poll("/insights", {query: {account: page.account, from: `${data.month}-01`, by: "day", top: 1}, seconds: 60}, (answer) => {
      if (!answer.ok) return;
      seen.points = answer.data.points;
      draw();
    });
  });
  done.then(draw);
  return {update: draw};
}

function productColumns() {
  return [
    {id: "name", name: "Product", kind: "text", value: (row) => row.name},
    {id: "amount", name: "So far", kind: "decimal", value: (row) => row.amount, cell: (row) => (row.field ? figure(row.field, row.amount, rounded(row.amount, row.currency), money(row.amount, row.currency)) : rounded(row.amount, row.currency))},
  ];
}

const quantity = (row, value) => (row.unit === "byte" ? bytes(Number(value)) : number(value));
const quantityFull = (row, value) => (row.unit === "byte" ? bytesFull(Number(value)) : number(value));

function usageColumns() {
  const column = (id, name) => ({id, name, kind: "decimal", field: id, value: (row) => row[id], cell: (row) => quantity(row, row[id]), title: (row) => quantityFull(row, row[id])});
  return [
    {id: "product", name: "Product", kind: "text", value: (row) => row.product.replaceAll("_", " ")},
    {id: "region", name: "Region", kind: "text", value: (row) => regionText(row.region)},
    column("so_far", "So far"), column("p50", "Month's end"), column("p5", "At least (5 %)"), column("p95", "At most (95 %)"),
    {id: "method", name: "Rests on", kind: "text", value: (row) => row.method.replaceAll("_", " "), title: (row) => row.reason},
  ];
}

function zoneColumns(page, names, currency) {
  const name = (row) => names.get(row.PullZoneId) ?? `Zone ${row.PullZoneId}`;
  return [
    {id: "name", name: "Zone", kind: "text", value: name, cell: (row) => (page.offers("statistics") ? el("a", {href: page.href(`/zones/${row.PullZoneId}`)}, name(row)) : name(row)), title: name},
    {id: "MonthlyUsage", name: "Charges", kind: "decimal", field: "MonthlyUsage", value: (row) => String(row.MonthlyUsage), cell: (row) => rounded(row.MonthlyUsage, currency()), title: (row) => money(String(row.MonthlyUsage), currency())},
    {id: "MonthlyBandwidthUsed", name: "Bandwidth", kind: "number", field: "MonthlyBandwidthUsed", value: (row) => row.MonthlyBandwidthUsed, cell: (row) => bytes(row.MonthlyBandwidthUsed), title: (row) => bytesFull(row.MonthlyBandwidthUsed)},
  ];
}

function invoiceColumns(page) {
  return [
    {id: "number", name: "Number", kind: "text", value: (row) => row.number, cell: (row) => el("a", {href: page.href(`/billing/${row.number}`)}, row.number)},
    {id: "month", name: "Month", kind: "text", wideOnly: true, value: (row) => row.month, cell: (row) => month(toMs(`${row.month}-01`))},
    {id: "kind", name: "Kind", kind: "text", wideOnly: true, value: (row) => row.kind.replaceAll("_", " ")},
    {id: "state", name: "State", kind: "text", value: (row) => row.shown, cell: (row) => el("span", {class: row.shown === "overdue" ? "chip warn" : "chip"}, row.shown)},
    {id: "total", name: "Total", kind: "decimal", field: "total", value: (row) => row.total, cell: (row) => money(row.total, row.currency)},
    {id: "remaining", name: "To be paid", kind: "decimal", field: "remaining", value: (row) => row.remaining ?? "", cell: (row) => (row.remaining ? money(row.remaining, row.currency) : NOTHING)},
    {id: "due", name: "Due", kind: "text", value: (row) => row.due ?? "", cell: (row) => (row.due ? day(row.due) : NOTHING)},
    {id: "why", name: "Change", sort: false, acts: true, value: () => "", cell: (row) => (row.shown === "void" || row.kind !== "invoice" ? "" :
      el("a", {href: page.href(`/billing/${row.number}`, {why: "charges"}), "aria-label": `Why? ${row.number}`}, "Why?"))},
  ];
}
