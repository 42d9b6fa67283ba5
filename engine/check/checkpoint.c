/* Who signed the checkpoint, and whether the log only grew since another one: signature, witness, consistency. */
#include "check/steps.h"

#include <stdio.h>
#include <string.h>

#include "tollbook/calendar.h"

static bool is_named(const tb_note_key *key, tb_text name)
{
    return strlen(key->name) == name.len && memcmp(key->name, name.data, name.len) == 0;
}

/* IDs do not suffice: two keys can be made that have the same. */
static bool is_same_key(const tb_note_key *a, const tb_note_key *b)
{
    return a->type == b->type && memcmp(a->public_key, b->public_key, sizeof a->public_key) == 0;
}

/* The signature line that says the log's key made it; NULL: none. */
static const tb_note_signature *find_signature(const tb_note *note, tb_text name)
{
    for (size_t i = 0; i < note->n_signatures; i++)
        if (note->signatures[i].name.len == name.len && memcmp(note->signatures[i].name.data, name.data, name.len) == 0)
            return &note->signatures[i];
    return NULL;
}

static void say_unsigned(tb__checking *c, const tb_note *note)
{
    const tb_note_key *key = c->key;
    const tb_note_signature *other = find_signature(note, c->checkpoint.origin);
    if (!is_named(key, c->checkpoint.origin))
        tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_DIFFERS, "The key is of the log %.80s, but the file is of the log %.80s.",
                      key->name, c->out->log);
    else if (other)
        tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_DIFFERS,
                      "The checkpoint is signed by another key (%08x) of the name %.80s than the one that is trusted (%08x).", other->id,
                      key->name, key->id);
    else
        tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_DIFFERS, "The checkpoint is not signed by the key of the log %.80s.", key->name);
}

static void verify_signature(tb__checking *c, const tb_note *note)
{
    tb_error why;
    tb_note_signer log = {.key = *c->key};
    const tb_code code = tb_note_open(note, &log, 1, &why);
    if (code == TB_E_NOT_FOUND) say_unsigned(c, note);
    else if (code == TB_E_DIFFERENT)
        tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_DIFFERS,
                      "The signature of %.80s under the checkpoint is wrong: the checkpoint is not what was signed.", log.key.name);
    else if (code) tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_UNABLE, "%s", why.message);
    else if (!is_named(&log.key, c->checkpoint.origin) || log.key.type != TB_NOTE_ED25519) say_unsigned(c, note);
    else
        tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_OK, "The key %08x of the log %.80s signed its checkpoint of %lld entries.", log.key.id,
                      log.key.name, (long long)c->checkpoint.size);
}

void tb__check_signature(tb__checking *c)
{
    tb_note note;
    tb_error why;
    const tb_tollproof *b = c->bundle;
    tb_code code = tb_note_read(b->checkpoint.data, b->checkpoint.len, &note, &why);
    if (!code) code = tb_checkpoint_read(note.text, &c->checkpoint, &why);
    if (code) {
        tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_UNABLE, "The checkpoint cannot be read: %.300s", why.message);
        return;
    }
    c->has_checkpoint = true;
    c->out->size = c->checkpoint.size;
    c->out->root = c->checkpoint.root;
    if (b->log.len != c->checkpoint.origin.len || memcmp(b->log.data, c->checkpoint.origin.data, b->log.len) != 0)
        tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_DIFFERS, "The file says that its log is %.80s, but the checkpoint is of another one.", c->out->log);
    else if (c->key && c->in->remembered && !is_same_key(c->key, c->in->remembered))
        tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_DIFFERS,
                      "Another key (%08x) of the log %.80s was trusted before than the one that is given (%08x).", c->in->remembered->id,
                      c->out->log, c->key->id);
    else if (!c->key)
        tb__check_set(c, TB_CHECK_SIGNATURE, TB_CHECK_UNABLE,
                      "The key of the log %.80s is not known. Ask its operator for it, not by the way on which this file came, and give it "
                      "with --key VKEY: `tollbook proof vkey` prints it.", c->out->log);
    else verify_signature(c, &note);
}

/* --- witnesses --- */

static void say_witnesses(tb__checking *c, const tb_note_signer *signers)
{
    char names[300] = "";
    for (size_t i = 0; i < c->in->n_witnesses; i++) {
        const size_t used = strlen(names);
        char moment[20];
        if (!signers[i].has_signed) {
            tb__check_set(c, TB_CHECK_WITNESS, TB_CHECK_UNABLE, "The witness %.80s has not signed this checkpoint. Witnesses sign after the log's key: "
                          "get the file again.", signers[i].key.name);
            return;
        }
        const bool has_time = signers[i].time_s <= TB_US_LAST / TB_US_PER_S;
        tb_time_format(has_time ? signers[i].time_s * TB_US_PER_S : 0, moment);
        snprintf(names + used, sizeof names - used, "%s%.80s (%.*s)", used ? ", " : "", signers[i].key.name, has_time ? 20 : 0, moment);
    }
    tb__check_set(c, TB_CHECK_WITNESS, TB_CHECK_OK, "Signed by: %s.", names);
}

void tb__check_witnesses(tb__checking *c)
{
    const tb_text note_text = c->bundle->checkpoint;
    tb_note note;
    tb_error why;
    tb_note_signer signers[TB_NOTE_SIGNATURES];
    if (c->in->n_witnesses == 0) return;
    for (size_t i = 0; i < c->in->n_witnesses; i++)
        signers[i] = (tb_note_signer){.key = c->in->witnesses[i]};
    tb_code code = tb_note_read(note_text.data, note_text.len, &note, &why);
    if (!code) code = tb_note_open(&note, signers, c->in->n_witnesses, &why);
    if (code == TB_OK || code == TB_E_NOT_FOUND) say_witnesses(c, signers);
    else if (code == TB_E_DIFFERENT) tb__check_set(c, TB_CHECK_WITNESS, TB_CHECK_DIFFERS, "A witness's signature under the checkpoint is wrong.");
    else tb__check_set(c, TB_CHECK_WITNESS, TB_CHECK_UNABLE, "%s", why.message);
}

/* --- growth --- */

/* The older checkpoint, if the log's key signed it. The key is known, as it signed the newer one. */
static bool open_since(tb__checking *c, const tb_check_since *since, tb_checkpoint *ret)
{
    tb_note note;
    tb_error why;
    tb_note_signer log = {.key = *c->key};
    tb_code code = tb_note_read(since->note.data, since->note.len, &note, &why);
    if (!code) code = tb_checkpoint_open(&note, &log, 1, ret, &why);
    if (code)
        tb__check_set(c, TB_CHECK_CONSISTENCY, TB_CHECK_UNABLE,
                      "The old checkpoint in %.80s was changed, or is not this log's: use an unaltered copy.", since->name);
    return !code;
}

/* The proof that the smaller tree became the larger one: the bundle's, or made of tiles. false: there is none, and the step is
 * set. */
static bool find_growth(tb__checking *c, const tb_check_since *since, int64_t old_size, int64_t new_size, tb_merkle_proof *ret)
{
    const tb_tollproof *b = c->bundle;
    tb_error why;
    if (b->has_growth && b->growth_from == old_size && new_size == c->checkpoint.size) {
        *ret = b->growth;
        return true;
    }
    if (!c->in->tiles)
        tb__check_set(c, TB_CHECK_CONSISTENCY, TB_CHECK_UNABLE,
                      "The file has no proof that the log only grew since the %lld entries of %.80s. Get it again with ?since=%lld, or "
                      "with `tollbook proof bundle --since %lld`, or give --tiles DIR.",
                      (long long)old_size, since->name, (long long)old_size, (long long)old_size);
    else if (tb_merkle_prove_growth(c->in->tiles, old_size, new_size, ret, &why))
        tb__check_set(c, TB_CHECK_CONSISTENCY, TB_CHECK_UNABLE, "The tiles do not suffice to prove that the log only grew since %.80s: %.200s",
                      since->name, why.message);
    else return true;
    return false;
}

static void compare_trees(tb__checking *c, const tb_check_since *since, const tb_checkpoint *old, const tb_checkpoint *new)
{
    tb_merkle_proof proof = {0};
    const bool since_is_new = old == &c->checkpoint;
    if (old->size != new->size && !find_growth(c, since, old->size, new->size, &proof)) return;
    const bool extends = tb_merkle_extends(old->size, &old->root, new->size, &new->root, &proof);
    if (extends && old->size == new->size)
        tb__check_set(c, TB_CHECK_CONSISTENCY, TB_CHECK_OK, "The log is the one of %.80s: it has no entry more.", since->name);
    else if (extends)
        tb__check_set(c, TB_CHECK_CONSISTENCY, TB_CHECK_OK, "The log only grew between the checkpoints of %lld entries, of %.80s, and %lld.",
                      (long long)(since_is_new ? new : old)->size, since->name, (long long)c->checkpoint.size);
    else if (old->size == new->size)
        tb__check_set(c, TB_CHECK_CONSISTENCY, TB_CHECK_DIFFERS,
                      "There are two logs: the key signed another one of %lld entries in %.80s. Keep both files: they prove it.",
                      (long long)old->size, since->name);
    else
        tb__check_set(c, TB_CHECK_CONSISTENCY, TB_CHECK_DIFFERS,
                      "The log of %lld entries is not shown to begin with the %lld that %s: its entries were changed, or the proof was.",
                      (long long)new->size, (long long)old->size, since_is_new ? "this file has" : "were known before");
}

static void check_since(tb__checking *c, const tb_check_since *since)
{
    tb_checkpoint old;
    const tb_checkpoint *this = &c->checkpoint;
    if (!open_since(c, since, &old)) return;
    if (old.size <= this->size) compare_trees(c, since, &old, this);
    else if (c->in->tiles) compare_trees(c, since, this, &old);
    else
        tb__check_set(c, TB_CHECK_CONSISTENCY, TB_CHECK_UNABLE,
                      "This file is older: its checkpoint has %lld entries, that of %.80s has %lld. Get the file again, or give --tiles DIR. If it "
                      "stays older, the log was taken back, for it never shrinks.", (long long)this->size, since->name, (long long)old.size);
}

void tb__check_growth(tb__checking *c)
{
    for (size_t i = 0; i < c->in->n_since; i++) {
        if (tb__check_is_ok(c, TB_CHECK_SIGNATURE)) check_since(c, &c->in->since[i]);
        else tb__check_set(c, TB_CHECK_CONSISTENCY, TB_CHECK_UNABLE, "Without the signature nothing shows that this checkpoint is the log's.");
    }
}
