/* Speed is the average since the start: steady, and the time left follows from it. */
#include "cli/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "http/message.h"

#define REDRAW_MS 200
#define LINE_MS   5000
#define WHAT_MOST ((size_t)16 << 10)

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void meter_init(meter *m, const char *what)
{
    int64_t now = clock_ms();
    *m = (meter){
        .what = what, .terminal = isatty(STDERR_FILENO) != 0, .start_ms = now, .shown_ms = now};
}

/* Whether it is time to show something; *ret_elapsed: milliseconds since the start, never 0. */
static bool due(meter *m, int64_t *ret_elapsed)
{
    int64_t now = clock_ms();
    if (now - m->shown_ms < (m->terminal ? REDRAW_MS : LINE_MS)) return false;
    m->shown_ms = now;
    *ret_elapsed = now > m->start_ms ? now - m->start_ms : 1;
    return true;
}

static void show(meter *m, const char *text)
{
    tb_buf said;
    tb_buf_init(&said, WHAT_MOST, NULL);
    if (m->terminal) tb_buf_shown(&said, m->what, strlen(m->what));
    else tb_buf_str(&said, m->what);
    tb_buf_fmt(&said, ": %s", text);
    tb_buf_add(&said, "", 1);
    const char *whole = said.failed ? text : said.data;
    if (m->terminal) fprintf(stderr, "\r\033[K%s", whole);
    else message_put(MESSAGE_INFO, whole);
    tb_buf_release(&said);
    m->drawn = true;
}

/* ", 43 %, 5 s left", or nothing where the whole is not known. */
static void put_left(char *out, size_t size, uint64_t done, uint64_t total, int64_t elapsed)
{
    out[0] = '\0';
    if (total == 0 || done == 0 || done > total) return;
    double share = (double)done / (double)total;
    double left = (double)elapsed / 1000 * (1 - share) / share;
    snprintf(out, size, ", %.0f %%, %.0f s left", share * 100, left);
}

void meter_feed(meter *m, const feed_progress *progress)
{
    int64_t elapsed;
    char left[64], text[160];
    if (!due(m, &elapsed)) return;
    put_left(left, sizeof left, progress->read, progress->total_read, elapsed);
    snprintf(text, sizeof text, "%" PRIu64 " lines, %.0f MB/s%s", progress->lines,
             (double)progress->bytes / 1000 / (double)elapsed, left);
    show(m, text);
}

void meter_share(meter *m, uint64_t done, uint64_t total)
{
    int64_t elapsed;
    char left[64], text[128];
    if (!due(m, &elapsed)) return;
    put_left(left, sizeof left, done, total, elapsed);
    snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 "%s", done, total, left);
    show(m, text);
}

void meter_check(meter *m, uint64_t pages)
{
    int64_t elapsed;
    char text[64];
    if (pages == 0) show(m, "written; it is being checked");
    if (pages == 0 || !due(m, &elapsed)) return;
    snprintf(text, sizeof text, "checking, %" PRIu64 " pages read", pages);
    show(m, text);
}

void meter_end(meter *m)
{
    if (m->drawn && m->terminal) fputs("\r\033[K", stderr);
    m->drawn = false;
}
