/* Replication without a server: switches it on for a file, or brings a copy up to date with the file that it was made of.
 *
 *     replay on FILE [MICROSECONDS]    the moment of the first piece
 *     replay standbys FILE              lists three of them
 *     replay follow COPY FILE
 *     replay apply COPY PIECES         a file of pieces as bytes */
#include "tollbook/replica.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(tb_code code, const tb_error *err)
{
    if (!code) return;
    fprintf(stderr, "replay: %s: %s\n", tb_code_name(code), err->message);
    exit(1);
}

static tb_store *open_store(const char *path, bool write, bool copy)
{
    const tb_store_options options = {.write = write, .copy = copy, .owner = "replay"};
    tb_error err = {0};
    tb_store *store;
    check(tb_store_open(path, &options, &store, &err), &err);
    return store;
}

static tb_code switch_on(tb_store *store, void *ctx, tb_error *err)
{
    return tb_store_replicate(store, *(const int64_t *)ctx, err);
}

static bool apply(void *ctx, const tb_piece *piece)
{
    tb_error err = {0};
    check(tb_store_apply_piece(ctx, piece, &err), &err);
    return true;
}

/* Of rows that the tests change. */
static tb_code list_standbys(tb_store *store, void *ctx, tb_error *err)
{
    tb_code code = TB_OK;
    for (int i = 1; !code && i <= *(int *)ctx; i++) {
        tb_standby one = {.schema = tb_store_schema()};
        snprintf(one.name, sizeof one.name, "standby-%d", i);
        snprintf(one.url, sizeof one.url, "https://standby-%d.example", i);
        code = tb_store_standby_add(store, &one, err);
    }
    return code;
}

static void follow(const char *copy, const char *file)
{
    tb_store *to = open_store(copy, true, true), *from = open_store(file, false, false);
    tb_replication state, of_from;
    tb_error err = {0};
    check(tb_store_replication(to, &state, &err), &err);
    check(tb_store_pieces(from, state.last.number, apply, to, &err), &err);
    check(tb_store_replication(to, &state, &err), &err);
    check(tb_store_replication(from, &of_from, &err), &err);
    printf("%lld pieces, %lld bytes\n", (long long)state.last.number, (long long)state.bytes);
    if (state.last.number != of_from.last.number || state.bytes != of_from.bytes ||
        memcmp(state.last.chain, of_from.last.chain, sizeof state.last.chain) != 0)
        exit(1);
    tb_store_close(from);
    tb_store_close(to);
}

static void apply_bytes(const char *copy, const char *path)
{
    static char bytes[16 << 20];
    FILE *file = fopen(path, "rb");
    const size_t len = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    tb_store *to = open_store(copy, true, true);
    tb_error err = {0};
    if (file) fclose(file);
    for (size_t at = 0, n; at < len; at += n) {
        tb_piece piece;
        check(tb_piece_read(bytes + at, len - at, &piece, &n, &err), &err);
        if (n == 0) exit(1);
        apply(to, &piece);
    }
    tb_store_close(to);
}

int main(int argc, char **argv)
{
    tb_error err = {0};
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "on") == 0) {
        int64_t now_us = argc == 4 ? strtoll(argv[3], NULL, 10) : INT64_C(1788220800000000); /* 1 September 2026 */
        tb_store *store = open_store(argv[2], true, false);
        check(tb_store_write(store, switch_on, &now_us, &err), &err);
        tb_store_close(store);
    } else if (argc == 3 && strcmp(argv[1], "standbys") == 0) {
        int n = 3;
        tb_store *store = open_store(argv[2], true, false);
        check(tb_store_write(store, list_standbys, &n, &err), &err);
        tb_store_close(store);
    } else if (argc == 4 && strcmp(argv[1], "follow") == 0) {
        follow(argv[2], argv[3]);
    } else if (argc == 4 && strcmp(argv[1], "apply") == 0) {
        apply_bytes(argv[2], argv[3]);
    } else {
        return 2;
    }
    return 0;
}
