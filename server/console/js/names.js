/* The names of the account's pull zones, and of countries. */

const PAGE = 1000, RANKED = 100, PAGES = 20;

/** zoneNames(page) -> {names: a map by id that fills, done: a promise of its last page}. */
export function zoneNames(page) {
  const names = new Map();
  const ask = (number) => page.get("/pullzone", {query: {page: number, perPage: PAGE}}).then((answer) => {
    if (!answer.ok) return;
    for (const zone of answer.data.Items ?? []) names.set(zone.Id, zone.Name);
    return answer.data.HasMoreItems ? ask(number + 1) : undefined;
  });
  /* The operator's key reads no pull zones of others; the statistics name them too. */
  const rank = (number) => page.get("/insights", {query: {account: page.account, compare: "none", from: new Date(page.now()).toISOString().slice(0, 10), top: RANKED, page: number}}).then((answer) => {
    if (!answer.ok) return;
    for (const zone of answer.data.zones.items) names.set(Number(zone.id), zone.name);
    return names.size < answer.data.zones.total && number < PAGES ? rank(number + 1) : undefined;
  });
  return {names, done: page.offers("zones") ? ask(1) : page.account && page.offers("operator") ? rank(1) : Promise.resolve()};
}

const countries = new Intl.DisplayNames("en", {type: "region", fallback: "none"});

/** "Germany" of "DE"; a code that is none stands for itself. */
export const countryName = (code) => (/^[A-Z]{2}$/.test(code) ? countries.of(code) : null) ?? code;

let codes = null;

/** The codes of countries that a filter names, by code or in English: "Germany, fr" -> "DE,FR". null: one is unknown. */
export function countryCodes(text) {
  if (!codes) {
    const names = countries, letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
    const known = letters.flatMap((a) => letters.map((b) => a + b))
      .filter((code) => names.of(code) && new Intl.Locale("und", {region: code}).region === code); // UK is another name of GB
    codes = new Map([...known.map((code) => [names.of(code).toLowerCase(), code]), ...known.map((code) => [code.toLowerCase(), code])]);
  }
  const found = text.split(",").map((one) => codes.get(one.trim().toLowerCase()));
  return found.every(Boolean) ? found.join(",") : null;
}
