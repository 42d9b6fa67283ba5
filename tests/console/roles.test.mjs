import assert from "node:assert/strict";
import test from "node:test";
import {isCustomers, meaning, rolesOf} from "../../server/console/js/roles.js";

const ids = (list) => list.map((role) => role.id);

test("an account's keys have its roles and Ingest, the operator's have the operator's and Ingest", () => {
  assert.deepEqual(ids(rolesOf(7, false)), ["User", "CustomerAdmin", "SubuserStatistics", "SubuserManage", "SubuserPullZones", "SubuserBilling", "Ingest"]);
  assert.deepEqual(ids(rolesOf(0, false)), ["Ingest", "Support", "Finance", "Replica", "Operator"]);
});

test("a customer gives the account's roles alone", () => {
  assert.deepEqual(ids(rolesOf(7, true)), ids(rolesOf(7, false)).filter((id) => id !== "Ingest"));
  assert.equal(isCustomers(["UserApi", "SubuserBilling", "CustomerAdmin"]), true);
  for (const role of ["Ingest", "Operator", "Finance", "Support", "Replica"]) assert.equal(isCustomers(["User", role]), false);
});

test("a role is said in words, and one that is not known by its name", () => {
  assert.equal(meaning(["SubuserAPIBilling", "Ingest"]), "sees bills and invoices; sends logs and usage, and sees nothing");
  assert.equal(meaning(["Later"]), "Later");
});
