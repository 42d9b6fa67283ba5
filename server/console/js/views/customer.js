/* One customer, for the operator: what it uses, what it owes, its documents, its ledger, its contract, alerts and keys. */

import {sparkline} from "../chart.js";
import {changeColumn, sparkColumn, trafficColumns} from "../board.js";
import {pageHead, panel} from "../controls.js";
import {download, el, figure, fill} from "../dom.js";
import {count, day, decimalCompare, money, month, NOTHING, time, toMs} from "../format.js";
import {formsOf} from "../forms.js";
import {inCurrency, rounded, stateOf} from "../money.js";
import {operation} from "../operator.js";
import {ask as asked} from "../range.js";
import {table} from "../table.js";
import {changeText, FIGURES, sparkUntilNow, tileText} from "../traffic.js";

const ZONES = 10;
const box = (list) => el("section", {class: "panel"}, list.node);
const spaced = (text) => text.replaceAll("_", " ");

export function show(page) {
  const account = /^[1-9]\d{0,15}$/.test(page.params.id) ? Number(page.params.id) : null;
  const to = (path, members) => page.href(path, {...members, account});
  const title = el("span", {}, `Account ${page.params.id}`), chips = el("span", {});
  const head = pageHead(page, title, {range: true, compare: () => true, account: false, above: el("a", {href: page.href("/operator/accounts", {account: null})}, "Accounts /"), beside: chips});
  const tiles = el("div", {class: "tiles money", role: "group", "aria-label": "Money"}), traffic = el("div", {class: "tiles money", role: "group", "aria-label": "Traffic"});
  const links = el("p", {class: "segments"}, [["/overview", "Traffic"], ["/zones", "Zones"], ["/billing", "Bill and forecast"], ["/what-if", "What if"]].map(([path, name]) => el("a", {class: "button", href: to(path)}, name)));
  const changes = formsOf(page.may, "account");
  const actions = changes.length ? el("section", {class: "panel", "aria-label": "Changes"}, el("p", {class: "table-tools"}, changes.map((one) => el("a", {class: "button", href: to(`/do/${one.id}`)}, one.entry ?? one.title)),
    page.offers("keys") ? el("a", {class: "button", href: to("/keys")}, "Make or revoke a key") : null)) : null;

  const zones = table({title: "Zones", name: "zones", key: "zone-", page, search: false, rowData: (row) => ({zone: row.id}), empty: "No zone yet. Declare one: tollbook apply --db FILE catalog.json",
    columns: [{id: "name", name: "Zone", kind: "text", value: (row) => row.name, title: (row) => row.name, cell: (row) => el("a", {href: to(`/zones/${row.id}`)}, row.name)},
      sparkColumn(page), ...trafficColumns(["TotalBandwidthUsed"]), changeColumn("TotalBandwidthUsed", (row, why) => to(`/zones/${row.id}`, why))]});
  const path = (number) => `/billing/invoices/${encodeURIComponent(number)}`;
  async function saveElectronic(button, number) {
    const answer = await page.get(path(number), {query: {account, format: "xrechnung"}, accept: "application/xml"});
    if (answer.ok) return download(`${number}-xrechnung.xml`, "application/xml", answer.data);
    button.disabled = answer.status === 400;
    page.failed({...answer, message: `${number} cannot be XRechnung: ${answer.message}`});
  }
  const files = (number) => [el("a", {href: page.file(path(number), {account, format: "pdf"}), download: `${number}.pdf`, "aria-label": `${number} as PDF`}, "PDF"), " ",
    el("button", {type: "button", class: "quiet", "aria-label": `${number} as XRechnung`, onclick: (event) => saveElectronic(event.currentTarget, number)}, "XRechnung"), " ",
    el("a", {href: to(`/billing/${number}`, {line: 1}), "aria-label": `Explain ${number}`}, "Explain")];
  const invoices = table({title: "Invoices", label: "Invoices and credit notes", name: "invoices", key: "invoice-", page, search: false, sort: "-number", file: inCurrency(), empty: "No invoice yet. The month's run makes them.", columns: [
    {id: "number", name: "Number", kind: "text", value: (row) => row.number, cell: (row) => el("a", {href: to(`/billing/${row.number}`)}, row.number)},
    {id: "month", name: "Month", kind: "text", wideOnly: true, value: (row) => row.month, cell: (row) => month(toMs(`${row.month}-01`))},
    {id: "state", name: "State", kind: "text", value: (row) => row.shown, cell: (row) => el("span", {class: row.shown === "overdue" ? "chip warn" : "chip"}, row.shown)},
    {id: "total", name: "Total", kind: "decimal", field: "total", value: (row) => row.total, cell: (row) => money(row.total, row.currency)},
    {id: "remaining", name: "To be paid", kind: "decimal", field: "remaining", value: (row) => row.remaining ?? "", cell: (row) => (row.remaining && decimalCompare(row.remaining, "0") > 0 ? money(row.remaining, row.currency) : NOTHING)},
    {id: "due", name: "Due", kind: "text", wideOnly: true, value: (row) => row.due ?? "", cell: (row) => (row.due ? day(row.due) : NOTHING)},
    {id: "files", name: "Files", kind: "text", sort: false, acts: true, value: () => null, cell: (row) => files(row.number)}]});
  const ledger = table({title: "Ledger", label: "Entries of the ledger", name: "ledger", key: "ledger-", page, search: false, file: [{id: "currency", name: "currency", value: () => seen.statement?.currency}], empty: "No entry yet.", columns: [
    {id: "time", name: "When", kind: "time", value: (row) => row.time, cell: (row) => day(row.time), title: (row) => time(row.time, page.zone)},
    {id: "kind", name: "Kind", kind: "text", value: (row) => spaced(row.kind)},
    {id: "reference", name: "Reference", kind: "text", wideOnly: true, value: (row) => row.reference ?? "", title: (row) => row.reference, cell: (row) => (seen.numbers.has(row.reference) ? el("a", {href: to(`/billing/${row.reference}`)}, row.reference) : row.reference ?? NOTHING)},
    {id: "amount", name: "Amount", kind: "decimal", field: "amount", value: (row) => row.amount, cell: (row) => money(row.amount, seen.statement.currency)},
    {id: "balance", name: "Balance", kind: "decimal", field: "balance", value: (row) => row.balance, cell: (row) => money(row.balance, seen.statement.currency)},
    {id: "note", name: "Note", kind: "text", wide: true, wideOnly: true, value: (row) => row.note ?? ""}]});
  const credits = table({title: "Credits", name: "credits", key: "credit-", page, search: false, empty: "No credit was given.", columns: [
    {id: "time", name: "Given", kind: "time", value: (row) => row.time, cell: (row) => day(row.time)},
    {id: "reference", name: "Reference", kind: "text", value: (row) => row.reference ?? ""},
    {id: "amount", name: "Amount", kind: "decimal", field: "amount", value: (row) => row.amount, cell: (row) => money(row.amount, seen.statement.currency)},
    {id: "expires", name: "Last day", kind: "text", value: (row) => row.expires ?? "", cell: (row) => (row.expires ? day(row.expires) : "none")}]});
  const alerts = table({title: "Alerts", name: "alerts", key: "alert-", page, search: false, empty: "No alert stands.", columns: [
    {id: "alert", name: "Alert", kind: "text", value: (row) => row.alert}, {id: "kind", name: "Kind", kind: "text", value: (row) => spaced(row.kind)},
    {id: "state", name: "State", kind: "text", value: (row) => (row.cleared ? "cleared" : "raised"), cell: (row) => el("span", {class: row.cleared ? "chip" : "chip warn"}, row.cleared ? "cleared" : "raised")},
    {id: "seen", name: "Seen", kind: "decimal", field: "seen", value: (row) => row.seen}, {id: "raised", name: "Raised", kind: "time", value: (row) => row.raised, cell: (row) => time(row.raised, page.zone)}]});
  const keys = table({title: "Keys", name: "keys", key: "key-", page, search: false, sort: "-id", empty: "No key yet.", columns: [
    {id: "id", name: "No.", kind: "number", value: (row) => row.Id},
    {id: "roles", name: "Roles", kind: "text", value: (row) => row.Roles.join(", ")},
    {id: "name", name: "Name", kind: "text", value: (row) => row.Name || row.Hint, title: (row) => `begins with ${row.Hint}`, cell: (row) => row.Name || el("code", {}, `${row.Hint}…`)},
    {id: "created", name: "Made", kind: "time", value: (row) => row.Created, cell: (row) => day(row.Created), title: (row) => time(row.Created, page.zone)},
    {id: "state", name: "State", kind: "text", value: (row) => (row.Revoked ? "revoked" : "valid"), cell: (row) => el("span", {class: "chip"}, row.Revoked ? "revoked" : "valid")}]});
  const contract = panel("Contract", el("p", {class: "soft"}, "Reading …"));
  const body = el("div", {class: "view"}, links, tiles, actions ?? "", el("div", {class: "columns"}, panel("Traffic", traffic), box(zones)), box(invoices),
    box(ledger), el("div", {class: "columns"}, contract, box(credits)), el("div", {class: "columns"}, box(keys), box(alerts)));
  const missing = el("p", {class: "empty", hidden: true}, "There is no such account. ", el("a", {href: page.href("/operator/accounts", {account: null})}, "All accounts"));
  page.root.append(head, missing, body);
  page.root.dataset.account = page.params.id;

  const seen = {row: null, billing: null, forecast: null, statement: null, numbers: new Set()};
  const currency = () => seen.row?.currency ?? seen.statement?.currency ?? "";

  function drawMoney() {
    const {row, forecast, billing} = seen, amount = (value) => rounded(value, currency()).replace("\u00a0", " ");
    const tile = (name, field, value, below, warn) => el("div", {class: "tile"}, el("span", {class: "name"}, name), el("span", {class: "value"}, figure(field, value, amount(value), money(value, currency()))), below ? el("span", {class: warn ? "change worse" : "change"}, below) : null);
    if (!row) return;
    fill(tiles, row.monthToDate === null ? el("div", {class: "tile"}, el("span", {class: "name"}, "This month"), el("span", {class: "value"}, NOTHING), el("span", {class: "change worse"}, row.why))
      : tile("This month so far", "monthToDate", row.monthToDate, row.why ?? "without tax", row.why),
    forecast ? tile("At the month's end", "p50", forecast.money.net.p50, `${amount(forecast.money.net.p5)} to ${amount(forecast.money.net.p95)} in nine cases of ten`) : null,
    tile("Balance", "balance", row.balance, billing && decimalCompare(billing.AvailableBalance, billing.Balance) < 0 ? `${amount(billing.AvailableBalance)} available` : row.prepaid ? "prepaid" : "pays by invoice"),
    tile("Owed", "owed", row.owed, decimalCompare(row.overdue, "0") > 0 ? `${amount(row.overdue)} of it overdue` : "nothing overdue", decimalCompare(row.overdue, "0") > 0));
  }

  /* The account's own row of the list: its name, and its money in figures that the list shows too. */
  async function readRow() {
    const found = account ? await operation(page, "account list", {after: account - 1, limit: 1}) : {ok: true, answer: {accounts: []}};
    if (page.failed(found)) return false;
    const [row] = found.answer.accounts;
    seen.row = row?.account === account ? row : null;
    missing.hidden = Boolean(seen.row);
    body.hidden = !seen.row;
    if (!seen.row) return false;
    title.textContent = seen.row.name;
    page.title(seen.row.name);
    fill(chips, el("span", {class: "chip"}, `account ${account}`), " ", el("span", {class: "chip"}, seen.row.prepaid ? "prepaid" : "by invoice"));
    drawMoney();
    return true;
  }

  const take = (path, query, f) => page.poll(path, {seconds: 120, exact: true, query: {account, ...query}}, (answer) => {
    if (page.failed(answer)) return;
    f(answer.data);
    drawMoney();
  });

  function drawStatement() {
    if (!seen.statement) return;
    const entries = seen.statement.entries;
    ledger.set([...entries].reverse());
    credits.set(entries.filter((one) => one.kind === "credit").reverse());
  }

  async function readLists() {
    const [made, raised, declared] = await Promise.all([operation(page, "key list", {account}), operation(page, "alerts", {account}), operation(page, "catalog show", {list: "accounts", id: account})]);
    if (!page.failed(made)) keys.set(made.answer.Items);
    if (!page.failed(raised)) alerts.set(raised.answer.alerts);
    const agreed = declared.ok ? declared.answer?.document?.contract ?? declared.answer?.contract : null;
    fill(contract, el("h2", {}, "Contract"), agreed ? facts(agreed) : el("p", {class: "soft"}, declared.ok ? "None: the list prices hold." : "The catalogue declares it: an account's \"contract\"."));
  }

  function begin() {
    take("/billing/invoices", {}, (data) => {
      seen.numbers = new Set(data.invoices.map((one) => one.number));
      invoices.set(data.invoices.map((one) => ({...one, shown: stateOf(one, page.now())})));
      drawStatement();
    });
    take("/billing/statement", {format: "json"}, (data) => {
      seen.statement = data;
      drawStatement();
    });
    take("/billing", {}, (data) => { seen.billing = data; });
    take("/billing/forecast", {}, (data) => { seen.forecast = data; });
    readLists();
    update();
  }

  /* --- traffic --- */

  let asking = null, shown = "";
  function update() {
    const query = () => ({...asked(page.range()), account, top: ZONES, sort: "TotalBandwidthUsed"});
    if (!seen.row || JSON.stringify(query()) === shown) return;
    shown = JSON.stringify(query());
    asking?.abort();
    asking = new AbortController();
    page.signal.addEventListener("abort", () => asking.abort(), {signal: asking.signal});
    page.poll("/insights", {query, seconds: 60, signal: asking.signal}, (answer) => {
      if (page.failed(answer)) return;
      const {totals, previous, points, zones: found} = answer.data;
      fill(traffic, FIGURES.slice(0, 4).map((one) => el("div", {class: "tile"}, el("span", {class: "name"}, one.name),
        el("span", {class: "value"}, figure(one.total, totals[one.total], tileText(one, totals).text, tileText(one, totals).full)),
        previous ? el("span", {class: "change"}, changeText(one, totals, previous).text) : null, sparkline(sparkUntilNow(one.points(points), page.range(), page.now()), {width: 160, height: 28, label: `${one.name} over this time`}))));
      zones.set(found.items);
      if (found.total > ZONES) zones.foot(el("a", {href: to("/zones")}, `All ${count(found.total, "zone")}`));
    });
  }

  readRow().then((isThere) => { if (isThere) begin(); });
  return {update() {
    update();
    drawStatement();
  }, async again() {
    if (await readRow() && shown) readLists();
    else if (seen.row) begin();
  }};
}

/* A contract's members, in words as far as they are plain values. */
function facts(agreed) {
  const text = (value) => (value !== null && typeof value === "object" ? Object.entries(value).map(([name, one]) => `${spaced(name)} ${text(one)}`).join(", ") : String(value));
  return el("dl", {class: "facts"}, Object.entries(agreed).map(([name, value]) => [el("dt", {}, spaced(name)), el("dd", {data: {field: name, value: text(value)}}, text(value))]));
}
