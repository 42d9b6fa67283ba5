/* Verifying the money module: hashes must match, numbers have no gaps, every invoice has its entries in the ledger
 * and its run, nothing is billed twice, the indexes agree with their tables, and late usage does not exceed the
 * stored usage. The caller rates stored invoices again: that needs the rules of billing, which are above the store
 * (tb_store_bill_input at the invoice's watermark). */
#include "store/verify/verify.h"

#include "store/money/billing.h"

#include <stdlib.h>
#include <string.h>

/* A row of ledger is an opening balance, or takes one back. */
#define OPENING "(kind='adjustment' AND document IN('" TB_OPENING "','" TB_OPENING_BACK "'))"

/* Each row is a sentence. Where an index leaves empty texts out, a query must say so to use it: each
 * invoice would else look through all of the other table. */
static const char *const references[] = {
    "SELECT format('Invoice %s has number %d of %d in its series.',number,serial,year)"
    " FROM invoice WHERE number<>format('%04d-%06d',year,serial)",
    "SELECT format('Invoice %s: its series goes on after number %d.',number,before) FROM"
    " (SELECT number,serial,coalesce(lag(serial) OVER series,0) AS before FROM invoice"
    " WINDOW series AS (PARTITION BY year ORDER BY serial)) WHERE serial<>before+1",
    "SELECT format('Invoice %s does not name the invoice before it in the chain.',number) FROM"
    " (SELECT number,previous,coalesce(lag(sha256) OVER chain,'') AS before FROM invoice"
    " WINDOW chain AS (ORDER BY id)) WHERE previous<>before",
    "SELECT format('Invoice %s: its text is not JSON.',number) FROM invoice"
    " WHERE NOT json_valid(document)",
    "SELECT format('Invoice %s: its text says otherwise of its number, account, kind, currency,"
    " total, watermark or previous invoice.',number) FROM invoice WHERE json_valid(document) AND "
    "NOT"
    "(json_extract(document,'$.number') IS number AND json_extract(document,'$.account') IS account"
    " AND json_extract(document,'$.kind') IS kind AND json_extract(document,'$.currency')"
    " IS currency AND json_extract(document,'$.total') IS total"
    " AND json_extract(document,'$.watermark') IS watermark"
    " AND coalesce(json_extract(document,'$.previous'),'') IS previous"
    " AND coalesce(json_extract(document,'$.replaces'),'') IS replaces"
    " AND json_extract(document,'$.sha256') IS sha256)",
    "SELECT format('Invoice %s: its text is for the month from %s.',number,start) FROM (SELECT"
    " number,month,json_extract(document,'$.period.start') AS start FROM invoice"
    " WHERE json_valid(document)) WHERE start IS NOT format('%04d-%02d-01T00:00:00Z',"
    "1970+month/12,month%12+1)",
    /* further members of version 2, which version 1 does not have */
    "SELECT format('Invoice %s: its text says that it was issued on %s; the row says %s.',number,"
    "issued,day) FROM (SELECT number,document->>'$.issued' AS issued,"
    "date(finalized_us/1000000,'unixepoch') AS day FROM invoice WHERE json_valid(document)"
    " AND document->>'$.version'=2) WHERE issued IS NOT day",
    "SELECT format('Invoice %s: its text says that it followed ledger entry %s with the hash %s;"
    " the ledger says otherwise.',number,count,coalesce(head,'none')) FROM (SELECT number,kind,"
    "document->>'$.ledger.count' AS count,document->>'$.ledger.head' AS head FROM invoice"
    " WHERE json_valid(document) AND document->>'$.version'=2) AS i"
    " WHERE coalesce(head,'') IS NOT coalesce((SELECT lower(hex(chain)) FROM ledger"
    " WHERE id=i.count),'') OR NOT EXISTS(SELECT 1 FROM ledger l WHERE l.id=i.count+1"
    " AND l.kind=i.kind AND l.reference=i.number)",
    "SELECT format('Invoice %s replaces %s, which is not a void invoice of the same month.',"
    "i.number,i.replaces) FROM invoice i LEFT JOIN invoice v ON v.number=i.replaces AND"
    " v.account=i.account AND v.month=i.month AND v.kind=i.kind AND v.state='void' AND v.id<i.id"
    " WHERE i.replaces<>'' AND v.id IS NULL",
    "SELECT format('Invoice %s was made at data version %d; the file is at %d.',number,watermark,"
    "value) FROM invoice,meta WHERE name='data_version' AND watermark>value",
    "SELECT format('Invoice %s corrects %04d-%02d since version %d, where nothing ended.',i.number,"
    "1970+c.month/12,c.month%12+1,c.since) FROM correction c JOIN invoice i ON i.id=c.invoice"
    " WHERE c.since>=i.watermark OR c.account<>i.account OR NOT(EXISTS(SELECT 1 FROM month_run r"
    " WHERE r.account IN(0,c.account) AND r.month=c.month AND r.watermark=c.since) OR EXISTS"
    "(SELECT 1 FROM correction q JOIN invoice p ON p.id=q.invoice WHERE q.account=c.account"
    " AND q.month=c.month AND p.watermark=c.since AND p.id<i.id))",
    "SELECT format('Invoice %s bills %04d-%02d of account %d since version %d; what stands has billed"
    " it up to version %d.',number,1970+month/12,month%12+1,account,since,before) FROM"
    " (SELECT i.number,c.month,c.account,c.since,max(i.watermark) OVER (PARTITION BY c.account,c.month"
    " ORDER BY i.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM correction c"
    " JOIN invoice i ON i.id=c.invoice WHERE i.state='final') WHERE before>since",
    "SELECT format('Invoice %s is of a month that %s has billed already.',i.number,j.number)"
    " FROM invoice i JOIN correction c ON c.account=i.account AND c.month=i.month JOIN invoice j"
    " ON j.id=c.invoice WHERE i.kind='invoice' AND i.state='final' AND j.state='final'"
    " AND c.since<i.watermark",
    /* runs: a final one must match its invoice */
    "SELECT format('Invoice %s has no run of its month.',number) FROM invoice i WHERE kind='invoice'"
    " AND NOT EXISTS(SELECT 1 FROM month_run r WHERE r.invoice=i.number AND r.invoice<>'')",
    "SELECT format('Run %d is of invoice %s, whose month, account, version or moment are others.',"
    "r.id,r.invoice) FROM month_run r LEFT JOIN invoice i ON i.number=r.invoice AND i.kind='invoice'"
    " AND i.account=r.account AND i.month=r.month AND i.watermark=r.watermark"
    " AND i.finalized_us=r.run_us WHERE r.outcome='final' AND (i.id IS NULL"
    " OR r.reason<>'')",
    "SELECT format('Run %d of %04d-%02d is of account %d, which does not exist.',id,1970+month/12,"
    "month%12+1,account) FROM month_run WHERE account>0 AND account NOT IN(SELECT id FROM account)",
    "SELECT format('Run %d is of data version %d; the file is at %d.',id,watermark,value)"
    " FROM month_run,meta WHERE name='data_version' AND watermark>value",
    "SELECT format('Run %d follows run %d.',id,before) FROM (SELECT id,coalesce(lag(id) OVER"
    " (ORDER BY id),0) AS before FROM month_run) WHERE id<>before+1",
    "SELECT format('Run %d is of version %d, before that of run %d.',id,watermark,id-1) FROM"
    " (SELECT id,watermark,lag(watermark) OVER (ORDER BY id) AS before FROM month_run)"
    " WHERE watermark<before",
    /* amounts billed late must be in the invoices' own texts */
    "SELECT format('Invoice %s corrects %s since version %s, which is not noted.',i.number,"
    "p.number,j.value->>'$.corrects.since') FROM invoice i,"
    " json_each(iif(json_valid(i.document),i.document,'{}'),'$.lines') AS j"
    " JOIN invoice p ON p.number=j.value->>'$.corrects.invoice' WHERE NOT EXISTS(SELECT 1 FROM"
    " correction c WHERE c.invoice=i.id AND c.account=i.account AND c.month=p.month"
    " AND c.since=j.value->>'$.corrects.since') GROUP BY i.id,p.id",
    "SELECT format('Credit note %s credits what came since version %d, which is not noted.',number,"
    "since) FROM invoice i WHERE kind='credit_note' AND NOT EXISTS(SELECT 1 FROM correction c"
    " WHERE c.invoice=i.id AND c.account=i.account AND c.month=i.month AND c.since=i.since)",
    "SELECT format('Invoice %s says since when it credits; only a credit note does.',number)"
    " FROM invoice WHERE kind='invoice' AND since<>0",
    "SELECT format('Book %s: its text says otherwise of the book that it supersedes.',name) FROM "
    "book"
    " WHERE json_valid(document) AND "
    "coalesce(json_extract(document,'$.supersedes'),'')<>supersedes",
    "SELECT format('Book %s supersedes %s, which is no earlier book of its currency and moment.',"
    "b.name,b.supersedes) FROM book b WHERE b.supersedes<>'' AND NOT EXISTS(SELECT 1 FROM book o"
    " WHERE o.name=b.supersedes AND o.currency=b.currency AND o.effective_us=b.effective_us"
    " AND o.id<b.id)",
    /* ledger */
    "SELECT format('Invoice %s is not in the ledger.',number) FROM invoice i WHERE NOT EXISTS"
    "(SELECT 1 FROM ledger l WHERE l.kind=i.kind AND l.reference=i.number AND l.reference<>'')",
    "SELECT format('Void invoice %s is not given back in the ledger.',number) FROM invoice i"
    " WHERE state='void' AND NOT EXISTS(SELECT 1 FROM ledger l WHERE l.kind='void'"
    " AND l.reference=i.number AND l.reference<>'')",
    "SELECT format('Ledger entry %d is of invoice %s, which is not there.',id,reference) FROM "
    "ledger"
    " WHERE kind IN('invoice','credit_note') AND reference NOT IN(SELECT number FROM invoice)",
    "SELECT format('Ledger entry %d gives back %s, which is not a void invoice.',id,reference)"
    " FROM ledger WHERE kind='void' AND reference NOT IN(SELECT number FROM invoice"
    " WHERE state='void')",
    "SELECT format('Ledger entry %d is of account %d; invoice %s is of account %d.',l.id,l.account,"
    "i.number,i.account) FROM ledger l JOIN invoice i ON i.number=l.reference"
    " WHERE l.kind IN('invoice','credit_note','void') AND l.account<>i.account",
    "SELECT format('Invoice %s was made final at another moment than its ledger entry.',i.number)"
    " FROM ledger l CROSS JOIN invoice i ON i.number=l.reference AND i.kind=l.kind"
    " WHERE l.at_us<>i.finalized_us OR i.year<>1*strftime('%Y',i.finalized_us/1000000,'unixepoch')",
    "SELECT format('Invoice %s was made void at another moment than the ledger says.',i.number)"
    " FROM invoice i LEFT JOIN ledger l ON l.kind='void' AND l.reference=i.number"
    " AND l.reference<>'' WHERE i.voided_us<>coalesce(l.at_us,9223372036854775807)",
    /* credits: of accounts that have any the rest is replayed above the store */
    "SELECT format('Ledger entry %d is about a credit; account %d was granted none.',id,account)"
    " FROM ledger l WHERE kind IN('credit_drawn','credit_expired') AND NOT EXISTS(SELECT 1 FROM ledger"
    " c WHERE c.kind='credit' AND c.account=l.account)",
    "SELECT format('Ledger entry %d has no business with a last day or an invoice: %s %s.',id,expires,"
    "document) FROM ledger WHERE expires<>'' AND (kind<>'credit' AND NOT " OPENING " OR date(expires)"
    " IS NOT expires) OR document<>'' AND kind NOT IN('payment','adjustment','credit_drawn')",
    "SELECT format('Ledger entry %d is about invoice %s of account %d, which is not there.',id,"
    "document,account) FROM ledger l WHERE document<>'' AND NOT " OPENING " AND NOT EXISTS(SELECT 1 FROM"
    " invoice i WHERE i.number=l.document AND i.account=l.account AND i.kind='invoice')",
    /* where the ledger begins */
    "SELECT format('Ledger entry %d takes back an opening balance that is not there.',id) FROM ledger l"
    " WHERE " OPENING " AND document='" TB_OPENING_BACK "' AND NOT EXISTS(SELECT 1 FROM ledger o WHERE"
    " o.id<l.id AND l.reference='opening back '||o.id AND o.kind='adjustment' AND o.document='" TB_OPENING "'"
    " AND o.account=l.account AND o.at_us=l.at_us AND ltrim(o.amount,'-')=ltrim(l.amount,'-')"
    " AND instr(o.amount,'-')<>instr(l.amount,'-'))",
    "SELECT format('Invoice %s is of a month before the ledger begins.',number) FROM invoice,meta WHERE"
    " name='begin_month' AND month<value AND state='final'",
    /* closings: their texts are read above the store */
    "SELECT format('Closing %d of %04d-%02d was made before the month was over, or was reopened before"
    " that.',id,1970+month/12,month%12+1) FROM closing WHERE reopened_us<closed_us OR"
    " (reopened_us=9223372036854775807)<>(reopened_version=9223372036854775807) OR closed_us<"
    "1000000*unixepoch(format('%04d-%02d-01',1970+(month+1)/12,(month+1)%12+1))",
    "SELECT format('Closing %d follows closing %d.',id,before) FROM (SELECT id,coalesce(lag(id) OVER"
    " (ORDER BY id),0) AS before FROM closing) WHERE id<>before+1",
    "SELECT format('Closing %d is of data version %d and %d ledger entries; the file has fewer.',c.id,"
    "c.version,c.entries) FROM closing c,meta m WHERE m.name='data_version' AND (c.version>m.value OR"
    " c.entries>(SELECT coalesce(max(id),0) FROM ledger))",
    "SELECT format('Ledger entry %d came into %04d-%02d when that was closed.',l.id,1970+c.month/12,"
    "c.month%12+1) FROM closing c JOIN ledger l ON l.id>c.entries AND l.at_us>=1000000*unixepoch("
    "format('%04d-%02d-01',1970+c.month/12,c.month%12+1)) AND l.at_us<1000000*unixepoch("
    "format('%04d-%02d-01',1970+(c.month+1)/12,(c.month+1)%12+1)) AND c.reopened_us=9223372036854775807",
    /* late usage, and data versions */
    "SELECT format('Late usage %d is noted for a month of account %d that was neither run nor closed.',id,"
    "account) FROM late l WHERE NOT EXISTS(SELECT 1 FROM month_run r WHERE r.account IN(0,l.account)"
    " AND r.month=l.month AND r.watermark<l.version) AND NOT EXISTS(SELECT 1 FROM closing c WHERE l.month"
    " BETWEEN c.month-" TB__NUMERAL(TB_CLOSING_MONTHS) " AND c.month AND c.version<l.version) AND NOT EXISTS"
    "(SELECT 1 FROM month_run r WHERE r.account IN(0,l.account) AND r.month>l.month AND r.watermark<l.version"
    " AND EXISTS(SELECT 1 FROM declaration WHERE kind='account' AND id=l.account AND " TB__HAS_PERIODS "))",
    "SELECT format('Late usage %d is of data version %d; the file is at %d.',id,version,value)"
    " FROM late,meta WHERE name='data_version' AND version>value",
    "SELECT format('Late usage %d is of account %d; pull zone %d is of another.',l.id,l.account,"
    "l.owner) FROM late l LEFT JOIN zone z ON z.id=l.owner WHERE l.scope=1"
    " AND z.account IS NOT l.account",
    "SELECT format('Late usage %d is of account %d; load balancer %d is of "
    "another.',l.id,l.account,"
    "l.owner) FROM late l LEFT JOIN balancer b ON b.id=l.owner WHERE l.scope=3"
    " AND b.account IS NOT l.account",
    "SELECT format('Region %s is billed as %s; its history ends with %s.',code,billing,last) FROM"
    " (SELECT r.code,r.billing,coalesce((SELECT b.billing FROM region_billing b WHERE b.code=r.code"
    " ORDER BY b.version DESC LIMIT 1),'nothing') AS last FROM region r) WHERE billing<>last",
};

static tb_code verify_references(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof references / sizeof *references; i++)
        code = tb__verify_note(v, tb__verify_reference(v, references[i], err), err);
    return code;
}

/* --- books --- */

/* A NULL in a column that is never NULL means that memory is short. */
static tb_code text_at(sqlite3_stmt *s, int column, const char **ret, tb_error *err)
{
    *ret = (const char *)sqlite3_column_text(s, column);
    return *ret ? TB_OK : tb_no_memory(err);
}

/* Columns: name, currency, effective_us, sha256, document. */
tb_code tb__verify_book_text(tb__verify *v, const char *what, sqlite3_stmt *s, tb_error *err)
{
    const char *name, *currency, *sha256, *text;
    tb_book book;
    tb_error why = {0};
    tb_code code = text_at(s, 0, &name, err);
    if (!code) code = text_at(s, 1, &currency, err);
    if (!code) code = text_at(s, 3, &sha256, err);
    if (!code) code = text_at(s, 4, &text, err);
    if (code) return code;
    code = tb_book_parse(text, (size_t)sqlite3_column_bytes(s, 4), NULL, &book, &why);
    if (code == TB_E_NOMEM) return tb_no_memory(err);
    if (code) {
        tb__differs(v, "%s %s cannot be read: %s", what, name, why.message);
        return TB_OK;
    }
    if (strcmp(book.sha256, sha256) != 0)
        tb__differs(v, "%s %s: its text has the SHA-256 %s, not %s.", what, name, book.sha256,
                    sha256);
    if (strcmp(book.id, name) != 0 || strcmp(book.currency, currency) != 0 ||
        book.effective_us != sqlite3_column_int64(s, 2))
        tb__differs(v, "%s %s: its text says otherwise of its id, currency or beginning.", what,
                    name);
    tb_book_release(&book);
    return TB_OK;
}

/* A row of an index against its truth. */
static void verify_span(tb__verify *v, const char *what, sqlite3_stmt *s, int column,
                        int64_t from_us, int64_t to_us)
{
    int32_t first = 0, last = 0;
    if (sqlite3_column_type(s, column) == SQLITE_NULL) {
        tb__differs(v, "The index of %s lacks %s.", what, (const char *)sqlite3_column_text(s, 0));
        return;
    }
    if (tb__span_hours(from_us, to_us, &first, &last) && first == sqlite3_column_int64(s, column) &&
        last == sqlite3_column_int64(s, column + 1))
        return;
    tb__differs(v, "The index of %s has %s from hour %lld to %lld; it is from %d to %d.", what,
                (const char *)sqlite3_column_text(s, 0), (long long)sqlite3_column_int64(s, column),
                (long long)sqlite3_column_int64(s, column + 1), first, last);
}

static tb_code verify_books(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_BOOKS, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        code = tb__verify_book_text(v, "Book", s, err);
        if (!code)
            verify_span(v, "books", s, 6, sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 5));
    }
    return code;
}

/* --- invoices --- */

/* The ledger's amount is the total times sign. */
static tb_code verify_amount(tb__verify *v, sqlite3_stmt *s, int column, int sign, tb_error *err)
{
    const char *total, *amount;
    tb_decimal a, b;
    if (sqlite3_column_type(s, column) == SQLITE_NULL) return TB_OK; /* told by the references */
    tb_code code = text_at(s, 3, &total, err);
    if (!code) code = text_at(s, column, &amount, err);
    if (code) return code;
    if (!tb_decimal_parse(total, strlen(total), TB_DECIMAL_SCALE_MAX, &a, NULL) &&
        !tb_decimal_parse(amount, strlen(amount), TB_DECIMAL_SCALE_MAX, &b, NULL) &&
        !tb_decimal_mul_int(a, sign, &a, NULL) && tb_decimal_compare(a, b) == 0)
        return TB_OK;
    tb__differs(v, "Invoice %s has the total %s; its ledger entry %s has %s.",
                (const char *)sqlite3_column_text(s, 0), total,
                sign < 0 ? "of issue" : "of voiding", amount);
    return TB_OK;
}

static tb_code verify_invoice_row(tb__verify *v, sqlite3_stmt *s, tb_error *err)
{
    const char *number, *sha256, *text;
    char hex[65] = "";
    tb_code code = text_at(s, 0, &number, err);
    if (!code) code = text_at(s, 2, &sha256, err);
    if (!code) code = text_at(s, 4, &text, err);
    if (code) return code;
    if (!tb__invoice_hash(text, (size_t)sqlite3_column_bytes(s, 4), sha256, hex))
        tb__differs(v, "Invoice %s: its text does not hold its SHA-256.", number);
    else if (strcmp(hex, sha256) != 0)
        tb__differs(v, "Invoice %s: its text has the SHA-256 %s, not %s.", number, hex, sha256);
    int64_t month = sqlite3_column_int64(s, 1);
    verify_span(v, "invoices", s, 7, tb_month_start_us(month), tb_month_start_us(month + 1));
    code = verify_amount(v, s, 5, -1, err);
    return code ? code : verify_amount(v, s, 6, 1, err);
}

static tb_code verify_invoices(tb__verify *v, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_INVOICES, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row)
        code = verify_invoice_row(v, s, err);
    return code;
}

/* --- late usage --- */

/* Late usage must be a part of the stored usage. */
static tb_code compare_late(tb__verify *v, const tb__late_day *late, int64_t id, tb_error *err)
{
    int n;
    if (v->store->control) return TB_OK;
    const tb_metric *metrics = tb__late_metrics(late->scope, &n);
    const int64_t values[3] = {late->scope, late->owner, late->edge};
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__verify_sql(v, TB__V_SERIES_AT, values, 3, &s, err);
    if (!code) code = tb__step(v->store, s, &row, err);
    if (code) return code;
    const int64_t series = row ? sqlite3_column_int64(s, 0) : 0;
    if (row) sqlite3_reset(s);
    for (int i = 0; i < n; i++) {
        const tb_metric m = metrics[i];
        uint64_t hours[32] = {0};
        if (series) code = v->store->plane.counters->hours(v->store, series, m, late->day, hours, err);
        if (code == TB_E_CORRUPT) return TB_OK; /* told with the counters */
        if (code) return code;
        for (int h = 0; h < 24; h++) {
            const int64_t came = (int64_t)late->value[i][h]; /* below zero: more was withdrawn */
            if (came < 0 || (uint64_t)came <= hours[h]) continue;
            tb__differs(v, "Late usage %lld has %llu %s in hour %d; there are %llu.", (long long)id,
                        (unsigned long long)late->value[i][h], tb_metric_table[m].name, h,
                        (unsigned long long)hours[h]);
            return TB_OK;
        }
    }
    return TB_OK;
}

static bool same_place(const tb__late_day *a, const tb__late_day *b)
{
    return a->scope == b->scope && a->owner == b->owner && a->edge == b->edge && a->day == b->day;
}

/* Rows of one place and day are summed before they are compared. */
static tb_code verify_late(tb__verify *v, tb_error *err)
{
    tb__late_day sum = {.scope = 0}, day;
    int64_t last = 0;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(v, TB__V_LATE, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        tb_error why = {0};
        int64_t id = sqlite3_column_int64(s, 0), month = sqlite3_column_int64(s, 8);
        if (tb__late_decode(s, sqlite3_column_int64(s, 7), month, &day, &why)) {
            tb__differs(v, "%s", why.message);
            continue;
        }
        if (tb_month_from_day(day.day) != month)
            tb__differs(v, "Late usage %lld is noted under another month than its day's.",
                        (long long)id);
        if (!same_place(&sum, &day)) {
            if (sum.scope) code = compare_late(v, &sum, last, err);
            sum = (tb__late_day){
                .scope = day.scope, .owner = day.owner, .edge = day.edge, .day = day.day};
        }
        for (int i = 0; i < TB__LATE_COUNTERS; i++)
            for (int h = 0; h < 24; h++)
                sum.value[i][h] += day.taken ? 0 - day.value[i][h] : day.value[i][h];
        last = id;
        if (code) sqlite3_reset(s);
    }
    return code || !sum.scope ? code : compare_late(v, &sum, last, err);
}

tb_code tb__verify_billing(tb__verify *v, tb_error *err)
{
    static tb_code (*const parts[])(tb__verify *, tb_error *) = {
        verify_references, verify_books, verify_invoices, verify_late,
    };
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++)
        code = tb__verify_note(v, parts[i](v, err), err);
    return code;
}
