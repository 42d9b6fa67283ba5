/* The command line of tollbook-check: `--name VALUE`, `--name=VALUE`, flags, files in any order; "--" ends the options. It reads no
 * environment and no configuration file. */
#ifndef TOLLBOOK_SERVER_CHECKER_OPTIONS_H
#define TOLLBOOK_SERVER_CHECKER_OPTIONS_H

#include <stdio.h>

#include "tollbook/proof.h"

typedef struct checker_options {
    const char *key;       /* a verifier key or a file with one; NULL: none */
    const char *witnesses[TB_NOTE_SIGNATURES];
    size_t n_witnesses;
    const char *since, *tiles, *trust; /* NULL: not given */
    bool json, help, version;
    char **files; /* the front of argv */
    int n_files;
} checker_options;

/* TB_E_USAGE with a sentence. argv is reordered. */
TB_MUST_USE tb_code checker_parse(int argc, char **argv, checker_options *ret, tb_error *err);
void checker_help(FILE *out);

#endif
