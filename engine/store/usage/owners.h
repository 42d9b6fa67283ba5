/* The series of owners, remembered by the writer: a steady stream of batches meets the same owners
 * again, and asks the file for each of them once. What is remembered is what the running transaction
 * sees; it is forgotten where that is undone, and where a zone may get another account. */
#ifndef TOLLBOOK_STORE_OWNERS_H
#define TOLLBOOK_STORE_OWNERS_H

#include "store/core/internal.h"

typedef struct tb__member {
    int64_t edge, series;
} tb__member;

#define TB__OWNER_BITS 256 /* edge locations have low numbers */

typedef struct tb__owner {
    int scope;
    int64_t id;
    int64_t account; /* zones: whose they are; 0 unassigned */
    int64_t all;     /* the all-locations series, 0: none */
    tb__member *list; /* the others, ascending by edge */
    size_t n, cap;
    uint64_t has[TB__OWNER_BITS / 64]; /* the low ones of their edges */
} tb__owner;

/* *ret_owner stays good until tb__owners_forget. */
TB_MUST_USE tb_code tb__owner_get(tb_store *store, int scope, int64_t id, tb__owner **ret_owner,
                                  tb_error *err);
/* Adds a series at list[at]. */
TB_MUST_USE tb_code tb__owner_add(tb__owner *owner, size_t at, tb__member member, tb_error *err);
bool tb__owner_has(const tb__owner *owner, int64_t edge);
/* Where the owner's series at an edge location is, or belongs, in its list. */
size_t tb__owner_place(const tb__owner *owner, int64_t edge);
/* A new series: it is in the file after tb__series_write (core/internal.h), and its id after tb__series_save. */
TB_MUST_USE tb_code tb__series_begin(tb_store *store, const tb__owner *owner, int64_t edge,
                                     int64_t *ret_series, tb_error *err);
TB_MUST_USE tb_code tb__series_save(tb_store *store, tb_error *err);
/* In place of tb__series_save: ids are saved, and the rows wait for more of this transaction, until
 * somebody calls tb__series_write or runs a statement about series. */
TB_MUST_USE tb_code tb__series_wait(tb_store *store, tb_error *err);
void tb__series_mark(tb_store *store);
/* The transaction was undone, or its part since the mark: with it, what was written since then. */
void tb__series_undo(tb_store *store, bool whole);
/* Before a batch: forgets where more is remembered than is worth its memory. */
void tb__owners_trim(tb_store *store);
void tb__owners_forget(tb_store *store);

#endif
