/* Where the document's entry in the log of documents is, and the address of its proof. */
#include "print/maker.h"

#include <string.h>

/* The sixteen digits in fours, as the fingerprint. */
static const char *root_text(tb__maker *m, const char *root)
{
    for (size_t i = 0; root[i]; i++) {
        if (i && i % 4 == 0) tb_buf_str(&m->out, " ");
        tb_buf_add(&m->out, root + i, 1);
    }
    return tb__maker_text(m);
}

void tb__make_proof(tb__maker *m)
{
    const tb_invoice_proof *proof = m->names ? m->names->proof : NULL;
    const char *with[3];
    if (!proof) return;
    tb__maker_block(m, TB__PROOF, proof->address ? tb__maker_word(m, TB__WORD_PROOF) : NULL);
    with[0] = tb__maker_copy(m, proof->log);
    with[1] = tb__maker_i64(m, proof->index);
    with[2] = root_text(m, proof->root);
    tb__add_filled(&m->out, m->language, TB__WORD_PROOF_ENTRY, with);
    const char *entry = tb__maker_text(m);
    tb__maker_row(m, TB__ROW)->cell[0] = entry;
    if (proof->address) tb__maker_row(m, TB__ROW)->cell[0] = tb__maker_copy(m, proof->address);
}
