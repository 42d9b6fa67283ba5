/* Runs of months, and their invoices. Append-only: an invoice's bytes, a number and a run never
 * change; triggers in the file hold it. */
#ifndef TOLLBOOK_INVOICESTORE_H
#define TOLLBOOK_INVOICESTORE_H

#include "tollbook/invoice.h"
#include "tollbook/store.h"

TB_API_BEGIN

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
 * for it since. reason: "" or a sentence, cut at TB_RUN_REASON_MAX. TB_E_CLOSED: the month lies before the ledger's
 * begin (closingstore.h). */
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
/* The void invoice whose place the month's next invoice takes; "": there is none. */
TB_MUST_USE tb_code tb_store_replaced(tb_store *store, int64_t account, int64_t month, char ret_number[24],
                                      tb_error *err);
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
 * Notes the month's run too, as final. TB_E_CLOSED: the month lies before the ledger's begin. TB_E_VALIDATION, with the field: a month that is not over, or
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
/* The credit notes that the account's runs of the month made, of earlier months: likewise. */
TB_MUST_USE tb_code tb_store_run_notes(tb_store *store, int64_t account, int64_t month,
                                       tb_invoice **ret_notes, size_t *ret_n, tb_error *err);

/* What was issued, whichever month it is of. */
typedef struct tb_issued_ask {
    int64_t account;        /* 0: any */
    int64_t from_us, to_us; /* made final from then until before then */
    char after[24];         /* numbers behind this one; "": all */
} tb_issued_ask;
/* Places of documents for tb_store_issued_at, in the order of their making. TB_E_INVOICE_NOT_FOUND: `after` is none.
 * free(). */
TB_MUST_USE tb_code tb_store_issued(tb_store *store, const tb_issued_ask *ask, int64_t **ret_places, size_t *ret_n,
                                    tb_error *err);
TB_MUST_USE tb_code tb_store_issued_at(tb_store *store, int64_t place, tb_invoice *ret_invoice, tb_error *err);
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

TB_API_END

#endif
