import assert from "node:assert/strict";
import {test} from "node:test";

import {lateSources, reasons, sentence} from "../../server/console/js/health.js";

const DAY = 86400;
const WELL = {tollbook_writer_alive: 1, tollbook_disk_free_bytes: 9e11, tollbook_store_bytes: 1e9, tollbook_last_backup_age_seconds: DAY, tollbook_last_verify_age_seconds: 3 * DAY,
  'tollbook_newest_segment_age_seconds{kind="logs"}': 5, tollbook_writer_queue: 3, tollbook_outbox_failed: 0, tollbook_accrual_failures_total: 0,
  'tollbook_usage_up{shard="a"}': 1, 'tollbook_usage_up{shard="b"}': 1};
const ids = (change) => reasons({...WELL, ...change}).map((one) => one.id);

test("a server that is well gives no reason, and each thing that is wrong gives its own", () => {
  assert.deepEqual(ids({}), []);
  assert.match(sentence([]), /nothing is late/);
  assert.deepEqual(ids({tollbook_writer_alive: 0}), ["writer"]);
  assert.deepEqual(ids({'tollbook_usage_up{shard="b"}': 0}), ["shards"]);
  assert.deepEqual(ids({'tollbook_replica_follower_lag_seconds{name="b"}': 90}), ["replica"]);
  assert.deepEqual(ids({'tollbook_replica_follower_lag_seconds{name="b"}': 9}), []);
  assert.deepEqual(ids({tollbook_unprotected: 1}), ["unprotected"]);
  assert.deepEqual(ids({tollbook_unprotected: 0}), []);
  assert.deepEqual(ids({tollbook_disk_free_bytes: 1e8}), ["disk"]);
  assert.deepEqual(ids({tollbook_last_backup_age_seconds: 3 * DAY}), ["backup"]);
  assert.deepEqual(ids({tollbook_last_backup_age_seconds: 3 * DAY, tollbook_last_base_age_seconds: DAY}), []);
  assert.deepEqual(ids({tollbook_last_backup_age_seconds: undefined, tollbook_last_base_age_seconds: DAY}), []);
  assert.deepEqual(ids({tollbook_last_verify_age_seconds: undefined}), ["verify"]);
  assert.deepEqual(ids({'tollbook_newest_segment_age_seconds{kind="logs"}': 7200}), ["lag"]);
  assert.deepEqual(ids({'tollbook_newest_segment_age_seconds{kind="logs"}': 7200, 'tollbook_newest_segment_age_seconds{kind="buckets"}': 60}), []);
  assert.deepEqual(ids({tollbook_writer_queue: 500}), ["queue"]);
  assert.deepEqual(ids({tollbook_outbox_failed: 2}), ["outbox"]);
  assert.deepEqual(ids({tollbook_accrual_failures_total: 1}), ["accrual"]);
});

test("a server that has none of these figures has no reason by them", () => {
  assert.deepEqual(reasons({tollbook_last_backup_age_seconds: 1, tollbook_last_verify_age_seconds: 1}), []);
});

test("the reasons are one sentence, the worst first", () => {
  assert.equal(sentence(reasons({...WELL, tollbook_writer_alive: 0})), "The server cannot write.");
  assert.equal(sentence(reasons({...WELL, tollbook_last_backup_age_seconds: 3 * DAY, 'tollbook_usage_up{shard="b"}': 0, tollbook_outbox_failed: 1})),
    "1 of 2 usage servers does not answer, the database was last backed up 3 d ago and 1 message could not be sent.");
});

test("a source that sent once is not late; one that sent more often is, after an hour", () => {
  const now = Date.parse("2026-11-04T09:00:00Z");
  const sources = [{source: "file.log", segments: 1, newest: "2026-11-01T00:00:00Z"}, {source: "edge-1", segments: 9, newest: "2026-11-04T08:30:00Z"},
    {source: "edge-2", segments: 9, newest: "2026-11-04T07:59:00Z"}, {source: "edge-3", segments: 2, newest: "2026-11-03T00:00:00Z"}];
  assert.deepEqual(lateSources(sources, now).map((one) => one.source), ["edge-3", "edge-2"]);
});
