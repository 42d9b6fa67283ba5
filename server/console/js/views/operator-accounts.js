/* Accounts: the running month so far, what may come of it, what stands in the ledger, what is overdue. The server
 * searches and sorts them; they are read page by page as they come into sight. By their forecasts they are sorted here, once
 * all are read. */

import {pageHead} from "../controls.js";
import {el, fill} from "../dom.js";
import {fleetForecast} from "../fleet-forecast.js";
import {decimalCompare, money, month as monthName} from "../format.js";
import {longList} from "../long-list.js";
import {inCurrency, rounded} from "../money.js";
import {accountSort, operation} from "../operator.js";
import {sortRows} from "../rows.js";
import {table} from "../table.js";

const PAGE = 100;

export function show(page) {
  const state = el("div", {role: "status"}), forecast = fleetForecast(page, {place: state, drawn() {
    if (list.rows.length && !(byForecast() && forecast.isRunning)) draw();
  }});
  const amount = (row, value) => (value === null || value === undefined ? "–" : rounded(value, row.currency));
  const column = (id, name, value, more = {}) => ({id, name, kind: "decimal", value, cell: (row) => amount(row, value(row)),
    title: (row) => money(value(row), row.currency), ...more});
  const isNone = (value) => decimalCompare(value, "0") === 0;
  const net = (row) => forecast.of(row.account)?.money?.net;
  const foreseen = column("forecast", "Forecast", (row) => net(row)?.p50, {field: "forecast",
    title: (row) => (net(row) ? `with 90 % likely ${money(net(row).p5, "", row.currency)} to ${money(net(row).p95, row.currency)}` : forecast.of(row.account)?.why ?? "")});
  const columns = [
    {id: "account", name: "ID", kind: "number", wideOnly: true, value: (row) => row.account,
      cell: (row) => el("a", {href: page.href(`/accounts/${row.account}`, {account: null})}, String(row.account))},
    {id: "name", name: "Name", kind: "text", value: (row) => row.name, title: (row) => row.name,
      cell: (row) => el("a", {href: page.href(`/accounts/${row.account}`, {account: null})}, row.name)},
    {id: "pays", name: "Pays", kind: "text", wideOnly: true, value: (row) => (row.prepaid ? "prepaid" : "by invoice")},
    column("monthToDate", "This month", (row) => row.monthToDate, {field: "monthToDate",
      cell: (row) => (row.why ? el("span", {class: "warned", title: row.why}, amount(row, row.monthToDate)) : amount(row, row.monthToDate))}),
    foreseen,
    column("balance", "Balance", (row) => row.balance, {field: "balance"}),
    column("owed", "Owed", (row) => row.owed, {field: "owed", cell: (row) => (isNone(row.owed) ? "–" : amount(row, row.owed))}),
    column("overdue", "Overdue", (row) => row.overdue, {field: "overdue",
      cell: (row) => (decimalCompare(row.overdue, "0") > 0 ? el("span", {class: "chip warn"}, amount(row, row.overdue)) : "–")}),
    {id: "why", name: "Note", kind: "text", wide: true, sort: false, value: (row) => row.why, title: (row) => row.why},
  ];

  const head = el("p", {class: "soft"});
  const list = longList({page, size: PAGE, what: "accounts", part, shown: taken,
    ask: (number, signal) => operation(page, "account list", {...question(), limit: PAGE, page: number}, {signal}).then((answer) => ({...answer, number}))});
  const t = table({label: "Accounts", name: "accounts", page, columns, sort: "account", rowData: (row) => ({account: row.account}), tools: [forecast.button], file: inCurrency(),
    onsort: () => {}, onsearch: () => {}, want: list.want, all, empty: "No account yet. Declare one: tollbook apply --db FILE catalog.json"});
  page.root.append(pageHead(page, "Accounts", {beside: head}), state, el("section", {class: "panel"}, t.node));

  function question() {
    const search = page.query.get("search");
    return {...(search ? {search} : {}), ...accountSort(page.query.get("sort"))};
  }

  function part({answer, number}) {
    head.textContent = `${monthName(answer.month)} so far, before tax`;
    return {total: answer.total, page: number, items: answer.accounts.map((row) => ({...row, id: row.account}))};
  }

  function taken(rows) {
    if (!rows) return t.set(null);
    forecast.offer(page.query.get("search") ? null : rows.length);
    draw();
  }

  const byForecast = () => /^(-?)forecast$/.exec(page.query.get("sort"));
  const sorted = (rows) => (byForecast() ? sortRows(rows, foreseen, byForecast()[1] === "-") : rows);

  function draw() {
    const missing = byForecast() ? list.rows.indexOf(null) : -1;
    if (missing < 0) return t.set(sorted(list.rows));
    t.wait();
    list.want(missing, missing + 4 * PAGE);
  }

  async function all(says) {
    const rows = await list.all(says);
    return rows && sorted(rows);
  }

  function update() {
    if (!list.isOther(JSON.stringify(question()))) return draw();
    t.wait();
    read();
  }

  function read() {
    list.begin();
    list.first();
  }
  update();
  return {update, again: read};
}
