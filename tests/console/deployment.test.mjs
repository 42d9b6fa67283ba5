import assert from "node:assert/strict";
import {test} from "node:test";
import {isOpen, printed, stands} from "../../server/console/js/deployment.js";

const OPEN = {succeeded: null, exitStatus: null, reason: "", endedAt: null, output: []};
const ended = (more) => ({...OPEN, state: "ended", succeeded: true, exitStatus: 0, endedAt: "2026-11-04T12:00:07Z", ...more});

test("a deployment is looked at until it ended", () => {
  assert.deepEqual(["none", "waiting", "running", "ended"].map((state) => isOpen({...OPEN, state})), [false, true, true, false]);
});

test("how it ended has the exit status, the time in the zone on screen, and the reason", () => {
  assert.match(stands(ended()), /^It succeeded, with exit status 0, at .*12:00:07/);
  assert.match(stands(ended(), "Europe/Berlin"), /13:00:07/);
  assert.match(stands(ended({succeeded: false, exitStatus: 7, reason: "it ended with status 7"})), /^It failed, with exit status 7, at .*12:00:07.*: it ended with status 7\.$/);
  assert.match(stands(ended({succeeded: false, exitStatus: null, reason: "signal 9 ended it"})), /^It failed, without an exit status, at .*: signal 9 ended it\.$/);
});

test("what has not ended says no time", () => {
  for (const state of ["none", "waiting", "running"]) assert.doesNotMatch(stands({...OPEN, state}), /null|NaN|\d/);
});

test("without a program for deployments there is no output, and it says so", () => {
  assert.match(stands({...OPEN, state: "none"}), /^No output of a deployment is kept here\.$/);
});

test("what it printed is one text, and silence is said once it ended", () => {
  assert.equal(printed({...OPEN, state: "running", output: ["pulls", "", "a <b>"]}), "pulls\n\na <b>");
  assert.equal(printed({...OPEN, state: "running"}), "");
  assert.equal(printed(ended()), "It printed nothing.");
  assert.equal(printed({...OPEN, state: "none"}), "");
});
