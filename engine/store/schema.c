/* The schema, as the list of migrations that lead to it: entry n brings user_version n to n+1, in
 * one transaction. A fresh database runs them all. Never edit an entry that has shipped; add one.
 *
 * Usage plane: series, chunk, country_day. Control plane: everything else. Times are integers,
 * microseconds since 1970 UTC (_us) or days; INT64_MIN and INT64_MAX stand for "since ever" and
 * "for ever". segment is append-only: triggers hold it. */
#include "store/internal.h"

static const char v1[] =
    /* data_version grows with every commit that changed something; series_id is the last given;
     * newest_hour the hour of the newest bucket. */
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO meta VALUES('data_version',0),('series_id',0),"
    "('newest_hour',-9223372036854775807);"

    "CREATE TABLE account(id INTEGER PRIMARY KEY CHECK(id>0), name TEXT NOT NULL,"
    " document TEXT NOT NULL,"
    " declared_us INTEGER NOT NULL, deleted_us INTEGER NOT NULL) STRICT;"

    "CREATE TABLE zone(id INTEGER PRIMARY KEY CHECK(id>0),"
    " account INTEGER NOT NULL REFERENCES account(id), name TEXT NOT NULL,"
    " type TEXT NOT NULL CHECK(type IN('premium','volume')), created_us INTEGER NOT NULL,"
    " settings TEXT NOT NULL,"
    " document TEXT NOT NULL,"
    " declared_us INTEGER NOT NULL, deleted_us INTEGER NOT NULL) STRICT;"
    "CREATE INDEX zone_by_account ON zone(account,id);"

    "CREATE TABLE balancer(id INTEGER PRIMARY KEY CHECK(id>0),"
    " account INTEGER NOT NULL REFERENCES account(id), created_us INTEGER NOT NULL,"
    " ended_us INTEGER NOT NULL, document TEXT NOT NULL,"
    " declared_us INTEGER NOT NULL, deleted_us INTEGER NOT NULL) STRICT;"
    "CREATE INDEX balancer_by_account ON balancer(account,id);"

    /* What a thing was declared to be, from when to when. kind: account, zone, balancer. */
    "CREATE TABLE declaration(kind TEXT NOT NULL, id INTEGER NOT NULL, from_us INTEGER NOT NULL,"
    " to_us INTEGER NOT NULL, document TEXT NOT NULL, PRIMARY KEY(kind,id,from_us))"
    " STRICT, WITHOUT ROWID;"
    /* Which balancer a zone was attached to, from when to when. */
    "CREATE TABLE attachment(zone INTEGER NOT NULL, balancer INTEGER NOT NULL,"
    " from_us INTEGER NOT NULL, to_us INTEGER NOT NULL, PRIMARY KEY(zone,balancer,from_us))"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX attachment_by_balancer ON attachment(balancer,from_us);"

    "CREATE TABLE region(id INTEGER PRIMARY KEY CHECK(id>0), code TEXT NOT NULL UNIQUE,"
    " name TEXT NOT NULL, billing TEXT NOT NULL, continent TEXT NOT NULL, country TEXT NOT NULL,"
    " price TEXT NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL,"
    " latency_routing INTEGER NOT NULL CHECK(latency_routing IN(0,1))) STRICT;"
    "CREATE TABLE extra(name TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT, WITHOUT ROWID;"

    "CREATE TABLE key(id INTEGER PRIMARY KEY, account INTEGER NOT NULL CHECK(account>=0),"
    " roles INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE CHECK(length(hash)=32),"
    " hint TEXT NOT NULL, created_us INTEGER NOT NULL, revoked_us INTEGER NOT NULL) STRICT;"

    /* Edge location codes as numbers. 0 stands for all locations. */
    "CREATE TABLE edge(id INTEGER PRIMARY KEY CHECK(id>0), code TEXT NOT NULL UNIQUE,"
    " seal INTEGER NOT NULL) STRICT;"
    /* scope: 1 zone, 2 account, 3 balancer. */
    "CREATE TABLE series(scope INTEGER NOT NULL CHECK(scope IN(1,2,3)), owner INTEGER NOT NULL,"
    " edge INTEGER NOT NULL CHECK(edge>=0), id INTEGER NOT NULL CHECK(id>0),"
    " seal INTEGER NOT NULL,"
    " PRIMARY KEY(scope,owner,edge)) STRICT, WITHOUT ROWID;"
    /* Usage that no account pays for yet, and locations that no region names. */
    "CREATE VIEW unassigned AS SELECT DISTINCT owner AS zone FROM series"
    " WHERE scope=1 AND NOT EXISTS(SELECT 1 FROM zone WHERE zone.id=series.owner);"
    "CREATE VIEW unpriced AS SELECT code FROM edge"
    " WHERE NOT EXISTS(SELECT 1 FROM region WHERE region.code=edge.code);"
    /* key: series id, grain and day or month: see chunk.h. */
    "CREATE TABLE chunk(key INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"
    "CREATE TABLE country_day(zone INTEGER NOT NULL, day INTEGER NOT NULL, data BLOB NOT NULL,"
    " PRIMARY KEY(zone,day)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE segment(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL CHECK(kind IN(1,2)),"
    " name TEXT, source TEXT NOT NULL, start INTEGER NOT NULL CHECK(start>=0),"
    " length INTEGER NOT NULL CHECK(length>=start), hash BLOB NOT NULL CHECK(length(hash)=16),"
    " head BLOB NOT NULL CHECK(length(head)=16), lines_before INTEGER NOT NULL,"
    " accepted INTEGER NOT NULL CHECK(accepted>=0), rejected INTEGER NOT NULL CHECK(rejected>=0),"
    " final INTEGER NOT NULL CHECK(final IN(0,1)), added_us INTEGER NOT NULL,"
    " sums TEXT NOT NULL, seal INTEGER NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX segment_by_name ON segment(name,start) WHERE name IS NOT NULL;"
    "CREATE INDEX segment_by_head ON segment(head,kind,start,length);"
    "CREATE TRIGGER segment_no_update BEFORE UPDATE ON segment BEGIN"
    " SELECT raise(ABORT,'segments are append-only'); END;"
    "CREATE TRIGGER segment_no_delete BEFORE DELETE ON segment BEGIN"
    " SELECT raise(ABORT,'segments are append-only'); END;"
    /* Hashes of prefixes between segment ends: see store.h. */
    "CREATE TABLE rung(head BLOB NOT NULL CHECK(length(head)=16), length INTEGER NOT NULL"
    " CHECK(length>0), hash BLOB NOT NULL CHECK(length(hash)=16), PRIMARY KEY(head,length,hash))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE reject(segment INTEGER NOT NULL"
    " REFERENCES segment(id) DEFERRABLE INITIALLY DEFERRED, line INTEGER NOT NULL,"
    " byte INTEGER NOT NULL, reason TEXT NOT NULL, text BLOB NOT NULL, PRIMARY KEY(segment,line))"
    " STRICT, WITHOUT ROWID;";

const char *const tb__migrations[] = {v1};
const int tb__schema_version = sizeof tb__migrations / sizeof *tb__migrations;
