/* Merges new events into a block. Both sides are sorted, so one pass writes the result, cut into blocks as
 * it goes. Events after all existing ones fill blocks up; events between them leave halves, so that a block
 * that keeps growing in its middle does not produce tiny blocks.
 *
 * A made logId gets its count here: it sorts after all equal events, and takes the number after the last of
 * them. */
#include "events/events.h"

#include "base/list.h"

#include <stdlib.h>

bool tb_event_ref_set(tb_event_ref *ref, int64_t zone, uint64_t order, const void *bytes,
                      size_t size)
{
    tb_event_record r;
    size_t at = 0;
    if (!tb_event_next(bytes, size, &at, &r) || at != size) return false;
    *ref = (tb_event_ref){.zone = zone, .order = order, .bytes = bytes, .size = size};
    tb_event_record_key(&r, &ref->key);
    if (r.made) {
        if (ref->key.len != 8 + TB__MADE_ID) return false;
        memset(ref->key.bytes + 8 + TB__MADE_HASH, 'f', TB__MADE_ID - TB__MADE_HASH);
    }
    return true;
}

int tb_event_ref_compare(const void *a, const void *b)
{
    const tb_event_ref *x = a, *y = b;
    if (x->zone != y->zone) return x->zone < y->zone ? -1 : 1;
    const int order = tb_event_key_compare(&x->key, &y->key);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

void tb_event_blocks_init(tb_event_blocks *blocks)
{
    *blocks = (tb_event_blocks){.n = 0};
    tb_buf_init(&blocks->bytes, SIZE_MAX / 2, NULL);
}

void tb_event_blocks_release(tb_event_blocks *blocks)
{
    free(blocks->list);
    tb_buf_release(&blocks->bytes);
    *blocks = (tb_event_blocks){.n = 0};
}

/* --- counting the like --- */

static unsigned hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10u : 16;
}

/* The number of a made id: one more than that of the equal event before it, else 0. */
static uint64_t sequence_after(const tb_event_key *last, const tb_event_key *key)
{
    uint64_t count = 0;
    if (last->len != key->len || memcmp(last->bytes, key->bytes, 8 + TB__MADE_HASH) != 0) return 0;
    for (int i = TB__MADE_HASH; i < TB__MADE_ID; i++) {
        const unsigned digit = hex_digit(last->bytes[8 + i]);
        if (digit > 15) return 0;
        count = count << 4 | digit;
    }
    return count + 1;
}

/* Gives the record that was just written to `out` its id. false: there is no number left. */
static bool number_it(const tb_event_key *last, tb_event_key *key, uint8_t *written, size_t id_at)
{
    const uint64_t count = sequence_after(last, key);
    if (count > UINT32_MAX) return false;
    for (int i = 0; i < 8; i++)
        key->bytes[8 + TB__MADE_HASH + i] =
            (uint8_t)"0123456789abcdef"[count >> (28 - 4 * i) & 15];
    memcpy(written + id_at, key->bytes + 8, TB__MADE_ID);
    written[16] &= (uint8_t)~2u; /* made no longer */
    return true;
}

/* --- writing --- */

typedef struct merging {
    tb_event_blocks *out;
    size_t limit;      /* bytes after which a block is cut */
    tb_event_key last; /* written last; len 0: nothing yet */
} merging;

static tb_code new_block(merging *m, const tb_event_key *first, tb_error *err)
{
    tb_event_blocks *b = m->out;
    tb_code code = tb__grow(&b->list, b->n, &b->cap, sizeof *b->list, err);
    if (code) return code;
    b->list[b->n++] = (tb_event_block){.at = b->bytes.len, .first = *first};
    return TB_OK;
}

static tb_code put(merging *m, const uint8_t *bytes, size_t size, tb_event_key *key, bool made,
                   size_t id_at, tb_error *err)
{
    tb_event_blocks *b = m->out;
    uint8_t *to = (uint8_t *)tb_buf_room(&b->bytes, size);
    if (!to) return tb_buf_check(&b->bytes, err);
    memcpy(to, bytes, size);
    if (made && !number_it(&m->last, key, to, id_at)) return TB_OK;
    if (m->last.len && tb_event_key_compare(key, &m->last) <= 0) return TB_OK; /* it is there */
    if (b->n == 0 || (b->list[b->n - 1].n && b->list[b->n - 1].len + size > m->limit)) {
        tb_code code = new_block(m, key, err);
        if (code) return code;
    }
    b->list[b->n - 1].n++;
    b->list[b->n - 1].len += size;
    b->bytes.len += size;
    m->last = *key;
    return TB_OK;
}

static tb_code put_ref(merging *m, const tb_event_ref *ref, tb_error *err)
{
    tb_event_record r;
    size_t at = 0;
    tb_event_key key = ref->key;
    if (!tb_event_next(ref->bytes, ref->size, &at, &r))
        return tb_fail(err, TB_E_INTERNAL, NULL, "A packed event is damaged.");
    const size_t before = m->out->bytes.len;
    tb_code code = put(m, ref->bytes, ref->size, &key, r.made, (size_t)(r.texts - r.bytes), err);
    m->out->added += m->out->bytes.len > before;
    return code;
}

static size_t choose_limit(size_t len, const tb_event_ref *refs, size_t n, bool behind)
{
    size_t all = len;
    for (size_t i = 0; i < n; i++)
        all += refs[i].size;
    if (behind || all <= TB_EVENT_BLOCK) return TB_EVENT_BLOCK;
    const size_t blocks = (all + TB_EVENT_BLOCK - 1) / TB_EVENT_BLOCK;
    return all / blocks + 1;
}

/* Whether all refs come after the block's last record. *ret_ok false: it is no block. */
static bool comes_behind(const void *block, size_t len, const tb_event_ref *refs, bool *ret_ok)
{
    tb_event_record r;
    tb_event_key last = {.len = 0};
    size_t at = 0;
    *ret_ok = true;
    while (at < len && *ret_ok)
        *ret_ok = tb_event_next(block, len, &at, &r);
    if (*ret_ok && len) tb_event_record_key(&r, &last);
    return last.len == 0 || tb_event_key_compare(&refs[0].key, &last) > 0;
}

tb_code tb_event_merge(const void *block, size_t len, const tb_event_ref *refs, size_t n,
                       tb_event_blocks *ret, tb_error *err)
{
    merging m = {.out = ret};
    tb_event_record r;
    tb_event_key key;
    size_t at = 0, next = 0;
    bool sound;
    const bool behind = comes_behind(block, len, refs, &sound);
    tb_code code = TB_OK;
    if (!sound) return tb_fail(err, TB_E_CORRUPT, NULL, "A block of shield events cannot be read.");
    m.limit = choose_limit(len, refs, n, behind);
    while (!code && at < len && tb_event_next(block, len, &at, &r)) {
        tb_event_record_key(&r, &key);
        while (!code && next < n && tb_event_key_compare(&refs[next].key, &key) < 0)
            code = put_ref(&m, &refs[next++], err);
        if (!code) code = put(&m, r.bytes, r.size, &key, false, 0, err);
    }
    while (!code && next < n)
        code = put_ref(&m, &refs[next++], err);
    return code;
}
