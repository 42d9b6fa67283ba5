/* Opening entries of the log of documents: which days were rated at a data version, and what an entry commits to, with its salt and
 * its proof. What is stored is read, days are made again as of their entry's version, and terms are the caller's. Content that does
 * not open its commitment is not handed out. */
#include "store/proof/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/retain.h"

static void name_day(int64_t day, char ret[20])
{
    tb_time_format(day * TB_US_PER_DAY, ret);
    ret[10] = 0;
}

/* --- the days of a month --- */

typedef struct finding {
    tb_store *store;
    int64_t account, known;
    int64_t began; /* version at which the log began */
} finding;

/* An entry of a day. */
typedef struct day_entry {
    int64_t day, index, version;
} day_entry;

static tb_code day_entry_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    (void)err;
    *(day_entry *)item = (day_entry){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2)};
    return TB_OK;
}

static tb_code changed_before(int64_t day, tb_error *err)
{
    char name[20];
    name_day(day, name);
    return tb_fail(err, TB_E_NOT_KEPT, NULL, "The document was made before the log of documents began, and the usage of %s changed in"
                   " between: it cannot be proven.", name);
}

/* A document is older than the log: its days' first entries are of that usage, which did not change until the log began (check_older).
 * A first entry that is later may be of a day that had none then. Not all that changes a day is late usage: so texts are compared. */
static tb_code older_entry(const finding *f, const day_entry *first, int64_t *ret, tb_error *err)
{
    tb_buf then, now;
    *ret = first->index;
    if (first->version <= f->began) return TB_OK;
    tb_buf_init(&then, TB_PROOF_DAY_MAX, NULL);
    tb_buf_init(&now, TB_PROOF_DAY_MAX, NULL);
    tb_code code = tb__proof_day_text(f->store, f->account, first->day, f->known, &then, err);
    if (!code && !then.len) *ret = -1;
    if (!code && then.len) code = tb__proof_day_text(f->store, f->account, first->day, first->version, &now, err);
    if (!code && then.len && (then.len != now.len || memcmp(then.data, now.data, now.len) != 0)) code = changed_before(first->day, err);
    tb_buf_release(&then);
    tb_buf_release(&now);
    return code;
}

/* The entry of one day's that was the newest; -1: none. */
static tb_code choose_entry(const finding *f, const day_entry *list, size_t n, int64_t *ret, tb_error *err)
{
    *ret = -1;
    for (size_t i = 0; i < n; i++)
        if (list[i].version <= f->known) *ret = list[i].index;
    return *ret >= 0 || f->known >= f->began ? TB_OK : older_entry(f, list, ret, err);
}

/* A document is older than the log: what its days were before they changed is not known, even where nothing is left of one. */
static tb_code check_older(const finding *f, int64_t month, tb_error *err)
{
    tb_code code = TB_OK;
    for (int64_t day = tb_month_first_day(month); !code && f->known < f->began && day < tb_month_first_day(month + 1); day++) {
        const int64_t values[5] = {f->account, month, day, f->known, f->began};
        int64_t came = 0;
        code = tb__int_of(f->store, TB__SQL_PROOF_CAME, values, 5, 0, &came, err);
        if (!code && came) code = changed_before(day, err);
    }
    return code;
}

tb_code tb_store_proof_days(tb_store *store, int64_t account, int64_t month, uint64_t known, tb_proof_day **ret_days, size_t *ret_n,
                            tb_error *err)
{
    static const tb__rows rows = {sizeof(day_entry), day_entry_from, NULL};
    finding f = {.store = store, .account = account, .known = known > INT64_MAX ? INT64_MAX : (int64_t)known};
    const int64_t values[2] = {account, tb_month_first_day(month)};
    day_entry *list = NULL;
    tb_proof_day *days = malloc(31 * sizeof *days);
    size_t n_list = 0, n = 0;
    tb_code code = days ? tb__int_of(store, TB__SQL_PROOF_BEGAN, NULL, 0, 0, &f.began, err) : tb_no_memory(err);
    if (!code) code = check_older(&f, month, err);
    if (!code) code = tb__collect_ints(store, TB__SQL_PROOF_DAYS, values, 2, &rows, &list, &n_list, err);
    for (size_t i = 0, next; !code && i < n_list; i = next) {
        int64_t index = -1;
        for (next = i; next < n_list && list[next].day == list[i].day;)
            next++;
        code = choose_entry(&f, list + i, next - i, &index, err);
        if (!code && index >= 0) days[n++] = (tb_proof_day){list[i].day, index};
    }
    free(list);
    if (code) {
        free(days);
        return code;
    }
    *ret_days = days;
    *ret_n = n;
    return TB_OK;
}

/* --- entries --- */

tb_code tb_store_proof_find(tb_store *store, tb_proof_type type, int64_t account, const char *subject, int64_t *ret_index, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret_index = -1;
    if (store->schema < TB__SCHEMA_OF_PROOFS) return TB_OK;
    tb_code code = tb__sql(store, TB__SQL_PROOF_ENTRIES_OF, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, subject, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, type == TB_PROOF_BOOK ? 0 : account); /* a book is of no account */
    sqlite3_bind_text(s, 3, tb_proof_type_name(type), -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret_index = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return TB_OK;
}

/* One entry that is opened. */
typedef struct opening {
    tb_store *store;
    int64_t index, account, version;
    char subject[80];
    tb_proof_entry entry;
} opening;

static tb_code load_entry(opening *o, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(o->store, TB__SQL_PROOF_ENTRY_BY_ID, &o->index, 1, &s, err);
    if (!code) code = tb__step(o->store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_NOT_FOUND, NULL, "The log of documents has no entry %" PRId64 ".", o->index);
    const char *subject = (const char *)sqlite3_column_text(s, 2), *bytes = (const char *)sqlite3_column_text(s, 3);
    o->account = sqlite3_column_int64(s, 1);
    o->version = sqlite3_column_int64(s, 4);
    code = subject && bytes ? tb__copy_text(s, 2, o->subject, sizeof o->subject, err) : tb_no_memory(err);
    if (!code) code = tb_proof_entry_read(bytes, (size_t)sqlite3_column_bytes(s, 3), &o->entry, err);
    sqlite3_reset(s);
    return code == TB_E_VALIDATION ? tb_fail(err, TB_E_CORRUPT, "proof_entry", "Entry %" PRId64 " of the log of documents is damaged."
                                             " Run verify.", o->index) : code;
}

static tb_code read_stored(opening *o, tb__statement of, tb_buf *out, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(o->store, of, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, o->subject, -1, SQLITE_STATIC);
    if (of != TB__SQL_PROOF_BOOK_TEXT) sqlite3_bind_int64(s, 2, o->account);
    code = tb__step(o->store, s, &row, err);
    if (!code && row && of == TB__SQL_PROOF_VOID_OF) tb__proof_void_text(o->subject, sqlite3_column_int64(s, 0), out);
    else if (!code && row) tb_buf_add(out, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    if (row) sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return code ? code : tb_buf_check(out, err);
}

/* Hours that retention may have taken. */
static tb_code read_usage_day(opening *o, tb_buf *out, tb_error *err)
{
    tb_kept kept;
    char first[8];
    tb_code code = tb_store_kept(o->store, o->account, &kept, err);
    if (code) return code;
    if (tb_month_from_day(o->entry.day) >= kept.hours)
        return tb__proof_day_text(o->store, o->account, o->entry.day, o->version, out, err);
    tb_month_format(kept.hours, first);
    return tb_fail(err, TB_E_NOT_KEPT, NULL, "The usage of %s is no longer kept by the hour, so what was rated of it cannot be shown;"
                   " that from %s on is.", o->subject, first);
}

static tb_code read_content(opening *o, tb_text given, tb_buf *out, tb_error *err)
{
    switch (o->entry.type) {
    case TB_PROOF_USAGE: return read_usage_day(o, out, err);
    case TB_PROOF_BOOK: return read_stored(o, TB__SQL_PROOF_BOOK_TEXT, out, err);
    case TB_PROOF_INVOICE: return read_stored(o, TB__SQL_PROOF_INVOICE_TEXT, out, err);
    case TB_PROOF_VOID: return read_stored(o, TB__SQL_PROOF_VOID_OF, out, err);
    default:
        tb_buf_add(out, given.data, given.len);
        return tb_buf_check(out, err);
    }
}

/* What no longer is what the entry commits to. */
static tb_code other_content(const opening *o, tb_proof_opened *ret, tb_error *err)
{
    int64_t forgotten = 0;
    tb_code code = tb__int_of(o->store, TB__SQL_PROOF_FORGOTTEN, &o->account, 1, 0, &forgotten, err);
    ret->forgotten = !code && forgotten;
    ret->changed = o->entry.type == TB_PROOF_USAGE;
    if (code) return code;
    const char *why = forgotten ? ", for the customer was forgotten" : o->entry.type == TB_PROOF_USAGE ? ": its usage changed before the month was run"
                                                                                                        : "";
    return tb_fail(err, TB_E_NOT_KEPT, NULL, "What entry %" PRId64 " of the log of documents commits to (%s %s) is no longer kept%s.",
                   o->index, tb_proof_type_name(o->entry.type), o->subject, why);
}

tb_code tb_store_proof_open(tb_store *store, int64_t index, tb_text terms, tb_proof_opened *ret, tb_buf *out, tb_error *err)
{
    opening o = {.store = store, .index = index};
    uint8_t seed[TB_PROOF_SEED];
    bool there = false;
    const size_t at = out->len;
    tb_code code = load_entry(&o, err);
    if (!code) code = tb__proof_seed(store, seed, &there, err);
    if (!code && !there) code = tb_fail(err, TB_E_CORRUPT, "secret", "The seed of the log of documents is missing. Run verify.");
    if (!code) code = read_content(&o, terms, out, err);
    if (code) return code;
    const tb_text text = {out->len > at ? out->data + at : "", out->len - at};
    *ret = (tb_proof_opened){.entry = o.entry, .index = index, .at = at, .len = text.len};
    tb__proof_salt(seed, index, text, ret->salt);
    const tb_merkle_hash hash = o.entry.type == TB_PROOF_BOOK ? tb_proof_digest(text.data, text.len)
                                                              : tb_proof_commit(ret->salt, text.data, text.len);
    return tb_merkle_same(&hash, &o.entry.hash) ? TB_OK : other_content(&o, ret, err);
}

/* --- proofs --- */

tb_code tb_store_proof_path(tb_store *store, int64_t size, int64_t index, tb_merkle_proof *ret, tb_error *err)
{
    const tb_tile_reader reader = tb__proof_reader(store);
    return tb_merkle_prove_entry(&reader, size, index, ret, err);
}

tb_code tb_store_proof_growth(tb_store *store, int64_t old_size, int64_t new_size, tb_merkle_proof *ret, tb_error *err)
{
    const tb_tile_reader reader = tb__proof_reader(store);
    return tb_merkle_prove_growth(&reader, old_size, new_size, ret, err);
}

/* --- documents without terms --- */

tb_code tb_store_proof_termless(tb_store *store, int64_t after, size_t most, int64_t **ret_places, size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {after, (int64_t)most};
    return tb__list_ints(store, TB__SQL_PROOF_TERMLESS, values, 2, ret_places, ret_n, err);
}
