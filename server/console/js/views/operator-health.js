/* The server and its file: disk, log, queues, when it was last verified and backed up; what holds the space; who
 * changed what. */

import {pageHead, panel} from "../controls.js";
import {el, figure, fill} from "../dom.js";
import {bytes, bytesFull, duration, number, time} from "../format.js";
import {metrics, operation, sentences, working} from "../operator.js";
import {table} from "../table.js";

const AGED = {verify: 8 * 86400, backup: 2 * 86400}; // seconds after which it is said

export function show(page) {
  const server = panel("The server"), file = panel("The database"), checked = el("div", {role: "status"}), chosen = el("div");
  const verify = el("button", {type: "button", onclick: check}, "Verify now");
  const sizes = table({label: "What takes the space", title: "What takes the space", name: "sizes", page, key: "size-", search: false, sort: "-bytes", columns: [
    {id: "what", name: "What", kind: "text", value: (row) => row.what},
    {id: "bytes", name: "Size", kind: "number", field: "bytes", value: (row) => row.bytes, cell: (row) => bytes(row.bytes), title: (row) => bytesFull(row.bytes)}]});
  const audit = table({label: "Audit log", title: "Audit log", name: "audit", page, sort: "-id", columns: [
    {id: "id", name: "No.", kind: "number", value: (row) => row.id},
    {id: "time", name: "When", kind: "time", value: (row) => row.time, cell: (row) => time(row.time, page.zone)},
    {id: "key", name: "Key", kind: "number", value: (row) => row.key || null, title: (row) => (row.key ? "" : "none: the command line")},
    {id: "origin", name: "From", kind: "text", value: (row) => row.origin || null},
    {id: "operation", name: "What", kind: "text", value: (row) => row.operation},
    {id: "arguments", name: "With", kind: "text", wide: true, value: (row) => (typeof row.arguments === "string" ? row.arguments : JSON.stringify(row.arguments))}],
  empty: "Nothing was changed yet."});
  page.root.append(pageHead(page, "Health", {beside: verify}), checked, el("div", {class: "columns"},
    el("div", {class: "view"}, server, file), el("section", {class: "panel"}, sizes.node)), el("section", {class: "panel"}, chosen, audit.node));

  const fact = (name, id, value, text, warn) => [el("dt", {}, name), el("dd", {}, warn ? el("span", {class: "chip warn"}, figure(id, value, text)) : figure(id, value, text))];
  const since = (found, id, most, what) => fact(`Last ${what}`, id, found[id], found[id] === undefined ? `never: tollbook ${what} --db FILE` : `${duration(found[id])} ago`,
    found[id] === undefined || found[id] > most);

  const AS_TEXT = {accept: "text/plain"};
  page.poll("/metrics", {seconds: 10, ...AS_TEXT}, draw);

  function draw(answer) {
    if (page.failed(answer)) return;
    const found = metrics(answer.data), free = found.tollbook_disk_free_bytes, held = found.tollbook_store_bytes;
    const connections = Object.entries(found).filter(([name]) => name.startsWith("tollbook_connections{")).reduce((sum, [, n]) => sum + n, 0);
    fill(server, el("h2", {}, "The server"), el("dl", {class: "facts"},
      fact("Version", "version", page.session.version, page.session.version),
      fact("Runs for", "process_start_time_seconds", found.process_start_time_seconds, duration(Date.now() / 1000 - found.process_start_time_seconds)),
      fact("Writer", "tollbook_writer_alive", found.tollbook_writer_alive, found.tollbook_writer_alive ? "at work" : "cannot write: see the server's messages", !found.tollbook_writer_alive),
      fact("Writes queued", "tollbook_writer_queue", found.tollbook_writer_queue, number(found.tollbook_writer_queue)),
      fact("Connections", "tollbook_connections", connections, number(connections)),
      fact("Memory", "process_resident_memory_bytes", found.process_resident_memory_bytes, bytes(found.process_resident_memory_bytes)),
      fact("Messages to be sent", "tollbook_outbox_waiting", found.tollbook_outbox_waiting, found.tollbook_outbox_waiting === undefined ? "none are sent" : number(found.tollbook_outbox_waiting))));
    const role = Object.keys(found).find((name) => name.startsWith("tollbook_replica_role"))?.split('"')[1];
    const lags = Object.entries(found).filter(([name]) => name.startsWith("tollbook_replica_follower_lag")).map(([name, lag]) => `${name.split('"')[1]} ${lag < 1 ? "is up to date" : `is ${duration(lag)} behind`}`);
    fill(file, el("h2", {}, "The database"), el("dl", {class: "facts"},
      fact("Size", "tollbook_store_bytes", held, bytes(held)),
      fact("Write-ahead log", "tollbook_wal_bytes", found.tollbook_wal_bytes, bytes(found.tollbook_wal_bytes)),
      fact("Free on the disk", "tollbook_disk_free_bytes", free, bytes(free), free < held / 5),
      role ? fact("Replication", "tollbook_replica_piece", found.tollbook_replica_piece, `${role}, piece ${number(found.tollbook_replica_piece)}; ${lags.join(", ") || "nobody follows"}${found.tollbook_unprotected ? "; writes wait for no standby" : ""}`, found.tollbook_unprotected) : null,
      since(found, "tollbook_last_verify_age_seconds", AGED.verify, "verify"),
      found.tollbook_last_base_age_seconds === undefined || found.tollbook_last_backup_age_seconds ? since(found, "tollbook_last_backup_age_seconds", AGED.backup, "backup") : null,
      found.tollbook_last_base_age_seconds === undefined ? null : since(found, "tollbook_last_base_age_seconds", AGED.backup, "base")));
  }

  async function check() {
    verify.disabled = true;
    const work = working(page, "Everything stored is summed and rated again …");
    fill(checked, work.node);
    const answer = await operation(page, "verify", {}, {signal: work.signal});
    verify.disabled = false;
    checked.replaceChildren();
    if (page.failed(answer)) return;
    const found = answer.answer?.differences ?? [];
    const verdict = answer.no ? "Stored figures differ from what they are made of. Keep the file and see docs/operate/backup.md, \"What verify finds\"."
      : "No differences.";
    fill(checked, el("div", {class: "notice"}, el("p", {}, verdict), found.length ? el("pre", {tabindex: "0"}, found.join("\n")) : null,
      sentences(answer.answer?.notes ?? []), sentences(answer.said)));
    if (!answer.no) draw(await page.get("/metrics", AS_TEXT));
  }

  async function read() {
    const [size, log] = await Promise.all([operation(page, "size"), operation(page, "audit")]);
    if (page.failed(size) || page.failed(log)) return;
    sizes.set(size.answer.sizes);
    const entry = page.query.get("entry"), one = log.answer.entries.filter((row) => String(row.id) === entry);
    audit.set(one.length ? one : log.answer.entries);
    fill(chosen, one.length ? el("p", {class: "notice"}, `Entry ${entry} of the audit log. `, el("a", {href: page.href("/operator/health")}, "Show all")) : "");
    if (one.length) chosen.scrollIntoView();
  }

  read();
  return {again: read};
}
