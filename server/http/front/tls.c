/* GnuTLS reads and writes through pull and push. They call recvfrom() and sendto(), because recv() and send() of this
 * program are those of receive.c. */
#include "http/front/tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "http/front/head.h"

#define CHAIN_MAX  32    /* certificates of a chain */
#define RECORD_MAX 16384 /* bytes in a record */
#define QUIET_MAX  1000  /* records without data, read in one call; more is not how a client behaves */

/* TLS 1.3 and 1.2, with authenticated ciphers and forward secrecy only. */
#define PRIORITY                                                                                   \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:"      \
    "+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD:%SERVER_PRECEDENCE"

struct tls_pair {
    _Atomic unsigned holds;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
    int64_t from_s, until_s;
};

struct tls {
    gnutls_session_t session; /* NULL: no byte has come */
    tls_pair *pair;
    int fd;
    int flags;            /* of the sendto() of this tls_send */
    bool shaken;          /* the handshake is complete */
    bool ended;           /* nothing more comes */
    bool failed;          /* nothing more is sent, either */
    bool plain;
    bool blocked;         /* the socket had no more, or took no more */
    bool pending;         /* only tls_peek was called */
    bool left;            /* the last byte that was read is still in the socket */
    bool unsent;          /* a record is encrypted and not sent whole */
    size_t ahead;         /* bytes that were sent, and that the caller will pass again */
    char *head;           /* HEAD_MAX bytes or NULL: what tls_peek has decrypted */
    size_t head_at, head_len;
};

const char *tls_version(void)
{
    return gnutls_check_version(NULL);
}

/* --- a pair --- */

static tb_code unusable(tb_error *err, const char *why)
{
    return tb_fail(err, TB_E_READ_ONLY, NULL, "%s", why);
}

static gnutls_datum_t datum(tb_text text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text.data, (unsigned)text.len};
}

static tb_code read_key(tb_text text, gnutls_x509_privkey_t key, tb_error *err)
{
    const gnutls_datum_t bytes = datum(text);
    const int e = gnutls_x509_privkey_import2(key, &bytes, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (e == GNUTLS_E_DECRYPTION_FAILED)
        return unusable(err, "The key is encrypted. Store it without a passphrase, with mode 600.");
    return e ? unusable(err, "The key file holds no private key that GnuTLS knows (PEM).") : TB_OK;
}

static tb_code take_chain(tls_pair *p, gnutls_x509_crt_t *chain, unsigned n, gnutls_x509_privkey_t key, tb_error *err)
{
    p->from_s = (int64_t)gnutls_x509_crt_get_activation_time(chain[0]);
    p->until_s = (int64_t)gnutls_x509_crt_get_expiration_time(chain[0]);
    const int e = gnutls_certificate_set_x509_key(p->credentials, chain, (int)n, key);
    if (e == GNUTLS_E_CERTIFICATE_KEY_MISMATCH) return unusable(err, "The key does not belong to the certificate.");
    if (e >= 0) return TB_OK;
    return tb_fail(err, TB_E_READ_ONLY, NULL, "GnuTLS does not take the certificate and the key: %s", gnutls_strerror(e));
}

static tb_code read_pair(tls_pair *p, tb_text chain_text, tb_text key_text, tb_error *err)
{
    gnutls_x509_crt_t chain[CHAIN_MAX];
    gnutls_x509_privkey_t key;
    unsigned n = CHAIN_MAX;
    const gnutls_datum_t bytes = datum(chain_text);
    const int e = gnutls_x509_crt_list_import(chain, &n, &bytes, GNUTLS_X509_FMT_PEM,
                                              GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED | GNUTLS_X509_CRT_LIST_SORT);
    if (e == GNUTLS_E_SHORT_MEMORY_BUFFER) return unusable(err, "The certificate's file holds more than 32 certificates.");
    if (e < 0) return unusable(err, "The certificate's file holds no certificate (PEM), or a broken one.");
    tb_code code = gnutls_x509_privkey_init(&key) ? tb_no_memory(err) : TB_OK;
    if (!code) {
        code = read_key(key_text, key, err);
        if (!code) code = take_chain(p, chain, n, key, err);
        gnutls_x509_privkey_deinit(key);
    }
    for (unsigned i = 0; i < n; i++)
        gnutls_x509_crt_deinit(chain[i]);
    return code;
}

tb_code tls_pair_parse(tb_text chain, tb_text key, tls_pair **ret_pair, tb_error *err)
{
    tls_pair *p = calloc(1, sizeof *p);
    if (!p) return tb_no_memory(err);
    atomic_init(&p->holds, 1);
    tb_code code = TB_OK;
    if (gnutls_certificate_allocate_credentials(&p->credentials) || gnutls_priority_init(&p->priority, PRIORITY, NULL))
        code = tb_no_memory(err);
    if (!code) code = read_pair(p, chain, key, err);
    if (code) tls_pair_release(p);
    else *ret_pair = p;
    return code;
}

void tls_pair_valid(const tls_pair *p, int64_t *ret_from_s, int64_t *ret_until_s)
{
    *ret_from_s = p->from_s;
    *ret_until_s = p->until_s;
}

void tls_pair_release(tls_pair *p)
{
    if (!p || atomic_fetch_sub(&p->holds, 1) > 1) return;
    if (p->credentials) gnutls_certificate_free_credentials(p->credentials);
    if (p->priority) gnutls_priority_deinit(p->priority);
    free(p);
}

/* --- a session --- */

static ssize_t read_socket(const tls *t, void *to, size_t len, int flags)
{
    return recvfrom(t->fd, to, len, flags | MSG_DONTWAIT, NULL, NULL);
}

/* Whether something follows the byte that is still in the socket: another one, or the client's end. */
static bool has_more(const tls *t)
{
    char bytes[2];
    struct pollfd p = {.fd = t->fd, .events = POLLRDHUP};
    return read_socket(t, bytes, sizeof bytes, MSG_PEEK) != 1 || poll(&p, 1, 0) > 0;
}

/* Of a pending connection the last byte stays in the socket: the library polls the socket when it takes it over, and would
 * not read it if it were empty. */
static ssize_t pull(gnutls_transport_ptr_t ptr, void *to, size_t len)
{
    tls *t = ptr;
    char left;
    if (t->left && t->pending && !has_more(t)) {
        t->blocked = true;
        errno = EAGAIN;
        return -1;
    }
    if (t->left) t->left = read_socket(t, &left, 1, 0) != 1;
    const ssize_t n = read_socket(t, to, len, t->pending ? MSG_PEEK : 0);
    if (t->pending && n > 0) t->left = n == 1 || read_socket(t, to, (size_t)n - 1, 0) == n - 1;
    t->blocked |= n <= 0;
    if (n != 0) return n;
    t->ended = true; /* GnuTLS would send nothing any more if it knew; answers go on, as without TLS */
    errno = EAGAIN;
    return -1;
}

static ssize_t push(gnutls_transport_ptr_t ptr, const void *from, size_t len)
{
    tls *t = ptr;
    const ssize_t n = sendto(t->fd, from, len, t->flags | MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
    t->blocked |= n < 0;
    return n;
}

/* GnuTLS says "again" not only if the socket blocks: also after a message without data, such as new keys, when more may
 * have come. Polling would not tell of that. */
static bool goes_on(const tls *t, ssize_t e)
{
    return (e == GNUTLS_E_AGAIN && !t->blocked) || e == GNUTLS_E_INTERRUPTED || e == GNUTLS_E_WARNING_ALERT_RECEIVED;
}

tls *tls_new(tls_pair *pair, int fd)
{
    tls *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    atomic_fetch_add(&pair->holds, 1);
    t->pair = pair;
    t->fd = fd;
    t->pending = true;
    return t;
}

void tls_free(tls *t)
{
    if (!t) return;
    if (t->session) gnutls_deinit(t->session);
    tls_pair_release(t->pair);
    free(t->head);
    free(t);
}

static ssize_t fail(tls *t, int why)
{
    t->ended = t->failed = true;
    errno = why;
    return -1;
}

/* Begins the session once a byte has come. Returns as recv(). */
static ssize_t begin_session(tls *t)
{
    static const gnutls_datum_t protocols[] = {{(unsigned char *)(uintptr_t) "http/1.1", 8},
                                               {(unsigned char *)(uintptr_t) "http/1.0", 8}};
    unsigned char first;
    const ssize_t n = read_socket(t, &first, 1, MSG_PEEK);
    if (n <= 0) return n;
    if (first != 22) { /* no handshake record */
        t->plain = first >= 'A' && first <= 'Z';
        return fail(t, EPROTO);
    }
    if (gnutls_init(&t->session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS)) {
        t->session = NULL;
        return fail(t, ENOMEM);
    }
    gnutls_handshake_set_max_packet_length(t->session, TLS_MESSAGE_MAX);
    gnutls_transport_set_ptr(t->session, t);
    gnutls_transport_set_pull_function(t->session, pull);
    gnutls_transport_set_push_function(t->session, push);
    if (gnutls_priority_set(t->session, t->pair->priority) ||
        gnutls_credentials_set(t->session, GNUTLS_CRD_CERTIFICATE, t->pair->credentials) ||
        gnutls_alpn_set_protocols(t->session, protocols, 2, GNUTLS_ALPN_MANDATORY))
        return fail(t, ENOMEM);
    return 1;
}

/* The handshake, as far as it goes now. Returns as recv(). */
static ssize_t shake(tls *t)
{
    int e = GNUTLS_E_INTERRUPTED;
    t->blocked = false;
    for (int quiet = 0; goes_on(t, e) && quiet < QUIET_MAX; quiet++)
        e = gnutls_handshake(t->session);
    t->shaken = e == 0;
    if (t->shaken) return 1;
    if (e == GNUTLS_E_AGAIN && t->blocked) {
        errno = EAGAIN;
        return t->ended ? 0 : -1;
    }
    gnutls_alert_send_appropriate(t->session, e);
    return fail(t, EPROTO);
}

/* --- receiving --- */

static ssize_t take_head(tls *t, void *to, size_t len)
{
    const size_t left = t->head_len - t->head_at, n = left < len ? left : len;
    memcpy(to, t->head + t->head_at, n);
    t->head_at += n;
    if (t->head_at == t->head_len) {
        free(t->head);
        t->head = NULL;
        t->head_at = t->head_len = 0;
    }
    return (ssize_t)n;
}

/* Renegotiation, which TLS 1.2 has, ends the connection. */
static ssize_t decrypt(tls *t, char *to, size_t len)
{
    size_t n = 0;
    t->blocked = false;
    for (int quiet = 0; n < len && !t->ended;) {
        const ssize_t got = gnutls_record_recv(t->session, to + n, len - n);
        if (got > 0) {
            n += (size_t)got;
        } else if (got == GNUTLS_E_AGAIN && t->blocked) {
            errno = EAGAIN;
            return n || t->ended ? (ssize_t)n : -1;
        } else if (got == 0) {
            t->ended = true;
        } else if (!goes_on(t, got) || ++quiet > QUIET_MAX) {
            if (got != GNUTLS_E_PULL_ERROR && !t->unsent) gnutls_alert_send_appropriate(t->session, (int)got);
            fail(t, ECONNRESET);
        }
    }
    if (n || !t->failed) return (ssize_t)n;
    errno = ECONNRESET;
    return -1;
}

ssize_t tls_receive(tls *t, void *to, size_t len)
{
    t->pending = false;
    ssize_t n = t->head ? take_head(t, to, len) : 0;
    if ((size_t)n == len) return n;
    const ssize_t more = decrypt(t, (char *)to + n, len - (size_t)n);
    if (more > 0) n += more;
    return n ? n : more;
}

size_t tls_decrypted(const tls *t)
{
    return t->head_len - t->head_at + (t->shaken ? gnutls_record_check_pending(t->session) : 0);
}

ssize_t tls_peek(tls *t, char *to)
{
    ssize_t n = t->session ? 1 : begin_session(t);
    if (n > 0 && !t->shaken) n = shake(t);
    if (n <= 0) return n;
    if (t->head_len) memcpy(to, t->head, t->head_len);
    if (t->head_len == HEAD_MAX) return HEAD_MAX;
    n = decrypt(t, to + t->head_len, HEAD_MAX - t->head_len);
    if (n > 0 && !t->head && !(t->head = malloc(HEAD_MAX))) return fail(t, ENOMEM);
    if (n > 0) {
        memcpy(t->head + t->head_len, to + t->head_len, (size_t)n);
        t->head_len += (size_t)n;
    }
    return t->head_len ? (ssize_t)t->head_len : n;
}

bool tls_has_failed(const tls *t)
{
    return t->failed && !t->shaken;
}

bool tls_is_plain(const tls *t)
{
    return t->plain;
}

/* --- sending --- */

/* The bytes of a record: those from `at` on, gathered where they are in several parts. */
static tb_text record_at(const struct iovec *from, size_t n, size_t at, char gathered[RECORD_MAX])
{
    size_t len = 0;
    while (at >= from->iov_len)
        at -= from->iov_len, from++, n--;
    if (n == 1 || from->iov_len - at >= RECORD_MAX) {
        len = from->iov_len - at;
        return (tb_text){(const char *)from->iov_base + at, len < RECORD_MAX ? len : RECORD_MAX};
    }
    for (; n > 0 && len < RECORD_MAX; from++, n--, at = 0) {
        const size_t left = from->iov_len - at, part = left < RECORD_MAX - len ? left : RECORD_MAX - len;
        if (part) memcpy(gathered + len, (const char *)from->iov_base + at, part);
        len += part;
    }
    return (tb_text){gathered, len};
}

static ssize_t send_failed(tls *t, ssize_t e)
{
    t->unsent = e == GNUTLS_E_AGAIN || e == GNUTLS_E_INTERRUPTED;
    if (!t->unsent) return fail(t, EPIPE);
    errno = goes_on(t, e) ? EINTR : EAGAIN;
    return -1;
}

/* GnuTLS keeps a record that it has encrypted and not sent; it is sent first, whatever is passed, and then counts for
 * the bytes that it was made of. */
static ssize_t send_record(tls *t, tb_text bytes)
{
    if (t->unsent) {
        const ssize_t sent = gnutls_record_send(t->session, NULL, 0);
        if (sent < 0) return send_failed(t, sent);
        t->unsent = false;
        t->ahead = (size_t)sent;
    }
    if (t->ahead) {
        const size_t n = t->ahead < bytes.len ? t->ahead : bytes.len;
        t->ahead -= n;
        return (ssize_t)n;
    }
    const ssize_t sent = gnutls_record_send(t->session, bytes.data, bytes.len);
    return sent < 0 ? send_failed(t, sent) : sent;
}

ssize_t tls_send(tls *t, const struct iovec *from, size_t n, int flags)
{
    char gathered[RECORD_MAX];
    size_t whole = 0, done = 0;
    for (size_t i = 0; i < n; i++)
        whole += from[i].iov_len;
    if (!t->shaken || t->failed) {
        errno = EPIPE;
        return -1;
    }
    t->flags = flags & MSG_MORE;
    t->blocked = false;
    for (int quiet = 0; done < whole && quiet < QUIET_MAX;) {
        const ssize_t sent = send_record(t, record_at(from, n, done, gathered));
        if (sent < 0 && errno != EINTR) break;
        if (sent < 0) quiet++;
        else done += (size_t)sent;
    }
    t->flags = 0;
    return done || !whole ? (ssize_t)done : -1;
}

void tls_end(tls *t)
{
    t->flags = 0;
    if (t->shaken && !t->failed && !t->unsent) gnutls_bye(t->session, GNUTLS_SHUT_WR);
    t->failed = true;
}
