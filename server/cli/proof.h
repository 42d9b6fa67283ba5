/* Options of the log of documents: --proof-key-file, --public-url; `proof key`, `proof vkey`. */
#ifndef TOLLBOOK_SERVER_CLI_PROOF_H
#define TOLLBOOK_SERVER_CLI_PROOF_H

#include "cli/cli.h"
#include "tollbook/proof.h"

#define PROOF_KEY_FILE                                                                             \
    {                                                                                              \
        .name = "proof-key-file", .value = "FILE", .kind = CLI_TEXT, .here = true,                 \
        .help = "sign a checkpoint of the log of documents with this key; `tollbook proof key` makes one" \
    }

#define PUBLIC_URL                                                                                 \
    {                                                                                              \
        .name = "public-url", .value = "URL", .kind = CLI_TEXT, .here = true,                      \
        .help = "where customers reach the server: documents print the address of their proof, with a QR code" \
    }
/* The value of --public-url; NULL: it was not given. Prints an error and returns the exit status. */
TB_MUST_USE int cli_public_url(const cli_call *call, const char **ret_url);

typedef struct cli_proof_key {
    bool there; /* the option was given */
    tb_note_secret secret;
} cli_proof_key;

/* Reads the file of --proof-key-file. TB_E_READ_ONLY: it holds no key. */
TB_MUST_USE tb_code cli_load_proof_key(const cli_call *call, cli_proof_key *ret, tb_error *err);
/* The same; prints an error and returns the exit status. */
TB_MUST_USE int cli_read_proof_key(const cli_call *call, cli_proof_key *ret);

#endif
