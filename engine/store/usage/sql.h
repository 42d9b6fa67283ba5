/* Statements over counters: chunks, runs, series and owners. */
#ifndef TOLLBOOK_STORE_USAGE_SQL_H
#define TOLLBOOK_STORE_USAGE_SQL_H

#include "store/core/sql.h"

#define TB__SERIES_4  "(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?)"

#define TB__SERIES_16 TB__SERIES_4 "," TB__SERIES_4 "," TB__SERIES_4 "," TB__SERIES_4

#define TB__SERIES_PART " (scope,owner,edge)>(?1,?2,?3) AND (scope,owner,edge)<=(?4,?5,?6)"

#define TB__CHUNK_8 "(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?)"

/* A row that is there already is merged with the new one: usage/write_buffer.c. */
#define TB__CHUNK_JOINS                                                                            \
    " ON CONFLICT(key) DO UPDATE SET data=tb_chunk_join(key,data,excluded.data)"

/* Series s has usage in month ?3, in a row or pending: ?4 is a JSON array of the series with pending entries. */
#define TB__HAS_MONTH                                                                              \
    "(EXISTS(SELECT 1 FROM chunk c WHERE c.key=(s.id<<18)+131072+?3)"                              \
    " OR s.id IN(SELECT value FROM json_each(?4)))"

/* Zones ?2 to ?3 that are `of` account ?1, each with its series at locations ?4 to ?5: of 0 to the highest the first,
 * which is that of all of them or the only one. */
#define TB__ZONES_SUMMED(of)                                                                       \
    "SELECT z.id,coalesce(" TB__SERIES_FIRST("scope=1 AND owner=z.id AND edge BETWEEN ?4 AND ?5")   \
    ",0),z.created_us,z." TB__ZONE_THERE                                                           \
    " FROM zone z WHERE " of " AND z.id BETWEEN ?2 AND ?3"

#define TB__OF_ACCOUNT "z.account=?1"
#define TB__OF_ANY     "?1<0"

/* Accounts with ?3 in their name or number, each with its series at locations ?1 to ?2 as above. */
#define TB__ACCOUNTS_SUMMED                                                                        \
    "SELECT a.id,coalesce((SELECT s.id FROM account_series s WHERE s.account=a.id"                 \
    " AND s.edge BETWEEN ?1 AND ?2 ORDER BY s.edge LIMIT 1),0),-9223372036854775807,a."            \
    TB__ZONE_THERE " FROM account a WHERE ?3='' OR " TB__ACCOUNT_FOUND("?3")

#define TB__USAGE_STATEMENTS(X)                                                                    \
    X(ROWS_CHANGED, "INSERT INTO meta(name,value) VALUES('rows_version',1) ON CONFLICT DO UPDATE SET" \
                    " value=value+1")                                                              \
    X(SERIES_NEXT, "SELECT value+1 FROM meta WHERE name='series_id'")                              \
    /* usage */                                                                                    \
    X(CHUNK_PUT, "INSERT INTO chunk VALUES(?,?)" TB__CHUNK_JOINS)                                  \
    X(CHUNK_PUT_32, "INSERT INTO chunk VALUES" TB__CHUNK_8 "," TB__CHUNK_8 "," TB__CHUNK_8 ","     \
                    TB__CHUNK_8 TB__CHUNK_JOINS)                                                   \
    X(CHUNK_GET, "SELECT data FROM chunk WHERE key=?1")                                            \
    X(CHUNK_UPDATE, "UPDATE chunk SET data=?2 WHERE key=?1")                                       \
    X(CHUNK_SPAN, "SELECT key,data FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key")           \
    X(CHUNK_SOME, "SELECT key,data FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3")  \
    X(USAGE_RUN_NEXT, "SELECT coalesce(max(id),0)+1 FROM usage_run")                               \
    X(USAGE_RUN_INSERT, "INSERT INTO usage_run VALUES(?1,?2,?3,?4,?5,?6,?7)")                      \
    X(USAGE_RUN_DELETE, "DELETE FROM usage_run WHERE id=?1")                                       \
    X(USAGE_PAGE_INSERT, "INSERT INTO usage_page VALUES(?1,?2)")                                   \
    X(USAGE_PAGES_SIZE, "SELECT coalesce(sum(length(data)),0) FROM usage_page"                     \
                        " WHERE id BETWEEN ?1 AND ?2")                                             \
    X(USAGE_PAGES_DELETE, "DELETE FROM usage_page WHERE id BETWEEN ?1 AND ?2")                     \
    X(SERIES_INSERT, "INSERT INTO series_placed VALUES(?,?,?,?,?)")                                \
    /* Sixteen at once: SQLite notes for each statement with a trigger how to undo it. */          \
    X(SERIES_INSERT_16, "INSERT INTO series_placed VALUES" TB__SERIES_16)                          \
    X(SERIES_WAIT, "INSERT INTO series_new VALUES(?,?,?,?,?)")                                     \
    X(SERIES_WAIT_16, "INSERT INTO series_new VALUES" TB__SERIES_16)                               \
    X(SERIES_WAITING, "SELECT count(*) FROM series_new")                                           \
    X(SERIES_PART_END, "SELECT scope,owner,edge FROM series_new WHERE (scope,owner,edge)>(?1,?2,?3)" \
                       " ORDER BY scope,owner,edge LIMIT 1 OFFSET ?4")                             \
    X(SERIES_PLACE, "INSERT INTO series_placed SELECT scope,owner,edge,id,seal FROM series_new WHERE" \
                    TB__SERIES_PART " ORDER BY scope,owner,edge")                                  \
    X(SERIES_PLACED, "DELETE FROM series_new WHERE" TB__SERIES_PART)                               \
    X(SERIES_SEALED, "UPDATE head SET n=n+?1,seals=(seals+?2)&" TB__SEAL_MASK                      \
                     " WHERE name='series'")                                                       \
    /* accounts that share their series with a pull zone */                                        \
    X(SHARED_INSERT, "INSERT INTO series_shared VALUES(?1,?2)")                                    \
    X(SHARED_DELETE, "DELETE FROM series_shared WHERE account=?1")                                 \
    X(SHARED_OF, "SELECT zone FROM series_shared WHERE account=?1")                                \
    X(SHARED_FIRST, "SELECT min(account) FROM series_shared")                                      \
    /* meters */                                                                                   \
    X(METER_ACCOUNT, "SELECT (SELECT deleted_us=9223372036854775807 FROM account WHERE id=?1),"    \
                     "(SELECT count(*) FROM meter_resource WHERE account=?1)")                     \
    X(METER_RESOURCE, "SELECT account,segment FROM meter_resource WHERE noun=?1 AND name=?2")      \
    X(METER_RESOURCE_ADD, "INSERT INTO meter_resource(noun,name,account,segment)VALUES(?1,?2,?3,?4)") \
    X(METER_SERIES, "SELECT id FROM meter_series WHERE account=?1 AND meter=?2 AND resource=?3"     \
                    " AND dimension_1=?4 AND dimension_2=?5")                                      \
    X(METER_SERIES_NAMES, "SELECT m.name,coalesce(m.document->>'resource','resource'),s.resource FROM meter_series s" \
                          " CROSS JOIN meter m ON m.id=s.meter WHERE s.id=?1")                      \
    X(METER_SERIES_NEXT, "SELECT coalesce(max(id),0)+1 FROM meter_series")                         \
    X(METER_SERIES_ADD, "INSERT INTO meter_series(account,meter,resource,dimension_1,dimension_2,id)" \
                        "VALUES(?1,?2,?3,?4,?5,?6)")                                               \
    /* A value that is there is of the same input, and earlier in it. */                           \
    X(GAUGE_PUT, "INSERT INTO gauge(series,at_us,segment,value,version,gone_version)VALUES"        \
                 "(?1,?2,?3,?4,?5," TB__FOR_EVER ") ON CONFLICT DO UPDATE SET value=excluded.value," \
                 "version=excluded.version")                                                       \
    X(GAUGE_ADD, "INSERT OR IGNORE INTO gauge VALUES(?1,?2,?3,?4,?5,?6,?7)")                       \
    X(GAUGE_SEALED, "UPDATE head SET n=n+?1,seals=(seals+?2)&" TB__SEAL_MASK " WHERE name='gauge'") \
    X(GAUGE_GONE, "UPDATE gauge SET gone_version=?2 WHERE segment=?1 AND gone_version=" TB__FOR_EVER) \
    X(GAUGE_FIRST, "SELECT coalesce(min((SELECT min(at_us) FROM gauge WHERE series=s.id)),9223372036854775807)" \
                   " FROM meter_series s WHERE account=?1")                                        \
    /* The value that holds at ?2; then those before it but this one. */                           \
    X(GAUGE_HELD, "SELECT at_us,segment FROM gauge WHERE series=?1 AND at_us<?2 AND gone_version=" TB__FOR_EVER \
                  " ORDER BY at_us DESC,segment DESC LIMIT 1")                                     \
    X(GAUGE_OLD, "SELECT at_us,segment FROM gauge WHERE series=?1 AND at_us<?2 AND NOT(at_us=?3 AND segment=?4)" \
                 " ORDER BY at_us,segment LIMIT ?5")                                               \
    X(GAUGE_EXPIRE, "DELETE FROM gauge WHERE series=?1 AND (at_us,segment)<=(?2,?3) AND NOT(at_us=?4 AND segment=?5)") \
    X(SERIES_WHOSE, "SELECT scope,owner,edge FROM series WHERE id=?1")                             \
    X(EDGE_CODE, "SELECT code FROM edge WHERE id=?1")                                              \
    X(EDGE_BY_CODE, "SELECT id FROM edge WHERE code=?1")                                           \
    X(EDGE_NEXT, "SELECT coalesce(max(id),0)+1 FROM edge")                                         \
    X(EDGE_INSERT, "INSERT INTO edge(code,id,seal) VALUES(?1,?2," TB__UNSEALED ")")                \
    X(COUNTRY_GET, "SELECT data FROM country_day WHERE zone=?1 AND day=?2")                        \
    X(COUNTRY_ADD, "INSERT INTO country_day VALUES(?,?,?) ON CONFLICT(zone,day) DO UPDATE SET"      \
                   " data=tb_country_join(zone,day,data,excluded.data)")                           \
    X(COUNTRY_PUT, "INSERT OR REPLACE INTO country_day VALUES(?1,?2,?3)")                          \
    /* retention of usage: usage/retain.c */                                                       \
    X(KEPT_OF, "SELECT hours_month,days_month FROM retention WHERE account=CASE ?1 WHEN 1 THEN"    \
               " (SELECT account FROM zone WHERE id=?2) WHEN 2 THEN ?2 WHEN 4 THEN"                \
               " (SELECT account FROM meter_series WHERE id=?2)"                                   \
               " ELSE (SELECT account FROM balancer WHERE id=?2) END")                             \
    X(KEPT_SET, "INSERT INTO retention(account,hours_month,days_month)VALUES(?1,?2,?3)"            \
                " ON CONFLICT DO UPDATE SET hours_month=excluded.hours_month,"                     \
                "days_month=excluded.days_month")                                                  \
    X(RETAIN_FIRST,                                                                                \
      "SELECT coalesce(min((SELECT min(key)&131071 FROM chunk WHERE key BETWEEN (s.id<<18)+131072" \
      " AND (s.id<<18)+262143)),-1) FROM (SELECT id FROM account_series WHERE account=?1"          \
      " UNION ALL SELECT s.id FROM balancer b CROSS JOIN series_placed s ON s.scope=3 AND s.owner=b.id" \
      " WHERE b.account=?1 UNION ALL SELECT s.id FROM balancer b CROSS JOIN series_new s ON s.scope=3 AND" \
      " s.owner=b.id WHERE b.account=?1 UNION ALL SELECT s.id FROM meter_series b CROSS JOIN series_placed s"  \
      " ON s.scope=4 AND s.owner=b.id WHERE b.account=?1 UNION ALL SELECT s.id FROM meter_series b CROSS JOIN" \
      " series_new s ON s.scope=4 AND s.owner=b.id WHERE b.account=?1) AS s")                      \
    X(RETAIN_ACCOUNT, "SELECT id FROM account WHERE id>=?1 ORDER BY id LIMIT 1")                   \
    X(RETAIN_SHARE, "SELECT coalesce(sum(id<?1),0),count(*) FROM account")                         \
    X(RETAIN_ZONE, "SELECT id FROM zone WHERE account=?1 AND id>=?2 ORDER BY id LIMIT 1")          \
    X(RETAIN_BALANCER, "SELECT id FROM balancer WHERE account=?1 AND id>=?2 ORDER BY id LIMIT 1")  \
    X(RETAIN_METER, "SELECT id FROM meter_series WHERE account=?1 AND id>=?2 ORDER BY id LIMIT 1") \
    X(RETAIN_SELF, "SELECT id FROM account WHERE id=?1 AND id>=?2")                                \
    X(RETAIN_SERIES, "SELECT edge,id FROM series WHERE scope=?1 AND owner=?2 AND edge>=?3"         \
                     " ORDER BY edge LIMIT 1")                                                     \
    X(RETAIN_DELETE, "DELETE FROM chunk WHERE key BETWEEN ?1 AND ?2")                              \
    X(RETAIN_COUNTRIES,                                                                            \
      "SELECT day,data FROM country_day WHERE zone=?1 AND day<?2 ORDER BY day LIMIT ?3")           \
    X(RETAIN_COUNTRIES_DELETE, "DELETE FROM country_day WHERE zone=?1 AND day<=?2")                \
    X(GONE_GET, "SELECT j.key,j.value FROM usage_gone AS g,json_each(g.sums) AS j"                 \
                " WHERE g.account=?1 AND g.month=?2")                                              \
    X(GONE_PUT, "INSERT INTO usage_gone(account,month,sums)VALUES(?1,?2,?3)"                       \
                " ON CONFLICT DO UPDATE SET sums=excluded.sums")                                   \
    X(SERIES_ENDS, /* the last day of each series: ?1 the shift, ?2 the greatest index of hours */ \
      "SELECT c.key,c.data FROM series s JOIN chunk c ON c.key=(SELECT max(key) FROM chunk WHERE"  \
      " key BETWEEN s.id<<?1 AND (s.id<<?1)+?2)")                                                  \
    X(CHUNK_DELETE, "DELETE FROM chunk WHERE key=?1")                                              \
    X(COUNTRY_DELETE, "DELETE FROM country_day WHERE zone=?1 AND day=?2")                          \
    /* reading: the tenant's account is ?1 in each */                                              \
    X(ZONE_OF_ACCOUNT, "SELECT 1 FROM zone WHERE account=?1 AND id=?2")                            \
    X(ACCOUNT_EXISTS, "SELECT 1 FROM account WHERE id=?1")                                         \
    X(ZONE_SERIES,                                                                                 \
      "SELECT s.edge,s.id,z.created_us FROM zone z"                                                \
      " JOIN series s ON s.scope=1 AND s.owner=z.id"                                               \
      " WHERE z.account=?1 AND z.id=?2 ORDER BY s.edge")                                           \
    X(ACCOUNT_SERIES, "SELECT edge,id FROM account_series WHERE account=?1 ORDER BY edge")         \
    X(PLACES,                                                                                      \
      "SELECT e.id,coalesce(r.id,0),coalesce(r.name,'Other: '||e.code||', '||e.code),"             \
      "e.code"                                                                                     \
      " FROM edge e LEFT JOIN region r ON r.code=e.code ORDER BY e.id")                            \
    X(EDGE_OF_CODE, "SELECT id FROM edge WHERE code=?1")                                           \
    X(REGION_OF_CODE, "SELECT 1 FROM region WHERE code=?1")                                        \
    X(ZONE_NAME, "SELECT name FROM zone WHERE id=?1")                                              \
    X(ZONE_AT, "SELECT 1 FROM zone WHERE account=?1 LIMIT 1 OFFSET ?2")                            \
    X(SUMMED_ZONES, TB__ZONES_SUMMED(TB__OF_ACCOUNT) " ORDER BY z.id")                             \
    X(SUMMED_ZONES_NAMED, TB__ZONES_SUMMED(TB__OF_ACCOUNT) " ORDER BY lower(z.name),z.id")         \
    X(SUMMED_ZONES_FOUND, TB__ZONES_SUMMED(TB__OF_ACCOUNT) " AND " TB__ZONE_FOUND("?6")            \
                          " ORDER BY z.id")                                                        \
    X(SUMMED_ZONES_FOUND_NAMED, TB__ZONES_SUMMED(TB__OF_ACCOUNT) " AND " TB__ZONE_FOUND("?6")      \
                                " ORDER BY lower(z.name),z.id")                                    \
    X(FLEET_ZONES, TB__ZONES_SUMMED(TB__OF_ANY) " ORDER BY z.id")                                  \
    X(FLEET_ZONES_NAMED, TB__ZONES_SUMMED(TB__OF_ANY) " ORDER BY lower(z.name),z.id")              \
    X(FLEET_ZONES_FOUND, TB__ZONES_SUMMED(TB__OF_ANY) " AND " TB__ZONE_FOUND("?6")                 \
                         " ORDER BY z.id")                                                         \
    X(FLEET_ZONES_FOUND_NAMED, TB__ZONES_SUMMED(TB__OF_ANY) " AND " TB__ZONE_FOUND("?6")           \
                               " ORDER BY lower(z.name),z.id")                                     \
    X(FLEET_ACCOUNTS, TB__ACCOUNTS_SUMMED " ORDER BY a.id")                                        \
    X(FLEET_ACCOUNTS_NAMED, TB__ACCOUNTS_SUMMED " ORDER BY lower(a.name),a.id")                    \
    X(FLEET_LOCATED, "SELECT edge,id FROM account_series WHERE edge BETWEEN ?1 AND ?2 ORDER BY account,edge") \
    X(FLEET_KEPT, "SELECT coalesce(max(hours_month),0),coalesce(max(days_month),0) FROM retention") \
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
    X(BILLED_ACCOUNTS,                                                                             \
      "SELECT id FROM account WHERE EXISTS(SELECT 1 FROM zone z WHERE z.account=account.id"        \
      " AND z.created_us<?2 AND z.deleted_us>?1) OR EXISTS(SELECT 1 FROM balancer b"               \
      " WHERE b.account=account.id AND b.created_us<?2 AND min(b.deleted_us,b.ended_us)>?1)"       \
      " OR EXISTS(SELECT 1 FROM account_series s WHERE s.account=account.id"                       \
      " AND " TB__HAS_MONTH ") OR EXISTS(SELECT 1 FROM balancer b CROSS JOIN series_placed s"      \
      " ON s.scope=3 AND s.owner=b.id WHERE b.account=account.id AND " TB__HAS_MONTH ")"           \
      " OR EXISTS(SELECT 1 FROM balancer b CROSS JOIN series_new s"                                \
      " ON s.scope=3 AND s.owner=b.id WHERE b.account=account.id AND " TB__HAS_MONTH ")"           \
      " OR EXISTS(SELECT 1 FROM meter_series m CROSS JOIN series_placed s ON s.scope=4 AND s.owner=m.id" \
      " WHERE m.account=account.id AND " TB__HAS_MONTH ") OR EXISTS(SELECT 1 FROM meter_series m"  \
      " CROSS JOIN series_new s ON s.scope=4 AND s.owner=m.id WHERE m.account=account.id AND " TB__HAS_MONTH ")" \
      /* a gauge holds on without a new value, while its account is declared */       \
      " OR EXISTS(SELECT 1 FROM meter_series m WHERE m.account=account.id AND (EXISTS(SELECT 1 FROM gauge g" \
      " WHERE g.series=m.id AND g.at_us>=?1 AND g.at_us<?2 AND g.value>0 AND g.gone_version=" TB__FOR_EVER ")" \
      " OR (SELECT g.value FROM gauge g WHERE g.series=m.id AND g.at_us<?1 AND g.gone_version=" TB__FOR_EVER \
      " ORDER BY g.at_us DESC,g.segment DESC LIMIT 1)>0) AND (account.declared_us>=?2 OR EXISTS(SELECT 1" \
      " FROM declaration d WHERE d.kind='account' AND d.id=account.id AND d.from_us<?2 AND d.to_us>?1)))" \
      /* fees, also those that ended as the month began: they were billed in advance */            \
      " OR EXISTS(SELECT 1 FROM declaration d WHERE d.kind='account' AND d.id=account.id"          \
      " AND d.from_us<?2 AND d.to_us>=?1 AND account.declared_us<?2 AND instr(d.document,'\"fees\":[')" \
      " AND NOT instr(d.document,'\"fees\":[]'))"                                                   \
      " OR EXISTS(SELECT 1 FROM zone z WHERE z.account=account.id AND z.deleted_us=?1"             \
      " AND instr(z.document,'\"fees\":[')) OR EXISTS(SELECT 1 FROM balancer b WHERE b.account=account.id" \
      " AND min(b.deleted_us,b.ended_us)=?1 AND instr(b.document,'\"fees\":['))"                   \
      " OR EXISTS(SELECT 1 FROM declaration d WHERE d.kind='account' AND d.id=account.id"          \
      " AND d.from_us<?2 AND d.to_us>?2-3600000000 AND instr(d.document,'\"commit\":')"            \
      " AND(account.declared_us<?2 OR instr(d.document,'\"from\":\"'))) ORDER BY id")

#endif
