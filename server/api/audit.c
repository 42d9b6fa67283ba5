/* GET /user/audit/{date}: a day of the audit log as the key's account sees it. */
#include <string.h>
#include <strings.h>

#include "api/drawn.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/accountaudit.h"
#include "tollbook/calendar.h"

#define LIMIT_DEFAULT 100

typedef struct question {
    drawing how;
    tb_audit_ask ask;
} question;
_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "it fits request.work");

/* "11-03-2026", or any other form of a date that clients send; some write a year of two digits. */
static tb_code read_audit_day(tb_text text, int64_t *ret_day, tb_error *err)
{
    char date[] = "MM-dd-20yy";
    int64_t at_us;
    if (text.len == 8 && text.data[2] == '-' && text.data[5] == '-') {
        memcpy(date, text.data, 6);
        memcpy(date + 8, text.data + 6, 2);
        text = (tb_text){date, sizeof date - 1};
    }
    if (tb_date_parse(text.data, text.len, &at_us, err))
        return tb_fail(err, TB_E_VALIDATION, "date", "The date must be MM-dd-yyyy, such as 11-03-2026.");
    *ret_day = tb_day_from_us(at_us);
    return TB_OK;
}

/* --- parameters --- */

static bool is_param(tb_text name, const char *word)
{
    return name.len == strlen(word) && strncasecmp(name.data, word, name.len) == 0;
}

static tb_code add_filter(tb_audit_ask *ask, tb_audit_field field, tb_text value, tb_error *err)
{
    if (ask->n_filters == TB_AUDIT_FILTERS_MAX)
        return tb_fail(err, TB_E_VALIDATION, NULL, "At most %d values are filtered by.", TB_AUDIT_FILTERS_MAX);
    ask->filter[ask->n_filters++] = (tb_audit_filter){field, value};
    return TB_OK;
}

static tb_code read_order(tb_audit_ask *ask, tb_text value, tb_error *err)
{
    ask->descending = is_param(value, "Descending");
    if (ask->descending || is_param(value, "Ascending")) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "Order", "Order is Ascending or Descending.");
}

static tb_code read_number(tb_text value, int64_t max, int64_t *ret, const char *name, tb_error *err)
{
    if (query_int(value.data, value.len, ret) && *ret >= 1 && *ret <= max) return TB_OK;
    if (max == INT64_MAX)
        return tb_fail(err, TB_E_VALIDATION, name, "%s is that of the answer before.", name);
    return tb_fail(err, TB_E_VALIDATION, name, "%s is 1 to %d.", name, (int)max);
}

/* A list is one parameter several times, "Product=a&Product=b"; some clients number it, "Product[0]=a". */
static tb_code take_param(void *ctx, tb_text name, tb_text value, tb_error *err)
{
    static const char *const fields[] = {
#define TB_X(e, name) name,
        TB_AUDIT_FIELDS(TB_X)
#undef TB_X
    };
    tb_audit_ask *ask = ctx;
    const char *bracket = memchr(name.data, '[', name.len);
    const tb_text field = {name.data, bracket ? (size_t)(bracket - name.data) : name.len};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (is_param(field, fields[i])) return add_filter(ask, (tb_audit_field)i, value, err);
    if (is_param(name, "Order")) return read_order(ask, value, err);
    if (is_param(name, "Limit")) return read_number(value, TB_AUDIT_ENTRIES_MAX, &ask->limit, "Limit", err);
    if (is_param(name, "ContinuationToken")) return read_number(value, INT64_MAX, &ask->at, "ContinuationToken", err);
    return TB_OK;
}

/* --- the answer --- */

static tb_code put_audit(request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    const question *q = (const question *)(const void *)r->work;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_account_audit(store, &q->ask, out, err);
    tb_store_read_end(store);
    return code;
}

void api_user_audit(request *r)
{
    question *q = (question *)(void *)r->work;
    const tb_text query = request_query(r);
    tb_error err;
    *q = (question){.how = {put_audit, "application/json", true, NULL},
                    .ask = {.account = r->account, .limit = LIMIT_DEFAULT}};
    tb_code code = read_audit_day(r->id, &q->ask.day, &err);
    if (!code) code = query_each(query.data, query.len, r->scratch, take_param, &q->ask, &err);
    if (code) request_fail_as(r, &err);
    else drawn_answer(r);
}
