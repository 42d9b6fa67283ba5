/* Every stored invoice again, from what is stored, under an empty patch of its books.
 *
 *   replay_runner FILE     prints "N invoices, M to the byte", then a line for each other one
 *
 * The usage is read as of the invoice's watermark; each book is what the scenario makes of it; the
 * bill is made, dressed with the number and hashes that only the chain knows, and its canonical
 * text compared with the stored one. Credit notes and invoices with corrections of other months are
 * made of more than their own month and are left out (test_replay.py has none). */
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/invoice.h"
#include "tollbook/whatif.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EMPTY "{\"scenario\":\"same\",\"patch\":{}}"
#define NOW   ((int64_t)1 << 52) /* long past every month */
#define PARTS 16
#define BOOKS 16

static tb_error err;

static void must(tb_code code)
{
    if (!code) return;
    fprintf(stderr, "%s: %s\n", err.field, err.message);
    exit(2);
}

static void swap_books(tb_bill_source *source, const tb_book *books, const tb_book *made,
                       tb_bill_part parts[PARTS])
{
    if (source->input.n_parts > PARTS) abort();
    for (size_t i = 0; i < source->input.n_parts; i++) {
        parts[i] = source->input.parts[i];
        if (parts[i].book) parts[i].book = &made[parts[i].book - books];
    }
    source->input.parts = parts;
}

static bool same(tb_store *store, const tb_invoice *invoice, const tb_book *books,
                 const tb_book *made, size_t n)
{
    tb_bill_source source;
    tb_bill_part parts[PARTS];
    tb_statement_book in_force[PARTS];
    tb_statement statement;
    tb_bill bill;
    tb_paper paper;
    tb_buf out;
    must(tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, &err));
    must(tb_store_bill_input(store,
                             &(tb_bill_query){invoice->account, invoice->month, invoice->watermark, books, n, NOW},
                             &source, &err));
    swap_books(&source, books, made, parts);
    must(tb_bill_rate(&source.input, NULL, &bill, &err));
    tb_statement_init(&statement, &source.input, &bill, in_force);
    tb_statement_dress(&statement, &paper.statement);
    statement.watermark = paper.statement.watermark;
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, NULL);
    must(tb_statement_json(&statement, &out, NULL, &err));
    bool equal = out.len == invoice->text_len && memcmp(out.data, invoice->text, out.len) == 0;
    tb_buf_release(&out);
    tb_bill_release(&bill);
    tb_bill_source_release(&source);
    tb_paper_release(&paper);
    return equal;
}

static void make_books(const tb_book *books, size_t n, tb_book made[BOOKS])
{
    tb_scenario scenario;
    if (n > BOOKS) abort();
    must(tb_scenario_parse(EMPTY, sizeof EMPTY - 1, NULL, &scenario, &err));
    for (size_t i = 0; i < n; i++)
        must(tb_scenario_book(&scenario, &books[i], NULL, &made[i], &err));
    tb_scenario_release(&scenario);
}

int main(int argc, char **argv)
{
    tb_store *store;
    tb_book *books, made[BOOKS];
    tb_invoice *invoices;
    size_t n_books, n, equal = 0;
    if (argc != 2) return 2;
    must(tb_store_open(argv[1], &(tb_store_options){.write = false}, &store, &err));
    must(tb_store_books(store, &books, &n_books, &err));
    make_books(books, n_books, made);
    must(tb_store_invoices(store, 0, INT64_MIN, &invoices, &n, &err));
    bool *is = calloc(n + 1, sizeof *is);
    for (size_t i = 0; is && i < n; i++)
        equal += is[i] = same(store, &invoices[i], books, made, n_books);
    printf("%zu invoices, %zu to the byte\n", n, equal);
    for (size_t i = 0; is && i < n; i++) {
        if (!is[i]) printf("differs: %s\n", invoices[i].number);
        tb_invoice_release(&invoices[i]);
    }
    free(is);
    free(invoices);
    for (size_t i = 0; i < n_books; i++)
        tb_book_release(&made[i]);
    tb_books_release(books, n_books);
    free(books);
    tb_store_close(store);
    return equal == n ? 0 : 1;
}
