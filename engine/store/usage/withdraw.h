/* Undo of usage: what adding.c and the backends of the usage plane share. See withdraw.c. */
#ifndef TOLLBOOK_STORE_USAGE_WITHDRAW_H
#define TOLLBOOK_STORE_USAGE_WITHDRAW_H

#include "store/usage/country.h"
#include "store/usage/owners.h"

/* The functions of a backend for tb_store_withdraw_usage, which walks the cursor as tb_store_add_usage does (adding.c). */
typedef struct tb__undo {
    tb_code (*begin)(tb_store *store, void **ret_batch, tb_error *err);
    /* Subtracts a day from an owner's series at a location. *ret_missing: the counter of which there is less, "none": of all;
     * NULL: there is enough, as far as is known yet. */
    tb_code (*subtract)(void *batch, const tb__owner *owner, const tb__member *at, int64_t day, const tb_grid *hours,
                        const char **ret_missing, tb_error *err);
    /* TB_E_WITHDRAWAL: there is less than that of a day subtracted so far. Called before the countries, and where the walk
     * fails with TB_E_WITHDRAWAL. NULL: `subtract` knows. */
    tb_code (*check)(void *batch, tb_error *err);
    tb_code (*subtract_countries)(void *batch, int64_t zone, int64_t day, const tb__country *list, size_t n,
                                  tb_error *err);
    tb_code (*end)(void *batch, tb_error *err);
    void (*free)(void *batch); /* one that failed, too; NULL is fine */
    /* The newest hour with usage, which is not after `before`; -INT64_MAX: there is none. */
    tb_code (*newest)(tb_store *store, int64_t before, int64_t *ret_newest, tb_error *err);
} tb__undo;

int tb__scope_of(const tb_rollup_day *day);
/* Before a day of the cursor is subtracted: TB_E_WITHDRAWAL where the hours of its month were expired. *maxima: adds the
 * counters that stay, as the largest value alone is stored. */
TB_MUST_USE tb_code tb__undo_day(tb_store *store, const tb_rollup_day *day, const tb_grid *hours, uint32_t *maxima,
                                 tb_error *err);
/* Whether anything of these hours is subtracted. Of two inputs that counted nothing in the same hour the first one that
 * is withdrawn deletes the hour; the other needs none. */
bool tb__subtracts_any(const tb_grid *hours);
/* TB_E_WITHDRAWAL, with its sentence: "Pull zone 101, DE, 2026-05-03: ...". what: the counter, or "none". */
tb_code tb__too_little(const tb_rollup_day *day, const char *what, tb_error *err);
tb_code tb__too_few_of_country(int64_t zone, int64_t day, tb_error *err);

#endif
