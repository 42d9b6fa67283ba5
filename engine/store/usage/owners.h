/* The series of owners, remembered by the writer: a steady stream of batches meets the same owners
 * again, and reads each of them from the file once. The cache holds the state of the running transaction. It is
 * cleared when that is rolled back, and when a zone may get another account. */
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
    int64_t account; /* of a zone; 0: unassigned */
    int64_t shares;  /* accounts: the pull zone that the account shares its series with, 0: none */
    int64_t all;     /* the all-locations series, 0: none */
    int64_t last;    /* the highest id of its series, 0: it has none */
    size_t n;        /* the others, each at a location */
    tb__member *low; /* of them, those at low edges, ascending */
    size_t n_low, cap_low;
    uint64_t has[TB__OWNER_BITS / 64]; /* their edges */
    struct tb__high *high; /* those at high edges; NULL: there are none */
} tb__owner;

/* TB_E_CORRUPT where no series has these numbers; edge 0: it is of all edge locations. */
TB_MUST_USE tb_code tb__check_series(int64_t edge, int64_t series, tb_error *err);
/* *ret_owner stays good until tb__owners_forget. */
TB_MUST_USE tb_code tb__owner_get(tb_store *store, int scope, int64_t id, tb__owner **ret_owner,
                                  tb_error *err);
/* Its series at an edge location; NULL: it has none. Good until one is added. */
const tb__member *tb__owner_at(const tb__owner *owner, int64_t edge);
/* One after the other, from *at = 0 on; NULL: there are no more. */
const tb__member *tb__owner_next(const tb__owner *owner, size_t *at);
/* Adds a series at a location where it has none. */
TB_MUST_USE tb_code tb__owner_add(tb__owner *owner, tb__member member, tb_error *err);
/* Makes an account that has no series share those of one of its pull zones, the present and the future ones. */
TB_MUST_USE tb_code tb__owner_share(tb_store *store, tb__owner *account, int64_t zone, tb_error *err);
/* Ends the sharing: the account gets its own series at the same locations, which are empty. *ret_zone: the pull zone. */
TB_MUST_USE tb_code tb__owner_unshare(tb_store *store, tb__owner *account, tb__owner **ret_zone, tb_error *err);
/* The same for all accounts. */
TB_MUST_USE tb_code tb__owners_unshare(tb_store *store, tb_error *err);
/* A new series: it is in the file after tb__series_write (core/internal.h), and its id after tb__series_save. */
TB_MUST_USE tb_code tb__series_begin(tb_store *store, tb__owner *owner, int64_t edge, int64_t *ret_series,
                                     tb_error *err);
TB_MUST_USE tb_code tb__series_save(tb_store *store, tb_error *err);
/* In place of tb__series_save: ids are saved, and the rows wait for more of this transaction, until
 * tb__series_write is called or a statement about series runs. */
TB_MUST_USE tb_code tb__series_wait(tb_store *store, tb_error *err);
void tb__series_mark(tb_store *store);
/* The transaction was rolled back, or its part since the mark, with the rows written in it. */
void tb__series_undo(tb_store *store, bool whole);
/* Before a batch: empties the cache if it has become too large. */
void tb__owners_trim(tb_store *store);
void tb__owners_forget(tb_store *store);

#endif
