/* Which operations have a form in the console: in which order and under which words. The fields, their help, their
 * bounds and their defaults come from GET /operations; nothing of a form is written by hand.
 *
 * id          its address, /do/ID
 * title, does what it is called, and what its last button says; entry: what the list calls it, where that differs
 * of          what it is about, in the pages that link to it: "account"
 * operation   the operation; fixed: arguments that it always has
 * says        what it is for, in a sentence
 * fields      the parameters that are seen at once, in order; others are under "More"; hidden: those that this form never has
 * needs       parameters that this form must have, and the operation need not
 * labels, helps   other words than the parameter's own; shadows: a parameter that is one of the shadow books
 * minus       a parameter whose amount is typed without a sign and sent with one
 * reference   the parameter that names the entry: it has a value of its own, so that a form that is sent twice enters once
 * money       the account's balance and open documents are beside it
 * undo        (given, answer) -> [words, id of a form, its query], or words alone
 * document    a list of the catalogue, of which one object is changed; first: its fields that are seen at once
 * Pure. */

const back = (given) => (given.startsWith("-") ? given.slice(1) : `-${given}`);
const takeBack = (given) => ["Take it back", "correction", {account: given.account, amount: back(given.amount), note: `takes back ${given.reference ?? "a credit"}`}];

export const FORMS = [
  {group: "Money"},
  {id: "payment", of: "account", title: "Record a payment", does: "Record the payment", operation: "ledger enter", fixed: {kind: "payment"}, money: true,
    fields: ["account", "amount", "reference", "invoice", "note"], labels: {reference: "Bank's reference"}, helps: {account: "who has paid", amount: "in the account's currency, like 12.50"}, undo: takeBack},
  {id: "bank-list", title: "Record a bank's list of payments", does: "Record the payments", operation: "ledger import",
    says: "A row goes to the account whose invoice it names, else to the account that the file names, else to the one that is called like its payer. The same file again changes nothing.",
    fields: ["payments", "map", "comma", "today"], labels: {payments: "The bank's file", map: "Its columns", comma: "Decimal comma", today: "As of today"},
    undo: () => "Each payment is taken back by itself, with \"Correct a balance\"."},
  {id: "charge", of: "account", title: "Charge an amount", does: "Charge it", says: "It is owed like an invoice, and due today. In the general ledger it is revenue.", operation: "ledger enter", fixed: {kind: "adjustment"}, minus: "amount", money: true,
    fields: ["account", "amount", "note"], reference: "reference", hidden: ["invoice"], undo: takeBack},
  {id: "one-off", of: "account", title: "Add a one-off charge to an invoice", does: "Add the charge", operation: "charge add",
    says: "A line of the month's invoice, with the account's taxes or without. Below zero it is a credit: it reduces the invoice to zero at most, and the rest waits for the next one.",
    fields: ["account", "amount", "description", "month", "taxCategory"], labels: {taxCategory: "Tax category"}, reference: "reference", undo: (given, answer) => ["Drop it", "one-off-drop", {id: answer.id}]},
  {id: "one-off-drop", title: "Drop a one-off charge", does: "Drop the charge", operation: "charge drop", says: "As long as no invoice has billed it.", fields: ["id"],
    undo: () => "Add it again."},
  {id: "refund", of: "account", title: "Pay money back", does: "Enter the refund", operation: "ledger enter", fixed: {kind: "adjustment"}, minus: "amount", money: true,
    says: "For money that you sent back to a customer: it leaves the balance. An invoice that is wrong is made void instead.",
    fields: ["account", "amount", "note"], reference: "reference", hidden: ["invoice"], undo: takeBack},
  {id: "credit", of: "account", title: "Grant credit", does: "Grant the credit", operation: "ledger credit", money: true, fields: ["account", "amount", "expires", "note"], labels: {expires: "Last day"},
    reference: "reference", undo: takeBack},
  {id: "correction", title: "Correct a balance", does: "Enter the correction", says: "Above zero in the customer's favour, below zero in yours.", operation: "ledger enter", fixed: {kind: "adjustment"}, money: true,
    fields: ["account", "amount", "note"], reference: "reference", hidden: ["invoice"], undo: takeBack},
  {id: "grace", title: "Prepaid accounts: days of grace", does: "Set the days", says: "For all prepaid accounts: how long zones stay enabled after the balance is used up.", operation: "ledger grace", needs: ["days"], fields: ["days"],
    undo: () => "Set the days that it had before."},

  {group: "Customers"},
  {id: "customer", title: "Customer", entry: "Add or change a customer", does: "Declare the customer", document: "accounts", first: ["id", "name", "currency", "terms_days", "prepaid"]},
  {id: "contract", of: "account", title: "Contract", entry: "Set a contract", does: "Declare the contract", document: "accounts",
    first: ["id", "contract.discount_percent", "contract.commit.monthly", "contract.commit.amount", "contract.commit.every", "contract.commit.from", "contract.commit.to", "contract.minimum_monthly", "contract.cap.monthly", "contract.cap.action", "contract.book"]},
  {id: "tax", of: "account", title: "Tax and address", entry: "Set tax and address", does: "Declare it", document: "accounts",
    first: ["id", "tax", "buyer.name", "buyer.street", "buyer.postal_code", "buyer.city", "buyer.country", "buyer.vat_id"]},
  {id: "zone", of: "account", title: "Pull zone", entry: "Add a pull zone", does: "Declare the zone", document: "zones", first: ["id", "account", "name", "type", "created", "hostnames"]},
  {id: "balancer", title: "Load balancer", entry: "Add or change a load balancer", does: "Declare the load balancer", document: "load_balancers", first: ["id", "account", "zones", "created", "deleted"]},
  {id: "shield", title: "Shield zone", entry: "Add or change a shield zone", does: "Declare the shield zone", document: "shield_zones", first: ["id", "account", "zone", "name"]},
  {id: "seller", title: "Seller", entry: "Set the seller", does: "Declare the seller", document: "seller",
    first: ["name", "street", "postal_code", "city", "country", "vat_id", "payment.iban", "terms_days"]},

  {group: "Prices"},
  {id: "book", title: "Price book", entry: "Add a price book", does: "Add the book", book: true, operation: "book add"},
  {id: "activate", title: "Bring a shadow book into force", does: "Bring it into force", operation: "book activate", shadows: "book",
    says: "The last billed months are billed again under it. If one changes by more than is allowed, nothing is done.", fields: ["book", "maxChange", "months"],
    labels: {maxChange: "Most change, in percent", months: "Months compared"},
    undo: () => "A book that is in force stays: a later book replaces it."},
  {id: "drop", title: "Drop a shadow book", does: "Drop it", operation: "book drop", shadows: "book", says: "What it would have billed stays on record.", fields: ["book"], undo: () => "Add the book again."},

  {group: "Alerts"},
  {id: "alerts-on", title: "Send alerts from now on", does: "Send them", operation: "alerts", fixed: {on: true}, fields: [], hidden: ["resend", "evaluate", "off", "limit", "account"],
    undo: () => ["Send no more", "alerts-off", {}]},
  {id: "alerts-off", title: "Send no more alerts", does: "Send no more", operation: "alerts", fixed: {off: true}, fields: [], hidden: ["resend", "evaluate", "on", "limit", "account"],
    undo: () => ["Send them again", "alerts-on", {}]},

  {group: "What is kept"},
  {id: "retain", title: "Delete old usage and logs", does: "Delete it", operation: "retain",
    says: "Months that are not final, or still have something to bill, stay. Invoices stay, with their evidence.", fields: ["keepHours", "keepDays", "logs"], hidden: ["hours", "days"],
    labels: {keepHours: "Keep hours for", keepDays: "Keep days for", logs: "Keep request logs for"}, undo: () => "What is deleted is gone: only a backup has it."},
  {id: "forget", title: "Forget a customer who has left", does: "Forget the customer", operation: "forget",
    says: "For an account that is no longer declared: its names and settings go. Usage, invoices, the ledger and the audit log stay.", fields: ["account"], undo: () => "What is forgotten is gone."},
  {id: "withdraw", title: "Withdraw an input", does: "Withdraw it", withdraw: true},
];

/** The forms about one thing that a key may use. */
export const formsOf = (may, what) => FORMS.filter((one) => one.of === what && may(one.operation ?? "catalog change"));

export const formOf = (id) => FORMS.find((one) => one.id === id) ?? null;

/** The groups, each with the forms that a key may use. may(operation): whether it may change something with it. */
export function groupsOf(may) {
  const groups = [];
  for (const row of FORMS) {
    if (row.group) groups.push({name: row.group, forms: []});
    else if (may(row.operation ?? "catalog change")) groups.at(-1).forms.push(row);
  }
  return groups.filter((one) => one.forms.length);
}
