/* The state of a witness is its thread's alone, but for the figures. What it knows of the log is not stored: asked with another size it
 * answers 409 and the size. */
#include "api/witness.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "http/clock.h"
#include "http/message.h"
#include "tollbook/prooflog.h"
#include "webhook/webhook.h"

#define LOOK_US   INT64_C(200000)     /* between two looks for a new checkpoint */
#define PAUSE_MOST_US INT64_C(600000000)
#define REPORT_US INT64_C(3600000000) /* between two reports of the same failure */
#define ANSWER_MAX 16384               /* bytes: some cosignatures, or a size */
#define BODY_MAX  (TB_NOTE_MAX + TB_MERKLE_PROOF_MAX * TB_MERKLE_BASE64 + 64)

typedef struct witness {
    api_witness is;
    webhook *sender;
    int64_t known; /* size of the log that it knows, as far as we know */
    int64_t pause_us; /* before it is asked again; 0: it did not fail */
    int64_t reported_us;
    char reported[sizeof ((tb_error *)0)->message];
    /* For metrics. */
    _Atomic int64_t size, signed_size; /* of the newest checkpoint; of the newest one that it signed */
    _Atomic uint64_t signatures, failures;
} witness;

static struct {
    unsigned n;
    const char *ca;
    int64_t limit_us;
    witness list[WITNESSES_MAX];
} state;

/* A question: the newest checkpoint, and the proof of growth from the size that the witness knows. */
typedef struct question {
    witness *w;
    const job_pool *pool;
    writer *writer;
    tb_store *reader;
    int64_t size, old_size;
    tb_buf note, body, answer;
} question;

/* --- what is asked --- */

static bool has_signed(const question *q)
{
    tb_note note;
    tb_note_signer signer = {.key = q->w->is.key};
    return tb_note_read(q->note.data, q->note.len, &note, NULL) == TB_OK && tb_note_open(&note, &signer, 1, NULL) == TB_OK;
}

/* *ret_due: there is a checkpoint that it has not signed. */
static tb_code read_newest(question *q, bool *ret_due, tb_error *err)
{
    tb_proof_log log;
    *ret_due = false;
    tb_code code = tb_store_proof_log(q->reader, &log, err);
    if (code || !log.begun || !log.checkpoint) return code;
    atomic_store(&q->w->size, log.checkpoint);
    q->size = log.checkpoint;
    if (q->size == atomic_load(&q->w->signed_size)) return TB_OK;
    code = tb_store_proof_checkpoint(q->reader, &q->note, err);
    if (code) return code;
    *ret_due = !has_signed(q);
    if (*ret_due) return TB_OK;
    q->w->known = q->size;
    atomic_store(&q->w->signed_size, q->size);
    return TB_OK;
}

static tb_code write_body(question *q, tb_error *err)
{
    tb_merkle_proof proof;
    tb_code code = tb_store_proof_growth(q->reader, q->old_size, q->size, &proof, err);
    if (code) return code;
    q->body.len = 0;
    tb_witness_ask(q->old_size, &proof, (tb_text){q->note.data, q->note.len}, &q->body);
    return tb_buf_check(&q->body, err);
}

/* --- the exchange --- */

static bool is_stopping(void *ctx)
{
    return job_pool_stopping(ctx, LANE_WITNESS);
}

static tb_code send_body(question *q, int *ret_status, tb_error *err)
{
    char url[WITNESS_URL_MAX + 32], error[WEBHOOK_ERROR_MAX + 1];
    snprintf(url, sizeof url, "%s/add-checkpoint", q->w->is.url);
    q->answer.len = 0;
    const webhook_message message = {.url = url, .body = q->body.data, .body_len = q->body.len, .limit_us = state.limit_us,
                                     .ca = state.ca, .stop = is_stopping, .ctx = (void *)(uintptr_t)q->pool, .answer = &q->answer};
    if (!q->w->sender) q->w->sender = webhook_new();
    if (!q->w->sender) return tb_no_memory(err);
    *ret_status = webhook_send(q->w->sender, &message, NULL, error).status;
    return *ret_status ? TB_OK : tb_fail(err, TB_E_AWAY, NULL, "%s", error);
}

/* The size of a 409: a decimal number and a newline. */
static tb_code read_size(const question *q, int64_t *ret, tb_error *err)
{
    const tb_text text = {q->answer.data, q->answer.len};
    size_t at = 0;
    *ret = 0;
    while (at < text.len && at < 19 && text.data[at] >= '0' && text.data[at] <= '9' && (at == 0 || *ret > 0))
        *ret = *ret > (INT64_MAX - 9) / 10 ? INT64_MAX : *ret * 10 + (text.data[at++] - '0');
    if (at && at + 1 == text.len && text.data[at] == '\n') return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, NULL, "It answers 409 without the size of the log that it knows.");
}

/* What it means that it knows a log of this size. */
static tb_code check_known(const question *q, int64_t known, tb_error *err)
{
    if (known > q->size)
        return tb_fail(err, TB_E_DIFFERENT, NULL, "It knows a log of this name of %" PRId64 " entries, and this one has signed %" PRId64
                       ": this database is an older copy, or another log.", known, q->size);
    if (known == q->old_size)
        return tb_fail(err, TB_E_DIFFERENT, NULL, "It knows another log of this name: its first %" PRId64 " entries differ.", known);
    return TB_OK;
}

static tb_code store_signature(write_job *job, tb_store *store, tb_error *err)
{
    const question *q = job->owner;
    return tb_store_proof_cosign(store, q->size, &q->w->is.key, (tb_text){q->answer.data, q->answer.len}, err);
}

/* What is wrong does not reach the writer. */
static tb_code take_signature(question *q, tb_error *err)
{
    tb_buf cosigned;
    if (!q->answer.len) return tb_fail(err, TB_E_NOT_FOUND, NULL, "It answers 200 without a signature.");
    tb_buf_init(&cosigned, TB_NOTE_MAX, NULL);
    tb_code code = tb_witness_add((tb_text){q->note.data, q->note.len}, (tb_text){q->answer.data, q->answer.len}, &q->w->is.key,
                                  &cosigned, err);
    tb_buf_release(&cosigned);
    return code ? code : writer_run(q->writer, &(write_job){.run = store_signature, .owner = q}, err);
}

static tb_code refused(int status, tb_error *err)
{
    static const struct {
        int status;
        const char *why;
    } reasons[] = {
        {403, "it does not know the key that signed the checkpoint: give it the key that `tollbook proof vkey` prints"},
        {404, "it does not know this log, or this is not its address"},
        {422, "the log does not continue the one that it knows"},
    };
    const char *why = "it should answer 200 or 409";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status) why = reasons[i].why;
    return tb_fail(err, status == 422 ? TB_E_DIFFERENT : TB_E_VALIDATION, NULL, "It answers %d: %s.", status, why);
}

static tb_code exchange(question *q, int *ret_status, tb_error *err)
{
    q->old_size = q->w->known;
    tb_code code = write_body(q, err);
    if (!code) code = send_body(q, ret_status, err);
    if (code || *ret_status == 200) return code ? code : take_signature(q, err);
    if (*ret_status != 409) return refused(*ret_status, err);
    int64_t known;
    code = read_size(q, &known, err);
    if (!code) code = check_known(q, known, err);
    if (!code) q->w->known = known;
    return code;
}

/* A second time with the size that it names. */
static tb_code ask_newest(question *q, bool *ret_signed, tb_error *err)
{
    int status = 0;
    bool due = false;
    *ret_signed = false;
    tb_code code = tb_store_read_begin(q->reader, err);
    if (code) return code;
    code = read_newest(q, &due, err);
    tb_store_read_end(q->reader);
    if (code || !due) return code;
    if (q->w->known > q->size) q->w->known = 0;
    for (int i = 0; !code && status != 200 && i < 2; i++)
        code = exchange(q, &status, err);
    if (!code && status != 200) code = tb_fail(err, TB_E_DIFFERENT, NULL, "It names another size of the log each time.");
    *ret_signed = !code;
    return code;
}

/* --- what comes of it --- */

static void note_failure(witness *w, tb_code code, const tb_error *err)
{
    const int64_t now_us = clock_mono_us();
    atomic_fetch_add(&w->failures, 1);
    w->pause_us = w->pause_us ? w->pause_us * 2 : state.limit_us / 10 + 1;
    if (w->pause_us > PAUSE_MOST_US) w->pause_us = PAUSE_MOST_US;
    if (strcmp(w->reported, err->message) == 0 && now_us - w->reported_us < REPORT_US) return;
    memcpy(w->reported, err->message, sizeof w->reported);
    w->reported_us = now_us;
    message_say(code == TB_E_DIFFERENT ? MESSAGE_ERROR : MESSAGE_WARNING, "the witness %s did not sign the checkpoint: %s It is asked again.",
                w->is.key.name, err->message);
}

static void note_signed(witness *w, int64_t size)
{
    message_say(w->pause_us ? MESSAGE_WARNING : MESSAGE_DEBUG, "the witness %s has signed the checkpoint of %" PRId64 " entries%s.",
                w->is.key.name, size, w->pause_us ? ", after a failure" : "");
    w->known = size;
    w->pause_us = 0;
    w->reported[0] = 0;
    atomic_store(&w->signed_size, size);
    atomic_fetch_add(&w->signatures, 1);
}

static int64_t ask(void *ctx, unsigned i, const job_pool *pool, writer *to, tb_store *reader)
{
    question q = {.w = &state.list[i], .pool = pool, .writer = to, .reader = reader};
    bool has_signed_now = false;
    tb_error err = {0};
    (void)ctx;
    tb_buf_init(&q.note, TB_NOTE_MAX, NULL);
    tb_buf_init(&q.body, BODY_MAX, NULL);
    tb_buf_init(&q.answer, ANSWER_MAX, NULL);
    const tb_code code = ask_newest(&q, &has_signed_now, &err);
    if (has_signed_now) note_signed(q.w, q.size);
    if (code && !job_pool_stopping(pool, LANE_WITNESS)) note_failure(q.w, code, &err);
    tb_buf_release(&q.note);
    tb_buf_release(&q.body);
    tb_buf_release(&q.answer);
    return code ? q.w->pause_us : LOOK_US;
}

static void end_witnesses(void *ctx)
{
    (void)ctx;
    for (unsigned i = 0; i < state.n; i++)
        webhook_free(state.list[i].sender);
    state.n = 0;
}

/* --- set-up --- */

tb_code api_witness_read(const char *text, api_witness *ret, tb_error *err)
{
    const char *vkey = strchr(text, '=');
    size_t len = vkey ? (size_t)(vkey - text) : 0;
    tb_error why;
    while (len && text[len - 1] == '/')
        len--;
    if (!len || len > WITNESS_URL_MAX)
        return tb_fail(err, TB_E_USAGE, NULL, "It must be URL=VKEY: the witness's address, without '=', and its verifier key.");
    memcpy(ret->url, text, len);
    ret->url[len] = 0;
    tb_code code = webhook_check_url(ret->url, err);
    if (code) return code;
    if (strchr(ret->url, '?')) return tb_fail(err, TB_E_USAGE, NULL, "The address of a witness has no '?'.");
    if (tb_note_key_read(vkey + 1, strlen(vkey + 1), &ret->key, &why)) return tb_fail(err, TB_E_USAGE, NULL, "%s", why.message);
    if (ret->key.type != TB_NOTE_COSIGNATURE)
        return tb_fail(err, TB_E_USAGE, NULL, "The key is not a witness's: that of a log has another type.");
    return TB_OK;
}

tb_code api_witnesses(const api_witness *list, unsigned n, const char *ca, int64_t limit_us, witness_work *ret, tb_error *err)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < i; k++)
            if (list[i].key.id == list[k].key.id && strcmp(list[i].key.name, list[k].key.name) == 0)
                return tb_fail(err, TB_E_USAGE, NULL, "The witness %.100s is named twice.", list[i].key.name);
    state.n = n;
    state.ca = ca;
    state.limit_us = limit_us;
    for (unsigned i = 0; i < n; i++)
        state.list[i].is = list[i];
    *ret = (witness_work){.n = n, .ask = ask, .end = end_witnesses};
    return TB_OK;
}

/* --- metrics --- */

void api_witness_metrics(tb_buf *out)
{
    static const char *const heads[] = {
        "# HELP tollbook_proof_witness_unsigned_entries Entries of the newest checkpoint's log that the witness has not signed.\n"
        "# TYPE tollbook_proof_witness_unsigned_entries gauge\n",
        "# HELP tollbook_proof_witness_signatures_total Checkpoints that the witness has signed, since the start.\n"
        "# TYPE tollbook_proof_witness_signatures_total counter\n",
        "# HELP tollbook_proof_witness_failures_total Times that the witness was asked in vain, since the start.\n"
        "# TYPE tollbook_proof_witness_failures_total counter\n"};
    static const char *const names[] = {"unsigned_entries", "signatures_total", "failures_total"};
    for (size_t row = 0; state.n && row < sizeof heads / sizeof *heads; row++) {
        tb_buf_str(out, heads[row]);
        for (unsigned i = 0; i < state.n; i++) {
            const witness *w = &state.list[i];
            const uint64_t values[] = {(uint64_t)(atomic_load(&w->size) - atomic_load(&w->signed_size)), atomic_load(&w->signatures),
                                       atomic_load(&w->failures)};
            tb_buf_fmt(out, "tollbook_proof_witness_%s{witness=\"%s\"} %" PRIu64 "\n", names[row], w->is.key.name, values[row]);
        }
    }
}
