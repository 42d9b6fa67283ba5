/* Verify: everything that is stored twice must agree, and everything that names another thing must
 * find it. In one read transaction, so a running server does not matter.
 *
 * SQLite's own check comes first, then references (a list of queries whose rows are the
 * differences), then the usage (verify_usage.c), then what the segments say they added against what
 * is there. A part that runs into damage is a difference, and the next part goes on. */
#include "store/verify.h"

#include "tollbook/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SENTENCE_MAX 600

void tb__differs(tb__verify *v, const char *fmt, ...)
{
    char sentence[SENTENCE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    v->differences++;
    if (v->say) v->say(v->ctx, sentence);
}

static const char *const text[TB__V_COUNT] = {
#define TB_X(name, sql) [TB__V_##name] = sql,
    TB__VERIFY_STATEMENTS(TB_X)
#undef TB_X
};

tb_code tb__verify_sql(tb__verify *v, tb__verify_statement id, const int64_t *values, int n,
                       sqlite3_stmt **ret, tb_error *err)
{
    sqlite3_stmt **slot = &v->statement[id];
    if (!*slot) {
        int rc = sqlite3_prepare_v2(v->store->db, text[id], -1, slot, NULL);
        if (rc != SQLITE_OK) return tb__sqlite_fail(v->store->db, rc, v->store->path, err);
    }
    sqlite3_reset(*slot);
    for (int i = 0; i < n; i++)
        sqlite3_bind_int64(*slot, i + 1, values[i]);
    *ret = *slot;
    return TB_OK;
}

/* --- the file, and references --- */

/* Each row of a query is a sentence: what is not as it should be. */
static const char *const references[] = {
    "SELECT 'The file: '||integrity_check||'.' FROM pragma_integrity_check(100)"
    " WHERE integrity_check<>'ok'",
    "SELECT format('Table %s, row %s names a row of table %s that is not there.',\"table\","
    "coalesce(rowid,'?'),parent) FROM pragma_foreign_key_check",
    "SELECT format('Series %d is of edge location %d, which is not listed.',id,edge) FROM series"
    " WHERE edge>0 AND edge NOT IN(SELECT id FROM edge)",
    "SELECT format('Series %d is of account %d, which does not exist.',id,owner) FROM series"
    " WHERE scope=2 AND owner NOT IN(SELECT id FROM account)",
    "SELECT format('Series %d is of load balancer %d and has an edge location.',id,owner)"
    " FROM series WHERE scope=3 AND edge<>0",
    "SELECT format('Series %d is used %d times.',id,count(*)) FROM series GROUP BY id"
    " HAVING count(*)>1",
    "SELECT format('Series %d is newer than the last one given, %d.',max(s.id),m.value)"
    " FROM meta m, series s WHERE m.name='series_id' GROUP BY m.name HAVING max(s.id)>m.value",
    "SELECT format('Load balancer %d is attached to pull zone %d, which does not exist.',balancer,"
    "zone) FROM attachment WHERE zone NOT IN(SELECT id FROM zone)",
    "SELECT format('Pull zone %d is attached to load balancer %d, which does not exist.',zone,"
    "balancer) FROM attachment WHERE balancer NOT IN(SELECT id FROM balancer)",
    "SELECT format('Pull zone %d of account %d is attached to load balancer %d of account %d.',"
    "z.id,z.account,b.id,b.account) FROM attachment a JOIN zone z ON z.id=a.zone"
    " JOIN balancer b ON b.id=a.balancer WHERE z.account<>b.account",
    "SELECT format('Pull zone %d has countries and no usage.',zone) FROM country_day"
    " WHERE NOT EXISTS(SELECT 1 FROM series WHERE scope=1 AND owner=zone) GROUP BY zone",
    /* segments */
    "SELECT format('Batch %s: segment %d begins at byte %d; the one before ends at %d.',name,id,"
    "start,before) FROM (SELECT id,name,start,coalesce(lag(length) OVER batch,0) AS before"
    " FROM segment WHERE name IS NOT NULL WINDOW batch AS (PARTITION BY name ORDER BY start))"
    " WHERE start<>before",
    "SELECT format('Batch %s: segment %d begins after line %d; %d lines are before it.',name,id,"
    "lines_before,before) FROM (SELECT id,name,lines_before,"
    "coalesce(lag(lines_before+accepted+rejected) OVER batch,0) AS before"
    " FROM segment WHERE name IS NOT NULL WINDOW batch AS (PARTITION BY name ORDER BY start))"
    " WHERE lines_before<>before",
    "SELECT format('Segment %d begins at byte %d, where no other one ends.',s.id,s.start)"
    " FROM segment s LEFT JOIN segment p ON p.length=s.start AND p.kind=s.kind"
    " AND p.lines_before+p.accepted+p.rejected=s.lines_before AND p.id<s.id"
    " WHERE s.name IS NULL AND s.start>0 AND p.id IS NULL",
    "SELECT format('Segment %d begins at byte 0 after %d lines.',id,lines_before) FROM segment"
    " WHERE start=0 AND lines_before<>0",
    "SELECT format('Segment %d keeps %d refused lines of %d.',s.id,count(*),s.rejected)"
    " FROM reject r JOIN segment s ON s.id=r.segment GROUP BY s.id HAVING count(*)>s.rejected",
    "SELECT format('Segment %d keeps refused line %d, which is not one of its lines.',s.id,r.line)"
    " FROM reject r JOIN segment s ON s.id=r.segment"
    " WHERE r.line<=s.lines_before OR r.line>s.lines_before+s.accepted+s.rejected",
};

/* SQLite's check reports a page that it had no memory for as if the page were damaged. */
static bool lacks_memory(const char *sentence)
{
    static const char code[] = "error code=7"; /* SQLITE_NOMEM */
    const char *at = strstr(sentence, code);
    return at && (at[sizeof code - 1] < '0' || at[sizeof code - 1] > '9');
}

/* Table-valued pragmas are how the file's own checks become rows; a reader may use them. */
static tb_code verify_one_reference(tb__verify *v, const char *sql, tb_error *err)
{
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(v->store->db, sql, -1, &s, NULL);
    if (rc != SQLITE_OK) return tb__sqlite_fail(v->store->db, rc, v->store->path, err);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        const char *sentence = (const char *)sqlite3_column_text(s, 0);
        if (!sentence || lacks_memory(sentence)) {
            rc = SQLITE_NOMEM;
            break;
        }
        tb__differs(v, "%s", sentence);
    }
    tb_code code =
        rc == SQLITE_DONE ? TB_OK : tb__sqlite_fail(v->store->db, rc, v->store->path, err);
    sqlite3_finalize(s);
    return code;
}

/* Damage is what verify looks for; everything else stops it. */
static tb_code note_damage(tb__verify *v, tb_code code, const tb_error *err)
{
    if (code != TB_E_CORRUPT && code != TB_E_NOT_OURS) return code;
    v->damaged = true;
    tb__differs(v, "%s", err->message);
    return TB_OK;
}

static tb_code verify_references(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof references / sizeof *references; i++)
        code = note_damage(v, verify_one_reference(v, references[i], err), err);
    return code;
}

/* --- what the segments added --- */

/* Decimal digits alone, up to 38 of them: no sum of counters is longer. */
static bool parse_sum(const char *digits, int len, tb_u128 *ret)
{
    tb_u128 value = 0;
    if (!digits || len < 1 || len >= TB_U128_TEXT_MAX) return false;
    for (int i = 0; i < len; i++) {
        if (digits[i] < '0' || digits[i] > '9') return false;
        value = value * 10 + (unsigned)(digits[i] - '0');
    }
    *ret = value;
    return true;
}

static int metric_named(const char *name)
{
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (strcmp(tb_metric_table[m].name, name) == 0) return m;
    return -1;
}

static tb_code add_segments(tb__verify *v, tb_u128 sums[TB_METRIC_COUNT], tb_error *err)
{
    sqlite3_stmt *s = NULL;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_SUMS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        bool null = sqlite3_column_type(s, 2) == SQLITE_NULL;
        const char *name = (const char *)sqlite3_column_text(s, 1);
        const char *digits = (const char *)sqlite3_column_text(s, 2);
        if (!name || (!digits && !null)) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
        int m = metric_named(name);
        tb_u128 sum;
        if (m < 0 || tb_metric_table[m].how != TB_HOW_SUM ||
            !parse_sum(digits, sqlite3_column_bytes(s, 2), &sum))
            tb__differs(v, "Segment %lld: its sum of %s cannot be read.",
                        (long long)sqlite3_column_int64(s, 0), name);
        else
            sums[m] += sum;
    }
    return code;
}

static tb_code verify_sums(tb__verify *v, tb_error *err)
{
    tb_u128 added[TB_METRIC_COUNT] = {0};
    tb_code code = add_segments(v, added, err);
    for (int m = 0; !code && !v->damaged && m < TB_METRIC_COUNT; m++) {
        if (tb_metric_table[m].how != TB_HOW_SUM || added[m] == v->sums[m]) continue;
        char expected[TB_U128_TEXT_MAX + 1], found[TB_U128_TEXT_MAX + 1];
        *tb_put_u128(expected, added[m]) = 0;
        *tb_put_u128(found, v->sums[m]) = 0;
        tb__differs(v, "All batches together added %s of %s; the hours sum to %s.", expected,
                    tb_metric_table[m].name, found);
    }
    return code;
}

static tb_code verify_newest(tb__verify *v, tb_error *err)
{
    int64_t newest = 0;
    tb_code code = tb__meta_get(v->store, "newest_hour", &newest, err);
    if (!code && !v->damaged && newest != v->newest_hour)
        tb__differs(v, "The newest hour is noted as %lld hours since 1970; it is %lld.",
                    (long long)newest, (long long)v->newest_hour);
    return code;
}

/* --- the whole --- */

static tb_code verify_all(tb__verify *v, tb_error *err)
{
    static tb_code (*const parts[])(tb__verify *, tb_error *) = {
        verify_references,    tb__verify_zones, tb__verify_accounts,
        tb__verify_balancers, verify_sums,      verify_newest,
    };
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++)
        code = note_damage(v, parts[i](v, err), err);
    return code;
}

tb_code tb_store_verify(tb_store *store, tb_say say, void *ctx, uint64_t *ret_differences,
                        tb_error *err)
{
    tb__verify v = {.store = store, .say = say, .ctx = ctx, .newest_hour = TB__NO_HOUR};
    tb_error own;
    if (!err) err = &own; /* the parts' sentences are needed */
    bool own_snapshot = sqlite3_get_autocommit(store->db);
    tb_code code = own_snapshot ? tb_store_read_begin(store, err) : TB_OK;
    if (!code) code = verify_all(&v, err);
    for (int i = 0; i < TB__V_COUNT; i++)
        sqlite3_finalize(v.statement[i]);
    if (own_snapshot) tb_store_read_end(store);
    if (!code) *ret_differences = v.differences;
    return code;
}
