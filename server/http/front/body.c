/* The receiver polls the sockets, level-triggered, and keeps a list of its requests for body_receiver_stop. */
#include "http/front/body.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/front/receive.h"
#include "http/front/tls.h"
#include "http/jobs/background.h"
#include "http/server.h"

#define BODY_FIRST ((size_t)16 << 10)  /* first size of a body's buffer */
#define PIECE      ((size_t)256 << 10) /* read at once */
#define TURN       ((size_t)1 << 20)   /* most bytes of one body in a turn */
#define EVENTS     64

struct body_receiver {
    pthread_mutex_t lock; /* first, and the requests' links; stop */
    pthread_t thread;
    int epoll, wake;
    void (*over)(request *r);
    request *first; /* the list of requests */
    bool stop;
    char *discarded; /* PIECE bytes, for bodies that are not kept */
};

/* --- a body --- */

void body_drop(request *r)
{
    if (!r->body) return;
    if (r->route && r->route->secret) sodium_memzero(r->body, r->body_cap);
    atomic_fetch_sub_explicit(&r->worker->server->bodies, r->body_cap, memory_order_relaxed);
    free(r->body);
    r->body = NULL;
    r->body_len = r->body_cap = 0;
}

bool body_make_room(request *r, size_t more)
{
    server *s = r->worker->server;
    const uint64_t announced = r->head.content_length;
    const size_t need = r->body_len + more;
    if (need <= r->body_cap) return true;
    /* Doubles; the announced length is allocated at once if it is at most four times that. */
    size_t cap = r->body_cap ? r->body_cap * 2 : BODY_FIRST;
    if (cap < need) cap = need;
    if (need <= announced && announced <= (uint64_t)cap * 4) cap = (size_t)announced;
    const size_t grown = cap - r->body_cap;
    if (atomic_fetch_add_explicit(&s->bodies, grown, memory_order_relaxed) + grown <= s->options.bodies_max) {
        char *body = realloc(r->body, cap);
        if (body) {
            r->body = body;
            r->body_cap = cap;
            return true;
        }
    }
    atomic_fetch_sub_explicit(&s->bodies, grown, memory_order_relaxed);
    r->over = true;
    body_drop(r);
    return false;
}

bool body_count(request *r, size_t n, bool kept)
{
    const size_t before = r->body_len + (size_t)r->discarded;
    if (kept) r->body_len += n;
    else r->discarded += n;
    conn_extend(r->conn, before, before + n);
    return r->discarded <= BODY_DISCARD_MAX;
}

/* --- receiving one --- */

/* false: the limit of discarded bytes is reached. */
static bool note_received(request *r, size_t n)
{
    r->conn->framing.left -= n;
    r->received_bytes += n;
    return body_count(r, n, !r->over);
}

/* Polling the socket does not show these bytes, so they are received before it is polled. */
static size_t decrypted(const conn *k)
{
    return k->tls ? tls_decrypted(k->tls) : 0;
}

/* Reads what has come, or as much as a turn allows. Returns whether the body is over. */
static bool receive_turn(body_receiver *b, request *r)
{
    conn *k = r->conn;
    for (size_t turn = 0, most = PIECE; turn < TURN || (most = decrypted(k)) > 0;) {
        const uint64_t left = k->framing.left;
        size_t room = left < most ? (size_t)left : most;
        if (!r->over && (r->body_len < r->body_cap || body_make_room(r, room)) && room > r->body_cap - r->body_len)
            room = r->body_cap - r->body_len;
        const ssize_t n = conn_receive(k, r->over ? b->discarded : r->body + r->body_len, room);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
        if (n <= 0) k->large_body = LARGE_BODY_BROKEN;
        else if (!note_received(r, (size_t)n) || k->framing.left == 0) k->large_body = LARGE_BODY_OVER;
        if (k->large_body != LARGE_BODY_COMES) return true;
        turn += (size_t)n;
    }
    return false;
}

/* --- the thread --- */

static void finish(body_receiver *b, request *r)
{
    pthread_mutex_lock(&b->lock);
    epoll_ctl(b->epoll, EPOLL_CTL_DEL, r->conn->fd, NULL);
    *r->receiver_at = r->receiver_next;
    if (r->receiver_next) r->receiver_next->receiver_at = r->receiver_at;
    pthread_mutex_unlock(&b->lock);
    b->over(r);
}

static void *run_receiver(void *arg)
{
    body_receiver *b = arg;
    struct epoll_event events[EVENTS];
    run_in_background();
    for (;;) {
        pthread_mutex_lock(&b->lock);
        const bool stop = b->stop;
        pthread_mutex_unlock(&b->lock);
        if (stop) break;
        const int n = epoll_wait(b->epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            request *r = events[i].data.ptr;
            if (r && receive_turn(b, r)) finish(b, r);
        }
    }
    while (b->first) { /* body_receive adds no more */
        b->first->conn->large_body = LARGE_BODY_BROKEN;
        finish(b, b->first);
    }
    return NULL;
}

/* The part that came with the head. It is less than FRAMING_LARGE_BODY bytes, so the body is not over. */
static void append_beginning(request *r, const char *bytes, size_t n)
{
    if (!r->over && body_make_room(r, n)) memcpy(r->body + r->body_len, bytes, n);
    note_received(r, n);
}

bool body_receive(body_receiver *b, request *r)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = r};
    conn *k = r->conn;
    char bytes[4096];
    append_beginning(r, k->kept, k->kept_len);
    k->kept_len = 0;
    for (size_t n; (n = decrypted(k)) > 0;) {
        const ssize_t got = conn_receive(k, bytes, n < sizeof bytes ? n : sizeof bytes);
        if (got <= 0) break; /* the receiver will get the same */
        append_beginning(r, bytes, (size_t)got);
    }

    pthread_mutex_lock(&b->lock);
    const bool taken = !b->stop && epoll_ctl(b->epoll, EPOLL_CTL_ADD, k->fd, &event) == 0;
    if (taken) {
        r->receiver_next = b->first;
        r->receiver_at = &b->first;
        if (b->first) b->first->receiver_at = &r->receiver_next;
        b->first = r;
    }
    pthread_mutex_unlock(&b->lock);
    return taken;
}

/* --- start and stop --- */

body_receiver *body_receiver_start(void (*over)(request *r))
{
    body_receiver *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    pthread_mutex_init(&b->lock, NULL);
    b->over = over;
    b->discarded = malloc(PIECE);
    b->epoll = epoll_create1(EPOLL_CLOEXEC);
    b->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN}; /* without a request */
    if (b->discarded && b->epoll >= 0 && b->wake >= 0 && epoll_ctl(b->epoll, EPOLL_CTL_ADD, b->wake, &event) == 0 &&
        pthread_create(&b->thread, NULL, run_receiver, b) == 0)
        return b;
    body_receiver_free(b);
    return NULL;
}

void body_receiver_stop(body_receiver *b)
{
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_mutex_unlock(&b->lock);
    eventfd_write(b->wake, 1);
    pthread_join(b->thread, NULL);
}

void body_receiver_free(body_receiver *b)
{
    if (!b) return;
    if (b->epoll >= 0) close(b->epoll);
    if (b->wake >= 0) close(b->wake);
    pthread_mutex_destroy(&b->lock);
    free(b->discarded);
    free(b);
}
