import assert from "node:assert/strict";
import {test} from "node:test";
import {csv, parseSort, searchRows, slice, sortRows} from "../../server/console/js/rows.js";

const columns = [
  {id: "name", name: "Zone", kind: "text", value: (row) => row.name},
  {id: "n", name: "Requests", kind: "number", field: "TotalRequestsServed", value: (row) => row.n},
  {id: "charge", name: "Charge", kind: "decimal", value: (row) => row.charge},
];
const rows = [
  {name: "site-10", n: 5, charge: "10.00"}, {name: "site-9", n: null, charge: "9.995"}, {name: "Äther", n: 12, charge: "100"},
];
const names = (list) => list.map((row) => row.name);

test("sorting: numbers in names, money exactly, nothing last either way", () => {
  assert.deepEqual(names(sortRows(rows, columns[0], false)), ["Äther", "site-9", "site-10"]);
  assert.deepEqual(names(sortRows(rows, columns[1], false)), ["site-10", "Äther", "site-9"]);
  assert.deepEqual(names(sortRows(rows, columns[1], true)), ["Äther", "site-10", "site-9"]);
  assert.deepEqual(names(sortRows(rows, columns[2], false)), ["site-9", "site-10", "Äther"]);
  const close = [{name: "a", charge: "0.10000000000000000002"}, {name: "b", charge: "0.10000000000000000001"}];
  assert.deepEqual(names(sortRows(close, columns[2], false)), ["b", "a"]);
  assert.deepEqual(names(rows), ["site-10", "site-9", "Äther"], "the rows stay as they were");
});

test("search wants every word", () => {
  assert.deepEqual(names(searchRows(rows, columns, "SITE 10")), ["site-10"]);
  assert.deepEqual(searchRows(rows, columns, "site x"), []);
  assert.equal(searchRows(rows, columns, " ").length, 3);
});

test("CSV quotes what needs it and gives no spreadsheet a formula", () => {
  const hostile = [{name: '=HYPERLINK("http://x")', n: -5, charge: "-1.50"}, {name: "a,b\nc", n: 0, charge: null}];
  assert.equal(csv(columns, hostile),
    'Zone,TotalRequestsServed,Charge\r\n"\'=HYPERLINK(""http://x"")",-5,-1.50\r\n"a,b\nc",0,\r\n');
});

test("of many rows those on screen are drawn, and some around", () => {
  assert.deepEqual(slice(10000, 37, 0, 700), [0, 29]);
  assert.deepEqual(slice(10000, 37, 37 * 5000, 700), [4990, 5029]);
  assert.deepEqual(slice(10000, 37, 37 * 9999, 700), [9989, 10000]);
  assert.deepEqual(slice(0, 37, 5000, 700), [0, 0]);
});

test("a sort in the address", () => {
  assert.deepEqual(parseSort("-n", columns), {column: columns[1], descending: true});
  assert.equal(parseSort("nobody", columns), null);
  assert.equal(parseSort(undefined, columns), null);
});
