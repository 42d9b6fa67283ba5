/* Alerts of all accounts, and the messages that told of them. */

import {pageHead} from "../controls.js";
import {el, fill} from "../dom.js";
import {time} from "../format.js";
import {accountNames, operation, sentences} from "../operator.js";
import {table} from "../table.js";

export function show(page) {
  const mayChange = page.may("alerts");
  const result = el("div", {role: "status"});
  const when = (id, name) => ({id, name, kind: "time", value: (row) => row[id], cell: (row) => time(row[id], page.zone)});
  const text = (id, name, more = {}) => ({id, name, kind: "text", value: (row) => row[id], ...more});
  let names = new Map();
  const account = {id: "account", name: "Account", kind: "text", value: (row) => names.get(row.account) ?? `Account ${row.account}`, title: (row) => `Account ${row.account}`,
    cell: (row) => (row.account ? el("a", {href: page.href(`/accounts/${row.account}`, {account: null})}, names.get(row.account) ?? `Account ${row.account}`) : "–")};
  const alerts = table({label: "Alerts", title: "Alerts", name: "alerts", page, rowData: (row) => ({account: row.account}), columns: [
    account,
    text("alert", "Alert"), text("kind", "Kind"), text("month", "Month"),
    {id: "state", name: "State", kind: "text", value: (row) => (row.cleared ? "cleared" : "raised"),
      cell: (row) => el("span", {class: row.cleared ? "chip" : "chip warn"}, row.cleared ? "cleared" : "raised")},
    {id: "threshold", name: "Threshold", kind: "decimal", field: "threshold", value: (row) => row.threshold}, {id: "seen", name: "Seen", kind: "decimal", field: "seen", value: (row) => row.seen},
    when("raised", "Raised"), when("cleared", "Cleared")],
  empty: "No alert stands. An account's \"alerts\" in the catalogue declare them: see docs/alerts.md."});
  const messages = table({label: "Messages", title: "Messages", name: "messages", page, key: "m-", columns: [
    text("id", "ID"), text("type", "Type"), account,
    text("state", "State", {cell: (row) => el("span", {class: row.state === "failed" ? "chip warn" : "chip"}, row.state)}),
    {id: "attempts", name: "Tries", kind: "number", value: (row) => row.attempts}, {id: "status", name: "Answer", kind: "number", value: (row) => row.status || null},
    !mayChange ? null : {id: "do", name: "Actions", kind: "text", sort: false, acts: true, value: () => null,
      cell: (row) => (row.state === "waiting" ? "" : el("button", {type: "button", class: "quiet", onclick: () => act({resend: row.id})}, "Send again"))}].filter(Boolean),
  empty: "No message. They are sent with: tollbook serve --alert-url URL --alert-secret-file FILE"});
  const evaluate = el("button", {type: "button", onclick: () => act({evaluate: true})}, "Look now");
  page.root.append(pageHead(page, "Alerts", {beside: mayChange ? evaluate : null}), result, el("section", {class: "panel"}, alerts.node), el("section", {class: "panel"}, messages.node));

  async function act(given) {
    evaluate.disabled = true;
    const answer = await operation(page, "alerts", given);
    evaluate.disabled = false;
    if (page.failed(answer)) return;
    const found = answer.answer, made = given.evaluate ? [`${found.raised ?? 0} raised, ${found.cleared ?? 0} cleared.`] : ["It waits to be sent again."];
    fill(result, el("div", {class: "notice"}, sentences(answer.said.length ? answer.said : made)));
    read();
  }

  async function read() {
    const [answer, known] = await Promise.all([operation(page, "alerts"), accountNames(page)]);
    if (page.failed(answer)) return;
    names = known;
    alerts.set(answer.answer.alerts);
    messages.set(answer.answer.messages);
  }

  read();
  return {again: read};
}
