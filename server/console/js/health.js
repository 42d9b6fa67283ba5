/* What the server's own figures say of its health, in words. Pure. */

import {bytes, count, duration} from "./format.js";

const DAY = 86400, AGED = {verify: 8 * DAY, backup: 2 * DAY}; // seconds after which it is said
const LATE = 3600, BEHIND = 60;

/** What needs attention: [{id, text}], the worst first. metrics: of operator.js. */
export function reasons(metrics) {
  const found = [], value = (name) => metrics[`tollbook_${name}`], say = (id, text) => found.push({id, text});
  if (value("writer_alive") === 0) say("writer", "The server cannot write");
  const shards = Object.entries(metrics).filter(([name]) => name.startsWith("tollbook_usage_up")), down = shards.filter(([, up]) => !up);
  if (down.length) say("shards", `${down.length} of ${count(shards.length, "usage server")} ${down.length === 1 ? "does" : "do"} not answer`);
  const behind = Object.entries(metrics).filter(([name, lag]) => name.startsWith("tollbook_replica_follower_lag") && lag > BEHIND).sort((one, other) => other[1] - one[1]);
  if (behind.length) say("replica", `The copy ${behind[0][0].split('"')[1]} is ${duration(behind[0][1])} behind`);
  if (value("unprotected")) say("unprotected", "Writes are acknowledged that no standby has");
  const free = value("disk_free_bytes");
  if (free < value("store_bytes") / 5) say("disk", `Only ${bytes(free)} are free on the disk`);
  for (const [what, done] of [["backup", "backed up"], ["verify", "verified"]]) {
    const age = (what === "backup" ? ["backup", "base"] : [what]).map((one) => value(`last_${one}_age_seconds`)).reduce((a, b) => b === undefined || a < b ? a : b);
    if (age === undefined) say(what, `No ${what} was ever made`);
    else if (age > AGED[what]) say(what, `The database was last ${done} ${duration(age)} ago`);
  }
  const newest = ["logs", "buckets"].map((kind) => metrics[`tollbook_newest_segment_age_seconds{kind="${kind}"}`]).filter((age) => age !== undefined);
  if (newest.length && Math.min(...newest) > LATE) say("lag", `Nothing came in for ${duration(Math.min(...newest))}`);
  if (value("writer_queue") > 100) say("queue", `${count(value("writer_queue"), "write")} wait`);
  if (value("outbox_failed")) say("outbox", `${count(value("outbox_failed"), "message")} could not be sent`);
  if (value("accrual_failures_total")) say("accrual", "Days of prepaid accounts could not be entered");
  return found;
}

/** Sources that sent more than once and have stopped: nothing for an hour. The longest first. now: ms. */
export const lateSources = (sources, now) => sources.filter((one) => one.segments > 1 && now - Date.parse(one.newest) > LATE * 1000)
  .sort((one, other) => Date.parse(one.newest) - Date.parse(other.newest));

/** One sentence of all of it. */
export function sentence(all) {
  if (!all.length) return "The server writes, nothing is late, and backup and verify are recent.";
  const texts = all.map((one, n) => (n ? one.text[0].toLowerCase() + one.text.slice(1) : one.text));
  return `${texts.length > 1 ? `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}` : texts[0]}.`;
}
