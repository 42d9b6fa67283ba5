/* Sorted runs of request logs: appending, listing and dropping them. See log_run.h. */
#include "store/logs/log_run.h"

#include "store/core/seal.h"
#include "store/logs/blocks.h"

#include <stdlib.h>

#define OBSOLETE_AT_ONCE 16 /* runs that are deleted when one is appended */

/* --- rows --- */

int64_t tb__seal_log_run(const tb__log_run *run, tb_text zones, tb_text data)
{
    const int64_t numbers[] = {run->id, run->first_ms, run->last_ms, run->lines,
                               (int64_t)zones.len, (int64_t)data.len};
    int64_t seal = tb__seal(numbers, sizeof numbers, 0);
    seal = tb__seal(zones.data, zones.len, seal);
    return tb__seal(data.data, data.len, seal);
}

static tb_code read_state(tb_store *store, tb__log_runs *runs, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_RUN_STATE, NULL, 0, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *runs = (tb__log_runs){.obsolete = sqlite3_column_int64(s, 0),
                           .at = {sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2)}};
    sqlite3_reset(s);
    return TB_OK;
}

static tb_code run_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb__log_run *run = item;
    (void)err;
    *run = (tb__log_run){.id = sqlite3_column_int64(s, 0),
                         .lines = sqlite3_column_int64(s, 1),
                         .first_ms = sqlite3_column_int64(s, 2),
                         .last_ms = sqlite3_column_int64(s, 3),
                         .seal = sqlite3_column_int64(s, 4)};
    return TB_OK;
}

static tb_code list_between(tb_store *store, int64_t behind, int64_t through, int64_t most,
                            tb__log_runs *runs, tb_error *err)
{
    static const tb__rows rows = {sizeof(tb__log_run), run_from, NULL};
    const int64_t values[3] = {behind, through, most};
    return tb__collect_ints(store, TB__SQL_LOG_RUNS, values, 3, &rows, &runs->run, &runs->n, err);
}

tb_code tb__log_runs_list(tb_store *store, bool obsolete, tb__log_runs *ret_runs, tb_error *err)
{
    tb_code code = read_state(store, ret_runs, err);
    return code ? code
                : list_between(store, obsolete ? 0 : ret_runs->obsolete, INT64_MAX, -1, ret_runs, err);
}

static tb_text blob(sqlite3_stmt *s, int column)
{
    const void *data = sqlite3_column_blob(s, column);
    return (tb_text){data ? data : "", (size_t)sqlite3_column_bytes(s, column)};
}

tb_code tb__log_run_read(tb_store *store, const tb__log_run *run, sqlite3_stmt **ret_row,
                         tb__log_directory *ret_directory, tb_text *ret_block, tb_error *err)
{
    bool row;
    tb_code code =
        tb__sql_ints(store, ret_block ? TB__SQL_LOG_RUN_GET : TB__SQL_LOG_RUN_ZONES, &run->id, 1, ret_row, err);
    if (!code) code = tb__step(store, *ret_row, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_CORRUPT, "log_run", "A run of waiting request logs is gone.");
    const tb_text zones = blob(*ret_row, 0);
    if (ret_block) *ret_block = blob(*ret_row, 1);
    if (sqlite3_errcode(store->db) == SQLITE_NOMEM) code = tb_no_memory(err);
    if (!code) code = tb__log_directory_open(ret_directory, zones.data, zones.len, (size_t)run->lines, err);
    if (code) sqlite3_reset(*ret_row);
    return code;
}

static tb_code insert_run(tb_store *store, const tb_logmixed *mixed, int64_t *ret_id, tb_error *err)
{
    tb__log_run run = {.lines = mixed->info.lines,
                       .first_ms = mixed->info.first_ms,
                       .last_ms = mixed->info.last_ms};
    sqlite3_stmt *s;
    tb_code code = tb__next_id(store, TB__SQL_LOG_RUN_NEXT, "log_run", &run.id, err);
    if (code) return code;
    run.seal = tb__seal_log_run(&run, mixed->directory, mixed->block);
    const int64_t row[5] = {run.id, run.first_ms, run.last_ms, run.lines, run.seal};
    code = tb__sql_ints(store, TB__SQL_LOG_RUN_INSERT, row, 5, &s, err);
    if (code) return code;
    sqlite3_bind_blob64(s, 6, mixed->directory.data, mixed->directory.len, SQLITE_STATIC);
    sqlite3_bind_blob64(s, 7, mixed->block.data, mixed->block.len, SQLITE_STATIC);
    code = tb__run(store, s, err);
    tb__seal_come(&store->seal_sums, TB__SUM_LOG_RUNS, run.seal);
    store->dirty = true;
    *ret_id = run.id;
    return code;
}

tb_code tb__log_run_delete(tb_store *store, const tb__log_run *run, tb_error *err)
{
    tb__seal_gone(&store->seal_sums, TB__SUM_LOG_RUNS, run->seal);
    store->dirty = true;
    return tb__run_ints(store, TB__SQL_LOG_RUN_DELETE, &run->id, 1, err);
}

/* --- in --- */

tb_code tb__log_runs_delete_obsolete(tb_store *store, int64_t lines, tb_error *err)
{
    tb__log_runs runs = {0};
    tb_code code = read_state(store, &runs, err);
    if (!code && runs.obsolete) code = list_between(store, 0, runs.obsolete, OBSOLETE_AT_ONCE, &runs, err);
    for (size_t i = 0; !code && i < runs.n && lines > 0; i++) {
        code = tb__log_run_delete(store, &runs.run[i], err);
        lines -= runs.run[i].lines;
    }
    free(runs.run);
    return code;
}

static tb_code append_run(tb_store *store, const tb_logmixed *mixed, bool begin, tb_error *err)
{
    int64_t id = 0;
    tb_code code = tb__log_runs_delete_obsolete(store, mixed->info.lines, err); /* the new run takes their pages */
    if (!code) code = insert_run(store, mixed, &id, err);
    return code ? code : tb__log_maintain(store, (tb__log_appended){id, mixed->info.lines, begin}, err);
}

tb_code tb__log_append_mixed(tb_store *store, const tb_logmixed *mixed, tb_error *err)
{
    tb__log_directory d;
    tb_code code = tb__log_directory_open(&d, mixed->directory.data, mixed->directory.len, mixed->info.lines, err);
    return code ? code : append_run(store, mixed, false, err);
}

static tb_code append_alone(tb_store *store, const tb_loginfo *info, tb_text block, bool begin, tb_error *err)
{
    tb_buf directory;
    const uint64_t place = 0;
    tb_buf_init(&directory, TB__LOG_DIRECTORY_MAX, NULL);
    tb__log_directory_put(&info->zone, 1, &place, info->lines, block, &directory);
    tb_code code = tb_buf_check(&directory, err);
    const tb_logmixed mixed = {*info, {directory.data, directory.len}, block};
    if (!code) code = append_run(store, &mixed, begin, err);
    tb_buf_release(&directory);
    return code;
}

/* Whether pending blocks, including a new one, are mostly too large to be joined. */
static bool is_large(const tb__log_runs *runs, int64_t lines)
{
    for (size_t i = 0; i < runs->n; i++)
        lines += runs->run[i].lines;
    return lines > (int64_t)(runs->n + 1) * (TB_LOGBLOCK_LINES / 2);
}

tb_code tb__log_append_block(tb_store *store, const tb_loginfo *info, tb_text block, bool *ret_pending,
                             tb_error *err)
{
    tb__log_runs runs = {0};
    int64_t any = 0;
    *ret_pending = false;
    tb_code code = tb__int_of(store, TB__SQL_LOG_RUN_ANY, NULL, 0, 0, &any, err);
    if (code || !any) return code;
    code = tb__log_runs_list(store, false, &runs, err);
    if (code) return code;
    *ret_pending = runs.n > 0;
    const bool large = is_large(&runs, info->lines);
    free(runs.run);
    return *ret_pending ? append_alone(store, info, block, large, err) : TB_OK;
}

/* --- out --- */

tb_code tb__log_runs_drop(tb_store *store, int64_t before_ms, size_t *room, uint64_t *ret_dropped,
                          tb_error *err)
{
    tb__log_runs runs = {0};
    int64_t any = 0;
    *ret_dropped = 0;
    tb_code code = tb__int_of(store, TB__SQL_LOG_RUN_ANY, NULL, 0, 0, &any, err);
    if (!code && any) code = tb__log_runs_list(store, true, &runs, err);
    for (size_t i = 0; !code && i < runs.n && *room; i++) {
        if (runs.run[i].last_ms >= before_ms) continue;
        code = tb__log_run_delete(store, &runs.run[i], err);
        --*room;
        *ret_dropped += runs.run[i].id > runs.obsolete;
        store->scrub = true;
    }
    free(runs.run);
    return code;
}

/* Counts the run's lines of the zones, ascending. Lines of zones below `from` are not pending. */
static void count_zones(const tb__log_directory *d, const int64_t *zones, size_t n, int64_t from, int64_t run,
                    tb__log_held *held)
{
    uint32_t place;
    for (size_t i = 0; i < n; i++) {
        if (!tb__log_directory_find(d, zones[i], &place)) continue;
        held->blocks += zones[i] >= from;
        held->last = run;
    }
}

tb_code tb__log_runs_held(tb_store *store, int64_t account, tb__log_held *ret_held, tb_error *err)
{
    tb__log_runs runs = {0};
    int64_t *zones = NULL;
    size_t n = 0;
    *ret_held = (tb__log_held){0, 0};
    tb_code code = tb__log_runs_list(store, true, &runs, err);
    if (!code && runs.n) code = tb__list_ints(store, TB__SQL_LOG_RUN_ACCOUNT, &account, 1, &zones, &n, err);
    for (size_t i = 0; !code && i < runs.n; i++) {
        const tb__log_run *run = &runs.run[i];
        tb__log_directory d;
        sqlite3_stmt *s;
        code = tb__log_run_read(store, run, &s, &d, NULL, err);
        if (code) break;
        count_zones(&d, zones, n, tb__log_pending_from(&runs, run->id), run->id, ret_held);
        sqlite3_reset(s);
    }
    free(zones);
    free(runs.run);
    return code;
}
