import assert from "node:assert/strict";
import {test} from "node:test";
import {longList} from "../../server/console/js/long-list.js";

/* Five rows, two a page; say(answer) changes what is answered. */
function made(change = (answer) => answer) {
  const asked = [], said = [], shown = [];
  const page = {signal: new AbortController().signal, failed: (answer) => {
    if (!answer.ok) said.push(answer.message);
    return !answer.ok;
  }};
  const ask = async (number, signal) => {
    asked.push(number);
    const items = [1, 2, 3, 4, 5].slice(2 * number - 2, 2 * number).map((id) => ({id}));
    const answer = await change({ok: true, total: 5, page: number, items}, number);
    return signal?.aborted ? {ok: false, cancelled: true, message: ""} : answer;
  };
  const list = longList({page, size: 2, what: "things", ask, part: (answer) => answer, shown: (rows) => shown.push(rows && rows.map((row) => row?.id ?? null))});
  list.isOther("a");
  list.begin();
  return {list, asked, said, shown};
}
const settled = () => new Promise((done) => setImmediate(done));

test("pages are read once, where they come into sight", async () => {
  const {list, asked, shown} = made();
  await list.first();
  assert.deepEqual(shown, [[1, 2, null, null, null]]);
  list.want(3, 5);
  list.want(2, 5);
  await settled();
  assert.deepEqual([asked, shown.at(-1)], [[1, 2, 3], [1, 2, 3, 4, 5]]);
  list.age();
  list.want(0, 2);
  assert.deepEqual([asked, shown.at(-1)], [[1, 2, 3, 1], [1, 2, 3, 4, 5]]);
});

test("what answers another question is not shown", async () => {
  const {list, shown} = made();
  const late = list.first();
  assert.equal(list.isOther("a"), false);
  assert.equal(list.isOther("b"), true);
  await late;
  assert.deepEqual([shown, list.rows], [[], []]);
});

test("rows of another question do not stand under its refusal", async () => {
  let isRefused = false;
  const {list, shown} = made((answer) => (isRefused ? {ok: false, message: "No."} : answer));
  await list.first();
  isRefused = true;
  await list.first();
  assert.deepEqual(shown, [[1, 2, null, null, null]]); // the same question: what was read of it stays
  list.isOther("b");
  await list.first();
  assert.deepEqual(shown.at(-1), null);
});

test("begin() calls off what is under way", async () => {
  const {list, shown, said} = made();
  const late = list.first();
  list.begin();
  await late;
  assert.deepEqual(shown, []);
  assert.deepEqual(said, [""]); // page.failed() leaves out what was called off
});

test("a file has all rows or is not made", async () => {
  const {list} = made();
  await list.first();
  assert.deepEqual((await list.all()).map((row) => row.id), [1, 2, 3, 4, 5]);
  const broken = made((answer, number) => (number === 3 ? {ok: false, message: "Busy."} : answer));
  await broken.list.first();
  assert.equal(await broken.list.all(), null);
  assert.deepEqual(broken.said, ["Busy. No file was made: save it again."]);
});

test("a file asked for before anything is here has all rows", async () => {
  const {list, asked} = made();
  const shares = [];
  assert.deepEqual((await list.all((share) => shares.push(share))).map((row) => row.id), [1, 2, 3, 4, 5]);
  assert.deepEqual(asked, [1, 2, 3]);
  assert.deepEqual(shares, [1 - 4 / 5, 1]);
});

test("a file of what has changed meanwhile is not made", async () => {
  let turn = () => {};
  const {list, said} = made(async (answer, number) => {
    if (number === 2) turn();
    return answer;
  });
  turn = () => list.isOther("b");
  await list.first();
  assert.equal(await list.all(), null);
  assert.deepEqual(said, ["The things changed while they were read. No file was made: save it again."]);
});
