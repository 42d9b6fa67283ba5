/* The ledger: entries that only grow in number; a balance is their sum, made in exact decimals.
 * The entries are chained (chain.h), so that a changed amount shows. One account's entries are of
 * one currency. */
#include "store/core/chain.h"
#include "store/money/billing.h"
#include "tollbook/ledgerstore.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* --- reading --- */

static tb_code damaged(int64_t id, const char *what, tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "ledger", "Ledger entry %" PRId64 ": its %s cannot be read.",
                   id, what);
}

/* Columns id, account, at_us, kind, currency, amount, reference, note, document, expires. */
tb_code tb__ledger_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_ledger_entry *ret = item;
    tb_ledger_entry e = {.id = sqlite3_column_int64(s, 0),
                         .account = sqlite3_column_int64(s, 1),
                         .at_us = sqlite3_column_int64(s, 2),
                         .kind = TB_LEDGER_KIND_COUNT};
    const char *kind = (const char *)sqlite3_column_text(s, 3);
    if (!kind) return tb_no_memory(err);
    e.kind = tb_ledger_kind_of(kind);
    if (e.kind == TB_LEDGER_KIND_COUNT) return damaged(e.id, "kind", err);
    const char *amount = (const char *)sqlite3_column_text(s, 5);
    if (!amount) return tb_no_memory(err);
    if (tb_decimal_parse(amount, (size_t)sqlite3_column_bytes(s, 5), TB_DECIMAL_SCALE_MAX,
                         &e.amount, NULL))
        return damaged(e.id, "amount", err);
    tb_code code = tb__copy_text(s, 4, e.currency, sizeof e.currency, err);
    if (!code) code = tb__copy_text(s, 6, e.reference, sizeof e.reference, err);
    if (!code) code = tb__copy_text(s, 7, e.note, sizeof e.note, err);
    if (!code) code = tb__copy_text(s, 8, e.document, sizeof e.document, err);
    if (!code) code = tb__copy_text(s, 9, e.expires, sizeof e.expires, err);
    if (!code) *ret = e;
    return code;
}

static const tb__rows entry_rows = {sizeof(tb_ledger_entry), tb__ledger_from, NULL};

tb_code tb_store_ledger(tb_store *store, int64_t account, tb_ledger_entry **ret_entries,
                        size_t *ret_n, tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_LEDGER, &account, 1, &entry_rows, ret_entries, ret_n,
                            err);
}

tb_code tb_store_has_credit(tb_store *store, int64_t account, bool *ret_has, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_LEDGER_HAS_CREDIT, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (row) sqlite3_reset(s);
    *ret_has = row;
    return TB_OK;
}

tb_code tb_store_ledger_each(tb_store *store, int64_t from_us, int64_t to_us,
                             tb_ledger_visit visit, void *ctx, tb_error *err)
{
    const int64_t values[2] = {from_us, to_us};
    tb_ledger_entry entry;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_LEDGER_BETWEEN, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__ledger_from(s, &entry, err);
        if (!code) code = visit(ctx, &entry, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

tb_code tb_store_covered_since(tb_store *store, int64_t *ret_id, tb_error *err)
{
    return tb__meta_get(store, "covered_since", ret_id, err);
}

static tb_code id_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    (void)err;
    *(int64_t *)item = sqlite3_column_int64(s, 0);
    return TB_OK;
}

static const tb__rows id_rows = {sizeof(int64_t), id_from, NULL};

tb_code tb_store_ledger_accounts(tb_store *store, int64_t **ret_accounts, size_t *ret_n,
                                 tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_LEDGER_ACCOUNTS, NULL, 0, &id_rows, ret_accounts, ret_n,
                            err);
}

tb_code tb_store_credit_accounts(tb_store *store, const char *day, int64_t **ret_accounts,
                                 size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_LEDGER_CREDITORS, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, day, -1, SQLITE_STATIC);
    return tb__collect(store, s, &id_rows, ret_accounts, ret_n, err);
}

tb_code tb_store_payers(tb_store *store, const char *name, int64_t **ret_accounts, size_t *ret_n,
                        tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_PAYERS, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    return tb__collect(store, s, &id_rows, ret_accounts, ret_n, err);
}

tb_code tb_store_ledger_find(tb_store *store, tb_ledger_kind kind, const char *reference,
                             tb_ledger_entry *ret_entry, bool *ret_found, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_LEDGER_FIND, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, tb_ledger_kind_name(kind), -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, reference, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (!code && row) {
        code = tb__ledger_from(s, ret_entry, err);
        sqlite3_reset(s);
    }
    if (!code) *ret_found = row;
    return code;
}

/* What a balance has paid beside credits. */
static tb_code read_covered(sqlite3_stmt *s, tb_settle_paper *p, tb_error *err)
{
    const char *paid = (const char *)sqlite3_column_text(s, 4), *drawn = (const char *)sqlite3_column_text(s, 5);
    tb_decimal all, credits;
    if (!paid || !drawn) return tb_no_memory(err);
    if (tb_decimal_parse(paid, strlen(paid), TB_DECIMAL_SCALE_MAX, &all, NULL) ||
        tb_decimal_parse(drawn, strlen(drawn), TB_DECIMAL_SCALE_MAX, &credits, NULL))
        return tb_fail(err, TB_E_CORRUPT, "invoice", "Invoice %s: what was paid of it cannot be read.", p->number);
    return tb_decimal_sub(all, credits, &p->covered, err);
}

/* Columns number, kind, corrects, due or else the day of issue; the amount paid, and the part of it from credits. */
static tb_code paper_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_settle_paper p = {.credit_note = false};
    char kind[16];
    tb_code code = tb__copy_text(s, 0, p.number, sizeof p.number, err);
    if (!code) code = tb__copy_text(s, 1, kind, sizeof kind, err);
    if (!code) code = tb__copy_text(s, 2, p.corrects, sizeof p.corrects, err);
    if (!code) code = tb__copy_text(s, 3, p.due, sizeof p.due, err);
    if (!code) code = read_covered(s, &p, err);
    if (code) return code;
    p.credit_note = strcmp(kind, "credit_note") == 0;
    *(tb_settle_paper *)item = p;
    return TB_OK;
}

tb_code tb_store_settle_papers(tb_store *store, int64_t account, tb_settle_paper **ret_papers,
                               size_t *ret_n, tb_error *err)
{
    static const tb__rows rows = {sizeof(tb_settle_paper), paper_from, NULL};
    return tb__collect_ints(store, TB__SQL_SETTLE_PAPERS, &account, 1, &rows, ret_papers, ret_n,
                            err);
}

/* A balance that overflows names its account and the entry that does it. */
static tb_code add_entry(const tb_ledger_entry *entry, tb_decimal *sum, tb_error *err)
{
    if (tb_decimal_add(*sum, entry->amount, sum, NULL) == TB_OK) return TB_OK;
    return tb_fail(err, TB_E_OVERFLOW, "ledger",
                   "The balance of account %" PRId64 " passes 2^127-1 of its smallest units at "
                   "entry %" PRId64 ", %s.",
                   entry->account, entry->id, entry->reference);
}

tb_code tb_store_balance(tb_store *store, int64_t account, tb_decimal *ret_balance, tb_error *err)
{
    tb_funds funds;
    tb_code code = tb_store_funds(store, account, &funds, err);
    if (!code) *ret_balance = funds.balance;
    return code;
}

/* --- the history of a balance --- */

#define SNAPSHOT_US (5 * 60 * TB_US_PER_S) /* past midnight, UTC */

typedef struct history {
    tb_balance *list;
    char (*texts)[TB_DECIMAL_TEXT_MAX + 1];
    size_t n, filled;
    int64_t first_day;
    tb_decimal sum;
} history;

static int64_t snapshot_of(const history *h, size_t i)
{
    return (h->first_day + (int64_t)i) * TB_US_PER_DAY + SNAPSHOT_US;
}

/* Snapshots that come before this moment have all their entries. */
static void fill_until(history *h, int64_t at_us)
{
    for (; h->filled < h->n && snapshot_of(h, h->filled) < at_us; h->filled++) {
        char *text = h->texts[h->filled];
        *tb_decimal_put(text, h->sum) = 0;
        h->list[h->filled] = (tb_balance){snapshot_of(h, h->filled), text};
    }
}

static int by_time(const void *a, const void *b)
{
    const tb_ledger_entry *x = a, *y = b;
    if (x->at_us != y->at_us) return x->at_us < y->at_us ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static tb_code sum_up(history *h, tb_ledger_entry *entries, size_t n, tb_error *err)
{
    tb_code code = TB_OK;
    if (n > 1) qsort(entries, n, sizeof *entries, by_time);
    for (size_t i = 0; !code && i < n; i++) {
        fill_until(h, entries[i].at_us);
        code = add_entry(&entries[i], &h->sum, err);
    }
    fill_until(h, INT64_MAX);
    return code;
}

/* The days of a range up to now. */
static size_t days_of(const tb_range *range, int64_t now_us, int64_t *ret_first)
{
    int64_t end = range->first + range->count, last;
    *ret_first = range->hourly ? tb__floor_div(range->first, 24) : range->first;
    last = range->hourly ? tb__floor_div(end - 1, 24) : end - 1;
    int64_t taken = tb__floor_div(now_us - SNAPSHOT_US, TB_US_PER_DAY);
    if (range->count == 0 || tb__earlier(last, taken) < *ret_first) return 0;
    return (size_t)(tb__earlier(last, taken) - *ret_first + 1);
}

tb_code tb_store_balance_history(tb_store *store, int64_t account, tb_range range, int64_t now_us,
                                 tb_balance **ret_balances, size_t *ret_n, tb_error *err)
{
    history h = {.n = 0, .sum = TB_DECIMAL_ZERO};
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger(store, account, &entries, &n, err);
    if (code) return code;
    if (n) h.n = days_of(&range, now_us, &h.first_day);
    h.list = malloc((h.n + 1) * (sizeof *h.list + sizeof *h.texts));
    h.texts = (void *)(h.list + h.n + 1);
    code = h.list ? sum_up(&h, entries, n, err) : tb_no_memory(err);
    free(entries);
    if (code) {
        free(h.list);
        return code;
    }
    *ret_balances = h.list;
    *ret_n = h.n;
    return TB_OK;
}

/* --- writing --- */

static tb_code refuse_entry(const char *field, const tb_ledger_entry *entry, const char *why,
                            tb_error *err)
{
    return tb_fail(err, TB_E_VALIDATION, field, "Account %" PRId64 ", %s %s: %s.", entry->account,
                   tb_ledger_kind_name(entry->kind), entry->reference, why);
}

/* *ret_known: the same entry is there already. One that differs is refused. */
static tb_code find_known(tb_store *store, tb_ledger_entry *entry, const char *amount,
                          bool *ret_known, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_LEDGER_KNOWN, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, tb_ledger_kind_name(entry->kind), -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, entry->reference, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    *ret_known = row;
    if (code || !row) return code;
    const char *stored = (const char *)sqlite3_column_text(s, 4);
    const char *currency = (const char *)sqlite3_column_text(s, 3);
    if (!stored || !currency) {
        sqlite3_reset(s);
        return tb_no_memory(err);
    }
    const char *document = (const char *)sqlite3_column_text(s, 6);
    const char *expires = (const char *)sqlite3_column_text(s, 7);
    bool same = strcmp(stored, amount) == 0 && strcmp(currency, entry->currency) == 0 &&
                sqlite3_column_int64(s, 1) == entry->account && document && expires &&
                strcmp(document, entry->document) == 0 && strcmp(expires, entry->expires) == 0;
    entry->id = sqlite3_column_int64(s, 0);
    entry->at_us = sqlite3_column_int64(s, 2);
    sqlite3_reset(s);
    return same ? TB_OK
                : refuse_entry("reference", entry,
                               "the reference is known with another account, amount, invoice or last day",
                               err);
}

static tb_code check_entry(tb_store *store, const tb_ledger_entry *entry, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false, exists = false, same = true;
    if ((unsigned)entry->kind >= TB_LEDGER_KIND_COUNT)
        return refuse_entry("kind", entry, "there is no such kind of entry", err);
    if ((entry->kind == TB_LEDGER_PAYMENT || entry->kind == TB_LEDGER_ADJUSTMENT) &&
        !tb_decimal_sign(entry->amount))
        return refuse_entry("amount", entry, "the amount must not be 0", err);
    if (strnlen(entry->currency, 4) != 3)
        return refuse_entry("currency", entry, "a currency has three letters", err);
    tb_code code = tb_store_account_exists(store, entry->account, &exists, err);
    if (code) return code;
    if (!exists) return tb__no_account("account", entry->account, err);
    code = tb__sql_ints(store, TB__SQL_LEDGER_CURRENCY, &entry->account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    const char *currency = (const char *)sqlite3_column_text(s, 0);
    same = currency && strcmp(currency, entry->currency) == 0;
    sqlite3_reset(s);
    if (!currency) return tb_no_memory(err);
    return same ? TB_OK
                : refuse_entry("currency", entry, "its earlier entries are of another currency. An account keeps one: declare that "
                               "again, and another account for the other", err);
}

/* The ids have no gaps, so that the last one counts the entries. */
tb_code tb_store_ledger_head(tb_store *store, tb_ledger_head *ret_head, tb_error *err)
{
    uint8_t chain[TB__CHAIN];
    int64_t last = 0;
    tb_code code = tb__chain_last(store, TB__SQL_LEDGER_LAST, &last, chain, err);
    if (code) return code;
    *ret_head = (tb_ledger_head){.count = (uint64_t)last};
    if (last) sodium_bin2hex(ret_head->head, sizeof ret_head->head, chain, sizeof chain);
    return TB_OK;
}

static tb_code insert(tb_store *store, tb_ledger_entry *entry, const char *amount, tb_error *err)
{
    int64_t numbers[TB__CHAIN_NUMBERS] = {0, entry->account, entry->at_us};
    const char *const texts[TB__LEDGER_TEXTS] = {tb_ledger_kind_name(entry->kind), entry->currency,
                                                 amount, entry->reference, entry->note, entry->document,
                                                 entry->expires};
    tb_code code = tb__chain_add(store, TB__SQL_LEDGER_LAST, TB__SQL_LEDGER_INSERT, numbers, texts,
                                 TB__LEDGER_TEXTS, err);
    if (!code) entry->id = numbers[0];
    return code;
}

tb_code tb_store_ledger_known(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                              tb_error *err)
{
    char amount[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(amount, entry->amount) = 0;
    *ret_known = false;
    return entry->reference[0] ? find_known(store, entry, amount, ret_known, err) : TB_OK;
}

tb_code tb_store_ledger_add(tb_store *store, tb_ledger_entry *entry, bool *ret_known, tb_error *err)
{
    char amount[TB_DECIMAL_TEXT_MAX + 1];
    bool known = false;
    *tb_decimal_put(amount, entry->amount) = 0;
    tb_code code = check_entry(store, entry, err);
    if (!code && entry->reference[0]) code = find_known(store, entry, amount, &known, err);
    if (!code && !known) code = tb_store_check_open(store, entry->at_us, err);
    if (!code && !known) code = insert(store, entry, amount, err);
    if (code) return code;
    if (!known) store->dirty = true;
    *ret_known = known;
    return TB_OK;
}
