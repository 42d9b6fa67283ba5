/* Elements, built without a line of HTML: text goes in as text, whatever it holds. */

const SVG = "http://www.w3.org/2000/svg";

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "data") for (const [key, text] of Object.entries(value)) { if (text !== null && text !== undefined) node.dataset[key] = text; }
    else if (name === "style") for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    else if (name === "value") node.value = value;
    else if (name === "checked" || name === "disabled" || name === "selected" || name === "hidden" || name === "open") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** el("a", {href, class, onclick, data: {field: "x"}, style: {width: "3px"}}, "text", child, [more]) */
export const el = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => put(document.createElementNS(SVG, tag), attributes, children);

/** Replaces what is in a node. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A sentence whose `commands` stand in backticks, as the API says them, with each as code. */
export const inCode = (text) => String(text ?? "").split("`").map((part, at, all) => (at % 2 && at < all.length - 1 ? el("code", {}, part) : at % 2 ? `\`${part}` : part));

/** A copy of the <template> of this id, its first element. */
export const clone = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

/** A figure of the API: tests read data-field and data-value, people the text, pointers the title. */
export function figure(field, value, text, title) {
  return el("span", {class: "figure", data: {field, value: value === null || value === undefined ? "" : String(value)}, title}, text);
}

/** Says something to screen readers without moving the focus. */
export function announce(text) {
  const place = document.getElementById("live");
  if (place) place.textContent = text;
}

/** A file that the page made. */
export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = el("a", {href: url, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

const colours = new Map();
let coloursOf = "";

/** A colour of the style sheet as the canvas wants it. Asked once for each look, as the answer costs a layout. */
export function colour(name) {
  const look = `${document.documentElement.dataset.theme ?? ""} ${matchMedia("(prefers-color-scheme: dark)").matches}`;
  if (look !== coloursOf) colours.clear();
  coloursOf = look;
  if (!colours.has(name)) {
    const probe = document.getElementById("probe");
    probe.style.color = `var(${name})`;
    colours.set(name, getComputedStyle(probe).color);
  }
  return colours.get(name);
}

/** Calls f once, ms after the last of many calls. */
export function later(f, ms) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), ms);
  };
}
