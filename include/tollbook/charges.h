/* The money side of the store: price books, the inputs of bills, invoices and the ledger.
 *
 * Append-only: a book, an invoice's bytes, a number, a run and a ledger entry never change; triggers
 * in the file hold it. What a later batch adds to a month that was run is kept as late deltas too,
 * so that the month can be read as it stood at any watermark (architecture 3, billing.md 5). */
#ifndef TOLLBOOK_CHARGES_H
#define TOLLBOOK_CHARGES_H

#include "tollbook/bill.h"
#include "tollbook/history.h"
#include "tollbook/invoice.h"
#include "tollbook/store.h"

/* --- books --- */

/* The same book again (same id, same bytes) changes nothing and sets *ret_known. A book that begins
 * when another of its currency does must name that one in `supersedes`: it takes its place in months
 * that are not final; final months stay with the books they were made with. TB_E_BOOK: the id is
 * known with other bytes; another book of this currency takes effect at the same moment and is not
 * named; the named one does not, or is superseded already. */
TB_MUST_USE tb_code tb_store_add_book(tb_store *store, const tb_book *book, int64_t now_us,
                                      bool *ret_known, tb_error *err);
/* All books, ascending by (currency, effective_us); of one moment the last holds. Release each, then
 * free() the array. */
TB_MUST_USE tb_code tb_store_books(tb_store *store, tb_book **ret_books, size_t *ret_n,
                                   tb_error *err);
/* Those of them that count for an account's month: all, but for those that were added after it was
 * billed first. */
TB_MUST_USE tb_code tb_store_month_books(tb_store *store, int64_t account, int64_t month,
                                         tb_book **ret_books, size_t *ret_n, tb_error *err);
void tb_books_release(tb_book *books, size_t n);

/* Books and final invoices whose time touches [from, to): an index asked, every hit checked. Books
 * in force from from_us to to_us (INT64_MAX: still), then invoices by number. free(). */
typedef struct tb_touched {
    bool invoice;
    char name[65];    /* book id, or invoice number */
    char currency[4]; /* books */
    bool superseded;  /* books: in force in earlier invoices alone */
    int64_t account;  /* invoices */
    int64_t from_us, to_us;
} tb_touched;
TB_MUST_USE tb_code tb_store_touched(tb_store *store, int64_t from_us, int64_t to_us,
                                     tb_touched **ret_touched, size_t *ret_n, tb_error *err);
/* Makes those indexes anew from the books and invoices, where verify found them damaged. */
TB_MUST_USE tb_code tb_store_rebuild_spans(tb_store *store, tb_error *err);

/* --- inputs of bills --- */

/* An input and the memory it lies in. The books must outlive it. */
typedef struct tb_bill_source {
    tb_bill_input input;
    uint64_t watermark; /* the data version it was read at */
    void *memory;
} tb_bill_source;

/* What account's month holds, as it stands now (watermark TB_NOW) or as it stood at an earlier
 * watermark: late deltas after it taken off, the catalogue and the regions as they were declared
 * then. Where the month is billed (by its invoice or, without one, by corrections on a later one), it
 * stays with the prices it was billed with first: books added after that do not count, and a
 * location keeps the billing region it had then; one that had none has the first it got. Books that are not in the store (a scenario's) always count.
 *
 * now_us: the month is running when it is not over, and nothing has existed past now yet (fees of a
 * running month are those so far). An hour belongs to the settings and attachments in force at its
 * start; currency, and tax rates, are those declared at the month's end. Evidence: see bill.h; the
 * hash takes for each day that holds something its number since 1970 as 8 bytes and its sum as 16.
 *
 * Months of one account in a row are cheapest: the account is read once. TB_E_NOT_FOUND: no such
 * account (at that watermark). TB_E_DECLARED: the month depends on what cannot be read of a
 * declaration (it names it); only a file that an older tollbook filled holds such. */
#define TB_NOW UINT64_MAX
TB_MUST_USE tb_code tb_store_bill_input(tb_store *store, int64_t account, int64_t month,
                                        uint64_t watermark, const tb_book *books, size_t n_books,
                                        int64_t now_us, tb_bill_source *ret_source, tb_error *err);
/* The same without tax rates, for whatever shows no tax: rates that cannot be read do not matter. */
TB_MUST_USE tb_code tb_store_net_input(tb_store *store, int64_t account, int64_t month,
                                       uint64_t watermark, const tb_book *books, size_t n_books,
                                       int64_t now_us, tb_bill_source *ret_source, tb_error *err);
/* tb_store_bill_input with usage of the hours before usage_us's alone: a month as far as it had come, while
 * fees go on to now_us. For forecasts, and for trying them on months that are over. */
TB_MUST_USE tb_code tb_store_bill_input_until(tb_store *store, int64_t account, int64_t month,
                                              uint64_t watermark, const tb_book *books,
                                              size_t n_books, int64_t now_us, int64_t usage_us,
                                              tb_bill_source *ret_source, tb_error *err);
/* tb_store_net_input of zones first..last alone, as it stands now, in the caller's snapshot: enough for what
 * each of these zones comes to, unless *ret_shared: then one of them has volume bandwidth, whose price
 * the whole account's input tells. */
TB_MUST_USE tb_code tb_store_zones_input(tb_store *store, int64_t account, int64_t month,
                                         int64_t first, int64_t last, const tb_book *books,
                                         size_t n_books, int64_t now_us, bool *ret_shared,
                                         tb_bill_source *ret_source, tb_error *err);
void tb_bill_source_release(tb_bill_source *source);

/* Up to schema 3 a month that was billed again took the regions that held at the asked watermark, not
 * those it was priced by. While this is on, inputs do so: to rate again what was rated then. */
void tb_store_let_regions_move(tb_store *store, bool move);
/* Daily usage of the days [from_day, to_day) (numbers since 1970), sorted by how each zone is billed
 * at at_us: what has changed its type has its whole past with the new one. Late usage and deleted
 * zones are in it. tb_usage_history_release. TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_store_usage_history(tb_store *store, int64_t account, int64_t from_day,
                                           int64_t to_day, int64_t at_us,
                                           tb_usage_history *ret_history, tb_error *err);
void tb_usage_history_release(tb_usage_history *history);
/* Hours since 1970 of the newest bucket of any account; INT64_MIN where there is none. */
TB_MUST_USE tb_code tb_store_newest_hour(tb_store *store, int64_t *ret_hour, tb_error *err);

/* Accounts that have anything in a month: a zone or balancer that existed, or usage. free(). */
TB_MUST_USE tb_code tb_store_billed_accounts(tb_store *store, int64_t month, int64_t **ret_accounts,
                                             size_t *ret_n, tb_error *err);
/* Accounts that have an invoice or credit note of the month, void ones too. free(). */
TB_MUST_USE tb_code tb_store_invoiced_accounts(tb_store *store, int64_t month,
                                               int64_t **ret_accounts, size_t *ret_n,
                                               tb_error *err);

/* --- usage that no account pays for --- */

/* A pull zone or load balancer that has usage and that no catalogue has named. */
typedef struct tb_unowned {
    bool balancer;
    int64_t id;
    tb_i128 requests, bytes; /* of the month; a balancer has no bytes */
} tb_unowned;
/* Those with usage in the month: zones before balancers, then the most bytes, the most requests and
 * the lowest id first. Costs a look at each id that has usage, and a row for each series of those
 * that are found. free(). */
TB_MUST_USE tb_code tb_store_unowned(tb_store *store, int64_t month, tb_unowned **ret_unowned,
                                     size_t *ret_n, tb_error *err);

/* --- load balancers --- */

typedef struct tb_balancer_month {
    int64_t account;
    int64_t created_us, ended_us; /* INT64_MIN and INT64_MAX where open */
    tb_i128 requests; /* that reached it: imported rows, and log lines of zones attached then */
} tb_balancer_month;
/* TB_E_NOT_FOUND where it is no balancer of this account. */
TB_MUST_USE tb_code tb_store_balancer_month(tb_store *store, int64_t account, int64_t balancer,
                                            int64_t month, tb_balancer_month *ret, tb_error *err);

/* --- runs --- */

/* What became of an account's month that was run. The last run of a month is what counts; an
 * account without one of its own has that of a run over everybody, when it had nothing. */
#define TB_RUN_OUTCOMES(X)                                                                         \
    X(FINAL, "final")     /* it has an invoice, which stands */                                    \
    X(NOTHING, "nothing") /* nothing was due */                                                    \
    X(REFUSED, "refused") /* usage without a price, or a sum that cannot be: see its reason */     \
    X(VOID, "void")       /* it had an invoice, which is void. Never noted: voiding makes it so */
typedef enum tb_run_outcome {
#define TB_X(e, name) TB_RUN_##e,
    TB_RUN_OUTCOMES(TB_X)
#undef TB_X
        TB_RUN_OUTCOME_COUNT
} tb_run_outcome;
const char *tb_run_outcome_name(tb_run_outcome outcome);

#define TB_RUN_REASON_MAX 200
/* Notes in the caller's transaction that the month was run at the file's data version, with nothing
 * due or refused: what comes for it from then on is late. (tb_store_finalize notes final ones.)
 * account 0: everybody, that is all who have no run of their own; nothing alone, and once a month.
 * Changes nothing where the account's last run of the month says the same and nothing has come in
 * for it since. reason: "" or a sentence, cut at TB_RUN_REASON_MAX. */
TB_MUST_USE tb_code tb_store_note_run(tb_store *store, int64_t account, int64_t month,
                                      tb_run_outcome outcome, const char *reason, int64_t now_us,
                                      tb_error *err);
/* Accounts that have a run of their own of the month, ascending. free(). */
TB_MUST_USE tb_code tb_store_run_accounts(tb_store *store, int64_t month, int64_t **ret_accounts,
                                          size_t *ret_n, tb_error *err);
/* Whether a run over everybody was noted of the month. */
TB_MUST_USE tb_code tb_store_everybody_ran(tb_store *store, int64_t month, bool *ret,
                                           tb_error *err);
/* The invoice with the last corrections that stand of a month which has no invoice of its own: the
 * month is billed there. "": it is not. */
TB_MUST_USE tb_code tb_store_billed_elsewhere(tb_store *store, int64_t account, int64_t month,
                                              char ret_number[24], tb_error *err);
/* What had billed an account's month when the data was at `watermark`, a run's or a correction's: the
 * corrections that go on from one another, the newest first, then its own invoice where it had one.
 * What is void now counts where it stood then. n 0: nothing had been billed. free(). */
typedef struct tb_billed_by {
    char number[24];
    bool is_invoice; /* false: a credit note */
} tb_billed_by;
TB_MUST_USE tb_code tb_store_billed_chain(tb_store *store, int64_t account, int64_t month,
                                          uint64_t watermark, tb_billed_by **ret_chain,
                                          size_t *ret_n, tb_error *err);

/* --- invoices --- */

typedef enum tb_invoice_state {
    TB_INVOICE_DRAFT,
    TB_INVOICE_FINAL,
    TB_INVOICE_VOID
} tb_invoice_state;

/* Months of an account that were run and hold something else since the last watermark that billed
 * them (the run's, or a later correction's): late usage, or zones and load balancers that were
 * declared afterwards and existed then, or whose beginning or end was declared anew. Where nothing
 * of the month is billed, what is declared without `created` does not make it wait, nor does what
 * costs nothing; a refused month waits until it is billed, and that of a void invoice for late usage
 * alone: its own run bills it. */
typedef struct tb_late {
    int64_t account, month;
    tb_run_outcome outcome;
    char invoice[24];  /* the month's invoice; "": it has none that stands */
    uint64_t run;      /* the last run's watermark */
    uint64_t since;    /* watermark from which deltas wait; past run's: a correction was billed */
    uint64_t deltas;   /* days of zones' edge locations and of balancers that came late */
    uint64_t declared; /* later declarations that reach into the month; deltas 0: they change it */
    char reason[TB_RUN_REASON_MAX]; /* refused: why */
} tb_late;
/* Whether anything of the month is billed. */
static inline bool tb_late_is_billed(const tb_late *late)
{
    return late->outcome == TB_RUN_FINAL || late->since != late->run;
}
/* account 0: any. Ascending by account and month. free(). */
TB_MUST_USE tb_code tb_store_late(tb_store *store, int64_t account, tb_late **ret_late,
                                  size_t *ret_n, tb_error *err);

/* A credit note is for its original's month; its total is not above 0. */
typedef struct tb_invoice {
    char number[24]; /* "2026-000123": year of issue, and a series without gaps */
    char kind[16];   /* "invoice", "credit_note" */
    tb_invoice_state state;
    int64_t account, month;
    uint64_t watermark; /* data version it was made at: tb_bill_source's */
    uint64_t since;     /* credit notes: tb_late's, from which it credits; else 0 */
    char currency[4];
    char total[TB_DECIMAL_TEXT_MAX];
    char sha256[65];   /* of its canonical text without its own member `,"sha256":"..."` */
    char previous[65]; /* sha256 of the invoice before it in the chain, "" for the first */
    char replaces[24], replaced_by[24]; /* numbers, "" where none */
    int64_t finalized_us;
    tb_ledger_head ledger; /* while it is made final: the ledger before its own entry */
    const tb_late *corrects; /* to tb_store_finalize alone: earlier months whose late usage it */
    size_t n_corrects;       /* bills, also where that changes no amount; not owned */
    char *text;              /* canonical JSON as issued, terminated; owned */
    size_t text_len;
} tb_invoice;
void tb_invoice_release(tb_invoice *invoice);

/* Makes an invoice final in the caller's transaction. In: kind, account, month, watermark, since,
 * currency, total, finalized_us, corrects. Takes the next number of the year's series and the
 * chain's last hash, names the void invoice that it replaces, looks where the ledger stands, then
 * lets `finish` write the canonical text with them (invoice->replaces and ->ledger are set by then)
 * and its sha256; stores it and its ledger entry. Where (account, month, kind, since) is final already and not void, gives that one
 * and sets *ret_known. The caller releases *invoice on success; its corrects are forgotten.
 *
 * Notes the month's run too, as final. TB_E_VALIDATION, with the field: a month that is not over, or
 * that a later invoice's corrections have billed; a watermark that is not the file's data version
 * (read and finalise in one transaction, with no catalogue or usage written in between); corrections
 * of late usage that waits since another watermark; a total of the wrong sign; a text whose sha256
 * is not its own. After any error roll back (to a mark). */
typedef tb_code (*tb_invoice_finish)(void *ctx, const char *number, const char *previous,
                                     tb_buf *text, char sha256[65], tb_error *err);
TB_MUST_USE tb_code tb_store_finalize(tb_store *store, tb_invoice *invoice,
                                      tb_invoice_finish finish, void *ctx, bool *ret_known,
                                      tb_error *err);
/* TB_E_NOT_FOUND; TB_E_VALIDATION where it is void already, or where a later invoice or credit note
 * corrects it (that one goes first). Adds the reversing ledger entry. What it corrected waits
 * again. */
TB_MUST_USE tb_code tb_store_void(tb_store *store, const char *number, int64_t now_us,
                                  tb_error *err);
/* account 0: any. month INT64_MIN: any. Ascending by number. Release each, free() the array. */
TB_MUST_USE tb_code tb_store_invoices(tb_store *store, int64_t account, int64_t month,
                                      tb_invoice **ret_invoices, size_t *ret_n, tb_error *err);
/* account 0: any. TB_E_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_invoice(tb_store *store, int64_t account, const char *number,
                                     tb_invoice *ret_invoice, tb_error *err);

/* A month that is billed, and the watermark up to which it is: its invoice's, or the last
 * correction's. */
typedef struct tb_billed_month {
    int64_t account, month;
    uint64_t watermark;
    char invoice[24]; /* "": it has none; corrections on later invoices have billed it */
    char currency[4];
} tb_billed_month;
/* Of months first to last, both included. account 0: any. Ascending by account and month. free(). */
TB_MUST_USE tb_code tb_store_billed_months(tb_store *store, int64_t account, int64_t first,
                                           int64_t last, tb_billed_month **ret_months,
                                           size_t *ret_n, tb_error *err);

/* --- ledger --- */

#define TB_LEDGER_KINDS(X)                                                                         \
    X(INVOICE, "invoice")                                                                          \
    X(VOID, "void")                                                                                \
    X(CREDIT_NOTE, "credit_note")                                                                  \
    X(PAYMENT, "payment")                                                                          \
    X(ADJUSTMENT, "adjustment")
typedef enum tb_ledger_kind {
#define TB_X(e, name) TB_LEDGER_##e,
    TB_LEDGER_KINDS(TB_X)
#undef TB_X
        TB_LEDGER_KIND_COUNT
} tb_ledger_kind;

const char *tb_ledger_kind_name(tb_ledger_kind kind);

/* amount: what it adds to the account's balance (payments positive, invoices negative). */
typedef struct tb_ledger_entry {
    int64_t id, account, at_us;
    tb_ledger_kind kind;
    char currency[4];
    tb_decimal amount;
    char reference[64]; /* invoice number, payment id */
    char note[128];
} tb_ledger_entry;
/* Sets entry->id. A second entry with the same kind and reference changes nothing and sets
 * *ret_known (id and at_us are the first one's); with another account, currency or amount it is
 * TB_E_VALIDATION, as is another currency than the account's earlier entries'. TB_E_NOT_FOUND: no
 * such account. */
TB_MUST_USE tb_code tb_store_ledger_add(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                        tb_error *err);
/* How many entries there are, of all accounts, and the hash of the last. */
TB_MUST_USE tb_code tb_store_ledger_head(tb_store *store, tb_ledger_head *ret_head, tb_error *err);
/* Ascending by id; free(). */
TB_MUST_USE tb_code tb_store_ledger(tb_store *store, int64_t account, tb_ledger_entry **ret_entries,
                                    size_t *ret_n, tb_error *err);
TB_MUST_USE tb_code tb_store_balance(tb_store *store, int64_t account, tb_decimal *ret_balance,
                                     tb_error *err);
/* UserBalanceHistoryChart: the balance at 00:05:00 UTC of each day that the range touches, as far
 * as that moment has come; none where the ledger has no entry of the account. One free() releases
 * all. */
TB_MUST_USE tb_code tb_store_balance_history(tb_store *store, int64_t account, tb_range range,
                                             int64_t now_us, tb_balance **ret_balances,
                                             size_t *ret_n, tb_error *err);

#endif
