/* We accept ourselves, because in libmicrohttpd's thread pool chance decides which thread gets a connection, often the
 * same for all of them. Giving each to the worker with the fewest makes up to twice the requests a second. The acceptor
 * polls the listening sockets, an eventfd that ends it, and the pending connections. */
#include "http/front/front.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http/clock.h"
#include "http/front/body.h"
#include "http/front/conns.h"
#include "http/front/pending.h"
#include "http/front/receive.h"
#include "http/front/refusal.h"
#include "http/front/tls.h"
#include "http/published.h"

#define BURST       64      /* accepted from one socket before the next is looked at */
#define WAIT_US 2000000 /* how long a complete head waits for a free connection */

struct front {
    front_options options;
    listener listener;
    pending *pending;
    conns *conns;
    conns_counters *counters;
    body_receiver *receiver;
    published *tls;          /* the tls_pair in force; none: plain HTTP */
    published_view tls_view; /* the acceptor's */
    int wake;                /* an eventfd: the acceptor ends */
    bool accepting;
    pthread_t acceptor;
};

/* --- the end of a pending connection --- */

/* What has come is read first, so that a reset does not overtake what was sent. */
static void close_socket(const pending_socket *s)
{
    char unread[4096];
    const ssize_t n = recv(s->fd, unread, sizeof unread, MSG_DONTWAIT);
    (void)n;
    tls_free(s->tls);
    shutdown(s->fd, SHUT_WR);
    close(s->fd);
}

/* Sends an answer, in one packet, and closes the socket. */
static void refuse_socket(const pending_socket *s, bool encrypted, tb_code code, const char *why)
{
    refusal_send(s->fd, encrypted ? s->tls : NULL, code, why);
    close_socket(s);
}

static void turn_away(_Atomic uint64_t *counter, const pending_socket *s)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    refuse_socket(s, true, TB_E_BUSY, "Too many connections at once, try again later.");
}

/* If there is no room, the connections with the least progress are closed, and this one is tried again soon. */
static pending_verdict on_ready(void *ctx, const pending_socket *s, unsigned ready)
{
    front *f = ctx;
    conn *k;
    const struct sockaddr *peer = (const struct sockaddr *)&s->peer;
    const conns_verdict verdict = conns_admit(f->conns, s->fd, peer, &k);
    if (verdict == CONNS_FULL) {
        conns_make_room(f->conns, ready);
        return PENDING_NO_ROOM;
    }
    if (verdict == CONNS_PER_IP && conns_make_room_of(f->conns, peer)) return PENDING_WAIT;
    if (verdict != CONNS_OK) {
        turn_away(verdict == CONNS_PER_IP ? &f->counters->refused_per_ip : &f->counters->refused_full, s);
        return PENDING_TAKEN;
    }
    k->logging = s->which >= f->options.n_listen;
    k->tls = s->tls;
    if (!f->options.hand_over(f->options.ctx, k->worker, s->fd, peer, s->peer_len)) conn_closed(k);
    return PENDING_TAKEN;
}

static void on_leave(void *ctx, const pending_socket *s, pending_end why)
{
    front *f = ctx;
    if (why == PENDING_FULL) {
        turn_away(&f->counters->refused_full, s);
        return;
    }
    if (why == PENDING_LATE) atomic_fetch_add_explicit(&f->counters->late[CONN_NEW], 1, memory_order_relaxed);
    else if (s->tls && tls_has_failed(s->tls)) atomic_fetch_add_explicit(&f->counters->bad_handshakes, 1, memory_order_relaxed);
    if (why == PENDING_CLOSED && s->tls && tls_is_plain(s->tls))
        refuse_socket(s, false, TB_E_BAD_REQUEST, "Plain HTTP came, and this address takes HTTPS. Begin its URL with https://.");
    else
        close_socket(s);
}

/* --- the acceptor --- */

/* false: nothing more to accept here now. */
static bool accept_one(front *f, unsigned which)
{
    pending_socket s = {.which = which, .peer_len = sizeof s.peer};
    s.fd = accept4(f->listener.fd[which], (struct sockaddr *)&s.peer, &s.peer_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (s.fd >= 0) {
        /* published_get gives a const pointer because readers share the pair; a session only takes a hold on it. */
        tls_pair *pair = f->options.tls ? (tls_pair *)(uintptr_t)published_get(f->tls, &f->tls_view) : NULL;
        if (pair) s.tls = tls_new(pair, s.fd);
        if (pair && !s.tls) close(s.fd);
        else pending_add(f->pending, &s, clock_mono_us());
        return true;
    }
    if (errno == EINTR || errno == ECONNABORTED) return true;
    /* Out of descriptors or memory: the client waits in the backlog; do not spin. */
    if (errno != EAGAIN && errno != EWOULDBLOCK) usleep(20000);
    return false;
}

static void *run_acceptor(void *arg)
{
    front *f = arg;
    const unsigned n = (unsigned)f->listener.n;
    struct pollfd p[LISTEN_MAX + 2];
    int wait_ms = -1;
    for (unsigned i = 0; i < n; i++)
        p[i] = (struct pollfd){.fd = f->listener.fd[i], .events = POLLIN};
    p[n] = (struct pollfd){.fd = f->wake, .events = POLLIN};
    p[n + 1] = (struct pollfd){.fd = pending_fd(f->pending), .events = POLLIN};
    for (;;) {
        if (poll(p, n + 2, wait_ms) < 0) continue;
        const bool last = p[n].revents != 0; /* the backlog is still accepted */
        for (unsigned i = 0; i < n; i++)
            for (int k = 0; (last || p[i].revents) && k < BURST && accept_one(f, i); k++)
                ;
        if (last) break;
        wait_ms = pending_run(f->pending, clock_mono_us());
    }
    pending_end_all(f->pending, clock_mono_us());
    return NULL;
}

/* --- start and stop --- */

static void drop_pair(void *pair)
{
    tls_pair_release(pair);
}

tb_code front_open(const front_options *options, front **ret_front, tb_error *err)
{
    const char *texts[LISTEN_MAX + 1];
    size_t n = options->n_listen;
    front *f = calloc(1, sizeof *f);
    if (!f) return tb_no_memory(err);
    f->options = *options;
    for (size_t i = 0; i < n && i < LISTEN_MAX; i++)
        texts[i] = options->listen[i];
    if (options->logging_listen && n < LISTEN_MAX) texts[n++] = options->logging_listen;
    f->tls = published_new(drop_pair);
    f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    f->conns = conns_new(&options->limits, options->workers);
    f->pending = pending_new((pending_limits){options->pending_most, options->limits.head_us, WAIT_US},
                             (pending_hooks){on_ready, on_leave, f});
    tb_code code = f->wake < 0 ? tb_fail(err, TB_E_IO, NULL, "eventfd: %s.", strerror(errno)) : TB_OK;
    if (!code && (!f->conns || !f->pending || !f->tls)) code = tb_no_memory(err);
    if (!code) code = listen_open(texts, n, &f->listener, err);
    if (code) {
        front_free(f, NULL);
        return code;
    }
    f->counters = conns_counters_of(f->conns);
    *ret_front = f;
    return TB_OK;
}

bool front_start(front *f)
{
    f->receiver = body_receiver_start(f->options.received);
    if (!f->receiver || conns_start(f->conns)) return false;
    f->accepting = pthread_create(&f->acceptor, NULL, run_acceptor, f) == 0;
    return f->accepting;
}

tb_code front_use_tls(front *f, tls_pair *pair, tb_error *err)
{
    return published_set(f->tls, pair, err);
}

static void stop_accepting(front *f)
{
    if (f->accepting) {
        eventfd_write(f->wake, 1);
        pthread_join(f->acceptor, NULL);
        f->accepting = false;
    }
    listen_close(&f->listener);
}

void front_drain(front *f)
{
    stop_accepting(f);
    conns_drain(f->conns);
}

void front_stop(front *f)
{
    body_receiver_stop(f->receiver);
    conns_stop(f->conns);
}

void front_free(front *f, void (*drop)(struct request *request))
{
    if (!f) return;
    stop_accepting(f);
    pending_free(f->pending);
    conns_free(f->conns, drop);
    body_receiver_free(f->receiver);
    published_release(&f->tls_view);
    published_free(f->tls);
    if (f->wake >= 0) close(f->wake);
    free(f);
}

/* --- for the workers --- */

conn *front_opened(front *f, int fd)
{
    receive_for(f->conns);
    return conns_opened(f->conns, fd);
}

bool front_receive_body(front *f, struct request *r)
{
    return body_receive(f->receiver, r);
}

const listener *front_listener(const front *f)
{
    return &f->listener;
}

unsigned front_pending(const front *f)
{
    return pending_count(f->pending);
}

unsigned front_connections(front *f)
{
    return conns_open(f->conns);
}

unsigned front_connections_of(front *f, unsigned worker)
{
    return conns_open_of(f->conns, worker);
}

const conns_counters *front_counters(const front *f)
{
    return f->counters;
}
