/* Writes lines from the store's cursor into a body. A short body is answered whole, with its length; a longer one is
 * streamed, with a reader and a snapshot of its own, so that a slow client does not hold its worker's. */
#include "api/logs.h"

#include <stdlib.h>
#include <string.h>

#include "tollbook/json.h"
#include "tollbook/monthbill.h"

#define FIRST_MAX   ((size_t)256 << 10) /* made before sending begins */
#define FIRST_TURNS 8                   /* turns before sending begins */
#define TURN_LINES  4096                /* skipped lines that count as a turn, like a block without a match */
#define PART_BYTES  ((size_t)32 << 10)
#define BUFFER_MAX  ((size_t)64 << 20)

void logs_free(log_answer *a)
{
    if (!a) return;
    tb_log_cursor_free(a->cursor);
    if (a->store) worker_return_reader(a->worker, a->account, a->held, a->store);
    tb_buf_release(&a->first);
    free(a);
}

static void free_answer(void *ctx)
{
    logs_free(ctx);
}

/* --- permission and rate --- */

/* Why a zone's logs are not available, and how to change that. */
static const char *const closed[] = {
    [TB_ZONE_SET_OFF] = "The pull zone is disabled or suspended by its settings.",
    [TB_ZONE_AT_LIMIT] = "The pull zone is disabled: it has reached its MonthlyBandwidthLimit.",
    [TB_ZONE_UNFUNDED] = "The pull zone is disabled: the account is prepaid and its balance is not above 0. "
                         "A payment enables it.",
    [TB_ZONE_CAPPED] = "The pull zone is disabled: the account has reached the cap of its contract. A higher cap, or the "
                       "next month, enables it.",
};

/* Reads the zone's logging settings, and whether it is enabled now, in one snapshot. */
static tb_code look_up(request *r, int64_t zone, tb_log_zone *how, tb_zone_state *state, tb_error *err)
{
    tb_store *store = r->worker->store;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_store_log_zone(store, r->account, zone, how, err);
    *state = TB_ZONE_SET_OFF;
    if (!code && how->active)
        code = tb_zone_state_read(store, r->account, zone, request_now_us(r), state, err);
    tb_store_read_end(store);
    return code;
}

static bool may_read(request *r, int64_t zone, tb_log_zone *how)
{
    tb_error err;
    tb_zone_state state;
    tb_code code = look_up(r, zone, how, &state, &err);
    if (code == TB_E_ZONE_NOT_FOUND)
        request_fail(r, TB_E_FORBIDDEN, NULL, "The key does not open this pull zone.");
    else if (code) request_fail_as(r, &err);
    else if (state != TB_ZONE_ON) request_fail(r, TB_E_FORBIDDEN, NULL, "%s", closed[state]);
    else if (!how->logging)
        request_fail(r, TB_E_NOT_FOUND, NULL, "Logging is not enabled for this pull zone.");
    else return true;
    return false;
}

static bool within_rate(request *r, int64_t zone)
{
    unsigned wait_s = 0;
    if (window_take(r->worker->server->log_window, zone, r->start_us, &wait_s)) return true;
    request_fail(r, TB_E_RATE_LIMITED, NULL,
                 "More than 30 requests in 10 seconds for this pull zone. Try again in %u s.",
                 wait_s);
    r->reply.retry_after = wait_s;
    return false;
}

log_answer *logs_begin(request *r, int64_t zone)
{
    tb_log_zone how;
    if (!may_read(r, zone, &how) || !within_rate(r, zone)) return NULL;
    log_answer *a = calloc(1, sizeof *a);
    if (!a) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return NULL;
    }
    a->account = r->account;
    a->zone = zone;
    a->how = how;
    a->worker = r->worker;
    a->filter.extended = how.extended;
    tb_buf_init(&a->first, BUFFER_MAX, NULL);
    return a;
}

tb_text logs_keep(log_answer *a, tb_text text, bool fold)
{
    char *to = a->text + a->text_len;
    if (text.len > sizeof a->text - a->text_len) return (tb_text){to, 0}; /* cannot be: targets */
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];
        to[i] = fold && c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    a->text_len += text.len;
    return (tb_text){to, text.len};
}

/* --- parameters --- */

bool logs_next_item(tb_text *rest, tb_text *ret_item)
{
    if (!rest->data) return false;
    const char *comma = rest->len ? memchr(rest->data, ',', rest->len) : NULL;
    const size_t n = comma ? (size_t)(comma - rest->data) : rest->len;
    *ret_item = (tb_text){rest->data, n};
    *rest = comma && n + 1 < rest->len ? (tb_text){comma + 1, rest->len - n - 1} : (tb_text){0};
    return true;
}

static void pass_status(tb_log_filter *f, unsigned first, unsigned count)
{
    for (unsigned s = first; s < first + count; s++)
        f->status[s / 8] |= (uint8_t)(1u << s % 8);
    f->by_status = true;
}

bool logs_status(tb_log_filter *f, tb_text text)
{
    unsigned value = 0;
    if (text.len != 3 || text.data[0] < '1' || text.data[0] > '5') return false;
    if ((text.data[1] | 32) == 'x' && (text.data[2] | 32) == 'x') {
        pass_status(f, (unsigned)(text.data[0] - '0') * 100, 100);
        return true;
    }
    for (int i = 0; i < 3; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        value = value * 10 + (unsigned)(text.data[i] - '0');
    }
    pass_status(f, value, 1);
    return true;
}

/* --- wrong parameters --- */

void logs_wrong(log_details *d, const char *sentence)
{
    if (d->n < LOG_DETAILS_MAX) d->sentence[d->n++] = sentence;
}

void logs_of_day(tb_log_filter *filter, int64_t day, int64_t now_ms, log_details *d)
{
    const int64_t oldest_ms = now_ms - TB_LOG_KEPT_MS;
    filter->from_ms = day * LOG_MS_PER_DAY;
    filter->to_ms = filter->from_ms + LOG_MS_PER_DAY;
    if (filter->to_ms <= oldest_ms || filter->from_ms > now_ms)
        logs_wrong(d, "The date must be one of the last 3 days (log retention window).");
    if (filter->from_ms < oldest_ms) filter->from_ms = oldest_ms;
}

bool logs_refused(request *r, const log_details *d)
{
    if (d->n == 0) return false;
    tb_buf *out = request_text(r);
    tb_buf_str(out, "{\"error\":{\"code\":\"invalid_request\","
                    "\"message\":\"One or more query parameters are invalid.\",\"details\":[");
    for (size_t i = 0; i < d->n; i++) {
        if (i) tb_buf_str(out, ",");
        tb_json_string(out, d->sentence[i], strlen(d->sentence[i]));
    }
    tb_buf_str(out, "]}}");
    request_answer_text(r, 400, "application/json");
    return true;
}

/* --- lines --- */

/* One step: a line, or a block without a match. */
static tb_code answer_step(log_answer *a, tb_buf *out, bool *ret_paused, tb_error *err)
{
    tb_log_step where;
    tb_logrow row;
    log_verdict verdict = LOG_ENOUGH;
    tb_code code = tb_log_next(a->cursor, &where, err);
    if (code) return code;
    *ret_paused = where == TB_LOG_PAUSE;
    if (*ret_paused) return TB_OK;
    if (where == TB_LOG_LINE) {
        if (a->skip > 0) {
            a->skip--;
            return TB_OK;
        }
        code = tb_log_line(a->cursor, &row, err);
        if (code) return code;
        tb_logrow_hide(&row, a->how.privacy);
        verdict = a->line(a, &row, out);
    }
    a->ended = where == TB_LOG_END || verdict == LOG_ENOUGH;
    if (a->ended) a->end(a, out);
    return TB_OK;
}

/* Steps until `bytes` more are written, so many turns are used, or the end. Skipped lines use turns, too: there may be
 * millions, and other requests wait. */
static tb_code answer_steps(log_answer *a, tb_buf *out, size_t bytes, unsigned turns, tb_error *err)
{
    const size_t enough = out->len + bytes;
    bool paused = false;
    tb_code code = TB_OK;
    for (unsigned used = 0; !code && !a->ended && out->len < enough && used < turns * TURN_LINES;) {
        code = answer_step(a, out, &paused, err);
        used += paused ? TURN_LINES : 1;
    }
    return code ? code : tb_buf_check(out, err);
}

static tb_code write_more(void *ctx, tb_buf *out, bool *ret_end, tb_error *err)
{
    log_answer *a = ctx;
    if (!a->first_sent) {
        tb_buf_add(out, a->first.data, a->first.len);
        tb_buf_release(&a->first);
        a->first_sent = true;
        *ret_end = a->ended;
        return tb_buf_check(out, err);
    }
    tb_code code = answer_steps(a, out, PART_BYTES, 1, err);
    *ret_end = a->ended;
    return code;
}

static tb_code start(request *r, log_answer *a, tb_error *err)
{
    tb_code code = worker_take_reader(r->worker, a->account, &a->store, err);
    if (!code) code = tb_store_read_begin(a->store, err);
    if (!code)
        code = tb_store_logs(a->store, a->zone, &a->filter, a->descending, &a->cursor, err);
    return code ? code : answer_steps(a, &a->first, FIRST_MAX, FIRST_TURNS, err);
}

static bool is_whole(const log_answer *a)
{
    return a->ended && a->first.len <= 2 * FIRST_MAX;
}

/* Books the memory of a stream, which is known once it has begun. */
static tb_code book_memory(request *r, log_answer *a, tb_error *err)
{
    const size_t bytes = is_whole(a) ? 0 : tb_log_cursor_bytes(a->cursor);
    tb_code code = bytes ? stream_slots_hold(r->worker->server->stream_slots, a->account, bytes, err) : TB_OK;
    if (!code) a->held = bytes;
    return code;
}

void logs_answer(request *r, log_answer *a)
{
    tb_error err;
    tb_code code = start(r, a, &err);
    if (!code) code = book_memory(r, a, &err);
    if (code) {
        request_fail_as(r, &err);
        logs_free(a);
        return;
    }
    if (is_whole(a)) {
        tb_buf_add(request_text(r), a->first.data, a->first.len);
        request_answer_text(r, 200, a->content_type);
        logs_free(a);
    } else {
        request_answer_stream(r, (stream_source){.fill = write_more, .release = free_answer, .ctx = a},
                              a->content_type);
    }
}
