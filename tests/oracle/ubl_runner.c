/* Documents of standard input as UBL or as FOCUS, each a file of a folder, for the tests of these
 * forms.
 *
 *   ubl_runner FOLDER [TIMES] <lines
 *
 * A line is three fields between tabs: "zone", its number and its name; "labels", a zone's number and
 * its labels; "account", its name and its labels; all good for what follows; or "peppol", "xrechnung"
 * or "focus", the document's name, its canonical text. Prints for each document a line: its name, then
 * "written", or the field and the message of the refusal. TIMES: writes each so often (the bench). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/ubl.h"

#define ZONES_MAX 4096

typedef struct known {
    tb_zone_name zones[ZONES_MAX];
    tb_invoice_names names;
} known;

static bool is(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

static void fail(const char *what)
{
    fprintf(stderr, "ubl_runner: %s\n", what);
    exit(2);
}

static void add_zone(known *k, const char *id, const char *name)
{
    if (k->names.n_zones == ZONES_MAX) fail("too many zones");
    tb_zone_name *zone = &k->zones[k->names.n_zones++];
    zone->zone = strtoll(id, NULL, 10);
    zone->name = strdup(name);
    k->names.zones = k->zones;
}

static void add_labels(known *k, const char *id, const char *labels)
{
    for (size_t i = 0; i < k->names.n_zones; i++)
        if (k->zones[i].zone == strtoll(id, NULL, 10)) k->zones[i].labels = strdup(labels);
}

static void save(const char *folder, const char *form, const char *name, const tb_buf *out)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, is(form, "focus") ? "csv" : "xml");
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(out->data, 1, out->len, file) != out->len || fclose(file)) fail(path);
}

static tb_code write_once(const tb_statement *s, const tb_invoice_names *names, const char *form,
                          tb_buf *out, tb_error *err)
{
    out->len = 0;
    if (is(form, "focus")) {
        tb_focus_csv_head(out);
        return tb_focus_csv(s, names, out, err);
    }
    return tb_ubl_write(s, names, is(form, "peppol") ? TB_UBL_PEPPOL : TB_UBL_XRECHNUNG, out, err);
}

static void write_document(const known *k, const char *folder, long times, const char *form,
                           const char *name, const char *text)
{
    tb_paper paper;
    tb_error err = {0};
    tb_code code = TB_OK;
    tb_buf out;
    if (tb_paper_parse(text, strlen(text), NULL, &paper, &err)) {
        printf("%s\tunreadable\t%s: %s\n", name, err.field, err.message);
        return;
    }
    tb_buf_init(&out, TB_UBL_TEXT_MAX, NULL);
    for (long i = 0; !code && i < times; i++)
        code = write_once(&paper.statement, &k->names, form, &out, &err);
    if (code && out.len && !is(form, "focus")) fail("an error left bytes behind");
    if (code)
        printf("%s\t%s\t%s\n", name, err.field, err.message);
    else
        printf("%s\twritten\t\n", name);
    if (!code) save(folder, form, name, &out);
    tb_buf_release(&out);
    tb_paper_release(&paper);
}

static void take_line(known *k, const char *folder, long times, char *line)
{
    char *second = strchr(line, '\t'), *third = second ? strchr(second + 1, '\t') : NULL;
    if (!third) fail("a line has three fields");
    *second++ = 0;
    *third++ = 0;
    if (is(line, "zone")) {
        add_zone(k, second, third);
    } else if (is(line, "labels")) {
        add_labels(k, second, third);
    } else if (is(line, "account")) {
        k->names.account = strdup(second);
        k->names.labels = strdup(third);
    } else {
        write_document(k, folder, times, line, second, third);
    }
}

static void drop(const char *text)
{
    free((void *)(uintptr_t)text);
}

int main(int argc, char **argv)
{
    known *k = calloc(1, sizeof *k);
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    const long times = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    if (argc < 2 || !k) fail("FOLDER [TIMES] <lines");
    k->names.proof = &(tb_invoice_proof){.log = "example.com/<log>", .index = 17, .root = "0123456789abcdef",
                                         .address = "https://billing.example.com/billing/invoices/2026-000001/proof"};
    while ((len = getline(&line, &room, stdin)) > 0) {
        line[len - 1] = 0;
        take_line(k, argv[1], times, line);
    }
    for (size_t i = 0; i < k->names.n_zones; i++) {
        drop(k->zones[i].name);
        drop(k->zones[i].labels);
    }
    drop(k->names.account);
    drop(k->names.labels);
    free(line);
    free(k);
    return 0;
}
