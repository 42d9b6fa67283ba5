/* Small on purpose: every operation of it is made to fail, one after the other. Still it has each
 * kind of write: new rows and changed ones, a second location (whose all-locations series comes
 * into being), an unknown zone, a balancer, countries, refused lines, a checkpoint in the middle.
 */
#include "fault/workload.h"

#include "tollbook/logstore.h"
#include "tollbook/intake.h"
#include "tollbook/retain.h"
#include "tollbook/batches.h"
#include "tollbook/withdraw.h"

#include "fault/faultvfs.h"
#include "store/logs/log_run.h"

#include "../folder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOUR   498600 /* 2026-11-18T00:00 */
#define NOW_US INT64_C(1795046400000000)

void workload_fail(const char *file, int line, const char *condition, const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

bool workload_long(void)
{
    const char *text = getenv("TB_LONG");
    return text && text[0] == '1';
}

unsigned workload_stride(void)
{
    const char *variant = getenv("TB_VARIANT");
    return variant && variant[0] && !workload_long() ? 7 : 1;
}

bool workload_takes(uint64_t at, uint64_t total, unsigned stride, uint64_t seed)
{
    if (workload_long() || at == 1 || at == total) return true;
    bool commits = fault_syncs(at - 1) || fault_syncs(at) || fault_syncs(at + 1);
    return (at + seed) % (stride * workload_stride()) == 0 ||
           (commits && (at / 2 + seed) % ((stride / 10 + 1) * workload_stride()) == 0);
}

/* --- files --- */

void workload_folder(char path[64])
{
    char folder[TEST_FOLDER_MAX];
    REQUIRE(test_folder(folder), "%s", folder);
    REQUIRE(snprintf(path, 64, "%s/t.db", folder) < 64, "%s: too long", folder);
}

void workload_remove(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal", ".lock"};
    char name[128];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

void workload_remove_folder(const char *path)
{
    char folder[64];
    workload_remove(path);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    rmdir(folder);
}

/* --- steps --- */

static const char catalog_text[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"acme\"},{\"id\":2,\"name\":\"other\"}],"
    "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"},{\"id\":102,\"account\":1,\"name\":\"b\"}"
    ","
    "{\"id\":201,\"account\":2,\"name\":\"c\"}],"
    "\"load_balancers\":[{\"id\":7,\"account\":1,\"zones\":[101]}],"
    "\"shield_zones\":[{\"id\":42,\"account\":1,\"zone\":101}]}";

static tb_code apply(tb_store *store, tb_error *err)
{
    tb_catalog catalog;
    tb_applied applied;
    tb_code code = tb_catalog_parse(catalog_text, sizeof catalog_text - 1, &catalog, err);
    if (code) return code;
    code = tb_store_begin(store, err);
    if (!code) code = tb_store_apply_catalog(store, &catalog, NOW_US, &applied, err);
    if (!code) code = tb_store_commit(store, err);
    tb_catalog_release(&catalog);
    return code;
}

/* Segment 1 knows one location of zone 101; segment 2 brings the others and an unknown zone. The lines are those
 * of one part of so many. */
static tb_code roll_up(tb_rollup *rollup, int number, unsigned part, unsigned parts, tb_error *err)
{
    static const char *const edges[] = {"DE", "UK", "ZZ"};
    static const int64_t zones[] = {101, 102, 201, 999};
    tb_code code = TB_OK;
    for (unsigned i = part; !code && i < 40u * (unsigned)number; i += parts) {
        const char *edge = edges[number == 1 ? 0 : i % 3];
        tb_hit hit = {.zone = zones[i % (number == 1 ? 3 : 4)],
                      .bytes = 1000 + i,
                      .edge = edge,
                      .edge_len = 2,
                      .hour = HOUR + (int32_t)(i * 5 % 60),
                      .status = i % 7 ? 200 : 503,
                      .country = i % 3 ? 'D' << 8 | 'E' : 0,
                      .cache = (uint8_t)(i % 3)};
        code = tb_rollup_add_hits(rollup, &hit, 1, err);
    }
    tb_row row = {
        .balancer = true, .id = 7, .hour = HOUR + number, .metrics = TB_METRIC_BIT(TB_M_REQUESTS)};
    row.value[TB_M_REQUESTS] = 1; /* a line counts one request */
    return code || part ? code : tb_rollup_add_row(rollup, &row, err);
}

tb_code workload_add_packed(tb_store *store, tb_rollup *rollup, tb_rollup_cursor *cursor, tb_error *err)
{
    const tb_directory *directory = NULL;
    bool stale = false;
    tb_usage_pack *pack = tb_usage_pack_new();
    tb_code code = pack ? tb_store_directory(store, false, &directory, err) : tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code) code = tb_usage_pack_fill(pack, &rollup, 1, directory->ever_logged, err);
    if (!code) code = tb_store_add_packed(store, pack, &stale, err);
    if (!code && stale) code = tb_store_add_usage(store, cursor, err);
    tb_usage_pack_free(pack);
    return code;
}

typedef tb_code (*usage_fn)(tb_store *store, tb_rollup_cursor *cursor, tb_error *err);

static tb_code with_part(tb_store *store, int number, unsigned part, unsigned parts, usage_fn fn, tb_error *err)
{
    tb_rollup *rollup = tb_rollup_new(1 << 12, NULL);
    tb_rollup_cursor *cursor = NULL;
    tb_code code = rollup ? roll_up(rollup, number, part, parts, err) : tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code && !(cursor = tb_rollup_cursor_new(&rollup, 1, NULL)))
        code = tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code && fn == tb_store_add_usage && (number + part) % 2) code = workload_add_packed(store, rollup, cursor, err);
    else if (!code) code = fn(store, cursor, err);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    return code;
}

/* Segment 1 comes in as many batches as are merged into one; of others several are gathered. */
static tb_code add_usage(tb_store *store, int number, tb_error *err)
{
    const unsigned parts = number == 1 ? 8 : 3;
    tb_code code = tb_store_group_batches(store, number != 1, err);
    for (unsigned part = 0; !code && part < parts; part++)
        code = with_part(store, number, part, parts, tb_store_add_usage, err);
    return code;
}

/* What is too old, a block at a time, as it goes with bodies that others wait for. */
static tb_code drop_aged(tb_store *store, tb_error *err)
{
    tb_ageing room = {0};
    tb_code code = TB_OK;
    while (!code && !(room.log_blocks && room.event_blocks && room.texts && room.segments)) {
        room = (tb_ageing){1, 1, 1, 1};
        code = tb_store_drop_aged(store, NOW_US, &room, err);
    }
    return code;
}

/* Shield events of two zones, some of them alike; the second time merged with the first. */
tb_code workload_add_events(tb_store *store, int number, tb_error *err)
{
    enum { N = 16 };
    static const char text[100];
    tb_event_ref refs[N];
    size_t at[N + 1] = {0};
    uint64_t added;
    tb_buf bytes;
    tb_code code = TB_OK;
    tb_buf_init(&bytes, 1 << 20, NULL);
    for (int i = 0; i < N; i++) {
        char id[33];
        snprintf(id, sizeof id, "%024d%08d", i % 12, 0);
        tb_event e = {.zone = 42 + i % 2, .time_ms = NOW_US / 1000 - i % 6 * 40 - number, .made = true};
        e.field[TB_EVENT_ID] = (tb_text){id, 32};
        e.field[TB_EVENT_URL] = (tb_text){text, sizeof text};
        tb_event_pack(&e, &bytes);
        at[i + 1] = bytes.len;
    }
    code = tb_buf_check(&bytes, err);
    for (int i = 0; !code && i < N; i++)
        REQUIRE(tb_event_ref_set(&refs[i], 42 + i % 2, (uint64_t)i, bytes.data + at[i],
                                 at[i + 1] - at[i]),
                "a packed event is none");
    if (!code) qsort(refs, N, sizeof *refs, tb_event_ref_compare);
    if (!code) code = tb_store_add_events(store, refs, N, &added, err);
    if (!code) code = drop_aged(store, err);
    tb_buf_release(&bytes);
    return code;
}

/* --- request logs --- */

enum { LOG_LINES = 12, LOG_BATCHES = 4 };
static const int64_t log_zones[] = {101, 102, 201};

typedef struct logging {
    tb_logpack *pack;
    tb_logwords *words;
    tb_buf block, directory;
    tb_loginfo info;
    uint64_t record[LOG_LINES][64];
} logging;

static void log_line(logging *l, int number, int i, int64_t zone)
{
    static const tb_log_layout layout = {.now_ms = NOW_US / 1000};
    char text[200];
    tb_logline line;
    tb_logkeys keys;
    snprintf(text, sizeof text, "HIT|200|%lld|%d|%lld|10.0.0.%d|-|https://a.example/%d|DE|agent %d|-|US",
             (long long)(NOW_US / 1000 - i % 5 * 1000), 100 * number + i, (long long)zone, i, i % 4, i % 3);
    tb_logline_read(&layout, text, strlen(text), &line);
    tb_logwords_keys(l->words, &line, &keys);
    REQUIRE(tb_logwords_record(l->words, &line, &keys, l->record[i]) <= sizeof l->record[i], "a record is long");
}

/* Zone after zone; in every second batch one zone has all. */
static tb_code pack_logs(logging *l, int number, tb_error *err)
{
    const size_t n_zones = number % 2 ? 3 : 1;
    const void *records[LOG_LINES];
    uint16_t places[LOG_LINES];
    for (int i = 0; i < LOG_LINES; i++) {
        places[i] = (uint16_t)((size_t)i * n_zones / LOG_LINES);
        records[i] = l->record[i];
        log_line(l, number, i, log_zones[places[i]]);
    }
    const tb_logmix mix = {log_zones, places, records, n_zones, LOG_LINES};
    l->block.len = l->directory.len = 0;
    return tb_logpack_mix(l->pack, l->words, &mix, &l->block, &l->directory, &l->info, err);
}

static tb_code add_logs(tb_store *store, logging *l, int number, tb_error *err)
{
    tb_code code = pack_logs(l, number, err);
    const tb_logmixed mixed = {l->info, {l->directory.data, l->directory.len}, {l->block.data, l->block.len}};
    if (code) return code;
    return number % 2 ? tb_store_mix_logs(store, &mixed, err)
                      : tb_store_add_logs(store, &l->info, l->block.data, l->block.len, err);
}

static tb_code with_logging(tb_store *store, int number, tb_code (*fn)(tb_store *, logging *, int, tb_error *),
                            tb_error *err)
{
    struct tb__log_compaction *f = tb__log_compaction_of(store);
    logging *l = calloc(1, sizeof *l);
    tb_code code = TB_OK;
    if (!f || !l) {
        free(l);
        return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    }
    f->weight = 3 * (LOG_LINES + 256); /* the third batch begins a fold */
    f->slice = 5;
    tb_buf_init(&l->block, TB_LOGBLOCK_MAX, NULL);
    tb_buf_init(&l->directory, TB_LOGBLOCK_MAX, NULL);
    l->pack = tb_logpack_new();
    l->words = tb_logwords_new();
    code = l->pack && l->words ? fn(store, l, number, err) : tb_fail(err, TB_E_NOMEM, NULL, NULL);
    tb_logpack_free(l->pack);
    tb_logwords_free(l->words);
    tb_buf_release(&l->block);
    tb_buf_release(&l->directory);
    free(l);
    return code;
}

static tb_code add_all_logs(tb_store *store, logging *l, int number, tb_error *err)
{
    tb_code code = TB_OK;
    for (int i = 0; !code && i < LOG_BATCHES; i++)
        code = add_logs(store, l, number * LOG_BATCHES + i, err);
    return code ? code : drop_aged(store, err);
}

tb_code workload_add_logs(tb_store *store, int number, tb_error *err)
{
    return with_logging(store, number, add_all_logs, err);
}

static tb_code withdraw_log(tb_store *store, logging *l, int number, tb_error *err)
{
    uint64_t removed = 0;
    tb_code code = pack_logs(l, number, err); /* of a zone alone */
    if (!code)
        code = tb_store_withdraw_logs(store, &l->info, l->block.data, l->block.len, &removed, err);
    REQUIRE(code || removed == LOG_LINES, "%llu lines withdrawn", (unsigned long long)removed);
    return code ? code : add_all_logs(store, l, 7, err);
}

static tb_code fold_part(tb_store *store, tb_compact_walk *walk, bool *ret_more, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (!code) code = tb_store_compact_pending(store, walk, ret_more, err);
    return code ? code : tb_store_commit(store, err);
}

static tb_code forget_part(tb_store *store, bool *ret_more, tb_error *err)
{
    size_t room = 2;
    tb_code code = tb_store_begin(store, err);
    if (!code) code = tb_store_forget_logs(store, 2, &room, err);
    *ret_more = room == 0;
    return code ? code : tb_store_commit(store, err);
}

/* As a withdrawal through a server and `forget` do. Account 2 has zone 201. */
static tb_code go_in_parts(tb_store *store, logging *l, int number, tb_error *err)
{
    tb_compact_walk walk = {.logs = true};
    bool more = true;
    (void)l, (void)number;
    tb_code code = fold_part(store, &walk, &more, err);
    while (!code && more)
        code = fold_part(store, &walk, &more, err);
    for (more = true; !code && more;)
        code = forget_part(store, &more, err);
    return code;
}

static void go_on(uint64_t *digest, uint64_t value)
{
    *digest = (*digest ^ value) * UINT64_C(1099511628211);
}

static tb_code read_zone(tb_store *store, int64_t zone, bool descending, uint64_t *digest, unsigned *n,
                         tb_error *err)
{
    const tb_log_filter all = {.from_ms = 0, .to_ms = INT64_MAX};
    tb_log_cursor *cursor = NULL;
    tb_log_step step = TB_LOG_PAUSE;
    tb_logrow row;
    tb_code code = tb_store_logs(store, zone, &all, descending, &cursor, err);
    while (!code && !(code = tb_log_next(cursor, &step, err)) && step != TB_LOG_END) {
        if (step == TB_LOG_LINE) code = tb_log_line(cursor, &row, err);
        if (code || step != TB_LOG_LINE) continue;
        go_on(digest, (uint64_t)row.line.time_ms);
        go_on(digest, row.line.bytes);
        go_on(digest, row.line.agent.len ? (uint64_t)row.line.agent.data[row.line.agent.len - 1] : 1);
        ++*n;
    }
    tb_log_cursor_free(cursor);
    return code;
}

tb_code workload_read_logs(tb_store *store, uint64_t *digest, unsigned *n, tb_error *err)
{
    tb_code code = tb_store_read_begin(store, err);
    for (int i = 0; !code && i < 6; i++)
        code = read_zone(store, log_zones[i / 2], i % 2, digest, n, err);
    tb_store_read_end(store);
    return code;
}

/* --- segments --- */

static tb_code add_segment(tb_store *store, int number, tb_error *err)
{
    tb_segment s = {.kind = TB_BATCH_LOG,
                    .source = "night.log",
                    .start = number == 1 ? 0 : 5000,
                    .length = number == 1 ? 5000 : 15000,
                    .hash = {(uint64_t)number, 9},
                    .head = {1, 1},
                    .lines_before = number == 1 ? 0 : 43,
                    .accepted = 40 * (uint64_t)number + 1,
                    .rejected = 2,
                    .final = number == 2,
                    .now_us = NOW_US};
    tb_code code = TB_OK;
    for (uint64_t i = 1; !code && i <= s.rejected; i++)
        code = tb_store_add_reject(
            store, &(tb_refused){s.lines_before + i, 1, "blank line", "", 0, 0}, err);
    return code ? code : tb_store_add_segment(store, &s, NULL, err);
}

static tb_code withdraw_segment(tb_store *store, tb_rollup_cursor *cursor, tb_error *err)
{
    uint32_t maxima = 0;
    const int64_t id = 2;
    const tb_withdrawal w = {.segment = id, .kind = TB_BATCH_LOG, .source = "night.log",
                             .accepted = 81, .rejected = 2, .now_us = NOW_US};
    const tb_withdrawn end = {.kind = TB_BATCH_LOG, .source = "night.log", .lines = 83,
                              .segments = &id, .n_segments = 1, .now_us = NOW_US};
    tb_code code = tb_store_withdraw_usage(store, cursor, &maxima, err);
    if (!code) code = tb_store_withdraw_segment(store, &w, err);
    return code ? code : tb_store_withdraw_end(store, &end, err);
}

static tb_code withdraw(tb_store *store, tb_error *err)
{
    tb_code code = with_logging(store, 0, go_in_parts, err);
    if (!code) code = tb_store_begin(store, err);
    if (!code) code = with_part(store, 2, 0, 1, withdraw_segment, err);
    if (!code) code = with_logging(store, 2 * LOG_BATCHES, withdraw_log, err);
    return code ? code : tb_store_commit(store, err);
}

static tb_code ingest(tb_store *store, int number, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (!code) code = add_usage(store, number, err);
    if (!code) code = workload_add_events(store, number, err);
    if (!code) code = workload_add_logs(store, number, err);
    if (!code) code = add_segment(store, number, err);
    return code ? code : tb_store_commit(store, err);
}

static bool on_count(void *ctx, int n, const char *const *cells, bool is_header)
{
    if (!is_header && n == 1 && cells[0]) *(int *)ctx = cells[0][0] - '0';
    return true;
}

static tb_code steps_done(tb_store *store, int *ret_steps, tb_error *err)
{
    bool applied = false;
    int n = 0;
    tb_code code = tb_store_account_exists(store, 1, &applied, err);
    if (!code)
        code = tb_store_query(store, "SELECT (SELECT count(*) FROM segment)+(SELECT count(*) FROM"
                              " withdrawal)", on_count, &n, err);
    if (!code) *ret_steps = 1 + applied + n;
    return code;
}

/* What the steps are to go through: the eighth batch merged the seven before it with its own. */
static void require_merged(tb_store *store)
{
    int merged = 0;
    tb_error err = {0};
    REQUIRE(!tb_store_query(store, "SELECT count(*) FROM usage_run WHERE level=1 AND kind=0", on_count, &merged, &err),
            "%s", err.message);
    REQUIRE(merged == 1, "%d runs of level 1", merged);
}

static tb_code run_step(tb_store *store, int done, tb_error *err)
{
    tb_code code = done == 1   ? apply(store, err)
                   : done == 4 ? withdraw(store, err)
                               : ingest(store, done - 1, err);
    if (code) tb_store_rollback(store);
    return code;
}

static tb_code run_steps(const workload *w, tb_store *store, tb_error *err)
{
    int done = 1;
    char text[64];
    snprintf(text, sizeof text, "PRAGMA synchronous=%s", w->synchronous ? w->synchronous : "");
    if (w->synchronous) sqlite3_exec(store->db, text, NULL, NULL, NULL);
    tb_code code = steps_done(store, &done, err);
    for (; !code && done < STEPS; done++) {
        if (done > *w->acked) *w->acked = done;
        code = run_step(store, done, err);
        if (code && w->retry) {
            fault_arm(FAULT_NONE, 0, 0);
            code = run_step(store, done, err);
            REQUIRE(!code, "step %d does not work after the fault is over: %s", done, err->message);
        }
        if (!code && done == 2) tb_store_checkpoint(store, true);
        if (!code && done == 3 && w->undisturbed) require_merged(store);
    }
    if (!code && done > *w->acked) *w->acked = done;
    return code;
}

tb_code workload_run(const workload *w, tb_error *err)
{
    tb_store_options options = {.write = true, .owner = "test", .vfs = FAULT_VFS, .now_us = NOW_US};
    tb_store *store = NULL;
    tb_code code = *w->acked == 0 ? tb_store_create(w->path, &options, err) : TB_OK;
    if (!code) code = tb_store_open(w->path, &options, &store, err);
    if (!code && *w->acked == 0) *w->acked = 1;
    if (!code) code = run_steps(w, store, err);
    tb_store_close(store);
    return code;
}

/* --- looking --- */

static const char *const everything[] = {
    "SELECT * FROM buckets ORDER BY zone,region,hour",
    "SELECT * FROM balancer_buckets",
    "SELECT * FROM countries",
    "SELECT "
    "id,kind,name,source,start,length,hash,head,lines_before,accepted,rejected,final,added_us,"
    "sums FROM segment",
    "SELECT * FROM reject",
    "SELECT segment,withdrawn_us,source,rungs FROM withdrawal",
    "SELECT id,operation,arguments FROM audit",
    "SELECT * FROM account",
    "SELECT * FROM zone",
    "SELECT * FROM balancer",
    "SELECT * FROM attachment",
    "SELECT * FROM shield_zone",
    "SELECT zone,day,first,events,data FROM event_block ORDER BY zone,first",
    "SELECT * FROM declaration",
    "SELECT count(*) FROM region",
};

static bool on_row(void *ctx, int n, const char *const *cells, bool is_header)
{
    uint64_t *digest = ctx; /* FNV-1a */
    (void)is_header;
    for (int i = 0; i < n; i++)
        for (const char *p = cells[i] ? cells[i] : "\1";; p++) {
            *digest = (*digest ^ (unsigned char)*p) * UINT64_C(1099511628211);
            if (!*p) break;
        }
    return true;
}

static void on_difference(void *ctx, const char *sentence)
{
    workload_state *state = ctx;
    if (!state->first[0]) snprintf(state->first, sizeof state->first, "%s", sentence);
}

tb_code workload_look(const char *path, workload_state *ret_state, tb_error *err)
{
    tb_store_options options = {.vfs = FAULT_VFS};
    tb_store *store = NULL;
    *ret_state = (workload_state){.digest = UINT64_C(14695981039346656037)};
    tb_code code = tb_store_open(path, &options, &store, err);
    if (!code) code = steps_done(store, &ret_state->steps, err);
    if (!code)
        code = tb_store_verify(store, on_difference, ret_state, &ret_state->differences, err);
    for (size_t i = 0; !code && i < sizeof everything / sizeof *everything; i++)
        code = tb_store_query(store, everything[i], on_row, &ret_state->digest, err);
    unsigned lines = 0;
    if (!code) code = workload_read_logs(store, &ret_state->digest, &lines, err);
    tb_store_close(store);
    return code;
}

workload_state workload_clean(void)
{
    char path[64];
    volatile int acked = 0;
    workload w = {.path = path, .undisturbed = true, .acked = &acked};
    workload_state state;
    tb_error err = {0};
    workload_folder(path);
    fault_arm(FAULT_NONE, 0, 0);
    REQUIRE(!workload_run(&w, &err), "%s", err.message);
    REQUIRE(!workload_look(path, &state, &err), "%s", err.message);
    REQUIRE(state.steps == STEPS && state.differences == 0, "%d steps; %s", state.steps,
            state.first);
    workload_remove_folder(path);
    return state;
}

void workload_check_after(const workload *w, const workload_state *clean, const char *what,
                          uint64_t at, uint64_t seed)
{
    workload_state state;
    tb_error err = {0};
    workload again = {.path = w->path, .acked = w->acked};
    int acked = *w->acked;
    unsigned long long n = at, s = seed;
    fault_arm(FAULT_NONE, 0, 0);
    tb_code code = workload_look(w->path, &state, &err);
    REQUIRE(!code || acked == 0, "%s at operation %llu (seed %llu): %s", what, n, s, err.message);
    if (code)
        workload_remove(w->path); /* a database that was never promised */
    else {
        REQUIRE(state.differences == 0, "%s at operation %llu (seed %llu): %s", what, n, s,
                state.first);
        REQUIRE(state.steps >= acked && state.steps <= acked + 1,
                "%s at operation %llu (seed %llu): %d acknowledged, %d there", what, n, s, acked,
                state.steps);
        if (*w->acked < 1) *w->acked = 1;
    }
    code = workload_run(&again, &err);
    REQUIRE(!code, "%s at operation %llu (seed %llu), run again: %s", what, n, s, err.message);
    code = workload_look(w->path, &state, &err);
    REQUIRE(!code && state.differences == 0 && state.digest == clean->digest,
            "%s at operation %llu (seed %llu): the second run ends otherwise: %s%s", what, n, s,
            code ? err.message : "", state.first);
}
