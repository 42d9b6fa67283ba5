/* Origins are compared byte by byte with those named (RFC 6454, 6.2: browsers send one spelling). */
#include "http/cors.h"

#include <microhttpd.h>
#include <string.h>

#include "http/server.h"

#define SENT                                                                                       \
    "AccessKey, Authorization, Content-Type, Content-Encoding, Idempotency-Key, If-None-Match"
#define EXPOSED "ETag, X-Request-Id, Retry-After, Content-Disposition"
#define MAX_AGE "600" /* seconds that a browser may keep a preflight's answer */

bool cors_origin_valid(const char *text)
{
    const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : "";
    const size_t len = strlen(host);
    return len > 0 && len < 256 &&
           strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") == len;
}

/* The one of the operator's origins that the request came from, or NULL. */
static const char *origin_of(const request *r)
{
    const server_options *o = &r->worker->server->options;
    const tb_text origin = request_header(r, HEADER_ORIGIN);
    for (size_t i = 0; origin.len && i < o->n_cors; i++)
        if (strlen(o->cors[i]) == origin.len && memcmp(o->cors[i], origin.data, origin.len) == 0)
            return o->cors[i];
    return NULL;
}

bool cors_allowed(const request *r)
{
    return origin_of(r) != NULL;
}

bool cors_is_preflight(const request *r)
{
    return r->method == HTTP_OPTIONS && request_header(r, HEADER_REQUEST_METHOD).len > 0 &&
           cors_allowed(r);
}

bool cors_add(const request *r, struct MHD_Response *m)
{
    const char *origin = origin_of(r);
    if (!origin) return true;
    if (MHD_add_response_header(m, "Access-Control-Allow-Origin", origin) != MHD_YES) return false;
    if (r->reply.status == 204 && cors_is_preflight(r)) {
        char methods[ROUTER_ALLOW_MAX];
        router_allow(r->allow, methods);
        return MHD_add_response_header(m, "Access-Control-Allow-Methods", methods) == MHD_YES &&
               MHD_add_response_header(m, "Access-Control-Allow-Headers", SENT) == MHD_YES &&
               MHD_add_response_header(m, "Access-Control-Max-Age", MAX_AGE) == MHD_YES;
    }
    return MHD_add_response_header(m, "Access-Control-Expose-Headers", EXPOSED) == MHD_YES;
}

const char *cors_vary(const request *r)
{
    if (r->worker->server->options.n_cors == 0)
        return r->reply.compressible ? "Accept-Encoding" : NULL;
    return r->reply.compressible ? "Accept-Encoding, Origin" : "Origin";
}
