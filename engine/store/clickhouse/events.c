/* Shield events. Two events with one key are the same. New events are merged with those of the servers with these keys, and with
 * the pending ones, by the same merge that makes the file's blocks. Events that are not known yet become rows. */
#include "store/clickhouse/lines.h"
#include "store/core/seal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LIKE_LEN   (8 + 24) /* of a key that was made: the time and the hash, without the count */
#define AT_ONCE    ((size_t)2048)
#define SQL_MAX    ((size_t)512 << 10)
#define STANDING_MAX ((size_t)1 << 30)

int64_t tb__ch_seal_event(int64_t zone, const void *record, size_t len)
{
    const int64_t numbers[] = {zone, (int64_t)len};
    return tb__seal(record, len, tb__seal(numbers, sizeof numbers, 0));
}

static unsigned key_day(const tb_event_key *key)
{
    return tb__ch_day_near(tb_event_key_time(key) / TB_EVENT_MS_PER_DAY);
}

/* --- known events --- */

typedef struct standing {
    struct standing_event {
        tb_text key, record; /* of `bytes` */
    } *list;
    size_t n, cap;
    tb_buf bytes; /* rows as they came: { length u32, key, length u32, record } */
    tb_buf block; /* the same, sorted, as a block */
} standing;

static void standing_release(standing *s)
{
    free(s->list);
    tb_buf_release(&s->bytes);
    tb_buf_release(&s->block);
}

static void keep_text(standing *s, tb_text text)
{
    tb__ch_put_u32(&s->bytes, (uint32_t)text.len);
    tb_buf_add(&s->bytes, text.data, text.len);
}

static tb_code take_answer(tb_store *store, standing *s, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (r.at < r.end && !r.cut) {
        const tb_text key = tb__ch_text(&r), record = tb__ch_text(&r);
        if (r.cut) break;
        keep_text(s, key);
        keep_text(s, record);
    }
    tb_code code = tb__ch_check_read(&r, err);
    return code ? code : tb_buf_check(&s->bytes, err);
}

/* Rows of the zone that were not sent yet. */
static tb_code take_unsent(tb_store *store, standing *s, int64_t zone, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    const tb_buf *rows = &ch->rows[TB__CH_EVENT_ROWS][tb__ch_shard(store, TB__SCOPE_ZONE, zone)];
    tb__ch_reader r = {rows->data, rows->data + rows->len, false};
    while (rows->len && r.at < r.end && !r.cut) {
        (void)tb__ch_column(&r, 2);
        const bool own = (int64_t)tb__ch_column(&r, 8) == zone;
        const tb_text key = tb__ch_text(&r);
        (void)tb__ch_column(&r, 8);
        (void)tb__ch_column(&r, 8);
        const tb_text record = tb__ch_text(&r);
        if (!own) continue;
        keep_text(s, key);
        keep_text(s, record);
    }
    return tb_buf_check(&s->bytes, err);
}

static tb_text next_text(const char **at)
{
    uint32_t len;
    memcpy(&len, *at, sizeof len);
    const tb_text text = {*at + sizeof len, len};
    *at += sizeof len + len;
    return text;
}

static int compare_texts(tb_text a, tb_text b)
{
    const int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_key(const void *a, const void *b)
{
    return compare_texts(((const struct standing_event *)a)->key, ((const struct standing_event *)b)->key);
}

/* Sorts them, once each, and makes a block of them. */
static tb_code sort_standing(standing *s, tb_error *err)
{
    const char *at = s->bytes.data, *end = at + s->bytes.len;
    size_t kept = 0;
    while (s->bytes.len && at < end) {
        tb_code code = tb__grow(&s->list, s->n, &s->cap, sizeof *s->list, err);
        if (code) return code;
        struct standing_event *to = &s->list[s->n++];
        to->key = next_text(&at);
        to->record = next_text(&at);
    }
    if (s->n) qsort(s->list, s->n, sizeof *s->list, by_key);
    for (size_t i = 0; i < s->n; i++) {
        if (kept && by_key(&s->list[kept - 1], &s->list[i]) == 0) continue;
        s->list[kept++] = s->list[i];
        tb_buf_add(&s->block, s->list[i].record.data, s->list[i].record.len);
    }
    s->n = kept;
    return tb_buf_check(&s->block, err);
}

/* --- reading them from the servers --- */

static bool is_made(const tb_event_ref *ref)
{
    tb_event_record r;
    size_t at = 0;
    return tb_event_next(ref->bytes, ref->size, &at, &r) && r.made;
}

static void put_keys(tb_buf *sql, const tb_event_ref *refs, size_t n, bool made)
{
    tb_buf_str(sql, made ? "substring(key,1,32) IN(''" : "key IN(''");
    for (size_t i = 0; i < n; i++) {
        if (is_made(&refs[i]) != made) continue;
        tb_buf_str(sql, ",");
        tb__ch_quote(sql, (tb_text){(const char *)refs[i].key.bytes, made ? LIKE_LEN : refs[i].key.len});
    }
    tb_buf_str(sql, ")");
}

/* The least key that one of them is compared with: a made one's like begin with its time and hash. */
static tb_text least_of(const tb_event_ref *refs)
{
    return (tb_text){(const char *)refs->key.bytes, is_made(refs) ? LIKE_LEN : refs->key.len};
}

static tb_code ask_standing(tb_store *store, const tb_event_ref *refs, size_t n, tb_error *err)
{
    const tb_event_ref *last = &refs[n - 1];
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT key,record FROM %s.event WHERE day>=toDate(%u) AND day<=toDate(%u) AND key>=",
               tb__ch_of(store)->client->database, key_day(&refs->key), key_day(&last->key));
    tb__ch_quote(sql, least_of(refs));
    tb_buf_str(sql, " AND key<=");
    tb__ch_quote(sql, (tb_text){(const char *)last->key.bytes, last->key.len});
    tb_buf_str(sql, " AND(");
    put_keys(sql, refs, n, false);
    tb_buf_str(sql, " OR ");
    put_keys(sql, refs, n, true);
    tb_buf_str(sql, ")");
    tb_code code = tb__ch_put_counting(store, sql, TB__CH_EVENTS, refs->zone, err);
    tb_buf_str(sql, " LIMIT 1 BY key FORMAT RowBinary");
    return code ? code : tb__ch_query(store, tb__ch_shard(store, TB__SCOPE_ZONE, refs->zone), err);
}

/* --- adding --- */

tb_code tb__ch_put_event(tb_store *store, int64_t zone, int64_t batch, const tb_event_record *record, uint64_t *seals,
                         tb_error *err)
{
    tb_buf *rows = &tb__ch_of(store)->rows[TB__CH_EVENT_ROWS][tb__ch_shard(store, TB__SCOPE_ZONE, zone)];
    const uint64_t seal = (uint64_t)tb__ch_seal_event(zone, record->bytes, record->size);
    tb_event_key key;
    uint16_t day = 0;
    tb_code code = tb__ch_day(record->time_ms, &day, err);
    if (code) return code;
    tb_event_record_key(record, &key);
    tb__ch_put_u16(rows, day);
    tb__ch_put_u64(rows, (uint64_t)zone);
    tb__ch_put_text(rows, (tb_text){(const char *)key.bytes, key.len});
    tb__ch_put_u64(rows, (uint64_t)batch);
    tb__ch_put_u64(rows, seal);
    tb__ch_put_text(rows, (tb_text){(const char *)record->bytes, record->size});
    *seals += seal;
    return tb__ch_relieve(store, rows, err);
}

/* Adds those of the merged events that were not known. */
static tb_code put_new(tb_store *store, int64_t zone, const standing *s, const tb_event_blocks *blocks, tb_error *err)
{
    const int64_t batch = tb__ch_of(store)->next++;
    tb_event_record record;
    tb_event_key key;
    uint64_t seals = 0;
    size_t at = 0, i = 0;
    tb_code code = TB_OK;
    while (!code && at < blocks->bytes.len && tb_event_next(blocks->bytes.data, blocks->bytes.len, &at, &record)) {
        tb_event_record_key(&record, &key);
        if (i < s->n && compare_texts(s->list[i].key, (tb_text){(const char *)key.bytes, key.len}) == 0) i++;
        else code = tb__ch_put_event(store, zone, batch, &record, &seals, err);
    }
    return code ? code : tb__ch_add_seals(store, TB__CH_EVENTS, seals, err);
}

static tb_code add_some(tb_store *store, const tb_event_ref *refs, size_t n, uint64_t *added, tb_error *err)
{
    standing s = {.n = 0};
    tb_event_blocks blocks;
    tb_buf_init(&s.bytes, STANDING_MAX, NULL);
    tb_buf_init(&s.block, STANDING_MAX, NULL);
    tb_event_blocks_init(&blocks);
    tb_code code = ask_standing(store, refs, n, err);
    if (!code) code = take_answer(store, &s, err);
    if (!code) code = take_unsent(store, &s, refs->zone, err);
    if (!code) code = sort_standing(&s, err);
    if (!code) code = tb_event_merge(s.block.data, s.block.len, refs, n, &blocks, err);
    if (!code && blocks.added) code = put_new(store, refs->zone, &s, &blocks, err);
    if (!code) *added += blocks.added;
    store->dirty |= blocks.added > 0;
    tb_event_blocks_release(&blocks);
    standing_release(&s);
    return code;
}

/* How many events go into one statement: of one zone, with a limited text. Events with similar keys stay together. */
static size_t choose_refs(const tb_event_ref *refs, size_t n)
{
    size_t some = 0, text = 0;
    while (some < n && some < AT_ONCE && refs[some].zone == refs->zone && text < SQL_MAX)
        text += 4 * refs[some++].key.len;
    return some;
}

static tb_code add_refs(tb_store *store, const tb_event_ref *refs, size_t n, uint64_t *ret_added, tb_error *err)
{
    uint64_t added = 0;
    tb_code code = n ? tb__ch_begin(store, err) : TB_OK;
    for (size_t i = 0, some = 0; !code && i < n; i += some) {
        some = choose_refs(refs + i, n - i);
        code = add_some(store, refs + i, some, &added, err);
    }
    if (!code) *ret_added = added;
    return code;
}

/* --- expiry, and accounts --- */

static tb_code drop_old_events(tb_store *store, int64_t first_day, size_t *room, uint64_t *ret_dropped, tb_error *err)
{
    return tb__ch_drop_before(store, (tb__ch_age){TB__CH_EVENTS, first_day}, room, ret_dropped, err);
}

static tb_code count_event_days(tb_store *store, int64_t account, uint64_t *ret_blocks, tb_error *err)
{
    return tb__ch_lines_count(store, TB__CH_EVENTS, account, ret_blocks, err);
}

static tb_code forget_events(tb_store *store, int64_t account, size_t *room, tb_error *err)
{
    return tb__ch_lines_forget(store, TB__CH_EVENTS, account, room, err);
}

const tb__shield_events tb__clickhouse_events = {
    .add = add_refs,
    .drop = drop_old_events,
    .count = count_event_days,
    .forget = forget_events,
    .up = tb__ch_events_up,
    .down = tb__ch_events_down,
    .verify = tb__ch_verify_events,
};
