/* The log of documents, for whoever checks it: receipts of a customer's days, its newest checkpoint, its tiles and entry bundles (c2sp.org/tlog-tiles). They
 * need no key, as entries tell nothing. A tile never changes. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/drawn.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/calendar.h"
#include "tollbook/prooflog.h"
#include "tollbook/tollproof.h"

#define PAST_US  (INT64_C(600) * TB_US_PER_S) /* after midnight, when the last logs of the day have come */
#define LOOKED   200 /* accounts' days of one step */

#define FOR_EVER "public, max-age=31536000, immutable"
#define A_MINUTE "public, max-age=60"

static void reply_proof(request *r, tb_code code, const tb_error *err, const char *content_type, const char *caching)
{
    if (code) {
        request_text(r)->len = 0;
        request_fail_as(r, err);
        return;
    }
    request_answer_text(r, 200, content_type);
    r->reply.cache = caching;
}

void api_proof_checkpoint(request *r)
{
    tb_error err;
    const tb_code code = tb_store_proof_checkpoint(r->worker->store, request_text(r), &err);
    reply_proof(r, code, &err, "text/plain; charset=utf-8", A_MINUTE);
}

void api_proof_tile(request *r)
{
    char path[TB_TILE_PATH] = "tile/";
    tb_tile tile;
    tb_error err;
    const size_t len = strlen(path) + r->id.len;
    if (r->id.len < sizeof path - strlen(path)) memcpy(path + strlen(path), r->id.data, r->id.len);
    if (len >= sizeof path || !tb_tile_path_read(path, len, &tile)) {
        reply_proof(r, tb_fail(&err, TB_E_NOT_FOUND, NULL, "It is not the path of a tile, such as /proof/tile/0/000.p/17."),
               &err, NULL, NULL);
        return;
    }
    const tb_code code = tb_store_proof_tile(r->worker->store, &tile, request_text(r), &err);
    reply_proof(r, code, &err, "application/octet-stream", FOR_EVER);
}

/* --- receipts of a month's days --- */

typedef struct receipts_params {
    tb_text month;
} receipts_params;
static const query_spec receipts_specs[] = {{"month", QUERY_TEXT, offsetof(receipts_params, month)}};

typedef struct receipts {
    drawing how;
    int64_t account, month;
    char file[40];
} receipts;
_Static_assert(sizeof(receipts) <= sizeof((request *)0)->work, "it fits request.work");

static tb_code put_receipts(request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    const receipts *a = (const receipts *)(const void *)r->work;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_proof_receipts(store, a->account, a->month, out, err);
    tb_store_read_end(store);
    return code;
}

static tb_code read_receipts(request *r, receipts *a, tb_error *err)
{
    receipts_params p = {{NULL, 0}};
    const tb_text query = request_query(r);
    tb_code code = api_account_asked(r, &a->account, err);
    if (!code) code = query_parse(query.data, query.len, receipts_specs, 1, &p, r->scratch, err);
    if (code) return code;
    if (p.month.len && tb_month_parse(p.month.data, p.month.len, &a->month)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "month", "Give a month, such as month=2026-10.");
}

void api_usage_receipts(request *r)
{
    receipts *a = (receipts *)(void *)r->work;
    char month[8];
    tb_error err;
    *a = (receipts){.how = {put_receipts, "application/json", true, a->file}};
    if (read_receipts(r, a, &err)) {
        request_fail_as(r, &err);
        return;
    }
    tb_month_format(a->month, month);
    snprintf(a->file, sizeof a->file, "%s.tollreceipts", month);
    drawn_answer(r);
}

/* --- days --- */

static struct {
    bool there;
    tb_note_secret key;
} signer;

const tb_note_secret *api_proof_key(void)
{
    return signer.there ? &signer.key : NULL;
}

static int64_t yesterday_of(int64_t now_us)
{
    return tb_day_from_us(now_us - PAST_US) - 1;
}

static int64_t until_midnight(void *ctx, int64_t now_us)
{
    (void)ctx;
    return (yesterday_of(now_us) + 2) * TB_US_PER_DAY + PAST_US - now_us + TB_US_PER_S;
}

static tb_code close_step(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_more, tb_error *err)
{
    tb_proof_log log;
    (void)ctx;
    (void)again;
    tb_code code = tb_store_proof_log(store, &log, err);
    if (code || !log.begun) return code;
    code = tb_store_proof_close(store, yesterday_of(now_us), LOOKED, ret_more, err);
    if (!code) code = tb_store_proof_log(store, &log, err);
    if (code || *ret_more || !signer.there || log.size == log.checkpoint) return code;
    return tb_store_proof_sign(store, &signer.key, err);
}

periodic_task api_proof_days(const tb_note_secret *key)
{
    signer.there = key != NULL;
    if (key) signer.key = *key;
    return (periodic_task){.name = "proof close-days", .write = close_step, .wait_us = until_midnight};
}
