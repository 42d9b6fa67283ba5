/* The raw lines that a worker keeps: gathered by pull zone, packed into blocks as a zone has enough
 * of them, handed to the store with the segment's counters. One thread each; the keeper is shared
 * and only read. */
#ifndef TOLLBOOK_SERVER_FEED_LOGS_H
#define TOLLBOOK_SERVER_FEED_LOGS_H

#include "feed/feed.h"
#include "tollbook/logstore.h"

/* The zones that keep their lines, and since when. */
typedef struct feed_keeper {
    const tb_logged_zones *zones; /* NULL: none */
    int32_t oldest_hour;          /* lines of earlier hours are expired */
    size_t room;                  /* bytes that one worker may gather */
    size_t packed;                /* bytes of its packed blocks at which they are written */
    bool mixed;                   /* few lines of many zones may be packed together */
    bool whole;                   /* lines keep all columns, whatever their zone logs */
} feed_keeper;

/* Neither mixed nor whole. */
void feed_keeper_init(feed_keeper *keeper, const tb_logged_zones *zones,
                      const feed_options *options, size_t workers);

typedef struct feed_logs feed_logs;
feed_logs *feed_logs_new(const feed_keeper *keeper); /* borrowed; NULL: out of memory */
void feed_logs_free(feed_logs *logs);                /* NULL is fine */
void feed_logs_clear(feed_logs *logs);
bool feed_logs_full(const feed_logs *logs); /* its packed blocks are to be written */

/* Keeps those of the lines that intake has just read (with their spans) that are to be kept. */
TB_MUST_USE tb_code feed_logs_take(feed_logs *logs, const tb_log_layout *layout,
                                   const tb_intake *got, tb_error *err);
/* Packs the gathered lines. */
TB_MUST_USE tb_code feed_logs_pack(feed_logs *logs, tb_error *err);
/* Packs it for the last time: no more lines are taken, and only its blocks stay in memory. */
TB_MUST_USE tb_code feed_logs_seal(feed_logs *logs, tb_error *err);
size_t feed_logs_blocks(const feed_logs *logs, size_t *ret_bytes); /* that are packed */
size_t feed_logs_bytes(const feed_logs *logs); /* of memory, once it is sealed */
/* Writes the packed blocks in the open transaction, and forgets them. */
TB_MUST_USE tb_code feed_logs_store(feed_logs *logs, tb_store *store, tb_error *err);
/* Drops the same lines from the store instead; *removed grows by how many were there. */
TB_MUST_USE tb_code feed_logs_withdraw(feed_logs *logs, tb_store *store, uint64_t *removed,
                                       tb_error *err);

#endif
