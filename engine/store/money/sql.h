/* Statements over price books, terms, bills, invoices and the ledger. */
#ifndef TOLLBOOK_STORE_MONEY_SQL_H
#define TOLLBOOK_STORE_MONEY_SQL_H

#include "store/core/sql.h"
#include "tollbook/ledgerstore.h"

/* A macro's number as text. */
#define TB__NUMERAL(n)  TB__NUMERAL_(n)
#define TB__NUMERAL_(n) #n

/* The month that the ledger begins with; 0: none was set. */
#define TB__BEGIN "coalesce((SELECT value FROM meta WHERE name='begin_month'),0)"

/* What an invoice is read by. */
#define TB__INVOICE_COLUMNS                                                                        \
    "SELECT id,number,kind,state,account,month,watermark,since,currency,total,sha256,previous,"    \
    "replaces,coalesce((SELECT r.number FROM invoice r WHERE r.replaces=i.number"                  \
    " AND r.replaces<>''),''),finalized_us,document FROM invoice i"

/* The first moment of a month. */
#define TB__MONTH_US(m)                                                                            \
    "unixepoch(format('%04d-%02d-01',1970+(" m ")/12,(" m ")%12+1))*1000000"

#define TB__SAID(d, member) "coalesce(" d ".document->>'$." member "','')"

/* What was declared of one thing as it was known when month w was billed last. */
#define TB__SAID_THEN(kind, id, what)                                                              \
    "(SELECT " what " FROM declaration p WHERE p.kind='" kind "' AND p.id=" id                     \
    " AND p.version<=w.since ORDER BY p.from_us DESC,p.version DESC LIMIT 1)"

#define TB__CLOSED   "iif(d.closed_version<" TB__FOR_EVER ",d.closed_version,0)"

/* Declaration d is later than the bill of month w and applies to it: from the object's `created` on (which it must
 * declare where nothing of the month is billed), or until its end then, or by another beginning or end (`said`) than
 * before. */
#define TB__REACHES(kind, id, created, said_now, said_then)                                        \
    "((d.version>w.since AND ((max(d.from_us," created ")<" TB__MONTH_US("w.month+1")              \
    " AND (w.billed OR max(d.from_us," created ")>-" TB__FOR_EVER ")) OR "                         \
    said_now "<>" TB__SAID_THEN(kind, id, said_then) ")) OR (" TB__CLOSED ">w.since"               \
    " AND d.to_us<" TB__MONTH_US("w.month+1") "))"

#define TB__DECLARED(kind) " CROSS JOIN declaration d ON d.kind='" kind "' AND d.id=" kind ".id"

#define TB__LIFE(d) TB__SAID(d, "created") "||" TB__SAID(d, "deleted")

#define TB__NEWEST(kind, of)                                                                       \
    "SELECT account,max(max(d.version," TB__CLOSED ")) AS newest FROM " kind TB__DECLARED(kind)    \
    " WHERE " of " GROUP BY account"

/* Whether a book (its document) is of scope contract: no other text of a book can have these bytes. */
#define TB__FOR_CONTRACT(b) "instr(" b "document,'\"scope\":\"contract\"')"

/* When a book's time ends: as the next of its currency begins; one for contracts has no next. */
#define TB__BOOK_END(b)                                                                            \
    "iif(" TB__FOR_CONTRACT(b) ",9223372036854775807,coalesce((SELECT min(n.effective_us)"         \
    " FROM book n WHERE n.currency=" b "currency AND n.effective_us>" b "effective_us AND NOT "    \
    TB__FOR_CONTRACT("n.") "),9223372036854775807))"

/* The last run of an account's month: its own or, without one, the one over all accounts. */
#define TB__LAST_RUN(account, month)                                                               \
    "coalesce((SELECT max(o.id) FROM month_run o WHERE o.account=" account " AND o.month=" month   \
    "),(SELECT max(o.id) FROM month_run o WHERE o.account=0 AND o.month=" month "))"

/* The watermark up to which valid corrections have billed the month; NULL: none. */
#define TB__CORRECTED(account, month)                                                              \
    "(SELECT max(j.watermark) FROM correction k JOIN invoice j ON j.id=k.invoice"                  \
    " WHERE k.account=" account " AND k.month=" month " AND j.state='final')"

/* The edge in a row of `late` that says that values of a gauge came late, or were withdrawn; it counts nothing. */
#define TB__LATE_GAUGE 1048576

/* Rows of late usage since month w was billed, whose edge is (= or <>) that of gauges. */
#define TB__LATE_SINCE(is)                                                                         \
    "(SELECT count(*) FROM late l WHERE l.account=w.account AND l.month=w.month AND l.version>w.since" \
    " AND l.edge" is TB__NUMERAL(TB__LATE_GAUGE) ")"

/* Whether an account's document has a commit that may count earlier months. */
#define TB__HAS_PERIODS "instr(document,'\"every\":')"

/* The months that were run of accounts with such commits. n: what they count may have changed since: usage came late for an
 * earlier month, or one was billed anew. m: the commit may count months of any age. */
#define TB__TRUE_UPS(of)                                                                           \
    "SELECT w.account,w.month,w.invoice,w.since,w.watermark,EXISTS(SELECT 1 FROM late l"           \
    " WHERE l.account=w.account AND l.month<w.month AND(w.rolls OR l.month>=w.month-12)"           \
    " AND l.version>w.since) OR EXISTS(SELECT 1 FROM invoice i WHERE i.account=w.account"          \
    " AND i.month<w.month AND(w.rolls OR i.month>=w.month-12) AND i.kind='invoice'"                \
    " AND i.watermark>w.since) AS n,w.rolls AS m,w.outcome,w.reason FROM"                          \
    " (SELECT x.account,x.month,x.rolls,x.invoice,x.watermark,max(x.watermark,coalesce(x.corrected,0))" \
    " AS since,x.outcome,x.reason FROM"                                                            \
    " (SELECT c.account,c.month,c.rolls,r.invoice,r.watermark,r.reason,"                           \
    "iif(i.state='void','void',r.outcome) AS outcome,"                                             \
    TB__CORRECTED("c.account", "c.month") " AS corrected FROM (SELECT DISTINCT d.id AS account,v.month,d.rolls FROM" \
    " (SELECT id,max(instr(document,'\"rollover\":true')>0) AS rolls FROM declaration WHERE kind='account'" \
    " AND " of " AND " TB__HAS_PERIODS " GROUP BY id) AS d CROSS JOIN month_run v ON v.account IN(0,d.id)) AS c" \
    " CROSS JOIN month_run r ON r.id=" TB__LAST_RUN("c.account", "c.month")                        \
    " LEFT JOIN invoice i ON i.number=r.invoice) AS x) AS w WHERE w.outcome NOT IN('void','refused')" \
    " AND w.month>=" TB__BEGIN " AND NOT EXISTS(SELECT 1 FROM retention k WHERE k.account=w.account" \
    " AND k.hours_month>w.month) ORDER BY w.account,w.month"

/* Months whose hours retention has deleted are closed, and are not listed; nor are months before the ledger's begin.
 *
 * Months that were run and whose account has late usage, or later declarations that apply to them; the caller checks
 * whether these change the bill. Where nothing of the month is billed (w.billed 0), declarations without a beginning do
 * not apply, and a refused one is late in any case; a void invoice's month is late for late usage only. */
#define TB__WAITING(of)                                                                            \
    "SELECT w.account,w.month,w.invoice,w.since,w.watermark," TB__LATE_SINCE("<>") " AS n,"        \
    TB__LATE_SINCE("=") "+iif(w.outcome='void',0,(SELECT count(*) FROM zone" TB__DECLARED("zone") " WHERE zone.account=w.account AND "\
    TB__REACHES("zone", "zone.id", "zone.created_us", TB__SAID("d", "created"),                    \
                TB__SAID("p", "created")) ")"                                                      \
    "+(SELECT count(*) FROM balancer" TB__DECLARED("balancer") " WHERE balancer.account=w.account" \
    " AND " TB__REACHES("balancer", "balancer.id", "balancer.created_us", TB__LIFE("d"),           \
                        TB__LIFE("p")) ")) AS m,w.outcome,w.reason FROM"                           \
    " (SELECT x.account,x.month,x.invoice,x.watermark,max(x.watermark,coalesce(x.corrected,0))"    \
    " AS since,x.outcome,x.reason,x.outcome='final' OR x.corrected IS NOT NULL AS billed FROM"     \
    " (SELECT c.account,c.month,r.invoice,r.watermark,r.reason,"                                   \
    "iif(i.state='void','void',r.outcome) AS outcome,"                                             \
    TB__CORRECTED("c.account", "c.month") " AS corrected"                                          \
    " FROM (SELECT account,month FROM late WHERE " of                                              \
    " UNION SELECT account,month FROM month_run WHERE outcome='refused' AND " of                   \
    " UNION SELECT y.account,v.month FROM (" TB__NEWEST("zone", of) " UNION ALL "                  \
    TB__NEWEST("balancer", of) ") AS y CROSS JOIN month_run v"                                     \
    " ON v.account IN(0,y.account) AND v.watermark<y.newest) AS c"                                 \
    " CROSS JOIN month_run r ON r.id=" TB__LAST_RUN("c.account", "c.month")                        \
    " LEFT JOIN invoice i ON i.number=r.invoice) AS x) AS w"                                       \
    " WHERE (n>0 OR m>0 OR (w.outcome='refused' AND NOT w.billed)) AND w.month>=" TB__BEGIN        \
    " AND NOT EXISTS(SELECT 1"                                                                     \
    " FROM retention k WHERE k.account=w.account AND k.hours_month>w.month)"                       \
    " ORDER BY w.account,w.month"

/* The lowest owner of a scope under a condition: an index finds it in one table, but not in the view. */
#define TB__SERIES_OWNER(of)                                                                       \
    "(SELECT min(owner) FROM (SELECT min(owner) AS owner FROM series_placed WHERE " of             \
    " UNION ALL SELECT min(owner) FROM series_new WHERE " of "))"

/* Whether an account's month was run and nothing of it waits for a run of its own. */
#define TB__RAN(account, month)                                                                    \
    "(" month "<" TB__BEGIN " OR coalesce((SELECT r.outcome='nothing' OR (r.outcome='final' AND"    \
    " i.state='final') FROM month_run r LEFT JOIN invoice i ON i.number=r.invoice WHERE r.id="     \
    TB__LAST_RUN(account, month) "),0))"

/* What valid documents have billed of charge c, and the newest invoice of them. */
#define TB__CHARGE_BILLED                                                                          \
    "coalesce((SELECT sum(b.amount) FROM charge_billed b JOIN invoice i ON i.id=b.invoice"         \
    " WHERE b.charge=c.id AND i.state='final'),0)"
#define TB__CHARGE_INVOICE                                                                         \
    "coalesce((SELECT i.number FROM charge_billed b JOIN invoice i ON i.id=b.invoice"              \
    " WHERE b.charge=c.id AND i.state='final' AND i.kind='invoice' ORDER BY i.id DESC LIMIT 1),'')"
#define TB__CHARGE_COLUMNS(due)                                                                    \
    "SELECT c.id,c.account,c.month,c.amount," due ",c.currency,c.description,c.reference,c.added_us," TB__CHARGE_INVOICE \
    ",c.tax_category"                                                                              \
    " FROM charge c"
#define TB__CHARGE_DUE "c.amount-" TB__CHARGE_BILLED
/* A charge of an earlier month waits for that month's own document, then for the next one. */
#define TB__CHARGE_IS_DUE(month)                                                                   \
    "c.month<=" month " AND c.dropped_version=" TB__FOR_EVER " AND " TB__CHARGE_DUE "<>0 AND (c.month=" month " OR " \
    TB__RAN("c.account", month "-1") ")"

/* See tb__meter_list_read. */
#define TB__METER_SERIES                                                                           \
    "SELECT m.id,m.meter,m.account,coalesce(" TB__SERIES_FIRST("scope=4 AND owner=m.id") ",0),"    \
    "m.resource,m.dimension_1,m.dimension_2 FROM meter_series m WHERE "
#define TB__METER_GROUPED                                                                          \
    " ORDER BY iif(?4,m.resource,''),iif(?5,m.dimension_1,''),iif(?6,m.dimension_2,'')"
/* A value of a gauge that counts as of version ?4. */
#define TB__GAUGE_COUNTS "version<=?4 AND gone_version>?4"

#define TB__ACCOUNTS_CHOSEN                                                                        \
    "SELECT id FROM account a WHERE deleted_us=" TB__FOR_EVER " AND id>?1 AND(?2='' OR " TB__ACCOUNT_FOUND("?2") ")"

#define TB__MONEY_STATEMENTS(X)                                                                    \
    /* the version that the running transaction will commit */                                     \
    X(VERSION_NEXT, "SELECT value+1 FROM meta WHERE name='data_version'")                          \
    /* From one owner to the next, without a look at each of its locations. */                     \
    X(UNOWNED_ZONES,                                                                               \
      "WITH RECURSIVE one(id) AS(SELECT" TB__SERIES_OWNER("scope=1") " UNION ALL"                  \
      " SELECT" TB__SERIES_OWNER("scope=1 AND owner>one.id") " FROM one"                           \
      " WHERE one.id IS NOT NULL) SELECT id FROM one WHERE id IS NOT NULL"                         \
      " AND NOT EXISTS(SELECT 1 FROM zone WHERE zone.id=one.id)")                                  \
    X(UNOWNED_BALANCERS,                                                                           \
      "WITH RECURSIVE one(id) AS(SELECT" TB__SERIES_OWNER("scope=3") " UNION ALL"                  \
      " SELECT" TB__SERIES_OWNER("scope=3 AND owner>one.id") " FROM one"                           \
      " WHERE one.id IS NOT NULL) SELECT id FROM one WHERE id IS NOT NULL"                         \
      " AND NOT EXISTS(SELECT 1 FROM balancer WHERE balancer.id=one.id)")                          \
    /* outcome of an account's month: 1 nothing is open of it */                                   \
    X(MONTH_SETTLED, "SELECT " TB__RAN("?1", "?2"))                                                \
    X(ACCOUNT_NAME, "SELECT name FROM account WHERE id=?1")                                        \
    X(ACCOUNTS_OF_PERCENTILE, "SELECT id FROM account WHERE deleted_us=" TB__FOR_EVER              \
                              " AND instr(document,'\"bandwidth\":\"percentile\"') ORDER BY id")     \
    X(ACCOUNTS_CHOSEN, TB__ACCOUNTS_CHOSEN " ORDER BY id")                                         \
    X(ACCOUNTS_CHOSEN_NAMED, TB__ACCOUNTS_CHOSEN " ORDER BY lower(name),id")                       \
    /* terms */                                                                                    \
    /* the last declaration that holds at ?2, or the first of all */                               \
    X(ACCOUNT_DECLARED,                                                                            \
      "SELECT document FROM declaration WHERE kind='account' AND id=?1 AND from_us=coalesce("      \
      "(SELECT max(from_us) FROM declaration WHERE kind='account' AND id=?1 AND from_us<=?2),"     \
      "(SELECT min(from_us) FROM declaration WHERE kind='account' AND id=?1))"                     \
      " ORDER BY version DESC LIMIT 1")                                                            \
    X(ACCOUNT_KNOWN, "SELECT document FROM declaration WHERE kind='account' AND id=?1 AND version<=?2" \
                     " ORDER BY version DESC,from_us DESC LIMIT 1")                                \
    X(ZONE_TERMS,                                                                                  \
      "SELECT id,coalesce(settings->>'$.Enabled',1),"                                              \
      "coalesce(settings->>'$.MonthlyBandwidthLimit',0) FROM zone"                                 \
      " WHERE account=?1 AND created_us<=?2 AND deleted_us>?2 ORDER BY id")                        \
    /* price books */                                                                              \
    X(BOOK_INSERT, "INSERT INTO book(name,currency,effective_us,sha256,version,added_us,document," \
                   "supersedes)VALUES(?1,?2,?3,?4," TB__NEXT_VERSION ",?5,?6,?7)")                 \
    X(BOOK_BY_NAME, "SELECT sha256 FROM book WHERE name=?1")                                       \
    X(BOOK_VERSION, "SELECT version FROM book WHERE sha256=?1")                                    \
    X(BOOKS, "SELECT document FROM book WHERE version<=?1 ORDER BY currency,effective_us,id")      \
    X(BOOK_SPAN_PUT, "INSERT OR REPLACE INTO book_span VALUES(?1,?2,?3)")                          \
    X(BOOK_SPAN_CLEAR, "DELETE FROM book_span")                                                    \
    X(BOOK_SPANS,                                                                                  \
      "SELECT b.id,b.name,b.effective_us," TB__BOOK_END("b.") ","                                  \
      "b.currency,EXISTS(SELECT 1 FROM book n WHERE n.supersedes=b.name AND n.supersedes<>''),"    \
      TB__FOR_CONTRACT("b.") "<>0"                                                                 \
      " FROM book_span s JOIN book b ON b.id=s.id"                                                 \
      " WHERE s.first_hour<=?2 AND s.last_hour>=?1 ORDER BY b.currency,b.effective_us,b.id")       \
    X(BOOK_TRUTH,                                                                                  \
      "SELECT b.id,b.effective_us," TB__BOOK_END("b.")                                             \
      " FROM book b ORDER BY b.id")                                                                \
    X(INVOICE_SPAN_PUT, "INSERT OR REPLACE INTO invoice_span VALUES(?1,?2,?3)")                    \
    X(INVOICE_SPANS,                                                                               \
      "SELECT i.id,i.number,i.month,i.account FROM invoice_span s JOIN invoice i ON i.id=s.id"     \
      " WHERE s.first_hour<=?2 AND s.last_hour>=?1 AND i.state='final' ORDER BY i.id")             \
    /* inputs of bills: the tenant's account is ?1 in each; version ?2 limits the known data */    \
    X(BILLED_ACCOUNT,                                                                              \
      "SELECT d.from_us,d.to_us,d.closed_version,d.document,a.declared_us FROM declaration d"      \
      " CROSS JOIN account a ON a.id=?1 WHERE d.kind='account' AND d.id=?1 AND d.version<=?2"      \
      " ORDER BY d.from_us,d.version")                                                             \
    /* +z.id: a zone's own rows are looked up, not those of the whole range */                     \
    X(BILLED_ZONES,                                                                                \
      "SELECT d.from_us,d.to_us,d.closed_version,d.document,z.declared_us,z.id FROM zone z CROSS JOIN" \
      " declaration d ON d.kind='zone' AND d.id=+z.id WHERE z.account=?1 AND d.version<=?2"        \
      " AND z.id BETWEEN ?3 AND ?4 ORDER BY z.id,d.from_us,d.version")                             \
    X(BILLED_SERIES,                                                                               \
      "SELECT z.id,s.edge,s.id FROM zone z CROSS JOIN series_placed s ON s.scope=1 AND s.owner=+z.id" \
      " WHERE z.account=?1 AND z.id BETWEEN ?2 AND ?3 UNION ALL SELECT z.id,s.edge,s.id FROM zone z" \
      " CROSS JOIN series_new s ON s.scope=1 AND s.owner=+z.id WHERE z.account=?1"                 \
      " AND z.id BETWEEN ?2 AND ?3 AND EXISTS(SELECT 1 FROM series_new) ORDER BY 1,2")             \
    X(BILLED_BALANCERS,                                                                            \
      "SELECT d.from_us,d.to_us,d.closed_version,d.document,b.declared_us,b.id FROM balancer b CROSS JOIN" \
      " declaration d ON d.kind='balancer' AND d.id=b.id WHERE b.account=?1 AND d.version<=?2"     \
      " ORDER BY b.id,d.from_us,d.version")                                                        \
    X(BILLED_TIES,                                                                                 \
      "SELECT b.id,a.zone,a.from_us,a.to_us,a.closed_version,coalesce("                            \
      TB__SERIES_FIRST("scope=1 AND owner=a.zone") ",0)"                                           \
      " FROM balancer b CROSS JOIN attachment a ON a.balancer=b.id"                                \
      " WHERE b.account=?1 AND a.version<=?2 ORDER BY b.id,a.from_us,a.zone,a.version")            \
    /* the region of version ?1 or, if there was none, the first that came until ?2 */             \
    X(BILLED_PLACES,                                                                               \
      "SELECT e.id,e.code,coalesce(nullif((SELECT r.billing FROM region_billing r WHERE"           \
      " r.code=e.code AND r.version<=?1 ORDER BY r.version DESC LIMIT 1),''),"                     \
      "(SELECT r.billing FROM region_billing r WHERE r.code=e.code AND r.version>?1"               \
      " AND r.version<=?2 AND r.billing<>'' ORDER BY r.version LIMIT 1),'')"                       \
      " FROM edge e ORDER BY e.id")                                                                \
    X(PLACES_CHANGES,                                                                              \
      "SELECT coalesce(max(iif(version<=?1,version,0)),0),"                                        \
      "coalesce(min(iif(version>?1,version,NULL)),9223372036854775807) FROM region_billing")       \
    X(METERS_DECLARED,                                                                             \
      "SELECT d.id,d.from_us,d.document FROM meter m CROSS JOIN declaration d ON d.kind='meter' AND d.id=m.id" \
      " WHERE d.version<=?1 ORDER BY m.name,d.from_us,d.version")                                  \
    X(METER_SERIES_OF_ACCOUNT,                                                                     \
      TB__METER_SERIES "m.account=?1 ORDER BY m.meter,m.resource,m.dimension_1,m.dimension_2")     \
    X(BANDWIDTH_SERIES, TB__METER_SERIES "m.account=?1 AND m.meter=(SELECT id FROM meter WHERE name='"  \
                        TB_METER_BANDWIDTH "') AND ?2 IN('',m.resource) ORDER BY m.resource")         \
    X(METERS_USED, "SELECT DISTINCT meter FROM meter_series WHERE account=?1 ORDER BY 1")          \
    X(METER_SERIES_ALL, TB__METER_SERIES "m.meter=?1 AND ?2=0 AND ?3 IN('',m.resource)" TB__METER_GROUPED)  \
    X(METER_SERIES_ASKED, TB__METER_SERIES "m.account=?2 AND m.meter=?1 AND ?3 IN('',m.resource)"  \
                          TB__METER_GROUPED)                                                       \
    /* Values of a segment from ?2 to ?3, each with the account and the moment of the next one. */ \
    X(GAUGE_LATE, "SELECT g.series,m.account,g.at_us,coalesce((SELECT min(n.at_us) FROM gauge n WHERE n.series=g.series" \
                  " AND n.at_us>g.at_us AND n.gone_version=" TB__FOR_EVER ")," TB__FOR_EVER ") FROM gauge g" \
                  " CROSS JOIN meter_series m ON m.id=g.series WHERE g.segment=?1 AND g.at_us>=?2 AND g.at_us<?3" \
                  " ORDER BY g.series,g.at_us")                                                    \
    /* from ?2, with the last one before it, to ?3; of several of one moment the last counts */    \
    X(GAUGE_VALUES,                                                                                \
      "SELECT at_us,value,0,segment FROM gauge WHERE series=?1 AND at_us>=coalesce((SELECT at_us FROM gauge" \
      " WHERE series=?1 AND at_us<=?2 AND " TB__GAUGE_COUNTS " ORDER BY at_us DESC LIMIT 1),?2)"   \
      " AND at_us<?3 AND " TB__GAUGE_COUNTS TB__GAUGE_DELETED("?3", "?4") " ORDER BY 1,4")               \
    X(INVOICED_ACCOUNTS,                                                                           \
      "SELECT DISTINCT account FROM invoice WHERE month=?1 ORDER BY account")                      \
    /* late usage */                                                                               \
    X(LATE_LAST_MONTH, "SELECT max(coalesce((SELECT max(month) FROM month_run),-1),"               \
                       "coalesce((SELECT max(month) FROM closing),-1))")                           \
    /* months of a closing are recorded whether or not they were run: it is computed again from them */ \
    X(LATE_NOTED, "SELECT 1 FROM month_run WHERE account IN(0,?1) AND month=?2 UNION ALL SELECT 1" \
                  " FROM closing WHERE ?2 BETWEEN month-" TB__NUMERAL(TB_CLOSING_MONTHS) " AND month"          \
      /* a later month that was run may have counted it in its commit */                           \
      " UNION ALL SELECT 1 FROM month_run WHERE account IN(0,?1) AND month>?2 AND EXISTS(SELECT 1" \
      " FROM declaration WHERE kind='account' AND id=?1 AND " TB__HAS_PERIODS ") LIMIT 1")         \
    X(MONTH_RUN, "SELECT 1 FROM month_run WHERE account IN(0,?1) AND month=?2 LIMIT 1")            \
    X(LATE_NEXT, "SELECT coalesce(max(id),0)+1 FROM late")                                         \
    X(LATE_INSERT, "INSERT INTO late(" TB__C_late("") ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)")       \
    /* many, with their seals: the trigger, switched off, is stood in for */                       \
    X(LATE_INSERT_SEALED, "INSERT INTO late(" TB__C_late("") ",seal)VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9," \
                          "tb_seal('late',?1,?2,?3,?4,?5,?6,?7,?8,?9))")                           \
    X(LATE_SEALED, "UPDATE head SET n=n+(SELECT count(*) FROM late WHERE id>=?1),"                 \
                   "seals=(seals+(SELECT " TB__SEAL_SUM " FROM late WHERE id>=?1))&" TB__SEAL_MASK \
                   " WHERE name='late'")                                                           \
    X(LATE_OF_MONTH,                                                                               \
      "SELECT id,version,scope,owner,edge,day,data FROM main.late WHERE account=?1 AND month=?2"   \
      " AND version>?3 ORDER BY scope,owner,edge,day,id")                                          \
    X(LATE_WAITING, TB__WAITING("account BETWEEN ?1 AND ?2"))                                      \
    X(LATE_TRUE_UPS, TB__TRUE_UPS("id BETWEEN ?1 AND ?2"))                                         \
    /* invoices */                                                                                 \
    /* The watermark of the month's prices: that of its valid invoice or, without one, of the */   \
    /* first valid correction of it. */                                                            \
    X(PRICED_BY,                                                                                   \
      "SELECT w FROM (SELECT coalesce((SELECT watermark FROM invoice WHERE account=?1 AND month=?2" \
      " AND kind='invoice' AND state='final'),(SELECT min(j.watermark) FROM correction k"          \
      " JOIN invoice j ON j.id=k.invoice WHERE k.account=?1 AND k.month=?2 AND j.state='final'))"  \
      " AS w) WHERE w IS NOT NULL")                                                                \
    /* The same as of version ?3: from the last document that billed the month then, back along */ \
    /* the watermarks from which each correction corrects, to the run before the first one. */     \
    X(PRICED_THEN,                                                                                 \
      "WITH RECURSIVE last(w,billed) AS (SELECT * FROM (SELECT watermark,outcome='final' FROM"     \
      " month_run WHERE account=?1 AND month=?2 AND watermark<=?3 UNION ALL SELECT j.watermark,1"  \
      " FROM correction k JOIN invoice j ON j.id=k.invoice WHERE k.account=?1 AND k.month=?2"      \
      " AND j.watermark<=?3) ORDER BY 1 DESC,2 DESC LIMIT 1), chain(w,n) AS (SELECT w,0 FROM last" \
      " WHERE billed UNION ALL SELECT k.since,n+1 FROM chain CROSS JOIN correction k"              \
      " JOIN invoice j ON j.id=k.invoice WHERE k.account=?1 AND k.month=?2"                        \
      " AND j.watermark=chain.w AND k.since<chain.w)"                                              \
      "SELECT w FROM chain WHERE n=max(0,(SELECT max(n) FROM chain)-1) OR EXISTS(SELECT 1 FROM"    \
      " invoice WHERE account=?1 AND month=?2 AND kind='invoice' AND watermark=chain.w)"           \
      " ORDER BY n DESC LIMIT 1")                                                                  \
    X(INVOICE_KNOWN,                                                                               \
      "SELECT number FROM invoice WHERE account=?1 AND month=?2 AND kind=?3 AND since=?4"          \
      " AND state='final'")                                                                        \
    X(INVOICE_REPLACED,                                                                            \
      "SELECT number FROM invoice v WHERE account=?1 AND month=?2 AND kind=?3 AND since=?4"        \
      " AND state='void' AND NOT EXISTS(SELECT 1 FROM invoice r WHERE r.replaces=v.number"         \
      " AND r.replaces<>'')"                                                                       \
      " ORDER BY id DESC LIMIT 1")                                                                 \
    X(INVOICE_NEXT,                                                                                \
      "SELECT coalesce(max(serial),0)+1,(SELECT coalesce(max(id),0)+1 FROM invoice),"              \
      "coalesce((SELECT sha256 FROM invoice ORDER BY id DESC LIMIT 1),''),"                        \
      "(SELECT finalized_us FROM invoice ORDER BY id DESC LIMIT 1),"                               \
      "(SELECT number FROM invoice ORDER BY id DESC LIMIT 1)"                                      \
      " FROM invoice WHERE year=?1")                                                               \
    X(INVOICE_INSERT,                                                                              \
      "INSERT INTO invoice(" TB__C_invoice("") ")VALUES(?1,?2,?3,?4,?5,'final',?6,?7,?8,?9,?10,?11,?12,?13,?14,?15," \
      "9223372036854775807,?16)")                                                                  \
    X(INVOICE_VOID, "UPDATE invoice SET state='void',voided_us=?2 WHERE id=?1")                    \
    X(INVOICE_BY_NUMBER, TB__INVOICE_COLUMNS " WHERE number=?1 AND ?2 IN(0,account)")              \
    X(INVOICES, TB__INVOICE_COLUMNS " ORDER BY year,serial")                                       \
    X(INVOICES_OF_ACCOUNT,                                                                         \
      TB__INVOICE_COLUMNS " WHERE account=?1 AND ?2 IN(-9223372036854775807-1,month)"              \
      " ORDER BY year,serial")                                                                     \
    X(INVOICES_ISSUED, "SELECT id FROM invoice WHERE finalized_us>=?1 AND finalized_us<?2 AND id>?3" \
                       " AND ?4 IN(0,account) ORDER BY id")                                        \
    X(INVOICE_BY_ID, TB__INVOICE_COLUMNS " WHERE id=?1")                                           \
    /* A run's documents are of one transaction, and so of one watermark. */                       \
    X(INVOICES_NOTED, TB__INVOICE_COLUMNS " WHERE account=?1 AND kind='credit_note' AND watermark IN" \
                      "(SELECT watermark FROM month_run WHERE account=?1 AND month=?2)"            \
                      " AND month<?2 ORDER BY year,serial")                                        \
    X(INVOICES_OF_MONTH, TB__INVOICE_COLUMNS " WHERE month=?2 AND ?1=0 ORDER BY year,serial")      \
    X(BILLED_UP_TO,                                                                                \
      "SELECT coalesce(" TB__CORRECTED("?1", "?2") ",(SELECT r.watermark FROM month_run r"         \
      " WHERE r.id=" TB__LAST_RUN("?1", "?2") " AND NOT EXISTS(SELECT 1 FROM invoice i"            \
      " WHERE i.number=r.invoice AND i.state='void')),0)")                                         \
    /* the invoice with the last valid corrections of a month without its own invoice */           \
    X(BILLED_ELSEWHERE,                                                                            \
      "SELECT j.number FROM correction k JOIN invoice j ON j.id=k.invoice WHERE k.account=?1"      \
      " AND k.month=?2 AND j.state='final' AND j.kind='invoice' AND NOT EXISTS(SELECT 1 FROM"      \
      " invoice i WHERE i.account=?1 AND i.month=?2 AND i.kind='invoice' AND i.state='final')"     \
      " ORDER BY j.id DESC LIMIT 1")                                                               \
    /* what ever billed the month ?2 of account ?1, void or not: its invoices, and corrections on others' */ \
    X(BILLED_ON,                                                                                   \
      "SELECT number,month,1,0,finalized_us,voided_us FROM invoice WHERE account=?1 AND month=?2"  \
      " AND kind='invoice' UNION ALL SELECT j.number,j.month,0,k.since,j.finalized_us,j.voided_us" \
      " FROM correction k JOIN invoice j ON j.id=k.invoice WHERE k.account=?1 AND k.month=?2"      \
      " AND j.kind='invoice' ORDER BY 5,1")                                                        \
    X(CREDITED_ON,                                                                                 \
      "SELECT number,month,0,since,finalized_us,voided_us FROM invoice WHERE account=?1"           \
      " AND month=?2 AND kind='credit_note' ORDER BY 5,1")                                         \
    X(RUN_FIRST, "SELECT coalesce(min(run_us)," TB__FOR_EVER ") FROM month_run"                    \
                 " WHERE account IN(0,?1) AND month=?2")                                           \
    /* the documents that had billed the month at ?3: corrections, newest first, then its invoice */ \
    X(BILLED_CHAIN,                                                                                \
      "WITH RECURSIVE chain(w,number,kind,since) AS (SELECT * FROM (SELECT j.watermark,j.number,"  \
      "j.kind,k.since FROM correction k JOIN invoice j ON j.id=k.invoice WHERE k.account=?1"       \
      " AND k.month=?2) WHERE watermark=?3 UNION ALL SELECT j.watermark,j.number,j.kind,k.since"   \
      " FROM chain CROSS JOIN correction k JOIN invoice j ON j.id=k.invoice WHERE k.account=?1"    \
      " AND k.month=?2 AND j.watermark=chain.since AND chain.since<chain.w)"                       \
      "SELECT number,kind='invoice',w FROM chain UNION ALL SELECT number,1,watermark FROM invoice" \
      " WHERE account=?1 AND month=?2 AND kind='invoice' AND watermark="                           \
      "coalesce((SELECT min(since) FROM chain),?3) ORDER BY 3 DESC")                               \
    /* one-off charges */                                                                          \
    X(CHARGE_NEXT, "SELECT coalesce(max(id),0)+1 FROM charge")                                     \
    X(CHARGE_INSERT, "INSERT INTO charge(" TB__C_charge("") ")VALUES(?1,?2,?3,?4,?5,?6,?7," TB__NEXT_VERSION \
                     ",?8," TB__FOR_EVER ",?9)")                                                   \
    X(CHARGE_DROP, "UPDATE charge SET dropped_version=" TB__NEXT_VERSION " WHERE id=?1")           \
    X(CHARGE, TB__CHARGE_COLUMNS(TB__CHARGE_DUE) " WHERE c.id=?1 AND c.dropped_version=" TB__FOR_EVER) \
    X(CHARGE_NAMED, TB__CHARGE_COLUMNS(TB__CHARGE_DUE) " WHERE c.account=?1 AND c.reference=?2 AND c.reference<>''" \
                    " AND c.dropped_version=" TB__FOR_EVER)                                        \
    X(CHARGES, TB__CHARGE_COLUMNS(TB__CHARGE_DUE) " WHERE ?1 IN(0,c.account) AND c.dropped_version=" TB__FOR_EVER \
               " ORDER BY c.id")                                                                   \
    X(CHARGES_DUE, TB__CHARGE_COLUMNS(TB__CHARGE_DUE) " WHERE c.account=?1 AND " TB__CHARGE_IS_DUE("?2") \
                   " ORDER BY c.id")                                                               \
    X(CHARGES_BILLED, TB__CHARGE_COLUMNS("x.amount") " JOIN charge_billed x ON x.charge=c.id WHERE x.invoice=" \
                      "(SELECT id FROM invoice WHERE number=?1) ORDER BY c.id")                    \
    X(CHARGED_ACCOUNTS, "SELECT DISTINCT c.account FROM charge c WHERE " TB__CHARGE_IS_DUE("?1") " ORDER BY 1") \
    X(CHARGE_BILL, "INSERT INTO charge_billed(" TB__C_charge_billed("") ")VALUES(?1,?2,?3)")       \
    /* The newest invoice that has billed again what document ?1 made due again. */                \
    X(CHARGE_BILLED_AGAIN, "SELECT i.number FROM charge_billed g JOIN charge c ON c.id=g.charge JOIN charge_billed t ON t.charge=c.id" \
                           " JOIN invoice i ON i.id=t.invoice WHERE g.invoice=?1 AND (g.amount>0)<>(c.amount>0) AND i.id>?1" \
                           " AND i.state='final' AND i.kind='invoice' AND abs(" TB__CHARGE_BILLED "-g.amount)>abs(c.amount)" \
                           " ORDER BY i.id DESC LIMIT 1")                                           \
    X(COMMIT_BILLED, "SELECT l.value->>'$.amount',i.currency FROM invoice i CROSS JOIN"            \
                     " json_each(i.document,'$.lines') l WHERE i.account=?1 AND i.state='final' AND i.watermark<=?3" \
                     " AND ((i.kind='invoice' AND i.month=?2 AND l.value->>'$.kind'='commit') OR"  \
                     " (l.value->>'$.corrects.kind'='commit' AND l.value->>'$.period.start'="      \
                     "format('%04d-%02d-01T00:00:00Z',1970+?2/12,?2%12+1)))")                      \
    /* an alert of a month is raised within it, and stood at its end if it was not cleared before */ \
    X(CAP_ALERT, "SELECT raised_us,threshold FROM alert WHERE account=?1 AND month=?2 AND kind='cap'" \
                 " AND raised_us<?3 AND cleared_us>=?3 AND data->>'$.currency'=?4 ORDER BY id DESC LIMIT 1")                  \
    /* runs of months */                                                                           \
    X(RUN_LAST,                                                                                    \
      "SELECT outcome,reason,EXISTS(SELECT 1 FROM late l WHERE l.account=?1 AND l.month=?2"        \
      " AND l.version>r.watermark) OR EXISTS(SELECT 1 FROM correction k JOIN invoice j"            \
      " ON j.id=k.invoice WHERE k.account=?1 AND k.month=?2 AND j.watermark>r.watermark)"          \
      " FROM month_run r WHERE id=(SELECT max(id) FROM month_run WHERE account=?1 AND month=?2)")  \
    X(RUN_NEXT, "SELECT coalesce(max(id),0)+1 FROM month_run")                                     \
    X(RUN_INSERT, "INSERT INTO month_run(" TB__C_month_run("") ",seal)VALUES(?1,?2,?3,?4,?5,?6,?7,?8," \
                  TB__UNSEALED ")")                                                                \
    X(RUN_EVERYBODY, "SELECT 1 FROM month_run WHERE account=0 AND month=?1")                       \
    X(RUN_ACCOUNTS, "SELECT DISTINCT account FROM month_run WHERE month=?1 AND account>0"          \
                    " ORDER BY account")                                                           \
    X(CORRECTION_INSERT, "INSERT INTO correction(" TB__C_correction("") ")VALUES(?1,?2,?3,?4)")    \
    X(CORRECTED_BY,                                                                                \
      "SELECT j.number FROM correction c JOIN invoice j ON j.id=c.invoice WHERE c.account=?1"      \
      " AND c.month=?2 AND c.since>=?3 AND j.state='final' ORDER BY j.id DESC LIMIT 1")            \
    X(CORRECTIONS_OF,                                                                              \
      "SELECT month,since FROM correction WHERE invoice=?1 ORDER BY month")                        \
    /* ledger */                                                                                   \
    X(LEDGER_LAST, "SELECT id,chain FROM ledger ORDER BY id DESC LIMIT 1")                         \
    X(LEDGER_CURRENCY, "SELECT currency FROM ledger WHERE account=?1 ORDER BY id LIMIT 1")         \
    /* +: without it the plan depends on the value of kind, as one kind has an index, and each call is prepared again */ \
    X(LEDGER_KNOWN, "SELECT id,account,at_us,currency,amount,note,document,expires FROM ledger"    \
                    " WHERE kind=+?1 AND reference=?2 AND reference<>''")                          \
    X(LEDGER_FIND, "SELECT id,account,at_us,kind,currency,amount,reference,note,document,expires"  \
                   " FROM ledger WHERE kind=+?1 AND reference=?2 AND reference<>''")               \
    X(LEDGER_INSERT, "INSERT INTO ledger(" TB__C_ledger("") ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)") \
    X(LEDGER, "SELECT id,account,at_us,kind,currency,amount,reference,note,document,expires FROM ledger" \
              " WHERE account=?1 ORDER BY id")                                                     \
    X(LEDGER_AMOUNTS, "SELECT id,amount,kind FROM ledger WHERE account=?1 ORDER BY id")            \
    X(LEDGER_MOMENT, "SELECT at_us,reference FROM ledger WHERE id=?1")                             \
    X(PREPAID_DAYS,                                                                                \
      "SELECT amount,currency FROM ledger WHERE kind='usage' AND reference>=?1 AND reference<?2"   \
      " AND reference<>''")                                                                        \
    X(PREPAID_LAST,                                                                                \
      "SELECT reference FROM ledger WHERE kind='usage' AND reference>=?1 AND reference<?2"         \
      " AND reference<>'' ORDER BY reference DESC LIMIT 1")                                        \
    X(PREPAID_REVERSED,                                                                            \
      "SELECT 1 FROM ledger WHERE kind='usage_reversal' AND reference=?1 AND reference<>''")       \
    X(PREPAID_RAN,                                                                                 \
      "SELECT r.outcome<>'refused' OR " TB__CORRECTED("?1", "?2") " IS NOT NULL FROM month_run r"   \
      " WHERE r.id=" TB__LAST_RUN("?1", "?2"))                                                     \
    X(PREPAID_ACCOUNTS,                                                                            \
      "SELECT id FROM account WHERE id>?1 AND document->>'$.prepaid' IS 1 ORDER BY id LIMIT ?2")   \
    X(PREPAID_COUNT, "SELECT count(*) FROM account WHERE document->>'$.prepaid' IS 1")             \
    /* each account's days are a range of the index of references */                               \
    X(PREPAID_OPEN,                                                                                \
      "SELECT id FROM account a WHERE EXISTS(SELECT 1 FROM ledger l WHERE l.kind='usage'"          \
      " AND l.reference>format('prepaid %d %s-',a.id,?1)"                                          \
      " AND l.reference<format('prepaid %d %s.',a.id,?1) AND l.reference<>'')"                     \
      " AND NOT EXISTS(SELECT 1 FROM ledger q WHERE q.kind='usage_reversal'"                       \
      " AND q.reference=format('prepaid %d %s',a.id,?1) AND q.reference<>'') ORDER BY id")         \
    X(LEDGER_HAS_CREDIT, "SELECT 1 FROM ledger WHERE kind='credit' AND account=?1 LIMIT 1")        \
    X(LEDGER_ACCOUNTS, "SELECT DISTINCT account FROM ledger ORDER BY account")                     \
    X(LEDGER_CREDITORS, "SELECT account FROM ledger WHERE kind='credit' AND (?1='' OR"             \
                        " expires BETWEEN '1' AND ?1 AND expires<?1) UNION SELECT account FROM invoice" \
                        " WHERE ?1='' AND json_valid(document) AND document->>'$.version'>=2"      \
                        " AND ltrim(document->>'$.paid','0.')<>'' UNION SELECT id FROM declaration" \
                        " WHERE ?1='' AND kind='account' AND document->>'$.prepaid' IS 1 ORDER BY 1") \
    X(LEDGER_BETWEEN, "SELECT id,account,at_us,kind,currency,amount,reference,note,document,expires" \
                      " FROM ledger WHERE at_us>=?1 AND at_us<?2 ORDER BY at_us,id")               \
    X(CLOSED, "SELECT closed_us FROM closing WHERE month=?1 AND reopened_us=9223372036854775807")  \
    X(CLOSED_LAST, "SELECT coalesce(max(month),-9223372036854775807-1) FROM closing WHERE"         \
                   " reopened_us=9223372036854775807")                                             \
    X(CLOSING, "SELECT id,month,closed_us,version,entries,sha256,document FROM closing WHERE"      \
               " month=?1 AND reopened_us=9223372036854775807")                                    \
    X(CLOSING_INSERT, "INSERT INTO closing(" TB__C_closing("") ")VALUES(?1,?2,?3,?4,?5,?6,"        \
                      "9223372036854775807,9223372036854775807,?7)")                               \
    X(CLOSING_NEXT, "SELECT coalesce(max(id),0)+1 FROM closing")                                   \
    X(BEGIN_MONTH, "SELECT " TB__BEGIN)                                                            \
    X(BEGIN_SET, "INSERT INTO meta(name,value)VALUES('begin_month',?1),('begin_last',?1),"         \
                 "('begin_version'," TB__NEXT_VERSION ")ON CONFLICT DO UPDATE SET value="          \
                 "iif(name='begin_last',max(value,excluded.value),excluded.value)")                \
    /* the first valid document of a month before ?1 or with corrections of one */                 \
    X(BEGIN_DOCUMENT, "SELECT number FROM invoice i WHERE state='final' AND (month<?1 OR EXISTS("  \
                      "SELECT 1 FROM correction c WHERE c.invoice=i.id AND c.month<?1))"           \
                      " ORDER BY id LIMIT 1")                                                      \
    /* since the data were at ?1 and the ledger at ?2 a month was opened again, the ledger got another begin, or an \
     * invoice was made void */                                                                    \
    X(CLOSING_MOVED, "SELECT EXISTS(SELECT 1 FROM closing WHERE reopened_version>?1 AND"           \
                     " reopened_version<9223372036854775807) OR EXISTS(SELECT 1 FROM ledger WHERE id>?2" \
                     " AND kind='void') OR EXISTS(SELECT 1 FROM meta WHERE name='begin_version'"   \
                     " AND value>?1) OR EXISTS(SELECT 1 FROM charge WHERE version>?1 OR"           \
                     " dropped_version BETWEEN ?1+1 AND 9223372036854775806)")                                                             \
    X(CLOSING_REOPEN, "UPDATE closing SET reopened_us=?2,reopened_version=" TB__NEXT_VERSION " WHERE month=?1 AND" \
                      " reopened_us=9223372036854775807")                                          \
    X(CLOSING_AFTER, "SELECT id,month,closed_us,version,entries,sha256,document FROM closing WHERE" \
                     " id>?1 ORDER BY id LIMIT 1")                                                 \
    X(PAYERS, "SELECT id FROM account WHERE deleted_us=" TB__FOR_EVER " AND (lower(name)=lower(?1) OR" \
              " lower(document->>'$.buyer.name')=lower(?1)) ORDER BY id LIMIT 2")                  \
    X(SETTLE_PAPERS,                                                                               \
      "SELECT number,kind,coalesce(document->>'$.corrects',''),coalesce(document->>'$.due',"       \
      "date(finalized_us/1000000,'unixepoch')),iif(document->>'$.drawn' IS NULL,'0',"              \
      "document->>'$.paid'),coalesce(document->>'$.drawn','0') FROM invoice WHERE account=?1 ORDER BY id") \
    X(BILLED_MONTHS,                                                                               \
      "SELECT i.account,i.month,i.number,max(i.watermark,coalesce("                                \
      TB__CORRECTED("i.account", "i.month") ",0)),i.currency FROM invoice i"                       \
      " WHERE i.kind='invoice' AND i.state='final' AND ?1 IN(0,i.account)"                         \
      " AND i.month BETWEEN ?2 AND ?3 UNION ALL SELECT c.account,c.month,'',max(v.watermark),"     \
      "v.currency FROM correction c JOIN invoice v ON v.id=c.invoice WHERE v.state='final'"        \
      " AND ?1 IN(0,c.account) AND c.month BETWEEN ?2 AND ?3 AND NOT EXISTS(SELECT 1 FROM invoice" \
      " i WHERE i.account=c.account AND i.month=c.month AND i.kind='invoice' AND i.state='final')" \
      " GROUP BY c.account,c.month ORDER BY 1,2")                                                  \
    /* shadow books, scenarios */                                                                  \
    X(SHADOW_INSERT, "INSERT INTO shadow_book(" TB__C_shadow_book("") ")VALUES(NULL,?1,?2,?3,?4,?5,'live'," \
                     "9223372036854775807,?6)")                                                    \
    X(SHADOW_BY_NAME, "SELECT sha256,id FROM shadow_book WHERE name=?1 AND state='live'")          \
    X(SHADOW_CLOSE, "UPDATE shadow_book SET state=?2,closed_us=?3 WHERE id=?1")                    \
    X(SHADOWS, "SELECT id,added_us,document FROM shadow_book WHERE state='live' ORDER BY id")      \
    X(SHADOW, "SELECT id,added_us,document FROM shadow_book WHERE id=?1")                          \
    X(SHADOW_BILL_INSERT,                                                                          \
      "INSERT INTO shadow_bill VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10," TB__UNSEALED ")")           \
    X(SHADOW_BILLS,                                                                                \
      "SELECT b.shadow,b.account,b.month,b.watermark,b.currency,b.invoice,b.billed,b.would,"       \
      "b.unpriced,s.name FROM shadow_bill b JOIN shadow_book s ON s.id=b.shadow"                   \
      " WHERE ?1 IN(-9223372036854775807-1,b.month)"                                               \
      " ORDER BY b.shadow,b.month,b.account,b.watermark")                                          \
    X(SCENARIO_LAST, "SELECT sha256 FROM scenario WHERE name=?1 ORDER BY id DESC LIMIT 1")         \
    X(SCENARIO_INSERT, "INSERT INTO scenario(" TB__C_scenario("") ")VALUES(NULL,?1,?2,?3,?4)")     \
    X(SCENARIO_NAMED, "SELECT name,sha256,added_us,document FROM scenario WHERE name=?1"           \
                      " AND substr(sha256,1,length(?2))=?2 ORDER BY id DESC")                      \
    X(SCENARIOS, "SELECT name,sha256,added_us,document FROM scenario ORDER BY id")

#endif
