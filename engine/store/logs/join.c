/* Moving lines into their zone's blocks.
 *
 * Few lines make a small block. The zone's newest blocks of a size are joined with new lines once there
 * are FAN of them, or once they make a block that is half full; so lengths grow by FAN, a line is
 * rewritten a few times, and a zone has a few short blocks. A join replaces several rows by one, in the
 * same transaction; the new row takes the oldest one's id, so that the order of ids is still the order
 * in which lines were added. */
#include "store/logs/blocks.h"

#include "logs/record.h"
#include "store/logs/segment.h"

#include <stdlib.h>
#include <string.h>

#define FAN        6
#define OLDER      24               /* blocks that are looked at, and joined, at most */
#define JOIN_SPAN  INT64_C(21600000) /* a joined block reaches no further, unless one part did */
#define JOIN_PLAIN ((size_t)4 << 20) /* of a joined block's columns, decompressed */

typedef struct older {
    int64_t id, seal;
    tb_loginfo info;
} older;

struct tb__log_joiner {
    tb_logpack *pack;
    tb_logwords *words; /* of a block's lines that come alone */
    tb_logblock *block; /* the one that is read */
    const void **record; /* lines to be placed, in the order of their coming */
    size_t n, cap;
    void *memory[OLDER + 1]; /* of records that blocks were read as */
    size_t n_memory;
    tb_buf out;
};

static void forget_records(struct tb__log_joiner *j)
{
    for (; j->n_memory > 0; j->n_memory--)
        free(j->memory[j->n_memory - 1]);
    j->n = 0;
}

void tb__log_joiner_free(struct tb__log_joiner *j)
{
    if (!j) return;
    forget_records(j);
    tb_logpack_free(j->pack);
    tb_logwords_free(j->words);
    tb_logblock_free(j->block);
    tb_buf_release(&j->out);
    free(j->record);
    free(j);
}

static struct tb__log_joiner *joiner_of(tb_store *store)
{
    struct tb__log_joiner *j = store->joiner;
    if (j) return j;
    j = calloc(1, sizeof *j);
    if (!j) return NULL;
    tb_buf_init(&j->out, TB_LOGBLOCK_MAX, NULL);
    j->pack = tb_logpack_new();
    j->words = tb_logwords_new();
    j->block = tb_logblock_new();
    if (j->pack && j->words && j->block) return store->joiner = j;
    tb__log_joiner_free(j);
    return NULL;
}

/* --- gathering --- */

static tb_code room_for(struct tb__log_joiner *j, size_t more, tb_error *err)
{
    if (j->n + more <= j->cap) return TB_OK;
    const size_t cap = 2 * (j->n + more);
    const void **record = realloc(j->record, cap * sizeof *record);
    if (!record) return tb_no_memory(err);
    j->record = record;
    j->cap = cap;
    return TB_OK;
}

/* Appends the lines of the open block. */
static tb_code gather_block(struct tb__log_joiner *j, tb_logwords *words, tb_error *err)
{
    tb_loginfo info;
    tb_logblock_info(j->block, &info);
    tb_code code = room_for(j, info.lines, err);
    if (!code)
        code = tb__logwords_rows(words, j->block, j->record + j->n, &j->memory[j->n_memory], err);
    if (code) return code;
    j->n_memory++;
    j->n += info.lines;
    return TB_OK;
}

static void turn(const void **record, size_t n)
{
    for (size_t from = 0, to = n; from + 1 < to; from++, to--) {
        const void *one = record[from];
        record[from] = record[to - 1];
        record[to - 1] = one;
    }
}

/* The last n lines come first. */
static void put_first(struct tb__log_joiner *j, size_t n)
{
    turn(j->record, j->n - n);
    turn(j->record + (j->n - n), n);
    turn(j->record, j->n);
}

/* --- what is joined --- */

/* The zone's newest blocks, the newest first. */
static tb_code list_older(tb_store *store, int64_t zone, older *list, size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {zone, OLDER};
    sqlite3_stmt *s;
    bool row = true;
    size_t n = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_NEWEST, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        list[n++] = (older){.id = sqlite3_column_int64(s, 0),
                            .info = {.zone = zone,
                                     .lines = (uint32_t)sqlite3_column_int64(s, 1),
                                     .first_ms = sqlite3_column_int64(s, 2),
                                     .last_ms = sqlite3_column_int64(s, 3)}};
    *ret_n = n;
    return code;
}

static bool suits(const tb_loginfo *old, const tb_loginfo *all)
{
    const int64_t first = old->first_ms < all->first_ms ? old->first_ms : all->first_ms;
    const int64_t last = old->last_ms > all->last_ms ? old->last_ms : all->last_ms;
    const int64_t span = last - first;
    return old->lines + all->lines <= TB_LOGBLOCK_LINES &&
           (span <= JOIN_SPAN || span <= old->last_ms - old->first_ms ||
            span <= all->last_ms - all->first_ms);
}

/* How many of the blocks, from the first on, are of a size with *all; it grows by them. */
static size_t alike(const older *list, size_t n, tb_loginfo *all)
{
    const uint32_t most = 2 * all->lines;
    size_t k = 0;
    for (; k < n && list[k].info.lines < most && suits(&list[k].info, all); k++) {
        all->lines += list[k].info.lines;
        if (list[k].info.first_ms < all->first_ms) all->first_ms = list[k].info.first_ms;
        if (list[k].info.last_ms > all->last_ms) all->last_ms = list[k].info.last_ms;
    }
    return k;
}

/* The number of blocks to join with the new lines. */
static size_t choose(const older *list, size_t n, tb_loginfo all)
{
    size_t chosen = 0;
    while (all.lines <= TB_LOGBLOCK_LINES / 2) {
        tb_loginfo sum = all;
        const size_t k = alike(list + chosen, n - chosen, &sum);
        if (k == 0 || (k < FAN - 1 && sum.lines <= TB_LOGBLOCK_LINES / 2)) break;
        chosen += k;
        all = sum;
    }
    return chosen;
}

/* Reads the chosen ones, newest first, as far as they make no block that is too large to be open; *n is how many. */
static tb_code gather_older(tb_store *store, tb_logwords *words, older *list, size_t *n, size_t plain,
                            tb_error *err)
{
    struct tb__log_joiner *j = store->joiner;
    for (size_t i = 0; i < *n; i++) {
        const size_t before = j->n;
        tb_code code = tb__log_open(store, list[i].id, j->block, &list[i].seal, err);
        if (code) return code;
        plain += tb_logblock_plain(j->block);
        if (plain > JOIN_PLAIN) {
            *n = i;
            return TB_OK;
        }
        code = gather_block(j, words, err);
        if (code) return code;
        put_first(j, j->n - before);
    }
    return TB_OK;
}

/* --- packing --- */

/* A block of as many of the lines from `from` on as it may hold, *n at most. */
static tb_code pack_some(struct tb__log_joiner *j, tb_logwords *words, int64_t zone, size_t from,
                         size_t *n, tb_loginfo *ret_info, tb_error *err)
{
    for (;; *n /= 2) {
        j->out.len = 0;
        j->out.failed = false;
        tb_code code = tb_logpack_records(j->pack, words, &(tb_logrecords){zone, j->record + from, *n}, &j->out,
                                          ret_info, err);
        if (*n == 1 || (!code && tb__log_plain(j->out.data) <= JOIN_PLAIN)) return code;
    }
}

/* id: the first block's; 0: a new one. */
static tb_code put_lines(tb_store *store, tb_logwords *words, int64_t zone, int64_t id,
                         tb_error *err)
{
    struct tb__log_joiner *j = store->joiner;
    tb_code code = TB_OK;
    for (size_t from = 0, n; !code && from < j->n; from += n, id = 0) {
        tb_loginfo info;
        n = j->n - from < TB_LOGBLOCK_LINES ? j->n - from : TB_LOGBLOCK_LINES;
        code = pack_some(j, words, zone, from, &n, &info, err);
        if (!code && !id) code = tb__next_id(store, TB__SQL_LOG_NEXT, "log_block", &id, err);
        if (!code) code = tb__log_insert(store, id, &info, j->out.data, j->out.len, err);
    }
    return code;
}

/* --- the whole --- */

/* Writes the gathered lines, joined with the chosen blocks before them, as blocks. plain: decompressed bytes of the
 * gathered lines, if they were a block. */
static tb_code place_lines(tb_store *store, tb_logwords *words, int64_t zone, older *list, size_t n,
                     size_t plain, tb_error *err)
{
    tb_code code = gather_older(store, words, list, &n, plain, err);
    for (size_t i = 0; !code && i < n; i++)
        code = tb__log_delete(store, list[i].id, list[i].seal, err);
    if (!code) code = put_lines(store, words, zone, n ? list[n - 1].id : 0, err);
    forget_records(store->joiner);
    return code;
}

static tb_loginfo info_of(const tb__log_zone_lines *lines)
{
    const uint32_t most = TB_LOGBLOCK_LINES;
    const tb__logrecord *first = lines->record[0];
    tb_loginfo info = {lines->zone, first->time_ms, first->time_ms, lines->n < most ? (uint32_t)lines->n : most};
    for (size_t i = 1; i < lines->n; i++) {
        const tb__logrecord *r = lines->record[i];
        if (r->time_ms < info.first_ms) info.first_ms = r->time_ms;
        if (r->time_ms > info.last_ms) info.last_ms = r->time_ms;
    }
    return info;
}

/* The number of older blocks to join. With a limit on extra work (tb_store_bound_work) at most a thousand joins are
 * made: later lines are joined by a later batch. */
static size_t choose_within(tb_store *store, const older *list, size_t n, tb_loginfo all)
{
    const size_t chosen = choose(list, n, all);
    if (!chosen || !store->joins_bounded) return chosen;
    if (!store->joins_left) return 0;
    store->joins_left--;
    return chosen;
}

tb_code tb__log_place(tb_store *store, const tb__log_zone_lines *lines, tb_error *err)
{
    struct tb__log_joiner *j = joiner_of(store);
    older list[OLDER] = {{0}};
    size_t n = 0;
    if (!j) return tb_no_memory(err);
    const tb_loginfo info = info_of(lines);
    forget_records(j);
    tb_code code = room_for(j, lines->n, err);
    if (!code && info.lines <= TB_LOGBLOCK_LINES / 2) code = list_older(store, lines->zone, list, &n, err);
    if (code) return code;
    memcpy(j->record, lines->record, lines->n * sizeof *j->record);
    j->n = lines->n;
    return place_lines(store, lines->words, lines->zone, list, choose_within(store, list, n, info), 0, err);
}

static tb_code join_block(tb_store *store, const tb_loginfo *info, tb_text bytes, older *list, size_t n,
                          tb_error *err)
{
    struct tb__log_joiner *j = joiner_of(store);
    if (!j) return tb_no_memory(err);
    forget_records(j);
    tb_logwords_forget(j->words);
    tb_code code = tb_logblock_open(j->block, bytes.data, bytes.len, info->zone, err);
    if (!code) code = gather_block(j, j->words, err);
    return code ? code : place_lines(store, j->words, info->zone, list, n, tb_logblock_plain(j->block), err);
}

tb_code tb__log_place_block(tb_store *store, const tb_loginfo *info, tb_text bytes, tb_error *err)
{
    older list[OLDER] = {{0}};
    size_t n = 0;
    int64_t id;
    tb_code code = TB_OK;
    if (info->lines <= TB_LOGBLOCK_LINES / 2) code = list_older(store, info->zone, list, &n, err);
    if (code) return code;
    n = choose_within(store, list, n, *info);
    if (n) return join_block(store, info, bytes, list, n, err);
    code = tb__next_id(store, TB__SQL_LOG_NEXT, "log_block", &id, err);
    return code ? code : tb__log_insert(store, id, info, bytes.data, bytes.len, err);
}

tb_code tb__log_join(tb_store *store, const tb__log_piece *early, const tb__log_piece *late, tb__log_piece *ret,
                     bool *ret_joined, tb_error *err)
{
    const tb__log_piece *const part[2] = {early, late};
    size_t plain = 0;
    tb_code code = TB_OK;
    *ret_joined = false;
    if (!suits(&early->info, &late->info)) return TB_OK;
    struct tb__log_joiner *j = joiner_of(store);
    if (!j) return tb_no_memory(err);
    forget_records(j);
    tb_logwords_forget(j->words);
    for (int i = 0; !code && i < 2; i++) {
        code = tb_logblock_open(j->block, part[i]->bytes.data, part[i]->bytes.len, part[i]->info.zone, err);
        if (!code) code = gather_block(j, j->words, err);
        plain += code ? 0 : tb_logblock_plain(j->block);
    }
    if (!code && plain <= JOIN_PLAIN) {
        j->out.len = 0;
        j->out.failed = false;
        code = tb_logpack_records(j->pack, j->words, &(tb_logrecords){late->info.zone, j->record, j->n}, &j->out,
                                  &ret->info, err);
        ret->bytes = (tb_text){j->out.data, j->out.len};
        *ret_joined = !code;
    }
    forget_records(j);
    return code;
}
