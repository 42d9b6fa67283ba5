/* Takes an input back: the same bytes again, with the options with which they were taken in. What it takes off is shown first. */

import {pageHead} from "../controls.js";
import {el} from "../dom.js";
import {formView, outcomeView, placeOf} from "../form.js";
import {count, number} from "../format.js";

const FIELDS = [
  {name: "kind", label: "What it is", kind: "text", required: true, choices: ["request logs", "counters"], initial: "request logs"},
  {name: "file", label: "The input", kind: "file", required: true, help: "the same file, byte by byte; it may be compressed. At most 64 MiB: a larger one is withdrawn with the command line"},
  {name: "format", label: "Format", kind: "text", help: "of the lines, as it was given then: pipe, combined, vcombined, cloudfront, json; default: pipe"},
  {name: "zone", label: "Pull zone", kind: "text", help: "if one was given"},
  {name: "region", label: "Edge location", kind: "text", help: "if one was given"},
  {name: "map", label: "Map", kind: "text", more: true, help: "of JSON lines, as it was given then"},
  {name: "batch", label: "Batch id", kind: "text", more: true, help: "the Idempotency-Key with which it was sent"}];

export function showWithdrawal(page, form) {
  const outcome = outcomeView(page), view = formView(page, FIELDS.map((one) => ({...one, initial: page.query.get(one.name) ?? one.initial ?? ""})), {submit: "Preview", onsubmit: preview, onchange: outcome.clear});
  page.root.append(pageHead(page, form.title, {above: el("a", {class: "soft", href: page.href("/do")}, "Changes")}),
    el("p", {class: "soft do-says"}, "Its usage, its refused lines and its kept log lines are taken off again. Stop whatever would send it again first. A month that is final stays: the next invoice credits it."),
    el("div", {class: "beside"}, el("div", {class: "view"}, el("section", {class: "panel"}, view.node)), el("div", {class: "view"}, outcome.node)));

  function ask(values, file, isDry) {
    const isLog = values.kind === "request logs", {format, zone, region, map} = values;
    return page.send("POST", isLog ? "/ingest/logs/withdraw" : "/ingest/buckets/withdraw", {body: file, type: "application/octet-stream",
      query: {...(isLog ? {format, zone, region, map} : {}), source: file.name.slice(0, 200), dryRun: isDry || null}, headers: values.batch ? {"Idempotency-Key": values.batch} : {}});
  }

  function wrong(answer) {
    const name = placeOf(answer.field === "Idempotency-Key" ? "batch" : answer.field, view.names);
    if (name) view.wrong({[name]: answer.message});
    else page.failed(answer);
    outcome.clear();
  }

  const facts = (found) => el("dl", {class: "facts"}, [["Segments", found.segments], ["Lines", found.lines], ["of them counted", found.accepted], ["of them refused", found.rejected],
    ["Kept log lines", found.keptLines], ["Shield events, which stay", found.events]].map(([name, value]) => [el("dt", {}, name), el("dd", {}, `${number(value)}${found.more ? " at least" : ""}`)]));

  async function preview() {
    const values = await view.values(), file = view.input("file").files[0];
    view.wrong(file ? {} : {file: "This is needed."});
    page.failed({ok: true, path: "/ingest/logs/withdraw"});
    page.failed({ok: true, path: "/ingest/buckets/withdraw"});
    if (!file) return;
    outcome.wait("Reading it …");
    const answer = await ask(values, file, true);
    if (!answer.ok) return wrong(answer);
    if (!answer.data.segments) return outcome.refused(el("p", {}, answer.data.named ? `These bytes came as ${count(answer.data.named, "segment")} of the batch ${answer.data.batch}: give its id.`
      : "These bytes are not known: they were never taken in, or with other options, or are withdrawn already."));
    outcome.preview([facts(answer.data), answer.data.maxima.length ? el("p", {class: "soft"}, `Of ${answer.data.maxima.join(", ")} the largest value alone is kept: it stays.`) : null], form.does, () => run(values, file));
  }

  async function run(values, file) {
    const answer = await ask(values, file, false);
    if (!answer.ok) {
      wrong(answer);
      return false;
    }
    outcome.done({said: [`${count(answer.data.lines, "line")} withdrawn.`], entry: answer.data.entry ?? null},
      [facts(answer.data), el("p", {class: "soft"}, "To take it back, take the same input in again."), el("p", {}, el("a", {href: page.href("/operator/intake")}, "Intake"))]);
    return true;
  }
}
