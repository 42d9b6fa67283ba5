/* Checks every document of a database as its customer would: its terms, days, books and earlier documents are taken out of the log of
 * documents, as bundles take them, and it is rated again from these alone.
 *
 *   check_runner FILE [-v]
 *
 * Prints a line for each document that is not the same, then "N checked, N differ, N not kept". Exit status 1 where any differs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/invoicing/issue_parts.h"
#include "ops/proof/refs.h"
#include "tollbook/check.h"
#include "tollbook/prooflog.h"

#define LIST 4096
#define TEXT ((size_t)1 << 30)

typedef struct parts {
    tb_check_parts of;
    tb_text books[LIST], earlier[LIST];
    tb_check_day days[LIST];
} parts;

static tb_book *books;
static size_t n_books;
static bool shows;

static void die(const tb_error *err)
{
    fprintf(stderr, "%s: %s\n", err->field, err->message);
    exit(3);
}

/* A copy, which is kept. */
static tb_text kept(const char *text, size_t len)
{
    char *copy = malloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = 0;
    return (tb_text){copy, len};
}

static tb_code open_day(tb_store *store, int64_t index, tb_check_day *ret, tb_error *err)
{
    tb_proof_opened opened = {.len = 0};
    tb_buf text;
    tb_buf_init(&text, TEXT, NULL);
    tb_code code = tb_store_proof_open(store, index, (tb_text){"", 0}, &opened, &text, err);
    if (!code) *ret = (tb_check_day){index, opened.entry.day, kept(text.data ? text.data + opened.at : "", opened.len)};
    tb_buf_release(&text);
    return code;
}

static tb_code add_day(tb_store *store, parts *p, int64_t index, tb_error *err)
{
    size_t at = p->of.n_days;
    while (at && p->days[at - 1].index >= index)
        at--;
    if (at < p->of.n_days && p->days[at].index == index) return TB_OK;
    if (p->of.n_days == LIST) return tb_fail(err, TB_E_TOO_LARGE, NULL, "too many days");
    memmove(&p->days[at + 1], &p->days[at], (p->of.n_days++ - at) * sizeof *p->days);
    return open_day(store, index, &p->days[at], err);
}

static tb_code add_earlier(tb_store *store, parts *p, int64_t account, const char *number, tb_error *err)
{
    tb_invoice invoice;
    if (p->of.n_earlier == LIST) return tb_fail(err, TB_E_TOO_LARGE, NULL, "too many documents");
    tb_code code = tb_store_invoice(store, account, number, &invoice, err);
    if (code) return code;
    p->earlier[p->of.n_earlier++] = kept(invoice.text, invoice.text_len);
    tb_invoice_release(&invoice);
    return TB_OK;
}

static tb_code gather(tb_store *store, const tb_invoice *invoice, parts *p, tb_error *err)
{
    tb__proof_refs refs = {.n_days = 0};
    tb_code code = tb__proof_refs_read(p->of.terms, &refs, err);
    for (size_t i = 0; !code && i < refs.n_days; i++)
        code = add_day(store, p, refs.days[i], err);
    for (size_t i = 0; !code && i < refs.n_earlier; i++)
        code = add_earlier(store, p, invoice->account, refs.earlier[i].text, err);
    for (size_t k = 0; k < n_books; k++)
        for (size_t i = 0; i < refs.n_books; i++)
            if (strcmp(refs.books[i].text, books[k].id) == 0) {
                p->books[p->of.n_books++] = (tb_text){books[k].canonical, books[k].canonical_len};
                break;
            }
    tb__proof_refs_release(&refs);
    return code;
}

static tb_code check(tb_store *store, const tb_invoice *invoice, tb_error *err)
{
    static parts p;
    tb_check_rated rated;
    tb_buf terms;
    memset(&p, 0, sizeof p);
    p.of = (tb_check_parts){.invoice = {invoice->text, invoice->text_len}, .books = p.books, .days = p.days, .earlier = p.earlier};
    tb_buf_init(&terms, TB_TERMS_MAX, NULL);
    tb_code code = tb__issue_terms_again(store, invoice, &terms, err);
    p.of.terms = (tb_text){terms.data, terms.len};
    if (!code) code = gather(store, invoice, &p, err);
    if (!code) code = tb_check_rate(&p.of, &rated, err);
    if (shows) printf("%s\n%.*s\n", invoice->number, (int)terms.len, terms.data ? terms.data : "");
    tb_buf_release(&terms);
    for (size_t i = 0; i < p.of.n_days; i++)
        free((void *)(uintptr_t)p.days[i].text.data);
    for (size_t i = 0; i < p.of.n_earlier; i++)
        free((void *)(uintptr_t)p.earlier[i].data);
    return code;
}

int main(int argc, char **argv)
{
    tb_error err = {0};
    tb_store *store;
    tb_invoice *all = NULL;
    size_t n = 0, checked = 0, differ = 0, gone = 0;
    const tb_store_options options = {.now_us = 0};
    if (argc < 2) return 2;
    shows = argc > 2;
    if (tb_store_open(argv[1], &options, &store, &err) || tb_store_read_begin(store, &err) || tb_store_books(store, &books, &n_books, &err) ||
        tb_store_invoices(store, 0, INT64_MIN, &all, &n, &err))
        die(&err);
    for (size_t i = 0; i < n; i++) {
        tb_error why = {0};
        const tb_code code = check(store, &all[i], &why);
        if (code && code != TB_E_NOT_KEPT)
            printf("%s (%s of account %lld): %s: %s: %s\n", all[i].number, all[i].kind, (long long)all[i].account, tb_code_name(code), why.field,
                   why.message);
        if (code == TB_E_NOT_KEPT && shows) printf("%s: %s\n", all[i].number, why.message);
        gone += code == TB_E_NOT_KEPT;
        differ += code && code != TB_E_NOT_KEPT;
        checked++;
        tb_invoice_release(&all[i]);
    }
    printf("%zu checked, %zu differ, %zu not kept\n", checked, differ, gone);
    free(all);
    tb_books_release(books, n_books);
    free(books);
    tb_store_read_end(store);
    tb_store_close(store);
    return differ != 0;
}
