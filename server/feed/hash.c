/* libxxhash behind the one interface the feed needs. On x86-64 the library's run-time dispatch is
 * used: it picks AVX2 or AVX-512 where the processor has them, three times the speed of the
 * library's portable entry points. */
#include "feed/hash.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif

struct feed_hash {
    XXH3_state_t *state;
};

uint64_t feed_hash_seed(tb_batch_kind kind, const tb_log_layout *layout)
{
    char text[sizeof "combined" + sizeof layout->zone + TB_EDGE_MAX];
    size_t len = 0;
    if (kind != TB_BATCH_LOG || layout->format == TB_FORMAT_PIPE) return 0;
    memcpy(text, "combined", sizeof "combined");
    len += sizeof "combined";
    for (unsigned i = 0; i < sizeof layout->zone; i++)
        text[len++] = (char)(uint8_t)((uint64_t)layout->zone >> (8 * i));
    size_t edge_len = layout->edge_len <= TB_EDGE_MAX ? layout->edge_len : TB_EDGE_MAX;
    memcpy(text + len, layout->edge, edge_len);
    return XXH3_64bits(text, len + edge_len);
}

feed_hash *feed_hash_new(uint64_t seed)
{
    feed_hash *hash = malloc(sizeof *hash);
    if (!hash) return NULL;
    hash->state = XXH3_createState();
    if (hash->state && XXH3_128bits_reset_withSeed(hash->state, seed) == XXH_OK) return hash;
    feed_hash_free(hash);
    return NULL;
}

void feed_hash_free(feed_hash *hash)
{
    if (!hash) return;
    XXH3_freeState(hash->state);
    free(hash);
}

void feed_hash_add(feed_hash *hash, const char *bytes, size_t len)
{
    XXH3_128bits_update(hash->state, bytes, len); /* fails for NULL alone */
}

void feed_hash_copy(feed_hash *to, const feed_hash *from)
{
    XXH3_copyState(to->state, from->state);
}

static tb_hash128 value_of(XXH128_hash_t hash)
{
    return (tb_hash128){.high = hash.high64, .low = hash.low64};
}

tb_hash128 feed_hash_value(const feed_hash *hash)
{
    return value_of(XXH3_128bits_digest(hash->state));
}

tb_hash128 feed_hash_head(uint64_t seed, const char *bytes, size_t len)
{
    size_t most = len < TB_HEAD ? len : TB_HEAD;
    const char *end = most ? memchr(bytes, '\n', most) : NULL;
    size_t first = end ? (size_t)(end - bytes) : most;
    if (first > 0 && first < TB_HEAD && bytes[first - 1] == '\r') first--;
    return value_of(XXH3_128bits_withSeed(bytes, first, seed));
}
