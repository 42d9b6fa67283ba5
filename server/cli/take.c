/* Inputs are taken in the order given; the first that fails ends the run, those before it stay. One of
 * which every line was refused ends nothing, and the run's exit status says so. */
#include "cli/take.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/hint.h"
#include "cli/meter.h"

#define INTERRUPTED 3 /* exit status: the environment ended the run */
#define ALL_REFUSED 1 /* exit status: an input was no such input */

atomic_bool take_stop;

static void on_signal(int number)
{
    (void)number;
    atomic_store_explicit(&take_stop, true, memory_order_relaxed);
}

void take_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int bad_batch(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

int take_check_batch(const cli_call *call)
{
    const char *batch = cli_text(call, "batch");
    size_t len = batch ? strlen(batch) : 0;
    if (!batch) return 0;
    if (call->n_operands > 1)
        return bad_batch(call, "--batch names the bytes of one input: give one input, or no --batch.");
    if (!feed_batch_name(batch, len))
        return bad_batch(call, "--batch takes 1 to 255 printable ASCII characters without a space at "
                               "either end.");
    return 0;
}

static tb_text option_text(const cli_call *call, const char *name)
{
    const char *text = cli_text(call, name);
    return (tb_text){text ? text : "", text ? strlen(text) : 0};
}

int take_layout(const cli_call *call, tb_log_layout *ret_layout)
{
    tb_error err;
    const tb_log_spec spec = {.format = option_text(call, "format"),
                              .map = option_text(call, "map"),
                              .region = option_text(call, "region"),
                              .zone = cli_number(call, "zone", 0)};
    const tb_code code = tb_log_layout_init(ret_layout, &spec, &err);
    if (code == TB_OK) return 0;
    if (code != TB_E_VALIDATION) return cli_fail(call, NULL, &err);
    cli_say(call, "--%s: %s See: tollbook help ingest", err.field, err.message);
    return tb_code_exit(TB_E_USAGE);
}

int take_live_layout(const cli_call *call, tb_log_layout *ret_layout)
{
    int status = take_layout(call, ret_layout);
    if (status || !tb_log_layout_heads(ret_layout)) return status;
    tb_log_layout_release(ret_layout);
    cli_say(call, "--format: Logs of this format begin with a head and come as finished files: take "
                  "them with `ingest`.");
    return tb_code_exit(TB_E_USAGE);
}

/* --- sentences --- */

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void say_rejected(const cli_call *call, const char *path, const feed_report *report)
{
    if (report->rejected == 0) return;
    size_t len = strlen(report->first_why);
    if (len > 0 && report->first_why[len - 1] == '.') len--;
    cli_warn(call,
            "%s: the first rejected line is %" PRIu64 ", byte %" PRIu64
            ": %.*s. To see them: tollbook %s",
            path, report->first_line, report->first_byte, (int)len, report->first_why,
            cli_given(call, "server") ? "intake"
                                      : "query \"SELECT line, byte, reason, CAST(text AS TEXT) FROM reject\"");
}

/* The text ends with a hint after which the input's name belongs. */
static void say_with_word(const cli_call *call, const char *path, const char *text)
{
    tb_buf word;
    tb_buf_init(&word, 16 << 10, NULL);
    hint_file(path, &word);
    cli_warn(call, "%s: %s%.*s", path, text, (int)word.len, word.len ? word.data : "");
    tb_buf_release(&word);
}

static void say_form(const cli_call *call, const char *path, const char *sentence, feed_form form)
{
    char text[512];
    snprintf(text, sizeof text, "%s %s. Take them with: %s", sentence, feed_form_what(form), feed_form_command(form));
    say_with_word(call, path, text);
}

/* Names the form of the refused lines, if they are the greater part of the input. */
static void say_fit(const cli_call *call, const char *path, const feed_report *report)
{
    feed_form form;
    const bool all = feed_all_refused(report);
    const feed_fits *fits = &report->fits;
    if (report->accepted == 0 && !all) return;
    if (report->rejected == 0 || report->rejected * 2 < report->lines) return;
    if (feed_fits_best(fits, &form)) {
        char sentence[128];
        snprintf(sentence, sizeof sentence, "%s refused. %" PRIu64 " of the %" PRIu64 " looked at are",
                 all ? "every line was" : "most lines were", fits->taken[form], fits->looked);
        say_form(call, path, sentence, form);
    } else if (all)
        cli_warn(call, "%s: every line was refused, and no other format takes most of them.", path);
}

/* Lines that were taken, of several hosts perhaps, and are all one pull zone's. */
static void say_host(const cli_call *call, const char *path, const feed_report *report)
{
    char text[FEED_HOST_WARNING];
    if (!report->host_in_front || report->accepted == 0) return;
    feed_fits_warn(report->host_form, text);
    say_with_word(call, path, text);
}

static void say_counts(const cli_call *call, const char *path, const feed_report *report)
{
    char ambiguous[120] = "";
    if (report->ambiguous)
        snprintf(ambiguous, sizeof ambiguous,
                 " %" PRIu64 " of them with columns that could not be told apart,",
                 report->ambiguous);
    cli_note(call, "%s: %" PRIu64 " line%s: %" PRIu64 " accepted,%s %" PRIu64 " rejected.", path,
            report->lines, plural(report->lines), report->accepted, ambiguous, report->rejected);
    if (report->known_lines)
        cli_note(call, "%s: %" PRIu64 " line%s before them were taken before.", path,
                report->known_lines, plural(report->known_lines));
}

int take_say(const cli_call *call, const char *path, const feed_options *options, const feed_report *report)
{
    if (report->earlier_copy) {
        cli_note(call, "%s: nothing new: an earlier copy of a log that was taken further before.",
                path);
    } else if (report->nothing_new) {
        cli_note(call, "%s: nothing new: its %" PRIu64 " line%s %s before.", path,
                report->known_lines, report->known_lines == 1 ? " was" : "s were",
                report->known_refused ? "refused" : "taken");
    } else {
        say_counts(call, path, report);
    }
    say_host(call, path, report);
    char place[FEED_PLACE_WARNING];
    if (feed_place_warn(report, &options->layout, place)) cli_warn(call, "%s: %s", path, place);
    say_fit(call, path, report);
    say_rejected(call, path, report);
    if (report->waiting_bytes)
        cli_warn(call,
                "%s: the last line (%" PRIu64 " byte%s) has no end yet and waits for it. Run the "
                "same command again later, or with --final to take it as it is.",
                path, report->waiting_bytes, plural(report->waiting_bytes));
    return feed_all_refused(report) ? ALL_REFUSED : 0;
}

/* Where a run that did not reach the end stands, and how to go on. */
static void say_where(const cli_call *call, const char *path, const feed_options *options,
                      const feed_report *report, const char *how)
{
    uint64_t lines = report->known_lines + report->lines;
    if (options->whole || lines == 0)
        cli_say(call, "%s: nothing of it is in the database. %s", path, how);
    else
        cli_say(call, "%s: its lines 1 to %" PRIu64 " are in the database. %s", path, lines, how);
}

static int say_failed(const cli_call *call, const char *path, const feed_options *options,
                      const feed_report *report, const tb_error *err)
{
    const char *how = "Run the same command again to go on.";
    if (err->code == TB_E_BAD_LINE)
        how = options->whole
                  ? "Correct the line and run the same command again, or set such lines aside with "
                    "--on-error skip."
                  : "Correct the line and run the same command again to go on, or set such lines "
                    "aside with --on-error skip.";
    int status = cli_fail(call, path, err);
    feed_form form;
    if (err->code == TB_E_BAD_LINE && feed_fits_best(&report->fits, &form))
        say_form(call, path, "that line is one of", form);
    bool begun = report->lines + report->known_lines > 0 || err->code == TB_E_BAD_LINE;
    if (begun && err->code != TB_E_BATCH_CONFLICT) say_where(call, path, options, report, how);
    return status;
}

static int say_interrupted(const cli_call *call, const char *path, const feed_options *options,
                           const feed_report *report)
{
    cli_say(call, "%s: interrupted.", path);
    say_where(call, path, options, report, "Run the same command again to go on.");
    return INTERRUPTED;
}

/* --- taking --- */

static void show(void *ctx, const feed_progress *progress)
{
    meter_feed(ctx, progress);
}

static int take_one(const cli_call *call, tb_store *store, const char *path,
                    const feed_options *options, feed_report *total)
{
    feed_report report;
    tb_error err;
    meter progress;
    feed_options one = *options;
    one.source = path;
    one.progress = cli_given(call, "progress") ? show : NULL;
    one.progress_ctx = &progress;
    meter_init(&progress, path);
    tb_code code = feed_file(store, path, &one, &report, &err);
    meter_end(&progress);
    total->lines += report.lines;
    total->accepted += report.accepted;
    total->rejected += report.rejected;
    if (code) return say_failed(call, path, options, &report, &err);
    if (report.interrupted) return say_interrupted(call, path, options, &report);
    return take_say(call, path, options, &report);
}

static unsigned cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n <= 256 ? (unsigned)n : 1;
}

int take_inputs(const cli_call *call, feed_options *options)
{
    tb_store *store;
    feed_report total = {0};
    int status = cli_clock(call, &options->now_us);
    if (status == 0) status = cli_open(call, true, options->now_us, &store);
    if (status) return status;
    options->batch = cli_text(call, "batch");
    options->layout.now_ms = options->now_us / 1000;
    options->threads = (unsigned)cli_number(call, "threads", cores());
    options->stop = &take_stop;
    take_catch_signals();
    for (int i = 0; i < call->n_operands && status <= ALL_REFUSED; i++) {
        const int one = take_one(call, store, call->operands[i], options, &total);
        if (one) status = one;
    }
    tb_store_close(store);
    if (call->n_operands > 1)
        cli_note(call, "in all %" PRIu64 " line%s: %" PRIu64 " accepted, %" PRIu64 " rejected.",
                total.lines, plural(total.lines), total.accepted, total.rejected);
    return status;
}
