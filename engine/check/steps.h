/* The steps of a check (bundle.h), between the files that do them. */
#ifndef TOLLBOOK_CHECK_STEPS_H
#define TOLLBOOK_CHECK_STEPS_H

#include "check/contents.h"
#include "tollbook/bundle.h"
#include "tollbook/json.h"

typedef struct tb__checking {
    const tb_check_input *in;
    const tb_note_key *key; /* of the log; NULL: not known */
    const tb_tollproof *bundle;
    tb_check_result *out;
    tb_checkpoint checkpoint;
    bool has_checkpoint; /* it could be read, whoever signed it */
    tb__contents contents; /* one item for each of the bundle's, zeros where it cannot be read */
    bool has_document;
    tb_check_day *days; /* the bundle's */
    int64_t *indexes;   /* of all entries that were opened */
    size_t n_indexes;
} tb__checking;

/* Sets a step, unless it has failed before: the first reason stays. */
void tb__check_set(tb__checking *c, tb_check_name step, tb_check_state state, const char *fmt, ...) TB_PRINTF(4, 5);
static inline bool tb__check_is_ok(const tb__checking *c, tb_check_name step)
{
    return c->out->steps[step].state == TB_CHECK_OK;
}

/* checkpoint.c: signature, witness, consistency. */
void tb__check_signature(tb__checking *c);
void tb__check_witnesses(tb__checking *c);
void tb__check_growth(tb__checking *c);
/* commitments.c: commitments, inclusion, void. Reads the document, the price books and the earlier documents, and makes the lists, which
 * the caller releases. TB_E_NOMEM. */
TB_MUST_USE tb_code tb__check_entries(tb__checking *c, tb_error *err);
/* references.c: usage. Reads the terms. TB_E_NOMEM. */
TB_MUST_USE tb_code tb__check_usage(tb__checking *c, tb_error *err);

#define TB__GROUPED (TB_U128_TEXT_MAX + TB_U128_TEXT_MAX / 3 + 1)

/* "504,254,115,180", terminated. Returns out. */
const char *tb__check_grouped(tb_u128 value, char out[TB__GROUPED]);
/* "2026-10-05", terminated. */
void tb__check_date(int64_t day, char out[11]);

#endif
