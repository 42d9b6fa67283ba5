/* tollbook ingest: request logs. */
#include <string.h>

#include "cli/remote.h"
#include "cli/stream.h"
#include "cli/take.h"

static int usage(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

/* Letters, digits, '_', '.' and '-', as in logs. */
static bool is_edge(const char *code, size_t len)
{
    return len >= 1 && len <= TB_EDGE_MAX &&
           strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == len;
}

int take_read_layout(const cli_call *call, tb_log_layout *layout)
{
    const char *edge = cli_text(call, "region");
    bool combined = cli_is(call, "format", "combined");
    if (!combined && (edge || cli_given(call, "zone")))
        return usage(call, "Pipe lines name their zone and edge location themselves: leave out "
                           "--zone and --region, or give --format combined.");
    *layout = (tb_log_layout){.format = combined ? TB_FORMAT_COMBINED : TB_FORMAT_PIPE};
    if (!combined) return 0;
    if (!edge || !cli_given(call, "zone"))
        return usage(call, "Combined lines have no zone and no edge location: give --zone ID and "
                           "--region CODE.");
    if (!is_edge(edge, strlen(edge)))
        return usage(call, "--region takes 1 to 16 letters, digits, '_', '.' or '-'.");
    layout->zone = cli_number(call, "zone", 0);
    layout->edge = edge;
    layout->edge_len = (uint8_t)strlen(edge);
    return 0;
}

int cli_ingest(const cli_call *call)
{
    feed_options options = {.kind = TB_BATCH_LOG,
                            .stop_on_error = cli_is(call, "on-error", "stop"),
                            .take_partial_line = cli_given(call, "final")};
    int status = cli_check_place(call);
    if (status == 0) status = take_check_batch(call);
    if (status == 0) status = take_read_layout(call, &options.layout);
    if (status) return status;
    if (stream_asked(call)) return stream_ingest(call, &options);
    if (cli_given(call, "server")) return remote_ingest(call, &options);
    return take_inputs(call, &options);
}
