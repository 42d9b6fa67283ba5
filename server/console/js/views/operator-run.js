/* The month's run: drafts beside the month before, what looks wrong among them, and making them final. */

import {pageHead, panel} from "../controls.js";
import {el, figure, fill, inCode} from "../dom.js";
import {count, decimalSum, money, month as monthName} from "../format.js";
import {inCurrency} from "../money.js";
import {monthBeside, operation, sentences, working} from "../operator.js";
import {table} from "../table.js";

export function show(page) {
  const running = new Date(page.now()).toISOString().slice(0, 7);
  const chosen = () => (/^\d{4}-\d{2}$/.test(page.query.get("month") ?? "") ? page.query.get("month") : monthBeside(running, -1));
  const field = el("input", {type: "month", value: chosen(), max: running, "aria-label": "Month", required: true});
  const choice = el("form", {class: "inline", onsubmit: (event) => {
    event.preventDefault();
    if (field.value === chosen()) update();
    else page.set({month: field.value});
  }}, field, el("button", {type: "submit"}, "Show"));
  const tiles = el("div", {class: "tiles money", role: "group", "aria-label": "Totals"}), ending = panel("Make it final");
  const waiting = el("div", {role: "status"}), unowned = el("div", {role: "status"});

  const columns = [
    {id: "account", name: "Account", kind: "number", wideOnly: true, value: (row) => row.account,
      cell: (row) => el("a", {href: page.href("/overview", {account: row.account})}, String(row.account))},
    {id: "name", name: "Name", kind: "text", value: (row) => row.name, title: (row) => row.name,
      cell: (row) => el("a", {href: page.href("/overview", {account: row.account})}, row.name)},
    {id: "state", name: "State", kind: "text", wideOnly: true, value: (row) => (row.invoice ? `${row.state}, ${row.invoice}` : row.state)},
    {id: "total", name: "Total", kind: "decimal", field: "total", value: (row) => row.total, cell: (row) => money(row.total, row.currency)},
    {id: "before", name: "Month before", kind: "decimal", value: (row) => row.last?.total, cell: (row) => money(row.last?.total, row.last?.currency)},
    {id: "difference", name: "Net difference", kind: "decimal", field: "difference", value: (row) => row.difference, cell: (row) => money(row.difference, row.currency)},
    {id: "wrong", name: "Looks wrong", kind: "text", wide: true, value: (row) => row.looks_wrong.map((one) => one.text).join(" ") || null,
      cell: (row) => (row.looks_wrong.length ? row.looks_wrong.map((one) => [el("span", {class: "warned", data: {what: one.what}}, inCode(one.text)), " "]) : "–"), title: (row) => row.looks_wrong.map((one) => one.text).join(" ") || null},
  ];
  const t = table({label: "Invoices of the month", name: "run", page, columns, sort: "wrong", rowData: (row) => ({account: row.account}), file: [...inCurrency(), {id: "last", name: "currency before", value: (row) => row.last?.currency}],
    empty: "No account has anything in this month. Usage comes in with: tollbook ingest --db FILE access.log"});
  page.root.append(pageHead(page, "The month's run", {beside: choice}), waiting, unowned, tiles, el("section", {class: "panel"}, t.node), ending);

  /* --- the preview --- */

  const isDraft = (row) => row.state === "draft";

  async function update() {
    const month = chosen();
    field.value = month;
    page.title(`Run of ${monthName(month)}`);
    const work = working(page, `Working out ${monthName(month)} beside the month before …`);
    fill(waiting, work.node);
    const answer = await operation(page, "preview", {month}, {signal: work.signal});
    if (month !== chosen()) return;
    fill(waiting, answer.cancelled ? el("p", {class: "soft"}, "Cancelled. \"Show\" works it out again.") : null);
    if (page.failed(answer)) return;
    const {rows, unassigned} = answer.answer;
    t.set(rows);
    fill(unowned, unassigned.zone_count || unassigned.load_balancer_count ? el("div", {class: "notice"},
      el("p", {}, `Usage that no account has is in no invoice: ${count(unassigned.zone_count, "pull zone")}, ${count(unassigned.load_balancer_count, "load balancer")}. `,
        el("a", {href: page.href("/operator/intake")}, "Intake"), " names them.")) : "");
    drawTiles(rows);
    drawEnding(month, rows, answer.answer.over);
  }

  function drawTiles(rows) {
    const currencies = [...new Set(rows.map((row) => row.currency).filter(Boolean))].sort();
    const tile = (name, value, below) => el("div", {class: "tile"}, el("span", {class: "name"}, name), el("span", {class: "value"}, value),
      below ? el("span", {class: "change"}, below) : null);
    const sum = (currency, of) => decimalSum(rows.map(of).filter((one) => one?.currency === currency && one.total !== null).map((one) => one.total));
    fill(tiles, tile("Drafts", String(rows.filter(isDraft).length)),
      tile("Final", String(rows.filter((row) => row.invoice).length)),
      tile("Look wrong", String(rows.filter((row) => row.looks_wrong.length).length)),
      currencies.map((currency) => tile(`Total in ${currency}`, figure("sum", sum(currency, (row) => row), money(sum(currency, (row) => row), currency)),
        `month before: ${money(sum(currency, (row) => row.last), currency)}`)));
  }

  /* --- making it final: once by the button, a second time by its name --- */

  function drawEnding(month, rows, over) {
    const drafts = rows.filter(isDraft).length;
    if (!over) return fill(ending, el("h2", {}, "Make it final"), el("p", {}, `${monthName(month)} is not over. It can be made final from the next month's first day on, UTC.`));
    if (!page.may("invoice")) return fill(ending, el("h2", {}, "Make it final"), el("p", {}, "A key of the role Finance or Operator makes invoices final."));
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
  return {update, again: update};
}
