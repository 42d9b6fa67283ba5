/* Request logs and shield events in ClickHouse: declarations that their files share.
 *
 * A row of `log` is a block of request log lines as the file has them (requestlog.h), in the partition of the UTC day
 * of its last line. No two blocks share a batch id, so two rows with one id are the same block, sent twice. `at` is its
 * position in the order of storing. To remove lines from a block, a row of log_gone says that the block no longer counts,
 * and another block is stored at its position. A row of `event` is one shield event with its key, in the partition of its
 * day. Ids say which rows count, as for counters (open.c).
 *
 * Expired rows and forgotten zones are recorded in the file's meta:
 *   log_before (milliseconds), event_before (a day)  the first time that counts, for batches up to
 *   log_before_batch, event_before_batch             these
 *   log_forgotten_ZONE, event_forgotten_ZONE         the last batch of the zone that does not count
 *   log_seals, event_seals                           the sums of the seals of all rows that count, modulo 2^63
 * From that transaction on no reader sees the rows; aged.c deletes them from the servers afterwards. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_LINES_H
#define TOLLBOOK_STORE_CLICKHOUSE_LINES_H

#include "store/clickhouse/private.h"
#include "store/logs/blocks.h"
#include "tollbook/event.h"
#include "tollbook/logstore.h"

extern const tb__log_lines tb__clickhouse_logs;
extern const tb__shield_events tb__clickhouse_events;

/* --- kinds.c: for both logs and events --- */

#define TB__CH_TAKEN "log_taken" /* a row of meta: there are rows of log_gone */

typedef enum tb__ch_kind { TB__CH_LOGS, TB__CH_EVENTS } tb__ch_kind;

TB_MUST_USE tb_code tb__ch_lines_tables(tb_store *store, size_t shard, tb_error *err);
const char *tb__ch_table_of(tb__ch_kind kind);
/* log_before or event_before; 0: nothing has expired. */
TB_MUST_USE tb_code tb__ch_before(tb_store *store, tb__ch_kind kind, int64_t *ret_before, tb_error *err);
TB_MUST_USE tb_code tb__ch_note_before(tb_store *store, tb__ch_kind kind, int64_t before, tb_error *err);
/* batch 0: no batch of the zone is forgotten. The row of meta stays. */
TB_MUST_USE tb_code tb__ch_note_forgotten(tb_store *store, tb__ch_kind kind, int64_t zone, int64_t batch,
                                          tb_error *err);
typedef void (*tb__ch_forgotten_fn)(void *ctx, int64_t zone, int64_t batch);
TB_MUST_USE tb_code tb__ch_each_forgotten(tb_store *store, tb__ch_kind kind, tb__ch_forgotten_fn fn, void *ctx,
                                          tb_error *err);
/* " AND ...": rows of a zone that count. zone 0: of all zones that were not forgotten. */
TB_MUST_USE tb_code tb__ch_put_counting(tb_store *store, tb_buf *sql, tb__ch_kind kind, int64_t zone, tb_error *err);
/* Adds to meta.log_seals or meta.event_seals. */
TB_MUST_USE tb_code tb__ch_add_seals(tb_store *store, tb__ch_kind kind, uint64_t more, tb_error *err);

/* Totals of rows. Units are blocks, or for events days of a zone. */
typedef struct tb__ch_amount {
    uint64_t units, bytes, seals;
} tb__ch_amount;
/* Totals over all shards of the rows before `before` (INT64_MAX: all) that satisfy `also` (" AND ...", or ""). */
TB_MUST_USE tb_code tb__ch_amount_of(tb_store *store, tb__ch_kind kind, const char *also, int64_t before,
                                     tb__ch_amount *ret, tb_error *err);

/* Also counts rows that no reader sees: withdrawn, expired, never committed. Forgotten ones are left out. */
TB_MUST_USE tb_code tb__ch_held_of(tb_store *store, tb__ch_kind kind, const char *also, tb__ch_amount *ret, tb_error *err);
/* The number of rows of a shard that no reader sees any more. */
TB_MUST_USE tb_code tb__ch_unseen_rows(tb_store *store, tb__ch_kind kind, size_t shard, uint64_t *ret_rows, tb_error *err);

/* Within a transaction: sets the sums of seals from the rows that exist. For an older copy of the file, which does not know
 * what has expired since. ctx is not used. */
TB_MUST_USE tb_code tb__ch_adopt_seals(tb_store *store, void *ctx, tb_error *err);

/* --- aged.c --- */

/* Rows older than this: milliseconds for logs, a day for events. */
typedef struct tb__ch_age {
    tb__ch_kind kind;
    int64_t before;
} tb__ch_age;
/* An entry of both tables of functions. If *room is bounded, a call drops one hour of logs or one day of events, and sets *room to 0
 * if there may be more. */
TB_MUST_USE tb_code tb__ch_drop_before(tb_store *store, tb__ch_age age, size_t *room, uint64_t *ret_dropped,
                                       tb_error *err);
TB_MUST_USE tb_code tb__ch_lines_count(tb_store *store, tb__ch_kind kind, int64_t account, uint64_t *ret_units,
                                       tb_error *err);
TB_MUST_USE tb_code tb__ch_lines_forget(tb_store *store, tb__ch_kind kind, int64_t account, size_t *room,
                                        tb_error *err);
/* Deletes rows that no reader sees any more from the servers, between the writer's other work. */
TB_MUST_USE tb_code tb__ch_sweep(tb_store *store, int64_t now_us, tb_error *err);

/* --- rows.c --- */

void tb__ch_put_u16(tb_buf *rows, uint16_t value);
void tb__ch_put_u32(tb_buf *rows, uint32_t value);
void tb__ch_put_u64(tb_buf *rows, uint64_t value);
void tb__ch_put_text(tb_buf *rows, tb_text text);
/* A text column; it points into the answer. */
tb_text tb__ch_text(tb__ch_reader *r);
/* A literal of any bytes. */
void tb__ch_quote(tb_buf *sql, tb_text text);
/* Sends the pending rows if there are many. */
TB_MUST_USE tb_code tb__ch_relieve(tb_store *store, const tb_buf *rows, tb_error *err);
/* The UTC day of a partition. TB_E_INTERNAL: ClickHouse cannot hold it. */
TB_MUST_USE tb_code tb__ch_day(int64_t ms, uint16_t *ret_day, tb_error *err);
/* The nearest day that ClickHouse can hold. */
unsigned tb__ch_day_near(int64_t day);

/* --- blocks.c --- */

/* A block that was listed. */
typedef struct tb__ch_block {
    tb__log_listed listed; /* its id is `at` */
    int64_t batch, seal;
    uint32_t lines;
    uint16_t day;
    size_t len;
} tb__ch_block;

/* Blocks of a zone in reading order, and the bytes of some consecutive ones. */
typedef struct tb__ch_blocks {
    tb_store *store;
    int64_t zone;
    tb__ch_block *list;
    size_t n, cap;
    size_t from, to; /* the blocks whose bytes were fetched */
    size_t room;     /* bytes to fetch at once */
    tb_text *text;   /* of from, ... */
    tb_buf bytes;
} tb__ch_blocks;

/* Lists the blocks with a line from first_ms to last_ms. Release it also after an error. */
TB_MUST_USE tb_code tb__ch_blocks_list(tb__ch_blocks *b, tb_store *store, int64_t zone, int64_t first_ms, int64_t last_ms,
                                       bool descending, tb_error *err);
/* The bytes of block i are valid until the next call. TB_E_AWAY: it was deleted meanwhile. */
TB_MUST_USE tb_code tb__ch_blocks_get(tb__ch_blocks *b, size_t i, tb_text *ret, tb_error *err);
void tb__ch_blocks_release(tb__ch_blocks *b);

/* --- lines.c, lines_read.c, lines_check.c --- */

/* Adds a block's row to the pending ones. */
TB_MUST_USE tb_code tb__ch_put_block(tb_store *store, const tb__log_piece *piece, const tb__ch_block *as, tb_error *err);
TB_MUST_USE tb_code tb__ch_log_search(tb_store *store, int64_t zone, const tb_log_filter *filter, bool descending,
                                      tb_log_cursor **ret_cursor, tb_error *err);
TB_MUST_USE tb_code tb__ch_verify_logs(tb_store *store, tb__differ_fn differ, void *ctx, tb_error *err);
TB_MUST_USE tb_code tb__ch_verify_events(tb_store *store, tb__differ_fn differ, void *ctx, tb_error *err);

/* --- events.c, events_read.c --- */

int64_t tb__ch_seal_event(int64_t zone, const void *record, size_t len);
/* Adds an event's row to the pending ones, and its seal to *seals. */
TB_MUST_USE tb_code tb__ch_put_event(tb_store *store, int64_t zone, int64_t batch, const tb_event_record *record,
                                     uint64_t *seals, tb_error *err);
TB_MUST_USE tb_code tb__ch_events_up(tb_store *store, int64_t zone, const tb_event_key *from, tb_event_block_fn fn,
                                     void *ctx, tb_error *err);
TB_MUST_USE tb_code tb__ch_events_down(tb_store *store, int64_t zone, const tb_event_key *to, tb_event_block_fn fn,
                                       void *ctx, tb_error *err);

/* --- carry.c --- */

/* Moves the file's logs and events to the servers, in one transaction. Does nothing if the file has none. */
TB_MUST_USE tb_code tb__ch_carry(tb_store *store, tb_error *err);

#endif
