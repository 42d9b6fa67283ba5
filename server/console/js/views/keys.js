/* Keys: those that there are, a new one whose text is shown once, and revoking one. Of all accounts for the operator, of its own
 * for CustomerAdmin. */

import {pageHead, panel} from "../controls.js";
import {announce, el, fill, later} from "../dom.js";
import {time} from "../format.js";
import {operation} from "../operator.js";
import {isCustomers, meaning, rolesOf} from "../roles.js";
import {table} from "../table.js";

const OPERATOR = "The operator";

export function show(page) {
  const own = page.session.account !== null, mayMake = page.may("key create");
  const holder = (row) => (row.Account === 0 ? OPERATOR : row.AccountName ?? `Account ${row.Account}`);
  let keys = [];

  /* --- the list --- */

  const revoked = el("input", {type: "checkbox", onchange: () => page.set({revoked: revoked.checked ? "1" : null}, {replace: true})});
  const columns = [
    {id: "Id", name: "Key", kind: "text", wide: true, value: (row) => [row.Name, row.Hint].filter(Boolean).join(" "), title: (row) => `${row.Name ? `${row.Name}, ` : ""}key ${row.Id} of the audit log`,
      cell: (row) => [row.Name ? [row.Name, " "] : "", el("code", {class: row.Name ? "soft" : null}, `${row.Hint}…`), row.Id === page.session.key ? [" ", el("span", {class: "chip"}, "yours")] : "",
        row.Revoked ? [" ", el("span", {class: "chip warn", title: `Revoked ${time(row.Revoked, page.zone)}`}, "revoked")] : ""]},
    own ? null : {id: "Account", name: "Account", kind: "text", value: holder, title: holder,
      cell: (row) => el("a", {href: page.href("/keys", {account: row.Account})}, holder(row))},
    {id: "Roles", name: "Role", kind: "text", value: (row) => row.Roles.join(", "), title: (row) => meaning(row.Roles)},
    {id: "Created", name: "Made", kind: "time", wideOnly: true, value: (row) => row.Created, cell: (row) => time(row.Created, page.zone)},
    page.may("key revoke") ? {id: "do", name: "Actions", kind: "text", sort: false, acts: true, value: () => null,
      cell: (row) => (row.Revoked ? "" : own && !isCustomers(row.Roles) ? el("span", {class: "soft"}, "the operator's")
        : el("button", {type: "button", class: "quiet", "aria-label": `Revoke ${row.Hint}`, onclick: () => revoke(row)}, "Revoke"))} : null,
  ].filter(Boolean);
  const t = table({label: "Keys", name: "keys", page, columns, sort: "-Created", rowData: (row) => ({id: row.Id, account: row.Account}),
    tools: [el("label", {class: "inline"}, revoked, "show revoked")], file: [{id: "Revoked", name: "Revoked", value: (row) => row.Revoked}],
    empty: "No key yet. Whoever signs in here, and every program that asks the API, needs one."});

  function draw() {
    const account = chosen();
    revoked.checked = page.query.get("revoked") === "1";
    t.set(keys.filter((row) => (revoked.checked || !row.Revoked) && (account === null || row.Account === account)));
    const name = account === null ? "" : account === 0 ? OPERATOR : keys.find((row) => row.Account === account)?.AccountName ?? `account ${account}`;
    fill(beside, own || account === null ? "" : [`of ${name}. `, el("a", {href: page.href("/keys", {account: null})}, "All keys")]);
  }

  /* The account of the keys: 0 is the operator's own. */
  const chosen = () => (own || !page.query.get("account") ? null : Number(page.query.get("account")));

  async function read() {
    const answer = await page.get("/keys");
    if (page.failed(answer)) return;
    keys = answer.data.Items.toReversed(); // the newest first, of one second too
    draw();
  }

  async function revoke(row) {
    const mine = row.Id === page.session.key ? " It is the key that you are signed in with: you will be signed out." : "";
    if (!confirm(`Revoke key ${[row.Name, row.Hint].filter(Boolean).join(", ")}… (${row.Roles.join(", ")}${own ? "" : `, ${holder(row)}`})?${mine} What uses it is refused at once. This cannot be undone.`)) return;
    const answer = await page.send("DELETE", `/keys/${row.Id}`);
    if (page.failed(answer)) return;
    announce(`Key ${row.Hint} is revoked.`);
    read();
  }

  /* --- a new one --- */

  const made = el("div", {role: "status", class: "made-key"});
  const makes = panel("Make a key");

  function drawForm() {
    const account = chosen();
    const forWhom = el("select", {name: "for", onchange: () => whom()}, el("option", {value: "account"}, "a customer"), el("option", {value: "operator"}, "the operator"));
    const names = el("datalist", {id: "key-accounts"});
    const field = el("input", {name: "account", list: "key-accounts", autocomplete: "off", required: true, placeholder: "name or number", oninput: later(() => suggest(), 200)});
    const accountField = el("label", {}, "Account", field, names);
    const name = el("input", {name: "name", autocomplete: "off", maxlength: 64, placeholder: "what it is for"});
    const role = el("select", {name: "role", onchange: () => explain(), "aria-describedby": "role-means"});
    const means = el("p", {class: "soft", id: "role-means"}), says = el("p", {class: "error", role: "alert"});
    const button = el("button", {type: "submit", class: "primary"}, "Make the key");
    const isOperators = () => (account === null ? !own && forWhom.value === "operator" : account === 0);

    function explain() {
      means.textContent = `${role.value} ${meaning([role.value])}.`;
    }
    function whom() {
      accountField.hidden = field.disabled = isOperators();
      fill(role, rolesOf(isOperators() ? 0 : 1, own).map((one) => el("option", {value: one.id}, one.id)));
      explain();
    }
    let found = [];
    async function suggest() {
      const answer = await operation(page, "account list", {names: true, search: field.value, limit: 10});
      if (!answer.ok) return;
      found = answer.answer.accounts;
      fill(names, found.map((one) => el("option", {value: one.name}, `account ${one.account}`)));
    }
    async function accountOf() {
      if (own) return page.session.account;
      if (account !== null) return account;
      if (isOperators()) return 0;
      if (/^[1-9]\d*$/.test(field.value.trim())) return Number(field.value);
      await suggest();
      const named = found.filter((one) => one.name === field.value.trim());
      says.textContent = named.length === 1 ? "" : named.length ? "Several accounts have this name. Give the number." : "There is no account of this name.";
      return named.length === 1 ? named[0].account : null;
    }

    const form = el("form", {class: "key-form", onsubmit: async (event) => {
      event.preventDefault();
      says.textContent = "";
      button.disabled = true;
      const number = await accountOf();
      const answer = number === null ? null : await page.post("/keys", {Account: number, Roles: [role.value], ...(name.value.trim() ? {Name: name.value.trim()} : {})});
      button.disabled = false;
      if (!answer || answer.lost || answer.cancelled) return;
      if (!answer.ok) says.textContent = answer.message;
      else name.value = "", once(answer.data);
    }}, own || account !== null ? null : el("label", {}, "For", forWhom), own || account !== null ? null : accountField,
    el("label", {}, "Name", name), el("label", {}, "Role", role), button, means, says);
    whom();
    fill(makes, el("h2", {}, "Make a key"), form);
  }

  /* Its text is in this element and nowhere else; it goes with the view. */
  function once(key) {
    const text = el("code", {tabindex: "0", class: "key-text", "aria-label": "The key"}, key.Key);
    const copy = el("button", {type: "button", class: "primary", onclick: async () => {
      try {
        await navigator.clipboard.writeText(key.Key);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        copy.textContent = "Selected: press Ctrl+C";
      }
      announce(copy.textContent);
    }}, "Copy");
    fill(made, el("div", {class: "notice"}, el("p", {}, el("strong", {}, "Copy this key now: it is not shown again."),
      ` ${key.Name ? `${key.Name}: a` : "A"} key of role ${key.Roles.join(", ")}. Sign in with it here, or send it to the API as the header AccessKey.`),
    el("p", {class: "inline"}, text, copy, el("button", {type: "button", onclick: () => fill(made)}, "Done"))));
    copy.focus();
    read();
  }

  const beside = el("p", {class: "soft"});
  page.root.append(pageHead(page, "Keys", {beside}), made, el("section", {class: "panel"}, t.node), ...mayMake ? [makes] : []);
  if (mayMake) drawForm();
  read();
  let shown = chosen();
  return {
    update() {
      if (mayMake && shown !== chosen()) drawForm();
      shown = chosen();
      draw();
    },
    again: read,
  };
}
