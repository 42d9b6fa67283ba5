/* Reads the parts of a bundle, and rates the document again (check.h). */
#include "check/contents.h"

#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

tb_code tb__contents_init(tb__contents *c, size_t n_books, size_t n_earlier, tb_error *err)
{
    *c = (tb__contents){.n_books = n_books, .n_earlier = n_earlier};
    c->books = calloc(n_books + 1, sizeof *c->books);
    c->earlier = calloc(n_earlier + 1, sizeof *c->earlier);
    return c->books && c->earlier ? TB_OK : tb_no_memory(err);
}

void tb__contents_release(tb__contents *c)
{
    for (size_t i = 0; c->books && i < c->n_books; i++)
        tb_book_release(&c->books[i]);
    for (size_t i = 0; c->earlier && i < c->n_earlier; i++)
        tb_paper_release(&c->earlier[i]);
    free(c->books);
    free(c->earlier);
    tb__terms_release(&c->terms);
    tb_paper_release(&c->document);
}

void tb__describe(const tb_paper *document, tb_check_rated *ret)
{
    const tb_statement *s = &document->statement;
    *ret = (tb_check_rated){.lines = s->bill->n_lines, .account = s->account, .watermark = s->watermark};
    memcpy(ret->number, s->number, sizeof ret->number);
    memcpy(ret->kind, s->kind, sizeof ret->kind);
    memcpy(ret->currency, s->currency, sizeof ret->currency);
    tb_month_format(s->month, ret->month);
    *tb_decimal_put_fixed(ret->total, s->bill->total, s->bill->minor_digits) = 0;
}

/* The part's name is the error's field; what its reader says becomes the reason. */
static tb_code cannot_read(tb_code code, const char *part, const tb_error *why, tb_error *err)
{
    if (code == TB_E_NOMEM) return tb_no_memory(err);
    tb_fail(err, TB_E_VALIDATION, part, "The bundle's \"%s\" cannot be read: %.240s", part, why->message);
    if (err) err->byte = why->byte;
    return TB_E_VALIDATION;
}

static tb_code read_parts(const tb_check_parts *parts, tb__contents *c, tb_check_rated *rated, tb_error *err)
{
    tb_error why = {0};
    tb_code code = tb_paper_parse(parts->invoice.data, parts->invoice.len, NULL, &c->document, &why);
    if (code) return cannot_read(code, "invoice", &why, err);
    tb__describe(&c->document, rated);
    for (size_t i = 0; i < c->n_earlier; i++) {
        code = tb_paper_parse(parts->earlier[i].data, parts->earlier[i].len, NULL, &c->earlier[i], &why);
        if (code) return cannot_read(code, "earlier", &why, err);
    }
    for (size_t i = 0; i < c->n_books; i++) {
        code = tb_book_parse(parts->books[i].data, parts->books[i].len, NULL, &c->books[i], &why);
        if (code) return cannot_read(code, "books", &why, err);
    }
    return tb__terms_read(parts->terms, &c->terms, err);
}

tb_code tb_check_rate(const tb_check_parts *parts, tb_check_rated *ret_rated, tb_error *err)
{
    tb__contents c;
    *ret_rated = (tb_check_rated){.cells = 0};
    tb_code code = tb__contents_init(&c, parts->n_books, parts->n_earlier, err);
    c.text = parts->invoice;
    c.days = parts->days;
    c.n_days = parts->n_days;
    if (!code) code = read_parts(parts, &c, ret_rated, err);
    if (!code) code = tb__terms_compare(&c.terms, &c.document.statement, err);
    if (!code) code = tb__rate(&c, ret_rated, err);
    tb__contents_release(&c);
    return code;
}
