/* POST /mc/registries/digest. The worker reads the body and looks up the registry in the store; a job of the pool asks
 * the registry. A registry's password is a file in the folder of --registry-secrets, read each time, so that it can be
 * changed without a restart. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/handlers.h"
#include "http/clock.h"
#include "registry/registry.h"
#include "tollbook/containerstore.h"
#include "tollbook/json.h"

#define TEXT_MAX   100
#define SECRET_MAX 4096

enum { REGISTRY, NAME, NAMESPACE, TAG, FIELDS };
static const char *const fields[FIELDS] = {"registryId", "imageName", "imageNamespace", "tag"};

typedef struct digest_work {
    char text[FIELDS][TEXT_MAX + 1];
    tb_registry registry;
    int64_t until_us; /* monotonic: the deadline, with the time in the queue */
    char digest[REGISTRY_DIGEST + 1];
} digest_work;

/* --- the body --- */

static void refuse_digest(request *r, const char *detail, const error_entry *entries, size_t n)
{
    char id[REQUEST_ID_TEXT];
    request_id_text(r, id);
    const error_place place = {.path = request_path(r), .id = {id, REQUEST_ID_TEXT}};
    errors_put_details(TB_E_IMAGE, detail, entries, n, place, request_text(r));
    request_answer_text(r, 422, "application/json");
}

/* Stores a field in the work. Returns NULL, or what is wrong with it. */
static const char *take_field(const json_t *document, int field, digest_work *work)
{
    const json_t *value = json_object_get(document, fields[field]);
    const char *text = json_string_value(value);
    const size_t len = json_string_length(value);
    if (!value || json_is_null(value)) return "This field is required.";
    if (!text) return "This field is a string.";
    size_t blank = 0;
    while (blank < len && strchr(" \t\r\n\f\v", text[blank]))
        blank++;
    if (blank == len) return "This field must not be empty.";
    if (len > TEXT_MAX) return "This field has at most 100 characters.";
    if (field == TAG && !registry_is_tag(text, len)) return "This is not the tag of an image.";
    if ((field == NAME || field == NAMESPACE) && !registry_is_name(text, len))
        return "This is not the name of an image: lower case letters, digits, and '.', '_', '-', "
               "'/' between them.";
    memcpy(work->text[field], text, len + 1);
    return NULL;
}

/* false: the request was answered with all that is wrong. */
static bool read_body(request *r, digest_work *work)
{
    error_entry wrong[FIELDS];
    size_t n = 0;
    json_t *document = json_loadb(r->body ? r->body : "", r->body_len, JSON_REJECT_DUPLICATES, NULL);
    const bool object = json_is_object(document);
    if (!object) wrong[n++] = (error_entry){NULL, "The body must be a JSON object."};
    for (int i = 0; object && i < FIELDS; i++) {
        const char *why = take_field(document, i, work);
        if (why) wrong[n++] = (error_entry){fields[i], why};
    }
    json_decref(document);
    if (n)
        refuse_digest(r, object ? "One or more fields are not valid." : wrong[0].message, wrong, n);
    return n == 0;
}

static bool find_registry(request *r, digest_work *work)
{
    static const error_entry unknown = {"registryId", "There is no such registry."};
    const char *id = work->text[REGISTRY];
    tb_error err;
    bool found = false;
    if (tb_store_registry(r->worker->store, r->account, (tb_text){id, strlen(id)}, &work->registry,
                          &found, &err) != TB_OK) {
        request_fail_as(r, &err);
        return false;
    }
    if (!found) refuse_digest(r, unknown.message, &unknown, 1);
    return found;
}

/* --- on the outbound lane --- */

static tb_code no_secret(const tb_registry *registry, const char *why, tb_error *err)
{
    return tb_fail(err, TB_E_REGISTRY, NULL, "The secret %s of %s: %s.", registry->secret,
                   registry->url, why);
}

static tb_code read_secret(const server_options *o, const tb_registry *registry,
                           char out[SECRET_MAX + 1], tb_error *err)
{
    char path[4096];
    out[0] = 0;
    if (!registry->secret[0]) return TB_OK;
    if (!o->registry_secrets) return no_secret(registry, "--registry-secrets is not given", err);
    int n = snprintf(path, sizeof path, "%s/%s", o->registry_secrets, registry->secret);
    int fd = n > 0 && (size_t)n < sizeof path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0) return no_secret(registry, strerror(errno), err);
    ssize_t len = read(fd, out, SECRET_MAX + 1);
    close(fd);
    if (len < 0) return no_secret(registry, strerror(errno), err);
    while (len > 0 && (out[len - 1] == '\n' || out[len - 1] == '\r'))
        len--;
    if (len == 0 || len > SECRET_MAX || memchr(out, 0, (size_t)len))
        return no_secret(registry, "the file must hold 1 to 4096 bytes, a line", err);
    out[len] = 0;
    return TB_OK;
}

static bool stopping(void *ctx)
{
    return job_pool_stopping(ctx, LANE_OUTBOUND);
}

static tb_code run_digest(write_job *job, tb_store *store, tb_error *err)
{
    (void)store;
    request *r = job->owner;
    digest_work *work = r->kept;
    const server *s = r->worker->server;
    const int64_t left_us = work->until_us - clock_mono_us();
    if (left_us < s->options.registry_us / 4) /* too little time is left to ask a registry */
        return tb_fail(err, TB_E_BUSY, NULL, "Too many look-ups wait already, try again later.");
    char password[SECRET_MAX + 2], repository[2 * TEXT_MAX + 2];
    snprintf(repository, sizeof repository, "%s/%s", work->text[NAMESPACE], work->text[NAME]);
    tb_code code = read_secret(&s->options, &work->registry, password, err);
    const registry_question question = {.url = work->registry.url, .realm = work->registry.realm,
                                        .username = work->registry.username, .password = password,
                                        .repository = repository, .tag = work->text[TAG],
                                        .limit_us = left_us, .stop = stopping,
                                        .ctx = s->pool, .ca = s->options.ca};
    if (!code) code = registry_digest(&question, work->digest, err);
    sodium_memzero(password, sizeof password);
    return code;
}

/* --- the answer --- */

void api_mc_digest(request *r)
{
    digest_work *work = calloc(1, sizeof *work);
    if (!work) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    r->kept = work;
    if (!read_body(r, work) || !find_registry(r, work)) return;
    work->until_us = clock_mono_us() + r->worker->server->options.registry_us;
    r->job.run = run_digest;
    request_submit_outbound(r);
}

void api_mc_digested(request *r)
{
    static const struct {
        const char *name;
        int field;
    } shown[] = {{"imageNamespace", NAMESPACE}, {"image", NAME}, {"tag", TAG}};
    const digest_work *work = r->kept;
    if (r->job.code != TB_OK) {
        request_fail_as(r, &r->job.err);
    } else {
        tb_buf *out = request_text(r);
        for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
            const char *text = work->text[shown[i].field];
            tb_buf_fmt(out, "%c\"%s\":", i ? ',' : '{', shown[i].name);
            tb_json_string(out, text, strlen(text));
        }
        tb_buf_fmt(out, ",\"digest\":\"%s\"}", work->digest);
        request_answer_text(r, 200, "application/json");
    }
}
