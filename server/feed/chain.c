/* One walk over the input, which stops at every start and end of a segment. */
#include "feed/chain.h"

#include <stdlib.h>

#include "feed/hash.h"

#define WALK_BYTES ((size_t)1 << 16)

typedef struct walk {
    feed_source *source;
    feed_hash *hash;
    uint64_t at;
    char last;
    bool end;
    char *bytes;
} walk;

static int by_length(const void *a, const void *b)
{
    const feed_link *const *x = a, *const *y = b;
    const uint64_t p = (*x)->known.length, q = (*y)->known.length;
    return (p > q) - (p < q);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static tb_code walk_to(walk *k, uint64_t to, tb_error *err)
{
    tb_code code = TB_OK;
    while (!code && !k->end && k->at < to) {
        size_t n = 0, want = to - k->at < WALK_BYTES ? (size_t)(to - k->at) : WALK_BYTES;
        code = feed_source_read(k->source, k->bytes, want, &n, err);
        if (code) break;
        k->end = n < want;
        if (!n) break;
        feed_hash_add(k->hash, k->bytes, n);
        k->last = k->bytes[n - 1];
        k->at += n;
    }
    return code;
}

/* Finds the links with an equal hash, and the byte before each. */
static tb_code find_same(walk *k, feed_link *links, size_t n, tb_error *err)
{
    feed_link **ends = calloc(n + 1, sizeof(feed_link *));
    if (!ends) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        links[i].same = false;
        ends[i] = &links[i];
    }
    if (n > 1) qsort(ends, n, sizeof *ends, by_length);
    tb_code code = feed_source_seek(k->source, 0, err);
    for (size_t start = 0, end = 0; !code && (start < n || end < n);) {
        uint64_t next = start < n ? links[start].known.start : UINT64_MAX;
        if (end < n && ends[end]->known.length < next) next = ends[end]->known.length;
        code = walk_to(k, next, err);
        if (code || k->at < next) break;
        for (; start < n && links[start].known.start == next; start++)
            links[start].before = k->last;
        const tb_hash128 hash = feed_hash_value(k->hash);
        for (; end < n && ends[end]->known.length == next; end++)
            ends[end]->same = feed_hash_same(ends[end]->known.hash, hash);
    }
    free(ends);
    return code;
}

/* Drops links that no other one reaches. The links ascend by their starts, so an end is noted before the link that begins
 * there is checked. */
static tb_code keep_reached(feed_link *links, size_t n, tb_error *err)
{
    uint64_t *reached = calloc(n + 1, sizeof *reached);
    size_t n_reached = 1; /* byte 0 */
    bool sorted = true;
    if (!reached) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (!links[i].same) continue;
        if (!sorted) qsort(reached, n_reached, sizeof *reached, by_number);
        sorted = true;
        links[i].same =
            bsearch(&links[i].known.start, reached, n_reached, sizeof *reached, by_number) != NULL;
        if (!links[i].same) continue;
        sorted = links[i].known.length >= reached[n_reached - 1];
        reached[n_reached++] = links[i].known.length;
    }
    free(reached);
    return TB_OK;
}

tb_code feed_chain_begin(feed_reader *reader, tb_log_layout *layout, bool spool, tb_hash128 *ret_head, bool *ret_empty,
                         tb_error *err)
{
    const char *folder = getenv("TMPDIR");
    tb_code code = feed_reader_head(reader, ret_head, ret_empty, err);
    const tb_text beginning = feed_reader_beginning(reader);
    if (!code && layout) code = tb_log_layout_head(layout, beginning.data, beginning.len, err);
    return code || !spool ? code : feed_reader_spool(reader, folder && *folder ? folder : "/tmp", err);
}

tb_code feed_chain_find(feed_source *source, uint64_t seed, feed_link *links, size_t n, tb_error *err)
{
    walk k = {.source = source, .hash = feed_hash_new(seed), .bytes = malloc(WALK_BYTES)};
    tb_code code = k.hash && k.bytes ? find_same(&k, links, n, err) : tb_no_memory(err);
    feed_hash_free(k.hash);
    free(k.bytes);
    return code ? code : keep_reached(links, n, err);
}
