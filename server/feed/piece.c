/* The checks that keep the pieces of a log one chain. A sender reads the known segments, skips them, and sends the rest one piece
 * after another. Another sender may send the same log meanwhile: then the number of known segments is not what the first
 * one has read. */
#include "feed/piece.h"

#include "feed/hash.h"
#include "tollbook/withdraw.h"

#include <stdlib.h>

bool feed_batch_name(const char *name, size_t len)
{
    if (len < 1 || len > TB_BATCH_NAME_MAX || name[0] == ' ' || name[len - 1] == ' ') return false;
    for (size_t i = 0; i < len; i++)
        if (name[i] < 0x20 || name[i] > 0x7e) return false;
    return true;
}

static const tb_known *find_known(const tb_known *list, size_t n, const feed_piece *piece)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].start == piece->start && list[i].length == piece->length &&
            feed_hash_same(list[i].hash, piece->hash))
            return &list[i];
    return NULL;
}

/* Whether other pieces of this list have the piece's lines: the log is known up to its end. */
static bool ends_as_known(const tb_known *list, size_t n, const feed_piece *piece)
{
    if (piece->length == piece->start) return false; /* it brings nothing */
    for (size_t i = 0; i < n; i++)
        if (list[i].start != piece->start && list[i].length == piece->length && feed_hash_same(list[i].hash, piece->hash))
            return true;
    return false;
}

static tb_code another_sender(tb_error *err)
{
    return tb_fail(err, TB_E_BATCH_CONFLICT, NULL,
                   "Another sender has taken in a part of this log since its segments were read. "
                   "Nothing of this piece was taken. Read them again and go on from there.");
}

static tb_code no_segment_before(const feed_piece *piece, tb_error *err)
{
    return tb_fail(err, TB_E_BATCH_CONFLICT, NULL,
                   "No known segment of this log ends at byte %llu after %llu lines. Nothing of "
                   "this piece was taken. Send what is before it first.",
                   (unsigned long long)piece->start, (unsigned long long)piece->lines_before);
}

static tb_code check(const tb_known *list, size_t n, const feed_options *options, tb_error *err)
{
    const feed_piece *piece = options->piece;
    const tb_known *last = n ? &list[n - 1] : NULL;
    /* a batch is one chain, and nothing follows its final segment */
    const bool fits = last ? last->kind == options->kind && !last->final && last->length == piece->start : piece->start == 0;
    if (options->batch && !fits) return feed_conflict(options->batch, err);
    if (piece->known >= 0 && (uint64_t)piece->known != n) return another_sender(err);
    if (!options->batch && ends_as_known(list, n, piece)) return another_sender(err);
    if (piece->start == 0 && piece->lines_before == 0) return TB_OK;
    for (size_t i = 0; i < n; i++)
        if (list[i].length == piece->start && list[i].lines == piece->lines_before) return TB_OK;
    return no_segment_before(piece, err);
}

/* The same for a sender that tells the segments it knows from the piece's start on: list holds these. A sender that
 * took in more of the log than this one knows began where this one's knowledge ended, or behind. A named batch
 * may have begun before that: it is not seen here. */
static tb_code check_behind(tb_store *store, const tb_known *list, size_t n, const feed_options *options,
                            tb_error *err)
{
    const feed_piece *piece = options->piece;
    bool there = piece->start == 0 && piece->lines_before == 0;
    if ((uint64_t)piece->behind != n || ends_as_known(list, n, piece)) return another_sender(err);
    if (there) return TB_OK;
    const tb_input_position end = {options->kind, piece->head, piece->start, piece->lines_before};
    tb_code code = tb_store_known_end(store, &end, &there, NULL, err);
    if (code || there) return code;
    return no_segment_before(piece, err);
}

/* A sender that began before the log was withdrawn would continue in the middle of it: the error says so, and what it sent
 * before is not taken again by itself. Not where the log came again since. */
static tb_code say_withdrawn(tb_store *store, const feed_options *options, tb_error *err)
{
    const feed_piece *piece = options->piece;
    bool withdrawn = false, there = false;
    tb_error why = *err;
    const tb_input_position end = {options->kind, piece->head, piece->start, piece->lines_before};
    tb_code code = tb_store_known_end(store, &end, &there, NULL, err);
    if (!code && !there)
        code = tb_store_withdrawn_end(store, options->kind, piece->head, piece->start, piece->lines_before, &withdrawn,
                                      err);
    if (!code && withdrawn)
        return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                       "This log was withdrawn up to byte %llu. What follows is not taken by itself: "
                       "move the log away, or start again to take all of it in once more.",
                       (unsigned long long)piece->start);
    if (code) return code;
    *err = why;
    return why.code;
}

tb_code feed_piece_check(tb_store *store, const feed_options *options, bool *ret_known,
                         uint64_t *ret_lines, tb_error *err)
{
    tb_known *list;
    size_t n;
    const feed_piece *piece = options->piece;
    const bool behind = !options->batch && piece->behind >= 0;
    tb_code code = options->batch ? tb_store_known_by_name(store, options->batch, &list, &n, err)
                   : behind       ? tb_store_known_from(store, options->kind, piece->head, piece->start, &list, &n, err)
                                  : tb_store_known_by_head(store, options->kind, piece->head, &list, &n, err);
    if (code) return code;
    const tb_known *same = find_known(list, n, piece);
    *ret_known = same != NULL && same->kind == options->kind;
    if (*ret_known) *ret_lines = same->accepted + same->rejected;
    else code = behind ? check_behind(store, list, n, options, err) : check(list, n, options, err);
    free(list);
    return code == TB_E_BATCH_CONFLICT && err && !options->batch ? say_withdrawn(store, options, err)
                                                                 : code;
}
