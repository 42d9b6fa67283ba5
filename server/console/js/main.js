/* The console: which view an address shows, who is signed in, and what is said when the server is gone.
 *
 * How a view is written. One row in `views` below, one module in js/views/ that exports show(page):
 *
 *   export function show(page) {
 *     const t = table({label: "Zones", page, columns, empty: "..."});
 *     page.root.append(pageHead(page, "Zones"), t.node);       // controls.js, table.js
 *     const ask = page.poll("/insights", {query: {...}}, (answer) => {
 *       if (page.failed(answer)) return;                       // says the API's error at the top of the view
 *       t.set(answer.data.zones.items);
 *     });
 *     return {update() { ... }, again() { ... }};              // optional
 *   }
 *
 * again()        reads what page.poll() does not: called where an answer was lost and the server is back
 * page.root      an empty element, on the page already
 * page.params    what the address's path holds: {id: "101"} of "/zones/:id"
 * page.query     URLSearchParams of the address: the whole state of the view, nothing else keeps it
 * page.set({sort: "-requests", page: null}, {replace, quiet})   writes members (null: away) into the
 *                address; a step back unless replace; then update() is called, or without one the view is
 *                shown anew; quiet: neither
 * page.href("/zones/101", {tab: "log"})   an address in the console, with the time and zone on screen
 * page.go(href)  goes there
 * page.session   {role, account, name, offers, changes, version, ...}; page.offers("billing"); page.may("ledger enter"):
 *                whether the key may change something with this operation. Show no button that it may not use
 * page.account   whose figures: the key's own account, or ?account= where the key is the operator's; null: none chosen
 * page.file(path, {format: "pdf"})   the address of a file of the API, for a link
 * page.now()     the server's clock, ms; page.zone: the time zone on screen, an IANA name
 * page.range()   js/range.js's range of the address
 * page.get(path, options), page.post(path, body, options), page.poll(path, options, f): js/api.js, ended when
 *                the view is left; page.signal is that AbortSignal: give it to addEventListener too
 * page.failed(answer)   true where it is an error, which is then on screen until the same path answers well or the address
 *                changes; {ok: true} without a path clears what has none
 * page.again()   as if the address had changed: update(), or shown anew
 * page.title(text)      the document's title where the row's does not say enough
 *
 * Kept by all views: text only by dom.js (never HTML made of data); figures of the API by figure() or a
 * column's `field`, inside data-zone / data-account; what is empty says what will be here, and to the operator the next command; files are
 * imported by their literal relative names, as the build names them by content; no style attributes. */

import {accountPicker} from "./accounts.js";
import * as api from "./api.js";
import {announce, clone, el, fill, inCode} from "./dom.js";
import {count, duration, knownZone} from "./format.js";
import * as range from "./range.js";
import {isOther, inWords, troubles} from "./session.js";

/* path, title, what `offers` of the session it needs (that or `or`), load; name: its place in the navigation; changes: for
 * keys that may change something alone. A row
 * whose load is null is not there yet. */
const views = [
  {group: "Traffic"},
  {path: "/overview", title: "Overview", name: "Overview", needs: "statistics", load: () => (isFleet() ? import("./views/home.js") : import("./views/overview.js"))},
  {path: "/zones", title: "Zones", name: "Zones", needs: "statistics", load: () => import("./views/zones.js")},
  {path: "/zones/:id", title: "Zone", needs: "statistics", load: () => import("./views/zone.js")},

  {path: "/logs", title: "Logs", name: "Logs", needs: "logs", or: "operator", load: () => import("./views/logs.js")},

  {path: "/events", title: "Shield events", name: "Shield events", needs: "events", load: () => import("./views/events.js")},

  {path: "/meters", title: "Meters", name: "Meters", needs: "statistics", load: () => import("./views/meters.js")},
  {path: "/meters/:id", title: "Meter", needs: "statistics", load: () => import("./views/meter.js")},

  {path: "/containers", title: "Containers", name: "Containers", needs: "containers", load: () => import("./views/containers.js")},

  {group: "Money"},

  {path: "/billing", title: "Billing", name: "Billing", needs: "billing", load: () => import("./views/billing.js")},
  {path: "/billing/:number", title: "Invoice", needs: "billing", load: () => import("./views/invoice.js")},

  {path: "/check", title: "Check a bill", name: "Check a bill", needs: "proof", load: () => import("./views/check.js")},

  {path: "/what-if", title: "What if", name: "What if", needs: "whatif", load: () => import("./views/what-if.js")},

  {group: "Operation"},

  {path: "/operator/accounts", title: "Accounts", name: "Accounts", needs: "operator", load: () => import("./views/operator-accounts.js")},
  {path: "/accounts/:id", title: "Customer", needs: "operator", under: "/operator/accounts", load: () => import("./views/customer.js")},
  {path: "/operator/intake", title: "Intake", name: "Intake", needs: "operator", load: () => import("./views/operator-intake.js")},
  {path: "/operator/books", title: "Price books", name: "Price books", needs: "operator", load: () => import("./views/operator-books.js")},
  {path: "/operator/run", title: "The month's run", name: "Month's run", needs: "operator", load: () => import("./views/operator-run.js")},
  {path: "/operator/alerts", title: "Alerts", name: "Alerts", needs: "operator", load: () => import("./views/operator-alerts.js")},
  {path: "/do", title: "Changes", name: "Changes", needs: "operator", changes: true, load: () => import("./views/do.js")},
  {path: "/do/:form", title: "Change", needs: "operator", changes: true, load: () => import("./views/do.js")},
  {path: "/operator/health", title: "Health", name: "Health", needs: "operator", load: () => import("./views/operator-health.js")},

  {group: "Access"},

  {path: "/keys", title: "Keys", name: "Keys", needs: "keys", load: () => import("./views/keys.js")},
];

const BASE = "/console";
const KEPT = ["tz", "range", "from", "to", "compare", "account"]; // goes from view to view
const app = document.getElementById("app");
let session = null, clockSkew = 0, current = null, parts = null, finder = null;
let endsAt = 0, ending = 0, isLeaving = false; // by the browser's clock, which goes on while it sleeps

const offers = (name) => !name || session.offers.includes(name);
const may = (operation) => session.changes.includes(operation);
const isOpen = (view) => view.load && (offers(view.needs) || Boolean(view.or && offers(view.or))) && (!view.changes || session.changes.length > 0);
const open = () => views.filter(isOpen);
const now = () => performance.now() + clockSkew;
const query = () => new URLSearchParams(location.search);
const account = () => session?.account ?? (/^[1-9]\d{0,15}$/.test(query().get("account") ?? "") ? Number(query().get("account")) : null);
const isFleet = () => account() === null; // an operator who looks at all accounts

/* --- addresses --- */

function href(path, members = {}) {
  const kept = query(), next = new URLSearchParams();
  for (const name of KEPT) if (kept.get(name)) next.set(name, kept.get(name));
  if ("range" in members || "from" in members) for (const name of ["range", "from", "to"]) next.delete(name);
  return withMembers(`${BASE}${path}`, next, members);
}

function withMembers(path, search, members) {
  for (const [name, value] of Object.entries(members)) {
    if (value === null || value === undefined || value === "" || value === false) search.delete(name);
    else search.set(name, value === true ? "1" : String(value));
  }
  const text = search.toString().replace(/%3A/g, ":").replace(/%2F/g, "/").replace(/%2C/g, ",");
  return text ? `${path}?${text}` : path;
}

function matching(path) {
  const steps = path.replace(/\/+$/, "").split("/");
  for (const view of open()) {
    const wanted = view.path.split("/"), params = {};
    const fits = wanted.length === steps.length && wanted.every((step, at) => (step.startsWith(":")
      ? steps[at] !== "" && (params[step.slice(1)] = decode(steps[at])) !== null : step === steps[at]));
    if (fits) return {view, params};
  }
  return null;
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/* --- the view on screen --- */

function go(to, {replace = false} = {}) {
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  route();
}

function set(members, {replace = false, quiet = false} = {}) {
  const to = withMembers(location.pathname, query(), members);
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  if (quiet) current.page.query = query();
  else route();
}

function leave() {
  current?.stop.abort();
  current = null;
}

async function route(anew = false) {
  if (!session) return;
  const path = location.pathname.slice(BASE.length).replace(/\/+$/, "");
  if (path === "") {
    const [first] = open();
    if (first) return go(href(first.path), {replace: true});
  }
  const found = matching(path);
  navigation(found?.view);
  if (!anew && current && found && current.view === found.view && current.path === path && current.account === account()) {
    current.page.query = query();
    current.page.zone = knownZone(query().get("tz"));
    dispatchEvent(new Event("rangechange"));
    if (!current.shown?.update) return show(found, path, false);
    current.page.calm();
    current.shown.update();
    return api.again();
  }
  return show(found, path, true);
}

let isFirst = true;
async function show(found, path, moves) {
  leave();
  const stop = new AbortController(), root = el("div", {class: "view"}), trouble = el("div", {class: "trouble", role: "alert"});
  const page = pageOf(root, trouble, found?.params ?? {}, stop.signal);
  current = {view: found?.view, path, account: account(), page, stop, shown: null};
  const mine = current;
  document.title = `${found?.view.title ?? "Not found"} · tollbook`;
  if (moves) window.scrollTo(0, 0);
  let module = null;
  if (found) {
    try {
      module = await found.view.load();
    } catch {
      module = {show: () => page.failed({ok: false, message: "This part of the page did not load. Reload the page: the server may be a newer one."})};
    }
  }
  if (current !== mine) return;
  fill(parts.main, trouble, root);
  root.dataset.view = found?.view.path ?? "none";
  if (module) mine.shown = module.show(page) ?? null;
  else nothingHere(root, path);
  if (moves && !isFirst) focusHead();
  if (moves) announce(document.title);
  isFirst = false;
}

/* The reader of a screen hears where it is; the page does not jump for others. */
function focusHead() {
  const head = parts.main.querySelector("h1");
  if (!head) return;
  head.tabIndex = -1;
  head.focus({preventScroll: true});
}

function nothingHere(root, path) {
  const known = views.some((view) => view.load && view.path.split("/")[1] === path.split("/")[1]);
  root.append(el("h1", {}, known ? "Not for this key" : "There is no such page"),
    el("p", {}, known ? `A key of role ${session.role} may not see this. Sign out and use another key, or choose from the menu.`
      : "Choose from the menu."));
}

/* For measuring: when the first answer of a view was on screen. */
let isMarked = false;
function markShown() {
  if (isMarked) return;
  isMarked = true;
  requestAnimationFrame(() => setTimeout(() => performance.mark("tollbook:shown")));
}

/* Billing is of one account: an operator's key names it. */
function ofAccount(path, options) {
  if (session.account !== null || !/^\/billing(\/|$)/.test(path)) return options;
  const {query: given} = options, add = (members) => ({account: account(), ...members});
  return {...options, query: typeof given === "function" ? () => add(given()) : add(given)};
}

function pageOf(root, trouble, params, signal) {
  const wrong = troubles();
  const page = {
    root, params, signal, query: query(), zone: knownZone(query().get("tz")), session, now, offers, may, href, go,
    get account() { return account(); },
    set: (members, options) => { if (!signal.aborted) set(members, options); },
    range: () => range.read(page.query, now()),
    get: (path, options) => api.get(path, ofAccount(path, {signal, ...options})),
    post: (path, body, options) => api.post(path, body, {signal, ...options}),
    send: (method, path, options) => api.send(method, path, {signal, ...options}),
    file: (path, members) => api.address(path, ofAccount(path, {query: members}).query),
    poll: (path, options, f) => api.poll(path, ofAccount(path, {signal, ...options}), (answer) => {
      f(answer);
      markShown();
    }),
    again: () => { if (!signal.aborted) route(); },
    title: (text) => { document.title = `${text} · tollbook`; },
    calm() {
      wrong.clear();
      fill(trouble);
    },
    failed(answer) {
      if (answer.lost) page.hasMissed = true;
      if (wrong.take(answer)) fill(trouble, wrong.all().map((one) => el("p", {class: "error"}, inCode(one.message), one.wait ? ` Try again in ${duration(one.wait)}.` : "")));
      return !answer.ok;
    },
  };
  return page;
}

/* --- the frame around it --- */

function frame() {
  const node = clone("frame");
  parts = {main: node.querySelector("main"), nav: node.querySelector("nav"), menu: node.querySelector(".menu"), banner: node.querySelector(".banner")};
  const who = session.account ? session.name || `Account ${session.account}` : session.name || "";
  node.querySelector(".who").textContent = [who, inWords(session.role)].filter(Boolean).join(" · ");
  node.querySelector(".version").textContent = `tollbook ${session.version}`;
  sayStandby();
  node.querySelector(".sign-out").addEventListener("click", signOut);
  node.querySelector(".theme").addEventListener("click", nextTheme);
  finder = !offers("operator") ? null : accountPicker({post: api.post, label: "Find a customer", placeholder: "Find a customer  /",
    chosen: (row) => go(href(`/accounts/${row.account}`, {account: null}))});
  parts.menu.addEventListener("click", () => openMenu(parts.nav.hidden));
  node.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    parts.main.tabIndex = -1;
    parts.main.focus();
  });
  fill(app, node);
  sayTheme();
}

const wide = matchMedia("(min-width: 60rem)");
function openMenu(isOpen) {
  if (!parts) return;
  parts.nav.hidden = !isOpen && !wide.matches;
  parts.menu.setAttribute("aria-expanded", String(!parts.nav.hidden));
}
wide.addEventListener("change", () => openMenu(false));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !parts?.nav.contains(document.activeElement) && document.activeElement !== parts?.menu) return;
  openMenu(false);
  if (!wide.matches) parts.menu.focus();
});

/* "/" finds a customer, wherever no text is being typed. */
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || !finder || !parts || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  event.preventDefault();
  openMenu(true);
  finder.field.focus();
  finder.field.select();
});

function navigation(view) {
  const lists = [];
  let last = null;
  for (const row of views) {
    if (row.group) last = {name: row.group, items: []}, lists.push(last);
    else if (row.name && isOpen(row)) {
      const isHere = view && (view === row || view.under === row.path || view.path.startsWith(`${row.path}/`));
      last.items.push(el("li", {}, el("a", {href: href(row.path), "aria-current": isHere ? "page" : null}, row.name)));
    }
  }
  fill(parts.nav, finder?.node, lists.filter((list) => list.items.length).map((list) => [el("h2", {}, list.name), el("ul", {}, list.items)]));
  openMenu(false);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || !link.pathname.startsWith(`${BASE}/`) || link.hasAttribute("download") || link.target) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
addEventListener("popstate", () => route());

/* --- light and dark --- */

const THEMES = [["", "Theme: system"], ["light", "Theme: light"], ["dark", "Theme: dark"]];
const storage = {
  get() { try { return localStorage.getItem("tollbook.theme") ?? ""; } catch { return ""; } },
  set(value) { try { localStorage.setItem("tollbook.theme", value); } catch { /* private windows */ } },
};

function sayTheme() {
  const theme = storage.get();
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  const button = app.querySelector(".theme");
  if (button) button.textContent = (THEMES.find(([id]) => id === theme) ?? THEMES[0])[1];
  dispatchEvent(new Event("themechange"));
}

function nextTheme() {
  const at = THEMES.findIndex(([id]) => id === storage.get());
  storage.set(THEMES[(at + 1) % THEMES.length][0]);
  sayTheme();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", sayTheme);
addEventListener("storage", sayTheme);

/* --- signing in and out --- */

const others = "BroadcastChannel" in globalThis ? new BroadcastChannel("tollbook") : {postMessage() {}};

/* What the server says of the session: its clock, and when the session is over. */
function take(data) {
  const before = now();
  session = data;
  clockSkew = Date.parse(data.now) - performance.now();
  const left = Date.parse(data.expires) - Date.parse(data.now);
  endsAt = Date.now() + left;
  clearTimeout(ending);
  ending = setTimeout(checkSession, Math.min(Math.max(left, 0) + 500, 2 ** 31 - 1)); // behind the end, not just before it
  if (Math.abs(now() - before) > 1000) dispatchEvent(new Event("clock"));
}

function start(data) {
  take(data);
  api.forget();
  leave();
  frame();
  route(true);
}

function end(message) {
  session = null;
  clearTimeout(ending);
  parts = null;
  leave();
  api.forget();
  signIn(message);
}

function signIn(message = "", isError = false) {
  document.title = "Sign in · tollbook";
  const node = clone("signing-in"), form = node.querySelector("form"), says = node.querySelector(".says");
  const field = form.querySelector("#key"), button = form.querySelector("button");
  const say = (text, error) => {
    says.textContent = text;
    says.classList.toggle("error", error);
    field.setAttribute("aria-invalid", String(error));
  };
  say(message, isError);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    const answer = await api.post("/console/session", {key: field.value.trim()}, {quiet: true});
    button.disabled = false;
    if (answer.ok) {
      isLeaving = false;
      others.postMessage("in");
      start(answer.data);
      return;
    }
    say(`${answer.message}${answer.wait ? ` Try again in ${duration(answer.wait)}.` : ""}`, true);
    field.select();
  });
  fill(app, node);
  sayTheme();
  field.focus();
}

/* The page is cleared whether the server answers or not. */
async function signOut() {
  const answer = await api.send("DELETE", "/console/session", {quiet: true});
  isLeaving = Boolean(answer.lost);
  others.postMessage("out");
  end(isLeaving ? "This page shows nothing more, but the server does not answer: leave the page open, and it ends the session there as soon as it can." : "You are signed out.");
}

others.onmessage = ({data}) => {
  if (data === "out" && session) end("You signed out in another tab.");
  if (data === "in") session ? checkSession() : begin();
};

/* --- a server that is gone, a session that is over --- */

/* A standby shows what its primary has, a moment later, and takes no changes. */
function sayStandby() {
  const {primary} = session;
  parts.banner.hidden = primary === null;
  if (primary === null) return;
  fill(parts.banner, "This server is a standby: what it shows may be some moments old. Changes are made on ",
    primary ? el("a", {href: `${primary}/console/`}, primary) : "its primary", ".");
}

let lostAt = 0, ticking = 0;
function banner() {
  const place = parts?.banner ?? app.querySelector(".says");
  if (!place || isLeaving) return;
  place.hidden = false;
  const text = `The server does not answer, for ${count(Math.round((performance.now() - lostAt) / 1000), "second")} now. This page tries again by itself.`;
  if (place.textContent !== text) place.textContent = text;
}
api.on("lost", () => {
  lostAt = performance.now();
  banner();
  announce("The server does not answer.");
  ticking = setInterval(banner, 1000);
});
api.on("back", () => {
  clearInterval(ticking);
  if (parts) sayStandby();
  announce("The server answers again.");
  if (isLeaving) signOut();
  else if (!session) begin();
  else checkSession();
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && session) checkSession();
});
api.on("ended", () => {
  if (session) end("Your session has ended. Sign in again; you come back to this page.");
});

/* Who is signed in, and what time it is: asked when the server is back, when the page is looked at again (the clock of
 * the page stands still while the browser sleeps), when another tab signs in and when the session's time is over. */
async function checkSession() {
  const answer = await api.get("/console/session");
  if (!session) return;
  if (!answer.ok) {
    if (Date.now() >= endsAt) end("Your session has ended. Sign in again; you come back to this page.");
    return;
  }
  if (answer.data.version !== session.version) return location.reload();
  if (isOther(session, answer.data)) return start(answer.data);
  take(answer.data);
  if (current && !current.shown) return route(true);
  if (!current?.page.hasMissed) return;
  current.page.hasMissed = false;
  current.shown.again?.();
}

async function begin() {
  const answer = await api.get("/console/session", {quiet: true});
  if (answer.ok) start(answer.data);
  else if (answer.status === 401) signIn();
  else signIn(answer.message, true);
}

sayTheme();
begin();
