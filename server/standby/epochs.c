/* One handle of libcurl for each server, in one multi handle. A server that cannot be asked counts as one that did not answer. */
#include "standby/epochs.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "outbound/outbound.h"

#define ANSWER_MAX ((size_t)4096)

typedef struct question {
    CURL *curl;
    tb_buf answer;
} question;

static size_t take_answer(char *bytes, size_t size, size_t n, void *ctx)
{
    question *q = ctx;
    tb_buf_add(&q->answer, bytes, size * n);
    return q->answer.failed ? 0 : size * n;
}

static void begin_question(question *q, const char *at, const char *ca, CURLM *multi)
{
    char url[2400];
    tb_buf_init(&q->answer, ANSWER_MAX, NULL);
    if (!(q->curl = curl_easy_init())) return;
    snprintf(url, sizeof url, "%s/replica/epoch", at);
    outbound_prepare_job(q->curl, url, ca);
    curl_easy_setopt(q->curl, CURLOPT_TIMEOUT_MS, EPOCHS_MS);
    curl_easy_setopt(q->curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(q->curl, CURLOPT_WRITEDATA, q);
    curl_multi_add_handle(multi, q->curl);
}

/* Releases the answer. */
static epoch_answer read_answer(json_t *answer)
{
    const char *role = json_string_value(json_object_get(answer, "role"));
    epoch_answer ret = {.epoch = json_integer_value(json_object_get(answer, "epoch")),
                        .piece = json_integer_value(json_object_get(answer, "piece")),
                        .primary = role && strcmp(role, "primary") == 0,
                        .standby = role && strcmp(role, "standby") == 0};
    if (ret.epoch > TB_EPOCH_MAX) ret = (epoch_answer){.epoch = 0};
    json_decref(answer);
    return ret;
}

static epoch_answer end_question(question *q, CURLM *multi)
{
    long status = 0;
    if (q->curl) {
        curl_easy_getinfo(q->curl, CURLINFO_RESPONSE_CODE, &status);
        curl_multi_remove_handle(multi, q->curl);
        curl_easy_cleanup(q->curl);
    }
    const epoch_answer ret = read_answer(status == 200 && q->answer.len ? json_loadb(q->answer.data, q->answer.len, 0, NULL) : NULL);
    tb_buf_release(&q->answer);
    return ret;
}

void epochs_ask(const char *const *urls, size_t n, const char *ca, epoch_answer *ret)
{
    question all[TB_STANDBYS_MAX] = {{.curl = NULL}};
    CURLM *multi = n ? curl_multi_init() : NULL;
    int running = 1;
    for (size_t i = 0; i < n; i++)
        ret[i] = (epoch_answer){.epoch = 0};
    if (!multi) return;
    for (size_t i = 0; i < n; i++)
        begin_question(&all[i], urls[i], ca, multi);
    while (curl_multi_perform(multi, &running) == CURLM_OK && running)
        curl_multi_poll(multi, NULL, 0, 100, NULL);
    for (size_t i = 0; i < n; i++)
        ret[i] = end_question(&all[i], multi);
    curl_multi_cleanup(multi);
}

tb_code epochs_ask_one(primary_link *link, epoch_answer *ret, tb_error *err)
{
    const tb_code code = link_ask(link, &(link_request){.path = "/replica/epoch"}, err);
    *ret = read_answer(!code && link->status == 200 ? link_json(link) : NULL);
    return code;
}

void epochs_choose(link_options *o)
{
    epoch_answer answers[LINK_URLS_MAX];
    int64_t highest = 0;
    if (o->n_urls < 2) return;
    epochs_ask(o->urls, o->n_urls, o->ca, answers);
    for (size_t i = 0; i < o->n_urls; i++) {
        if (!answers[i].primary || answers[i].epoch <= highest) continue;
        highest = answers[i].epoch;
        o->url = o->urls[i];
    }
}
