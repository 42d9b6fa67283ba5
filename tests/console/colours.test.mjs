import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";

const css = readFileSync(new URL("../../server/console/base.css", import.meta.url), "utf8");
const pair = (name) => new RegExp(`--${name}: light-dark\\(#(\\w{6})\\w*, #(\\w{6})`).exec(css).slice(1);

function luminance(hex) {
  const [r, g, b] = hex.match(/../g).map((part) => parseInt(part, 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

test("lines of charts have a contrast of 3:1 on their panel, light and dark", () => {
  const panel = pair("panel");
  for (const name of ["accent-1", "series-2", "series-3"]) pair(name).forEach((hex, look) =>
    assert.ok(contrast(hex, panel[look]) >= 3, `--${name} #${hex} on #${panel[look]}: ${contrast(hex, panel[look]).toFixed(2)}`));
});
