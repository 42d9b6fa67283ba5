/* A secret file holds 64 hexadecimal digits and perhaps a line end: text, so that it can be looked at,
 * copied and kept with other secrets. */
#include "cli/secret.h"

#include "cli/hint.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#define DIGITS (TB_KEY_SECRET * 2)

static tb_code unusable(tb_error *err, const char *path, const char *why)
{
    return tb_fail(err, TB_E_READ_ONLY, NULL,
                   "The secret file %s %s. Make one: (umask 077; tollbook key secret > FILE)", path,
                   why);
}

static bool parse(const char *text, size_t len, uint8_t out[TB_KEY_SECRET])
{
    size_t n = 0;
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    return len == DIGITS && sodium_hex2bin(out, TB_KEY_SECRET, text, len, NULL, &n, NULL) == 0 &&
           n == TB_KEY_SECRET;
}

static void warn_open(const cli_call *call, const char *what, const char *path)
{
    tb_buf word;
    tb_buf_init(&word, 16 << 10, NULL);
    hint_file(path, &word);
    cli_warn(call, "Warning: others may read %s %s: chmod 600%.*s", what, path, (int)word.len, word.len ? word.data : "");
    tb_buf_release(&word);
}

void cli_warn_open(const cli_call *call, const char *what, const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISREG(about.st_mode) && (about.st_mode & 077))
        warn_open(call, what, path);
}

tb_code cli_load_secret(const cli_call *call, cli_secret *ret_secret, tb_error *err)
{
    const char *path = cli_text(call, "secret-file");
    char text[DIGITS + 8];
    *ret_secret = (cli_secret){.there = path != NULL};
    if (!path) return TB_OK;
    FILE *f = fopen(path, "rbe");
    if (!f) return unusable(err, path, errno == ENOENT ? "is not there" : strerror(errno));
    size_t len = fread(text, 1, sizeof text, f);
    fclose(f);
    bool ok = parse(text, len, ret_secret->bytes);
    sodium_memzero(text, sizeof text);
    if (!ok) return unusable(err, path, "does not hold 64 hexadecimal digits");
    cli_warn_open(call, "the secret file", path);
    return TB_OK;
}

int cli_read_secret(const cli_call *call, cli_secret *ret_secret)
{
    tb_error err;
    return cli_load_secret(call, ret_secret, &err) ? cli_fail(call, NULL, &err) : 0;
}

tb_code cli_load_alert_secret(const cli_call *call, cli_alert_secret *ret, tb_error *err)
{
    const char *path = cli_text(call, "alert-secret-file");
    char text[WEBHOOK_SECRETS * WEBHOOK_SECRET_TEXT];
    *ret = (cli_alert_secret){.there = path != NULL};
    if (!path) return TB_OK;
    FILE *f = fopen(path, "rbe");
    if (!f)
        return tb_fail(err, TB_E_READ_ONLY, NULL, "The alert secret file %s: %s.", path, strerror(errno));
    const size_t len = fread(text, 1, sizeof text, f);
    fclose(f);
    const bool ok = webhook_secrets_parse(text, len, &ret->secrets);
    sodium_memzero(text, sizeof text);
    if (!ok)
        return tb_fail(err, TB_E_READ_ONLY, NULL,
                       "The alert secret file %s does not hold whsec_ and base64 of 24 to 64 bytes, on one line or two. Make "
                       "one: (umask 077; echo whsec_$(head -c 32 /dev/urandom | base64) > FILE)", path);
    cli_warn_open(call, "the alert secret file", path);
    return TB_OK;
}

tb_code cli_load_usage_login(const cli_call *call, usage_login *ret, tb_error *err)
{
    const char *path = cli_text(call, "usage-credentials");
    char text[2 * USAGE_LOGIN_MAX + 8];
    *ret = (usage_login){0};
    if (!path) return TB_OK;
    FILE *f = fopen(path, "rbe");
    if (!f) return tb_fail(err, TB_E_READ_ONLY, NULL, "--usage-credentials %s: %s.", path, strerror(errno));
    const size_t len = fread(text, 1, sizeof text, f);
    fclose(f);
    const bool ok = len < sizeof text && usage_login_parse(text, len, ret);
    sodium_memzero(text, sizeof text);
    if (!ok)
        return tb_fail(err, TB_E_READ_ONLY, NULL,
                       "--usage-credentials %s does not hold two lines: the user of the usage servers, and the password.", path);
    cli_warn_open(call, "the credentials of the usage servers", path);
    return TB_OK;
}

tb_code cli_load_token_key(const cli_call *call, token_use use, token_key **ret_key, tb_error *err)
{
    const char *path = cli_text(call, "token-key"), *algorithm = cli_text(call, "token-alg");
    *ret_key = NULL;
    if (!path && algorithm) return tb_fail(err, TB_E_USAGE, NULL, "--token-alg needs --token-key.");
    if (!path) return TB_OK;
    tb_code code = token_key_load(path, algorithm ? algorithm : "HS256", use, ret_key, err);
    if (!code && token_key_exposed(*ret_key))
        warn_open(call, "the token key", path);
    return code;
}

int cli_read_token_key(const cli_call *call, token_use use, token_key **ret_key)
{
    tb_error err;
    return cli_load_token_key(call, use, ret_key, &err) ? cli_fail(call, NULL, &err) : 0;
}

/* --- a new one --- */

int cli_key_secret(const cli_call *call)
{
    uint8_t random[TB_KEY_SECRET];
    char text[TB_KEY_SECRET * 2 + 1];
    if (sodium_init() < 0) {
        cli_say(call, "The system gives no random bytes.");
        return tb_code_exit(TB_E_INTERNAL);
    }
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(text, sizeof text, random, sizeof random);
    puts(text);
    sodium_memzero(random, sizeof random);
    sodium_memzero(text, sizeof text);
    return cli_done(call);
}
