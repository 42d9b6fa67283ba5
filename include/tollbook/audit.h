/* The audit log: every operation on this file with its time, key, origin and arguments. Append-only and chained like
 * the ledger: an entry is written in the transaction of the change that it describes, so either both are written or
 * neither. */
#ifndef TOLLBOOK_AUDIT_H
#define TOLLBOOK_AUDIT_H

#include "tollbook/store.h"

TB_API_BEGIN

#define TB_AUDIT_ORIGIN_MAX    255
#define TB_AUDIT_OPERATION_MAX 63
#define TB_AUDIT_ARGUMENTS_MAX 16384
#define TB_AUDIT_PAGE          1000 /* most entries of one call */

typedef struct tb_audit_entry {
    int64_t id; /* from 1, without gaps: the store gives it */
    int64_t at_us;
    int64_t key;           /* 0: none, as on the command line and with a bearer token */
    const char *origin;    /* an address; "user eva" on a command line; "": the server itself */
    const char *operation; /* its name */
    const char *arguments; /* JSON, canonical, without secrets; of a document its SHA-256 */
} tb_audit_entry;

/* In the caller's transaction; entry->id is not read. Does not raise tb_store_version by itself, since answers and
 * bills do not contain it. TB_E_VALIDATION: a text is too long, or there is no operation. */
TB_MUST_USE tb_code tb_store_audit_add(tb_store *store, const tb_audit_entry *entry, tb_error *err);
/* Entries after after_id, ascending: at most `limit`, and at most TB_AUDIT_PAGE. *ret_n 0: no more entries.
 * tb_audit_release. */
TB_MUST_USE tb_code tb_store_audit(tb_store *store, int64_t after_id, size_t limit,
                                   tb_audit_entry **ret_entries, size_t *ret_n, tb_error *err);
/* Entries of [from_us, to_us) about an account: made with one of its keys, or with the account as their argument, or
 * revocations of its keys. By id; descending: the newest first. own: with one of its keys. each returns whether to go
 * on; the entry lives until it returns. Reads the whole log. */
typedef struct tb_audit_span {
    int64_t account, from_us, to_us;
    bool descending;
} tb_audit_span;
typedef bool (*tb_audit_fn)(void *ctx, const tb_audit_entry *entry, bool own);
TB_MUST_USE tb_code tb_store_audit_each(tb_store *store, const tb_audit_span *span, tb_audit_fn each, void *ctx,
                                        tb_error *err);
/* The id of the last entry; 0: none. */
TB_MUST_USE tb_code tb_store_audit_newest(tb_store *store, int64_t *ret_id, tb_error *err);
/* The latest time among the last entries; INT64_MIN: none. */
TB_MUST_USE tb_code tb_store_audit_moment(tb_store *store, int64_t *ret_us, tb_error *err);
void tb_audit_release(tb_audit_entry *entries); /* with their texts; NULL is fine */

/* Number of rows that this writer has changed since it was opened: an operation that leaves it the same has changed
 * nothing. */
uint64_t tb_store_changes(const tb_store *store);

/* The use of a database's space.
 *
 * By kind, whole pages of the file are counted, and the list covers the file; by month and by pull zone the packed
 * counters, request logs and shield events of each, and as "waiting" recent rows that are not compacted yet. */
typedef enum tb_size_by { TB_SIZE_BY_KIND, TB_SIZE_BY_MONTH, TB_SIZE_BY_ZONE } tb_size_by;

typedef struct tb_size {
    char name[64]; /* "usage", "2026-11", "101"; "2026-11 on shard 2, 1000 rows" of usage servers */
    int64_t bytes;
} tb_size;

/* The largest first, at most `most` of them; months by their time, the newest first. Free *ret_sizes
 * with free(); NULL where there is none. By kind every page of the file is visited. */
TB_MUST_USE tb_code tb_store_sizes(tb_store *store, tb_size_by by, int64_t most,
                                   tb_size **ret_sizes, size_t *ret_n, tb_error *err);

TB_API_END

#endif
