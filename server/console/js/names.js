/* The names of the account's pull zones. */

const PAGE = 1000;

/** zoneNames(page) -> {names: a map by id that fills, done: a promise of its last page}. */
export function zoneNames(page) {
  const names = new Map();
  const ask = (number) => page.get("/pullzone", {query: {page: number, perPage: PAGE}}).then((answer) => {
    if (!answer.ok) return;
    for (const zone of answer.data.Items ?? []) names.set(zone.Id, zone.Name);
    return answer.data.HasMoreItems ? ask(number + 1) : undefined;
  });
  return {names, done: page.offers("zones") ? ask(1) : Promise.resolve()};
}
