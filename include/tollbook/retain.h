/* Retention: deletes old usage, first the hours of old months, then their days. Decided account by account, and
 * only for months that are settled: each month up to there is final or had nothing due, and has no unbilled late
 * usage. These months are then closed: usage that still arrives for them is counted and shown, but not billed.
 *
 * Sums of the deleted days are kept, so that all usage ever taken in can still be compared with the stored data. */
#ifndef TOLLBOOK_RETAIN_H
#define TOLLBOOK_RETAIN_H

#include "tollbook/store.h"

TB_API_BEGIN

/* Months since 1970: earlier months may be without their hours, without their days. 0: everything is kept.
 * days <= hours. */
typedef struct tb_kept {
    int64_t hours, days;
} tb_kept;

/* What is kept of an account; TB_ALL: of every account. */
TB_MUST_USE tb_code tb_store_kept(tb_store *store, int64_t account, tb_kept *ret_kept,
                                  tb_error *err);

/* How far an account's months may expire: `before`; less where a month is open; more where later months have
 * expired already. *ret_open: the open month; -1: none. */
TB_MUST_USE tb_code tb_store_may_go(tb_store *store, int64_t account, tb_kept before,
                                    tb_kept *ret_kept, int64_t *ret_open, tb_error *err);

/* Whether the account's month is settled: its last run made a valid invoice, or nothing was due, and it has no unbilled late
 * usage. */
TB_MUST_USE tb_code tb_store_month_settled(tb_store *store, int64_t account, int64_t month, bool *ret_settled, tb_error *err);

/* Rows of one month, and their bytes. Days are rows of counters and of countries. */
typedef struct tb_retain_month {
    int64_t month;
    uint64_t hour_rows, hour_bytes, day_rows, day_bytes;
} tb_retain_month;

/* A walk over the expiring data of one account. */
typedef struct tb_retain_walk {
    int64_t account;
    tb_kept kept;  /* how far */
    bool dry;      /* change nothing */
    size_t room;   /* rows and series that it may still visit; ends at 0 */
    int64_t at[3]; /* position; begin with zeros. All zeros at the end */
    tb_retain_month *months; /* deleted rows by month, ascending; added to. free() */
    size_t n, cap;
    bool further; /* set: more of the account's months have expired than before */
    bool later;   /* set: some of it is deleted from usage servers when they are compacted (usageservers.h) */
} tb_retain_walk;

/* Deletes a part, in the caller's transaction (dry: in a snapshot). *ret_over: the account is done. TB_E_CORRUPT: a
 * row to be deleted disagrees with the one that stays; nothing is deleted that may be needed to repair it. */
TB_MUST_USE tb_code tb_store_retain(tb_store *store, tb_retain_walk *walk, bool *ret_over,
                                    tb_error *err);

/* Parses how long request logs are kept: "72h", "30m". false: no such time, or not from a minute to
 * TB_LOG_KEPT_MS. */
bool tb_retain_time(const char *text, int64_t *ret_ms);

/* The first account from this id on, 0: none. */
TB_MUST_USE tb_code tb_store_account_from(tb_store *store, int64_t id, int64_t *ret_account,
                                          tb_error *err);

/* The number of accounts, and of those with a lower id: for showing progress. */
TB_MUST_USE tb_code tb_store_accounts_before(tb_store *store, int64_t id, uint64_t *ret_before,
                                             uint64_t *ret_all, tb_error *err);

/* Erasing a customer who has left: deletes the data that names the customer, and keeps usage and bills. */

/* Replaces a name. */
#define TB_FORGOTTEN_NAME "forgotten"

/* Numbers of rows. */
typedef struct tb_forgotten {
    uint64_t declared; /* of the catalogue and of its history */
    uint64_t containers, log_blocks, event_blocks;
    uint64_t refused; /* refused lines that lose their reason or text; texts of all accounts are deleted with them */
} tb_forgotten;

/* TB_E_NOT_FOUND; TB_E_NOT_DELETED: a catalogue still declares it. */
TB_MUST_USE tb_code tb_store_may_forget(tb_store *store, int64_t account, tb_error *err);

/* Counts the data to be erased. */
TB_MUST_USE tb_code tb_store_to_forget(tb_store *store, int64_t account, tb_forgotten *ret,
                                       tb_error *err);

/* Erases it in the caller's transaction; a second call changes nothing. In every version of the catalogue's
 * documents names, hostnames, and settings that are texts, lists or objects are deleted; numbers, flags and prices
 * stay, for bills are made from them. Registries, applications, their deployments and the output of these are
 * deleted. The data is overwritten in the file at once, and in the WAL when that is emptied (tb_store_scrub). */
TB_MUST_USE tb_code tb_store_forget_declared(tb_store *store, int64_t account, tb_error *err);
/* Deletes blocks of request logs and shield events of its zones, at most *room of them, and subtracts their number
 * from *room: 0 left: call it again in another transaction. A limit keeps other writes from being delayed. */
#define TB_FORGET_AT_ONCE 128
TB_MUST_USE tb_code tb_store_forget_logs(tb_store *store, int64_t account, size_t *room,
                                         tb_error *err);
TB_MUST_USE tb_code tb_store_forget_events(tb_store *store, int64_t account, size_t *room,
                                           tb_error *err);

TB_API_END

#endif
