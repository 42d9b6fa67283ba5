/* The form of a scenario: months, prices, tiers, fees, discounts, usage. Each input edits one place of the
 * scenario; where the base book is known, its value stands in the field, and what differs is marked. */

import {accountChoice} from "../accounts.js";
import {el, fill, later} from "../dom.js";
import {number} from "../format.js";
import {at, diff, factor, merge, touching, withAt, withFactor} from "../scenario.js";

const REGIONS = [["EU", "Europe"], ["NA", "North America"], ["ASIA", "Asia and Oceania"], ["SA", "South America"], ["AF", "Africa, Middle East"]];
const PRICES = REGIONS.map(([id, name]) => ({path: ["bandwidth", "premium", "regions", id], name}));
const FEES = [
  {path: ["minimum_monthly"], name: "Monthly minimum"},
  {path: ["optimizer", "monthly"], name: "Optimizer, a zone and month"},
  {path: ["load_balancer", "monthly_fee"], name: "Load balancer, a month"},
  {path: ["load_balancer", "included_requests"], name: "Requests included", isCount: true},
];
const TIERS = [
  {path: ["bandwidth", "volume"], name: "Volume zones: tiers, price per GB", keys: ["from", "to", "price"], unit: "GB", first: {from: "0", to: null, price: "0"}},
  {path: ["load_balancer"], name: "Load balancers: tiers, price per million requests", keys: ["from_millions", "to_millions", "price_per_million"], unit: "million", isCount: true, first: {from_millions: 0, to_millions: null, price_per_million: "0"}},
];
const DECIMAL = "\\d{1,18}(\\.\\d{1,15})?";

export function formView(page, does) {
  let shown = {scenario: {}, base: null, span: {}}, serial = 0;
  const inputs = new Map(); // "patch.bandwidth.premium.regions.EU" -> input
  const isWide = matchMedia("(min-width: 75rem)").matches; // beside each other; else the answer is below
  const part = (title, open, ...children) => el("details", {class: "panel part", open: open && isWide}, el("summary", {}, el("h2", {}, title)), children);
  const id = () => `f${++serial}`;
  const price = (text) => String(text ?? "");

  function change(scenario) {
    shown.scenario = scenario;
    does.change({scenario});
  }

  /* The patched book, or the patch alone where the base is not known. */
  const document_ = () => (shown.base ? merge(shown.base, shown.scenario.patch ?? {}) : shown.scenario.patch ?? {});
  function edit(path, value) {
    const next = withAt(document_(), path, value);
    change(shown.base ? {...shown.scenario, base: shown.base.book, patch: diff(shown.base, next)} : {...shown.scenario, patch: next});
  }

  /* --- one line of the form --- */

  function line(name, input, hint) {
    const one = id();
    input.id = one;
    return el("div", {class: "line"}, el("label", {for: one}, name), input, hint ?? null);
  }

  function priceLine(row) {
    const path = row.path.join(".");
    const input = el("input", {type: "text", inputmode: "decimal", pattern: DECIMAL, size: 10, placeholder: "as it is", autocomplete: "off", data: {path}});
    input.addEventListener("input", later(() => {
      if (!input.validity.valid) return;
      const text = input.value.trim();
      edit(row.path, text === "" ? (shown.base ? at(shown.base, row.path) : undefined) : row.isCount ? Number(text) : text);
    }, 200));
    inputs.set(`patch.${path}`, input);
    return line(row.name, input, el("span", {class: "was"}));
  }

  function showPrice(row) {
    const input = inputs.get(`patch.${row.path.join(".")}`), now = at(document_(), row.path), was = at(shown.base, row.path);
    if (document.activeElement !== input) input.value = price(now);
    const isChanged = at(shown.scenario.patch, row.path) !== undefined;
    input.classList.toggle("changed", isChanged);
    input.nextSibling.textContent = isChanged && was !== undefined ? `was ${row.isCount ? number(was) : was}` : "";
  }

  /* --- tiers --- */

  const tierPlaces = TIERS.map(() => el("div", {class: "tiers-form"}));
  function drawTiers(kind, place) {
    const tiers = at(document_(), [...kind.path, "tiers"]), [from, to, named] = kind.keys;
    if (place.contains(document.activeElement) && document.activeElement.tagName === "INPUT") return;
    if (!tiers) {
      fill(place, el("p", {class: "soft"}, shown.base ? "The book has none." : "As they are. "), el("button", {type: "button", onclick: () => put(kind, [{...kind.first}])}, "Set tiers"));
      return;
    }
    const priceKey = tiers.some((tier) => "price_per_block" in tier) ? "price_per_block" : named;
    const set = (n, member, value) => put(kind, tiers.map((tier, m) => (m === n ? {...tier, [member]: value} : tier)));
    const field = (label, value, f) => {
      const input = el("input", {type: "text", inputmode: "decimal", pattern: DECIMAL, size: 8, value: price(value), "aria-label": label});
      input.addEventListener("change", () => { if (input.validity.valid && input.value.trim()) f(input.value.trim()); });
      return input;
    };
    fill(place, tiers.map((tier, n) => el("div", {class: "tier"},
      el("span", {}, n === tiers.length - 1 ? `above ${number(String(tier[from]))} ${kind.unit}` : ["to ", field(`Tier ${n + 1} ends at, in ${kind.unit}`, tier[to], (text) => set(n, to, kind.isCount ? Number(text) : text)), ` ${kind.unit}`]),
      field(`Price of tier ${n + 1}`, tier[priceKey], (text) => set(n, priceKey, text)),
      tiers.length > 1 ? el("button", {type: "button", class: "icon quiet", "aria-label": `Remove tier ${n + 1}`, onclick: () => put(kind, tiers.filter((_, m) => m !== n))}, "×") : null)),
    el("button", {type: "button", class: "quiet", onclick: () => {
      const last = tiers[tiers.length - 1], edge = Number(last[from]) ? Number(last[from]) * 2 : 1000;
      put(kind, [...tiers.slice(0, -1), {...last, [to]: kind.isCount ? edge : String(edge)}, {...last}]);
    }}, "Add a tier"));
  }

  function put(kind, tiers) {
    edit([...kind.path, "tiers"], touching(tiers, kind.keys));
  }

  /* --- usage --- */

  function slider(name, region) {
    const one = el("input", {type: "range", min: 0, max: 3, step: 0.05, "aria-label": `Usage, ${name}`}), text = el("input", {type: "text", inputmode: "decimal", pattern: "\\d{1,7}(\\.\\d{1,6})?", size: 5, "aria-label": `Factor on usage, ${name}`}), says = el("output");
    const send = (value) => change(withFactor(shown.scenario, region, value));
    one.addEventListener("input", () => {
      text.value = String(Number(one.value));
      says.textContent = percent(one.value);
    });
    one.addEventListener("change", () => send(String(Number(one.value))));
    text.addEventListener("change", () => { if (text.validity.valid && text.value) send(text.value); });
    return {node: el("div", {class: "slider"}, el("span", {}, name), one, text, says), set() {
      const value = factor(shown.scenario, region);
      if (document.activeElement !== one) one.value = value;
      if (document.activeElement !== text) text.value = value;
      says.textContent = percent(value);
    }};
  }
  const percent = (value) => (Number(value) === 1 ? "as it was" : `${Number(value) > 1 ? "+" : "\u2212"}${number(Math.round(Math.abs(Number(value) - 1) * 10000) / 100)} %`);
  const sliders = [...REGIONS.map(([region, name]) => slider(name, region)), slider("Load balancer requests", null)];

  /* --- discount, commit --- */

  const CONTRACT = [{path: ["discount_percent"], name: "Discount, percent"}, {path: ["commit", "monthly"], name: "Monthly commit"}, {path: ["minimum_monthly"], name: "Monthly minimum"}];
  const contractLines = CONTRACT.map((row) => {
    const input = el("input", {type: "text", inputmode: "decimal", pattern: DECIMAL, size: 10, placeholder: "none", autocomplete: "off"});
    input.addEventListener("input", later(() => {
      if (input.validity.valid) change({...shown.scenario, contract: withAt(shown.scenario.contract ?? {}, row.path, input.value.trim() || undefined)});
    }, 200));
    inputs.set(`contract.${row.path.join(".")}`, input);
    return {node: line(row.name, input), set() { if (document.activeElement !== input) input.value = price(at(shown.scenario.contract, row.path)); }};
  });

  /* --- the whole --- */

  const name = el("input", {type: "text", pattern: "[A-Za-z0-9._\\-]{1,64}", maxlength: 64, required: true, title: "Letters, digits, '.', '_' and '-'"});
  name.addEventListener("change", () => { if (name.validity.valid) change({...shown.scenario, scenario: name.value}); });
  const month = (member) => {
    const input = el("input", {type: "month", required: true});
    input.addEventListener("change", () => { if (input.value) does.change({[member]: input.value}); });
    return input;
  };
  const first = month("first"), last = month("last");
  const base = el("select", {onchange: () => change({...shown.scenario, base: base.value, patch: undefined})});
  const account = page.session.account ? null : accountChoice(page);
  const stored = el("select", {"aria-label": "Open a saved scenario", onchange: () => {
    if (stored.value) does.stored(stored.value);
    stored.value = "";
  }}, el("option", {value: ""}, "Saved scenarios…"));
  const file = el("input", {type: "file", accept: ".json,application/json", hidden: true, onchange: async () => {
    if (file.files[0]) does.open(await file.files[0].text());
    file.value = "";
  }});
  const rest = el("p", {class: "soft small"});

  const node = el("form", {class: "what-if-form", novalidate: true, onsubmit: (event) => {
    event.preventDefault();
    if (node.reportValidity()) setTimeout(does.run, 250); // the last key's change first
  }},
  el("section", {class: "panel"}, el("h2", {}, "Scenario"), line("Name", name), does.stored ? line("Book", base) : null,
    el("div", {class: "pair"}, line("First month", first), line("Last month", last)), account ? el("div", {class: "line"}, el("span", {}, "Account"), account) : null,
    el("div", {class: "table-tools"}, el("button", {type: "submit", class: "primary"}, "Run"), el("button", {type: "button", onclick: () => file.click()}, "Open a file"), file, does.stored ? stored : null,
      el("button", {type: "button", class: "quiet", onclick: () => change({scenario: "what-if"})}, "Start over")), rest),
  part("Usage", true, sliders.map((one) => one.node)),
  part("Premium zones: price per GB", true, PRICES.map(priceLine)),
  ...TIERS.map((kind, n) => part(kind.name, n === 0, tierPlaces[n])),
  part("Fees", false, FEES.map(priceLine)),
  part("Discount and commit", false, el("p", {class: "soft small"}, "In the place of each account's own contract."), contractLines.map((one) => one.node)));

  /* What is closed cannot have the focus, and its mistake would stop the run unseen. */
  node.addEventListener("invalid", (event) => event.target.closest("details")?.setAttribute("open", ""), true);

  return {
    node,
    set(next) {
      shown = {...next};
      if (document.activeElement !== name) name.value = shown.scenario.scenario;
      if (document.activeElement !== first) first.value = shown.span.first;
      if (document.activeElement !== last) last.value = shown.span.last;
      const books = does.books();
      if (base.options.length !== books.length) fill(base, books.map((book) => el("option", {value: book.book}, `${book.book}, ${book.currency}${book.state === "book" ? "" : `, ${book.state}`}`)));
      base.value = shown.scenario.base ?? books[0]?.book ?? "";
      [...PRICES, ...FEES].forEach(showPrice);
      TIERS.forEach((kind, n) => drawTiers(kind, tierPlaces[n]));
      sliders.forEach((one) => one.set());
      contractLines.forEach((one) => one.set());
      const more = (shown.scenario.usage ?? []).length - (shown.scenario.usage ?? []).filter((entry) => Object.keys(entry).length === 2 && (entry.region || entry.product === "load_balancer")).length;
      rest.textContent = [more ? `${number(more)} more factors on usage are in the scenario.` : "", shown.scenario.contracts ? "Contracts of single accounts are in the scenario." : ""].join(" ").trim();
    },
    stored(names) {
      fill(stored, el("option", {value: ""}, names.length ? "Saved scenarios…" : "Nothing saved yet"), names.map((one) => el("option", {value: one}, one)));
    },
    /* The field that the API names is marked. */
    wrong(answer) {
      for (const [path, input] of inputs) {
        const isWrong = !answer.ok && answer.field && answer.field.endsWith(path);
        input.setAttribute("aria-invalid", String(Boolean(isWrong)));
        if (isWrong) {
          input.closest("details")?.setAttribute("open", "");
          input.focus();
        }
      }
    },
  };
}
