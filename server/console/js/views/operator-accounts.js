/* Accounts: the running month so far, what may come of it, what stands in the ledger, what is overdue. */

import {pageHead} from "../controls.js";
import {el, fill} from "../dom.js";
import {decimalCompare, decimalSum, money, month as monthName} from "../format.js";
import {rounded} from "../money.js";
import {operation} from "../operator.js";
import {table} from "../table.js";

const FORECASTS = 25; // asked for one after the other

export function show(page) {
  const owed = new Map(), forecasts = new Map();
  let rows = [];
  const amount = (row, value) => (value === null || value === undefined ? "–" : rounded(value, row.currency));
  const column = (id, name, value, more = {}) => ({id, name, kind: "decimal", value, cell: (row) => amount(row, value(row)),
    title: (row) => money(value(row), row.currency), ...more});
  const columns = [
    {id: "account", name: "Account", kind: "number", value: (row) => row.account,
      cell: (row) => el("a", {href: page.href("/overview", {account: row.account})}, String(row.account))},
    {id: "name", name: "Name", kind: "text", value: (row) => row.name, title: (row) => row.name},
    {id: "pays", name: "Pays", kind: "text", value: (row) => (row.prepaid ? "prepaid" : "by invoice")},
    column("monthToDate", "This month", (row) => row.monthToDate, {field: "monthToDate",
      cell: (row) => [amount(row, row.monthToDate), row.why ? " " : "", row.why ? el("span", {class: "chip warn", title: row.why}, "incomplete") : ""]}),
    column("forecast", "To its end", (row) => forecasts.get(row.account)?.p50, {
      title: (row) => (forecasts.has(row.account) ? `with 90 % likely ${money(forecasts.get(row.account).p5)} to ${money(forecasts.get(row.account).p95, row.currency)}` : "")}),
    column("balance", "Balance", (row) => row.balance, {field: "balance"}),
    column("owed", "Owed", (row) => owed.get(row.account)?.total),
    column("overdue", "Overdue", (row) => owed.get(row.account)?.overdue, {
      cell: (row) => (late(row) ? el("span", {class: "chip warn"}, amount(row, owed.get(row.account).overdue)) : "–")}),
    {id: "why", name: "Note", kind: "text", wide: true, value: (row) => row.why},
  ];
  const late = (row) => owed.has(row.account) && decimalCompare(owed.get(row.account).overdue, "0") > 0;

  const head = el("p", {class: "soft"});
  const foresee = el("button", {type: "button", class: "quiet", onclick: forecast, disabled: true}, "Forecast");
  const t = table({label: "Accounts", name: "accounts", page, columns, sort: "account", rowData: (row) => ({account: row.account}), tools: [foresee],
    empty: "No account yet. Declare one: tollbook apply --db FILE catalog.json"});
  page.root.append(pageHead(page, "Accounts", {beside: head}), el("section", {class: "panel"}, t.node));

  async function read() {
    const [list, aging] = await Promise.all([operation(page, "account list"), operation(page, "ledger aging")]);
    if (page.failed(list) || page.failed(aging)) return;
    for (const one of aging.answer.accounts)
      owed.set(one.account, {total: one.total, overdue: decimalSum([one.days_1_30, one.days_31_60, one.days_61_90, one.over_90])});
    rows = list.answer.accounts;
    head.textContent = `${monthName(list.answer.month)} so far, before tax`;
    foresee.disabled = rows.length === 0;
    t.set(rows);
  }

  async function forecast() {
    foresee.disabled = true;
    const asked = [...rows].sort((a, b) => decimalCompare(b.monthToDate ?? "0", a.monthToDate ?? "0")).slice(0, FORECASTS);
    let done = 0;
    for (const row of asked) {
      foresee.textContent = `Forecast: ${++done} of ${asked.length}`;
      const answer = await operation(page, "forecast", {account: row.account, paths: 1000});
      if (answer.cancelled) return;
      if (answer.ok && answer.answer?.money) forecasts.set(row.account, answer.answer.money.net);
      t.set(rows);
    }
    fill(foresee, rows.length > FORECASTS ? `Forecast of the ${FORECASTS} largest` : "Forecast");
    foresee.disabled = false;
  }

  read();
}
