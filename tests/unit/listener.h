/* A listener on loopback for what asks by libcurl: one request a connection, each answered by a
 * function of the test. Every wait of it is bounded. */
#ifndef TESTS_UNIT_LISTENER_H
#define TESTS_UNIT_LISTENER_H

#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LISTENER_WAIT_S  20
#define LISTENER_REQUEST ((size_t)256 << 10)
#define LISTENER_HELD    16

typedef struct listener {
    int fd, port;
    pthread_t thread;
    /* The bytes to answer with, on the listener's thread; NULL: none, and the connection stays
     * open. */
    const char *(*answer)(void *ctx, const char *request);
    void *ctx;
    int held[LISTENER_HELD];
    size_t n_held;
    char request[LISTENER_REQUEST + 1];
} listener;

/* Ends a test that hangs, and nothing else: check answers SIGALRM, and SIGTERM, by ending the whole
 * process group. */
static inline void listener_deadline(int seconds)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    const struct itimerspec when = {.it_value.tv_sec = seconds};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &when, NULL) != 0)
        abort();
}

static inline void listener_bound(int fd)
{
    const struct timeval wait = {.tv_sec = LISTENER_WAIT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
}

/* Whether a whole request came, head and body. */
static inline bool listener_reads(listener *l, int fd)
{
    size_t have = 0, want = LISTENER_REQUEST;
    while (have < want) {
        const ssize_t n = recv(fd, l->request + have, LISTENER_REQUEST - have, 0);
        if (n <= 0) return false;
        have += (size_t)n;
        l->request[have] = '\0';
        const char *end = strstr(l->request, "\r\n\r\n"),
                   *size = strcasestr(l->request, "\r\nContent-Length:");
        if (end)
            want = (size_t)(end - l->request) + 4 +
                   (size && size < end ? strtoul(size + 17, NULL, 10) : 0);
    }
    return true;
}

static inline void listener_send(int fd, const char *text, size_t len)
{
    while (len > 0) {
        const ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n <= 0) return;
        text += n;
        len -= (size_t)n;
    }
}

/* Says that the connection ends, so that no other request is sent on it. */
static inline void listener_answers(int fd, const char *text)
{
    const char *line = strncmp(text, "HTTP/", 5) == 0 ? strstr(text, "\r\n") : NULL;
    const size_t len = line ? (size_t)(line - text) + 2 : 0;
    listener_send(fd, text, len);
    if (line) listener_send(fd, "Connection: close\r\n", 19);
    listener_send(fd, text + len, strlen(text + len));
    close(fd);
}

static inline void *listener_run(void *arg)
{
    listener *l = arg;
    for (int fd; (fd = accept(l->fd, NULL, NULL)) >= 0;) {
        listener_bound(fd);
        const char *text = listener_reads(l, fd) ? l->answer(l->ctx, l->request) : "";
        if (text || l->n_held == LISTENER_HELD)
            listener_answers(fd, text ? text : "");
        else
            l->held[l->n_held++] = fd;
    }
    return NULL;
}

static inline void listener_start(listener *l,
                                  const char *(*answer)(void *ctx, const char *request), void *ctx)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    l->answer = answer;
    l->ctx = ctx;
    l->n_held = 0;
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(l->fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(l->fd, 16), 0);
    ck_assert_int_eq(getsockname(l->fd, (struct sockaddr *)&at, &len), 0);
    listener_bound(l->fd);
    l->port = ntohs(at.sin_port);
    ck_assert_int_eq(pthread_create(&l->thread, NULL, listener_run, l), 0);
}

static inline void listener_stop(listener *l)
{
    shutdown(l->fd, SHUT_RDWR);
    pthread_join(l->thread, NULL);
    for (size_t i = 0; i < l->n_held; i++)
        close(l->held[i]);
    close(l->fd);
}

#endif
