/* Statements that only a database with usage servers needs. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_SQL_H
#define TOLLBOOK_STORE_CLICKHOUSE_SQL_H

#include "store/core/sql.h"

#define TB__CLICKHOUSE_STATEMENTS(X)                                                               \
    /* usage in ClickHouse: store/clickhouse       */                                              \
    X(META_PUT, "INSERT INTO meta(name,value) VALUES(?1,?2) ON CONFLICT DO UPDATE SET"             \
                " value=excluded.value")                                                           \
    X(CARRY_ANY, "SELECT EXISTS(SELECT 1 FROM log_block) OR EXISTS(SELECT 1 FROM log_run)"         \
                 " OR EXISTS(SELECT 1 FROM event_block)")                                          \
    X(CARRY_LOGS, "SELECT zone,first_ms,last_ms,lines,data FROM log_block ORDER BY id")            \
    X(CARRY_EVENTS, "SELECT zone,data FROM event_block ORDER BY id")                               \
    X(USAGE_FORGOTTEN, "SELECT CAST(substr(name,length(?1)+1) AS INT),value FROM meta"             \
                       " WHERE substr(name,1,length(?1))=?1 AND value>0 ORDER BY 1")               \
    X(USAGE_GAPS, "SELECT CAST(substr(name,11) AS INT),value FROM meta WHERE name GLOB 'usage_gap_*'" \
                  " ORDER BY 1")                                                                   \
    X(USAGE_DAY_PUT, "INSERT INTO usage_day VALUES(?1,?2) ON CONFLICT DO UPDATE SET batch=excluded.batch") \
    X(USAGE_DAYS, "SELECT day,batch FROM usage_day WHERE day BETWEEN ?1 AND ?2 ORDER BY day")      \
    X(USAGE_DAY_ALL, "SELECT day,batch FROM usage_day ORDER BY day")                               \
    X(USAGE_DAYS_NEWEST, "SELECT coalesce(max(batch),0) FROM usage_day WHERE day BETWEEN ?1 AND ?2") \
    X(USAGE_DAYS_TOUCH, "UPDATE usage_day SET batch=?1 WHERE day BETWEEN ?2 AND ?3")               \
    X(USAGE_DUE, "SELECT CAST(substr(name,11) AS INT),value FROM meta WHERE name GLOB 'usage_due_*' AND value>0" \
                 " ORDER BY 1")                                                                    \
    X(USAGE_UNCHECKED, "SELECT coalesce(min(day),-1) FROM usage_day WHERE batch>coalesce((SELECT value FROM meta WHERE" \
                   " name='usage_let_'||((strftime('%Y',day*86400,'unixepoch')-1970)*12"           \
                   "+strftime('%m',day*86400,'unixepoch')-1)),0)")                                 \
    X(USAGE_KEPT, "SELECT account,days_month>?1 FROM retention WHERE hours_month>?1 ORDER BY account") \
    X(USAGE_KEPT_DAYS, "SELECT DISTINCT days_month FROM retention WHERE days_month>0 ORDER BY 1")  \
    X(ACCOUNT_ZONES, "SELECT id FROM zone WHERE account=?1 ORDER BY id")                           \
    X(ACCOUNT_BALANCERS, "SELECT id FROM balancer WHERE account=?1 ORDER BY id")                   \
    X(ACCOUNT_METERS, "SELECT id FROM meter_series WHERE account=?1 ORDER BY id")                  \
    X(METER_SERIES_ACCOUNT, "SELECT account FROM meter_series WHERE id=?1")                        \
    X(USAGE_MONTHS, "SELECT CAST(substr(name,13) AS INT),value FROM meta WHERE name GLOB 'usage_month_*'" \
                    " ORDER BY 1")                                                                 \
    X(USAGE_MENDED, "SELECT CAST(substr(name,14) AS INT),value FROM meta WHERE name GLOB 'usage_mended_*'") \
    X(WITHDRAWALS, "SELECT count(*) FROM withdrawal")                                              \
    /* As v16 of the schema has it: each segment's millions are rounded up. */                     \
    X(USAGE_BOUND, "SELECT coalesce(max(most),0) FROM (SELECT iif(sum(millions)<9223372036854,sum(millions)*1000000," \
                   "9223372036854775807) AS most FROM (SELECT j.key AS name,CAST(j.value AS INTEGER)/1000000+1 AS millions" \
                   " FROM segment,json_each(iif(json_valid(sums),sums,'{}')) AS j WHERE j.key NOT IN('rung_seals','cells') AND" \
                   " NOT EXISTS(SELECT 1 FROM withdrawal WHERE segment=segment.id)) GROUP BY name)") \
    /* An account that shares the series of a pull zone has rows of its own there. */              \
    X(MOVE_OWNER, "SELECT scope,owner FROM series WHERE (scope,owner)>(?1,?2) UNION ALL SELECT 2,account FROM (SELECT account" \
                  " FROM series_shared WHERE ?1<=2 AND account>iif(?1<2,0,?2) ORDER BY account LIMIT 1) ORDER BY 1,2 LIMIT 1") \
    X(MOVE_SERIES, "SELECT edge,id FROM series WHERE scope=?1 AND owner=?2 AND edge>?3 UNION ALL SELECT s.edge,s.id FROM" \
                   " series_shared h CROSS JOIN series s ON s.scope=1 AND s.owner=h.zone WHERE ?1=2 AND h.account=?2" \
                   " AND s.edge>?3 ORDER BY 1 LIMIT 1")                                            \
    X(MOVE_BEFORE, "SELECT count(*) FROM (SELECT scope,owner FROM series_placed WHERE (scope,owner)<=(?1,?2) UNION" \
                   " SELECT scope,owner FROM series_new WHERE (scope,owner)<=(?1,?2) UNION SELECT 2,account FROM" \
                   " series_shared WHERE (2,account)<=(?1,?2) ORDER BY 1,2)")                      \
    X(MOVE_COUNTRIES, "SELECT day,data FROM country_day WHERE zone=?1 ORDER BY day")               \
    X(SERIES_OWNERS_END, "SELECT owner FROM (SELECT owner FROM series_placed WHERE scope=?1 AND"   \
                         " owner>=?2 UNION SELECT owner FROM series_new WHERE scope=?1 AND"        \
                         " owner>=?2 ORDER BY owner LIMIT ?3) ORDER BY owner DESC LIMIT 1")        \
    /* An owner and those that follow it, account by account. */                                   \
    X(USAGE_NEXT_ZONES, "SELECT id FROM (SELECT id FROM zone WHERE (account,id)>=(SELECT account,id FROM zone WHERE id=?1)" \
                        " ORDER BY account,id LIMIT ?2) ORDER BY id")                              \
    X(USAGE_NEXT_ACCOUNTS, "SELECT id FROM account WHERE id>=?1 ORDER BY id LIMIT ?2")             \
    X(USAGE_NEXT_BALANCERS, "SELECT id FROM (SELECT id FROM balancer WHERE (account,id)>=(SELECT account,id FROM balancer" \
                            " WHERE id=?1) ORDER BY account,id LIMIT ?2) ORDER BY id")             \
    X(USAGE_NEXT_METERS, "SELECT id FROM (SELECT id FROM meter_series WHERE (account,id)>=(SELECT account,id FROM" \
                         " meter_series WHERE id=?1) ORDER BY account,id LIMIT ?2) ORDER BY id")   \
    X(SERIES_OF_OWNER_ID, "SELECT id,edge FROM series WHERE scope=?1 AND owner=?2 ORDER BY edge LIMIT 1") \
    X(WITHDRAWN_ANY, "SELECT EXISTS(SELECT 1 FROM withdrawal)")                                    \
    X(FORGET_LOG_ZONES, "SELECT id FROM zone WHERE account=?1 ORDER BY id")                        \
    X(FORGET_EVENT_ZONES, "SELECT id FROM shield_zone WHERE account=?1 ORDER BY id")

#endif
