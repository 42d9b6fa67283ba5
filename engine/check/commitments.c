/* Opens what a bundle holds: the entry of each text is made again, and has to be in the log. */
#include "check/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tollbook/book.h"
#include "tollbook/calendar.h"

void tb__check_date(int64_t day, char out[11])
{
    char moment[20];
    tb_time_format(day * TB_US_PER_DAY, moment);
    memcpy(out, moment, 10);
    out[10] = '\0';
}

/* --- one entry --- */

static bool has_checkpoint_of_file(tb__checking *c, const char *what, const tb_proof *proof)
{
    const tb_text note = c->bundle->checkpoint;
    const bool same = proof->checkpoint.len == note.len && memcmp(proof->checkpoint.data, note.data, note.len) == 0;
    if (proof->extra.data) tb__check_set(c, TB_CHECK_INCLUSION, TB_CHECK_UNABLE, "The proof of %s has a line \"extra\", which bundles do not have.", what);
    else if (!same) tb__check_set(c, TB_CHECK_INCLUSION, TB_CHECK_DIFFERS, "The proof of %s is not under the checkpoint of this file.", what);
    return same && !proof->extra.data;
}

/* Whether the entry is in the log; sets the step where not. */
static bool check_proof(tb__checking *c, const char *what, const tb_proof_entry *entry, tb_text text, int64_t *ret_index)
{
    tb_proof proof;
    tb_error why;
    tb_buf bytes;
    if (tb_proof_read(text.data, text.len, &proof, &why)) {
        tb__check_set(c, TB_CHECK_INCLUSION, TB_CHECK_UNABLE, "The proof of %s cannot be read: %.240s", what, why.message);
        return false;
    }
    c->indexes[c->n_indexes++] = *ret_index = proof.index;
    if (!c->has_checkpoint || !has_checkpoint_of_file(c, what, &proof)) return false;
    tb_buf_init(&bytes, TB_MERKLE_ENTRY_MAX, NULL);
    tb_proof_entry_write(entry, &bytes);
    const tb_merkle_hash leaf = tb_merkle_leaf(bytes.data ? bytes.data : "", bytes.len);
    const bool in_log = !bytes.failed && tb_merkle_includes(c->checkpoint.size, &c->checkpoint.root, proof.index, &leaf, &proof.path);
    tb_buf_release(&bytes);
    if (!in_log && c->out->steps[TB_CHECK_SIGNATURE].state != TB_CHECK_DIFFERS) /* of a forged checkpoint nothing is judged */
        tb__check_set(c, TB_CHECK_INCLUSION, TB_CHECK_DIFFERS,
                      "Entry %lld of the log is not %s in this file: its text, its salt or its proof was changed.",
                      (long long)proof.index, what);
    return in_log;
}

static bool check_salted(tb__checking *c, const char *what, tb_proof_type type, int64_t month, const tb_tollproof_part *part,
                         int64_t *ret_index)
{
    const tb_proof_entry entry = {.type = type, .month = month, .day = part->day, .of = part->of,
                                  .hash = tb_proof_commit(part->salt, part->text.data, part->text.len)};
    return check_proof(c, what, &entry, part->proof, ret_index);
}

/* --- the document and its terms --- */

/* The value of a member of the outermost object; name: "\"book\":\"". NULL: there is none. */
static const char *find_member(tb_text text, const char *name)
{
    const size_t len = strlen(name);
    bool quoted = false;
    int64_t depth = 0;
    for (size_t i = 0; i + len <= text.len; i++) {
        const char c = text.data[i];
        if (quoted && c == '\\') i++;
        else if (!quoted && depth == 1 && memcmp(text.data + i, name, len) == 0) return text.data + i + len;
        else if (c == '"') quoted = !quoted;
        else if (quoted) continue;
        else if (c == '{' || c == '[') depth++;
        else if (c == '}' || c == ']') depth--;
    }
    return NULL;
}

/* Of a text that cannot be read as a document: whether its SHA-256, without that member, is not the one that it states. */
static bool is_changed(tb_text text)
{
    const char *digits = find_member(text, ",\"sha256\":\"");
    tb_buf rest;
    char hex[65];
    const size_t at = digits ? (size_t)(digits - text.data) : 0;
    if (!digits || text.len - at < 65) return true;
    tb_buf_init(&rest, text.len, NULL);
    tb_buf_add(&rest, text.data, at - 11);
    tb_buf_add(&rest, digits + 65, text.len - at - 65);
    const tb_merkle_hash hash = tb_proof_digest(rest.data, rest.len);
    for (size_t i = 0; i < sizeof hash.bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash.bytes[i]);
    const bool changed = !rest.failed && memcmp(hex, digits, 64) != 0;
    tb_buf_release(&rest);
    return changed;
}

static void say_changed(tb__checking *c, const char *what)
{
    tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_DIFFERS, "%s in this file was changed after it was made. Fetch it again; do not pay by it.", what);
}

/* Reads a document's text. A failure that is not TB_E_NOMEM is a step that is set. */
static tb_code open_paper(tb__checking *c, const char *what, tb_text text, tb_paper *ret, tb_error *err)
{
    tb_error why;
    const tb_code code = tb_paper_parse(text.data, text.len, NULL, ret, &why);
    if (code == TB_E_NOMEM) return tb_no_memory(err);
    if (code && is_changed(text)) say_changed(c, what);
    if (code) {
        const bool adds_up = strcmp(why.field, "payable") != 0; /* tb_paper_parse */
        tb__check_set(c, TB_CHECK_COMMITMENTS, adds_up ? TB_CHECK_UNABLE : TB_CHECK_DIFFERS, "%s cannot be read: %.280s", what, why.message);
        return code;
    }
    if (!ret->sha256_true) say_changed(c, what);
    return TB_OK;
}

/* TB_OK too where the document cannot be read. */
static tb_code open_document(tb__checking *c, tb_error *err)
{
    const tb_tollproof *b = c->bundle;
    const tb_code code = open_paper(c, "The document", b->invoice.text, &c->contents.document, err);
    c->has_document = !code;
    if (!code && strcmp(c->contents.document.statement.state, "final") != 0)
        tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_DIFFERS, "Document %s is not final.", c->contents.document.statement.number);
    if (code) {
        tb__check_set(c, TB_CHECK_INCLUSION, TB_CHECK_UNABLE, "The document cannot be read, so its entry is not known.");
        return code == TB_E_NOMEM ? code : TB_OK;
    }
    const int64_t month = c->contents.document.statement.month;
    int64_t index = 0;
    if (check_salted(c, "the document", TB_PROOF_INVOICE, month, &b->invoice, &index)) c->out->index = index;
    check_salted(c, "the terms", TB_PROOF_TERMS, month, &b->terms, &index);
    return TB_OK;
}

static tb_code open_earlier(tb__checking *c, size_t at, tb_error *err)
{
    const tb_tollproof_part *part = &c->bundle->earlier.parts[at];
    tb_paper *paper = &c->contents.earlier[at];
    int64_t index;
    char what[48];
    const tb_code code = open_paper(c, "An earlier document", part->text, paper, err);
    if (code) return code == TB_E_NOMEM ? code : TB_OK;
    snprintf(what, sizeof what, "document %s", paper->statement.number);
    check_salted(c, what, TB_PROOF_INVOICE, paper->statement.month, part, &index);
    if (c->has_document && paper->statement.account != c->contents.document.statement.account)
        tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_DIFFERS, "Document %s is of another account than %s.", paper->statement.number,
                      c->contents.document.statement.number);
    return TB_OK;
}

/* --- books --- */

/* Sets found[i] where it is the document's i-th book. */
static void match_book(tb__checking *c, const tb_book *book, bool *found)
{
    const tb_statement *s = &c->contents.document.statement;
    for (size_t i = 0; c->has_document && i < s->n_books && i < TB_TOLLPROOF_LIST; i++) {
        if (strcmp(s->books[i].id, book->id) != 0) continue;
        if (strcmp(s->books[i].sha256, book->sha256) == 0) found[i] = true;
        else
            tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_DIFFERS,
                          "The document names price book %s with SHA-256 %.16s..., but the book in this file has %.16s...", book->id,
                          s->books[i].sha256, book->sha256);
    }
}

/* A price book whose text cannot be read: of a version that is not known, if the log has it so. */
static void open_unread_book(tb__checking *c, const tb_tollproof_part *part, const tb_error *why)
{
    tb_proof_entry entry = {.type = TB_PROOF_BOOK, .of = -1, .hash = tb_proof_digest(part->text.data, part->text.len)};
    const char *id = find_member(part->text, "\"book\":\""), *end = id ? memchr(id, '"', part->text.len - (size_t)(id - part->text.data)) : NULL;
    int64_t index;
    if (end && (size_t)(end - id) < sizeof entry.book) memcpy(entry.book, id, (size_t)(end - id));
    if (check_proof(c, "a price book", &entry, part->proof, &index))
        tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_UNABLE, "A price book cannot be read: %.280s", why->message);
    else tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_UNABLE, "A price book in this file is not as it was written: %.280s", why->message);
}

static tb_code open_book(tb__checking *c, size_t at, bool *found, tb_error *err)
{
    const tb_tollproof_part *part = &c->bundle->books.parts[at];
    tb_book *book = &c->contents.books[at];
    tb_error why;
    int64_t index;
    char what[96];
    const tb_code code = tb_book_parse(part->text.data, part->text.len, NULL, book, &why);
    if (code == TB_E_NOMEM) return tb_no_memory(err);
    if (code) {
        open_unread_book(c, part, &why);
        return TB_OK;
    }
    tb_proof_entry entry = {.type = TB_PROOF_BOOK, .of = -1, .hash = tb_proof_digest(part->text.data, part->text.len)};
    memcpy(entry.book, book->id, sizeof entry.book);
    snprintf(what, sizeof what, "price book %s", book->id);
    check_proof(c, what, &entry, part->proof, &index);
    match_book(c, book, found);
    return TB_OK;
}

static tb_code open_books(tb__checking *c, tb_error *err)
{
    const tb_statement *s = &c->contents.document.statement;
    const size_t n = c->has_document && s->n_books <= TB_TOLLPROOF_LIST ? s->n_books : 0;
    bool *found = tb_alloc_zero(NULL, n + 1, sizeof *found);
    if (!found) return tb_no_memory(err);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < c->bundle->books.n; i++)
        code = open_book(c, i, found, err);
    for (size_t i = 0; !code && i < n; i++)
        if (s->books[i].id[0] && !found[i])
            tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_UNABLE, "Price book %s, which the document names, is not in this file.",
                          s->books[i].id);
    free(found);
    return code;
}

/* --- days, a void --- */

static void open_day(tb__checking *c, size_t at)
{
    const tb_tollproof_part *part = &c->bundle->days.parts[at];
    char what[40] = "the usage of ";
    tb__check_date(part->day, what + strlen(what));
    tb_check_day *day = &c->days[at];
    *day = (tb_check_day){.index = -1, .day = part->day, .text = part->text};
    const bool in_log = check_salted(c, what, TB_PROOF_USAGE, 0, part, &day->index);
    if (day->index < 0) tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_UNABLE, "Not judged: the proof of %s cannot be read.", what);
    if (in_log && part->of >= day->index)
        tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_DIFFERS, "Entry %lld of the log says that a later one, %lld, is the first of its day.",
                      (long long)day->index, (long long)part->of);
    if (at && day->index <= day[-1].index)
        tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_UNABLE, "The usage of %s is not in its place: days ascend by their entries, each once.", what + 13);
}

/* What a void says: {"number":"2026-000012","voided":"2026-11-03T10:00:00Z"}. Points to the moment, of 20 bytes; NULL: it is not of
 * this document. */
static const char *void_moment(const char *number, tb_text text)
{
    char head[64];
    const int len = snprintf(head, sizeof head, "{\"number\":\"%s\",\"voided\":\"", number);
    int64_t us;
    const char *at = text.data + len;
    if (text.len != (size_t)len + 22 || memcmp(text.data, head, (size_t)len) != 0 || memcmp(at + 20, "\"}", 2) != 0) return NULL;
    return tb_rfc3339_parse(at, 20, &us, NULL) ? NULL : at;
}

static void open_void(tb__checking *c)
{
    const tb_tollproof_part *part = &c->bundle->voided;
    int64_t index = 0;
    if (!part->text.data) return;
    const char *number = c->has_document ? c->contents.document.statement.number : "", *moment = void_moment(number, part->text);
    if (!moment) tb__check_set(c, TB_CHECK_VOID, TB_CHECK_UNABLE, "The file has a void, but not of this document.");
    else if (!check_salted(c, "the void", TB_PROOF_VOID, 0, part, &index))
        tb__check_set(c, TB_CHECK_VOID, TB_CHECK_UNABLE, "The file says that the document is void, but the log does not.");
    else
        tb__check_set(c, TB_CHECK_VOID, TB_CHECK_DIFFERS, "Document %s was made void at %.20s (entry %lld of the log): nothing is due by it.", number,
                      moment, (long long)index);
}

/* --- all --- */

static void say_opened(tb__checking *c)
{
    const tb_tollproof *b = c->bundle;
    char size[TB__GROUPED];
    const size_t n = b->books.n + b->days.n + b->earlier.n + (b->is_receipts ? 0 : 2) + (b->voided.text.data != NULL);
    if (!c->has_checkpoint) tb__check_set(c, TB_CHECK_INCLUSION, TB_CHECK_UNABLE, "The checkpoint cannot be read.");
    if (!tb__check_is_ok(c, TB_CHECK_SIGNATURE))
        tb__check_set(c, TB_CHECK_INCLUSION, TB_CHECK_UNABLE, "Without the signature nothing shows that this checkpoint is the log's.");
    tb__check_set(c, TB_CHECK_INCLUSION, TB_CHECK_OK, "All %zu parts of this file are entries of the log, which has %s.", n,
                  tb__check_grouped(c->has_checkpoint ? (tb_u128)c->checkpoint.size : 0, size));
    if (b->is_receipts) tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_OK, "The file has %zu day%s of usage.", b->days.n, b->days.n == 1 ? "" : "s");
    else
        tb__check_set(c, TB_CHECK_COMMITMENTS, TB_CHECK_OK,
                      "The file has the document, its terms, %zu price book%s, %zu day%s of usage and %zu earlier document%s. The document's own "
                      "SHA-256 is right.", b->books.n, b->books.n == 1 ? "" : "s", b->days.n, b->days.n == 1 ? "" : "s", b->earlier.n,
                      b->earlier.n == 1 ? "" : "s");
}

static void find_doubles(tb__checking *c)
{
    qsort(c->indexes, c->n_indexes, sizeof *c->indexes, tb__by_int64);
    for (size_t i = 1; i < c->n_indexes; i++)
        if (c->indexes[i] == c->indexes[i - 1])
            tb__check_set(c, TB_CHECK_INCLUSION, TB_CHECK_DIFFERS, "Entry %lld of the log is in this file twice.", (long long)c->indexes[i]);
}

static tb_code make_lists(tb__checking *c, tb_error *err)
{
    const tb_tollproof *b = c->bundle;
    c->days = tb_alloc_zero(NULL, b->days.n + 1, sizeof *c->days);
    c->indexes = tb_alloc_zero(NULL, b->days.n + b->books.n + b->earlier.n + 3, sizeof *c->indexes);
    tb_code code = tb__contents_init(&c->contents, b->books.n, b->earlier.n, err);
    c->contents.text = b->invoice.text;
    c->contents.days = c->days;
    c->contents.n_days = b->days.n;
    return code || (c->days && c->indexes) ? code : tb_no_memory(err);
}

tb_code tb__check_entries(tb__checking *c, tb_error *err)
{
    const tb_tollproof *b = c->bundle;
    tb_code code = make_lists(c, err);
    if (!code && !b->is_receipts) code = open_document(c, err);
    if (!code && !b->is_receipts) code = open_books(c, err);
    for (size_t i = 0; !code && i < b->days.n; i++)
        open_day(c, i);
    for (size_t i = 0; !code && i < b->earlier.n; i++)
        code = open_earlier(c, i, err);
    if (code) return code;
    open_void(c);
    find_doubles(c);
    say_opened(c);
    return TB_OK;
}
