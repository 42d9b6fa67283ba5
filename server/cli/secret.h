/* Files with secrets: --secret-file, which encrypts the texts of keys, and --token-key. */
#ifndef TOLLBOOK_SERVER_CLI_SECRET_H
#define TOLLBOOK_SERVER_CLI_SECRET_H

#include "cli/cli.h"
#include "http/token.h"
#include "tollbook/key.h"
#include "webhook/webhook.h"

#define SECRET_FILE                                                                                \
    {                                                                                              \
        .name = "secret-file", .value = "FILE", .kind = CLI_TEXT, .here = true,                    \
        .help = "seal the texts of keys with this secret, so that GET /apikey can show them; "    \
                "`tollbook key secret` makes one"                                                  \
    }

typedef struct cli_secret {
    bool there; /* the option was given */
    uint8_t bytes[TB_KEY_SECRET];
} cli_secret;

/* Reads the file of --secret-file. TB_E_READ_ONLY: it holds no secret. */
TB_MUST_USE tb_code cli_load_secret(const cli_call *call, cli_secret *ret_secret, tb_error *err);
/* The same; prints an error and returns the exit status. */
TB_MUST_USE int cli_read_secret(const cli_call *call, cli_secret *ret_secret);

/* The key of --token-key under --token-alg; NULL where none is given. As token_key_load. */
TB_MUST_USE tb_code cli_load_token_key(const cli_call *call, token_use use, token_key **ret_key,
                                       tb_error *err);
/* The same; prints an error and returns the exit status. */
TB_MUST_USE int cli_read_token_key(const cli_call *call, token_use use, token_key **ret_key);

typedef struct cli_alert_secret {
    bool there; /* the option was given */
    webhook_secrets secrets;
} cli_alert_secret;
/* Reads the file of --alert-secret-file. TB_E_READ_ONLY: it holds no secret. */
TB_MUST_USE tb_code cli_load_alert_secret(const cli_call *call, cli_alert_secret *ret, tb_error *err);

/* Reads the file of --usage-credentials; empty if the option is not given. TB_E_READ_ONLY: it does not hold two lines. */
TB_MUST_USE tb_code cli_load_usage_login(const cli_call *call, usage_login *ret, tb_error *err);

/* Warns where others may read, or write, a file that should be the operator's alone. */
void cli_warn_open(const cli_call *call, const char *what, const char *path);

#endif
