/* Shared by what reads tiles and what makes them. */
#ifndef TOLLBOOK_PROOF_TILE_H
#define TOLLBOOK_PROOF_TILE_H

#include "tollbook/proof.h"

/* The root of n hashes, n a power of two. They are overwritten. */
tb_merkle_hash tb__merkle_fold(tb_merkle_hash *hashes, size_t n);

#endif
