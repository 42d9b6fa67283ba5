#include "http/front/lobby.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "http/front/framing.h"

#define EVENTS    64
#define RETRY_MS  2    /* how often room is looked for if there is none */
#define ELDERS    32   /* of so many oldest guests, one of the most frequent address makes room */
#define ADDRESSES 4096 /* counters of addresses, shared by those of one hash */

typedef struct guest {
    lobby_guest is;
    struct guest *next, *before; /* in the order of arrival, or of being ready */
    int64_t deadline_us;
    unsigned address; /* its counter */
    bool ready, watched;
} guest;

typedef struct queue {
    guest *first, *last;
    unsigned n;
} queue;

struct lobby {
    lobby_limits limits;
    lobby_hooks hooks;
    int epoll;
    queue waiting, ready;
    _Atomic unsigned guests;
    unsigned of_address[ADDRESSES];
    char head[HEAD_MAX];
};

static void append(queue *q, guest *g)
{
    g->next = NULL;
    g->before = q->last;
    if (q->last) q->last->next = g;
    else q->first = g;
    q->last = g;
    q->n++;
}

static void take_out(queue *q, guest *g)
{
    if (g->before) g->before->next = g->next;
    else q->first = g->next;
    if (g->next) g->next->before = g->before;
    else q->last = g->before;
    q->n--;
}

static unsigned address_of(const struct sockaddr_storage *peer)
{
    const unsigned char *bytes = (const unsigned char *)&((const struct sockaddr_in *)peer)->sin_addr;
    size_t n = 4;
    if (peer->ss_family == AF_INET6) {
        bytes = ((const struct sockaddr_in6 *)peer)->sin6_addr.s6_addr;
        n = 8; /* the network: a host has the rest to itself */
    }
    unsigned h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 16777619u;
    return h % ADDRESSES;
}

lobby *lobby_new(lobby_limits limits, lobby_hooks hooks)
{
    lobby *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->limits = limits;
    l->hooks = hooks;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll >= 0) return l;
    free(l);
    return NULL;
}

int lobby_fd(const lobby *l)
{
    return l->epoll;
}

unsigned lobby_guests(const lobby *l)
{
    return atomic_load_explicit(&l->guests, memory_order_relaxed);
}

/* Its socket is somebody else's from here on. */
static void forget(lobby *l, guest *g)
{
    if (g->watched) epoll_ctl(l->epoll, EPOLL_CTL_DEL, g->is.fd, NULL);
    take_out(g->ready ? &l->ready : &l->waiting, g);
    l->of_address[g->address]--;
    atomic_fetch_sub_explicit(&l->guests, 1, memory_order_relaxed);
    free(g);
}

static void leave(lobby *l, guest *g, lobby_end why)
{
    const lobby_guest is = g->is;
    forget(l, g);
    l->hooks.leave(l->hooks.ctx, &is, why);
}

static void oust(lobby *l)
{
    guest *most = l->waiting.first;
    int n = 0;
    for (guest *g = most; g && n < ELDERS; g = g->next, n++)
        if (l->of_address[g->address] > l->of_address[most->address]) most = g;
    if (most) leave(l, most, LOBBY_FULL);
}

/* false: it is gone. */
static bool look(lobby *l, guest *g, int64_t now_us)
{
    const ssize_t n = recv(g->is.fd, l->head, sizeof l->head, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n > 0) {
        if (g->ready || !head_is_due(l->head, (size_t)n)) return true;
        take_out(&l->waiting, g);
        g->ready = true;
        g->deadline_us = now_us + l->limits.patience_us;
        append(&l->ready, g);
        return true;
    }
    close(g->is.fd);
    g->watched = false; /* closed: the kernel has forgotten it */
    forget(l, g);
    return false;
}

static void let_in(lobby *l)
{
    lobby_answer answer = LOBBY_IN;
    for (guest *g = l->ready.first, *next; g && answer != LOBBY_NO_ROOM; g = next) {
        const lobby_guest is = g->is;
        next = g->next;
        if (g->watched) epoll_ctl(l->epoll, EPOLL_CTL_DEL, is.fd, NULL);
        g->watched = false;
        answer = l->hooks.admit(l->hooks.ctx, &is, l->ready.n);
        if (answer == LOBBY_IN) forget(l, g);
    }
}

void lobby_enter(lobby *l, const lobby_guest *who, int64_t now_us)
{
    guest *g = calloc(1, sizeof *g);
    if (!g) {
        l->hooks.leave(l->hooks.ctx, who, LOBBY_FULL);
        return;
    }
    if (l->waiting.n + l->ready.n >= l->limits.most) oust(l);
    g->is = *who;
    g->address = address_of(&who->peer);
    g->deadline_us = now_us + l->limits.head_us;
    append(&l->waiting, g);
    l->of_address[g->address]++;
    atomic_fetch_add_explicit(&l->guests, 1, memory_order_relaxed);
    if (!look(l, g, now_us)) return;
    if (g->ready) {
        let_in(l);
        return;
    }
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = g};
    g->watched = epoll_ctl(l->epoll, EPOLL_CTL_ADD, who->fd, &e) == 0;
    if (!g->watched) leave(l, g, LOBBY_FULL);
}

static void look_at_all(lobby *l, int64_t now_us)
{
    struct epoll_event e[EVENTS];
    int n;
    do {
        n = epoll_wait(l->epoll, e, EVENTS, 0);
        for (int i = 0; i < n; i++)
            look(l, e[i].data.ptr, now_us);
        let_in(l);
    } while (n == EVENTS);
}

static int ms_until(int64_t us, int64_t now_us)
{
    const int64_t ms = (us - now_us + 999) / 1000;
    return ms < 0 ? 0 : ms > 60000 ? 60000 : (int)ms;
}

int lobby_run(lobby *l, int64_t now_us)
{
    look_at_all(l, now_us);
    while (l->waiting.first && l->waiting.first->deadline_us <= now_us)
        leave(l, l->waiting.first, LOBBY_LATE);
    while (l->ready.first && l->ready.first->deadline_us <= now_us)
        leave(l, l->ready.first, LOBBY_FULL);
    if (l->ready.first) return RETRY_MS;
    return l->waiting.first ? ms_until(l->waiting.first->deadline_us, now_us) : -1;
}

void lobby_end_all(lobby *l, int64_t now_us)
{
    look_at_all(l, now_us);
    while (l->ready.first)
        leave(l, l->ready.first, LOBBY_FULL);
    while (l->waiting.first)
        leave(l, l->waiting.first, LOBBY_LATE);
}

void lobby_free(lobby *l)
{
    if (!l) return;
    lobby_end_all(l, 0);
    close(l->epoll);
    free(l);
}
