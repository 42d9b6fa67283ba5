/* One page of traffic: the board, regions, top zones. */

import {board, changeColumn, serverSort, sparkColumn, trafficColumns} from "../board.js";
import {pageHead} from "../controls.js";
import {el, fill} from "../dom.js";
import {table} from "../table.js";

const TOP = 10;

export function show(page) {
  const regions = table({title: "Regions", name: "regions", key: "region-", page, search: false, sort: "-TotalBandwidthUsed",
    empty: "No region had traffic in this time.", rowData: (row) => ({region: row.id}),
    columns: [{id: "name", name: "Region", kind: "text", value: (row) => row.name ?? row.id, title: () => "Show this region alone",
      cell: (row) => el("a", {href: page.href("/overview", {region: row.id, show: page.query.get("show")})}, row.name ?? row.id)}, ...trafficColumns(["TotalRequestsServed", "TotalBandwidthUsed"]), changeColumn("TotalBandwidthUsed", (row, why) => page.href("/overview", {...why, region: row.id, show: page.query.get("show")})), ...trafficColumns(["CacheHitRate"])]});
  const zones = table({title: "Top zones", name: "top-zones", key: "top-", page, search: false, sort: "-TotalRequestsServed", onsort: () => {}, rowData: (row) => ({zone: row.id}),
    empty: "No zone yet. Your provider adds zones to this account.",
    columns: [{id: "name", name: "Zone", kind: "text", value: (row) => row.name, title: (row) => row.name,
      cell: (row) => el("a", {href: page.href(`/zones/${row.id}`)}, row.name)}, sparkColumn(page), ...trafficColumns(["TotalRequestsServed"]), changeColumn("TotalRequestsServed", (row, why) => page.href(`/zones/${row.id}`, {...why, region: page.query.get("region")})), ...trafficColumns(["TotalBandwidthUsed"])]});
  const filter = el("span", {});
  const below = el("div", {class: "columns"}, el("section", {class: "panel"}, regions.node), el("section", {class: "panel"}, zones.node));
  const traffic = board(page, {below: [below], query: () => ({top: TOP, sort: serverSort(page.query.get("top-sort"), page.range()), region: page.query.get("region")}), hint, f(data) {
    const region = page.query.get("region");
    fill(filter, region ? el("span", {class: "chip on"}, `only ${data.regions.find((one) => one.id === region)?.name ?? region}`,
      el("button", {type: "button", "aria-label": "All regions", title: "All regions", onclick: () => page.set({region: null})}, "×")) : null);
    regions.set(data.regions);
    zones.set(data.zones.items);
    if (data.zones.total > TOP) zones.foot(el("a", {href: page.href("/zones")}, `All ${data.zones.total} zones`));
  }});
  page.root.append(pageHead(page, "Overview", {range: true, beside: filter}), traffic.node);
  traffic.update();
  return {update: traffic.update};
}

function hint(data) {
  return data.zones.total === 0
    ? "No zone yet. Your provider adds zones to this account; their traffic appears here."
    : "No traffic in this time. Choose a longer time.";
}
