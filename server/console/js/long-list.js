/* A list too long to be read at once: its rows are read as they come into sight, and all of them for a file.
 *
 *   const list = longList({page, size: 100, what: "zones", ask: (number, signal) => page.get(...), part, shown: (rows) => t.set(rows)});
 *   table({..., want: list.want, all: list.all});
 *   if (list.isOther(JSON.stringify(query))) list.begin();
 *
 * ask(number, signal)  the answer that holds page `number`, from 1, of the question that stands now
 * part(answer)         {total, page, items} of it; items have an id
 * shown(rows)          those that are here, null where one is still to be read; null: none, as the question was refused */

import {pagesOf} from "./pages.js";

const TOGETHER = 4; // pages of a file that are asked for at once

export function longList({page, size, what, ask, part, shown}) {
  const list = pagesOf(size);
  let question = "", asking = new AbortController(), wanted = new Set(), isKnown = false;

  function keep(answer) {
    const {total, page: number, items} = part(answer);
    list.take(total, number, items);
    isKnown = true;
  }

  function take(answer) {
    if (page.failed(answer)) {
      if (!isKnown && !answer.cancelled) shown(null);
      return;
    }
    keep(answer);
    shown(list.rows);
  }

  function read(number) {
    const mine = wanted;
    mine.add(number);
    return ask(number, asking.signal).then((answer) => {
      mine.delete(number);
      if (mine === wanted) take(answer);
    });
  }

  function want(first, end) {
    for (const number of list.missing(first, end)) if (!wanted.has(number)) read(number);
  }

  /* Every row, for a file; null where they cannot be read: a file that lacks some would not say so. says(share): how far it is. */
  async function all(says = () => {}) {
    const mine = question, noFile = (answer) => {
      page.failed({...answer, ok: false, lost: false, message: `${answer.message} No file was made: save it again.`});
      return null;
    };
    let left = Infinity; // rows that come and go while they are read
    for (let numbers; (numbers = isKnown ? list.missing(0, list.rows.length).slice(0, TOGETHER) : [1]).length; left -= numbers.length) {
      for (const answer of await Promise.all(numbers.map((number) => ask(number)))) {
        if (answer.cancelled) return null;
        if (!answer.ok) return noFile(answer);
        if (mine !== question || left <= 0) return noFile({...answer, message: `The ${what} changed while they were read.`});
        page.failed(answer);
        keep(answer); // on screen when all are here: to draw each page would take longer than to read it
        left = Math.min(left, 2 * Math.ceil(list.rows.length / size) + 2);
      }
      says(1 - list.missing(0, list.rows.length).length * size / list.rows.length);
    }
    shown(list.rows);
    return list.rows;
  }

  const forget = () => { wanted = new Set(); };
  return {
    want, all, take,
    get rows() { return list.rows; },
    /** Whether this is another question than the one that stands; rows of that one go then. */
    isOther(text) {
      if (text === question) return false;
      question = text;
      list.clear();
      isKnown = false;
      forget();
      return true;
    },
    /** What is still under way is called off; the signal is for what is asked from now on. */
    begin() {
      asking.abort();
      asking = new AbortController();
      page.signal.addEventListener("abort", () => asking.abort(), {signal: asking.signal});
      return asking.signal;
    },
    /** Reads the first page, and with it how many there are. */
    first: () => read(1),
    /** All is to be read again, and stands until it is. */
    age() {
      list.age();
      forget();
    },
  };
}
