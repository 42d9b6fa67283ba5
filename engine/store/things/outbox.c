/* The outbox: messages, each stored in the transaction of the change that it reports, and the results of sending
 * them.
 *
 *     waiting --2xx--> delivered          waiting --410, or too old--> failed
 *        ^--any other answer, or none: later--'    delivered, failed --sent again on request--> waiting
 *
 * Answers and bills do not depend on it, so the data version stays. A message's id is a hash of its content, account
 * and time: it needs no randomness, and a message that is made again after a crash has the same id. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/core/internal.h"
#include "tollbook/alertstore.h"
#include "tollbook/buf.h"

#define SWITCH "outbox" /* in meta */

static const char *const states[TB_MESSAGE_STATE_COUNT] = {
#define TB_X(e, name) [TB_MESSAGE_##e] = name,
    TB_MESSAGE_STATES(TB_X)
#undef TB_X
};

const char *tb_message_state_name(tb_message_state state)
{
    return (unsigned)state < TB_MESSAGE_STATE_COUNT ? states[state] : "";
}

/* --- whether messages are wanted --- */

tb_code tb_store_outbox_on(tb_store *store, bool *ret_on, tb_error *err)
{
    int64_t on = 0;
    tb_code code = tb__meta_get(store, SWITCH, &on, err);
    if (!code) *ret_on = on != 0;
    return code;
}

tb_code tb_store_outbox_turn(tb_store *store, bool on, tb_error *err)
{
    bool is_on = false;
    tb_code code = tb_store_outbox_on(store, &is_on, err);
    if (code || is_on == on) return code;
    code = tb__meta_set(store, SWITCH, on, err);
    return code || on ? code : tb__run_ints(store, TB__SQL_OUTBOX_STOP, NULL, 0, err);
}

/* --- putting --- */

static void put_id(const char *type, int64_t account, int64_t now_us, const tb_buf *body,
                   char out[TB_MESSAGE_ID + 1])
{
    const int64_t numbers[2] = {account, now_us};
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)numbers, sizeof numbers);
    crypto_hash_sha256_update(&state, (const unsigned char *)type, strlen(type) + 1);
    crypto_hash_sha256_update(&state, (const unsigned char *)body->data, body->len);
    crypto_hash_sha256_final(&state, hash);
    memcpy(out, "msg_", 4);
    sodium_bin2hex(out + 4, TB_MESSAGE_ID - 3, hash, (TB_MESSAGE_ID - 4) / 2);
}

static tb_code is_put(tb_store *store, const char *id, bool *ret_known, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_OUTBOX_KNOWN, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
    code = tb__step(store, s, ret_known, err);
    sqlite3_reset(s);
    return code;
}

static tb_code insert_message(tb_store *store, const char *type, int64_t account, int64_t now_us,
                              const tb_buf *body, const char *id, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_OUTBOX_INSERT, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, type, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, account);
    sqlite3_bind_int64(s, 4, now_us);
    sqlite3_bind_text(s, 5, body->data, (int)body->len, SQLITE_STATIC);
    return tb__run(store, s, err);
}

tb_code tb_store_outbox_put(tb_store *store, const char *type, int64_t account, int64_t now_us,
                            const tb_buf *body, char ret_id[TB_MESSAGE_ID + 1], tb_error *err)
{
    const int64_t old_us = now_us - TB_OUTBOX_KEPT_US;
    bool on = false, known = false;
    ret_id[0] = 0;
    tb_code code = tb_buf_check(body, err);
    if (!code) code = tb_store_outbox_on(store, &on, err);
    if (code || !on) return code;
    put_id(type, account, now_us, body, ret_id);
    code = is_put(store, ret_id, &known, err);
    if (!code && !known) code = insert_message(store, type, account, now_us, body, ret_id, err);
    return code ? code : tb__run_ints(store, TB__SQL_OUTBOX_PRUNE, &old_us, 1, err);
}

/* --- reading --- */

/* Columns: TB__C_outbox. Without its body. */
static tb_code message_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_message *m = item;
    char state[16];
    *m = (tb_message){.number = sqlite3_column_int64(s, 0),
                      .account = sqlite3_column_int64(s, 3),
                      .created_us = sqlite3_column_int64(s, 4),
                      .since_us = sqlite3_column_int64(s, 5),
                      .state = TB_MESSAGE_STATE_COUNT,
                      .attempts = sqlite3_column_int64(s, 7),
                      .next_us = sqlite3_column_int64(s, 8),
                      .delivered_us = sqlite3_column_int64(s, 9),
                      .status = sqlite3_column_int(s, 10)};
    tb_code code = tb__copy_text(s, 1, m->id, sizeof m->id, err);
    if (!code) code = tb__copy_text(s, 2, m->type, sizeof m->type, err);
    if (!code) code = tb__copy_text(s, 6, state, sizeof state, err);
    if (!code) code = tb__copy_text(s, 11, m->error, sizeof m->error, err);
    for (int i = 0; !code && i < TB_MESSAGE_STATE_COUNT; i++)
        if (strcmp(state, states[i]) == 0) m->state = (tb_message_state)i;
    if (!code && m->state == TB_MESSAGE_STATE_COUNT)
        code = tb_fail(err, TB_E_CORRUPT, "outbox", "Message %s: its state cannot be read.", m->id);
    return code;
}

static const tb__rows message_rows = {sizeof(tb_message), message_from, NULL};

tb_code tb_store_outbox(tb_store *store, int64_t account, int64_t limit, tb_message **ret_messages,
                        size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {limit, account};
    return tb__collect_ints(store, account ? TB__SQL_OUTBOX_OF : TB__SQL_OUTBOX, values,
                            account ? 2 : 1, &message_rows, ret_messages, ret_n, err);
}

static tb_code take_body(sqlite3_stmt *s, tb_message *m, tb_error *err)
{
    const char *body = (const char *)sqlite3_column_text(s, 12);
    m->body_len = (size_t)sqlite3_column_bytes(s, 12);
    m->body = body ? malloc(m->body_len + 1) : NULL;
    if (!m->body) return tb_no_memory(err);
    memcpy(m->body, body, m->body_len + 1);
    return TB_OK;
}

static bool is_among(int64_t number, const int64_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == number) return true;
    return false;
}

static tb_code find_due(tb_store *store, const int64_t values[3], const int64_t *but, size_t n,
                        tb_message *ret_message, bool *ret_there, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_OUTBOX_DUE, values, 3, &s, err);
    while (!code && !*ret_there && !(code = tb__step(store, s, &row, err)) && row) {
        if (is_among(sqlite3_column_int64(s, 0), but, n)) continue;
        code = message_from(s, ret_message, err);
        if (!code) code = take_body(s, ret_message, err);
        *ret_there = !code;
    }
    if (code || *ret_there) sqlite3_reset(s);
    return code;
}

tb_code tb_store_outbox_due(tb_store *store, int64_t now_us, const int64_t *but, size_t n,
                            tb_message *ret_message, bool *ret_there, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_there = false;
    for (int64_t again = 0; !code && !*ret_there && again < 2; again++) {
        const int64_t values[3] = {now_us, (int64_t)n + 1, again};
        code = find_due(store, values, but, n, ret_message, ret_there, err);
    }
    return code;
}

tb_code tb_store_outbox_figures(tb_store *store, tb_outbox_figures *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_OUTBOX_FIGURES, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret = (tb_outbox_figures){.waiting = (uint64_t)sqlite3_column_int64(s, 0),
                               .failed = (uint64_t)sqlite3_column_int64(s, 1),
                               .oldest_us = sqlite3_column_int64(s, 2)};
    sqlite3_reset(s);
    return TB_OK;
}

/* --- results of sending --- */

int64_t tb_outbox_pause(const char *id, int64_t attempts, int64_t pause_us)
{
    const uint64_t spread = XXH3_64bits_withSeed(id, strlen(id), (uint64_t)attempts) % 1000;
    int64_t pause = pause_us;
    while (attempts-- > 1 && pause < TB_OUTBOX_PAUSE_MOST)
        pause *= 2;
    if (pause > TB_OUTBOX_PAUSE_MOST) pause = TB_OUTBOX_PAUSE_MOST;
    return pause / 4 * 3 + pause / 2 * (int64_t)spread / 1000;
}

static tb_message_state state_after(const tb_message *m, const tb_delivery *came, int64_t now_us)
{
    if (came->status >= 200 && came->status < 300) return TB_MESSAGE_DELIVERED;
    if (came->status == 410 || now_us - m->since_us >= TB_OUTBOX_PATIENCE_US) return TB_MESSAGE_FAILED;
    return TB_MESSAGE_WAITING;
}

/* The pause that the receiver asks for, if it is longer, up to the longest pause. */
static int64_t pause_after(const tb_message *m, const tb_delivery *came, int64_t attempts, int64_t pause_us)
{
    const int64_t own = tb_outbox_pause(m->id, attempts, pause_us);
    const int64_t asked = came->after_us < TB_OUTBOX_PAUSE_MOST ? came->after_us : TB_OUTBOX_PAUSE_MOST;
    return asked > own ? asked : own;
}

tb_code tb_store_outbox_tried(tb_store *store, const tb_message *m, const tb_delivery *came,
                              int64_t now_us, int64_t pause_us, tb_error *err)
{
    const tb_message_state state = state_after(m, came, now_us);
    const int64_t attempts = m->attempts + 1;
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_OUTBOX_TRIED, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, m->number);
    sqlite3_bind_text(s, 2, states[state], -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, attempts);
    sqlite3_bind_int64(s, 4, now_us + pause_after(m, came, attempts, pause_us));
    sqlite3_bind_int64(s, 5, state == TB_MESSAGE_DELIVERED ? now_us : INT64_MAX);
    sqlite3_bind_int(s, 6, came->status);
    sqlite3_bind_text(s, 7, state == TB_MESSAGE_DELIVERED || !came->error ? "" : came->error, -1,
                      SQLITE_STATIC);
    return tb__run(store, s, err);
}

tb_code tb_store_outbox_again(tb_store *store, const char *id, int64_t now_us, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_OUTBOX_AGAIN, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, now_us);
    code = tb__step(store, s, &row, err);
    sqlite3_reset(s);
    if (code || row) return code;
    return tb_fail(err, TB_E_NOT_FOUND, "resend",
                   "There is no message %.64s. See: tollbook alerts", id);
}
