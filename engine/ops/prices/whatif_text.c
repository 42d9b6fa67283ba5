/* Parts of an answer, and figures as people read them. */
#include <stdio.h>
#include <string.h>

#include "tollbook/whatifrun.h"

#define BREATH ((size_t)1 << 20)

void tb_whatif_breathe(tb_whatif_sink *sink)
{
    if (sink->flush && sink->out->len >= BREATH) sink->flush(sink->ctx, sink->out);
}

void tb_whatif_put(const tb_whatif_answer *answer, const char *form, tb_whatif_sink *sink)
{
    static const struct {
        const char *name;
        void (*put)(const tb_whatif_answer *, tb_whatif_sink *);
    } forms[] = {{"table", tb_whatif_table},
                 {"json", tb_whatif_json},
                 {"csv", tb_whatif_csv},
                 {"html", tb_whatif_html}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(form, forms[i].name) == 0) forms[i].put(answer, sink);
}

/* --- parts --- */

static size_t parts_of(const tb_whatif_result *result)
{
    return result->n_groups ? result->n_groups : 1;
}

size_t tb_whatif_n_parts(const tb_whatif_answer *answer)
{
    size_t n = 0;
    for (size_t i = 0; i < answer->n_results; i++)
        n += parts_of(&answer->results[i]);
    return n;
}

/* Of the patched ones. */
static const tb_whatif_book *last_book(const tb_whatif_result *result, const char *currency)
{
    const tb_whatif_book *found = NULL;
    for (size_t i = 0; i < result->n_books; i++)
        if ((!*currency || strcmp(result->books[i].book->currency, currency) == 0) &&
            result->books[i].base != result->books[i].book)
            found = &result->books[i];
    return found;
}

tb_whatif_part tb_whatif_part_of(const tb_whatif_answer *answer, size_t number)
{
    size_t i = 0;
    while (number >= parts_of(&answer->results[i]))
        number -= parts_of(&answer->results[i++]);
    const tb_whatif_result *r = &answer->results[i];
    tb_whatif_part part = {.result = r, .group = r->n_groups ? &r->groups[number] : NULL};
    part.book = last_book(r, part.group ? part.group->currency : "");
    part.currency = part.group ? part.group->currency : part.book ? part.book->book->currency : "";
    part.minor = part.group ? part.group->minor_digits : tb_currency_minor_digits(part.currency);
    return part;
}

tb_whatif_change tb_whatif_total(const tb_whatif_part *part)
{
    return part->group ? part->group->total : (tb_whatif_change){.has_percent = false};
}

/* --- figures --- */

const char *tb_whatif_money(tb_decimal amount, int minor, char out[TB_WHATIF_MONEY_MAX])
{
    *tb_decimal_put_fixed(out, amount, minor) = 0;
    return out;
}

const char *tb_whatif_signed(tb_decimal amount, int minor, char out[TB_WHATIF_MONEY_MAX])
{
    char *at = out;
    if (tb_decimal_sign(amount) > 0) *at++ = '+';
    *tb_decimal_put_fixed(at, amount, minor) = 0;
    return out;
}

const char *tb_whatif_percent(const tb_whatif_change *change, char out[TB_WHATIF_MONEY_MAX])
{
    tb_decimal shown;
    if (!change->has_percent) {
        snprintf(out, TB_WHATIF_MONEY_MAX, "%s", tb_decimal_sign(change->delta) ? "new" : "");
        return out;
    }
    if (tb_decimal_round(change->percent, 2, TB_HALF_UP, &shown, NULL)) shown = change->percent;
    tb_whatif_signed(shown, 2, out);
    size_t len = strlen(out);
    memcpy(out + len, " %", 3);
    return out;
}

void tb_whatif_figure(const char *text, tb_buf *out)
{
    if (*text == '-') {
        tb_buf_str(out, "\xE2\x88\x92");
        text++;
    } else if (*text == '+') {
        tb_buf_str(out, "+");
        text++;
    }
    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; i < digits; i++) {
        if (i && (digits - i) % 3 == 0) tb_buf_str(out, ",");
        tb_buf_add(out, text + i, 1);
    }
    tb_buf_str(out, text + digits);
}
