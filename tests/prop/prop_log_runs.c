/* Waiting request logs against placed ones: the same random steps are made in two stores, one where
 * lines of many zones wait and are folded bit by bit, and one that puts each batch into its zones' blocks
 * at once. After each step a search, up or down, gives the same lines in the same order. Steps are batches
 * of many zones and of one, batches that are undone, withdrawn lines, old lines that go, an account that is
 * forgotten, a process that ends; a reader goes on reading while they are made. */
#include "../unit/store_fixture.h"
#include "steps.h"
#include "store/logs/log_run.h"
#include "tollbook/retain.h"
#include "tollbook/intake.h"
#include "tollbook/withdraw.h"

#define STEPS (400 / TB_PART)
#define ZONES 14
#define MOST  3000 /* lines of a batch */
#define KEPT  16   /* batches that may be withdrawn */

/* [0] waits, [1] places. */
static fixture both[2];
static tb_store *reader; /* of the first */
static int64_t now_ms;
static uint64_t counter; /* of lines: no two are the same unless a batch comes twice */
static const tb_log_layout layout = {.now_ms = NOW_MS};

typedef struct batch {
    size_t n;
    int64_t zone[MOST], time[MOST];
    char text[MOST][160];
} batch;

static batch kept[KEPT];
static size_t n_kept;

static void set_forms(void)
{
    struct tb__log_compaction *f = tb__log_compaction_of(both[0].store);
    f->weight = 1 + (int64_t)below(below(2) ? 40000 : 9000);
    f->slice = below(4) ? 1 + (int64_t)below(below(2) ? 3000 : 30) : 0;
    f->bytes = below(3) ? 0 : 1 + below(200000);
    tb__log_compaction_of(both[1].store)->at_once = true;
}

static void open_reader(void)
{
    tb_error err = {0};
    tb_store_options options = {.now_us = NOW_US};
    ok(tb_store_open(both[0].path, &options, &reader, &err));
}

/* --- batches --- */

static int64_t late_ms; /* of all lines of a batch */

static void random_line(batch *b, int64_t zone)
{
    static const char *const agents[] = {"curl/8", "a browser, a long one, of some make", "-"};
    const size_t i = b->n++;
    b->zone[i] = zone;
    b->time[i] = now_ms - late_ms - (int64_t)below(below(4) ? 20 : 5000);
    snprintf(b->text[i], sizeof b->text[i],
             "%s|%d|%lld|%llu|%lld|10.%d.2.3|-|https://h%lld.example/%d/%llu|DE|%s|%032llx|%s",
             below(2) ? "HIT" : "MISS", below(9) ? 200 : 404, (long long)b->time[i],
             (unsigned long long)counter++, (long long)zone, (int)below(200), (long long)zone,
             (int)below(5), (unsigned long long)below(50), agents[below(3)], (unsigned long long)below(UINT64_MAX),
             below(2) ? "US" : "-");
}

static void random_batch(batch *b, bool one_zone)
{
    const size_t n = below(12) ? 1 + below(80) : 1 + below(MOST);
    const int64_t only = 1 + (int64_t)below(ZONES);
    b->n = 0;
    if (below(3) == 0) now_ms += (int64_t)below(20000);
    for (size_t i = 0; i < n; i++)
        random_line(b, one_zone || (i % 2 && only < 4) ? only : 1 + (int64_t)below(ZONES));
}

static void line_of(void *ctx, size_t i, tb_logline *ret)
{
    const batch *b = *(const batch *const *)ctx;
    tb_logline_read(&layout, b->text[i], strlen(b->text[i]), ret);
}

/* The batch's records by zone: numbers[i] is the line that record i is of. */
static size_t by_zone(const batch *b, size_t *numbers, int64_t *zones, uint16_t *places)
{
    size_t n = 0, n_zones = 0;
    for (int64_t zone = 1; zone <= ZONES; zone++) {
        const size_t before = n;
        for (size_t i = 0; i < b->n; i++)
            if (b->zone[i] == zone) {
                places[n] = (uint16_t)n_zones;
                numbers[n++] = i;
            }
        if (n > before) zones[n_zones++] = zone;
    }
    return n_zones;
}

static void add_mixed(const batch *b)
{
    static size_t numbers[MOST];
    static int64_t zones[ZONES];
    static uint16_t places[MOST];
    static uint64_t record[MOST][80];
    static const void *records[MOST];
    tb_error err = {0};
    tb_logpack *pack = tb_logpack_new();
    tb_logwords *words = tb_logwords_new();
    tb_buf block, directory;
    tb_loginfo info;
    tb_buf_init(&block, TB_LOGBLOCK_MAX, NULL);
    tb_buf_init(&directory, TB_LOGBLOCK_MAX, NULL);
    const size_t n_zones = by_zone(b, numbers, zones, places);
    for (size_t i = 0; i < b->n; i++) {
        tb_logline line;
        tb_logkeys keys;
        const char *text = b->text[numbers[i]];
        tb_logline_read(&layout, text, strlen(text), &line);
        tb_logwords_keys(words, &line, &keys);
        ck_assert_uint_le(tb_logwords_record(words, &line, &keys, record[i]), sizeof record[i]);
        records[i] = record[i];
    }
    const tb_logmix mix = {zones, places, records, n_zones, b->n};
    ok(tb_logpack_mix(pack, words, &mix, &block, &directory, &info, &err));
    const tb_logmixed mixed = {info, {directory.data, directory.len}, {block.data, block.len}};
    for (int i = 0; i < 2; i++)
        if (n_zones > 1) ok(tb_store_mix_logs(both[i].store, &mixed, &err));
        else ok(tb_store_add_logs(both[i].store, &info, block.data, block.len, &err));
    tb_buf_release(&block);
    tb_buf_release(&directory);
    tb_logwords_free(words);
    tb_logpack_free(pack);
}

/* Blocks go as wholes, so that lines that are older than what was dropped may be there or not: they are
 * neither asked for nor withdrawn. */
static int64_t oldest_ms;

/* A block of the batch's lines of a zone; false: it has none. */
static bool pack_zone(const batch *b, int64_t zone, tb_buf *out, tb_loginfo *info)
{
    static batch some;
    const batch *of = &some;
    tb_error err = {0};
    some.n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->zone[i] == zone && b->time[i] >= oldest_ms) {
            some.time[some.n] = b->time[i];
            memcpy(some.text[some.n++], b->text[i], sizeof some.text[0]);
        }
    if (!some.n) return false;
    tb_logpack *pack = tb_logpack_new();
    tb_buf_init(out, TB_LOGBLOCK_MAX, NULL);
    ok(tb_logpack_block(pack, &(tb_loglines){zone, some.time, some.n, line_of, &of}, out, info, &err));
    tb_logpack_free(pack);
    return true;
}

static void begin_both(void)
{
    tb_error err = {0};
    for (int i = 0; i < 2; i++)
        ok(tb_store_begin(both[i].store, &err));
}

static void commit_both(void)
{
    tb_error err = {0};
    for (int i = 0; i < 2; i++)
        ok(tb_store_commit(both[i].store, &err));
}

/* How a batch ends: kept; undone by a mark, or by a rollback. */
enum { KEEP, UNMARK, ROLL_BACK };

static void step_batch(bool one_zone, int end)
{
    batch *b = &kept[n_kept < KEPT ? n_kept : (size_t)below(KEPT)];
    tb_error err = {0};
    random_batch(b, one_zone);
    begin_both();
    for (int i = 0; end == UNMARK && i < 2; i++)
        ok(tb_store_mark(both[i].store, &err));
    for (uint64_t times = below(12) ? 1 : 2; times > 0; times--)
        add_mixed(b);
    for (int i = 0; end == UNMARK && i < 2; i++)
        tb_store_back_to_mark(both[i].store);
    if (end == ROLL_BACK)
        for (int i = 0; i < 2; i++)
            tb_store_rollback(both[i].store);
    else commit_both();
    if (n_kept < KEPT && end == KEEP) n_kept++;
}

/* --- what goes --- */

static void step_withdraw(void)
{
    const batch *b = n_kept ? &kept[below(n_kept)] : NULL;
    tb_loginfo info;
    tb_buf out;
    tb_error err = {0};
    if (!b || !pack_zone(b, 1 + (int64_t)below(ZONES), &out, &info)) return;
    uint64_t removed[2] = {0, 0};
    begin_both();
    for (int i = 0; i < 2; i++)
        ok(tb_store_withdraw_logs(both[i].store, &info, out.data, out.len, &removed[i], &err));
    ck_assert_uint_eq(removed[0], removed[1]);
    commit_both();
    tb_buf_release(&out);
}

static void step_drop(void)
{
    tb_error err = {0};
    uint64_t dropped;
    oldest_ms = now_ms - 30000;
    begin_both();
    for (int i = 0; i < 2; i++)
        for (size_t room = 0; !room;) {
            room = 1 + below(30);
            ok(tb_store_drop_some_logs(both[i].store, oldest_ms, &room, &dropped, &err));
        }
    commit_both();
}

/* Account 2 has the last two zones, and was taken out of the catalogue. */
static void step_forget(void)
{
    tb_error err = {0};
    tb_forgotten what = {0};
    for (int i = 0; i < 2; i++) {
        for (size_t room = 0; !room;) {
            room = TB_FORGET_AT_ONCE;
            ok(tb_store_begin(both[i].store, &err));
            ok(tb_store_forget_logs(both[i].store, 2, &room, &err));
            ok(tb_store_commit(both[i].store, &err));
        }
        ok(tb_store_to_forget(both[i].store, 2, &what, &err));
        ck_assert_uint_eq(what.log_blocks, 0);
    }
}

/* All that waits goes to its place, or some of it. */
static void step_fold(void)
{
    tb_error err = {0};
    tb_compact_walk walk = {.logs = true};
    bool more = true;
    for (uint64_t parts = below(3) ? (size_t)below(20) : UINT64_MAX; parts && more; parts--) {
        begin_both();
        ok(tb_store_compact_pending(both[0].store, &walk, &more, &err));
        commit_both();
    }
}

/* --- comparing --- */

#define SHOWN (1 << 20)
typedef struct answer {
    char text[SHOWN];
    size_t len, lines;
} answer;

/* Up to so many lines; true: there may be more. */
static bool take(tb_log_cursor *cursor, answer *a, size_t most)
{
    tb_error err = {0};
    tb_logrow row;
    for (size_t n = 0; n < most;) {
        tb_log_step step;
        ok(tb_log_next(cursor, &step, &err));
        if (step == TB_LOG_END) return false;
        if (step == TB_LOG_PAUSE) continue;
        ok(tb_log_line(cursor, &row, &err));
        const tb_logline *l = &row.line;
        n++;
        a->lines++;
        if (a->len + 400 > SHOWN) continue; /* the rest is compared by its number */
        a->len += (size_t)snprintf(a->text + a->len, SHOWN - a->len, "%lld %llu %.*s %.*s %.*s %.*s %.*s\n",
                                   (long long)l->time_ms, (unsigned long long)l->bytes, (int)l->path.len,
                                   l->path.data, (int)l->ip.len, l->ip.data, (int)l->agent.len,
                                   l->agent.data, (int)l->id.len, l->id.data, (int)l->status.len,
                                   l->status.data);
    }
    return true;
}

static tb_log_filter random_filter(void)
{
    tb_log_filter f = {.from_ms = oldest_ms, .to_ms = INT64_MAX};
    if (below(3) == 0) f.from_ms = now_ms - (int64_t)below(30000);
    if (below(3) == 0) f.to_ms = now_ms - (int64_t)below(8000);
    if (below(4) == 0) {
        f.by_status = true;
        f.status[404 / 8] = 1 << 404 % 8;
    }
    if (f.from_ms < oldest_ms) f.from_ms = oldest_ms;
    return f;
}

/* A search that a reader began, with what it will give. */
static struct {
    tb_log_cursor *cursor;
    tb_log_filter filter;
    answer wanted, got;
} going;

static void differ(const answer *got, const answer *wanted)
{
    size_t at = 0, line = 0;
    if (got->lines == wanted->lines && got->len == wanted->len && !memcmp(got->text, wanted->text, got->len))
        return;
    for (; at < got->len && at < wanted->len && got->text[at] == wanted->text[at]; at++)
        if (got->text[at] == '\n') line = at + 1;
    ck_abort_msg("%zu lines waiting, %zu placed; from byte %zu on: %.200s\n<>\n%.200s", got->lines,
                 wanted->lines, line, line < got->len ? got->text + line : "",
                 line < wanted->len ? wanted->text + line : "");
}

static void search(tb_store *store, int64_t zone, const tb_log_filter *filter, bool down, answer *a)
{
    tb_error err = {0};
    tb_log_cursor *cursor;
    a->len = a->lines = 0;
    ok(tb_store_read_begin(store, &err));
    ok(tb_store_logs(store, zone, filter, down, &cursor, &err));
    take(cursor, a, SIZE_MAX);
    tb_log_cursor_free(cursor);
    tb_store_read_end(store);
}

static void compare(void)
{
    static answer a[2];
    const int64_t zone = 1 + (int64_t)below(ZONES);
    const bool down = below(2);
    const tb_log_filter filter = random_filter();
    for (int i = 0; i < 2; i++)
        search(both[i].store, zone, &filter, down, &a[i]);
    differ(&a[0], &a[1]);
}

static void begin_going(void)
{
    tb_error err = {0};
    const int64_t zone = 1 + (int64_t)below(ZONES);
    const bool down = below(2);
    going.filter = random_filter();
    search(both[1].store, zone, &going.filter, down, &going.wanted);
    going.got.len = going.got.lines = 0;
    ok(tb_store_read_begin(reader, &err));
    ok(tb_store_logs(reader, zone, &going.filter, down, &going.cursor, &err));
}

static void go_on(size_t most)
{
    if (take(going.cursor, &going.got, most)) return;
    differ(&going.got, &going.wanted);
    tb_log_cursor_free(going.cursor);
    going.cursor = NULL;
    tb_store_read_end(reader);
}

static void step_reopen(void)
{
    if (going.cursor) go_on(SIZE_MAX);
    tb_store_close(reader);
    for (int i = 0; i < 2; i++) {
        tb_store_close(both[i].store);
        fixture_open(&both[i], true);
    }
    open_reader();
    set_forms();
}

/* What came last goes first. */
static void step_late(void)
{
    late_ms = 31000;
    step_batch(false, KEEP);
    step_drop();
}

static void step(void)
{
    late_ms = below(4) ? 0 : (int64_t)below(40000);
    switch (below(60)) {
    case 0: step_reopen(); break;
    case 1: step_batch(false, UNMARK); break;
    case 2: step_batch(false, ROLL_BACK); break;
    case 3: step_withdraw(); break;
    case 4: step_drop(); break;
    case 5: step_forget(); break;
    case 6:
    case 7: step_batch(true, KEEP); break;
    case 8:
    case 9: step_late(); break;
    case 10: step_fold(); break;
    default: step_batch(false, KEEP); break;
    }
}

/* Zones of account 1 and, with `two`, of account 2. */
static void catalogue(bool two)
{
    char text[4096] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"}";
    if (two) strcat(text, ",{\"id\":2,\"name\":\"b\"}");
    strcat(text, "],\"zones\":[");
    for (int i = 1; i <= (two ? ZONES : ZONES - 2); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%s{\"id\":%d,\"account\":%d,\"name\":\"z%d\"}", i > 1 ? "," : "", i,
                 i > ZONES - 2 ? 2 : 1, i);
    strcat(text, "]}");
    for (int i = 0; i < 2; i++)
        fixture_apply(&both[i], text, NOW_US, NULL);
}

START_TEST(what_waits_is_found_like_what_lies_in_its_place)
{
    const int steps = steps_of(STEPS);
    now_ms = NOW_MS;
    for (int i = 0; i < 2; i++)
        fixture_init(&both[i]);
    open_reader();
    set_forms();
    catalogue(true);
    catalogue(false);
    for (int i = 0; i < steps; i++) {
        step();
        compare();
        if (!going.cursor) begin_going();
        else go_on(below(300));
        if (i % 100 == 0) fixture_verify(&both[0]);
    }
    if (going.cursor) go_on(SIZE_MAX);
    tb_store_close(reader);
    for (int i = 0; i < 2; i++)
        fixture_release(&both[i]);
}
END_TEST

int main(void)
{
    return steps_run("log_runs", what_waits_is_found_like_what_lies_in_its_place);
}
