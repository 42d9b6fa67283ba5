/* The month's run: the totals and each account beside the month before, what needs a look first, what documents lack; making
 * the chosen drafts final; then the documents, and making one void. What is worked out of the rows stands in run.js. */

import {pageHead, panel} from "../controls.js";
import {announce, download, el, figure, fill, inCode} from "../dom.js";
import {change, count, money, month as monthName} from "../format.js";
import {inCurrency, rounded} from "../money.js";
import {monthBeside, operation, sentences, working} from "../operator.js";
import {searchRows} from "../rows.js";
import {canChoose, gaps, inShort, isChosen, isIncomplete, lookFirst, namesOf, oddities, stateOf, sums, totalRows} from "../run.js";
import {table} from "../table.js";
import {fromBase64, zip} from "../zip.js";

const ARCHIVES = [["pdf", "PDF"], ["ubl", "UBL"], ["xrechnung", "XRechnung"], ["csv", "CSV"]];
const NAMED = 3; // accounts of which a field is missing
const STATES = {stopped: "cannot be made final", odd: "draft", draft: "draft", nothing: "nothing is due"};

export function show(page) {
  const running = new Date(page.now()).toISOString().slice(0, 7);
  const chosenMonth = () => (/^\d{4}-\d{2}$/.test(page.query.get("month") ?? "") ? page.query.get("month") : monthBeside(running, -1));
  const field = el("input", {type: "month", value: chosenMonth(), max: running, "aria-label": "Month", required: true});
  const choice = el("form", {class: "inline", onsubmit: (event) => {
    event.preventDefault();
    if (field.value === chosenMonth()) update();
    else page.set({month: field.value});
  }}, field, el("button", {type: "submit"}, "Show"));

  let rows = [], over = false, shownMonth = "", choices = new Map(); // account -> whether it is chosen, where the user has said
  const chooses = (row) => canChoose(row) && (choices.get(row.account) ?? isChosen(row));
  const chosen = () => rows.filter(chooses);
  const choosable = () => rows.filter(canChoose);
  const moneyOf = (list) => sums(list).map(([currency, sum]) => money(sum, currency)).join(" and ") || "nothing";

  /* --- the parts of the page --- */

  const tiles = el("div", {class: "tiles money", role: "group", "aria-label": "Totals"});
  const [waiting, unowned, outcome] = [0, 1, 2].map(() => el("div", {role: "status", class: "run-state"}));
  const ending = panel("Make it final"), lacking = panel("No legal invoices"), files = panel("Documents");
  const totals = table({label: "Totals by product", title: "Totals by product", name: "run-totals", page, key: "totals-", search: false, file: inCurrency(), empty: "Nothing is charged.",
    columns: [
      {id: "name", name: "Product", kind: "text", sort: false, value: (row) => row.name, cell: (row) => (row.isSum ? el("strong", {}, row.name) : row.name)},
      {id: "now", name: "This month", kind: "decimal", sort: false, value: (row) => row.now, cell: (row) => money(row.now, row.currency)},
      {id: "before", name: "Month before", kind: "decimal", sort: false, wideOnly: true, value: (row) => row.before, cell: (row) => money(row.before, row.currency)},
      {id: "difference", name: "Difference", kind: "decimal", sort: false, wideOnly: true, value: (row) => row.difference, cell: (row) => money(row.difference, row.currency)},
      {id: "change", name: "Change", kind: "number", sort: false, csv: false, value: (row) => change(row.now, row.before).text}]});

  const may = page.may("invoice"), mayDeclare = page.may("catalog change");
  const link = (row, text) => el("a", {href: page.href(`/accounts/${row.account}`, {account: null})}, text);
  const columns = [
    may && {id: "choose", name: "Final", kind: "text", sort: false, acts: true, value: () => null, cell: (row) => (canChoose(row)
      ? el("label", {class: "pick"}, el("input", {type: "checkbox", checked: chooses(row), "aria-label": `Make ${row.name} final`, onchange: (event) => choose([row], event.currentTarget.checked)})) : "")},
    {id: "account", name: "Account", kind: "number", wideOnly: true, value: (row) => row.account, cell: (row) => link(row, String(row.account))},
    {id: "name", name: "Name", kind: "text", value: (row) => row.name, title: (row) => row.name, cell: (row) => link(row, row.name)},
    {id: "total", name: "Total", kind: "decimal", field: "total", value: (row) => row.total, cell: (row) => money(row.total, row.currency)},
    {id: "look", name: "Needs a look", kind: "text", wide: true, value: (row) => oddities(row).map((one) => one.text).join(" ") || null,
      title: (row) => oddities(row).map((one) => one.text).join(" ") || null,
      cell: (row) => (oddities(row).length ? [el("span", {class: "chip warn"}, inShort(row)), oddities(row).map((one) => [" ", el("span", {data: {what: one.what}}, inCode(one.text))])] : "")},
    {id: "usual", name: "Usual, net", kind: "decimal", wideOnly: true, value: (row) => row.usual?.net, title: (row) => (row.usual ? `the median of ${count(row.usual.months, "month")} before` : null),
      cell: (row) => (row.usual ? rounded(row.usual.net, row.currency) : "–")},
    {id: "before", name: "Month before", kind: "decimal", wideOnly: true, value: (row) => row.last?.total, cell: (row) => money(row.last?.total, row.last?.currency)},
    {id: "document", name: "Document", kind: "text", value: (row) => row.invoice ?? STATES[stateOf(row)], cell: (row) => (row.state !== "final" ? row.invoice ?? STATES[stateOf(row)] : [
      el("button", {type: "button", class: "quiet", "aria-label": `${row.invoice} as PDF`, onclick: (event) => save(event.currentTarget, row)}, row.invoice),
      may ? el("button", {type: "button", class: "quiet", "aria-label": `Make ${row.invoice} void`, onclick: (event) => makeVoid(event.currentTarget, row)}, "Void") : null])},
  ].filter(Boolean);
  const all = (name, is) => el("button", {type: "button", class: "quiet", onclick: () => choose(searchRows(choosable(), columns, page.query.get("search") ?? ""), is)}, name); // of those that the search shows
  const t = table({label: "Invoices of the month", name: "run", page, columns, rowData: (row) => ({account: row.account, state: stateOf(row)}), tools: may ? [all("Choose all", true), all("None", false)] : [],
    file: [...inCurrency(), {id: "last", name: "currency before", value: (row) => row.last?.currency}, {id: "difference", name: "difference", value: (row) => row.difference}, {id: "missing", name: "missing", value: (row) => row.missing.join(" ")}],
    empty: "No account has anything in this month. Usage comes in with: tollbook ingest --db FILE access.log"});
  page.root.append(pageHead(page, "The month's run", {beside: choice}), waiting, outcome, unowned, tiles, el("section", {class: "panel"}, totals.node),
    el("section", {class: "panel"}, t.node), lacking, ending, files);
  lacking.hidden = files.hidden = true;

  function choose(list, is) {
    for (const row of list) choices.set(row.account, is);
    t.set(rows);
    drawEnding();
    announce(`${count(chosen().length, "draft")} chosen`);
  }

  /* --- the preview --- */

  async function update() {
    const month = chosenMonth(), found = [];
    let unassigned = null;
    field.value = month;
    page.title(`Run of ${monthName(month)}`);
    if (month !== shownMonth) {
      choices = new Map();
      fill(outcome);
    }
    const work = working(page, `Working out ${monthName(month)} beside the months before …`);
    fill(waiting, work.node);
    const answer = await operation(page, "preview", {month}, {signal: work.signal, step: (_, {answer: part}) => {
      found.push(...part.rows);
      unassigned ??= part.unassigned;
    }});
    if (month !== chosenMonth()) return;
    fill(waiting, answer.cancelled ? el("p", {class: "soft"}, "Cancelled. \"Show\" works it out again.") : null);
    if (page.failed(answer)) return;
    shownMonth = month;
    rows = lookFirst(found);
    over = answer.answer.over;
    t.set(rows);
    totals.set(totalRows(answer.answer.totals));
    fill(unowned, unassigned.zone_count || unassigned.load_balancer_count ? el("div", {class: "notice"},
      el("p", {}, `Usage that no account has is in no invoice: ${count(unassigned.zone_count, "pull zone")}, ${count(unassigned.load_balancer_count, "load balancer")}. `,
        el("a", {href: page.href("/operator/intake")}, "Intake"), " names them.")) : "");
    drawTiles(answer.answer.totals);
    drawGaps();
    drawEnding();
    drawFiles();
  }

  function drawTiles(list) {
    const tile = (name, value, below) => el("div", {class: "tile"}, el("span", {class: "name"}, name), el("span", {class: "value"}, value),
      below ? el("span", {class: "change"}, below) : null);
    fill(tiles, tile("Drafts", String(rows.filter((row) => ["stopped", "odd", "draft"].includes(stateOf(row))).length)),
      tile("Final", String(rows.filter((row) => row.state === "final").length)),
      tile("Need a look", String(rows.filter((row) => oddities(row).length).length)),
      list.map((one) => tile(`Total in ${one.currency}`, figure("sum", one.total, money(one.total, one.currency)),
        `month before: ${money(one.last.total, one.currency)} (${change(one.total, one.last.total).text})`)));
  }

  /* Once a field, with what to do; a final document stays as it is. */
  function drawGaps() {
    const lack = rows.filter(isIncomplete), drafts = lack.filter((row) => row.state !== "final"), final = lack.length - drafts.length;
    lacking.hidden = !lack.length;
    fill(lacking, el("h2", {}, `${count(lack.length, "document")} ${lack.length === 1 ? "is" : "are"} no legal invoice${lack.length === 1 ? "" : "s"}`),
      drafts.length ? el("p", {class: "soft"}, "Drafts can be made final all the same, as statements. What is declared before that stands in them.") : null,
      el("ul", {class: "remarks"}, gaps(drafts).map((one) => el("li", {data: {field: "missing", value: one.field}}, el("strong", {}, `${one.text[0].toUpperCase()}${one.text.slice(1)}`),
        one.isSeller ? ": declare " : [`, of ${count(one.rows.length, "account")} (`, one.rows.slice(0, NAMED).map((row, at) => [at ? ", " : "",
          mayDeclare ? el("a", {href: page.href("/do/tax", {account: row.account}), "aria-label": `Declare it for ${row.name}`}, row.name) : row.name]),
        one.rows.length > NAMED ? ` and ${one.rows.length - NAMED} more): declare ` : "): declare "], el("code", {}, one.field),
        one.isSeller ? [" in the catalogue, ", mayDeclare ? el("a", {href: page.href("/do/seller")}, "once for all") : "once for all", "."] : " in the catalogue.")),
      final ? el("li", {}, `${count(final, "final document")} lack${final === 1 ? "s" : ""} some of it. To mend one, declare what is missing, make it void and make the month final again.`) : null));
  }

  /* --- making it final: once by the button, a second time by its name --- */

  function drawEnding() {
    const list = chosen(), held = choosable().filter((row) => !chooses(row)), stopped = rows.filter((row) => stateOf(row) === "stopped");
    const head = el("h2", {}, "Make it final");
    if (!over) return fill(ending, head, el("p", {}, `${monthName(shownMonth)} is not over. It can be made final from the next month's first day on, UTC.`));
    if (!may) return fill(ending, head, el("p", {}, "A key of the role Finance or Operator makes invoices final."));
    if (!choosable().length && !stopped.length) return fill(ending, head, el("p", {}, "No draft is left: what has anything due is final."));
    return fill(ending, head,
      el("ul", {class: "remarks"},
        el("li", {}, list.length ? `${count(list.length, "draft")} chosen, ${moneyOf(list)} with tax.` : "No draft is chosen."),
        list.length ? legalCheck(list) : null,
        held.length ? el("li", {}, `${count(held.length, "draft")} not chosen, ${moneyOf(held)}: ${namesOf(held)}. Drafts that look wrong are never chosen for you.`) : null,
        stopped.map((row) => el("li", {class: "warned"}, `${row.name} cannot be made final. `, inCode(oddities(row)[0].text), page.may("book add") ? [" ", el("a", {href: page.href("/do/book")}, "Add a price book")] : ""))),
      list.length ? el("div", {}, el("button", {type: "button", class: "primary", onclick: () => askAgain(list)}, `Make ${count(list.length, "draft")} final …`)) : null);
  }

  function legalCheck(list) {
    const lack = list.filter(isIncomplete).length;
    return el("li", {}, !lack ? "All of them have what the law wants of an invoice."
      : `${lack === list.length ? "None of them is a legal invoice" : `${lack} of them ${lack === 1 ? "is" : "are"} no legal invoice`} yet: above stands what is missing.`);
  }

  function askAgain(list) {
    const month = shownMonth;
    const name = el("input", {required: true, pattern: month, autocomplete: "off", "aria-label": `Type ${month}`});
    fill(ending, el("h2", {}, `${count(list.length, "invoice")} of ${monthName(month)}, ${moneyOf(list)}`),
      el("p", {}, el("strong", {}, "This is irrevocable. "), "Each invoice gets its number, its place in the chain and its entry in the ledger, and never changes. "
        + "To undo one, make it void: it keeps its number, the ledger reverses its entry, and the account's month is a draft again."),
      el("ul", {class: "remarks"}, legalCheck(list)),
      el("form", {class: "inline", onsubmit: (event) => {
        event.preventDefault();
        if (name.value.trim() === month) finalise(month, list);
      }}, el("label", {}, `Type ${month}: `, name), el("button", {type: "submit", class: "primary"}, "Make final"),
      el("button", {type: "button", onclick: drawEnding}, "Back")));
    name.focus();
  }

  /* All that can be final: one run, which notes also who had nothing due. Else account by account. */
  async function finalise(month, list) {
    const isAll = list.length === choosable().length, names = new Map(list.map((row) => [row.account, row]));
    let goesOn = true, done = 0, problem = null;
    const said = [];
    const stop = el("button", {type: "button", onclick: () => { goesOn = false; stop.disabled = true; }}, "Stop");
    const bar = el("progress", {"aria-label": "Progress", max: 1}), text = el("p", {role: "status"}, "The first accounts are made final …");
    const at = (part, whole) => {
      bar.setAttribute("value", whole ? part / whole : 0);
      text.textContent = `${part} of ${count(whole, "account")} done …`;
    };
    fill(ending, el("h2", {}, `${monthName(month)} is made final`), bar, text, el("div", {}, stop));
    if (isAll) {
      const answer = await operation(page, "invoice", {month, finalize: true}, {step: (_, data) => {
        at(data.answer.done, data.answer.accounts);
        return goesOn;
      }});
      if (answer.ok) said.push(...answer.said);
      else problem = answer;
    }
    for (const row of isAll ? [] : list) {
      if (!goesOn || problem) break;
      const answer = await operation(page, "invoice", {month, account: row.account, finalize: true});
      if (answer.ok) said.push(...answer.said);
      else problem = answer;
      at(++done, list.length);
    }
    await update();
    if (problem) page.failed(problem);
    showOutcome(rows.filter((row) => names.has(row.account)), said, !goesOn);
  }

  function showOutcome(list, said, isStopped) {
    const made = list.filter((row) => row.state === "final"), failed = list.filter((row) => row.state !== "final" && stateOf(row) !== "nothing");
    const other = said.filter((text) => /^account \d+|^shadow|came in while/.test(text));
    fill(outcome, el("div", {class: "notice"},
      el("p", {}, made.length ? [el("strong", {}, `${count(made.length, "invoice")} made final: ${moneyOf(made)}.`), " Their documents are below."] : el("strong", {}, "No invoice was made final.")),
      failed.length ? el("p", {class: "warned"}, `${count(failed.length, "draft")} not made final${isStopped ? ", as you stopped" : ""}: ${namesOf(failed, 10)}.`) : null,
      sentences(other)));
    outcome.scrollIntoView?.({block: "nearest"});
  }

  /* --- the documents: to download, to send, to make void --- */

  const archive = (name, list) => download(name, "application/zip", new Blob(zip(list.map((one) => ({name: one.name, bytes: fromBase64(one.base64)})))));
  const state = el("p", {role: "status"}), sending = el("p");

  function drawFiles() {
    const final = rows.filter((row) => row.state === "final");
    files.hidden = !final.length;
    fill(state);
    fill(files, el("h2", {}, `${count(final.length, "document")}, ${moneyOf(final)}`),
      el("p", {class: "segments"}, ARCHIVES.map(([form, name]) => el("button", {type: "button", onclick: (event) => saveAll(event.currentTarget, form)}, `All as ${name} (ZIP)`))), state,
      sending, el("p", {}, "To mail them, write them to files: ", el("code", {}, `tollbook invoice --db FILE --month ${shownMonth} --format pdf --out mail`)));
    if (final.length) operation(page, "alerts", {limit: 1}).then((answer) => {
      if (!answer.ok) return;
      fill(sending, answer.answer.messagesOn ? ["The webhook gets ", el("code", {}, "invoice.finalized"), " for each; ", el("a", {href: page.href("/operator/alerts")}, "Alerts"), " shows what arrived, and sends it again."]
        : ["No webhook is set. To tell one of each document: ", el("code", {}, "tollbook serve --alert-url URL --alert-secret-file FILE")]);
    });
  }

  async function saveAll(button, form) {
    const month = shownMonth, made = [];
    button.disabled = true;
    const answer = await operation(page, "invoice", {month, format: form, out: "."}, {step: (_, data) => {
      made.push(...data.files ?? []);
      state.textContent = `${count(made.length, "file")} made …`;
    }});
    button.disabled = false;
    if (page.failed(answer)) return;
    fill(state, made.length ? `${count(made.length, "file")} in the archive. ` : "No file was made. ", answer.said.filter((text) => !/ made\.$/.test(text)).join(" "));
    if (made.length) archive(`${month}-${form}.zip`, made);
  }

  async function save(button, row) {
    button.disabled = true;
    const answer = await operation(page, "invoice", {number: row.invoice, format: "pdf", out: "."}, {step: (_, data) => {
      for (const one of data.files ?? []) download(one.name, "application/pdf", fromBase64(one.base64));
    }});
    button.disabled = false;
    page.failed(answer);
  }

  async function makeVoid(button, row) {
    if (!confirm(`Make invoice ${row.invoice} of ${row.name} over ${money(row.total, row.currency)} void?\n\nIt keeps its number, the ledger reverses its entry, and ${monthName(shownMonth)} of this account is a draft again. This cannot be taken back.`)) return;
    button.disabled = true;
    const answer = await operation(page, "invoice", {void: row.invoice});
    button.disabled = false;
    if (page.failed(answer)) return;
    await update();
    fill(outcome, el("div", {class: "notice"}, sentences(answer.said)));
  }

  update();
  return {update, again: update};
}
