/* Named prices: found in a book's canonical text by their paths, and replaced in it. The result is parsed like
 * any other book. The document's values are in order, an object's members after it, so one walk with a stack
 * of the ends of containers is enough. */
#include "base/arena.h"
#include "model/document.h"
#include "tollbook/buf.h"
#include "tollbook/solve.h"

#include <stdio.h>
#include <string.h>

/* Members that are prices, wherever they stand; and all of bandwidth.premium.regions. */
static const char *const price_keys[] = {"price",          "flat",        "price_per_block",
                                         "monthly",        "monthly_fee", "price_per_million",
                                         "minimum_monthly", "minimum",    "amount"};
#define REGIONS "bandwidth.premium.regions."

/* One book's walk. */
#define NAMES_SHOWN ((size_t)230) /* bytes of them in a message */

typedef struct walk {
    tb_price_list *list;
    const char *const *paths;
    size_t n_paths;
    bool *named;   /* of each path */
    tb_buf *names; /* of all prices there are, for the message */
    size_t book;
    tb_error *err;
} walk;

static bool is_price(const char *path, const tb__node *key)
{
    if (strncmp(path, REGIONS, sizeof REGIONS - 1) == 0) return true;
    for (size_t i = 0; i < sizeof price_keys / sizeof *price_keys; i++)
        if (tb__node_is(key, price_keys[i], strlen(price_keys[i]))) return true;
    return false;
}

/* Whether the name is the path's own or that of something that holds it. */
static bool names(const char *name, const char *path)
{
    size_t len = strlen(name);
    if (strncmp(name, path, len) != 0) return false;
    if (path[len] == 0) return true;
    return (path[len] == '.' || path[len] == '[') && strcmp(path, "minimum_monthly") != 0;
}

static tb_code add_price(walk *w, const char *path, const tb__node *value)
{
    bool wanted = false;
    tb_named_price p = {.book = w->book, .at = value->at, .len = value->len};
    for (size_t i = 0; i < w->n_paths; i++) {
        bool meant = names(w->paths[i], path);
        w->named[i] |= meant;
        wanted |= meant;
    }
    tb_buf_fmt(w->names, "%s%s", w->names->len ? ", " : "", path);
    if (!wanted) return TB_OK;
    if (w->list->n == TB_NAMED_PRICES_MAX)
        return tb_fail(w->err, TB_E_VALIDATION, "price", "More than %d prices are named.",
                       TB_NAMED_PRICES_MAX);
    if (value->type == TB__STRING) p.len += 2; /* canonical text: the quotes, and no escape */
    snprintf(p.path, sizeof p.path, "%s", path);
    tb_code code =
        tb_decimal_parse(value->text, value->len, TB_DECIMAL_SCALE_MAX, &p.before, w->err);
    p.after = p.before;
    if (!code) w->list->price[w->list->n++] = p;
    return code;
}

#define DEPTH_MAX 8 /* of a book's containers */

/* Where a container's elements begin and end, and how long the path up to it is. */
typedef struct level {
    uint32_t end, element;
    bool array;
    size_t path_len;
} level;

static tb_code visit(walk *w, const tb__document *doc)
{
    const tb__node *nodes = doc->nodes;
    level stack[DEPTH_MAX];
    char path[TB_PRICE_PATH_MAX] = "";
    size_t depth = 0;
    for (uint32_t i = 0; i < doc->n;) {
        while (depth > 0 && i >= stack[depth - 1].end)
            depth--;
        level *in = depth ? &stack[depth - 1] : NULL;
        const tb__node *key = NULL;
        size_t len = in ? in->path_len : 0;
        if (in && in->array) {
            snprintf(path + len, sizeof path - len, "[%u]", (unsigned)in->element++);
        } else if (in) {
            key = &nodes[i++];
            snprintf(path + len, sizeof path - len, "%s%.*s", len ? "." : "", (int)key->len,
                     key->text);
        }
        const tb__node *value = &nodes[i];
        bool holds = value->type == TB__OBJECT || value->type == TB__ARRAY;
        if (holds && depth < DEPTH_MAX) {
            stack[depth++] = (level){value->next, 0, value->type == TB__ARRAY, strlen(path)};
        } else if (key && is_price(path, key)) {
            tb_code code = add_price(w, path, value);
            if (code) return code;
        }
        i++;
    }
    return TB_OK;
}

static tb_code visit_book(walk *w, const tb_book *book)
{
    tb__arena strings;
    tb__document doc;
    tb__arena_init(&strings, w->list->alloc);
    tb_code code = tb__document_parse(book->canonical, book->canonical_len, TB_E_BOOK, &strings,
                                      w->list->alloc, &doc, w->err);
    if (!code) {
        code = visit(w, &doc);
        tb__document_release(&doc);
    }
    tb__arena_release(&strings);
    return code;
}

/* How much of the names fits into a message: whole ones. */
static size_t names_shown(const tb_buf *names)
{
    size_t len = names->len;
    if (len <= NAMES_SHOWN) return len;
    for (len = NAMES_SHOWN; len > 0 && names->data[len] != ',';)
        len--;
    return len;
}

static tb_code check_named(const walk *w)
{
    size_t shown = names_shown(w->names);
    for (size_t i = 0; i < w->n_paths; i++)
        if (!w->named[i])
            return tb_fail(w->err, TB_E_VALIDATION, "price",
                           "No price is called \"%.60s\". There are: %.*s%s.", w->paths[i],
                           (int)shown, shown ? w->names->data : "",
                           shown < w->names->len ? " and more, see `book show`" : "");
    return TB_OK;
}

tb_code tb_price_list_find(const tb_book *const *books, size_t n_books, const char *const *paths,
                           size_t n_paths, const tb_alloc *alloc, tb_price_list *ret, tb_error *err)
{
    bool named[TB_SOLVE_PATHS_MAX] = {false};
    tb_buf buf;
    tb_price_list list = {.books = books, .n_books = n_books, .alloc = alloc};
    walk w = {.list = &list,
              .paths = paths,
              .n_paths = n_paths,
              .named = named,
              .names = &buf,
              .err = err};
    if (n_paths > TB_SOLVE_PATHS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "price", "At most %d prices can be named.",
                       TB_SOLVE_PATHS_MAX);
    list.price = tb_alloc_zero(alloc, TB_NAMED_PRICES_MAX, sizeof *list.price);
    if (!list.price) return tb_no_memory(err);
    tb_buf_init(&buf, 512, alloc);
    tb_code code = TB_OK;
    for (; !code && w.book < n_books; w.book++) {
        if (!books[w.book]) continue;
        tb_buf_release(&buf); /* the last book's names will do */
        tb_buf_init(&buf, 512, alloc);
        code = visit_book(&w, books[w.book]);
    }
    if (!code) code = check_named(&w);
    tb_buf_release(&buf);
    if (code)
        tb_price_list_release(&list);
    else
        *ret = list;
    return code;
}

void tb_price_list_release(tb_price_list *list)
{
    tb_alloc_free(list->alloc, list->price, TB_NAMED_PRICES_MAX * sizeof *list->price);
    *list = (tb_price_list){.n = 0};
}

tb_code tb_price_list_scale(tb_price_list *list, tb_decimal factor, int digits, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < list->n; i++) {
        tb_decimal product;
        code = tb_decimal_mul(tb_decimal_normal(list->price[i].before), tb_decimal_normal(factor),
                              &product, err);
        if (!code) code = tb_decimal_round(product, digits, TB_HALF_UP, &list->price[i].after, err);
    }
    return code;
}

tb_code tb_price_list_book(const tb_price_list *list, size_t number, const tb_alloc *alloc,
                           tb_book *ret, tb_error *err)
{
    const tb_book *from = list->books[number];
    size_t at = 0;
    tb_buf text;
    tb_buf_init(&text, TB_BOOK_MAX, alloc);
    for (size_t i = 0; i < list->n; i++) {
        const tb_named_price *p = &list->price[i];
        char value[TB_DECIMAL_TEXT_MAX];
        if (p->book != number) continue;
        tb_buf_add(&text, from->canonical + at, p->at - at);
        tb_buf_str(&text, "\"");
        tb_buf_add(&text, value, (size_t)(tb_decimal_put(value, p->after) - value));
        tb_buf_str(&text, "\"");
        at = p->at + p->len;
    }
    tb_buf_add(&text, from->canonical + at, from->canonical_len - at);
    tb_code code = tb_buf_check(&text, err);
    if (!code) code = tb_book_parse(text.data, text.len, alloc, ret, err);
    tb_buf_release(&text);
    return code;
}

/* --- as a patch --- */

static bool has_price_in(const tb_price_list *list, size_t number, const tb__node *key)
{
    for (size_t i = 0; i < list->n; i++) {
        const tb_named_price *p = &list->price[i];
        size_t len = strcspn(p->path, ".[");
        if (p->book == number && tb__node_is(key, p->path, len)) return true;
    }
    return false;
}

static tb_code put_members(const tb_price_list *list, size_t number, const tb__document *doc,
                           tb__arena *arena, tb_buf *out, tb_error *err)
{
    bool first = true;
    tb_buf_str(out, "{");
    for (uint32_t key = 1; key < doc->n; key = doc->nodes[key + 1].next) {
        size_t len;
        if (!has_price_in(list, number, &doc->nodes[key])) continue;
        const char *value = tb__document_canonical(doc, key + 1, arena, &len);
        if (!value) return tb_no_memory(err);
        tb_buf_fmt(out, "%s\"%.*s\":", first ? "" : ",", (int)doc->nodes[key].len,
                   doc->nodes[key].text);
        tb_buf_add(out, value, len);
        first = false;
    }
    tb_buf_str(out, "}");
    return tb_buf_check(out, err);
}

tb_code tb_price_list_patch(const tb_price_list *list, size_t number, tb_buf *out, tb_error *err)
{
    tb_book book;
    tb__document doc;
    tb__arena arena;
    tb_code code = tb_price_list_book(list, number, list->alloc, &book, err);
    if (code) return code;
    tb__arena_init(&arena, list->alloc);
    code = tb__document_parse(book.canonical, book.canonical_len, TB_E_BOOK, &arena, list->alloc,
                              &doc, err);
    if (!code) {
        code = put_members(list, number, &doc, &arena, out, err);
        tb__document_release(&doc);
    }
    tb__arena_release(&arena);
    tb_book_release(&book);
    return code;
}
