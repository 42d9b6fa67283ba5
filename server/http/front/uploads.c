/* A poll over the sockets, level by level, and a list of what is under way for whoever stops it. */
#include "http/front/uploads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/behind.h"
#include "http/front/body.h"
#include "http/server.h"

#define PIECE  ((size_t)256 << 10) /* read at once */
#define TURN   ((size_t)1 << 20)   /* of one body before the next one's turn */
#define EVENTS 64

struct uploads {
    pthread_mutex_t lock;
    pthread_t thread;
    int epoll, wake;
    void (*over)(request *r);
    request *first; /* those under way */
    bool stop;
    char *thrown; /* PIECE bytes: where a body goes that nobody keeps */
};

/* --- one body --- */

static void note_received(request *r, size_t n)
{
    const size_t before = r->body_len + (size_t)r->thrown;
    r->conn->framing.left -= n;
    r->uploaded_bytes += n;
    if (r->over) r->thrown += n;
    else r->body_len += n;
    conn_extend(r->conn, before, before + n);
}

/* What came with the head. */
static void take_beginning(request *r)
{
    conn *k = r->conn;
    r->over = !body_grow(r, k->kept_len);
    if (!r->over) memcpy(r->body, k->kept, k->kept_len);
    note_received(r, k->kept_len);
    k->kept_len = 0;
}

static ssize_t receive_piece(uploads *u, request *r)
{
    const uint64_t left = r->conn->framing.left;
    size_t room = left < PIECE ? (size_t)left : PIECE;
    if (!r->over && r->body_len == r->body_cap && !body_grow(r, r->body_len + room)) {
        r->over = true;
        body_drop(r);
    }
    if (!r->over && room > r->body_cap - r->body_len) room = r->body_cap - r->body_len;
    const ssize_t n = recv(r->conn->fd, r->over ? u->thrown : r->body + r->body_len, room, MSG_DONTWAIT);
    if (n > 0) note_received(r, (size_t)n);
    return n;
}

/* As much as has come, or its turn allows. Whether it is over. */
static bool receive_turn(uploads *u, request *r)
{
    conn *k = r->conn;
    for (size_t turn = 0; turn < TURN;) {
        const ssize_t n = receive_piece(u, r);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
        if (n <= 0) k->large_body = LARGE_BODY_BROKEN;
        else if (k->framing.left == 0 || r->thrown > BODY_THROWN_MAX) k->large_body = LARGE_BODY_OVER;
        if (k->large_body != LARGE_BODY_COMES) return true;
        turn += (size_t)n;
    }
    return false;
}

/* --- all of them --- */

/* The lock is held. */
static void leave_list(uploads *u, request *r)
{
    epoll_ctl(u->epoll, EPOLL_CTL_DEL, r->conn->fd, NULL);
    *r->upload_at = r->upload_next;
    if (r->upload_next) r->upload_next->upload_at = r->upload_at;
}

static void finish(uploads *u, request *r)
{
    pthread_mutex_lock(&u->lock);
    leave_list(u, r);
    pthread_mutex_unlock(&u->lock);
    u->over(r);
}

static bool is_stopping(uploads *u)
{
    pthread_mutex_lock(&u->lock);
    const bool stop = u->stop;
    pthread_mutex_unlock(&u->lock);
    return stop;
}

static void break_off(uploads *u)
{
    while (u->first) { /* nobody adds to them any more */
        u->first->conn->large_body = LARGE_BODY_BROKEN;
        finish(u, u->first);
    }
}

static void *run_uploads(void *arg)
{
    uploads *u = arg;
    struct epoll_event events[EVENTS];
    behind_others();
    while (!is_stopping(u)) {
        const int n = epoll_wait(u->epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            request *r = events[i].data.ptr;
            if (r && receive_turn(u, r)) finish(u, r);
        }
    }
    break_off(u);
    return NULL;
}

bool uploads_take(uploads *u, request *r)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = r};
    take_beginning(r);
    pthread_mutex_lock(&u->lock);
    const bool taken = !u->stop && epoll_ctl(u->epoll, EPOLL_CTL_ADD, r->conn->fd, &event) == 0;
    if (taken) {
        r->upload_next = u->first;
        r->upload_at = &u->first;
        if (u->first) u->first->upload_at = &r->upload_next;
        u->first = r;
    }
    pthread_mutex_unlock(&u->lock);
    return taken;
}

/* --- start and stop --- */

uploads *uploads_start(void (*over)(request *r))
{
    uploads *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    pthread_mutex_init(&u->lock, NULL);
    u->over = over;
    u->thrown = malloc(PIECE);
    u->epoll = epoll_create1(EPOLL_CLOEXEC);
    u->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN}; /* without a request */
    if (u->thrown && u->epoll >= 0 && u->wake >= 0 && epoll_ctl(u->epoll, EPOLL_CTL_ADD, u->wake, &event) == 0 &&
        pthread_create(&u->thread, NULL, run_uploads, u) == 0)
        return u;
    uploads_free(u);
    return NULL;
}

void uploads_stop(uploads *u)
{
    if (!u) return;
    pthread_mutex_lock(&u->lock);
    u->stop = true;
    pthread_mutex_unlock(&u->lock);
    eventfd_write(u->wake, 1);
    pthread_join(u->thread, NULL);
}

void uploads_free(uploads *u)
{
    if (!u) return;
    if (u->epoll >= 0) close(u->epoll);
    if (u->wake >= 0) close(u->wake);
    pthread_mutex_destroy(&u->lock);
    free(u->thrown);
    free(u);
}
