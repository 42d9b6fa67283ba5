/* Slots are found by descriptor and kept for reuse, so that a connection costs no allocation after
 * the first with its number. Setting a deadline is one relaxed store; the sweeper walks the open slots
 * several times within the shortest deadline. */
#include "http/front/conns.h"

#include <errno.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http/clock.h"
#include "http/front/tls.h"

#define SLOW_US  250000  /* the least time over which a rate is measured */
#define STALE_US 2000000 /* after this time it is out of date */
#define STANDING 1024    /* bytes a second: less counts as no progress */
#define PART_US  1000000 /* for the closure alert of an idle connection */

struct conns {
    pthread_mutex_t lock; /* slots' fd, opened, shut; top, open, per_worker */
    pthread_cond_t wake;
    pthread_t sweeper;
    conns_limits limits;
    conn *_Atomic slot[CONNS_FD_MAX];
    int top; /* slots from here on were never used */
    unsigned open, n_workers;
    unsigned *per_worker;
    bool stop, draining, started;
    unsigned leaving; /* connections being evicted, not closed yet */
    conns_counters counters;
};

const char *conn_phase_name(conn_phase phase)
{
    static const char *const names[] = {"new", "head", "body", "work", "send", "idle"};
    return (unsigned)phase < CONN_PHASES ? names[phase] : "-";
}

conns *conns_new(const conns_limits *limits, unsigned n_workers)
{
    conns *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->per_worker = calloc(n_workers, sizeof *c->per_worker);
    if (!c->per_worker) {
        free(c);
        return NULL;
    }
    c->limits = *limits;
    c->n_workers = n_workers;
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &attr);
    pthread_condattr_destroy(&attr);
    return c;
}

/* With the lock held. */
static void free_slot(conn *k)
{
    conns *c = k->conns;
    c->leaving -= k->leaving;
    k->fd = -1;
    k->opened = false;
    k->shut = k->leaving = k->parting = false;
    k->look_us = 0;
    tls_free(k->tls);
    k->tls = NULL;
    free(k->kept);
    k->kept = NULL;
    k->kept_len = k->kept_good = k->discarded = 0;
    k->framing = (framing){0};
    k->answered = 0;
    k->refused = false;
    c->open--;
    c->per_worker[k->worker]--;
}

static struct in6_addr address_of(const struct sockaddr *peer)
{
    struct in6_addr a;
    memset(&a, 0, sizeof a);
    if (peer->sa_family == AF_INET6) {
        memcpy(&a, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, sizeof a);
    } else if (peer->sa_family == AF_INET) {
        memset(a.s6_addr + 10, 0xff, 2);
        memcpy(a.s6_addr + 12, &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
    }
    return a;
}

bool conns_loopback(const struct in6_addr *a)
{
    return IN6_IS_ADDR_LOOPBACK(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

static conns_verdict find_slot(conns *c, int fd, const struct in6_addr *peer)
{
    if (fd >= CONNS_FD_MAX || c->open >= c->limits.most) return CONNS_FULL;
    unsigned same = 0;
    for (int i = 0; c->limits.per_ip && !conns_loopback(peer) && i < c->top; i++)
        same += c->slot[i] && c->slot[i]->fd >= 0 && memcmp(&c->slot[i]->peer, peer, sizeof *peer) == 0;
    if (c->limits.per_ip && same >= c->limits.per_ip) return CONNS_PER_IP;
    if (c->slot[fd]) return CONNS_OK;
    conn *k = calloc(1, sizeof *k);
    if (!k) return CONNS_NOMEM;
    k->conns = c;
    k->fd = -1;
    c->slot[fd] = k;
    if (fd >= c->top) c->top = fd + 1;
    return CONNS_OK;
}

static void set_deadline(conn *k, conn_phase phase, int64_t deadline_us)
{
    atomic_store_explicit(&k->deadline_us, deadline_us, memory_order_relaxed);
    atomic_store_explicit(&k->phase, phase, memory_order_relaxed);
}

conns_verdict conns_admit(conns *c, int fd, const struct sockaddr *peer, conn **ret_conn)
{
    struct in6_addr from = address_of(peer);
    pthread_mutex_lock(&c->lock);
    /* Our slot of this descriptor is stale: the library closed it without a notice. */
    if (fd < CONNS_FD_MAX && c->slot[fd] && c->slot[fd]->fd >= 0) free_slot(c->slot[fd]);
    conns_verdict verdict = find_slot(c, fd, &from);
    if (verdict == CONNS_OK) {
        conn *k = c->slot[fd];
        unsigned least = 0;
        for (unsigned w = 1; w < c->n_workers; w++)
            if (c->per_worker[w] < c->per_worker[least]) least = w;
        k->fd = fd;
        k->peer = from;
        k->follows = false;
        k->worker = least;
        c->per_worker[least]++;
        c->open++;
        set_deadline(k, CONN_NEW, clock_mono_us() + c->limits.head_us);
        *ret_conn = k;
    }
    pthread_mutex_unlock(&c->lock);
    return verdict;
}

conn *conns_opened(conns *c, int fd)
{
    pthread_mutex_lock(&c->lock);
    conn *k = fd >= 0 && fd < CONNS_FD_MAX ? c->slot[fd] : NULL;
    if (k) k->opened = true;
    pthread_mutex_unlock(&c->lock);
    return k;
}

conn *conns_at(const conns *c, int fd)
{
    conn *k = fd >= 0 && fd < CONNS_FD_MAX ? c->slot[fd] : NULL;
    return k && k->fd == fd && k->opened ? k : NULL;
}

void conn_closed(conn *k)
{
    conns *c = k->conns;
    pthread_mutex_lock(&c->lock);
    free_slot(k);
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

/* Microseconds that these bytes may take. */
static int64_t time_for(const conn *k, uint64_t bytes)
{
    return (int64_t)(bytes * 1000000 / (uint64_t)k->conns->limits.bytes_per_s);
}

void conn_set_phase(conn *k, conn_phase phase, uint64_t bytes, int64_t now_us)
{
    const conns_limits *limits = &k->conns->limits;
    int64_t allowed = INT64_MAX;
    switch (phase) {
    case CONN_NEW:
    case CONN_HEAD: allowed = limits->head_us; break;
    case CONN_IDLE: allowed = limits->idle_us; break;
    case CONN_BODY:
    case CONN_SEND: allowed = limits->body_us + time_for(k, bytes); break;
    default: break;
    }
    set_deadline(k, phase, allowed == INT64_MAX ? allowed : now_us + allowed);
}

void conn_piece(conn *k, uint64_t bytes, int64_t began_us, int64_t now_us)
{
    const int64_t most = now_us + k->conns->limits.body_us;
    int64_t deadline = atomic_load_explicit(&k->deadline_us, memory_order_relaxed);
    deadline = deadline < INT64_MAX ? deadline + (now_us - began_us) : most;
    set_deadline(k, CONN_SEND, (deadline < most ? deadline : most) + time_for(k, 4 * bytes));
}

void conn_begin(conn *k, int64_t now_us)
{
    if (conn_phase_of(k) == CONN_NEW)
        atomic_store_explicit(&k->phase, CONN_HEAD, memory_order_relaxed);
    else
        conn_set_phase(k, CONN_HEAD, 0, now_us);
}

void conn_extend(conn *k, uint64_t bytes_before, uint64_t bytes_now)
{
    int64_t more = time_for(k, bytes_now) - time_for(k, bytes_before);
    int64_t deadline = atomic_load_explicit(&k->deadline_us, memory_order_relaxed);
    if (deadline == INT64_MAX) return;
    atomic_store_explicit(&k->deadline_us, deadline + more, memory_order_relaxed);
}

static int64_t deadline_of(const conn *k)
{
    return atomic_load_explicit(&k->deadline_us, memory_order_relaxed);
}

/* With the lock held, as for all shutdowns: so the descriptor is still this connection's. */
static bool is_open(const conn *k)
{
    return k && k->fd >= 0 && k->opened && !k->shut;
}

/* An idle connection is ended by closing its reading half: a request that arrived just before is still read and
 * answered. */
static void end_conn(conn *k)
{
    const conn_phase phase = conn_phase_of(k);
    const bool half = phase == CONN_IDLE || phase == CONN_NEW;
    k->shut = !half;
    shutdown(k->fd, half ? SHUT_RD : SHUT_RDWR);
}

/* --- making room --- */

/* Measures the rate of bodies and answers since the last measurement, because a connection that was fast may stall
 * later. An old measurement, from an earlier need for room, does not count. */
static void measure_rate(conn *k, int64_t now_us)
{
    const conn_phase phase = conn_phase_of(k);
    const bool moves = phase == CONN_BODY || phase == CONN_SEND;
    const int64_t since_us = now_us - k->look_us;
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    if (!moves || since_us > STALE_US) k->look_us = 0;
    if (!moves || (k->look_us && since_us < SLOW_US)) return;
    /* The kernel's count in both directions: bytes that arrived here, and that the client has acknowledged. */
    const bool known = getsockopt(k->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0;
    const uint64_t bytes = known ? info.tcpi_bytes_acked + info.tcpi_bytes_received : 0;
    k->rate = k->look_us ? (bytes - k->look_bytes) * 1000000 / (uint64_t)(now_us - k->look_us)
                         : UINT64_MAX; /* not known yet */
    k->look_us = now_us;
    k->look_bytes = bytes;
}

/* The connection with the smallest rank is evicted first; UINT64_MAX: not at all. */
static uint64_t eviction_rank(const conns *c, const conn *k, int64_t now_us)
{
    const uint64_t idle = UINT64_C(1) << 61, slow = UINT64_C(1) << 62;
    const uint64_t left_us = (uint64_t)(deadline_of(k) > now_us ? deadline_of(k) - now_us : 0);
    switch (conn_phase_of(k)) {
    case CONN_HEAD:
        return left_us + SLOW_US > (uint64_t)c->limits.head_us ? UINT64_MAX : left_us;
    case CONN_IDLE: return k->follows ? UINT64_MAX : idle + left_us;
    case CONN_BODY:
    case CONN_SEND:
        if (!k->look_us || k->rate >= (uint64_t)c->limits.bytes_per_s) return UINT64_MAX;
        return k->rate < STANDING ? k->rate : slow + k->rate;
    default: return UINT64_MAX;
    }
}

static conn *choose_victim(const conns *c, int64_t now_us)
{
    conn *found = NULL;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < c->top; i++) {
        conn *k = c->slot[i];
        if (!is_open(k) || k->leaving) continue;
        const uint64_t rank = eviction_rank(c, k, now_us);
        if (rank >= best) continue;
        best = rank;
        found = k;
    }
    return found;
}

static void evict(conns *c, conn *k)
{
    k->leaving = true;
    c->leaving++;
    atomic_fetch_add_explicit(&c->counters.evicted, 1, memory_order_relaxed);
    end_conn(k);
}

void conns_make_room(conns *c, unsigned wanted)
{
    const int64_t now_us = clock_mono_us();
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->top; i++) {
        conn *k = c->slot[i];
        if (!is_open(k)) continue;
        const conn_phase phase = conn_phase_of(k);
        if (k->leaving && phase != CONN_IDLE && phase != CONN_NEW) { /* it had sent a request just before, so it stays */
            k->leaving = false;
            c->leaving--;
        }
        measure_rate(k, now_us);
    }
    while (c->leaving < wanted) {
        conn *k = choose_victim(c, now_us);
        if (!k) break;
        evict(c, k);
    }
    pthread_mutex_unlock(&c->lock);
}

bool conns_make_room_of(conns *c, const struct sockaddr *peer)
{
    const struct in6_addr from = address_of(peer);
    conn *found = NULL;
    bool leaving = false;
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->top; i++) {
        conn *k = c->slot[i];
        if (!is_open(k) || conn_phase_of(k) != CONN_IDLE || memcmp(&k->peer, &from, sizeof from) != 0)
            continue;
        leaving |= k->leaving;
        if (!k->leaving && (!found || deadline_of(k) < deadline_of(found))) found = k;
    }
    if (found && !leaving) evict(c, found);
    pthread_mutex_unlock(&c->lock);
    return found || leaving;
}

/* --- the sweeper --- */

/* With TLS an idle connection is ended as an evicted one is, so that its worker can send the closure alert. */
static void end_late(conns *c, conn *k, conn_phase phase, int64_t now_us)
{
    int64_t deadline = deadline_of(k);
    const bool parts = k->tls && phase == CONN_IDLE && !k->parting &&
                       atomic_compare_exchange_strong(&k->deadline_us, &deadline, now_us + PART_US);
    if (!k->parting) atomic_fetch_add_explicit(&c->counters.late[phase], 1, memory_order_relaxed);
    if (parts) {
        k->parting = true;
        end_conn(k);
    } else {
        k->shut = true;
        shutdown(k->fd, SHUT_RDWR);
    }
}

/* Runs several times within the shortest deadline. */
static void *run_sweeper(void *arg)
{
    conns *c = arg;
    int64_t least = c->limits.head_us;
    if (c->limits.body_us < least) least = c->limits.body_us;
    if (c->limits.idle_us < least) least = c->limits.idle_us;
    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        int64_t pause = c->draining ? 20000 : least / 8;
        pause = pause < 5000 ? 5000 : pause > 250000 ? 250000 : pause;
        const int64_t until = clock_mono_us() + pause;
        struct timespec t = {until / 1000000, until % 1000000 * 1000};
        pthread_cond_timedwait(&c->wake, &c->lock, &t);
        const int64_t now_us = clock_mono_us();
        for (int i = 0; i < c->top; i++) {
            conn *k = c->slot[i];
            if (!is_open(k)) continue;
            const conn_phase phase = conn_phase_of(k);
            if (deadline_of(k) <= now_us) {
                end_late(c, k, phase, now_us);
            } else if (c->draining && (phase == CONN_IDLE || phase == CONN_NEW)) {
                end_conn(k);
            }
        }
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

int conns_start(conns *c)
{
    int e = pthread_create(&c->sweeper, NULL, run_sweeper, c);
    c->started = e == 0;
    return e;
}

static void raise_flag(conns *c, bool *flag)
{
    pthread_mutex_lock(&c->lock);
    *flag = true;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

void conns_stop(conns *c)
{
    if (!c->started) return;
    raise_flag(c, &c->stop);
    pthread_join(c->sweeper, NULL);
    c->started = false;
}

void conns_drain(conns *c)
{
    raise_flag(c, &c->draining);
}

unsigned conns_open(conns *c)
{
    pthread_mutex_lock(&c->lock);
    unsigned n = c->open;
    pthread_mutex_unlock(&c->lock);
    return n;
}

unsigned conns_open_of(conns *c, unsigned worker)
{
    pthread_mutex_lock(&c->lock);
    unsigned n = c->per_worker[worker];
    pthread_mutex_unlock(&c->lock);
    return n;
}

conns_counters *conns_counters_of(conns *c)
{
    return &c->counters;
}

void conns_free(conns *c, void (*drop)(struct request *request))
{
    if (!c) return;
    for (int i = 0; i < c->top; i++) {
        if (c->slot[i] && c->slot[i]->request) drop(c->slot[i]->request);
        if (c->slot[i]) tls_free(c->slot[i]->tls);
        if (c->slot[i]) free(c->slot[i]->kept);
        free(c->slot[i]);
    }
    free(c->per_worker);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
