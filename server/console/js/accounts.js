/* Accounts by name: a field that finds them, and what stands in the head of an operator's view. */

import {announce, el, fill, later} from "./dom.js";
import {count} from "./format.js";
import {operation} from "./operator.js";

const SHOWN = 8;

/** The name of one account; "" where there is none of this number. */
export async function accountName(page, account) {
  const found = await operation(page, "account list", {names: true, after: account - 1, limit: 1});
  const [row] = found.ok ? found.answer.accounts : [];
  return row?.account === account ? row.name : "";
}

let made = 0;

/** A field that finds an account by a part of its name or number, and a list below it: arrows and Enter choose.
 * chosen(row) gets {account, name}; post: of page or of api.js. {node, field} */
export function accountPicker({post, chosen, label = "Find an account", placeholder = label}) {
  const id = `accounts-${++made}`;
  const list = el("ul", {role: "listbox", id, "aria-label": "Accounts", hidden: true});
  const field = el("input", {type: "search", role: "combobox", "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list", "aria-label": label,
    autocomplete: "off", spellcheck: "false", placeholder, oninput: () => find(), onfocus: () => { if (field.value) find(); }, onkeydown: pressed, onblur: close});
  const node = el("div", {class: "finder"}, field, list);
  let rows = [], at = -1, asked = 0, listed = ""; // listed: the search that rows are of

  const find = later(ask, 120);
  async function ask() {
    const mine = ++asked, search = field.value.trim();
    if (!search) return close();
    const found = await operation({post}, "account list", {names: true, search, sort: "name", limit: SHOWN});
    if (mine !== asked || document.activeElement !== field) return;
    rows = found.ok ? found.answer.accounts : [];
    listed = search;
    at = rows.length ? 0 : -1;
    draw(found.ok ? found.answer.total : 0, found.ok ? "No account has this in its name or number." : found.message);
    announce(rows.length ? `${count(found.answer.total, "account")} found, ${rows[0].name} first` : list.textContent);
  }

  function draw(total, none) {
    fill(list, rows.length ? rows.map((row, n) => el("li", {role: "option", id: `${id}-${n}`, "aria-selected": String(n === at), data: {account: row.account},
      onmousedown: (event) => { event.preventDefault(); choose(n); }}, el("span", {}, row.name), el("span", {class: "soft"}, String(row.account))))
      : el("li", {class: "soft", role: "option", "aria-disabled": "true", "aria-selected": "false"}, none),
    total > rows.length ? el("li", {class: "soft small", role: "option", "aria-disabled": "true", "aria-selected": "false"}, `and ${total - rows.length} more`) : null);
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    mark();
  }

  function mark() {
    [...list.children].forEach((one, n) => { if (n < rows.length) one.setAttribute("aria-selected", String(n === at)); });
    if (at < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", `${id}-${at}`);
  }

  function pressed(event) {
    if (event.key === "Escape") {
      event.stopPropagation();
      if (list.hidden) field.value = "";
      return close();
    }
    if (event.key === "Enter") {
      event.preventDefault();
      const isOld = list.hidden || listed !== field.value.trim(); // typed faster than it was answered
      Promise.resolve(isOld && ask()).then(() => { if (!list.hidden && at >= 0) choose(at); });
    }
    if (list.hidden || !rows.length || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    at = (at + (event.key === "ArrowDown" ? 1 : rows.length - 1)) % rows.length;
    mark();
  }

  function choose(n) {
    const row = rows[n];
    close();
    field.value = "";
    chosen(row);
  }

  function close() {
    asked++;
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }
  return {node, field};
}

/** In the head of a view, for an operator's key: the account that it shows, a way to all of them, and one to another. */
export function accountChoice(page) {
  if (page.session.account) return null;
  const node = el("span", {class: "account-choice"});
  const {node: picker} = accountPicker({post: page.post, placeholder: page.account ? "Another one" : "All accounts: find one", chosen: (row) => page.set({account: row.account})});
  if (!page.account) return fill(node, picker);
  const name = el("a", {href: page.href(`/accounts/${page.account}`, {account: null}), title: "This customer's page"}, `Account ${page.account}`);
  accountName(page, page.account).then((text) => { if (text) name.textContent = text; });
  return fill(node, el("span", {class: "chip on"}, name, el("button", {type: "button", "aria-label": "All accounts", title: "All accounts", onclick: () => page.set({account: null})}, "×")), picker);
}
