/* Page after page until all segments are there. A server of another kind, or one whose knowledge
 * changes between two pages, is said so. */
#include "cli/remote_known.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/remote_report.h"

#define KNOWN_MAX ((size_t)1 << 24) /* segments of one log: 2^24 pieces of 32 MiB */

void remote_hash_text(tb_hash128 hash, char out[REMOTE_HASH_TEXT])
{
    snprintf(out, REMOTE_HASH_TEXT, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

static bool read_half(const char *text, uint64_t *ret_half)
{
    uint64_t half = 0;
    for (int i = 0; i < 16; i++) {
        char c = text[i];
        if (c >= '0' && c <= '9') half = half << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f') half = half << 4 | (uint64_t)(c - 'a' + 10);
        else return false;
    }
    *ret_half = half;
    return true;
}

static bool read_hash(const json_t *item, tb_hash128 *ret_hash)
{
    const json_t *value = json_object_get(item, "hash");
    const char *text = json_string_value(value);
    return text && json_string_length(value) == REMOTE_HASH_TEXT - 1 &&
           read_half(text, &ret_hash->high) && read_half(text + 16, &ret_hash->low);
}

static bool read_segment(const json_t *item, tb_known *ret_one)
{
    const char *kind = json_string_value(json_object_get(item, "kind"));
    *ret_one = (tb_known){.kind = kind && strcmp(kind, "log") == 0 ? TB_BATCH_LOG : TB_BATCH_BUCKETS,
                          .start = report_number(item, "start"),
                          .length = report_number(item, "length"),
                          .lines = report_number(item, "lines"),
                          .accepted = report_number(item, "accepted"),
                          .rejected = report_number(item, "rejected"),
                          .final = json_is_true(json_object_get(item, "final"))};
    return read_hash(item, &ret_one->hash);
}

/* Adds a page's segments. false: it is none, or out of memory. */
static bool add_segments(remote_known *known, const json_t *list)
{
    size_t i, n = json_array_size(list);
    json_t *item;
    if (n > KNOWN_MAX - known->n) return false;
    tb_known *more = realloc(known->list, (known->n + n + 1) * sizeof *more);
    if (!more) return false;
    known->list = more;
    json_array_foreach(list, i, item)
    {
        if (!read_segment(item, &known->list[known->n])) return false;
        known->n++;
    }
    return true;
}

static bool add_rungs(remote_known *known, const json_t *list)
{
    size_t i, n = json_array_size(list);
    json_t *item;
    if (n == 0) return true;
    tb_rung *more = realloc(known->rungs, (known->n_rungs + n) * sizeof *more);
    if (!more) return false;
    known->rungs = more;
    json_array_foreach(list, i, item)
    {
        tb_rung one = {.length = report_number(item, "length")};
        if (!read_hash(item, &one.hash)) return false;
        known->rungs[known->n_rungs++] = one;
    }
    return true;
}

typedef struct question {
    const char *subject, *batch;
    tb_hash128 head;
    uint64_t from;
    uint64_t end, lines; /* end 0: not requested */
} question;

/* The query's value, escaped: the caller frees it with curl_free. */
static char *make_path(client *c, const question *q, size_t skip, char *path, size_t size)
{
    char text[REMOTE_HASH_TEXT];
    remote_hash_text(q->head, text);
    char *value = curl_easy_escape(c->curl, q->batch ? q->batch : text, 0);
    if (!value) return NULL;
    const int n = snprintf(path, size, "/ingest/segments?kind=log&%s=%s&skip=%zu&from=%" PRIu64,
                           q->batch ? "batch" : "head", value, skip, q->from);
    if (q->end) snprintf(path + n, size - (size_t)n, "&end=%" PRIu64 "&lines=%" PRIu64, q->end, q->lines);
    return value;
}

static int read_page(client *c, const client_request *request, remote_known *known, size_t *ret_all)
{
    int status = client_send(c, request);
    if (status) return status;
    json_t *answer = client_json(c);
    if (!answer) return tb_code_exit(TB_E_BAD_INPUT);
    bool read = json_is_array(json_object_get(answer, "segments")) &&
                add_segments(known, json_object_get(answer, "segments")) &&
                add_rungs(known, json_object_get(answer, "rungs"));
    *ret_all = (size_t)report_number(answer, "total");
    known->cells = report_number(answer, "cells");
    const json_t *withdrawn = json_object_get(answer, "withdrawn");
    if (withdrawn) known->withdrawn = json_is_true(withdrawn) ? REMOTE_WITHDRAWN : REMOTE_NOT_WITHDRAWN;
    json_decref(answer);
    if (read) return 0;
    return client_fail(c, TB_E_BAD_INPUT,
                       "%s: The answer is not tollbook's, or too long. Check the URL.", c->url);
}

static int read_all(client *c, const question *q, remote_known *ret_known)
{
    remote_known known = {0};
    size_t all = 0, before;
    int status;
    do {
        char path[1024];
        before = known.n;
        char *value = make_path(c, q, before, path, sizeof path);
        client_request request = {.method = "GET", .path = path, .subject = q->subject, .newest = true};
        status = value ? read_page(c, &request, &known, &all)
                       : client_fail(c, TB_E_NOMEM, "Out of memory.");
        curl_free(value);
    } while (status == 0 && known.n < all && known.n > before);
    if (status) remote_known_release(&known);
    else *ret_known = known;
    return status;
}

int remote_known_read(client *c, const char *subject, const char *batch, tb_hash128 head,
                      remote_known *ret_known)
{
    const question q = {.subject = subject, .batch = batch, .head = head};
    return read_all(c, &q, ret_known);
}

int remote_known_from(client *c, const char *subject, tb_hash128 head, uint64_t from,
                      remote_known *ret_known)
{
    const question q = {.subject = subject, .head = head, .from = from};
    return read_all(c, &q, ret_known);
}

int remote_known_end(client *c, tb_hash128 head, uint64_t from, uint64_t end, uint64_t lines,
                     remote_known *ret_known)
{
    const question q = {.head = head, .from = from, .end = end, .lines = lines};
    return read_all(c, &q, ret_known);
}

void remote_known_release(remote_known *known)
{
    free(known->list);
    free(known->rungs);
    *known = (remote_known){0};
}
