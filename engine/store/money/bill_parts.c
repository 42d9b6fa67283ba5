/* The parts of a month: each lies between two moments at which a price book comes into force, or the contract's own book. */
#include "store/money/bill_making.h"

#include <string.h>

/* Books that are not the store's (a scenario's) count always. */
static tb_code book_counts(tb__making *m, const tb_book *book, bool *ret, tb_error *err)
{
    int64_t version = 0;
    sqlite3_stmt *s;
    bool row = false;
    *ret = true;
    if (m->priced == INT64_MAX) return TB_OK;
    tb_code code = tb__sql(m->store, TB__SQL_BOOK_VERSION, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, book->sha256, -1, SQLITE_STATIC);
    code = tb__step(m->store, s, &row, err);
    if (row) version = sqlite3_column_int64(s, 0);
    if (!code) sqlite3_reset(s);
    *ret = version <= m->priced;
    return code;
}

static tb_code add_part(tb__making *m, const tb_book *book, int64_t from_us, tb_error *err)
{
    tb_code code = TB__GROW(m->b, parts, err);
    if (code) return code;
    m->b->parts[m->b->n_parts++] = (tb_bill_part){book, from_us, m->to_us};
    return TB_OK;
}

/* Puts a book into the parts, which stay ascending. The first part begins with the month, whenever
 * its book does: of two such books the later one is in force. */
static tb_code place_book(tb__making *m, const tb_book *book, tb_error *err)
{
    struct tb__billing *b = m->b;
    int64_t from_us = tb__later(book->effective_us, m->from_us);
    size_t at = 0;
    while (at < b->n_parts && b->parts[at].from_us < from_us)
        at++;
    if (at < b->n_parts && b->parts[at].from_us == from_us) {
        tb_bill_part *there = &b->parts[at];
        if (!there->book || there->book->effective_us <= book->effective_us) there->book = book;
        return TB_OK;
    }
    tb_code code = add_part(m, book, from_us, err);
    if (code) return code;
    tb_bill_part added = b->parts[b->n_parts - 1];
    memmove(b->parts + at + 1, b->parts + at, (b->n_parts - 1 - at) * sizeof *b->parts);
    b->parts[at] = added;
    return TB_OK;
}

/* The currency's own books: those that are there for a contract alone are passed over. */
static tb_code place_books(tb__making *m, const tb_bill_query *query, const char currency[4], tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < query->n_books; i++) {
        const tb_book *book = &query->books[i];
        bool counts = false;
        if ((book->aside && !m->other) || book->contract || book->effective_us >= m->to_us || strcmp(book->currency, currency) != 0)
            continue;
        code = book_counts(m, book, &counts, err);
        if (!code && counts) code = place_book(m, book, err);
    }
    return code;
}

/* The book that the contract names, NULL where there is none in the currency. */
static tb_code find_own(tb__making *m, const tb_bill_query *query, const tb__account_terms *terms,
                        const tb_book **ret_own, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_own = NULL;
    for (size_t i = 0; !code && i < query->n_books; i++) {
        const tb_book *book = &query->books[i];
        bool counts = false;
        if ((book->aside && !m->other) || strcmp(book->id, terms->contract.book) != 0 ||
            strcmp(book->currency, terms->currency) != 0)
            continue;
        code = book_counts(m, book, &counts, err);
        if (!code && counts) *ret_own = book;
    }
    return code;
}

/* From its moment on the account's own book holds, and no other after it. */
static tb_code place_own(tb__making *m, const tb_book *own, tb_error *err)
{
    struct tb__billing *b = m->b;
    const int64_t from_us = tb__later(own->effective_us, m->from_us);
    if (own->effective_us >= m->to_us) return TB_OK;
    while (b->n_parts && b->parts[b->n_parts - 1].from_us >= from_us)
        b->n_parts--;
    return add_part(m, own, from_us, err);
}

tb_code tb__parts_make(tb__making *m, const tb_bill_query *query, const tb__account_terms *terms, tb_error *err)
{
    const bool replaced = query->n_books && !query->books[0].sha256[0];
    const bool named = terms->contract.book[0] && !replaced;
    const tb_book *own = NULL;
    m->b->n_parts = 0;
    tb_code code = add_part(m, NULL, m->from_us, err);
    if (!code && named) code = find_own(m, query, terms, &own, err);
    m->book_missing = named && !own;
    if (!code && !m->book_missing) code = place_books(m, query, terms->currency, err);
    if (!code && own) code = place_own(m, own, err);
    for (size_t i = 0; i + 1 < m->b->n_parts; i++)
        m->b->parts[i].to_us = m->b->parts[i + 1].from_us;
    return code;
}
