/* The log of documents, for whoever checks it: its newest checkpoint, its tiles and entry bundles (c2sp.org/tlog-tiles). They
 * need no key, as entries tell nothing. A tile never changes. */
#include <string.h>

#include "api/handlers.h"
#include "tollbook/calendar.h"
#include "tollbook/prooflog.h"

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
