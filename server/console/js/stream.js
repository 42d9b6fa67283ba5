/* Rows that come in pieces: what of a piece is new, and a piece of CSV as rows. Pure. */

/** The rows of `coming` that are not in `shown`, both newest first; rows that are equal count each. */
export function unseen(shown, coming, time) {
  if (!coming.length) return [];
  const last = time(coming[coming.length - 1]), had = new Map();
  for (const row of shown) {
    if (time(row) < last) break;
    const text = JSON.stringify(row);
    had.set(text, (had.get(text) ?? 0) + 1);
  }
  return coming.filter((row) => {
    const text = JSON.stringify(row), left = had.get(text) ?? 0;
    if (left) had.set(text, left - 1);
    return !left;
  });
}

/** Both newest first, as one. */
export function merged(shown, added, time) {
  const all = [];
  let at = 0;
  for (const row of added) {
    while (at < shown.length && time(shown[at]) > time(row)) all.push(shown[at++]);
    all.push(row);
  }
  return all.concat(shown.slice(at));
}

/** RFC 4180 text with a head as objects, the apostrophe taken away that guards cells like formulas. */
export function parseCsv(text) {
  const lines = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    lines[lines.length - 1].push((quoted === undefined ? plain : quoted.replace(/""/g, '"')).replace(/^'(?=[\s=+\-@\uff1d\uff0b\uff0d\uff20])/, ""));
    if (end && end !== ",") lines.push([]);
    if (!end) break;
  }
  const [head, ...rows] = lines.filter((line) => line.length > 1);
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])));
}
