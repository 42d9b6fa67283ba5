/* A page: for each entry the difference of its owner to the one before, its index (where the owner is the
 * same, the difference), the length of its bytes, and the bytes. At the end a checksum over all before
 * it, seeded with the row's id, so that a page under a wrong id is an error, never an answer. */
#include "store/lsm/lsm.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_MAX 30 /* three LEB128 */
#define CHECKSUM 8

static uint8_t *put_varint(uint8_t *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *out++ = (uint8_t)(v | 0x80);
    *out++ = (uint8_t)v;
    return out;
}

static tb_code page_room(tb__lsm_page *page, size_t more, tb_error *err)
{
    if (page->len + more <= page->cap) return TB_OK;
    size_t cap = page->cap ? page->cap : 4096;
    while (cap < page->len + more)
        cap *= 2;
    uint8_t *data = realloc(page->data, cap);
    if (!data) return tb_no_memory(err);
    page->data = data;
    page->cap = cap;
    return TB_OK;
}

tb_code tb__lsm_page_add(tb__lsm_page *page, const tb__lsm_entry *entry, tb_error *err)
{
    tb_code code = page_room(page, HEAD_MAX + entry->len + CHECKSUM, err);
    if (code) return code;
    tb__lsm_key last = page->len ? page->last : (tb__lsm_key){0, 0};
    bool same = page->len && entry->key.owner == last.owner;
    uint8_t *p = page->data + page->len;
    p = put_varint(p, (uint64_t)(entry->key.owner - last.owner));
    p = put_varint(p, (uint64_t)(same ? entry->key.index - last.index : entry->key.index));
    p = put_varint(p, entry->len);
    memcpy(p, entry->data, entry->len);
    page->len = (size_t)(p - page->data) + entry->len;
    page->last = entry->key;
    return TB_OK;
}

static uint64_t checksum(const uint8_t *data, size_t len, int64_t id)
{
    return XXH3_64bits_withSeed(data, len, (uint64_t)id);
}

tb_code tb__lsm_page_end(tb__lsm_page *page, int64_t id, tb_error *err)
{
    tb_code code = page_room(page, CHECKSUM, err);
    if (code) return code;
    uint64_t sum = checksum(page->data, page->len, id);
    memcpy(page->data + page->len, &sum, CHECKSUM);
    page->len += CHECKSUM;
    return TB_OK;
}

bool tb__lsm_page_open(tb__lsm_page_cursor *c, const uint8_t *data, size_t len, int64_t id)
{
    uint64_t sum;
    *c = (tb__lsm_page_cursor){.bad = true};
    if (!data || len <= CHECKSUM) return false;
    memcpy(&sum, data + len - CHECKSUM, CHECKSUM);
    if (sum != checksum(data, len - CHECKSUM, id)) return false;
    *c = (tb__lsm_page_cursor){.at = data, .end = data + len - CHECKSUM};
    return true;
}

static bool take_varint(tb__lsm_page_cursor *c, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

bool tb__lsm_page_next(tb__lsm_page_cursor *c, tb__lsm_entry *ret_entry)
{
    uint64_t owner, index, len;
    if (c->at >= c->end) return false;
    if (!take_varint(c, &owner) || !take_varint(c, &index) || !take_varint(c, &len) ||
        len > (uint64_t)(c->end - c->at) || len > TB__LSM_ENTRY_MAX || owner > (uint64_t)(INT64_MAX - c->last.owner) ||
        index > (uint64_t)TB__LSM_INDEX_MAX) {
        c->bad = true;
        return false;
    }
    const bool same = owner == 0 && c->begun;
    c->last.owner += (int64_t)owner;
    c->last.index = (same ? c->last.index : 0) + (int64_t)index;
    if (c->last.owner < 1 || c->last.index > TB__LSM_INDEX_MAX) {
        c->bad = true;
        return false;
    }
    *ret_entry = (tb__lsm_entry){c->last, c->at, (size_t)len};
    c->at += len;
    c->begun = true;
    return true;
}
