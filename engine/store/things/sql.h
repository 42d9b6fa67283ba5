/* Statements over the catalogue, containers, keys, regions, alerts and the audit log. */
#ifndef TOLLBOOK_STORE_THINGS_SQL_H
#define TOLLBOOK_STORE_THINGS_SQL_H

#include "store/core/sql.h"
#include "tollbook/meter.h"

#define TB__KEY_COLUMNS "SELECT id,account,roles,hash,hint,created_us,revoked_us,sealed,name"

#define TB__KEY_VALID   "revoked_us=9223372036854775807"

/* An element h of a document's hostnames: a text, or a HostnameModel. */
#define TB__HOSTNAME "iif(h.type='text',h.value,h.value->>'$.Value')"

#define TB__ZONE_SHOWN                                                                             \
    "SELECT z.id,z.name,z.type='volume',z.settings,z.document->'$.hostnames',"                     \
    "coalesce((SELECT balancer FROM attachment a WHERE a.zone=z.id"                                \
    " AND a.to_us=9223372036854775807 ORDER BY a.from_us DESC LIMIT 1),0),coalesce(z.settings->>'$.Enabled',1),"                   \
    "coalesce(z.settings->>'$.MonthlyBandwidthLimit',0) FROM zone z WHERE "

/* A member of an account's limits: -1 where it says null, the usual where it says nothing. */
#define TB__LIMIT(name, usual)                                                                     \
    "iif(json_type(document,'$." name "')='null',-1,coalesce(document->>'$." name "'," usual "))"

/* A document without names and texts. '->' keeps numbers as they are written. */
#define TB__FORGOTTEN(d)                                                                           \
    "json_replace(json_remove(" d ".document,'$.hostnames','$.buyer','$.labels','$.alerts'),'$.name','forgotten','$.settings',json("\
    "'{'||coalesce((SELECT group_concat(json_quote(e.key)||':'||(" d ".document->('$.settings.'||" \
    "json_quote(e.key)))) FROM json_each(" d ".document,'$.settings') AS e"                        \
    " WHERE e.type NOT IN('text','array','object') OR e.key IN('PriceOverride','OptimizerPricing')"\
    " OR e.key GLOB '*Discount*'),'')||'}'))"

#define TB__FORGETS(d) \
    "json_valid(" d ".document) AND " d ".document<>" TB__FORGOTTEN(d)

/* Declarations of account ?1 and of its objects. */
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

/* What key's holder ?1 finds by the text ?2: (kind, id) by tb_found_kind. Account 0, the operator's, has no parts. */
#define TB__SEARCHED                                                                               \
    "WITH found(kind,id) AS(SELECT 0,a.id FROM account a WHERE ?1=0 AND a.deleted_us=" TB__FOR_EVER \
    " AND " TB__ACCOUNT_FOUND("?2")                                                                \
    " UNION ALL SELECT 1,z.id FROM zone z WHERE z.account=?1 AND z." TB__ZONE_THERE                \
    " AND(CAST(z.id AS TEXT)=?2 OR " TB__ZONE_FOUND("?2") ")"                                      \
    " UNION ALL SELECT 2,s.id FROM shield_zone s WHERE s.account=?1 AND s.deleted_us=" TB__FOR_EVER \
    " AND(CAST(s.id AS TEXT)=?2 OR instr(lower(s.name),lower(?2))>0)"                              \
    " UNION ALL SELECT 3,b.id FROM balancer b WHERE b.account=?1 AND b.deleted_us=" TB__FOR_EVER   \
    " AND CAST(b.id AS TEXT)=?2) "

/* Entries of the audit log about account ?1, in [?2, ?3). The keys of an account are few. */
#define TB__AUDIT_OF                                                                               \
    "SELECT a.id,a.at_us,a.key,a.origin,a.operation,a.arguments,"                                  \
    "a.key IN(SELECT id FROM key WHERE account=?1) AS own FROM audit a WHERE a.at_us>=?2 AND a.at_us<?3" \
    " AND(own OR a.arguments->>'$.account'=?1 OR(a.operation='key revoke' AND a.arguments->>'$.id' IN" \
    "(SELECT id FROM key WHERE account=?1))) ORDER BY a.id"

#define TB__THINGS_STATEMENTS(X)                                                                   \
    X(KNOWN_HOSTS,                                                                                 \
      "SELECT z.id,z.name||'.'||coalesce(z.settings->>'$.CnameDomain','b-cdn.net') FROM zone z"    \
      " WHERE " TB__ZONE_THERE " UNION ALL"                                                        \
      " SELECT z.id," TB__HOSTNAME                                                                 \
      " FROM zone z,json_each(z.document,'$.hostnames') h WHERE " TB__ZONE_THERE)                  \
    X(KNOWN_METERS, "SELECT id,document,deleted_us=9223372036854775807 FROM meter ORDER BY name")   \
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
    X(KEY_INSERT, "INSERT INTO key(account,roles,hash,hint,created_us,revoked_us,sealed,name)"     \
      "VALUES(?1,?2,?3,?4,?5,?6,?7,?8)")                                                           \
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
    X(SAMPLED_ZONES, "SELECT z.id,z.account,d.version,d.closed_version FROM declaration d CROSS JOIN zone z" \
      " ON z.account=d.id WHERE d.kind='account' AND instr(d.document,'\"samples\":true') ORDER BY 1,3") \
    /* catalogue */                                                                                \
    X(ACCOUNT_KEEPS,                                                                               \
      "SELECT currency,coalesce(?2->>'$.currency','USD') AS said FROM ledger WHERE account=?1"     \
      " AND currency<>said ORDER BY id LIMIT 1")                                                   \
    X(ACCOUNTS_UNBOOKED,                                                                           \
      "SELECT count(*) FROM account a WHERE deleted_us=9223372036854775807 AND"                    \
      " instr(document,'\"contract\":{') AND document->>'$.contract.book' IS NOT NULL AND NOT"     \
      " EXISTS(SELECT 1 FROM book b WHERE b.name=a.document->>'$.contract.book'"                   \
      " AND b.currency=coalesce(a.document->>'$.currency','USD'))")                                \
    X(ACCOUNT_PUT,                                                                                 \
      "INSERT INTO account(" TB__C_account("") ")VALUES(?1,?2,?3,?4," TB__FOR_EVER ") ON CONFLICT(id) DO UPDATE" \
      " SET name=excluded.name,document=excluded.document,deleted_us=excluded.deleted_us")         \
    X(ZONE_GET, "SELECT document,deleted_us,account FROM zone WHERE id=?1")                        \
    X(ZONE_PUT,                                                                                    \
      "INSERT INTO zone(" TB__C_zone("") ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8," TB__FOR_EVER ") ON CONFLICT(id)" \
      " DO UPDATE SET name=excluded.name,type=excluded.type,created_us=excluded.created_us,"       \
      "settings=excluded.settings,document=excluded.document,deleted_us=excluded.deleted_us")      \
    X(BALANCER_GET, "SELECT document,deleted_us,account FROM balancer WHERE id=?1")                \
    X(BALANCER_PUT,                                                                                \
      "INSERT INTO balancer(" TB__C_balancer("") ")VALUES(?1,?2,?3,?4,?5,?6," TB__FOR_EVER ") ON CONFLICT(id)" \
      " DO UPDATE SET created_us=excluded.created_us,ended_us=excluded.ended_us,"                  \
      "document=excluded.document,deleted_us=excluded.deleted_us")                                 \
    X(SHIELD_ZONE_GET, "SELECT document,deleted_us,account FROM shield_zone WHERE id=?1")          \
    X(SHIELD_ZONE_PUT,                                                                             \
      "INSERT INTO shield_zone(" TB__C_shield_zone("") ")VALUES(?1,?2,?3,?4,?5,?6," TB__FOR_EVER ") ON CONFLICT(id)" \
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
    /* the seller, who is 1, has declarations and no row beside */                                 \
    X(SELLER_GET, "SELECT document,to_us FROM declaration WHERE kind='seller' AND id=?1"           \
                  " ORDER BY version DESC,from_us DESC LIMIT 1")                                   \
    X(SELLER_NOW, "SELECT document FROM declaration WHERE kind='seller' AND id=?1"                 \
                  " AND to_us=9223372036854775807")                                                \
    X(LIVE_SELLER, "SELECT id FROM declaration WHERE kind='seller'"                                \
                   " AND to_us=9223372036854775807")                                               \
    /* by tb_declared_kind; the kinds of containers follow each other there as in their table */   \
    X(DECLARED, "SELECT 0,1,document,'' FROM declaration WHERE kind='seller' AND to_us=9223372036854775807" \
      " UNION ALL SELECT 1,id,document,'' FROM account WHERE deleted_us=9223372036854775807"       \
      " UNION ALL SELECT 2,id,document,'' FROM zone WHERE deleted_us=9223372036854775807"          \
      " UNION ALL SELECT 3,id,document,'' FROM balancer WHERE deleted_us=9223372036854775807"      \
      " UNION ALL SELECT 4,id,document,'' FROM shield_zone WHERE deleted_us=9223372036854775807"   \
      " UNION ALL SELECT 5+kind,account,document,id FROM container"                                \
      " UNION ALL SELECT 8,0,document,name FROM meter WHERE deleted_us=" TB__FOR_EVER        \
      " AND name<>'" TB_METER_BANDWIDTH "' ORDER BY 1,2,4") \
    X(LIVE_ACCOUNTS, "SELECT id,name FROM account WHERE deleted_us=9223372036854775807 ORDER BY id") \
    X(LIVE_ZONES, "SELECT id,name FROM zone WHERE deleted_us=9223372036854775807 ORDER BY id")     \
    X(LIVE_BALANCERS, "SELECT id FROM balancer WHERE deleted_us=9223372036854775807 ORDER BY id")  \
    X(LIVE_SHIELD_ZONES, "SELECT id,name FROM shield_zone WHERE deleted_us=9223372036854775807 ORDER BY id") \
    X(SHIELD_ZONE_DELETE, "UPDATE shield_zone SET deleted_us=?2 WHERE id=?1")                      \
    X(ACCOUNT_DELETE, "UPDATE account SET deleted_us=?2 WHERE id=?1")                              \
    X(ZONE_DELETE, "UPDATE zone SET deleted_us=?2 WHERE id=?1")                                    \
    X(BALANCER_DELETE, "UPDATE balancer SET deleted_us=?2 WHERE id=?1")                            \
    /* meters */                                                                                   \
    X(METER_NUMBER, "SELECT id FROM meter WHERE name=?1")                                          \
    X(METER_NEXT, "SELECT coalesce(max(id),0)+1 FROM meter")                                       \
    X(METER_GET, "SELECT document,deleted_us FROM meter WHERE id=?1")                              \
    X(METER_PUT,                                                                                   \
      "INSERT INTO meter(" TB__C_meter("") ")VALUES(?1,?2,?3,?4," TB__FOR_EVER ") ON CONFLICT(id) DO UPDATE" \
      " SET document=excluded.document,deleted_us=excluded.deleted_us")                            \
    X(METER_DELETE, "UPDATE meter SET deleted_us=?2 WHERE id=?1")                                  \
    X(METER_USED, "SELECT EXISTS(SELECT 1 FROM meter_series WHERE meter=?1)")                      \
    X(LIVE_METERS, "SELECT id,name FROM meter WHERE deleted_us=" TB__FOR_EVER " ORDER BY name")    \
    X(METERS, "SELECT id,document FROM meter WHERE deleted_us=" TB__FOR_EVER " ORDER BY name")     \
    X(METER_BY_NAME, "SELECT id,document FROM meter WHERE name=?1 AND deleted_us=" TB__FOR_EVER)   \
    X(METER_BY_NUMBER, "SELECT id,document FROM meter WHERE id=?1")                                \
    X(METER_NAMES, "SELECT group_concat(name,'|') FROM meter WHERE deleted_us=" TB__FOR_EVER)      \
    X(REGIONS_CLEAR, "DELETE FROM region")                                                         \
    X(REGION_INSERT, "INSERT INTO region(" TB__C_region("") ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)") \
    /* forgetting: ?1 is the account */                                                            \
    X(FORGET_DELETED, "SELECT deleted_us FROM account WHERE id=?1")                                \
    X(FORGET_COUNTS,                                                                               \
      "SELECT (SELECT count(*) FROM declaration d WHERE " TB__DECLARED_OF " AND " TB__FORGETS("d") \
      ")+(SELECT count(*) FROM key WHERE account=?1 AND name<>''),(SELECT count(*) FROM container WHERE account=?1),(SELECT count(*) FROM reject WHERE"     \
      " length(text)>0 OR " TB__NAMED_REASON ")")                                                  \
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
    X(FORGET_KEYS, "UPDATE key SET name='' WHERE account=?1 AND name<>''")                         \
    X(FORGET_DEPLOYMENTS, "DELETE FROM deployment WHERE account=?1")                               \
    X(FORGET_DEPLOYMENT_ENDS, "DELETE FROM deployment_end WHERE account=?1")                       \
    X(FORGET_OWN_ALERTS, "DELETE FROM own_alert WHERE account=?1")                                 \
    X(FORGET_CONTAINERS, "DELETE FROM container WHERE account=?1")                                 \
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
    X(DEPLOYMENT_PUT, "INSERT INTO deployment VALUES(?1,?2,?3,?4,?5," TB__UNSEALED ") ON CONFLICT DO UPDATE" \
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
    /* 0 and the account, then its zones by id: name and labels at ?2, or the first later */       \
    X(INVOICE_NAMES,                                                                               \
      "WITH t(kind,id,place,usual) AS (SELECT 'account',id,0,name FROM account WHERE id=?1"        \
      " UNION ALL SELECT 'zone',id,id,name FROM zone WHERE account=?1) SELECT t.place,"            \
      "coalesce(iif(json_valid(d.document),d.document->>'$.name',NULL),t.usual),"                  \
      "iif(json_valid(d.document),d.document->'$.labels',NULL) FROM t LEFT JOIN declaration d"     \
      " ON d.kind=t.kind AND d.id=t.id AND (d.from_us,d.version)=(SELECT p.from_us,p.version"      \
      " FROM declaration p WHERE p.kind=t.kind AND p.id=t.id ORDER BY p.from_us>?2,CASE WHEN"      \
      " p.from_us>?2 THEN p.from_us ELSE -p.from_us END,p.version DESC LIMIT 1) ORDER BY t.place") \
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
    X(REGION_REMEMBER,                                                                             \
      "INSERT INTO region_billing(code,version,billing) SELECT n.code," TB__NEXT_VERSION ",n.billing FROM" \
      " (SELECT code,billing FROM region UNION ALL SELECT DISTINCT code,'' FROM region_billing"    \
      " WHERE code NOT IN(SELECT code FROM region)) AS n WHERE n.billing<>coalesce("               \
      "(SELECT b.billing FROM region_billing b WHERE b.code=n.code ORDER BY b.version DESC"        \
      " LIMIT 1),'') ON CONFLICT(code,version) DO UPDATE SET billing=excluded.billing")            \
    X(REGION_REBILLED,                                                                             \
      "SELECT count(*) FROM region_billing b JOIN edge e ON e.code=b.code WHERE b.version="        \
      TB__NEXT_VERSION)                                                                            \
    X(SEARCH_COUNT, TB__SEARCHED "SELECT count(*) FROM found")                                     \
    X(SEARCH, TB__SEARCHED                                                                         \
      "SELECT f.kind,f.id,coalesce(a.name,z.name,s.name),coalesce((SELECT " TB__HOSTNAME           \
      " FROM json_each(z.document,'$.hostnames') h WHERE instr(lower(" TB__HOSTNAME "),lower(?2))>0 LIMIT 1)," \
      "z.name||'.'||coalesce(z.settings->>'$.CnameDomain','b-cdn.net')),s.zone"                    \
      " FROM(SELECT kind,id FROM found ORDER BY kind,id LIMIT ?3 OFFSET ?4) f"                     \
      " LEFT JOIN account a ON f.kind=0 AND a.id=f.id LEFT JOIN zone z ON f.kind=1 AND z.id=f.id"  \
      " LEFT JOIN shield_zone s ON f.kind=2 AND s.id=f.id ORDER BY f.kind,f.id")                   \
    /* audit */                                                                                    \
    X(AUDIT_LAST, "SELECT id,chain FROM audit ORDER BY id DESC LIMIT 1")                           \
    /* the last thousand: one that was backdated is not the latest */                              \
    X(AUDIT_MOMENT, "SELECT max(at_us) FROM (SELECT at_us FROM audit ORDER BY id DESC LIMIT 1000)") \
    X(AUDIT_INSERT, "INSERT INTO audit(" TB__C_audit("") ")VALUES(?1,?2,?3,?4,?5,?6,?7)")          \
    X(AUDIT, "SELECT id,at_us,key,origin,operation,arguments FROM audit WHERE id>?1"               \
             " ORDER BY id LIMIT ?2")                                                              \
    X(AUDIT_OF, TB__AUDIT_OF)                                                                      \
    X(AUDIT_OF_LATEST, TB__AUDIT_OF " DESC")                                                       \
    /* alerts, the outbox */                                                                       \
    X(ALERT_ACCOUNTS,                                                                              \
      "SELECT id FROM account WHERE id>?1 AND " TB__ALERTS_DECLARED " UNION SELECT id FROM account WHERE id>?1 AND" \
      " " TB__CAP_DECLARED " UNION SELECT account FROM own_alert"                                  \
      " WHERE account>?1 UNION SELECT account FROM alert"                                          \
      " WHERE account>?1 AND cleared_us=" TB__FOR_EVER " ORDER BY 1 LIMIT ?2")                     \
    X(OWN_ALERTS, "SELECT '{\"alerts\":['||group_concat(document)||']}' FROM"                      \
                  " (SELECT document FROM own_alert WHERE account=?1 ORDER BY id)")                \
    X(OWN_ALERT_SET, "INSERT INTO own_alert VALUES(?1,?2,?3," TB__UNSEALED ") ON CONFLICT DO UPDATE SET" \
                     " document=excluded.document")                                                \
    X(OWN_ALERT_DROP, "DELETE FROM own_alert WHERE account=?1 AND id=?2 RETURNING 1")              \
    X(ALERTS_LAST, "SELECT " TB__C_alert("") " FROM alert a WHERE account=?1 AND id="              \
                   "(SELECT max(b.id) FROM alert b WHERE b.account=a.account AND b.alert=a.alert)" \
                   " ORDER BY alert")                                                              \
    X(ALERT_INSERT, "INSERT INTO alert(" TB__C_alert("") ")VALUES(NULL,?1,?2,?3,?4,?5,?6,?7,"      \
                    TB__FOR_EVER ",?8,'',?9) RETURNING id")                                        \
    X(ALERT_CLEAR, "UPDATE alert SET cleared_us=?2,cleared=?3 WHERE id=?1 AND cleared_us=" TB__FOR_EVER) \
    X(ALERT_SAID, "UPDATE alert SET raised=?2 WHERE id=?1 AND raised=''")                          \
    X(ALERTS, "SELECT " TB__C_alert("") " FROM alert ORDER BY id DESC LIMIT ?1")                   \
    X(ALERTS_OF, "SELECT " TB__C_alert("") " FROM alert WHERE account=?2 ORDER BY id DESC LIMIT ?1") \
    X(ALERT_METERED, "SELECT EXISTS(SELECT 1 FROM meter_resource WHERE account=?1)")               \
    X(ALERT_LEDGER, "SELECT coalesce(max(id),0) FROM ledger WHERE account=?1")                     \
    X(OUTBOX_KNOWN, "SELECT id FROM outbox WHERE message=?1")                                      \
    X(OUTBOX_INSERT, "INSERT INTO outbox(" TB__C_outbox("") ")VALUES(NULL,?1,?2,?3,?4,?4,'waiting',0," \
                     "?4," TB__FOR_EVER ",0,'',?5)")                                               \
    /* ?3: 0: of those that were never tried, 1: of the others */                                  \
    X(OUTBOX_DUE, "SELECT " TB__C_outbox("") " FROM outbox WHERE state='waiting' AND min(attempts,1)=?3" \
                  " AND next_us<=?1 ORDER BY next_us,id LIMIT ?2")                                 \
    X(OUTBOX_TRIED, "UPDATE outbox SET state=?2,attempts=?3,next_us=?4,delivered_us=?5,status=?6,error=?7" \
                    " WHERE id=?1 AND state='waiting'")                                            \
    X(OUTBOX_AGAIN, "UPDATE outbox SET state='waiting',attempts=0,next_us=?2,since_us=?2,delivered_us=" \
                    TB__FOR_EVER ",status=0,error='' WHERE message=?1 RETURNING id")               \
    X(OUTBOX_STOP, "UPDATE outbox SET state='failed',error='Messages were turned off.'"            \
                   " WHERE state='waiting'")                                                       \
    X(OUTBOX_PRUNE, "DELETE FROM outbox WHERE id IN(SELECT id FROM outbox WHERE state<>'waiting'"  \
                    " AND created_us<?1 ORDER BY created_us LIMIT 16)")                            \
    X(OUTBOX, "SELECT " TB__C_outbox("") " FROM outbox ORDER BY id DESC LIMIT ?1")                 \
    X(OUTBOX_OF, "SELECT " TB__C_outbox("") " FROM outbox WHERE account=?2 ORDER BY id DESC LIMIT ?1") \
    X(OUTBOX_FIGURES,                                                                              \
      "SELECT (SELECT count(*) FROM outbox WHERE state='waiting'),"                                \
      "(SELECT count(*) FROM outbox WHERE state='failed'),"                                        \
      "coalesce((SELECT min(since_us) FROM outbox WHERE state='waiting')," TB__FOR_EVER ")")

#endif
