/* A document of the server, printed in place of the page that shows it: a frame would be cut at a page's end. */

import {el} from "./dom.js";

const KEPT = new Set("ARTICLE SECTION HEADER FOOTER DIV P H1 H2 H3 SPAN STRONG SMALL CODE BDI DL DT DD ADDRESS TABLE THEAD TBODY TR TH TD".split(" "));
const ATTRIBUTES = ["class", "dir", "lang", "colspan"];

/* Text, and elements that neither run nor load anything. */
const copied = (node) => (node.nodeType === Node.TEXT_NODE ? node.data : !KEPT.has(node.nodeName) ? null
  : el(node.localName, Object.fromEntries(ATTRIBUTES.map((name) => [name, node.getAttribute(name)])), [...node.childNodes].map(copied)));

/** While the page is printed, the document of this HTML stands there alone, with its own style sheet. */
export function printsAs(html, signal) {
  const [, head, style, body] = /^([^]*?)<style>([^]*?)<\/style>([^]*)$/.exec(html) ?? [];
  if (!style) return;
  const parsed = new DOMParser().parseFromString(head + body, "text/html"), sheet = new CSSStyleSheet();
  sheet.replaceSync(`:root{color-scheme:only light}${style}`);
  let back = null;
  addEventListener("beforeprint", () => {
    if (back) return;
    const others = [...document.body.children].filter((one) => !one.hidden), sheets = [...document.styleSheets].filter((one) => !one.disabled);
    const shown = el("div", {}, [...parsed.body.childNodes].map(copied));
    for (const one of others) one.hidden = true;
    for (const one of sheets) one.disabled = true;
    document.adoptedStyleSheets = [sheet];
    document.body.append(shown);
    back = () => {
      shown.remove();
      document.adoptedStyleSheets = [];
      for (const one of others) one.hidden = false;
      for (const one of sheets) one.disabled = false;
      back = null;
    };
  }, {signal});
  addEventListener("afterprint", () => back?.(), {signal});
  signal.addEventListener("abort", () => back?.());
}
