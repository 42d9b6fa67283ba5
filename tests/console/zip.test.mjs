/* Archives, read by Python's zipfile. */
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import test from "node:test";

import {fromBase64, zip} from "../../server/console/js/zip.js";

const READ = `import io, json, sys, zipfile
archive = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
assert archive.testzip() is None
print(json.dumps({name: archive.read(name).hex() for name in archive.namelist()}))`;
const read = (files) => JSON.parse(execFileSync("python3", ["-c", READ], {input: Buffer.concat(zip(files).map((part) => Buffer.from(part)))}));

test("another program reads every file with its bytes and its name", () => {
  const all = Uint8Array.from({length: 256}, (_, n) => n);
  assert.deepEqual(read([{name: "2026-000001.pdf", bytes: all}, {name: "Malmö.xml", bytes: new Uint8Array()}, {name: "c.csv", bytes: new TextEncoder().encode("a,b\r\n")}]),
    {"2026-000001.pdf": Buffer.from(all).toString("hex"), "Malmö.xml": "", "c.csv": Buffer.from("a,b\r\n").toString("hex")});
  assert.deepEqual(read([]), {});
});

test("the same files make the same archive", () => {
  const files = [{name: "a", bytes: Uint8Array.of(1, 2)}];
  assert.deepEqual(zip(files), zip(files));
});

test("base64 becomes bytes", () => {
  assert.deepEqual(fromBase64("AP8BAg=="), Uint8Array.of(0, 255, 1, 2));
});
