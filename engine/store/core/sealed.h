/* The tables that are sealed row by row: in each, `seal` is a hash over the row's other columns, and
 * the table head keeps how many rows there are and the sum of their seals. Triggers keep both, so no
 * statement can forget it; verify compares (verify/sealed.c). What has seals of its own (blocks of
 * request logs and of shield events, rungs, chunks) or is made of other rows is not here.
 *
 * A table joins with a line in TB__SEALED_TABLES, its columns in a macro of its own, and
 * TB__SEAL_ROWS and TB__SEAL_KEPT in the migration that makes it. A migration that adds a column to
 * a sealed table needs a new macro of columns, since the old one is part of a migration that has
 * shipped, new triggers, and TB__SEAL_ROWS once more. */
#ifndef TOLLBOOK_STORE_SEALED_H
#define TOLLBOOK_STORE_SEALED_H

/* Seals have 62 bits: two of them can be added in SQLite's integers. */
#define TB__SEAL_MASK "4611686018427387903"
/* What no seal is, and as long as most: a row that is sealed then keeps its length. */
#define TB__UNSEALED "4611686018427387904"

/* Whether an account exists and has alerts, by its canonical document: the condition of an index. */
#define TB__ALERTS_DECLARED                                                                        \
    "deleted_us=9223372036854775807 AND instr(document,'\"alerts\":[{')>0"
/* The same of a contract with a cap. */
#define TB__CAP_DECLARED "deleted_us=9223372036854775807 AND instr(document,'\"cap\":{')>0"

/* The columns, each behind a prefix: "", "NEW." or "OLD.". */
#define TB__C_meta(r)    r "name," r "value"
#define TB__C_account(r) r "id," r "name," r "document," r "declared_us," r "deleted_us"
#define TB__C_zone(r)                                                                              \
    r "id," r "account," r "name," r "type," r "created_us," r "settings," r "document,"           \
    r "declared_us," r "deleted_us"
#define TB__C_balancer(r)                                                                          \
    r "id," r "account," r "created_us," r "ended_us," r "document," r "declared_us,"              \
    r "deleted_us"
#define TB__C_shield_zone(r)                                                                       \
    r "id," r "account," r "name," r "zone," r "document," r "declared_us," r "deleted_us"
#define TB__C_declaration(r)                                                                       \
    r "kind," r "id," r "from_us," r "to_us," r "document," r "version," r "closed_version"
#define TB__C_attachment(r)                                                                        \
    r "zone," r "balancer," r "from_us," r "to_us," r "version," r "closed_version"
#define TB__C_region(r)                                                                            \
    r "id," r "code," r "name," r "billing," r "continent," r "country," r "price," r "latitude,"  \
    r "longitude," r "latency_routing"
#define TB__C_region_billing(r) r "code," r "version," r "billing"
#define TB__C_key_v13(r)                                                                           \
    r "id," r "account," r "roles," r "hash," r "hint," r "created_us," r "revoked_us,"            \
    r "sealed," r "revoked_version"
#define TB__C_key(r) TB__C_key_v13(r) "," r "name"
#define TB__C_edge(r)   r "id," r "code"
#define TB__C_series(r) r "scope," r "owner," r "edge," r "id"
#define TB__C_segment(r)                                                                           \
    r "id," r "kind," r "name," r "source," r "start," r "length," r "hash," r "head,"             \
    r "lines_before," r "accepted," r "rejected," r "final," r "added_us," r "sums"
#define TB__C_withdrawal(r) r "segment," r "version," r "withdrawn_us," r "source," r "rungs"
#define TB__C_book(r)                                                                              \
    r "id," r "name," r "currency," r "effective_us," r "sha256," r "version," r "added_us,"       \
    r "supersedes," r "document"
#define TB__C_shadow_book(r)                                                                       \
    r "id," r "name," r "currency," r "effective_us," r "sha256," r "added_us," r "state,"         \
    r "closed_us," r "document"
#define TB__C_shadow_bill(r)                                                                       \
    r "shadow," r "account," r "month," r "watermark," r "currency," r "invoice," r "billed,"      \
    r "would," r "unpriced," r "made_us"
#define TB__C_scenario(r) r "id," r "name," r "sha256," r "added_us," r "document"
#define TB__C_invoice(r)                                                                           \
    r "id," r "year," r "serial," r "number," r "kind," r "state," r "account," r "month,"         \
    r "watermark," r "since," r "currency," r "total," r "sha256," r "previous," r "replaces,"     \
    r "finalized_us," r "voided_us," r "document"
#define TB__C_correction(r) r "invoice," r "account," r "month," r "since"
#define TB__C_month_run(r)                                                                         \
    r "id," r "account," r "month," r "watermark," r "outcome," r "invoice," r "run_us," r "reason"
#define TB__C_late(r)                                                                              \
    r "id," r "version," r "account," r "month," r "scope," r "owner," r "edge," r "day," r "data"
#define TB__C_ledger_v13(r)                                                                        \
    r "id," r "account," r "at_us," r "kind," r "currency," r "amount," r "reference," r "note,"   \
    r "chain"
#define TB__C_ledger(r)                                                                            \
    r "id," r "account," r "at_us," r "kind," r "currency," r "amount," r "reference," r "note,"   \
    r "document," r "expires," r "chain"
#define TB__C_closing(r)                                                                           \
    r "id," r "month," r "closed_us," r "version," r "entries," r "sha256," r "reopened_us,"       \
    r "reopened_version," r "document"
#define TB__C_audit(r)                                                                             \
    r "id," r "at_us," r "key," r "origin," r "operation," r "arguments," r "chain"
#define TB__C_container(r)  r "kind," r "account," r "id," r "document"
#define TB__C_deployment(r) r "account," r "app," r "status," r "asked," r "changed_us"
#define TB__C_deployment_end(r)                                                                    \
    r "account," r "app," r "asked," r "ended_us," r "succeeded," r "exit_status," r "reason,"     \
    r "output"
#define TB__C_secret(r)     r "name," r "value"
#define TB__C_retention(r)  r "account," r "hours_month," r "days_month"
#define TB__C_usage_gone(r) r "account," r "month," r "sums"
#define TB__C_alert(r)                                                                             \
    r "id," r "account," r "alert," r "kind," r "month," r "threshold," r "seen," r "raised_us,"   \
    r "cleared_us," r "raised," r "cleared," r "data"
#define TB__C_own_alert(r)  r "account," r "id," r "document"
#define TB__C_charge_v28(r)                                                                        \
    r "id," r "account," r "month," r "amount," r "currency," r "description," r "reference,"      \
    r "version," r "added_us," r "dropped_version"
#define TB__C_charge(r) TB__C_charge_v28(r) "," r "tax_category"
#define TB__C_charge_billed(r) r "charge," r "invoice," r "amount"
#define TB__C_meter(r) r "id," r "name," r "document," r "declared_us," r "deleted_us"
#define TB__C_meter_resource(r) r "noun," r "name," r "account," r "segment"
#define TB__C_standby(r) r "name," r "url," r "program_schema"
#define TB__C_meter_series(r)                                                                      \
    r "id," r "meter," r "account," r "resource," r "dimension_1," r "dimension_2"
#define TB__C_gauge(r) r "series," r "at_us," r "segment," r "value," r "version," r "gone_version"
#define TB__C_event_id_run(r) r "id," r "month," r "level," r "ids," r "bits," r "digest"
#define TB__C_event_id_month(r) r "month," r "account"
#define TB__C_proof_tile(r)       r "level," r "number," r "hashes"
#define TB__C_proof_entry(r)      r "id," r "type," r "account," r "subject," r "entry," r "version"
#define TB__C_proof_late(r)       r "id," r "version," r "account," r "day," r "scope," r "owner," r "edge," r "data"
#define TB__C_proof_change(r)     r "account," r "day"
#define TB__C_proof_checkpoint(r) r "size," r "note"
#define TB__C_outbox(r)                                                                            \
    r "id," r "message," r "type," r "account," r "created_us," r "since_us," r "state,"           \
    r "attempts," r "next_us," r "delivered_us," r "status," r "error," r "body"

/* X(table, the name of a row in messages: an SQL expression). */
#define TB__SEALED_TABLES(X)                                                                       \
    X(meta, "'The value '||name")                                                                  \
    X(account, "'Account '||id")                                                                   \
    X(zone, "'Pull zone '||id")                                                                    \
    X(balancer, "'Load balancer '||id")                                                            \
    X(shield_zone, "'Shield zone '||id")                                                           \
    X(declaration, "format('The declaration of %s %d at version %d',kind,id,version)")             \
    X(attachment, "format('The attachment of pull zone %d to load balancer %d at version %d',"     \
                  "zone,balancer,version)")                                                        \
    X(region, "'Region '||code")                                                                   \
    X(region_billing, "format('The billing region of %s at version %d',code,version)")             \
    X(key, "'Key '||id")                                                                           \
    X(edge, "format('Edge location %d (%s)',id,code)")                                             \
    X(series, "format('Series %d (%s %d)',id,CASE scope WHEN 1 THEN 'pull zone' WHEN 2 THEN"       \
              " 'account' WHEN 3 THEN 'load balancer' ELSE 'meter series' END,owner)")                                        \
    X(segment, "'Segment '||id")                                                                   \
    X(withdrawal, "'The withdrawal of segment '||segment")                                          \
    X(book, "'Book '||name")                                                                       \
    X(shadow_book, "format('Shadow book %d (%s)',id,name)")                                        \
    X(shadow_bill, "format('The bill of shadow book %d for account %d, month %d',shadow,account,"  \
                   "month)")                                                                       \
    X(scenario, "format('Scenario %d (%s)',id,name)")                                              \
    X(invoice, "'Invoice '||number")                                                               \
    X(correction, "format('The correction of account %d, month %d by invoice %d',account,month,"   \
                  "invoice)")                                                                      \
    X(month_run, "'Run '||id")                                                                     \
    X(late, "'Late usage '||id")                                                                   \
    X(ledger, "'Ledger entry '||id")                                                               \
    X(closing, "'Closing '||id")                                                                   \
    X(audit, "'Audit entry '||id")                                                                 \
    X(container, "format('Container %s of account %d',id,account)")                                \
    X(deployment, "format('The deployment of %s of account %d',app,account)")                      \
    X(deployment_end, "format('The end of the deployment of %s of account %d',app,account)")       \
    X(secret, "'The secret of '||name")                                                            \
    X(retention, "'What is kept of account '||account")                                            \
    X(usage_gone, "format('What went of account %d, month %d',account,month)")                     \
    X(alert, "format('Alert %d of account %d',id,account)")                                        \
    X(own_alert, "format('The own alert %s of account %d',id,account)")                            \
    X(charge, "'Charge '||id")                                                                     \
    X(charge_billed, "format('What invoice %d billed of charge %d',invoice,charge)")               \
    X(meter, "'Meter '||name")                                                                     \
    X(meter_resource, "format('Resource %s %s',noun,name)")                                        \
    X(standby, "format('Standby %s',name)")                                                        \
    X(meter_series, "'Meter series '||id")                                                         \
    X(gauge, "format('The value of meter series %d at %d, of segment %d',series,at_us,segment)")   \
    X(event_id_run, "'Run '||id||' of event ids'")                                                  \
    X(event_id_month, "format('The event ids of account %d in month %d',account,month)")           \
    X(proof_tile, "format('Tile %d of level %d of the log of documents',number,level)")             \
    X(proof_entry, "format('Entry %d of the log of documents',id)")                                \
    X(proof_late, "format('Change %d of a closed day',id)")                                       \
    X(proof_change, "format('The change of %d days since 1970 of account %d',day,account)")         \
    X(proof_checkpoint, "format('The checkpoint of %d entries',size)")                             \
    X(outbox, "'Message '||message")

/* --- for migrations --- */

/* columns: the macro's name, where it is not the table's. */
#define TB__SEAL_OF(table, columns, r) "tb_seal('" #table "'," TB__C_##columns(r) ")"
#define TB__SEAL(table, r)             TB__SEAL_OF(table, table, r)
#define TB__SEAL_COLUMN(table)                                                                     \
    "ALTER TABLE " #table " ADD COLUMN seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ";"
/* The sum of all seals: of halves, since sum() fails where an integer would overflow. */
#define TB__SEAL_SUM                                                                               \
    "((((coalesce(sum(seal>>31),0)&2147483647)<<31)+coalesce(sum(seal&2147483647),0))&"            \
    TB__SEAL_MASK ")"
/* Seals existing rows; before the triggers are made. */
#define TB__SEAL_ROWS(table) TB__SEAL_ROWS_OF(table, table)
#define TB__SEAL_ROWS_OF(table, columns)                                                           \
    "UPDATE " #table " SET seal=" TB__SEAL_OF(table, columns, "") ";"                              \
    "INSERT OR REPLACE INTO head SELECT '" #table "',count(*)," TB__SEAL_SUM " FROM " #table ";"
/* The triggers. key: the condition for the row just written. A table without updates, or deletes, has no trigger for
 * that, as every connection parses the triggers' text. The old row is subtracted from the sum as found, not as
 * sealed: a row that was changed without the triggers is then still detected by the sum after it is overwritten. */
#define TB__SEAL_ADDED(table, key) TB__SEAL_ADDED_OF(table, table, key)
#define TB__SEAL_ADDED_OF(table, columns, key)                                                     \
    "CREATE TRIGGER " #table "_sealed AFTER INSERT ON " #table " BEGIN"                            \
    " UPDATE " #table " SET seal=" TB__SEAL_OF(table, columns, "") " WHERE " key ";"               \
    " UPDATE head SET n=n+1,seals=(seals+(SELECT seal FROM " #table " WHERE " key "))&"            \
    TB__SEAL_MASK " WHERE name='" #table "'; END;"
#define TB__SEAL_CHANGED(table, key) TB__SEAL_CHANGED_OF(table, table, key)
#define TB__SEAL_CHANGED_OF(table, columns, key)                                                   \
    "CREATE TRIGGER " #table "_resealed AFTER UPDATE OF " TB__C_##columns("") " ON " #table " BEGIN" \
    " UPDATE " #table " SET seal=" TB__SEAL_OF(table, columns, "") " WHERE " key ";"               \
    " UPDATE head SET seals=(((seals-" TB__SEAL_OF(table, columns, "OLD.") ")&" TB__SEAL_MASK ")+" \
    "(SELECT seal FROM " #table " WHERE " key "))&" TB__SEAL_MASK " WHERE name='" #table "'; END;"
#define TB__SEAL_GONE(table) TB__SEAL_GONE_OF(table, table)
#define TB__SEAL_GONE_OF(table, columns)                                                           \
    "CREATE TRIGGER " #table "_unsealed AFTER DELETE ON " #table " BEGIN"                          \
    " UPDATE head SET n=n-1,seals=(seals-" TB__SEAL_OF(table, columns, "OLD.") ")&" TB__SEAL_MASK  \
    " WHERE name='" #table "'; END;"
#define TB__SEAL_KEPT(table, key)                                                                  \
    TB__SEAL_ADDED(table, key) TB__SEAL_CHANGED(table, key) TB__SEAL_GONE(table)
/* An append-only table's: its seal alone may be written. */
#define TB__APPEND_ONLY(table, why) TB__APPEND_ONLY_OF(table, table, why)
#define TB__APPEND_ONLY_OF(table, columns, why)                                                    \
    "CREATE TRIGGER " #table "_no_update BEFORE UPDATE OF " TB__C_##columns("") " ON " #table      \
    " BEGIN SELECT raise(ABORT,'" why "'); END;"

#endif
