/* A what-if scenario as the page edits it: patches of a price book, factors on usage, and what tiers cost
 * for a drawing. Pure. Prices are texts; only a curve's points are doubles, since they are pixels. */

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** RFC 7396. */
export function merge(target, patch) {
  if (!isObject(patch)) return patch;
  const made = isObject(target) ? {...target} : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete made[name];
    else made[name] = merge(made[name], value);
  }
  return made;
}

/** The patch that makes one document of another; {} where they are the same. Lists go whole. */
export function diff(from, to) {
  const patch = {};
  for (const name of new Set([...Object.keys(from ?? {}), ...Object.keys(to ?? {})])) {
    const a = from?.[name], b = to?.[name];
    if (b === undefined) patch[name] = null;
    else if (isObject(a) && isObject(b)) {
      const inner = diff(a, b);
      if (Object.keys(inner).length) patch[name] = inner;
    } else if (!same(a, b)) patch[name] = b;
  }
  return patch;
}

/** What stands at ["bandwidth", "premium"]; undefined where nothing does. */
export const at = (document, path) => path.reduce((value, name) => value?.[name], document);

/** A copy with a value at a path; undefined takes it away, and objects that it leaves empty. */
export function withAt(document, path, value) {
  const [name, ...rest] = path, made = {...(document ?? {})};
  const inner = rest.length ? withAt(made[name], rest, value) : value;
  if (inner === undefined || (rest.length && isObject(inner) && !Object.keys(inner).length)) delete made[name];
  else made[name] = inner;
  return made;
}

/* --- factors on usage --- */

const plain = (entry, region) => (region ? entry.region === region : entry.product === "load_balancer")
  && Object.keys(entry).every((key) => key === "factor" || key === (region ? "region" : "product"));

/** The factor on a region's bytes, or with region null on a load balancer's requests: "1" where none is. */
export function factor(scenario, region) {
  const found = (scenario.usage ?? []).find((entry) => plain(entry, region));
  return found ? String(found.factor) : "1";
}

export function withFactor(scenario, region, text) {
  const usage = (scenario.usage ?? []).filter((entry) => !plain(entry, region));
  if (Number(text) !== 1) usage.push(region ? {region, factor: text} : {product: "load_balancer", factor: text});
  return tidy({...scenario, usage});
}

/** Without members that say nothing. */
export function tidy(scenario) {
  const made = {...scenario};
  if (made.usage && !made.usage.length) delete made.usage;
  for (const name of ["patch", "contract"]) if (made[name] && !Object.keys(made[name]).length) delete made[name];
  if (!made.base) delete made.base;
  return made;
}

/** A scenario from an address or a file: {scenario, problem}. The server checks the rest. */
export function read(text) {
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    return {scenario: null, problem: "This is no JSON. A scenario looks like {\"scenario\": \"cheaper\", \"patch\": {\"minimum_monthly\": \"0\"}}."};
  }
  if (!isObject(document)) return {scenario: null, problem: "A scenario is a JSON object."};
  if (document.patch !== undefined && !isObject(document.patch)) return {scenario: null, problem: "The scenario's patch is a JSON object."};
  if (document.usage !== undefined && !(Array.isArray(document.usage) && document.usage.every(isObject))) return {scenario: null, problem: "The scenario's usage is a list of objects."};
  return {scenario: tidy({...document, scenario: typeof document.scenario === "string" ? document.scenario : "what-if"}), problem: null};
}

/* --- tiers --- */

/** Tiers whose ends are given: each begins where the one before ends, the last has no end. names: [from, to]. */
export function touching(tiers, [from, to]) {
  return tiers.map((tier, n) => ({...tier, [from]: n ? tiers[n - 1][to] : tier[from], [to]: n === tiers.length - 1 ? null : tier[to]}));
}

/** What n units cost. pricing: {mode, included, axis, block, tiers: [{from, to, price, flat}]}, numbers in units. */
export function cost(pricing, n) {
  const {mode = "graduated", included = 0, axis = "absolute", block = 1, tiers} = pricing;
  if (n <= included) return 0;
  const net = axis === "net", units = net ? n - included : n;
  const rank = Math.max(0, tiers.findIndex((tier) => tier.to === null || units <= tier.to));
  const flats = (upTo) => tiers.slice(0, upTo + 1).reduce((sum, tier) => sum + tier.flat, 0);
  if (mode === "volume") return (net ? units : n - included) * tiers[rank].price + tiers[rank].flat;
  let sum = flats(rank);
  for (const tier of tiers.slice(0, rank + 1)) {
    const low = Math.max(tier.from, net ? 0 : included), high = Math.min(units, tier.to ?? Infinity);
    if (high > low) sum += mode === "package" ? Math.ceil((high - low) / block) * tier.price : (high - low) * tier.price;
  }
  return sum;
}

/** A book's way to price: of "volume" in GB, "load_balancer" in millions of requests. Null: it has none. */
export function pricingOf(book, of) {
  const rows = of === "volume" ? book?.bandwidth?.volume : book?.load_balancer;
  if (!rows?.tiers) return null;
  const [from, to, price] = of === "volume" ? ["from", "to", "price"] : ["from_millions", "to_millions", "price_per_million"];
  const tiers = rows.tiers.map((tier) => ({from: Number(tier[from]), to: tier[to] === null ? null : Number(tier[to]), price: Number(tier[price] ?? tier.price_per_block), flat: Number(tier.flat ?? 0)}));
  return {mode: rows.mode, block: Number(rows.block ?? 1), axis: rows.included_axis, tiers,
    included: of === "volume" ? Number(rows.included ?? 0) : Number(rows.included_requests ?? 0) / 1e6, fee: of === "volume" ? 0 : Number(rows.monthly_fee ?? 0)};
}

/** Points of a cost curve from 0 to most, with both sides of each threshold, so that steps are steps. */
export function curveAt(pricings, most, points = 120) {
  const at = new Set();
  for (let n = 0; n <= points; n++) at.add(most * n / points);
  for (const pricing of pricings) {
    for (const tier of pricing.tiers) {
      for (const edge of [tier.from + (pricing.axis === "net" ? pricing.included : 0), pricing.included]) if (edge > 0 && edge < most) at.add(edge).add(edge * (1 + 1e-9));
    }
  }
  return [...at].sort((a, b) => a - b);
}

export const curve = (pricing, at) => at.map((n) => pricing.fee + cost(pricing, n));

/** How far a drawing should reach: past the last break-even and the last thresholds. */
export function reach(pricings, breaks) {
  const edges = [...breaks.filter((one) => one > 0).map((one) => one * 1.6), ...pricings.flatMap((pricing) => pricing.tiers.map((tier) => tier.from * 1.5)), ...pricings.map((pricing) => pricing.included * 2)];
  return Math.max(...edges, 0) || 1000;
}

/* --- many accounts --- */

/** How many accounts change by how much percent: [{from, to, count}] in equal steps around 0. */
export function histogram(percents, most = 12) {
  const known = percents.filter((one) => one !== null && one !== undefined).map(Number);
  if (!known.length) return [];
  const low = Math.min(0, ...known), high = Math.max(0, ...known);
  const rough = Math.max((high - low) / most, 0.01), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((one) => one >= rough);
  const first = Math.floor(low / step), bins = [];
  for (let n = first; n * step <= high; n++) bins.push({from: round(n * step), to: round((n + 1) * step), count: 0});
  for (const one of known) bins[Math.min(bins.length - 1, Math.max(0, Math.floor(one / step + 1e-9) - first))].count++;
  return bins;
}
const round = (value) => Number(value.toPrecision(12));

/** A break-even of two books as a sentence. upTo: the most that the API counts to, which is no end; names: {a, b} of the books;
 * shown(units), paid(amount): with their units. */
export function breakText({kind, costs, words}, upTo, names, shown, paid) {
  const [first, last = first] = costs, isOpen = last.units === upTo;
  const stretch = isOpen ? `From ${shown(first.units)} on` : `From ${shown(first.units)} to ${shown(last.units)}`;
  const sides = (words.match(/(Below|Above), [ab] is cheaper\./g) ?? []).map((side) => ` ${side.replace(/, ([ab]) /, (_, which) => `, ${names[which]} `)}`).join("");
  if (kind === "many") return `${stretch} the order changes too often to list.${sides}`;
  if (kind !== "overlap") return `At ${shown(last.units)} the order changes: ${names.a} costs ${paid(last.a)}, ${names.b} ${paid(last.b)}.${sides}`;
  if (isOpen && first.units === "0") return "Both cost the same, whatever the usage.";
  return `${stretch} both cost the same${isOpen || first.a !== last.a ? "" : `, ${paid(first.a)}`}.${sides}`;
}
