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
 * PROOF is a text of c2sp.org/tlog-proof@v1 without "extra", whose checkpoint is NOTE, byte for byte.
 *
 * Days ascend by the index of their entry. A bundle has just what its document and its terms name, each entry once: their price
 * books, the days that they count, the documents that they correct, credit or replace. */
#ifndef TOLLBOOK_BUNDLE_H
#define TOLLBOOK_BUNDLE_H

#include "tollbook/check.h"
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
 * TB_E_VALIDATION: err->field is the part ("days[3].salt"), err->byte the place, from 1, and err->message has both.
 * TB_E_TOO_LARGE, TB_E_NOMEM. */
TB_MUST_USE tb_code tb_tollproof_read(char *text, size_t len, tb_tollproof *ret, tb_error *err);
/* Frees the lists that tb_tollproof_read made. */
void tb_tollproof_release(tb_tollproof *bundle);

/* --- checking --- */

/* X(ENUM, "name"): the steps, in the order in which they are shown. */
#define TB_CHECK_STEPS(X)                                                                                                          \
    X(SIGNATURE, "signature")     /* the log's key signed the checkpoint */                                                         \
    X(WITNESS, "witness")         /* each witness that was asked for signed it too */                                               \
    X(COMMITMENTS, "commitments") /* each text is what its entry commits to; the document's own hash, its books */                  \
    X(INCLUSION, "inclusion")     /* each entry is in the log under this checkpoint */                                              \
    X(USAGE, "usage")             /* the terms are the document's, and the days are those that they count */                        \
    X(RATING, "rating")           /* rated again, it is the same document */                                                        \
    X(CONSISTENCY, "consistency") /* the log only grew since a checkpoint that was known before */                                  \
    X(VOID, "void")               /* the document was not made void; skipped where nothing says that it was */

typedef enum tb_check_name {
#define TB_X(e, name) TB_CHECK_##e,
    TB_CHECK_STEPS(TB_X)
#undef TB_X
        TB_CHECK_STEP_COUNT
} tb_check_name;

typedef enum tb_check_state {
    TB_CHECK_SKIPPED, /* it was not asked for */
    TB_CHECK_OK,
    TB_CHECK_UNABLE, /* it could not be checked */
    TB_CHECK_DIFFERS,
} tb_check_state;

typedef struct tb_check_step {
    tb_check_state state;
    char detail[400]; /* one sentence or two, without control characters */
} tb_check_step;

/* A checkpoint that was known before, which the log's key has to have signed too. */
typedef struct tb_check_since {
    const char *name; /* for the sentences: a file's */
    tb_text note;
} tb_check_since;

#define TB_CHECK_SINCE_MAX 3

typedef struct tb_check_input {
    const tb_tollproof *bundle;
    const tb_note_key *key;       /* of the log; NULL: the remembered one */
    const tb_note_key *remembered; /* the log's key as it was trusted before; NULL: it was not. With neither the step is unable */
    const tb_note_key *witnesses; /* keys of type TB_NOTE_COSIGNATURE, no two the same */
    size_t n_witnesses;           /* at most TB_NOTE_SIGNATURES */
    tb_check_since since[TB_CHECK_SINCE_MAX];
    size_t n_since;
    const tb_tile_reader *tiles; /* of the log, to prove growth with where the bundle has no proof; NULL: none */
} tb_check_input;

typedef struct tb_check_result {
    tb_check_step steps[TB_CHECK_STEP_COUNT];
    bool is_receipts;
    char log[TB_NOTE_NAME + 1]; /* its name, as the file says; "" where that is none */
    int64_t size, index;        /* of the log by the checkpoint, -1: not known; of the document's entry */
    tb_merkle_hash root;
    char fingerprint[17]; /* of the document, as it prints it: 16 hex digits; "": not known, or the document was changed */
    tb_check_rated rated; /* of receipts the days alone, and the month */
} tb_check_result;

/* Checks a bundle or receipts, all steps that can be done. Fails with TB_E_NOMEM only. */
TB_MUST_USE tb_code tb_check_bundle(const tb_check_input *input, tb_check_result *ret, tb_error *err);
/* The result of a file that could not be read. */
void tb_check_unread(const tb_error *why, tb_check_result *ret);
/* 0: everything that was asked for is right. 1: something differs. 2: something could not be checked. */
int tb_check_status(const tb_check_result *result);
/* Appends the result as some ten lines for people: the verdict first, with the reason where it is not right, what to do next last
 * where something differs. file: its name. */
void tb_check_say(const tb_check_result *result, const char *file, tb_buf *out);
/* Appends the result as one line of JSON. */
void tb_check_json(const tb_check_result *result, const char *file, tb_buf *out);

/* --- what is remembered of logs --- */

#define TB_CHECK_LOGS_MAX 1024

/* A log that was trusted before: its key and the newest checkpoint that was found right, as it was signed. */
typedef struct tb_check_log {
    tb_note_key key;
    tb_text checkpoint;
} tb_check_log;

/* Reads {"v":1,"logs":[{"key":VKEY,"checkpoint":NOTE},...]}, as bundles are read: *text is changed and has to stay. *ret_logs has
 * room for TB_CHECK_LOGS_MAX. TB_E_VALIDATION with err->field and err->byte. */
TB_MUST_USE tb_code tb_check_logs_read(char *text, size_t len, tb_check_log *ret_logs, size_t *ret_n, tb_error *err);
void tb_check_logs_write(const tb_check_log *logs, size_t n, tb_buf *out);

TB_API_END

#endif
