/* Verifying the log of documents (tollbook/prooflog.h): its entries, tiles and checkpoints are of one tree; each entry commits to
 * what is stored, each book, document, void and closed day has its entry. A day's earlier entries, which later ones took the place
 * of, are made again where the month was run before: changes since then are kept. And a checkpoint that was kept elsewhere is compared
 * with the log of now. */
#include "store/proof/log.h"
#include "store/proof/sql.h"
#include "store/verify/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/retain.h"

#define TEXT_MAX ((size_t)1 << 30)

typedef struct checking {
    tb__verify *v;
    tb_merkle_edge *edge;
    uint8_t seed[TB_PROOF_SEED];
    int64_t open;
    int64_t tiles;      /* that the tree has */
    int64_t checkpoint; /* size of the next one that is looked at */
    tb_buf text;
} checking;

/* --- the tree --- */

static tb_code compare_tile(void *ctx, const tb_tile *tile, const tb_merkle_hash *hashes, tb_error *err)
{
    checking *c = ctx;
    const int64_t values[2] = {tile->level, tile->index};
    const size_t len = (size_t)tile->width * sizeof *hashes;
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__verify_sql(c->v, TB__V_PROOF_TILE, values, 2, &s, err);
    if (!code) code = tb__step(c->v->store, s, &row, err);
    if (code) return code;
    c->tiles += row;
    if (!row || (size_t)sqlite3_column_bytes(s, 0) != len || memcmp(sqlite3_column_blob(s, 0), hashes, len) != 0)
        tb__differs(c->v, "Tile %" PRId64 " of level %d of the log of documents is not what its entries make.", tile->index, (int)tile->level);
    if (row) sqlite3_reset(s);
    return TB_OK;
}

static tb_code check_checkpoint(checking *c, sqlite3_stmt *s, tb_error *err)
{
    const char *note = (const char *)sqlite3_column_text(s, 1);
    const tb_merkle_hash root = tb_merkle_edge_root(c->edge);
    tb_checkpoint checkpoint;
    tb_note taken;
    if (!note) return tb_no_memory(err);
    if (tb_note_read(note, (size_t)sqlite3_column_bytes(s, 1), &taken, NULL) || tb_checkpoint_read(taken.text, &checkpoint, NULL) ||
        checkpoint.size != c->edge->size || !tb_merkle_same(&checkpoint.root, &root))
        tb__differs(c->v, "The checkpoint of %" PRId64 " entries of the log of documents is not of these entries.", c->edge->size);
    return TB_OK;
}

/* Checkpoints of sizes that the tree never has are found by references. */
static tb_code check_checkpoints(checking *c, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    if (c->edge->size != c->checkpoint) return TB_OK;
    tb_code code = tb__verify_sql(c->v, TB__V_PROOF_CHECKPOINT, &c->checkpoint, 1, &s, err);
    if (!code) code = tb__step(c->v->store, s, &row, err);
    if (code || !row) return code;
    code = check_checkpoint(c, s, err);
    c->checkpoint = sqlite3_column_int64(s, 2);
    sqlite3_reset(s);
    return code;
}

/* --- entries --- */

static void name_day(int64_t day, char ret[20])
{
    tb_time_format(day * TB_US_PER_DAY, ret);
    ret[10] = 0;
}

/* The text that the entry commits to, into c->text; *ret_there false: it is not stored any more. */
static tb_code find_text(checking *c, const tb_proof_entry *entry, sqlite3_stmt *s, bool *ret_there, tb_error *err)
{
    const int64_t account = sqlite3_column_int64(s, 2);
    tb_kept kept;
    c->text.len = 0;
    *ret_there = sqlite3_column_int64(s, 6) != 0;
    if (entry->type == TB_PROOF_USAGE) {
        tb_code code = tb_store_kept(c->v->store, account, &kept, err);
        *ret_there = *ret_there && !code && tb_month_from_day(entry->day) >= kept.hours;
        return code || !*ret_there ? code : tb__proof_day_text(c->v->store, account, entry->day, sqlite3_column_int64(s, 8), &c->text, err);
    }
    if (entry->type == TB_PROOF_VOID) {
        tb__proof_void_text((const char *)sqlite3_column_text(s, 3), sqlite3_column_int64(s, 7), &c->text);
        return tb_buf_check(&c->text, err);
    }
    tb_buf_add(&c->text, sqlite3_column_blob(s, 5), (size_t)sqlite3_column_bytes(s, 5));
    return tb_buf_check(&c->text, err);
}

static bool is_named(const tb_proof_entry *entry, const char *type, const char *subject)
{
    char day[20];
    if (strcmp(type, tb_proof_type_name(entry->type)) != 0) return false;
    if (entry->type == TB_PROOF_BOOK) return strcmp(subject, entry->book) == 0;
    if (entry->type != TB_PROOF_USAGE) return true;
    name_day(entry->day, day);
    return strcmp(subject, day) == 0;
}

static tb_code check_entry(checking *c, sqlite3_stmt *s, tb_error *err)
{
    const int64_t index = sqlite3_column_int64(s, 0);
    const char *type = (const char *)sqlite3_column_text(s, 1), *subject = (const char *)sqlite3_column_text(s, 3);
    const char *bytes = (const char *)sqlite3_column_text(s, 4);
    uint8_t salt[TB_PROOF_SALT];
    tb_proof_entry entry;
    bool there = false;
    if (!type || !subject || !bytes) return tb_no_memory(err);
    const size_t len = (size_t)sqlite3_column_bytes(s, 4);
    const bool read = tb_proof_entry_read(bytes, len, &entry, NULL) == TB_OK;
    if (index != c->edge->size || !read || !is_named(&entry, type, subject))
        tb__differs(c->v, "Entry %" PRId64 " of the log of documents is not in its place, or not of what its row says.", index);
    const tb_merkle_hash leaf = tb_merkle_leaf(bytes, len);
    const tb_tile_writer writer = {compare_tile, c};
    tb_code code = tb_merkle_append(c->edge, &leaf, &writer, err);
    if (code || !read) return code;
    code = find_text(c, &entry, s, &there, err);
    if (code || !there) return code;
    const tb_text text = {c->text.len ? c->text.data : "", c->text.len};
    tb__proof_salt(c->seed, index, text, salt);
    const tb_merkle_hash hash = entry.type == TB_PROOF_BOOK ? tb_proof_digest(text.data, text.len) : tb_proof_commit(salt, text.data, text.len);
    if (!tb_merkle_same(&hash, &entry.hash))
        tb__differs(c->v, "Entry %" PRId64 " of the log of documents (%s %s) does not commit to what is stored.", index, type, subject);
    return TB_OK;
}

static tb_code check_entries(checking *c, tb_error *err)
{
    const tb_tile_writer writer = {compare_tile, c};
    int64_t tiles = 0;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(c->v, TB__V_PROOF_ENTRIES, NULL, 0, &s, err);
    while (!code && !(code = tb__step(c->v->store, s, &row, err)) && row) {
        code = check_entry(c, s, err);
        if (!code) code = check_checkpoints(c, err);
    }
    if (!code) code = tb_merkle_flush(c->edge, &writer, err);
    if (!code) code = tb__verify_sql(c->v, TB__V_PROOF_TILES, NULL, 0, &s, err);
    if (!code) code = tb__step(c->v->store, s, &row, err);
    if (code) return code;
    tiles = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    if (tiles != c->tiles) tb__differs(c->v, "The log of documents has %" PRId64 " tiles, and its entries make %" PRId64 ".", tiles, c->tiles);
    return TB_OK;
}

/* --- what has to have an entry --- */

static const char *const references[] = {
    "SELECT format('The log of documents has %d entries of invoice %s.',n,number) FROM (SELECT number,(SELECT count(*) FROM"
    " proof_entry e WHERE e.subject=i.number AND e.account=i.account AND e.type='invoice') AS n FROM invoice i) WHERE n<>1",
    "SELECT format('The log of documents has %d entries of the void of %s.',n,number) FROM (SELECT number,state,(SELECT count(*)"
    " FROM proof_entry e WHERE e.subject=i.number AND e.account=i.account AND e.type='void') AS n FROM invoice i)"
    " WHERE n<>(state='void')",
    /* documents that are older than the log, or correct what is, have terms if they could be made */
    "SELECT format('The log of documents has %d terms of %s.',n,number) FROM (SELECT id,number,watermark,(SELECT count(*) FROM"
    " proof_entry e WHERE e.subject=i.number AND e.account=i.account AND e.type='terms') AS n,(SELECT version FROM proof_entry WHERE"
    " id=0) AS began FROM invoice i) AS i WHERE n>1 OR (n=0 AND watermark>=began AND NOT EXISTS(SELECT 1 FROM correction c WHERE"
    " c.invoice=i.id AND c.since<began))",
    "SELECT format('The log of documents has %d entries of book %s.',n,name) FROM (SELECT name,(SELECT count(*) FROM"
    " proof_entry e WHERE e.subject=b.name AND e.account=0 AND e.type='book') AS n FROM book b) WHERE n<>1",
    "SELECT format('Entry %d of the log of documents is of %s %s, which is not there.',id,type,subject) FROM proof_entry e WHERE"
    " (type='book' AND NOT EXISTS(SELECT 1 FROM book WHERE name=subject)) OR (type IN('invoice','terms','void') AND NOT EXISTS"
    " (SELECT 1 FROM invoice i WHERE i.number=subject AND i.account=e.account))",
    "SELECT format('There is a checkpoint of %d entries, which the log of documents does not have.',size) FROM proof_checkpoint"
    " WHERE size>(SELECT count(*) FROM proof_entry)",
    "SELECT DISTINCT format('The log of documents has no entry of the values of gauges of account %d on %s.',m.account,"
    "date(g.at_us/1000000,'unixepoch')) FROM gauge g CROSS JOIN meter_series m ON m.id=g.series WHERE g.gone_version="
    "9223372036854775807 AND g.at_us/86400000000<(SELECT value FROM meta WHERE name='proof_open') AND NOT EXISTS(SELECT 1 FROM"
    " proof_entry e WHERE e.subject=date(g.at_us/1000000,'unixepoch') AND e.account=m.account AND e.type='usage')"
    " AND NOT EXISTS(SELECT 1 FROM proof_change c WHERE c.account=m.account AND c.day=g.at_us/86400000000)"
    /* values are kept for longer than hours */
    " AND NOT EXISTS(SELECT 1 FROM retention k WHERE k.account=m.account AND k.hours_month>" TB__PROOF_MONTH("date(g.at_us/1000000,'unixepoch')") ")",
};

typedef struct days {
    checking *c;
    int64_t account;
    tb_kept kept;
} days;

/* Usage that was withdrawn may leave a day without any. */
static tb_code check_day(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    days *d = ctx;
    char name[20];
    sqlite3_stmt *s;
    bool row = false;
    (void)hours;
    if (day >= d->c->open || tb_month_from_day(day) < d->kept.hours) return TB_OK;
    name_day(day, name);
    const int64_t values[2] = {d->account, day};
    tb_code code = tb__verify_sql(d->c->v, TB__V_PROOF_DAY, values, 2, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 3, name, -1, SQLITE_STATIC);
    code = tb__step(d->c->v->store, s, &row, err);
    if (row) sqlite3_reset(s);
    if (code || row) return code;
    d->c->text.len = 0;
    code = tb__proof_day_text(d->c->v->store, d->account, day, INT64_MAX, &d->c->text, err);
    if (!code && d->c->text.len) tb__differs(d->c->v, "The log of documents has no entry of the usage of account %" PRId64 " on %s.", d->account, name);
    return code;
}

static tb_code check_days(checking *c, tb_error *err)
{
    days d = {.c = c};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__verify_sql(c->v, TB__V_PROOF_SERIES, NULL, 0, &s, err);
    while (!code && !(code = tb__step(c->v->store, s, &row, err)) && row) {
        d.account = sqlite3_column_int64(s, 0);
        code = tb_store_kept(c->v->store, d.account, &d.kept, err);
        if (!code) code = c->v->store->plane.counters->each_day(c->v->store, sqlite3_column_int64(s, 1), check_day, &d, err);
    }
    return code;
}

static tb_code check_all(checking *c, tb_error *err)
{
    tb_code code = check_entries(c, err);
    for (size_t i = 0; !code && i < sizeof references / sizeof *references; i++)
        code = tb__verify_reference(c->v, references[i], err);
    return code ? code : check_days(c, err);
}

tb_code tb__verify_proof(tb__verify *v, tb_error *err)
{
    checking c = {.v = v, .open = INT64_MIN};
    bool there = false;
    tb_code code = tb__proof_open(v->store, &c.open, err);
    if (code || c.open == INT64_MIN) return code;
    code = tb__proof_seed(v->store, c.seed, &there, err);
    if (!code && !there) tb__differs(v, "The seed of the log of documents is missing.");
    if (code || !there) return code;
    if (!(c.edge = calloc(1, sizeof *c.edge))) return tb_no_memory(err);
    tb_buf_init(&c.text, TEXT_MAX, NULL);
    code = tb__int_of(v->store, TB__SQL_PROOF_CHECKPOINT_FIRST, NULL, 0, 0, &c.checkpoint, err);
    if (!code) code = check_all(&c, err);
    tb_buf_release(&c.text);
    free(c.edge);
    return code;
}

/* --- a checkpoint that was kept elsewhere --- */

/* Another name is another log, where one was signed here. */
static tb_code compare_name(tb__verify *v, const tb_checkpoint *then, tb_error *err)
{
    tb_checkpoint now;
    tb_note note;
    tb_buf text;
    tb_buf_init(&text, TB_NOTE_MAX, NULL);
    tb_code code = tb_store_proof_checkpoint(v->store, &text, err);
    if (!code && !tb_note_read(text.data, text.len, &note, NULL) && !tb_checkpoint_read(note.text, &now, NULL) &&
        (now.origin.len != then->origin.len || memcmp(now.origin.data, then->origin.data, now.origin.len) != 0))
        tb__differs(v, "The checkpoint is of the log %.*s, and the log of documents here is %.*s.", (int)then->origin.len, then->origin.data,
             (int)now.origin.len, now.origin.data);
    tb_buf_release(&text);
    return code == TB_E_NOT_FOUND ? TB_OK : code;
}

static tb_code compare_root(tb__verify *v, const tb_checkpoint *then, tb_error *err)
{
    const tb_tile_reader reader = tb__proof_reader(v->store);
    tb_merkle_hash root;
    const tb_code code = tb_merkle_root(&reader, then->size, &root, err);
    if (code == TB_E_CORRUPT) tb__differs(v, "%s", err->message);
    if (!code && !tb_merkle_same(&root, &then->root))
        tb__differs(v, "The first %lld entries of the log of documents are not those that the checkpoint covers.", (long long)then->size);
    return code == TB_E_CORRUPT ? TB_OK : code;
}

tb_code tb_store_verify_checkpoint(tb_store *store, const tb_checkpoint *checkpoint, tb_say say, void *ctx,
                                   uint64_t *ret_differences, tb_error *err)
{
    tb__verify v = {.store = store, .say = say, .ctx = ctx};
    tb_proof_log log;
    tb_code code = tb_store_proof_log(store, &log, err);
    if (code) return code;
    if (!log.begun) tb__differs(&v, "There is no log of documents; the checkpoint is of %lld entries.", (long long)checkpoint->size);
    else if (log.size < checkpoint->size)
        tb__differs(&v, "The log of documents has %lld entries, and the checkpoint covers %lld: it is an older copy, or it was cut.",
             (long long)log.size, (long long)checkpoint->size);
    else if (!(code = compare_name(&v, checkpoint, err)))
        code = compare_root(&v, checkpoint, err);
    if (!code) *ret_differences = v.differences;
    return code;
}
