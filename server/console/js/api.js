/* The API, as the page asks it. An error is a value, never thrown:
 *
 *   {ok: true, status, path, data, unchanged}           data is JSON, or text for other types
 *   {ok: false, status, path, key, field, message}      the API's own words
 *   {ok: false, status: 0, lost: true, message}   no answer
 *   {ok: false, status: 0, cancelled: true}       the view is gone
 *
 * Answers with an ETag are kept: asking again costs a 304. */

const kept = new Map(); // url -> {etag, data, headers}
const KEPT_MAX = 60;
const CHANGES = {"X-Tollbook-Console": "1"};

const listeners = {lost: new Set(), back: new Set(), ended: new Set(), again: new Set()};
let isLost = false;

/** on("lost" | "back" | "ended", f): the server does not answer; answers again; the session is over. */
export function on(event, f) {
  listeners[event].add(f);
}
const tell = (event, detail) => listeners[event].forEach((f) => f(detail));

/** What is asked now and then and was refused is asked at once. */
export const again = () => tell("again");

export function forget() {
  kept.clear();
}

/** "/x?a=1" of "/x" and {a: 1, b: null}. */
export function address(path, query) {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return pairs.length ? `${path}?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}` : path;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** JSON whose numbers keep their digits: what a double would round becomes text; with exact, every
 * number that is no safe integer, as money needs it. */
export function parse(text, exact = false) {
  if (!exact && !/\d{16}/.test(text)) return JSON.parse(text);
  const quote = (token) => (token[0] === '"' ? token
    : /^-?\d+$/.test(token) ? (Number.isSafeInteger(Number(token)) ? token : `"${token}"`)
      : exact ? `"${token}"` : token);
  return JSON.parse(text.replace(TOKEN, quote));
}

function keep(url, entry) {
  kept.delete(url);
  kept.set(url, entry);
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
}

/* The refusals of the request logging API, of shield events and of containers. */
const words = (said) => [said.error?.message ?? said.errorResponse?.message ?? said.detail, ...(said.error?.details ?? [])].filter(Boolean).join(" ");

async function failure(response, path) {
  let said = {};
  try {
    said = JSON.parse(await response.text());
  } catch { /* not the API's form; the status has to do */ }
  const wait = response.headers.get("Retry-After");
  return {ok: false, status: response.status, path, key: said.ErrorKey ?? "", field: said.Field ?? "",
    message: said.Message || words(said) || `The server answered ${response.status} ${response.statusText}.`, wait: wait ? Number(wait) : null};
}

function setLost(now) {
  if (isLost === now) return;
  isLost = now;
  tell(now ? "lost" : "back");
  if (now) knock();
}

/* Asks until somebody answers; sooner at first, every 10 s in the end. */
async function knock() {
  for (let wait = 500; isLost; wait = Math.min(wait * 1.5, 10000)) {
    await new Promise((done) => setTimeout(done, wait));
    try {
      const response = await fetch("/healthz", {cache: "no-store"});
      if (response.ok) setLost(false);
    } catch { /* still gone */ }
  }
}

/** One request. options: query, headers, body (an object is sent as JSON), type, accept, signal, exact, quiet
 * (a 401 does not end the session). */
export async function send(method, path, options = {}) {
  const url = address(path, options.query), get = method === "GET";
  const headers = {Accept: options.accept ?? "application/json", ...options.headers};
  const slot = `${headers.Accept} ${options.exact ? "exact " : ""}${url}`;
  const before = get ? kept.get(slot) : undefined;
  if (before) headers["If-None-Match"] = before.etag;
  if (!get) Object.assign(headers, CHANGES);
  let body;
  if (options.body !== undefined) {
    const isText = typeof options.body === "string" || options.body instanceof Blob;
    headers["Content-Type"] = options.type ?? (isText ? "text/plain" : "application/json");
    body = isText ? options.body : JSON.stringify(options.body);
  }
  try {
    const response = await fetch(url, {method, headers, body, signal: options.signal, cache: "no-store", credentials: "same-origin"});
    setLost(false);
    if (response.status === 304 && before) return {ok: true, status: 304, path, data: before.data, unchanged: true};
    if (response.status === 401 && !options.quiet) tell("ended");
    if (!response.ok) return await failure(response, path);
    const text = response.status === 204 ? "" : await response.text();
    const isJson = (response.headers.get("Content-Type") ?? "").startsWith("application/json");
    const data = isJson && text ? parse(text, options.exact) : text;
    const etag = response.headers.get("ETag");
    if (get && etag) keep(slot, {etag, data});
    return {ok: true, status: response.status, path, data, etag, unchanged: false};
  } catch (problem) {
    if (options.signal?.aborted || problem.name === "AbortError") return {ok: false, status: 0, path, cancelled: true, message: ""};
    setLost(true);
    return {ok: false, status: 0, path, lost: true, key: "", field: "", message: "The server does not answer. This page tries again by itself."};
  }
}

export const get = (path, options) => send("GET", path, options);
export const post = (path, body, options) => send("POST", path, {...options, body});

/** Asks now, and again every so many seconds while somebody looks at the page; f gets each answer
 * that is not the same as before. query may be a function: it is asked each time, as a range that moves
 * with the clock must be. Ends with the signal; the return value asks at once. */
export function poll(path, {seconds = 30, signal, query, ...options}, f) {
  let timer = 0, asks = false, last = null, asked = "";
  async function ask() {
    clearTimeout(timer);
    if (signal?.aborted || asks) return;
    asks = true;
    const members = typeof query === "function" ? query() : query, text = address(path, members);
    const answer = await get(path, {...options, query: members, signal});
    asks = false;
    if (signal?.aborted || answer.cancelled) return;
    if (!answer.unchanged || !last?.ok || text !== asked) f(answer);
    last = answer;
    asked = text;
    timer = setTimeout(tick, (answer.wait ?? seconds) * 1000);
  }
  function tick() {
    if (document.visibilityState === "visible") ask();
    else document.addEventListener("visibilitychange", tick, {once: true, signal});
  }
  const back = () => ask(), again = () => { if (last && !last.ok) ask(); };
  listeners.back.add(back);
  listeners.again.add(again);
  signal?.addEventListener("abort", () => {
    clearTimeout(timer);
    listeners.back.delete(back);
    listeners.again.delete(again);
  });
  ask();
  return ask;
}
