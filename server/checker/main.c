/* tollbook-check: checks bundles and receipts offline. Everything that it decides is in engine/check; here are files and words. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker/files.h"
#include "checker/options.h"
#include "checker/trust.h"
#include "http/message.h"

#define SAID_MAX ((size_t)1 << 20)
#define UNABLE 2 /* the exit status */

typedef struct checker {
    checker_options options;
    tb_note_key key;
    bool has_key;
    tb_note_key witnesses[TB_NOTE_SIGNATURES];
    tb_buf since;
    tb_tile_reader tiles;
    trust trust;
} checker;

static int refuse_call(const tb_error *err)
{
    message_put(MESSAGE_ERROR, err->message);
    return UNABLE;
}

/* --- what is trusted --- */

/* text: a key, or the name of a file with one. option: for sentences. */
static tb_code read_key(const char *option, const char *text, tb_note_key *ret, tb_error *err)
{
    tb_buf file;
    tb_error why;
    tb_code code = tb_note_key_read(text, strlen(text), ret, &why);
    if (!code) return TB_OK;
    tb_buf_init(&file, 4096, NULL);
    bool is_key = strchr(text, '+') != NULL;
    if (checker_read(text, &file, err) == TB_OK) {
        size_t len = 0; /* of the first line */
        while (len < file.len && file.data[len] != '\r' && file.data[len] != '\n')
            len++;
        code = tb_note_key_read(file.data, len, ret, &why);
        is_key = file.len && memchr(file.data, '+', file.len) != NULL;
    }
    tb_buf_release(&file);
    if (!code) return TB_OK;
    if (is_key) return tb_fail(err, TB_E_USAGE, NULL, "%s: The key is mistyped: copy the whole line again. (%.160s)", option, why.message);
    return tb_fail(err, TB_E_USAGE, NULL, "%s: %.100s is no public key, and no file with one.", option, text);
}

static tb_code read_keys(checker *c, tb_error *err)
{
    const checker_options *o = &c->options;
    tb_code code = o->key ? read_key("--key", o->key, &c->key, err) : TB_OK;
    c->has_key = o->key != NULL;
    if (!code && c->has_key && c->key.type != TB_NOTE_ED25519)
        code = tb_fail(err, TB_E_USAGE, NULL, "--key: this is the key of a witness. Give it with --witness, and the log's with --key.");
    for (size_t i = 0; !code && i < o->n_witnesses; i++) {
        code = read_key("--witness", o->witnesses[i], &c->witnesses[i], err);
        if (!code && c->witnesses[i].type != TB_NOTE_COSIGNATURE)
            code = tb_fail(err, TB_E_USAGE, NULL, "--witness: %.100s is the key of a log, not of a witness.", o->witnesses[i]);
    }
    return code;
}

static tb_code open_all(checker *c, tb_error *err)
{
    tb_code code = read_keys(c, err);
    tb_buf_init(&c->since, TB_NOTE_MAX, NULL);
    if (!code && c->options.since) code = checker_read(c->options.since, &c->since, err);
    if (c->options.tiles) c->tiles = checker_tiles(c->options.tiles);
    if (!code) code = trust_open(c->options.trust, &c->trust, err);
    return code;
}

/* --- a file --- */

static void say(const checker *c, const tb_check_result *result, const char *file)
{
    tb_buf out;
    tb_buf_init(&out, SAID_MAX, NULL);
    (c->options.json ? tb_check_json : tb_check_say)(result, file, &out);
    if (out.len) fwrite(out.data, 1, out.len, stdout);
    tb_buf_release(&out);
}

static tb_code check_bundle(checker *c, const tb_tollproof *bundle, tb_check_result *ret, tb_error *err)
{
    tb_check_input input = {.bundle = bundle, .key = c->has_key ? &c->key : NULL, .witnesses = c->witnesses,
                            .n_witnesses = c->options.n_witnesses, .tiles = c->options.tiles ? &c->tiles : NULL};
    if (c->options.since)
        input.since[input.n_since++] = (tb_check_since){.name = c->options.since, .note = {c->since.data, c->since.len}};
    trust_use(&c->trust, &input);
    const tb_code code = tb_check_bundle(&input, ret, err);
    return code ? code : trust_learn(&c->trust, &input, ret, err);
}

static int check_file(checker *c, const char *path)
{
    tb_buf file;
    tb_error err;
    tb_tollproof bundle = {0};
    tb_check_result result;
    tb_buf_init(&file, TB_TOLLPROOF_MAX, NULL);
    tb_code code = checker_read(path, &file, &err);
    if (!code) code = tb_tollproof_read(file.data, file.len, &bundle, &err);
    if (!code) code = check_bundle(c, &bundle, &result, &err);
    if (code) tb_check_unread(&err, &result);
    say(c, &result, path);
    tb_tollproof_release(&bundle);
    tb_buf_release(&file);
    return tb_check_status(&result);
}

static int check_files(checker *c)
{
    static const int graver[3][3] = {{0, 1, 2}, {1, 1, 1}, {2, 1, 2}};
    tb_error err;
    int status = 0;
    for (int i = 0; i < c->options.n_files; i++)
        status = graver[status][check_file(c, c->options.files[i])];
    if (trust_save(&c->trust, &err)) status = graver[status][refuse_call(&err)];
    return status;
}

int main(int argc, char **argv)
{
    static checker c;
    tb_error err;
    message_use(&(message_options){.program = "tollbook-check", .least = MESSAGE_INFO, .fixed_us = INT64_MIN});
    if (checker_parse(argc - 1, argv + 1, &c.options, &err)) return refuse_call(&err);
    if (c.options.help) checker_help(stdout);
    else if (c.options.version) printf("tollbook-check %s\nlibsodium %s\n", tb_version(), sodium_version_string());
    int status = 0;
    if (!c.options.help && !c.options.version) {
        if (sodium_init() < 0) return UNABLE;
        status = open_all(&c, &err) ? refuse_call(&err) : check_files(&c);
        trust_close(&c.trust);
        tb_buf_release(&c.since);
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? status : UNABLE;
}
