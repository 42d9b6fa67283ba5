/* Checks of a bill in the browser, on logs that are made here: trees by RFC 6962's recursion, signatures by Node. */
import assert from "node:assert/strict";
import {createHash, generateKeyPairSync, sign} from "node:crypto";
import test from "node:test";
import {gzipSync} from "node:zlib";

import {check, includes, readFile, readKey, Unreadable} from "../../server/console/js/proof.js";

const sha = (...parts) => createHash("sha256").update(Buffer.concat(parts.map((part) => Buffer.from(part)))).digest();
const leaf = (entry) => sha([0], Buffer.from(entry)), node = (left, right) => sha([1], left, right);
const split = (n) => { let k = 1; while (k * 2 < n) k *= 2; return k; };
const rootOf = (leaves) => (leaves.length === 1 ? leaves[0] : node(rootOf(leaves.slice(0, split(leaves.length))), rootOf(leaves.slice(split(leaves.length)))));
function pathOf(leaves, index) {
  if (leaves.length === 1) return [];
  const k = split(leaves.length), left = leaves.slice(0, k), right = leaves.slice(k);
  return index < k ? [...pathOf(left, index), rootOf(right)] : [...pathOf(right, index - k), rootOf(left)];
}

const {publicKey, privateKey} = generateKeyPairSync("ed25519");
const NAME = "example.com/bills", raw = Buffer.concat([Buffer.from([1]), Buffer.from(publicKey.export({format: "jwk"}).x, "base64url")]);
const id = sha(Buffer.from(`${NAME}\n`), raw).subarray(0, 4), VKEY = `${NAME}+${id.toString("hex")}+${raw.toString("base64")}`;

const SALT = Buffer.alloc(32, 7).toString("base64");
const commit = (text) => sha(Buffer.from(SALT, "base64"), Buffer.from(text)).toString("base64");
const INVOICE = '{"number":"2026-000012","period":{"end":"2026-11-01T00:00:00Z","start":"2026-10-01T00:00:00Z"}}';
const BOOK = '{"book":"b","currency":"EUR"}';
const DAYS = [{day: "2026-10-01", of: null, text: "zone\t101\tAMS\t2026-10-01T00:00:00Z\tbytes=5\n"}, {day: "2026-10-02", of: 3, text: "zone\t101\tAMS\t2026-10-02T00:00:00Z\tbytes=6\n"}];

function bundle(change = (made) => made) {
  const entries = [
    JSON.stringify({book: "b", sha256: sha(BOOK).toString("hex"), type: "book", v: 1}),
    JSON.stringify({commit: commit(DAYS[0].text), day: DAYS[0].day, type: "usage", v: 1}),
    JSON.stringify({commit: commit(DAYS[1].text), day: DAYS[1].day, of: 3, type: "usage", v: 1}),
    "another customer's", JSON.stringify({commit: commit(INVOICE), month: "2026-10", type: "invoice", v: 1}), JSON.stringify({commit: commit("{}"), month: "2026-10", type: "terms", v: 1}), "more"];
  const leaves = entries.map(leaf), text = `${NAME}\n${entries.length}\n${rootOf(leaves).toString("base64")}\n`;
  const checkpoint = `${text}\n— ${NAME} ${Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]).toString("base64")}\n`;
  const proof = (at) => ["c2sp.org/tlog-proof@v1", `index ${at}`, ...pathOf(leaves, at).map((hash) => hash.toString("base64")), "", checkpoint].join("\n");
  return change({v: 1, log: NAME, checkpoint, invoice: {text: INVOICE, salt: SALT, proof: proof(4)}, terms: {text: "{}", salt: SALT, proof: proof(5)}, books: [{text: BOOK, proof: proof(0)}],
    days: DAYS.map((day, n) => ({...day, salt: SALT, proof: proof(n + 1)})), earlier: [], consistency: null});
}

const found = async (made, vkey = VKEY) => Object.fromEntries((await check(made, vkey)).checks.map((one) => [one.name, one.ok]));

test("every entry of trees of 1 to 40 entries, and no other", async () => {
  for (let n = 1; n <= 40; n++) {
    const leaves = Array.from({length: n}, (_, at) => leaf(`entry ${at}`)), root = rootOf(leaves);
    for (let at = 0; at < n; at++) {
      assert.ok(await includes(BigInt(n), root, BigInt(at), leaves[at], pathOf(leaves, at)), `${at} of ${n}`);
      assert.ok(!await includes(BigInt(n), root, BigInt(at), leaf("another"), pathOf(leaves, at)));
      if (n > 1) assert.ok(!await includes(BigInt(n), root, BigInt(at), leaves[at], pathOf(leaves, at).slice(1)));
    }
  }
});

test("a bundle that is right", async () => {
  assert.deepEqual(await found(bundle()), {inclusion: true, signature: true});
  assert.deepEqual(await found(bundle(), ""), {inclusion: true, signature: null});
  const {number, month, log, size} = await check(bundle(), VKEY);
  assert.deepEqual({number, month, log, size}, {number: "2026-000012", month: "2026-10", log: NAME, size: "7"});
  assert.deepEqual(await readFile(gzipSync(JSON.stringify(bundle()))), bundle());
});

test("what is changed is found", async () => {
  const wrong = [(b) => { b.invoice.text = b.invoice.text.replace("12", "13"); }, (b) => { b.books[0].text = b.books[0].text.replace("EUR", "USD"); },
    (b) => { b.days[0].text = b.days[0].text.replace("=5", "=4"); }, (b) => { b.days[0].day = "2026-10-03"; }, (b) => { b.days[1].of = 2; }, (b) => { b.days[0].proof = b.days[1].proof; },
    (b) => { b.terms.salt = Buffer.alloc(32, 8).toString("base64"); }, (b) => { b.days[0].proof = b.days[0].proof.replace("\n7\n", "\n8\n"); }];
  for (const change of wrong) assert.equal((await found(bundle((made) => { change(made); return made; }))).inclusion, false, String(change));
  const text = '{"number":"2026-000012","voided":"2026-11-05T00:00:00Z"}';
  assert.equal((await found(bundle((made) => ({...made, void: {text, salt: SALT, proof: made.invoice.proof}})))).void, false);
});

test("signatures: another log's key, another checkpoint", async () => {
  const other = generateKeyPairSync("ed25519").publicKey.export({format: "jwk"}).x, bytes = Buffer.concat([Buffer.from([1]), Buffer.from(other, "base64url")]);
  const keyOf = (name) => `${name}+${sha(Buffer.from(`${name}\n`), bytes).subarray(0, 4).toString("hex")}+${bytes.toString("base64")}`;
  assert.equal((await found(bundle(), keyOf(NAME))).signature, false);
  assert.equal((await found(bundle(), keyOf("another.example"))).signature, false);
  const forged = bundle();
  forged.checkpoint = forged.checkpoint.replace("\n7\n", "\n6\n");
  assert.deepEqual(await found(forged), {inclusion: false, signature: false});
});

test("what has another form is refused with a sentence", async () => {
  const bad = [{}, null, {checkpoint: "x"}, {...bundle(), checkpoint: "a\n\nb\n"}, bundle((made) => { made.days[0].salt += "="; return made; }), bundle((made) => { made.days[0].proof = "x\n\n"; return made; })];
  for (const one of bad) await assert.rejects(check(one, VKEY), Unreadable);
  for (const key of ["", "a", VKEY.replace("+", " "), VKEY.slice(0, -2), VKEY.replace(NAME, "example.org")]) await assert.rejects(readKey(key), Unreadable);
});
