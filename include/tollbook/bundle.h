/* The bundle of a document, NUMBER.tollproof, and the receipts of a month: one JSON text with all that a customer needs to check
 * a bill without the store (check.h). Pure: no file, no clock.
 *
 * A text has one form: the members in the order that stands here, no blanks, no newline at the end, strings as
 * tb_json_string writes them (which is what Python's json.dumps(..., ensure_ascii=False, separators=(",", ":")) writes), base64
 * of RFC 4648. What is read and written again is the same bytes; any other form is refused, with the byte and what was expected.
 *
 * A bundle:
 *   {"v":1,"log":ORIGIN,"checkpoint":NOTE,
 *    "invoice":{"text":CANONICAL,"salt":BASE64,"proof":PROOF},
 *    "terms":{"text":CANONICAL,"salt":BASE64,"proof":PROOF},
 *    "books":[{"text":CANONICAL,"proof":PROOF},...],
 *    "days":[{"day":"2026-10-01","of":INDEX or null,"text":LINES,"salt":BASE64,"proof":PROOF},...],
 *    "earlier":[{"text":CANONICAL,"salt":BASE64,"proof":PROOF},...],
 *    "void":{"text":CONTENT,"salt":BASE64,"proof":PROOF},
 *    "consistency":{"from":SIZE,"hashes":[BASE64,...]} or null}
 * "void" is there only where the document is void: CONTENT is what its void commits to, {"number":...,"voided":...}.
 * Receipts: {"month":"2026-10","log":ORIGIN,"checkpoint":NOTE,"days":[as above]}.
 * PROOF is a text of c2sp.org/tlog-proof@v1 whose checkpoint is NOTE, byte for byte. */
#ifndef TOLLBOOK_BUNDLE_H
#define TOLLBOOK_BUNDLE_H

#include "tollbook/proof.h"

TB_API_BEGIN

#define TB_TOLLPROOF_MAX (1024 * 1024 * 1024) /* bytes of a bundle, or of receipts */
#define TB_TOLLPROOF_LIST 4096                /* items of each of its lists */

/* An entry of the log with what it commits to. */
typedef struct tb_tollproof_part {
    tb_text text;                /* the content; of a book its canonical text */
    uint8_t salt[TB_PROOF_SALT]; /* not of a book */
    tb_text proof;               /* as tb_proof_write writes it */
    int64_t day;                 /* of a day: days since 1970 */
    int64_t of;                  /* of a day: index of its first entry where this one is a later one; else -1 */
} tb_tollproof_part;

typedef struct tb_tollproof_list {
    tb_tollproof_part *parts;
    size_t n; /* at most TB_TOLLPROOF_LIST */
} tb_tollproof_list;

typedef struct tb_tollproof {
    bool is_receipts; /* then only month, log, checkpoint and days are there */
    int64_t month;    /* of receipts: months since January 1970 */
    tb_text log, checkpoint;
    tb_tollproof_part invoice, terms, voided; /* voided.text.data NULL: the document is not void */
    tb_tollproof_list books, days, earlier;
    bool has_growth;
    int64_t growth_from;    /* size of the older tree */
    tb_merkle_proof growth; /* from there to the checkpoint */
} tb_tollproof;

/* Appends the text, without a newline at the end. A text that is not UTF-8 would come back as another one: do not give it. */
void tb_tollproof_write(const tb_tollproof *bundle, tb_buf *out);

/* Reads a bundle or receipts in one pass. The strings are unescaped where they stand: *text is changed, ret's texts point into
 * it, and it has to stay as long as they are used. The lists are ret's own: tb_tollproof_release. Proofs and contents are not
 * looked at: see check.h.
 * TB_E_VALIDATION: err->field is the part ("days[3].salt"), err->byte the place, from 1. TB_E_TOO_LARGE, TB_E_NOMEM. */
TB_MUST_USE tb_code tb_tollproof_read(char *text, size_t len, tb_tollproof *ret, tb_error *err);
/* Frees the lists that tb_tollproof_read made. */
void tb_tollproof_release(tb_tollproof *bundle);

TB_API_END

#endif
