/* tollbook ingest: request logs. */
#include "cli/remote.h"
#include "cli/stream.h"
#include "cli/take.h"
#include "cli/withdraw.h"

int cli_ingest(const cli_call *call)
{
    feed_options options = {.kind = TB_BATCH_LOG,
                            .stop_on_error = cli_is(call, "on-error", "stop"),
                            .take_partial_line = cli_given(call, "final")};
    int status = cli_check_place(call);
    if (status == 0) status = take_check_batch(call);
    if (status == 0) status = withdraw_check(call);
    if (status == 0)
        status = stream_asked(call) ? take_live_layout(call, &options.layout)
                                    : take_layout(call, &options.layout);
    if (status) return status;
    if (cli_given(call, "withdraw")) status = withdraw_inputs(call, &options);
    else if (stream_asked(call)) status = stream_ingest(call, &options);
    else if (cli_given(call, "server")) status = remote_ingest(call, &options);
    else status = take_inputs(call, &options);
    tb_log_layout_release(&options.layout);
    return status;
}
