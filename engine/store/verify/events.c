/* Verify, shield events: each block's seal, and that it can be read and matches its row; that blocks are sorted and
 * disjoint; and the sum of all seals, which shows a lost block. */
#include "store/logs/events.h"
#include "store/verify/verify.h"

#include <inttypes.h>
#include <string.h>

/* The last key so far of a zone. */
typedef struct previous {
    int64_t zone;
    tb_event_key last;
} previous;

/* Whether the block's records ascend, after the zone's last key, and match the row. */
static bool block_sound(sqlite3_stmt *s, previous *p)
{
    const void *data = sqlite3_column_blob(s, TB__EVENT_DATA);
    const void *first = sqlite3_column_blob(s, TB__EVENT_FIRST);
    const size_t len = (size_t)sqlite3_column_bytes(s, TB__EVENT_DATA);
    const size_t first_len = (size_t)sqlite3_column_bytes(s, TB__EVENT_FIRST);
    const int64_t day = sqlite3_column_int64(s, TB__EVENT_DAY);
    int64_t n = 0;
    tb_event_record r;
    tb_event_key key;
    for (size_t at = 0; at < len; n++) {
        if (!tb_event_next(data, len, &at, &r) || r.made) return false;
        tb_event_record_key(&r, &key);
        if (n == 0 && (key.len != first_len || memcmp(key.bytes, first, first_len) != 0))
            return false;
        if (p->last.len && tb_event_key_compare(&key, &p->last) <= 0) return false;
        if (r.time_ms / TB_EVENT_MS_PER_DAY != day) return false;
        p->last = key;
    }
    return n == sqlite3_column_int64(s, TB__EVENT_EVENTS);
}

static tb_code verify_block(tb__verify *v, sqlite3_stmt *s, previous *p, tb_error *err)
{
    const long long id = sqlite3_column_int64(s, TB__EVENT_ROW);
    const int64_t zone = sqlite3_column_int64(s, TB__EVENT_ZONE);
    if (zone != p->zone) *p = (previous){.zone = zone};
    tb_code code = tb__event_row_check(s, err);
    if (code == TB_E_CORRUPT)
        tb__differs(v, "Block %lld of shield events is not as it was sealed.", id);
    else if (code) return code;
    else if (!block_sound(s, p))
        tb__differs(v, "Block %lld of shield events is not what its row says.", id);
    return TB_OK;
}

static tb_code verify_blocks(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s = NULL;
    bool row = true;
    uint64_t sum = 0;
    int64_t noted = 0;
    previous p = {.zone = 0};
    tb_code code = tb__verify_sql(v, TB__V_EVENT_BLOCKS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        sum += (uint64_t)sqlite3_column_int64(s, TB__EVENT_SEAL);
        code = verify_block(v, s, &p, err);
    }
    if (!code) code = tb__meta_get(v->store, "event_seals", &noted, err);
    if (!code && (int64_t)(sum & INT64_MAX) != noted)
        tb__differs(v, "The blocks of shield events are not all those that were written.");
    return code;
}

tb_code tb__verify_events(tb__verify *v, tb_error *err)
{
    const tb__shield_events *of = v->store->plane.events;
    if (v->store->control) return TB_OK;
    if (of->verify) return of->verify(v->store, tb__verify_differ, v, err);
    return tb__verify_note(v, verify_blocks(v, err), err);
}
