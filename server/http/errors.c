/* One writer for each shape, one row of writers for each family; titles and types by status. */
#include "http/errors.h"

#include <string.h>

#include "tollbook/answer.h"
#include "tollbook/json.h"

/* --- statuses --- */

#define RFC7231 "https://tools.ietf.org/html/rfc7231#section-"

static const struct {
    int status;
    const char *title, *type, *logging;
} statuses[] = {
    {400, "Bad Request", RFC7231 "6.5.1", "invalid_request"},
    {401, "Unauthorized", "https://tools.ietf.org/html/rfc7235#section-3.1", "unauthorized"},
    {403, "Forbidden", RFC7231 "6.5.3", "forbidden"},
    {404, "Not Found", RFC7231 "6.5.4", "logging_disabled"},
    {405, "Method Not Allowed", RFC7231 "6.5.5", "invalid_request"},
    {409, "Conflict", RFC7231 "6.5.8", "invalid_request"},
    {413, "Payload Too Large", RFC7231 "6.5.11", "invalid_request"},
    {415, "Unsupported Media Type", RFC7231 "6.5.13", "invalid_request"},
    {422, "Validation Error", "https://tools.ietf.org/html/rfc4918#section-11.2",
     "invalid_request"},
    {429, "Too Many Requests", "https://tools.ietf.org/html/rfc6585#section-4", "rate_limited"},
    {503, "Service Unavailable", RFC7231 "6.6.4", "internal_error"},
    {500, "Internal Server Error", RFC7231 "6.6.1", "internal_error"},
};
#define STATUSES (sizeof statuses / sizeof *statuses)

/* The row of a status; of one that has none, its class's. */
static size_t row_of(int status)
{
    for (size_t i = 0; i < STATUSES; i++)
        if (statuses[i].status == status) return i;
    return status < 500 ? 0 : STATUSES - 1;
}

static void put_member(tb_buf *out, const char *name, const char *text)
{
    tb_buf_fmt(out, "\"%s\":", name);
    tb_json_string(out, text, strlen(text));
}

static void put_place(tb_buf *out, const char *name, tb_text text)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (text.data) tb_json_string(out, text.data, text.len);
    else tb_buf_str(out, "null");
}

/* --- shapes --- */

static void put_core(const tb_error *err, error_place place, tb_buf *out)
{
    tb_answer_error(err, out);
    if (!place.primary || out->failed) return;
    out->len--; /* its brace */
    tb_buf_str(out, ",");
    put_member(out, "Primary", place.primary);
    tb_buf_str(out, "}");
}

static void put_logging(const tb_error *err, error_place place, tb_buf *out)
{
    (void)place;
    tb_buf_str(out, "{\"error\":{");
    put_member(out, "code", statuses[row_of(tb_code_http(err->code))].logging);
    tb_buf_str(out, ",");
    put_member(out, "message", err->message);
    tb_buf_str(out, ",\"details\":[]}}");
}

void errors_put_details(tb_code code, const char *detail, const error_entry *entries, size_t n,
                        error_place place, tb_buf *out)
{
    int status = tb_code_http(code);
    bool wrong = status == 400 || status == 422;
    tb_buf_str(out, "{");
    put_member(out, "title", wrong ? "Validation Error" : statuses[row_of(status)].title);
    tb_buf_fmt(out, ",\"status\":%d,", status);
    put_member(out, "detail", detail);
    put_place(out, "instance", place.path);
    tb_buf_str(out, ",\"errors\":[");
    for (size_t i = 0; i < n; i++) {
        tb_buf_str(out, i ? ",{" : "{");
        if (entries[i].field) put_member(out, "field", entries[i].field);
        else tb_buf_str(out, "\"field\":null");
        tb_buf_str(out, ",");
        put_member(out, "message", entries[i].message);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
    put_place(out, "id", place.id);
    tb_buf_str(out, "}");
}

static void put_details(const tb_error *err, error_place place, tb_buf *out)
{
    const error_entry only = {err->field[0] ? err->field : NULL, err->message};
    int status = tb_code_http(err->code);
    bool listed = err->field[0] || status == 400 || status == 422;
    errors_put_details(err->code, err->message, &only, listed, place, out);
}

void errors_put_problem(const tb_error *err, error_place place, tb_buf *out)
{
    int status = tb_code_http(err->code);
    put_member(out, "type", statuses[row_of(status)].type);
    tb_buf_str(out, ",");
    put_member(out, "title", statuses[row_of(status)].title);
    tb_buf_fmt(out, ",\"status\":%d,", status);
    put_member(out, "detail", err->message);
    put_place(out, "instance", place.path);
}

static void put_problem(const tb_error *err, error_place place, tb_buf *out)
{
    tb_buf_str(out, "{");
    errors_put_problem(err, place, out);
    tb_buf_str(out, "}");
}

/* --- families --- */

typedef void shape(const tb_error *err, error_place place, tb_buf *out);

static const struct {
    shape *usual, *unauthorized;
} families[ERRORS_FAMILIES] = {
    [ERRORS_CORE] = {put_core, put_core},
    [ERRORS_LOGGING] = {put_logging, put_logging},
    [ERRORS_CONTAINER] = {put_details, put_problem},
    [ERRORS_REGISTRY] = {put_details, put_details},
    [ERRORS_SHIELD] = {put_problem, put_problem},
};

void errors_put(error_family family, const tb_error *err, error_place place, tb_buf *out)
{
    bool unauthorized = tb_code_http(err->code) == 401;
    (unauthorized ? families[family].unauthorized : families[family].usual)(err, place, out);
}
