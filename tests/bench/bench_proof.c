/* The log's pure part, by seconds of processor: appending, proofs from a log of 100 million entries, opening a checkpoint.
 *
 * usage: bench_proof ROUNDS
 *
 * The entries are all the same, so that each tile is known without the others. Prints the mean of each in microseconds. */
#include "measure.h"
#include "tollbook/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ENTRIES INT64_C(100000000)

static tb_merkle_hash alike[TB_TILE_LEVELS]; /* of a tile's hashes, by level */

static void must(tb_code code)
{
    if (code) bench_fail("%s", tb_code_text(code));
}

static tb_code read_tile(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err)
{
    (void)ctx, (void)err;
    for (int32_t i = 0; i < tile->width; i++)
        hashes[i] = alike[tile->level];
    return TB_OK;
}

static double now(void) /* seconds of processor */
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0) bench_fail("no clock");
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(const char *what, double from, int64_t n)
{
    printf("%-12s %8.2f us\n", what, (now() - from) * 1e6 / (double)n);
}

static void append(int64_t n, const tb_merkle_hash *leaf)
{
    tb_merkle_edge *edge = calloc(1, sizeof *edge);
    if (!edge) bench_fail("no memory");
    const double from = now();
    for (int64_t i = 0; i < n; i++)
        must(tb_merkle_append(edge, leaf, NULL, NULL));
    report("append", from, n);
    free(edge);
}

static void prove(int64_t rounds, const tb_merkle_hash *leaf)
{
    const tb_tile_reader reader = {read_tile, NULL};
    tb_merkle_proof proof;
    tb_merkle_hash root;
    size_t most = 0;
    double from = now();
    for (int64_t i = 0; i < rounds; i++) {
        must(tb_merkle_prove_entry(&reader, ENTRIES, i * 7919 % ENTRIES, &proof, NULL));
        if (proof.n > most) most = proof.n;
    }
    report("entry", from, rounds);
    must(tb_merkle_root(&reader, ENTRIES, &root, NULL));
    must(tb_merkle_prove_entry(&reader, ENTRIES, ENTRIES / 3, &proof, NULL));
    from = now();
    for (int64_t i = 0; i < rounds; i++)
        if (!tb_merkle_includes(ENTRIES, &root, ENTRIES / 3, leaf, &proof)) bench_fail("the proof is wrong");
    report("verify", from, rounds);
    from = now();
    for (int64_t i = 1; i <= rounds; i++)
        must(tb_merkle_prove_growth(&reader, i * 7919 % ENTRIES, ENTRIES, &proof, NULL));
    report("growth", from, rounds);
    printf("%-12s %8zu hashes at most\n", "proof", most);
}

static void open_checkpoint(int64_t rounds, const tb_merkle_hash *root)
{
    const uint8_t seed[32] = {1};
    tb_note_secret secret;
    tb_buf out;
    tb_note note;
    tb_checkpoint checkpoint = {.origin = {"example.com/log", 15}, .size = ENTRIES, .root = *root};
    must(tb_note_secret_make("example.com/log", 15, TB_NOTE_ED25519, seed, &secret, NULL));
    tb_note_signer signer = {.key = secret.key};
    tb_buf_init(&out, TB_NOTE_MAX, NULL);
    tb_checkpoint_sign(&checkpoint, &secret, &out);
    const double from = now();
    for (int64_t i = 0; i < rounds; i++) {
        must(tb_note_read(out.data, out.len, &note, NULL));
        must(tb_checkpoint_open(&note, &signer, 1, &checkpoint, NULL));
    }
    report("checkpoint", from, rounds);
    tb_buf_release(&out);
}

int main(int argc, char **argv)
{
    if (argc != 2) bench_fail("usage: bench_proof ROUNDS");
    const int64_t rounds = bench_number(argv[1], 1, 1000000);
    tb_merkle_hash node = tb_merkle_leaf("x", 1);
    for (int height = 0; height < 8 * TB_TILE_LEVELS; height++) {
        if (height % 8 == 0) alike[height / 8] = node;
        node = tb_merkle_node(&node, &node);
    }
    append(rounds * 1000, &alike[0]);
    prove(rounds, &alike[0]);
    open_checkpoint(rounds, &alike[0]);
    return 0;
}
