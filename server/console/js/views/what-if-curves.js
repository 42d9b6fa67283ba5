/* What the book and the scenario's book, or another one, cost for the same usage, and where they cost the same. The
 * break-even comes from the API; the curves are drawn from the books' tiers. */

import {chart} from "../chart.js";
import {el, fill} from "../dom.js";
import {bytes, compact, decimals, money} from "../format.js";
import {breakText, curve, curveAt, merge, pricingOf, reach} from "../scenario.js";
import {rounded} from "../money.js";
import {valueTicks} from "../ticks.js";

const KINDS = [["volume", "Volume zones", 1e9], ["load_balancer", "Load balancer", 1e6]];

export function curvesView(page) {
  const node = el("section", {class: "panel", "aria-label": "Cost curves", hidden: true}), place = el("div"), words = el("ul", {class: "remarks"});
  const choice = el("div", {class: "segments", role: "group", "aria-label": "Cost of"}, KINDS.map(([id, name]) => el("button", {type: "button", data: {of: id}, onclick: () => {
    page.set({of: id === "volume" ? null : id}, {replace: true, quiet: true});
    draw();
  }}, name)));
  const against = el("select", {onchange: () => {
    page.set({against: against.value || null}, {replace: true, quiet: true});
    draw();
  }});
  node.append(el("div", {class: "table-tools"}, el("h2", {}, "Cost and break-even"), choice, el("label", {class: "inline"}, "against ", against)), place, words);
  let scenario = null, base = null, drawn = "", made = null;
  const others = new Map(); // id -> book

  /* The second book: the scenario's, or a stored one. {name, book, asked} */
  async function second() {
    const id = page.query.get("against");
    if (!id) return {name: scenario.scenario, book: merge(base, scenario.patch ?? {}), asked: {scenario: scenario.scenario, base: base.book, patch: scenario.patch ?? {}}};
    if (!others.has(id)) {
      const answer = await page.post("/operations/book-show", {book: id}, {exact: true});
      others.set(id, answer.ok ? answer.data.answer : {});
    }
    return {name: id, book: others.get(id), asked: id};
  }

  async function draw() {
    const of = page.query.get("of") === "load_balancer" ? "load_balancer" : "volume", unit = KINDS.find(([id]) => id === of)[2];
    for (const button of choice.children) button.setAttribute("aria-pressed", String(button.dataset.of === of));
    const other = await second(), pair = [pricingOf(base, of), pricingOf(other.book, of)];
    const asked = JSON.stringify([of, pair, other.name]);
    if (asked === drawn) return;
    drawn = asked;
    if (pair.some((one) => !one)) {
      made?.destroy();
      made = null;
      fill(place, el("p", {class: "soft"}, "One of the books has no such prices."));
      fill(words);
      return;
    }
    const answer = await page.post("/operations/solve-break-even", {book: base.book, second: other.asked, of});
    if (asked !== drawn) return;
    const {breaks, up_to} = answer.ok ? answer.data.answer : {breaks: []};
    const where = breaks.flatMap((one) => one.costs.filter((cost) => cost.units !== up_to).map((cost) => Number(cost.units) / unit)).filter((n) => n > 0);
    const at = curveAt(pair, reach(pair, where));
    const shown = (n) => (of === "volume" ? bytes(n * unit) : compact(n * unit)), whole = (n) => `${shown(n)}${of === "volume" ? "" : " requests"}`;
    made?.destroy();
    made = chart({label: `Cost of a month, ${base.currency}`, name: "curves", page, full: (value) => money(value.toFixed(decimals(base.currency)), base.currency), xName: of === "volume" ? "GB" : "Million requests",
      xFormat: whole, xTicks: (low, high, most) => valueTicks(low, high, Math.min(most, 7), shown)});
    fill(place, made.node);
    made.set({at, by: "units", series: [{name: base.book, values: curve(pair[0], at), colour: 3}, {name: other.name, values: curve(pair[1], at), colour: 1}],
      marks: where.filter((n) => n <= at[at.length - 1]).slice(0, 8).map((n) => ({at: n, label: shown(n)}))});
    fill(words, answer.ok ? (breaks.length ? breaks.slice(0, 8).map((one) => el("li", {}, breakText(one, up_to, {a: base.book, b: other.name}, (units) => whole(Number(units) / unit), (amount) => rounded(amount, base.currency)))) : el("li", {}, "They never cost the same.")) : el("li", {class: "error"}, answer.message));
  }

  return {node, set(nextScenario, nextBase, books) {
    scenario = nextScenario;
    base = nextBase;
    fill(against, el("option", {value: ""}, "this scenario"), books.filter((book) => book.book !== base?.book && book.currency === base?.currency).map((book) => el("option", {value: book.book}, book.book)));
    against.value = page.query.get("against") ?? "";
    node.hidden = !base;
    if (base) draw();
  }};
}
