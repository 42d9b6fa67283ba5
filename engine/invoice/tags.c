/* Both objects are read, their keys are sorted in one list, and each key is written once. */
#include "invoice/tags.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "model/document.h"

typedef struct label {
    const tb__document *of;
    uint32_t key; /* its value follows */
    int rank;     /* the larger wins */
} label;

typedef struct labels {
    label *list;
    size_t n;
    tb__arena arena;
    tb__document doc[2];
} labels;

static int by_key(const void *a, const void *b)
{
    const label *x = a, *y = b;
    const tb__node *left = &x->of->nodes[x->key], *right = &y->of->nodes[y->key];
    const uint32_t len = left->len < right->len ? left->len : right->len;
    const int order = memcmp(left->text, right->text, len);
    if (order) return order;
    if (left->len != right->len) return left->len < right->len ? -1 : 1;
    return x->rank - y->rank;
}

static bool same_key(const label *a, const label *b)
{
    const tb__node *left = &a->of->nodes[a->key], *right = &b->of->nodes[b->key];
    return tb__node_is(left, right->text, right->len);
}

static void gather(labels *l, int rank)
{
    const tb__document *doc = &l->doc[rank];
    uint32_t at = 1;
    for (uint32_t i = 0; i < doc->nodes[0].len; i++, at = doc->nodes[at + 1].next)
        l->list[l->n++] = (label){doc, at, rank};
}

static void put_labels(labels *l, tb_buf *out)
{
    const char *comma = "";
    tb_buf_str(out, "{");
    for (size_t i = 0; i < l->n; i++) {
        const label *at = &l->list[i];
        if (i + 1 < l->n && same_key(at, at + 1)) continue;
        char *key = tb__document_canonical(at->of, at->key, &l->arena, NULL);
        char *value = tb__document_canonical(at->of, at->key + 1, &l->arena, NULL);
        if (!key || !value) {
            out->failed = true;
            return;
        }
        tb_buf_fmt(out, "%s%s:%s", comma, key, value);
        comma = ",";
    }
    tb_buf_str(out, "}");
}

static tb_code read_labels(labels *l, int rank, const char *text, tb_error *err)
{
    tb_code code = tb__document_parse(text, strlen(text), TB_E_VALIDATION, &l->arena, NULL,
                                      &l->doc[rank], err);
    if (code) return code;
    if (l->doc[rank].nodes[0].type == TB__OBJECT) return TB_OK;
    tb__document_release(&l->doc[rank]);
    return tb_fail(err, TB_E_VALIDATION, "labels", "Labels are an object.");
}

static tb_code merge_labels(labels *l, tb_buf *out, tb_error *err)
{
    const size_t most = (size_t)l->doc[0].nodes[0].len + l->doc[1].nodes[0].len + 1;
    l->list = tb__arena_take(&l->arena, most * sizeof *l->list);
    if (!l->list) return tb_no_memory(err);
    gather(l, 0);
    gather(l, 1);
    qsort(l->list, l->n, sizeof *l->list, by_key);
    put_labels(l, out);
    return TB_OK;
}

tb_code tb__tags(const char *account, const char *zone, tb_buf *out, tb_error *err)
{
    labels l = {0};
    if (!account && !zone) return TB_OK;
    tb__arena_init(&l.arena, NULL);
    tb_code code = read_labels(&l, 0, account ? account : "{}", err);
    if (!code) {
        code = read_labels(&l, 1, zone ? zone : "{}", err);
        if (!code) {
            code = merge_labels(&l, out, err);
            tb__document_release(&l.doc[1]);
        }
        tb__document_release(&l.doc[0]);
    }
    tb__arena_release(&l.arena);
    return code;
}
