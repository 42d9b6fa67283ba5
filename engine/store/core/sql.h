/* Statements that several modules run, and parts of statements that they share. */
#ifndef TOLLBOOK_STORE_CORE_SQL_H
#define TOLLBOOK_STORE_CORE_SQL_H

#include "store/core/sealed.h"

/* The data version that the running transaction will commit. */
#define TB__NEXT_VERSION "(SELECT value+1 FROM meta WHERE name='data_version')"

#define TB__FOR_EVER "9223372036854775807"

/* Further rows to the values of gauge ?1, as known at a version: from when, before `end`, to when
 * (column 3) its account was deleted. */
#define TB__GAUGE_DELETED(end, known)                                                              \
    " UNION ALL SELECT to_us,0,next_us,-1 FROM (SELECT d.to_us,coalesce((SELECT min(n.from_us) FROM declaration n" \
    " WHERE n.kind='account' AND n.id=d.id AND n.from_us>=d.to_us AND n.version<=" known           \
    " AND(n.to_us>n.from_us OR n.closed_version>" known "))," TB__FOR_EVER ") AS next_us FROM declaration d" \
    " WHERE d.kind='account' AND d.id=(SELECT account FROM meter_series WHERE id=?1) AND d.closed_version<=" known \
    " AND d.to_us<" end ") WHERE to_us<next_us"

/* Segment s was not withdrawn. */
#define TB__LIVE(s) "NOT EXISTS(SELECT 1 FROM withdrawal y WHERE y.segment=" s ".id)"

/* Existing zones: they have an index. The columns that a page shows of one, and the texts that a search (?s, a
 * parameter) looks at: its name and its hostnames, the system's own included. */
#define TB__ZONE_THERE "deleted_us=9223372036854775807"

/* The first of the series that are `of`, by edge; of is an SQL expression, and the same for both tables. Where none
 * waits, which is so for most of a database's life, the second table is looked into once. */
#define TB__SERIES_FIRST(of)                                                                       \
    "CASE WHEN EXISTS(SELECT 1 FROM series_new) THEN (SELECT id FROM (SELECT edge,id FROM"         \
    " series_placed WHERE " of " UNION ALL SELECT edge,id FROM series_new WHERE " of               \
    " ORDER BY edge LIMIT 1)) ELSE (SELECT id FROM series_placed WHERE " of                         \
    " ORDER BY edge LIMIT 1) END"

/* Account a has the text s in its name, ignoring ASCII case, or in its number. */
#define TB__ACCOUNT_FOUND(s) "(instr(lower(a.name),lower(" s "))>0 OR instr(a.id," s ")>0)"

/* Only documents that have the text are parsed, unless JSON writes it with escapes. */
#define TB__ZONE_FOUND(s)                                                                          \
    "(instr(lower(z.name||'.'||coalesce(z.settings->>'$.CnameDomain','b-cdn.net')),lower(" s "))>0"\
    " OR((instr(lower(z.document),lower(" s "))>0 OR length(json_quote(" s "))>length(" s ")+2) AND EXISTS" \
    "(SELECT 1 FROM json_each(z.document,'$.hostnames') h WHERE"                                   \
    " instr(lower(iif(h.type='text',h.value,h.value->>'$.Value')),lower(" s "))>0)))"

#define TB__CORE_STATEMENTS(X)                                                                     \
    X(BEGIN_WRITE, "BEGIN IMMEDIATE")                                                              \
    X(BEGIN_READ, "BEGIN")                                                                         \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(MARK, "SAVEPOINT mark")                                                                      \
    X(KEEP_MARK, "RELEASE mark")                                                                   \
    X(BACK_TO_MARK, "ROLLBACK TO mark")                                                            \
    X(META_GET, "SELECT value FROM meta WHERE name=?1")                                            \
    X(META_SET, "UPDATE meta SET value=?2 WHERE name=?1")                                          \
    X(BUMP_VERSION, "UPDATE meta SET value=value+1 WHERE name='data_version'")                     \
    X(SERIES_OF_OWNER, "SELECT edge,id FROM series WHERE scope=?1 AND owner=?2 ORDER BY edge")     \
    X(ZONE_ACCOUNT, "SELECT account FROM zone WHERE id=?1")                                        \
    X(LOG_SPAN_LEAF, "SELECT nodeno FROM log_span_rowid WHERE rowid=?1")                           \
    X(LOG_SPAN_PARENT, "SELECT parentnode FROM log_span_parent WHERE nodeno=?1")                   \
    X(ACCOUNT_GET, "SELECT document,deleted_us FROM account WHERE id=?1")                          \
    X(BALANCER_SERIES, "SELECT id FROM series WHERE scope=3 AND owner=?1")                         \
    X(BALANCER_ACCOUNT, "SELECT account FROM balancer WHERE id=?1")

#endif
