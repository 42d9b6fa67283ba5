/* Bundles and receipts: what is stored of a document, its terms made again, its books, its days as they were rated, the documents that
 * it corrects, each with its salt and its proof under the newest checkpoint. What does not open its commitment is not handed out. */
#include "tollbook/bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/invoicing/issue_parts.h"
#include "ops/proof/refs.h"
#include "tollbook/calendar.h"
#include "tollbook/check.h"
#include "tollbook/prooflog.h"
#include "tollbook/tollproof.h"

/* Where a part's text and proof are in the buffer, which moves while it grows. */
typedef struct place {
    size_t text, text_len, proof, proof_len;
} place;

typedef struct list {
    int64_t *index; /* of entries, ascending, each once */
    tb_tollproof_part *parts;
    place *places;
    size_t n, cap;
} list;

typedef struct making {
    tb_store *store;
    tb_buf note;     /* the checkpoint */
    int64_t size;    /* its */
    tb_text origin;
    tb_buf texts;    /* of the parts, and their proofs */
    place invoice, terms, voided;
    list books, days, earlier;
    tb_tollproof out;
    bool changed;    /* the part that was read last cannot be made, as its day changed */
} making;

/* --- the checkpoint --- */

static tb_code load_checkpoint(making *m, tb_error *err)
{
    tb_proof_log log;
    tb_checkpoint checkpoint;
    tb_note note;
    tb_code code = tb_store_proof_log(m->store, &log, err);
    if (!code && !log.begun) return tb_fail(err, TB_E_NOT_FOUND, NULL, "There is no log of documents here, so nothing can be proven.");
    if (!code && !log.checkpoint)
        return tb_fail(err, TB_E_PROOF_UNSIGNED, NULL, "No checkpoint of the log of documents was signed yet. Sign one with: tollbook"
                       " proof close-days --proof-key-file FILE");
    if (!code) code = tb_store_proof_checkpoint(m->store, &m->note, err);
    if (!code) code = tb_note_read(m->note.data, m->note.len, &note, err);
    if (!code) code = tb_checkpoint_read(note.text, &checkpoint, err);
    if (code) return code;
    m->size = checkpoint.size;
    m->origin = checkpoint.origin;
    return TB_OK;
}

static tb_code not_covered(const making *m, int64_t index, tb_error *err)
{
    return tb_fail(err, TB_E_PROOF_UNSIGNED, NULL, "No checkpoint covers it yet: it is entry %" PRId64 " of the log of documents, and the newest"
                   " checkpoint ends with entry %" PRId64 ". Sign one with: tollbook proof close-days --proof-key-file FILE", index, m->size - 1);
}

/* --- parts --- */

static tb_code put_proof(making *m, int64_t index, place *at, tb_error *err)
{
    tb_proof proof = {.index = index, .checkpoint = {m->note.data, m->note.len}};
    tb_code code = tb_store_proof_path(m->store, m->size, index, &proof.path, err);
    if (code) return code;
    at->proof = m->texts.len;
    tb_proof_write(&proof, &m->texts);
    at->proof_len = m->texts.len - at->proof;
    return tb_buf_check(&m->texts, err);
}

/* terms: the content of an entry of terms. */
static tb_code put_part(making *m, int64_t index, tb_text terms, tb_tollproof_part *part, place *at, tb_error *err)
{
    tb_proof_opened opened = {.changed = false};
    if (index >= m->size) return not_covered(m, index, err);
    tb_code code = tb_store_proof_open(m->store, index, terms, &opened, &m->texts, err);
    m->changed = opened.changed;
    if (code) return code;
    *part = (tb_tollproof_part){.day = opened.entry.day, .of = opened.entry.of};
    memcpy(part->salt, opened.salt, sizeof part->salt);
    at->text = opened.at;
    at->text_len = opened.len;
    return put_proof(m, index, at, err);
}

static void set_texts(const making *m, tb_tollproof_part *part, const place *at)
{
    part->text = (tb_text){m->texts.data + at->text, at->text_len};
    part->proof = (tb_text){m->texts.data + at->proof, at->proof_len};
}

/* --- lists of entries --- */

static tb_code list_add(list *l, int64_t index, tb_error *err)
{
    size_t at = l->n;
    while (at > 0 && l->index[at - 1] >= index)
        at--;
    if (at < l->n && l->index[at] == index) return TB_OK;
    if (l->n == TB_TOLLPROOF_LIST) return tb_fail(err, TB_E_TOO_LARGE, NULL, "A bundle has at most %d days, and as many documents.", TB_TOLLPROOF_LIST);
    if (l->n == l->cap) {
        int64_t *more = realloc(l->index, (2 * l->cap + 32) * sizeof *more);
        if (!more) return tb_no_memory(err);
        l->index = more;
        l->cap = 2 * l->cap + 32;
    }
    memmove(l->index + at + 1, l->index + at, (l->n - at) * sizeof *l->index);
    l->index[at] = index;
    l->n++;
    return TB_OK;
}

static tb_code list_find(making *m, list *l, tb_proof_type type, int64_t account, const char *subject, tb_error *err)
{
    int64_t index;
    tb_code code = tb_store_proof_find(m->store, type, account, subject, &index, err);
    if (!code && index < 0)
        code = tb_fail(err, TB_E_CORRUPT, NULL, "The log of documents has no entry of %s %s. Run verify.", tb_proof_type_name(type), subject);
    return code ? code : list_add(l, index, err);
}

/* skip: a day that changed is left out. */
static tb_code list_put(making *m, list *l, bool skip, tb_error *err)
{
    size_t kept = 0;
    tb_code code = TB_OK;
    l->parts = calloc(l->n + 1, sizeof *l->parts);
    l->places = calloc(l->n + 1, sizeof *l->places);
    if (!l->parts || !l->places) return tb_no_memory(err);
    for (size_t i = 0; !code && i < l->n; i++) {
        if (skip && l->index[i] >= m->size) continue;
        code = put_part(m, l->index[i], (tb_text){"", 0}, &l->parts[kept], &l->places[kept], err);
        if (!code) kept++;
        else if (skip && m->changed) code = TB_OK;
    }
    l->n = kept;
    return code;
}

static void list_end(making *m, list *l, tb_tollproof_list *ret)
{
    for (size_t i = 0; i < l->n; i++)
        set_texts(m, &l->parts[i], &l->places[i]);
    *ret = (tb_tollproof_list){l->parts, l->n};
}

static void list_release(list *l)
{
    free(l->index);
    free(l->parts);
    free(l->places);
}

/* --- a document --- */

static tb_code list_entries(making *m, const tb_invoice *invoice, const tb__proof_refs *refs, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < refs->n_days; i++)
        code = list_add(&m->days, refs->days[i], err);
    for (size_t i = 0; !code && i < refs->n_books; i++)
        code = list_find(m, &m->books, TB_PROOF_BOOK, 0, refs->books[i].text, err);
    for (size_t i = 0; !code && i < refs->n_earlier; i++)
        code = list_find(m, &m->earlier, TB_PROOF_INVOICE, invoice->account, refs->earlier[i].text, err);
    return code;
}

static tb_code put_terms(making *m, const tb_invoice *invoice, tb_buf *terms, tb_error *err)
{
    int64_t index;
    tb__proof_refs refs = {.n_days = 0};
    tb_code code = tb_store_proof_find(m->store, TB_PROOF_TERMS, invoice->account, invoice->number, &index, err);
    if (code) return code;
    if (index < 0)
        return tb_fail(err, TB_E_NOT_KEPT, NULL, "%s counts usage of before the log of documents began, which had changed by then or was no"
                       " longer kept: it cannot be proven.", invoice->number);
    code = tb__issue_terms_again(m->store, invoice, terms, err);
    const tb_text text = {terms->len ? terms->data : "", terms->len};
    if (!code) code = put_part(m, index, text, &m->out.terms, &m->terms, err);
    if (!code) code = tb__proof_refs_read(text, &refs, err);
    if (!code) code = list_entries(m, invoice, &refs, err);
    tb__proof_refs_release(&refs);
    return code;
}

static tb_code put_entry_of(making *m, tb_proof_type type, const tb_invoice *invoice, tb_tollproof_part *part, place *at, tb_error *err)
{
    int64_t index;
    tb_code code = tb_store_proof_find(m->store, type, invoice->account, invoice->number, &index, err);
    if (!code && index < 0)
        code = tb_fail(err, TB_E_CORRUPT, NULL, "The log of documents has no entry of %s %s. Run verify.", tb_proof_type_name(type), invoice->number);
    return code ? code : put_part(m, index, (tb_text){"", 0}, part, at, err);
}

static tb_code put_growth(making *m, int64_t since, tb_error *err)
{
    if (since == TB_PROOF_SINCE_NONE) return TB_OK;
    if (since < 0 || since > m->size)
        return tb_fail(err, TB_E_VALIDATION, "since", "The newest checkpoint covers %" PRId64 " entries: give a size from 0 to that.", m->size);
    m->out.has_growth = true;
    m->out.growth_from = since;
    return tb_store_proof_growth(m->store, since, m->size, &m->out.growth, err);
}

static tb_code put_document_parts(making *m, const tb_invoice *invoice, int64_t since, tb_error *err)
{
    tb_buf terms;
    tb_buf_init(&terms, TB_TERMS_MAX, NULL);
    tb_code code = put_entry_of(m, TB_PROOF_INVOICE, invoice, &m->out.invoice, &m->invoice, err);
    if (!code && invoice->state == TB_INVOICE_VOID) code = put_entry_of(m, TB_PROOF_VOID, invoice, &m->out.voided, &m->voided, err);
    if (!code) code = put_terms(m, invoice, &terms, err);
    if (!code) code = list_put(m, &m->books, false, err);
    if (!code) code = list_put(m, &m->days, false, err);
    if (!code) code = list_put(m, &m->earlier, false, err);
    if (!code) code = put_growth(m, since, err);
    tb_buf_release(&terms);
    return code;
}

/* --- the whole --- */

/* What is too long for the answer ends early. */
static void begin_making(making *m, tb_store *store, const tb_buf *out)
{
    *m = (making){.store = store};
    tb_buf_init(&m->note, TB_NOTE_MAX, NULL);
    tb_buf_init(&m->texts, out->max, NULL);
}

static tb_code too_long(const tb_buf *out, tb_error *err)
{
    return tb_fail(err, TB_E_TOO_LARGE, NULL, "It has more than %zu MB: `proof bundle` writes it to a file.", out->max >> 20);
}

/* Writes what was made, and releases it. */
static tb_code end_making(making *m, tb_code code, tb_buf *out, tb_error *err)
{
    m->out.log = m->origin;
    m->out.checkpoint = (tb_text){m->note.data, m->note.len};
    if (!code) {
        set_texts(m, &m->out.invoice, &m->invoice);
        set_texts(m, &m->out.terms, &m->terms);
        if (m->voided.proof_len) set_texts(m, &m->out.voided, &m->voided);
        list_end(m, &m->books, &m->out.books);
        list_end(m, &m->days, &m->out.days);
        list_end(m, &m->earlier, &m->out.earlier);
        tb_tollproof_write(&m->out, out);
    }
    if ((!code && out->failed) || (code == TB_E_NOMEM && m->texts.failed)) code = too_long(out, err);
    list_release(&m->books);
    list_release(&m->days);
    list_release(&m->earlier);
    tb_buf_release(&m->texts);
    tb_buf_release(&m->note);
    if (code == TB_E_NOT_KEPT && err) err->code = TB_E_PROOF_GONE;
    return code == TB_E_NOT_KEPT ? TB_E_PROOF_GONE : code;
}

tb_code tb_proof_bundle(tb_store *store, const tb_bundle_ask *ask, tb_buf *out, tb_error *err)
{
    making m;
    tb_invoice invoice;
    tb_code code = tb_store_invoice(store, ask->account, ask->number, &invoice, err);
    if (code == TB_E_NOT_FOUND) return tb_fail(err, TB_E_INVOICE_NOT_FOUND, "number", NULL);
    if (code) return code;
    begin_making(&m, store, out);
    code = load_checkpoint(&m, err);
    if (!code) code = put_document_parts(&m, &invoice, ask->since, err);
    tb_invoice_release(&invoice);
    return end_making(&m, code, out, err);
}

tb_code tb_proof_receipts(tb_store *store, int64_t account, int64_t month, tb_buf *out, tb_error *err)
{
    making m;
    tb_proof_day *days = NULL;
    size_t n = 0;
    begin_making(&m, store, out);
    m.out.is_receipts = true;
    m.out.month = month;
    tb_code code = load_checkpoint(&m, err);
    if (!code) code = tb_store_proof_days(store, account, month, UINT64_MAX, &days, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = list_add(&m.days, days[i].index, err);
    if (!code) code = list_put(&m, &m.days, true, err);
    free(days);
    return end_making(&m, code, out, err);
}
