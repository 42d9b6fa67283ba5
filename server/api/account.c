/* GET /billing/statement: the account's own statement, from one day to another, in the form that the
 * query or Accept asks for. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/drawn.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/ledger.h"

typedef struct asked {
    drawing how;
    int64_t first, last;
    tb_account_form form;
    tb_print_options pages;
} asked;
_Static_assert(sizeof(asked) <= sizeof((request *)0)->work, "it fits the handler's room");

static bool is_word(tb_text text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

static tb_code take_param(void *ctx, tb_text name, tb_text value, tb_error *err)
{
    asked *a = ctx;
    if (is_word(name, "from"))
        return tb_account_day(value.data, value.len, "from", &a->first, err);
    if (is_word(name, "to")) return tb_account_day(value.data, value.len, "to", &a->last, err);
    if (is_word(name, "format")) {
        a->form = tb_account_form_of(value.data, value.len);
        if (a->form == TB_ACCOUNT_FORM_COUNT)
            return tb_fail(err, TB_E_VALIDATION, "format",
                           "It must be one of " TB_ACCOUNT_WORDS ".");
    } else if (is_word(name, "paper")) {
        a->pages.letter = is_word(value, "letter");
        if (!a->pages.letter && !is_word(value, "a4"))
            return tb_fail(err, TB_E_VALIDATION, "paper", "It must be a4 or letter.");
    }
    return TB_OK;
}

static tb_code read_asked(request *r, asked *a, tb_error *err)
{
    const char *types[TB_ACCOUNT_FORM_COUNT];
    char bare[TB_ACCOUNT_FORM_COUNT][40];
    tb_text query = request_query(r);
    for (int i = 0; i < TB_ACCOUNT_FORM_COUNT; i++) {
        const char *media = tb_account_media_type((tb_account_form)i);
        snprintf(bare[i], sizeof bare[i], "%.*s", (int)strcspn(media, ";"), media);
        types[i] = bare[i];
    }
    size_t chosen = query_choose_type(request_header(r, GUARD_ACCEPT), types, TB_ACCOUNT_FORM_COUNT);
    a->form = chosen < TB_ACCOUNT_FORM_COUNT ? (tb_account_form)chosen : TB_ACCOUNT_JSON;
    return query_each(query.data, query.len, r->scratch, take_param, a, err);
}

static tb_code put_statement(request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    const asked *a = (const asked *)(const void *)r->work;
    tb_account_reading reading;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_account_read(store, r->account, a->first, a->last, &reading, err);
    tb_store_read_end(store);
    if (code) return code;
    code = tb_account_show(&reading.statement, a->form, &a->pages, out, err);
    tb_account_release(&reading);
    return code;
}

void api_account_statement(request *r)
{
    asked *a = (asked *)(void *)r->work;
    tb_error err;
    *a = (asked){.first = INT64_MIN, .last = tb_day_from_us(request_now_us(r))};
    if (read_asked(r, a, &err)) {
        request_fail_as(r, &err);
        return;
    }
    a->how = (drawing){put_statement, tb_account_media_type(a->form),
                       a->form == TB_ACCOUNT_HTML || a->form == TB_ACCOUNT_PDF};
    drawn_answer(r);
}
