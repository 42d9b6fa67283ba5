/* GET /billing/statement: the account's own statement, from one day to another, in the form that the
 * query or Accept asks for. */
#include "api/drawn.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/ledger.h"

typedef struct question {
    drawing how;
    int64_t account;
    int64_t first, last;
    tb_shown_form form;
    tb_print_options pages;
} question;
_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "it fits request.work");

static const tb_shown_form forms[] = {TB_SHOWN_JSON, TB_SHOWN_CSV, TB_SHOWN_HTML, TB_SHOWN_PDF};
static const drawn_form form_of = {forms, sizeof forms / sizeof *forms, TB_ACCOUNT_WORDS};

static tb_code take_param(void *ctx, tb_text name, tb_text value, tb_error *err)
{
    question *a = ctx;
    if (drawn_is_word(name, "from"))
        return tb_account_day(value.data, value.len, "from", &a->first, err);
    if (drawn_is_word(name, "to")) return tb_account_day(value.data, value.len, "to", &a->last, err);
    return drawn_take(&form_of, name, value, &a->form, &a->pages, err);
}

static tb_code read_account_range(request *r, question *a, tb_error *err)
{
    tb_text query = request_query(r);
    a->form = drawn_accepted(r, &form_of);
    return query_each(query.data, query.len, r->scratch, take_param, a, err);
}

static tb_code put_statement(request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    const question *a = (const question *)(const void *)r->work;
    tb_account_reading reading;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_account_read(store, a->account, a->first, a->last, &reading, err);
    tb_store_read_end(store);
    if (code) return code;
    code = tb_account_show(&reading.statement, a->form, &a->pages, out, err);
    tb_account_release(&reading);
    return code;
}

void api_account_statement(request *r)
{
    question *a = (question *)(void *)r->work;
    tb_error err;
    *a = (question){.first = INT64_MIN, .last = tb_day_from_us(request_now_us(r))};
    if (api_account_asked(r, &a->account, &err) || read_account_range(r, a, &err)) {
        request_fail_as(r, &err);
        return;
    }
    a->how = (drawing){put_statement, tb_shown_media_type(a->form),
                       a->form == TB_SHOWN_HTML || a->form == TB_SHOWN_PDF, NULL};
    drawn_answer(r);
}
