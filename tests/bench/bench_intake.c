/* How fast lines become groups, on one thread: bench_intake [-b KiB a block] [-r lines a batch]
 * [-f FORMAT [-m MAP] [-z ZONE] [-e REGION]] FILE
 *
 * Hosts are those of bench_formats.py: zID.example, for the thousand zones of bench_gen_log.
 *
 * The file is streamed with read() in blocks. Prints lines/s of the whole, and the parts: reading,
 * parsing, adding to the rollup, reading the days back through the cursor. The sums that it prints
 * are those of bench_intake's peers, so that a wrong answer cannot be a fast one. */
#include "tollbook/intake.h"
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
    tb_log_spec spec;
    tb_known_hosts *hosts;
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

static tb_text option_text(char *value)
{
    return (tb_text){value, strlen(value)};
}

static bool prepare_hosts(bench *b)
{
    tb_error err;
    if (tb_known_hosts_new(&b->hosts, &err) != TB_OK) return false;
    for (int i = 0; i < 1000; i++) {
        char name[32];
        const long long zone = (i + 1) * 7919LL % 1000003;
        const int len = snprintf(name, sizeof name, "z%lld.example", zone);
        if (tb_known_hosts_add(b->hosts, name, (size_t)len, zone, &err) != TB_OK) return false;
    }
    return true;
}

static bool prepare_layout(bench *b)
{
    tb_error err;
    char head[4096];
    if (tb_log_layout_init(&b->layout, &b->spec, &err) != TB_OK) {
        fprintf(stderr, "bench_intake: %s\n", err.message);
        return false;
    }
    const ssize_t n = pread(b->fd, head, sizeof head, 0);
    b->layout.now_ms = INT64_MAX / 2;
    b->layout.hosts = b->hosts;
    return n >= 0 && tb_log_layout_head(&b->layout, head, (size_t)n, &err) == TB_OK;
}

static bool prepare(bench *b, int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "b:r:f:m:z:e:")) != -1) {
        if (option == 'f') b->spec.format = option_text(optarg);
        else if (option == 'm') b->spec.map = option_text(optarg);
        else if (option == 'e') b->spec.region = option_text(optarg);
        else if (option == 'z') b->spec.zone = strtoll(optarg, NULL, 10);
        else
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
    return b->fd >= 0 && b->bytes && b->intake.hits && b->intake.rejects && b->rollup &&
           prepare_hosts(b) && prepare_layout(b);
}

int main(int argc, char **argv)
{
    bench b = {.fd = -1, .block = 256 << 10, .room = 512};
    if (!prepare(&b, argc, argv)) {
        fprintf(stderr, "usage: bench_intake [-b KIB] [-r LINES] [-f FORMAT] [-m MAP] [-z ZONE] [-e REGION] FILE\n");
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
    tb_log_layout_release(&b.layout);
    tb_known_hosts_free(b.hosts);
    free(b.intake.hits);
    free(b.intake.rejects);
    free(b.bytes);
    close(b.fd);
    return 0;
}
