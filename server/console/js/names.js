/* What a bill's resource is called: "zone:301" is the pull zone's name where the key may see it. */

const PAGE = 1000;

/** zoneNames(page, then): the names of the account's pull zones by id; then(map) is called once all are there. */
export function zoneNames(page, then) {
  const names = new Map();
  const ask = (number) => page.get("/pullzone", {query: {page: number, perPage: PAGE}}).then((answer) => {
    if (!answer.ok) return;
    for (const zone of answer.data.Items ?? []) names.set(zone.Id, zone.Name);
    if (answer.data.HasMoreItems) return ask(number + 1);
    then(names);
  });
  if (page.offers("zones")) ask(1);
  return names;
}

/** The pull zone's id in "zone:301", else null. */
export const zoneOf = (resource) => (/^zone:\d+$/.test(resource ?? "") ? Number(resource.slice(5)) : null);

/** resourceName("zone:301", names) -> its name, or "Zone 301"; "load_balancer:7" -> "Load balancer 7". */
export function resourceName(resource, names) {
  const zone = zoneOf(resource);
  if (zone !== null && names?.has(zone)) return names.get(zone);
  const words = (resource ?? "").replace(":", " ").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
