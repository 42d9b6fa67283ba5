/* The fields of catalogue documents are those of docs/catalogue.md, from which they are made:
 *
 *     WRITE=1 node --test tests/console/fields.test.mjs */
import assert from "node:assert/strict";
import {readFileSync, writeFileSync} from "node:fs";
import test from "node:test";

const PAGE = new URL("../../docs/catalogue.md", import.meta.url), FILE = new URL("../../server/console/js/fields.js", import.meta.url);
const plain = (text) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("\\|", "|").trim();
const word = (text) => plain(text).replace(/^`(.*)`$/, "$1");

/** The rows of a section's first table. */
function table(page, section) {
  const rows = page.split(`\n## ${section}\n`)[1].split("\n|---|---|---|---|---|\n")[1].split("\n\n")[0].split("\n");
  return rows.map((line) => {
    const [key, type, usual, example, help] = line.replace(/^\| | \|$/g, "").split(" | ");
    const choices = /^one of /.test(type) ? [...type.matchAll(/`([^`]+)`/g)].map(([, one]) => one) : undefined;
    return {path: word(key), type: plain(type).replaceAll("`", "").replace(/,? see (above|below)$/, ""), required: plain(usual) === "required",
      usual: ["none", "required"].includes(plain(usual)) ? "" : word(usual).replaceAll("`", "").replace(/^"(.*)"$/, "$1"),
      example: word(example ?? "").replace(/^"(.*)"$/, "$1"), help: plain(help ?? ""), choices};
  });
}

function made() {
  const page = readFileSync(PAGE, "utf8");
  const lists = {};
  for (const name of ["seller", "accounts", "zones", "load_balancers", "shield_zones"]) {
    lists[name] = table(page, name).filter((one) => name !== "accounts" || !["contract", "buyer"].includes(one.path));
  }
  for (const part of ["contract", "buyer"]) {
    lists.accounts.push(...table(page, part).map((one) => ({...one, path: `${part}.${one.path}`, required: false, needs: one.required ? part : undefined})));
  }
  const rows = Object.entries(lists).map(([name, list]) => `  ${name}: [\n${list.map((one) => `    ${JSON.stringify(one)},\n`).join("")}  ],\n`);
  return `/* The fields of the catalogue's objects, made of docs/catalogue.md by tests/console/fields.test.mjs. needs: the object that must have it. */\nexport const FIELDS = {\n${rows.join("")}};\n`;
}

test("the fields are those of docs/catalogue.md", () => {
  if (process.env.WRITE) writeFileSync(FILE, made());
  assert.equal(readFileSync(FILE, "utf8"), made(), "WRITE=1 makes them anew");
});
