/* The operator's pure functions: Prometheus' text, places in documents, months. */
import assert from "node:assert/strict";
import test from "node:test";

import {accountSort, metrics, monthBeside, operation, place} from "../../server/console/js/operator.js";

test("Prometheus' text becomes numbers by name", () => {
  const found = metrics("# HELP a b\na 1\nb_total{x=\"y z\"} 2.5e3\nc -4\nnonsense\nd NaN\n");
  assert.deepEqual(found, {a: 1, 'b_total{x="y z"}': 2500, c: -4});
});

test("a place is where the error says, counted in bytes and shown in characters", () => {
  const text = "{\"a\": \"äö\",\n \"b\": x}";
  const byte = new TextEncoder().encode(text.slice(0, text.indexOf("x"))).length + 1;
  assert.deepEqual(place(`Byte ${byte}: b: not a number`, text), {line: 2, start: text.indexOf("x"), end: text.indexOf("x") + 1});
  assert.deepEqual(place(`Line 2, byte ${byte}: b: not a number`, text), {line: 2, start: text.indexOf("x"), end: text.indexOf("x") + 1});
  assert.deepEqual(place("Line 2, byte 7: no", text), {line: 2, start: 12, end: text.length});
  assert.deepEqual(place("Line 9: no", text).line, 9);
  assert.equal(place("It is missing.", text), null);
  assert.equal(place("Byte 999999: no", text).end, text.length);
});

test("months step over years", () => {
  assert.equal(monthBeside("2026-01", -1), "2025-12");
  assert.equal(monthBeside("2026-12", 1), "2027-01");
  assert.equal(monthBeside("2026-11", 0), "2026-11");
});

test("an address says how accounts are sorted", () => {
  assert.deepEqual(accountSort(null), {sort: "account"});
  assert.deepEqual(accountSort("name"), {sort: "name"});
  assert.deepEqual(accountSort("-monthToDate"), {sort: "monthToDate", descending: true});
  assert.deepEqual(accountSort("-forecast"), {sort: "account"});
});

function asked(replies) {
  const calls = [];
  return {calls, post: async (path, body, options) => {
    calls.push({path, body, query: options.query});
    return replies.shift();
  }};
}
const reply = (said, next = "", more = {}) => ({ok: true, data: {answer: null, out: said, said: [said], no: false, next, ...more}});

test("a long operation is asked again with its next until it is done", async () => {
  const page = asked([reply("one", "n1"), reply("two", "n2"), reply("three", "", {answer: {a: 1}, no: true})]);
  const steps = [];
  const whole = await operation(page, "book activate", {book: "b"}, {step: (n, data) => { steps.push([n, data.out]); }});
  assert.deepEqual(page.calls.map((call) => call.body), [{book: "b"}, {book: "b", next: "n1"}, {book: "b", next: "n2"}]);
  assert.equal(page.calls[0].path, "/operations/book-activate");
  assert.equal(whole.path, "/operations/book-activate"); // an error under this path is over
  assert.deepEqual([whole.out, whole.said, whole.answer, whole.no, steps], ["onetwothree", ["one", "two", "three"], {a: 1}, true, [[1, "one"], [2, "two"], [3, "three"]]]);
});

test("it stops where it is told to, and at an error", async () => {
  const page = asked([reply("one", "n1"), reply("two", "n2")]);
  const stopped = await operation(page, "invoice", {}, {step: (n) => n < 2});
  assert.deepEqual([stopped.stopped, page.calls.length], [true, 2]);
  const broken = asked([reply("one", "n1"), {ok: false, status: 503, message: "busy"}]);
  assert.equal((await operation(broken, "invoice")).message, "busy");
});

test("a document goes into the body and the arguments into the address", async () => {
  const page = asked([reply("one")]);
  await operation(page, "book add", {shadow: true}, {body: "{}"});
  assert.deepEqual(page.calls[0], {path: "/operations/book-add", body: "{}", query: {shadow: true}});
});
