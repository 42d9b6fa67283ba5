/* Checks every document of a database as its customer would: its terms, days, books and earlier documents are taken out of the log of
 * documents, as bundles take them, and it is rated again from these alone.
 *
 *   check_runner FILE [terms]
 *
 * Prints a line for each document that is not the same, then "N checked, N differ, N not kept". Exit status 1 where any differs. */
#include <stdio.h>

#include "../unit/check_fixture.h"

static tb_book *books;
static size_t n_books;
static bool shows;

static tb_code check(tb_store *store, const tb_invoice *invoice, tb_error *err)
{
    static parts p;
    tb_check_rated rated;
    tb_code code = parts_read(store, invoice, books, n_books, &p, err);
    if (!code) code = tb_check_rate(&p.of, &rated, err);
    if (shows) printf("%s\n%s\n", invoice->number, p.of.terms.data);
    parts_release(&p);
    return code;
}

static tb_code check_all(tb_store *store, size_t *ret_differ, tb_error *err)
{
    tb_invoice *all = NULL;
    size_t n = 0, gone = 0;
    tb_code code = tb_store_books(store, &books, &n_books, err);
    if (!code) code = tb_store_invoices(store, 0, INT64_MIN, &all, &n, err);
    for (size_t i = 0; i < n; i++) {
        tb_error why = {0};
        const tb_code found = check(store, &all[i], &why);
        if (found)
            printf("%s (%s of account %lld): %s: %s: %s\n", all[i].number, all[i].kind, (long long)all[i].account, tb_code_name(found),
                   why.field, why.message);
        gone += found == TB_E_NOT_KEPT;
        *ret_differ += found && found != TB_E_NOT_KEPT;
        tb_invoice_release(&all[i]);
    }
    printf("%zu checked, %zu differ, %zu not kept\n", n, *ret_differ, gone);
    free(all);
    tb_books_release(books, n_books);
    free(books);
    return code;
}

int main(int argc, char **argv)
{
    const tb_store_options options = {.now_us = 0};
    tb_error err = {0};
    tb_store *store;
    size_t differ = 0;
    if (argc < 2) return 2;
    shows = argc > 2;
    tb_code code = tb_store_open(argv[1], &options, &store, &err);
    if (!code) {
        code = tb_store_read_begin(store, &err);
        if (!code) code = check_all(store, &differ, &err);
        tb_store_read_end(store);
        tb_store_close(store);
    }
    if (code) fprintf(stderr, "%s: %s\n", err.field, err.message);
    return code ? 3 : differ != 0;
}
