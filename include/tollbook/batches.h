/* A piece of a log that was added up where it was written: its lines as cells, in bytes.
 *
 * What the sender cannot judge without the catalogue goes as lines beside the cells: refused lines, lines
 * that can be read in several ways, lines of zones that keep their lines. A key is whose a cell is: a zone's
 * number, or a hostname, which the reader's catalogue resolves. So a piece as cells comes to the same,
 * in every counter and every refused line, as the piece itself.
 *
 * Bytes: "TBC" and the version; XXH3-64 of all behind it; lines of the piece; the keys, each with its
 * days by edge location (a grid each) and its countries by day; the keys that are asked about; which lines
 * of the piece follow; these lines. Numbers are LEB128. */
#ifndef TOLLBOOK_BATCHES_H
#define TOLLBOOK_BATCHES_H

#include "tollbook/buf.h"
#include "tollbook/logstore.h"
#include "tollbook/rollup.h"

TB_API_BEGIN

#define TB_CELLS_VERSION 1
#define TB_CELLS_ASKED   4096 /* keys that one batch asks about, at most */

typedef struct tb_cell_key {
    int64_t zone; /* 0: by its host */
    tb_text host; /* as tb_known_hosts_open tells it, 1 to 255 bytes */
} tb_cell_key;

typedef struct tb_cell_batch {
    uint64_t lines;           /* of the piece: those in cells, and those in text */
    tb_cell_key *asked; /* may these come as cells? */
    size_t n_asked;
    uint64_t *numbers;  /* of the lines in text, in the piece, from 1 */
    size_t n_numbers;
    const char *text;         /* whole lines */
    size_t text_len;
} tb_cell_batch;

/* Appends the batch. Zones of the rollup are numbers, or -1 - i for hosts[i]. */
TB_MUST_USE tb_code tb_cells_write(const tb_cell_batch *batch, tb_rollup *cells, const tb_text *hosts,
                                   tb_buf *out, tb_error *err);

/* How a reader judges. */
typedef struct tb_cells_judge {
    int64_t now_ms;
    /* The zone of a key whose lines may come as cells; 0: they may not. */
    int64_t (*zone_of)(void *ctx, const tb_cell_key *key);
    void *ctx;
} tb_cells_judge;

/* Reads a batch from a sender whom nobody trusts: its cells are added to the rollup, the rest is borrowed from
 * bytes, but for numbers and asked, which are the caller's to free(). Hours must lie in the clock's window, counters
 * within what lines can come to, and cells and lines must make up the piece. On failure the rollup must be
 * cleared or freed. TB_E_BAD_INPUT: not what tb_cells_write wrote. TB_E_VALIDATION, field "cells": these
 * lines may not come as cells (any more). TB_E_TOO_LARGE: the rollup is full. */
TB_MUST_USE tb_code tb_cells_read(const void *bytes, size_t len, const tb_cells_judge *judge,
                                  tb_rollup *into, tb_cell_batch *ret_batch, tb_error *err);

/* Usage packs: what a small batch adds to the store's counters, made ready on any thread.
 *
 * The store has one writer. What it would do for each day of a batch, and could do without the file, is
 * done here by whoever parsed the batch: days are put in order, written as the entries that wait in the
 * file, and added up for their zones' and accounts' own places. The writer then only finds the places. */

/* More groups than so many (tb_rollup_groups) are not worth packing: a large batch goes to its places
 * itself, and its memory would be needed twice. */
#define TB_PACK_GROUPS ((size_t)1 << 14)

typedef struct tb_usage_pack tb_usage_pack;
tb_usage_pack *tb_usage_pack_new(void); /* empty; NULL when out of memory */
void tb_usage_pack_free(tb_usage_pack *pack); /* NULL is fine */
/* Replaces what the pack holds by what the parts hold; its memory is used again. zones: whose account each zone
 * is (tb_directory.ever_logged; NULL: none has one). TB_E_OVERFLOW: a sum is too large; tb_store_add_usage of the
 * same says which one. */
TB_MUST_USE tb_code tb_usage_pack_fill(tb_usage_pack *pack, tb_rollup *const *parts, size_t n,
                                       const tb_logged_zones *zones, tb_error *err);

/* false: usage lies where only tb_store_add_usage can add to it. */
bool tb_store_takes_packs(const tb_store *store);
/* Adds what the pack holds: the same as tb_store_add_usage of a cursor over its parts. *ret_stale: a zone has another
 * account than the pack was made by, and nothing was added. */
TB_MUST_USE tb_code tb_store_add_packed(tb_store *store, const tb_usage_pack *pack, bool *ret_stale,
                                        tb_error *err);
/* Group commit. In a transaction of several batches, never within a mark: whether the batches that follow are written
 * together, as if they were one: at the COMMIT, or where this is called with false before. Until then usage may not be
 * read, but for batches themselves; marks, and going back to one, are as ever. Where usage lies elsewhere than in the
 * file this changes nothing. An error: the transaction must be rolled back. */
TB_MUST_USE tb_code tb_store_group_batches(tb_store *store, bool grouped, tb_error *err);

TB_API_END

#endif
