/* The console: a page and its files, compiled into the server as gzip. Every address of the console gets the same page,
 * whose scripts read the address and call the API. */
#include "api/console.h"

#include <string.h>

#include "api/handlers.h"
#include "http/gzip.h"
#include "http/query.h"

#define FOR_EVER "public, max-age=31536000, immutable"

static void answer_file(request *r, const console_file *f, const char *caching)
{
    if (!request_not_modified(r, f->tag) && !request_answer_zipped(r, &f->content, f->type)) return;
    r->reply.tagged = true;
    r->reply.cache = caching;
}

void api_console_page(request *r)
{
    answer_file(r, &console_files[0], "no-cache");
}

void api_console_asset(request *r)
{
    for (size_t i = 1; i < console_n_files; i++) {
        const console_file *f = &console_files[i];
        if (strlen(f->name) != r->id.len || memcmp(f->name, r->id.data, r->id.len) != 0) continue;
        answer_file(r, f, FOR_EVER);
        return;
    }
    request_fail(r, TB_E_NOT_FOUND, NULL,
                 "The console has no such file now. Reload the page: a newer server has other files.");
}

/* Browsers are redirected to the console; other clients get the 404 that they always got. */
void api_root(request *r)
{
    static const char *const types[] = {"application/json", "text/html"};
    const tb_text accept = request_header(r, HEADER_ACCEPT);
    if (query_choose_type(accept, types, 2) != 1) {
        request_fail(r, TB_E_NOT_FOUND, NULL, NULL);
        return;
    }
    request_answer_empty(r, 302);
    r->reply.location = CONSOLE_ADDRESS;
}
