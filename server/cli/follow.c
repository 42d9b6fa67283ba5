/* tollbook follow: the options, the clock, chance and signals around the follower (server/follow).
 */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/clocks.h"
#include "cli/duration.h"
#include "cli/figures_file.h"
#include "cli/sinks.h"
#include "cli/systemd.h"
#include "cli/take.h"

#define EVERY_MS    2000
#define BYTES       ((int64_t)1 << 20)
#define LAST_MS     2000 /* for shipping after a signal */
#define DESCRIPTORS 8192 /* more logs are not kept open at once */
#define OTHERS      48   /* descriptors for everything else */

typedef struct following {
    const cli_call *call;
    feed_options feed;
    follow_options options;
    follow *follow;
    bool remote;
    server_sink server;
    store_sink store;
    int64_t leave_ms;   /* when a signal's time is over; 0: none came */
    int64_t written_ms; /* when --metrics was written last */
} following;

/* --- clock, chance, messages --- */

static uint32_t chance(void *ctx)
{
    (void)ctx;
    return clock_chance();
}

static void say(void *ctx, const char *path, const char *sentence)
{
    const following *f = ctx;
    cli_warn(f->call, "%s%s%s", path ? path : "", path ? ": " : "", sentence);
}

static bool signalled(void)
{
    return atomic_load_explicit(&take_stop, memory_order_relaxed);
}

/* Whether the time after a signal is over. It begins with the first call. */
static bool time_is_over(void *ctx)
{
    following *f = ctx;
    return signalled() && clock_leaves(&f->leave_ms, LAST_MS);
}

/* --- options --- */

static int usage(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

/* Logs that may be kept open: the limit is raised as far as that takes. */
static size_t descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
    if (limit.rlim_cur < DESCRIPTORS && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    size_t most = limit.rlim_cur < DESCRIPTORS ? (size_t)limit.rlim_cur : DESCRIPTORS;
    return most > OTHERS + 16 ? most - OTHERS : 16;
}

static int read_options(following *f)
{
    const cli_call *call = f->call;
    int status = cli_check_place(call);
    f->feed = (feed_options){.kind = TB_BATCH_LOG, .threads = 1};
    f->options = (follow_options){.names = call->operands,
                                  .n_names = (size_t)call->n_operands,
                                  .bytes = (uint64_t)cli_number(call, "bytes", BYTES),
                                  .once = cli_given(call, "once"),
                                  .stop = &take_stop,
                                  .say = say,
                                  .chance = chance,
                                  .ctx = f};
    for (int i = 0; i < call->n_operands && status == 0; i++)
        if (!*call->operands[i]) status = usage(call, "FILE-OR-GLOB is an empty text: name a file.");
    if (status == 0) status = take_live_layout(call, &f->feed.layout);
    if (status == 0) status = duration_option(call, "every", EVERY_MS, &f->options.every_ms);
    if (status) return status;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    f->feed.threads = cores > 0 && cores <= 256 ? (unsigned)cores : 1;
    f->options.layout = f->feed.layout;
    f->options.descriptors = descriptors();
    return 0;
}

static int open_sink(following *f)
{
    f->remote = cli_given(f->call, "server");
    if (!f->remote) return store_sink_open(&f->store, f->call, &f->feed);
    int status = server_sink_open(&f->server, f->call, &f->feed);
    f->server.client.leave = time_is_over;
    f->server.client.leave_ctx = f;
    f->server.client.patient = f->options.once; /* one that runs on comes back by itself */
    return status;
}

static void close_sink(following *f)
{
    if (f->remote)
        server_sink_close(&f->server);
    else
        store_sink_close(&f->store);
}

/* --- following --- */

static void write_figures(following *f, bool now)
{
    tb_buf text;
    tb_error err;
    int64_t unix_us;
    const char *path = cli_text(f->call, "metrics");
    const int64_t now_ms = clock_now_ms();
    if (!path || (!now && now_ms - f->written_ms < f->options.every_ms)) return;
    f->written_ms = now_ms;
    tb_buf_init(&text, (size_t)64 << 20, NULL);
    if (cli_now(&unix_us, &err) == TB_OK) follow_metrics(f->follow, now_ms, unix_us / 1000, &text);
    figures_write(f->call, path, &text);
    tb_buf_release(&text);
}

/* Rounds until nothing is left, or two in a row have shipped nothing. */
static int run_once(following *f)
{
    tb_error err;
    int64_t wait;
    unsigned idle = 0;
    while (!signalled() && idle < 3 && !(idle > 0 && follow_caught_up(f->follow))) {
        const uint64_t before = follow_sums(f->follow).pieces;
        if (follow_round(f->follow, clock_now_ms(), &wait, &err))
            return cli_fail(f->call, NULL, &err);
        idle = follow_sums(f->follow).pieces > before || wait == 0 ? 0 : idle + 1;
    }
    if (!follow_sink_works(f->follow)) return tb_code_exit(TB_E_IO);
    return follow_once_troubled(f->follow) ? 1 : 0;
}

static int run(following *f)
{
    tb_error err;
    while (!signalled()) {
        int64_t wait;
        if (follow_round(f->follow, clock_now_ms(), &wait, &err))
            return cli_fail(f->call, NULL, &err);
        write_figures(f, false);
        clock_wait(wait, &take_stop);
    }
    follow_last(f->follow, clock_now_ms(), time_is_over, f);
    return 0;
}

static int follow_logs(following *f)
{
    const follow_sink *sink = f->remote ? &f->server.sink : &f->store.sink;
    f->follow = follow_new(&f->options, sink);
    if (!f->follow) {
        cli_say(f->call, "Out of memory.");
        return tb_code_exit(TB_E_NOMEM);
    }
    take_catch_signals();
    systemd_ready();
    int status = f->options.once ? run_once(f) : run(f);
    write_figures(f, true);
    follow_free(f->follow);
    return status;
}

int cli_follow(const cli_call *call)
{
    following f = {.call = call};
    if (cli_given(call, "status")) return figures_show(call);
    if (call->n_operands == 0)
        return usage(call, "FILE-OR-GLOB... is missing. See: tollbook help follow");
    int status = read_options(&f);
    if (status == 0) status = open_sink(&f);
    if (status == 0) {
        status = follow_logs(&f);
        close_sink(&f);
    }
    tb_log_layout_release(&f.feed.layout);
    return status;
}
