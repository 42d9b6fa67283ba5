/* Requests with libcurl, and messages for HTTP statuses. */
#include "cli/client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "http/message.h"
#include "outbound/outbound.h"

#define ANSWER_MAX  ((size_t)64 << 20)
#define CONNECT_S   10L
#define CONNECT_NEXT_S 5L /* where another server can be asked */
#define GONE_MS     15000u /* so long is a machine silent that counts as gone */
#define STALLED_S   300L /* a large piece may take the server a while */
#define TRIES       6
#define ASKED_FIRST ((size_t)1 << 20) /* as curl has it */
#define WAIT_MOST_S 600 /* the longest wait, whatever Retry-After says */
#define WAIT_HERE_S 30u /* and a person at a terminal no longer than this */

static int bad_server(const cli_call *call)
{
    cli_say(call, "--server takes a URL like http://127.0.0.1:8080, or up to %d with commas between them, and TOLLBOOK_KEY or "
                  "--key what `key create` printed.", SERVERS_MAX);
    return tb_code_exit(TB_E_USAGE);
}

/* Only visible ASCII may go into a header. */
static bool is_visible(const char *text)
{
    for (; *text; text++)
        if (*text < 0x21 || *text > 0x7e) return false;
    return true;
}

int client_fail(client *c, tb_code code, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!c->into) cli_say(c->call, "%s", text);
    else (void)!tb_fail(c->into, code, NULL, "%s", text);
    return tb_code_exit(code);
}

int client_open(client *c, const cli_call *call)
{
    const char *server = cli_text(call, "server"), *key = cli_key(call);
    *c = (client){.call = call, .key = key ? key : "", .once = call->command->once};
    tb_buf_init(&c->answer, ANSWER_MAX, NULL);
    if (!servers_read(&c->servers, server) || !is_visible(c->key)) return bad_server(call);
    c->url = servers_url(&c->servers);
    c->ca = cli_ca(call);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) c->curl = curl_easy_init();
    if (c->curl) return 0;
    cli_say(call, "Out of memory.");
    return tb_code_exit(TB_E_NOMEM);
}

void client_close(client *c)
{
    tb_buf_release(&c->answer);
    if (!c->curl) return;
    curl_easy_cleanup(c->curl);
    curl_global_cleanup();
}

static bool has_several(const client *c)
{
    return c->servers.n > 1;
}

/* --- one exchange --- */

typedef struct taking {
    client *c;
    const client_request *request;
} taking;

static size_t take_answer(char *bytes, size_t size, size_t n, void *ctx)
{
    const taking *t = ctx;
    tb_buf *answer = &t->c->answer;
    long status = 0;
    if (t->request->take) curl_easy_getinfo(t->c->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status / 100 == 2) return t->request->take(t->request->take_ctx, bytes, size * n) ? size * n : 0;
    tb_buf_add(answer, bytes, size * n);
    return answer->failed ? 0 : size * n;
}

/* The value of the header with this name; NULL: it is another header. */
static const char *header_value(const char *line, const char *name)
{
    const size_t len = strlen(name);
    if (strncasecmp(line, name, len) != 0) return NULL;
    return line + len + strspn(line + len, " \t");
}

static unsigned wait_of(long long seconds)
{
    if (seconds < 0) return 0;
    return seconds < WAIT_MOST_S ? (unsigned)seconds : WAIT_MOST_S;
}

/* Seconds, or a date. Anything else is ignored. */
static void read_wait(client *c, const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    const bool plain = digits > 0 && text[digits + strspn(text + digits, " \t\r\n")] == 0;
    if (plain) c->retry_after = digits < 10 ? wait_of(strtoll(text, NULL, 10)) : WAIT_MOST_S;
    else c->retry_at = curl_getdate(text, NULL);
}

static size_t take_header(char *bytes, size_t size, size_t n, void *ctx)
{
    char line[128];
    client *c = ctx;
    const size_t len = size * n;
    snprintf(line, sizeof line, "%.*s", len < sizeof line ? (int)len : (int)sizeof line - 1, bytes);
    const char *date = header_value(line, "Date:"), *wait = header_value(line, "Retry-After:");
    if (date) c->date = curl_getdate(date, NULL);
    if (header_value(line, "Tollbook-Replica-Lag-Ms:")) c->is_copy = true;
    if (wait) read_wait(c, wait);
    return len;
}

/* libcurl calls this at times: nonzero aborts the transfer. */
static int look_up(void *ctx, curl_off_t to_get, curl_off_t got, curl_off_t to_send, curl_off_t sent)
{
    const client *c = ctx;
    (void)to_get, (void)got, (void)to_send, (void)sent;
    return c->leave(c->leave_ctx);
}

static bool add_header(struct curl_slist **headers, const char *name, const char *value)
{
    char line[1024];
    if (!value) return true;
    int n = snprintf(line, sizeof line, "%s: %s", name, value);
    if (n < 0 || (size_t)n >= sizeof line) return false;
    struct curl_slist *more = curl_slist_append(*headers, line);
    if (more) *headers = more;
    return more != NULL;
}

/* curl asks a server whether it wants a body of more than 1 MiB: one that refuses it for its length may close the connection under the rest of it,
 * and its answer is lost then. A smaller body is sent without the round trip. */
static struct curl_slist *make_headers(const client *c, const client_request *request)
{
    struct curl_slist *headers = NULL;
    if (add_header(&headers, "AccessKey", c->key) &&
        add_header(&headers, "Content-Type", request->type) &&
        add_header(&headers, "Content-Encoding", request->coding) &&
        add_header(&headers, "Idempotency-Key", request->batch) &&
        (request->len > ASKED_FIRST || add_header(&headers, "Expect", "")))
        return headers;
    curl_slist_free_all(headers);
    return NULL;
}

/* A machine that is gone answers nothing: its connection ends after some seconds, and another server is asked. One that only takes long
 * keeps it, as its system answers. */
static int watch_machine(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    const int on = 1, each_s = 5;
    const unsigned gone_ms = GONE_MS;
    (void)ctx, (void)purpose;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &each_s, sizeof each_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each_s, sizeof each_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof gone_ms);
    return CURL_SOCKOPT_OK;
}

static void set_up(client *c, const client_request *request, const char *url,
                   struct curl_slist *headers, taking *to)
{
    CURL *curl = c->curl;
    curl_easy_reset(curl);
    outbound_prepare(curl, url, c->ca);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, has_several(c) ? CONNECT_NEXT_S : CONNECT_S);
    if (has_several(c)) curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, watch_machine);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, request->quiet_s ? request->quiet_s : STALLED_S);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, to);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, c);
    if (c->leave) {
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_up);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, c);
    }
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, c->why);
    if (!request->type) return;
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->len);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body ? request->body : "");
}

static bool is_certificate(CURLcode rc)
{
    return rc == CURLE_PEER_FAILED_VERIFICATION || rc == CURLE_SSL_CACERT_BADFILE || rc == CURLE_SSL_ISSUER_ERROR;
}

static const char *why(const client *c, CURLcode rc)
{
    return c->why[0] ? c->why : curl_easy_strerror(rc);
}

static int unreachable(client *c, CURLcode rc, bool repeats)
{
    const char *cause = why(c, rc);
    if (is_certificate(rc))
        return client_fail(c, TB_E_IO, "%s: %s. --ca FILE, or the variable SSL_CERT_FILE, names the certificate of the "
                                       "authority that has signed the server's%s%s.", c->url, cause,
                           c->ca ? "; now it is " : "", c->ca ? c->ca : "");
    if (has_several(c) && !repeats)
        return client_fail(c, TB_E_IO, "%s: %s. It was sent, and may be done: look before you run the same command again.", c->url,
                           cause);
    return client_fail(c, TB_E_IO, "%s: %s. Check the URL and that the server runs%s.", c->url, cause,
                       c->into ? "" : ", then run the same command again");
}

static void tell_exchange(const client *c, const char *method, const char *url, long status)
{
    curl_off_t us = 0, sent = 0;
    curl_easy_getinfo(c->curl, CURLINFO_TOTAL_TIME_T, &us);
    curl_easy_getinfo(c->curl, CURLINFO_SIZE_UPLOAD_T, &sent);
    message_say(MESSAGE_DEBUG, "%s %s: HTTP %ld in %" CURL_FORMAT_CURL_OFF_T " ms, %" CURL_FORMAT_CURL_OFF_T " bytes sent, %zu received",
                method, url, status, us / 1000, sent, c->answer.len);
}

/* One request to one server: c->status and c->answer. */
static CURLcode exchange(client *c, const client_request *request)
{
    char url[4096];
    taking to = {c, request};
    c->status = 0;
    c->answer.len = 0;
    c->retry_after = 1;
    c->date = c->retry_at = 0;
    c->is_copy = false;
    c->why[0] = 0;
    int n = snprintf(url, sizeof url, "%s%s", c->url, request->path);
    struct curl_slist *headers = make_headers(c, request);
    if (!headers || n < 0 || (size_t)n >= sizeof url) {
        curl_slist_free_all(headers);
        return CURLE_URL_MALFORMAT;
    }
    set_up(c, request, url, headers, &to);
    CURLcode rc = curl_easy_perform(c->curl);
    if (rc == CURLE_OK) curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &c->status);
    curl_slist_free_all(headers);
    if (message_wanted(MESSAGE_DEBUG)) tell_exchange(c, request->method, url, c->status);
    if (c->retry_at > 0) /* a date by the server's clock, which Date tells; without it, by ours */
        c->retry_after = wait_of((long long)c->retry_at - (c->date > 0 ? c->date : time(NULL)));
    if (rc != CURLE_OK) c->retry_after = 0;
    return rc;
}

/* --- messages for answers --- */

json_t *client_json(client *c)
{
    json_t *document = json_loadb(c->answer.data ? c->answer.data : "", c->answer.len,
                                  JSON_REJECT_DUPLICATES, NULL);
    if (document && json_is_object(document)) return document;
    json_decref(document);
    (void)client_fail(c, TB_E_IO, "%s: The answer is not tollbook's. Check the URL.", c->url);
    return NULL;
}

/* The server's code; of an answer without one, by its status. */
static tb_code code_of(const char *key, long status)
{
    for (int code = 1; key && code < TB_E_MAX_ && status != 429; code++)
        if (strcmp(tb_code_key((tb_code)code), key) == 0) return (tb_code)code;
    if (status == 413) return TB_E_TOO_LARGE; /* a proxy's: its limit is not the server's */
    return status >= 500 || status == 429 ? TB_E_BUSY : TB_E_BAD_INPUT;
}

#define SUBJECT_MAX 2560

/* The subject of an answer: the file that was sent, or the server. A full disk, say, is the server's. */
static void put_subject(const client *c, const client_request *request, long status, char out[SUBJECT_MAX])
{
    const char *file = request->subject;
    const bool server = !file || status >= 500 || status == 429;
    snprintf(out, SUBJECT_MAX, "%s%s%s%s", file ? file : "", file && server ? ": " : "", server ? c->url : "",
             file && server ? " says" : "");
}

static int refused(client *c, const client_request *request, long status)
{
    json_t *document = json_loadb(c->answer.data ? c->answer.data : "", c->answer.len, 0, NULL);
    const char *message = json_string_value(json_object_get(document, "Message"));
    const char *field = json_string_value(json_object_get(document, "Field"));
    const char *key = json_string_value(json_object_get(document, "ErrorKey"));
    const tb_code code = status / 100 == 2 ? TB_E_REPLICA_READ_ONLY : code_of(key, status);
    if (status == 409 && request->conflict && code != TB_E_WITHDRAWAL && code != TB_E_OTHER_OPTIONS) {
        *request->conflict = true;
        json_decref(document);
        return tb_code_exit(TB_E_BATCH_CONFLICT);
    }
    if (status == 413 && request->too_large) {
        *request->too_large = true;
        json_decref(document);
        return tb_code_exit(TB_E_TOO_LARGE);
    }
    if (request->answered && json_object_get(document, "said")) {
        *request->answered = true;
        json_decref(document);
        return tb_code_exit(code);
    }
    const bool long_alone = status == 413 && (!message || strcmp(message, tb_code_text(TB_E_TOO_LARGE)) == 0);
    const char *remedy = long_alone ? " Raise --body-mb of the server, or the limit of the proxy before it." : "";
    char subject[SUBJECT_MAX];
    put_subject(c, request, status, subject);
    int exit = client_fail(c, code, "%s: %s%s%s (HTTP %ld)%s", subject,
                           field ? field : "", field ? ": " : "",
                           message ? message : status / 100 == 2 ? "Only standbys answer, and the primary is needed." : "The server refused it.",
                           status, remedy);
    json_decref(document);
    return exit;
}

static bool leaves(const client *c)
{
    return c->leave && c->leave(c->leave_ctx);
}

/* --- several servers --- */

/* What became of a request. */
typedef struct outcome {
    CURLcode rc;
    tb_code code; /* TB_OK: it was done. TB_E_AWAY: no answer came, and rc says why */
    bool heard;   /* one of the servers answered */
} outcome;

/* Whether a server may get it that was sent before, or was it never sent. */
static bool may_repeat(const client *c, const client_request *request, CURLcode rc)
{
    long sent = 0;
    if (rc != CURLE_OK) curl_easy_getinfo(c->curl, CURLINFO_REQUEST_SIZE, &sent);
    if (rc != CURLE_OK && sent == 0) return true;
    return request->repeats || (strcmp(request->method, "GET") == 0 && !request->take);
}

static tb_code judge(const client *c, const client_request *request, CURLcode rc, const json_t *answer)
{
    if (rc != CURLE_OK) return TB_E_AWAY;
    if (c->status / 100 != 2) return code_of(json_string_value(json_object_get(answer, "ErrorKey")), c->status);
    return request->newest && c->is_copy && has_several(c) ? TB_E_REPLICA_READ_ONLY : TB_OK;
}

/* Whether another server is to be asked: this one is away, or is not the primary (any more). */
static bool is_elsewhere(const client *c, const client_request *request, const outcome *o)
{
    switch (o->code) {
    case TB_E_REPLICA_READ_ONLY:
    case TB_E_REPLICA_SUPERSEDED: return true;
    case TB_E_REPLICA_UNACKNOWLEDGED: return may_repeat(c, request, CURLE_OK);
    case TB_E_AWAY: return o->rc != CURLE_OK && o->rc != CURLE_ABORTED_BY_CALLBACK && may_repeat(c, request, o->rc);
    default: return false;
    }
}

/* A command that runs on says where its work goes, once that has changed. */
static void tell_server(client *c)
{
    if (c->told && c->told != c->url && c->call->command->runs_on) cli_note(c->call, "%s answers now, and gets what is sent.", c->url);
    c->told = c->url;
}

static json_t *read_refusal(const client *c)
{
    return c->status / 100 == 2 ? NULL : json_loadb(c->answer.data ? c->answer.data : "", c->answer.len, 0, NULL);
}

/* Asks one server after another, each once, until one has an answer of its own. */
static outcome ask_round(client *c, const client_request *request)
{
    outcome o = {.heard = false};
    bool more = true;
    servers_begin(&c->servers);
    while (more) {
        c->url = servers_url(&c->servers);
        o.rc = exchange(c, request);
        json_t *refusal = o.rc == CURLE_OK ? read_refusal(c) : NULL;
        o.code = judge(c, request, o.rc, refusal);
        const bool elsewhere = is_elsewhere(c, request, &o);
        if (o.rc == CURLE_OK && (!o.heard || !elsewhere)) servers_keep(&c->servers);
        o.heard |= o.rc == CURLE_OK;
        more = elsewhere && !leaves(c) && servers_next(&c->servers, json_string_value(json_object_get(refusal, "Primary")));
        json_decref(refusal);
    }
    if (o.code == TB_OK) tell_server(c);
    return o;
}

/* Whether the servers are asked again after a pause. One that cannot be reached is, where another one answers: it may take its
 * place in a moment. */
static bool is_asked_again(const client *c, const client_request *request, const outcome *o)
{
    if (c->once || (c->into && !c->patient) || leaves(c)) return false;
    if (o->code == TB_E_REPLICA_UNACKNOWLEDGED) return may_repeat(c, request, CURLE_OK);
    if (is_elsewhere(c, request, o)) return o->heard;
    return c->status == 429 || c->status == 503;
}

/* Prints a message before a retry. A wait of one second for a busy server is not worth a line. */
static void wait_again(client *c, const client_request *request, const outcome *o, int left)
{
    const unsigned growing = has_several(c) && o->code != TB_E_BUSY ? 1u << (TRIES - 1 - left) : 0;
    const unsigned asked = c->retry_after > growing ? c->retry_after : growing;
    const unsigned seconds = asked < WAIT_HERE_S ? asked : WAIT_HERE_S;
    const struct timespec second = {.tv_sec = 1};
    char subject[SUBJECT_MAX], status[40] = ":";
    json_t *document = json_loadb(c->answer.data ? c->answer.data : "", c->answer.len, 0, NULL);
    const char *message = json_string_value(json_object_get(document, "Message"));
    if (o->rc != CURLE_OK) message = why(c, o->rc);
    else snprintf(status, sizeof status, " (HTTP %ld)", c->status);
    put_subject(c, request, o->rc == CURLE_OK ? c->status : 503, subject);
    if (o->code != TB_E_BUSY || seconds > 1) {
        if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr); /* a meter may stand there */
        cli_warn(c->call, "%s: %s%s %s asked again in %u second%s: %d %s left.", subject,
                 message ? message : tb_code_text(o->code), status, has_several(c) ? "The servers of --server are" : "It is",
                 seconds, seconds == 1 ? "" : "s", left, left == 1 ? "try is" : "tries are");
    }
    json_decref(document);
    for (unsigned i = 0; i < seconds && !leaves(c); i++)
        nanosleep(&second, NULL);
}

int client_send(client *c, const client_request *request)
{
    outcome o = ask_round(c, request);
    for (int left = TRIES - 1; left > 0 && o.code != TB_OK && is_asked_again(c, request, &o); left--) {
        wait_again(c, request, &o, left);
        o = ask_round(c, request);
    }
    if (o.rc != CURLE_OK) return unreachable(c, o.rc, may_repeat(c, request, o.rc));
    return o.code == TB_OK ? 0 : refused(c, request, c->status);
}

int client_ask(const cli_call *call, const client_request *request, json_t **ret_answer)
{
    client c;
    *ret_answer = NULL;
    int status = client_open(&c, call);
    if (status == 0) status = client_send(&c, request);
    if (status == 0 && c.answer.len > 0) {
        *ret_answer = client_json(&c);
        if (!*ret_answer) status = tb_code_exit(TB_E_BAD_INPUT);
    }
    client_close(&c);
    return status;
}

bool client_escape(const char *text, char *out, size_t size)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    out[0] = 0;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     strchr("-._~", c);
        if (n + 4 > size) return false;
        if (plain) {
            out[n++] = (char)c;
        } else {
            out[n++] = '%';
            out[n++] = hex[c >> 4];
            out[n++] = hex[c & 15];
        }
        out[n] = 0;
    }
    return true;
}
