/* What a connection sends: the first byte says where the rest is cut. Cut or whole, the same bytes pass, and
 * what is judged wrong stays so. What passes is given to libmicrohttpd itself, with the server's memory for a
 * connection: it must have read what the framing has read, the same requests with the same bodies, must answer
 * each of them and nothing else, and end the connection where the framing says that it ends. */
#include <microhttpd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/front/framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

/* --- a reading: '<' for each head, its body's bytes, '>' for each request that is whole --- */

typedef struct text {
    char *bytes;
    size_t len, whole; /* requests */
} text;

static void *room(size_t size)
{
    void *bytes = calloc(1, size + 1);
    if (!bytes) abort();
    return bytes;
}

static void note(text *t, const char *bytes, size_t len)
{
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static void note_end(text *t)
{
    note(t, ">", 1);
    t->whole++;
}

/* --- the framing's --- */

/* A large body: what is there of it goes by, and a byte of its placeholder passes before and after. */
static size_t pass_by(framing *w, size_t rest, text *passed)
{
    const size_t n = w->left < rest ? (size_t)w->left : rest;
    w->left -= n;
    if (w->placeholders == 0 && n > 0) note(passed, &(char){framing_placeholder(w)}, 1);
    if (w->left == 0) note(passed, &(char){framing_placeholder(w)}, 1);
    return n;
}

/* What one step of the framing means: a head, a body's byte, a request's end. Byte by byte a step is no more. */
static void note_step(text *reading, const framing *before, const framing *after, const char *passed, size_t len)
{
    const framing_state was = before->state;
    const bool begins = after->heads > before->heads, over = after->state == FRAMING_HEAD || after->state == FRAMING_END;
    if (was == FRAMING_BODY || was == FRAMING_CHUNK_BYTES || was == FRAMING_LARGE) note(reading, passed, len);
    if (begins) note(reading, "<", 1);
    if (over && (begins || was != FRAMING_HEAD)) note_end(reading);
}

/* Shows `step` bytes more each time, behind what was not read: as a slow client's come. reading: NULL, or what the
 * framing has read, where step is 1. */
static void scan(framing *w, const char *sent, size_t size, size_t step, text *passed, text *reading)
{
    char *bytes = room(size);
    size_t shown = 0, rest = 0;
    while (shown < size && w->state < FRAMING_END) {
        const size_t more = size - shown < step ? size - shown : step;
        memcpy(bytes + rest, sent + shown, more);
        shown += more;
        rest += more;
        for (size_t n = 1; n > 0 && rest > 0 && w->state < FRAMING_END;) {
            const framing before = *w;
            const size_t was = passed->len;
            const framing_step s = w->state == FRAMING_LARGE ? (framing_step){pass_by(w, rest, passed), 0} : framing_scan(w, bytes, rest);
            PROMISE(s.passed <= s.read && s.read <= rest);
            note(passed, bytes, s.passed);
            if (reading) note_step(reading, &before, w, passed->bytes + was, passed->len - was);
            n = s.read;
            rest -= n;
            if (n > 0) memmove(bytes, bytes + n, rest);
        }
        PROMISE(w->state >= FRAMING_LARGE || rest < HEAD_MAX);
    }
    free(bytes);
}

/* --- the library's --- */

static text library;
static struct MHD_Daemon *daemon_of_mine;
static struct MHD_Response *nothing;
static char no_bytes[1];

static void *on_line(void *cls, const char *uri, struct MHD_Connection *connection)
{
    char *mark = uri ? strchr((char *)(uintptr_t)uri, '?') : NULL;
    (void)cls;
    (void)connection;
    if (mark) mark[1] = 0; /* as the server does */
    return NULL;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **begun)
{
    (void)cls;
    (void)url;
    (void)method;
    (void)version;
    if (!*begun) {
        *begun = &library;
        note(&library, "<", 1);
        return MHD_YES;
    }
    if (*size > 0) {
        note(&library, data, *size);
        *size = 0;
        return MHD_YES;
    }
    note_end(&library);
    return MHD_queue_response(connection, MHD_HTTP_OK, nothing);
}

static void on_message(void *cls, const char *format, va_list args)
{
    (void)cls;
    (void)format;
    (void)args;
}

static void start_library(void)
{
    if (daemon_of_mine) return;
    nothing = MHD_create_response_from_buffer(0, no_bytes, MHD_RESPMEM_PERSISTENT);
    daemon_of_mine = MHD_start_daemon(
        MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, NULL, MHD_OPTION_EXTERNAL_LOGGER,
        on_message, NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)FRAMING_POOL, MHD_OPTION_CONNECTION_MEMORY_INCREMENT,
        (size_t)4096, MHD_OPTION_URI_LOG_CALLBACK, on_line, NULL, MHD_OPTION_END);
    if (!daemon_of_mine || !nothing) abort();
}

typedef struct answers {
    size_t n, lines; /* that say 200; that say any status */
    bool ended;
} answers;

static void take_answers(int fd, answers *a)
{
    char got[4096 + 1];
    ssize_t n;
    while ((n = recv(fd, got, 4096, MSG_DONTWAIT)) > 0) {
        got[n] = 0;
        PROMISE(!strstr(got, "<html"));
        for (const char *at = got; (at = strstr(at, "HTTP/1.1 ")); at++) {
            a->n += strncmp(at, "HTTP/1.1 200", 12) == 0;
            a->lines += strncmp(at, "HTTP/1.1 100", 12) != 0;
        }
    }
    a->ended |= n == 0;
}

static void run_until_idle(int client, answers *a)
{
    for (size_t still = 0, seen = 0; still < 3;) {
        MHD_run(daemon_of_mine);
        take_answers(client, a);
        const size_t now = library.len + a->n + a->ended;
        still = now == seen ? still + 1 : 0;
        seen = now;
    }
}

static void read_library(const text *passed, size_t step, answers *a)
{
    int pair[2];
    const struct sockaddr peer = {.sa_family = AF_UNIX};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) abort();
    start_library();
    PROMISE(MHD_add_connection(daemon_of_mine, pair[1], &peer, sizeof peer) == MHD_YES);
    for (size_t at = 0; at < passed->len && !a->ended;) {
        const size_t n = passed->len - at < step ? passed->len - at : step;
        PROMISE(send(pair[0], passed->bytes + at, n, MSG_NOSIGNAL) == (ssize_t)n);
        at += n;
        run_until_idle(pair[0], a);
    }
    const size_t len = library.len;
    const bool ended = a->ended;
    close(pair[0]);
    run_until_idle(-1, a);
    a->ended = ended;
    PROMISE(library.len == len);
}

static void check_judging(const char *bytes, size_t size)
{
    for (size_t n = 0; n <= size && n < 512; n++) {
        framing w = {0};
        char *copy = room(n);
        memcpy(copy, bytes, n);
        framing_scan(&w, copy, n);
        if (w.heads) PROMISE(head_is_due(bytes, n));
        if (head_is_due(bytes, n)) PROMISE(w.heads || w.state == FRAMING_BAD);
        free(copy);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 65536) return 0;
    const char *sent = (const char *)data + 1;
    const size_t step = 1 + data[0], most = size * 2;
    text one = {.bytes = room(most)}, cut = {.bytes = room(most)}, reading = {.bytes = room(most)};
    framing w = {0}, in_steps = {0}, whole = {0};
    check_judging(sent, --size);
    scan(&w, sent, size, 1, &one, &reading);
    for (int i = 0; i < 2; i++) {
        framing *other = i ? &whole : &in_steps;
        cut.len = 0;
        scan(other, sent, size, i ? size : step, &cut, NULL);
        PROMISE(cut.len == one.len && memcmp(cut.bytes, one.bytes, one.len) == 0);
        PROMISE(other->heads == w.heads && other->state == w.state && other->code == w.code);
    }
    PROMISE(w.state != FRAMING_BAD || w.code != TB_OK);
    PROMISE(w.state < FRAMING_END || framing_scan(&w, one.bytes, one.len).read == 0);

    answers a = {0};
    library = (text){.bytes = room(most)};
    read_library(&one, step * 16, &a);
    PROMISE(library.len == reading.len && memcmp(library.bytes, reading.bytes, reading.len) == 0);
    PROMISE(a.n == reading.whole && a.lines == a.n);
    if (w.state != FRAMING_END || w.code == TB_OK) PROMISE(a.ended == (w.state == FRAMING_END)); /* else the handler says close */
    free(library.bytes);
    free(reading.bytes);
    free(one.bytes);
    free(cut.bytes);
    return 0;
}
