/* Lack of memory: every allocation of every operation of the store fails, once and from then on.
 * The answer is TB_E_NOMEM or a right one, nothing leaks (the sanitizer's build), and the next try
 * on the same connection works. */
#include "fault/faultvfs.h"
#include "fault/scarce.h"
#include "fault/workload.h"
#include "tollbook/logstore.h"
#include "tollbook/batches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- operations --- */

static char path[64], copy_path[80];
static tb_store *store;
static bool as_writer;

static tb_code op_open(tb_error *err)
{
    const tb_store_options options = {.write = as_writer, .owner = "test", .vfs = FAULT_VFS};
    tb_store *another = NULL;
    tb_code code = tb_store_open(path, &options, &another, err);
    tb_store_close(another);
    return code;
}

static tb_code write_batch(bool packed, tb_error *err)
{
    static uint64_t number = 100;
    tb_hit hits[12];
    for (unsigned i = 0; i < 12; i++)
        hits[i] = (tb_hit){.zone = 101 + i % 2,
                           .bytes = 5,
                           .edge = i % 3 ? "DE" : "FR",
                           .edge_len = 2,
                           .hour = 500000 + (int32_t)i * 11,
                           .status = 200,
                           .country = 'D' << 8 | 'E'};
    number++;
    tb_segment s = {.kind = TB_BATCH_LOG,
                    .source = "memory",
                    .length = 10,
                    .accepted = 12,
                    .rejected = 1,
                    .hash = {number, 1},
                    .head = {number, 2},
                    .final = true};
    tb_rollup *rollup = tb_rollup_new(1 << 8, NULL);
    tb_rollup_cursor *cursor = NULL;
    tb_code code =
        rollup ? tb_rollup_add_hits(rollup, hits, 12, err) : tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code && !(cursor = tb_rollup_cursor_new(&rollup, 1, NULL)))
        code = tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code) code = tb_store_begin(store, err);
    if (!code) code = tb_store_group_batches(store, packed, err);
    if (!code) code = tb_store_mark(store, err);
    if (!code && packed) code = workload_add_packed(store, rollup, cursor, err);
    else if (!code) code = tb_store_add_usage(store, cursor, err);
    if (!code) code = tb_store_add_reject(store, &(tb_refused){5, 1, "blank line", "", 0, 0}, err);
    if (!code) code = tb_store_add_segment(store, &s, NULL, err);
    if (!code) code = tb_store_keep_mark(store, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    return code;
}

static tb_code op_write(tb_error *err)
{
    return write_batch(false, err);
}

static tb_code op_write_packed(tb_error *err)
{
    return write_batch(true, err);
}

/* Seven batches, and one with which they are merged. */
static tb_code op_merge(tb_error *err)
{
    scarce_pause(true);
    for (int i = 0; i < 7; i++)
        REQUIRE(!op_write(err), "%s", err->message);
    scarce_pause(false);
    return op_write(err);
}

static tb_code op_apply(tb_error *err)
{
    static const char text[] =
        "{\"accounts\":[{\"id\":1,\"name\":\"acme\"},{\"id\":3,\"name\":\"new\"}],"
        "\"zones\":[{\"id\":101,\"account\":1,\"name\":\"renamed\"},"
        "{\"id\":999,\"account\":3,\"name\":\"adopted\"}]}";
    tb_catalog catalog;
    tb_applied applied;
    scarce_pause(true); /* parsing is another piece's: it is not made to fail here */
    tb_code code = tb_catalog_parse(text, sizeof text - 1, &catalog, err);
    scarce_pause(false);
    if (code) return code;
    code = tb_store_begin(store, err);
    if (!code) code = tb_store_apply_catalog(store, &catalog, 1795046400000000, &applied, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    tb_catalog_release(&catalog);
    return code;
}

static tb_code op_read(tb_error *err)
{
    const tb_view view = {1, TB_ALL, TB_ALL}, zone = {1, 101, 1};
    const tb_range range = {498600, 100, true};
    tb_series series;
    tb_geo *geo = NULL;
    size_t n;
    tb_code code = tb_series_init(&series, range, TB_METRIC_ALL, NULL, err);
    if (code) return code;
    code = tb_store_read_begin(store, err);
    if (!code) code = tb_store_view_check(store, &zone, err);
    if (!code) code = tb_store_read_series(store, &view, &series, err);
    if (!code) code = tb_store_read_series(store, &zone, &series, err);
    if (!code) code = tb_store_read_view(store, &view, &series, &geo, &n, err);
    tb_store_read_end(store);
    free(geo);
    tb_series_release(&series);
    return code;
}

static tb_code op_lists(tb_error *err)
{
    tb_key *keys = NULL;
    tb_region *regions = NULL;
    tb_known *known = NULL;
    tb_store_figures figures;
    size_t n;
    tb_code code = tb_store_keys(store, &keys, &n, err);
    if (!code) code = tb_store_regions(store, &regions, &n, err);
    if (!code)
        code = tb_store_known_by_head(store, TB_BATCH_LOG, (tb_hash128){1, 1}, &known, &n, err);
    if (!code) code = tb_store_read_figures(store, &figures, err);
    free(keys);
    free(regions);
    free(known);
    return code;
}

static tb_code op_add_events(tb_error *err)
{
    static int number = 100;
    static const uint8_t random[TB_EVENT_SECRET] = {1};
    uint8_t secret[TB_EVENT_SECRET];
    number += 7;
    tb_code code = tb_store_begin(store, err);
    if (!code) code = workload_add_events(store, number, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code ? code : tb_store_event_secret(store, random, secret, err);
}

static bool count_block(void *ctx, const void *block, size_t len)
{
    tb_event_record record;
    bool ok = true;
    for (size_t at = 0; ok && at < len;) {
        REQUIRE(tb_event_next(block, len, &at, &record), "a block is damaged for lack of memory");
        *(unsigned *)ctx += 1;
    }
    return true;
}

static tb_code op_events(tb_error *err)
{
    static const char body[] = "{\"from\":1,\"to\":1000,\"query\":\"x\",\"filters\":[{\"field\":\"url\","
                               "\"op\":\"wildcard\",\"value\":[\"*a\"]}]}";
    static const char line[] = "{\"shield_zone\":42,\"timestamp\":1795046400000,\"log\":\"\\n\"}";
    unsigned n = 0;
    tb_event event;
    tb_reject reject;
    tb_event_query *query = NULL;
    tb_event_key low;
    tb_event_key_set(&low, 0, NULL, 0);
    tb_code code = tb_store_shield_check(store, 1, 42, err);
    if (!code) code = tb_store_events_up(store, 42, &low, count_block, &n, err);
    REQUIRE(code || n > 0, "no events for lack of memory");
    if (!code) code = tb_event_query_parse(body, sizeof body - 1, 1000, &query, err);
    tb_event_query_free(query);
    tb_event_reader *reader = code ? NULL : tb_event_reader_new();
    if (!code && !reader) code = tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code && !tb_event_parse(reader, line, sizeof line - 1, 1795046400000, &event, &reject, err))
        code = err->code;
    tb_event_reader_free(reader);
    return code;
}

/* Runs that wait, some of them being folded. */
static tb_code op_add_logs(tb_error *err)
{
    static int number = 100;
    number++;
    tb_code code = tb_store_begin(store, err);
    if (!code) code = workload_add_logs(store, number, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

static tb_code op_logs(tb_error *err)
{
    uint64_t digest = 0;
    unsigned n = 0;
    tb_code code = workload_read_logs(store, &digest, &n, err);
    REQUIRE(code || n > 0, "no lines for lack of memory");
    return code;
}

static void on_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    workload_fail(__FILE__, __LINE__, "verify finds nothing for lack of memory", "%s", sentence);
}

static tb_code op_verify(tb_error *err)
{
    uint64_t differences = 0;
    return tb_store_verify(store, on_difference, NULL, &differences, err);
}

static bool on_row(void *ctx, int n, const char *const *cells, bool is_header)
{
    (void)n, (void)cells;
    *(unsigned *)ctx += !is_header;
    return true;
}

static tb_code op_query(tb_error *err)
{
    unsigned rows = 0;
    tb_code code = tb_store_query(
        store, "SELECT region,sum(requests),x'00ff' FROM buckets WHERE zone=101 GROUP BY 1", on_row,
        &rows, err);
    REQUIRE(code || rows > 0, "no rows for lack of memory");
    if (!code) code = tb_store_query(store, "SELECT * FROM countries", on_row, &rows, err);
    return code;
}

static tb_code op_anchor(tb_error *err)
{
    char digest[TB_ANCHOR_MAX];
    uint64_t differences = 0;
    tb_code code = tb_store_anchor(store, digest, err);
    if (!code) code = tb_store_verify_against(store, digest, NULL, NULL, &differences, err);
    REQUIRE(code || differences == 0, "an anchor of now does not hold for lack of memory");
    return code;
}

static tb_code op_backup(tb_error *err)
{
    remove(copy_path);
    tb_code code = tb_store_backup(store, copy_path, NULL, NULL, NULL, err);
    remove(copy_path);
    return code;
}

static const struct {
    const char *name;
    tb_code (*run)(tb_error *err);
    bool writes; /* needs the writer, and changes what the next run finds */
} operations[] = {
    {"open", op_open, false},
    {"open to write", op_open, true},
    {"ingest", op_write, true},
    {"ingest of a pack", op_write_packed, true},
    {"merge", op_merge, true},
    {"apply", op_apply, true},
    {"read", op_read, false},
    {"lists", op_lists, false},
    {"add events", op_add_events, true},
    {"events", op_events, false},
    {"add logs", op_add_logs, true},
    {"logs", op_logs, false},
    {"verify", op_verify, false},
    {"query", op_query, false},
    {"anchor", op_anchor, false},
    {"backup", op_backup, false},
};

static void open_store(bool write)
{
    const tb_store_options options = {.write = write, .owner = "test", .vfs = FAULT_VFS};
    tb_error err = {0};
    REQUIRE(!tb_store_open(path, &options, &store, &err), "%s", err.message);
}

static void fresh(void)
{
    volatile int acked = 0;
    workload w = {.path = path, .acked = &acked};
    tb_error err = {0};
    workload_remove(path);
    REQUIRE(!workload_run(&w, &err), "%s", err.message);
}

static uint64_t allocations; /* of the operation that ran last */

/* One operation with its n-th allocation failing. Returns whether there was such an allocation. */
static bool run(size_t i, uint64_t at, bool from_then_on)
{
    tb_error err = {0};
    bool opens = operations[i].run == op_open;
    as_writer = operations[i].writes;
    if (!opens) open_store(as_writer);
    scarce_arm(at, from_then_on);
    tb_code code = operations[i].run(&err);
    bool failed = scarce_failed();
    allocations = scarce_count();
    scarce_arm(0, false);
    REQUIRE(!code || (failed && code == TB_E_NOMEM), "%s, allocation %llu: %s: %s",
            operations[i].name, (unsigned long long)at, tb_code_name(code), err.message);
    if (failed && code) {
        code = operations[i].run(&err);
        REQUIRE(!code, "%s after allocation %llu failed%s, again: %s", operations[i].name,
                (unsigned long long)at, from_then_on ? " and all after it" : "", err.message);
    }
    tb_store_close(opens ? NULL : store);
    return failed;
}

/* The quick form tries so many allocations of each operation, far and near alike; the long form all. */
#define TRIED 40

static uint64_t stride_of(size_t i)
{
    if (workload_long()) return 1;
    for (int n = 0; n < 2; n++) /* what the first finds to do is done when the second comes */
        run(i, UINT64_MAX, false);
    return (allocations / TRIED + 1) * workload_stride();
}

int main(void)
{
    scarce_init();
    fault_register();
    workload_folder(path);
    snprintf(copy_path, sizeof copy_path, "%s.copy", path);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        uint64_t points = 0;
        fresh();
        const uint64_t every = stride_of(i);
        for (int on = 0; on < 2; on++) {
            for (uint64_t at = 1 + (uint64_t)on * every / 2; run(i, at, on); at += every)
                points++;
        }
        open_store(false);
        tb_error err = {0};
        tb_code code = op_verify(&err);
        REQUIRE(!code, "%s", err.message);
        tb_store_close(store);
        printf("%s: %llu allocations failed, no harm done\n", operations[i].name,
               (unsigned long long)points);
        fflush(stdout);
    }
    workload_remove_folder(path);
    return 0;
}
