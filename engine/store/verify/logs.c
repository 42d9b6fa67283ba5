/* Verify, request logs: each block's seal, and that it can be read and matches its row; the sum of all seals, which
 * shows a lost block; and each block's entry in the R*Tree. The same for pending runs, with their directories. */
#include "store/core/seal.h"
#include "store/logs/log_run.h"
#include "store/verify/verify.h"
#include "tollbook/logstore.h"

#include <inttypes.h>

#define HOUR_MS INT64_C(3600000)

/* The columns of a row of TB__V_LOG_BLOCKS. */
enum { ID, ZONE, FIRST, LAST, LINES, SEAL, DATA, SPAN };

static void verify_span(tb__verify *v, sqlite3_stmt *s, int64_t id, int64_t zone)
{
    const int64_t place = tb__log_tree_zone(zone);
    const int64_t wanted[] = {place, place,
                              tb__floor_div(sqlite3_column_int64(s, FIRST), HOUR_MS),
                              tb__floor_div(sqlite3_column_int64(s, LAST), HOUR_MS)};
    for (int i = 0; i < 4; i++) {
        if (sqlite3_column_type(s, SPAN + i) == SQLITE_INTEGER &&
            sqlite3_column_int64(s, SPAN + i) == wanted[i])
            continue;
        tb__differs(v, "The index of request logs does not hold block %" PRId64 " as it is.", id);
        return;
    }
}

/* Every line of the block is read. */
static tb_code read_all(tb_logblock *block, tb_error *err)
{
    tb_loginfo info;
    tb_logrow row;
    tb_code code = TB_OK;
    tb_logblock_info(block, &info);
    for (size_t i = 0; !code && i < info.lines; i++)
        code = tb_logblock_row(block, i, &row, err);
    return code;
}

static tb_code verify_block(tb__verify *v, sqlite3_stmt *s, tb_logblock *block, uint64_t *sum,
                            tb_error *err)
{
    const int64_t id = sqlite3_column_int64(s, ID), zone = sqlite3_column_int64(s, ZONE);
    const int64_t first = sqlite3_column_int64(s, FIRST), last = sqlite3_column_int64(s, LAST);
    const int64_t lines = sqlite3_column_int64(s, LINES), seal = sqlite3_column_int64(s, SEAL);
    const void *data = sqlite3_column_blob(s, DATA);
    const size_t len = (size_t)sqlite3_column_bytes(s, DATA);
    tb_loginfo info = {0};
    if (!data && len) return tb_no_memory(err);
    *sum += (uint64_t)seal;
    if (seal != tb__seal_log(id, zone, first, last, lines, data, len))
        tb__differs(v, "Block %" PRId64 " of request logs is not as it was sealed.", id);
    tb_code code = tb_logblock_open(block, data ? data : "", len, zone, err);
    if (!code) tb_logblock_info(block, &info);
    if (!code) code = read_all(block, err);
    if (code == TB_E_CORRUPT)
        tb__differs(v, "Block %" PRId64 " of request logs cannot be read.", id);
    else if (code) return code;
    else if (info.first_ms != first || info.last_ms != last || info.lines != lines)
        tb__differs(v, "Block %" PRId64 " of request logs is not what its row says.", id);
    verify_span(v, s, id, zone);
    return TB_OK;
}

static tb_code verify_blocks(tb__verify *v, tb_logblock *block, tb_error *err)
{
    sqlite3_stmt *s = NULL;
    bool row = true;
    uint64_t sum = 0;
    int64_t noted = 0;
    tb_code code = tb__verify_sql(v, TB__V_LOG_BLOCKS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        code = verify_block(v, s, block, &sum, err);
    if (!code) code = tb__meta_get(v->store, "log_seals", &noted, err);
    if (!code && (int64_t)(sum & INT64_MAX) != noted)
        tb__differs(v, "The blocks of request logs are not all those that were written.");
    return code;
}

/* --- runs --- */

/* The columns of a row of TB__V_LOG_RUNS. */
enum { R_ID, R_LINES, R_FIRST, R_LAST, R_SEAL, R_ZONES, R_DATA };

static tb_code blob(sqlite3_stmt *s, int column, tb_text *ret, tb_error *err)
{
    const void *data = sqlite3_column_blob(s, column);
    *ret = (tb_text){data ? data : "", (size_t)sqlite3_column_bytes(s, column)};
    return data || !ret->len ? TB_OK : tb_no_memory(err);
}

/* Whether directory and block are valid and match the row. TB_E_CORRUPT: they cannot be read. */
static tb_code check_run(const tb__log_run *run, tb_text zones, tb_text data, tb_logblock *block,
                         bool *ret_agrees, tb_error *err)
{
    tb__log_directory d;
    tb_loginfo info;
    *ret_agrees = false;
    const bool fits = run->lines > 0 && run->lines <= TB_LOGBLOCK_LINES;
    if (!fits) return TB_OK;
    tb_code code = tb__log_directory_open(&d, zones.data, zones.len, (size_t)run->lines, err);
    if (!code) code = tb__log_directory_block(&d, block, data.data, data.len, err);
    if (!code) code = read_all(block, err);
    if (code) return code;
    tb_logblock_info(block, &info);
    *ret_agrees = tb__log_directory_sound(&d) && info.first_ms == run->first_ms &&
                  info.last_ms == run->last_ms;
    return TB_OK;
}

static tb_code verify_run(tb__verify *v, sqlite3_stmt *s, tb_logblock *block, uint64_t *sum,
                          tb_error *err)
{
    const tb__log_run run = {.id = sqlite3_column_int64(s, R_ID),
                             .lines = sqlite3_column_int64(s, R_LINES),
                             .first_ms = sqlite3_column_int64(s, R_FIRST),
                             .last_ms = sqlite3_column_int64(s, R_LAST),
                             .seal = sqlite3_column_int64(s, R_SEAL)};
    tb_text zones, data;
    bool agrees = false;
    tb_code code = blob(s, R_ZONES, &zones, err);
    if (!code) code = blob(s, R_DATA, &data, err);
    if (code) return code;
    *sum += (uint64_t)run.seal;
    if (run.seal != tb__seal_log_run(&run, zones, data))
        tb__differs(v, "Run %" PRId64 " of waiting request logs is not as it was sealed.", run.id);
    code = check_run(&run, zones, data, block, &agrees, err);
    if (code && code != TB_E_CORRUPT) return code;
    if (code) tb__differs(v, "Run %" PRId64 " of waiting request logs cannot be read.", run.id);
    else if (!agrees)
        tb__differs(v, "Run %" PRId64 " of waiting request logs is not what its row says.", run.id);
    return TB_OK;
}

static tb_code verify_runs(tb__verify *v, tb_logblock *block, tb_error *err)
{
    sqlite3_stmt *s = NULL;
    bool row = true;
    uint64_t sum = 0;
    int64_t noted = 0;
    tb_code code = tb__verify_sql(v, TB__V_LOG_RUNS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        code = verify_run(v, s, block, &sum, err);
    if (!code) code = tb__meta_get(v->store, "log_run_seals", &noted, err);
    if (!code && (int64_t)(sum & INT64_MAX) != noted)
        tb__differs(v, "The runs of waiting request logs are not all those that were written.");
    if (!code) code = tb__verify_sql(v, TB__V_LOG_RUN_STATE, NULL, 0, &s, err);
    if (!code) code = tb__step(v->store, s, &row, err);
    if (code) return code;
    if (row) tb__differs(v, "How far the folding of waiting request logs came does not agree with itself.");
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb__verify_logs(tb__verify *v, tb_error *err)
{
    const tb__log_lines *of = v->store->plane.logs;
    if (v->store->control) return TB_OK;
    if (of->verify) return of->verify(v->store, tb__verify_differ, v, err);
    tb_logblock *block = tb_logblock_new();
    if (!block) return tb_no_memory(err);
    tb_code code = verify_blocks(v, block, err);
    if (!code) code = verify_runs(v, block, err);
    tb_logblock_free(block);
    return code;
}
