/* What a bill's resources are called. */
import assert from "node:assert/strict";
import test from "node:test";
import {resourceName, zoneNames, zoneOf} from "../../server/console/js/names.js";

test("a pull zone has its name, and its number where the name is not known", () => {
  const names = new Map([[301, "shop<b>"]]);
  assert.equal(resourceName("zone:301", names), "shop<b>");
  assert.equal(resourceName("zone:302", names), "Zone 302");
  assert.equal(resourceName("zone:301", null), "Zone 301");
  assert.equal(resourceName("load_balancer:7", names), "Load balancer 7");
  assert.equal(resourceName("account", names), "Account");
  assert.equal(resourceName(null, names), "");
  assert.equal(resourceName(undefined, names), "");
  assert.equal(zoneOf("zone:301"), 301);
  assert.equal(zoneOf("zone:x"), null);
  assert.equal(zoneOf(null), null);
});

test("all pages of pull zones are asked for, and none where the key may not see them", async () => {
  const asked = [];
  const page = {offers: () => true, get: async (path, {query}) => {
    asked.push(query.page);
    return {ok: true, data: {Items: [{Id: query.page, Name: `z${query.page}`}], HasMoreItems: query.page < 3}};
  }};
  const names = await new Promise((resolve) => zoneNames(page, resolve));
  assert.deepEqual([...names], [[1, "z1"], [2, "z2"], [3, "z3"]]);
  assert.deepEqual(asked, [1, 2, 3]);
  assert.equal(zoneNames({offers: () => false, get: () => assert.fail()}, () => assert.fail()).size, 0);
});
