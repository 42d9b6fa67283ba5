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

/* A live zone of the catalogue with logging on; or any that was ever declared (tb_directory.ever_logged). */
typedef struct tb_logged {
    int64_t zone, account;
    uint32_t number; /* 0 .. n-1 among them, ascending as zones do */
    bool extended;
} tb_logged;
typedef struct tb_logged_zones tb_logged_zones; /* of a directory (store.h) */
size_t tb_logged_count(const tb_logged_zones *zones);
const tb_logged *tb_logged_find(const tb_logged_zones *zones, int64_t zone); /* NULL: no */

/* How a zone's logs stand. TB_E_ZONE_NOT_FOUND where it is not a live zone of the account. */
TB_MUST_USE tb_code tb_store_log_zone(tb_store *store, int64_t account, int64_t zone,
                                      tb_log_zone *ret_zone, tb_error *err);

/* Adds a block in the caller's transaction. A small one may be joined with one that lies beside it. */
TB_MUST_USE tb_code tb_store_add_logs(tb_store *store, const tb_loginfo *info, const void *bytes,
                                      size_t len, tb_error *err);
/* A block of lines of many zones (tb_logpack_mix), and its directory. */
typedef struct tb_logmixed {
    tb_loginfo info;
    tb_text directory, block;
} tb_logmixed;
/* Adds it in the caller's transaction. Such blocks wait, and are found where they wait; some of what waits
 * is put into its zones' blocks with each one that comes. Not where tb_store_mixes_logs says no. */
TB_MUST_USE tb_code tb_store_mix_logs(tb_store *store, const tb_logmixed *mixed, tb_error *err);
bool tb_store_mixes_logs(const tb_store *store);
/* Drops the blocks whose last line is older than TB_LOG_KEPT_MS at now_ms, in the caller's
 * transaction. */
TB_MUST_USE tb_code tb_store_drop_logs(tb_store *store, int64_t now_ms, uint64_t *ret_dropped,
                                       tb_error *err);
/* The same with another moment than that: lines before it are too old. */
TB_MUST_USE tb_code tb_store_drop_logs_before(tb_store *store, int64_t before_ms,
                                              uint64_t *ret_dropped, tb_error *err);
/* *room blocks of them at most, and lessens it by them: 0 left, and there may be more. So many with one transaction
 * hold up no other write. */
TB_MUST_USE tb_code tb_store_drop_some_logs(tb_store *store, int64_t before_ms, size_t *room,
                                            uint64_t *ret_dropped, tb_error *err);
/* How many such blocks there are, and the bytes of what they hold. */
TB_MUST_USE tb_code tb_store_logs_before(tb_store *store, int64_t before_ms, uint64_t *ret_blocks,
                                         uint64_t *ret_bytes, tb_error *err);

/* Lines of a zone that pass a filter, in order of time; of one time in the order of their storing
 * (backwards where descending). The caller holds a snapshot (tb_store_read_begin) as long as the
 * cursor lives; the filter is borrowed. */
typedef struct tb_log_cursor tb_log_cursor;
TB_MUST_USE tb_code tb_store_logs(tb_store *store, int64_t zone, const tb_log_filter *filter,
                                  bool descending, tb_log_cursor **ret_cursor, tb_error *err);
/* Bytes of the blocks that are open, decompressed: what lies over one moment of the answer. */
size_t tb_log_cursor_bytes(const tb_log_cursor *cursor);
void tb_log_cursor_free(tb_log_cursor *cursor); /* NULL is fine */
typedef enum tb_log_step {
    TB_LOG_END,
    TB_LOG_LINE,  /* it stands on a line */
    TB_LOG_PAUSE, /* a block was read without an answer yet: call again, or see to others first */
} tb_log_step;
TB_MUST_USE tb_code tb_log_next(tb_log_cursor *cursor, tb_log_step *ret_step, tb_error *err);
/* The line it stands on. Texts live until the next call of tb_log_next. */
TB_MUST_USE tb_code tb_log_line(tb_log_cursor *cursor, tb_logrow *ret_row, tb_error *err);

/* Shield events in the store: blocks (event.h) by shield zone and key, none of which overlap, so that
 * a page or an export reads what it shows. Dropped as wholes, by the UTC day, when the day is no
 * longer one of the TB_EVENT_DAYS that can be asked for.
 *
 * Events of a shield zone that is not declared are kept, and belong to its account once it is. */

/* In the caller's transaction. refs: sorted by tb_event_ref_compare. Those that are there already
 * change nothing; *ret_added counts the others. */
TB_MUST_USE tb_code tb_store_add_events(tb_store *store, const tb_event_ref *refs, size_t n,
                                        uint64_t *ret_added, tb_error *err);
/* What tb_store_add_events would have to do with the same refs now: into how many runs they fall, each of which goes
 * into a block or becomes one, and how many bytes the blocks that are there have. 0 where usage lies on servers. */
TB_MUST_USE tb_code tb_store_find_events(tb_store *store, const tb_event_ref *refs, size_t n, size_t *ret_runs,
                                         size_t *ret_bytes, tb_error *err);
/* Drops the days that are over, in the caller's transaction. */
TB_MUST_USE tb_code tb_store_drop_events(tb_store *store, int64_t now_ms, uint64_t *ret_dropped,
                                         tb_error *err);

/* TB_E_SHIELD_NOT_FOUND where it is not a shield zone of the account. */
TB_MUST_USE tb_code tb_store_shield_check(tb_store *store, int64_t account, int64_t zone,
                                          tb_error *err);

/* Calls for each shield zone that the account has now, ascending by id, from the skip-th on, `limit` at most.
 * pull_zone 0: none was declared. name: "" where it has none; it lives until the call returns. */
typedef void (*tb_shield_zone_fn)(void *ctx, int64_t id, int64_t pull_zone, tb_text name);
typedef struct tb_shield_page {
    int64_t account, skip, limit;
} tb_shield_page;
TB_MUST_USE tb_code tb_store_shield_zones(tb_store *store, const tb_shield_page *page, tb_shield_zone_fn each,
                                          void *ctx, tb_error *err);
TB_MUST_USE tb_code tb_store_count_shield_zones(tb_store *store, int64_t account, int64_t *ret_n,
                                                tb_error *err);

/* A block on the way; its first and last records may lie beyond what was asked for. true: go on. */
typedef bool (*tb_event_block_fn)(void *ctx, const void *block, size_t len);
/* Blocks of a zone with keys from `from` on, ascending. */
TB_MUST_USE tb_code tb_store_events_up(tb_store *store, int64_t zone, const tb_event_key *from,
                                       tb_event_block_fn fn, void *ctx, tb_error *err);
/* Blocks of a zone with keys up to `to`, descending. */
TB_MUST_USE tb_code tb_store_events_down(tb_store *store, int64_t zone, const tb_event_key *to,
                                         tb_event_block_fn fn, void *ctx, tb_error *err);

/* The database's own secret for tokens; where it has none yet, `random` becomes it, in a transaction
 * of its own. The writer. */
TB_MUST_USE tb_code tb_store_event_secret(tb_store *store, const uint8_t random[TB_EVENT_SECRET],
                                          uint8_t ret_secret[TB_EVENT_SECRET], tb_error *err);

TB_API_END

#endif
