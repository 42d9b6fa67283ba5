/* The largest are named one by one, the rest is summed, so that the report stays short. */
#include "tollbook/statistics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tollbook/monthbill.h"

/* --- reading --- */

static void take(tb_unowned_kind *kind, const tb_unowned *one)
{
    if (kind->n < TB_UNOWNED_NAMED_MAX) kind->named[kind->n++] = *one;
    kind->count++;
    kind->requests += one->requests;
    kind->bytes += one->bytes;
}

tb_code tb_unowned_read(tb_store *store, int64_t month, tb_unowned_usage *ret, tb_error *err)
{
    tb_unowned *list = NULL;
    size_t n = 0;
    tb_code code = tb_store_unowned(store, month, &list, &n, err);
    if (code) return code;
    *ret = (tb_unowned_usage){0};
    for (size_t i = 0; i < n; i++)
        take(list[i].balancer ? &ret->balancers : &ret->zones, &list[i]);
    free(list);
    return TB_OK;
}

bool tb_unowned_any(const tb_unowned_usage *u)
{
    return u->zones.count + u->balancers.count > 0;
}

/* --- sending --- */

static void put_amount(tb_buf *out, const char *name, tb_i128 amount)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, tb_decimal_from_int(amount)) = 0;
    tb_buf_fmt(out, ",\"%s\":\"%s\"", name, text);
}

static void put_kind(tb_buf *out, const char *list, const char *count, const char *id,
                     const tb_unowned_kind *kind, bool bytes)
{
    tb_buf_fmt(out, "\"%s\":[", list);
    for (size_t i = 0; i < kind->n; i++) {
        tb_buf_fmt(out, "%s{\"%s\":%" PRId64, i ? "," : "", id, kind->named[i].id);
        put_amount(out, "requests", kind->named[i].requests);
        if (bytes) put_amount(out, "bytes", kind->named[i].bytes);
        tb_buf_str(out, "}");
    }
    tb_buf_fmt(out, "],\"%s\":%" PRIu64, count, kind->count);
}

void tb_unowned_json(const tb_unowned_usage *u, tb_buf *out)
{
    tb_buf_str(out, "{");
    put_kind(out, "zones", "zone_count", "zone", &u->zones, true);
    put_amount(out, "requests", u->zones.requests);
    put_amount(out, "bytes", u->zones.bytes);
    tb_buf_str(out, ",");
    put_kind(out, "load_balancers", "load_balancer_count", "load_balancer", &u->balancers, false);
    put_amount(out, "load_balancer_requests", u->balancers.requests);
    tb_buf_str(out, "}");
}

/* --- saying --- */

/* "12 requests, 3400 bytes" */
static void say_amounts(tb_buf *lines, tb_i128 requests, tb_i128 bytes, bool balancer)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, tb_decimal_from_int(requests)) = 0;
    tb_buf_fmt(lines, "%s request%s", text, requests == 1 ? "" : "s");
    if (balancer) return;
    *tb_decimal_put(text, tb_decimal_from_int(bytes)) = 0;
    tb_buf_fmt(lines, ", %s byte%s", text, bytes == 1 ? "" : "s");
}

static void say_kind(const tb_unowned_kind *kind, const char *name, const char *month,
                     bool balancer, tb_buf *lines)
{
    tb_i128 requests = kind->requests, bytes = kind->bytes;
    uint64_t more = kind->count - kind->n;
    for (size_t i = 0; i < kind->n; i++) {
        const tb_unowned *one = &kind->named[i];
        tb_buf_fmt(lines, "%s %" PRId64 " belongs to no account and is not billed: ", name,
                   one->id);
        say_amounts(lines, one->requests, one->bytes, balancer);
        tb_buf_fmt(lines, " in %s.\n", month);
        requests -= one->requests;
        bytes -= one->bytes;
    }
    if (more == 0) return;
    tb_buf_fmt(lines, "%s, %" PRIu64 " more: ", name, more);
    say_amounts(lines, requests, bytes, balancer);
    tb_buf_fmt(lines, " in %s.\n", month);
}

void tb_unowned_say(const tb_unowned_usage *u, int64_t month, tb_buf *lines)
{
    char text[8];
    if (!tb_unowned_any(u)) return;
    tb_month_format(month, text);
    say_kind(&u->zones, "Pull zone", text, false, lines);
    say_kind(&u->balancers, "Load balancer", text, true, lines);
    tb_buf_str(lines,
               "Declare them in the catalogue (`apply`), each with its account: then "
               "their usage is billed.\n");
}
