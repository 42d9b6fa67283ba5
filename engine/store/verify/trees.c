/* Verify, R*Trees: SQLite's own check; that every entry belongs to an existing row; and every byte of every node
 * (trees.h), which SQLite's check leaves out: a node's box in its parent must be exactly as large as its cells
 * require, and unused bytes must be zero. That each row has its entry, with its own hours, is verified with the
 * rows. */
#include "store/core/trees.h"
#include "store/verify/verify.h"

#include <string.h>

typedef struct tree {
    const char *of;
    int dimensions;
    const char *check, *strays, *nodes;
} tree;

static const tree trees[TB__TREE_COUNT] = {
#define TB_X(tree, dimensions, of, truth)                                                          \
    {of, dimensions,                                                                               \
     "SELECT format('The index of " of ": %s.',problem) FROM (SELECT rtreecheck('" #tree           \
     "') AS problem) WHERE problem<>'ok'",                                                         \
     "SELECT format('The index of " of " holds row %d of table " truth                             \
     ", which does not exist.',id) FROM " #tree " WHERE id NOT IN(SELECT id FROM " truth ")",      \
     "SELECT n.nodeno,n.data,(SELECT u.data FROM " #tree "_parent p JOIN " #tree                   \
     "_node u ON u.nodeno=p.parentnode WHERE p.nodeno=n.nodeno) FROM " #tree "_node n"},
    TB__TREES(TB_X)
#undef TB_X
};

typedef struct node {
    const uint8_t *bytes;
    size_t len, cells;
} node;

static bool node_at(sqlite3_stmt *s, int column, size_t cell, node *ret)
{
    ret->bytes = sqlite3_column_blob(s, column);
    ret->len = (size_t)sqlite3_column_bytes(s, column);
    if (!ret->bytes || ret->len < 4) return false;
    ret->cells = tb__tree_cells(ret->bytes);
    return 4 + ret->cells * cell <= ret->len;
}

static bool rest_is_zero(const node *n, size_t cell, bool root)
{
    if (!root && (n->bytes[0] || n->bytes[1])) return false;
    for (size_t at = 4 + n->cells * cell; at < n->len; at++)
        if (n->bytes[at]) return false;
    return true;
}

/* Least and greatest of a dimension at a cell; the bytes are a signed number. */
static int32_t bound(const uint8_t *cell, int which)
{
    return (int32_t)tb__tree_u32(cell + 8 + 4 * which);
}

static bool box_fits(const node *n, const uint8_t *outer, const tree *t)
{
    const size_t cell = tb__tree_cell_size(t->dimensions);
    for (int d = 0; d < t->dimensions; d++) {
        int32_t least = INT32_MAX, greatest = INT32_MIN;
        for (size_t i = 0; i < n->cells; i++) {
            const uint8_t *inner = n->bytes + 4 + i * cell;
            if (bound(inner, 2 * d) < least) least = bound(inner, 2 * d);
            if (bound(inner, 2 * d + 1) > greatest) greatest = bound(inner, 2 * d + 1);
        }
        if (bound(outer, 2 * d) != least || bound(outer, 2 * d + 1) != greatest) return false;
    }
    return true;
}

/* The parent's cell of this node; NULL: it has none. */
static const uint8_t *cell_of(const node *parent, int64_t id, size_t cell)
{
    for (size_t i = 0; i < parent->cells; i++) {
        const uint8_t *at = parent->bytes + 4 + i * cell;
        if (((uint64_t)tb__tree_u32(at) << 32 | tb__tree_u32(at + 4)) == (uint64_t)id) return at;
    }
    return NULL;
}

static bool node_sound(sqlite3_stmt *s, const tree *t)
{
    const size_t cell = tb__tree_cell_size(t->dimensions);
    const int64_t id = sqlite3_column_int64(s, 0);
    const bool root = id == TB__TREE_ROOT;
    node own, parent;
    if (!node_at(s, 1, cell, &own) || !rest_is_zero(&own, cell, root)) return false;
    if (root) return sqlite3_column_type(s, 2) == SQLITE_NULL;
    if (!node_at(s, 2, cell, &parent) || parent.len != own.len) return false;
    const uint8_t *outer = cell_of(&parent, id, cell);
    return outer && box_fits(&own, outer, t);
}

static tb_code verify_nodes(tb__verify *v, const tree *t, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    int rc = sqlite3_prepare_v2(v->store->db, t->nodes, -1, &s, NULL);
    if (rc != SQLITE_OK) return tb__sqlite_fail(v->store->db, rc, v->store->path, err);
    tb_code code = TB_OK;
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        if (node_sound(s, t)) continue;
        if (sqlite3_errcode(v->store->db) == SQLITE_NOMEM) code = tb_no_memory(err);
        else
            tb__differs(v, "The index of %s: node %lld is not as it was written.", t->of,
                        (long long)sqlite3_column_int64(s, 0));
    }
    sqlite3_finalize(s);
    return code;
}

tb_code tb__verify_trees(tb__verify *v, tb_error *err)
{
    tb_code code = TB_OK;
    for (int i = 0; !code && i < TB__TREE_COUNT; i++) {
        code = tb__verify_note(v, tb__verify_reference(v, trees[i].check, err), err);
        if (!code) code = tb__verify_note(v, tb__verify_reference(v, trees[i].strays, err), err);
        if (!code) code = tb__verify_note(v, verify_nodes(v, &trees[i], err), err);
    }
    return code;
}
