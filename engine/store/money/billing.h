/* Shared by the files of the money module: an account's declared terms, its series of usage, and its late usage. */
#ifndef TOLLBOOK_STORE_BILLING_H
#define TOLLBOOK_STORE_BILLING_H

#include "billing/days.h"
#include "store/core/internal.h"
#include "store/money/metered.h"
#include "tollbook/retain.h"
#include "tollbook/calendar.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"

/* For lists that are members: name, n_name, cap_name. */
#define TB__GROW(b, name, err)                                                                     \
    tb__grow(&(b)->name, (b)->n_##name, &(b)->cap_##name, sizeof *(b)->name, err)

/* December 2299: days after 2328 have no key. */
#define TB__BILL_MONTH_LAST 3959

/* --- declared.c: declarations as values --- */

/* What a zone is billed by, from a moment on until the next one's. */
typedef struct tb__terms {
    int64_t from_us;
    bool volume, enabled, optimizer;
    bool own_optimizer; /* optimizer_price is set */
    int discount[TB_BILLING_REGION_COUNT];
    tb_decimal override_price; /* per byte; zero: none */
    tb_decimal optimizer_price;
    uint32_t fault; /* its settings cannot be read: faults[fault - 1] of tb__billing; 0: they can */
} tb__terms;

/* Parts of an account's declaration that may be unreadable separately. */
typedef enum tb__part {
    TB__PART_DISCOUNTS,
    TB__PART_CURRENCY,
    TB__PART_TAX,
    TB__PART_CONTRACT,
    TB__PARTS
} tb__part;

/* The same of an account. */
typedef struct tb__account_terms {
    int64_t from_us, to_us; /* declared so */
    bool prepaid;
    uint32_t fault[TB__PARTS]; /* as in tb__terms */
    char currency[4];
    int discount[TB_BILLING_REGION_COUNT];
    tb_bill_tax tax[TB_BILL_TAXES_MAX];
    size_t n_tax;
    tb_contract contract;
    char tax_reason[TB_TAX_REASON_ROOM]; /* why nothing is taxed; "": none is given */
    char tax_reason_code[TB_TAX_CODE_ROOM];
} tb__account_terms;

/* A thing existed from then to then. */
typedef struct tb__spell {
    int64_t from_us, to_us;
} tb__spell;

typedef struct tb__slice {
    size_t first, n;
} tb__slice;

typedef struct tb__placed {
    int64_t edge, series;
} tb__placed;

typedef struct tb__billed_zone {
    int64_t id;
    tb__slice terms, spells, series;
} tb__billed_zone;

/* A fee that an owner has, as one declaration says. declared_us: when the owner was declared first. */
typedef struct tb__fee_spell {
    tb_bill_fee of; /* owner, owner_id, id, quantity */
    int64_t from_us, to_us, declared_us;
} tb__fee_spell;

/* A zone attached to a balancer. series: the one that holds all its locations, 0: none. */
typedef struct tb__tie {
    int64_t zone, series, from_us, to_us;
} tb__tie;

typedef struct tb__billed_balancer {
    int64_t id, series; /* 0: no imported rows */
    int64_t created_us, ended_us;
    tb__slice spells, ties;
} tb__billed_balancer;

/* Where an edge location is billed. */
typedef struct tb__billed_place {
    int64_t edge;
    bool priced;
    tb_billing_region region;
    char code[24];
} tb__billed_place;

/* What a meter is, from a moment on until the next declaration's. */
typedef struct tb__meter_version {
    int64_t from_us;
    tb_meter meter;
} tb__meter_version;

/* The counters of a late day that are noted for each scope: bytes and balancer requests of a zone's edge location, requests of a
 * balancer, the first twelve of a meter's series. */
#define TB__LATE_COUNTERS 12
const tb_metric *tb__late_metrics(int scope, int *ret_n);
/* A day's usage that came after a watermark; value: of the counters that tb__late_metrics lists. */
typedef struct tb__late_day {
    int64_t owner, edge, day;
    int scope;
    bool taken; /* it was withdrawn: less, not more */
    uint64_t value[TB__LATE_COUNTERS][24];
} tb__late_day;

/* The value of a gauge when its month began. */
typedef struct tb__gauge_before {
    size_t series;  /* in tb__billing.metered */
    uint32_t meter; /* in tb__billing.bill_meters */
    uint64_t value;
} tb__gauge_before;

/* Zones first..last of an account; first > last: none. */
typedef struct tb__zone_range {
    int64_t first, last;
} tb__zone_range;
#define TB__NO_ZONES  ((tb__zone_range){1, 0})
#define TB__ALL_ZONES ((tb__zone_range){INT64_MIN, INT64_MAX})

/* An account as known at a data version, and the lists that inputs are built in. The account is
 * kept from one call to the next: the months of a year cost one reading. */
typedef struct tb__billing {
    int64_t account;
    int64_t file_version; /* of the last call */
    int64_t version;      /* the file's when the account was read; -1: it must not be kept */
    int64_t known;        /* declarations up to this version */
    tb__zone_range zones_of; /* which zones are loaded */
    size_t n_base_spells;    /* spells that are not zones' */
    size_t n_base_faults;    /* the same of faults */
    size_t n_base_fee_spells; /* and of those of fees */
    tb_kept kept;            /* the account's months that have their usage */
    int64_t declared_us;     /* first of all; its first terms hold for all time before */
    tb__account_terms *account_terms;
    tb__billed_zone *zones;
    tb__terms *terms;
    tb__spell *spells;
    tb__placed *series;
    tb__billed_balancer *balancers;
    tb__tie *ties;
    tb__fee_spell *fee_spells;
    tb_error *faults; /* why declarations cannot be read: whoever needs one fails by it */
    size_t n_faults, cap_faults;
    size_t n_account_terms, n_zones, n_terms, n_spells, n_series, n_balancers, n_ties, n_fee_spells;
    size_t cap_account_terms, cap_zones, cap_terms, cap_spells, cap_series, cap_balancers, cap_ties, cap_fee_spells;

    tb__billed_place *places; /* ascending by edge */
    size_t n_places, cap_places;
    int64_t places_version;         /* the file's when they were read */
    int64_t places_priced;          /* the priced version that they were read for */
    int64_t places_from, places_to; /* valid for known versions [from, to) */

    tb__late_day *late; /* ascending by scope, owner, edge, day */
    size_t n_late, cap_late;

    tb__meter_list metered; /* the account's series of meters, where metered_loaded */
    bool metered_loaded;
    tb__meter_version *meters; /* all, ascending by id and moment */
    size_t n_meters, cap_meters;
    int64_t meters_version, meters_known; /* the file's when they were read, and `known` then */

    tb_bill_part *parts;
    tb_bill_bytes *bytes;
    tb_bill_optimizer *optimizers;
    tb_bill_balancer *bill_balancers;
    tb_meter *bill_meters;
    tb_bill_usage *bill_usage;
    tb_bill_samples *bill_samples; /* without their values: those are in `intervals`, one after the other */
    uint64_t *intervals;
    size_t n_bill_meters, n_bill_usage, n_bill_samples, n_intervals;
    size_t cap_bill_meters, cap_bill_usage, cap_bill_samples, cap_intervals;
    tb__gauge_seen seen; /* of the newest gauge */
    tb__gauge_before *gauges; /* values above 0 */
    size_t *used; /* places with usage, some more than once */
    size_t n_gauges, cap_gauges, n_used, cap_used;
    tb_bill_fee *bill_fees;
    tb_bill_part *other_parts; /* of another month: see tb__fee_month */
    size_t n_parts, n_bytes, n_optimizers, n_bill_balancers, n_bill_fees, n_other_parts;
    size_t cap_parts, cap_bytes, cap_optimizers, cap_bill_balancers, cap_bill_fees, cap_other_parts;
    int64_t *cuts; /* hours where something changes */
    size_t n_cuts, cap_cuts;
    uint64_t (*days)[32]; /* of a zone's series */
    size_t n_days, cap_days;
} tb__billing;

/* The store's, with this account as known at a version, and of its zones those in the range. An
 * account that was not known has no account_terms. */
TB_MUST_USE tb_code tb__billed_load(tb_store *store, int64_t account, int64_t known,
                                    tb__zone_range zones, tb__billing **ret, tb_error *err);
/* Where edge locations were billed at version `priced` or, where they had no region then, by the
 * first they got until `known` (not below priced): in store->billing->places. After
 * tb__billed_load. */
TB_MUST_USE tb_code tb__places_load(tb_store *store, int64_t priced, int64_t known, tb_error *err);
void tb__billing_free(tb__billing *billing);

/* An account keeps its ledger's currency. *currency is one that was declared once: where the account now
 * declares another, and its ledger is in that, it becomes it. */
TB_MUST_USE tb_code tb__keep_currency(tb_store *store, int64_t account, const char declared_now[4],
                                      char currency[4], tb_error *err);

/* Reads a declaration's document. Unreadable values count as not declared, and ret_why's code is TB_E_DECLARED (else
 * TB_OK): of the settings, of each part of an account. An invalid document, and unreadable times, are errors. */
TB_MUST_USE tb_code tb__zone_terms(const char *text, size_t len, int64_t id, tb__terms *ret,
                                   int64_t *ret_created_us, tb_error *ret_why, tb_error *err);
TB_MUST_USE tb_code tb__account_terms_of(const char *text, size_t len, int64_t id,
                                         tb__account_terms *ret, tb_error ret_why[TB__PARTS],
                                         tb_error *err);
/* What the zone's row holds beside it: its beginning, and its settings' normal form, appended. */
TB_MUST_USE tb_code tb__zone_shown(const char *text, size_t len, int64_t id,
                                   int64_t *ret_created_us, tb_buf *settings, tb_error *err);
TB_MUST_USE tb_code tb__balancer_span(const char *text, size_t len, int64_t id,
                                      int64_t *ret_created_us, int64_t *ret_ended_us,
                                      tb_error *err);

/* Calls fn for each of the document's fees. */
typedef tb_code (*tb__fee_fn)(void *ctx, const char *id, size_t len, int64_t quantity, tb_error *err);
TB_MUST_USE tb_code tb__fees_of(const char *text, size_t len, const char *who, int64_t id, tb__fee_fn fn, void *ctx,
                                tb_error *err);

/* --- fees.c --- */

/* An account's month, whose parts are made, for its recurring fees. */
typedef struct tb__fee_month {
    tb__billing *b;
    int64_t month;
    int64_t until_us; /* now, or the month's end */
    bool running;
    /* Leaves the parts of another month of the account in b->other_parts, priced as its document is. */
    tb_code (*read_parts)(void *ctx, int64_t month, tb_error *err);
    void *ctx;
    int64_t other; /* whose parts b->other_parts are; INT64_MIN: none */
} tb__fee_month;
/* Sorts an owner's fees together. */
void tb__fee_spells_sort(tb__fee_spell *spells, size_t n);
/* Makes b->bill_fees. */
TB_MUST_USE tb_code tb__fees_make(tb__fee_month *m, tb_error *err);

/* --- late.c --- */

/* Fills store->billing->late with the usage of an account's month that arrived after a version. */
TB_MUST_USE tb_code tb__late_load(tb_store *store, int64_t account, int64_t month, int64_t version,
                                  tb_error *err);
/* The late usage of hours first..first+n-1 of a day, less withdrawn usage. edge TB_ALL: of all locations. */
tb_i128 tb__late_sum(const tb__billing *billing, int scope, int64_t owner, int64_t edge, int which,
                     int64_t day, int first, int n);
/* Takes late usage off the hours of a series. */
TB_MUST_USE tb_code tb__late_take_slots(const tb__billing *billing, int scope, int64_t owner, const tb__slots *slots,
                                        uint64_t *value, tb_error *err);
/* The data of a row of proof_late: what was added to a closed day or, taken, withdrawn from it. */
TB_MUST_USE tb_code tb__late_whole(const void *data, size_t len, const tb__late_of *of, int64_t day, tb_grid *ret, bool *ret_taken,
                                   tb_error *err);
/* One late row's day: its data checked and unpacked. */
TB_MUST_USE tb_code tb__late_decode(sqlite3_stmt *s, int64_t account, int64_t month,
                                    tb__late_day *ret, tb_error *err);

/* --- days.c: sums of days --- */

/* Adds a span to sums: whole days from `days` (tb__counters.days), parts of days from the day's hours. */
TB_MUST_USE tb_code tb__days_add(tb_store *store, int64_t series, tb_metric metric,
                                 const uint64_t days[32], tb__day_span span, tb__day_sums *sums,
                                 tb_error *err);
/* Takes late usage off. TB_E_CORRUPT where less was there. */
TB_MUST_USE tb_code tb__days_take_late(const tb__billing *billing, int scope, int64_t owner,
                                       int64_t edge, int which, tb__day_span span,
                                       tb__day_sums *sums, tb_error *err);

/* --- books.c --- */

/* Parses the book in a row's column. TB_E_CORRUPT: it cannot be parsed, although it could be when it was added. */
/* The cache of parsed books; NULL is fine. */
void tb__read_books_free(struct tb__read_books *read);
TB_MUST_USE tb_code tb__stored_book(sqlite3_stmt *s, int column, tb_book *ret_book, tb_error *err);

/* --- spans.c: the R*Trees --- */

/* [from, to) in hours as stored in an R*Tree; false where it is empty or would wrap. */
bool tb__span_hours(int64_t from_us, int64_t to_us, int32_t *ret_first, int32_t *ret_last);
TB_MUST_USE tb_code tb__span_put(tb_store *store, tb__statement put, int64_t id, int64_t from_us,
                                 int64_t to_us, tb_error *err);
TB_MUST_USE tb_code tb__book_spans_rebuild(tb_store *store, tb_error *err);

/* --- bill_bytes.c --- */

/* The settings and terms by which the bytes of a span are billed. */
typedef struct tb__rate {
    uint32_t part;
    tb_charge charge;
    int discount[TB_BILLING_REGION_COUNT];
    tb_decimal override_price;
    uint32_t fault; /* a declaration that it depends on cannot be read: see tb__terms */
} tb__rate;
/* In force for a zone at an hour. */
tb__rate tb__rate_at(const tb__billing *billing, const tb__billed_zone *zone, int64_t hour);
/* The fault as the caller's error. */
TB_MUST_USE tb_code tb__fail_by(const tb__billing *billing, uint32_t fault, tb_error *err);
/* NULL: TB_E_CORRUPT. */
const tb__billed_place *tb__place_of(const tb__billing *billing, int64_t edge, tb_error *err);

/* --- balancers.c --- */

/* Requests that reached a balancer: imported rows, and those of zones attached at that hour. */
TB_MUST_USE tb_code tb__requests_of(tb_store *store, const tb__billed_balancer *own,
                                    tb__day_span span, tb__day_sums *sums, tb_error *err);

/* --- meters.c --- */

/* The month that meters are read of. */
typedef struct tb__month_span {
    int64_t month, from_us;
    int64_t usage_hour; /* usage of hours before it counts */
    int64_t end_us;     /* gauges hold until then; intervals that are over by then count */
    bool origins;       /* what gauges had before is kept in store->billing */
} tb__month_span;
/* Makes the lists of meters, usage and samples of store->billing, which has the month's parts and late usage. */
TB_MUST_USE tb_code tb__meters_make(tb_store *store, const tb__month_span *span, tb_error *err);
/* The bytes of the account's zones by hours. The values are the last of store->billing->intervals. */
TB_MUST_USE tb_code tb__bandwidth_make(tb_store *store, const tb__month_span *span, tb_bill_samples *ret, tb_error *err);

/* --- origins.c --- */

/* Where the usage of the month that was just made comes from: into *ret. */
TB_MUST_USE tb_code tb__origins_make(const tb__billing *billing, int64_t month, tb_bill_source *ret, tb_error *err);

/* --- bill_input.c --- */

/* Months that can be billed; else TB_E_VALIDATION. */
TB_MUST_USE tb_code tb__check_bill_month(int64_t month, tb_error *err);
/* An account's month without taxes, and without what agreed.c adds; usage before usage_us. In the caller's snapshot. */
TB_MUST_USE tb_code tb__usage_input(tb_store *store, const tb_bill_query *query, int64_t usage_us,
                                    tb_bill_source *ret_source, tb_error *err);

/* --- agreed.c --- */

/* The alert of a cap of this amount, or of a higher one, in this currency, that stood when the month ended, or stands now.
 * *ret_us: when it was raised; 0: there is none. */
TB_MUST_USE tb_code tb__cap_alert(tb_store *store, int64_t account, int64_t month, tb_decimal cap, const char *currency,
                                  int64_t *ret_us, tb_error *err);

/* Adds to a month's input what its contract counts beyond it: the earlier months of the commit's period, and the lines
 * up to the cap's alert. */
TB_MUST_USE tb_code tb__agreed_input(tb_store *store, const tb_bill_query *query, int64_t usage_us, tb_bill_source *source,
                                     tb_error *err);

/* --- runs.c --- */

typedef struct tb__run_row {
    int64_t account, month;
    tb_run_outcome outcome;
    const char *invoice, *reason;
    int64_t run_us;
} tb__run_row;
/* At the data version that is read. */
TB_MUST_USE tb_code tb__run_insert(tb_store *store, const tb__run_row *run, tb_error *err);
tb_run_outcome tb__run_outcome(const char *name);

/* --- invoices.c, ledger.c --- */

/* SHA-256 (hex) of an invoice's text without its own member; false where the text does not hold
 * that hash. */
bool tb__invoice_hash(const char *text, size_t len, const char *sha256, char ret_hex[65]);
TB_MUST_USE tb_code tb__invoice_from(sqlite3_stmt *s, void *ret_invoice, tb_error *err);
TB_MUST_USE tb_code tb__ledger_from(sqlite3_stmt *s, void *ret_entry, tb_error *err);

#endif
