/* tollbook query: read-only SQL, as a table for people or as text for programs.
 *
 * A table needs its columns' widths before its first row: the first rows are kept, up to a bound,
 * and set the widths; later ones are printed as they come. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/watch.h"

#define TABLE_ROWS  1000                /* rows that set the widths */
#define TABLE_BYTES ((size_t)4 << 20)   /* and how much text of them is kept */
#define COLUMNS_MAX 2000                /* SQLite's own bound on a result */
#define WIDEST      60
#define MEMORY_MB   512

typedef struct table {
    tb_buf cells; /* kept rows: cells one after another, each ended by NUL */
    size_t kept;
    int n, width[COLUMNS_MAX];
    bool streaming; /* the kept rows are printed */
} table;

/* --- for programs --- */

static void put_csv_cell(const char *cell)
{
    if (!cell[strcspn(cell, ",\"\r\n")]) {
        fputs(cell, stdout);
        return;
    }
    putchar('"');
    for (; *cell; cell++) {
        if (*cell == '"') putchar('"');
        putchar(*cell);
    }
    putchar('"');
}

static bool put_csv(void *ctx, int n, const char *const *cells, bool is_header)
{
    (void)ctx;
    (void)is_header;
    for (int i = 0; i < n; i++) {
        if (i) putchar(',');
        put_csv_cell(cells[i] ? cells[i] : "");
    }
    fputs("\r\n", stdout);
    return !ferror(stdout);
}

static void put_tsv_cell(const char *cell)
{
    for (; *cell; cell++) {
        switch (*cell) {
        case '\t': fputs("\\t", stdout); break;
        case '\n': fputs("\\n", stdout); break;
        case '\r': fputs("\\r", stdout); break;
        case '\\': fputs("\\\\", stdout); break;
        default: putchar(*cell);
        }
    }
}

static bool put_tsv(void *ctx, int n, const char *const *cells, bool is_header)
{
    (void)ctx;
    (void)is_header;
    for (int i = 0; i < n; i++) {
        if (i) putchar('\t');
        put_tsv_cell(cells[i] ? cells[i] : "");
    }
    putchar('\n');
    return !ferror(stdout);
}

/* --- for people --- */

/* Characters, not bytes: UTF-8 continuation bytes take no room. */
static int width_of(const char *cell)
{
    int width = 0;
    for (; *cell; cell++)
        width += (*cell & 0xc0) != 0x80;
    return width;
}

static void print_row(const table *t, const char *const *cells)
{
    for (int i = 0; i < t->n; i++) {
        int gap = t->width[i] - width_of(cells[i]);
        for (const char *p = cells[i]; *p; p++)
            putchar((unsigned char)*p < 0x20 || *p == 0x7f ? ' ' : *p);
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

static bool put_table(void *ctx, int n, const char *const *given, bool is_header)
{
    table *t = ctx;
    const char *cells[COLUMNS_MAX];
    size_t bytes = 0;
    (void)is_header;
    t->n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
    for (int i = 0; i < t->n; i++) {
        cells[i] = given[i] ? given[i] : "";
        bytes += strlen(cells[i]) + 1;
    }
    if (!t->streaming && (t->kept == TABLE_ROWS || t->cells.len + bytes > TABLE_BYTES))
        print_kept(t);
    if (t->streaming) {
        print_row(t, cells);
        return !ferror(stdout);
    }
    for (int i = 0; i < t->n; i++) {
        int width = width_of(cells[i]);
        if (width > WIDEST) width = WIDEST;
        if (width > t->width[i]) t->width[i] = width;
        tb_buf_add(&t->cells, cells[i], strlen(cells[i]) + 1);
    }
    t->kept++;
    return !t->cells.failed;
}

/* --- the query --- */

typedef struct output {
    tb_row_fn put;
    table *table;
} output;

/* A row goes out whole. */
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
    const tb_code code = tb_store_query(store, call->operands[0], put_row, o, &err);
    if (o->put == put_table && !o->table->streaming) print_kept(o->table);
    const int status = watch_end(&w);
    if (status) return status;
    return code ? cli_fail(call, NULL, &err) : cli_done(call);
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
    tb_buf_init(&t.cells, 2 * TABLE_BYTES, NULL);
    output o = {people ? put_table : cli_is(call, "format", "csv") ? put_csv : put_tsv, &t};
    status = run_query(call, store, &o);
    tb_store_close(store);
    return status;
}
