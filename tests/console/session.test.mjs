import assert from "node:assert/strict";
import {test} from "node:test";
import {inWords, isOther, troubles} from "../../server/console/js/session.js";

const me = {role: "User", account: 1, name: "acme", offers: ["statistics"], changes: [], primary: null, now: "2026-11-04T09:00:00Z"};

test("another key: by its role, its account or what it may see, and not by the time", () => {
  assert.equal(isOther(me, {...me, now: "2026-11-04T10:00:00Z"}), false);
  for (const change of [{account: 2}, {role: "Operator"}, {name: "b"}, {offers: []}, {changes: ["key create"]}, {primary: "https://a.example"}]) assert.equal(isOther(me, {...me, ...change}), true);
});

test("a role is named in words", () => {
  assert.deepEqual(["SubuserAPIBilling", "SubuserPullZones", "CustomerAdmin", "UserApi", "Operator"].map(inWords), ["Billing", "Pull zones", "Customer admin", "User", "Operator"]);
});

test("an error stays until its own path answers well", () => {
  const wrong = troubles(), said = () => wrong.all().map((one) => one.message);
  assert.equal(wrong.take({ok: false, status: 500, path: "/a", message: "A."}), true);
  assert.equal(wrong.take({ok: true, path: "/b"}), false);
  wrong.take({ok: false, status: 0, message: "Here."});
  wrong.take({ok: false, status: 0, lost: true, path: "/a"});
  wrong.take({ok: false, status: 401, path: "/c", message: "Sign in."});
  assert.deepEqual(said(), ["A.", "Here."]);
  wrong.take({ok: false, status: 400, path: "/a", message: "Another."});
  wrong.take({ok: true});
  assert.deepEqual(said(), ["Another."]);
  assert.equal(wrong.take({ok: true, path: "/a"}), true);
  assert.deepEqual(said(), []);
});

test("a sentence is said once, and errors of another address are none of this one", () => {
  const wrong = troubles(), said = () => wrong.all().map((one) => one.message);
  for (const [path, message] of [["/pullzone/9", "No such zone."], ["/insights", "No such zone."], ["/user", "Busy."]]) wrong.take({ok: false, status: 404, path, message});
  assert.deepEqual(said(), ["No such zone.", "Busy."]);
  wrong.take({ok: true, path: "/pullzone/9"});
  assert.deepEqual(said(), ["No such zone.", "Busy."]);
  wrong.clear();
  assert.deepEqual(said(), []);
});
