/* import --server: usage rows in one request, for they are taken whole or not at all. Logs are in
 * remote_logs.c. */
#include "cli/remote.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cli/client.h"
#include "cli/remote_report.h"

#define ROWS_MAX   ((size_t)256 << 20) /* the server's limit after decompression */
#define PLAIN_MOST ((size_t)8 << 20)   /* rows beyond this are sent compressed */

static int send_rows(const cli_call *call, const feed_options *options, client_request *request)
{
    json_t *answer;
    feed_report report;
    request->method = "POST";
    request->path = options->stop_on_error ? "/ingest/buckets?onError=stop"
                                           : "/ingest/buckets?onError=skip";
    request->type = "application/x-ndjson";
    request->batch = cli_text(call, "batch");
    request->repeats = true;
    request->subject = call->operands[0];
    int status = client_ask(call, request, &answer);
    if (status) return status;
    report_read(answer, &report);
    json_decref(answer);
    return take_say(call, call->operands[0], options, &report);
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
