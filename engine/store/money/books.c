/* Price books: append-only rows that hold the canonical text. A book is in force from its moment to that of the next
 * book of its currency; the last one without end. The R*Tree gives the books that a new book would overlap: the one
 * before it ends where it begins, and a book that begins at the same moment refuses it, unless the new one supersedes
 * it. Books form one chain for each moment, and lists are in its order: the last one is in force, except in months with
 * an earlier invoice. Books of scope contract are in no such series: accounts name them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/money/shadows.h"

static tb_code same_book(tb_store *store, const tb_book *book, bool *ret_known, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_BOOK_BY_NAME, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, book->id, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    *ret_known = row;
    if (code || !row) return code;
    const char *stored = (const char *)sqlite3_column_text(s, 0);
    if (!stored) return tb_no_memory(err);
    bool same = strcmp(stored, book->sha256) == 0;
    sqlite3_reset(s);
    if (same) return TB_OK;
    return tb_fail(err, TB_E_BOOK, "book",
                   "Book %s is known with other content; books do not change, so give the new one"
                   " another id.",
                   book->id);
}

static tb_code refuse_overlap(const tb_book *book, const char *standing, tb_error *err)
{
    if (!standing[0])
        return tb_fail(err, TB_E_BOOK, "supersedes",
                       "There is no book %s of %s that takes effect at this moment.",
                       book->supersedes, book->currency);
    if (!book->supersedes[0])
        return tb_fail(err, TB_E_BOOK, "effective_from",
                       "Book %s of %s takes effect at this moment already. To take its place in"
                       " months that are not final, say \"supersedes\": \"%s\".",
                       standing, book->currency, standing);
    return tb_fail(err, TB_E_BOOK, "supersedes",
                   "It is book %s of %s that holds from this moment on.", standing, book->currency);
}

/* No other book of this currency begins when this one does, but for one that it supersedes. */
static tb_code check_overlap(tb_store *store, const tb_book *book, tb_error *err)
{
    tb_touched *hits = NULL;
    size_t n = 0;
    char standing[sizeof hits->name] = "";
    if (book->contract) return TB_OK;
    tb_code code = tb_store_touched(store, book->effective_us, book->effective_us + TB_US_PER_HOUR,
                                    &hits, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        if (!hits[i].invoice && !hits[i].superseded && !hits[i].contract && hits[i].from_us == book->effective_us &&
            strcmp(hits[i].currency, book->currency) == 0)
            memcpy(standing, hits[i].name, sizeof standing);
    free(hits);
    if (code || strcmp(standing, book->supersedes) == 0) return code;
    return refuse_overlap(book, standing, err);
}

/* In the books nearest in time that have the fee; of one moment the last holds. */
static tb_code check_fee(const tb_book *book, const tb_fee *fee, const tb_book *others, size_t n, tb_error *err)
{
    const tb_book *near[2] = {NULL, NULL}; /* the last one that begins before the book, and the first one after it */
    for (size_t i = 0; i < n; i++) {
        const tb_book *other = &others[i];
        const bool later = other->effective_us > book->effective_us;
        if (other->contract || other->effective_us == book->effective_us || strcmp(other->currency, book->currency) != 0 ||
            !tb_book_fee(other, fee->id))
            continue;
        if (!later || !near[1] || near[1]->effective_us == other->effective_us) near[later] = other;
    }
    for (int i = 0; i < 2; i++) {
        const tb_fee *other = near[i] ? tb_book_fee(near[i], fee->id) : fee;
        if (other->yearly == fee->yearly && other->advance == fee->advance) continue;
        char field[sizeof err->field];
        snprintf(field, sizeof field, "fees.%s.%s", fee->id, other->yearly != fee->yearly ? "every" : "timing");
        return tb_fail(err, TB_E_BOOK, field, "Fee %s is by the %s in %s in book %s, and stays so: give the other one another id.",
                       fee->id, other->yearly ? "year" : "month", other->advance ? "advance" : "arrears", near[i]->id);
    }
    return TB_OK;
}

/* A fee keeps its period, and whether it is billed in advance: what is billed of a month or year follows from both. */
static tb_code check_fees(tb_store *store, const tb_book *book, tb_error *err)
{
    tb_book *others = NULL;
    size_t n = 0;
    tb_code code = book->contract || !book->n_fees ? TB_OK : tb_store_books(store, &others, &n, err);
    for (size_t i = 0; i < book->n_fees && !code; i++)
        code = check_fee(book, &book->fees[i], others, n, err);
    tb_books_release(others, n);
    free(others);
    return code;
}

/* An id belongs to a shadow or to a book: a shadow becomes a book by being activated. */
static tb_code check_shadow(tb_store *store, const tb_book *book, tb_error *err)
{
    int64_t id;
    char sha256[65];
    tb_code code = tb__shadow_live(store, book->id, &id, sha256, err);
    if (code || !id) return code;
    return tb_fail(
        err, TB_E_BOOK, "book",
        "%s is kept as a shadow book: `book activate` makes it a book, `book drop` forgets"
        " it.",
        book->id);
}

static tb_code insert(tb_store *store, const tb_book *book, int64_t now_us, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_BOOK_INSERT, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, book->id, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, book->currency, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, book->effective_us);
    sqlite3_bind_text(s, 4, book->sha256, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 5, now_us);
    sqlite3_bind_text(s, 6, book->canonical, (int)book->canonical_len, SQLITE_STATIC);
    sqlite3_bind_text(s, 7, book->supersedes, -1, SQLITE_STATIC);
    return tb__run(store, s, err);
}

tb_code tb_store_add_book(tb_store *store, const tb_book *book, int64_t now_us, bool *ret_known,
                          tb_error *err)
{
    bool known = false;
    tb_code code = same_book(store, book, &known, err);
    if (!code && !known) code = tb_book_check_shown(book, err);
    if (!code && !known) code = check_shadow(store, book, err);
    if (!code && !known) code = check_overlap(store, book, err);
    if (!code && !known) code = check_fees(store, book, err);
    if (!code && !known) code = insert(store, book, now_us, err);
    if (!code && !known) code = tb__book_spans_rebuild(store, err);
    if (!code && !known) code = tb__proof_book(store, book->id, book->canonical, book->canonical_len, err);
    if (code) return code;
    if (!known) store->dirty = true;
    *ret_known = known;
    return TB_OK;
}

void tb_books_release(tb_book *books, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tb_book_release(&books[i]);
}

tb_code tb__stored_book(sqlite3_stmt *s, int column, tb_book *ret_book, tb_error *err)
{
    tb_error why = {0};
    const char *text = (const char *)sqlite3_column_text(s, column);
    if (!text) return tb_no_memory(err);
    tb_code code =
        tb_book_parse(text, (size_t)sqlite3_column_bytes(s, column), NULL, ret_book, &why);
    if (code != TB_E_BOOK) return code ? tb_fail(err, code, why.field, "%s", why.message) : TB_OK;
    return tb_fail(err, TB_E_CORRUPT, "book", "A stored book cannot be read: %s: %.200s Run verify.",
                   why.field, why.message);
}

/* --- cache of parsed books, compared by their text --- */

enum { READ_BOOKS = 8 }; /* the list's first ones */

struct tb__read_books {
    tb_book book[READ_BOOKS]; /* canonical NULL: none yet */
};

void tb__read_books_free(struct tb__read_books *read)
{
    if (read) tb_books_release(read->book, READ_BOOKS);
    free(read);
}

/* The place-th book of the list, which the row's first column has. */
static tb_code read_book(tb_store *store, sqlite3_stmt *s, size_t place, tb_book *ret_book, tb_error *err)
{
    if (!store->read_books) store->read_books = calloc(1, sizeof *store->read_books);
    if (!store->read_books || place >= READ_BOOKS) return tb__stored_book(s, 0, ret_book, err);
    tb_book *read = &store->read_books->book[place];
    const char *text = (const char *)sqlite3_column_text(s, 0);
    if (!text) return tb_no_memory(err);
    if (!read->canonical || (size_t)sqlite3_column_bytes(s, 0) != read->canonical_len ||
        memcmp(text, read->canonical, read->canonical_len) != 0) {
        tb_book_release(read);
        tb_code code = tb__stored_book(s, 0, read, err);
        if (code) return code;
    }
    return tb_book_copy(read, ret_book, err);
}

static tb_code books_until(tb_store *store, int64_t version, tb_book **ret_books, size_t *ret_n,
                           tb_error *err)
{
    tb_book *books = NULL;
    size_t n = 0, cap = 0;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_BOOKS, &version, 1, &s, err);
    if (code) return code;
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__grow(&books, n, &cap, sizeof *books, err);
        if (!code) code = read_book(store, s, n, &books[n], err);
        if (!code) n++;
    }
    if (!code) {
        *ret_books = books;
        *ret_n = n;
        return TB_OK;
    }
    sqlite3_reset(s);
    tb_books_release(books, n);
    free(books);
    return code;
}

tb_code tb_store_books(tb_store *store, tb_book **ret_books, size_t *ret_n, tb_error *err)
{
    return books_until(store, INT64_MAX, ret_books, ret_n, err);
}

tb_code tb_store_month_books(tb_store *store, int64_t account, int64_t month, tb_book **ret_books,
                             size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {account, month};
    int64_t invoiced = INT64_MAX;
    tb_code code = tb__int_of(store, TB__SQL_PRICED_BY, values, 2, INT64_MAX, &invoiced, err);
    return code ? code : books_until(store, invoiced, ret_books, ret_n, err);
}
