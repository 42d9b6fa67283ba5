/* tollbook status: the operation. Without any place it looks at the database of the package's service. With --server and no
 * key it asks what a server tells without one: whether it is ready. */
#include <stdlib.h>
#include <unistd.h>

#include "cli/client.h"

/* "ready", or why not: exit status 1. */
static int ask_ready(const cli_call *call)
{
    client c;
    const bool json = cli_given(call, "json") || cli_is(call, "format", "json") || (!cli_given(call, "format") && !isatty(STDOUT_FILENO));
    int status = client_open(&c, call);
    if (status == 0) status = client_send(&c, &(client_request){.method = "GET", .path = "/readyz"});
    if (status == 0) printf(json ? "{\"ready\":true}\n" : "what\tstate\nserver\tready\n");
    client_close(&c);
    return status ? status : cli_done(call);
}

int cli_status(const cli_call *given)
{
    static const cli_option db = {.name = "db"};
    cli_call call = *given;
    const char *file = getenv("TOLLBOOK_KEY_FILE");
    const bool server = cli_given(given, "server"), named = cli_given(given, "key-file") || (file && *file);
    if (server && !cli_given(given, "db") && !named && !cli_key(given)) return ask_ready(given);
    if (!server && !cli_given(given, "db") && !cli_given(given, "key"))
        call.values[call.n_values++] = (cli_value){.option = &db, .text = CLI_SERVICE_DB};
    return cli_operation(&call);
}
