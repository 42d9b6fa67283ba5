/* tollbook query: read-only SQL, as a table for people or as text for programs.
 *
 * A table needs its columns' widths before its first row: the first rows are kept, up to a bound,
 * and set the widths; later ones are printed as they come. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/columns.h"
#include "cli/watch.h"
#include "tollbook/json.h"

#define TABLE_ROWS  1000                /* rows that set the widths */
#define TABLE_BYTES ((size_t)4 << 20)   /* and how much text of them is kept */
#define COLUMNS_MAX 2000                /* SQLite's own bound on a result */
#define WIDEST      60
#define MEMORY_MB   512

typedef struct table {
    tb_buf cells; /* kept rows: cells one after another, each ended by NUL; without a table, the line being written */
    tb_buf row;   /* the same of one row */
    size_t kept;
    int n, width[COLUMNS_MAX];
    bool streaming; /* the kept rows are printed */
} table;

/* --- for programs --- */

/* Rows are written by way of t->cells. */
static bool write_line(table *t)
{
    const bool whole = !t->cells.failed && fwrite(t->cells.data, 1, t->cells.len, stdout) == t->cells.len;
    t->cells.len = 0;
    return whole;
}

static bool put_csv(void *ctx, int n, const char *const *cells, bool is_header)
{
    table *t = ctx;
    (void)is_header;
    for (int i = 0; i < n; i++) {
        const char *cell = cells[i] ? cells[i] : "";
        if (i) tb_buf_str(&t->cells, ",");
        tb_buf_csv_value(&t->cells, cell, strlen(cell));
    }
    tb_buf_str(&t->cells, "\r\n");
    return write_line(t);
}

/* No byte of a cell does anything to a terminal: what has a `special` gets the text of its place in `instead`,
 * other control characters \xHH. */
static void put_shown(tb_buf *out, const char *cell, const char *special, const char *const instead[])
{
    while (*cell) {
        const size_t n = strcspn(cell, special);
        tb_buf_shown(out, cell, n);
        cell += n;
        if (*cell) tb_buf_str(out, instead[strchr(special, *cell++) - special]);
    }
}

static bool put_tsv(void *ctx, int n, const char *const *cells, bool is_header)
{
    static const char *const escapes[] = {"\\t", "\\n", "\\r", "\\\\"};
    table *t = ctx;
    (void)is_header;
    for (int i = 0; i < n; i++) {
        if (i) tb_buf_str(&t->cells, "\t");
        put_shown(&t->cells, cells[i] ? cells[i] : "", "\t\n\r\\", escapes);
    }
    tb_buf_str(&t->cells, "\n");
    return write_line(t);
}

/* A list of objects, a row a line. SQL's numbers are texts as well, so that none loses digits. */
static bool put_json(void *ctx, int n, const char *const *cells, bool is_header)
{
    table *t = ctx;
    if (is_header) {
        for (int i = 0; i < n; i++)
            tb_buf_add(&t->row, cells[i] ? cells[i] : "", (cells[i] ? strlen(cells[i]) : 0) + 1);
        tb_buf_str(&t->cells, "[");
        return write_line(t);
    }
    const char *name = t->row.data;
    tb_buf_str(&t->cells, t->kept++ ? ",\n{" : "\n{");
    for (int i = 0; i < n && !t->row.failed; i++, name += strlen(name) + 1) {
        if (i) tb_buf_str(&t->cells, ",");
        tb_json_string(&t->cells, name, strlen(name));
        tb_buf_str(&t->cells, ":");
        if (cells[i]) tb_json_string(&t->cells, cells[i], strlen(cells[i]));
        else tb_buf_str(&t->cells, "null");
    }
    tb_buf_str(&t->cells, "}");
    return write_line(t);
}

/* --- for people --- */

static void print_row(const table *t, const char *const *cells)
{
    for (int i = 0; i < t->n; i++) {
        int gap = t->width[i] - columns_width(cells[i], strlen(cells[i]));
        fputs(cells[i], stdout);
        printf("%*s", i + 1 < t->n ? (gap > 0 ? gap : 0) + 2 : 0, "");
    }
    putchar('\n');
}

static void print_kept(table *t)
{
    const char *cells[COLUMNS_MAX], *p = t->cells.data;
    for (size_t row = 0; row < t->kept; row++) {
        for (int i = 0; i < t->n; i++) {
            cells[i] = p;
            p += strlen(p) + 1;
        }
        print_row(t, cells);
    }
    tb_buf_release(&t->cells);
    t->kept = 0;
    t->streaming = true;
}

/* The row's cells as they are shown, in t->row. */
static bool show_row(table *t, const char *const *given, const char **cells)
{
    static const char *const blanks[] = {" ", " ", " "};
    t->row.len = 0;
    for (int i = 0; i < t->n; i++) {
        put_shown(&t->row, given[i] ? given[i] : "", "\t\n\r", blanks);
        tb_buf_add(&t->row, "", 1);
    }
    const char *at = t->row.data;
    for (int i = 0; i < t->n && !t->row.failed; i++, at += strlen(at) + 1)
        cells[i] = at;
    return !t->row.failed;
}

static bool put_table(void *ctx, int n, const char *const *given, bool is_header)
{
    table *t = ctx;
    const char *cells[COLUMNS_MAX];
    (void)is_header;
    t->n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
    if (!show_row(t, given, cells)) return false;
    if (!t->streaming && (t->kept == TABLE_ROWS || t->cells.len + t->row.len > TABLE_BYTES))
        print_kept(t);
    if (t->streaming) {
        print_row(t, cells);
        return !ferror(stdout);
    }
    for (int i = 0; i < t->n; i++) {
        int width = columns_width(cells[i], strlen(cells[i]));
        if (width > WIDEST) width = WIDEST;
        if (width > t->width[i]) t->width[i] = width;
    }
    tb_buf_add(&t->cells, t->row.data, t->row.len);
    t->kept++;
    return !t->cells.failed;
}

/* --- the query --- */

typedef struct output {
    tb_row_fn put;
    table *table;
} output;

/* Writes a row as a whole. */
static bool put_row(void *ctx, int n, const char *const *cells, bool is_header)
{
    const output *o = ctx;
    watch_row();
    const bool more = o->put(o->table, n, cells, is_header);
    watch_row_end();
    return more;
}

static int run_query(const cli_call *call, tb_store *store, output *o)
{
    tb_error err;
    watch w = {.call = call, .store = store, .limit_s = cli_number(call, "timeout", 0)};
    if (!watch_start(&w)) {
        cli_say(call, "A thread does not start.");
        return tb_code_exit(TB_E_NOMEM);
    }
    tb_code code = tb_store_query(store, call->operands[0], put_row, o, &err);
    if (!code) code = tb_buf_check(&o->table->cells, &err);
    if (!code) code = tb_buf_check(&o->table->row, &err);
    if (o->put == put_table && !o->table->streaming) print_kept(o->table);
    if (o->put == put_json) puts(o->table->kept ? "\n]" : "]");
    const int status = watch_end(&w);
    if (status) return status;
    if (!code) return cli_done(call);
    const int failed = cli_fail(call, NULL, &err);
    if (strstr(err.message, "no such table"))
        cli_say(call, "List the tables with: tollbook query \"SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')\"");
    if (strstr(err.message, "no such column"))
        cli_say(call, "List a table's columns with: tollbook query \"SELECT name FROM pragma_table_info('TABLE')\"");
    return failed;
}

int cli_query(const cli_call *call)
{
    static table t; /* too large for the stack */
    tb_store *store;
    int64_t now_us;
    bool people = cli_is(call, "format", "table");
    if (!cli_given(call, "format")) people = isatty(STDOUT_FILENO) != 0;
    tb_store_bound_memory(cli_number(call, "memory-mb", MEMORY_MB) << 20);
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_buf_init(&t.cells, SIZE_MAX / 2, NULL); /* a value is as long as SQLite lets it be */
    tb_buf_init(&t.row, SIZE_MAX / 2, NULL);
    output o = {people                            ? put_table
                : cli_is(call, "format", "csv")  ? put_csv
                : cli_is(call, "format", "json") ? put_json
                                                 : put_tsv, &t};
    status = run_query(call, store, &o);
    tb_store_close(store);
    tb_buf_release(&t.cells);
    tb_buf_release(&t.row);
    return status;
}
