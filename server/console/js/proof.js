/* Checks a bill's bundle (.tollproof) and usage receipts in the browser: every text opens its commitment, every entry is in the
 * log, and the log's key signed its checkpoint. It does not rate; tollbook-check does. Pure, with the browser's WebCrypto.
 *
 * The forms are C2SP's signed-note, tlog-checkpoint and tlog-proof, and RFC 6962's hashes. */

const bytesOf = (text) => new TextEncoder().encode(text);
const join = (...parts) => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const same = (a, b) => a.length === b.length && a.every((byte, n) => byte === b[n]);
export const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));

/** What is not as its form says: a sentence for the person who checks. */
export class Unreadable extends Error {}
const refuse = (text) => { throw new Unreadable(text); };

/* Bytes of base64 in its one form: padded, unused bits 0. */
function base64(text, length, what) {
  let bytes = null;
  try {
    bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  } catch {
    refuse(`${what} is not base64.`);
  }
  if (toBase64(bytes) !== text || (length && bytes.length !== length)) refuse(`${what} is not ${length} bytes of base64.`);
  return bytes;
}

const number = (text, what) => (/^(0|[1-9][0-9]{0,18})$/.test(text) ? BigInt(text) : refuse(`${what} is not a number.`));

/* --- trees (RFC 6962, verified as RFC 9162 2.1.3.2 says) --- */

const leafOf = (entry) => sha256(join(Uint8Array.of(0), bytesOf(entry)));
const nodeOf = (left, right) => sha256(join(Uint8Array.of(1), left, right));

/** Whether the hashes show that the leaf is entry `index` of the tree of this size and root. Index and size are BigInt. */
export async function includes(size, root, index, leaf, hashes) {
  if (index >= size) return false;
  let at = index, last = size - 1n, made = leaf;
  for (const hash of hashes) {
    if (last === 0n) return false;
    if (at & 1n || at === last) {
      made = await nodeOf(hash, made);
      while (!(at & 1n) && at) {
        at >>= 1n;
        last >>= 1n;
      }
    } else made = await nodeOf(made, hash);
    at >>= 1n;
    last >>= 1n;
  }
  return last === 0n && same(made, root);
}

/* --- notes and checkpoints --- */

/** A verifier key, name+hexid+base64(type || key). */
export async function readKey(text) {
  const [, name, id, value] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? refuse("That is not a key. A key reads name+8 digits+letters.");
  const bytes = base64(value, 33, "The key");
  if (bytes[0] !== 1) refuse("That is not the key of a log.");
  const made = await sha256(join(bytesOf(`${name}\n`), bytes));
  if (hex(made.slice(0, 4)) !== id) refuse("The key has a wrong character.");
  return {name, id, key: bytes.slice(1)};
}

/** {text, signatures: [{name, id, value}]} of a signed note. */
export function readNote(note) {
  const end = note.lastIndexOf("\n\n");
  if (end < 0 || !note.endsWith("\n")) refuse("The checkpoint is not a signed note.");
  const lines = note.slice(end + 2, -1).split("\n");
  return {text: note.slice(0, end + 1), signatures: lines.map((line) => {
    const [, name, value] = /^— (\S+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? refuse("The checkpoint has a line that is not a signature.");
    const bytes = base64(value, 0, "A signature");
    return {name, id: hex(bytes.slice(0, 4)), value: bytes.slice(4)};
  })};
}

/** {origin, size, root} of a checkpoint's text. */
export function readCheckpoint(text) {
  const [origin, size, root] = text.split("\n");
  if (!origin || size === undefined || root === undefined) refuse("The checkpoint lacks a line.");
  return {origin, size: number(size, "The checkpoint's size"), root: base64(root, 32, "The checkpoint's root")};
}

/** true or false; null: this browser does not know Ed25519. */
async function isSigned(note, key) {
  const mine = note.signatures.filter((one) => one.name === key.name && one.id === key.id);
  if (!mine.length) return false;
  try {
    const imported = await crypto.subtle.importKey("raw", key.key, {name: "Ed25519"}, false, ["verify"]);
    const right = await Promise.all(mine.map((one) => crypto.subtle.verify({name: "Ed25519"}, imported, one.value, bytesOf(note.text))));
    return right.every(Boolean);
  } catch (error) {
    if (error.name === "NotSupportedError") return null;
    return false;
  }
}

/** {index, hashes, checkpoint} of a c2sp.org/tlog-proof@v1. */
export function readProof(text) {
  const end = text.indexOf("\n\n");
  const lines = text.slice(0, end).split("\n");
  if (end < 0 || lines.shift() !== "c2sp.org/tlog-proof@v1") refuse("A proof is not in the form c2sp.org/tlog-proof@v1.");
  if (lines[0]?.startsWith("extra ")) lines.shift();
  const [, index] = /^index (.*)$/.exec(lines.shift() ?? "") ?? refuse("A proof has no index.");
  return {index: number(index, "A proof's index"), hashes: lines.map((line) => base64(line, 32, "A hash of a proof")), checkpoint: text.slice(end + 2)};
}

/* --- entries --- */

const commitOf = async (part) => toBase64(await sha256(join(base64(part.salt, 32, "A salt"), bytesOf(part.text))));
const parsed = (text, what) => {
  try {
    return JSON.parse(text);
  } catch {
    return refuse(`${what} is not JSON.`);
  }
};

const monthOf = (text) => parsed(text, "The document").period?.start?.slice(0, 7);

/* The entry of the log that a part of the bundle has to be, members sorted. */
const ENTRIES = {
  invoice: async (part, month) => JSON.stringify({commit: await commitOf(part), month, type: "invoice", v: 1}),
  terms: async (part, month) => JSON.stringify({commit: await commitOf(part), month, type: "terms", v: 1}),
  void: async (part) => JSON.stringify({commit: await commitOf(part), type: "void", v: 1}),
  usage: async (part) => JSON.stringify({commit: await commitOf(part), day: part.day, ...(part.of === null || part.of === undefined ? {} : {of: part.of}), type: "usage", v: 1}),
  book: async (part) => JSON.stringify({book: parsed(part.text, "A price book").book, sha256: hex(await sha256(bytesOf(part.text))), type: "book", v: 1}),
};

/** The parts of a bundle or of receipts: [{type, what, part, month}]. */
export function partsOf(bundle) {
  const list = [], add = (type, what, part, month) => list.push({type, what, part, month});
  if (bundle.invoice) {
    const month = monthOf(bundle.invoice.text);
    add("invoice", "the document", bundle.invoice, month);
    if (bundle.terms) add("terms", "the terms", bundle.terms, month);
    if (bundle.void) add("void", "the void", bundle.void);
    for (const book of bundle.books ?? []) add("book", "a price book", book);
    for (const earlier of bundle.earlier ?? []) add("invoice", "an earlier document", earlier, monthOf(earlier.text));
  }
  for (const day of bundle.days ?? []) add("usage", `the usage of ${day.day}`, day);
  return list;
}

/** Reads a file's bytes, gzipped or not. */
export async function readFile(bytes) {
  const zipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const text = zipped ? await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text() : new TextDecoder("utf-8", {fatal: true}).decode(bytes);
  return parsed(text, "The file");
}

/** Checks a bundle or receipts. vkey: the log's key as text, or "". Returns {number, month, log, size, checks: [{name, ok, detail}]}, ok null
 * where something could not be checked. Throws Unreadable. */
export async function check(bundle, vkey) {
  if (typeof bundle?.checkpoint !== "string") refuse("The file is no bundle of a bill: it has no checkpoint.");
  const note = readNote(bundle.checkpoint), head = readCheckpoint(note.text), parts = partsOf(bundle);
  const checks = [], wrong = [];
  if (!parts.length) refuse("The file holds nothing that could be checked.");
  for (const {type, what, part, month} of parts) {
    const proof = readProof(part.proof);
    if (proof.checkpoint !== bundle.checkpoint) wrong.push(`${what}: its proof is of another checkpoint`);
    else if (!await includes(head.size, head.root, proof.index, await leafOf(await ENTRIES[type](part, month)), proof.hashes)) wrong.push(`${what} is not what the log holds at ${proof.index}`);
  }
  checks.push({name: "inclusion", ok: !wrong.length, detail: wrong.length ? wrong.slice(0, 3).join("; ") + (wrong.length > 3 ? `, and ${wrong.length - 3} more` : "") : `${parts.length} texts are in the log as they were committed to`});
  if (bundle.void) checks.push({name: "void", ok: false, detail: `this document is void since ${parsed(bundle.void.text, "The void").voided}`});
  checks.push(await signatureOf(note, head, vkey));
  return {number: bundle.invoice ? parsed(bundle.invoice.text, "The document").number : "", month: bundle.month ?? monthOf(bundle.invoice?.text ?? "{}"), log: head.origin, size: String(head.size), checks};
}

async function signatureOf(note, head, vkey) {
  if (!vkey) return {name: "signature", ok: null, detail: "not checked, as no key was given"};
  const key = await readKey(vkey);
  if (key.name !== head.origin) return {name: "signature", ok: false, detail: `the key is of ${key.name}, the log is ${head.origin}`};
  const signed = await isSigned(note, key);
  if (signed === null) return {name: "signature", ok: null, detail: "this browser does not know Ed25519 signatures"};
  return {name: "signature", ok: signed, detail: signed ? `${key.name} signed the log of ${head.size} entries` : "the signature is not by this key"};
}
