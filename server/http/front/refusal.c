#include "http/front/refusal.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "http/errors.h"
#include "http/front/tls.h"

#define ANSWER_MAX 1024

/* The reason phrases of the statuses that a refusal may have. */
static const char *reason(int status)
{
    switch (status) {
    case 400: return "Bad Request";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 431: return "Request Header Fields Too Large";
    default: return "Service Unavailable";
    }
}

void refusal_send(int fd, tls *session, tb_code code, const char *why)
{
    char answer[ANSWER_MAX];
    tb_error err;
    tb_buf body;
    tb_buf_init(&body, ANSWER_MAX / 2, NULL);
    if (tb_fail(&err, code, NULL, why ? "%s" : NULL, why) != TB_OK)
        errors_put(ERRORS_CORE, &err, (error_place){0}, &body);
    const int status = tb_code_http(code);
    const int len =
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 %d %s\r\nConnection: close\r\n%sContent-Type: application/json\r\n"
                 "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
                 "Content-Length: %zu\r\n\r\n%.*s",
                 status, reason(status), status == 503 ? "Retry-After: 1\r\n" : "", body.len,
                 (int)body.len, body.data ? body.data : "");
    tb_buf_release(&body);
    const struct iovec whole = {answer, (size_t)len};
    const ssize_t n = session ? tls_send(session, &whole, 1, 0)
                          : sendto(fd, answer, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
    (void)n;
    if (session) tls_end(session);
}
