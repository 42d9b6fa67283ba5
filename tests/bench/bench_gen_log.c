/* Writes the request log of the ingest workload, in the pipe format, the same bytes everywhere:
 *
 * usage: bench_gen_log [LINES [FIRST [ZONE [ZONES SEED EARLIER]]]] > LOG
 *        default 5,000,000 lines; only the FIRST of them; all of that one pull zone (0: of all);
 *        of so many zones, with another seed, all times so many days earlier
 *
 * 72 hours from 2026-11-18T00:00Z, 1,000 zones and 40 edge locations by Zipf's law, 60 countries,
 * some 293 bytes a line. Lines ascend in time but for 15 in 100, which come up to a minute late. */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONES 1000
#define BEGIN_MS UINT64_C(1794960000000)
#define WINDOW_MS (UINT64_C(72) * 3600 * 1000)
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* --- random numbers --- */

static uint64_t state = UINT64_C(0xD1342543DE82EF95) + 7;
static uint64_t begin_ms = BEGIN_MS;

/* splitmix64 */
static uint64_t next(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint32_t scale(uint64_t random, uint32_t n)
{
    return (uint32_t)((random >> 32) * n >> 32);
}

static uint32_t below(uint32_t n)
{
    return scale(next(), n);
}

/* Walker's alias method: a draw from n weights costs one random number. */
typedef struct alias {
    uint32_t n;
    uint32_t *cut, *other;
} alias;

static void *claim(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory) bench_fail("out of memory");
    return memory;
}

/* Moves what the last of `large` has too much to the last of `small`, until all have one share. */
static void level(alias *a, double *share)
{
    uint32_t *small = claim(a->n, sizeof *small), *large = claim(a->n, sizeof *large);
    uint32_t n_small = 0, n_large = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        if (share[i] < 1) small[n_small++] = i;
        else large[n_large++] = i;
    }
    while (n_small && n_large) {
        uint32_t s = small[--n_small], l = large[n_large - 1];
        a->cut[s] = (uint32_t)(share[s] * UINT32_MAX);
        a->other[s] = l;
        share[l] -= 1 - share[s];
        if (share[l] < 1) small[n_small++] = large[--n_large];
    }
    while (n_large) {
        uint32_t l = large[--n_large];
        a->cut[l] = UINT32_MAX;
        a->other[l] = l;
    }
    free(small);
    free(large);
}

static alias alias_of(uint32_t n, const double *weight)
{
    alias a = {n, claim(n, sizeof *a.cut), claim(n, sizeof *a.other)};
    double *share = claim(n, sizeof *share), total = 0;
    for (uint32_t i = 0; i < n; i++)
        total += weight[i];
    for (uint32_t i = 0; i < n; i++)
        share[i] = weight[i] / total * n;
    level(&a, share);
    free(share);
    return a;
}

static alias zipf(uint32_t n, double exponent)
{
    double *weight = claim(n, sizeof *weight);
    for (uint32_t i = 0; i < n; i++)
        weight[i] = 1 / pow(i + 1, exponent);
    alias a = alias_of(n, weight);
    free(weight);
    return a;
}

static uint32_t draw(const alias *a)
{
    uint64_t r = next();
    uint32_t i = scale(r, a->n);
    return (uint32_t)r <= a->cut[i] ? i : a->other[i];
}

/* --- words --- */

static const char *const caches[] = {"HIT", "MISS", "BYPASS", "REVALIDATED",
                                     "STALE", "UPDATING", "-"};
static const double cache_weights[] = {82, 10, 3, 2, 1, 1, 1};
static const unsigned codes[] = {200, 206, 304, 302, 301, 404, 403, 499, 429, 500, 502, 503, 504};
static const double code_weights[] = {800, 75, 55, 12, 8, 28, 8, 4, 2, 3, 2, 2, 1};
static const char *const edges[] = {
    "WA", "DE", "NY", "LA", "UK", "FR", "SG", "JP", "IL", "TX", "MI", "AT", "SE", "PL",
    "ES", "IT", "NL", "CZ", "RO", "BG", "TR", "ZA", "BR", "CL", "AR", "MX", "CA", "AU",
    "NZ", "IN", "HK", "KR", "TW", "TH", "MY", "ID", "PH", "AE", "FI", "DK"};
static const char *const countries[] = {
    "US", "DE", "GB", "FR", "BR", "IN", "JP", "CA", "NL", "IT", "ES", "PL", "AU", "TR", "MX",
    "ID", "SE", "RU", "UA", "KR", "AR", "CH", "BE", "AT", "CZ", "RO", "PT", "GR", "HU", "DK",
    "FI", "NO", "IE", "ZA", "SG", "HK", "TW", "TH", "MY", "PH", "VN", "AE", "SA", "EG", "IL",
    "CL", "CO", "PE", "NZ", "BG", "RS", "HR", "SK", "SI", "LT", "LV", "EE", "MA", "NG", "KE"};
static const char *const agents[] = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.1 Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 14; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/131.0.6778.39 Mobile Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/130.0.0.0 Safari/537.36 Edg/130.0.2849.80",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1",
    "AppleCoreMedia/1.0.0.22B83 (iPhone; U; CPU OS 18_1 like Mac OS X; en_us)",
    "Dalvik/2.1.0 (Linux; U; Android 13; Redmi Note 12 Build/TKQ1.221114.001)",
    "VLC/3.0.21 LibVLC/3.0.21",
    "ExoPlayerDemo/2.19.1 (Linux;Android 12) ExoPlayerLib/2.19.1",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (SMART-TV; Linux; Tizen 7.0) AppleWebKit/537.36 (KHTML, like Gecko) 94.0.4606.31"
    "/7.0 TV Safari/537.36",
    "curl/8.10.1"};
static const double agent_weights[] = {24, 9, 17, 14, 4, 6, 7, 5, 4, 3, 2, 1, 1, 1, 1, 1};
static const char *const folders[] = {
    "assets", "static/js", "media/video/hls", "images/products", "uploads/2026/11",
    "dist/v4.12.0/chunks", "library/episodes/season-02", "thumbs/640x360", "fonts",
    "api/v2/manifest"};
static const char *const endings[] = {"jpg", "webp", "js",  "css",   "ts",
                                      "m4s", "mp4",  "png", "woff2", "m3u8"};
static const char *const words[] = {
    "banner", "index", "player", "segment", "hero-image", "vendor", "playlist", "cover", "avatar",
    "checkout", "main.bundle", "trailer-final", "product-detail", "gallery", "subtitle",
    "background"};

/* --- one line --- */

#define LINE_MAX_ 1024

typedef struct text {
    char *at;
} text;

static void put(text *t, const char *word)
{
    size_t len = strlen(word);
    memcpy(t->at, word, len);
    t->at += len;
}

static void put_char(text *t, char c)
{
    *t->at++ = c;
}

static void put_base(text *t, uint64_t value, unsigned base)
{
    char digits[20];
    int n = 0;
    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (n)
        put_char(t, digits[--n]);
}

static void put_number(text *t, uint64_t value, char end)
{
    put_base(t, value, 10);
    put_char(t, end);
}

static void put_address(text *t)
{
    if (below(100) < 4) {
        uint32_t last = below(65536), third = below(65536), second = below(65536);
        put(t, "2a02:");
        put_base(t, second, 16);
        put_char(t, ':');
        put_base(t, third, 16);
        put(t, "::");
        put_base(t, last, 16);
    } else {
        uint32_t q = below(UINT32_C(1) << 18) * 16127u + 167772161u;
        put_number(t, 1 + (q >> 24) % 223, '.');
        put_number(t, q >> 16 & 255, '.');
        put_number(t, q >> 8 & 255, '.');
        put_base(t, q & 255, 10);
    }
    put_char(t, '|');
}

static void put_referer(text *t, uint32_t zone)
{
    if (below(100) < 45) {
        put_char(t, '-');
    } else {
        put(t, "https://www.customer-");
        put_base(t, zone, 10);
        put(t, ".com/");
        put(t, words[below(COUNT(words))]);
    }
    put_char(t, '|');
}

static void put_url(text *t, uint32_t zone, const alias *files)
{
    put(t, "https://customer-");
    put_base(t, zone, 10);
    put(t, ".b-cdn.net/");
    put(t, folders[below(COUNT(folders))]);
    put_char(t, '/');
    uint32_t file = draw(files);
    put(t, words[file % COUNT(words)]);
    put_char(t, '-');
    put_number(t, file, '.');
    put(t, endings[file % COUNT(endings)]);
    if (below(100) < 18) {
        put(t, "?v=");
        put_base(t, below(100000), 10);
        put(t, "&width=");
        put_base(t, UINT64_C(320) << below(3), 10);
    }
    put_char(t, '|');
}

static void put_request_id(text *t)
{
    for (int half = 0; half < 2; half++) {
        uint64_t bits = next();
        for (int i = 0; i < 16; i++, bits >>= 4)
            put_char(t, "0123456789abcdef"[bits & 15]);
    }
    put_char(t, '|');
}

static uint64_t bytes_sent(unsigned code, uint64_t random)
{
    if (code == 304) return 180 + (random >> 40) % 200;
    if (code >= 300) return 300 + (random >> 40) % 900;
    uint64_t size = UINT64_C(1) << (8 + (next() & 15));
    return size + (next() & 0x3fff);
}

static uint64_t moment_ms(uint64_t line, uint64_t lines, uint64_t random)
{
    __extension__ unsigned __int128 share = line;
    uint64_t since = (uint64_t)(share * WINDOW_MS / lines);
    uint64_t late = (random & 0xff) < 38 ? (random >> 8) % 60000 : (random >> 8) % 1000;
    return begin_ms + (since > late ? since - late : 0);
}

typedef struct laws {
    alias zones, edges, countries, files, caches, codes, agents;
} laws;

static void put_line(text *t, const laws *l, uint64_t line, uint64_t lines, uint32_t only)
{
    const uint32_t drawn = (uint32_t)((draw(&l->zones) + UINT64_C(1)) * 7919 % 1000003);
    const uint32_t zone = only ? only : drawn;
    unsigned code = codes[draw(&l->codes)];
    uint64_t random = next();
    uint64_t bytes = bytes_sent(code, random);
    put(t, caches[draw(&l->caches)]);
    put_char(t, '|');
    put_number(t, code, '|');
    put_number(t, moment_ms(line, lines, random), '|');
    put_number(t, bytes, '|');
    put_number(t, zone, '|');
    put_address(t);
    put_referer(t, zone);
    put_url(t, zone, &l->files);
    put(t, edges[draw(&l->edges)]);
    put_char(t, '|');
    put(t, agents[draw(&l->agents)]);
    put_char(t, '|');
    put_request_id(t);
    put(t, countries[draw(&l->countries)]);
    put_char(t, '\n');
}

int main(int argc, char **argv)
{
    static char block[(1 << 20) + LINE_MAX_];
    uint64_t lines = argc > 1 ? (uint64_t)bench_number(argv[1], 1, INT64_C(1) << 40) : 5000000;
    uint64_t first = argc > 2 ? (uint64_t)bench_number(argv[2], 1, (int64_t)lines) : lines;
    const uint32_t only = argc > 3 ? (uint32_t)bench_number(argv[3], 0, UINT32_MAX) : 0;
    const uint32_t zones = argc > 4 ? (uint32_t)bench_number(argv[4], 1, 1000000) : ZONES;
    if (argc > 5) state = (uint64_t)bench_number(argv[5], 1, INT64_MAX);
    if (argc > 6) begin_ms -= (uint64_t)bench_number(argv[6], 0, 4000) * 86400000;
    laws l = {zipf(zones, 1.0),
              zipf(COUNT(edges), 0.7),
              zipf(COUNT(countries), 0.9),
              zipf(4000, 0.8),
              alias_of(COUNT(caches), cache_weights),
              alias_of(COUNT(codes), code_weights),
              alias_of(COUNT(agents), agent_weights)};
    text t = {block};
    for (uint64_t i = 0; i < first; i++) {
        put_line(&t, &l, i, lines, only);
        if (t.at - block < 1 << 20 && i + 1 < first) continue;
        if (fwrite(block, 1, (size_t)(t.at - block), stdout) != (size_t)(t.at - block))
            bench_fail("the log cannot be written");
        t.at = block;
    }
    return 0;
}
