/* What comes in, live: lines a second, what was refused, how late the newest is, and what nobody owns or prices. */

import {sparkline} from "../chart.js";
import {pageHead, panel} from "../controls.js";
import {el, figure, fill} from "../dom.js";
import {ago, bytes, bytesFull, compact, count, duration, number, time} from "../format.js";
import {metrics, operation} from "../operator.js";
import {table} from "../table.js";

const SECONDS = 5, SAMPLES = 60;

export function show(page) {
  const tiles = el("div", {class: "tiles", role: "group", "aria-label": "Intake"}), cures = panel("What needs attention"), facts = panel("Since the beginning");
  const refused = table({label: "Refused lines by reason", title: "Refused lines by reason", name: "refused", page, search: false, sort: "-lines", columns: [
    {id: "lines", name: "Lines", kind: "number", field: "lines", value: (row) => row.lines, cell: (row) => number(row.lines)},
    {id: "reason", name: "Reason", kind: "text", wide: true, value: (row) => row.reason},
    {id: "place", name: "The newest", kind: "text", value: (row) => `line ${row.line}, byte ${row.byte}`},
    {id: "text", name: "Its text", kind: "text", wide: true, value: (row) => row.text, cell: (row) => (row.text === null ? "empty, or no longer kept" : el("code", {}, row.text))}],
  empty: "No line was refused."});
  const unowned = table({label: "Usage without an account", title: "Usage without an account, this month", name: "unowned", page, key: "u-", search: false, columns: [
    {id: "what", name: "Whose", kind: "text", value: (row) => (row.zone ? `pull zone ${row.zone}` : `load balancer ${row.load_balancer}`)},
    {id: "requests", name: "Requests", kind: "number", value: (row) => row.requests, cell: (row) => number(row.requests)},
    {id: "bytes", name: "Bandwidth", kind: "number", value: (row) => row.bytes, cell: (row) => bytes(row.bytes), title: (row) => bytesFull(row.bytes)}],
  empty: "All usage of the month has an account."});
  const sources = table({label: "Sources", title: "Sources", name: "sources", page, key: "s-", search: false, sort: "-newest", columns: [
    {id: "source", name: "Source", kind: "text", value: (row) => row.source, title: (row) => row.source},
    {id: "kind", name: "Brings", kind: "text", value: (row) => (row.kind === "log" ? "request logs" : "counters, events")},
    {id: "newest", name: "Newest", kind: "time", value: (row) => row.newest, cell: (row) => ago(row.newest, page.now()), title: (row) => time(row.newest, page.zone, true)},
    ...[["accepted", "Accepted"], ["rejected", "Refused"], ["segments", "Segments"]].map(([id, name]) => (
      {id, name, kind: "number", field: id, value: (row) => row[id], cell: (row) => number(row[id])}))],
  empty: "Nothing came in yet. Take in a log: tollbook ingest --db FILE requests.log"});
  page.root.append(pageHead(page, "Intake", {beside: page.may("catalog change") ? el("a", {class: "button", href: page.href("/do/withdraw")}, "Withdraw an input") : null}), tiles, cures, el("section", {class: "panel"}, sources.node), el("section", {class: "panel"}, refused.node), el("section", {class: "panel"}, unowned.node), facts);
  let locations = [], said = null;

  async function list() {
    const answer = await operation(page, "intake");
    if (page.failed(answer)) return;
    refused.set(answer.answer.refused);
    sources.set(answer.answer.sources);
    unowned.set([...answer.answer.unowned.zones, ...answer.answer.unowned.load_balancers]);
    locations = answer.answer.unpriced;
    if (samples.length) draw(samples.at(-1).found);
  }
  const samples = [];

  const tile = (name, value, title, below) => el("div", {class: "tile", title}, el("span", {class: "name"}, name), el("span", {class: "value"}, value), below ?? null);

  function rate(id) {
    if (samples.length < 2) return null;
    const [a, b] = samples.slice(-2);
    return Math.max(0, (b.found[id] - a.found[id]) / (b.at - a.at) * 1000);
  }
  const rates = (id) => samples.slice(1).map((one, at) => Math.max(0, (one.found[id] - samples[at].found[id]) / (one.at - samples[at].at) * 1000));

  function cure(n, text, command, link) {
    return n ? el("div", {class: "notice"}, el("p", {}, text, link), command && el("pre", {tabindex: "0"}, command)) : null;
  }

  function draw(found) {
    const accepted = rate("tollbook_store_lines_accepted"), rejected = rate("tollbook_store_lines_rejected");
    const age = (kind) => found[`tollbook_newest_segment_age_seconds{kind="${kind}"}`];
    fill(tiles,
      tile("Lines a second", accepted === null ? "…" : compact(Math.round(accepted * 10) / 10), "of the last 5 seconds, logs and counters", sparkline(rates("tollbook_store_lines_accepted"))),
      tile("Refused", rejected === null ? "…" : compact(Math.round(rejected * 10) / 10), "of the last 5 seconds"),
      tile("Newest log", age("logs") === undefined ? "none" : duration(age("logs")), "since something new of a request log was stored"),
      tile("Newest counters", age("buckets") === undefined ? "none" : duration(age("buckets")), "since something new of the import format was stored"),
      tile("Newest hour", found.tollbook_newest_bucket_age_seconds === undefined ? "none" : duration(found.tollbook_newest_bucket_age_seconds), "since the newest hour with usage began"),
      tile("Bodies queued", figure("tollbook_intake_queue", found.tollbook_intake_queue, number(found.tollbook_intake_queue))),
      tile("Writes queued", figure("tollbook_writer_queue", found.tollbook_writer_queue, number(found.tollbook_writer_queue))));
    const list = [
      cure(found.tollbook_unassigned_zones, `${count(found.tollbook_unassigned_zones, "pull zone")} with usage and without an account: it is not billed. Declare it in the catalogue; it is listed below.`,
        "tollbook apply --db FILE catalog.json"),
      cure(found.tollbook_unpriced_locations, `${count(found.tollbook_unpriced_locations, "edge location")} that no region names: the usage there has no price. Give the location a region in the catalogue${locations.length ? `: ${locations.join(", ")}` : ""}.`,
        "tollbook apply --db FILE catalog.json"),
      cure(found.tollbook_store_lines_rejected, `${count(found.tollbook_store_lines_rejected, "line")} refused so far, listed below by reason. Another format is chosen with --format. `,
        null, el("a", {href: page.href("/logs", {tab: "refused", last: "3d"})}, "The lines of the last 72 hours")),
    ].filter(Boolean);
    const says = list.map((one) => one.textContent).join("\n"); // a command that is being copied stays where it is
    if (says !== said) fill(cures, el("h2", {}, "What needs attention"), list.length ? list : el("p", {}, "Nothing: every zone has an account, every location a region, no line was refused."));
    said = says;
    const fact = (name, id) => [el("dt", {}, name), el("dd", {}, figure(id, found[id], number(found[id])))];
    fill(facts, el("h2", {}, "Since the beginning"), el("dl", {class: "facts"}, fact("Lines accepted", "tollbook_store_lines_accepted"),
      fact("Lines refused", "tollbook_store_lines_rejected"), fact("Segments of inputs", "tollbook_store_segments"), fact("Pull zones", "tollbook_zones")));
  }

  page.poll("/metrics", {seconds: SECONDS, accept: "text/plain"}, (answer) => {
    if (page.failed(answer)) return;
    const found = metrics(answer.data);
    samples.push({at: page.now(), found});
    if (samples.length > SAMPLES) samples.shift();
    draw(found);
    if (samples.length < 2 || rate("tollbook_store_segments")) list();
  });
  return {again: list};
}
