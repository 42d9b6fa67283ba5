/* Small answers that clients expect: the user of the key, the list of countries, and empty pages of things that
 * tollbook does not have, so that exporters of whole accounts work. */
#include <inttypes.h>
#include <string.h>

#include "api/handlers.h"
#include "tollbook/json.h"
#include "tollbook/monthbill.h"
#include "tollbook/pullzone.h"
#include "tollbook/billsource.h"

/* --- GET /user --- */

static void put_roles(uint32_t roles, tb_buf *out)
{
    bool first = true;
    tb_buf_str(out, ",\"Roles\":[");
    for (unsigned role = 0; role < TB_ROLE_COUNT; role++) {
        if (!(roles >> role & 1)) continue;
        tb_buf_fmt(out, "%s\"%s\"", first ? "" : ",", tb_role_name((tb_role)role));
        first = false;
    }
    tb_buf_str(out, "]");
}

static void put_name(tb_buf *out, const char *member, const tb_buf *name)
{
    tb_buf_fmt(out, ",\"%s\":", member);
    tb_json_string(out, name->data ? name->data : "", name->len);
}

static void put_balance(tb_decimal balance, tb_buf *out)
{
    tb_buf_str(out, ",\"Balance\":");
    const size_t from = out->len;
    char *at = tb_buf_room(out, TB_DECIMAL_TEXT_MAX);
    if (at) out->len += (size_t)(tb_decimal_put(at, balance) - at);
    tb_json_point(out, from);
}

/* The account's name is also shown as the person's, since no other is known. */
static tb_code put_user(request *r, tb_buf *name, tb_buf *out, tb_error *err)
{
    char currency[4] = "", guid[TB_GUID_TEXT + 1];
    tb_decimal balance = {0};
    tb_store *store = r->worker->store;
    tb_code code = tb_store_account_name(store, r->account, name, err);
    if (!code) code = tb_store_balance(store, r->account, &balance, err);
    if (!code) code = tb_store_account_currency(store, r->account, currency, err);
    if (code) return code;
    tb_guid("account", r->account, guid);
    tb_buf_fmt(out, "{\"Id\":\"%s\",\"AccountId\":\"%s\"", guid, guid);
    put_name(out, "Name", name);
    tb_buf_str(out, ",\"Email\":null");
    put_name(out, "FirstName", name);
    tb_buf_str(out, ",\"LastName\":null");
    put_name(out, "CompanyName", name);
    put_balance(balance, out);
    tb_buf_fmt(out, ",\"Currency\":\"%s\"", currency);
    put_roles(r->roles, out);
    tb_buf_str(out, "}");
    return TB_OK;
}

void api_user(request *r)
{
    tb_error err;
    tb_buf name;
    tb_buf_init(&name, 1 << 16, NULL);
    tb_code code = tb_store_read_begin(r->worker->store, &err);
    if (!code) {
        code = put_user(r, &name, request_text(r), &err);
        tb_store_read_end(r->worker->store);
    }
    tb_buf_release(&name);
    if (code) request_fail_as(r, &err);
    else request_answer_text(r, 200, "application/json");
}

/* --- constants --- */

void api_country(request *r)
{
    request_answer_zipped(r, &countries_json, "application/json");
}

void api_nothing(request *r)
{
    static const char page[] =
        "{\"Items\":[],\"CurrentPage\":1,\"TotalItems\":0,\"HasMoreItems\":false}";
    request_answer_static(r, page, sizeof page - 1, "application/json");
}
