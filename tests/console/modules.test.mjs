import assert from "node:assert/strict";
import {readdirSync, readFileSync} from "node:fs";
import {test} from "node:test";

const ROOT = new URL("../../server/console/", import.meta.url);
const modules = ["js/", "js/views/"].flatMap((folder) => readdirSync(new URL(folder, ROOT)).filter((name) => name.endsWith(".js")).map((name) => folder + name));
const read = (name) => readFileSync(new URL(name, ROOT), "utf8");
const main = read("js/main.js");
const loaded = [...main.matchAll(/\bimport\("\.\/(views\/[^"]+)"\)/g)].map((match) => `js/${match[1]}`);

test("every module loads without a page: what it imports is exported there", async () => {
  for (const name of modules) if (name !== "js/main.js") await import(new URL(name, ROOT));
});

test("every view of the table exports show(page)", async () => {
  assert.ok(loaded.length >= 4);
  for (const name of loaded) assert.equal(typeof (await import(new URL(name, ROOT))).show, "function", name);
});

test("nothing is made of HTML text, and nothing carries a style that the page's policy forbids", () => {
  for (const name of modules) {
    assert.doesNotMatch(read(name), /\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval)\b|new Function\b/, name);
    assert.doesNotMatch(read(name), /localStorage\.(set|get)Item\("(?!tollbook\.theme")/, `${name}: only the theme is kept in the browser`);
  }
  assert.doesNotMatch(read("index.html"), /\s(style|on[a-z]+)=|<style|<script>/);
});

test("every colour in scripts is the style sheet's", () => {
  const css = read("base.css");
  for (const name of modules) {
    for (const [, variable] of read(name).matchAll(/"(--[a-z0-9-]+)"/g)) assert.ok(variable === "--swatch" || css.includes(`${variable}:`), `${name}: ${variable}`);
    assert.doesNotMatch(read(name), /"#[0-9a-fA-F]{3,8}"/, name);
  }
});

/* What WCAG calls contrast, of light-dark(#a, #b) pairs in the style sheet. */
test("text has the contrast of AA in light and in dark", () => {
  const pairs = Object.fromEntries([...read("base.css").matchAll(/(--[a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(([, name, light, dark]) => [name, [light, dark]]));
  const light = (hex) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const checks = [];
  for (const ink of ["--ink", "--soft", "--accent-1", "--accent-2"]) for (const ground of ["--ground", "--panel", "--raised"]) checks.push([ink, ground, 4.5]);
  checks.push(["--accent-1", "--wash-1", 4.5], ["--ink", "--wash-1", 4.5], ["--accent-2", "--wash-2", 4.5], ["--ink", "--wash-2", 4.5], ["--on-accent", "--accent-1", 4.5], ["--edge", "--panel", 3]);
  for (const one of ["--accent-1", "--series-2", "--series-3"]) checks.push([one, "--panel", 2.9]);
  for (const [a, b, least] of checks) {
    for (const mode of [0, 1]) assert.ok(contrast(pairs[a][mode], pairs[b][mode]) >= least, `${a} on ${b}, ${mode ? "dark" : "light"}: ${contrast(pairs[a][mode], pairs[b][mode]).toFixed(2)}`);
  }
});
