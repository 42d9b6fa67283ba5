/* Letting go of usage that nobody needs any more: hours of old months, then their days. What goes is
 * decided account by account, and only where nothing is open: each month up to there is final or had
 * nothing due, and nothing of it waits to be billed. From then on these months are closed: what still
 * comes for them is counted and shown, and not billed.
 *
 * What the days that go held is kept as sums, so that all that was ever taken in can still be compared
 * with what is there. */
#ifndef TOLLBOOK_RETAIN_H
#define TOLLBOOK_RETAIN_H

#include "tollbook/store.h"

TB_API_BEGIN

/* Months since 1970: those before may be without their hours, without their days. 0: all is there.
 * days <= hours. */
typedef struct tb_kept {
    int64_t hours, days;
} tb_kept;

/* What is kept of an account. */
TB_MUST_USE tb_code tb_store_kept(tb_store *store, int64_t account, tb_kept *ret_kept,
                                  tb_error *err);

/* How far an account's months may go: `before`, or less where one is open, or what went already where
 * that is more. *ret_open: the open month, -1: none is in the way. */
TB_MUST_USE tb_code tb_store_may_go(tb_store *store, int64_t account, tb_kept before,
                                    tb_kept *ret_kept, int64_t *ret_open, tb_error *err);

/* Rows of one month, and their bytes. Days are those of counters and of countries. */
typedef struct tb_retain_month {
    int64_t month;
    uint64_t hour_rows, hour_bytes, day_rows, day_bytes;
} tb_retain_month;

/* A walk over what goes of one account. */
typedef struct tb_retain_walk {
    int64_t account;
    tb_kept kept;  /* how far */
    bool dry;      /* nothing is changed */
    size_t room;   /* rows and series that it may still look at; it ends at 0 */
    int64_t at[3]; /* where it goes on; begin with zeros. All zeros at its end */
    tb_retain_month *months; /* what went, ascending; added to. free() */
    size_t n, cap;
    bool further; /* set: the account's months go further than they did before */
    bool later;   /* set: some of it goes from usage servers, once they are compacted (tollbook/usageservers.h) */
} tb_retain_walk;

/* Lets go of some, in the caller's transaction (dry: in a snapshot). *ret_over: it was the last of the
 * account. Where a row that goes does not agree with the one that stays, TB_E_CORRUPT: nothing goes
 * that may be needed to repair the other. */
TB_MUST_USE tb_code tb_store_retain(tb_store *store, tb_retain_walk *walk, bool *ret_over,
                                    tb_error *err);

/* How long request logs are kept, as the operation reads it: "72h", "30m". false: it is no such time, or
 * not from a minute to TB_LOG_KEPT_MS. */
bool tb_retain_time(const char *text, int64_t *ret_ms);

/* The first account from this id on, 0: there is none. */
TB_MUST_USE tb_code tb_store_account_from(tb_store *store, int64_t id, int64_t *ret_account,
                                          tb_error *err);

/* How many accounts there are, and how many of them have a lower id: for a share that is done. */
TB_MUST_USE tb_code tb_store_accounts_before(tb_store *store, int64_t id, uint64_t *ret_before,
                                             uint64_t *ret_all, tb_error *err);

/* Forgetting a customer who has left: what names the customer goes, what was used and billed stays. */

/* What stands in the place of a name. */
#define TB_FORGOTTEN_NAME "forgotten"

/* How many rows are concerned. */
typedef struct tb_forgotten {
    uint64_t declared; /* of the catalogue and of its history */
    uint64_t containers, log_blocks, event_blocks;
    uint64_t refused; /* refused lines whose reason or text goes; texts of all accounts go with them */
} tb_forgotten;

/* TB_E_NOT_FOUND; TB_E_NOT_DELETED: a catalogue still declares it. */
TB_MUST_USE tb_code tb_store_may_forget(tb_store *store, int64_t account, tb_error *err);

/* What there is to forget. */
TB_MUST_USE tb_code tb_store_to_forget(tb_store *store, int64_t account, tb_forgotten *ret,
                                       tb_error *err);

/* Forgets it, in the caller's transaction; again it changes nothing. Of the catalogue's documents, in all
 * versions, names, hostnames and settings that are texts, lists or objects go; numbers, flags and prices,
 * which bills are made by, stay. Registries, applications and their deployments go, with what those printed. Overwritten in the
 * file at once, and in its WAL when that is emptied (tb_store_scrub). */
TB_MUST_USE tb_code tb_store_forget_declared(tb_store *store, int64_t account, tb_error *err);
/* Blocks of request logs and of shield events of its zones go, *room of them at most: it is lessened by
 * those that went, and 0 where more is left to do, in another transaction. So many with one hold up no other write. */
#define TB_FORGET_AT_ONCE 128
TB_MUST_USE tb_code tb_store_forget_logs(tb_store *store, int64_t account, size_t *room,
                                         tb_error *err);
TB_MUST_USE tb_code tb_store_forget_events(tb_store *store, int64_t account, size_t *room,
                                           tb_error *err);

TB_API_END

#endif
