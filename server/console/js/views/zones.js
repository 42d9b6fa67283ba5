/* All zones: searched and sorted by the server, read page by page as they come into sight. */

import {changeColumn, serverSort, sparkColumn, trafficColumns} from "../board.js";
import {pageHead} from "../controls.js";
import {el} from "../dom.js";
import {money, month as monthName} from "../format.js";
import {longList} from "../long-list.js";
import {chargesByZone, inCurrency, rounded} from "../money.js";
import {ask as asked} from "../range.js";
import {table} from "../table.js";

const PAGE = 40; // a screen's

export function show(page) {
  const charges = new Map(), hasCharges = page.offers("billing") && page.session.account;
  const chargesOf = el("span"); // the head of their column: which month's they are
  let currency = "";
  const columns = [
    {id: "name", name: "Zone", kind: "text", value: (row) => row.name, title: (row) => row.name,
      cell: (row) => [el("a", {href: page.href(`/zones/${row.id}`)}, row.name), row.deleted ? el("span", {class: "chip"}, "deleted") : ""]},
    {id: "id", name: "ID", kind: "number", sort: false, wideOnly: true, value: (row) => row.id},
    sparkColumn(page), ...trafficColumns(["TotalRequestsServed"]), changeColumn("TotalRequestsServed", (row, why) => page.href(`/zones/${row.id}`, why)), ...trafficColumns(["TotalBandwidthUsed"]),
    ...(hasCharges ? [{id: "charges", name: chargesOf, kind: "decimal", field: "MonthlyUsage",
      value: (row) => charges.get(Number(row.id)), cell: (row) => rounded(charges.get(Number(row.id)), currency),
      title: (row) => `${money(charges.get(Number(row.id)), currency)}: charges of ${monthName(chargedMonth())} before tax`}] : []),
    ...trafficColumns(["CacheHitRate", "Errors5xx", "Errors4xx", "AverageOriginResponseTime"]),
  ];
  const list = longList({page, size: PAGE, what: "zones", part: (answer) => answer.data.zones, shown: (rows) => t.set(rows),
    ask: (number, signal) => page.get("/insights", {query: query(number), ...(signal ? {signal} : {})})});
  const t = table({label: "Zones", name: "zones", page, columns, rowData: (row) => ({zone: row.id}), sort: "-TotalRequestsServed",
    onsort: () => {}, onsearch: () => {}, want: list.want, all: list.all, file: hasCharges ? inCurrency(() => currency) : [], empty: "No zone yet. Your provider adds zones to this account."});
  page.root.append(pageHead(page, "Zones", {range: true}), el("section", {class: "panel"}, t.node));

  const query = (number) => ({...asked(page.range()), account: page.account, top: PAGE, page: number, search: page.query.get("search"), sort: serverSort(hasCharges || !page.query.get("sort")?.endsWith("charges") ? page.query.get("sort") : null, page.range())});

  /* What the clock has moved on is another question: rows of the old one go. */
  function moving() {
    if (list.isOther(JSON.stringify(query(1)))) t.wait();
    return query(1);
  }

  function update() {
    readCharges();
    if (!list.isOther(JSON.stringify(query(1)))) return t.set(list.rows);
    t.wait();
    page.poll("/insights", {query: moving, seconds: 60, signal: list.begin()}, (answer) => {
      if (answer.ok) list.age(); // the first page has changed: so may have the others
      list.take(answer);
    });
  }

  /* Charges are of a month: the one that the time shown ends in. */
  const monthOf = (ms) => new Date(ms).toISOString().slice(0, 7), running = () => monthOf(page.now());
  const chargedMonth = () => monthOf(Math.min(page.range().to - 1, page.now()));
  let charged = "", askingCharges = null;
  function readCharges() {
    const month = chargedMonth();
    if (!hasCharges || month === charged) return;
    charged = month;
    charges.clear();
    chargesOf.textContent = month === running() ? `${monthName(month)} so\u00a0far` : `Charges, ${monthName(month)}`;
    askingCharges?.abort();
    const signal = (askingCharges = new AbortController()).signal, show = (found) => {
      if (month !== charged) return;
      for (const [id, amount] of found) charges.set(id, amount);
      t.set(list.rows);
    };
    page.signal.addEventListener("abort", () => askingCharges.abort(), {signal});
    if (month === running()) return page.poll("/billing/summary", {seconds: 300, exact: true, signal}, (answer) => {
      if (answer.ok) show(answer.data.map((one) => [Number(one.PullZoneId), one.MonthlyUsage]));
    });
    page.get("/billing/invoices", {exact: true, signal}).then(async (answer) => {
      const one = answer.ok && answer.data.invoices.find((row) => row.month === month && row.kind === "invoice" && row.state !== "void");
      const invoice = one && await page.get(`/billing/invoices/${one.number}`, {exact: true, accept: "application/json", signal});
      if (invoice?.ok) show(chargesByZone(invoice.data));
    });
  }

  if (hasCharges) {
    if (page.session.role.startsWith("User")) page.get("/user").then((answer) => {
      if (!answer.ok) return;
      currency = answer.data.Currency;
      t.set(list.rows);
    });
  }
  update();
  return {update};
}
