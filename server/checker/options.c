#include "checker/options.h"

#include <stddef.h>
#include <string.h>

typedef enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_WITNESS } option_kind;

static const struct option_row {
    const char *name, *value, *help;
    option_kind kind;
    size_t at; /* of its member */
} rows[] = {
    {"key", "VKEY|FILE", "the verifier key of the log, or a file that holds it", OPTION_TEXT, offsetof(checker_options, key)},
    {"witness", "VKEY|FILE", "the verifier key of a witness that has to have signed the checkpoint too (may repeat)", OPTION_WITNESS, 0},
    {"since", "FILE", "an older checkpoint: the log only grew since then", OPTION_TEXT, offsetof(checker_options, since)},
    {"tiles", "DIR", "tiles of the log, DIR/tile/..., where the bundle has no proof of growth", OPTION_TEXT, offsetof(checker_options, tiles)},
    {"trust-on-first-use", "FILE", "remembers keys by log and the newest checkpoints there", OPTION_TEXT, offsetof(checker_options, trust)},
    {"json", "", "the result as a line of JSON for each file", OPTION_FLAG, offsetof(checker_options, json)},
    {"help", "", "this text", OPTION_FLAG, offsetof(checker_options, help)},
    {"version", "", "the version", OPTION_FLAG, offsetof(checker_options, version)},
};
#define ROWS (sizeof rows / sizeof *rows)

static const struct option_row *find_row(const char *name, size_t len)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0) return &rows[i];
    return NULL;
}

static tb_code refuse_option(const char *name, size_t len, tb_error *err)
{
    char words[256] = "", meant[TB_MEANT_MAX];
    for (size_t i = 0, used = 0; i < ROWS; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? "|" : "", rows[i].name);
    tb_meant(words, "--", name, len, meant);
    return tb_fail(err, TB_E_USAGE, NULL, "There is no option \"--%.*s\".%s", len > 64 ? 64 : (int)len, name,
                   *meant ? meant : " See: tollbook-check --help");
}

static tb_code set_text(const struct option_row *row, const char *text, checker_options *options, tb_error *err)
{
    const char **to = (const char **)(void *)((char *)options + row->at);
    if (row->kind == OPTION_WITNESS) {
        if (options->n_witnesses == TB_NOTE_SIGNATURES)
            return tb_fail(err, TB_E_USAGE, NULL, "More than %d witnesses are given.", TB_NOTE_SIGNATURES);
        to = &options->witnesses[options->n_witnesses++];
    }
    if (*to) return tb_fail(err, TB_E_USAGE, NULL, "--%s is given twice. Give it once.", row->name);
    *to = text;
    return TB_OK;
}

/* The option at argv[*at], and its value from the next word where it needs one. */
static tb_code take_option(int argc, char **argv, int *at, checker_options *options, tb_error *err)
{
    const char *name = argv[*at] + 2;
    const size_t len = strcspn(name, "=");
    const char *text = name[len] ? name + len + 1 : NULL;
    const struct option_row *row = find_row(name, len);
    if (!row) return refuse_option(name, len, err);
    if (row->kind == OPTION_FLAG) {
        if (text) return tb_fail(err, TB_E_USAGE, NULL, "--%s takes no value.", row->name);
        *(bool *)((char *)options + row->at) = true;
        return TB_OK;
    }
    if (!text && *at + 1 < argc) text = argv[++*at];
    if (!text || !*text) return tb_fail(err, TB_E_USAGE, NULL, "--%s needs a value: --%s %s.", row->name, row->name, row->value);
    return set_text(row, text, options, err);
}

tb_code checker_parse(int argc, char **argv, checker_options *ret, tb_error *err)
{
    tb_code code = TB_OK;
    bool ended = false;
    *ret = (checker_options){.files = argv};
    for (int i = 0; !code && i < argc; i++) {
        if (ended || argv[i][0] != '-' || !argv[i][1]) argv[ret->n_files++] = argv[i];
        else if (strcmp(argv[i], "--") == 0) ended = true;
        else if (strcmp(argv[i], "-h") == 0) ret->help = true;
        else if (argv[i][1] == '-') code = take_option(argc, argv, &i, ret, err);
        else code = tb_fail(err, TB_E_USAGE, NULL, "There is no option \"%.64s\". A file of that name is ./%.64s", argv[i], argv[i]);
    }
    if (code || ret->help || ret->version || ret->n_files) return code;
    return tb_fail(err, TB_E_USAGE, NULL, "No file is given: tollbook-check NUMBER.tollproof --key VKEY. See: tollbook-check --help");
}

void checker_help(FILE *out)
{
    fputs("usage: tollbook-check FILE... [--key VKEY|FILE] [--witness VKEY|FILE]... [--since FILE] [--tiles DIR]\n"
          "                      [--trust-on-first-use FILE] [--json]\n\n"
          "Checks a bill without trusting the one who wrote it.\n\n"
          "FILE is the bundle of an invoice or a credit note (NUMBER.tollproof, or compressed NUMBER.tollproof.gz), or the receipts of a\n"
          "month's usage; - is standard input. Nothing is asked of the network.\n\n"
          "What is checked:\n"
          "  signature    the log's key signed the checkpoint\n"
          "  witness      each --witness signed it too, so others are shown the same log\n"
          "  commitments  each text is what its entry of the log commits to; the document's own SHA-256; its price books\n"
          "  inclusion    each entry is in the log under this checkpoint\n"
          "  usage        the terms are the document's own; its days are just those that the terms count\n"
          "  rating       the usage is added up and rated again by the same price books: the same document, byte for byte\n"
          "  consistency  the log only grew since --since, and since the checkpoint in --trust-on-first-use\n"
          "  void         the document was not made void, as far as the bundle says\n"
          "It checks the file, not the PDF: compare number, month, amount, log, entry and fingerprint with the PDF.\n"
          "What is not shown, or what to do where something is wrong, stands at the end of its answer.\n\n"
          "options:\n", out);
    for (size_t i = 0; i < ROWS; i++)
        fprintf(out, "  --%s %-*s %s\n", rows[i].name, 29 - (int)strlen(rows[i].name), rows[i].value, rows[i].help);
    fputs("\nThe key says whose log it is: get it from the operator, not by the way on which the file came. `tollbook proof vkey` prints\n"
          "it. With --trust-on-first-use FILE the key is needed once: FILE remembers it, and the newest checkpoint, and refuses another\n"
          "key, a log that became smaller, and one that is not shown to have grown from there. A bundle has that proof where it was\n"
          "fetched with ?since=SIZE or made with `tollbook proof bundle --since SIZE`.\n\n"
          "Exit status: 0 everything that was asked for is right, 1 something differs, 2 something could not be checked. Of several files\n"
          "the gravest counts: 1, then 2, then 0.\n", out);
}
