#include "http/front/receive.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "http/clock.h"
#include "http/front/refusal.h"
#include "http/front/tls.h"

#define DISCARD_MAX 65536 /* read after a refusal, so that a reset does not overtake it */

static _Thread_local conns *thread_conns;

void receive_for(conns *c)
{
    thread_conns = c;
}

static ssize_t receive_from_socket(int fd, void *to, size_t len, int flags)
{
    return recvfrom(fd, to, len, flags, NULL, NULL);
}

ssize_t conn_receive(conn *k, void *to, size_t len)
{
    return k->tls ? tls_receive(k->tls, to, len) : receive_from_socket(k->fd, to, len, MSG_DONTWAIT);
}

/* With TLS the alert that ends the client's side lies in the socket before the socket's own end. */
bool conn_client_left(const conn *k)
{
    char byte;
    struct pollfd p = {.fd = k->fd, .events = POLLRDHUP};
    if (k->tls) return poll(&p, 1, 0) > 0;
    return receive_from_socket(k->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* --- a refusal --- */

static void count_malformed(const conn *k)
{
    atomic_fetch_add_explicit(&conns_counters_of(k->conns)->malformed, 1, memory_order_relaxed);
}

/* Invalid input is answered when all requests before it are, and while no answer is being sent. */
static void refuse_if_due(conn *k)
{
    const framing *f = &k->framing;
    const conn_phase phase = conn_phase_of(k);
    if (f->state != FRAMING_BAD || k->refused ||
        f->heads - k->answered != (f->in_body ? 1 : 0) || phase == CONN_WORK || phase == CONN_SEND)
        return;
    k->refused = true;
    count_malformed(k);
    refusal_send(k->fd, k->tls, f->code, f->why);
    shutdown(k->fd, SHUT_WR);
    conn_set_phase(k, CONN_HEAD, 0, clock_mono_us());
}

/* Returns 0 at the client's end, or -1 if there is nothing more now. With TLS nothing is decrypted any more. */
static ssize_t discard(conn *k)
{
    char unread[4096];
    ssize_t n = 1;
    while (n > 0 && k->discarded < DISCARD_MAX) {
        n = receive_from_socket(k->fd, unread, sizeof unread, MSG_DONTWAIT);
        if (n > 0) k->discarded += (size_t)n;
    }
    return n > 0 ? 0 : n;
}

/* --- kept input --- */

static void keep(conn *k, const char *bytes, size_t len)
{
    if (!k->kept) k->kept = malloc(HEAD_MAX);
    if (!k->kept) {
        framing_give_up(&k->framing);
        return;
    }
    memcpy(k->kept, bytes, len);
    k->kept_len = len;
    k->kept_good = 0;
}

/* A head has begun: starts its deadline, if it does not run. */
static void note_beginning(conn *k)
{
    if (k->kept_len && conn_phase_of(k) == CONN_IDLE)
        conn_set_phase(k, CONN_HEAD, 0, clock_coarse_us());
}

/* For a large body the library gets a byte when some of it has come, and one when it is complete. */
static ssize_t read_placeholder(conn *k, char *to)
{
    const bool begins = k->framing.placeholders == 0;
    if (begins) k->large_body = LARGE_BODY_COMES;
    if (begins && k->kept_len == 0) { /* the client sent the head alone */
        char first[4096];
        const ssize_t n = conn_receive(k, first, sizeof first);
        if (n <= 0) return n;
        keep(k, first, (size_t)n);
    }
    if (k->large_body == LARGE_BODY_BROKEN) return 0;
    const bool due = begins || (k->large_body == LARGE_BODY_OVER && k->framing.placeholders < FRAMING_PLACEHOLDERS);
    if (due && k->framing.state == FRAMING_LARGE) {
        *to = framing_placeholder(&k->framing);
        return 1;
    }
    errno = EAGAIN;
    return -1;
}

/* Reads after the kept bytes. *ret_more: the kernel may have more. */
static ssize_t read_after_kept(conn *k, bool *ret_more)
{
    const size_t room = HEAD_MAX - k->kept_len;
    const ssize_t n = conn_receive(k, k->kept + k->kept_len, room);
    if (n <= 0) return n;
    *ret_more = (size_t)n == room;
    k->kept_len += (size_t)n;
    const framing_step s = framing_scan(&k->framing, k->kept, k->kept_len);
    k->kept_good = s.passed;
    k->kept_len -= s.read - s.passed;
    memmove(k->kept + s.passed, k->kept + s.read, k->kept_len - s.passed);
    return n;
}

/* Reads into the library's buffer. *ret_good: how much of that may pass; the rest is kept. */
static ssize_t read_direct(conn *k, char *to, size_t room, size_t *ret_good, bool *ret_more)
{
    const size_t most = room < HEAD_MAX ? room : HEAD_MAX;
    const ssize_t n = conn_receive(k, to, most);
    if (n <= 0) return n;
    const framing_step s = framing_scan(&k->framing, to, (size_t)n);
    const size_t rest = (size_t)n - s.read;
    *ret_good = s.passed;
    *ret_more = (size_t)n == most || (rest > 0 && k->framing.state == FRAMING_LARGE);
    if (rest > 0 && k->framing.state < FRAMING_END) keep(k, to + s.read, rest);
    return n;
}

/* --- reading --- */

static ssize_t receive(conn *k, char *to, size_t room)
{
    size_t n = 0;
    ssize_t got = 1;
    bool more = true;
    while ((more || k->kept_good) && got > 0 && n < room) {
        size_t good = 0;
        if (k->kept_good) {
            const size_t kept = k->kept_good < room - n ? k->kept_good : room - n;
            memcpy(to + n, k->kept, kept);
            memmove(k->kept, k->kept + kept, k->kept_len - kept);
            k->kept_len -= kept;
            k->kept_good -= kept;
            n += kept;
        } else if (k->framing.state >= FRAMING_END) {
            break;
        } else if (k->framing.state == FRAMING_LARGE) {
            got = read_placeholder(k, to + n);
            n += got > 0;
            more = true;
        } else if (k->kept_len) {
            got = read_after_kept(k, &more);
        } else {
            got = read_direct(k, to + n, room - n, &good, &more);
            n += good;
        }
    }
    const int why = errno;
    refuse_if_due(k);
    note_beginning(k);
    if (n > 0) return (ssize_t)n;
    if (k->refused || k->framing.state == FRAMING_END) return discard(k);
    errno = got < 0 ? why : EAGAIN;
    return got == 0 ? 0 : -1;
}

/* --- for the handler --- */

static enum MHD_Result take_header(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                   const char *value, size_t value_len)
{
    (void)kind;
    head_restore(cls, name, name_len, value, value_len);
    return MHD_YES;
}

/* If this head is the one passed on last, nothing after it has been read if it was refused or its body is large. */
void conn_head(conn *k, struct MHD_Connection *mhd, const char *version, head *h)
{
    const framing *f = &k->framing;
    const bool newest = f->heads == k->answered + 1;
    h->http11 = strcmp(version, "HTTP/1.1") == 0;
    MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, take_header, h);
    h->large = newest && f->state == FRAMING_LARGE;
    if (h->large) h->content_length = f->length; /* in place of the placeholder's */
    if (!newest || f->state != FRAMING_END || !f->code) return;
    h->code = f->code;
    h->why = f->why;
    count_malformed(k);
}

void conn_set_last(conn *k)
{
    framing_end(&k->framing);
    k->kept_len = k->kept_good = 0;
}

/* Input after the last request is discarded, so that a reset does not overtake its answer. */
void conn_answered(conn *k)
{
    k->answered++;
    if (k->framing.state == FRAMING_END) discard(k);
    refuse_if_due(k);
    note_beginning(k);
}

/* --- for the library --- */

ssize_t receive_instead(int fd, void *to, size_t len, int flags) __asm__("recv");
ssize_t send_instead(int fd, const void *from, size_t len, int flags) __asm__("send");
ssize_t send_parts_instead(int fd, const struct msghdr *message, int flags) __asm__("sendmsg");
int shutdown_instead(int fd, int how) __asm__("shutdown");

/* This thread's connection, if it has a session. */
static conn *encrypted_at(int fd)
{
    conn *k = thread_conns ? conns_at(thread_conns, fd) : NULL;
    return k && k->tls ? k : NULL;
}

ssize_t send_instead(int fd, const void *from, size_t len, int flags)
{
    const struct iovec whole = {(void *)(uintptr_t)from, len};
    const conn *k = encrypted_at(fd);
    return k ? tls_send(k->tls, &whole, 1, flags) : sendto(fd, from, len, flags, NULL, 0);
}

/* The kernel's call by its number, as the C library has sendmsg() under this name alone. */
ssize_t send_parts_instead(int fd, const struct msghdr *message, int flags)
{
    const conn *k = encrypted_at(fd);
    return k ? tls_send(k->tls, message->msg_iov, message->msg_iovlen, flags) : syscall(SYS_sendmsg, fd, message, flags);
}

/* The library closes a connection. If all its requests were answered whole, the session ends in order. */
int shutdown_instead(int fd, int how)
{
    const conn *k = encrypted_at(fd);
    if (k && k->framing.heads == k->answered) tls_end(k->tls);
    return (int)syscall(SYS_shutdown, fd, how);
}

ssize_t receive_instead(int fd, void *to, size_t len, int flags)
{
    conn *k = thread_conns ? conns_at(thread_conns, fd) : NULL;
    if (!k || len == 0) return receive_from_socket(fd, to, len, flags);
    return k->refused ? discard(k) : receive(k, to, len);
}
