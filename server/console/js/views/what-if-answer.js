/* What a run answers: before and after, by month, by account, and what could not be billed. */

import {chart} from "../chart.js";
import {el, figure} from "../dom.js";
import {compact, count, decimalCompare, money, month, number, percent} from "../format.js";
import {inCurrency, regionText, resourceText} from "../money.js";
import {valueTicks} from "../ticks.js";
import {histogram} from "../scenario.js";
import {table} from "../table.js";

const more = (delta) => decimalCompare(delta, "0");
const sign = (delta) => (more(delta) > 0 ? "+" : "");
const ratio = (text) => (text === null ? "–" : `${sign(text)}${percent(text, 2).replace("-", "−")}`);

/* names: of accounts by their numbers; a customer has one account, and none is named. does: what saves the answer; null: nothing. */
export function answerView(page, data, names, does) {
  const nameOf = (account) => names.get(account) || `Account ${account}`;
  const node = el("div", {class: "view what-if-answer"});
  const most = [...data.scenarios].sort((a, b) => decimalCompare(b.after, a.after));
  for (const one of most) node.append(...scenarioParts(page, data, one, nameOf));
  if (!data.scenarios.length) node.append(el("p", {class: "empty"}, "No bill of these months is touched by the scenario. Choose other months, or another book."));
  if (does) node.append(el("p", {class: "table-tools"}, el("button", {type: "button", onclick: does.csv}, "Answer as CSV"), el("button", {type: "button", onclick: does.html}, "Answer as a page")));
  return node;
}

function scenarioParts(page, data, one, nameOf) {
  const isOne = Boolean(page.session.account);
  return [summary(one, isOne), byMonth(page, one), one.accounts.length > 1 ? spread(page, one) : null, isOne ? null : accounts(page, one, nameOf), causes(one, isOne, nameOf), remarks(data, one, isOne, nameOf)].filter(Boolean);
}

function summary(one, isOne) {
  const tile = (name, field, value, text, title, note) => el("div", {class: "tile"}, el("span", {class: "name"}, name), el("span", {class: "value"}, figure(field, value, text, title)), el("span", {class: "change"}, note ?? ""));
  const way = more(one.delta), outcome = way > 0 ? "You would pay more" : way < 0 ? "You would pay less" : "You would pay the same";
  if (isOne) return el("section", {class: "tiles thirds", "aria-label": `Summary, ${one.currency}`, data: {scenario: one.scenario}},
    tile("You would pay", "after", one.after, money(one.after, "", one.currency), money(one.after, one.currency), one.currency),
    tile(outcome, "delta", one.delta, `${sign(one.delta)}${money(one.delta, "", one.currency)}`, money(one.delta, one.currency), ratio(one.percent)),
    tile("You paid", "before", one.before, money(one.before, "", one.currency), money(one.before, one.currency), one.currency));
  return el("section", {class: "tiles thirds", "aria-label": `Summary, ${one.currency}`, data: {scenario: one.scenario}},
    tile("Before", "before", one.before, money(one.before, "", one.currency), money(one.before, one.currency), one.currency),
    tile("After", "after", one.after, money(one.after, "", one.currency), money(one.after, one.currency), one.currency),
    tile("Change", "delta", one.delta, `${sign(one.delta)}${money(one.delta, "", one.currency)}`, money(one.delta, one.currency), ratio(one.percent)),
    tile("Pay more", "losers", one.losers, number(one.losers), null, Number(one.losers) === 1 ? "account" : "accounts"),
    tile("Pay less", "winners", one.winners, number(one.winners), null, Number(one.winners) === 1 ? "account" : "accounts"),
    tile("Pay the same", "same", one.same, number(one.same), null, Number(one.same) === 1 ? "account" : "accounts"));
}

function byMonth(page, one) {
  const full = (value) => money(value, one.currency);
  const bars = chart({label: `By month, ${one.currency}`, name: "what-if-months", page, kind: "bars", format: compact, full});
  bars.set({at: one.months.map((row) => Date.parse(`${row.month}-01T00:00:00Z`)), by: "month",
    series: [{name: "before", values: one.months.map((row) => row.before), colour: 3}, {name: "after", values: one.months.map((row) => row.after), colour: 1}]});
  return el("section", {class: "panel", "aria-label": "By month"}, bars.node);
}

function spread(page, one) {
  const bins = histogram(one.accounts.map((row) => row.percent));
  const name = (n) => (bins[n] ? `${number(bins[n].from)} % to ${number(bins[n].to)} %` : "");
  const bars = chart({label: "How much accounts change", name: "what-if-distribution", page, kind: "bars", top: 5, full: (value) => count(value, "account"), xName: "Change", xFormat: name,
    xTicks: (low, high, most) => valueTicks(0, Math.max(1, bins.length - 1), Math.min(most, bins.length), String).filter((tick) => Number.isInteger(tick.v) && bins[tick.v]).map((tick) => ({v: tick.v, label: `${number(bins[tick.v].from)} %`}))});
  bars.set({at: bins.map((_, n) => n), by: "bin", series: [{name: "accounts", values: bins.map((bin) => bin.count)}]});
  const text = (field, which) => figure(`distribution_percent.${which}`, one.distribution_percent[which], ratio(one.distribution_percent[which]));
  return el("section", {class: "panel", "aria-label": "Distribution"}, bars.node,
    el("p", {class: "soft"}, "Half of the accounts change by ", text("p50", "p50"), " or less; nine of ten by ", text("p5", "p5"), " to ", text("p95", "p95"), "."));
}

function accounts(page, one, nameOf) {
  const amount = (id, name) => ({id, name, kind: "decimal", field: id, value: (row) => row[id], cell: (row) => `${id === "delta" ? sign(row.delta) : ""}${money(row[id], "", one.currency)}`, title: (row) => money(row[id], one.currency)});
  const t = table({title: "Accounts", name: "what-if-accounts", key: "accounts-", page, rows: one.accounts, sort: "-delta", rowData: (row) => ({account: row.account}), search: one.accounts.length > 20, empty: "No account.", file: inCurrency(() => one.currency),
    columns: [{id: "name", name: "Account", kind: "text", value: (row) => nameOf(row.account), title: (row) => `Account ${row.account}`}, {id: "account", name: "Number", kind: "number", wideOnly: true, value: (row) => row.account},
      {id: "months", name: "Months", kind: "number", value: (row) => row.months}, amount("before", "Before"), amount("after", "After"), amount("delta", "Change"),
      {id: "percent", name: "Change, percent", kind: "decimal", field: "percent", value: (row) => row.percent, cell: (row) => ratio(row.percent)}]});
  return el("section", {class: "panel"}, t.node);
}

function causes(one, isOne, nameOf) {
  if (!one.increases.length) return null;
  return el("section", {class: "panel", "aria-label": "What makes it more"}, el("h2", {}, "What makes it more"),
    one.increases.map((row) => el("details", {class: "cause", data: {account: row.account}, open: one.increases.length === 1},
      el("summary", {}, `${isOne ? "" : `${nameOf(row.account)}: `}${money(row.before, "", one.currency)} to ${money(row.after, "", one.currency)}, ${sign(row.delta)}${money(row.delta, one.currency)}`),
      el("div", {class: "table-scroll", tabindex: "0", role: "region", "aria-label": `Lines of ${nameOf(row.account)}, scrolls`}, el("table", {"aria-label": `Lines of ${nameOf(row.account)}`},
        el("thead", {}, el("tr", {}, ["Line", "Resource", "Region"].map((text) => el("th", {scope: "col"}, text)), ["Before", "After", "Change"].map((text) => el("th", {scope: "col", class: "right"}, text)))),
        el("tbody", {}, row.lines.map((line) => el("tr", {}, el("td", {}, line.kind.replaceAll("_", " ")), el("td", {}, resourceText(line.resource, undefined, line.kind)), el("td", {}, regionText(line.region) || "–"),
          [line.before, line.after].map((value) => money(value, "", one.currency)).concat(`${sign(line.delta)}${money(line.delta, "", one.currency)}`).map((text) => el("td", {class: "right"}, text))))))),
      Number(row.more_lines) ? el("p", {class: "soft small"}, `${count(row.more_lines, "more line")} with less effect.`) : null)));
}

const SHOWN = 4;
const lines = (list) => el("ul", {class: "remarks"}, list.map((text) => el("li", {}, text)));

/* What is not in the amounts, and why. */
function remarks(data, one, isOne, nameOf) {
  const of = (row) => (isOne ? "" : `${nameOf(row.account)}, `);
  const list = [];
  if (data.running) list.push(`${month(data.to)} is not over: it is billed so far.`);
  if (Number(one.other_currency.accounts)) list.push(`${count(one.other_currency.accounts, "account")} billed in another currency than the book's: left out.`);
  for (const row of one.unpriced) list.push(`${of(row)}${month(row.month)}, ${resourceText(row.resource, undefined, row.what)}: ${number(row.quantity)} ${row.unit}s at ${regionText(row.what)} have no price${row.before ? ", as before" : " under the scenario"}. ${row.reason}`);
  if (Number(one.more_unpriced)) list.push(`${number(one.more_unpriced)} more of these.`);
  for (const row of data.late) list.push(`${of(row)}${month(row.month)}: changes since invoice ${row.invoice ?? "–"} wait to be billed.`);
  return list.length ? el("section", {class: "panel", "aria-label": "Remarks"}, el("h2", {}, "Remarks"), lines(list.slice(0, SHOWN)),
    list.length > SHOWN ? el("details", {}, el("summary", {}, `${number(list.length - SHOWN)} more`), lines(list.slice(SHOWN))) : null) : null;
}
