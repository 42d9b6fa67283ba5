/* book activate: a shadow book becomes a book where no account's billed month would change by more
 * than the limit. The comparison is made in one snapshot and its result written in a later
 * transaction. It still holds then if the shadow is the same row and the same months are billed as
 * of the same moments: neither a shadow's text nor a billed month ever changes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/counted.h"
#include "ops/prices/books.h"
#include "ops/operations.h"

#define NAMED_MAX 100 /* months named; the rest is counted */

/* What was compared. */
typedef struct activation {
    size_t months, accounts, over;
    uint64_t hash; /* of the shadow's row and of the months */
} activation;

static tb_code find_shadow(tb_store *store, const char *id, tb_shadow *ret_shadow, tb_error *err)
{
    tb_shadow_books books;
    size_t found = 0;
    tb_code code = tb_shadow_books_read(store, &books, err);
    if (code) return code;
    while (found < books.n && strcmp(books.list[found].book.id, id) != 0)
        found++;
    if (found < books.n)
        code = tb_store_shadow(store, books.list[found].id, ret_shadow, err);
    else
        code = tb_fail(err, TB_E_NOT_FOUND, "book",
                       "There is no shadow book \"%s\". See: tollbook book list", id);
    tb_shadow_books_release(&books);
    return code;
}

static uint64_t hash_month(uint64_t before, const tb_billed_month *m)
{
    const uint64_t words[4] = {before, (uint64_t)m->account, (uint64_t)m->month, m->watermark};
    return XXH3_64bits(words, sizeof words);
}

/* --- comparing --- */

static tb_code read_limit(const tb_args *args, tb_decimal *ret, tb_error *err)
{
    const tb_text text = tb_arg_of(args, "max-change")->text;
    if (tb_decimal_parse(text.data, text.len, TB_PRICE_SCALE_MAX, ret, NULL) == TB_OK &&
        tb_decimal_sign(*ret) >= 0)
        return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "max-change",
                   "\"%s\" is not percent. Write it like 10 or 2.5.", text.data);
}

static void count_changes(activation *a, const tb__shadow_change *list, size_t n)
{
    a->months = n;
    for (size_t i = 0; i < n; i++) {
        a->hash = hash_month(a->hash, &list[i].month);
        a->over += list[i].over;
        a->accounts += i == 0 || list[i].month.account != list[i - 1].month.account;
    }
}

static void say_change(const tb__shadow_change *c, tb_reply *reply)
{
    char month[8], percent[TB_DECIMAL_TEXT_MAX + 2];
    char before[TB_DECIMAL_TEXT_MAX + 1], after[TB_DECIMAL_TEXT_MAX + 1], unpriced[64] = "";
    tb_month_format(c->month.month, month);
    tb_shadow_percent(c->before, c->after, percent);
    if (c->unpriced)
        snprintf(unpriced, sizeof unpriced, ", and %" PRIu64 " of its charges have no price",
                 c->unpriced);
    tb_reply_say(reply, "account %" PRId64 ": %s would come to %s %s instead of %s (%s%s)%s.",
                 c->month.account, month, tb_shadow_money(c->after, c->month.currency, after),
                 c->month.currency, tb_shadow_money(c->before, c->month.currency, before), percent,
                 strcmp(percent, "new") == 0 ? "" : " %", unpriced);
}

static void say_over(const activation *a, const tb__shadow_change *list, tb_reply *reply)
{
    size_t said = 0;
    for (size_t i = 0; i < a->months && said < NAMED_MAX; i++) {
        if (!list[i].over) continue;
        say_change(&list[i], reply);
        said++;
    }
    if (a->over > said) tb_reply_say(reply, "... and %zu more.", a->over - said);
}

/* --- what became of it --- */

static void put_end(const activation *a, const tb_args *args, bool active, tb_reply *reply)
{
    const char *book = tb_arg_text(args, "book"), *limit = tb_arg_text(args, "max-change");
    const char *months = TB__COUNTED(a->months, "billed month");
    if (active)
        tb_reply_say(
            reply,
            "\"%s\" is a book now. Compared: %s of %s; %zu of them would change by more than"
            " %s %%.",
            book, months, TB__COUNTED(a->accounts, "account"), a->over, limit);
    else
        tb_reply_say(reply,
                     "\"%s\" stays a shadow: %zu of %s would change by more than %s"
                     " %%. --max-change PERCENT changes the limit, --anyway activates it in any "
                     "case.",
                     book, a->over, months, limit);
    tb_buf_fmt(&reply->json,
               "{\"book\":\"%s\",\"active\":%s,\"months\":%zu,\"accounts\":%zu,\"over\":%zu,"
               "\"maxChange\":\"%s\",\"said\":",
               book, active ? "true" : "false", a->months, a->accounts, a->over, limit);
    tb__reply_said(reply, &reply->json);
    tb_buf_str(&reply->json, "}");
}

static tb_code compare_books(const tb_ops *ops, const tb_args *args, tb_decimal limit, activation *a,
                             tb_reply *reply, tb_error *err)
{
    tb_shadow shadow;
    tb__shadow_change *list = NULL;
    size_t n = 0;
    tb_code code = find_shadow(ops->store, tb_arg_text(args, "book"), &shadow, err);
    if (code) return code;
    code =
        tb__shadow_changes(ops, &shadow, tb_arg_number(args, "months", 1), limit, &list, &n, err);
    if (!code) {
        *a = (activation){.hash = (uint64_t)shadow.id};
        count_changes(a, list, n);
        say_over(a, list, reply);
    }
    free(list);
    tb_shadows_release(&shadow, 1);
    return code;
}

tb_code tb__book_compare(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_decimal limit;
    activation *a = malloc(sizeof *a);
    if (!a) return tb_no_memory(err);
    reply->state = a;
    reply->release = free;
    tb_code code = read_limit(args, &limit, err);
    if (!code) code = compare_books(ops, args, limit, a, reply, err);
    if (code || a->over == 0 || tb_arg_given(args, "anyway")) return code;
    reply->no = true;
    put_end(a, args, false, reply);
    return TB_OK;
}

/* Whether the compared data is unchanged. */
static tb_code check_same(tb_store *store, const tb_args *args, const activation *a, tb_error *err)
{
    tb_shadow shadow;
    tb_billed_month *months = NULL;
    size_t n = 0;
    tb_code code = find_shadow(store, tb_arg_text(args, "book"), &shadow, err);
    if (code) return code;
    uint64_t hash = (uint64_t)shadow.id;
    code = tb__shadow_months(store, &shadow, tb_arg_number(args, "months", 1), &months, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        hash = hash_month(hash, &months[i]);
    if (!code && (n != a->months || hash != a->hash))
        code = tb_fail(err, TB_E_BUSY, NULL,
                       "The shadow book or the billed months changed while they were compared. Run "
                       "it again.");
    free(months);
    tb_shadows_release(&shadow, 1);
    return code;
}

tb_code tb__book_activate(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const activation *a = reply->state;
    tb_code code = check_same(ops->store, args, a, err);
    if (!code)
        code = tb_store_activate_shadow(ops->store, tb_arg_text(args, "book"), ops->now_us, err);
    if (!code) put_end(a, args, true, reply);
    return code;
}
