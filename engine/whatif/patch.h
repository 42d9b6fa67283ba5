/* JSON merge patch (RFC 7396) over documents read as text: numbers and strings of the result are
 * those of the target or the patch, byte for byte. */
#ifndef TOLLBOOK_WHATIF_PATCH_H
#define TOLLBOOK_WHATIF_PATCH_H

#include "model/document.h"

/* The target with the value at `node` of the patch merged into it. The result's strings lie in
 * both documents' texts, which must outlive it; its `at`s are 0. Release it on success. Fails for
 * want of memory alone. */
TB_MUST_USE tb_code tb__merge_patch(const tb__document *target, const tb__document *patch,
                                    uint32_t node, const tb_alloc *alloc, tb__document *ret_merged,
                                    tb_error *err);

#endif
