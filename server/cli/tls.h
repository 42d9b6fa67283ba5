/* The certificate and the key of --tls-cert and --tls-key, of `serve`. */
#ifndef TOLLBOOK_SERVER_CLI_TLS_H
#define TOLLBOOK_SERVER_CLI_TLS_H

#include "cli/cli.h"
#include "http/front/pair.h"

/* Reads both files; NULL if neither option is given. Warns if others may read the key, and if the certificate is not valid
 * now. TB_E_USAGE: one option without the other. TB_E_READ_ONLY: the files cannot be used. */
TB_MUST_USE tb_code cli_load_tls(const cli_call *call, tls_pair **ret_pair, tb_error *err);

#endif
