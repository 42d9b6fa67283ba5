/* What checks of documents share: the parts of a stored document, taken out of the log of documents as bundles take them. */
#ifndef TOLLBOOK_TESTS_CHECK_FIXTURE_H
#define TOLLBOOK_TESTS_CHECK_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/invoicing/issue_parts.h"
#include "ops/proof/refs.h"
#include "tollbook/check.h"
#include "tollbook/prooflog.h"

#define PARTS_MAX 4096

/* All texts are its own, and terminated. */
typedef struct parts {
    tb_check_parts of;
    tb_text books[PARTS_MAX], earlier[PARTS_MAX];
    tb_check_day days[PARTS_MAX];
} parts;

static inline tb_text text_kept(const char *text, size_t len)
{
    char *copy = malloc(len + 1);
    if (len) memcpy(copy, text, len);
    copy[len] = 0;
    return (tb_text){copy, len};
}

static inline void text_drop(tb_text text)
{
    free((void *)(uintptr_t)text.data);
}

static inline tb_code parts_day(tb_store *store, parts *p, int64_t index, tb_error *err)
{
    tb_proof_opened opened = {.len = 0};
    tb_buf text;
    size_t at = p->of.n_days;
    while (at && p->days[at - 1].index >= index)
        at--;
    if (at < p->of.n_days && p->days[at].index == index) return TB_OK;
    if (p->of.n_days == PARTS_MAX) return tb_fail(err, TB_E_TOO_LARGE, NULL, "too many days");
    tb_buf_init(&text, (size_t)1 << 30, NULL);
    tb_code code = tb_store_proof_open(store, index, (tb_text){"", 0}, &opened, &text, err);
    if (!code) {
        memmove(&p->days[at + 1], &p->days[at], (p->of.n_days++ - at) * sizeof *p->days);
        p->days[at] = (tb_check_day){index, opened.entry.day, text_kept(text.data + opened.at, opened.len)};
    }
    tb_buf_release(&text);
    return code;
}

static inline tb_code parts_earlier(tb_store *store, parts *p, int64_t account, const char *number, tb_error *err)
{
    char member[96];
    tb_invoice invoice;
    snprintf(member, sizeof member, ",\"number\":\"%s\"", number);
    for (size_t i = 0; i < p->of.n_earlier; i++)
        if (strstr(p->earlier[i].data, member)) return TB_OK;
    if (p->of.n_earlier == PARTS_MAX) return tb_fail(err, TB_E_TOO_LARGE, NULL, "too many documents");
    tb_code code = tb_store_invoice(store, account, number, &invoice, err);
    if (code) return code;
    p->earlier[p->of.n_earlier++] = text_kept(invoice.text, invoice.text_len);
    tb_invoice_release(&invoice);
    return TB_OK;
}

static inline void parts_books(parts *p, const tb__proof_refs *refs, const tb_book *books, size_t n_books)
{
    for (size_t k = 0; k < n_books; k++)
        for (size_t i = 0; i < refs->n_books; i++)
            if (strcmp(refs->books[i].text, books[k].id) == 0) {
                p->books[p->of.n_books++] = text_kept(books[k].canonical, books[k].canonical_len);
                break;
            }
}

/* Release it in any case. */
static inline tb_code parts_read(tb_store *store, const tb_invoice *invoice, const tb_book *books, size_t n_books, parts *p,
                                 tb_error *err)
{
    tb__proof_refs refs = {.n_days = 0};
    tb_buf terms;
    memset(p, 0, sizeof *p);
    p->of = (tb_check_parts){.books = p->books, .days = p->days, .earlier = p->earlier};
    p->of.invoice = text_kept(invoice->text, invoice->text_len);
    tb_buf_init(&terms, TB_TERMS_MAX, NULL);
    tb_code code = tb__issue_terms_again(store, invoice, &terms, err);
    p->of.terms = text_kept(terms.data, terms.len);
    tb_buf_release(&terms);
    if (!code) code = tb__proof_refs_read(p->of.terms, &refs, err);
    for (size_t i = 0; !code && i < refs.n_days; i++)
        code = parts_day(store, p, refs.days[i], err);
    for (size_t i = 0; !code && i < refs.n_earlier; i++)
        code = parts_earlier(store, p, invoice->account, refs.earlier[i].text, err);
    if (!code) parts_books(p, &refs, books, n_books);
    tb__proof_refs_release(&refs);
    return code;
}

static inline void parts_release(parts *p)
{
    text_drop(p->of.invoice);
    text_drop(p->of.terms);
    for (size_t i = 0; i < PARTS_MAX; i++) { /* a test may have left some out */
        text_drop(p->books[i]);
        text_drop(p->days[i].text);
        text_drop(p->earlier[i]);
    }
}

#endif
