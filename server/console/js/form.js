/* A form made of what the server says of an operation: its fields, what is sent, where a refusal belongs; and documents
 * that a form edits, whose numbers keep their digits. What comes first is pure; the elements are at the end. */

import {announce, el, fill, inCode, later} from "./dom.js";
import {operation, sentences} from "./operator.js";

/* --- documents --- */

const RAW = "\u0001"; // in front of a number's digits, which JSON.parse would round
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A document whose numbers are texts that write() writes as numbers again. Throws what JSON.parse throws. */
export function readDocument(text) {
  JSON.parse(text);
  return JSON.parse(text.replace(TOKEN, (token) => (token[0] === '"' ? token : `"\\u0001${token}"`)));
}

export const writeDocument = (document, indent) => JSON.stringify(document, null, indent).replace(/"\\u0001([^"]*)"/g, "$1");
export const numeral = (digits) => RAW + digits;
const isNumeral = (value) => typeof value === "string" && value[0] === RAW;
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** A value as it is shown and typed: texts and numbers alike, lists of words on one line, other lists and objects as JSON. */
export function textOf(value) {
  if (value === undefined) return "";
  if (isNumeral(value)) return value.slice(1);
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.length && value.every((one) => typeof one === "string")) return value.map(textOf).join(" ");
  return writeDocument(value);
}

/** What the differences of two documents are: [{path, before, after}], leaf by leaf; undefined where one has none. */
export function differences(before, after, path = "") {
  if (isObject(before) || isObject(after)) {
    const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
    if ((before === undefined || isObject(before)) && (after === undefined || isObject(after)) && names.length) {
      return names.flatMap((name) => differences(before?.[name], after?.[name], path ? `${path}.${name}` : name));
    }
  }
  const [one, other] = [before, after].map((value) => (value === undefined ? undefined : textOf(value)));
  return one === other ? [] : [{path, before: one, after: other}];
}

/** The value that a text stands for in a document's field. type: the words of docs/catalogue.md; was: what stood there.
 *  {value} (undefined: nothing) or {problem}. */
export function valueOf(text, type, was) {
  const said = text.trim();
  if (said === "") return {value: undefined};
  if (/^true or false/.test(type)) return {value: said === "true"};
  if (said === "null" && /\bnull\b/.test(type)) return {value: null};
  if (/^(object|list|rates)/.test(type)) {
    if (/^[[{]/.test(said)) {
      try {
        return {value: readDocument(said)};
      } catch {
        return {problem: "This is no JSON."};
      }
    }
    if (/^list/.test(type)) return {value: said.split(/[\s,]+/).filter(Boolean).map((one) => (/ids/.test(type) ? numeral(one) : one))};
    if (/^rates/.test(type)) return {value: said};
    return {problem: "This is no JSON object."};
  }
  const isId = /^(whole number|id of)/.test(type);
  if (isId && !/^-?\d+$/.test(said)) return {problem: "This is no whole number."};
  return {value: isId || (isNumeral(was) && /^-?\d+(\.\d+)?$/.test(said)) ? numeral(said) : said};
}

/* --- an operation's form --- */

const words = (name) => {
  const spaced = name.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[-_.]/g, " ").toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
};

/** The fields of an operation's form: those that are seen at once, then the others (more: true). An operation's own
 *  dry run is the preview's, formats are a command line's. given: values of the address by name. */
export function fieldsOf(row, form, given = {}) {
  const left = row.parameters.filter((one) => !["dryRun", "format", ...Object.keys(form.fixed ?? {}), ...(form.hidden ?? [])].includes(one.name));
  const seen = (form.fields ?? []).map((name) => left.find((one) => one.name === name)).filter(Boolean);
  return [...seen, ...left.filter((one) => !seen.includes(one))].map((one) => ({
    ...one, required: one.required || Boolean(form.needs?.includes(one.name)), label: form.labels?.[one.name] ?? words(one.name), more: !seen.includes(one), isAccount: one.name === "account",
    initial: given[one.name] ?? one.default ?? "", help: form.helps?.[one.name] ?? (one.name === form.minus ? "in the account's currency, like 12.50, without a sign" : one.help)}));
}

/** What is sent for what was typed: {given, query, body, problems: {name: text}}. A number that a double would round goes into the
 *  query; so does all else beside a document, which is the body. values: name -> text, true, or a document's text. */
export function argumentsOf(fields, values, form) {
  const given = {...(form.fixed ?? {})}, query = {}, problems = {};
  let body;
  for (const field of fields) {
    const typed = values[field.name], text = typeof typed === "string" ? typed.trim() : typed;
    if (text === undefined || text === "" || text === false) {
      if (field.required) problems[field.name] = "This is needed.";
    } else if (field.kind === "document" || field.kind === "named") body = typed;
    else if (field.kind === "flag") given[field.name] = true;
    else if (field.kind === "number") {
      if (!/^-?\d+$/.test(text)) problems[field.name] = "This is no whole number.";
      else if (BigInt(text) < BigInt(field.minimum) || BigInt(text) > BigInt(field.maximum)) problems[field.name] = `It must be from ${field.minimum} to ${field.maximum}.`;
      else if (Number.isSafeInteger(Number(text))) given[field.name] = Number(text);
      else query[field.name] = text;
    } else if (field.name === form.minus && text.startsWith("-")) problems[field.name] = "Give it without a sign.";
    else if (field.repeats) given[field.name] = text.split(/[\s,]+/);
    else given[field.name] = field.name === form.minus ? `-${text}` : text;
  }
  return body === undefined ? {given, query, problems} : {given: {...given, ...query}, query: {}, body, problems};
}

/** The field that a refusal names: the same, or the nearest that holds it; null: none of these. */
export function placeOf(refused, names) {
  for (let path = refused ?? ""; path; path = path.replace(/(^|[.[])[^.[]*$/, "")) {
    const found = names.find((name) => name.toLowerCase() === path.toLowerCase());
    if (found) return found;
  }
  return names.find((name) => refused && name.startsWith(`${refused}.`)) ?? null;
}

/** A reference for an entry that has none from outside: of its moment, and unlike that of another form. */
export const ownReference = (now, random) => `console ${new Date(now).toISOString().slice(0, 10)} ${Math.floor(random * 36 ** 6).toString(36).padStart(6, "0")}`;

/* --- elements --- */

let made = 0;

/** Where an account is typed: its number, found by its name too. */
function accountInput(page, id, value) {
  const choices = el("datalist", {id: `${id}-list`});
  const said = el("span", {class: "soft account-said", "aria-live": "polite"});
  const input = el("input", {id, type: "text", inputmode: "numeric", autocomplete: "off", list: `${id}-list`, value});
  let rows = [];
  const tell = () => { said.textContent = rows.find((one) => String(one.account) === input.value.trim())?.name ?? ""; };
  async function find() {
    const text = input.value.trim();
    if (!text) return tell();
    const found = await operation(page, "account list", {names: true, search: text, limit: 8});
    if (!found.ok || page.signal.aborted) return;
    rows = found.answer.accounts;
    fill(choices, rows.map((one) => el("option", {value: String(one.account)}, one.name)));
    if (rows.length === 1 && !/^\d+$/.test(text)) input.value = String(rows[0].account), input.dispatchEvent(new Event("change", {bubbles: true}));
    tell();
  }
  input.addEventListener("input", later(find, 200));
  find();
  return {input, beside: [choices, said]};
}

function control(page, field, id) {
  if (field.isAccount) return accountInput(page, id, field.initial);
  const common = {id, autocomplete: "off", required: field.required};
  if (field.choices) {
    return {input: el("select", common, field.required && field.initial ? null : el("option", {value: ""}, "–"),
      field.choices.map((one) => el("option", {value: one, selected: one === field.initial}, {true: "yes", false: "no"}[one] ?? one)))};
  }
  if (field.kind === "flag") return {input: el("input", {id, type: "checkbox", checked: Boolean(field.initial)})};
  if (field.kind === "document" || field.kind === "file") return {input: el("input", {id, type: "file"})};
  if (field.isLong) return {input: el("textarea", {...common, rows: 3, spellcheck: "false", value: field.initial})};
  return {input: el("input", {...common, type: "text", inputmode: field.kind === "number" ? "numeric" : null, maxlength: field.maxLength > 0 && field.maxLength < 10000 ? field.maxLength : null,
    placeholder: field.example ?? (/=|YYYY/.test(field.value ?? "") ? field.value : null), value: field.initial})};
}

/** The form: {node, values() -> Promise of name -> text, wrong(problems), input(name)}. onsubmit() is called for its button, onchange() for
 *  whatever is typed. */
export function formView(page, fields, {submit, onsubmit, onchange}) {
  const lines = new Map();
  const line = (field) => {
    const id = `field-${++made}`, {input, beside} = control(page, field, id), says = el("p", {class: "error", role: "alert", id: `${id}-says`});
    input.name = field.name;
    input.setAttribute("aria-describedby", `${id}-help ${id}-says`);
    input.addEventListener("input", () => onchange?.(field.name));
    input.addEventListener("change", () => onchange?.(field.name));
    lines.set(field.name, {field, input, says});
    const label = el("label", {for: id}, field.label, field.required ? null : el("span", {class: "soft"}, " (optional)"));
    const help = el("p", {class: "help", id: `${id}-help`}, field.help ? inCode(`${field.help.charAt(0).toUpperCase()}${field.help.slice(1)}${/[.!?]$/.test(field.help) ? "" : "."}`) : "");
    return el("div", {class: field.kind === "flag" ? "field flag" : "field"}, label, input, beside ?? null, help, says);
  };
  const seen = fields.filter((one) => !one.more).map(line), more = fields.filter((one) => one.more);
  const rest = more.length ? el("details", {class: "more"}, el("summary", {}, "More"), more.map(line)) : null;
  const button = el("button", {type: "submit", class: "primary"}, submit);
  const node = el("form", {class: "do-form", novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    await onsubmit();
    button.disabled = false;
  }}, seen, rest, el("div", {}, button));

  /* problems: name -> text. The first has the focus. */
  function wrong(problems) {
    let first = null;
    for (const [name, {input, says}] of lines) {
      fill(says, inCode(problems[name] ?? ""));
      if (problems[name]) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
      if (problems[name] && !first) first = input;
    }
    if (!first) return;
    first.closest("details")?.setAttribute("open", "");
    first.focus();
  }

  async function values() {
    const found = {};
    for (const [name, {field, input}] of lines) {
      if (field.kind === "flag") found[name] = input.checked;
      else if (field.kind === "document") found[name] = input.files[0] ? await input.files[0].text() : "";
      else if (field.kind !== "file") found[name] = input.value;
    }
    return found;
  }
  return {node, values, wrong, input: (name) => lines.get(name)?.input, names: [...lines.keys()]};
}

/** What a document's change is, as a table. */
export function differenceTable(list, heads = ["Now", "After"]) {
  const cell = (text) => el("td", {class: "wide"}, text === undefined ? el("span", {class: "soft"}, "–") : text);
  return el("div", {class: "table-scroll", tabindex: "0", role: "region", "aria-label": "What changes"}, el("table", {"aria-label": "What changes"},
    el("thead", {}, el("tr", {}, ["Field", ...heads].map((name) => el("th", {scope: "col"}, name)))),
    el("tbody", {}, list.map((one) => el("tr", {data: {path: one.path}}, el("th", {scope: "row"}, one.path), cell(one.before), cell(one.after))))));
}

/** Where a form's preview and its outcome are: {node, clear(), wait(text), preview(content, does, run, below), refused(content),
 *  done(answer, content)}. run() is called once for the button; false puts the button back. */
export function outcomeView(page) {
  const node = el("div", {class: "view do-outcome", role: "status"});
  const section = (title, ...content) => el("section", {class: "panel"}, el("h2", {}, title), content);
  return {node,
    clear: () => fill(node),
    wait: (text) => fill(node, el("div", {class: "running"}, el("span", {}, text), el("progress", {"aria-label": text}))),
    refused: (content) => fill(node, section("It would be refused", content)),
    preview(content, does, run, below) {
      const button = el("button", {type: "button", class: "primary", onclick: async () => {
        button.disabled = true;
        if (!(await run())) button.disabled = false;
      }}, does);
      fill(node, section("Preview: nothing is changed yet", content, el("div", {}, button), below ?? null));
      button.scrollIntoView({block: "nearest"});
    },
    done(answer, content) {
      node.closest(".beside")?.firstElementChild.setAttribute("hidden", ""); // it is done: the form is not sent again
      const entry = answer.entry === null ? "Nothing was changed."
        : ["It is ", el("a", {href: page.href("/operator/health", {entry: answer.entry})}, `entry ${answer.entry}`), " of the audit log."];
      fill(node, section("Done", el("div", {class: "notice"}, sentences(answer.said)), el("p", {data: {entry: answer.entry}}, entry), content));
      announce("Done.");
      node.querySelector("h2").tabIndex = -1;
      node.querySelector("h2").focus();
    }};
}
