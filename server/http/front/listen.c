#include "http/front/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/process.h"

#define BACKLOG 128

static tb_code bad_address(const char *text, tb_error *err)
{
    return tb_fail(err, TB_E_USAGE, "listen",
                   "\"%s\" is not an address to listen on: 127.0.0.1:8080 or [::1]:8080.", text);
}

/* Splits "host:port", the host perhaps in brackets. host "" is all addresses. */
static bool split_address(const char *text, char host[64], char port[8])
{
    size_t len = strnlen(text, 128);
    const char *colon = memrchr(text, ':', len);
    if (!colon) return false;
    const char *from = text;
    size_t host_len = (size_t)(colon - text), port_len = len - host_len - 1;
    if (host_len >= 2 && text[0] == '[') {
        if (text[host_len - 1] != ']') return false;
        from++;
        host_len -= 2;
    } else if (memchr(text, ':', host_len)) {
        return false; /* an IPv6 address without brackets */
    }
    if (host_len > 63 || port_len < 1 || port_len > 5) return false;
    if (strspn(colon + 1, "0123456789") != port_len) return false;
    unsigned number = 0;
    for (size_t i = 0; i < port_len; i++)
        number = number * 10 + (unsigned)(colon[1 + i] - '0');
    if (number > 65535) return false;
    memcpy(host, from, host_len);
    host[host_len] = 0;
    memcpy(port, colon + 1, port_len + 1);
    return true;
}

static tb_code open_one(const char *text, int *ret_fd, tb_error *err)
{
    char host[64], port[8];
    if (!split_address(text, host, port)) return bad_address(text, err);
    const char *node = host;
    if (strcmp(host, "localhost") == 0) node = "127.0.0.1";
    if (host[0] == 0) node = "0.0.0.0";
    struct addrinfo want = {.ai_socktype = SOCK_STREAM,
                            .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found = NULL;
    if (getaddrinfo(node, port, &want, &found) != 0) return bad_address(text, err);
    int on = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool bound = fd >= 0;
    if (bound) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (found->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* accepted sockets inherit it */
        bound = bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0;
    }
    const int e = errno;
    freeaddrinfo(found);
    if (bound) {
        *ret_fd = fd;
        return TB_OK;
    }
    if (fd >= 0) close(fd);
    char holder[PROCESS_NAME_MAX];
    if (e == EADDRINUSE && process_listening(strtoul(port, NULL, 10), holder))
        return tb_fail(err, TB_E_BUSY, "listen", "Cannot listen on %s: %s listens there. Choose another address with --listen.", text,
                       holder);
    return tb_fail(err, e == EADDRINUSE ? TB_E_BUSY : TB_E_IO, "listen", "Cannot listen on %s: %s. Choose another address with --listen.", text,
                   strerror(e));
}

void listen_close(listener *l)
{
    for (size_t i = 0; i < l->n; i++)
        close(l->fd[i]);
    l->n = 0;
}

tb_code listen_open(const char *const *texts, size_t n, listener *ret_listener, tb_error *err)
{
    listener l = {.n = 0};
    tb_code code = TB_OK;
    if (n > LISTEN_MAX) return tb_fail(err, TB_E_USAGE, "listen", "At most %d addresses to listen on.", LISTEN_MAX);
    for (size_t i = 0; code == TB_OK && i < n; i++) {
        code = open_one(texts[i], &l.fd[i], err);
        if (code == TB_OK) l.n++;
    }
    if (code == TB_OK) *ret_listener = l;
    else listen_close(&l);
    return code;
}

static void read_address(const listener *l, size_t i, struct sockaddr_storage *out)
{
    socklen_t len = sizeof *out;
    memset(out, 0, sizeof *out);
    getsockname(l->fd[i], (struct sockaddr *)out, &len);
}

unsigned listen_port(const listener *l, size_t i)
{
    struct sockaddr_storage a;
    read_address(l, i, &a);
    if (a.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&a)->sin6_port);
    return ntohs(((struct sockaddr_in *)&a)->sin_port);
}

void listen_text(const listener *l, size_t i, char out[LISTEN_TEXT_MAX])
{
    struct sockaddr_storage a;
    char host[INET6_ADDRSTRLEN] = "";
    read_address(l, i, &a);
    bool six = a.ss_family == AF_INET6;
    if (six) inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&a)->sin6_addr, host, sizeof host);
    else inet_ntop(AF_INET, &((struct sockaddr_in *)&a)->sin_addr, host, sizeof host);
    snprintf(out, LISTEN_TEXT_MAX, six ? "[%s]:%u" : "%s:%u", host, listen_port(l, i));
}
