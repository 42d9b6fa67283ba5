/* Alerts: the accounts with alerts, and the raised ones. A row is one time that an alert was raised; the last row of an
 * alert is its state. Answers and bills do not depend on it, so the data version stays. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/alerts.h"
#include "store/core/internal.h"
#include "tollbook/alertstore.h"

/* --- declared alerts --- */

tb_code tb_store_alert_accounts(tb_store *store, int64_t after, int64_t limit, int64_t **ret_accounts,
                                size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {after, limit};
    return tb__list_ints(store, TB__SQL_ALERT_ACCOUNTS, values, 2, ret_accounts, ret_n, err);
}

static tb_code read_rules(const tb__document *doc, int64_t account, tb_alert_rule *ret, size_t *ret_n,
                          tb_error *err)
{
    const uint32_t at = tb__declared_member(doc, 0, "alerts");
    tb__fault fault = {.path = ""};
    if (!at || tb__declared_alerts(doc, at, ret, ret_n, &fault)) return TB_OK;
    return tb_fail(err, TB_E_DECLARED, fault.path,
                   "Account %" PRId64 ": alerts%s cannot be read. Apply a catalogue with such a value.",
                   account, fault.path);
}

static tb_code parse_rules(const char *text, size_t len, int64_t account, tb_alert_rule *ret,
                           size_t *ret_n, tb_error *err)
{
    tb__arena strings;
    tb__document doc;
    if (!text) return tb_no_memory(err);
    tb__arena_init(&strings, NULL);
    tb_code code = tb__document_parse(text, len, TB_E_CORRUPT, &strings, NULL, &doc, err);
    if (!code) {
        code = read_rules(&doc, account, ret, ret_n, err);
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    return code;
}

static tb_code read_declared(tb_store *store, int64_t account, tb_alert_rule *ret, size_t *ret_n, bool *ret_there,
                             tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret_n = 0;
    *ret_there = false;
    tb_code code = tb__sql_ints(store, TB__SQL_ACCOUNT_GET, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret_there = sqlite3_column_int64(s, 1) == INT64_MAX;
    if (*ret_there)
        code = parse_rules((const char *)sqlite3_column_text(s, 0), (size_t)sqlite3_column_bytes(s, 0),
                           account, ret, ret_n, err);
    sqlite3_reset(s);
    return code;
}

static bool has_id(const tb_alert_rule *rules, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rules[i].id, id) == 0) return true;
    return false;
}

static tb_code read_own(tb_store *store, int64_t account, tb_alert_rule *ret, size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret_n = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_OWN_ALERTS, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (row && sqlite3_column_type(s, 0) != SQLITE_NULL)
        code = parse_rules((const char *)sqlite3_column_text(s, 0), (size_t)sqlite3_column_bytes(s, 0),
                           account, ret, ret_n, err);
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_alert_rules(tb_store *store, int64_t account, tb_alert_rule ret_rules[TB_ALERTS_MAX],
                             size_t *ret_n, tb_error *err)
{
    tb_alert_rule own[TB_ALERTS_MAX];
    size_t n = 0, declared;
    bool there = false;
    tb_code code = read_declared(store, account, ret_rules, &declared, &there, err);
    *ret_n = declared;
    if (code || !there) return code;
    code = read_own(store, account, own, &n, err);
    for (size_t i = 0; !code && i < n && *ret_n < TB_ALERTS_MAX; i++) {
        if (has_id(ret_rules, declared, own[i].id)) continue;
        own[i].own = true;
        ret_rules[(*ret_n)++] = own[i];
    }
    return code;
}

/* --- own alerts --- */

static tb_code parse_own(const char *document, tb_alert_rule *ret, tb_error *err)
{
    tb_alert_rule rules[TB_ALERTS_MAX];
    tb__arena strings;
    tb__document doc;
    tb__fault fault = {.path = ""};
    size_t n = 0;
    tb_buf list;
    tb_buf_init(&list, 4096, NULL);
    tb_buf_fmt(&list, "[%s]", document);
    tb__arena_init(&strings, NULL);
    tb_code code = tb_buf_check(&list, err);
    if (!code) code = tb__document_parse(list.data, list.len, TB_E_VALIDATION, &strings, NULL, &doc, err);
    if (!code) {
        if (!tb__declared_alerts(&doc, 0, rules, &n, &fault)) {
            const char *field = fault.path + sizeof "[0]." - 1; /* of the only one */
            code = fault.wanted ? tb_fail(err, TB_E_VALIDATION, field, "It must be %s.", fault.wanted)
                                : tb_fail(err, TB_E_VALIDATION, field, "An alert of this kind has no %s.", field);
        }
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    tb_buf_release(&list);
    if (!code) *ret = rules[0];
    return code;
}

tb_code tb_store_own_alert_set(tb_store *store, int64_t account, const char *document, tb_error *err)
{
    tb_alert_rule rule, declared[TB_ALERTS_MAX], own[TB_ALERTS_MAX];
    size_t n_declared = 0, n = 0;
    bool there = false;
    sqlite3_stmt *s;
    tb_code code = parse_own(document, &rule, err);
    if (!code) code = read_declared(store, account, declared, &n_declared, &there, err);
    if (!code && !there) code = tb_store_need_account(store, account, err);
    if (!code) code = read_own(store, account, own, &n, err);
    if (code) return code;
    if (has_id(declared, n_declared, rule.id))
        return tb_fail(err, TB_E_VALIDATION, "id", "The catalogue declares an alert %s: give yours another id.", rule.id);
    if (!has_id(own, n, rule.id) && n_declared + n >= TB_ALERTS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "id", "An account has at most %d alerts, and this one has them.", TB_ALERTS_MAX);
    code = tb__sql(store, TB__SQL_OWN_ALERT_SET, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, account);
    sqlite3_bind_text(s, 2, rule.id, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, document, -1, SQLITE_STATIC);
    return tb__run(store, s, err);
}

tb_code tb_store_own_alert_drop(tb_store *store, int64_t account, const char *id, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_OWN_ALERT_DROP, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, account);
    sqlite3_bind_text(s, 2, id, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    sqlite3_reset(s);
    if (!code && !row)
        code = tb_fail(err, TB_E_NOT_FOUND, "id", "Account %" PRId64 " has set no alert \"%.64s\".", account, id);
    return code;
}

/* --- raised alerts --- */

/* Columns: TB__C_alert. */
static tb_code alert_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_alert_state *a = item;
    char kind[24];
    *a = (tb_alert_state){.id = sqlite3_column_int64(s, 0),
                          .account = sqlite3_column_int64(s, 1),
                          .month = sqlite3_column_int64(s, 4),
                          .raised_us = sqlite3_column_int64(s, 7),
                          .cleared_us = sqlite3_column_int64(s, 8),
                          .kind = TB_ALERT_KIND_COUNT};
    tb_code code = tb__copy_text(s, 2, a->alert, sizeof a->alert, err);
    if (!code) code = tb__copy_text(s, 3, kind, sizeof kind, err);
    if (!code) code = tb__copy_text(s, 5, a->limit, sizeof a->limit, err);
    if (!code) code = tb__copy_text(s, 6, a->seen, sizeof a->seen, err);
    if (!code) code = tb__copy_text(s, 9, a->raised, sizeof a->raised, err);
    if (!code) code = tb__copy_text(s, 10, a->cleared, sizeof a->cleared, err);
    if (!code) code = tb__copy_text(s, 11, a->data, sizeof a->data, err);
    for (int k = 0; !code && k < TB_ALERT_KIND_COUNT; k++)
        if (strcmp(kind, tb_alert_kind_name((tb_alert_kind)k)) == 0) a->kind = (tb_alert_kind)k;
    if (!code && a->kind == TB_ALERT_KIND_COUNT)
        code = tb_fail(err, TB_E_CORRUPT, "alert", "Alert %" PRId64 ": its kind cannot be read.", a->id);
    return code;
}

static const tb__rows alert_rows = {sizeof(tb_alert_state), alert_from, NULL};

tb_code tb_store_alerts_last(tb_store *store, int64_t account, tb_alert_state **ret_states,
                             size_t *ret_n, tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_ALERTS_LAST, &account, 1, &alert_rows, ret_states, ret_n,
                            err);
}

tb_code tb_store_alerts(tb_store *store, int64_t account, int64_t limit, tb_alert_state **ret_states,
                        size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {limit, account};
    return tb__collect_ints(store, account ? TB__SQL_ALERTS_OF : TB__SQL_ALERTS, values,
                            account ? 2 : 1, &alert_rows, ret_states, ret_n, err);
}

tb_code tb_store_alert_raise(tb_store *store, tb_alert_state *a, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_ALERT_INSERT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, a->account);
    sqlite3_bind_text(s, 2, a->alert, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, tb_alert_kind_name(a->kind), -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, a->month);
    sqlite3_bind_text(s, 5, a->limit, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 6, a->seen, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 7, a->raised_us);
    sqlite3_bind_text(s, 8, a->raised, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 9, a->data, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (!code && row) a->id = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_alert_clear(tb_store *store, const tb_alert_state *a, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_ALERT_CLEAR, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, a->id);
    sqlite3_bind_int64(s, 2, a->cleared_us);
    sqlite3_bind_text(s, 3, a->cleared, -1, SQLITE_STATIC);
    return tb__run(store, s, err);
}

tb_code tb_store_alert_said(tb_store *store, const tb_alert_state *a, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_ALERT_SAID, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, a->id);
    sqlite3_bind_text(s, 2, a->raised, -1, SQLITE_STATIC);
    return tb__run(store, s, err);
}

/* --- whether anything has changed --- */

static tb_code hash_document(tb_store *store, int64_t account, uint64_t *mark, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_ACCOUNT_GET, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    const void *text = sqlite3_column_text(s, 0);
    const int64_t deleted = sqlite3_column_int64(s, 1);
    if (text) *mark = XXH3_64bits_withSeed(text, (size_t)sqlite3_column_bytes(s, 0), *mark);
    *mark = XXH3_64bits_withSeed(&deleted, sizeof deleted, *mark);
    sqlite3_reset(s);
    return text ? TB_OK : tb_no_memory(err);
}

static tb_code hash_own(tb_store *store, int64_t account, uint64_t *mark, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_OWN_ALERTS, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    const void *text = row ? sqlite3_column_text(s, 0) : NULL; /* NULL: there are none */
    if (text) *mark = XXH3_64bits_withSeed(text, (size_t)sqlite3_column_bytes(s, 0), *mark);
    sqlite3_reset(s);
    return TB_OK;
}

static tb_code hash_usage(tb_store *store, int64_t account, int64_t month, uint64_t *mark,
                          tb_error *err)
{
    const int64_t first = tb_month_first_day(month);
    const tb_range range = {.first = first, .count = (uint32_t)(tb_month_first_day(month + 1) - first)};
    const tb_view view = {account, TB_ALL, TB_ALL};
    tb_series series;
    tb_code code = tb_series_init(&series, range, 1u << TB_M_BYTES | 1u << TB_M_REQUESTS, NULL, err);
    if (code) return code;
    code = tb_store_read_series(store, &view, &series, err);
    const tb_u128 sums[2] = {tb_series_total(&series, TB_M_BYTES), tb_series_total(&series, TB_M_REQUESTS)};
    if (!code) *mark = XXH3_64bits_withSeed(sums, sizeof sums, *mark);
    tb_series_release(&series);
    return code;
}

tb_code tb_store_alert_mark(tb_store *store, int64_t account, int64_t month, uint64_t *ret_mark,
                            tb_error *err)
{
    uint64_t mark = (uint64_t)month, version = 0; /* of all usage: meters have no sums that cost as little */
    int64_t last = 0, metered = 0;
    tb_code code = hash_document(store, account, &mark, err);
    if (!code) code = hash_own(store, account, &mark, err);
    if (!code) code = tb__int_of(store, TB__SQL_ALERT_LEDGER, &account, 1, 0, &last, err);
    if (!code) mark = XXH3_64bits_withSeed(&last, sizeof last, mark);
    if (!code) code = hash_usage(store, account, month, &mark, err);
    if (!code) code = tb__int_of(store, TB__SQL_ALERT_METERED, &account, 1, 0, &metered, err);
    if (!code && metered) code = tb_store_version(store, &version, err);
    if (!code && metered) mark = XXH3_64bits_withSeed(&version, sizeof version, mark);
    if (!code) *ret_mark = mark;
    return code;
}
