/* Lines whose columns are known, written as a server writes them, with clients that put pipes, and what
 * looks like other columns, wherever they may: every line is accepted with the zone, the bytes, the time
 * and the status that it was written with; its edge location is never a cheaper one than the true one;
 * and where the reading says that all is told, all columns are those that were written. */
#include "intake/line.h"
#include "tollbook/requestlog.h"
#include "prop/random.h"
#include "seed.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1794960000000)

/* Ascending by code. */
static const tb_known_edge edges[] = {{"DE", 1}, {"NY", 0}, {"SYD", 3}, {"UK", 2}};
static const tb_log_layout layout = {.now_ms = NOW_MS, .edges = edges, .n_edges = 4};

typedef struct column {
    char text[600];
    size_t len;
} column;

/* The columns of a line; the numbers of those that a client chooses. */
enum { CACHE, STATUS, TIME, BYTES, ZONE, IP, REFERER, URL, EDGE, AGENT, ID, COUNTRY, BODY, RANGE,
       AUTHORIZATION, COLUMNS };

static void put(column *c, const char *text)
{
    const size_t n = strlen(text);
    if (c->len + n >= sizeof c->text) return;
    memcpy(c->text + c->len, text, n + 1);
    c->len += n;
}

static void put_id(column *c)
{
    char id[40];
    snprintf(id, sizeof id, "%016llx%016llx", (unsigned long long)random_bits(),
             (unsigned long long)random_bits());
    put(c, id);
}

/* What a client may send: words, pipes, and what other columns look like. escapes: the writer puts a
 * backslash before pipes and backslashes; else it writes a backslash as \x5C, as nginx does. */
static void put_hostile(column *c, bool escapes)
{
    static const char *const words[] = {
        "a",  "x y", "DE",  "NY", "SYD", "UK", "US", "-",      "",      "48213", "https://e.example/p",
        "https://", "HIT", "200", "curl/8.9", "Mozilla/5.0 (X11)", "bytes=0-9", "Bearer t", "\xff\xfe",
        "\\x7c", "1794950000000"};
    for (uint64_t n = below(3) ? below(3) : below(9); n > 0; n--) {
        const uint64_t what = below(10);
        if (what < 4) put(c, escapes ? "\\|" : "|");
        else if (what == 4) put(c, escapes ? "\\\\" : "\\x5C");
        else if (what == 5) put_id(c);
        else put(c, words[below(sizeof words / sizeof *words)]);
    }
}

static void make(column c[COLUMNS], bool extended, bool escapes)
{
    static const char *const countries[] = {"US", "DE", "UK", "-", "", "gb"};
    memset(c, 0, COLUMNS * sizeof *c);
    put(&c[CACHE], below(2) ? "HIT" : "MISS");
    put(&c[STATUS], below(2) ? "200" : "404");
    snprintf(c[TIME].text, sizeof c[TIME].text, "%lld",
             (long long)(NOW_MS - (int64_t)below(1000000000)));
    snprintf(c[BYTES].text, sizeof c[BYTES].text, "%llu", (unsigned long long)below(1000000));
    snprintf(c[ZONE].text, sizeof c[ZONE].text, "%llu", (unsigned long long)(1 + below(1000)));
    put(&c[IP], below(2) ? "198.51.100.7" : "2001:db8::7");
    if (below(3)) put_hostile(&c[REFERER], escapes);
    put(&c[URL], below(2) ? "https://z1.example/" : "http://-");
    put_hostile(&c[URL], escapes);
    put(&c[EDGE], edges[below(4)].code);
    put_hostile(&c[AGENT], escapes);
    put_id(&c[ID]);
    put(&c[COUNTRY], countries[below(6)]);
    if (extended) put(&c[BODY], c[BYTES].text);
    if (extended && below(2)) put_hostile(&c[RANGE], escapes);
    if (extended && below(2)) put_hostile(&c[AUTHORIZATION], escapes);
    for (unsigned i = 0; i < COLUMNS; i++)
        c[i].len = strlen(c[i].text);
}

static size_t write_line(const column c[COLUMNS], bool extended, char *out)
{
    size_t len = 0;
    for (unsigned i = 0; i < (extended ? COLUMNS : BODY); i++) {
        if (i) out[len++] = '|';
        memcpy(out + len, c[i].text, c[i].len);
        len += c[i].len;
    }
    return len;
}

static bool same(tb_text text, const column *c)
{
    const bool absent = c->len == 1 && *c->text == '-';
    return text.len == (absent ? 0 : c->len) && memcmp(text.data, c->text, text.len) == 0;
}

static bool same_url(const tb_logline *l, const column *c)
{
    return l->origin.len + l->path.len == c->len &&
           memcmp(l->origin.data, c->text, l->origin.len) == 0 &&
           memcmp(l->path.data, c->text + l->origin.len, l->path.len) == 0;
}

static const char *check_told(const tb_logline *l, const column c[COLUMNS], bool extended)
{
    if (!same(l->referer, &c[REFERER])) return "referer";
    if (!same_url(l, &c[URL])) return "url";
    if (!same(l->edge, &c[EDGE])) return "edge";
    if (!same(l->agent, &c[AGENT])) return "agent";
    if (!same(l->id, &c[ID])) return "id";
    if (!same(l->country, &c[COUNTRY])) return "country";
    if ((l->body_bytes != UINT64_MAX) != extended) return "extended";
    if (extended && !same(l->range, &c[RANGE])) return "range";
    return extended && !same(l->authorization, &c[AUTHORIZATION]) ? "authorization" : NULL;
}

static uint32_t rank_of(const char *code, size_t len)
{
    for (size_t i = 0; i < 4; i++)
        if (strlen(edges[i].code) == len && memcmp(edges[i].code, code, len) == 0)
            return edges[i].rank;
    return UINT32_MAX;
}

static const char *check(const column c[COLUMNS], bool extended, bool *ret_ambiguous)
{
    static char line[COLUMNS * sizeof c->text + TB_INTAKE_SLACK];
    tb_hit hit;
    tb_reject reject;
    tb_span span;
    tb_logline l;
    tb_intake out = {.hits = &hit, .rejects = &reject, .spans = &span, .room = 1};
    const size_t len = write_line(c, extended, line);
    memset(line + len, '|', TB_INTAKE_SLACK);
    tb_intake_lines(&layout, line, len, &out);
    if (out.n_hits != 1) return tb_reject_name(reject.reason);
    tb_logline_of(&layout, &hit, &span, &l);
    *ret_ambiguous = out.n_ambiguous;
    if (hit.zone != atoll(c[ZONE].text) || hit.bytes != (uint64_t)atoll(c[BYTES].text)) return "bytes";
    if (l.time_ms != atoll(c[TIME].text) || hit.status != atoi(c[STATUS].text)) return "time";
    if (!same(l.ip, &c[IP]) || !same(l.cache, &c[CACHE])) return "ip";
    if (rank_of(hit.edge, hit.edge_len) > rank_of(c[EDGE].text, c[EDGE].len)) return "cheaper";
    return *ret_ambiguous ? NULL : check_told(&l, c, extended);
}

START_TEST(every_line_counts_and_what_is_told_is_true)
{
    enum { ROUNDS = 100000 / TB_PART };
    static column c[COLUMNS];
    static char line[COLUMNS * sizeof c->text];
    unsigned n_ambiguous = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint64_t from = state;
        const bool extended = below(2), escapes = below(4) == 0;
        bool ambiguous = false;
        make(c, extended, escapes);
        const char *wrong = check(c, extended, &ambiguous);
        n_ambiguous += ambiguous;
        ck_assert_msg(!wrong, "%s: %.*s; TB_SEED=%llu", wrong,
                      (int)write_line(c, extended, line), line, (unsigned long long)from);
    }
    printf("%u of %u could not be told apart\n", n_ambiguous, ROUNDS);
    ck_assert_uint_gt(n_ambiguous, 0);
    ck_assert_uint_lt(n_ambiguous, ROUNDS / 2);
}
END_TEST

int main(void)
{
    state = test_seed();
    Suite *suite = suite_create("ends");
    TCase *t = tcase_create("random lines");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, every_line_counts_and_what_is_told_is_true);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
