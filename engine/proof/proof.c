/* The text of a proof: c2sp.org/tlog-proof@v1. */
#include "proof/text.h"

#define FIRST_LINE "c2sp.org/tlog-proof@v1\n"

static tb_code refuse_proof(tb_error *err, const char *why)
{
    return tb_fail(err, TB_E_VALIDATION, "proof", "This is not a proof of c2sp.org/tlog-proof@v1: %s.", why);
}

tb_code tb_proof_read(const char *text, size_t len, tb_proof *ret, tb_error *err)
{
    tb_text rest = {text, len}, line;
    if (len > TB_PROOF_TEXT_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, "proof", "The proof has %zu bytes; %d is the most.", len, TB_PROOF_TEXT_MAX);
    if (!tb__proof_take(&rest, FIRST_LINE)) return refuse_proof(err, "the first line is another one");
    ret->extra = (tb_text){NULL, 0};
    if (tb__proof_take(&rest, "extra ") && (!tb__proof_line(&rest, &ret->extra) || !tb__proof_is_base64(ret->extra)))
        return refuse_proof(err, "the line \"extra\" has no base64");
    if (!tb__proof_take(&rest, "index ") || !tb__proof_line(&rest, &line) || !tb__proof_number(line, &ret->index))
        return refuse_proof(err, "it has no line \"index\" with a number");
    if (!tb__proof_take_hashes(&rest, &ret->path))
        return refuse_proof(err, "after the index there are other lines than at most 64 hashes and an empty one");
    if (rest.len == 0) return refuse_proof(err, "it has no checkpoint");
    ret->checkpoint = rest;
    return TB_OK;
}

void tb_proof_write(const tb_proof *proof, tb_buf *out)
{
    tb_buf_str(out, FIRST_LINE);
    if (proof->extra.data) {
        tb_buf_str(out, "extra ");
        tb_buf_add(out, proof->extra.data, proof->extra.len);
        tb_buf_str(out, "\n");
    }
    tb_buf_fmt(out, "index %lld\n", (long long)proof->index);
    tb__proof_add_hashes(out, &proof->path);
    tb_buf_str(out, "\n");
    tb_buf_add(out, proof->checkpoint.data, proof->checkpoint.len);
}
