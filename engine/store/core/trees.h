/* The R*Trees: which there are, and how a node of theirs lies in its bytes. SQLite keeps the nodes of
 * the tree X in the table X_node: 2 bytes that are the tree's depth in the root, node 1, and zero in
 * all others, 2 bytes with the number of cells, the cells, and room for more. A cell is 8 bytes, a
 * row's id or, above the leaves, a node's, and for each dimension its least and greatest value in 4
 * bytes each, all big-endian.
 *
 * The room behind the last cell is zero. SQLite leaves the last cell's bytes there where it takes one
 * out: whoever deletes wipes, so that there is no byte in a tree that says nothing. */
#ifndef TOLLBOOK_STORE_TREES_H
#define TOLLBOOK_STORE_TREES_H

#include "store/core/internal.h"

/* X(tree, dimensions, the indexed objects, the table that it is derived from) */
#define TB__TREES(X)                                                                               \
    X(book_span, 1, "books", "book")                                                               \
    X(invoice_span, 1, "invoices", "invoice")                                                      \
    X(log_span, 2, "request logs", "log_block")

typedef enum tb__tree {
#define TB_X(tree, dimensions, of, truth) TB__TREE_##tree,
    TB__TREES(TB_X)
#undef TB_X
        TB__TREE_COUNT
} tb__tree;

#define TB__TREE_ROOT 1
#define TB__TREE_DEPTH 40 /* as deep as SQLite lets one be */

/* The whole tree. */
TB_MUST_USE tb_code tb__tree_wipe(tb_store *store, tb__tree tree, tb_error *err);
/* The nodes from a row's leaf up to the root, and their wiping once the row was deleted. */
typedef struct tb__tree_path {
    int64_t node[TB__TREE_DEPTH];
    size_t n;
} tb__tree_path;
TB_MUST_USE tb_code tb__log_tree_path(tb_store *store, int64_t id, tb__tree_path *ret,
                                      tb_error *err);
TB_MUST_USE tb_code tb__log_tree_wipe(tb_store *store, const tb__tree_path *path, tb_error *err);

static inline uint32_t tb__tree_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline size_t tb__tree_cells(const uint8_t *node)
{
    return (size_t)node[2] << 8 | node[3];
}

static inline size_t tb__tree_cell_size(int dimensions)
{
    return 8 + (size_t)dimensions * 8;
}

#endif
