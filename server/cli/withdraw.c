/* Each input is one transaction. If nothing of an input can be withdrawn, the run continues and its exit status
 * tells it. Any other failure ends the run, and the inputs before it stay withdrawn. */
#include "cli/withdraw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/stream.h"
#include "cli/take.h"

#define NOTHING 1 /* exit status: there was nothing to withdraw, or it was refused */

int withdraw_check(const cli_call *call)
{
    static const char *const others[] = {"every", "bytes", "confirm"};
    if (!cli_given(call, "withdraw")) return 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_given(call, others[i])) {
            cli_say(call, "--%s: a stream without an end cannot be withdrawn. Give --withdraw the "
                          "file that it came from.", others[i]);
            return tb_code_exit(TB_E_USAGE);
        }
    return 0;
}

/* --- sentences --- */

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void say_maxima(const cli_call *call, const char *path, uint32_t maxima)
{
    char names[200] = "";
    size_t len = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (maxima & TB_METRIC_BIT(m))
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", len ? ", " : "",
                                    tb_metric_table[m].name);
    if (len)
        cli_say(call, "%s: not withdrawn: %s. Of these the largest value alone is stored.", path,
                names);
}

/* 0, or NOTHING. */
static int say_withdrawn(const cli_call *call, const char *path, const feed_withdrawn *done)
{
    if (!done->segments && done->named)
        cli_say(call, "%s: nothing was withdrawn: these bytes are the batch \"%s\". To withdraw it "
                      "give --batch too.", path, done->batch);
    else if (!done->segments)
        cli_say(call, "%s: nothing was withdrawn: these bytes were not taken, or not with these "
                      "options, or only as a part of what came at once, or they were withdrawn before.", path);
    if (!done->segments) return NOTHING;
    cli_note(call, "%s: withdrawn: %" PRIu64 " line%s, %" PRIu64 " of them accepted, in %" PRIu64
                  " segment%s.",
            path, done->lines, plural(done->lines), done->accepted, done->segments,
            plural(done->segments));
    if (done->kept_lines)
        cli_note(call, "%s: %" PRIu64 " line%s dropped from the request log.", path,
                done->kept_lines, done->kept_lines == 1 ? " was" : "s were");
    say_maxima(call, path, done->maxima);
    if (done->events)
        cli_say(call, "%s: not withdrawn: %" PRIu64 " shield event%s. Another input may have brought "
                      "the same; they go when they are old.", path, done->events,
                plural(done->events));
    if (done->named)
        cli_say(call, "%s: not withdrawn: %" PRIu64 " segment%s of batches with names, the first of "
                      "\"%s\". Give --batch to withdraw one.", path, done->named,
                plural(done->named), done->batch);
    return 0;
}

/* --- on --db, or through --server --- */

static int open_db(const cli_call *call, feed_options *options, tb_store **ret_store)
{
    int status = cli_clock(call, &options->now_us);
    if (status == 0) status = cli_open(call, true, options->now_us, ret_store);
    options->batch = cli_text(call, "batch");
    options->layout.now_ms = options->now_us / 1000;
    options->stop = &take_stop;
    if (status == 0) take_catch_signals();
    return status;
}

static void show_progress(void *ctx, const feed_progress *progress)
{
    meter_feed(ctx, progress);
}

static int withdraw_on_db(const cli_call *call, tb_store *store, const char *path, const feed_options *options,
                          meter *progress, feed_withdrawn *ret_withdrawn)
{
    static const feed_who who = {0, "", 0};
    tb_error err;
    feed_options own = *options;
    own.source = path;
    own.progress = cli_given(call, "progress") ? show_progress : NULL;
    own.progress_ctx = progress;
    return feed_withdraw_file(store, path, &own, &who, ret_withdrawn, &err) ? cli_fail(call, path, &err) : 0;
}

int withdraw_inputs(const cli_call *call, const feed_options *options)
{
    feed_options own = *options;
    tb_store *store = NULL;
    remote_withdrawal *remote = NULL;
    int status = cli_given(call, "server") ? remote_withdraw_open(call, &remote) : open_db(call, &own, &store);
    for (int i = 0; i < call->n_operands && status <= NOTHING; i++) {
        const char *path = call->operands[i];
        feed_withdrawn done = {0};
        meter progress;
        meter_init(&progress, path);
        int one = remote ? remote_withdraw_input(remote, path, &own, &progress, &done)
                         : withdraw_on_db(call, store, path, &own, &progress, &done);
        meter_end(&progress);
        if (one == 0) one = say_withdrawn(call, path, &done);
        if (one) status = one;
    }
    remote_withdraw_close(remote);
    tb_store_close(store);
    return status;
}
