/* The control plane's work over HTTP: catalogue and keys, and usage rows in one request.
 * Logs are in remote_logs.c. */
#include "cli/remote.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cli/client.h"
#include "cli/remote_report.h"

#define ROWS_MAX   ((size_t)256 << 20) /* what the server takes decompressed */
#define PLAIN_MOST ((size_t)8 << 20)   /* rows beyond this are sent compressed */

/* --- the catalogue --- */

int remote_apply(const cli_call *call, const char *document, size_t len)
{
    json_t *answer;
    client_request request = {.method = "POST", .path = "/catalog", .type = "application/json",
                              .body = document, .len = len, .subject = call->operands[0]};
    int status = client_ask(call, &request, &answer);
    if (status) return status;
    tb_applied done;
    report_read_applied(answer, &done);
    report_applied(call, &done);
    json_decref(answer);
    return 0;
}

/* --- keys --- */

static char *key_body(const cli_call *call, uint32_t roles)
{
    json_t *list = json_array();
    for (int role = 0; role < TB_ROLE_COUNT; role++)
        if (roles >> role & 1) json_array_append_new(list, json_string(tb_role_name((tb_role)role)));
    json_t *body = json_pack("{s:I,s:o}", "Account", (json_int_t)cli_number(call, "account", 0),
                             "Roles", list);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    return text;
}

int remote_key_create(const cli_call *call, uint32_t roles)
{
    json_t *answer;
    char *body = key_body(call, roles);
    if (!body) {
        cli_say(call, "Out of memory.");
        return tb_code_exit(TB_E_NOMEM);
    }
    client_request request = {.method = "POST", .path = "/keys", .type = "application/json",
                              .body = body, .len = strlen(body)};
    int status = client_ask(call, &request, &answer);
    free(body);
    if (status) return status;
    const char *key = json_string_value(json_object_get(answer, "Key"));
    if (key) {
        puts(key);
        cli_say(call, "Key %" PRIu64 " is made. It is shown this once.", report_number(answer, "Id"));
        status = cli_done(call);
    } else {
        cli_say(call, "The answer holds no key. Check the URL.");
        status = tb_code_exit(TB_E_BAD_INPUT);
    }
    json_decref(answer);
    return status;
}

int remote_key_revoke(const cli_call *call, int64_t id)
{
    json_t *answer;
    char path[48];
    snprintf(path, sizeof path, "/keys/%" PRId64, id);
    client_request request = {.method = "DELETE", .path = path};
    int status = client_ask(call, &request, &answer);
    json_decref(answer);
    if (status == 0) cli_say(call, "Key %" PRId64 " is revoked.", id);
    return status;
}

static const char *text_of(const json_t *item, const char *name)
{
    const char *text = json_string_value(json_object_get(item, name));
    return text ? text : "";
}

static void show_key(const json_t *item)
{
    size_t i;
    json_t *role;
    printf("%" PRIu64 "\t%" PRIu64 "\t", report_number(item, "Id"), report_number(item, "Account"));
    json_array_foreach(json_object_get(item, "Roles"), i, role)
    {
        printf("%s%s", i ? "," : "", json_string_value(role) ? json_string_value(role) : "");
    }
    printf("\t%s\t%s\t%s\n", text_of(item, "Hint"), text_of(item, "Created"),
           text_of(item, "Revoked"));
}

int remote_key_list(const cli_call *call)
{
    json_t *answer, *item;
    size_t i;
    client_request request = {.method = "GET", .path = "/keys"};
    int status = client_ask(call, &request, &answer);
    if (status) return status;
    puts("id\taccount\troles\tkey\tcreated\trevoked");
    json_array_foreach(json_object_get(answer, "Items"), i, item)
    {
        show_key(item);
    }
    json_decref(answer);
    return cli_done(call);
}

/* --- usage rows: one request, for they are taken whole or not at all --- */

static int send_rows(const cli_call *call, const feed_options *options, client_request *request)
{
    json_t *answer;
    feed_report report;
    request->method = "POST";
    request->path = options->stop_on_error ? "/ingest/buckets?onError=stop"
                                           : "/ingest/buckets?onError=skip";
    request->type = "application/x-ndjson";
    request->batch = cli_text(call, "batch");
    request->subject = call->operands[0];
    int status = client_ask(call, request, &answer);
    if (status) return status;
    report_read(answer, &report);
    json_decref(answer);
    return take_say(call, call->operands[0], &report);
}

int remote_import(const cli_call *call, const feed_options *options)
{
    tb_buf rows;
    client_request request = {0};
    char *packed = NULL;
    int status = cli_read_file(call, call->operands[0], ROWS_MAX, &rows);
    if (status) return status;
    request.body = rows.data;
    request.len = rows.len;
    if (rows.len > PLAIN_MOST && (packed = malloc(ZSTD_compressBound(rows.len))) != NULL) {
        size_t n = ZSTD_compress(packed, ZSTD_compressBound(rows.len), rows.data, rows.len, 1);
        if (!ZSTD_isError(n)) {
            request.body = packed;
            request.len = n;
            request.coding = "zstd";
        }
    }
    status = send_rows(call, options, &request);
    free(packed);
    tb_buf_release(&rows);
    return status;
}
