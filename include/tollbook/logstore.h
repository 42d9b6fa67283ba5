/* Request logs in the store: blocks (requestlog.h) by pull zone and time, found through an R*Tree
 * over zone and hour, dropped as wholes once their last line is TB_LOG_KEPT_MS old.
 *
 * Blocks are written in the transaction of their lines' segment, so lines are counted and kept
 * together. Lines of zones that are not declared, or have logging off, are counted and not kept. */
#ifndef TOLLBOOK_LOGSTORE_H
#define TOLLBOOK_LOGSTORE_H

#include "tollbook/event.h"
#include "tollbook/requestlog.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* A live zone with logging on; or any zone ever declared (tb_directory.ever_logged). */
typedef struct tb_logged {
    int64_t zone, account;
    uint32_t number; /* 0 .. n-1, ascending by zone */
    bool extended;
} tb_logged;
typedef struct tb_logged_zones tb_logged_zones; /* of a directory (store.h) */
size_t tb_logged_count(const tb_logged_zones *zones);
const tb_logged *tb_logged_find(const tb_logged_zones *zones, int64_t zone); /* NULL: no */

/* The account for which a zone's bytes are kept by 5 minutes, as declared at a data version; 0: they are not. Segments note
 * tb_directory.samples, so that a withdrawal takes out what its input counted. */
typedef struct tb_sampled_zones tb_sampled_zones; /* of a directory */
int64_t tb_sampled_account(const tb_sampled_zones *zones, int64_t zone, int64_t version);

/* A zone's logging settings. TB_E_ZONE_NOT_FOUND: no live zone of the account. */
TB_MUST_USE tb_code tb_store_log_zone(tb_store *store, int64_t account, int64_t zone,
                                      tb_log_zone *ret_zone, tb_error *err);

/* Adds a block in the caller's transaction. A small block may be joined with a neighbouring one. */
TB_MUST_USE tb_code tb_store_add_logs(tb_store *store, const tb_loginfo *info, const void *bytes,
                                      size_t len, tb_error *err);
/* A block of lines of many zones (tb_logpack_mix), and its directory. */
typedef struct tb_logmixed {
    tb_loginfo info;
    tb_text directory, block;
} tb_logmixed;
/* Adds it in the caller's transaction. Such blocks are pending: they are readable at once, and each call moves a part
 * of the pending lines into the blocks of their zones. Not if tb_store_mixes_logs returns false. */
TB_MUST_USE tb_code tb_store_mix_logs(tb_store *store, const tb_logmixed *mixed, tb_error *err);
bool tb_store_mixes_logs(const tb_store *store);
/* Drops the blocks whose last line is older than TB_LOG_KEPT_MS at now_ms, in the caller's
 * transaction. */
TB_MUST_USE tb_code tb_store_drop_logs(tb_store *store, int64_t now_ms, uint64_t *ret_dropped,
                                       tb_error *err);
/* The same with another limit: drops blocks whose last line is before it, at most *room of them, and subtracts their
 * number from *room: 0 left: call it again. A limit on the blocks keeps other writes from being delayed. */
TB_MUST_USE tb_code tb_store_drop_some_logs(tb_store *store, int64_t before_ms, size_t *room,
                                            uint64_t *ret_dropped, tb_error *err);
/* The number of such blocks, and the bytes of their contents. */
TB_MUST_USE tb_code tb_store_logs_before(tb_store *store, int64_t before_ms, uint64_t *ret_blocks,
                                         uint64_t *ret_bytes, tb_error *err);

/* Lines of a zone that pass a filter, in order of time; of one time in the order of their storing
 * (backwards where descending). The caller holds a snapshot (tb_store_read_begin) as long as the
 * cursor lives; the filter is borrowed. */
typedef struct tb_log_cursor tb_log_cursor;
TB_MUST_USE tb_code tb_store_logs(tb_store *store, int64_t zone, const tb_log_filter *filter,
                                  bool descending, tb_log_cursor **ret_cursor, tb_error *err);
/* Decompressed bytes of the open blocks, which hold lines around the answer's current time. */
size_t tb_log_cursor_bytes(const tb_log_cursor *cursor);
void tb_log_cursor_free(tb_log_cursor *cursor); /* NULL is fine */
typedef enum tb_log_step {
    TB_LOG_END,
    TB_LOG_LINE,  /* the cursor is at a line */
    TB_LOG_PAUSE, /* a block was read without a match: call again, possibly after other work */
} tb_log_step;
TB_MUST_USE tb_code tb_log_next(tb_log_cursor *cursor, tb_log_step *ret_step, tb_error *err);
/* The current line. Its texts live until the next call of tb_log_next. */
TB_MUST_USE tb_code tb_log_line(tb_log_cursor *cursor, tb_logrow *ret_row, tb_error *err);

/* Adds all lines of a cursor to a summary, in place of tb_log_next: a block a call, until *ret_end. */
TB_MUST_USE tb_code tb_log_sum(tb_log_cursor *cursor, tb_logsum *sum, bool *ret_end, tb_error *err);

/* Shield events in the store: blocks (event.h) by shield zone and key, none of which overlap, so that
 * a page or an export reads what it shows. Dropped as wholes, by the UTC day, when the day is no
 * longer one of the TB_EVENT_DAYS that can be read.
 *
 * Events of a shield zone that is not declared are kept, and belong to its account once it is. */

/* In the caller's transaction. refs: sorted by tb_event_ref_compare. Known events change nothing; *ret_added counts the
 * others. */
TB_MUST_USE tb_code tb_store_add_events(tb_store *store, const tb_event_ref *refs, size_t n,
                                        uint64_t *ret_added, tb_error *err);
/* The cost of tb_store_add_events with the same refs now: the number of runs, each of which is added to a block or
 * becomes one, and the bytes of the existing blocks. 0 where usage is on usage servers. */
TB_MUST_USE tb_code tb_store_find_events(tb_store *store, const tb_event_ref *refs, size_t n, size_t *ret_runs,
                                         size_t *ret_bytes, tb_error *err);
/* Drops expired days, in the caller's transaction. */
TB_MUST_USE tb_code tb_store_drop_events(tb_store *store, int64_t now_ms, uint64_t *ret_dropped,
                                         tb_error *err);

/* TB_E_SHIELD_NOT_FOUND: no shield zone of the account. */
TB_MUST_USE tb_code tb_store_shield_check(tb_store *store, int64_t account, int64_t zone,
                                          tb_error *err);

/* Calls for each shield zone that the account has now, ascending by id, at most `limit` after the first `skip`.
 * pull_zone 0: not declared. name: "" if it has none; it lives until the call returns. */
typedef void (*tb_shield_zone_fn)(void *ctx, int64_t id, int64_t pull_zone, tb_text name);
typedef struct tb_shield_page {
    int64_t account, skip, limit;
} tb_shield_page;
TB_MUST_USE tb_code tb_store_shield_zones(tb_store *store, const tb_shield_page *page, tb_shield_zone_fn each,
                                          void *ctx, tb_error *err);
/* The same for one: that with this id, or else the lowest one that protects this pull zone (id 0). TB_E_SHIELD_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_shield_zone(tb_store *store, int64_t account, int64_t id, int64_t pull_zone, tb_shield_zone_fn each,
                                         void *ctx, tb_error *err);
TB_MUST_USE tb_code tb_store_count_shield_zones(tb_store *store, int64_t account, int64_t *ret_n,
                                                tb_error *err);

/* Receives a block; its first and last records may lie outside the requested range. true: go on. */
typedef bool (*tb_event_block_fn)(void *ctx, const void *block, size_t len);
/* Blocks of a zone with keys from `from` on, ascending. */
TB_MUST_USE tb_code tb_store_events_up(tb_store *store, int64_t zone, const tb_event_key *from,
                                       tb_event_block_fn fn, void *ctx, tb_error *err);
/* Blocks of a zone with keys up to `to`, descending. */
TB_MUST_USE tb_code tb_store_events_down(tb_store *store, int64_t zone, const tb_event_key *to,
                                         tb_event_block_fn fn, void *ctx, tb_error *err);

/* The database's secret for tokens; if it has none yet, `random` becomes it, in a transaction of its own. The
 * writer. */
TB_MUST_USE tb_code tb_store_event_secret(tb_store *store, const uint8_t random[TB_EVENT_SECRET],
                                          uint8_t ret_secret[TB_EVENT_SECRET], tb_error *err);

TB_API_END

#endif
