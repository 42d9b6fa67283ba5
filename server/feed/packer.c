/* Lines go through intake as they do on the server, with three differences: the known hostnames are the granted
 * ones, each with a different negative number; the edge locations of regions are not known; and the clock is this
 * machine's. So a line is sent unchanged if one of these could matter: it was refused, it was parsed by the slow
 * path or is ambiguous, it is more than a day ahead, or its zone is not granted. */
#include "feed/packer.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tollbook/batches.h"
#include "tollbook/intake.h"

#define ROOM        2048
#define GROUPS_MAX  ((size_t)1000000)
#define GRANTED_MAX ((size_t)1 << 20)
#define HOUR_MS     INT64_C(3600000)
#define CLOCKS_MS   (24 * HOUR_MS) /* how far two clocks may differ before a line's hour decides */
#define NOT_GRANTED INT64_MIN

typedef enum standing { UNKNOWN, ASKED, GRANTED } standing;

typedef struct zone_slot {
    int64_t zone; /* 0: free */
    standing is;
} zone_slot;

struct feed_packer {
    tb_log_layout layout; /* the caller's columns, with hosts of ours */
    tb_rollup *cells;
    tb_hit *hits;
    tb_reject *refused;
    tb_span *spans;
    zone_slot *zones; /* open addressing */
    size_t n_zones, mask;
    tb_known_hosts *hosts, *missed; /* granted; requested with this piece */
    tb_text *names;                 /* of the granted: hosts' zone -1 - i is names[i] */
    char **own;                     /* their bytes */
    size_t n_names, cap_names;
    tb_cell_key asked[TB_CELLS_ASKED];
    char *asked_own[TB_CELLS_ASKED]; /* the bytes of their hosts, or NULL */
    size_t n_asked;
    uint64_t *numbers;
    size_t n_numbers, cap_numbers;
    tb_buf text;
    const char *counted_to; /* lines before it are in `line` */
    uint64_t line;
    bool failed; /* out of memory */
};

/* --- granted keys --- */

static zone_slot *find_zone(const feed_packer *p, int64_t zone)
{
    for (size_t i = XXH3_64bits(&zone, sizeof zone);; i++) {
        zone_slot *s = &p->zones[i & p->mask];
        if (s->zone == zone || s->zone == 0) return s;
    }
}

static bool grow_zones(feed_packer *p)
{
    const size_t old_size = p->zones ? p->mask + 1 : 0;
    zone_slot *old = p->zones;
    if (old && (p->n_zones + 1) * 2 <= p->mask) return true;
    const size_t size = old ? old_size * 2 : 1024;
    zone_slot *more = calloc(size, sizeof *more);
    if (!more) return false;
    p->zones = more;
    p->mask = size - 1;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].zone) *find_zone(p, old[i].zone) = old[i];
    free(old);
    return true;
}

static char *copy_name(const char *bytes, size_t len)
{
    char *to = malloc(len + 1);
    if (to) memcpy(to, bytes, len);
    return to;
}

static void host_missed(void *ctx, const char *name, size_t len)
{
    feed_packer *p = ctx;
    tb_error err;
    if (p->n_asked == TB_CELLS_ASKED || tb_known_hosts_find(p->missed, name, len)) return;
    char *own = copy_name(name, len);
    if (!own || tb_known_hosts_add(p->missed, name, len, 1, &err) != TB_OK) {
        free(own);
        p->failed = true;
        return;
    }
    p->asked_own[p->n_asked] = own;
    p->asked[p->n_asked++] = (tb_cell_key){.host = {own, len}};
}

/* Whether the line's zone is granted; requests it if not. */
static bool is_granted(feed_packer *p, int64_t zone)
{
    if (zone < 0) return zone != NOT_GRANTED;
    zone_slot *s = find_zone(p, zone);
    if (s->zone) {
        if (s->is == UNKNOWN && p->n_asked < TB_CELLS_ASKED) {
            s->is = ASKED;
            p->asked[p->n_asked++] = (tb_cell_key){.zone = zone};
        }
        return s->is == GRANTED;
    }
    if (p->n_asked == TB_CELLS_ASKED || p->n_zones >= GRANTED_MAX) return false;
    *s = (zone_slot){zone, ASKED};
    p->n_zones++;
    p->asked[p->n_asked++] = (tb_cell_key){.zone = zone};
    if (!grow_zones(p)) p->failed = true;
    return false;
}

static void clear_asked(feed_packer *p)
{
    for (size_t i = 0; i < p->n_asked; i++) {
        free(p->asked_own[i]);
        p->asked_own[i] = NULL;
        zone_slot *s = p->asked[i].zone ? find_zone(p, p->asked[i].zone) : NULL;
        if (s && s->is == ASKED) s->is = UNKNOWN;
    }
    p->n_asked = 0;
}

static bool renew_hosts(feed_packer *p, tb_known_hosts **hosts, bool open)
{
    tb_error err;
    tb_known_hosts_free(*hosts);
    *hosts = NULL;
    if (tb_known_hosts_new(hosts, &err) != TB_OK) return false;
    if (open) tb_known_hosts_open(*hosts, NOT_GRANTED, host_missed, p);
    return true;
}

void feed_packer_forget(feed_packer *p)
{
    clear_asked(p);
    for (size_t i = 0; i < p->n_names; i++)
        free(p->own[i]);
    p->n_names = p->n_zones = 0;
    memset(p->zones, 0, (p->mask + 1) * sizeof *p->zones);
    if (!renew_hosts(p, &p->hosts, true)) p->failed = true;
}

tb_code feed_packer_grant(feed_packer *p, size_t place, tb_error *err)
{
    if (place >= p->n_asked || p->n_names >= GRANTED_MAX) return TB_OK;
    tb_cell_key *key = &p->asked[place];
    if (key->zone) {
        find_zone(p, key->zone)->is = GRANTED;
        return TB_OK;
    }
    if (!p->asked_own[place]) return TB_OK;
    if (p->n_names == p->cap_names) {
        const size_t cap = p->cap_names ? p->cap_names * 2 : 64;
        tb_text *more = realloc(p->names, cap * sizeof *more);
        if (!more) return tb_no_memory(err);
        p->names = more;
        char **own = realloc(p->own, cap * sizeof *own);
        if (!own) return tb_no_memory(err);
        p->own = own;
        p->cap_names = cap;
    }
    tb_code code = tb_known_hosts_add(p->hosts, key->host.data, key->host.len,
                                      -1 - (int64_t)p->n_names, err);
    if (code) return code;
    p->own[p->n_names] = p->asked_own[place];
    p->names[p->n_names++] = key->host;
    p->asked_own[place] = NULL;
    return TB_OK;
}

/* --- packing --- */

/* Sends the line that begins here unchanged. Lines come in their order. */
static void send_line(feed_packer *p, const char *line, const char *end)
{
    for (const char *at = p->counted_to; at < line; p->line++)
        at = (const char *)memchr(at, '\n', (size_t)(line - at)) + 1;
    const char *next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
    p->counted_to = next;
    if (p->n_numbers == p->cap_numbers) {
        const size_t cap = p->cap_numbers ? p->cap_numbers * 2 : 256;
        uint64_t *more = realloc(p->numbers, cap * sizeof *more);
        if (!more) {
            p->failed = true;
            return;
        }
        p->numbers = more;
        p->cap_numbers = cap;
    }
    p->numbers[p->n_numbers++] = ++p->line;
    tb_buf_add(&p->text, line, (size_t)(next - line));
}

static bool goes_as_line(feed_packer *p, const tb_hit *hit, const tb_span *span, int64_t now_ms)
{
    const bool pipe = p->layout.format == TB_FORMAT_PIPE;
    const bool granted = is_granted(p, hit->zone);
    return !granted || (pipe && !span->pipes) || (hit->hour + 1) * HOUR_MS > now_ms + CLOCKS_MS;
}

/* Counts the hits that can be counted here. Other hits and refused lines are sent as lines, in their order. */
static tb_code take_read(feed_packer *p, const tb_intake *got, const char *end, bool whole, tb_error *err)
{
    size_t n = 0, reject = 0;
    for (size_t i = 0; i < got->n_hits; i++) {
        if (!whole && !goes_as_line(p, &got->hits[i], &got->spans[i], p->layout.now_ms)) {
            got->hits[n++] = got->hits[i];
            continue;
        }
        while (reject < got->n_rejects && got->rejects[reject].text < got->spans[i].line)
            send_line(p, got->rejects[reject++].text, end);
        send_line(p, got->spans[i].line, end);
    }
    while (reject < got->n_rejects)
        send_line(p, got->rejects[reject++].text, end);
    return tb_rollup_add_hits(p->cells, got->hits, n, err);
}

/* Where a line is ambiguous it is looked for: each line is read alone. */
static tb_code take_some(feed_packer *p, const char *bytes, const char *end, size_t room,
                         const char **ret_at, bool *ret_heads, tb_error *err)
{
    tb_intake got = {.hits = p->hits, .rejects = p->refused, .spans = p->spans, .room = room};
    const size_t n = tb_intake_lines(&p->layout, bytes, (size_t)(end - bytes), &got);
    const bool unclear = got.n_ambiguous > 0 && p->layout.format != TB_FORMAT_PIPE;
    *ret_at = bytes + n;
    *ret_heads = got.n_heads > 0;
    if (!unclear || room == 1) return take_read(p, &got, end, unclear, err);
    tb_code code = TB_OK;
    for (const char *at = bytes; at < bytes + n && !code && !*ret_heads;)
        code = take_some(p, at, end, 1, &at, ret_heads, err);
    return code;
}

static void begin_piece(feed_packer *p, const char *bytes, int64_t now_ms)
{
    clear_asked(p);
    tb_rollup_clear(p->cells);
    p->text.len = 0;
    p->text.failed = false;
    p->n_numbers = 0;
    p->line = 0;
    p->counted_to = bytes;
    p->layout.now_ms = now_ms;
    p->layout.hosts = p->hosts;
    if (!renew_hosts(p, &p->missed, false)) p->failed = true;
}

/* Lines in all. */
static uint64_t count_lines(const feed_packer *p, const char *end)
{
    uint64_t n = p->line;
    for (const char *at = p->counted_to; at < end; n++)
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    return n;
}

tb_code feed_packer_pack(feed_packer *p, const char *bytes, size_t len, int64_t now_ms, tb_buf *out,
                         bool *ret_packed, tb_error *err)
{
    const char *end = bytes + len, *at = bytes;
    bool heads = false;
    tb_code code = TB_OK;
    *ret_packed = false;
    if (!len || end[-1] != '\n') return TB_OK;
    begin_piece(p, bytes, now_ms);
    while (at < end && !code && !p->failed && !heads && !tb_rollup_full(p->cells))
        code = take_some(p, at, end, ROOM, &at, &heads, err);
    if (!code) code = p->failed ? tb_no_memory(err) : tb_buf_check(&p->text, err);
    if (code || heads || at < end) return code;
    const tb_cell_batch batch = {.lines = count_lines(p, end),
                                 .asked = p->asked,
                                 .n_asked = p->n_asked,
                                 .numbers = p->numbers,
                                 .n_numbers = p->n_numbers,
                                 .text = p->text.data,
                                 .text_len = p->text.len};
    code = tb_cells_write(&batch, p->cells, p->names, out, err);
    *ret_packed = code == TB_OK;
    return code;
}

/* --- life --- */

feed_packer *feed_packer_new(const tb_log_layout *layout)
{
    feed_packer *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->layout = *layout;
    p->layout.edges = NULL;
    p->layout.n_edges = 0;
    tb_buf_init(&p->text, SIZE_MAX / 2, NULL);
    p->cells = tb_rollup_new(GROUPS_MAX, NULL);
    p->hits = malloc(ROOM * sizeof *p->hits);
    p->refused = malloc(ROOM * sizeof *p->refused);
    p->spans = malloc(ROOM * sizeof *p->spans);
    if (p->cells && p->hits && p->refused && p->spans && grow_zones(p) &&
        renew_hosts(p, &p->hosts, true) && renew_hosts(p, &p->missed, false))
        return p;
    feed_packer_free(p);
    return NULL;
}

void feed_packer_free(feed_packer *p)
{
    if (!p) return;
    if (p->zones) clear_asked(p);
    for (size_t i = 0; i < p->n_names; i++)
        free(p->own[i]);
    tb_known_hosts_free(p->hosts);
    tb_known_hosts_free(p->missed);
    tb_rollup_free(p->cells);
    tb_buf_release(&p->text);
    free(p->names);
    free(p->own);
    free(p->zones);
    free(p->numbers);
    free(p->hits);
    free(p->refused);
    free(p->spans);
    free(p);
}
