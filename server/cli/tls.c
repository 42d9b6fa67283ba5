/* Both files are read whole before either is looked at, so a pair is taken over as one. */
#include "cli/tls.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "cli/secret.h"
#include "http/clock.h"
#include "tollbook/calendar.h"

#define FILE_MAX 262144 /* bytes: a certificate with its chain, or a key */

typedef struct pem {
    char bytes[FILE_MAX];
    size_t len;
} pem;

static tb_code read_pem(const char *option, const char *path, pem *out, tb_error *err)
{
    FILE *f = fopen(path, "rbe");
    if (!f) return tb_fail(err, TB_E_READ_ONLY, NULL, "--%s %s: %s.", option, path, strerror(errno));
    out->len = fread(out->bytes, 1, sizeof out->bytes, f);
    const int why = ferror(f) ? errno : 0;
    fclose(f);
    if (why) return tb_fail(err, TB_E_READ_ONLY, NULL, "--%s %s: %s.", option, path, strerror(why));
    if (out->len < sizeof out->bytes) return TB_OK;
    return tb_fail(err, TB_E_READ_ONLY, NULL, "--%s %s is longer than 256 KiB, so it is no such file.", option, path);
}

/* Clients refuse such a certificate, and their users are told so; without the server they would be told nothing. */
static void warn_invalid(const cli_call *call, const tls_pair *pair)
{
    int64_t from_s, until_s;
    char text[21] = {0};
    const int64_t now_s = clock_wall_us() / TB_US_PER_S;
    tls_pair_valid(pair, &from_s, &until_s);
    const bool expired = until_s <= now_s;
    if (!expired && from_s <= now_s) return;
    tb_time_format((expired ? until_s : from_s) * TB_US_PER_S, text);
    cli_warn(call, "Warning: the certificate %s %s %s; clients will refuse it. Renew it, then send SIGHUP.",
             cli_text(call, "tls-cert"), expired ? "expired at" : "is valid only from", text);
}

static tb_code parse_pair(const cli_call *call, const pem *chain, const pem *key, tls_pair **ret_pair, tb_error *err)
{
    tb_error why;
    const tb_code code = tls_pair_parse((tb_text){chain->bytes, chain->len}, (tb_text){key->bytes, key->len}, ret_pair, &why);
    if (!code) return TB_OK;
    return tb_fail(err, code, NULL, "--tls-cert %s, --tls-key %s: %s", cli_text(call, "tls-cert"), cli_text(call, "tls-key"),
                   why.message);
}

tb_code cli_load_tls(const cli_call *call, tls_pair **ret_pair, tb_error *err)
{
    static pem chain, key; /* of the main thread */
    const char *cert_path = cli_text(call, "tls-cert"), *key_path = cli_text(call, "tls-key");
    *ret_pair = NULL;
    if (!cert_path != !key_path)
        return tb_fail(err, TB_E_USAGE, NULL, "--tls-cert and --tls-key need each other: the certificate and its private key.");
    if (!cert_path) return TB_OK;
    tb_code code = read_pem("tls-cert", cert_path, &chain, err);
    if (!code) code = read_pem("tls-key", key_path, &key, err);
    if (!code) code = parse_pair(call, &chain, &key, ret_pair, err);
    sodium_memzero(key.bytes, sizeof key.bytes);
    if (code) return code;
    cli_warn_open(call, "the TLS key", key_path);
    warn_invalid(call, *ret_pair);
    return TB_OK;
}
