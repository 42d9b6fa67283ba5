/* The file is Prometheus text, so that one file serves node_exporter's textfile collector and
 * people. Readers see the whole of one writing, since it gets its name when it is complete. */
#include "cli/figures_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "http/new_file.h"

#define FIGURES_MOST ((size_t)64 << 20)
#define OLD_S        90 /* a follower writes once a round, and a round may wait for a server */
#define PREFIX       "tollbook_follow_"

/* --- writing --- */

void figures_write(const cli_call *call, const char *path, const tb_buf *text)
{
    static bool said;
    tb_error err;
    errno = ENOMEM;
    if (tb_buf_check(text, &err) == TB_OK && new_file_put(AT_FDCWD, path, 0644, text->data, text->len)) {
        said = false;
        return;
    }
    if (!said)
        cli_warn(call, "--metrics %s cannot be written: %s. Shipping goes on.", path,
                strerror(errno));
    said = true;
}

/* --- showing --- */

typedef struct row {
    const char *file; /* as it is written, escaped */
    size_t len;
    int64_t lag_bytes, lag_seconds, waiting, trouble;
} row;

typedef struct table {
    row *rows;
    size_t n;
    int64_t written, up, logs, lines, refused;
} table;

static int64_t number(const char *text, const char *end)
{
    int64_t n = 0;
    for (; text < end && *text >= '0' && *text <= '9' && n < INT64_MAX / 10 - 9; text++)
        n = n * 10 + (*text - '0');
    return n;
}

/* The files stand in one order under each name. */
static void take_file(table *t, size_t at, const char *name, const char *line, const char *end)
{
    const char *from = line + strlen(name), *to = end;
    while (to > from && to[-1] != '}')
        to--;
    if (to - from < 10) return;
    row *one = &t->rows[at];
    one->file = from + 7; /* {file=" */
    one->len = (size_t)(to - 2 - one->file);
    int64_t value = number(to + 1, end);
    if (strcmp(name, PREFIX "lag_bytes") == 0)
        one->lag_bytes = value;
    else if (strcmp(name, PREFIX "lag_seconds") == 0)
        one->lag_seconds = value;
    else if (strcmp(name, PREFIX "waiting_bytes") == 0)
        one->waiting = value;
    else
        one->trouble = value;
    if (at == t->n) t->n++;
}

static bool begins(const char *line, const char *end, const char *name, char then)
{
    size_t len = strlen(name);
    return (size_t)(end - line) > len && memcmp(line, name, len) == 0 && line[len] == then;
}

static void take_line(table *t, size_t at[4], const char *line, const char *end)
{
    static const char *const files[] = {PREFIX "lag_bytes", PREFIX "lag_seconds",
                                        PREFIX "waiting_bytes", PREFIX "trouble"};
    for (size_t k = 0; k < 4; k++)
        if (begins(line, end, files[k], '{')) take_file(t, at[k]++, files[k], line, end);
    if (begins(line, end, PREFIX "written_seconds", ' '))
        t->written = number(line + sizeof PREFIX "written_seconds", end);
    if (begins(line, end, PREFIX "up", ' ')) t->up = number(line + sizeof PREFIX "up", end);
    if (begins(line, end, PREFIX "logs", ' ')) t->logs = number(line + sizeof PREFIX "logs", end);
    if (begins(line, end, PREFIX "lines_total", ' '))
        t->lines = number(line + sizeof PREFIX "lines_total", end);
    if (begins(line, end, PREFIX "rejected_lines_total", ' '))
        t->refused = number(line + sizeof PREFIX "rejected_lines_total", end);
}

static bool parse(const tb_buf *text, table *t)
{
    size_t at[4] = {0}, lines = 1;
    const char *line = text->data, *end = text->data + text->len;
    for (const char *p = line; p < end; p++)
        lines += *p == '\n';
    t->rows = calloc(lines, sizeof *t->rows);
    while (t->rows && line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        take_line(t, at, line, stop);
        line = stop + 1;
    }
    return t->rows != NULL;
}

/* A label as it was before it was escaped. */
static void show_file(const row *one)
{
    for (size_t i = 0; i < one->len; i++) {
        if (one->file[i] == '\\' && i + 1 < one->len) i++;
        putchar(one->file[i]);
    }
}

static int show(const cli_call *call, const table *t, int64_t now_s)
{
    bool well = t->up == 1;
    printf("%12s %11s %12s  %s\n", "lag bytes", "lag seconds", "waiting", "file");
    for (size_t i = 0; i < t->n; i++) {
        const row *one = &t->rows[i];
        well = well && !one->trouble;
        printf("%12" PRId64 " %11" PRId64 " %12" PRId64 "  ", one->lag_bytes, one->lag_seconds,
               one->waiting);
        show_file(one);
        puts(one->trouble ? "  (in trouble)" : "");
    }
    printf("%" PRId64 " log%s, %" PRId64 " line%s shipped since the start, %" PRId64 " refused; %" PRId64 " seconds ago.%s\n",
           t->logs, t->logs == 1 ? "" : "s", t->lines, t->lines == 1 ? "" : "s", t->refused, now_s - t->written,
           t->up == 1 ? "" : " The last piece was not taken.");
    if (now_s - t->written > OLD_S) {
        cli_say(call, "The figures are old. Check that the follower runs.");
        well = false;
    }
    int status = cli_done(call);
    return status ? status : !well;
}

int figures_show(const cli_call *call)
{
    tb_buf text;
    table t = {0};
    int64_t now_us;
    const char *path = cli_text(call, "metrics");
    if (!path) {
        cli_say(call, "--status needs --metrics FILE: the file that the follower writes.");
        return tb_code_exit(TB_E_USAGE);
    }
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_read_file(call, path, FIGURES_MOST, &text);
    if (status) return status;
    if (text.len > 0 && parse(&text, &t)) {
        status = show(call, &t, now_us / 1000000);
    } else {
        cli_say(call, "%s: It holds no figures of a follower.", path);
        status = tb_code_exit(TB_E_BAD_INPUT);
    }
    free(t.rows);
    tb_buf_release(&text);
    return status;
}
