/* All zones: searched and sorted by the server, read page by page as they come into sight. */

import {sparkColumn, trafficColumns} from "../board.js";
import {pageHead} from "../controls.js";
import {el} from "../dom.js";
import {money, rounded} from "../format.js";
import {ask as asked} from "../range.js";
import {table} from "../table.js";

const PAGE = 100;

export function show(page) {
  const charges = new Map();
  const columns = [
    {id: "name", name: "Zone", kind: "text", value: (row) => row.name, title: (row) => row.name,
      cell: (row) => [el("a", {href: page.href(`/zones/${row.id}`)}, row.name), row.deleted ? el("span", {class: "chip"}, "deleted") : ""]},
    {id: "id", name: "Id", kind: "number", sort: false, wideOnly: true, value: (row) => row.id},
    sparkColumn, ...trafficColumns(["TotalRequestsServed", "TotalBandwidthUsed"]),
    ...(page.offers("billing") && page.session.account ? [{id: "MonthlyUsage", name: "This month", kind: "decimal", sort: false, field: "MonthlyUsage",
      value: (row) => charges.get(Number(row.id)), cell: (row) => money(rounded(charges.get(Number(row.id)))),
      title: (row) => `${money(charges.get(Number(row.id)))}: charges of the running month before tax`}] : []),
    ...trafficColumns(["CacheHitRate", "Errors5xx", "Errors4xx", "AverageOriginResponseTime"]),
  ];
  const t = table({label: "Zones", name: "zones", page, columns, rowData: (row) => ({zone: row.id}), sort: "-TotalRequestsServed",
    onsort: () => {}, onsearch: () => {}, want, all, tall: true, empty: "No zone here. Declare one: tollbook apply --db FILE catalog.json"});
  page.root.append(pageHead(page, "Zones", {range: true}), el("section", {class: "panel"}, t.node));

  let rows = [], question = "", asking = null, wanted = new Set();
  const query = (number) => ({...asked(page.range()), account: page.account, compare: "none", top: PAGE, page: number, search: page.query.get("search"), sort: serverSort(page.query.get("sort"))});

  function take(answer) {
    if (page.failed(answer)) return;
    const {total, page: number, items} = answer.data.zones;
    if (rows.length !== total) rows = Array.from({length: total}, (_, n) => rows[n] ?? null);
    rows.splice((number - 1) * PAGE, items.length, ...items);
    t.set(rows);
  }

  function want(first, end) {
    for (let number = Math.floor(first / PAGE) + 1; number <= Math.floor(Math.max(first, end - 1) / PAGE) + 1; number++) {
      if (wanted.has(number) || rows.slice((number - 1) * PAGE, number * PAGE).every((row) => row)) continue;
      wanted.add(number);
      const mine = asking;
      page.get("/insights", {query: query(number), signal: mine.signal}).then((answer) => {
        if (mine !== asking) return;
        wanted.delete(number);
        if (answer.ok) take(answer);
        else page.failed(answer);
      });
    }
  }

  async function all() {
    for (let number = 1; (number - 1) * PAGE < rows.length; number++) {
      if (rows.slice((number - 1) * PAGE, number * PAGE).every((row) => row)) continue;
      const answer = await page.get("/insights", {query: query(number)});
      if (!answer.ok) break;
      take(answer);
    }
    return rows.filter((row) => row);
  }

  function update() {
    if (!page.account) return t.say("Give an account's number above, or choose one under Accounts.");
    const next = JSON.stringify(query(1));
    if (next === question) return t.set(rows);
    question = next;
    asking?.abort();
    asking = new AbortController();
    wanted = new Set();
    page.signal.addEventListener("abort", () => asking.abort(), {signal: asking.signal});
    let isFirst = true;
    page.poll("/insights", {query: query(1), seconds: 60, signal: asking.signal}, (answer) => {
      if (isFirst && answer.ok) rows = [];
      isFirst = false;
      take(answer);
    });
  }

  if (page.offers("billing") && page.session.account) {
    page.poll("/billing/summary", {seconds: 300, exact: true}, (answer) => {
      if (!answer.ok) return;
      for (const one of answer.data) charges.set(Number(one.PullZoneId), one.MonthlyUsage);
      t.set(rows);
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
