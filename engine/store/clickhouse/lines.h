/* Request logs in ClickHouse: what their files share. A line is a row of its own, with a column for each text, so that
 * an operator can ask for it in SQL: the table log, a partition for each UTC day. Lines have a batch's id and a number like the rows of counters, and are visible by it (open.c). */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_LINES_H
#define TOLLBOOK_STORE_CLICKHOUSE_LINES_H

#include "store/clickhouse/private.h"
#include "tollbook/event.h"
#include "tollbook/logstore.h"

extern const tb__log_lines tb__clickhouse_logs;

/* Makes the tables that are missing. */
TB_MUST_USE tb_code tb__ch_log_tables(tb_store *store, size_t shard, tb_error *err);

/* --- rows --- */

void tb__ch_put_u16(tb_buf *rows, uint16_t value);
void tb__ch_put_u32(tb_buf *rows, uint32_t value);
void tb__ch_put_u64(tb_buf *rows, uint64_t value);
void tb__ch_put_text(tb_buf *rows, tb_text text);
/* A text column; it points into the answer. */
tb_text tb__ch_text(tb__ch_reader *r);
/* A literal of any bytes. */
void tb__ch_quote(tb_buf *sql, tb_text text);
/* Sends what waits where it is much. */
TB_MUST_USE tb_code tb__ch_relieve(tb_store *store, const tb_buf *rows, tb_error *err);
/* A UTC day as a partition has it. TB_E_INTERNAL: it is none of ClickHouse's. */
TB_MUST_USE tb_code tb__ch_day(int64_t ms, uint16_t *ret_day, tb_error *err);

/* --- aged.c --- */

typedef enum tb__ch_kind { TB__CH_LOGS } tb__ch_kind;

/* " AND batch>N" where the zone was forgotten, and what the snapshot sees. */
TB_MUST_USE tb_code tb__ch_put_seen(tb_store *store, tb_buf *sql, tb__ch_kind kind, int64_t zone,
                                    tb_error *err);
/* Partitions of days before `day`: what they hold. */
TB_MUST_USE tb_code tb__ch_older(tb_store *store, tb__ch_kind kind, int64_t day, uint64_t *ret_blocks,
                                 uint64_t *ret_bytes, tb_error *err);
/* Drops them. A shard that is away is asked again later: nobody sees such days. */
TB_MUST_USE tb_code tb__ch_drop(tb_store *store, tb__ch_kind kind, int64_t now_ms, int64_t day,
                                uint64_t *ret_dropped, tb_error *err);
TB_MUST_USE tb_code tb__ch_count(tb_store *store, tb__ch_kind kind, int64_t account, uint64_t *ret_blocks,
                                 tb_error *err);
TB_MUST_USE tb_code tb__ch_forget(tb_store *store, tb__ch_kind kind, int64_t account, size_t *room,
                                  tb_error *err);

/* --- lines_read.c --- */

TB_MUST_USE tb_code tb__ch_log_search(tb_store *store, int64_t zone, const tb_log_filter *filter, bool descending,
                                      tb_log_cursor **ret_cursor, tb_error *err);
/* Under which id and number the line lies that the cursor stands on. */
void tb__ch_log_place(const tb_log_cursor *cursor, uint64_t *ret_batch, uint32_t *ret_row);
TB_MUST_USE tb_code tb__ch_log_next(tb_log_cursor *cursor, tb_log_step *ret_step, tb_error *err);
TB_MUST_USE tb_code tb__ch_log_line(tb_log_cursor *cursor, tb_logrow *ret_row, tb_error *err);
size_t tb__ch_log_bytes(const tb_log_cursor *cursor);
void tb__ch_log_free(tb_log_cursor *cursor);
/* The columns of a line's texts, in the table's order. */
#define TB__CH_LOG_TEXTS 12
extern const struct tb__ch_log_text {
    const char *name;
    size_t at; /* in tb_logline */
} tb__ch_log_texts[TB__CH_LOG_TEXTS];

/* --- lines_filter.c --- */

/* " AND ..." that all lines which pass the filter pass too, and few others do. */
void tb__ch_put_filter(tb_buf *sql, const tb_log_filter *filter);

#endif
