/* The names of the account's pull zones. */
import assert from "node:assert/strict";
import test from "node:test";
import {countryCodes, zoneNames} from "../../server/console/js/names.js";

test("all pages of pull zones are asked for, and none where the key may not see them", async () => {
  const asked = [];
  const page = {offers: () => true, get: async (path, {query}) => {
    asked.push(query.page);
    return {ok: true, data: {Items: [{Id: query.page, Name: `z${query.page}`}], HasMoreItems: query.page < 3}};
  }};
  const {names, done} = zoneNames(page);
  await done;
  assert.deepEqual([...names], [[1, "z1"], [2, "z2"], [3, "z3"]]);
  assert.deepEqual(asked, [1, 2, 3]);
  const none = zoneNames({offers: () => false, get: () => assert.fail()});
  await none.done;
  assert.equal(none.names.size, 0);
});

test("a country is found by its code and by its name", () => {
  assert.deepEqual(["Germany", "de", " United Kingdom ", "Germany, fr"].map(countryCodes), ["DE", "DE", "GB", "DE,FR"]);
  assert.deepEqual(["Atlantis", "Germany,", ""].map(countryCodes), [null, null, null]);
});
