/* Reading request logs in the order of time over blocks that overlap, and over pending lines (log_run.h).
 *
 * The blocks and runs that may hold matching lines are listed first, in the order in which reading needs them. Then
 * the cursor is a merge: a heap of open blocks, each with its matching rows, by the time of the next row; a block is
 * opened when no row before its beginning is left, and closed after its last. So a short answer opens few blocks,
 * and memory is that of the blocks that overlap at one moment. A run has few lines of the zone: they are copied, and
 * it is closed. */
#include "store/logs/blocks.h"
#include "store/logs/log_run.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_MS INT64_C(3600000)
#define RUNS    (INT64_C(1) << 62) /* the file's runs are numbered from here: they come after all blocks */
#define COPIED  256                /* lines of a run; if there are more it stays open */

/* Lines that were copied out of a run, in its order. */
typedef struct copied {
    size_t bytes;
    tb_logrow row[];
} copied;

typedef struct tb__log_open_block {
    tb_logblock *block;
    copied *copied;      /* NULL: the rows are the block's */
    int64_t id, time_ms; /* of the row it stands on */
    size_t n, at;        /* rows passed over, in the cursor's direction */
    uint16_t rows[TB_LOGBLOCK_LINES];
} open_block;

typedef tb__log_cursor cursor;
typedef tb__log_listed listed;

/* --- the list --- */

static int ascending_order(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    if (x->first_ms != y->first_ms) return x->first_ms < y->first_ms ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int descending_order(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    if (x->last_ms != y->last_ms) return x->last_ms > y->last_ms ? -1 : 1;
    return x->id > y->id ? -1 : x->id < y->id;
}

tb__log_order *tb__log_order_of(bool descending)
{
    return descending ? descending_order : ascending_order;
}

static tb_code add_listed(cursor *c, listed one, tb_error *err)
{
    tb_code code = tb__grow(&c->list, c->n_list, &c->cap_list, sizeof *c->list, err);
    if (!code) c->list[c->n_list++] = one;
    return code;
}

/* Hours are compared as the tree keeps them: 31 bits. */
static int64_t clamp_hour(int64_t ms)
{
    const int64_t hour = tb__floor_div(ms, HOUR_MS);
    return hour < 0 ? 0 : hour > INT32_MAX ? INT32_MAX : hour;
}

static tb_code list_blocks(cursor *c, tb_error *err)
{
    const tb_log_filter *f = c->filter;
    const int64_t values[] = {tb__log_tree_zone(c->zone), clamp_hour(f->from_ms),
                              clamp_hour(f->to_ms), c->zone, f->from_ms, f->to_ms};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(c->store, TB__SQL_LOG_BLOCKS, values, 6, &s, err);
    while (!code && !(code = tb__step(c->store, s, &row, err)) && row)
        code = add_listed(c, (listed){.id = sqlite3_column_int64(s, 0),
                                      .first_ms = sqlite3_column_int64(s, 1),
                                      .last_ms = sqlite3_column_int64(s, 2)}, err);
    return code;
}

/* Lists the run where it has lines of the zone. */
static tb_code list_run(cursor *c, const tb__log_run *run, tb_error *err)
{
    tb__log_directory d;
    sqlite3_stmt *s;
    uint32_t place;
    tb_code code = tb__log_run_read(c->store, run, &s, &d, NULL, err);
    if (code) return code;
    const bool has = tb__log_directory_find(&d, c->zone, &place);
    sqlite3_reset(s);
    return has ? add_listed(c, (listed){RUNS + run->id, run->first_ms, run->last_ms, (size_t)run->lines}, err)
               : TB_OK;
}

static tb_code list_runs(cursor *c, tb_error *err)
{
    tb__log_runs runs = {0};
    tb_code code = tb__log_runs_list(c->store, false, &runs, err);
    for (size_t i = 0; !code && i < runs.n; i++) {
        const tb__log_run *run = &runs.run[i];
        const bool pending = c->zone >= tb__log_pending_from(&runs, run->id);
        if (pending && run->last_ms >= c->filter->from_ms && run->first_ms < c->filter->to_ms)
            code = list_run(c, run, err);
    }
    free(runs.run);
    return code;
}

static tb_code list_all(cursor *c, tb_error *err)
{
    tb_code code = list_blocks(c, err);
    if (!code) code = list_runs(c, err);
    if (!code && c->n_list)
        qsort(c->list, c->n_list, sizeof *c->list, tb__log_order_of(c->descending));
    return code;
}

static void free_block(open_block *o)
{
    if (!o) return;
    tb_logblock_free(o->block);
    free(o->copied);
    free(o);
}

size_t tb__log_bytes(const tb_log_cursor *of)
{
    const cursor *c = (const cursor *)of;
    size_t sum = 0;
    for (size_t i = 0; i < c->n_heap; i++)
        sum += c->heap[i]->copied ? c->heap[i]->copied->bytes : tb_logblock_plain(c->heap[i]->block);
    return c->source->bytes ? sum + c->source->bytes(c->ctx) : sum;
}

void tb__log_free(tb_log_cursor *of)
{
    cursor *c = (cursor *)of;
    if (c->source->free) c->source->free(c->ctx);
    for (size_t i = 0; i < c->n_heap; i++)
        free_block(c->heap[i]);
    free_block(c->spare);
    free(c->heap);
    free(c->list);
    free(c);
}

/* --- the heap --- */

/* Whether a's row comes before b's. */
static bool before(const cursor *c, const open_block *a, const open_block *b)
{
    if (a->time_ms != b->time_ms)
        return c->descending ? a->time_ms > b->time_ms : a->time_ms < b->time_ms;
    return c->descending ? a->id > b->id : a->id < b->id;
}

static void sift_down(cursor *c, size_t at)
{
    for (;;) {
        size_t first = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < c->n_heap; child++)
            if (before(c, c->heap[child], c->heap[first])) first = child;
        if (first == at) return;
        open_block *swap = c->heap[at];
        c->heap[at] = c->heap[first];
        c->heap[first] = swap;
        at = first;
    }
}

static void sift_up(cursor *c, size_t at)
{
    while (at > 0 && before(c, c->heap[at], c->heap[(at - 1) / 2])) {
        open_block *swap = c->heap[at];
        c->heap[at] = c->heap[(at - 1) / 2];
        c->heap[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

static size_t row_of(const cursor *c, const open_block *o)
{
    return o->rows[c->descending ? o->n - 1 - o->at : o->at];
}

static open_block *fresh_block(cursor *c)
{
    open_block *o = c->spare;
    c->spare = NULL;
    if (!o && (o = malloc(sizeof *o)) != NULL) *o = (open_block){.block = NULL};
    if (o && !o->block) o->block = tb_logblock_new();
    if (o && o->block) return o;
    free(o);
    return NULL;
}

static void close_block(cursor *c, open_block *o)
{
    free(o->copied);
    o->copied = NULL;
    if (c->spare) free_block(o);
    else c->spare = o;
}

static int64_t time_of(const cursor *c, const open_block *o)
{
    const size_t row = row_of(c, o);
    return o->copied ? o->copied->row[row].line.time_ms : tb_logblock_time(o->block, row);
}

static tb_code read_block(cursor *c, open_block *o, const listed *of, tb_error *err)
{
    tb_code code = c->source->open(c, of, o->block, err);
    if (!code) code = tb_logblock_select(o->block, c->filter, o->rows, &o->n, err);
    return code;
}

/* --- runs --- */

/* The rows that are the zone's, of those that pass. */
static void keep_own(open_block *o, const tb__log_directory *d, uint32_t place)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++)
        if (tb__log_directory_row(d, o->rows[i]) == place) o->rows[n++] = o->rows[i];
    o->n = n;
}

static tb_code read_run(cursor *c, open_block *o, const listed *one, tb_error *err)
{
    const tb__log_run run = {.id = one->id - RUNS, .lines = (int64_t)one->entry};
    tb__log_directory d;
    tb_text block;
    sqlite3_stmt *s;
    uint32_t place = 0;
    tb_code code = tb__log_run_read(c->store, &run, &s, &d, &block, err);
    if (code) return code;
    code = tb__log_directory_block(&d, o->block, block.data, block.len, err);
    if (!code) code = tb_logblock_select(o->block, c->filter, o->rows, &o->n, err);
    if (!code && tb__log_directory_find(&d, c->zone, &place)) keep_own(o, &d, place);
    sqlite3_reset(s);
    return code;
}

#define TEXTS(X)                                                                                   \
    X(cache) X(status) X(ip) X(referer) X(origin) X(path) X(edge) X(agent) X(id) X(country)        \
    X(range) X(authorization) X(ja4) X(asn) X(organization)
#define TB_X(text) +1
_Static_assert(TEXTS(TB_X) == TB__LOG_COUNT - 3, "the texts of all columns but time, bytes and body bytes");
#undef TB_X

static size_t text_len(const tb_logline *l)
{
    size_t sum = 0;
#define TB_X(text) sum += l->text.len;
    TEXTS(TB_X)
#undef TB_X
    return sum;
}

/* Moves the line's texts to `to`; returns their end. */
static char *move_texts(tb_logline *l, char *to)
{
#define TB_X(text)                                                                                 \
    if (l->text.len) memcpy(to, l->text.data, l->text.len);                                        \
    l->text.data = to;                                                                             \
    to += l->text.len;
    TEXTS(TB_X)
#undef TB_X
    return to;
}

static tb_code copy_rows(open_block *o, tb_error *err)
{
    tb_logrow row;
    size_t bytes = sizeof(copied) + o->n * sizeof(tb_logrow);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < o->n; i++) {
        code = tb_logblock_row(o->block, o->rows[i], &row, err);
        if (!code) bytes += text_len(&row.line);
    }
    if (code) return code;
    o->copied = malloc(bytes);
    if (!o->copied) return tb_no_memory(err);
    o->copied->bytes = bytes;
    char *to = (char *)(o->copied->row + o->n);
    for (size_t i = 0; !code && i < o->n; i++) {
        code = tb_logblock_row(o->block, o->rows[i], &row, err);
        if (code) return code;
        to = move_texts(&row.line, to);
        o->copied->row[i] = row;
        o->rows[i] = (uint16_t)i;
    }
    return TB_OK;
}

/* Its block goes back to the cursor's spare one. */
static tb_code take_run(cursor *c, open_block *o, const listed *one, tb_error *err)
{
    tb_code code = read_run(c, o, one, err);
    if (code || o->n == 0 || o->n > COPIED) return code;
    code = copy_rows(o, err);
    if (code) return code;
    open_block *spare = c->spare ? NULL : malloc(sizeof *spare);
    if (spare) {
        *spare = (open_block){.block = o->block};
        c->spare = spare;
    } else {
        tb_logblock_free(o->block);
    }
    o->block = NULL;
    return TB_OK;
}

/* --- going on --- */

static tb_code push(cursor *c, open_block *o, tb_error *err)
{
    tb_code code = tb__grow(&c->heap, c->n_heap, &c->cap_heap, sizeof *c->heap, err);
    if (code) return code;
    o->time_ms = time_of(c, o);
    c->heap[c->n_heap++] = o;
    sift_up(c, c->n_heap - 1);
    return TB_OK;
}

/* Opens the next listed block; it joins the heap where a row of it passes. */
static tb_code open_next(cursor *c, tb_error *err)
{
    open_block *o = fresh_block(c);
    if (!o) return tb_no_memory(err);
    const listed *one = &c->list[c->at_list++];
    o->id = one->id;
    o->at = 0;
    tb_code code = one->id > RUNS ? take_run(c, o, one, err) : read_block(c, o, one, err);
    if (!code && o->n > 0) code = push(c, o, err);
    else if (!code) close_block(c, o);
    if (code) free_block(o);
    return code;
}

/* Whether the next listed block may hold a row that comes before the heap's first. */
static bool must_open(const cursor *c)
{
    if (c->at_list == c->n_list) return false;
    if (c->n_heap == 0) return true;
    const listed *next = &c->list[c->at_list];
    return c->descending ? next->last_ms >= c->heap[0]->time_ms
                         : next->first_ms <= c->heap[0]->time_ms;
}

static void step(cursor *c)
{
    open_block *o = c->heap[0];
    if (++o->at < o->n) {
        o->time_ms = time_of(c, o);
    } else {
        c->heap[0] = c->heap[--c->n_heap];
        close_block(c, o);
    }
    if (c->n_heap) sift_down(c, 0);
}

tb_code tb__log_next(tb_log_cursor *of, tb_log_step *ret_step, tb_error *err)
{
    cursor *c = (cursor *)of;
    if (c->stands) step(c);
    c->stands = false;
    if (must_open(c)) {
        tb_code code = open_next(c, err);
        if (code) return code;
    }
    if (must_open(c)) {
        *ret_step = TB_LOG_PAUSE;
        return TB_OK;
    }
    c->stands = c->n_heap > 0;
    *ret_step = c->stands ? TB_LOG_LINE : TB_LOG_END;
    return TB_OK;
}

tb_code tb__log_line(tb_log_cursor *of, tb_logrow *ret_row, tb_error *err)
{
    cursor *c = (cursor *)of;
    open_block *o = c->heap[0];
    if (!o->copied) return tb_logblock_row(o->block, row_of(c, o), ret_row, err);
    *ret_row = o->copied->row[row_of(c, o)];
    return TB_OK;
}

/* The order of blocks does not matter here, so one is open at a time. */
tb_code tb__log_sum(tb_log_cursor *of, tb_logsum *sum, bool *ret_end, tb_error *err)
{
    cursor *c = (cursor *)of;
    *ret_end = c->at_list == c->n_list;
    if (*ret_end) return TB_OK;
    open_block *o = fresh_block(c);
    if (!o) return tb_no_memory(err);
    const listed *one = &c->list[c->at_list++];
    tb_code code = one->id > RUNS ? read_run(c, o, one, err) : read_block(c, o, one, err);
    if (!code) code = tb_logsum_add(sum, o->block, o->rows, o->n, err);
    close_block(c, o);
    return code;
}

/* --- out of the file --- */

static tb_code open_row(cursor *c, const listed *of, tb_logblock *block, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(c->store, TB__SQL_LOG_GET, &of->id, 1, &s, err);
    if (!code) code = tb__step(c->store, s, &row, err);
    if (code) return code;
    const void *data = row ? sqlite3_column_blob(s, 2) : NULL;
    const int len = row ? sqlite3_column_bytes(s, 2) : 0;
    if (!row) code = tb_fail(err, TB_E_CORRUPT, "log_block", "A block of request logs is gone.");
    else if (!data) code = tb_no_memory(err);
    else code = tb_logblock_open(block, data, (size_t)len, c->zone, err);
    sqlite3_reset(s);
    return code;
}

static const tb__log_source file_source = {.open = open_row};

tb_code tb__log_search(tb_store *store, int64_t zone, const tb_log_filter *filter, bool descending,
                       tb_log_cursor **ret_cursor, tb_error *err)
{
    cursor *c = calloc(1, sizeof *c);
    if (!c) return tb_no_memory(err);
    *c = (cursor){.head.of = &tb__file_logs, .source = &file_source,
                  .store = store, .filter = filter, .zone = zone, .descending = descending};
    tb_code code = filter->from_ms < filter->to_ms ? list_all(c, err) : TB_OK;
    if (code) tb__log_free(&c->head);
    else *ret_cursor = &c->head;
    return code;
}
