import assert from "node:assert/strict";
import {afterEach, test} from "node:test";
import * as api from "../../server/console/js/api.js";

const asked = [];
function serve(answer) {
  globalThis.fetch = async (url, options) => {
    asked.push({url, ...options});
    return answer(url, options);
  };
}
const reply = (status, body, headers = {}) => new Response(body, {status, headers: {"Content-Type": "application/json", ...headers}});
afterEach(() => {
  asked.length = 0;
  api.forget();
});

test("numbers that a double would round stay as they were sent", () => {
  assert.deepEqual(api.parse('{"a":9223372036854775807,"b":"12345678901234567890 x","c":1.5}'), {a: "9223372036854775807", b: "12345678901234567890 x", c: 1.5});
  assert.deepEqual(api.parse('{"a":1.10,"b":3,"c":["-0.30",-0.30]}', true), {a: "1.10", b: 3, c: ["-0.30", "-0.30"]});
  assert.deepEqual(api.parse('{"a":"say \\"1.10\\" twice"}', true), {a: 'say "1.10" twice'});
});

test("the second question costs a 304 and has the first answer", async () => {
  serve((url, {headers}) => (headers["If-None-Match"] === '"1"' ? new Response(null, {status: 304}) : reply(200, '{"n":1}', {ETag: '"1"'})));
  const first = await api.get("/insights", {query: {by: "day", zone: null}});
  const second = await api.get("/insights", {query: {by: "day"}});
  assert.deepEqual([first.status, second.status, second.unchanged, asked[0].url], [200, 304, true, "/insights?by=day"]);
  assert.equal(second.data, first.data);
});

test("the words of request logs, shield events and containers, whose refusals have other forms", async () => {
  const forms = {
    '{"error":{"code":"invalid_request","message":"Parameters are invalid.","details":["from is late."]}}': "Parameters are invalid. from is late.",
    '{"logs":[],"errorResponse":{"message":"No such shield zone."},"detail":"Other words."}': "No such shield zone.",
    '{"title":"Conflict","status":409,"detail":"It is suspended.","errors":[]}': "It is suspended.",
  };
  for (const [body, message] of Object.entries(forms)) {
    serve(() => reply(400, body));
    assert.equal((await api.get("/x")).message, message);
  }
});

test("errors are values with the API's words", async () => {
  serve(() => reply(400, '{"ErrorKey":"validation_error","Field":"from","Message":"Give a date."}'));
  assert.deepEqual(await api.get("/insights"), {ok: false, status: 400, path: "/insights", key: "validation_error", field: "from", message: "Give a date.", wait: null});
  serve(() => new Response("<html>", {status: 503, statusText: "Busy", headers: {"Retry-After": "3"}}));
  const answer = await api.get("/insights");
  assert.deepEqual([answer.message, answer.wait], ["The server answered 503 Busy.", 3]);
});

test("what changes something carries the console's header, what reads does not", async () => {
  serve(() => reply(200, "{}"));
  await api.get("/user");
  await api.post("/books", {book: "x"});
  assert.equal(asked[0].headers["X-Tollbook-Console"], undefined);
  assert.deepEqual([asked[1].headers["X-Tollbook-Console"], asked[1].headers["Content-Type"], asked[1].body], ["1", "application/json", '{"book":"x"}']);
});

test("401 ends the session, but not at signing in", async () => {
  let ended = 0;
  api.on("ended", () => ended++);
  serve(() => reply(401, '{"Message":"No."}'));
  await api.get("/console/session", {quiet: true});
  assert.equal(ended, 0);
  await api.get("/insights");
  assert.equal(ended, 1);
});

test("a poll asks for what its question is now, and gives an answer to another question though it has not changed", async () => {
  globalThis.document = {visibilityState: "visible"};
  serve((url, {headers}) => (headers["If-None-Match"] ? new Response(null, {status: 304}) : reply(200, `{"of":"${url}"}`, {ETag: '"1"'})));
  const stop = new AbortController(), got = [];
  let from = 1;
  const answered = () => new Promise((done) => setTimeout(done));
  const ask = api.poll("/insights", {query: () => ({from}), seconds: 3600, signal: stop.signal}, (answer) => got.push(answer.data.of));
  for (from of [1, 1, 2, 1]) {
    await ask();
    await answered();
  }
  stop.abort();
  delete globalThis.document;
  assert.deepEqual(got, ["/insights?from=1", "/insights?from=2", "/insights?from=1"]);
});

test("what was refused is asked again at once, what was answered waits for its time", async () => {
  globalThis.document = {visibilityState: "visible"};
  serve((url) => (url === "/a" ? reply(404, '{"Message":"No."}') : reply(200, "{}")));
  const stop = new AbortController(), got = [], settled = () => new Promise((done) => setTimeout(done));
  for (const path of ["/a", "/b"]) api.poll(path, {seconds: 3600, signal: stop.signal}, (answer) => got.push([path, answer.ok]));
  await settled();
  api.again();
  await settled();
  stop.abort();
  api.again();
  await settled();
  delete globalThis.document;
  assert.deepEqual(got.map(String).sort(), ["/a,false", "/a,false", "/b,true"]);
});

test("a view that is left is no error, a server that is gone is one and comes back by itself", async () => {
  const events = [];
  api.on("lost", () => events.push("lost"));
  const back = new Promise((done) => api.on("back", () => {
    events.push("back");
    done();
  }));
  const stop = new AbortController();
  stop.abort();
  globalThis.fetch = async () => { throw new TypeError("gone"); };
  assert.equal((await api.get("/insights", {signal: stop.signal})).cancelled, true);
  assert.deepEqual(events, []);
  assert.equal((await api.get("/insights")).lost, true);
  serve(() => reply(200, "{}"));
  await back;
  assert.deepEqual([events, asked[0].url], [["lost", "back"], "/healthz"]);
});
