/* Refused lines: kept with their segment; their text expires.
 *
 * A line's text may hold a person's address. Addresses are hidden as the zone's settings say before the line is
 * stored, and the text is deleted like request logs, 72 hours after it was taken in; line, byte and reason stay.
 * reject_due has a row for each segment with text, ascending by the moment it was taken in, so that finding expired
 * texts costs only these. A segment from more than an hour ahead was written by a wrong clock: it expires at once,
 * for its age is unknown. */
#include "store/logs/segment.h"
#include "tollbook/logstore.h"

#include <stdio.h>
#include <string.h>

#define AHEAD_US   (INT64_C(3600) * 1000000)
#define AT_ONCE    64
#define REASON_MAX 512

/* What is hidden of addresses in a line of this zone. */
static tb_code privacy_of(tb_store *store, int64_t zone, tb_log_privacy *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret = zone ? TB_LOG_IP_SHORT : TB_LOG_IP_NONE; /* an undeclared zone has the default settings */
    if (!zone) return TB_OK;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_PRIVACY, &zone, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret = tb__log_privacy(sqlite3_column_int(s, 0) != 0, sqlite3_column_int(s, 1) != 0);
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb_store_add_reject(tb_store *store, const tb_refused *line, tb_error *err)
{
    char text[TB_REJECT_TEXT_MAX], reason[REASON_MAX];
    tb_log_privacy privacy;
    sqlite3_stmt *s;
    if (store->rejects_kept >= TB_REJECTS_KEPT) return TB_OK;
    tb_code code = tb__segment_id(store, err);
    if (!code) code = privacy_of(store, line->zone, &privacy, err);
    if (!code) code = tb__sql(store, TB__SQL_REJECT_INSERT, &s, err);
    if (code) return code;
    const bool cut = line->len >= sizeof text;
    size_t len = cut ? sizeof text : line->len;
    if (len) memcpy(text, line->text, len);
    len = tb_log_mask(privacy, cut, text, len);
    const size_t reason_len = strnlen(line->reason, sizeof reason); /* it may quote the line */
    memcpy(reason, line->reason, reason_len);
    sqlite3_bind_int64(s, 1, store->next_segment);
    sqlite3_bind_int64(s, 2, (int64_t)line->line);
    sqlite3_bind_int64(s, 3, line->byte);
    sqlite3_bind_text(s, 4, reason, (int)tb_log_mask(privacy, false, reason, reason_len),
                      SQLITE_STATIC);
    sqlite3_bind_blob(s, 5, text, (int)len, SQLITE_STATIC);
    code = tb__run(store, s, err);
    if (!code) store->rejects_kept++;
    return code;
}

tb_code tb__rejects_due(tb_store *store, int64_t now_us, tb_error *err)
{
    const int64_t row[2] = {now_us, store->next_segment};
    return store->rejects_kept ? tb__run_ints(store, TB__SQL_REJECT_DUE_INSERT, row, 2, err) : TB_OK;
}

/* Some of those that are due; a statement that is being read is not deleted from. */
static tb_code list_due(tb_store *store, int64_t now_us, int64_t (*list)[2], size_t *ret_n,
                        tb_error *err)
{
    int64_t bounds[2];
    sqlite3_stmt *s;
    bool row = true;
    size_t n = 0;
    if (__builtin_sub_overflow(now_us, TB_REJECT_KEPT_US, &bounds[0])) bounds[0] = INT64_MIN;
    if (__builtin_add_overflow(now_us, AHEAD_US, &bounds[1])) bounds[1] = INT64_MAX;
    tb_code code = tb__sql_ints(store, TB__SQL_REJECT_DUE, bounds, 2, &s, err);
    while (!code && n < AT_ONCE && !(code = tb__step(store, s, &row, err)) && row) {
        list[n][0] = sqlite3_column_int64(s, 0);
        list[n++][1] = sqlite3_column_int64(s, 1);
    }
    if (!code) sqlite3_reset(s);
    *ret_n = n;
    return code;
}

/* At most *room lines of a segment, subtracted from *room. Without any text left the segment is removed from
 * reject_due. */
static tb_code empty_some(tb_store *store, const int64_t due[2], size_t *room, tb_error *err)
{
    const int64_t values[2] = {due[1], *room < INT64_MAX ? (int64_t)*room : INT64_MAX};
    tb_code code = tb__run_ints(store, TB__SQL_REJECT_EMPTY, values, 2, err);
    if (code) return code;
    const size_t emptied = (size_t)sqlite3_changes64(store->db);
    if (emptied < *room) code = tb__run_ints(store, TB__SQL_REJECT_DUE_DELETE, due, 2, err);
    *room -= emptied;
    return code;
}

static tb_code forget_due(tb_store *store, int64_t now_us, size_t *room, uint64_t *ret_segments, tb_error *err)
{
    int64_t list[AT_ONCE][2];
    size_t n = AT_ONCE;
    tb_code code = TB_OK;
    *ret_segments = 0;
    while (!code && n == AT_ONCE && *room) {
        code = list_due(store, now_us, list, &n, err);
        for (size_t i = 0; !code && i < n && *room; i++, ++*ret_segments)
            code = empty_some(store, list[i], room, err);
    }
    if (*ret_segments) store->scrub = true;
    return code;
}

tb_code tb_store_forget_rejects(tb_store *store, int64_t now_us, uint64_t *ret_segments, tb_error *err)
{
    size_t room = SIZE_MAX;
    uint64_t segments;
    tb_code code = forget_due(store, now_us, &room, &segments, err);
    if (!code && ret_segments) *ret_segments = segments;
    return code;
}

tb_code tb_store_forget_some_rejects(tb_store *store, int64_t now_us, size_t *room, tb_error *err)
{
    uint64_t segments;
    return forget_due(store, now_us, room, &segments, err);
}

tb_code tb_store_refused(tb_store *store, int64_t most, tb_refused_fn each, void *ctx, tb_error *err)
{
    const int64_t values[2] = {TB_REJECTS_COUNTED, most};
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_REJECTS_BY_REASON, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const char *text = sqlite3_column_blob(s, 5);
        each(ctx, &(tb_refused_kind){
                      .lines = (uint64_t)sqlite3_column_int64(s, 1),
                      .newest = {.line = (uint64_t)sqlite3_column_int64(s, 3),
                                 .byte = (uint32_t)sqlite3_column_int64(s, 4),
                                 .reason = (const char *)sqlite3_column_text(s, 0),
                                 .text = text ? text : "",
                                 .len = (size_t)sqlite3_column_bytes(s, 5)}});
    }
    return code;
}

tb_code tb_store_refused_lines(tb_store *store, int64_t from_us, int64_t to_us, bool texts, tb_refused_line_fn each,
                               void *ctx, tb_error *err)
{
    const int64_t values[2] = {from_us, to_us};
    sqlite3_stmt *s;
    bool row = false, more = true;
    tb_code code = tb__sql_ints(store, TB__SQL_REJECTED, values, 2, &s, err);
    while (!code && more && !(code = tb__step(store, s, &row, err)) && row) {
        tb_refused_line one = {.added_us = sqlite3_column_int64(s, 0),
                               .source = (const char *)sqlite3_column_text(s, 1),
                               .line = {.line = (uint64_t)sqlite3_column_int64(s, 2),
                                        .byte = (uint32_t)sqlite3_column_int64(s, 3),
                                        .reason = (const char *)sqlite3_column_text(s, 4)}};
        if (texts) { /* most lie on pages of their own, which are read only then */
            const char *text = sqlite3_column_blob(s, 5);
            one.line.text = text ? text : "";
            one.line.len = (size_t)sqlite3_column_bytes(s, 5);
        }
        more = each(ctx, &one);
    }
    if (!code && row) sqlite3_reset(s);
    return code;
}
