/* Forgetting a customer who has left: what names the customer goes, what was used and billed stays. */
#ifndef TOLLBOOK_FORGET_H
#define TOLLBOOK_FORGET_H

#include "tollbook/store.h"

TB_API_BEGIN

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
