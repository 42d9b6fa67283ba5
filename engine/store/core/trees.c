/* Wipes the bytes that SQLite leaves in the nodes of an R*Tree where a cell is removed (trees.h). The nodes' tables are
 * read-only to SQL here, like all shadow tables; a node's bytes are written in place, in the caller's transaction. */
#include "store/core/trees.h"

#include <string.h>

#define NODE_MAX 8192 /* a node is smaller than a page, and has 51 cells at most */

static const struct {
    const char *nodes, *next;
    int dimensions;
} trees[TB__TREE_COUNT] = {
#define TB_X(tree, dimensions, of, truth)                                                          \
    {#tree "_node", "SELECT min(nodeno) FROM " #tree "_node WHERE nodeno>?1", dimensions},
    TB__TREES(TB_X)
#undef TB_X
};

/* Zeros behind the last cell; nothing is written where they are there already. */
static int wipe_bytes(sqlite3_blob *blob, size_t cell)
{
    uint8_t node[NODE_MAX];
    const int len = sqlite3_blob_bytes(blob);
    if (len < 4 || len > NODE_MAX) return SQLITE_CORRUPT;
    int rc = sqlite3_blob_read(blob, node, len, 0);
    if (rc != SQLITE_OK) return rc;
    const size_t used = 4 + tb__tree_cells(node) * cell;
    if (used > (size_t)len) return SQLITE_CORRUPT;
    size_t at = used;
    while (at < (size_t)len && node[at] == 0)
        at++;
    if (at == (size_t)len) return SQLITE_OK;
    memset(node + used, 0, (size_t)len - used);
    return sqlite3_blob_write(blob, node + used, len - (int)used, (int)used);
}

/* A node that went with its last cells is not there: SQLITE_ERROR. */
static tb_code wipe_node(tb_store *store, tb__tree tree, int64_t node, tb_error *err)
{
    sqlite3_blob *blob = NULL;
    int rc = sqlite3_blob_open(store->db, "main", trees[tree].nodes, "data", node, 1, &blob);
    const bool gone = rc == SQLITE_ERROR;
    if (rc == SQLITE_OK) rc = wipe_bytes(blob, tb__tree_cell_size(trees[tree].dimensions));
    tb_code code = rc == SQLITE_OK || gone ? TB_OK
                                           : tb__sqlite_fail(store->db, rc, store->path, err);
    sqlite3_blob_close(blob);
    return code;
}

tb_code tb__tree_wipe(tb_store *store, tb__tree tree, tb_error *err)
{
    sqlite3_stmt *s;
    int64_t node = 0;
    bool row = true;
    int rc = sqlite3_prepare_v2(store->db, trees[tree].next, -1, &s, NULL);
    if (rc != SQLITE_OK) return tb__sqlite_fail(store->db, rc, store->path, err);
    tb_code code = TB_OK;
    while (!code) {
        sqlite3_reset(s);
        sqlite3_bind_int64(s, 1, node);
        code = tb__step(store, s, &row, err);
        if (code || sqlite3_column_type(s, 0) == SQLITE_NULL) break;
        node = sqlite3_column_int64(s, 0);
        sqlite3_reset(s);
        code = wipe_node(store, tree, node, err);
    }
    sqlite3_finalize(s);
    return code;
}

tb_code tb__log_tree_path(tb_store *store, int64_t id, tb__tree_path *ret, tb_error *err)
{
    int64_t node = 0;
    tb__statement next = TB__SQL_LOG_SPAN_LEAF;
    *ret = (tb__tree_path){.n = 0};
    while (ret->n < TB__TREE_DEPTH) {
        tb_code code = tb__int_of(store, next, ret->n ? &node : &id, 1, 0, &node, err);
        if (code) return code;
        if (!node) break;
        ret->node[ret->n++] = node;
        next = TB__SQL_LOG_SPAN_PARENT;
    }
    return TB_OK;
}

tb_code tb__log_tree_wipe(tb_store *store, const tb__tree_path *path, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < path->n; i++)
        code = wipe_node(store, TB__TREE_log_span, path->node[i], err);
    return code;
}
