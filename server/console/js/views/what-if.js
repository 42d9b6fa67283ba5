/* What if: months gone by, billed again under other prices or usage. The scenario is in the address,
 * so that a link asks the same; nothing is kept on the server unless an operator saves it. */

import {linkButton, pageHead} from "../controls.js";
import {download, el, fill} from "../dom.js";
import {duration} from "../format.js";
import {accountNames, monthBeside} from "../operator.js";
import {read, tidy} from "../scenario.js";
import {answerView} from "./what-if-answer.js";
import {curvesView} from "./what-if-curves.js";
import {formView} from "./what-if-form.js";

const LONGEST = 20; // seconds that the server works on one question at most
const NEW = {scenario: "what-if"};

export function show(page) {
  const isOperator = page.offers("operator");
  let books = [], document_ = null, running = null, asked = null;
  const place = el("div", {class: "view"});
  const state = el("div", {class: "run-state", role: "status"});
  const form = formView(page, {change, run, open: openFile, books: () => books, stored: isOperator ? openStored : null});
  const curves = isOperator ? curvesView(page) : null;
  const tools = el("span", {class: "table-tools"},
    page.may("scenario add") ? el("button", {type: "button", onclick: save}, "Save") : null,
    el("button", {type: "button", onclick: () => download(`${scenario().scenario}.json`, "application/json", `${JSON.stringify(scenario(), null, 2)}\n`)}, "Export"),
    linkButton());
  page.root.append(pageHead(page, "What if", {beside: el("span", {class: "soft"}, "Months gone by, billed again under other prices or usage. No invoice changes.")}),
    el("div", {class: "beside"}, el("div", {class: "view"}, form.node), el("div", {class: "view"}, tools, state, place, curves?.node ?? null)));

  const scenario = () => read(page.query.get("scenario") ?? "").scenario ?? NEW;
  const span = () => {
    const now = new Date(page.now()).toISOString().slice(0, 7), month = (text, or) => (/^\d{4}-(0[1-9]|1[0-2])$/.test(text ?? "") ? text : or);
    const last = month(page.query.get("last"), now);
    return {first: month(page.query.get("first"), monthBeside(last, -5)), last};
  };
  const question = () => ({from: span().first, to: span().last, ...(isOperator && page.account ? {account: page.account} : {}), scenarios: [scenario()]});

  /* The form tells what it changes; the address takes it. */
  function change(members) {
    const next = {...members};
    if ("scenario" in next) next.scenario = JSON.stringify(tidy(next.scenario)) === JSON.stringify(NEW) ? null : JSON.stringify(tidy(next.scenario));
    page.set(next, {replace: true, quiet: true});
    if ("base" in members || "scenario" in members) loadBase();
    draw();
  }

  function draw() {
    form.set({scenario: scenario(), base: document_, span: span()});
    const isOld = asked && asked !== JSON.stringify(question());
    place.classList.toggle("old", Boolean(isOld));
    if (!running) fill(state, isOld ? el("p", {class: "notice"}, "The scenario has changed since this answer. ", el("button", {type: "button", class: "primary", onclick: run}, "Run again")) : "");
    curves?.set(scenario(), document_, books);
  }

  /* Only an operator's key may read a book; others patch what they do not see. */
  let baseShown = "";
  async function loadBase() {
    const id = scenario().base ?? (books.length ? books[0].book : "");
    if (!isOperator || id === baseShown) return;
    baseShown = id;
    document_ = null;
    if (id) {
      const answer = await page.post("/operations/book-show", {book: id}, {exact: true});
      if (!page.failed(answer)) document_ = answer.data.answer;
    }
    draw();
  }

  async function run() {
    running?.abort();
    const mine = running = new AbortController(), began = performance.now(), what = question();
    page.signal.addEventListener("abort", () => mine.abort(), {signal: mine.signal});
    const bar = el("progress", {max: LONGEST, value: 0, "aria-label": "Time taken, of 20 seconds at most"}), said = el("span", {class: "soft"}, "Billing the months again…");
    fill(state, el("div", {class: "running"}, said, bar, el("button", {type: "button", onclick: () => mine.abort()}, "Cancel")));
    const clock = setInterval(() => {
      const seconds = (performance.now() - began) / 1000;
      bar.value = seconds;
      said.textContent = `Billing the months again, ${duration(seconds)} of ${LONGEST} s at most…`;
    }, 500);
    const answer = await page.post("/billing/what-if", what, {signal: mine.signal});
    clearInterval(clock);
    if (mine !== running) return;
    running = null;
    fill(state);
    form.wrong(answer);
    if (answer.cancelled) {
      fill(state, el("p", {class: "soft"}, "Cancelled. Nothing was changed."));
      return;
    }
    if (answer.status === 404) {
      page.failed({ok: true, path: answer.path});
      fill(place, el("p", {class: "empty"}, `${answer.message} Choose months with usage.`));
      return;
    }
    if (page.failed(answer)) return;
    asked = JSON.stringify(what);
    const names = await accountNames(page);
    if (page.signal.aborted) return;
    place.classList.remove("old");
    fill(place, answerView(page, answer.data, names, {csv: () => answerAs("text/csv", "csv", what), html: () => answerAs("text/html", "html", what)}));
  }

  async function answerAs(type, ending, what) {
    const answer = await page.post("/billing/what-if", what, {accept: type});
    if (!page.failed(answer)) download(`${scenario().scenario}.${ending}`, type, answer.data);
  }

  async function save() {
    const answer = await page.post("/operations/scenario-add", scenario());
    if (page.failed(answer)) return;
    fill(state, el("p", {class: "notice"}, answer.data.said.join(" ") || "The scenario is kept."));
    loadStored();
  }

  async function openStored(name) {
    const answer = await page.post("/operations/scenario-show", {scenario: name}, {exact: true});
    if (!page.failed(answer)) take(JSON.stringify(answer.data.answer));
  }

  function openFile(text) {
    const {problem} = read(text);
    if (problem) page.failed({ok: false, message: problem});
    else take(text);
  }

  function take(text) {
    const {scenario: taken} = read(text);
    page.failed({ok: true});
    change({scenario: taken});
    run();
  }

  async function loadStored() {
    const answer = await page.post("/operations/scenario-list", {});
    if (answer.ok) form.stored(answer.data.answer.scenarios.map((one) => one.scenario));
  }

  async function begin() {
    if (isOperator) {
      const answer = await page.post("/operations/book-list", {});
      if (!page.failed(answer)) books = answer.data.answer.books;
      await loadBase();
      loadStored();
    }
    draw();
    invite();
  }

  /* Before anything was run. */
  function invite() {
    const {problem} = read(page.query.get("scenario") ?? "{}");
    if (problem) fill(place, el("p", {class: "empty"}, `The scenario of this link cannot be read: ${problem} It may have been cut off on its way: copy the whole link, or open the scenario's file.`));
    else if (page.query.get("scenario")) fill(place, el("p", {class: "empty"}, "This link holds a scenario. Look at it, then run it: ", el("button", {type: "button", class: "primary", onclick: run}, "Run this scenario")));
    else fill(place, el("p", {class: "empty"}, "Change a price or move a slider, then run it: what would these months have cost?"));
  }
  draw();
  begin();
  return {again: () => (isOperator && !books.length && !asked ? begin() : undefined), update() {
    loadBase();
    if (!asked && !running) invite();
    draw();
  }};
}

