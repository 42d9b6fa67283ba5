/* What stands at the head of a view: its name, and the time it shows. */

import {accountChoice} from "./accounts.js";
import {el, fill} from "./dom.js";
import {day, knownZone, localZone, time} from "./format.js";
import * as range from "./range.js";
import {copyLink} from "./table.js";

/** The head of a view: its name, what goes beside it, and the range picker where range is true; compare() says
 * whether the view compares; account: an operator chooses one there, as where range is true. */
export function pageHead(page, title, options = {}) {
  const head = el("header", {class: "page-head"},
    el("div", {class: "page-title"}, options.above ?? null, el("h1", {}, title), options.beside ?? null, options.account ?? options.range ? accountChoice(page) : null),
    options.range ? rangePicker(page, options) : null);
  return head;
}

const icon = (text, label, onclick, disabled = false) => el("button", {type: "button", class: "icon", "aria-label": label, title: label, onclick, disabled}, text);

/** Presets, steps, and one popover with own days, what it is compared with and the zone of times. It writes the
 * address; the view reads page.range() in its update(). Redraws itself when the address changes. */
export function rangePicker(page, {compare = () => true} = {}) {
  const node = el("div", {class: "range", role: "group", "aria-label": "Time shown"});
  const change = (next) => page.set(range.write({...next, compare: next.compare ?? page.range().compare}));

  function redraw() {
    last = moving();
    const shown = page.range(), later = range.next(shown, page.now()), longer = range.zoomOut(shown, page.now());
    const summary = el("summary", {class: "control", data: {keep: "own"}}, spanText(shown, page.zone));
    const own = el("details", {class: "pop", open: Boolean(node.querySelector("details[open]"))}, summary, ownForm(shown));
    const had = document.activeElement && node.contains(document.activeElement) ? document.activeElement.dataset.keep : null;
    fill(node,
      el("div", {class: "segments"}, range.PRESETS.map((preset) => el("button", {type: "button", data: {keep: preset.id}, title: `Show ${preset.full}`,
        "aria-pressed": String(shown.preset === preset.id),
        onclick: () => change({preset: preset.id, from: 0, to: 0, byAsked: null})}, preset.name))),
      el("div", {class: "steps"},
        icon("‹", "Earlier", () => change(range.previous(shown))),
        own,
        icon("›", "Later", () => change(later), !later),
        el("button", {type: "button", onclick: () => change(longer), disabled: !longer}, "Zoom out")));
    node.append(el("p", {class: "print-only"}, `${spanText(shown, page.zone)}, times in ${page.zone}`));
    if (had) node.querySelector(`[data-keep="${had}"]`)?.focus();
  }

  function ownForm(shown) {
    const says = el("p", {class: "error", role: "alert"});
    const input = (name, label, ms, isEnd) => el("label", {}, label, el("input", {type: "date", name, required: true, value: new Date(isEnd ? ms - 1 : ms).toISOString().slice(0, 10)}));
    return el("form", {class: "pop-body", onsubmit: (event) => {
      event.preventDefault();
      const form = event.currentTarget;
      const made = range.custom(shown, form.elements.from.value, form.elements.to.value);
      says.textContent = made.problem ?? "";
      if (made.range) {
        node.querySelector("details").open = false;
        change(made.range);
      }
    }}, el("div", {class: "pair"}, input("from", "First day (UTC)", shown.from, false), input("to", "Last day (UTC)", shown.to, true)),
    says, el("button", {type: "submit", class: "primary"}, "Show"),
    compare() ? el("label", {}, "Compare with", el("select", {name: "compare", data: {keep: "compare"}, onchange: (event) => page.set(range.write({...shown, compare: event.target.value}))},
      range.compares(shown).map((one) => el("option", {value: one.id, selected: one.id === shown.compare}, one.name)))) : null,
    el("label", {}, "One point each", el("select", {name: "by", data: {keep: "by"}, onchange: (event) => page.set({by: event.target.value || null})},
      [["", "hour, day or month, as it suits"], ["hour", "hour"], ["day", "day"], ["month", "month"]].map(([id, name]) => el("option", {value: id, selected: id === (shown.byAsked ?? "")}, name)))),
    zoneSwitch(page, false));
  }

  /* A range that moves with the clock moves on a page that stays open. */
  const moving = () => JSON.stringify(range.ask(page.range()));
  let last = moving();
  function tick() {
    if (moving() === last) return;
    redraw();
    page.again();
  }
  const clock = setInterval(tick, 30000);
  window.addEventListener("clock", tick, {signal: page.signal});
  page.signal.addEventListener("abort", () => clearInterval(clock));

  redraw();
  window.addEventListener("rangechange", redraw, {signal: page.signal});
  document.addEventListener("keydown", (event) => {
    const own = node.querySelector("details[open]");
    if (event.key !== "Escape" || !own) return;
    own.removeAttribute("open");
    own.querySelector("summary").focus();
  }, {signal: page.signal});
  document.addEventListener("click", (event) => {
    const own = node.querySelector("details[open]");
    if (own && !own.contains(event.target)) own.removeAttribute("open");
  }, {signal: page.signal});
  return node;
}

/** "1 Nov to 4 Nov 2026", with hours where it does not begin and end with a day. */
export function spanText(shown, zone) {
  const whole = shown.from % 86400000 === 0 && shown.to % 86400000 === 0;
  if (!whole) {
    const [first, last] = [time(shown.from, zone), time(shown.to, zone)], ofDay = first.slice(0, first.indexOf(",") + 2);
    return `${first} to ${last.startsWith(ofDay) ? last.slice(ofDay.length) : last}`;
  }
  const first = day(shown.from), last = day(shown.to - 1);
  if (first === last) return first;
  const year = first.slice(-5);
  return `${last.endsWith(year) ? first.slice(0, -5) : first} to ${last}`;
}

/** The same without hours where it is longer than two days, which an hour says nothing of; without the year where
 * it has hours. */
export function calmSpan({from, to}, zone) {
  if (to - from > 2 * 86400000) return spanText({from: Math.floor(from / 86400000) * 86400000, to: Math.ceil(to / 86400000) * 86400000}, zone);
  return spanText({from, to}, zone).replace(/ \d{4},/g, ",");
}

/** UTC or the browser's zone; the address keeps which, so that a link says the same times. */
export function zoneSwitch(page, isInline = true) {
  const local = knownZone(localZone());
  const zones = [...new Set(["UTC", local, page.zone])];
  if (zones.length < 2) return el("span", {class: "soft", title: "As this browser's are"}, "Times in UTC");
  return el("label", {class: isInline ? "inline" : null}, isInline ? "times in " : "Times in", el("select", {data: {keep: "tz"}, onchange: (event) => page.set({tz: event.target.value === "UTC" ? null : event.target.value})},
    zones.map((zone) => el("option", {value: zone, selected: zone === page.zone}, zone))));
}

/** A panel with a heading; the rest goes in. */
export const panel = (title, ...children) => el("section", {class: "panel", "aria-label": title}, el("h2", {}, title), children);

/** "Copy link" where a view has no table. */
export const linkButton = () => el("button", {type: "button", class: "quiet", onclick: (event) => copyLink(event.currentTarget)}, "Copy link");
