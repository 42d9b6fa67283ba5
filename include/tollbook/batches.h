/* A piece of a log that the sender has summed up: its lines as cells, encoded as bytes.
 *
 * Lines that the sender cannot judge without the catalogue are sent as text with the cells: refused lines,
 * ambiguous lines, and lines of zones that keep their lines. A cell's key names its zone: by number, or by
 * hostname, which the reader resolves with its catalogue. So a piece as cells has the same effect, in every
 * counter and every refused line, as the piece itself.
 *
 * Bytes: "TBC" and the version; XXH3-64 of the rest; number of lines of the piece; the keys, each with its
 * days by edge location (a grid each) and its countries by day; the keys that are asked about; the numbers of
 * the lines sent as text; these lines. Numbers are LEB128. */
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
    tb_text host; /* in the form of tb_known_hosts_open, 1 to 255 bytes */
} tb_cell_key;

typedef struct tb_cell_batch {
    uint64_t lines;           /* of the piece: those in cells and those in text */
    tb_cell_key *asked; /* keys of which the sender asks whether they may come as cells */
    size_t n_asked;
    uint64_t *numbers;  /* line numbers in the piece, from 1, of the lines in text */
    size_t n_numbers;
    const char *text;         /* whole lines */
    size_t text_len;
} tb_cell_batch;

/* Appends the batch. Zones of the rollup are numbers, or -1 - i for hosts[i]. */
TB_MUST_USE tb_code tb_cells_write(const tb_cell_batch *batch, tb_rollup *cells, const tb_text *hosts,
                                   tb_buf *out, tb_error *err);

/* The reader's rules. */
typedef struct tb_cells_judge {
    int64_t now_ms;
    /* The zone of a key whose lines may come as cells; 0: they may not. */
    int64_t (*zone_of)(void *ctx, const tb_cell_key *key);
    void *ctx;
} tb_cells_judge;

/* Reads a batch from an untrusted sender: its cells are added to the rollup, the rest is borrowed from bytes,
 * except numbers and asked, which the caller frees. Hours must lie in the clock's window, counters within the
 * sums that so many lines can have, and cells and lines must add up to the piece. On failure the rollup must be
 * cleared or freed. TB_E_BAD_INPUT: not the output of tb_cells_write. TB_E_VALIDATION, field "cells": these lines
 * may not come as cells, or not any more. TB_E_TOO_LARGE: the rollup is full. */
TB_MUST_USE tb_code tb_cells_read(const void *bytes, size_t len, const tb_cells_judge *judge,
                                  tb_rollup *into, tb_cell_batch *ret_batch, tb_error *err);

/* Usage packs: the additions of a small batch to the store's counters, prepared on any thread.
 *
 * The store has one writer. The part of its work that needs no file is done here, by the thread that parsed the
 * batch: days are sorted, encoded as rows of the write buffer, and summed for the series of their zones and
 * accounts. The writer then only looks up the series. */

/* A batch of more groups (tb_rollup_groups) is not packed: it is written to its series directly, and packing would
 * need its memory twice. */
#define TB_PACK_GROUPS ((size_t)1 << 14)

typedef struct tb_usage_pack tb_usage_pack;
tb_usage_pack *tb_usage_pack_new(void); /* empty; NULL when out of memory */
void tb_usage_pack_free(tb_usage_pack *pack); /* NULL is fine */
/* Replaces the contents of the pack by those of the parts; reuses its memory. zones: the account of each zone
 * (tb_directory.ever_logged; NULL: no zone has one). TB_E_OVERFLOW: a sum is too large; tb_store_add_usage of the same
 * parts says which one. */
TB_MUST_USE tb_code tb_usage_pack_fill(tb_usage_pack *pack, tb_rollup *const *parts, size_t n,
                                       const tb_logged_zones *zones, tb_error *err);

/* false: the store's usage is on usage servers, which need tb_store_add_usage. */
bool tb_store_takes_packs(const tb_store *store);
/* Adds the pack: the same as tb_store_add_usage of a cursor over its parts. *ret_stale: a zone has another account
 * than when the pack was made, and nothing was added. */
TB_MUST_USE tb_code tb_store_add_packed(tb_store *store, const tb_usage_pack *pack, bool *ret_stale,
                                        tb_error *err);
/* Group commit, within a transaction of several batches and never within a mark: while it is on, the batches are
 * written as if they were one, at the COMMIT or when this is called with false. Until then only batches may read
 * usage; marks work as usual. No effect where usage is on usage servers. After an error roll back. */
TB_MUST_USE tb_code tb_store_group_batches(tb_store *store, bool grouped, tb_error *err);

TB_API_END

#endif
