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

static size_t seed_number(char *to, uint64_t number)
{
    for (unsigned i = 0; i < sizeof number; i++)
        to[i] = (char)(uint8_t)(number >> (8 * i));
    return sizeof number;
}

/* The same log for another zone or location, or under another description, is another log. */
static uint64_t described_seed(const tb_log_layout *layout)
{
    char text[2 * TB_LOG_TEXT_MAX + TB_EDGE_MAX + 16];
    tb_log_spec spec;
    tb_log_layout_identity(layout, &spec);
    const tb_text parts[] = {spec.format, spec.map, spec.region};
    size_t len = seed_number(text, (uint64_t)spec.zone);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].len) memcpy(text + len, parts[i].data, parts[i].len);
        len += parts[i].len;
        text[len++] = 0;
    }
    return XXH3_64bits(text, len);
}

uint64_t feed_hash_seed(tb_batch_kind kind, const tb_log_layout *layout)
{
    char text[sizeof "combined" + sizeof layout->zone + TB_EDGE_MAX];
    size_t len = 0;
    if (kind != TB_BATCH_LOG || layout->format == TB_FORMAT_PIPE) return 0;
    if (layout->format == TB_FORMAT_COLUMNS) return described_seed(layout);
    memcpy(text, "combined", sizeof "combined");
    len += sizeof "combined";
    len += seed_number(text + len, (uint64_t)layout->zone);
    size_t edge_len = layout->edge_len <= TB_EDGE_MAX ? layout->edge_len : TB_EDGE_MAX;
    memcpy(text + len, layout->edge, edge_len);
    return XXH3_64bits(text, len + edge_len);
}

uint64_t feed_hash_options(const tb_log_layout *layout)
{
    tb_log_spec spec;
    char zone[sizeof layout->zone];
    uint64_t all = 0;
    tb_log_layout_identity(layout, &spec);
    if (layout->format == TB_FORMAT_COMBINED)
        spec = (tb_log_spec){{"combined", 8}, {"", 0}, {layout->edge, layout->edge_len}, layout->zone};
    (void)seed_number(zone, (uint64_t)spec.zone);
    const tb_text parts[FEED_OPTIONS] = {spec.format, spec.map, {zone, sizeof zone}, spec.region};
    for (int i = 0; i < FEED_OPTIONS; i++) {
        const uint64_t bits = XXH3_64bits(parts[i].len ? parts[i].data : "", parts[i].len);
        all |= bits >> (64 - FEED_OPTION_BITS) << (i * FEED_OPTION_BITS);
    }
    return all ? all : 1;
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

/* The text after the lines that begin with "#"; if there is none, the whole text. */
static size_t past_heads(const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && bytes[at] == '#') {
        const char *newline = memchr(bytes + at, '\n', len - at);
        if (!newline) return 0;
        at = (size_t)(newline - bytes) + 1;
    }
    return at < len ? at : 0;
}

tb_hash128 feed_hash_head(uint64_t seed, bool heads, const char *bytes, size_t len)
{
    size_t most = len < TB_HEAD ? len : TB_HEAD;
    const size_t skip = heads ? past_heads(bytes, most) : 0;
    bytes += skip;
    most -= skip;
    const char *end = most ? memchr(bytes, '\n', most) : NULL;
    size_t first = end ? (size_t)(end - bytes) : most;
    if (first > 0 && first < TB_HEAD && bytes[first - 1] == '\r') first--;
    return value_of(XXH3_128bits_withSeed(bytes, first, seed));
}
