/* tollbook import: usage rows, a file whole or not at all. Its last line needs no end. */
#include "cli/remote.h"
#include "cli/take.h"
#include "cli/withdraw.h"

int cli_import(const cli_call *call)
{
    feed_options options = {.kind = TB_BATCH_BUCKETS,
                            .stop_on_error = !cli_is(call, "on-error", "skip"),
                            .whole = true,
                            .take_partial_line = true};
    int status = cli_check_place(call);
    if (status == 0) status = take_check_batch(call);
    if (status) return status;
    if (cli_given(call, "withdraw")) return withdraw_inputs(call, &options);
    if (cli_given(call, "server")) return remote_import(call, &options);
    return take_inputs(call, &options);
}
