/* Price books and ledger entries, sent to a running server. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/remote.h"

#define ANSWER_NO 1 /* exit status */

int remote_book_add(const cli_call *call, const tb_book *book, const char *text, size_t len)
{
    json_t *answer;
    client_request request = {.method = "POST", .type = "application/json", .body = text,
                              .path = cli_given(call, "shadow") ? "/books?shadow=true" : "/books",
                              .len = len, .subject = call->operands[0]};
    int status = client_ask(call, &request, &answer);
    if (status) return status;
    book_say(call, book, json_is_true(json_object_get(answer, "known")));
    json_decref(answer);
    return 0;
}

int remote_book_activate(const cli_call *call, const tb_shadow_activation *what)
{
    json_t *answer;
    char path[512], book[200], limit[100];
    client_request request = {.method = "POST", .path = path, .subject = what->book};
    if (!client_escape(what->book, book, sizeof book) ||
        !client_escape(what->limit_text, limit, sizeof limit))
        return tb_code_exit(TB_E_USAGE); /* both are bounded: they fit */
    snprintf(path, sizeof path, "/books/%s/activate?months=%" PRId64 "&maxChange=%s%s", book,
             what->months, limit, what->anyway ? "&anyway=true" : "");
    int status = client_ask(call, &request, &answer);
    if (status) return status;
    client_say_lines(call, answer);
    status = json_is_true(json_object_get(answer, "active")) ? 0 : ANSWER_NO;
    json_decref(answer);
    return status;
}

int remote_book_drop(const cli_call *call)
{
    json_t *answer;
    char path[512], book[256];
    client_request request = {.method = "DELETE", .path = path, .subject = call->operands[0]};
    if (!client_escape(call->operands[0], book, sizeof book)) {
        cli_say(call, "%.64s: No book has so long a name.", call->operands[0]);
        return tb_code_exit(TB_E_NOT_FOUND);
    }
    snprintf(path, sizeof path, "/books/%s", book);
    int status = client_ask(call, &request, &answer);
    json_decref(answer);
    if (status == 0)
        cli_say(call, "Shadow book \"%s\" is dropped. What it would have billed stays in: tollbook"
                      " book report --db FILE",
                call->operands[0]);
    return status;
}

