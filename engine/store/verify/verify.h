/* Shared by the parts of verify: its statements, and the differences found so far. */
#ifndef TOLLBOOK_STORE_VERIFY_H
#define TOLLBOOK_STORE_VERIFY_H

#include "store/core/internal.h"

/* Statements of one run, so they are not among the store's own. */
#define TB__VERIFY_STATEMENTS(X)                                                                   \
    X(MEMBERS, "SELECT owner,edge,id FROM series WHERE scope=?1 ORDER BY owner,edge")              \
    X(ACCOUNT_MEMBERS, "SELECT edge,id FROM account_series WHERE account=?1 ORDER BY edge")        \
    X(ACCOUNT_SHARES, "SELECT zone FROM series_shared WHERE account=?1")                           \
    X(ACCOUNTS, "SELECT owner FROM series WHERE scope=2 UNION SELECT account FROM zone"            \
                " WHERE EXISTS(SELECT 1 FROM series WHERE scope=1 AND owner=zone.id) ORDER BY 1")  \
    /* CROSS: the account's zones first, else all series are walked for each account */            \
    X(ZONES_OF_ACCOUNT,                                                                            \
      "SELECT s.edge,s.id FROM zone z CROSS JOIN series_placed s ON s.scope=1 AND s.owner=z.id"    \
      " WHERE z.account=?1 AND s.edge>0 UNION ALL SELECT s.edge,s.id FROM zone z CROSS JOIN"       \
      " series_new s ON s.scope=1 AND s.owner=z.id WHERE z.account=?1 AND s.edge>0 ORDER BY 1,2")  \
    X(SERIES_IDS, "SELECT id FROM series ORDER BY id")                                             \
    X(ZONE_IDS, "SELECT owner FROM series_placed WHERE scope=1 UNION SELECT owner FROM series_new" \
                " WHERE scope=1 ORDER BY 1")                                                       \
    X(NEXT_KEY, "SELECT min(key) FROM chunk WHERE key>=?1")                                        \
    X(KEY_RANGE, "SELECT (SELECT min(key) FROM chunk WHERE key BETWEEN ?1 AND ?2),"                \
                 "(SELECT max(key) FROM chunk WHERE key BETWEEN ?1 AND ?2)")                       \
    X(DAYS, "SELECT key,data FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key")                 \
    X(MONTH, "SELECT data FROM chunk WHERE key=?1")                                                \
    X(COUNTRY_RANGE, "SELECT min(day),max(day) FROM country_day WHERE zone=?1")                    \
    X(COUNTRIES,                                                                                   \
      "SELECT day,data FROM country_day WHERE zone=?1 AND day BETWEEN ?2 AND ?3 ORDER BY day")     \
    X(EDGE_CODE, "SELECT code FROM edge WHERE id=?1")                                              \
    X(SUMS, "SELECT segment.id,j.key,j.value FROM segment,"                                        \
            "json_each(CASE WHEN json_valid(sums) THEN sums ELSE '{\"?\":0}' END) AS j"            \
            " WHERE j.key='rung_seals' OR " TB__LIVE("segment"))                                   \
    X(RUNGS_WITHDRAWN, "SELECT rungs FROM withdrawal")                                             \
    X(ZONES, "SELECT id,created_us,settings,document,"                                             \
             "iif(json_valid(document),document->'$.settings',NULL) FROM zone")                    \
    X(BALANCERS, "SELECT id,created_us,ended_us,document FROM balancer")                           \
    X(HEAD, "SELECT n,seals FROM head WHERE name=?1")                                              \
    X(HEADS, "SELECT count(*) FROM head")                                                          \
    X(RUNGS, "SELECT head,length,hash FROM rung")                                                  \
    X(ROLES, "SELECT id FROM key WHERE roles&~?1")                                                 \
    X(BOOKS,                                                                                       \
      "SELECT b.name,b.currency,b.effective_us,b.sha256,b.document," TB__BOOK_END("b.")            \
      ",s.first_hour,s.last_hour"                                                                  \
      " FROM book b LEFT JOIN book_span s ON s.id=b.id ORDER BY b.id")                             \
    X(INVOICES,                                                                                    \
      "SELECT i.number,i.month,i.sha256,i.total,i.document,(SELECT amount FROM ledger l WHERE"     \
      " l.kind=i.kind AND l.reference=i.number AND l.reference<>''),(SELECT amount FROM ledger l"  \
      " WHERE l.kind='void' AND l.reference=i.number AND l.reference<>''),s.first_hour,"           \
      "s.last_hour FROM invoice i"                                                                 \
      " LEFT JOIN invoice_span s ON s.id=i.id ORDER BY i.id")                                      \
    X(LEDGER, "SELECT " TB__C_ledger("") " FROM ledger"                                            \
              " ORDER BY id")                                                                      \
    X(PREPAID,                                                                                     \
      "SELECT account,m,id,reversal,amount,coalesce((SELECT r.outcome<>'refused' FROM month_run r" \
      " WHERE r.id=" TB__LAST_RUN("x.account", "x.month") "),0) FROM (SELECT account,id,amount,m," \
      "reversal,(substr(m,1,4)-1970)*12+substr(m,6,2)-1 AS month FROM (SELECT account,id,amount,"  \
      "iif(kind='usage',substr(reference,-10,7),substr(reference,-7)) AS m,"                       \
      "kind='usage_reversal' AS reversal FROM ledger WHERE kind IN('usage','usage_reversal'))) AS x"\
      " ORDER BY account,m,id")                                                                    \
    X(AUDIT, "SELECT " TB__C_audit("") " FROM audit ORDER BY id")                                  \
    /* of months that have their hours */                                                          \
    X(LATE, "SELECT id,version,scope,owner,edge,day,data,account,month FROM late"                  \
            " WHERE NOT EXISTS(SELECT 1 FROM retention k WHERE k.account=late.account"             \
            " AND k.hours_month>late.month) ORDER BY scope,owner,edge,day,id")                     \
    X(GONE, "SELECT g.account,j.key,j.value FROM usage_gone AS g,"                                 \
            "json_each(iif(json_valid(g.sums),g.sums,'{\"?\":0}')) AS j")                          \
    X(KEPT_MOST, "SELECT coalesce(max(hours_month),0) FROM retention")                             \
    X(CLOSED_LATE, "SELECT count(*) FROM late l JOIN retention k ON k.account=l.account"           \
                   " AND k.hours_month>l.month WHERE l.version>max(coalesce((SELECT r.watermark"   \
                   " FROM month_run r WHERE r.id=" TB__LAST_RUN("l.account", "l.month") "),0),"    \
                   "coalesce(" TB__CORRECTED("l.account", "l.month") ",0))")                       \
    X(SHADOWS, "SELECT name,currency,effective_us,sha256,document FROM shadow_book ORDER BY id")    \
    X(SHADOW_BILLS,                                                                                \
      "SELECT b.shadow,b.account,b.month,b.watermark,b.currency,b.invoice,b.billed,b.would,"       \
      "b.unpriced,coalesce(s.name,'?') FROM shadow_bill b LEFT JOIN shadow_book s"\
      " ON s.id=b.shadow ORDER BY b.shadow,b.month,b.account,b.watermark")                         \
    X(SCENARIOS, "SELECT id,name,sha256,document,json_valid(document) AND"                         \
                 " json_extract(document,'$.scenario') IS name FROM scenario ORDER BY id")         \
    X(EVENT_BLOCKS, "SELECT id,zone,day,first,events,seal,data FROM event_block"                   \
                    " ORDER BY zone,first")                                                        \
    X(LOG_BLOCKS,                                                                                  \
      "SELECT b.id,b.zone,b.first_ms,b.last_ms,b.lines,b.seal,b.data,s.zone,s.zone_too,"           \
      "s.first_hour,s.last_hour FROM log_block b LEFT JOIN log_span s ON s.id=b.id ORDER BY b.id") \
    X(LOG_RUNS, "SELECT id,lines,first_ms,last_ms,seal,zones,data FROM log_run ORDER BY id")       \
    X(LOG_RUN_STATE,                                                                               \
      "SELECT 1 FROM (SELECT (SELECT value FROM meta WHERE name='log_run_spent') AS spent,"        \
      "(SELECT value FROM meta WHERE name='log_fold_run') AS fold,"                                \
      "(SELECT value FROM meta WHERE name='log_fold_zone') AS zone) WHERE spent<0 OR fold<0"       \
      " OR zone<0 OR (fold=0 AND zone>0) OR (fold>0 AND fold<=spent)")                             \
    X(DECLARED, "SELECT kind,id,document,to_us FROM declaration ORDER BY kind,id,from_us")          \
    /* what each commits to; whether that can be made; the moment of a void; the version that a day's text is made as of */ \
    X(PROOF_ENTRIES,                                                                               \
      "SELECT e.id,e.type,e.account,e.subject,e.entry,CASE e.type WHEN 'book' THEN b.document ELSE i.document END," \
      "CASE e.type WHEN 'book' THEN b.id IS NOT NULL WHEN 'usage' THEN e.now OR EXISTS(SELECT 1 FROM month_run r WHERE" \
      " r.account IN(0,e.account) AND r.month=" TB__PROOF_MONTH("e.subject") " AND r.watermark<=e.version)" \
      " ELSE i.id IS NOT NULL END,i.voided_us,iif(e.now," TB__FOR_EVER ",e.version) FROM (SELECT *,type='usage' AND NOT EXISTS" \
      "(SELECT 1 FROM proof_entry f WHERE f.subject=e.subject AND f.account=e.account AND f.type='usage' AND f.id>e.id)" \
      " AND NOT EXISTS(SELECT 1 FROM proof_change c WHERE c.account=e.account AND c.day=unixepoch(e.subject)/86400) AS now" \
      " FROM proof_entry e) AS e LEFT JOIN book b ON e.type='book' AND b.name=e.subject LEFT JOIN invoice i ON" \
      " e.type IN('invoice','void') AND i.number=e.subject ORDER BY e.id")                         \
    X(PROOF_TILE, "SELECT hashes FROM proof_tile WHERE level=?1 AND number=?2")                    \
    X(PROOF_TILES, "SELECT count(*) FROM proof_tile")                                              \
    X(PROOF_CHECKPOINT, "SELECT size,note,(SELECT coalesce(min(size),0) FROM proof_checkpoint WHERE size>?1)" \
                        " FROM proof_checkpoint WHERE size=?1")                                    \
    X(PROOF_DAY, "SELECT 1 WHERE EXISTS(SELECT 1 FROM proof_entry WHERE subject=?3 AND account=?1 AND type='usage')" \
                 " OR EXISTS(SELECT 1 FROM proof_change WHERE account=?1 AND day=?2)")             \
    X(PROOF_SERIES, "SELECT account,id FROM account_series UNION SELECT b.account,s.id FROM balancer b CROSS JOIN series s" \
                    " ON s.scope=3 AND s.owner=b.id UNION SELECT m.account,s.id FROM meter_series m CROSS JOIN series s" \
                    " ON s.scope=4 AND s.owner=m.id ORDER BY 1,2")                                 \
    X(SERIES_AT, "SELECT id FROM series WHERE scope=?1 AND owner=?2 AND edge=?3")

typedef enum tb__verify_statement {
#define TB_X(name, sql) TB__V_##name,
    TB__VERIFY_STATEMENTS(TB_X)
#undef TB_X
        TB__V_COUNT
} tb__verify_statement;

#define TB__NO_HOUR (-INT64_MAX) /* as the schema notes it if there is no usage */

typedef struct tb__verify {
    tb_store *store;
    sqlite3_stmt *statement[TB__V_COUNT];
    tb_say say;
    void *ctx;
    uint64_t differences;
    tb_u128 sums[TB_METRIC_COUNT]; /* over the hours of all zones, load balancers and series of meters */
    tb_u128 country_requests, country_bytes; /* over the days of all zones */
    int64_t newest_hour;                     /* of the hours */
    int64_t kept_most; /* hours of this month and later ones are kept for every account */
    bool damaged;           /* a base chunk could not be read: the sums mean nothing */
    bool countries_damaged; /* the same of countries */
} tb__verify;

/* A difference: counted, and said as one sentence. */
void tb__verify_differ(void *v, const char *sentence); /* a tb__differ_fn */
void tb__differs(tb__verify *v, const char *fmt, ...) TB_PRINTF(2, 3);
/* A remark: a sentence that is no difference. */
void tb__remarks(tb__verify *v, const char *fmt, ...) TB_PRINTF(2, 3);
/* A statement with n integers bound. Each is used by one loop at a time. */
TB_MUST_USE tb_code tb__verify_sql(tb__verify *v, tb__verify_statement id, const int64_t *values,
                                   int n, sqlite3_stmt **ret, tb_error *err);

/* sealed.c: every sealed table, row by row and by its sum. */
TB_MUST_USE tb_code tb__verify_sealed(tb__verify *v, tb_error *err);

/* prepaid.c: the days of prepaid accounts, and what takes them back. */
TB_MUST_USE tb_code tb__verify_prepaid(tb__verify *v, tb_error *err);

/* rows.c: roles, and that the tables and triggers are those that the store made. */
TB_MUST_USE tb_code tb__verify_schema(tb__verify *v, tb_error *err);
TB_MUST_USE tb_code tb__schema_hash(sqlite3 *db, const char *path, char ret_hex[65], tb_error *err);
TB_MUST_USE tb_code tb__verify_roles(tb__verify *v, tb_error *err);
/* The seals of all rungs together. */
TB_MUST_USE tb_code tb__sum_rungs(tb__verify *v, tb_u128 *ret_sum, tb_error *err);

/* runs.c: sorted runs of counters and countries. */
TB_MUST_USE tb_code tb__verify_runs(tb__verify *v, tb_error *err);
TB_MUST_USE tb_code tb__verify_event_ids(tb__verify *v, tb_error *err);
TB_MUST_USE tb_code tb__verify_pieces(tb__verify *v, tb_error *err);
TB_MUST_USE tb_code tb__verify_proof(tb__verify *v, tb_error *err);
/* countries.c: a zone's days of a month against its hours (31 days; days with a bit in `unsure` are not known), and
 * the first and last day with countries: none where the first is greater. */
TB_MUST_USE tb_code tb__verify_country_month(tb__verify *v, int64_t zone, int64_t month,
                                             const tb_grid *hours, uint32_t unsure, tb_error *err);
TB_MUST_USE tb_code tb__verify_country_days(tb__verify *v, int64_t zone, int64_t ret_days[2],
                                            tb_error *err);

/* usage.c: every chunk and every day of countries; fills sums and newest_hour. */
TB_MUST_USE tb_code tb__verify_zones(tb__verify *v, tb_error *err);
TB_MUST_USE tb_code tb__verify_accounts(tb__verify *v, tb_error *err);
TB_MUST_USE tb_code tb__verify_balancers(tb__verify *v, tb_error *err);
TB_MUST_USE tb_code tb__verify_meters(tb__verify *v, tb_error *err);

/* A query of which each row is a sentence about a difference. */
TB_MUST_USE tb_code tb__verify_reference(tb__verify *v, const char *sql, tb_error *err);

/* Reports damage as a difference, and the next part goes on. Any other error stops the check. */
TB_MUST_USE tb_code tb__verify_note(tb__verify *v, tb_code code, const tb_error *err);

/* derived.c: the catalogue's rows against their documents. */
TB_MUST_USE tb_code tb__verify_derived(tb__verify *v, tb_error *err);

/* trees.c: the R*Trees themselves. */
TB_MUST_USE tb_code tb__verify_trees(tb__verify *v, tb_error *err);

/* logs.c: blocks of request logs. */
TB_MUST_USE tb_code tb__verify_logs(tb__verify *v, tb_error *err);

/* declared.c: the declarations, by the rules for applying a catalogue. */
TB_MUST_USE tb_code tb__verify_declared(tb__verify *v, tb_error *err);

/* containers.c: registries, container applications, limits, deployments. */
TB_MUST_USE tb_code tb__verify_containers(tb__verify *v, tb_error *err);

/* chains.c: the chained tables. */
TB_MUST_USE tb_code tb__verify_chains(tb__verify *v, tb_error *err);

/* billing.c: books, invoices, runs, their ledger entries, late usage. */
TB_MUST_USE tb_code tb__verify_billing(tb__verify *v, tb_error *err);
/* A price book's text against its columns. what: "Book", "Shadow book". TB_E_NOMEM, or TB_OK. */
TB_MUST_USE tb_code tb__verify_book_text(tb__verify *v, const char *what, sqlite3_stmt *s,
                                         tb_error *err);

/* plans.c: shadow books, shadow bills, scenarios. */
TB_MUST_USE tb_code tb__verify_plans(tb__verify *v, tb_error *err);

/* events.c: shield events. */
TB_MUST_USE tb_code tb__verify_events(tb__verify *v, tb_error *err);

#endif
