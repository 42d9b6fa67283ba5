/* Every prepared statement of the store: one line each. Bound parameters only; a statement that
 * reads a tenant's data binds the account (?account below). */
#ifndef TOLLBOOK_STORE_STATEMENTS_H
#define TOLLBOOK_STORE_STATEMENTS_H

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
    X(BUMP_VERSION, "UPDATE meta SET value=value+1 WHERE name='data_version'")                     \
    /* usage */                                                                                    \
    X(CHUNK_INSERT, "INSERT INTO chunk VALUES(?1,?2) ON CONFLICT DO NOTHING")                      \
    X(CHUNK_GET, "SELECT data FROM chunk WHERE key=?1")                                            \
    X(CHUNK_UPDATE, "UPDATE chunk SET data=?2 WHERE key=?1")                                       \
    X(CHUNK_SPAN, "SELECT key,data FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key")           \
    X(SERIES_OF_OWNER, "SELECT edge,id FROM series WHERE scope=?1 AND owner=?2 ORDER BY edge")     \
    X(SERIES_INSERT, "INSERT INTO series VALUES(?1,?2,?3,?4,?5)")                                  \
    X(SERIES_WHOSE, "SELECT scope,owner,edge FROM series WHERE id=?1")                             \
    X(EDGE_CODE, "SELECT code FROM edge WHERE id=?1")                                              \
    X(EDGE_BY_CODE, "SELECT id FROM edge WHERE code=?1")                                           \
    X(EDGE_NEXT, "SELECT coalesce(max(id),0)+1 FROM edge")                                         \
    X(EDGE_INSERT, "INSERT INTO edge(code,id,seal) VALUES(?1,?2,?3)")                              \
    X(ZONE_ACCOUNT, "SELECT account FROM zone WHERE id=?1")                                        \
    X(COUNTRY_GET, "SELECT data FROM country_day WHERE zone=?1 AND day=?2")                        \
    X(COUNTRY_PUT, "INSERT OR REPLACE INTO country_day VALUES(?1,?2,?3)")                          \
    /* segments */                                                                                 \
    X(SEGMENT_INSERT,                                                                              \
      "INSERT INTO segment VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)")            \
    X(SEGMENTS_BY_HEAD,                                                                            \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final"       \
      " FROM segment WHERE head=?1 AND kind=?2 ORDER BY start,length")                             \
    X(SEGMENTS_BY_NAME,                                                                            \
      "SELECT start,length,lines_before+accepted+rejected,accepted,rejected,hash,kind,final"       \
      " FROM segment WHERE name=?1 ORDER BY start,length")                                         \
    X(RUNG_INSERT, "INSERT OR IGNORE INTO rung VALUES(?1,?2,?3)")                                  \
    X(RUNGS_BY_HEAD, "SELECT length,hash FROM rung WHERE head=?1 ORDER BY length")                 \
    X(REJECT_INSERT, "INSERT INTO reject VALUES(?1,?2,?3,?4,?5)")                                  \
    X(SEGMENT_NEXT, "SELECT coalesce(max(id),0)+1 FROM segment")                                   \
    /* reading: the tenant's account is ?1 in each */                                              \
    X(ZONE_OF_ACCOUNT, "SELECT 1 FROM zone WHERE account=?1 AND id=?2")                            \
    X(ACCOUNT_EXISTS, "SELECT 1 FROM account WHERE id=?1")                                         \
    X(ZONE_SERIES,                                                                                 \
      "SELECT s.edge,s.id,z.created_us FROM zone z"                                                \
      " JOIN series s ON s.scope=1 AND s.owner=z.id"                                               \
      " WHERE z.account=?1 AND z.id=?2 ORDER BY s.edge")                                           \
    X(ACCOUNT_SERIES, "SELECT edge,id FROM series WHERE scope=2 AND owner=?1 ORDER BY edge")       \
    X(PLACES,                                                                                      \
      "SELECT e.id,coalesce(r.id,0),coalesce(r.name,'Other: '||e.code)"                            \
      " FROM edge e LEFT JOIN region r ON r.code=e.code ORDER BY e.id")                            \
    X(REGIONS,                                                                                     \
      "SELECT id,code,name,billing,continent,country,price,latitude,longitude,latency_routing"     \
      " FROM region ORDER BY id")                                                                  \
    X(KEYS, "SELECT id,account,roles,hash,hint,created_us,revoked_us FROM key ORDER BY id")        \
    X(KEY_INSERT, "INSERT INTO key VALUES(NULL,?1,?2,?3,?4,?5,?6)")                                \
    X(KEY_REVOKE, "UPDATE key SET revoked_us=min(revoked_us,?2) WHERE id=?1")                      \
    /* catalogue */                                                                                \
    X(ACCOUNT_GET, "SELECT document,deleted_us FROM account WHERE id=?1")                          \
    X(ACCOUNT_PUT,                                                                                 \
      "INSERT INTO account VALUES(?1,?2,?3,?4,9223372036854775807) ON CONFLICT(id) DO UPDATE"      \
      " SET name=excluded.name,document=excluded.document,deleted_us=excluded.deleted_us")         \
    X(ZONE_GET, "SELECT document,deleted_us,account FROM zone WHERE id=?1")                        \
    X(ZONE_PUT,                                                                                    \
      "INSERT INTO zone VALUES(?1,?2,?3,?4,?5,?6,?7,?8,9223372036854775807) ON CONFLICT(id)"       \
      " DO UPDATE SET name=excluded.name,type=excluded.type,created_us=excluded.created_us,"       \
      "settings=excluded.settings,document=excluded.document,deleted_us=excluded.deleted_us")      \
    X(BALANCER_GET, "SELECT document,deleted_us,account FROM balancer WHERE id=?1")                \
    X(BALANCER_PUT,                                                                                \
      "INSERT INTO balancer VALUES(?1,?2,?3,?4,?5,?6,9223372036854775807) ON CONFLICT(id)"         \
      " DO UPDATE SET created_us=excluded.created_us,ended_us=excluded.ended_us,"                  \
      "document=excluded.document,deleted_us=excluded.deleted_us")                                 \
    X(DECLARATION_CLOSE,                                                                           \
      "UPDATE declaration SET to_us=?3 WHERE kind=?1 AND id=?2 AND to_us=9223372036854775807")     \
    X(DECLARATION_OPEN,                                                                            \
      "INSERT OR REPLACE INTO declaration VALUES(?1,?2,?3,9223372036854775807,?4)")                \
    X(ATTACHED, "SELECT zone FROM attachment WHERE balancer=?1 AND to_us=9223372036854775807"      \
                " ORDER BY zone")                                                                  \
    /* a zone's first one from ?3; a later one from ?4, now, when the others have ended */         \
    X(ATTACH, "INSERT OR REPLACE INTO attachment SELECT ?1,?2,iif(count(*)=0,?3,max(?4,"           \
              "max(iif(to_us=9223372036854775807,?4,to_us)))),9223372036854775807"                 \
              " FROM attachment WHERE zone=?1")                                                    \
    X(DETACH, "UPDATE attachment SET to_us=max(from_us,?3) WHERE zone=?1 AND balancer=?2"          \
              " AND to_us=9223372036854775807")                                                    \
    X(LIVE_ACCOUNTS, "SELECT id FROM account WHERE deleted_us=9223372036854775807")                \
    X(LIVE_ZONES, "SELECT id FROM zone WHERE deleted_us=9223372036854775807")                      \
    X(LIVE_BALANCERS, "SELECT id FROM balancer WHERE deleted_us=9223372036854775807")              \
    X(ACCOUNT_DELETE, "UPDATE account SET deleted_us=?2 WHERE id=?1")                              \
    X(ZONE_DELETE, "UPDATE zone SET deleted_us=?2 WHERE id=?1")                                    \
    X(BALANCER_DELETE, "UPDATE balancer SET deleted_us=?2 WHERE id=?1")                            \
    X(REGIONS_CLEAR, "DELETE FROM region")                                                         \
    X(REGION_INSERT, "INSERT INTO region VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)")                  \
    X(EXTRA_GET, "SELECT document FROM extra WHERE name=?1")                                       \
    X(EXTRA_NAMES, "SELECT name FROM extra ORDER BY name")                                         \
    X(EXTRA_PUT, "INSERT OR REPLACE INTO extra VALUES(?1,?2)")                                     \
    X(EXTRA_DELETE, "DELETE FROM extra WHERE name=?1")                                             \
    /* terms */                                                                                    \
    X(ACCOUNT_TERMS,                                                                               \
      "SELECT coalesce(document->>'$.prepaid',0),coalesce(document->>'$.discounts.EUUSDiscount',0),"\
      "coalesce(document->>'$.discounts.AsiaOceaniaDiscount',0),"                                  \
      "coalesce(document->>'$.discounts.SouthAmericaDiscount',0),"                                 \
      "coalesce(document->>'$.discounts.AfricaDiscount',0) FROM account WHERE id=?1")              \
    X(ZONE_TERMS,                                                                                  \
      "SELECT id,coalesce(settings->>'$.Enabled',1),"                                              \
      "coalesce(settings->>'$.MonthlyBandwidthLimit',0) FROM zone"                                 \
      " WHERE account=?1 AND created_us<=?2 AND deleted_us>?2 ORDER BY id")                        \
    /* operator's figures */                                                                       \
    X(FIGURES_SEGMENTS,                                                                            \
      "SELECT count(*),coalesce(sum(accepted),0),coalesce(sum(rejected),0) FROM segment")          \
    X(FIGURES_ZONES, "SELECT count(*) FROM zone WHERE deleted_us=9223372036854775807")             \
    X(FIGURES_UNASSIGNED,                                                                          \
      "SELECT count(DISTINCT owner) FROM series WHERE scope=1"                                     \
      " AND NOT EXISTS(SELECT 1 FROM zone WHERE zone.id=series.owner)")                            \
    X(FIGURES_UNPRICED,                                                                            \
      "SELECT count(*) FROM edge WHERE NOT EXISTS(SELECT 1 FROM region WHERE region.code=edge.code)")

typedef enum tb__statement {
#define TB_X(name, sql) TB__SQL_##name,
    TB__STATEMENTS(TB_X)
#undef TB_X
        TB__SQL_COUNT
} tb__statement;

#endif
