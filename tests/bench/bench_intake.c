/* How fast lines become groups, on one thread: bench_intake [-b KiB a block] [-r lines a batch]
 * FILE
 *
 * The file is streamed with read() in blocks. Prints lines/s of the whole, and the parts: reading,
 * parsing, adding to the rollup, reading the days back through the cursor. The sums that it prints
 * are those of bench_intake's peers, so that a wrong answer cannot be a fast one. */
#include "tollbook/rollup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef struct bench {
    int fd;
    size_t block, room;
    char *bytes;
    tb_intake intake;
    tb_rollup *rollup;
    tb_log_layout layout;
    uint64_t lines, rejected;
    double read_s, parse_s, add_s, days_s;
} bench;

static double clock_s(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The parts are measured in processor time, so that what else the machine does blurs them less. */
static double seconds(void)
{
    return clock_s(CLOCK_THREAD_CPUTIME_ID);
}

static bool take(bench *b, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        const double t0 = seconds();
        at += tb_intake_lines(&b->layout, bytes + at, len - at, &b->intake);
        const double t1 = seconds();
        tb_error err;
        if (tb_rollup_add_hits(b->rollup, b->intake.hits, b->intake.n_hits, &err) != TB_OK) {
            fprintf(stderr, "bench_intake: %s\n", err.message);
            return false;
        }
        b->parse_s += t1 - t0;
        b->add_s += seconds() - t1;
        b->lines += b->intake.n_hits + b->intake.n_rejects;
        b->rejected += b->intake.n_rejects;
    }
    return true;
}

static bool stream(bench *b)
{
    size_t have = 0;
    for (;;) {
        const double t0 = seconds();
        const ssize_t n = read(b->fd, b->bytes + have, b->block - have);
        b->read_s += seconds() - t0;
        if (n < 0) return false;
        have += (size_t)n;
        const char *last = n ? memrchr(b->bytes, '\n', have) : b->bytes + have - 1;
        if (!last && have == b->block) return false;
        const size_t whole = last && have ? (size_t)(last + 1 - b->bytes) : 0;
        if (!take(b, b->bytes, whole)) return false;
        have -= whole;
        memmove(b->bytes, b->bytes + whole, have);
        if (n == 0) return true;
    }
}

static bool read_back(bench *b)
{
    static tb_grid grid;
    uint64_t days = 0, hours = 0, countries = 0, requests = 0, bytes = 0;
    tb_rollup_day day;
    tb_rollup_country country;
    const double t0 = seconds();
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&b->rollup, 1, NULL);
    if (!cursor) return false;
    while (tb_rollup_next_day(cursor, &day, &grid)) {
        days++;
        for (uint32_t left = grid.slots; left; left &= left - 1) {
            hours++;
            requests += grid.v[TB_M_REQUESTS][__builtin_ctz(left)];
            bytes += grid.v[TB_M_BYTES][__builtin_ctz(left)];
        }
    }
    while (tb_rollup_next_country(cursor, &country))
        countries++;
    tb_rollup_cursor_free(cursor);
    b->days_s = seconds() - t0;
    printf("groups %llu days %llu countries %llu requests %llu bytes %llu rejected %llu\n",
           (unsigned long long)hours, (unsigned long long)days, (unsigned long long)countries,
           (unsigned long long)requests, (unsigned long long)bytes,
           (unsigned long long)b->rejected);
    return true;
}

static bool prepare(bench *b, int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "b:r:")) != -1) {
        if (option == 'b')
            b->block = strtoul(optarg, NULL, 10) << 10;
        else if (option == 'r')
            b->room = strtoul(optarg, NULL, 10);
        else
            return false;
    }
    if (optind + 1 != argc || b->block == 0 || b->room == 0) return false;
    b->fd = open(argv[optind], O_RDONLY | O_CLOEXEC);
    b->bytes = malloc(b->block + TB_INTAKE_SLACK);
    b->intake.hits = malloc(b->room * sizeof *b->intake.hits);
    b->intake.rejects = malloc(b->room * sizeof *b->intake.rejects);
    b->intake.room = b->room;
    b->rollup = tb_rollup_new((size_t)1 << 23, NULL);
    return b->fd >= 0 && b->bytes && b->intake.hits && b->intake.rejects && b->rollup;
}

int main(int argc, char **argv)
{
    bench b = {.fd = -1, .block = 256 << 10, .room = 512, .layout.now_ms = INT64_MAX / 2};
    if (!prepare(&b, argc, argv)) {
        fprintf(stderr, "usage: bench_intake [-b KIB] [-r LINES] FILE\n");
        return 2;
    }
    const double t0 = clock_s(CLOCK_MONOTONIC);
    if (!stream(&b)) return 1;
    const double t = clock_s(CLOCK_MONOTONIC) - t0;
    if (!read_back(&b)) return 1;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf(
        "lines %llu in %.3f s: %.2f M lines/s (processor: read %.3f parse %.3f add %.3f; then days "
        "%.3f) peak %ld MiB\n",
        (unsigned long long)b.lines, t, (double)b.lines / t / 1e6, b.read_s, b.parse_s, b.add_s,
        b.days_s, usage.ru_maxrss / 1024);
    tb_rollup_free(b.rollup);
    free(b.intake.hits);
    free(b.intake.rejects);
    free(b.bytes);
    close(b.fd);
    return 0;
}
