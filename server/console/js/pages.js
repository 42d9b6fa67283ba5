/* A long list that the server sends page by page: which rows are here, and which pages are to be read. Pure. */

/** pagesOf(100): {rows, take(total, number, items), missing(first, end), age(), clear()}. A row that is not here is null; a row
 * that has moved to another page since it was read is there once, where it was seen last. age(): all is to be read
 * again, and stands until it is. */
export function pagesOf(size) {
  let rows = [], fresh = new Set();
  const isThere = (number) => fresh.has(number) && rows.slice((number - 1) * size, number * size).every((row) => row);
  return {
    get rows() { return rows; },
    age() { fresh = new Set(); },
    clear() { rows = [], fresh = new Set(); },
    take(total, number, items) {
      const ids = new Set(items.map((row) => row.id));
      rows = Array.from({length: total}, (_, n) => (rows[n] && !ids.has(rows[n].id) ? rows[n] : null));
      rows.splice((number - 1) * size, items.length, ...items);
      rows.length = total;
      fresh.add(number);
    },
    missing(first, end) {
      const numbers = [];
      for (let number = Math.floor(first / size) + 1; (number - 1) * size < Math.min(end, rows.length); number++) if (!isThere(number)) numbers.push(number);
      return numbers;
    },
  };
}
