/* MergePatch of RFC 7396, section 2, with a stack of open objects instead of its recursion. The result is a flat
 * list of nodes, in document order. An object of the patch is merged into one of the target, or into none: the
 * members of both are sorted by name and walked side by side, so that large objects cost no more than their sorting.
 * A document is at most TB__DOCUMENT_DEPTH deep, and the result no deeper than the deeper of both. */
#include "whatif/patch.h"

#include <stdlib.h>
#include <string.h>

typedef struct member {
    const char *text;
    uint32_t len;
    uint32_t key; /* node */
} member;

/* An object being merged: members of the target that are left, and of the patch. */
typedef struct frame {
    const member *target, *target_end;
    const member *patch, *patch_end;
    uint32_t object; /* node of the result */
} frame;

typedef struct merger {
    const tb__document *target, *patch;
    tb__document out;
    member *members; /* of both documents' objects, taken piece by piece */
    size_t n_members;
    frame frames[TB__DOCUMENT_DEPTH];
    unsigned depth;
} merger;

static int compare_names(const member *x, const member *y)
{
    int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int compare_members(const void *a, const void *b)
{
    return compare_names(a, b);
}

static const member *take_members(merger *m, const tb__document *doc, uint32_t object,
                                  size_t *ret_n)
{
    member *taken = m->members + m->n_members;
    size_t n = doc->nodes[object].len;
    uint32_t key = object + 1;
    for (size_t i = 0; i < n; i++, key = doc->nodes[key + 1].next)
        taken[i] = (member){doc->nodes[key].text, doc->nodes[key].len, key};
    qsort(taken, n, sizeof *taken, compare_members);
    m->n_members += n;
    *ret_n = n;
    return taken;
}

static uint32_t put(merger *m, const tb__node *node)
{
    uint32_t index = (uint32_t)m->out.n++;
    m->out.nodes[index] = *node;
    m->out.nodes[index].at = 0;
    m->out.nodes[index].next = index + 1;
    return index;
}

/* A value with all it holds. */
static void copy(merger *m, const tb__document *doc, uint32_t node)
{
    uint32_t shift = (uint32_t)m->out.n - node;
    for (uint32_t i = node; i < doc->nodes[node].next; i++) {
        uint32_t index = put(m, &doc->nodes[i]);
        m->out.nodes[index].next = doc->nodes[i].next + shift;
    }
}

#define NOTHING UINT32_MAX

static void open_object(merger *m, uint32_t target, uint32_t patch)
{
    frame *f = &m->frames[m->depth++];
    size_t n = 0;
    f->object = put(m, &m->patch->nodes[patch]);
    m->out.nodes[f->object].len = 0;
    f->patch = take_members(m, m->patch, patch, &n);
    f->patch_end = f->patch + n;
    n = 0;
    f->target = f->patch;
    if (target != NOTHING && m->target->nodes[target].type == TB__OBJECT)
        f->target = take_members(m, m->target, target, &n);
    f->target_end = f->target + n;
}

static void merge_value(merger *m, uint32_t target, uint32_t patch)
{
    if (m->patch->nodes[patch].type == TB__OBJECT)
        open_object(m, target, patch);
    else
        copy(m, m->patch, patch);
}

/* Writes the next member of the innermost object, or closes it. */
static void step(merger *m)
{
    frame *f = &m->frames[m->depth - 1];
    bool has_target = f->target < f->target_end, has_patch = f->patch < f->patch_end;
    if (!has_target && !has_patch) {
        m->out.nodes[f->object].next = (uint32_t)m->out.n;
        m->depth--;
        return;
    }
    int order = !has_patch ? -1 : !has_target ? 1 : compare_names(f->target, f->patch);
    const member *old = order <= 0 ? f->target++ : NULL;
    const member *new = order >= 0 ? f->patch++ : NULL;
    if (new && m->patch->nodes[new->key + 1].type == TB__NULL) return;
    m->out.nodes[f->object].len++;
    put(m, new ? &m->patch->nodes[new->key] : &m->target->nodes[old->key]);
    if (new)
        merge_value(m, old ? old->key + 1 : NOTHING, new->key + 1);
    else
        copy(m, m->target, old->key + 1);
}

tb_code tb__merge_patch(const tb__document *target, const tb__document *patch, uint32_t node,
                        const tb_alloc *alloc, tb__document *ret_merged, tb_error *err)
{
    merger m = {.target = target, .patch = patch};
    size_t most = target->n + patch->n;
    m.out = (tb__document){.cap = most, .size = target->size + patch->size, .alloc = alloc};
    m.out.nodes = tb_alloc_zero(alloc, most, sizeof *m.out.nodes);
    m.members = tb_alloc_zero(alloc, most, sizeof *m.members);
    if (!m.out.nodes || !m.members) {
        tb__document_release(&m.out);
        tb_alloc_free(alloc, m.members, most * sizeof *m.members);
        return tb_no_memory(err);
    }
    merge_value(&m, 0, node);
    while (m.depth > 0)
        step(&m);
    tb_alloc_free(alloc, m.members, most * sizeof *m.members);
    *ret_merged = m.out;
    return TB_OK;
}
