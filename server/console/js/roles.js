/* The roles that a key may be given here, and what they are for. Pure. Roles of the same rights for programs ("UserApi") are left
 * to the command line. */

const ROLES = [
  {id: "User", for: "account", what: "sees everything of the account"},
  {id: "CustomerAdmin", for: "account", what: "sees everything of the account, and makes its keys"},
  {id: "SubuserStatistics", for: "account", what: "sees traffic"},
  {id: "SubuserManage", for: "account", what: "sees traffic, zones and logs"},
  {id: "SubuserPullZones", for: "account", what: "sees zones and logs"},
  {id: "SubuserBilling", for: "account", what: "sees bills and invoices"},
  {id: "Ingest", for: "both", what: "sends logs and usage, and sees nothing"},
  {id: "Support", for: "operator", what: "sees every account"},
  {id: "Finance", for: "operator", what: "sees every account, keeps the ledger and makes invoices final"},
  {id: "Replica", for: "operator", what: "copies the whole database to another machine"},
  {id: "Operator", for: "operator", what: "may do everything"},
];
const ALIKE = {UserApi: "User", SubuserAPIStatistics: "SubuserStatistics", SubuserAPIManage: "SubuserManage",
  SubuserAPIPullZones: "SubuserPullZones", SubuserAPIBilling: "SubuserBilling"};
const ACCOUNTS = new Set(ROLES.filter((role) => role.for === "account").map((role) => role.id));

/** The roles for a key of account 0, or of another; a customer's key gives those of accounts alone. */
export const rolesOf = (account, isCustomers) => ROLES.filter((role) => (isCustomers ? role.for === "account"
  : role.for === "both" || (role.for === "operator") === (account === 0)));

/** What the roles are for, in words. */
export const meaning = (roles) => roles.map((role) => ROLES.find((one) => one.id === (ALIKE[role] ?? role))?.what ?? role).join("; ");

/** Whether a customer's key may revoke one with these roles. The server decides; this is which button is shown. */
export const isCustomers = (roles) => roles.every((role) => ACCOUNTS.has(ALIKE[role] ?? role));
