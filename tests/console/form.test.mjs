/* What a form is made of, what it sends, and where a refusal belongs; documents whose numbers keep their digits. */
import assert from "node:assert/strict";
import test from "node:test";

import {argumentsOf, differences, fieldsOf, numeral, ownReference, placeOf, readDocument, textOf, valueOf, writeDocument} from "../../server/console/js/form.js";
import {FORMS, formOf, groupsOf} from "../../server/console/js/forms.js";
import {pricesOf, withPrice} from "../../server/console/js/views/do-book.js";

const ENTER = {name: "ledger enter", parameters: [
  {name: "account", kind: "number", required: true, repeats: false, help: "whose entry", minimum: 1, maximum: "9223372036854775807"},
  {name: "kind", kind: "choice", required: true, repeats: false, help: "what it is", choices: ["payment", "adjustment"]},
  {name: "amount", kind: "text", required: true, repeats: false, help: "like 12.50", minLength: 1, maxLength: 63},
  {name: "reference", kind: "text", required: true, repeats: false, help: "identifies it", minLength: 1, maxLength: 63},
  {name: "note", kind: "text", required: false, repeats: false, help: "kept with it", maxLength: 127},
  {name: "dryRun", kind: "flag", required: false, repeats: false, help: "try it"},
  {name: "format", kind: "choice", required: false, repeats: false, help: "", choices: ["json"], default: "json"}]};

test("a form has the operation's fields, in its own order, without what is fixed", () => {
  const fields = fieldsOf(ENTER, {fields: ["amount", "account"], fixed: {kind: "payment"}, labels: {amount: "How much"}}, {account: "7"});
  assert.deepEqual(fields.map((one) => [one.name, one.label, one.more]), [["amount", "How much", false], ["account", "Account", false], ["reference", "Reference", true], ["note", "Note", true]]);
  assert.equal(fields[1].initial, "7");
  assert.equal(fieldsOf({parameters: [{name: "maxChange", kind: "text", default: "10", help: ""}]}, {fields: ["maxChange"]})[0].label, "Max change");
});

test("what is typed becomes arguments; what is not right is said at its field", () => {
  const form = {fixed: {kind: "adjustment"}, fields: ["account", "amount", "reference"], minus: "amount"}, fields = fieldsOf(ENTER, form);
  const sent = (values) => argumentsOf(fields, {account: "", amount: "", reference: "", note: "", ...values}, form);
  assert.deepEqual(sent({account: " 7 ", amount: "12.50", reference: "x"}), {given: {kind: "adjustment", account: 7, amount: "-12.50", reference: "x"}, query: {}, problems: {}});
  assert.deepEqual(sent({account: "9007199254740993", amount: "1", reference: "x"}).query, {account: "9007199254740993"});
  assert.deepEqual(Object.keys(sent({}).problems), ["account", "amount", "reference"]);
  assert.deepEqual(Object.keys(sent({account: "7.5", amount: "-1", reference: "x"}).problems), ["account", "amount"]);
  assert.deepEqual(Object.keys(sent({account: "9223372036854775808", amount: "1", reference: "x"}).problems), ["account"]);
  assert.deepEqual(Object.keys(sent({account: "0", amount: "1", reference: "x"}).problems), ["account"]);
});

test("beside a document all else goes into the query, flags and lists too", () => {
  const fields = [{name: "document", kind: "document", required: true}, {name: "shadow", kind: "flag"}, {name: "off", kind: "flag"}, {name: "roles", kind: "text", repeats: true}];
  assert.deepEqual(argumentsOf(fields, {document: "{}", shadow: true, off: false, roles: "a, b"}, {}), {given: {shadow: true, roles: ["a", "b"]}, query: {}, body: "{}", problems: {}});
  assert.deepEqual(argumentsOf(fields, {document: "", shadow: false, off: false, roles: ""}, {}).problems, {document: "This is needed."});
});

test("a refusal belongs to its field, or to the nearest that holds it", () => {
  const names = ["account", "maxChange", "contract.commit.monthly", "tax", "hostnames", "buyer.name", "id"];
  for (const [field, found] of [["amount", null], ["account", "account"], ["maxchange", "maxChange"], ["contract.commit.monthly", "contract.commit.monthly"], ["tax.rate", "tax"],
    ["hostnames[2].Value", "hostnames"], ["contract", "contract.commit.monthly"], ["buyer", "buyer.name"], ["", null], [undefined, null], ["zones[3].account", null]]) {
    assert.equal(placeOf(field, names), found, String(field));
  }
});

test("a document that is read and written has the same digits", () => {
  const text = "{\"id\":9223372036854775807,\"rate\":19.10,\"e\":1e-2,\"a\":[0.1,\"0.1\",\"-1\",null,true],\"s\":\"12 \\\"34\\\" \\u00e4\",\"1\":\"\"}";
  assert.equal(writeDocument(readDocument(text)), "{\"1\":\"\",\"id\":9223372036854775807,\"rate\":19.10,\"e\":1e-2,\"a\":[0.1,\"0.1\",\"-1\",null,true],\"s\":\"12 \\\"34\\\" ä\"}");
  assert.throws(() => readDocument("{a:1}"));
  assert.throws(() => readDocument("{\"a\":01}"));
});

test("a field's text stands for what stood there, or for its type", () => {
  const value = (text, type, was) => valueOf(text, type, was).value;
  assert.equal(value("", "string"), undefined);
  assert.equal(value(" acme ", "string"), "acme");
  assert.equal(writeDocument([value("7", "whole number, 1 to 9"), value("5", "percent, 0 to 100"), value("6", "percent, 0 to 100", numeral("5")), value("x", "percent", numeral("5"))]), "[7,\"5\",6,\"x\"]");
  assert.equal(value("true", "true or false"), true);
  assert.equal(value("null", "RFC 3339 time or null"), null);
  assert.equal(writeDocument(value("a.example, b.example", "list of strings or objects")), "[\"a.example\",\"b.example\"]");
  assert.equal(writeDocument(value("101 102", "list of pull zone ids")), "[101,102]");
  assert.equal(writeDocument(value("{\"VAT\": 19.10}", "rates")), "{\"VAT\":19.10}");
  assert.equal(value("19", "rates"), "19");
  for (const [text, type] of [["7.5", "whole number"], ["x", "id of an account"], ["{", "object"], ["x", "object"], ["[1", "list of strings"]]) assert.ok(valueOf(text, type).problem, text);
});

test("differences are told leaf by leaf", () => {
  const before = readDocument("{\"id\":7,\"tax\":{\"VAT\":19},\"hostnames\":[\"a\"],\"gone\":{\"x\":1,\"y\":{}}}"), after = readDocument("{\"id\":7,\"tax\":{\"VAT\":\"20\",\"Levy\":1},\"hostnames\":[\"a\",\"b\"]}");
  assert.deepEqual(differences(before, after), [{path: "tax.VAT", before: "19", after: "20"}, {path: "tax.Levy", before: undefined, after: "1"},
    {path: "hostnames", before: "a", after: "a b"}, {path: "gone.x", before: "1", after: undefined}, {path: "gone.y", before: "{}", after: undefined}]);
  assert.deepEqual(differences(undefined, {a: "1"}), [{path: "a", before: undefined, after: "1"}]);
  assert.deepEqual(differences(before, before), []);
  assert.deepEqual(differences({a: {b: "1"}}, {a: "x"}), [{path: "a", before: "{\"b\":\"1\"}", after: "x"}]);
});

test("a book's prices are found, named and changed where they stand", () => {
  const book = readDocument(`{"book":"b","minimum_monthly":"1","bandwidth":{"premium":{"per":"GB","regions":{"EU":"0.01"}},"volume":{"tiers":[{"from":"0","to":"500","price":"0.005"},{"from":"500","to":null,"price":0.004}]}},
    "load_balancer":{"monthly_fee":"9.50","included_requests":50,"tiers":[{"from_millions":50,"to_millions":null,"price_per_million":"0.65"}]}}`);
  assert.deepEqual(pricesOf(book).map((one) => [one.path.join("."), one.text, one.label]), [["minimum_monthly", "1", "Least a month"], ["bandwidth.premium.regions.EU", "0.01", "Traffic, Europe"],
    ["bandwidth.volume.tiers.0.price", "0.005", "Traffic, volume zones, from 0 to 500 GB"], ["bandwidth.volume.tiers.1.price", "0.004", "Traffic, volume zones, from 500 GB on"],
    ["load_balancer.monthly_fee", "9.50", "Load balancer, a month"], ["load_balancer.tiers.0.price_per_million", "0.65", "Load balancer, from 50 million requests on"]]);
  const dearer = withPrice(withPrice(book, ["bandwidth", "volume", "tiers", 1, "price"], numeral("0.0045")), ["bandwidth", "premium", "regions", "EU"], "0.02");
  assert.deepEqual(differences(book, dearer).map((one) => one.path), ["bandwidth.premium.regions.EU", "bandwidth.volume.tiers"]);
  assert.match(writeDocument(dearer), /\{"from":"500","to":null,"price":0\.0045\}/);
  assert.equal(pricesOf(book)[3].text, "0.004", "the book itself stays");
});

test("forms are those whose operation the key may use; each has a name of its own", () => {
  const ids = FORMS.filter((one) => one.id).map((one) => one.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(groupsOf((name) => name === "ledger enter").map((one) => [one.name, one.forms.map((form) => form.id)]), [["Money", ["payment", "charge", "refund", "correction"]]]);
  assert.equal(formOf("nothing"), null);
  assert.deepEqual(formOf("charge").undo({account: 7, amount: "-5", reference: "r"})[2], {account: 7, amount: "5", note: "takes back r"});
});

test("references of two forms differ", () => {
  const at = Date.UTC(2026, 10, 3);
  assert.equal(ownReference(at, 0), "console 2026-11-03 000000");
  assert.notEqual(ownReference(at, 0.25), ownReference(at, 0.5));
  assert.ok(ownReference(at, 0.999999).length <= 63);
});
