/* Runs against base: the same random steps are made in two stores, one that writes batches as runs and
 * compacts them, and one that writes each batch to base. In the first, accounts share the
 * series of their one pull zone; in the second, each has its own. After each
 * step every answer of the two is the same. Steps are batches small and large, batches that are
 * undone, several in a transaction that are grouped, batches that are packed first or are not, batches that are
 * withdrawn, a catalogue that gives zones to accounts and takes them away, compaction, a crash, a reader beside,
 * months that become final, after which usage of theirs is late. Rankings are asked
 * of the cache of sums (sums.h), and of the file alone. The data's version, which ETags and invoices
 * name, is the same too.
 *
 * Where TB_USAGE_SERVERS names servers (usage_plane.h), the second store has its usage there, and its months are compacted
 * at times; the reader is its own. */
#include "../unit/store_fixture.h"
#include "../unit/usage_cells.h"
#include "steps.h"
#include "tollbook/billsource.h"
#include "tollbook/statistics.h"
#include "tollbook/issue.h"
#include "tollbook/usageservers.h"
#include "tollbook/batches.h"
#include "store/usage/batch.h"
#include "tollbook/withdraw.h"

#define STEPS (240 / TB_PART)
#define ROWS  40
#define ZONES 12
#define ACCOUNTS 4

/* [0] writes runs, [1] base. The answers of one of them are asked of a reader's connection too. */
static fixture both[2];
static fixture_helper helper[2];
static tb_store *reader;
static bool elsewhere; /* [1] has its usage on servers */
static int64_t now_hour; /* of the newest usage */
static int declared;     /* zones 1 .. declared belong to accounts, by turns */
static uint64_t segments, n_final;
static const tb_directory *earlier; /* of a catalogue that was, NULL: none */
static uint64_t n_packed, n_stale, n_grouped;
static uint64_t n_began, n_ended; /* times that more accounts shared a series than before, and fewer */

/* Folds take many batches, so that all answers are asked between their slices. */
static void set_forms(void)
{
    both[0].store->usage->test.step_rows = 60;
    both[0].store->usage->test.days = 1 + (int64_t)below(2);
    both[0].store->usage->test.part = 2 + below(9);
    both[1].store->usage->test.no_runs = true;
    both[1].store->usage->test.part = 1; /* no series waits */
    both[1].store->usage->test.apart = true;
    for (int i = 0; i < 2; i++) {
        both[i].store->usage->test.buffer_rows = 1 + below(9);
        fixture_lend(&both[i], &helper[i]);
    }
}

static tb_store *asked(int i)
{
    return i != elsewhere || below(2) ? both[i].store : reader;
}

static void open_reader(void)
{
    tb_error err = {0};
    fixture *of = &both[elsewhere];
    tb_store_options options = {.now_us = NOW_US, .usage = usage_plane_client(&of->plane)};
    ok(tb_store_open(of->path, &options, &reader, &err));
}

static void add_book(fixture *f)
{
    static const char text[] =
        "{\"book\":\"b\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\",\"minimum_monthly\":\"1.00\","
        "\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"0.01\",\"NA\":\"0.02\",\"ASIA\":\"0.03\",\"SA\":\"0.04\","
        "\"AF\":\"0.06\"}}},\"optimizer\":{\"monthly\":\"9.50\"},\"load_balancer\":{\"monthly_fee\":\"9.50\",\"included_requests\":0,"
        "\"included_axis\":\"absolute\",\"mode\":\"graduated\",\"tiers\":[{\"from_millions\":0,\"to_millions\":null,"
        "\"price_per_million\":\"0.65\"}]}}";
    tb_book book;
    tb_error err = {0};
    bool known = false;
    ok(tb_book_parse(text, strlen(text), NULL, &book, &err));
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_add_book(f->store, &book, NOW_US, &known, &err));
    ok(tb_store_commit(f->store, &err));
    tb_book_release(&book);
}

/* --- steps --- */

static const char *const edges[] = {"DE", "UK", "NY", "SG"};

/* Of the zones that have an account, and one or two that have none yet: so some of them find it before they have usage. */
static int64_t random_zone(void)
{
    const int last = declared + 1 + (int)below(2);
    return 1 + (int64_t)below((uint64_t)(last < ZONES ? last : ZONES));
}

/* Mostly of the last hours, sometimes of long ago, of any zone, of a balancer, with a maximum. */
static tb_row random_row(void)
{
    static const tb_metric metrics[] = {TB_M_REQUESTS, TB_M_BYTES, TB_M_ORIGIN_BYTES,
                                        TB_M_QUEUED_MAX, TB_M_OPTIMIZED};
    int64_t back = below(10) ? (int64_t)below(4) : (int64_t)below(24 * 40);
    tb_row row = {.id = random_zone(), .hour = (int32_t)(now_hour - back)};
    if (below(8) == 0) row.id = 100 + (int64_t)below(1 + segments); /* so that second locations go on to come */
    row.balancer = below(12) == 0;
    if (row.balancer) row.id = 7;
    const char *edge = row.balancer ? "" : edges[below(row.id == 3 ? 1 : 4)];
    row.edge_len = (uint8_t)strlen(edge);
    memcpy(row.edge, edge, strlen(edge));
    for (int n = row.balancer ? 1 : 1 + (int)below(3); n > 0; n--) {
        tb_metric m = row.balancer ? TB_M_REQUESTS : metrics[below(5)];
        row.metrics |= TB_METRIC_BIT(m);
        row.value[m] = below(4) ? below(1000) : below(UINT64_C(1) << 40);
    }
    return row;
}

static tb_hit random_hit(void)
{
    static const uint16_t countries[] = {'D' << 8 | 'E', 'G' << 8 | 'B', 'U' << 8 | 'S'};
    const char *edge = edges[below(4)];
    return (tb_hit){.zone = random_zone(),
                    .bytes = below(100000),
                    .edge = edge,
                    .edge_len = (uint8_t)strlen(edge),
                    .hour = (int32_t)(now_hour - (int64_t)below(3)),
                    .status = below(5) ? 200 : 404,
                    .country = countries[below(3)],
                    .cache = below(2) ? TB_CACHE_SERVED : 0};
}

typedef struct batch {
    tb_row row[ROWS];
    tb_hit hit[ROWS];
    size_t rows, hits;
} batch;

/* Batches that may be withdrawn. */
#define KEPT_MAX 64
static struct {
    batch b;
    int64_t segment;
} kept[KEPT_MAX];
static size_t n_kept;

/* What is packed by an older directory is stale where a zone has another account by now, and is added as it comes. */
static bool add_packed(fixture *f, tb_rollup *rollup, const tb_directory *directory)
{
    tb_error err = {0};
    bool stale = false;
    tb_usage_pack *pack = tb_usage_pack_new();
    ck_assert_ptr_nonnull(pack);
    for (uint64_t turns = 1 + below(2); turns; turns--) /* what it held before is gone */
        ok(tb_usage_pack_fill(pack, &rollup, 1, directory->ever_logged, &err));
    ok(tb_store_add_packed(f->store, pack, &stale, &err));
    tb_usage_pack_free(pack);
    n_packed += !stale;
    n_stale += stale;
    return !stale;
}

/* Packed or not: what is added is the same. */
static bool is_packed(fixture *f, tb_rollup *rollup)
{
    tb_error err = {0};
    const tb_directory *directory = NULL;
    if (!tb_store_takes_packs(f->store) || below(3) == 0) return false;
    ok(tb_store_directory(f->store, false, &directory, &err));
    if (!earlier || below(8)) return add_packed(f, rollup, directory);
    return add_packed(f, rollup, earlier);
}

static void batch_usage(fixture *f, const batch *b, bool withdraw)
{
    tb_error err = {0};
    uint32_t maxima = 0;
    tb_rollup *rollup = tb_rollup_new(1 << 16, NULL);
    for (size_t i = 0; i < b->rows; i++)
        ok(tb_rollup_add_row(rollup, &b->row[i], &err));
    ok(tb_rollup_add_hits(rollup, b->hit, b->hits, &err));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    if (withdraw) ok(tb_store_withdraw_usage(f->store, cursor, &maxima, &err));
    else if (!is_packed(f, rollup)) ok(tb_store_add_usage(f->store, cursor, &err));
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
}

static void add_batch(fixture *f, const batch *b)
{
    batch_usage(f, b, false);
}

static int64_t end_segment(fixture *f, const batch *b)
{
    int64_t id = 0;
    tb_error err = {0};
    tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1,
                          .hash = {segments, segments}, .head = {segments, 1},
                          .accepted = b->rows + b->hits, .final = true, .now_us = NOW_US};
    ok(tb_store_add_segment(f->store, &segment, &id, &err));
    return id;
}

static batch random_batch(void)
{
    batch b = {.rows = below(ROWS), .hits = below(ROWS)};
    if (below(6) == 0) now_hour += (int64_t)below(12);
    for (size_t i = 0; i < b.rows; i++)
        b.row[i] = random_row();
    for (size_t i = 0; i < b.hits; i++)
        b.hit[i] = random_hit();
    segments++;
    return b;
}

/* How a batch ends: kept; undone by a mark, or by a rollback. */
enum { KEPT, UNMARKED, ROLLED_BACK };

/* Who reads what it added has it sent: undone, it is a gap. */
static void read_own(fixture *f)
{
    int64_t *list = NULL;
    size_t n = 0;
    tb_error err = {0};
    ok(tb_store_billed_accounts(f->store, tb_month_from_day(now_hour / 24), &list, &n, &err));
    free(list);
}

static void keep(const batch *b, int64_t segment)
{
    const size_t at = n_kept < KEPT_MAX ? n_kept++ : (size_t)below(KEPT_MAX);
    kept[at].b = *b;
    kept[at].segment = segment;
}

static void step_batch(int end)
{
    const batch b = random_batch();
    const bool reads = elsewhere && (end != KEPT || below(2));
    tb_error err = {0};
    int64_t segment = 0;
    for (int i = 0; i < 2; i++) {
        fixture *f = &both[i];
        ok(tb_store_begin(f->store, &err));
        if (end == UNMARKED) ok(tb_store_mark(f->store, &err));
        add_batch(f, &b);
        if (reads) read_own(f);
        if (end == UNMARKED) tb_store_back_to_mark(f->store);
        else segment = end_segment(f, &b);
        if (end == ROLLED_BACK) tb_store_rollback(f->store);
        else ok(tb_store_commit(f->store, &err));
    }
    if (end == KEPT) keep(&b, segment);
}

/* A job of a group: a batch, which may be two behind one mark, or somebody who reads. */
typedef struct group_job {
    batch b[2];
    int64_t segment[2];
    uint64_t batches;
    bool undone, grouped;
} group_job;

static group_job random_job(void)
{
    group_job job = {.batches = below(8) ? 1 + (below(4) == 0) : 0, .undone = below(5) == 0};
    job.grouped = job.batches && below(6);
    for (uint64_t i = 0; i < job.batches; i++)
        job.b[i] = random_batch();
    return job;
}

/* first: the number of the group's first batch, which names it. */
static void run_group_job(fixture *f, group_job *job, uint64_t *first)
{
    tb_error err = {0};
    const uint64_t after = segments;
    ok(tb_store_group_batches(f->store, job->grouped, &err));
    ok(tb_store_mark(f->store, &err));
    for (uint64_t i = 0; i < job->batches; i++) {
        segments = (*first)++;
        add_batch(f, &job->b[i]);
        job->segment[i] = end_segment(f, &job->b[i]);
    }
    segments = after;
    if (!job->batches) read_own(f);
    if (job->undone) tb_store_back_to_mark(f->store);
    else ok(tb_store_keep_mark(f->store, &err));
}

/* Several jobs in a transaction, as a server has them: grouped or not, each behind its mark, some undone. */
static void step_group(void)
{
    enum { MOST = 12 };
    static group_job jobs[MOST];
    const uint64_t n = 2 + below(MOST - 1), before = segments + 1;
    const bool back = below(8) == 0;
    tb_error err = {0};
    for (uint64_t at = 0; at < n; at++)
        jobs[at] = random_job();
    for (int i = 0; i < 2; i++) {
        uint64_t number = before;
        ok(tb_store_begin(both[i].store, &err));
        for (uint64_t at = 0; at < n; at++)
            run_group_job(&both[i], &jobs[at], &number);
        if (back) tb_store_rollback(both[i].store);
        else ok(tb_store_commit(both[i].store, &err));
        n_grouped += !back;
    }
    for (uint64_t at = 0; at < n && !back; at++)
        for (uint64_t i = 0; i < jobs[at].batches && !jobs[at].undone; i++)
            keep(&jobs[at].b[i], jobs[at].segment[i]);
}

/* A batch is taken back, or half taken back and then not. */
static void step_withdraw(void)
{
    if (!n_kept) return;
    const size_t at = below(n_kept);
    const bool done = below(4) != 0;
    const tb_withdrawal w = {.segment = kept[at].segment, .kind = TB_BATCH_BUCKETS,
                             .source = "test", .accepted = kept[at].b.rows + kept[at].b.hits,
                             .now_us = NOW_US};
    const tb_withdrawn end = {.kind = w.kind, .source = w.source, .now_us = NOW_US};
    tb_error err = {0};
    for (int i = 0; i < 2; i++) {
        fixture *f = &both[i];
        ok(tb_store_begin(f->store, &err));
        batch_usage(f, &kept[at].b, true);
        if (!done) {
            tb_store_rollback(f->store);
            continue;
        }
        ok(tb_store_withdraw_segment(f->store, &w, &err));
        ok(tb_store_withdraw_end(f->store, &end, &err));
        ok(tb_store_commit(f->store, &err));
    }
    if (done) kept[at] = kept[--n_kept];
}

/* As in an idle hour: some of the series that wait, or all. */
static void step_place(void)
{
    tb_error err = {0};
    bool more = true;
    for (uint64_t parts = 1 + below(4); more && parts; parts--) {
        ok(tb_store_begin(both[0].store, &err));
        ok(tb_store_place_series(both[0].store, &more, &err));
        ok(tb_store_commit(both[0].store, &err));
    }
}

/* Steps of a compaction by themselves, to its end or not. */
static void step_compact_runs(void)
{
    tb_error err = {0};
    tb_compact_walk walk = {.logs = false};
    bool more = true;
    for (uint64_t parts = below(2) ? (size_t)below(6) : UINT64_MAX; parts && more; parts--) {
        ok(tb_store_begin(both[0].store, &err));
        ok(tb_store_compact_pending(both[0].store, &walk, &more, &err));
        ok(tb_store_commit(both[0].store, &err));
    }
}

/* One more zone finds its account, and some are not named any more. */
static void step_catalogue(void)
{
    const uint64_t gone = below(3) ? 0 : below(1 << ZONES);
    char text[4096] = "{\"load_balancers\":[{\"id\":7,\"account\":1,\"zones\":[]}],\"accounts\":[";
    tb_error err = {0};
    const tb_directory *directory = NULL;
    ok(tb_store_directory(both[0].store, false, &directory, &err));
    tb_directory_release(earlier);
    earlier = tb_directory_retain(directory);
    if (declared < ZONES - 2) declared++;
    for (int i = 1; i <= ACCOUNTS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s{\"id\":%d,\"name\":\"%c\"}", i > 1 ? "," : "", i, 'a' + i);
    strcat(text, "],\"zones\":[");
    for (int i = 1; i <= declared; i++)
        if (i == 1 || i == declared || !(gone >> i & 1))
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "%s{\"id\":%d,\"account\":%d,\"name\":\"%c%d\"}", i > 1 ? "," : "", i, 1 + i % ACCOUNTS,
                     "Zyx"[(unsigned)i % 3], i);
    strcat(text, "]}");
    for (int i = 0; i < 2; i++)
        fixture_apply(&both[i], text, NOW_US, NULL);
}

/* The process ends; what was committed is there. */
static void step_reopen(void)
{
    tb_store_close(reader);
    for (int i = 0; i < 2; i++) {
        tb_store_close(both[i].store);
        fixture_open(&both[i], true);
    }
    open_reader();
    set_forms();
}

/* Some steps of a compaction, or all; nobody reads an older snapshot, so that what was folded goes at once. */
static void step_compact(void)
{
    static int64_t now_us = NOW_US;
    tb_compaction c = {.now_us = now_us += TB_US_PER_HOUR, .rows_min = below(2) ? 0 : below(200)};
    tb_error err = {0};
    int steps = (int)below(40);
    if (below(2)) step_batch(ROLLED_BACK);
    do
        ok(tb_store_compact(both[1].store, &c, &err));
    while (c.working && --steps > 0);
}

/* Now is long after the month. false: the bill cannot be made, and code says why. */
static bool issue(tb_store *store, int64_t account, int64_t month, tb_invoice *ret, tb_code *ret_code)
{
    const int64_t now_us = tb_month_first_day(month + 4) * 24 * TB_US_PER_HOUR;
    tb_issue_outcome outcome = TB_ISSUE_NOTHING;
    tb_month_books books;
    tb_issue draft;
    tb_error err = {0};
    ok(tb_month_books_read(store, &books, &err));
    *ret_code = tb_issue_draft(store, account, month, &books, now_us, &draft, &err);
    if (*ret_code == TB_OK) {
        *ret_code = tb_issue_finalize(store, &draft, &(tb_issue_options){.now_us = now_us}, ret, &outcome, &err);
        tb_issue_release(&draft);
    }
    tb_month_books_release(&books);
    return *ret_code == TB_OK && (outcome == TB_ISSUE_MADE || outcome == TB_ISSUE_KNOWN);
}

/* An account's month becomes final in both, or is looked at as if: with all that is late of months before. */
static void step_month(bool stays)
{
    const int64_t account = 1 + (int64_t)below(ACCOUNTS), month = tb_month_from_day(now_hour / 24) - (int64_t)below(3);
    tb_invoice invoice[2];
    tb_code code[2];
    bool made[2];
    tb_error err = {0};
    for (int i = 0; i < 2; i++) {
        ok(tb_store_begin(both[i].store, &err));
        made[i] = issue(both[i].store, account, month, &invoice[i], &code[i]);
    }
    ck_assert_int_eq(code[0], code[1]);
    ck_assert_int_eq(made[0], made[1]);
    if (made[0]) ck_assert_str_eq(invoice[0].text, invoice[1].text);
    for (int i = 0; i < 2; i++) {
        if (made[i]) tb_invoice_release(&invoice[i]);
        if (stays && !code[i]) ok(tb_store_commit(both[i].store, &err));
        else tb_store_rollback(both[i].store);
    }
    n_final += stays && made[0];
}

static void step(void)
{
    switch (below(40)) {
    case 0:
    case 18: step_catalogue(); break;
    case 1: step_reopen(); break;
    case 2: step_batch(UNMARKED); break;
    case 3: step_batch(ROLLED_BACK); break;
    case 4: fixture_fold(&both[0]); break;
    case 12: step_compact_runs(); break;
    case 14: step_place(); break;
    case 15:
    case 16:
    case 17: step_group(); break;
    case 13:
        if (!elsewhere) step_month(true);
        break;
    case 10:
    case 11:
        if (elsewhere) step_compact();
        else step_batch(KEPT);
        break;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9: step_withdraw(); break;
    default: step_batch(KEPT); break;
    }
}

/* --- comparing --- */

typedef struct text {
    char *bytes;
    size_t len, cap;
} text;

static bool on_row(void *ctx, int n, const char *const *cells, bool is_header)
{
    text *t = ctx;
    (void)is_header;
    for (int i = 0; i < n; i++) {
        const char *cell = cells[i] ? cells[i] : "-";
        while (t->len + strlen(cell) + 2 > t->cap)
            ck_assert_ptr_nonnull(t->bytes = realloc(t->bytes, t->cap = t->cap * 2 + 4096));
        t->len += (size_t)sprintf(t->bytes + t->len, "%s%c", cell, i + 1 < n ? ',' : '\n');
    }
    return true;
}

#define SHOWN 300 /* bytes of each: libcheck exits with 2, and says nothing, where a message is long */

/* The first line that differs, and what follows it. */
static void show_difference(const char *sql, const text t[2])
{
    size_t at = 0, line = 0;
    for (; at < t[0].len && at < t[1].len && t[0].bytes[at] == t[1].bytes[at]; at++)
        if (t[0].bytes[at] == '\n') line = at + 1;
    ck_abort_msg("%s: runs\n%.*s\nbase\n%.*s", sql,
                 (int)(t[0].len - line < SHOWN ? t[0].len - line : SHOWN), t[0].bytes + line,
                 (int)(t[1].len - line < SHOWN ? t[1].len - line : SHOWN), t[1].bytes + line);
}

static void same_rows(const char *sql)
{
    static text t[2];
    tb_error err = {0};
    for (int i = 0; i < 2; i++) {
        t[i].len = 0;
        ok(tb_store_query(asked(i), sql, on_row, &t[i], &err));
    }
    if (t[0].len != t[1].len || memcmp(t[0].bytes, t[1].bytes, t[0].len) != 0)
        show_difference(sql, t);
}

/* A random view: the series and the bytes by region. */
static void same_view(void)
{
    tb_view view = {.account = 1 + (int64_t)below(ACCOUNTS), .zone = TB_ALL, .region = TB_ALL};
    if (below(2) && declared) {
        view.zone = 1 + (int64_t)below((uint64_t)declared);
        view.account = 1 + view.zone % ACCOUNTS;
    }
    bool hourly = below(2) != 0;
    int64_t last = hourly ? now_hour : now_hour / 24;
    uint32_t count = 1 + (uint32_t)below(hourly ? 1000 : 60);
    tb_range range = {last - (int64_t)count + 1 + (int64_t)below(5), count, hourly};
    tb_series series[2];
    tb_geo *geo[2];
    size_t n[2];
    tb_error err = {0};
    for (int i = 0; i < 2; i++) {
        ok(tb_series_init(&series[i], range, TB_METRIC_ALL, NULL, &err));
        ok(tb_store_read_view(asked(i), &view, &series[i], &geo[i], &n[i], &err));
    }
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        ck_assert_mem_eq(series[0].value[m], series[1].value[m], count * sizeof(uint64_t));
    ck_assert_uint_eq(n[0], n[1]);
    for (size_t i = 0; i < n[0]; i++) {
        ck_assert_str_eq(geo[0][i].name, geo[1][i].name);
        ck_assert(geo[0][i].bytes == geo[1][i].bytes);
    }
    for (int i = 0; i < 2; i++) {
        tb_series_release(&series[i]);
        free(geo[i]);
    }
}

/* Some times are asked again and again, others once. */
static tb_period random_period(void)
{
    static const char *const by[] = {"auto", "hour", "day", "month"};
    static const char *const compare[] = {"none", "previous", "year"};
    const int64_t hours[] = {24, 7 * 24, 30 * 24, 90 * 24, (int64_t)below(24 * 60) + 1};
    const int64_t long_ago = hours[below(5)], now_us = now_hour * TB_US_PER_HOUR;
    const bool whole = below(2) != 0;
    char from[21] = {0}, to[21] = {0};
    tb_error err = {0};
    tb_period period;
    tb_time_format(now_us - long_ago * TB_US_PER_HOUR, from);
    tb_time_format(now_us, to);
    if (whole) from[10] = to[10] = 0;
    const char *unit = by[whole ? below(4) : below(2)], *with = compare[below(3)];
    const tb_period_query asked_for = {{from, strlen(from)}, {to, strlen(to)}, {unit, strlen(unit)},
                                       {with, strlen(with)}};
    ok(tb_period_resolve(&asked_for, now_us, &period, &err));
    return period;
}

/* A random view of all zones, by a random order. */
static void same_ranking(void)
{
    static const char *const orders[] = {"", "TotalBandwidthUsed", "-TotalBandwidthUsed", "CacheHitRate",
                                         "-CacheHitRate", "name", "-name", "TotalOriginTraffic",
                                         "AverageOriginResponseTime", "-TotalRequestsServed"};
    tb_insights_query ask = {.scope = {1 + (int64_t)below(ACCOUNTS), TB_ALL, below(4) ? "" : "DE"},
                           .period = random_period(),
                           .top = 1 + (int64_t)below(6),
                           .page = 1 + (int64_t)below(2)};
    const char *order = orders[below(10)];
    tb_error err = {0};
    tb_buf answer[3];
    ok(tb_insights_order_parse((tb_text){order, strlen(order)}, &ask.order, &err));
    for (int i = 0; i < 3; i++) {
        tb_store *store = i == 2 ? both[0].store : asked(i);
        tb_buf_init(&answer[i], 1 << 20, NULL);
        /* Who writes reads the file. */
        ok(i == 2 ? tb_store_begin(store, &err) : tb_store_read_begin(store, &err));
        ok(tb_insights_in(store, &ask, NULL, &answer[i], &err));
        if (i == 2) tb_store_rollback(store);
        else tb_store_read_end(store);
        ck_assert_msg(answer[i].len == answer[0].len &&
                          memcmp(answer[i].data, answer[0].data, answer[0].len) == 0,
                      "%d:\n%.*s\n%.*s", i, SHOWN, strstr(answer[0].data, "\"zones\""), SHOWN,
                      strstr(answer[i].data, "\"zones\""));
    }
    for (int i = 0; i < 3; i++)
        tb_buf_release(&answer[i]);
}

static void same_accounts(void)
{
    int64_t month = tb_month_from_day(now_hour / 24) - (int64_t)below(2), *list[2];
    size_t n[2];
    tb_error err = {0};
    for (int i = 0; i < 2; i++)
        ok(tb_store_billed_accounts(asked(i), month, &list[i], &n[i], &err));
    ck_assert_uint_eq(n[0], n[1]);
    if (n[0]) ck_assert_mem_eq(list[0], list[1], n[0] * sizeof *list[0]);
    free(list[0]);
    free(list[1]);
}

static void same_cells(void)
{
    tb_buf t[2];
    for (int i = 0; i < 2; i++) {
        tb_buf_init(&t[i], (size_t)64 << 20, NULL);
        usage_cells(asked(i), &t[i]);
    }
    if (t[0].len != t[1].len || memcmp(t[0].data, t[1].data, t[0].len) != 0)
        show_difference("cells", (text[2]){{t[0].data, t[0].len, 0}, {t[1].data, t[1].len, 0}});
    for (int i = 0; i < 2; i++)
        tb_buf_release(&t[i]);
}

static const char all_series[] = "SELECT scope,owner,edge FROM series WHERE scope<>2 UNION ALL"
                                 " SELECT 2,account,edge FROM account_series ORDER BY 1,2,3";

static void compare_elsewhere(int at)
{
    for (int i = 0; i < 4; i++)
        same_view();
    same_accounts();
    if (at % 20) return;
    same_cells();
    same_rows(all_series);
    same_rows("SELECT value FROM meta WHERE name='newest_hour'");
    fixture_verify(&both[1]);
}

static bool on_count(void *ctx, int n, const char *const *cells, bool is_header)
{
    (void)n;
    if (!is_header) *(int *)ctx = atoi(cells[0]);
    return true;
}

static void count_shared(void)
{
    static int before;
    int now = 0;
    tb_error err = {0};
    ok(tb_store_query(both[0].store, "SELECT count(*) FROM series_shared", on_count, &now, &err));
    n_began += now > before;
    n_ended += now < before;
    before = now;
}

static void compare(int at)
{
    char one[200];
    if (elsewhere) {
        compare_elsewhere(at);
        return;
    }
    snprintf(one, sizeof one, "SELECT * FROM buckets WHERE zone=%d AND hour>='2026-11-01'",
             1 + (int)below(ZONES));
    same_rows(one);
    same_rows("SELECT day,country,sum(requests),sum(bytes) FROM countries GROUP BY 1,2");
    for (int i = 0; i < 4; i++)
        same_view();
    for (int i = 0; i < 4; i++)
        same_ranking();
    same_accounts();
    step_month(false);
    same_rows("SELECT value FROM meta WHERE name='data_version'");
    same_rows("SELECT account,month,version,scope,owner,edge,day,hex(data) FROM late ORDER BY 1,2,3,4,5,6,7,8"); /* days of a zone that finds its account come in no order */
    if (at % 20) return;
    same_rows("SELECT * FROM buckets");
    same_rows("SELECT * FROM balancer_buckets");
    same_rows("SELECT * FROM countries");
    same_rows(all_series);
    fixture_verify(&both[0]);
}

START_TEST(runs_answer_like_base)
{
    const int steps = steps_of(STEPS) / (usage_plane_shards() ? (int)usage_plane_part(4, 8) : 1);
    now_hour = NOW_US / TB_US_PER_HOUR;
    fixture_init_in_file(&both[0]);
    fixture_init(&both[1]);
    elsewhere = both[1].plane.client.shards > 0;
    open_reader();
    set_forms();
    step_catalogue();
    for (int i = 0; i < 2; i++)
        add_book(&both[i]);
    for (int i = 0; i < steps; i++) {
        step();
        compare(i);
        count_shared();
    }
    if (!elsewhere && steps >= 240) {
        ck_assert_uint_gt(n_final, 0);
        ck_assert_uint_gt(n_packed, 0);
        ck_assert_uint_gt(n_stale, 0);
        ck_assert_uint_gt(n_grouped, 0);
        ck_assert_uint_gt(n_began, 0);
        ck_assert_uint_gt(n_ended, 0);
    }
    tb_directory_release(earlier);
    tb_store_close(reader);
    for (int i = 0; i < 2; i++)
        fixture_release(&both[i]);
}
END_TEST

int main(void)
{
    return steps_run("runs", runs_answer_like_base);
}
