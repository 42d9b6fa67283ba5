/* Withdrawing: an input that was taken is taken back. Its bytes are read again as they were read then,
 * and what they come to is subtracted; their segments are marked and known no more, so that the same
 * input can be taken once more. A segment's own row stays, as evidence.
 *
 * In one transaction of the caller: for each segment the usage of all its lines
 * (tb_store_withdraw_usage, as often as is needed, and tb_store_withdraw_logs), then
 * tb_store_withdraw_segment; after the last one tb_store_withdraw_end. Where one of them fails the
 * caller undoes all of it. */
#ifndef TOLLBOOK_WITHDRAW_H
#define TOLLBOOK_WITHDRAW_H

#include "tollbook/logstore.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* A segment that is known. */
typedef struct tb_taken {
    int64_t id;
    tb_known known;
    uint64_t lines_before;
    int64_t added_us;
    int64_t samples;                  /* tb_segment.samples */
    char name[TB_BATCH_NAME_MAX + 1]; /* its batch's; "": content decides */
} tb_taken;

/* Those with this head and kind, or, where name is not NULL, those of this batch. Ascending by (start,
 * length). Free the array with free(). */
TB_MUST_USE tb_code tb_store_taken(tb_store *store, tb_batch_kind kind, tb_hash128 head,
                                   const char *name, tb_taken **ret_taken, size_t *ret_n,
                                   tb_error *err);

/* Where a segment lies: those that are known there, which are several where logs that begin alike were cut at the same
 * places. It costs the same whatever the log's length. free(). */
typedef struct tb_segment_place {
    tb_batch_kind kind;
    tb_hash128 head;
    uint64_t start, length;
} tb_segment_place;
TB_MUST_USE tb_code tb_store_taken_at(tb_store *store, const tb_segment_place *place, tb_taken **ret_taken,
                                      size_t *ret_n, tb_error *err);

/* Whether a segment that was withdrawn, with this head, ends at byte `length`, after so many lines of its
 * input. */
TB_MUST_USE tb_code tb_store_withdrawn_end(tb_store *store, tb_batch_kind kind, tb_hash128 head,
                                           uint64_t length, uint64_t lines, bool *ret_withdrawn,
                                           tb_error *err);

/* Usage and request logs of small batches are pending in sorted runs until compaction moves them to their rows. What
 * is withdrawn is taken from the rows, so all that is pending is compacted first. Where others write meanwhile,
 * these calls do most of that before, a step in each transaction of the caller's. *walk: `logs` says whether request
 * logs are meant, the rest is 0 at the first call. *ret_more false: nothing was left to do. */
typedef struct tb_compact_walk {
    bool logs;
    int64_t counters[2], lines; /* the newest runs that are meant */
} tb_compact_walk;
TB_MUST_USE tb_code tb_store_compact_pending(tb_store *store, tb_compact_walk *walk, bool *ret_more, tb_error *err);

/* Subtracts what the cursor holds from every series that it was added to. Counters of which the larger
 * wins stay as they are: *maxima gets the bits of those that the cursor has. TB_E_WITHDRAWAL: there
 * is less than that; the sentence names the counter. */
TB_MUST_USE tb_code tb_store_withdraw_usage(tb_store *store, tb_rollup_cursor *cursor,
                                            uint32_t *maxima, tb_error *err);
/* Drops one kept line for each line of this block (requestlog.h) that is the same, or the same without the columns of
 * EnableExtendedLogging; *removed grows by their number. */
TB_MUST_USE tb_code tb_store_withdraw_logs(tb_store *store, const tb_loginfo *info,
                                           const void *bytes, size_t len, uint64_t *removed,
                                           tb_error *err);

typedef struct tb_withdrawal {
    int64_t segment;                    /* its id */
    tb_batch_kind kind;
    const char *source;                 /* where the bytes came from, for people */
    uint64_t accepted, rejected;        /* lines, as they were read now */
    uint64_t ambiguous, heads;          /* of accepted */
    int64_t now_us;
} tb_withdrawal;
/* Marks a segment as withdrawn; its refused lines go. TB_E_WITHDRAWAL where its lines came to something
 * else when it was taken: it was read in another way. */
TB_MUST_USE tb_code tb_store_withdraw_segment(tb_store *store, const tb_withdrawal *withdrawal,
                                              tb_error *err);
/* What was withdrawn in this transaction, for the audit log. */
typedef struct tb_withdrawn {
    tb_batch_kind kind;
    const char *source, *batch; /* batch NULL: it has no name */
    tb_hash128 head;
    uint64_t lines;
    const int64_t *segments; /* their ids; the first TB_WITHDRAWN_LISTED are listed */
    size_t n_segments;
    int64_t now_us, key; /* tb_audit_entry */
    const char *origin;
    int64_t *entry; /* of the commit that began this undo, 0: none; set to the one that tells of this. NULL is fine */
} tb_withdrawn;
#define TB_WITHDRAWN_LISTED 100
/* Adds the audit log's entry, unless *entry tells of the same undo: of the same input, key and operation, less
 * than a day ago. TB_E_WITHDRAWAL where a known segment goes on behind one that was withdrawn. */
TB_MUST_USE tb_code tb_store_withdraw_end(tb_store *store, const tb_withdrawn *withdrawn,
                                          tb_error *err);

TB_API_END

#endif
