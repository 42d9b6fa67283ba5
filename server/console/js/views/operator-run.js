/* The month's run: drafts beside the month before, what looks wrong among them, and making them final. */

import {pageHead, panel} from "../controls.js";
import {el, figure, fill} from "../dom.js";
import {change, count, decimalCompare, decimalSum, money, month as monthName} from "../format.js";
import {monthBeside, operation, sentences} from "../operator.js";
import {table} from "../table.js";

const JUMP = 50; // percent of the month before

export function show(page) {
  const running = new Date(page.now()).toISOString().slice(0, 7);
  const chosen = () => (/^\d{4}-\d{2}$/.test(page.query.get("month") ?? "") ? page.query.get("month") : monthBeside(running, -1));
  const field = el("input", {type: "month", value: chosen(), max: running, "aria-label": "Month", required: true});
  const choice = el("form", {class: "inline", onsubmit: (event) => {
    event.preventDefault();
    page.set({month: field.value});
  }}, field, el("button", {type: "submit"}, "Show"));
  const tiles = el("div", {class: "tiles", role: "group", "aria-label": "Totals"}), ending = panel("Make it final");
  const waiting = el("p", {role: "status"});

  const columns = [
    {id: "account", name: "Account", kind: "number", value: (row) => row.account,
      cell: (row) => el("a", {href: page.href("/overview", {account: row.account})}, String(row.account))},
    {id: "state", name: "State", kind: "text", value: (row) => (row.number ? `final, ${row.number}` : row.now === null ? "nothing due" : "draft")},
    {id: "total", name: "Total", kind: "decimal", field: "total", value: (row) => row.now, cell: (row) => money(row.now, row.currency)},
    {id: "before", name: "Month before", kind: "decimal", value: (row) => row.before, cell: (row) => money(row.before, row.currency)},
    {id: "change", name: "Change", kind: "number", value: (row) => row.percent, cell: (row) => change(row.now, row.before).text},
    {id: "wrong", name: "Looks wrong", kind: "text", wide: true, value: (row) => row.wrong.join(" "),
      cell: (row) => row.wrong.map((text) => el("span", {class: "chip warn"}, text))},
  ];
  const t = table({label: "Invoices of the month", name: "run", page, columns, sort: "-wrong", rowData: (row) => ({account: row.account}),
    empty: "No account has anything in this month. Usage comes in with: tollbook ingest --db FILE access.log"});
  page.root.append(pageHead(page, "The month's run", {beside: choice}), waiting, tiles, el("section", {class: "panel"}, t.node), ending);

  /* --- the preview --- */

  const invoicesOf = (answer) => JSON.parse(answer.out || "{\"invoices\":[]}").invoices.filter((one) => one.kind === "invoice" && one.state !== "void");

  function join(now, before) {
    const rows = new Map();
    const row = (one) => rows.get(one.account) ?? {account: one.account, currency: one.currency, now: null, before: null, number: null, unpriced: 0};
    for (const one of now) rows.set(one.account, {...row(one), now: one.total, number: one.number, unpriced: one.unpriced.length, currency: one.currency});
    for (const one of before) rows.set(one.account, {...row(one), before: one.total});
    return [...rows.values()].map((one) => ({...one, percent: percentOf(one), wrong: wrongWith(one)}));
  }

  const percentOf = ({now, before}) => (now === null || before === null || Number(before) === 0 ? null : 100 * (now - before) / Math.abs(before));

  function wrongWith(row) {
    const found = [], percent = percentOf(row);
    if (row.unpriced) found.push(`${count(row.unpriced, "kind")} of usage without a price`);
    if (row.now !== null && decimalCompare(row.now, "0") < 0) found.push("below zero");
    if (row.before !== null && row.now === null) found.push("nothing this month");
    if (row.before === null && row.now !== null) found.push("nothing the month before");
    if (percent !== null && Math.abs(percent) > JUMP) found.push(`${percent > 0 ? "more" : "less"} by over ${JUMP} %`);
    return found;
  }

  async function update() {
    const month = chosen();
    field.value = month;
    page.title(`Run of ${monthName(month)}`);
    waiting.textContent = `Reading ${monthName(month)} and the month before …`;
    const [now, before] = await Promise.all([operation(page, "invoice", {month, format: "json"}),
      operation(page, "invoice", {month: monthBeside(month, -1), format: "json"})]);
    if (month !== chosen()) return;
    waiting.textContent = "";
    if (page.failed(now) || page.failed(before)) return;
    const rows = join(invoicesOf(now), invoicesOf(before));
    t.set(rows);
    drawTiles(rows);
    drawEnding(month, rows);
  }

  function drawTiles(rows) {
    const currencies = [...new Set(rows.map((row) => row.currency))].sort();
    const tile = (name, ...value) => el("div", {class: "tile"}, el("span", {class: "name"}, name), el("span", {class: "value"}, value));
    const here = (list, currency, which) => decimalSum(list.filter((row) => row.currency === currency && row[which] !== null).map((row) => row[which]));
    fill(tiles, tile("Drafts", String(rows.filter((row) => row.now !== null && !row.number).length)),
      tile("Final", String(rows.filter((row) => row.number).length)),
      tile("Look wrong", String(rows.filter((row) => row.wrong.length).length)),
      currencies.map((currency) => tile(`Total, ${currency}`, figure("total", here(rows, currency, "now"), money(here(rows, currency, "now"))),
        el("span", {class: "change"}, ` before ${money(here(rows, currency, "before"))}`))));
  }

  /* --- making it final: once by the button, a second time by its name --- */

  function drawEnding(month, rows) {
    const drafts = rows.filter((row) => row.now !== null && !row.number).length;
    if (month >= running) return fill(ending, el("h2", {}, "Make it final"), el("p", {}, `${monthName(month)} is not over. It can be made final from the next month's first day on, UTC.`));
    if (!drafts) return fill(ending, el("h2", {}, "Make it final"), el("p", {}, "No draft is left: what has anything due is final."));
    return fill(ending, el("h2", {}, "Make it final"),
      el("p", {}, "Each draft gets its number, its place in the chain and its entry in the ledger. A final invoice never changes; it can be made void."),
      el("div", {}, el("button", {type: "button", class: "primary", onclick: () => askAgain(month, drafts)}, `Make ${count(drafts, "draft")} final …`)));
  }

  function askAgain(month, drafts) {
    const name = el("input", {required: true, pattern: month, autocomplete: "off", "aria-label": `Type ${month}`});
    fill(ending, el("h2", {}, `Make ${monthName(month)} final`), el("form", {class: "inline", onsubmit: (event) => {
      event.preventDefault();
      if (name.value.trim() === month) finalise(month, drafts);
    }}, el("label", {}, `Type ${month} to make ${count(drafts, "invoice")} final: `, name), el("button", {type: "submit", class: "primary"}, "Make final"),
    el("button", {type: "button", onclick: () => update()}, "Back")));
    name.focus();
  }

  async function finalise(month, drafts) {
    let goesOn = true;
    const stop = el("button", {type: "button", onclick: () => { goesOn = false; stop.disabled = true; }}, "Stop after this group");
    const said = el("p", {role: "status"}, "The first accounts are made final …");
    fill(ending, el("h2", {}, `${monthName(month)} is made final`), el("progress", {"aria-label": "Progress"}), said, el("div", {}, stop));
    const answer = await operation(page, "invoice", {month, finalize: true}, {step: (groups) => {
      said.textContent = `${count(groups, "group")} of accounts done, of ${count(drafts, "draft")} in all …`;
      return goesOn;
    }});
    await update();
    if (page.failed(answer)) return;
    ending.prepend(el("div", {class: "notice", role: "status"},
      answer.stopped ? el("p", {}, "Stopped. What is final stays; the rest waits as drafts.") : null, sentences(answer.said)));
  }

  update();
  return {update};
}
