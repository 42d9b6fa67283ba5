/* Every prepared statement of the store: one line each. Bound parameters only; a statement that
 * reads a tenant's data binds the account (?account below). */
#ifndef TOLLBOOK_STORE_STATEMENTS_H
#define TOLLBOOK_STORE_STATEMENTS_H

#include "store/core/sealed.h"
#include "tollbook/ledgerstore.h"

/* A macro's number as text. */
#define TB__NUMERAL(n)  TB__NUMERAL_(n)
#define TB__NUMERAL_(n) #n

/* The data version that the running transaction will commit. */
#define TB__NEXT_VERSION "(SELECT value+1 FROM meta WHERE name='data_version')"

/* The month that the ledger begins with; 0: none was set. */
#define TB__BEGIN "coalesce((SELECT value FROM meta WHERE name='begin_month'),0)"

/* What an invoice is read by. */
#define TB__INVOICE_COLUMNS                                                                        \
    "SELECT id,number,kind,state,account,month,watermark,since,currency,total,sha256,previous,"    \
    "replaces,coalesce((SELECT r.number FROM invoice r WHERE r.replaces=i.number"                  \
    " AND r.replaces<>''),''),finalized_us,document FROM invoice i"

/* When a waiting month w begins, and when it is over. */
#define TB__MONTH_US(m)                                                                            \
    "unixepoch(format('%04d-%02d-01',1970+(" m ")/12,(" m ")%12+1))*1000000"
#define TB__SAID(d, member) "coalesce(" d ".document->>'$." member "','')"
/* What was declared of one thing as it was known when month w was billed last. */
#define TB__SAID_THEN(kind, id, what)                                                              \
    "(SELECT " what " FROM declaration p WHERE p.kind='" kind "' AND p.id=" id                     \
    " AND p.version<=w.since ORDER BY p.from_us DESC,p.version DESC LIMIT 1)"

#define TB__FOR_EVER "9223372036854775807"
#define TB__CLOSED   "iif(d.closed_version<" TB__FOR_EVER ",d.closed_version,0)"
/* Declaration d is later than what month w was billed by and reaches into it: from the thing's
 * created on (which it must say where nothing of the month is billed), or until it was ended then,
 * or by another beginning or end (`said`) than before. */
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

/* Segment s was not withdrawn. */
#define TB__LIVE(s) "NOT EXISTS(SELECT 1 FROM withdrawal y WHERE y.segment=" s ".id)"
/* As tb__segment_row has them. */
#define TB__SEGMENT_COLUMNS(s)                                                                     \
    s "id," s "kind," s "start," s "length," s "lines_before," s "accepted," s "rejected," s "final," s "added_us," \
    s "name," s "source," s "sums," s "hash," s "head"
/* Of a segment's sums: what its lines come to. */
#define TB__COUNTED "key NOT IN('rejects_kept','rung_seals')"

/* The last run of an account's month: its own or, where it has none, the one over everybody. */
#define TB__LAST_RUN(account, month)                                                               \
    "coalesce((SELECT max(o.id) FROM month_run o WHERE o.account=" account " AND o.month=" month   \
    "),(SELECT max(o.id) FROM month_run o WHERE o.account=0 AND o.month=" month "))"
/* The watermark up to which corrections that stand have billed the month; NULL: none has. */
#define TB__CORRECTED(account, month)                                                              \
    "(SELECT max(j.watermark) FROM correction k JOIN invoice j ON j.id=k.invoice"                  \
    " WHERE k.account=" account " AND k.month=" month " AND j.state='final')"

/* Months whose hours retention has deleted are closed, and are not listed; nor are months before the ledger's begin.
 *
 * Months that were run and whose account has late usage, or later declarations that reach into them:
 * whether the month comes to something else by these, the caller looks. Where nothing of the month
 * is billed (w.billed 0), what is declared without a beginning does not reach in, and a refused one
 * waits in any case; a void invoice's month waits for late usage alone. */
#define TB__WAITING(of)                                                                            \
    "SELECT w.account,w.month,w.invoice,w.since,w.watermark,(SELECT count(*) FROM late l"          \
    " WHERE l.account=w.account AND l.month=w.month AND l.version>w.since) AS n,iif(w.outcome="    \
    "'void',0,(SELECT count(*) FROM zone" TB__DECLARED("zone") " WHERE zone.account=w.account AND "\
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

/* Whether addresses in a zone's logs are hidden, and whether they are hidden whole. */
#define TB__ZONE_PRIVACY                                                                           \
    "coalesce(settings->>'$.LoggingIPAnonymizationEnabled',1),"                                    \
    "coalesce(settings->>'$.LogAnonymizationType',0) IN(1,'Drop')"
#define TB__SERIES_4  "(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?)"
#define TB__SERIES_16 TB__SERIES_4 "," TB__SERIES_4 "," TB__SERIES_4 "," TB__SERIES_4
#define TB__SERIES_PART " (scope,owner,edge)>(?1,?2,?3) AND (scope,owner,edge)<=(?4,?5,?6)"

#define TB__CHUNK_8 "(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?)"
/* A row that is there already is merged with what comes: usage/landing.c. */
#define TB__CHUNK_JOINS                                                                            \
    " ON CONFLICT(key) DO UPDATE SET data=tb_chunk_join(key,data,excluded.data)"

/* Series s holds something of month ?3, in a row or waiting: ?4 is a JSON array of the latter. */
#define TB__HAS_MONTH                                                                              \
    "(EXISTS(SELECT 1 FROM chunk c WHERE c.key=(s.id<<18)+131072+?3)"                              \
    " OR s.id IN(SELECT value FROM json_each(?4)))"
#define TB__KEY_COLUMNS "SELECT id,account,roles,hash,hint,created_us,revoked_us,sealed"
#define TB__KEY_VALID   "revoked_us=9223372036854775807"

/* Zones that are there: an index holds them. What a page shows of one, and what a search (?s, a
 * parameter) looks at: its name and its hostnames, the system's own among them. */
#define TB__ZONE_THERE "deleted_us=9223372036854775807"
/* An element h of a document's hostnames: a text, or a HostnameModel. */
#define TB__HOSTNAME "iif(h.type='text',h.value,h.value->>'$.Value')"
#define TB__ZONE_SHOWN                                                                             \
    "SELECT z.id,z.name,z.type='volume',z.settings,z.document->'$.hostnames',"                     \
    "coalesce((SELECT balancer FROM attachment a WHERE a.zone=z.id"                                \
    " AND a.to_us=9223372036854775807 ORDER BY a.from_us DESC LIMIT 1),0),coalesce(z.settings->>'$.Enabled',1),"                   \
    "coalesce(z.settings->>'$.MonthlyBandwidthLimit',0) FROM zone z WHERE "
/* The first of the series that are `of`, by edge; of is an SQL expression, and the same for both tables. Where none
 * waits, which is so for most of a database's life, the second table is looked into once. */
#define TB__SERIES_FIRST(of)                                                                       \
    "CASE WHEN EXISTS(SELECT 1 FROM series_new) THEN (SELECT id FROM (SELECT edge,id FROM"         \
    " series_placed WHERE " of " UNION ALL SELECT edge,id FROM series_new WHERE " of               \
    " ORDER BY edge LIMIT 1)) ELSE (SELECT id FROM series_placed WHERE " of                         \
    " ORDER BY edge LIMIT 1) END"
/* The lowest owner of a scope and what follows it: an index tells it of one table, but not of the view. */
#define TB__SERIES_OWNER(of)                                                                       \
    "(SELECT min(owner) FROM (SELECT min(owner) AS owner FROM series_placed WHERE " of             \
    " UNION ALL SELECT min(owner) FROM series_new WHERE " of "))"
/* Zones ?2 to ?3 of account ?1, each with its series at locations ?4 to ?5: of 0 to the highest the first,
 * which is that of all of them or the only one. */
#define TB__ZONES_SUMMED                                                                           \
    "SELECT z.id,coalesce(" TB__SERIES_FIRST("scope=1 AND owner=z.id AND edge BETWEEN ?4 AND ?5")   \
    ",0),z.created_us,z." TB__ZONE_THERE                                                           \
    " FROM zone z WHERE z.account=?1 AND z.id BETWEEN ?2 AND ?3"
#define TB__ACCOUNTS_CHOSEN                                                                        \
    "SELECT id FROM account WHERE deleted_us=" TB__FOR_EVER " AND id>?1 AND(?2='' OR"              \
    " instr(lower(name),lower(?2))>0 OR instr(id,?2)>0)"
#define TB__ZONE_FOUND(s)                                                                          \
    "(instr(lower(z.name||'.'||coalesce(z.settings->>'$.CnameDomain','b-cdn.net')),lower(" s "))>0"\
    " OR EXISTS(SELECT 1 FROM json_each(z.document,'$.hostnames') h WHERE"                         \
    " instr(lower(iif(h.type='text',h.value,h.value->>'$.Value')),lower(" s "))>0))"

/* A member of an account's limits: -1 where it says null, the usual where it says nothing. */
#define TB__LIMIT(name, usual)                                                                     \
    "iif(json_type(document,'$." name "')='null',-1,coalesce(document->>'$." name "'," usual "))"

/* A document without what names anybody. '->' keeps numbers as they are written. */
#define TB__FORGOTTEN(d)                                                                           \
    "json_replace(json_remove(" d ".document,'$.hostnames','$.buyer','$.labels','$.alerts'),'$.name','forgotten','$.settings',json("\
    "'{'||coalesce((SELECT group_concat(json_quote(e.key)||':'||(" d ".document->('$.settings.'||" \
    "json_quote(e.key)))) FROM json_each(" d ".document,'$.settings') AS e"                        \
    " WHERE e.type NOT IN('text','array','object') OR e.key IN('PriceOverride','OptimizerPricing')"\
    " OR e.key GLOB '*Discount*'),'')||'}'))"
#define TB__FORGETS(d) \
    "json_valid(" d ".document) AND " d ".document<>" TB__FORGOTTEN(d)
/* Declarations of account ?1 and of what belongs to it. */
#define TB__DECLARED_OF \
    "((d.kind='account' AND d.id=?1) OR (d.kind='zone' AND d.id IN(SELECT id FROM zone WHERE"       \
    " account=?1)) OR (d.kind='balancer' AND d.id IN(SELECT id FROM balancer WHERE account=?1)) OR"  \
    " (d.kind='shield_zone' AND d.id IN(SELECT id FROM shield_zone WHERE account=?1)))"
/* A refused line's reason that quotes one of their names; short ones are too common to tell. Each reason is looked
 * at once, however many lines have it. */
#define TB__NAMED_REASON \
    "reason IN(SELECT r.reason FROM(SELECT DISTINCT reason FROM reject) AS r WHERE "                \
    "EXISTS(SELECT 1 FROM (SELECT d.document->>'$.name' AS said FROM declaration d WHERE "          \
    TB__DECLARED_OF " AND json_valid(d.document) UNION SELECT iif(h.type='text',h.value,"            \
    "h.value->>'$.Value') FROM declaration d,json_each(d.document,'$.hostnames') h WHERE d.kind="    \
    "'zone' AND json_valid(d.document) AND d.id IN(SELECT id FROM zone WHERE account=?1)) AS n"     \
    " WHERE length(n.said)>3 AND n.said<>'forgotten' AND instr(lower(r.reason),lower(n.said))))"

#define TB__STATEMENTS(X)                                                                          \
    X(BEGIN_WRITE, "BEGIN IMMEDIATE")                                                              \
    X(BEGIN_READ, "BEGIN")                                                                         \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(MARK, "SAVEPOINT mark")                                                                      \
    X(KEEP_MARK, "RELEASE mark")                                                                   \
    X(BACK_TO_MARK, "ROLLBACK TO mark")                                                            \
    X(META_GET, "SELECT value FROM meta WHERE name=?1")                                            \
    X(META_SET, "UPDATE meta SET value=?2 WHERE name=?1")                                          \
    /* usage in ClickHouse: store/clickhouse       */                                                  \
    X(META_PUT, "INSERT INTO meta(name,value) VALUES(?1,?2) ON CONFLICT DO UPDATE SET"             \
                " value=excluded.value")                                                           \
    X(ROWS_CHANGED, "INSERT INTO meta(name,value) VALUES('rows_version',1) ON CONFLICT DO UPDATE SET"  \
                    " value=value+1")                                                              \
    X(CARRY_ANY, "SELECT EXISTS(SELECT 1 FROM log_block) OR EXISTS(SELECT 1 FROM log_run)"       \
                 " OR EXISTS(SELECT 1 FROM event_block)")                                          \
    X(CARRY_LOGS, "SELECT zone,first_ms,last_ms,lines,data FROM log_block ORDER BY id")            \
    X(CARRY_EVENTS, "SELECT zone,data FROM event_block ORDER BY id")                               \
    X(USAGE_FORGOTTEN, "SELECT CAST(substr(name,length(?1)+1) AS INT),value FROM meta"             \
                       " WHERE substr(name,1,length(?1))=?1 AND value>0 ORDER BY 1")               \
    X(USAGE_GAPS, "SELECT CAST(substr(name,11) AS INT),value FROM meta WHERE name GLOB 'usage_gap_*'"  \
                  " ORDER BY 1")                                                                   \
    X(USAGE_DAY_PUT, "INSERT INTO usage_day VALUES(?1,?2) ON CONFLICT DO UPDATE SET batch=excluded.batch") \
    X(USAGE_DAYS, "SELECT day,batch FROM usage_day WHERE day BETWEEN ?1 AND ?2 ORDER BY day")        \
    X(USAGE_DAY_ALL, "SELECT day,batch FROM usage_day ORDER BY day")                                 \
    X(USAGE_DAYS_NEWEST, "SELECT coalesce(max(batch),0) FROM usage_day WHERE day BETWEEN ?1 AND ?2")\
    X(USAGE_DAYS_TOUCH, "UPDATE usage_day SET batch=?1 WHERE day BETWEEN ?2 AND ?3")                 \
    X(USAGE_DUE, "SELECT CAST(substr(name,11) AS INT),value FROM meta WHERE name GLOB 'usage_due_*' AND value>0" \
                 " ORDER BY 1")                                                                    \
    X(USAGE_UNLET, "SELECT coalesce(min(day),-1) FROM usage_day WHERE batch>coalesce((SELECT value FROM meta WHERE" \
                   " name='usage_let_'||((strftime('%Y',day*86400,'unixepoch')-1970)*12"            \
                   "+strftime('%m',day*86400,'unixepoch')-1)),0)")                                  \
    X(USAGE_KEPT, "SELECT account,days_month>?1 FROM retention WHERE hours_month>?1 ORDER BY account") \
    X(USAGE_KEPT_DAYS, "SELECT DISTINCT days_month FROM retention WHERE days_month>0 ORDER BY 1")    \
    X(ACCOUNT_ZONES, "SELECT id FROM zone WHERE account=?1 ORDER BY id")                           \
    X(ACCOUNT_BALANCERS, "SELECT id FROM balancer WHERE account=?1 ORDER BY id")                   \
    X(USAGE_MONTHS, "SELECT CAST(substr(name,13) AS INT),value FROM meta WHERE name GLOB 'usage_month_*'"\
                    " ORDER BY 1")                                                                 \
    X(USAGE_MENDED, "SELECT CAST(substr(name,14) AS INT),value FROM meta WHERE name GLOB 'usage_mended_*'") \
    X(WITHDRAWALS, "SELECT count(*) FROM withdrawal")                                              \
    /* As v16 of the schema has it: each segment's millions are rounded up. */                       \
    X(USAGE_BOUND, "SELECT coalesce(max(most),0) FROM (SELECT iif(sum(millions)<9223372036854,sum(millions)*1000000,"\
                   "9223372036854775807) AS most FROM (SELECT j.key AS name,CAST(j.value AS INTEGER)/1000000+1 AS millions"\
                   " FROM segment,json_each(iif(json_valid(sums),sums,'{}')) AS j WHERE j.key NOT IN('rung_seals','cells') AND"\
                   " NOT EXISTS(SELECT 1 FROM withdrawal WHERE segment=segment.id)) GROUP BY name)") \
    X(MOVE_OWNER, "SELECT scope,owner FROM series WHERE (scope,owner)>(?1,?2) ORDER BY scope,owner LIMIT 1") \
    X(MOVE_SERIES, "SELECT edge,id FROM series WHERE scope=?1 AND owner=?2 AND edge>?3 ORDER BY edge LIMIT 1") \
    X(MOVE_BEFORE, "SELECT count(*) FROM (SELECT scope,owner FROM series_placed WHERE (scope,owner)<=(?1,?2) UNION"\
                   " SELECT scope,owner FROM series_new WHERE (scope,owner)<=(?1,?2) ORDER BY 1,2)") \
    X(MOVE_COUNTRIES, "SELECT day,data FROM country_day WHERE zone=?1 ORDER BY day")                \
    X(SERIES_NEXT, "SELECT value+1 FROM meta WHERE name='series_id'")                              \
    /* what the running transaction will commit */                                                  \
    X(VERSION_NEXT, "SELECT value+1 FROM meta WHERE name='data_version'")                          \
    X(BUMP_VERSION, "UPDATE meta SET value=value+1 WHERE name='data_version'")                     \
    /* usage */                                                                                    \
    X(CHUNK_PUT, "INSERT INTO chunk VALUES(?,?)" TB__CHUNK_JOINS)                                  \
    X(CHUNK_PUT_32, "INSERT INTO chunk VALUES" TB__CHUNK_8 "," TB__CHUNK_8 "," TB__CHUNK_8 ","     \
                    TB__CHUNK_8 TB__CHUNK_JOINS)                                                   \
    X(CHUNK_GET, "SELECT data FROM chunk WHERE key=?1")                                            \
    X(CHUNK_UPDATE, "UPDATE chunk SET data=?2 WHERE key=?1")                                       \
    X(CHUNK_SPAN, "SELECT key,data FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key")           \
    X(USAGE_RUN_NEXT, "SELECT coalesce(max(id),0)+1 FROM usage_run")                               \
    X(USAGE_RUN_INSERT, "INSERT INTO usage_run VALUES(?1,?2,?3,?4,?5,?6,?7)")                      \
    X(USAGE_RUN_DELETE, "DELETE FROM usage_run WHERE id=?1")                                       \
    X(USAGE_PAGE_INSERT, "INSERT INTO usage_page VALUES(?1,?2)")                                   \
    X(USAGE_PAGES_SIZE, "SELECT coalesce(sum(length(data)),0) FROM usage_page"                     \
                        " WHERE id BETWEEN ?1 AND ?2")                                             \
    X(USAGE_PAGES_DELETE, "DELETE FROM usage_page WHERE id BETWEEN ?1 AND ?2")                     \
    X(SERIES_OWNERS_END, "SELECT owner FROM (SELECT owner FROM series_placed WHERE scope=?1 AND"    \
                         " owner>=?2 UNION SELECT owner FROM series_new WHERE scope=?1 AND"        \
                         " owner>=?2 ORDER BY owner LIMIT ?3) ORDER BY owner DESC LIMIT 1")        \
    X(SERIES_OF_OWNER_ID, "SELECT id,edge FROM series WHERE scope=?1 AND owner=?2 ORDER BY edge LIMIT 1")\
    X(SERIES_OF_OWNER, "SELECT edge,id FROM series WHERE scope=?1 AND owner=?2 ORDER BY edge")     \
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
    X(SERIES_INSERT, "INSERT INTO series_placed VALUES(?,?,?,?,?)")                                \
    /* Sixteen at once: SQLite notes for each statement with a trigger how to undo it. */          \
    X(SERIES_INSERT_16, "INSERT INTO series_placed VALUES" TB__SERIES_16)                          \
    X(SERIES_WAIT, "INSERT INTO series_new VALUES(?,?,?,?,?)")                                     \
    X(SERIES_WAIT_16, "INSERT INTO series_new VALUES" TB__SERIES_16)                               \
    X(SERIES_WAITING, "SELECT count(*) FROM series_new")                                           \
    X(SERIES_PART_END, "SELECT scope,owner,edge FROM series_new WHERE (scope,owner,edge)>(?1,?2,?3)"\
                       " ORDER BY scope,owner,edge LIMIT 1 OFFSET ?4")                             \
    X(SERIES_PLACE, "INSERT INTO series_placed SELECT scope,owner,edge,id,seal FROM series_new WHERE"\
                    TB__SERIES_PART " ORDER BY scope,owner,edge")                                  \
    X(SERIES_PLACED, "DELETE FROM series_new WHERE" TB__SERIES_PART)                               \
    X(SERIES_SEALED, "UPDATE head SET n=n+?1,seals=(seals+?2)&" TB__SEAL_MASK                      \
                     " WHERE name='series'")                                                       \
    X(SERIES_WHOSE, "SELECT scope,owner,edge FROM series WHERE id=?1")                             \
    X(EDGE_CODE, "SELECT code FROM edge WHERE id=?1")                                              \
    X(EDGE_BY_CODE, "SELECT id FROM edge WHERE code=?1")                                           \
    X(EDGE_NEXT, "SELECT coalesce(max(id),0)+1 FROM edge")                                         \
    X(EDGE_INSERT, "INSERT INTO edge(code,id,seal) VALUES(?1,?2," TB__UNSEALED ")")                \
    X(ZONE_ACCOUNT, "SELECT account FROM zone WHERE id=?1")                                        \
    X(COUNTRY_GET, "SELECT data FROM country_day WHERE zone=?1 AND day=?2")                        \
    X(COUNTRY_PUT, "INSERT OR REPLACE INTO country_day VALUES(?1,?2,?3)")                          \
    /* what is kept of usage: usage/retain.c */                                                    \
    X(KEPT_OF, "SELECT hours_month,days_month FROM retention WHERE account=CASE ?1 WHEN 1 THEN"    \
               " (SELECT account FROM zone WHERE id=?2) WHEN 2 THEN ?2"                            \
               " ELSE (SELECT account FROM balancer WHERE id=?2) END")                             \
    X(KEPT_SET, "INSERT INTO retention(account,hours_month,days_month)VALUES(?1,?2,?3)"            \
                " ON CONFLICT DO UPDATE SET hours_month=excluded.hours_month,"                     \
                "days_month=excluded.days_month")                                                  \
    X(RETAIN_FIRST,                                                                                \
      "SELECT coalesce(min((SELECT min(key)&131071 FROM chunk WHERE key BETWEEN (s.id<<18)+131072" \
      " AND (s.id<<18)+262143)),-1) FROM (SELECT id FROM series WHERE scope=2 AND owner=?1"        \
      " UNION ALL SELECT s.id FROM balancer b CROSS JOIN series_placed s ON s.scope=3 AND s.owner=b.id"\
      " WHERE b.account=?1 UNION ALL SELECT s.id FROM balancer b CROSS JOIN series_new s ON s.scope=3 AND"\
      " s.owner=b.id WHERE b.account=?1) AS s")                                                                 \
    X(RETAIN_ACCOUNT, "SELECT id FROM account WHERE id>=?1 ORDER BY id LIMIT 1")                   \
    X(RETAIN_SHARE, "SELECT coalesce(sum(id<?1),0),count(*) FROM account")                         \
    X(RETAIN_ZONE, "SELECT id FROM zone WHERE account=?1 AND id>=?2 ORDER BY id LIMIT 1")          \
    X(RETAIN_BALANCER, "SELECT id FROM balancer WHERE account=?1 AND id>=?2 ORDER BY id LIMIT 1")  \
    X(RETAIN_SELF, "SELECT id FROM account WHERE id=?1 AND id>=?2")                                \
    X(RETAIN_SERIES, "SELECT edge,id FROM series WHERE scope=?1 AND owner=?2 AND edge>=?3"         \
                     " ORDER BY edge LIMIT 1")                                                     \
    X(RETAIN_CHUNKS, "SELECT key,data FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3")\
    X(RETAIN_DELETE, "DELETE FROM chunk WHERE key BETWEEN ?1 AND ?2")                              \
    X(RETAIN_COUNTRIES,                                                                            \
      "SELECT day,data FROM country_day WHERE zone=?1 AND day<?2 ORDER BY day LIMIT ?3")           \
    X(RETAIN_COUNTRIES_DELETE, "DELETE FROM country_day WHERE zone=?1 AND day<=?2")                \
    X(GONE_GET, "SELECT j.key,j.value FROM usage_gone AS g,json_each(g.sums) AS j"                 \
                " WHERE g.account=?1 AND g.month=?2")                                              \
    X(GONE_PUT, "INSERT INTO usage_gone(account,month,sums)VALUES(?1,?2,?3)"                       \
                " ON CONFLICT DO UPDATE SET sums=excluded.sums")                                   \
    /* outcome of an account's month: 1 nothing is open of it */                                   \
    X(MONTH_SETTLED,                                                                               \
      "SELECT ?2<" TB__BEGIN " OR coalesce((SELECT r.outcome='nothing' OR (r.outcome='final' AND"  \
      " i.state='final') FROM month_run r LEFT JOIN invoice i ON i.number=r.invoice WHERE r.id="   \
      TB__LAST_RUN("?1", "?2") "),0)")                                                             \
    /* segments */                                                                                 \
    X(SEGMENT_INSERT,                                                                              \
      "INSERT INTO segment VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14," TB__UNSEALED ")")\
    X(SEGMENTS_BY_HEAD,                                                                            \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final"       \
      " FROM segment WHERE head=?1 AND kind=?2 AND " TB__LIVE("segment") " ORDER BY start,length") \
    X(SEGMENTS_FROM,                                                                               \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final"       \
      " FROM segment WHERE head=?1 AND kind=?2 AND start>=?3 AND " TB__LIVE("segment")             \
      " ORDER BY start,length")                                                                    \
    X(SEGMENTS_BEFORE,                                                                             \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final"       \
      " FROM segment WHERE head=?1 AND kind=?2 AND start<?3 AND " TB__LIVE("segment")              \
      " ORDER BY start,length LIMIT ?4")                                                                    \
    X(SEGMENT_END,                                                                                 \
      "SELECT start FROM segment WHERE head=?1 AND kind=?2 AND start<?3 AND length=?3"                 \
      " AND lines_before+accepted+rejected=?4 AND " TB__LIVE("segment")                            \
      " ORDER BY start DESC LIMIT 1")                                                              \
    X(SEGMENTS_BY_NAME,                                                                            \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final"       \
      " FROM segment WHERE name=?1 AND " TB__LIVE("segment") " ORDER BY start,length")             \
    X(BATCH_IS_BARE, "SELECT 1 FROM segment WHERE name=?1 AND " TB__LIVE("segment")                \
      " AND id<=(SELECT value FROM meta WHERE name='segments_before')"                             \
      " AND (source IN('http','http, token') OR source LIKE 'http, key %' AND ?2="                 \
      "(SELECT account FROM key WHERE id=CAST(substr(source,11) AS INTEGER)))")                    \
    X(WITHDRAWN_END,                                                                               \
      "SELECT 1 FROM segment WHERE head=?1 AND kind=?2 AND start<?3 AND length=?3"                 \
      " AND lines_before+accepted+rejected=?4 AND NOT " TB__LIVE("segment") " LIMIT 1")            \
    X(TAKEN_BY_HEAD,                                                                               \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final,id,"   \
      "lines_before,added_us,coalesce(name,'') FROM segment WHERE head=?1 AND kind=?2 AND "        \
      TB__LIVE("segment") " ORDER BY start,length,id")                                             \
    X(TAKEN_BY_NAME,                                                                               \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final,id,"   \
      "lines_before,added_us,coalesce(name,'') FROM segment WHERE name=?1 AND "                    \
      TB__LIVE("segment") " ORDER BY start,length,id")                                             \
    X(TAKEN_AT,                                                                                    \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final,id,"   \
      "lines_before,added_us,coalesce(name,'') FROM segment WHERE head=?1 AND kind=?2 AND start=?3"\
      " AND length=?4 AND " TB__LIVE("segment") " ORDER BY id")                                    \
    /* whether the segment says the same sums as ?2, but for what is told elsewhere, and for        \
     * what it does not say at all since it is from an older file */                               \
    X(SEGMENT_SAYS,                                                                                \
      "SELECT accepted=?3 AND rejected=?4 AND NOT EXISTS(SELECT 1 FROM (SELECT key,value FROM"     \
      " json_each(sums) WHERE " TB__COUNTED " UNION ALL SELECT key,value FROM json_each(?2) WHERE "\
      TB__COUNTED " AND (key<>'cells' OR sums->>'$.cells' IS NOT NULL)) GROUP BY key,value"        \
      " HAVING count(*)<>2),head FROM segment WHERE id=?1 AND " TB__LIVE("segment"))               \
    /* rows of ids that go together: see segment_fold.c. All of a block are read, by their ids */      \
    X(SEGMENT_NEWEST, "SELECT max(id) FROM segment")                                               \
    X(SEGMENT_ADDED, "SELECT added_us FROM segment WHERE id<=?1 ORDER BY id DESC LIMIT 1")         \
    X(SEGMENT_BLOCK, "SELECT " TB__SEGMENT_COLUMNS("") " FROM segment NOT INDEXED WHERE id BETWEEN ?1 AND ?2" \
                     " ORDER BY head,kind,start,length,id")                                        \
    X(SEGMENT_RUN, "SELECT " TB__SEGMENT_COLUMNS("s.") "," TB__LIVE("s") " FROM segment a CROSS JOIN segment b"\
                   " CROSS JOIN segment s WHERE a.id=?1 AND b.id=?2 AND s.head=a.head AND s.kind=a.kind"\
                   " AND s.start>=a.start AND s.start<b.length ORDER BY s.start,s.length,s.id")    \
    X(SEGMENT_FOLD, "UPDATE segment SET start=?2,lines_before=?3,accepted=?4,sums=?5 WHERE id=?1") \
    X(SEGMENT_FOLDED, "DELETE FROM segment WHERE id=?1")                                           \
    X(SEGMENT_HEAD, "SELECT head,kind,start,length FROM segment WHERE id=?1")                      \
    X(WITHDRAWN_ANY, "SELECT EXISTS(SELECT 1 FROM withdrawal)")                                    \
    X(WITHDRAWAL_INSERT, "INSERT INTO withdrawal(" TB__C_withdrawal("") ")VALUES(?1,"              \
                         TB__NEXT_VERSION ",?2,?3,?4)")                                            \
    X(REJECT_DELETE, "DELETE FROM reject WHERE segment=?1")                                        \
    X(REJECT_DUE_FORGET, "DELETE FROM reject_due WHERE segment=?1")                                \
    /* the rungs that segment ?1 stands over and no other one does that is known */                \
    X(RUNGS_LEFT, "SELECT r.head,r.length,r.hash FROM segment g JOIN rung r ON r.head=g.head"      \
                  " AND r.length>g.start AND r.length<=g.length WHERE g.id=?1"                   \
                  " AND NOT EXISTS(SELECT 1 FROM segment s WHERE s.head=g.head AND s.kind=g.kind" \
                  " AND s.start<r.length AND s.length>=r.length AND s.id<>g.id AND "               \
                  TB__LIVE("s") ")")                                                               \
    X(RUNG_DELETE, "DELETE FROM rung WHERE head=?1 AND length=?2 AND hash=?3")                     \
    /* a known segment that goes on where ?1 ends, which was withdrawn, and on no other known one: only\
     * for such a segment are all looked at that may end there. The plus keeps SQLite from looking \
     * for s among all that start later */                                                         \
    X(SEGMENT_LEFT,                                                                                \
      "SELECT s.source,coalesce(s.name,'') FROM segment p"                                         \
      " JOIN segment s ON s.head=p.head AND s.kind=p.kind AND s.start=p.length"                    \
      " AND s.lines_before=p.lines_before+p.accepted+p.rejected AND s.id>p.id"                     \
      " AND (s.name IS NULL OR s.name IS p.name)"                                                  \
      " WHERE p.id=?1 AND +p.length>0 AND iif(" TB__LIVE("s") ",NOT EXISTS(SELECT 1 FROM segment q"\
      " WHERE q.head=s.head AND q.kind=s.kind AND q.length=s.start AND q.id<s.id"                  \
      " AND q.lines_before+q.accepted+q.rejected=s.lines_before"                                   \
      " AND (s.name IS NULL OR s.name IS q.name) AND " TB__LIVE("q") "),0) LIMIT 1")               \
    X(LOG_OVERLAPPING, "SELECT id FROM log_block WHERE zone=?1 AND first_ms<=?3 AND last_ms>=?2"   \
                       " ORDER BY id DESC")                                                        \
    X(SERIES_ENDS, /* the last day of each series: ?1 the shift, ?2 the greatest index of hours */ \
      "SELECT c.key,c.data FROM series s JOIN chunk c ON c.key=(SELECT max(key) FROM chunk WHERE"  \
      " key BETWEEN s.id<<?1 AND (s.id<<?1)+?2)")                                                  \
    X(CHUNK_DELETE, "DELETE FROM chunk WHERE key=?1")                                              \
    X(COUNTRY_DELETE, "DELETE FROM country_day WHERE zone=?1 AND day=?2")                          \
    X(RUNG_INSERT, "INSERT OR IGNORE INTO rung VALUES(?1,?2,?3)")                                  \
    X(RUNGS, "SELECT head,length,hash FROM rung")                                                  \
    X(RUNGS_BY_HEAD, "SELECT length,hash FROM rung WHERE head=?1 ORDER BY length")                 \
    X(REJECT_INSERT, "INSERT INTO reject VALUES(?1,?2,?3,?4,?5)")                                  \
    /* of the newest lines; the text is that of the newest of its reason */                         \
    X(REJECTS_BY_REASON, "SELECT reason,count(*),max(segment),line,byte,text FROM"                  \
                         " (SELECT * FROM reject ORDER BY segment DESC,line DESC LIMIT ?1)"         \
                         " GROUP BY reason ORDER BY 2 DESC,reason LIMIT ?2")                        \
    X(REJECT_DUE_INSERT, "INSERT INTO reject_due VALUES(?1,?2)")                                   \
    X(REJECT_DUE, /* ?2: what a clock wrote that was ahead */                                      \
      "SELECT * FROM (SELECT added_us,segment FROM reject_due WHERE added_us<=?1"                  \
      " UNION ALL SELECT added_us,segment FROM reject_due WHERE added_us>?2) LIMIT 64")            \
    X(REJECT_DUE_DELETE, "DELETE FROM reject_due WHERE added_us=?1 AND segment=?2")                \
    X(REJECT_EMPTY, "UPDATE reject SET text=x'' WHERE segment=?1 AND line IN(SELECT line FROM"     \
                    " reject WHERE segment=?1 AND length(text)>0 LIMIT ?2)")                       \
    X(SEGMENT_NEXT, "SELECT coalesce(max(id),0)+1 FROM segment")                                   \
    X(SEGMENT_SOURCES, "SELECT source,kind,max(added_us),count(*),sum(accepted),sum(rejected) FROM" \
                       " (SELECT * FROM segment ORDER BY id DESC LIMIT ?1)"                        \
                       " GROUP BY source,kind ORDER BY 3 DESC,source,kind LIMIT ?2")               \
    /* reading: the tenant's account is ?1 in each */                                              \
    X(ZONE_OF_ACCOUNT, "SELECT 1 FROM zone WHERE account=?1 AND id=?2")                            \
    X(ACCOUNT_EXISTS, "SELECT 1 FROM account WHERE id=?1")                                         \
    X(ZONE_SERIES,                                                                                 \
      "SELECT s.edge,s.id,z.created_us FROM zone z"                                                \
      " JOIN series s ON s.scope=1 AND s.owner=z.id"                                               \
      " WHERE z.account=?1 AND z.id=?2 ORDER BY s.edge")                                           \
    X(ACCOUNT_SERIES, "SELECT edge,id FROM series WHERE scope=2 AND owner=?1 ORDER BY edge")       \
    X(PLACES,                                                                                      \
      "SELECT e.id,coalesce(r.id,0),coalesce(r.name,'Other: '||e.code||', '||e.code)," \
      "e.code"                                                                                     \
      " FROM edge e LEFT JOIN region r ON r.code=e.code ORDER BY e.id")                            \
    X(EDGE_OF_CODE, "SELECT id FROM edge WHERE code=?1")                                           \
    X(REGION_OF_CODE, "SELECT 1 FROM region WHERE code=?1")                                        \
    X(ZONE_NAME, "SELECT name FROM zone WHERE id=?1")                                              \
    X(ZONE_AT, "SELECT 1 FROM zone WHERE account=?1 LIMIT 1 OFFSET ?2")                            \
    X(SUMMED_ZONES, TB__ZONES_SUMMED " ORDER BY z.id")                                             \
    X(SUMMED_ZONES_NAMED, TB__ZONES_SUMMED " ORDER BY lower(z.name),z.id")                         \
    X(SUMMED_ZONES_FOUND, TB__ZONES_SUMMED " AND " TB__ZONE_FOUND("?6") " ORDER BY z.id")          \
    X(SUMMED_ZONES_FOUND_NAMED,                                                                    \
      TB__ZONES_SUMMED " AND " TB__ZONE_FOUND("?6") " ORDER BY lower(z.name),z.id")                \
    X(KNOWN_HOSTS,                                                                                 \
      "SELECT z.id,z.name||'.'||coalesce(z.settings->>'$.CnameDomain','b-cdn.net') FROM zone z"    \
      " WHERE " TB__ZONE_THERE " UNION ALL"                                                        \
      " SELECT z.id," TB__HOSTNAME                                                                 \
      " FROM zone z,json_each(z.document,'$.hostnames') h WHERE " TB__ZONE_THERE)                  \
    X(LIVE_HOSTNAMES,                                                                              \
      "SELECT count(*) FROM zone z,json_each(z.document,'$.hostnames') WHERE z." TB__ZONE_THERE)   \
    /* of zone ?1, and not in its new document ?2 */                                               \
    X(HOSTNAMES_LOST,                                                                              \
      "SELECT " TB__HOSTNAME " FROM zone z,json_each(z.document,'$.hostnames') h WHERE z.id=?1"    \
      " AND z.document<>?2 AND z." TB__ZONE_THERE " AND lower(" TB__HOSTNAME ") NOT IN"            \
      "(SELECT lower(" TB__HOSTNAME ") FROM json_each(?2,'$.hostnames') h) ORDER BY h.id")         \
    X(KNOWN_EDGES, "SELECT code FROM region ORDER BY CAST(price AS REAL) DESC,code")               \
    X(REGIONS_USED, "SELECT r.id FROM region r JOIN edge e ON e.code=r.code ORDER BY r.id")        \
    X(REGIONS,                                                                                     \
      "SELECT id,code,name,billing,continent,country,price,latitude,longitude,latency_routing"     \
      " FROM region ORDER BY id")                                                                  \
    X(KEYS, TB__KEY_COLUMNS " FROM key ORDER BY id")                                               \
    X(KEYS_PAGE, TB__KEY_COLUMNS " FROM key WHERE account=?1 AND " TB__KEY_VALID                   \
      " ORDER BY id LIMIT ?2 OFFSET ?3")                                                           \
    X(KEYS_COUNT, "SELECT count(*) FROM key WHERE account=?1 AND " TB__KEY_VALID)                  \
    X(KEY_INSERT, "INSERT INTO key(account,roles,hash,hint,created_us,revoked_us,sealed)"          \
      "VALUES(?1,?2,?3,?4,?5,?6,?7)")                                                              \
    X(KEY_REVOKE, "UPDATE key SET revoked_us=?2,revoked_version=" TB__NEXT_VERSION                 \
      " WHERE id=?1 AND " TB__KEY_VALID)                                                           \
    X(KEY_EXISTS, "SELECT 1 FROM key WHERE id=?1")                                                 \
    /* request logs */                                                                             \
    /* all that were ever declared, and whether lines of theirs are kept now */                    \
    X(LOGGED_ZONES,                                                                                \
      "SELECT id,coalesce(settings->>'$.EnableExtendedLogging',0),"                                \
      "deleted_us=9223372036854775807 AND coalesce(settings->>'$.EnableLogging',1),account"        \
      " FROM zone"                                                                                 \
      " ORDER BY id")                                                                              \
    X(LOG_ZONE,                                                                                    \
      "SELECT coalesce(settings->>'$.EnableLogging',1),coalesce(settings->>'$.Enabled',1)"         \
      " AND NOT coalesce(settings->>'$.Suspended',0),"                                             \
      "coalesce(settings->>'$.EnableExtendedLogging',0),"                                          \
      TB__ZONE_PRIVACY " FROM zone WHERE account=?1 AND id=?2"                                     \
      " AND deleted_us=9223372036854775807")                                                       \
    X(LOG_PRIVACY, "SELECT " TB__ZONE_PRIVACY " FROM zone WHERE id=?1")                            \
    X(LOG_INSERT, "INSERT INTO log_block(id,zone,first_ms,last_ms,lines,seal,data)"                \
                  "VALUES(?1,?2,?3,?4,?5,?6,?7)")                                                  \
    X(LOG_NEXT, "SELECT coalesce(max(id),0)+1 FROM log_block")                                     \
    X(LOG_SPAN_INSERT, "INSERT INTO log_span VALUES(?1,?2,?2,?3,?4)")                              \
    X(LOG_DELETE, "DELETE FROM log_block WHERE id=?1")                                             \
    X(LOG_SPAN_LEAF, "SELECT nodeno FROM log_span_rowid WHERE rowid=?1")                           \
    X(LOG_SPAN_PARENT, "SELECT parentnode FROM log_span_parent WHERE nodeno=?1")                   \
    X(LOG_SPAN_DELETE, "DELETE FROM log_span WHERE id=?1")                                         \
    X(LOG_NEWEST, "SELECT id,lines,first_ms,last_ms FROM log_block WHERE zone=?1"                  \
                  " ORDER BY id DESC LIMIT ?2")                                                    \
    X(LOG_RUN_INSERT, "INSERT INTO log_run(id,first_ms,last_ms,lines,seal,zones,data)"            \
                      "VALUES(?1,?2,?3,?4,?5,?6,?7)")                                              \
    X(LOG_RUN_NEXT, "SELECT max(coalesce((SELECT max(id) FROM log_run),0),max(value))+1 FROM meta" \
                    " WHERE name IN('log_run_spent','log_fold_run')")                              \
    X(LOG_RUN_ANY, "SELECT 1 FROM log_run LIMIT 1")                                                \
    X(LOG_RUN_STATE, "SELECT (SELECT value FROM meta WHERE name='log_run_spent'),"                 \
                     "(SELECT value FROM meta WHERE name='log_fold_run'),"                         \
                     "(SELECT value FROM meta WHERE name='log_fold_zone')")                        \
    X(LOG_RUNS, "SELECT id,lines,first_ms,last_ms,seal FROM log_run WHERE id>?1 AND id<=?2"        \
                " ORDER BY id LIMIT ?3")                                                           \
    X(LOG_RUN_GET, "SELECT zones,data FROM log_run WHERE id=?1")                                   \
    X(LOG_RUN_ZONES, "SELECT zones FROM log_run WHERE id=?1")                                      \
    X(LOG_RUN_DELETE, "DELETE FROM log_run WHERE id=?1")                                           \
    X(LOG_RUN_OLD_SIZE, "SELECT count(*),coalesce(sum(length(data)+length(zones)),0) FROM log_run" \
                        " WHERE last_ms<?1 AND id>(SELECT value FROM meta WHERE name='log_run_spent')")\
    X(LOG_RUN_ACCOUNT, "SELECT id FROM zone WHERE account=?1 ORDER BY id")                         \
    X(LOG_GET, "SELECT zone,seal,data FROM log_block WHERE id=?1")                                 \
    X(LOG_OLD, "SELECT id,seal FROM log_block WHERE last_ms<?1")                                   \
    X(LOG_OLD_SIZE, "SELECT count(*),coalesce(sum(length(data)),0) FROM log_block WHERE last_ms<?1")\
    /* hits of the R*Tree are looked at again: its zone is folded, its hours are whole */          \
    X(LOG_BLOCKS,                                                                                  \
      "SELECT b.id,b.first_ms,b.last_ms FROM log_span s CROSS JOIN log_block b ON b.id=s.id"       \
      " WHERE s.zone<=?1 AND s.zone_too>=?1 AND s.first_hour<=?3 AND s.last_hour>=?2"              \
      " AND b.zone=?4 AND b.last_ms>=?5 AND b.first_ms<?6")                                        \
    /* shield zones and their events; what a client asks binds the account first */                \
    X(SHIELD_ZONE, "SELECT 1 FROM shield_zone WHERE account=?1 AND id=?2")                         \
    X(SHIELD_ZONES_PAGE, "SELECT id,zone,name FROM shield_zone WHERE account=?1 AND deleted_us="   \
                         TB__FOR_EVER " ORDER BY id LIMIT ?2 OFFSET ?3")                           \
    X(SHIELD_ZONES_COUNT, "SELECT count(*) FROM shield_zone WHERE account=?1 AND deleted_us="      \
                          TB__FOR_EVER)                                                            \
    X(EVENTS_AT, "SELECT id,seal,first,data,day FROM event_block WHERE zone=?1 AND first<=?2"      \
                 " ORDER BY first DESC LIMIT 1")                                                   \
    X(EVENTS_AFTER, "SELECT id,seal,first,data,day FROM event_block WHERE zone=?1 AND first>?2"    \
                    " ORDER BY first LIMIT 1")                                                     \
    X(EVENTS_SIZE_AT, "SELECT id,seal,first,length(data),day FROM event_block WHERE zone=?1 AND first<=?2" \
                      " ORDER BY first DESC LIMIT 1")                                              \
    X(EVENTS_SIZE_AFTER, "SELECT id,seal,first,length(data),day FROM event_block WHERE zone=?1 AND first>?2" \
                         " ORDER BY first LIMIT 1")                                                \
    X(EVENTS_UP, "SELECT id,zone,day,first,events,seal,data FROM event_block WHERE zone=?1"        \
                 " AND first>=coalesce((SELECT max(first) FROM event_block WHERE zone=?1"          \
                 " AND first<=?2),?2) ORDER BY first")                                             \
    X(EVENTS_DOWN, "SELECT id,zone,day,first,events,seal,data FROM event_block WHERE zone=?1"      \
                   " AND first<=?2 ORDER BY first DESC")                                           \
    X(EVENTS_NEXT, "SELECT coalesce(max(id),0)+1 FROM event_block")                                \
    X(EVENTS_INSERT, "INSERT INTO event_block VALUES(?1,?2,?3,?4,?5,?6,?7)")                       \
    X(EVENTS_DELETE, "DELETE FROM event_block WHERE id=?1")                                        \
    X(EVENTS_OLD, "SELECT id,seal FROM event_block WHERE day<?1 LIMIT 1")                          \
    X(SECRET_GET, "SELECT value FROM secret WHERE name=?1")                                        \
    X(SECRET_PUT, "INSERT INTO secret VALUES(?1,?2," TB__UNSEALED ")")                             \
    /* catalogue */                                                                                \
    X(ACCOUNT_KEEPS,                                                                               \
      "SELECT currency,coalesce(?2->>'$.currency','USD') AS said FROM ledger WHERE account=?1"     \
      " AND currency<>said ORDER BY id LIMIT 1")                                                   \
    X(ACCOUNT_GET, "SELECT document,deleted_us FROM account WHERE id=?1")                          \
    X(ACCOUNTS_UNBOOKED,                                                                           \
      "SELECT count(*) FROM account a WHERE deleted_us=9223372036854775807 AND"                    \
      " instr(document,'\"contract\":{') AND document->>'$.contract.book' IS NOT NULL AND NOT"     \
      " EXISTS(SELECT 1 FROM book b WHERE b.name=a.document->>'$.contract.book'"                   \
      " AND b.currency=coalesce(a.document->>'$.currency','USD'))")                                \
    X(ACCOUNT_NAME, "SELECT name FROM account WHERE id=?1")                                        \
    X(ACCOUNTS_CHOSEN, TB__ACCOUNTS_CHOSEN " ORDER BY id")                                         \
    X(ACCOUNTS_CHOSEN_NAMED, TB__ACCOUNTS_CHOSEN " ORDER BY lower(name),id")                       \
    X(ACCOUNT_PUT,                                                                                 \
      "INSERT INTO account(" TB__C_account("") ")VALUES(?1,?2,?3,?4," TB__FOR_EVER ") ON CONFLICT(id) DO UPDATE"\
      " SET name=excluded.name,document=excluded.document,deleted_us=excluded.deleted_us")         \
    X(ZONE_GET, "SELECT document,deleted_us,account FROM zone WHERE id=?1")                        \
    X(ZONE_PUT,                                                                                    \
      "INSERT INTO zone(" TB__C_zone("") ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8," TB__FOR_EVER ") ON CONFLICT(id)"\
      " DO UPDATE SET name=excluded.name,type=excluded.type,created_us=excluded.created_us,"       \
      "settings=excluded.settings,document=excluded.document,deleted_us=excluded.deleted_us")      \
    X(BALANCER_GET, "SELECT document,deleted_us,account FROM balancer WHERE id=?1")                \
    X(BALANCER_PUT,                                                                                \
      "INSERT INTO balancer(" TB__C_balancer("") ")VALUES(?1,?2,?3,?4,?5,?6," TB__FOR_EVER ") ON CONFLICT(id)"\
      " DO UPDATE SET created_us=excluded.created_us,ended_us=excluded.ended_us,"                  \
      "document=excluded.document,deleted_us=excluded.deleted_us")                                 \
    X(SHIELD_ZONE_GET, "SELECT document,deleted_us,account FROM shield_zone WHERE id=?1")          \
    X(SHIELD_ZONE_PUT,                                                                             \
      "INSERT INTO shield_zone(" TB__C_shield_zone("") ")VALUES(?1,?2,?3,?4,?5,?6," TB__FOR_EVER ") ON CONFLICT(id)"\
      " DO UPDATE SET name=excluded.name,zone=excluded.zone,document=excluded.document,"           \
      "deleted_us=excluded.deleted_us")                                                            \
    X(DECLARATION_LAST, /* its newest beginning or end */                                          \
      "SELECT max(max(from_us),coalesce(max(to_us) FILTER (WHERE to_us<" TB__FOR_EVER "),0))"      \
      " FROM declaration WHERE kind=?1 AND id=?2")                                                 \
    X(DECLARATION_CLOSE,                                                                           \
      "UPDATE declaration SET to_us=?3,closed_version=" TB__NEXT_VERSION                           \
      " WHERE kind=?1 AND id=?2 AND to_us=9223372036854775807")                                    \
    X(DECLARATION_OPEN,                                                                            \
      "INSERT INTO declaration(kind,id,from_us,to_us,document,version)"                            \
      "VALUES(?1,?2,?3," TB__FOR_EVER ",?4," TB__NEXT_VERSION ") ON CONFLICT DO UPDATE"            \
      " SET to_us=excluded.to_us,document=excluded.document,closed_version=" TB__FOR_EVER)         \
    X(ATTACHED, "SELECT zone FROM attachment WHERE balancer=?1 AND to_us=9223372036854775807"      \
                " ORDER BY zone")                                                                  \
    /* a zone's first one from ?3; a later one from ?4, now, when the others have ended */         \
    X(ATTACH, "INSERT INTO attachment(zone,balancer,from_us,to_us,version)"                        \
              " SELECT ?1,?2,iif(count(*)=0,?3,max(?4,"                                            \
              "max(iif(to_us=9223372036854775807,?4,to_us)))),9223372036854775807,"                \
              TB__NEXT_VERSION " FROM attachment WHERE zone=?1 ON CONFLICT DO UPDATE"              \
              " SET to_us=excluded.to_us,closed_version=" TB__FOR_EVER)                            \
    X(DETACH, "UPDATE attachment SET to_us=max(from_us,?3),closed_version=" TB__NEXT_VERSION       \
              " WHERE zone=?1 AND balancer=?2 AND to_us=9223372036854775807")                      \
    /* the seller, who is 1, has declarations and no row beside */                                \
    X(SELLER_GET, "SELECT document,to_us FROM declaration WHERE kind='seller' AND id=?1"           \
                  " ORDER BY version DESC,from_us DESC LIMIT 1")                                   \
    X(SELLER_NOW, "SELECT document FROM declaration WHERE kind='seller' AND id=?1"                 \
                  " AND to_us=9223372036854775807")                                                \
    X(LIVE_SELLER, "SELECT id FROM declaration WHERE kind='seller'"                                \
                   " AND to_us=9223372036854775807")                                               \
    X(LIVE_ACCOUNTS, "SELECT id,name FROM account WHERE deleted_us=9223372036854775807 ORDER BY id")\
    X(LIVE_ZONES, "SELECT id,name FROM zone WHERE deleted_us=9223372036854775807 ORDER BY id")     \
    X(LIVE_BALANCERS, "SELECT id FROM balancer WHERE deleted_us=9223372036854775807 ORDER BY id")  \
    X(LIVE_SHIELD_ZONES, "SELECT id,name FROM shield_zone WHERE deleted_us=9223372036854775807 ORDER BY id")\
    X(SHIELD_ZONE_DELETE, "UPDATE shield_zone SET deleted_us=?2 WHERE id=?1")                      \
    X(ACCOUNT_DELETE, "UPDATE account SET deleted_us=?2 WHERE id=?1")                              \
    X(ZONE_DELETE, "UPDATE zone SET deleted_us=?2 WHERE id=?1")                                    \
    X(BALANCER_DELETE, "UPDATE balancer SET deleted_us=?2 WHERE id=?1")                            \
    X(REGIONS_CLEAR, "DELETE FROM region")                                                         \
    X(REGION_INSERT, "INSERT INTO region(" TB__C_region("") ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)")\
    /* forgetting: ?1 is the account */                                                            \
    X(FORGET_DELETED, "SELECT deleted_us FROM account WHERE id=?1")                                \
    X(FORGET_COUNTS,                                                                               \
      "SELECT (SELECT count(*) FROM declaration d WHERE " TB__DECLARED_OF " AND " TB__FORGETS("d") \
      "),(SELECT count(*) FROM container WHERE account=?1),(SELECT count(*) FROM reject WHERE"     \
      " length(text)>0 OR " TB__NAMED_REASON ")")                                                  \
    X(FORGET_LOGS_COUNT, "SELECT count(*) FROM log_block WHERE zone IN(SELECT id FROM zone"        \
                         " WHERE account=?1)")                                                     \
    X(FORGET_EVENTS_COUNT, "SELECT count(*) FROM event_block WHERE zone IN(SELECT id FROM"         \
                           " shield_zone WHERE account=?1)")                                       \
    X(FORGET_LOG_ZONES, "SELECT id FROM zone WHERE account=?1 ORDER BY id")                        \
    X(FORGET_EVENT_ZONES, "SELECT id FROM shield_zone WHERE account=?1 ORDER BY id")               \
    X(FORGET_REASONS, "UPDATE reject SET reason='forgotten' WHERE " TB__NAMED_REASON)              \
    X(FORGET_DECLARATIONS, "UPDATE declaration AS d SET document=" TB__FORGOTTEN("d")              \
                           " WHERE " TB__DECLARED_OF " AND " TB__FORGETS("d"))                     \
    X(FORGET_ACCOUNT, "UPDATE account AS t SET name='forgotten',document=" TB__FORGOTTEN("t")      \
                      " WHERE id=?1 AND " TB__FORGETS("t"))                                        \
    X(FORGET_ZONES, "UPDATE zone AS t SET name='forgotten',settings=coalesce(" TB__FORGOTTEN("t")  \
                    "->'$.settings',settings),document=" TB__FORGOTTEN("t") " WHERE account=?1"    \
                    " AND " TB__FORGETS("t"))                                                      \
    X(FORGET_SHIELDS, "UPDATE shield_zone AS t SET name=coalesce(" TB__FORGOTTEN("t")              \
                      "->>'$.name',''),document=" TB__FORGOTTEN("t") " WHERE account=?1 AND "      \
                      TB__FORGETS("t"))                                                            \
    X(FORGET_DEPLOYMENTS, "DELETE FROM deployment WHERE account=?1")                               \
    X(FORGET_DEPLOYMENT_ENDS, "DELETE FROM deployment_end WHERE account=?1")                       \
    X(FORGET_CONTAINERS, "DELETE FROM container WHERE account=?1")                                 \
    X(FORGET_LOGS, "SELECT id,seal FROM log_block WHERE zone IN(SELECT id FROM zone"               \
                   " WHERE account=?1) LIMIT ?2")                                                  \
    X(FORGET_EVENTS, "SELECT id,seal FROM event_block WHERE zone IN(SELECT id FROM shield_zone"    \
                     " WHERE account=?1) LIMIT ?2")                                                \
    /* containers: kind 0 registries, 1 applications, 2 limits */                                  \
    X(CONTAINER_GET, "SELECT document FROM container WHERE kind=?1 AND account=?2 AND id=?3")      \
    X(CONTAINER_PUT, "INSERT INTO container VALUES(?1,?2,?3,?4," TB__UNSEALED ")"                  \
      " ON CONFLICT DO UPDATE SET document=excluded.document")                                     \
    X(CONTAINER_DELETE, "DELETE FROM container WHERE kind=?1 AND account=?2 AND id=?3")            \
    X(CONTAINERS, "SELECT kind,account,id FROM container ORDER BY kind,account,id")                \
    X(STATUS_SAID, "SELECT ?1->>'$.status'")                                                       \
    X(APPS_PAGE,                                                                                   \
      "SELECT c.id,c.document->>'$.name',coalesce(c.document->>'$.description',''),d.status,"      \
      "c.document->>'$.displayEndpoint.id',c.document->>'$.displayEndpoint.address',"              \
      "c.document->>'$.displayEndpoint.type' FROM container c CROSS JOIN deployment d"             \
      " ON d.account=c.account AND d.app=c.id WHERE c.kind=1 AND c.account=?1 AND c.id>?3"         \
      " ORDER BY c.id LIMIT ?2")                                                                   \
    X(APP_GET,                                                                                     \
      "SELECT c.id,c.document->>'$.name',coalesce(c.document->>'$.description',''),d.status,"      \
      "c.document->>'$.displayEndpoint.id',c.document->>'$.displayEndpoint.address',"              \
      "c.document->>'$.displayEndpoint.type' FROM container c CROSS JOIN deployment d"             \
      " ON d.account=c.account AND d.app=c.id WHERE c.kind=1 AND c.account=?1 AND c.id=?2")        \
    X(APPS_COUNT, "SELECT count(*) FROM container WHERE kind=1 AND account=?1")                    \
    X(LIMITS_GET,                                                                                  \
      "SELECT " TB__LIMIT("maxNumberOfApplications", "20") ",(SELECT count(*) FROM container"      \
      " WHERE kind=1 AND account=?1)," TB__LIMIT("maxNumberOfRegionsPerApplication", "-1") ","     \
      TB__LIMIT("maxCpuMilliCoresPerPod", "8000") ","                                              \
      TB__LIMIT("maxMemoryBytesPerPod", "34359738368") ","                                         \
      TB__LIMIT("maxNumberOfInstancesPerRegion", "10") ","                                         \
      TB__LIMIT("maxNumberOfInstancesPerApplication", "-1") ","                                    \
      TB__LIMIT("maxNumberOfVolumesPerApplication", "2") ","                                       \
      TB__LIMIT("maxVolumeSize", "100")                                                            \
      " FROM container WHERE kind=2 AND account=?1 AND id=''")                                     \
    X(REGISTRY_GET,                                                                                \
      "SELECT document->>'$.url',coalesce(document->>'$.token_realm',''),"                         \
      "coalesce(document->>'$.username',''),coalesce(document->>'$.secret','') FROM container"     \
      " WHERE kind=0 AND account IN(0,?1) AND id=?2 ORDER BY account DESC LIMIT 1")                \
    /* the account's, and those of every account that it has none of the same id for */            \
    X(REGISTRIES,                                                                                  \
      "SELECT id,document->>'$.url',coalesce(document->>'$.username','') FROM container c"         \
      " WHERE kind=0 AND (account=?1 OR (account=0 AND NOT EXISTS(SELECT 1 FROM container o"       \
      " WHERE o.kind=0 AND o.account=?1 AND o.id=c.id))) ORDER BY id")                             \
    X(DEPLOYMENT_GET, "SELECT status,asked FROM deployment WHERE account=?1 AND app=?2")           \
    X(DEPLOYMENT_PUT, "INSERT INTO deployment VALUES(?1,?2,?3,?4,?5," TB__UNSEALED ") ON CONFLICT DO UPDATE"\
      " SET status=excluded.status,asked=excluded.asked,changed_us=excluded.changed_us")           \
    X(DEPLOYMENT_DELETE, "DELETE FROM deployment WHERE account=?1 AND app=?2")                     \
    X(DEPLOYMENT_END_PUT,                                                                          \
      "INSERT INTO deployment_end VALUES(?1,?2,?3,?4,?5,?6,?7,?8," TB__UNSEALED ") ON CONFLICT DO" \
      " UPDATE SET asked=excluded.asked,ended_us=excluded.ended_us,succeeded=excluded.succeeded,"  \
      "exit_status=excluded.exit_status,reason=excluded.reason,output=excluded.output"             \
      " WHERE excluded.asked>asked")                                                               \
    X(DEPLOYMENT_END_GET,                                                                          \
      "SELECT d.status='progressing',e.ended_us,e.succeeded,e.exit_status,e.reason,e.output"       \
      " FROM deployment d LEFT JOIN deployment_end e ON e.account=d.account AND e.app=d.app"       \
      " WHERE d.account=?1 AND d.app=?2")                                                          \
    X(DEPLOYMENT_END_DELETE, "DELETE FROM deployment_end WHERE account=?1 AND app=?2")             \
    X(DEPLOYMENTS_WAITING,                                                                         \
      "SELECT d.account,d.app,d.asked,c.document->>'$.name' FROM deployment d JOIN container c"    \
      " ON c.kind=1 AND c.account=d.account AND c.id=d.app WHERE d.status='progressing'"           \
      " ORDER BY d.changed_us,d.account,d.app LIMIT ?1")                                           \
    /* terms */                                                                                    \
    /* the last declaration that holds at ?2, or the first of all */                               \
    X(ACCOUNT_DECLARED,                                                                            \
      "SELECT document FROM declaration WHERE kind='account' AND id=?1 AND from_us=coalesce("      \
      "(SELECT max(from_us) FROM declaration WHERE kind='account' AND id=?1 AND from_us<=?2),"     \
      "(SELECT min(from_us) FROM declaration WHERE kind='account' AND id=?1))"                     \
      " ORDER BY version DESC LIMIT 1")                                                            \
    X(ACCOUNT_KNOWN, "SELECT document FROM declaration WHERE kind='account' AND id=?1 AND version<=?2"\
                     " ORDER BY version DESC,from_us DESC LIMIT 1")                                \
    /* 0 and the account, then its zones by id: name and labels at ?2, or the first later */       \
    X(INVOICE_NAMES,                                                                               \
      "WITH t(kind,id,place,usual) AS (SELECT 'account',id,0,name FROM account WHERE id=?1"        \
      " UNION ALL SELECT 'zone',id,id,name FROM zone WHERE account=?1) SELECT t.place,"            \
      "coalesce(iif(json_valid(d.document),d.document->>'$.name',NULL),t.usual),"                  \
      "iif(json_valid(d.document),d.document->'$.labels',NULL) FROM t LEFT JOIN declaration d"     \
      " ON d.kind=t.kind AND d.id=t.id AND (d.from_us,d.version)=(SELECT p.from_us,p.version"      \
      " FROM declaration p WHERE p.kind=t.kind AND p.id=t.id ORDER BY p.from_us>?2,CASE WHEN"      \
      " p.from_us>?2 THEN p.from_us ELSE -p.from_us END,p.version DESC LIMIT 1) ORDER BY t.place") \
    X(ZONE_TERMS,                                                                                  \
      "SELECT id,coalesce(settings->>'$.Enabled',1),"                                              \
      "coalesce(settings->>'$.MonthlyBandwidthLimit',0) FROM zone"                                 \
      " WHERE account=?1 AND created_us<=?2 AND deleted_us>?2 ORDER BY id")                        \
    /* pages of zones */                                                                           \
    X(ZONES_PAGE,                                                                                  \
      TB__ZONE_SHOWN "z.id IN(SELECT id FROM zone WHERE account=?1 AND " TB__ZONE_THERE            \
      " AND id>?2 ORDER BY id LIMIT ?3 OFFSET ?4) ORDER BY z.id")                                  \
    X(ZONES_SEARCHED,                                                                              \
      TB__ZONE_SHOWN "z.account=?1 AND " TB__ZONE_THERE " AND z.id>?2 AND " TB__ZONE_FOUND("?5")   \
      " ORDER BY z.id LIMIT ?3 OFFSET ?4")                                                         \
    X(ZONE_OF_HOST,                                                                                \
      "SELECT z.id FROM zone z WHERE z.account=?1 AND " TB__ZONE_THERE " AND ("                    \
      "lower(z.name||'.'||coalesce(z.settings->>'$.CnameDomain','b-cdn.net'))=lower(?2)"           \
      " OR EXISTS(SELECT 1 FROM json_each(z.document,'$.hostnames') h WHERE"                       \
      " lower(iif(h.type='text',h.value,h.value->>'$.Value'))=lower(?2))) ORDER BY z.id LIMIT 1")  \
    X(ZONES_COUNT, "SELECT coalesce((SELECT n FROM zone_count WHERE account=?1),0)")               \
    X(ZONES_FOUND, "SELECT count(*) FROM zone z WHERE z.account=?1 AND " TB__ZONE_THERE            \
      " AND " TB__ZONE_FOUND("?2"))                                                                \
    /* operator's figures */                                                                       \
    X(FIGURES_SEGMENTS,                                                                            \
      "SELECT count(*),coalesce(sum(accepted),0),coalesce(sum(rejected),0),"                       \
      "max(CASE kind WHEN 1 THEN added_us END),max(CASE kind WHEN 2 THEN added_us END)"            \
      " FROM segment WHERE " TB__LIVE("segment"))                                                  \
    X(FIGURES_ZONES, "SELECT count(*) FROM zone WHERE deleted_us=9223372036854775807")             \
    X(FIGURES_UNASSIGNED,                                                                          \
      "SELECT count(*) FROM unassigned")                                                           \
    X(FIGURES_UNPRICED,                                                                            \
      "SELECT count(*) FROM edge WHERE NOT EXISTS"                                                 \
      "(SELECT 1 FROM region WHERE region.code=edge.code)")                                        \
    X(UNPRICED_LOCATIONS, "SELECT code FROM edge WHERE NOT EXISTS"                                 \
                          "(SELECT 1 FROM region WHERE region.code=edge.code) ORDER BY code LIMIT ?1") \
    /* price books */                                                                              \
    X(BOOK_INSERT, "INSERT INTO book(name,currency,effective_us,sha256,version,added_us,document," \
                   "supersedes)VALUES(?1,?2,?3,?4," TB__NEXT_VERSION ",?5,?6,?7)")                 \
    X(BOOK_BY_NAME, "SELECT sha256 FROM book WHERE name=?1")                                       \
    X(BOOK_VERSION, "SELECT version FROM book WHERE sha256=?1")                                    \
    X(BOOKS, "SELECT document FROM book WHERE version<=?1 ORDER BY currency,effective_us,id")      \
    X(BOOK_SPAN_PUT, "INSERT OR REPLACE INTO book_span VALUES(?1,?2,?3)")                          \
    X(BOOK_SPAN_CLEAR, "DELETE FROM book_span")                                                    \
    X(BOOK_SPANS,                                                                                  \
      "SELECT b.id,b.name,b.effective_us," TB__BOOK_END("b.") ","                         \
      "b.currency,EXISTS(SELECT 1 FROM book n WHERE n.supersedes=b.name AND n.supersedes<>''),"    \
      TB__FOR_CONTRACT("b.") "<>0"                                                                \
      " FROM book_span s JOIN book b ON b.id=s.id"                                                 \
      " WHERE s.first_hour<=?2 AND s.last_hour>=?1 ORDER BY b.currency,b.effective_us,b.id")       \
    X(BOOK_TRUTH,                                                                                  \
      "SELECT b.id,b.effective_us," TB__BOOK_END("b.")                                     \
      " FROM book b ORDER BY b.id")                                                                \
    X(INVOICE_SPAN_PUT, "INSERT OR REPLACE INTO invoice_span VALUES(?1,?2,?3)")                    \
    X(INVOICE_SPANS,                                                                               \
      "SELECT i.id,i.number,i.month,i.account FROM invoice_span s JOIN invoice i ON i.id=s.id"     \
      " WHERE s.first_hour<=?2 AND s.last_hour>=?1 AND i.state='final' ORDER BY i.id")             \
    /* inputs of bills: the tenant's account is ?1 in each; what is known at version ?2 */         \
    X(BILLED_ACCOUNT,                                                                              \
      "SELECT d.from_us,d.to_us,d.closed_version,d.document,a.declared_us FROM declaration d"      \
      " CROSS JOIN account a ON a.id=?1 WHERE d.kind='account' AND d.id=?1 AND d.version<=?2"      \
      " ORDER BY d.from_us,d.version")                                                             \
    /* +z.id: a zone's own rows are looked up, not those of the whole range */                     \
    X(BILLED_ZONES,                                                                                \
      "SELECT d.from_us,d.to_us,d.closed_version,d.document,z.id FROM zone z CROSS JOIN"           \
      " declaration d ON d.kind='zone' AND d.id=+z.id WHERE z.account=?1 AND d.version<=?2"        \
      " AND z.id BETWEEN ?3 AND ?4 ORDER BY z.id,d.from_us,d.version")                             \
    X(BILLED_SERIES,                                                                               \
      "SELECT z.id,s.edge,s.id FROM zone z CROSS JOIN series_placed s ON s.scope=1 AND s.owner=+z.id"\
      " WHERE z.account=?1 AND z.id BETWEEN ?2 AND ?3 UNION ALL SELECT z.id,s.edge,s.id FROM zone z"\
      " CROSS JOIN series_new s ON s.scope=1 AND s.owner=+z.id WHERE z.account=?1"                 \
      " AND z.id BETWEEN ?2 AND ?3 AND EXISTS(SELECT 1 FROM series_new) ORDER BY 1,2")             \
    X(BILLED_BALANCERS,                                                                            \
      "SELECT d.from_us,d.to_us,d.closed_version,d.document,b.id FROM balancer b CROSS JOIN"       \
      " declaration d ON d.kind='balancer' AND d.id=b.id WHERE b.account=?1 AND d.version<=?2"     \
      " ORDER BY b.id,d.from_us,d.version")                                                        \
    X(BILLED_TIES,                                                                                 \
      "SELECT b.id,a.zone,a.from_us,a.to_us,a.closed_version,coalesce("                            \
      TB__SERIES_FIRST("scope=1 AND owner=a.zone") ",0)"                                           \
      " FROM balancer b CROSS JOIN attachment a ON a.balancer=b.id"                                \
      " WHERE b.account=?1 AND a.version<=?2 ORDER BY b.id,a.from_us,a.zone,a.version")            \
    X(BALANCER_SERIES, "SELECT id FROM series WHERE scope=3 AND owner=?1")                         \
    /* the region of version ?1 or, if there was none, the first that came until ?2 */          \
    X(BILLED_PLACES,                                                                               \
      "SELECT e.id,e.code,coalesce(nullif((SELECT r.billing FROM region_billing r WHERE"           \
      " r.code=e.code AND r.version<=?1 ORDER BY r.version DESC LIMIT 1),''),"                     \
      "(SELECT r.billing FROM region_billing r WHERE r.code=e.code AND r.version>?1"               \
      " AND r.version<=?2 AND r.billing<>'' ORDER BY r.version LIMIT 1),'')"                       \
      " FROM edge e ORDER BY e.id")                                                                \
    X(PLACES_CHANGES,                                                                              \
      "SELECT coalesce(max(iif(version<=?1,version,0)),0),"                                        \
      "coalesce(min(iif(version>?1,version,NULL)),9223372036854775807) FROM region_billing")       \
    X(BILLED_ACCOUNTS,                                                                             \
      "SELECT id FROM account WHERE EXISTS(SELECT 1 FROM zone z WHERE z.account=account.id"        \
      " AND z.created_us<?2 AND z.deleted_us>?1) OR EXISTS(SELECT 1 FROM balancer b"               \
      " WHERE b.account=account.id AND b.created_us<?2 AND min(b.deleted_us,b.ended_us)>?1)"       \
      " OR EXISTS(SELECT 1 FROM series s WHERE s.scope=2 AND s.owner=account.id"                   \
      " AND " TB__HAS_MONTH ") OR EXISTS(SELECT 1 FROM balancer b CROSS JOIN series_placed s"      \
      " ON s.scope=3 AND s.owner=b.id WHERE b.account=account.id AND " TB__HAS_MONTH ")"           \
      " OR EXISTS(SELECT 1 FROM balancer b CROSS JOIN series_new s"                                \
      " ON s.scope=3 AND s.owner=b.id WHERE b.account=account.id AND " TB__HAS_MONTH ")"           \
      " OR EXISTS(SELECT 1 FROM declaration d WHERE d.kind='account' AND d.id=account.id"          \
      " AND d.from_us<?2 AND d.to_us>?2-3600000000 AND instr(d.document,'\"commit\":{')"            \
      " AND(account.declared_us<?2 OR instr(d.document,'\"commit\":{\"from\":'))) ORDER BY id")     \
    X(INVOICED_ACCOUNTS,                                                                           \
      "SELECT DISTINCT account FROM invoice WHERE month=?1 ORDER BY account")                      \
    X(REGION_REMEMBER,                                                                             \
      "INSERT INTO region_billing(code,version,billing) SELECT n.code," TB__NEXT_VERSION ",n.billing FROM"\
      " (SELECT code,billing FROM region UNION ALL SELECT DISTINCT code,'' FROM region_billing"    \
      " WHERE code NOT IN(SELECT code FROM region)) AS n WHERE n.billing<>coalesce("               \
      "(SELECT b.billing FROM region_billing b WHERE b.code=n.code ORDER BY b.version DESC"        \
      " LIMIT 1),'') ON CONFLICT(code,version) DO UPDATE SET billing=excluded.billing")            \
    X(REGION_REBILLED,                                                                             \
      "SELECT count(*) FROM region_billing b JOIN edge e ON e.code=b.code WHERE b.version="        \
      TB__NEXT_VERSION)                                                                            \
    /* late usage */                                                                               \
    X(LATE_LAST_MONTH, "SELECT max(coalesce((SELECT max(month) FROM month_run),-1),"               \
                       "coalesce((SELECT max(month) FROM closing),-1))")                           \
    /* months of a closing are noted whether or not they were run: it is worked out again by that */\
    X(LATE_NOTED, "SELECT 1 FROM month_run WHERE account IN(0,?1) AND month=?2 UNION ALL SELECT 1" \
                  " FROM closing WHERE ?2 BETWEEN month-" TB__NUMERAL(TB_CLOSING_MONTHS) " AND month LIMIT 1") \
    X(MONTH_RUN, "SELECT 1 FROM month_run WHERE account IN(0,?1) AND month=?2 LIMIT 1")            \
    X(BALANCER_ACCOUNT, "SELECT account FROM balancer WHERE id=?1")                                \
    X(LATE_NEXT, "SELECT coalesce(max(id),0)+1 FROM late")                                         \
    X(LATE_INSERT, "INSERT INTO late(" TB__C_late("") ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)")       \
    /* many, with their seals: the trigger, switched off, is stood in for */                        \
    X(LATE_INSERT_SEALED, "INSERT INTO late(" TB__C_late("") ",seal)VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,"\
                          "tb_seal('late',?1,?2,?3,?4,?5,?6,?7,?8,?9))")                           \
    X(LATE_SEALED, "UPDATE head SET n=n+(SELECT count(*) FROM late WHERE id>=?1),"                 \
                   "seals=(seals+(SELECT " TB__SEAL_SUM " FROM late WHERE id>=?1))&" TB__SEAL_MASK  \
                   " WHERE name='late'")                                                           \
    X(LATE_OF_MONTH,                                                                               \
      "SELECT id,version,scope,owner,edge,day,data FROM main.late WHERE account=?1 AND month=?2"   \
      " AND version>?3 ORDER BY scope,owner,edge,day,id")                                          \
    X(LATE_WAITING, TB__WAITING("account BETWEEN ?1 AND ?2"))                                      \
    /* invoices */                                                                                 \
    /* Where the month stands: the watermark of the data whose prices it keeps. Its invoice's that */ \
    /* stands or, where it has none, that of the first correction of it. */                          \
    X(PRICED_BY,                                                                                   \
      "SELECT w FROM (SELECT coalesce((SELECT watermark FROM invoice WHERE account=?1 AND month=?2"  \
      " AND kind='invoice' AND state='final'),(SELECT min(j.watermark) FROM correction k"          \
      " JOIN invoice j ON j.id=k.invoice WHERE k.account=?1 AND k.month=?2 AND j.state='final'))"  \
      " AS w) WHERE w IS NOT NULL")                                                                \
    /* The same when the data was at ?3: from the last that billed the month then, back along what */\
    /* each correction goes on from, to the run that the first one went on from. */                  \
    X(PRICED_THEN,                                                                                 \
      "WITH RECURSIVE last(w,billed) AS (SELECT * FROM (SELECT watermark,outcome='final' FROM"     \
      " month_run WHERE account=?1 AND month=?2 AND watermark<=?3 UNION ALL SELECT j.watermark,1"  \
      " FROM correction k JOIN invoice j ON j.id=k.invoice WHERE k.account=?1 AND k.month=?2"      \
      " AND j.watermark<=?3) ORDER BY 1 DESC,2 DESC LIMIT 1), chain(w,n) AS (SELECT w,0 FROM last"        \
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
      "INSERT INTO invoice(" TB__C_invoice("") ")VALUES(?1,?2,?3,?4,?5,'final',?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,"\
      "9223372036854775807,?16)")                                                                  \
    X(INVOICE_VOID, "UPDATE invoice SET state='void',voided_us=?2 WHERE id=?1")                    \
    X(INVOICE_BY_NUMBER, TB__INVOICE_COLUMNS " WHERE number=?1 AND ?2 IN(0,account)")              \
    X(INVOICES, TB__INVOICE_COLUMNS " ORDER BY year,serial")                                       \
    X(INVOICES_OF_ACCOUNT,                                                                         \
      TB__INVOICE_COLUMNS " WHERE account=?1 AND ?2 IN(-9223372036854775807-1,month)"              \
      " ORDER BY year,serial")                                                                     \
    X(INVOICES_ISSUED, "SELECT id FROM invoice WHERE finalized_us>=?1 AND finalized_us<?2 AND id>?3"\
                       " AND ?4 IN(0,account) ORDER BY id")                                        \
    X(INVOICE_BY_ID, TB__INVOICE_COLUMNS " WHERE id=?1")                                           \
    /* A run's documents are of one transaction, and so of one watermark. */                       \
    X(INVOICES_NOTED, TB__INVOICE_COLUMNS " WHERE account=?1 AND kind='credit_note' AND watermark IN"\
                      "(SELECT watermark FROM month_run WHERE account=?1 AND month=?2)"            \
                      " AND month<?2 ORDER BY year,serial")                                        \
    X(INVOICES_OF_MONTH, TB__INVOICE_COLUMNS " WHERE month=?2 AND ?1=0 ORDER BY year,serial")      \
    X(BILLED_UP_TO,                                                                                \
      "SELECT coalesce(" TB__CORRECTED("?1", "?2") ",(SELECT r.watermark FROM month_run r"         \
      " WHERE r.id=" TB__LAST_RUN("?1", "?2") " AND NOT EXISTS(SELECT 1 FROM invoice i"            \
      " WHERE i.number=r.invoice AND i.state='void')),0)")                                         \
    /* the invoice with the last of the corrections that stand, of a month without its own */      \
    X(BILLED_ELSEWHERE,                                                                            \
      "SELECT j.number FROM correction k JOIN invoice j ON j.id=k.invoice WHERE k.account=?1"      \
      " AND k.month=?2 AND j.state='final' AND j.kind='invoice' AND NOT EXISTS(SELECT 1 FROM"      \
      " invoice i WHERE i.account=?1 AND i.month=?2 AND i.kind='invoice' AND i.state='final')"     \
      " ORDER BY j.id DESC LIMIT 1")                                                               \
    /* what ever billed the month ?2 of account ?1, void or not: its invoices, and corrections on others' */\
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
    /* what had billed the month when it was at ?3: corrections, the newest first, then its invoice */\
    X(BILLED_CHAIN,                                                                                \
      "WITH RECURSIVE chain(w,number,kind,since) AS (SELECT * FROM (SELECT j.watermark,j.number,"  \
      "j.kind,k.since FROM correction k JOIN invoice j ON j.id=k.invoice WHERE k.account=?1"       \
      " AND k.month=?2) WHERE watermark=?3 UNION ALL SELECT j.watermark,j.number,j.kind,k.since"   \
      " FROM chain CROSS JOIN correction k JOIN invoice j ON j.id=k.invoice WHERE k.account=?1"    \
      " AND k.month=?2 AND j.watermark=chain.since AND chain.since<chain.w)"                       \
      "SELECT number,kind='invoice',w FROM chain UNION ALL SELECT number,1,watermark FROM invoice" \
      " WHERE account=?1 AND month=?2 AND kind='invoice' AND watermark="                           \
      "coalesce((SELECT min(since) FROM chain),?3) ORDER BY 3 DESC")                               \
    /* runs of months */                                                                           \
    X(RUN_LAST,                                                                                    \
      "SELECT outcome,reason,EXISTS(SELECT 1 FROM late l WHERE l.account=?1 AND l.month=?2"        \
      " AND l.version>r.watermark) OR EXISTS(SELECT 1 FROM correction k JOIN invoice j"            \
      " ON j.id=k.invoice WHERE k.account=?1 AND k.month=?2 AND j.watermark>r.watermark)"          \
      " FROM month_run r WHERE id=(SELECT max(id) FROM month_run WHERE account=?1 AND month=?2)")  \
    X(RUN_NEXT, "SELECT coalesce(max(id),0)+1 FROM month_run")                                     \
    X(RUN_INSERT, "INSERT INTO month_run(" TB__C_month_run("") ",seal)VALUES(?1,?2,?3,?4,?5,?6,?7,?8,"\
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
    /* +: else the plan depends on the kind, for there is an index of one kind alone, and each call prepares it anew */\
    X(LEDGER_KNOWN, "SELECT id,account,at_us,currency,amount,note,document,expires FROM ledger"    \
                    " WHERE kind=+?1 AND reference=?2 AND reference<>''")                          \
    X(LEDGER_FIND, "SELECT id,account,at_us,kind,currency,amount,reference,note,document,expires"  \
                   " FROM ledger WHERE kind=+?1 AND reference=?2 AND reference<>''")                \
    X(LEDGER_INSERT, "INSERT INTO ledger(" TB__C_ledger("") ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)")\
    X(LEDGER, "SELECT id,account,at_us,kind,currency,amount,reference,note,document,expires FROM ledger"\
              " WHERE account=?1 ORDER BY id")                                                     \
    X(LEDGER_AMOUNTS, "SELECT id,amount,kind FROM ledger WHERE account=?1 ORDER BY id")            \
    X(LEDGER_MOMENT, "SELECT at_us,reference FROM ledger WHERE id=?1")                                       \
    X(PREPAID_DAYS,                                                                                \
      "SELECT amount,currency FROM ledger WHERE kind='usage' AND reference>=?1 AND reference<?2"   \
      " AND reference<>''")                                                                        \
    X(PREPAID_LAST,                                                                                \
      "SELECT reference FROM ledger WHERE kind='usage' AND reference>=?1 AND reference<?2"         \
      " AND reference<>'' ORDER BY reference DESC LIMIT 1")                                        \
    X(PREPAID_REVERSED,                                                                            \
      "SELECT 1 FROM ledger WHERE kind='usage_reversal' AND reference=?1 AND reference<>''")       \
    X(PREPAID_RAN,                                                                                 \
      "SELECT r.outcome<>'refused' FROM month_run r WHERE r.id=" TB__LAST_RUN("?1", "?2"))         \
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
                        " expires BETWEEN '1' AND ?1 AND expires<?1) UNION SELECT account FROM invoice"\
                        " WHERE ?1='' AND json_valid(document) AND document->>'$.version'>=2"      \
                        " AND ltrim(document->>'$.paid','0.')<>'' UNION SELECT id FROM declaration"\
                        " WHERE ?1='' AND kind='account' AND document->>'$.prepaid' IS 1 ORDER BY 1")\
    X(LEDGER_BETWEEN, "SELECT id,account,at_us,kind,currency,amount,reference,note,document,expires"\
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
    /* the first document that stands, of a month before ?1 or with corrections of one */          \
    X(BEGIN_DOCUMENT, "SELECT number FROM invoice i WHERE state='final' AND (month<?1 OR EXISTS("  \
                      "SELECT 1 FROM correction c WHERE c.invoice=i.id AND c.month<?1))"           \
                      " ORDER BY id LIMIT 1")                                                      \
    /* since the data were at ?1 and the ledger at ?2 a month was opened again, the ledger got another begin, or an\
     * invoice was made void */                                                                    \
    X(CLOSING_MOVED, "SELECT EXISTS(SELECT 1 FROM closing WHERE reopened_version>?1 AND"           \
                     " reopened_version<9223372036854775807) OR EXISTS(SELECT 1 FROM ledger WHERE id>?2" \
                     " AND kind='void') OR EXISTS(SELECT 1 FROM meta WHERE name='begin_version'"   \
                     " AND value>?1)")                                                             \
    X(CLOSING_REOPEN, "UPDATE closing SET reopened_us=?2,reopened_version=" TB__NEXT_VERSION " WHERE month=?1 AND"\
                      " reopened_us=9223372036854775807")                                          \
    X(CLOSING_AFTER, "SELECT id,month,closed_us,version,entries,sha256,document FROM closing WHERE"\
                     " id>?1 ORDER BY id LIMIT 1")                                                 \
    X(PAYERS, "SELECT id FROM account WHERE deleted_us=" TB__FOR_EVER " AND (lower(name)=lower(?1) OR"\
              " lower(document->>'$.buyer.name')=lower(?1)) ORDER BY id LIMIT 2")                  \
    X(SETTLE_PAPERS,                                                                               \
      "SELECT number,kind,coalesce(document->>'$.corrects',''),coalesce(document->>'$.due',"       \
      "date(finalized_us/1000000,'unixepoch')),iif(document->>'$.drawn' IS NULL,'0',"              \
      "document->>'$.paid'),coalesce(document->>'$.drawn','0') FROM invoice WHERE account=?1 ORDER BY id")\
    X(BILLED_MONTHS,                                                                               \
      "SELECT i.account,i.month,i.number,max(i.watermark,coalesce("                                \
      TB__CORRECTED("i.account", "i.month") ",0)),i.currency FROM invoice i"                       \
      " WHERE i.kind='invoice' AND i.state='final' AND ?1 IN(0,i.account)"                         \
      " AND i.month BETWEEN ?2 AND ?3 UNION ALL SELECT c.account,c.month,'',max(v.watermark),"     \
      "v.currency FROM correction c JOIN invoice v ON v.id=c.invoice WHERE v.state='final'"        \
      " AND ?1 IN(0,c.account) AND c.month BETWEEN ?2 AND ?3 AND NOT EXISTS(SELECT 1 FROM invoice" \
      " i WHERE i.account=c.account AND i.month=c.month AND i.kind='invoice' AND i.state='final')" \
      " GROUP BY c.account,c.month ORDER BY 1,2")                                                  \
    /* audit */                                                                                    \
    X(AUDIT_LAST, "SELECT id,chain FROM audit ORDER BY id DESC LIMIT 1")                           \
    /* the last thousand: one that was backdated is not the latest */                              \
    X(AUDIT_MOMENT, "SELECT max(at_us) FROM (SELECT at_us FROM audit ORDER BY id DESC LIMIT 1000)")\
    X(AUDIT_INSERT, "INSERT INTO audit(" TB__C_audit("") ")VALUES(?1,?2,?3,?4,?5,?6,?7)")          \
    X(AUDIT, "SELECT id,at_us,key,origin,operation,arguments FROM audit WHERE id>?1"               \
             " ORDER BY id LIMIT ?2")                                                              \
    /* alerts, the outbox */                                                                       \
    X(ALERT_ACCOUNTS,                                                                              \
      "SELECT id FROM account WHERE id>?1 AND " TB__ALERTS_DECLARED " UNION SELECT account FROM alert"\
      " WHERE account>?1 AND cleared_us=" TB__FOR_EVER " ORDER BY 1 LIMIT ?2")                     \
    X(ALERTS_LAST, "SELECT " TB__C_alert("") " FROM alert a WHERE account=?1 AND id="              \
                   "(SELECT max(b.id) FROM alert b WHERE b.account=a.account AND b.alert=a.alert)" \
                   " ORDER BY alert")                                                              \
    X(ALERT_INSERT, "INSERT INTO alert(" TB__C_alert("") ")VALUES(NULL,?1,?2,?3,?4,?5,?6,?7,"      \
                    TB__FOR_EVER ",?8,'',?9) RETURNING id")                                           \
    X(ALERT_CLEAR, "UPDATE alert SET cleared_us=?2,cleared=?3 WHERE id=?1 AND cleared_us=" TB__FOR_EVER)\
    X(ALERT_SAID, "UPDATE alert SET raised=?2 WHERE id=?1 AND raised=''")                          \
    X(ALERTS, "SELECT " TB__C_alert("") " FROM alert ORDER BY id DESC LIMIT ?1")                   \
    X(ALERTS_OF, "SELECT " TB__C_alert("") " FROM alert WHERE account=?2 ORDER BY id DESC LIMIT ?1")\
    X(ALERT_LEDGER, "SELECT coalesce(max(id),0) FROM ledger WHERE account=?1")                     \
    X(OUTBOX_KNOWN, "SELECT id FROM outbox WHERE message=?1")                                      \
    X(OUTBOX_INSERT, "INSERT INTO outbox(" TB__C_outbox("") ")VALUES(NULL,?1,?2,?3,?4,?4,'waiting',0,"\
                     "?4," TB__FOR_EVER ",0,'',?5)")                                               \
    /* ?3: 0: of those that were never tried, 1: of the others */                                  \
    X(OUTBOX_DUE, "SELECT " TB__C_outbox("") " FROM outbox WHERE state='waiting' AND min(attempts,1)=?3"\
                  " AND next_us<=?1 ORDER BY next_us,id LIMIT ?2")                                 \
    X(OUTBOX_TRIED, "UPDATE outbox SET state=?2,attempts=?3,next_us=?4,delivered_us=?5,status=?6,error=?7"\
                    " WHERE id=?1 AND state='waiting'")                                            \
    X(OUTBOX_AGAIN, "UPDATE outbox SET state='waiting',attempts=0,next_us=?2,since_us=?2,delivered_us="\
                    TB__FOR_EVER ",status=0,error='' WHERE message=?1 RETURNING id")               \
    X(OUTBOX_STOP, "UPDATE outbox SET state='failed',error='Messages were turned off.'"            \
                   " WHERE state='waiting'")                                                       \
    X(OUTBOX_PRUNE, "DELETE FROM outbox WHERE id IN(SELECT id FROM outbox WHERE state<>'waiting'"  \
                    " AND created_us<?1 ORDER BY created_us LIMIT 16)")                            \
    X(OUTBOX, "SELECT " TB__C_outbox("") " FROM outbox ORDER BY id DESC LIMIT ?1")                 \
    X(OUTBOX_OF, "SELECT " TB__C_outbox("") " FROM outbox WHERE account=?2 ORDER BY id DESC LIMIT ?1")\
    X(OUTBOX_FIGURES,                                                                              \
      "SELECT (SELECT count(*) FROM outbox WHERE state='waiting'),"                                \
      "(SELECT count(*) FROM outbox WHERE state='failed'),"                                        \
      "coalesce((SELECT min(since_us) FROM outbox WHERE state='waiting')," TB__FOR_EVER ")")       \
    /* shadow books, scenarios */                                                                  \
    X(SHADOW_INSERT, "INSERT INTO shadow_book(" TB__C_shadow_book("") ")VALUES(NULL,?1,?2,?3,?4,?5,'live',"\
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

typedef enum tb__statement {
#define TB_X(name, sql) TB__SQL_##name,
    TB__STATEMENTS(TB_X)
#undef TB_X
        TB__SQL_COUNT
} tb__statement;

#endif
