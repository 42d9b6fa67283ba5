import assert from "node:assert/strict";
import {test} from "node:test";
import {pagesOf} from "../../server/console/js/pages.js";

const items = (...ids) => ids.map((id) => ({id}));
const ids = (list) => list.rows.map((row) => row?.id ?? null);

test("pages are read where they are missing", () => {
  const list = pagesOf(2);
  list.take(5, 1, items(1, 2));
  assert.deepEqual([ids(list), list.missing(0, 5), list.missing(0, 2)], [[1, 2, null, null, null], [2, 3], []]);
  list.take(5, 3, items(5));
  assert.deepEqual(list.missing(0, 100), [2]);
  list.take(5, 2, items(3, 4));
  assert.deepEqual([ids(list), list.missing(0, 5)], [[1, 2, 3, 4, 5], []]);
});

test("a zone that moved to another page is there once", () => {
  const list = pagesOf(2);
  list.take(4, 1, items(1, 2));
  list.take(4, 2, items(2, 3));
  assert.deepEqual([ids(list), list.missing(0, 4)], [[1, null, 2, 3], [1]]);
});

test("when the first page changes, the others are read again; until then they stand", () => {
  const list = pagesOf(2);
  list.take(4, 1, items(1, 2));
  list.take(4, 2, items(3, 4));
  list.age();
  list.take(3, 1, items(2, 1));
  assert.deepEqual([ids(list), list.missing(0, 3)], [[2, 1, 3], [2]]);
  list.clear();
  assert.deepEqual([ids(list), list.missing(0, 3)], [[], []]);
});
