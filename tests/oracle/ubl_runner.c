/* Documents of standard input as UBL, each a file of a folder, for the tests of electronic invoices.
 *
 *   ubl_runner FOLDER [TIMES] <lines
 *
 * A line is three fields between tabs: "zone", its number and its name, good for what follows;
 * "peppol" or "xrechnung", the document's name, its canonical text. Prints for each document a line:
 * its name, then "written", or the field and the message of the refusal. TIMES: writes each so often
 * (the bench). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/ubl.h"

#define ZONES_MAX 4096

typedef struct known {
    tb_zone_name zones[ZONES_MAX];
    tb_invoice_names names;
} known;

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

static void save(const char *folder, const char *name, const tb_buf *out)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.xml", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(out->data, 1, out->len, file) != out->len || fclose(file)) fail(path);
}

static tb_code write_times(const tb_statement *s, const tb_invoice_names *names,
                           tb_ubl_profile profile, long times, tb_buf *out, tb_error *err)
{
    tb_code code = TB_OK;
    for (long i = 0; !code && i < times; i++) {
        out->len = 0;
        code = tb_ubl_write(s, names, profile, out, err);
    }
    return code;
}

static void write_document(const known *k, const char *folder, long times, tb_ubl_profile profile,
                           const char *name, const char *text)
{
    tb_paper paper;
    tb_error err = {0};
    tb_buf out;
    if (tb_paper_parse(text, strlen(text), NULL, &paper, &err)) {
        printf("%s\tunreadable\t%s: %s\n", name, err.field, err.message);
        return;
    }
    tb_buf_init(&out, TB_UBL_TEXT_MAX, NULL);
    tb_code code = write_times(&paper.statement, &k->names, profile, times, &out, &err);
    if (code && out.len) fail("an error left bytes behind");
    if (code)
        printf("%s\t%s\t%s\n", name, err.field, err.message);
    else
        printf("%s\twritten\t\n", name);
    if (!code) save(folder, name, &out);
    tb_buf_release(&out);
    tb_paper_release(&paper);
}

int main(int argc, char **argv)
{
    known *k = calloc(1, sizeof *k);
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    const long times = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    if (argc < 2 || !k) fail("FOLDER [TIMES] <lines");
    while ((len = getline(&line, &room, stdin)) > 0) {
        line[len - 1] = 0;
        char *second = strchr(line, '\t'), *third = second ? strchr(second + 1, '\t') : NULL;
        if (!third) fail("a line has three fields");
        *second++ = 0;
        *third++ = 0;
        if (strcmp(line, "zone") == 0)
            add_zone(k, second, third);
        else
            write_document(k, argv[1], times,
                           strcmp(line, "peppol") == 0 ? TB_UBL_PEPPOL : TB_UBL_XRECHNUNG, second,
                           third);
    }
    for (size_t i = 0; i < k->names.n_zones; i++)
        free((void *)(uintptr_t)k->zones[i].name);
    free(line);
    free(k);
    return 0;
}
