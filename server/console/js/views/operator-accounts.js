/* Accounts: the running month so far, what may come of it, what stands in the ledger, what is overdue. The server
 * searches and sorts them; they are read page by page as they come into sight. */

import {pageHead} from "../controls.js";
import {el, fill} from "../dom.js";
import {count, decimalCompare, money, month as monthName} from "../format.js";
import {longList} from "../long-list.js";
import {inCurrency, rounded} from "../money.js";
import {accountSort, operation, working} from "../operator.js";
import {table} from "../table.js";

const PAGE = 100;
const FORECASTS = 25; // asked for one after the other

export function show(page) {
  const forecasts = new Map();
  let isForeseeing = false;
  const amount = (row, value) => (value === null || value === undefined ? "–" : rounded(value, row.currency));
  const column = (id, name, value, more = {}) => ({id, name, kind: "decimal", value, cell: (row) => amount(row, value(row)),
    title: (row) => money(value(row), row.currency), ...more});
  const isNone = (value) => decimalCompare(value, "0") === 0;
  const columns = [
    {id: "account", name: "Account", kind: "number", wideOnly: true, value: (row) => row.account,
      cell: (row) => el("a", {href: page.href(`/accounts/${row.account}`, {account: null})}, String(row.account))},
    {id: "name", name: "Name", kind: "text", value: (row) => row.name, title: (row) => row.name,
      cell: (row) => el("a", {href: page.href(`/accounts/${row.account}`, {account: null})}, row.name)},
    {id: "pays", name: "Pays", kind: "text", wideOnly: true, value: (row) => (row.prepaid ? "prepaid" : "by invoice")},
    column("monthToDate", "This month", (row) => row.monthToDate, {field: "monthToDate",
      cell: (row) => (row.why ? el("span", {class: "warned", title: row.why}, amount(row, row.monthToDate)) : amount(row, row.monthToDate))}),
    column("forecast", "Forecast", (row) => forecasts.get(row.account)?.p50, {sort: false,
      title: (row) => (forecasts.has(row.account) ? `with 90 % likely ${money(forecasts.get(row.account).p5, "", row.currency)} to ${money(forecasts.get(row.account).p95, row.currency)}` : "")}),
    column("balance", "Balance", (row) => row.balance, {field: "balance"}),
    column("owed", "Owed", (row) => row.owed, {field: "owed", cell: (row) => (isNone(row.owed) ? "–" : amount(row, row.owed))}),
    column("overdue", "Overdue", (row) => row.overdue, {field: "overdue",
      cell: (row) => (decimalCompare(row.overdue, "0") > 0 ? el("span", {class: "chip warn"}, amount(row, row.overdue)) : "–")}),
    {id: "why", name: "Note", kind: "text", wide: true, sort: false, value: (row) => row.why, title: (row) => row.why},
  ];

  const head = el("p", {class: "soft"});
  const foresee = el("button", {type: "button", class: "quiet", onclick: forecast, disabled: true}, "Forecast");
  const list = longList({page, size: PAGE, what: "accounts", part, shown: drawn,
    ask: (number, signal) => operation(page, "account list", {...question(), limit: PAGE, page: number}, {signal}).then((answer) => ({...answer, number}))});
  const t = table({label: "Accounts", name: "accounts", page, columns, sort: "account", rowData: (row) => ({account: row.account}), tools: [foresee], file: inCurrency(),
    onsort: () => {}, onsearch: () => {}, want: list.want, all: list.all, empty: "No account yet. Declare one: tollbook apply --db FILE catalog.json"});
  const state = el("div", {role: "status"});
  page.root.append(pageHead(page, "Accounts", {beside: head}), state, el("section", {class: "panel"}, t.node));

  function question() {
    const search = page.query.get("search");
    return {...(search ? {search} : {}), ...accountSort(page.query.get("sort"))};
  }

  function part({answer, number}) {
    head.textContent = `${monthName(answer.month)} so far, before tax`;
    return {total: answer.total, page: number, items: answer.accounts.map((row) => ({...row, id: row.account}))};
  }

  function drawn(rows) {
    foresee.disabled = !rows?.length || isForeseeing;
    t.set(rows);
  }

  async function forecast() {
    isForeseeing = foresee.disabled = true;
    const work = working(page, "Forecast of the largest accounts …");
    fill(state, work.node);
    const largest = await operation(page, "account list", {...question(), sort: "monthToDate", descending: true, limit: FORECASTS}, {signal: work.signal});
    const asked = page.failed(largest) ? [] : largest.answer.accounts;
    let done = 0;
    for (const row of asked) {
      work.say(`Forecast: ${++done} of ${count(asked.length, "account")} …`);
      const answer = await operation(page, "forecast", {account: row.account}, {signal: work.signal});
      if (answer.cancelled) break;
      if (answer.ok && answer.answer?.money) forecasts.set(row.account, answer.answer.money.net);
      t.set(list.rows);
    }
    fill(foresee, list.rows.length > FORECASTS ? `Forecast of the ${FORECASTS} largest` : "Forecast");
    fill(state);
    isForeseeing = foresee.disabled = false;
  }

  function update() {
    if (!list.isOther(JSON.stringify(question()))) return t.set(list.rows);
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
