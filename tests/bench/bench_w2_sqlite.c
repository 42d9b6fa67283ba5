/* SQLite as a careful newcomer would use it for the statistics workload: one row an hour, clustered
 * by (zone, hour) without a rowid, and a roll-up table of days. The same rows, the same queries.
 *
 * usage: bench_w2_sqlite load DATABASE
 *        bench_w2_sqlite time DATABASE [QUICK]     a number above 1 divides the rounds */
#include "hours.h"
#include "measure.h"

#include <sqlite3.h>
#include <string.h>

#define VALUES "m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11"
#define SUMS                                                                                       \
    "sum(m0),sum(m1),sum(m2),sum(m3),sum(m4),sum(m5),sum(m6),sum(m7),sum(m8),sum(m9),sum(m10),"    \
    "sum(m11)"

static sqlite3 *db;

static void exec(const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_fail("%s: %s", sql, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL) != SQLITE_OK)
        bench_fail("%s: %s", sql, sqlite3_errmsg(db));
    return s;
}

static void put_hour(sqlite3_stmt *s, int zone, int64_t hour)
{
    int64_t value[HOURS_METRICS];
    hours_row(zone, hour, value);
    sqlite3_bind_int(s, 1, zone);
    sqlite3_bind_int64(s, 2, hour);
    for (int m = 0; m < HOURS_METRICS; m++)
        sqlite3_bind_int64(s, 3 + m, value[m]);
    if (sqlite3_step(s) != SQLITE_DONE) bench_fail("%s", sqlite3_errmsg(db));
    sqlite3_reset(s);
}

static void load(void)
{
    exec("PRAGMA page_size=8192; PRAGMA journal_mode=off; PRAGMA synchronous=off;"
         "CREATE TABLE zone(id INTEGER PRIMARY KEY);"
         "CREATE TABLE hour(zone INT,hour INT," VALUES ",PRIMARY KEY(zone,hour)) WITHOUT ROWID;"
         "CREATE TABLE day(zone INT,day INT," VALUES ",PRIMARY KEY(zone,day)) WITHOUT ROWID;"
         "BEGIN");
    sqlite3_stmt *s = prepare("INSERT INTO hour VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (int zone = 1; zone <= HOURS_ZONES; zone++)
        for (int64_t hour = HOURS_BEGIN; hour < HOURS_END; hour++)
            put_hour(s, zone, hour);
    sqlite3_finalize(s);
    exec("INSERT INTO zone SELECT DISTINCT zone FROM hour;"
         "INSERT INTO day SELECT zone,hour/24," SUMS " FROM hour GROUP BY 1,2;"
         "COMMIT");
}

static uint64_t query(void *ctx, int query, int zone)
{
    sqlite3_stmt *s = ((sqlite3_stmt **)ctx)[query];
    hours_span span = hours_query(query);
    uint64_t total = 0;
    sqlite3_bind_int(s, 1, zone);
    sqlite3_bind_int64(s, 2, span.first);
    sqlite3_bind_int64(s, 3, span.first + span.count);
    while (sqlite3_step(s) == SQLITE_ROW)
        for (int i = 0; i <= HOURS_METRICS; i++)
            total += (uint64_t)sqlite3_column_int64(s, i);
    sqlite3_reset(s);
    return total;
}

static void measure(int quick)
{
    sqlite3_stmt *by[4] = {
        NULL,
        prepare("SELECT hour," VALUES " FROM hour WHERE zone=?1 AND hour>=?2 AND hour<?3"
                " ORDER BY hour"),
        prepare("SELECT day," VALUES " FROM day WHERE zone=?1 AND day>=?2 AND day<?3 ORDER BY day"),
        prepare("SELECT day," SUMS " FROM zone CROSS JOIN day ON day.zone=zone.id AND ?1"
                " AND day>=?2 AND day<?3 GROUP BY 1 ORDER BY 1"),
    };
    bench_latency("sqlite", 1, 2000 / quick, query, by);
    bench_latency("sqlite", 2, 2000 / quick, query, by);
    bench_latency("sqlite", 3, 50 / (quick > 2 ? 2 : quick), query, by);
}

int main(int argc, char **argv)
{
    if (argc < 3) bench_fail("usage: bench_w2_sqlite load|time DATABASE [QUICK]");
    if (sqlite3_open(argv[2], &db) != SQLITE_OK) bench_fail("%s", sqlite3_errmsg(db));
    exec("PRAGMA mmap_size=8000000000; PRAGMA cache_size=-200000; PRAGMA temp_store=memory");
    if (strcmp(argv[1], "load") == 0) load();
    else measure(argc > 3 ? (int)bench_number(argv[3], 1, 100) : 1);
    return 0;
}
