/* A scenario's book: the base's canonical text, the patch merged into it, read again as any book
 * is, so that no rule of books has a second copy. */
#include "tollbook/whatif.h"
#include "whatif/patch.h"

#include <stdio.h>
#include <string.h>

/* The paths and reasons of the book's own parser, seen from the scenario. The place in the merged
 * text says nothing to whoever wrote the patch. */
static tb_code in_scenario(tb_code code, const tb_scenario *s, const tb_book *base, tb_error *err)
{
    if (!err || code != TB_E_BOOK) return code;
    tb_error inner = *err;
    char path[sizeof err->field];
    int n = snprintf(path, sizeof path, "patch%s%s", inner.field[0] ? "." : "", inner.field);
    if (n >= (int)sizeof path) path[sizeof path - 2] = '~';
    return tb_fail(err, code, path, "Scenario %s: book %s with this patch is not valid: %.200s",
                   s->name, base->id, inner.message);
}

/* A patch must not change the base's moment and currency: it would price other months than those that are replayed. */
static tb_code check_frame(const tb_scenario *s, const tb_book *base, const tb_book *book,
                           tb_error *err)
{
    if (strcmp(book->currency, base->currency) != 0)
        return tb_fail(err, TB_E_BOOK, "patch.currency",
                       "Scenario %s: book %s is in %s; bills cannot be compared in another "
                       "currency: leave it out of the patch.",
                       s->name, base->id, base->currency);
    if (book->effective_us != base->effective_us)
        return tb_fail(
            err, TB_E_BOOK, "patch.effective_from",
            "Scenario %s: the patched book stands wherever book %s is in force: leave "
            "effective_from out of the patch (\"replaces\": \"all\" puts it everywhere).",
            s->name, base->id);
    return TB_OK;
}

static tb_code parse_merged(const tb__document *merged, tb__arena *scratch, const tb_alloc *alloc,
                            tb_book *ret_book, tb_error *err)
{
    size_t len;
    const char *text = tb__document_canonical(merged, 0, scratch, &len);
    if (!text) return tb_no_memory(err);
    return tb_book_parse(text, len, alloc, ret_book, err);
}

static tb_code merge(const tb_scenario *s, const tb_book *base, tb__arena *scratch,
                     const tb_alloc *alloc, tb_book *ret_book, tb_error *err)
{
    tb__document target, patch, merged;
    tb_code code = tb__document_parse(base->canonical, base->canonical_len, TB_E_BOOK, scratch,
                                      alloc, &target, err);
    if (code) return code;
    code = tb__document_parse(s->patch, s->patch_len, TB_E_BOOK, scratch, alloc, &patch, err);
    if (!code) {
        code = tb__merge_patch(&target, &patch, 0, alloc, &merged, err);
        if (!code) {
            code = parse_merged(&merged, scratch, alloc, ret_book, err);
            tb__document_release(&merged);
        }
        tb__document_release(&patch);
    }
    tb__document_release(&target);
    return code;
}

tb_code tb_scenario_book(const tb_scenario *scenario, const tb_book *base, const tb_alloc *alloc,
                         tb_book *ret_book, tb_error *err)
{
    tb__arena scratch;
    tb_book book;
    tb__arena_init(&scratch, alloc);
    tb_code code = merge(scenario, base, &scratch, alloc, &book, err);
    tb__arena_release(&scratch);
    if (code) return in_scenario(code, scenario, base, err);
    code = check_frame(scenario, base, &book, err);
    if (code)
        tb_book_release(&book);
    else
        *ret_book = book;
    return code;
}
