import assert from "node:assert/strict";
import test from "node:test";

import {merged, parseCsv, unseen} from "../../server/console/js/stream.js";

const time = (row) => row.t;
const row = (t, name) => ({t, name});

test("of a newer page only what is new is added, and rows that are equal count each", () => {
  const shown = [row(5, "b"), row(5, "a"), row(3, "x")];
  const coming = [row(6, "c"), row(5, "a"), row(5, "a"), row(5, "b")];
  const added = unseen(shown, coming, time);
  assert.deepEqual(added, [row(6, "c"), row(5, "a")]);
  assert.deepEqual(merged(shown, added, time), [row(6, "c"), row(5, "a"), row(5, "b"), row(5, "a"), row(3, "x")]);
});

test("a row that comes late takes its place", () => {
  const shown = [row(9, "a"), row(5, "b"), row(1, "c")];
  assert.deepEqual(merged(shown, unseen(shown, [row(9, "a"), row(7, "late"), row(5, "b")], time), time).map((one) => one.t), [9, 7, 5, 1]);
  assert.deepEqual(unseen(shown, [], time), []);
  assert.deepEqual(unseen([], [row(1, "a")], time), [row(1, "a")]);
});

test("CSV with commas, quotes, line ends and guarded cells", () => {
  const text = 'time,url,ua\r\n1,"a,""b""\r\nc",\'=cmd\r\n2,,\'kept\r\n';
  assert.deepEqual(parseCsv(text), [{time: "1", url: 'a,"b"\r\nc', ua: "=cmd"}, {time: "2", url: "", ua: "'kept"}]);
  assert.deepEqual(parseCsv("a,b\r\n' =1,'\uff1d1"), [{a: " =1", b: "\uff1d1"}]);
  assert.deepEqual(parseCsv("time,url\r\n"), []);
  assert.deepEqual(parseCsv("a,b\n1,2"), [{a: "1", b: "2"}]);
});
