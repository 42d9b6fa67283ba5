/* Runs of months, and their invoices. Append-only: an invoice's bytes, a number and a run never change; triggers in
 * the database file enforce it. */
#ifndef TOLLBOOK_INVOICESTORE_H
#define TOLLBOOK_INVOICESTORE_H

#include "tollbook/invoice.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* --- runs --- */

/* The outcome of a run of an account's month. The last run of a month counts. An account without a run of its own
 * has the outcome of a run over all accounts: nothing was due. */
#define TB_RUN_OUTCOMES(X)                                                                         \
    X(FINAL, "final")     /* it has a valid invoice */                                             \
    X(NOTHING, "nothing") /* nothing was due */                                                    \
    X(REFUSED, "refused") /* usage without a price, or an amount out of range: see the reason */   \
    X(VOID, "void")       /* its invoice was voided. Set by voiding alone, not by a run */
typedef enum tb_run_outcome {
#define TB_X(e, name) TB_RUN_##e,
    TB_RUN_OUTCOMES(TB_X)
#undef TB_X
        TB_RUN_OUTCOME_COUNT
} tb_run_outcome;
const char *tb_run_outcome_name(tb_run_outcome outcome);

#define TB_RUN_REASON_MAX 200
/* Records in the caller's transaction that the month was run at the file's data version, and that nothing was due or
 * the month was refused: data that arrives for it later is late. (tb_store_finalize records final months.)
 * account 0: all accounts without a run of their own; NOTHING only, and once a month. Changes nothing where the
 * account's last run of the month has the same outcome and nothing has arrived for it since. reason: "" or a
 * sentence, cut at TB_RUN_REASON_MAX. TB_E_CLOSED: the month lies before the ledger's begin (ledgerstore.h). */
TB_MUST_USE tb_code tb_store_note_run(tb_store *store, int64_t account, int64_t month,
                                      tb_run_outcome outcome, const char *reason, int64_t now_us,
                                      tb_error *err);
/* Accounts with a run of their own of the month, ascending. free(). */
TB_MUST_USE tb_code tb_store_run_accounts(tb_store *store, int64_t month, int64_t **ret_accounts,
                                          size_t *ret_n, tb_error *err);
/* Whether a run of the month over all accounts was recorded. */
TB_MUST_USE tb_code tb_store_all_accounts_ran(tb_store *store, int64_t month, bool *ret,
                                           tb_error *err);
/* For a month without an invoice of its own: the invoice with the last valid corrections of it, which bill the
 * month. "": none. */
TB_MUST_USE tb_code tb_store_billed_elsewhere(tb_store *store, int64_t account, int64_t month,
                                              char ret_number[24], tb_error *err);
/* The void invoice that the month's next invoice replaces; "": none. */
TB_MUST_USE tb_code tb_store_replaced(tb_store *store, int64_t account, int64_t month, char ret_number[24],
                                      tb_error *err);
/* The documents that had billed an account's month at data version `watermark` (of a run or a correction): the
 * successive corrections, newest first, then the month's own invoice if it had one. Documents that were voided later
 * are included. n 0: nothing had been billed. free(). */
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

/* A month of an account that was run and whose data has changed since the last watermark that billed it (the run's,
 * or a later correction's): late usage; or zones and load balancers that existed in the month and were declared
 * afterwards, or were given another beginning or end. Where nothing of the month is billed, a declaration without
 * `created`, or one that costs nothing, does not make the month late. A refused month is late until it is billed. The
 * month of a void invoice is late for late usage only: its own run bills the rest. */
typedef struct tb_late {
    int64_t account, month;
    tb_run_outcome outcome;
    char invoice[24];  /* the month's valid invoice; "": it has none */
    uint64_t run;      /* the last run's watermark */
    uint64_t since;    /* watermark from which deltas are unbilled; later than `run`: a correction was billed */
    uint64_t deltas;   /* late days of zones' edge locations and of balancers */
    uint64_t declared; /* later declarations that apply to the month; deltas 0: they change its data */
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

/* The part of a one-off charge that an invoice bills, with the currency's digits; of a credit that a credit note makes due
 * again, with the opposite sign. */
typedef struct tb_billed_charge {
    int64_t id;
    tb_decimal amount;
} tb_billed_charge;

struct tb_invoice;
/* Writes a document's terms (check.h), once its number and its days in the log of documents are there. */
typedef tb_code (*tb_invoice_terms)(void *ctx, const struct tb_invoice *invoice, tb_buf *out, tb_error *err);

/* A document as stored. A credit note is for the month of the invoice that it credits; its total is not above 0. */
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
    char previous[65]; /* sha256 of the invoice before it in the chain; "": it is the first */
    char replaces[24], replaced_by[24]; /* numbers; "": none */
    int64_t finalized_us;
    tb_ledger_head ledger; /* while it is made final: the ledger before its own entry */
    const tb_late *corrects; /* input of tb_store_finalize only: earlier months whose late usage it */
    size_t n_corrects;       /* bills, even where no amount changes; not owned */
    const struct tb_billed_charge *charges; /* likewise: one-off charges on it */
    size_t n_charges;
    tb_invoice_terms terms;  /* likewise: called where there is a log of documents; NULL: no terms */
    void *terms_ctx;
    char *text;              /* canonical JSON as issued, terminated; owned */
    size_t text_len;
} tb_invoice;
void tb_invoice_release(tb_invoice *invoice);

/* Makes an invoice final in the caller's transaction. In: kind, account, month, watermark, since, currency, total,
 * finalized_us, corrects, charges, terms. Takes the next number of the year's series and the chain's last hash, names the void
 * invoice that it replaces, reads the ledger's head, then lets `finish` write the canonical text with them
 * (invoice->replaces and ->ledger are set by then) and its sha256; stores the invoice and its ledger entry, and
 * records the month's run as final. Where a valid document of (account, month, kind, since) exists, returns that one
 * and sets *ret_known. The caller releases *invoice on success; its `corrects` and `charges` are cleared. Where there is a log of
 * documents, days through the month's end are closed in it, then come the document and its terms.
 *
 * TB_E_CLOSED: the month lies before the ledger's begin. TB_E_VALIDATION, with the field: a month that is not over, or
 * that a later invoice's corrections have billed; a watermark other than the file's data version (read and finalise
 * in one transaction, without writing a catalogue or usage in between); corrections of late usage since another
 * watermark; a total of the wrong sign; a text that does not match its sha256. After any error roll back (to a
 * mark). */
typedef tb_code (*tb_invoice_finish)(void *ctx, const char *number, const char *previous,
                                     tb_buf *text, char sha256[65], tb_error *err);
TB_MUST_USE tb_code tb_store_finalize(tb_store *store, tb_invoice *invoice,
                                      tb_invoice_finish finish, void *ctx, bool *ret_known,
                                      tb_error *err);
/* Voids a document and adds the reversing ledger entry; the late usage that it corrected becomes unbilled again.
 * TB_E_NOT_FOUND. TB_E_VALIDATION: it is void already, or a later invoice or credit note corrects it (void that one
 * first). */
TB_MUST_USE tb_code tb_store_void(tb_store *store, const char *number, int64_t now_us,
                                  tb_error *err);
/* account 0: any. month INT64_MIN: any. Ascending by number. Release each, free() the array. */
TB_MUST_USE tb_code tb_store_invoices(tb_store *store, int64_t account, int64_t month,
                                      tb_invoice **ret_invoices, size_t *ret_n, tb_error *err);
/* The credit notes for earlier months that the account's runs of the month made. Release each, free() the array. */
TB_MUST_USE tb_code tb_store_run_notes(tb_store *store, int64_t account, int64_t month,
                                       tb_invoice **ret_notes, size_t *ret_n, tb_error *err);

/* Which issued documents to list, of all months. */
typedef struct tb_issued_ask {
    int64_t account;        /* 0: any */
    int64_t from_us, to_us; /* made final from then on, and before then */
    char after[24];         /* documents made after this number; "": all */
} tb_issued_ask;
/* Positions of documents for tb_store_issued_at, in the order of issue. TB_E_INVOICE_NOT_FOUND: no document `after`.
 * free(). */
TB_MUST_USE tb_code tb_store_issued(tb_store *store, const tb_issued_ask *ask, int64_t **ret_places, size_t *ret_n,
                                    tb_error *err);
TB_MUST_USE tb_code tb_store_issued_at(tb_store *store, int64_t place, tb_invoice *ret_invoice, tb_error *err);
/* account 0: any. TB_E_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_invoice(tb_store *store, int64_t account, const char *number,
                                     tb_invoice *ret_invoice, tb_error *err);

/* A billed month, and the watermark up to which it is billed: its invoice's, or the last correction's. */
typedef struct tb_billed_month {
    int64_t account, month;
    uint64_t watermark;
    char invoice[24]; /* "": none; corrections on later invoices have billed the month */
    char currency[4];
} tb_billed_month;
/* Of months first to last, both included. account 0: any. Ascending by account and month. free(). */
TB_MUST_USE tb_code tb_store_billed_months(tb_store *store, int64_t account, int64_t first,
                                           int64_t last, tb_billed_month **ret_months,
                                           size_t *ret_n, tb_error *err);

TB_API_END

#endif
