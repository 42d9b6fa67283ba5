/* Checksums of a move, computed from the file and queried from the shards, month by month: a month is a partition, so that a
 * shard holds no more than its row numbers in memory. */
#include "store/clickhouse/private.h"
#include "store/usage/country.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <string.h>

/* The weight of a place. The factors are odd, so that no information is lost modulo 2^64. */
#define OF_SCOPE UINT64_C(0x9E3779B97F4A7C15)
#define OF_OWNER UINT64_C(0xC2B2AE3D27D4EB4F)
#define OF_EDGE  UINT64_C(0x165667B19E3779F9)

static tb_code month_at(tb__ch_moved *of, int64_t month, tb__ch_moved_month **ret, tb_error *err)
{
    size_t at = of->n;
    while (at && of->list[at - 1].month >= month)
        at--;
    if (at == of->n || of->list[at].month != month) {
        tb_code code = tb__grow(&of->list, of->n, &of->cap, sizeof *of->list, err);
        if (code) return code;
        memmove(of->list + at + 1, of->list + at, (of->n++ - at) * sizeof *of->list);
        of->list[at] = (tb__ch_moved_month){.month = month};
    }
    *ret = &of->list[at];
    return TB_OK;
}

tb_code tb__ch_moved_day(tb__ch_moved *to, const tb__day_of *of_day, const tb_grid *hours, tb_error *err)
{
    tb__ch_moved_month *month = NULL;
    tb_code code = month_at(to, tb_month_from_day(of_day->day), &month, err);
    const uint64_t place = (uint64_t)of_day->scope * OF_SCOPE + (uint64_t)of_day->owner * OF_OWNER +
                           (uint64_t)of_day->edge * OF_EDGE + (uint64_t)of_day->day * 24;
    for (uint32_t slots = hours->slots; !code && slots; slots &= slots - 1) {
        const unsigned slot = (unsigned)__builtin_ctz(slots);
        month->rows[TB__CH_CELL]++;
        for (uint32_t left = hours->metrics; left; left &= left - 1) {
            const int m = __builtin_ctz(left);
            month->sum[m] += hours->v[m][slot];
            month->weighed[m] += hours->v[m][slot] * (place + slot);
        }
    }
    return code;
}

tb_code tb__ch_moved_countries(tb__ch_moved *to, int64_t zone, int64_t day, const tb__country *list, size_t n,
                               tb_error *err)
{
    tb__ch_moved_month *month = NULL;
    tb_code code = month_at(to, tb_month_from_day(day), &month, err);
    const uint64_t place = (uint64_t)zone * OF_OWNER + (uint64_t)day * OF_EDGE;
    for (size_t i = 0; !code && i < n; i++) {
        month->rows[TB__CH_COUNTRY]++;
        month->country[0] += list[i].requests;
        month->country[1] += list[i].bytes;
        month->country_weighed[0] += list[i].requests * (place + list[i].code);
        month->country_weighed[1] += list[i].bytes * (place + list[i].code);
    }
    return code;
}

/* --- querying --- */

/* Days that the shard has: a month that nothing was sent to is compared with nothing. */
static tb_code add_months(tb_store *store, size_t shard, tb__ch_moved *what, tb__ch_span ids, tb_error *err)
{
    const char *database = tb__ch_of(store)->client->database;
    tb__ch_moved_month *month = NULL;
    tb_buf_fmt(tb__ch_start(store),
               "SELECT DISTINCT day FROM (SELECT toUInt32(intDiv(h,24)) AS day FROM %s.cell WHERE batch>=%" PRId64
               " AND batch<=%" PRId64 " UNION ALL SELECT day FROM %s.country WHERE batch>=%" PRId64
               " AND batch<=%" PRId64 ") FORMAT RowBinary",
               database, ids.first, ids.last, database, ids.first, ids.last);
    tb_code code = tb__ch_query(store, shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut)
        code = month_at(what, tb_month_from_day((int64_t)tb__ch_column(&r, 4)), &month, err);
    return code ? code : tb__ch_check_read(&r, err);
}

static tb_code ask_cells(tb_store *store, size_t shard, int64_t month, tb__ch_span ids, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    tb_buf_str(sql, "SELECT count()");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",sum(c%d),sum(c%d*w)", m, m);
    tb_buf_fmt(sql, " FROM (SELECT toUInt64(scope)*%" PRIu64 "+toUInt64(owner)*%" PRIu64 "+toUInt64(edge)*%" PRIu64
                    "+toUInt64(h) AS w", OF_SCOPE, OF_OWNER, OF_EDGE);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s AS c%d", tb_metric_table[m].name, m);
    tb_buf_fmt(sql, " FROM %s.cell WHERE h>=%" PRId64 " AND h<%" PRId64 " AND batch>=%" PRId64 " AND batch<=%" PRId64
                    " LIMIT 1 BY batch,row) FORMAT RowBinary",
               tb__ch_of(store)->client->database, tb__ch_hour(tb_month_first_day(month) * 24),
               tb__ch_hour(tb_month_first_day(month + 1) * 24), ids.first, ids.last);
    return tb__ch_query(store, shard, err);
}

static tb_code ask_countries(tb_store *store, size_t shard, int64_t month, tb__ch_span ids, tb_error *err)
{
    tb_buf_fmt(tb__ch_start(store),
               "SELECT count(),sum(requests),sum(requests*w),sum(bytes),sum(bytes*w) FROM (SELECT requests,bytes,"
               "toUInt64(zone)*%" PRIu64 "+toUInt64(day)*%" PRIu64 "+toUInt64(country) AS w FROM %s.country WHERE day>=%"
               PRId64 " AND day<%" PRId64 " AND batch>=%" PRId64 " AND batch<=%" PRId64
               " LIMIT 1 BY zone,day,country,batch) FORMAT RowBinary",
               OF_OWNER, OF_EDGE, tb__ch_of(store)->client->database, tb_month_first_day(month),
               tb_month_first_day(month + 1), ids.first, ids.last);
    return tb__ch_query(store, shard, err);
}

/* --- comparing --- */

/* A compared value: its name, and its offset. */
typedef struct compared {
    size_t shard;
    int64_t month;
    const char *name;
} compared;

static tb_code check_sum(const compared *c, uint64_t wanted, uint64_t found, tb_error *err)
{
    char when[20];
    if (wanted == found) return TB_OK;
    tb_time_format(tb_month_first_day(c->month) * TB_US_PER_DAY, when);
    when[7] = 0;
    return tb_fail(err, TB_E_DIFFERENT, "usage",
                   "Usage server %zu has something else than the file, %s: %s is %" PRIu64 " there and %" PRIu64
                   " here. The file was left as it is; the next run sends all of it again.",
                   c->shard + 1, when, c->name, found, wanted);
}

static tb_code check_value(compared *c, const char *name, const uint64_t wanted[2], tb__ch_reader *r, tb_error *err)
{
    char place[80];
    const uint64_t sum = tb__ch_column(r, 8), weighed = tb__ch_column(r, 8);
    c->name = name;
    tb_code code = check_sum(c, wanted[0], sum, err);
    sqlite3_snprintf(sizeof place, place, "where %s lies", name);
    c->name = place;
    return code ? code : check_sum(c, wanted[1], weighed, err);
}

static tb_code compare_month(tb_store *store, compared *c, const tb__ch_moved_month *what, tb__ch_span ids,
                             tb_error *err)
{
    static const char *const names[] = {"requests of countries", "bytes of countries"};
    c->month = what->month;
    c->name = "number of rows";
    tb_code code = ask_cells(store, c->shard, what->month, ids, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    code = check_sum(c, what->rows[TB__CH_CELL], tb__ch_column(&r, 8), err);
    for (int m = 0; !code && m < TB_METRIC_COUNT; m++)
        code = check_value(c, tb_metric_table[m].name, (uint64_t[]){what->sum[m], what->weighed[m]}, &r, err);
    if (!code) code = ask_countries(store, c->shard, what->month, ids, err);
    if (code) return code;
    r = tb__ch_reader_of(tb__ch_of(store));
    c->name = "number of rows of countries";
    code = check_sum(c, what->rows[TB__CH_COUNTRY], tb__ch_column(&r, 8), err);
    for (int i = 0; !code && i < 2; i++)
        code = check_value(c, names[i], (uint64_t[]){what->country[i], what->country_weighed[i]}, &r, err);
    return code;
}

tb_code tb__ch_moved_compare(tb_store *store, size_t shard, tb__ch_moved *what, tb__ch_span ids, tb_error *err)
{
    compared c = {.shard = shard};
    tb_code code = add_months(store, shard, what, ids, err);
    for (size_t i = 0; !code && i < what->n; i++)
        code = compare_month(store, &c, &what->list[i], ids, err);
    return code;
}
