/* Scenarios by name: rows that are only ever added. A text that is its name's newest one is not added again; an
 * earlier one is, so that the name alone always means the text stored last. No answer depends on them: the data
 * version stays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/money/billing.h"
#include "tollbook/bookstore.h"

static tb_code is_last(tb_store *store, const char *name, const char sha256[65], bool *ret,
                       tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_SCENARIO_LAST, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (code) return code;
    const char *last = row ? (const char *)sqlite3_column_text(s, 0) : "";
    if (!last) code = tb_no_memory(err);
    else
        *ret = strcmp(last, sha256) == 0;
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_add_scenario(tb_store *store, const tb_scenario *scenario, int64_t now_us,
                              bool *ret_known, tb_error *err)
{
    sqlite3_stmt *s;
    bool known = false;
    tb_code code = is_last(store, scenario->name, scenario->sha256, &known, err);
    if (!code && !known) code = tb__sql(store, TB__SQL_SCENARIO_INSERT, &s, err);
    if (code) return code;
    if (!known) {
        sqlite3_bind_text(s, 1, scenario->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 2, scenario->sha256, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 3, now_us);
        sqlite3_bind_text(s, 4, scenario->canonical, (int)scenario->canonical_len, SQLITE_STATIC);
        code = tb__run(store, s, err);
        if (code) return code;
    }
    *ret_known = known;
    return TB_OK;
}

/* --- reading --- */

void tb_stored_scenario_release(tb_stored_scenario *scenario)
{
    free(scenario->text);
    *scenario = (tb_stored_scenario){.text = NULL};
}

static tb_code from_row(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_stored_scenario *ret = item;
    const char *name = (const char *)sqlite3_column_text(s, 0);
    const char *sha256 = (const char *)sqlite3_column_text(s, 1);
    const char *text = (const char *)sqlite3_column_text(s, 3);
    size_t len = (size_t)sqlite3_column_bytes(s, 3);
    tb_stored_scenario out = {.added_us = sqlite3_column_int64(s, 2), .text_len = len};
    out.text = text ? malloc(len + 1) : NULL;
    if (!name || !sha256 || !out.text) return tb_no_memory(err);
    snprintf(out.name, sizeof out.name, "%s", name);
    snprintf(out.sha256, sizeof out.sha256, "%s", sha256);
    memcpy(out.text, text, len);
    out.text[len] = 0;
    *ret = out;
    return TB_OK;
}

/* The statement's first row; a further one of another hash is `ambiguous`. */
static tb_code first_of(tb_store *store, sqlite3_stmt *s, tb_stored_scenario *ret, bool *ret_found,
                        bool *ret_ambiguous, tb_error *err)
{
    bool row = false;
    tb_code code = tb__step(store, s, &row, err);
    *ret_found = row;
    *ret_ambiguous = false;
    if (code || !row) return code;
    code = from_row(s, ret, err);
    if (code) {
        sqlite3_reset(s);
        return code;
    }
    while (!(code = tb__step(store, s, &row, err)) && row) {
        const char *other = (const char *)sqlite3_column_text(s, 1);
        if (other && strcmp(other, ret->sha256) != 0) *ret_ambiguous = true;
    }
    if (code) tb_stored_scenario_release(ret);
    return code;
}

static tb_code not_found(const char *name, tb_error *err)
{
    return tb_fail(err, TB_E_NOT_FOUND, "scenario",
                   "No scenario \"%.*s\" is stored. See: tollbook scenario list",
                   TB_SCENARIO_NAME_MAX + 66, name);
}

tb_code tb_store_scenario(tb_store *store, const char *name, tb_stored_scenario *ret_scenario,
                          tb_error *err)
{
    const char *at = strchr(name, '@'), *hash = at ? at + 1 : "";
    size_t len = at ? (size_t)(at - name) : strlen(name);
    sqlite3_stmt *s;
    bool found = false, ambiguous = false;
    if (at && strlen(hash) < TB_SCENARIO_HASH_MIN)
        return tb_fail(err, TB_E_VALIDATION, "scenario",
                       "At least %d digits of the scenario's SHA-256 must follow \"@\".",
                       TB_SCENARIO_HASH_MIN);
    if (len > TB_SCENARIO_NAME_MAX) return not_found(name, err);
    tb_code code = tb__sql(store, TB__SQL_SCENARIO_NAMED, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, (int)len, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, hash, -1, SQLITE_STATIC);
    code = first_of(store, s, ret_scenario, &found, &ambiguous, err);
    if (code) return code;
    if (!found) return not_found(name, err);
    if (!at || !ambiguous) return TB_OK;
    tb_stored_scenario_release(ret_scenario);
    return tb_fail(err, TB_E_VALIDATION, "scenario",
                   "%s matches several stored texts; give more of its SHA-256.", name);
}

static void release_scenario(void *item)
{
    tb_stored_scenario_release(item);
}

static const tb__rows scenario_rows = {sizeof(tb_stored_scenario), from_row, release_scenario};

tb_code tb_store_scenarios(tb_store *store, tb_stored_scenario **ret_scenarios, size_t *ret_n,
                           tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_SCENARIOS, NULL, 0, &scenario_rows, ret_scenarios, ret_n,
                            err);
}
