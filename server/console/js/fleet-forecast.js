/* What the running month of every account may come to (`forecast --all`), for the views that show it.
 *
 *   const f = fleetForecast(page, {place, drawn() { ... }});   place: an element for the progress; drawn(): rows have come
 *   tools: [f.button]
 *   f.offer(total);      how many accounts there are; null: not known
 *
 * A fleet of at most FEW accounts is forecast without a click, at most once an hour. The rows stay as long as the session: a
 * view that is shown again asks nothing. A forecast that was cancelled goes on where it stopped. */

import {el, fill} from "./dom.js";
import {count, decimalCompare, decimalSum} from "./format.js";
import {operation, working} from "./operator.js";
import {isOther} from "./session.js";

const FEW = 300;

/* rows: of the last whole forecast; coming: of the one that goes on; both by account. hour: when it began. */
let kept = null;

export function fleetForecast(page, {place, drawn}) {
  const month = new Date(page.now()).toISOString().slice(0, 7);
  if (!kept || isOther(kept.session, page.session) || kept.month !== month) kept = {session: page.session, month, rows: new Map(), coming: new Map(), next: "", hour: null, until: null};
  const own = kept;
  const hour = () => Math.floor(page.now() / 3600000);
  let total = null, isRunning = false, isCalledOff = false; // called off: here only the button begins it again
  const button = el("button", {type: "button", class: "quiet", disabled: true, onclick: run});

  function label() {
    fill(button, own.next ? "Go on with the forecast" : own.rows.size ? "Forecast again" : total > FEW ? `Forecast ${count(total, "account")}` : "Forecast");
    button.disabled = isRunning || total === 0;
  }

  function begin() {
    Object.assign(own, {coming: new Map(), next: "", hour: hour()});
  }

  async function run() {
    if (isRunning) return;
    isRunning = true;
    if (own.hour !== hour() || !own.next) begin();
    label();
    const work = working(page, "Forecast …");
    fill(place, work.node);
    const answer = await operation(page, "forecast", {all: true, ...(own.next ? {next: own.next} : {})}, {signal: work.signal, step(_, data) {
      for (const row of data.answer.accounts) own.coming.set(row.account, row);
      Object.assign(own, {next: data.next, until: data.answer.usage_until});
      work.say(`Forecast: ${own.coming.size} of ${count(data.answer.total, "account")} …`, own.coming.size / data.answer.total);
      if (data.next) drawn();
    }});
    isRunning = false;
    if (page.failed(answer)) {
      isCalledOff = true;
      if (!answer.cancelled) begin();
    } else Object.assign(own, {rows: own.coming, coming: new Map(), next: ""});
    if (page.signal.aborted) return;
    fill(place);
    label();
    drawn();
  }

  return {
    button,
    get isWhole() { return own.rows.size > 0; },
    get isRunning() { return isRunning; },
    get until() { return own.until; },
    /** All rows of the last whole forecast. */
    get rows() { return [...own.rows.values()]; },
    /** The account's newest row. */
    of: (account) => own.coming.get(account) ?? own.rows.get(account),
    offer(number) {
      total = number;
      label();
      if (total > 0 && total <= FEW && (own.hour !== hour() || own.next) && !isRunning && !isCalledOff) run();
    },
  };
}

/** What the fleet is expected to come to, without tax, by currency: the sum of the accounts' means, exactly. An expected value
 * of a sum is the sum of the expected values, which is not so of medians. Pure. */
export function expected(rows) {
  const sums = new Map();
  for (const row of rows) if (!row.why) sums.set(row.currency, [...sums.get(row.currency) ?? [], row]);
  return [...sums].map(([currency, of]) => ({currency, accounts: of.length, net: decimalSum(of.map((row) => row.money.net.mean))}));
}

/** The rows with a budget, the likeliest to exceed it first; of equally likely ones the one that is expected to be furthest
 * above it. Pure. */
export function likeliest(rows) {
  const above = (row) => decimalSum([row.money.gross.mean, `-${row.budget}`]);
  return rows.filter((row) => row.budget).sort((a, b) => decimalCompare(b.likely, a.likely) || decimalCompare(above(b), above(a)) || a.account - b.account);
}
