/* Dropping the kept lines of an input that is withdrawn. The lines are read again and packed with all their
 * columns. A kept one is the same in every column, or has none of those that a zone keeps by a setting, which
 * may have been another when it came; which of several that are the same goes does not matter. The zone's blocks
 * of those times are looked through, the newest first, and written again without these lines. */
#include "store/logs/blocks.h"
#include "store/logs/log_run.h"
#include "store/logs/segment.h"

#include "base/hash.h"
#include "tollbook/intake.h"
#include "tollbook/withdraw.h"

#include <stdlib.h>
#include <string.h>

/* A line in one of the forms in which it may have been kept. */
typedef struct form {
    uint64_t hash;
    size_t line;
} form;

#define FORMS 2 /* with the columns of EnableExtendedLogging, and without them */

typedef struct dropping {
    tb_store *store;
    const tb__log_holder *of;
    void *found; /* blocks of the zone: the holder's */
    form *forms;   /* of the lines to drop, ascending */
    bool *dropped; /* of each line: it was found */
    size_t n, left; /* lines */
    uint64_t seed;  /* of their hashes */
    tb_logblock *block; /* the one being looked through */
    tb_logpack *pack;
    tb_logrow row;
    tb_buf out;
    uint16_t rows[TB_LOGBLOCK_LINES]; /* what stays of the block */
    int64_t times[TB_LOGBLOCK_LINES];
    tb_code code; /* of reading a row while it is packed */
    tb_error err;
} dropping;

/* --- a line as a number --- */

static uint64_t text_hash(uint64_t seed, tb_text text)
{
    const uint64_t len = text.len;
    seed = XXH3_64bits_withSeed(&len, sizeof len, seed);
    return text.len ? XXH3_64bits_withSeed(text.data, text.len, seed) : seed;
}

static uint64_t line_hash(const tb_logline *line, uint64_t seed)
{
    const uint64_t numbers[3] = {(uint64_t)line->time_ms, line->bytes, line->body_bytes};
    const tb_text texts[] = {line->cache,  line->status, line->ip, line->referer,
                             line->origin, line->path,   line->edge, line->agent,
                             line->id,     line->country, line->range, line->authorization};
    uint64_t hash = XXH3_64bits_withSeed(numbers, sizeof numbers, seed);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hash = text_hash(hash, texts[i]);
    return hash;
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t x = ((const form *)a)->hash, y = ((const form *)b)->hash;
    return (x > y) - (x < y);
}

/* The lines of `block`. */
static tb_code list_lines(dropping *d, size_t n, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++) {
        code = tb_logblock_row(d->block, i, &d->row, err);
        if (code) break;
        tb_logline plain = d->row.line;
        plain.body_bytes = UINT64_MAX;
        plain.range.len = plain.authorization.len = 0;
        d->forms[FORMS * i] = (form){line_hash(&d->row.line, d->seed), i};
        d->forms[FORMS * i + 1] = (form){line_hash(&plain, d->seed), i};
    }
    d->n = d->left = n;
    if (!code && n > 0) qsort(d->forms, FORMS * n, sizeof *d->forms, by_hash);
    return code;
}

/* Whether a line is one of those to drop that were not found yet. */
static bool drops(dropping *d, uint64_t hash)
{
    size_t lo = 0, hi = FORMS * d->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (d->forms[mid].hash < hash) lo = mid + 1;
        else hi = mid;
    }
    for (; lo < FORMS * d->n && d->forms[lo].hash == hash; lo++) {
        bool *dropped = &d->dropped[d->forms[lo].line];
        if (*dropped) continue;
        *dropped = true;
        d->left--;
        return true;
    }
    return false;
}

/* --- a block --- */

static tb_code look_through(dropping *d, size_t n, size_t *ret_kept, tb_error *err)
{
    size_t kept = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++) {
        code = tb_logblock_row(d->block, i, &d->row, err);
        if (code || drops(d, line_hash(&d->row.line, d->seed))) continue;
        d->times[kept] = tb_logblock_time(d->block, i);
        d->rows[kept++] = (uint16_t)i;
    }
    *ret_kept = kept;
    return code;
}

static void kept_line(void *ctx, size_t i, tb_logline *ret_line)
{
    dropping *d = ctx;
    tb_error err;
    tb_code code = tb_logblock_row(d->block, d->rows[i], &d->row, &err);
    if (code && !d->code) {
        d->code = code;
        d->err = err;
    }
    if (code) *ret_line = (tb_logline){.body_bytes = UINT64_MAX};
    else *ret_line = d->row.line;
}

static tb_code write_kept(dropping *d, size_t at, int64_t zone, size_t kept, tb_error *err)
{
    tb__log_piece by;
    d->out.len = 0;
    d->out.failed = false;
    d->code = TB_OK;
    tb_code code =
        tb_logpack_block(d->pack, &(tb_loglines){zone, d->times, kept, kept_line, d}, &d->out, &by.info, err);
    if (!code && d->code) {
        if (err) *err = d->err;
        return d->code;
    }
    by.bytes = (tb_text){d->out.data, d->out.len};
    return code ? code : d->of->replace(d->store, d->found, at, &by, err);
}

static tb_code drop_from(dropping *d, size_t at, tb_error *err)
{
    tb_loginfo info;
    size_t kept = 0;
    tb_code code = d->of->open(d->store, d->found, at, d->block, err);
    if (code) return code;
    tb_logblock_info(d->block, &info);
    code = look_through(d, info.lines, &kept, err);
    if (code || kept == info.lines) return code;
    return kept ? write_kept(d, at, info.zone, kept, err) : d->of->replace(d->store, d->found, at, NULL, err);
}

/* --- the whole --- */

static tb_code dropping_init(dropping *d, size_t n, tb_error *err)
{
    d->block = tb_logblock_new();
    d->pack = tb_logpack_new();
    d->seed = tb__hash_seed();
    d->forms = calloc(FORMS * n + 1, sizeof *d->forms);
    d->dropped = calloc(n + 1, sizeof *d->dropped);
    tb_buf_init(&d->out, TB_LOGBLOCK_MAX, NULL);
    return d->block && d->pack && d->forms && d->dropped ? TB_OK : tb_no_memory(err);
}

static void dropping_free(dropping *d)
{
    tb_logblock_free(d->block);
    tb_logpack_free(d->pack);
    tb_buf_release(&d->out);
    free(d->forms);
    free(d->dropped);
    free(d);
}

static tb_code drop_lines(dropping *d, const tb__log_piece *lines, tb_error *err)
{
    size_t n = 0;
    tb_code code = tb_logblock_open(d->block, lines->bytes.data, lines->bytes.len, lines->info.zone, err);
    if (!code) code = list_lines(d, lines->info.lines, err);
    if (!code) code = d->of->overlapping(d->store, &lines->info, &d->found, &n, err);
    for (size_t i = 0; !code && i < n && d->left; i++)
        code = drop_from(d, i, err);
    d->of->free(d->found);
    return code;
}

tb_code tb__log_take_lines(tb_store *store, const tb__log_holder *of, const tb__log_piece *lines, uint64_t *removed,
                           tb_error *err)
{
    dropping *d = calloc(1, sizeof *d);
    if (!d) return tb_no_memory(err);
    d->store = store;
    d->of = of;
    tb_code code = dropping_init(d, lines->info.lines, err);
    if (!code) code = drop_lines(d, lines, err);
    if (!code) *removed += d->n - d->left;
    dropping_free(d);
    return code;
}

/* --- out of the file --- */

typedef struct rows {
    int64_t *id, seal; /* seal: of the one opened last */
} rows;

static void rows_free(void *found)
{
    rows *r = found;
    if (r) free(r->id);
    free(r);
}

static tb_code rows_find(tb_store *store, const tb_loginfo *span, void **ret_found, size_t *ret_n, tb_error *err)
{
    const int64_t bounds[3] = {span->zone, span->first_ms, span->last_ms};
    rows *r = calloc(1, sizeof *r);
    *ret_found = r;
    return r ? tb__list_ints(store, TB__SQL_LOG_OVERLAPPING, bounds, 3, &r->id, ret_n, err) : tb_no_memory(err);
}

static tb_code rows_open(tb_store *store, void *found, size_t i, tb_logblock *block, tb_error *err)
{
    rows *r = found;
    return tb__log_open(store, r->id[i], block, &r->seal, err);
}

static tb_code rows_replace(tb_store *store, void *found, size_t i, const tb__log_piece *by, tb_error *err)
{
    const rows *r = found;
    tb_code code = tb__log_delete(store, r->id[i], r->seal, err);
    return code || !by ? code : tb__log_insert(store, r->id[i], &by->info, by->bytes.data, by->bytes.len, err);
}

static const tb__log_holder file_holder = {rows_find, rows_open, rows_replace, rows_free};

tb_code tb__log_take_back(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len,
                          uint64_t *removed, tb_error *err)
{
    store->scrub = true;
    tb_code code = tb__log_compact_all(store, err);
    return code ? code : tb__log_take_lines(store, &file_holder, &(tb__log_piece){*info, {bytes, len}}, removed, err);
}
