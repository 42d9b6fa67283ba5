/* Merkle trees and tiles: published vectors, every proof of small trees against the recursion that RFC 6962 writes, trees of up
 * to 2^63 - 1 entries, tiles as a tree grows, paths and bundles. */
#include "tollbook/proof.h"

#include "seed.h"

#include <check.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1025 /* entries of the trees that are proved whole */

/* --- the oracle: RFC 6962, 2.1, as it stands there --- */

/* [h][i]: MTH of the entries from i * 2^h to (i + 1) * 2^h. */
static tb_merkle_hash whole[11][MOST];

static int64_t split(int64_t n)
{
    int64_t k = 1;
    while (2 * k < n)
        k *= 2;
    return k;
}

static tb_merkle_hash mth(int64_t from, int64_t to)
{
    if (to == from) return tb_merkle_empty();
    for (int h = 0; h < 11; h++)
        if (to - from == 1 << h && from % (1 << h) == 0) return whole[h][from >> h];
    const int64_t k = split(to - from);
    const tb_merkle_hash left = mth(from, from + k), right = mth(from + k, to);
    return tb_merkle_node(&left, &right);
}

static void path(int64_t m, int64_t from, int64_t to, tb_merkle_proof *proof)
{
    if (to - from == 1) return;
    const int64_t k = split(to - from);
    const bool left = m < k;
    if (left) path(m, from, from + k, proof);
    else path(m - k, from + k, to, proof);
    proof->hashes[proof->n++] = left ? mth(from + k, to) : mth(from, from + k);
}

static void subproof(int64_t m, int64_t from, int64_t to, bool known, tb_merkle_proof *proof)
{
    if (m == to - from) {
        if (!known) proof->hashes[proof->n++] = mth(from, to);
        return;
    }
    const int64_t k = split(to - from);
    const bool left = m <= k;
    if (left) subproof(m, from, from + k, known, proof);
    else subproof(m - k, from + k, to, false, proof);
    proof->hashes[proof->n++] = left ? mth(from + k, to) : mth(from, from + k);
}

/* Tiles out of the oracle's nodes. Each read is checked: it is of a tile that the tree has, in its width. */
typedef struct shelf {
    int64_t size;
    int reads;
} shelf;

static tb_code read_shelf(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err)
{
    shelf *s = ctx;
    (void)err;
    ck_assert(tile->level == 0 || tile->level == 1);
    ck_assert_int_gt(tile->width, 0);
    ck_assert_int_eq(tile->width, tb_tile_width(s->size, tile->level, tile->index));
    memcpy(hashes, &whole[8 * tile->level][TB_TILE_WIDTH * tile->index], (size_t)tile->width * sizeof *hashes);
    s->reads++;
    return TB_OK;
}

static void grow_oracle(void)
{
    for (int64_t i = 0; i < MOST; i++) {
        char entry[32];
        whole[0][i] = tb_merkle_leaf(entry, (size_t)snprintf(entry, sizeof entry, "leaf %d", (int)i));
    }
    for (int h = 1; h < 11; h++)
        for (int64_t i = 0; i < MOST >> h; i++)
            whole[h][i] = tb_merkle_node(&whole[h - 1][2 * i], &whole[h - 1][2 * i + 1]);
}

static bool same_proof(const tb_merkle_proof *a, const tb_merkle_proof *b)
{
    return a->n == b->n && memcmp(a->hashes, b->hashes, a->n * sizeof *a->hashes) == 0;
}

/* --- published vectors: the ones of Certificate Transparency's own test of its trees --- */

static const char *const ct_entries[8] = {"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
static const char *const ct_roots[9] = {
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
};
#define LEAF_0   "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0="
#define LEAF_1   "lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c="
#define LEAF_4   "vBoGQ7EuTS18d5GPROD095qDi2z57FtcKD4fTYhZnms="
#define NODE_01  "+sVCA+fMaWzw38tCySodnbr3CtnmIfS9jZhmLwDjwSU="
#define NODE_23  "Xwg/ChozygdqlSeYMlgNs+DvRYS9/x9UyKNg9Q3jAx4="
#define NODE_45  "DrxdNDf74tsVi58Sah0RjjCBgQMdCpSfje3t68VY72o="
#define NODE_67  "yoVOoSjtBQtBs1/8G4e46yveRh6eO1WW7Oa51ZdaCuA="
#define NODE_0_3 "037kGJdt2VdTwcc4Yrk5j6Kiz5tP8P3+izDNlSCWFLc="
#define NODE_4_7 "a0eq8p7jwq+a+Im8H7klTavTEXfxYjLdaqsDXKOb9uQ="
#define LEAF_6   "sIaT7C5yFZcTBkHoIR5+7cy0wmQTlj7ubB4u0W/7Gl8="

static const struct ct_proof {
    bool grows; /* from `first` entries; else it is entry `first` */
    int64_t first, size;
    const char *hashes[4];
} ct_proofs[] = {
    {false, 0, 1, {NULL}},
    {false, 0, 8, {LEAF_1, NODE_23, NODE_4_7}},
    {false, 5, 8, {LEAF_4, NODE_67, NODE_0_3}},
    {false, 2, 3, {NODE_01}},
    {false, 1, 5, {LEAF_0, NODE_23, LEAF_4}},
    {true, 1, 1, {NULL}},
    {true, 1, 8, {LEAF_1, NODE_23, NODE_4_7}},
    {true, 6, 8, {NODE_45, NODE_67, NODE_0_3}},
    {true, 2, 5, {NODE_23, LEAF_4}},
    {true, 6, 7, {NODE_45, LEAF_6, NODE_0_3}},
};

static tb_merkle_hash hash_of_hex(const char *hex)
{
    tb_merkle_hash hash;
    ck_assert_int_eq(sodium_hex2bin(hash.bytes, 32, hex, 64, NULL, NULL, NULL), 0);
    return hash;
}

static tb_code read_leaves(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err)
{
    (void)err;
    ck_assert(tile->level == 0 && tile->index == 0);
    memcpy(hashes, ctx, (size_t)tile->width * sizeof *hashes);
    return TB_OK;
}

START_TEST(trees_are_those_of_certificate_transparency)
{
    tb_merkle_hash leaves[8], root, roots[9];
    const tb_tile_reader reader = {read_leaves, leaves};
    tb_merkle_edge *edge = calloc(1, sizeof *edge);
    for (int n = 0; n <= 8; n++) {
        roots[n] = hash_of_hex(ct_roots[n]);
        root = tb_merkle_edge_root(edge);
        ck_assert(tb_merkle_same(&root, &roots[n]));
        ck_assert_int_eq(tb_merkle_root(&reader, n, &root, NULL), TB_OK);
        ck_assert(tb_merkle_same(&root, &roots[n]));
        if (n == 8) break;
        uint8_t entry[16];
        size_t len;
        sodium_hex2bin(entry, sizeof entry, ct_entries[n], strlen(ct_entries[n]), NULL, &len, NULL);
        leaves[n] = tb_merkle_leaf(entry, len);
        ck_assert_int_eq(tb_merkle_append(edge, &leaves[n], NULL, NULL), TB_OK);
    }
    for (size_t i = 0; i < sizeof ct_proofs / sizeof *ct_proofs; i++) {
        const struct ct_proof *p = &ct_proofs[i];
        tb_merkle_proof proof;
        ck_assert_int_eq(p->grows ? tb_merkle_prove_growth(&reader, p->first, p->size, &proof, NULL)
                                  : tb_merkle_prove_entry(&reader, p->size, p->first, &proof, NULL),
                         TB_OK);
        for (size_t h = 0; h < proof.n; h++) {
            char text[TB_MERKLE_BASE64];
            tb_merkle_write(&proof.hashes[h], text);
            ck_assert_str_eq(text, p->hashes[h]);
        }
        ck_assert(!p->hashes[proof.n]);
        ck_assert(p->grows ? tb_merkle_extends(p->first, &roots[p->first], p->size, &roots[p->size], &proof)
                           : tb_merkle_includes(p->size, &roots[p->size], p->first, &leaves[p->first], &proof));
    }
    free(edge);
}
END_TEST

START_TEST(a_hash_is_read_from_base64_alone)
{
    tb_merkle_hash hash;
    ck_assert(tb_merkle_read(LEAF_0, 44, &hash));
    static const char *const wrong[] = {
        "", "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0", "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0==",
        "bjQLnP-zepicpUTmu3gKLHiQHT-zNzh2hRGjBhevoB0=", "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB1=",
        " bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=", "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoAAA",
        "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoA==",
        /* What libsodium takes for letters. */
        "Cs\xff\xffT\xca"
        "8\xa8\x99\xd1"
        "4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=",
        "\xffjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0="};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!tb_merkle_read(wrong[i], strlen(wrong[i]), &hash), "%s", wrong[i]);
}
END_TEST

/* --- small trees, whole --- */

/* The long form takes everything. The short one takes trees that are small, or beside a whole number of tiles, and of larger
 * ones a part; a sanitizer's build less. */
static bool is_taken(int64_t size)
{
    return test_long() || size <= 33 || (size + 1) % 256 <= 2 || size % 97 == 0;
}

static int64_t part(int64_t usual)
{
    return test_long() ? 1 : usual * TB_PART;
}

static void prove_entry(const tb_tile_reader *reader, int64_t size, int64_t index, const tb_merkle_hash *root)
{
    shelf *s = reader->ctx;
    tb_merkle_proof proof, expected = {.n = 0};
    s->reads = 0;
    ck_assert_int_eq(tb_merkle_prove_entry(reader, size, index, &proof, NULL), TB_OK);
    path(index, 0, size, &expected);
    ck_assert_msg(same_proof(&proof, &expected), "entry %d of %d", (int)index, (int)size);
    ck_assert_int_le(s->reads, 4); /* two levels, over the entry and at the edge */
    ck_assert(tb_merkle_includes(size, root, index, &whole[0][index], &proof));
    ck_assert(!tb_merkle_includes(size, root, index ^ 1, &whole[0][index], &proof) || size == 1);
}

START_TEST(every_entry_of_small_trees_is_proved)
{
    shelf s;
    const tb_tile_reader reader = {read_shelf, &s};
    for (int64_t size = 0; size <= MOST; size++) {
        if (!is_taken(size)) continue;
        tb_merkle_hash root;
        const tb_merkle_hash expected = mth(0, size);
        s = (shelf){.size = size};
        ck_assert_int_eq(tb_merkle_root(&reader, size, &root, NULL), TB_OK);
        ck_assert(tb_merkle_same(&root, &expected));
        ck_assert_int_le(s.reads, 2);
        const int64_t step = size > 33 ? part(6) : 1;
        for (int64_t index = size % step; index < size; index += step)
            prove_entry(&reader, size, index, &root);
    }
}
END_TEST

static void prove_growth(int64_t old_size, int64_t size, const tb_merkle_hash *roots)
{
    shelf s = {.size = size};
    const tb_tile_reader reader = {read_shelf, &s};
    tb_merkle_proof proof, expected = {.n = 0};
    ck_assert_int_eq(tb_merkle_prove_growth(&reader, old_size, size, &proof, NULL), TB_OK);
    if (old_size > 0) subproof(old_size, 0, size, true, &expected);
    ck_assert_msg(same_proof(&proof, &expected), "%d to %d", (int)old_size, (int)size);
    ck_assert_int_le(s.reads, 4);
    ck_assert(tb_merkle_extends(old_size, &roots[old_size], size, &roots[size], &proof));
    if (old_size == size) return;
    ck_assert(!tb_merkle_extends(old_size, &roots[size], size, &roots[size], &proof));
    if (old_size > 0) ck_assert(!tb_merkle_extends(old_size, &roots[old_size], size, &roots[old_size], &proof));
}

/* All pairs to 300. */
START_TEST(growth_of_small_trees_is_proved)
{
    static tb_merkle_hash roots[301];
    for (int64_t size = 0; size <= 300; size++) {
        roots[size] = mth(0, size);
        const int64_t step = size > 33 ? part(5) : 1;
        for (int64_t old_size = size % step; old_size <= size; old_size += step)
            prove_growth(old_size, size, roots);
    }
}
END_TEST

/* One bit of each hash, a hash less, more or moved: nothing of it is a proof. */
START_TEST(a_changed_proof_proves_nothing)
{
    static const int64_t sizes[] = {2, 3, 7, 8, 100, 256, 257, 1025};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t size = sizes[i], index = size * 2 / 3, old_size = size * 2 / 3;
        const tb_merkle_hash root = mth(0, size), old_root = mth(0, old_size);
        tb_merkle_proof entry = {.n = 0}, growth = {.n = 0};
        path(index, 0, size, &entry);
        subproof(old_size, 0, size, true, &growth);
        tb_merkle_proof *const proofs[] = {&entry, &growth};
        for (int p = 0; p < 2; p++) {
            tb_merkle_proof *proof = proofs[p];
#define PROVES                                                                                                            \
    (p ? tb_merkle_extends(old_size, &old_root, size, &root, proof)                                                        \
       : tb_merkle_includes(size, &root, index, &whole[0][index], proof))
            ck_assert(PROVES);
            for (size_t h = 0; h < proof->n; h++) {
                proof->hashes[h].bytes[h % 32] ^= 16;
                ck_assert(!PROVES);
                proof->hashes[h].bytes[h % 32] ^= 16;
            }
            proof->hashes[proof->n++] = root;
            ck_assert(!PROVES);
            proof->n -= 2;
            ck_assert(!PROVES);
            proof->n = TB_MERKLE_PROOF_MAX + 1;
            ck_assert(!PROVES);
        }
    }
}
END_TEST

START_TEST(sizes_that_cannot_be_are_refused)
{
    shelf s = {.size = 8};
    const tb_tile_reader reader = {read_shelf, &s};
    tb_merkle_proof proof = {.n = 0};
    tb_merkle_hash hash;
    tb_error err;
    const tb_merkle_hash root = mth(0, 8), empty = tb_merkle_empty();
    ck_assert_int_eq(tb_merkle_root(&reader, -1, &hash, &err), TB_E_VALIDATION);
    ck_assert_int_eq(tb_merkle_prove_entry(&reader, 8, 8, &proof, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "index");
    ck_assert_int_eq(tb_merkle_prove_entry(&reader, 8, -1, &proof, &err), TB_E_VALIDATION);
    ck_assert_int_eq(tb_merkle_prove_entry(&reader, 0, 0, &proof, &err), TB_E_VALIDATION);
    ck_assert_int_eq(tb_merkle_prove_growth(&reader, 9, 8, &proof, &err), TB_E_VALIDATION);
    ck_assert_int_eq(tb_merkle_prove_growth(&reader, -1, 8, &proof, &err), TB_E_VALIDATION);
    ck_assert(!tb_merkle_includes(0, &empty, 0, &root, &proof));
    ck_assert(!tb_merkle_includes(1, &root, -1, &root, &proof));
    ck_assert(!tb_merkle_includes(1, &root, 1, &root, &proof));
    ck_assert(tb_merkle_extends(0, &empty, 8, &root, &proof));
    ck_assert(!tb_merkle_extends(0, &root, 8, &root, &proof));
    ck_assert(!tb_merkle_extends(3, &root, 8, &root, &proof));
    ck_assert(!tb_merkle_extends(9, &root, 8, &root, &proof));
    ck_assert(!tb_merkle_extends(-1, &root, 8, &root, &proof));
}
END_TEST

/* A proof that ends too soon, although what it comes to is the root; hashes where none belong. */
START_TEST(a_proof_has_its_length)
{
    const tb_merkle_hash *leaf = &whole[0][0];
    const tb_merkle_hash node = mth(0, 2), empty = tb_merkle_empty();
    tb_merkle_proof proof = {.n = 0, .hashes = {whole[0][1]}};
    ck_assert(tb_merkle_includes(1, leaf, 0, leaf, &proof));
    ck_assert(!tb_merkle_includes(2, leaf, 0, leaf, &proof));
    ck_assert(!tb_merkle_extends(1, leaf, 2, leaf, &proof));
    ck_assert(tb_merkle_extends(2, &node, 2, &node, &proof));
    ck_assert(!tb_merkle_extends(2, &node, 2, leaf, &proof));
    proof.n = 1;
    ck_assert(tb_merkle_includes(2, &node, 0, leaf, &proof));
    ck_assert(!tb_merkle_includes(3, &node, 0, leaf, &proof));
    ck_assert(tb_merkle_extends(1, leaf, 2, &node, &proof));
    ck_assert(!tb_merkle_extends(1, leaf, 3, &node, &proof));
    ck_assert(!tb_merkle_extends(2, &node, 2, &node, &proof));
    ck_assert(!tb_merkle_extends(0, &empty, 2, &node, &proof));
}
END_TEST

/* --- large trees: of entries that are all the same, so that a whole node is known by its height --- */

static tb_merkle_hash alike[64];

static tb_code read_alike(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err)
{
    shelf *s = ctx;
    (void)err;
    ck_assert_int_eq(tile->width, tb_tile_width(s->size, tile->level, tile->index));
    for (int32_t i = 0; i < tile->width; i++)
        hashes[i] = alike[8 * tile->level];
    s->reads++;
    return TB_OK;
}

static uint64_t next_random(uint64_t *state) /* xorshift64 */
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void prove_large(int64_t size, int64_t index)
{
    shelf s = {.size = size};
    const tb_tile_reader reader = {read_alike, &s};
    tb_merkle_hash root, old_root;
    tb_merkle_proof proof;
    ck_assert_int_eq(tb_merkle_root(&reader, size, &root, NULL), TB_OK);
    ck_assert_int_le(s.reads, 8);
    s.reads = 0;
    ck_assert_int_eq(tb_merkle_prove_entry(&reader, size, index, &proof, NULL), TB_OK);
    ck_assert_int_le(s.reads, 16);
    ck_assert_uint_lt(proof.n, TB_MERKLE_PROOF_MAX);
    ck_assert_uint_le(proof.n, size <= 100000000 ? 27 : 63);
    ck_assert(tb_merkle_includes(size, &root, index, &alike[0], &proof));
    s.size = index + 1;
    ck_assert_int_eq(tb_merkle_root(&reader, s.size, &old_root, NULL), TB_OK);
    s = (shelf){.size = size};
    ck_assert_int_eq(tb_merkle_prove_growth(&reader, index + 1, size, &proof, NULL), TB_OK);
    ck_assert_int_le(s.reads, 16);
    ck_assert(tb_merkle_extends(index + 1, &old_root, size, &root, &proof));
}

START_TEST(trees_may_have_2_to_the_63_entries)
{
    uint64_t seed = test_seed();
    static const int64_t sizes[] = {100000000, INT64_MAX, INT64_C(1) << 62, (INT64_C(1) << 62) + 1, INT64_C(1) << 32, (INT64_C(1) << 56) - 1};
    alike[0] = tb_merkle_leaf("x", 1);
    for (int h = 1; h < 64; h++)
        alike[h] = tb_merkle_node(&alike[h - 1], &alike[h - 1]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        prove_large(sizes[i], 0);
        prove_large(sizes[i], sizes[i] - 1);
        prove_large(sizes[i], sizes[i] / 2);
        for (int round = 0; round < (test_long() ? 1000 : 10); round++)
            prove_large(sizes[i], (int64_t)(next_random(&seed) % (uint64_t)sizes[i]));
    }
}
END_TEST

/* --- a tree that grows --- */

/* What the writer gave: the widest tile of each index of two levels. */
typedef struct written {
    tb_merkle_hash hashes[2][5][TB_TILE_WIDTH];
    int width[2][5], writes, fail_at;
} written;

static tb_code write_tile(void *ctx, const tb_tile *tile, const tb_merkle_hash *hashes, tb_error *err)
{
    written *w = ctx;
    if (++w->writes == w->fail_at) return tb_fail(err, TB_E_IO, NULL, NULL);
    ck_assert(tile->level < 2 && tile->index < 5);
    ck_assert_int_gt(tile->width, w->width[tile->level][tile->index]);
    w->width[tile->level][tile->index] = tile->width;
    memcpy(w->hashes[tile->level][tile->index], hashes, (size_t)tile->width * sizeof *hashes);
    return TB_OK;
}

static tb_code read_written(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err)
{
    written *w = ctx;
    (void)err;
    ck_assert_int_ge(w->width[tile->level][tile->index], tile->width);
    memcpy(hashes, w->hashes[tile->level][tile->index], (size_t)tile->width * sizeof *hashes);
    return TB_OK;
}

static void check_tiles(const written *w, int64_t size)
{
    for (int level = 0; level < 2; level++)
        for (int64_t index = 0; index < 5; index++) {
            const int32_t width = tb_tile_width(size, level, index);
            ck_assert_int_eq(w->width[level][index], width);
            ck_assert(!memcmp(w->hashes[level][index], &whole[8 * level][TB_TILE_WIDTH * index], (size_t)width * sizeof(tb_merkle_hash)));
        }
}

/* In steps of one entry, of many, and loaded again in between: the tiles are those of the size. */
START_TEST(appended_entries_make_the_tiles)
{
    static const int steps[] = {1, 7, 255, 256, 300, MOST};
    tb_merkle_edge *edge = malloc(sizeof *edge);
    written *w = malloc(sizeof *w);
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        const tb_tile_writer writer = {write_tile, w};
        const tb_tile_reader reader = {read_written, w};
        memset(w, 0, sizeof *w);
        memset(edge, 0, sizeof *edge);
        while (edge->size < MOST) {
            for (int i = 0; i < steps[s] && edge->size < MOST; i++)
                ck_assert_int_eq(tb_merkle_append(edge, &whole[0][edge->size], &writer, NULL), TB_OK);
            ck_assert_int_eq(tb_merkle_flush(edge, &writer, NULL), TB_OK);
            check_tiles(w, edge->size);
            const tb_merkle_hash root = tb_merkle_edge_root(edge), expected = mth(0, edge->size);
            ck_assert(tb_merkle_same(&root, &expected));
            const int before = w->writes;
            ck_assert_int_eq(tb_merkle_flush(edge, &writer, NULL), TB_OK);
            ck_assert_int_eq(w->writes, before);
            const int64_t size = edge->size;
            memset(edge, 255, sizeof *edge);
            ck_assert_int_eq(tb_merkle_edge_load(edge, size, &reader, NULL), TB_OK);
        }
    }
    free(w);
    free(edge);
}
END_TEST

static tb_code fail_to_read(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err)
{
    (void)hashes, (void)tile;
    return --*(int *)ctx < 0 ? tb_fail(err, TB_E_IO, NULL, "gone") : read_alike(&(shelf){.size = INT64_MAX}, tile, hashes, err);
}

START_TEST(failures_of_reader_and_writer_are_handed_on)
{
    int left;
    const tb_tile_reader reader = {fail_to_read, &left};
    tb_merkle_edge *edge = calloc(1, sizeof *edge);
    written *w = calloc(1, sizeof *w);
    const tb_tile_writer writer = {write_tile, w};
    tb_merkle_proof proof;
    tb_merkle_hash root;
    tb_error err;
    for (int fail = 0; fail < 8; fail++) {
        ck_assert_int_eq((left = fail, tb_merkle_root(&reader, INT64_MAX, &root, &err)), TB_E_IO);
        ck_assert_str_eq(err.message, "gone");
        ck_assert_int_eq((left = fail, tb_merkle_prove_entry(&reader, INT64_MAX, 5, &proof, &err)), TB_E_IO);
        ck_assert_int_eq((left = fail, tb_merkle_prove_growth(&reader, 5, INT64_MAX, &proof, &err)), TB_E_IO);
        ck_assert_int_eq((left = fail, tb_merkle_edge_load(edge, INT64_MAX, &reader, &err)), TB_E_IO);
    }
    left = 8;
    ck_assert_int_eq(tb_merkle_edge_load(edge, INT64_MAX, &reader, &err), TB_OK);
    ck_assert_int_eq(tb_merkle_append(edge, &root, NULL, &err), TB_E_TOO_LARGE);
    ck_assert_int_eq(tb_merkle_edge_load(edge, -1, &reader, &err), TB_E_VALIDATION);
    ck_assert_int_eq((left = 0, tb_merkle_edge_load(edge, 0, &reader, &err)), TB_OK);
    ck_assert(edge->size == 0 && edge->written == 0);
    w->fail_at = 1;
    for (int i = 0; i < 255; i++)
        ck_assert_int_eq(tb_merkle_append(edge, &whole[0][i], &writer, &err), TB_OK);
    ck_assert_int_eq(tb_merkle_flush(edge, &writer, &err), TB_E_IO);
    w->fail_at = 2;
    ck_assert_int_eq(tb_merkle_append(edge, &whole[0][255], &writer, &err), TB_E_IO);
    free(w);
    free(edge);
}
END_TEST

/* --- paths, widths, bundles --- */

static const struct {
    const char *path;
    tb_tile tile;
} paths[] = {
    {"tile/0/x001/x234/067", {0, 256, 1234067}},
    {"tile/4/001", {4, 256, 1}},
    {"tile/4/001.p/5", {4, 5, 1}},
    {"tile/5/x123/x456/078.p/255", {5, 255, 123456078}},
    {"tile/0/000.p/1", {0, 1, 0}},
    {"tile/0/999", {0, 256, 999}},
    {"tile/0/x001/000", {0, 256, 1000}},
    {"tile/0/x001/x000/000", {0, 256, 1000000}},
    {"tile/entries/x003/x057/500", {TB_TILE_ENTRIES, 256, 3057500}},
    {"tile/entries/000.p/17", {TB_TILE_ENTRIES, 17, 0}},
    {"tile/63/x009/x223/x372/x036/x854/x775/807.p/9", {63, 9, INT64_MAX}},
};
static const char *const no_paths[] = {
    "", "tile", "tile/", "tile/0", "tile/0/", "tile/0/1", "tile/0/01", "tile/0/0001", "tile/00/001", "tile/64/001", "tile/-1/001",
    "tile/+1/001", "/tile/0/001", "tile/0/001/", "tile/0/x001", "tile/0/x000/001", "tile/0/001/002", "tile/0/X001/002",
    "tile/0/123/456/078", "tile/0/001.p/0", "tile/0/001.p/256", "tile/0/001.p/05", "tile/0/001.p/", "tile/0/001.p", "tile/0/001.p/5/",
    "tile/data/001", "tile/entries", "tile/entries/x001/x002", "tile/0/x00a/001", "tile/0/00 ", "tile/0/x001//002",
    "tile/0/x009/x223/x372/x036/x854/x775/808", "tile/0/x001/x000/x000/x000/x000/x000/x000/000", "tile/0/x",
    "tile/0/x999/x999/x999/x999/x999/x999/x999/x999/x999/x999/x999/x999/999",
};

START_TEST(tiles_have_their_paths)
{
    tb_tile tile;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char text[TB_TILE_PATH];
        tb_tile_path(&paths[i].tile, text);
        ck_assert_str_eq(text, paths[i].path);
        ck_assert(tb_tile_path_read(text, strlen(text), &tile));
        ck_assert_int_eq(tile.level, paths[i].tile.level);
        ck_assert_int_eq(tile.width, paths[i].tile.width);
        ck_assert_int_eq(tile.index, paths[i].tile.index);
    }
    for (size_t i = 0; i < sizeof no_paths / sizeof *no_paths; i++)
        ck_assert_msg(!tb_tile_path_read(no_paths[i], strlen(no_paths[i]), &tile), "%s", no_paths[i]);
}
END_TEST

/* The example of c2sp.org/tlog-tiles, and its note on 256. */
START_TEST(a_tree_has_its_tiles)
{
    static const struct {
        int64_t size;
        int32_t level;
        int64_t index;
        int32_t width;
    } rows[] = {
        {70000, 0, 272, 256}, {70000, 0, 273, 112}, {70000, 0, 274, 0}, {70000, 1, 0, 256}, {70000, 1, 1, 17}, {70000, 1, 2, 0},
        {70000, 2, 0, 1}, {70000, 2, 1, 0}, {70000, 3, 0, 0}, {256, 0, 0, 256}, {256, 0, 1, 0}, {256, 1, 0, 1}, {0, 0, 0, 0},
        {70000, TB_TILE_ENTRIES, 273, 112}, {INT64_MAX, 7, 0, 127}, {INT64_MAX, 8, 0, 0}, {INT64_MAX, 63, 0, 0},
        {INT64_MAX, 0, INT64_MAX, 0}, {INT64_MAX, 0, INT64_MAX >> 8, 255}, {-1, 0, 0, 0}, {5, -2, 0, 0}, {5, 0, -1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(tb_tile_width(rows[i].size, rows[i].level, rows[i].index), rows[i].width);
}
END_TEST

START_TEST(bundles_give_their_entries_back)
{
    tb_buf bundle;
    tb_text entry;
    size_t at = 0;
    static char longest[TB_MERKLE_ENTRY_MAX + 1];
    const size_t lengths[] = {0, 1, 255, 256, TB_MERKLE_ENTRY_MAX};
    memset(longest, 'x', sizeof longest);
    tb_buf_init(&bundle, TB_BUNDLE_MAX, NULL);
    for (int i = 0; i < 5; i++)
        tb_bundle_add(&bundle, longest, lengths[i]);
    ck_assert_int_eq(tb_buf_check(&bundle, NULL), TB_OK);
    ck_assert(memcmp(bundle.data, "\0\0\0\1x\0\xffx", 8) == 0);
    for (int i = 0; i < 5; i++) {
        ck_assert(tb_bundle_next((tb_text){bundle.data, bundle.len}, &at, &entry));
        ck_assert_uint_eq(entry.len, lengths[i]);
    }
    ck_assert(!tb_bundle_next((tb_text){bundle.data, bundle.len}, &at, &entry));
    ck_assert_uint_eq(at, bundle.len);
    /* Cut short in the length and in the second entry, which begins at 2 and has one byte. */
    for (size_t len = 3; len < 5; len++) {
        at = 2;
        ck_assert(!tb_bundle_next((tb_text){bundle.data, len}, &at, &entry));
        ck_assert_uint_eq(at, 2);
    }
    for (at = 0; at < 2; at++) /* not even a length */
        ck_assert(!tb_bundle_next((tb_text){bundle.data, at}, &(size_t){0}, &entry));
    tb_bundle_add(&bundle, longest, sizeof longest);
    ck_assert(bundle.failed);
    tb_buf_release(&bundle);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("proof tree");
    TCase *tc = tcase_create("trees");
    grow_oracle();
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, trees_are_those_of_certificate_transparency);
    tcase_add_test(tc, a_hash_is_read_from_base64_alone);
    tcase_add_test(tc, every_entry_of_small_trees_is_proved);
    tcase_add_test(tc, growth_of_small_trees_is_proved);
    tcase_add_test(tc, a_changed_proof_proves_nothing);
    tcase_add_test(tc, sizes_that_cannot_be_are_refused);
    tcase_add_test(tc, a_proof_has_its_length);
    tcase_add_test(tc, trees_may_have_2_to_the_63_entries);
    tcase_add_test(tc, appended_entries_make_the_tiles);
    tcase_add_test(tc, failures_of_reader_and_writer_are_handed_on);
    tcase_add_test(tc, tiles_have_their_paths);
    tcase_add_test(tc, a_tree_has_its_tiles);
    tcase_add_test(tc, bundles_give_their_entries_back);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
