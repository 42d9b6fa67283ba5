/* All zones: searched and sorted by the server, read page by page as they come into sight. */

import {sparkColumn, trafficColumns} from "../board.js";
import {pageHead} from "../controls.js";
import {el} from "../dom.js";
import {money} from "../format.js";
import {rounded} from "../money.js";
import {pagesOf} from "../pages.js";
import {ask as asked} from "../range.js";
import {table} from "../table.js";

const PAGE = 100;

export function show(page) {
  const charges = new Map();
  let currency = "";
  const columns = [
    {id: "name", name: "Zone", kind: "text", value: (row) => row.name, title: (row) => row.name,
      cell: (row) => [el("a", {href: page.href(`/zones/${row.id}`)}, row.name), row.deleted ? el("span", {class: "chip"}, "deleted") : ""]},
    {id: "id", name: "Id", kind: "number", sort: false, wideOnly: true, value: (row) => row.id},
    sparkColumn(page), ...trafficColumns(["TotalRequestsServed", "TotalBandwidthUsed"]),
    ...(page.offers("billing") && page.session.account ? [{id: "MonthlyUsage", name: "This month", kind: "decimal", sort: false, field: "MonthlyUsage",
      value: (row) => charges.get(Number(row.id)), cell: (row) => rounded(charges.get(Number(row.id)), currency),
      title: (row) => `${money(charges.get(Number(row.id)), currency)}: charges of the running month before tax`}] : []),
    ...trafficColumns(["CacheHitRate", "Errors5xx", "Errors4xx", "AverageOriginResponseTime"]),
  ];
  const t = table({label: "Zones", name: "zones", page, columns, rowData: (row) => ({zone: row.id}), sort: "-TotalRequestsServed",
    onsort: () => {}, onsearch: () => {}, want, all, tall: true, empty: "No zone here. Declare one: tollbook apply --db FILE catalog.json"});
  page.root.append(pageHead(page, "Zones", {range: true}), el("section", {class: "panel"}, t.node));

  const list = pagesOf(PAGE);
  let question = "", asking = null, wanted = new Set();
  const query = (number) => ({...asked(page.range()), account: page.account, compare: "none", top: PAGE, page: number, search: page.query.get("search"), sort: serverSort(page.query.get("sort"))});

  function take(answer) {
    if (page.failed(answer)) return;
    const {total, page: number, items} = answer.data.zones;
    list.take(total, number, items);
    t.set(list.rows);
  }

  function want(first, end) {
    for (const number of list.missing(first, end)) {
      if (wanted.has(number)) continue;
      wanted.add(number);
      const mine = asking, then = wanted;
      page.get("/insights", {query: query(number), signal: mine.signal}).then((answer) => {
        then.delete(number);
        if (then === wanted) take(answer);
      });
    }
  }

  /* Every row, for a file; null where they cannot be read: a file that lacks some would not say so. */
  async function all() {
    const mine = question, noFile = (answer) => {
      page.failed({...answer, ok: false, lost: false, message: `${answer.message} No file was made: save it again.`});
      return null;
    };
    let left = 2 * Math.ceil(list.rows.length / PAGE) + 2; // zones that come and go while they are read
    for (let missing; (missing = list.missing(0, list.rows.length)).length; left--) {
      const answer = await page.get("/insights", {query: query(missing[0])});
      if (answer.cancelled) return null;
      if (!answer.ok) return noFile(answer);
      if (mine !== question || left === 0) return noFile({...answer, message: "The zones changed while they were read."});
      take(answer);
    }
    return list.rows;
  }

  /* What the clock has moved on is another question: rows of the old one go. */
  function moving() {
    const text = JSON.stringify(query(1));
    if (text !== question) {
      question = text;
      list.clear();
      wanted = new Set();
    }
    return query(1);
  }

  function update() {
    if (!page.account) return t.say("Give an account's number above, or choose one under Accounts.");
    if (JSON.stringify(query(1)) === question) return t.set(list.rows);
    asking?.abort();
    asking = new AbortController();
    page.signal.addEventListener("abort", () => asking.abort(), {signal: asking.signal});
    page.poll("/insights", {query: moving, seconds: 60, signal: asking.signal}, (answer) => {
      if (answer.ok) { // the first page has changed: so may have the others
        list.age();
        wanted = new Set();
      }
      take(answer);
    });
  }

  if (page.offers("billing") && page.session.account) {
    page.poll("/billing/summary", {seconds: 300, exact: true}, (answer) => {
      if (!answer.ok) return;
      for (const one of answer.data) charges.set(Number(one.PullZoneId), one.MonthlyUsage);
      t.set(list.rows);
    });
    if (page.session.role.startsWith("User")) page.get("/user").then((answer) => {
      if (!answer.ok) return;
      currency = answer.data.Currency;
      t.set(list.rows);
    });
  }
  update();
  return {update};
}

/* The page writes "-field" for the largest first; the API's order is that without a "-". */
function serverSort(text) {
  const descending = (text ?? "-TotalRequestsServed").startsWith("-"), field = (text ?? "TotalRequestsServed").replace(/^-/, "");
  return descending === (field === "name") ? `-${field}` : field;
}
