/* A budget on the chart of months: a line to drag, how likely the running month exceeds it, and the account's alerts.
 *
 *   const b = budget(page, {months, currency() {...}, rescale() {...}});    months: the chart; rescale(): draws it anew
 *   panel.append(b.node);
 *   b.begin(forecast);     puts the line where the largest of twenty outcomes is, or where an alert of the account is
 *   b.place();             after each drawing of the chart
 *
 * The amount is decimal text. The server says how likely it is exceeded (GET /billing/forecast?above=); nothing is reckoned here. */

import {announce, el, figure, fill, later} from "./dom.js";
import {day, decimalCompare, decimals, money} from "./format.js";
import {amountOf, chance, fromUnits} from "./money.js";

const LIKELY = ["0.1", "0.25", "0.5", "0.75", "0.9"];

/* One of 1, 2, 5 times a power of ten, some two hundredth of the axis, in the currency's smallest units. */
function stepOf(top, places) {
  const rough = Math.max(1, top * 10 ** places / 200), power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * power).find((one) => one >= rough * 0.999);
}

export function budget(page, {months, currency, rescale}) {
  const who = page.session.account === null ? {account: page.account} : {};
  const may = page.may("alert set");
  let amount = null, probability = null, alerts = [], changed = null; // changed: the id of the alert that is being changed
  let asked = 0;

  const line = el("div", {class: "budget-line", role: "slider", tabindex: "0", hidden: true, "aria-label": "Budget", "aria-orientation": "vertical", "aria-valuemin": "0"},
    el("span", {class: "grip", "aria-hidden": "true"}));
  const entry = el("input", {type: "text", inputmode: "decimal", autocomplete: "off", size: "9", class: "amount", onchange: () => write(entry.value), onkeydown: (event) => { if (event.key === "Enter") write(entry.value); }});
  const unit = el("span", {class: "soft"});
  const says = el("p", {class: "chance", "aria-live": "polite"});
  const likely = el("select", {}, LIKELY.map((one) => el("option", {value: one, selected: one === "0.5"}, chance(one))));
  const save = el("button", {type: "button", class: "primary", onclick: set}, "Alert me");
  const stop = el("button", {type: "button", class: "quiet", hidden: true, onclick: () => change(null)}, "Cancel");
  const list = el("ul", {class: "alerts", "aria-label": "Alerts"});
  const note = el("p", {class: "soft"});
  const node = el("div", {class: "budget"},
    el("div", {class: "budget-form"}, el("label", {}, "Budget for a month ", entry, unit), says,
      may ? el("div", {class: "budget-alert"}, el("label", {}, "Alert when at least ", likely, " likely "), save, stop) : null), list, note);
  months.around.append(line);

  const shown = (value) => money(value, currency());

  function place() {
    const y = amount === null ? null : months.y(Number(amount));
    line.hidden = y === null || !(months.top > 0);
    if (line.hidden) return;
    line.style.setProperty("--y", `${y}px`);
    line.setAttribute("aria-valuemax", String(months.top));
    line.setAttribute("aria-valuenow", amount);
    line.setAttribute("aria-valuetext", `${shown(amount)}${probability === null ? "" : `, ${chance(probability)} likely to be exceeded`}`);
  }

  function say() {
    fill(says, probability === null ? "" : [figure("probability", probability, `${chance(probability)} likely`, `${probability} of all simulated months, tax included`),
      ` to exceed ${shown(amount)} this month`]);
  }

  const ask = later(async () => {
    const mine = ++asked, above = amount;
    const answer = await page.get("/billing/forecast", {query: {above}, exact: true});
    if (mine !== asked || page.failed(answer) || !answer.ok) return;
    probability = answer.data.above[0].probability;
    say();
    place();
  }, 120);

  function move(to) {
    if (to === amount) return;
    amount = to;
    entry.value = to;
    place();
    ask();
  }

  function write(text) {
    const to = amountOf(text, currency());
    entry.setAttribute("aria-invalid", String(to === null));
    if (to === null) {
      fill(says, `Write an amount such as 500${decimals(currency()) ? ".00" : ""}.`);
      return;
    }
    move(to);
    rescale();
  }

  /* --- the line --- */

  const units = () => stepOf(months.top, decimals(currency()));
  const at = (value) => {
    const step = units(), most = Math.floor(months.top * 10 ** decimals(currency()) / step);
    return fromUnits(BigInt(Math.round(Math.min(most, Math.max(0, Math.round(value * 10 ** decimals(currency()) / step))) * step)), currency());
  };
  let grabbed = null;
  const height = (event) => event.clientY - months.stage.getBoundingClientRect().top;
  line.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    grabbed = height(event) - months.y(Number(amount));
    line.setPointerCapture(event.pointerId);
    line.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  line.addEventListener("pointermove", (event) => {
    if (grabbed === null) return;
    event.stopPropagation();
    move(at(months.valueAt(height(event) - grabbed)));
  });
  for (const name of ["pointerup", "pointercancel"]) line.addEventListener(name, () => {
    if (grabbed === null) return;
    grabbed = null;
    rescale();
  });
  line.addEventListener("keydown", (event) => {
    const step = units() / 10 ** decimals(currency()), now = Number(amount);
    const to = {ArrowUp: now + step, ArrowRight: now + step, ArrowDown: now - step, ArrowLeft: now - step, PageUp: now + 10 * step, PageDown: now - 10 * step,
      Home: 0, End: months.top}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    move(at(to));
  });
  line.addEventListener("blur", rescale);

  /* --- alerts --- */

  const newId = () => {
    for (let n = 1; ; n++) {
      const id = n === 1 ? "budget" : `budget-${n}`;
      if (!alerts.some((one) => one.id === id)) return id;
    }
  };

  const words = (one) => ({
    forecast: () => `The month at least ${chance(one.probability)} likely above ${shown(one.above)}`,
    month_to_date: () => `The month so far above ${shown(one.above)}`,
    balance: () => `Balance below ${shown(one.below)}`,
    usage: () => `Usage of the month above ${one.above} bytes`,
    anomaly: () => `An hour above ${one.above} times the usual`,
  }[one.kind]());

  function draw() {
    fill(unit, currency());
    fill(save, changed ? "Change alert" : "Alert me");
    stop.hidden = changed === null;
    list.hidden = !alerts.length;
    fill(list, alerts.map((one) => el("li", {data: {alert: one.id}, class: one.id === changed ? "chosen" : null}, el("span", {}, words(one)),
      one.raised ? el("span", {class: "chip warn"}, `raised ${day(one.raised)}`) : null,
      may && one.own ? [one.kind === "forecast" ? el("button", {type: "button", class: "quiet", onclick: () => change(one)}, "Change") : null,
        el("button", {type: "button", class: "quiet", "aria-label": `Remove: ${words(one)}`, onclick: () => remove(one)}, "Remove")]
        : el("span", {class: "soft"}, one.own ? "" : "set by the operator"))));
  }

  function change(one) {
    changed = one?.id ?? null;
    if (one) {
      likely.value = LIKELY.includes(one.probability) ? one.probability : "0.5";
      write(amountOf(one.above, currency()) ?? one.above);
    }
    draw();
    if (one) entry.focus();
  }

  async function read() {
    const answer = await page.get("/billing/alerts", {exact: true});
    if (page.failed(answer) || !answer.ok) return;
    alerts = answer.data.alerts;
    fill(note, alerts.length && !answer.data.messagesOn ? "Messages about alerts are off: a raised alert is shown here alone." : "");
    draw();
  }

  async function set() {
    write(entry.value);
    if (amount === null || amountOf(entry.value, currency()) === null) return void entry.focus();
    const id = changed ?? newId();
    const answer = await page.post("/billing/alerts", {...who, id, kind: "forecast", above: amount, probability: likely.value}, {exact: true});
    if (page.failed(answer)) return;
    announce(`Alert ${changed ? "changed" : "set"}: ${shown(amount)}.`);
    changed = null;
    await read();
  }

  async function remove(one) {
    const answer = await page.send("DELETE", `/billing/alerts/${encodeURIComponent(one.id)}`, {query: who});
    if (page.failed(answer)) return;
    if (changed === one.id) changed = null;
    announce("Alert removed.");
    await read();
    entry.focus();
  }

  return {
    node, place,
    get amount() { return amount; },
    async begin(forecast) {
      if (amount !== null) return;
      amount = ""; // no second beginning
      await read();
      const own = alerts.find((one) => one.kind === "forecast");
      const most = forecast.money.gross.p95, soFar = decimalCompare(most, "0") > 0 ? Number(most) : 100;
      const step = stepOf(soFar * 20, decimals(currency()));
      const first = fromUnits(BigInt(Math.ceil(soFar * 10 ** decimals(currency()) / step) * step), currency());
      amount = null;
      move(own ? amountOf(own.above, currency()) ?? own.above : first);
      rescale();
    },
  };
}
