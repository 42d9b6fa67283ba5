/* Hostnames and their zones: a table with open addressing over the names in lower case. A declared name that is not
 * ASCII is in it twice: as written, and in the form of DNS, Host headers and logs (IDNA2008 with the mapping of UTS
 * 46, like browsers: "Bücher.example" is "xn--bcher-kva.example"). */
#include "base/hash.h"
#include "intake/columns.h"

#include <idn2.h>
#include <stdlib.h>
#include <string.h>

typedef struct slot {
    char *name; /* NULL: free */
    uint32_t len;
    int64_t zone; /* 0: of several */
} slot;

struct tb_known_hosts {
    slot *slots;
    size_t n, mask;
    uint64_t seed; /* names come from logs, so their hashes must not be predictable */
    int64_t other; /* the zone of unknown names; 0: none */
    void (*missed)(void *ctx, const char *name, size_t len);
    void *ctx;
};

tb_code tb_known_hosts_new(tb_known_hosts **ret_hosts, tb_error *err)
{
    tb_known_hosts *hosts = calloc(1, sizeof *hosts);
    if (!hosts) return tb_no_memory(err);
    hosts->mask = 63;
    hosts->seed = tb__hash_seed();
    hosts->slots = calloc(hosts->mask + 1, sizeof *hosts->slots);
    if (!hosts->slots) {
        free(hosts);
        return tb_no_memory(err);
    }
    *ret_hosts = hosts;
    return TB_OK;
}

void tb_known_hosts_free(tb_known_hosts *hosts)
{
    if (!hosts) return;
    for (size_t i = 0; i <= hosts->mask; i++)
        free(hosts->slots[i].name);
    free(hosts->slots);
    free(hosts);
}

/* The slot of the name, or the free one where it goes. */
static slot *slot_of(const tb_known_hosts *hosts, const char *name, size_t len)
{
    for (size_t i = XXH3_64bits_withSeed(name, len, hosts->seed);; i++) {
        slot *s = &hosts->slots[i & hosts->mask];
        if (!s->name || (s->len == len && memcmp(s->name, name, len) == 0)) return s;
    }
}

static tb_code grow_hosts(tb_known_hosts *hosts, tb_error *err)
{
    const tb_known_hosts old = *hosts;
    if ((hosts->n + 1) * 2 <= hosts->mask) return TB_OK;
    hosts->mask = old.mask * 2 + 1;
    hosts->slots = calloc(hosts->mask + 1, sizeof *hosts->slots);
    if (!hosts->slots) {
        *hosts = old;
        return tb_no_memory(err);
    }
    for (size_t i = 0; i <= old.mask; i++)
        if (old.slots[i].name)
            *slot_of(hosts, old.slots[i].name, old.slots[i].len) = old.slots[i];
    free(old.slots);
    return TB_OK;
}

static tb_code add_folded(tb_known_hosts *hosts, const char *folded, size_t n, int64_t zone,
                          tb_error *err)
{
    tb_code code = grow_hosts(hosts, err);
    if (code) return code;
    slot *s = slot_of(hosts, folded, n);
    if (s->name) {
        if (s->zone != zone) s->zone = 0;
        return TB_OK;
    }
    char *copy = malloc(n);
    if (!copy) return tb_no_memory(err);
    memcpy(copy, folded, n);
    s->name = copy;
    s->len = (uint32_t)n;
    s->zone = zone;
    hosts->n++;
    return TB_OK;
}

/* Under the name that DNS has for it; a text that is no name in any language has none. */
static tb_code add_in_ascii(tb_known_hosts *hosts, const char *folded, int64_t zone, tb_error *err)
{
    char *ascii;
    const int result = idn2_to_ascii_8z(folded, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    if (result == IDN2_MALLOC) return tb_no_memory(err);
    if (result != IDN2_OK) return TB_OK;
    const size_t n = strlen(ascii);
    tb_code code = n > 0 && n < TB_HOST_MAX ? add_folded(hosts, ascii, n, zone, err) : TB_OK;
    idn2_free(ascii);
    return code;
}

tb_code tb_known_hosts_add(tb_known_hosts *hosts, const char *name, size_t len, int64_t zone,
                           tb_error *err)
{
    char folded[TB_HOST_MAX];
    const size_t n = tb__host_fold((tb__part){name, len}, folded);
    return n ? add_folded(hosts, folded, n, zone, err) : TB_OK; /* no request's host is so long */
}

static bool is_ascii(const char *name, size_t n)
{
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++)
        all |= (unsigned char)name[i];
    return all < 0x80;
}

tb_code tb_known_hosts_declare(tb_known_hosts *hosts, const char *name, size_t len, int64_t zone,
                               tb_error *err)
{
    char folded[TB_HOST_MAX + 1];
    tb_code code = tb_known_hosts_add(hosts, name, len, zone, err);
    const size_t n = tb__host_fold((tb__part){name, len}, folded);
    if (code || is_ascii(folded, n)) return code;
    folded[n] = 0;
    return strlen(folded) == n ? add_in_ascii(hosts, folded, zone, err) : TB_OK;
}

int64_t tb_known_hosts_find(const tb_known_hosts *hosts, const char *name, size_t len)
{
    char folded[TB_HOST_MAX];
    const size_t n = tb__host_fold((tb__part){name, len}, folded);
    if (!hosts || n == 0) return 0;
    const slot *s = slot_of(hosts, folded, n);
    if (s->name || !hosts->other) return s->name ? s->zone : 0;
    hosts->missed(hosts->ctx, folded, n);
    return hosts->other;
}

void tb_known_hosts_open(tb_known_hosts *hosts, int64_t other,
                         void (*missed)(void *ctx, const char *name, size_t len), void *ctx)
{
    hosts->other = other;
    hosts->missed = missed;
    hosts->ctx = ctx;
}
