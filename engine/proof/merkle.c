/* Hashes of RFC 6962, and the verification of proofs as RFC 9162 writes it: one walk up from the leaf, along the bits of its
 * index and of the last index. */
#include "proof/text.h"

#include <sodium.h>
#include <string.h>

static tb_merkle_hash hash_parts(const void *a, size_t a_len, const void *b, size_t b_len, const void *c, size_t c_len)
{
    tb_merkle_hash hash;
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, a, a_len);
    crypto_hash_sha256_update(&state, b, b_len);
    crypto_hash_sha256_update(&state, c, c_len);
    crypto_hash_sha256_final(&state, hash.bytes);
    return hash;
}

tb_merkle_hash tb_merkle_leaf(const void *entry, size_t len)
{
    return hash_parts("\0", 1, entry, len, "", 0);
}

tb_merkle_hash tb_merkle_node(const tb_merkle_hash *left, const tb_merkle_hash *right)
{
    return hash_parts("\1", 1, left->bytes, sizeof left->bytes, right->bytes, sizeof right->bytes);
}

tb_merkle_hash tb_merkle_empty(void)
{
    return tb_proof_digest("", 0);
}

tb_merkle_hash tb_proof_digest(const char *text, size_t len)
{
    return hash_parts(text, len, "", 0, "", 0);
}

tb_merkle_hash tb_proof_commit(const uint8_t salt[TB_PROOF_SALT], const char *content, size_t len)
{
    return hash_parts(salt, TB_PROOF_SALT, content, len, "", 0);
}

bool tb_merkle_same(const tb_merkle_hash *a, const tb_merkle_hash *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void tb_merkle_write(const tb_merkle_hash *hash, char out[TB_MERKLE_BASE64])
{
    sodium_bin2base64(out, TB_MERKLE_BASE64, hash->bytes, sizeof hash->bytes, sodium_base64_VARIANT_ORIGINAL);
}

bool tb_merkle_read(const char *text, size_t len, tb_merkle_hash *ret)
{
    return tb__proof_bytes((tb_text){text, len}, ret->bytes, sizeof ret->bytes);
}

/* A node on the way up, and the last node of its height. */
typedef struct place {
    uint64_t node, last;
} place;

/* Whether the next hash of the proof is the node's left neighbour. Then the heights at which the node has no neighbour are
 * behind it. */
static bool joins_left(place *at)
{
    if (!(at->node & 1) && at->node != at->last) return false;
    while (!(at->node & 1) && at->node != 0)
        at->node >>= 1, at->last >>= 1;
    return true;
}

static void step_up(place *at)
{
    at->node >>= 1;
    at->last >>= 1;
}

bool tb_merkle_includes(int64_t size, const tb_merkle_hash *root, int64_t index, const tb_merkle_hash *leaf,
                        const tb_merkle_proof *proof)
{
    if (index < 0 || index >= size || proof->n > TB_MERKLE_PROOF_MAX) return false;
    place at = {(uint64_t)index, (uint64_t)size - 1};
    tb_merkle_hash hash = *leaf;
    for (size_t i = 0; i < proof->n; i++) {
        if (at.last == 0) return false;
        hash = joins_left(&at) ? tb_merkle_node(&proof->hashes[i], &hash) : tb_merkle_node(&hash, &proof->hashes[i]);
        step_up(&at);
    }
    return at.last == 0 && tb_merkle_same(&hash, root);
}

/* 0 < old_size < new_size, and the proof is not empty. */
static bool grows(int64_t old_size, const tb_merkle_hash *old_root, int64_t new_size, const tb_merkle_hash *new_root,
                  const tb_merkle_proof *proof)
{
    place at = {(uint64_t)old_size - 1, (uint64_t)new_size - 1};
    while (at.node & 1)
        step_up(&at);
    /* A whole old tree is its own first node, which the proof leaves out. */
    size_t i = at.node != 0;
    tb_merkle_hash before = i ? proof->hashes[0] : *old_root, after = before;
    for (; i < proof->n; i++) {
        if (at.last == 0) return false;
        if (joins_left(&at)) {
            before = tb_merkle_node(&proof->hashes[i], &before);
            after = tb_merkle_node(&proof->hashes[i], &after);
        } else {
            after = tb_merkle_node(&after, &proof->hashes[i]);
        }
        step_up(&at);
    }
    return at.last == 0 && tb_merkle_same(&before, old_root) && tb_merkle_same(&after, new_root);
}

bool tb_merkle_extends(int64_t old_size, const tb_merkle_hash *old_root, int64_t new_size, const tb_merkle_hash *new_root,
                       const tb_merkle_proof *proof)
{
    if (old_size < 0 || old_size > new_size || proof->n > TB_MERKLE_PROOF_MAX) return false;
    if (old_size > 0 && old_size < new_size)
        return proof->n > 0 && grows(old_size, old_root, new_size, new_root, proof);
    const tb_merkle_hash empty = tb_merkle_empty();
    if (proof->n != 0 || (old_size == 0 && !tb_merkle_same(old_root, &empty))) return false;
    return old_size < new_size || tb_merkle_same(old_root, new_root);
}
