/* Statements over segments, kept lines, shield events and refused lines. */
#ifndef TOLLBOOK_STORE_LOGS_SQL_H
#define TOLLBOOK_STORE_LOGS_SQL_H

#include "store/core/sql.h"

/* As tb__segment_row has them. */
#define TB__SEGMENT_COLUMNS(s)                                                                     \
    s "id," s "kind," s "start," s "length," s "lines_before," s "accepted," s "rejected," s "final," s "added_us," \
    s "name," s "source," s "sums," s "hash," s "head"

/* The sums of a segment's lines. */
#define TB__COUNTED "key NOT IN('rejects_kept','rung_seals','samples')"
#define TB__SAMPLES_OF "CAST(iif(json_valid(sums),coalesce(sums->>'$.samples',0),0) AS INTEGER)"

/* Whether addresses in a zone's logs are hidden, and whether they are hidden whole. */
#define TB__ZONE_PRIVACY                                                                           \
    "coalesce(settings->>'$.LoggingIPAnonymizationEnabled',1),"                                    \
    "coalesce(settings->>'$.LogAnonymizationType',0) IN(1,'Drop')"

#define TB__LOGS_STATEMENTS(X)                                                                     \
    /* segments */                                                                                 \
    X(SEGMENT_INSERT,                                                                              \
      "INSERT INTO segment VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14," TB__UNSEALED ")") \
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
      " ORDER BY start,length LIMIT ?4")                                                           \
    X(SEGMENT_END,                                                                                 \
      "SELECT start FROM segment WHERE head=?1 AND kind=?2 AND start<?3 AND length=?3"             \
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
      "lines_before,added_us,coalesce(name,'')," TB__SAMPLES_OF " FROM segment WHERE head=?1 AND kind=?2 AND "        \
      TB__LIVE("segment") " ORDER BY start,length,id")                                             \
    X(TAKEN_BY_NAME,                                                                               \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final,id,"   \
      "lines_before,added_us,coalesce(name,'')," TB__SAMPLES_OF " FROM segment WHERE name=?1 AND "                    \
      TB__LIVE("segment") " ORDER BY start,length,id")                                             \
    X(TAKEN_AT,                                                                                    \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final,id,"   \
      "lines_before,added_us,coalesce(name,'')," TB__SAMPLES_OF " FROM segment WHERE head=?1 AND kind=?2 AND start=?3" \
      " AND length=?4 AND " TB__LIVE("segment") " ORDER BY id")                                    \
    /* whether the segment has the sums ?2, except for sums that are stored elsewhere and those    \
     * that an older file does not have */                                                         \
    X(SEGMENT_SAYS,                                                                                \
      "SELECT accepted=?3 AND rejected=?4 AND NOT EXISTS(SELECT 1 FROM (SELECT key,value FROM"     \
      " json_each(sums) WHERE " TB__COUNTED " UNION ALL SELECT key,value FROM json_each(?2) WHERE " \
      TB__COUNTED " AND (key<>'cells' OR sums->>'$.cells' IS NOT NULL)) GROUP BY key,value"        \
      " HAVING count(*)<>2),head FROM segment WHERE id=?1 AND " TB__LIVE("segment"))               \
    /* rows of ids that go together: see segment_fold.c. All of a block are read, by their ids */  \
    X(SEGMENT_NEWEST, "SELECT max(id) FROM segment")                                               \
    X(SEGMENT_ADDED, "SELECT added_us FROM segment WHERE id<=?1 ORDER BY id DESC LIMIT 1")         \
    X(SEGMENT_BLOCK, "SELECT " TB__SEGMENT_COLUMNS("") " FROM segment NOT INDEXED WHERE id BETWEEN ?1 AND ?2" \
                     " ORDER BY head,kind,start,length,id")                                        \
    X(SEGMENT_RUN, "SELECT " TB__SEGMENT_COLUMNS("s.") "," TB__LIVE("s") " FROM segment a CROSS JOIN segment b" \
                   " CROSS JOIN segment s WHERE a.id=?1 AND b.id=?2 AND s.head=a.head AND s.kind=a.kind" \
                   " AND s.start>=a.start AND s.start<b.length ORDER BY s.start,s.length,s.id")    \
    X(SEGMENT_FOLD, "UPDATE segment SET start=?2,lines_before=?3,accepted=?4,sums=?5 WHERE id=?1") \
    X(SEGMENT_FOLDED, "DELETE FROM segment WHERE id=?1")                                           \
    X(WITHDRAWAL_INSERT, "INSERT INTO withdrawal(" TB__C_withdrawal("") ")VALUES(?1,"              \
                         TB__NEXT_VERSION ",?2,?3,?4)")                                            \
    X(REJECT_DELETE, "DELETE FROM reject WHERE segment=?1")                                        \
    X(REJECT_DUE_FORGET, "DELETE FROM reject_due WHERE segment=?1")                                \
    /* the rungs that segment ?1 covers and no other known segment does */                         \
    X(RUNGS_LEFT, "SELECT r.head,r.length,r.hash FROM segment g JOIN rung r ON r.head=g.head"      \
                  " AND r.length>g.start AND r.length<=g.length WHERE g.id=?1"                     \
                  " AND NOT EXISTS(SELECT 1 FROM segment s WHERE s.head=g.head AND s.kind=g.kind"  \
                  " AND s.start<r.length AND s.length>=r.length AND s.id<>g.id AND "               \
                  TB__LIVE("s") ")")                                                               \
    X(RUNG_DELETE, "DELETE FROM rung WHERE head=?1 AND length=?2 AND hash=?3")                     \
    /* a known segment that follows ?1, which was withdrawn, and no other known one: all segments that \
     * may end there are read only for such a segment. The plus keeps SQLite from using an index \
     * over all that start later */                                                                \
    X(SEGMENT_LEFT,                                                                                \
      "SELECT s.source,coalesce(s.name,'') FROM segment p"                                         \
      " JOIN segment s ON s.head=p.head AND s.kind=p.kind AND s.start=p.length"                    \
      " AND s.lines_before=p.lines_before+p.accepted+p.rejected AND s.id>p.id"                     \
      " AND (s.name IS NULL OR s.name IS p.name)"                                                  \
      " WHERE p.id=?1 AND +p.length>0 AND iif(" TB__LIVE("s") ",NOT EXISTS(SELECT 1 FROM segment q" \
      " WHERE q.head=s.head AND q.kind=s.kind AND q.length=s.start AND q.id<s.id"                  \
      " AND q.lines_before+q.accepted+q.rejected=s.lines_before"                                   \
      " AND (s.name IS NULL OR s.name IS q.name) AND " TB__LIVE("q") "),0) LIMIT 1")               \
    X(LOG_OVERLAPPING, "SELECT id FROM log_block WHERE zone=?1 AND first_ms<=?3 AND last_ms>=?2"   \
                       " ORDER BY id DESC")                                                        \
    X(RUNG_INSERT, "INSERT OR IGNORE INTO rung VALUES(?1,?2,?3)")                                  \
    X(RUNGS, "SELECT head,length,hash FROM rung")                                                  \
    X(RUNGS_BY_HEAD, "SELECT length,hash FROM rung WHERE head=?1 ORDER BY length")                 \
    X(REJECT_INSERT, "INSERT INTO reject VALUES(?1,?2,?3,?4,?5)")                                  \
    /* of the newest lines; the text is that of the newest of its reason */                        \
    X(REJECTS_BY_REASON, "SELECT reason,count(*),max(segment),line,byte,text FROM"                 \
                         " (SELECT * FROM reject ORDER BY segment DESC,line DESC LIMIT ?1)"        \
                         " GROUP BY reason ORDER BY 2 DESC,reason LIMIT ?2")                       \
    X(REJECTED, "SELECT d.added_us,s.source,r.line,r.byte,r.reason,r.text FROM reject_due d"       \
                " CROSS JOIN segment s ON s.id=d.segment CROSS JOIN reject r ON r.segment=d.segment" \
                " WHERE d.added_us>=?1 AND d.added_us<?2"                                          \
                " ORDER BY d.added_us DESC,d.segment DESC,r.line DESC")                            \
    X(REJECT_DUE_INSERT, "INSERT INTO reject_due VALUES(?1,?2)")                                   \
    X(REJECT_DUE, /* ?2: later moments were written by a clock that was ahead */                   \
      "SELECT * FROM (SELECT added_us,segment FROM reject_due WHERE added_us<=?1"                  \
      " UNION ALL SELECT added_us,segment FROM reject_due WHERE added_us>?2) LIMIT 64")            \
    X(REJECT_DUE_DELETE, "DELETE FROM reject_due WHERE added_us=?1 AND segment=?2")                \
    X(REJECT_EMPTY, "UPDATE reject SET text=x'' WHERE segment=?1 AND line IN(SELECT line FROM"     \
                    " reject WHERE segment=?1 AND length(text)>0 LIMIT ?2)")                       \
    X(SEGMENT_NEXT, "SELECT coalesce(max(id),0)+1 FROM segment")                                   \
    X(SEGMENT_SOURCES, "SELECT source,kind,max(added_us),count(*),sum(accepted),sum(rejected) FROM" \
                       " (SELECT * FROM segment ORDER BY id DESC LIMIT ?1)"                        \
                       " GROUP BY source,kind ORDER BY 3 DESC,source,kind LIMIT ?2")               \
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
    X(LOG_SPAN_DELETE, "DELETE FROM log_span WHERE id=?1")                                         \
    X(LOG_NEWEST, "SELECT id,lines,first_ms,last_ms FROM log_block WHERE zone=?1"                  \
                  " ORDER BY id DESC LIMIT ?2")                                                    \
    X(LOG_RUN_INSERT, "INSERT INTO log_run(id,first_ms,last_ms,lines,seal,zones,data)"             \
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
                        " WHERE last_ms<?1 AND id>(SELECT value FROM meta WHERE name='log_run_spent')") \
    X(LOG_RUN_ACCOUNT, "SELECT id FROM zone WHERE account=?1 ORDER BY id")                         \
    X(LOG_GET, "SELECT zone,seal,data FROM log_block WHERE id=?1")                                 \
    X(LOG_OLD, "SELECT id,seal FROM log_block WHERE last_ms<?1")                                   \
    X(LOG_OLD_SIZE, "SELECT count(*),coalesce(sum(length(data)),0) FROM log_block WHERE last_ms<?1") \
    /* hits of the R*Tree are checked again: its zones are truncated, its hours are whole */       \
    X(LOG_BLOCKS,                                                                                  \
      "SELECT b.id,b.first_ms,b.last_ms FROM log_span s CROSS JOIN log_block b ON b.id=s.id"       \
      " WHERE s.zone<=?1 AND s.zone_too>=?1 AND s.first_hour<=?3 AND s.last_hour>=?2"              \
      " AND b.zone=?4 AND b.last_ms>=?5 AND b.first_ms<?6")                                        \
    /* shield zones and their events; every statement for a client binds the account first */      \
    X(SHIELD_ZONE, "SELECT 1 FROM shield_zone WHERE account=?1 AND id=?2")                         \
    X(SHIELD_ZONES_PAGE, "SELECT id,zone,name FROM shield_zone WHERE account=?1 AND deleted_us="   \
                         TB__FOR_EVER " ORDER BY id LIMIT ?2 OFFSET ?3")                           \
    X(SHIELD_ZONE_LIVE, "SELECT id,zone,name FROM shield_zone WHERE account=?1 AND id=?2"          \
                        " AND deleted_us=" TB__FOR_EVER)                                           \
    X(SHIELD_ZONE_OF, "SELECT id,zone,name FROM shield_zone WHERE account=?1 AND zone=?2"          \
                      " AND deleted_us=" TB__FOR_EVER " ORDER BY id LIMIT 1")                      \
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
    X(EVENT_ID_RUNS, "SELECT id,month,level,ids,bits,digest FROM event_id_run ORDER BY id")         \
    X(EVENT_ID_RUN_NEXT, "SELECT coalesce(max(id),0)+1 FROM event_id_run")                         \
    X(EVENT_ID_RUN_ADD, "INSERT INTO event_id_run(id,month,level,ids,bits,digest) VALUES(?1,?2,?3,?4,?5,?6)") \
    X(EVENT_ID_RUN_DELETE, "DELETE FROM event_id_run WHERE id=?1")                                 \
    X(EVENT_ID_PAGE, "SELECT data FROM event_id_page WHERE id=?1")                                 \
    X(EVENT_ID_PAGE_ADD, "INSERT INTO event_id_page VALUES(?1,?2)")                                \
    X(EVENT_ID_PAGES_DELETE, "DELETE FROM event_id_page WHERE id BETWEEN ?1 AND ?2")               \
    X(EVENT_ID_MONTH_ADD, "INSERT OR IGNORE INTO event_id_month(month,account) VALUES(?1,?2)")     \
    /* months before ?1 that still have ids */                                                     \
    X(EVENT_ID_MONTHS, "SELECT DISTINCT month FROM event_id_month WHERE account>0 AND month<?1 ORDER BY month") \
    X(EVENT_ID_ACCOUNTS, "SELECT account FROM event_id_month WHERE month=?1 AND account>0 ORDER BY account") \
    X(EVENT_ID_MONTH_END, "DELETE FROM event_id_month WHERE month=?1 AND account>0")               \
    X(EVENT_ID_MONTH_GONE, "INSERT INTO event_id_month(month,account) VALUES(?1,0)")               \
    X(EVENT_ID_GONE_MONTHS, "SELECT month FROM event_id_month WHERE account=0 ORDER BY month")     \
    X(EVENT_IDS_GONE, "SELECT 1 FROM event_id_month WHERE month=?1 AND account=0")                 \
    X(SECRET_GET, "SELECT value FROM secret WHERE name=?1")                                        \
    X(SECRET_PUT, "INSERT INTO secret VALUES(?1,?2," TB__UNSEALED ")")                             \
    X(FORGET_LOGS_COUNT, "SELECT count(*) FROM log_block WHERE zone IN(SELECT id FROM zone"        \
                         " WHERE account=?1)")                                                     \
    X(FORGET_EVENTS_COUNT, "SELECT count(*) FROM event_block WHERE zone IN(SELECT id FROM"         \
                           " shield_zone WHERE account=?1)")                                       \
    X(FORGET_LOGS, "SELECT id,seal FROM log_block WHERE zone IN(SELECT id FROM zone"               \
                   " WHERE account=?1) LIMIT ?2")                                                  \
    X(FORGET_EVENTS, "SELECT id,seal FROM event_block WHERE zone IN(SELECT id FROM shield_zone"    \
                     " WHERE account=?1) LIMIT ?2")

#endif
