/* The operator's home: is anything wrong, what is to be done, what does the fleet earn, who grew, and the traffic of all
 * accounts. The money is one answer (account summary), however many accounts there are. */

import {board, changeColumn, sparkColumn, trafficColumns} from "../board.js";
import {pageHead} from "../controls.js";
import {el, figure, fill} from "../dom.js";
import {change, count, duration, money, month as monthName, toMs} from "../format.js";
import {lateSources, reasons, sentence} from "../health.js";
import {inCurrency, rounded} from "../money.js";
import {metrics, monthBeside, operation} from "../operator.js";
import {table} from "../table.js";

const TOP = 10, LISTED = 6, MINUTES = 10;
const LISTS = [["grown", "in money"], ["grown_percent", "in percent"], ["fallen", "who fell"]];

const percentText = (row) => (row.percent === null ? "new" : change(row.charges, row.previous).text);
const customer = (page, row) => el("a", {href: page.href(`/accounts/${row.account ?? row.id}`)}, row.name || `Account ${row.account ?? row.id}`);

export function show(page) {
  const health = el("p", {class: "health"}, "Reading …"), todo = el("ul", {class: "todo"});
  const tiles = el("div", {class: "tiles money", role: "group", "aria-label": "Money of all accounts"});
  const state = el("section", {class: "panel", "aria-label": "State"}, health, todo);
  const amount = (id, name) => ({id, name, kind: "decimal", field: id, value: (row) => row[id], cell: (row) => rounded(row[id], row.currency).replace("\u00a0", " "), title: (row) => money(row[id], row.currency)});
  const named = {id: "name", name: "Customer", kind: "text", value: (row) => row.name, title: (row) => `${row.name}, account ${row.account}`, cell: (row) => customer(page, row)};
  /* The month so far against as much of the month before, as the charges are. */
  const grew = (row, text) => el("a", {class: "delta", "aria-label": `${text}: why did ${row.name} change?`,
    href: page.href("/overview", {account: row.account, range: null, from: `${summary.month}-01`, to: new Date(page.now()).toISOString().slice(0, 10), by: "month", why: "bandwidth"})}, text);
  const which = el("span", {class: "segments", role: "group", "aria-label": "Which"});
  const grown = table({title: "Who grew", label: "Customers whose charges changed most", name: "grown", key: "grown-", page, search: false, tools: [which], file: inCurrency(), rowData: (row) => ({account: row.account}),
    empty: "No charges changed.", columns: [named, amount("charges", "This month"), {...amount("previous", "Before"), wideOnly: true}, amount("change", "Change"),
      {id: "percent", name: "%", kind: "decimal", field: "percent", value: (row) => row.percent, cell: (row) => grew(row, percentText(row))}]});
  const overdue = table({title: "Overdue", label: "Customers with most overdue", name: "overdue", key: "overdue-", page, search: false, file: inCurrency(), rowData: (row) => ({account: row.account}),
    empty: "Nothing is overdue.", columns: [named, amount("overdue", "Overdue"), amount("owed", "Owed")]});

  /* --- money --- */

  let summary = null, figures = null, sources = [];
  const chosen = () => (LISTS.some(([id]) => id === page.query.get("list")) ? page.query.get("list") : "grown");

  function tile(name, field, one, below, warn) {
    return el("div", {class: "tile"}, el("span", {class: "name"}, name), el("span", {class: "value"}, figure(field, one[field], rounded(one[field], one.currency).replace("\u00a0", " "), money(one[field], one.currency))),
      el("span", {class: warn ? "change worse" : "change"}, below));
  }

  function drawMoney() {
    if (!summary) return;
    const last = monthName(toMs(`${monthBeside(summary.month, -1)}-01`)).split(" ")[0];
    fill(tiles, summary.currencies.map((one) => [
      tile("This month so far", "charges", one, one.percent === null ? "without tax" : `${change(one.charges, one.previous).text} on the same part of ${last}, without tax`),
      tile("Owed", "owed", one, "invoices and debits not paid"),
      tile("Overdue", "overdue", one, one.overdue_accounts ? count(one.overdue_accounts, "account") : "none", one.overdue_accounts),
      tile(`${last}, not billed yet`, "unbilled", one, one.unbilled_accounts ? count(one.unbilled_accounts, "account") : "all billed")]));
    const rows = (list) => summary.currencies.flatMap((one) => one[list].map((row) => ({...row, currency: one.currency})));
    fill(which, LISTS.map(([id, name]) => el("button", {type: "button", "aria-pressed": String(id === chosen()), onclick: () => page.set({list: id === "grown" ? null : id})}, name)));
    grown.set(rows(chosen()));
    overdue.set(rows("most_overdue"));
    if (summary.currencies.some((one) => one.overdue_accounts > LISTED)) overdue.foot(el("a", {href: page.href("/operator/accounts", {sort: "-overdue"})}, `All ${summary.currencies.reduce((sum, one) => sum + one.overdue_accounts, 0)} overdue`));
  }

  /* --- state --- */

  function drawState() {
    if (!figures) return;
    const all = reasons(figures);
    fill(health, el("span", {class: all.length ? "chip warn" : "chip on"}, all.length ? "Needs a look" : "All well"), " ", el("span", {data: {field: "health", value: all.map((one) => one.id).join(" ") || "well"}}, sentence(all)), " ", el("a", {href: page.href("/operator/health")}, "Health"));
    const item = (id, text, href, to) => el("li", {data: {todo: id}}, text, " ", el("a", {href}, to)), n = (name) => figures[`tollbook_${name}`] ?? 0;
    const intake = page.href("/operator/intake");
    const list = [
      (summary?.currencies ?? []).map((one) => [
        one.overdue_accounts ? item("overdue", `${count(one.overdue_accounts, "account")} ${one.overdue_accounts === 1 ? "is" : "are"} overdue with ${rounded(one.overdue, one.currency)}.`, page.href("/operator/accounts", {sort: "-overdue"}), "Accounts") : null,
        one.unbilled_accounts ? item("unbilled", `${monthName(toMs(`${monthBeside(summary.month, -1)}-01`))} of ${count(one.unbilled_accounts, "account")} is not billed yet: ${rounded(one.unbilled, one.currency)} before tax.`,
          page.href("/operator/run", {month: monthBeside(summary.month, -1)}), "Month's run") : null]),
      summary?.incomplete.accounts ? item("unpriced", [`${count(summary.incomplete.accounts, "account")} cannot be rated whole: `, summary.incomplete.first.slice(0, 3).map((row, at) => [at ? ", " : "", customer(page, row)]), summary.incomplete.accounts > 3 ? " and more." : "."],
        page.href("/operator/accounts", {sort: "monthToDate"}), "Accounts") : null,
      n("unassigned_zones") ? item("unowned", `${count(n("unassigned_zones"), "pull zone")} ${n("unassigned_zones") === 1 ? "has" : "have"} usage and no account: it is not billed.`, intake, "Intake") : null,
      n("unpriced_locations") ? item("locations", `${count(n("unpriced_locations"), "edge location")} ${n("unpriced_locations") === 1 ? "has" : "have"} no region: the usage there has no price.`, intake, "Intake") : null,
      lateSources(sources, page.now()).slice(0, 3).map((one) => item("late", `${one.source}: nothing for ${duration((page.now() - Date.parse(one.newest)) / 1000)}.`, intake, "Intake"))];
    fill(todo, list.flat(Infinity));
  }

  function draw() {
    drawMoney();
    drawState();
  }

  async function read() {
    const [found, came] = await Promise.all([operation(page, "account summary", {top: LISTED}), operation(page, "intake")]);
    if (!page.failed(found)) summary = found.answer;
    if (!page.failed(came)) sources = came.answer.sources;
    draw();
  }

  page.poll("/metrics", {seconds: 30, accept: "text/plain"}, (answer) => {
    if (page.failed(answer)) return;
    figures = metrics(answer.data);
    drawState();
  });
  const clock = setInterval(() => { if (document.visibilityState === "visible") read(); }, MINUTES * 60000);
  page.signal.addEventListener("abort", () => clearInterval(clock));

  /* --- traffic --- */

  const regions = table({title: "Regions", name: "regions", key: "region-", page, search: false, sort: "-TotalBandwidthUsed",
    empty: "No region had traffic in this time.", rowData: (row) => ({region: row.id}),
    columns: [{id: "name", name: "Region", kind: "text", value: (row) => row.name ?? row.id, title: () => "Show this region alone",
      cell: (row) => el("a", {href: page.href("/overview", {region: row.id, show: page.query.get("show")})}, row.name ?? row.id)}, ...trafficColumns(["TotalRequestsServed", "TotalBandwidthUsed"]), changeColumn("TotalBandwidthUsed", (row, why) => page.href("/overview", {...why, region: row.id, show: page.query.get("show")}))]});
  const accounts = table({title: "Most traffic", name: "top-accounts", key: "top-", page, search: false, rowData: (row) => ({account: row.id}), empty: "No account had traffic in this time.",
    columns: [{id: "name", name: "Customer", kind: "text", value: (row) => row.name, title: (row) => `${row.name}, account ${row.id}`, cell: (row) => customer(page, row)},
      sparkColumn(page), ...trafficColumns(["TotalRequestsServed", "TotalBandwidthUsed"]), changeColumn("TotalBandwidthUsed", (row, why) => page.href("/overview", {...why, account: row.id}))]});
  const filter = el("span", {});
  const below = el("div", {class: "columns"}, el("section", {class: "panel"}, accounts.node), el("section", {class: "panel"}, regions.node));
  const traffic = board(page, {below: [below], query: () => ({rank: "accounts", top: TOP, sort: "TotalBandwidthUsed", region: page.query.get("region")}),
    hint: (data) => (data.accounts.total ? "No traffic in this time. Choose a longer time." : "No account yet. Declare one: tollbook apply --db FILE catalog.json"), f(data) {
      const region = page.query.get("region");
      fill(filter, region ? el("span", {class: "chip on"}, `only ${data.regions.find((one) => one.id === region)?.name ?? region}`,
        el("button", {type: "button", "aria-label": "All regions", title: "All regions", onclick: () => page.set({region: null})}, "×")) : null);
      regions.set(data.regions);
      accounts.set(data.accounts.items);
      if (data.accounts.total > TOP) accounts.foot(el("a", {href: page.href("/operator/accounts")}, `All ${data.accounts.total} accounts`));
    }});

  page.root.append(pageHead(page, "Overview", {range: true, account: false, beside: filter}), state, tiles,
    el("div", {class: "columns"}, el("section", {class: "panel"}, grown.node), el("section", {class: "panel"}, overdue.node)), traffic.node);
  read();
  traffic.update();
  return {update() {
    drawMoney();
    traffic.update();
  }, again: read};
}
