#include "http/front/pending.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "http/front/head.h"
#include "http/front/tls.h"

#define EVENTS    16   /* sockets looked at in a turn; with TLS each may be a signature, about a millisecond */
#define RETRY_MS  2    /* how often a ready socket is tried again while there is no room */
#define SAMPLE    32   /* eviction sample: of the oldest sockets, one of the most frequent address leaves */
#define ADDRESSES 4096 /* counters of addresses, by hash */

typedef struct entry {
    pending_socket socket;
    struct entry *next, *before; /* in the order of arrival, or of being ready */
    int64_t deadline_us;
    unsigned address; /* its counter */
    bool ready, watched;
} entry;

typedef struct queue {
    entry *first, *last;
    unsigned n;
} queue;

struct pending {
    pending_limits limits;
    pending_hooks hooks;
    int epoll;
    queue incomplete, ready;
    _Atomic unsigned count;
    unsigned of_address[ADDRESSES];
    char head[HEAD_MAX]; /* a socket's peeked bytes */
};

static void append(queue *q, entry *e)
{
    e->next = NULL;
    e->before = q->last;
    if (q->last) q->last->next = e;
    else q->first = e;
    q->last = e;
    q->n++;
}

static void take_out(queue *q, entry *e)
{
    if (e->before) e->before->next = e->next;
    else q->first = e->next;
    if (e->next) e->next->before = e->before;
    else q->last = e->before;
    q->n--;
}

static unsigned address_counter(const struct sockaddr_storage *peer)
{
    const unsigned char *bytes = (const unsigned char *)&((const struct sockaddr_in *)peer)->sin_addr;
    size_t n = 4;
    if (peer->ss_family == AF_INET6) {
        bytes = ((const struct sockaddr_in6 *)peer)->sin6_addr.s6_addr;
        n = 8; /* the network: a host may use all of it */
    }
    unsigned h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 16777619u;
    return h % ADDRESSES;
}

/* The socket belongs to another owner, or is closed. */
static void free_entry(pending *p, entry *e)
{
    if (e->watched) epoll_ctl(p->epoll, EPOLL_CTL_DEL, e->socket.fd, NULL);
    take_out(e->ready ? &p->ready : &p->incomplete, e);
    p->of_address[e->address]--;
    atomic_fetch_sub_explicit(&p->count, 1, memory_order_relaxed);
    free(e);
}

static void remove_entry(pending *p, entry *e, pending_end why)
{
    const pending_socket s = e->socket;
    free_entry(p, e);
    p->hooks.leave(p->hooks.ctx, &s, why);
}

/* Peeks at the socket's bytes. false: it is over, and the entry is freed. */
static bool peek(pending *p, entry *e, int64_t now_us)
{
    const ssize_t n = e->socket.tls ? tls_peek(e->socket.tls, p->head)
                                    : recv(e->socket.fd, p->head, sizeof p->head, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) {
        remove_entry(p, e, PENDING_CLOSED);
        return false;
    }
    if (e->ready || !head_is_due(p->head, (size_t)n)) return true;
    take_out(&p->incomplete, e);
    e->ready = true;
    e->deadline_us = now_us + p->limits.ready_us;
    append(&p->ready, e);
    return true;
}

static void admit_ready(pending *p)
{
    pending_verdict verdict = PENDING_TAKEN;
    for (entry *e = p->ready.first, *next; e && verdict != PENDING_NO_ROOM; e = next) {
        next = e->next;
        if (e->watched) epoll_ctl(p->epoll, EPOLL_CTL_DEL, e->socket.fd, NULL);
        e->watched = false;
        verdict = p->hooks.admit(p->hooks.ctx, &e->socket, p->ready.n);
        if (verdict == PENDING_TAKEN) free_entry(p, e);
    }
}

void pending_add(pending *p, const pending_socket *s, int64_t now_us)
{
    entry *e = calloc(1, sizeof *e);
    if (!e) {
        p->hooks.leave(p->hooks.ctx, s, PENDING_FULL);
        return;
    }
    if (p->incomplete.n + p->ready.n >= p->limits.most) {
        entry *most = p->incomplete.first;
        int n = 0;
        for (entry *at = most; at && n < SAMPLE; at = at->next, n++)
            if (p->of_address[at->address] > p->of_address[most->address]) most = at;
        if (most) remove_entry(p, most, PENDING_FULL);
    }
    e->socket = *s;
    e->address = address_counter(&s->peer);
    e->deadline_us = now_us + p->limits.head_us;
    append(&p->incomplete, e);
    p->of_address[e->address]++;
    atomic_fetch_add_explicit(&p->count, 1, memory_order_relaxed);
    if (!s->tls && !peek(p, e, now_us)) return; /* a handshake waits for its turn, so accepting does not wait for it */
    if (e->ready) {
        admit_ready(p);
        return;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = e};
    if (s->tls) event.events |= EPOLLOUT; /* a handshake sends, too */
    e->watched = epoll_ctl(p->epoll, EPOLL_CTL_ADD, s->fd, &event) == 0;
    if (!e->watched) remove_entry(p, e, PENDING_FULL);
}

/* false: there may be more. */
static bool peek_at_some(pending *p, int64_t now_us)
{
    struct epoll_event events[EVENTS];
    const int n = epoll_wait(p->epoll, events, EVENTS, 0);
    for (int i = 0; i < n; i++)
        peek(p, events[i].data.ptr, now_us);
    admit_ready(p);
    return n < EVENTS;
}

int pending_run(pending *p, int64_t now_us)
{
    (void)!peek_at_some(p, now_us); /* if there are more, the descriptor stays readable */
    while (p->incomplete.first && p->incomplete.first->deadline_us <= now_us)
        remove_entry(p, p->incomplete.first, PENDING_LATE);
    while (p->ready.first && p->ready.first->deadline_us <= now_us)
        remove_entry(p, p->ready.first, PENDING_FULL);
    if (p->ready.first) return RETRY_MS;
    if (!p->incomplete.first) return -1;
    const int64_t ms = (p->incomplete.first->deadline_us - now_us + 999) / 1000;
    return ms > 60000 ? 60000 : (int)ms;
}

void pending_end_all(pending *p, int64_t now_us)
{
    for (unsigned rounds = pending_count(p) / EVENTS + 1; rounds > 0 && !peek_at_some(p, now_us); rounds--)
        ;
    while (p->ready.first)
        remove_entry(p, p->ready.first, PENDING_FULL);
    while (p->incomplete.first)
        remove_entry(p, p->incomplete.first, PENDING_LATE);
}

int pending_fd(const pending *p)
{
    return p->epoll;
}

unsigned pending_count(const pending *p)
{
    return atomic_load_explicit(&p->count, memory_order_relaxed);
}

pending *pending_new(pending_limits limits, pending_hooks hooks)
{
    pending *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->limits = limits;
    p->hooks = hooks;
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (p->epoll >= 0) return p;
    free(p);
    return NULL;
}

void pending_free(pending *p)
{
    if (!p) return;
    pending_end_all(p, 0);
    close(p->epoll);
    free(p);
}
