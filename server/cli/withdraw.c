/* Each input is a transaction of its own. One of which nothing can be withdrawn ends nothing, and the
 * run's exit status says so; any other failure ends the run, and the inputs before it stay withdrawn. */
#include "cli/withdraw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/meter.h"
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

/* Nothing of it is known but, perhaps, by a name. */
static int say_nothing(const cli_call *call, const char *path, const feed_withdrawn *done)
{
    if (done->named)
        cli_say(call, "%s: nothing was withdrawn: these bytes are the batch \"%s\". To withdraw it "
                      "give --batch too.", path, done->batch);
    else
        cli_say(call, "%s: nothing was withdrawn: these bytes were not taken, or not with these "
                      "options, or only as a part of what came at once, or they were withdrawn before.", path);
    return NOTHING;
}

int withdraw_say(const cli_call *call, const char *path, const feed_withdrawn *done)
{
    if (!done->segments) return say_nothing(call, path, done);
    cli_say(call, "%s: withdrawn: %" PRIu64 " line%s, %" PRIu64 " of them accepted, in %" PRIu64
                  " segment%s.",
            path, done->lines, plural(done->lines), done->accepted, done->segments,
            plural(done->segments));
    if (done->kept_lines)
        cli_say(call, "%s: %" PRIu64 " line%s dropped from the request log.", path,
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

/* --- on --db --- */

static void show_withdrawal(void *ctx, const feed_progress *progress)
{
    meter_feed(ctx, progress);
}

static int withdraw_one(const cli_call *call, tb_store *store, const char *path,
                        const feed_options *options)
{
    static const feed_who who = {0, "", 0};
    feed_withdrawn done;
    tb_error err;
    meter progress;
    feed_options one = *options;
    one.source = path;
    one.progress = cli_given(call, "progress") ? show_withdrawal : NULL;
    one.progress_ctx = &progress;
    meter_init(&progress, path);
    tb_code code = feed_withdraw_file(store, path, &one, &who, &done, &err);
    meter_end(&progress);
    return code ? cli_fail(call, path, &err) : withdraw_say(call, path, &done);
}

static int on_file(const cli_call *call, feed_options *options)
{
    tb_store *store;
    int status = cli_clock(call, &options->now_us);
    if (status == 0) status = cli_open(call, true, options->now_us, &store);
    if (status) return status;
    options->batch = cli_text(call, "batch");
    options->layout.now_ms = options->now_us / 1000;
    options->stop = &take_stop;
    take_catch_signals();
    for (int i = 0; i < call->n_operands && status <= NOTHING; i++) {
        const int one = withdraw_one(call, store, call->operands[i], options);
        if (one) status = one;
    }
    tb_store_close(store);
    return status;
}

int withdraw_inputs(const cli_call *call, const feed_options *options)
{
    feed_options own = *options;
    return cli_given(call, "server") ? remote_withdraw(call, options) : on_file(call, &own);
}
