#include "cli/proof.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/secret.h"
#include "tollbook/issue.h"

static tb_code unusable(const char *path, const char *why, tb_error *err)
{
    return tb_fail(err, TB_E_READ_ONLY, NULL, "The proof key file %s %s. Make one with: tollbook proof key --new FILE --name NAME", path,
                   why);
}

static tb_code load_key(const cli_call *call, const char *path, tb_note_secret *ret, tb_error *err)
{
    char text[TB_NOTE_SKEY + 2];
    tb_error why;
    FILE *f = fopen(path, "rbe");
    if (!f) return unusable(path, errno == ENOENT ? "is not there" : strerror(errno), err);
    const size_t len = fread(text, 1, sizeof text, f);
    fclose(f);
    const tb_code code = tb_note_secret_read(text, len, ret, &why);
    sodium_memzero(text, sizeof text);
    if (code || ret->key.type != TB_NOTE_ED25519) return unusable(path, "does not hold a key that signs a log", err);
    cli_warn_open(call, "the proof key file", path);
    return TB_OK;
}

tb_code cli_load_proof_key(const cli_call *call, cli_proof_key *ret, tb_error *err)
{
    const char *path = cli_text(call, "proof-key-file");
    ret->there = path != NULL;
    return path ? load_key(call, path, &ret->secret, err) : TB_OK;
}

int cli_read_proof_key(const cli_call *call, cli_proof_key *ret)
{
    tb_error err;
    return cli_load_proof_key(call, ret, &err) ? cli_fail(call, NULL, &err) : 0;
}

/* Nothing in it needs an escape on paper, in HTML or in XML. */
static bool is_public_url(const char *url)
{
    const size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0, len = strnlen(url, TB_SHOWN_URL + 1);
    return scheme && len > scheme && len <= TB_SHOWN_URL && url[scheme] != '/' && url[len - 1] != '/' &&
           url[strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/[]%")] == 0;
}

int cli_public_url(const cli_call *call, const char **ret_url)
{
    *ret_url = cli_text(call, "public-url");
    if (!*ret_url || is_public_url(*ret_url)) return 0;
    cli_say(call, "--public-url %.100s: must be an address such as https://billing.example.com, without a '/' at its end and of at most "
                  "%d characters.", *ret_url, TB_SHOWN_URL);
    return tb_code_exit(TB_E_USAGE);
}

static void print_vkey(const tb_note_key *key)
{
    char text[TB_NOTE_VKEY];
    tb_note_key_write(key, text);
    puts(text);
}

/* A file that is there is never written over: its key may be the only one of a log. */
static tb_code write_key(const char *path, const tb_note_secret *secret, tb_error *err)
{
    char text[TB_NOTE_SKEY + 1];
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return tb_fail(err, TB_E_IO, NULL, "The key file %s cannot be made: %s.%s", path, strerror(errno),
                       errno == EEXIST ? " Give the name of a new file." : "");
    tb_note_secret_write(secret, text);
    const size_t len = strlen(text);
    text[len] = '\n';
    bool ok = write(fd, text, len + 1) == (ssize_t)len + 1 && fsync(fd) == 0;
    sodium_memzero(text, sizeof text);
    ok = close(fd) == 0 && ok;
    if (ok) return TB_OK;
    unlink(path);
    return tb_fail(err, TB_E_IO, NULL, "The key file %s cannot be written.", path);
}

int cli_proof_new_key(const cli_call *call)
{
    const char *name = cli_text(call, "name");
    uint8_t seed[32];
    tb_note_secret secret;
    tb_error err;
    if (sodium_init() < 0) {
        cli_say(call, "The system gives no random bytes.");
        return tb_code_exit(TB_E_INTERNAL);
    }
    randombytes_buf(seed, sizeof seed);
    tb_code code = tb_note_secret_make(name, strlen(name), TB_NOTE_ED25519, seed, &secret, &err);
    sodium_memzero(seed, sizeof seed);
    if (code) return cli_fail(call, "--name", &err);
    code = write_key(cli_text(call, "new"), &secret, &err);
    if (!code) print_vkey(&secret.key);
    tb_note_secret_wipe(&secret);
    return code ? cli_fail(call, NULL, &err) : cli_done(call);
}

int cli_proof_vkey(const cli_call *call)
{
    tb_note_secret secret;
    tb_error err;
    if (load_key(call, cli_text(call, "key-file"), &secret, &err)) return cli_fail(call, NULL, &err);
    print_vkey(&secret.key);
    tb_note_secret_wipe(&secret);
    return cli_done(call);
}
