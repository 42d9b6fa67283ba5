/* tollbook book add | list | show | diff. A book is checked before the database is opened, so that
 * a document can be tried on any file. What only shadow books have is in shadow.c. */
#include <stdlib.h>
#include <string.h>

#include "cli/remote.h"
#include "tollbook/activate.h"
#include "tollbook/calendar.h"

/* --- add --- */

static tb_code add(tb_store *store, const tb_book *book, bool shadow, int64_t now_us,
                   bool *ret_known, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = shadow ? tb_store_add_shadow(store, book, now_us, ret_known, err)
                  : tb_store_add_book(store, book, now_us, ret_known, err);
    if (code == TB_OK) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

void book_say(const cli_call *call, const tb_book *book, bool known)
{
    bool shadow = cli_given(call, "shadow");
    char from[20];
    tb_time_format(book->effective_us, from);
    cli_say(call, "%s: %s \"%s\" (%s, from %.20s on) %s.", call->operands[0],
            shadow ? "shadow book" : "book", book->id, book->currency, from,
            known    ? "was there already: nothing changed"
            : shadow ? "is kept; it bills nothing"
                     : "is added");
}

static int add_here(const cli_call *call, const tb_book *book)
{
    tb_store *store;
    tb_error err;
    bool known = false;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, true, now_us, &store);
    if (status) return status;
    tb_code code = add(store, book, cli_given(call, "shadow"), now_us, &known, &err);
    tb_store_close(store);
    if (code) return cli_fail(call, call->operands[0], &err);
    book_say(call, book, known);
    return 0;
}

int cli_book_add(const cli_call *call)
{
    tb_buf text;
    tb_error err;
    tb_book book;
    int status = cli_check_place(call);
    if (status == 0) status = cli_read_file(call, call->operands[0], TB_BOOK_MAX, &text);
    if (status) return status;
    const char *bytes = text.data ? text.data : "";
    tb_code code = tb_book_parse(bytes, text.len, NULL, &book, &err);
    if (!code) {
        status = cli_given(call, "server") ? remote_book_add(call, &book, bytes, text.len)
                                           : add_here(call, &book);
        tb_book_release(&book);
    }
    tb_buf_release(&text);
    return code ? cli_fail(call, call->operands[0], &err) : status;
}

/* --- list, show --- */

typedef struct both {
    tb_month_books real;
    tb_shadow_books shadows;
} both;

static void both_release(both *books)
{
    tb_month_books_release(&books->real);
    tb_shadow_books_release(&books->shadows);
}

static tb_code both_read(tb_store *store, both *ret, tb_error *err)
{
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_month_books_read(store, &ret->real, err);
    if (!code) code = tb_shadow_books_read(store, &ret->shadows, err);
    tb_store_read_end(store);
    if (code) both_release(ret);
    return code;
}

static int read_books(const cli_call *call, both *ret_books)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    *ret_books = (both){.real = {0}};
    tb_code code = both_read(store, ret_books, &err);
    tb_store_close(store);
    return code ? cli_fail(call, NULL, &err) : 0;
}

/* The id of the book that took its place; "": it holds. */
static const char *superseded_by(const tb_month_books *books, const tb_book *book)
{
    for (size_t i = 0; i < books->n; i++)
        if (strcmp(books->list[i].supersedes, book->id) == 0) return books->list[i].id;
    return "";
}

static void list_one(const tb_book *book, const char *state, const char *superseded)
{
    char from[20];
    tb_time_format(book->effective_us, from);
    printf("%s\t%s\t%.20s\t%s\t%s\t%s\n", book->id, book->currency, from, book->sha256, state,
           superseded);
}

int cli_book_list(const cli_call *call)
{
    both books;
    int status = read_books(call, &books);
    if (status) return status;
    puts("book\tcurrency\teffective_from\tsha256\tstate\tsuperseded_by");
    for (size_t i = 0; i < books.real.n; i++) {
        const char *by = superseded_by(&books.real, &books.real.list[i]);
        list_one(&books.real.list[i], *by ? "superseded" : "book", by);
    }
    for (size_t i = 0; i < books.shadows.n; i++)
        list_one(&books.shadows.list[i].book, "shadow", "");
    both_release(&books);
    return cli_done(call);
}

static const tb_book *find(const cli_call *call, const both *books, const char *id)
{
    for (size_t i = 0; i < books->real.n; i++)
        if (strcmp(books->real.list[i].id, id) == 0) return &books->real.list[i];
    for (size_t i = 0; i < books->shadows.n; i++)
        if (strcmp(books->shadows.list[i].book.id, id) == 0) return &books->shadows.list[i].book;
    cli_say(call, "There is no book \"%.64s\". See: tollbook book list --db FILE", id);
    return NULL;
}

int cli_book_show(const cli_call *call)
{
    both books;
    int status = read_books(call, &books);
    if (status) return status;
    const tb_book *book = find(call, &books, call->operands[0]);
    if (book) printf("%s\n", book->canonical);
    status = book ? cli_done(call) : tb_code_exit(TB_E_NOT_FOUND);
    both_release(&books);
    return status;
}

/* --- diff: a book as lines "what<TAB>price", then the lines that differ --- */

typedef struct lines {
    tb_buf text;
    size_t n;
} lines;

static void put_line(lines *out, const char *what, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    size_t len = (size_t)(tb_decimal_put(text, value) - text);
    tb_buf_fmt(&out->text, "%s\t%.*s\n", what, (int)len, text);
    out->n++;
}

static void put_word(lines *out, const char *what, const char *word)
{
    tb_buf_fmt(&out->text, "%s\t%s\n", what, word);
    out->n++;
}

static void put_tiers(lines *out, const char *what, const tb_tiers *tiers)
{
    static const char *const modes[] = {"graduated", "volume", "package"};
    char name[96], from[TB_DECIMAL_TEXT_MAX + 1];
    snprintf(name, sizeof name, "%s.mode", what);
    put_word(out, name, modes[tiers->mode]);
    snprintf(name, sizeof name, "%s.included", what);
    put_line(out, name, tb_decimal_from_int(tiers->included));
    if (tiers->included) {
        snprintf(name, sizeof name, "%s.included_axis", what);
        put_word(out, name, tiers->included_absolute ? "absolute" : "net");
    }
    for (size_t i = 0; i < tiers->n; i++) {
        *tb_decimal_put(from, tb_decimal_from_int(tiers->tier[i].from)) = 0;
        snprintf(name, sizeof name, "%s.from %s.price", what, from);
        put_line(out, name, tiers->tier[i].shown);
        if (tb_decimal_sign(tiers->tier[i].flat) == 0) continue;
        snprintf(name, sizeof name, "%s.from %s.flat", what, from);
        put_line(out, name, tiers->tier[i].flat);
    }
}

static void put_regions(lines *out, const tb_book *book)
{
    char name[64];
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++) {
        tb_decimal per_gb;
        if (!book->region_priced[r]) continue;
        if (tb_decimal_shift(book->region_price[r], -9, &per_gb, NULL)) continue;
        snprintf(name, sizeof name, "bandwidth.premium.%s",
                 tb_billing_region_name((tb_billing_region)r));
        put_line(out, name, per_gb);
    }
}

static void put_book(lines *out, const tb_book *book)
{
    char from[21] = "";
    tb_time_format(book->effective_us, from);
    put_word(out, "currency", book->currency);
    put_word(out, "effective_from", from);
    if (book->supersedes[0]) put_word(out, "supersedes", book->supersedes);
    put_word(out, "rounding", book->rounding == TB_HALF_UP ? "half_up" : "half_even");
    put_line(out, "minimum_monthly", book->minimum_monthly);
    if (book->has_premium) put_regions(out, book);
    if (book->has_volume) put_tiers(out, "bandwidth.volume", &book->volume);
    if (book->has_optimizer) put_line(out, "optimizer.monthly", book->optimizer_monthly);
    if (!book->has_balancer) return;
    put_line(out, "load_balancer.monthly_fee", book->balancer_fee);
    put_tiers(out, "load_balancer", &book->balancer);
}

/* The line of `text` that starts with the first `len` bytes of `key` and a tab; NULL: none. */
static const char *line_of(const tb_buf *text, const char *key, size_t len)
{
    for (const char *at = text->data, *end = text->data + text->len; at < end;) {
        size_t n = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);
        if (n > len && memcmp(at, key, len + 1) == 0) return at;
        at += n + 1;
    }
    return NULL;
}

static size_t print_missing(const tb_buf *of, const tb_buf *in, char sign)
{
    size_t differences = 0;
    for (const char *at = of->data, *end = of->data + of->len; at < end;) {
        size_t n = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);
        size_t key = (size_t)((const char *)memchr(at, '\t', n) - at);
        const char *other = line_of(in, at, key);
        if (!other || memcmp(other, at, n + 1) != 0) {
            printf("%c %.*s\n", sign, (int)n, at);
            differences++;
        }
        at += n + 1;
    }
    return differences;
}

static int diff(const cli_call *call, const tb_book *a, const tb_book *b)
{
    lines la = {0}, lb = {0};
    tb_error err;
    tb_buf_init(&la.text, TB_BOOK_MAX, NULL);
    tb_buf_init(&lb.text, TB_BOOK_MAX, NULL);
    put_book(&la, a);
    put_book(&lb, b);
    tb_code code = tb_buf_check(&la.text, &err);
    if (!code) code = tb_buf_check(&lb.text, &err);
    int status = 0;
    if (code) {
        status = cli_fail(call, NULL, &err);
    } else {
        size_t n = print_missing(&la.text, &lb.text, '-') + print_missing(&lb.text, &la.text, '+');
        if (n == 0) cli_say(call, "\"%s\" and \"%s\" price alike.", a->id, b->id);
        status = cli_done(call);
    }
    tb_buf_release(&la.text);
    tb_buf_release(&lb.text);
    return status;
}

int cli_book_diff(const cli_call *call)
{
    both books;
    int status = read_books(call, &books);
    if (status) return status;
    const tb_book *a = find(call, &books, call->operands[0]);
    const tb_book *b = a ? find(call, &books, call->operands[1]) : NULL;
    status = b ? diff(call, a, b) : tb_code_exit(TB_E_NOT_FOUND);
    both_release(&books);
    return status;
}
