/* Anchors. Seals have no key, and an attacker who can write the file and run this code can recompute every chain: a
 * careful change is consistent. So a digest over all data, kept elsewhere, shows later whether it is unchanged.
 *
 * It covers append-only data: rows of append-only tables, and declarations by the data version that added them. The
 * digest states its own extent: the number of parts below, the data version, and the number of rows of each part
 * without versions in its rows. So it can be computed again from today's file as of then: later rows are left out,
 * and rows that were closed after that version count as open. Numbers are hexadecimal:
 *
 *     PARTS-VERSION-ROWS-...-SHA256-SHA256
 *
 * Segments of inputs are folded (logs/segment_fold.c). The last part covers the blocks of ids that are full: it
 * hashes the row that each group of segments is folded into, before and after the fold. The second hash covers the
 * newest segments, whose block is not full yet, row by row. It can be computed again until that block is folded, a
 * day after it became full; from then on verify reports that these segments are not compared. Segments from before
 * schema 24 are never folded, and the digests of that time cover each.
 *
 * Invariant: a part's rows up to a version (?1) and a number of rows (?2) never change by anything
 * that the store does; a later migration keeps the columns named here as they are. New parts come
 * last, so that older digests can still be checked. */
#include "store/logs/segment.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOR_EVER        "9223372036854775807"
#define SEGMENT                                                                                    \
    "id,kind,name,source,start,length,hash,head,lines_before,accepted,rejected,final,added_us,sums"
#define OPEN_THEN(what) "iif(closed_version>?1," FOR_EVER "," what ")"
/* Objects declared by then: their account never changes. */
#define DECLARED(table, columns)                                                                   \
    "SELECT " columns ",declared_us FROM " table " t WHERE EXISTS(SELECT 1 FROM declaration d"     \
    " WHERE d.kind='" table "' AND d.id=t.id AND d.version<=?1) ORDER BY id"

typedef struct part {
    const char *name;
    const char *count; /* NULL: its rows have versions */
    const char *rows;
} part;

static const part parts[] = {
    {"ledger entries", "SELECT coalesce(max(id),0) FROM ledger",
     "SELECT id,account,at_us,kind,currency,amount,reference,note,chain FROM ledger"
     " WHERE id<=?2 ORDER BY id"},
    {"segments of inputs", "SELECT min(coalesce(max(id),0),(SELECT value FROM meta WHERE name='segments_before'))"
                           " FROM segment",
     "SELECT " SEGMENT " FROM segment WHERE id<=?2 ORDER BY id"},
    {"keys", "SELECT coalesce(max(id),0) FROM key",
     "SELECT id,account,roles,hash,hint,created_us,sealed,"
     "iif(revoked_version>?1," FOR_EVER ",revoked_us) FROM key WHERE id<=?2 ORDER BY id"},
    {"series", "SELECT coalesce(max(id),0) FROM series",
     "SELECT id,scope,owner,edge FROM series WHERE id<=?2 ORDER BY id"},
    {"edge locations", "SELECT coalesce(max(id),0) FROM edge",
     "SELECT id,code FROM edge WHERE id<=?2 ORDER BY id"},
    {"shadow books", "SELECT coalesce(max(id),0) FROM shadow_book",
     "SELECT id,name,currency,effective_us,sha256,added_us,document FROM shadow_book"
     " WHERE id<=?2 ORDER BY id"},
    {"scenarios", "SELECT coalesce(max(id),0) FROM scenario",
     "SELECT id,name,sha256,added_us,document FROM scenario WHERE id<=?2 ORDER BY id"},
    /* Made at a version and committed with the next. The ledger records that one is void. */
    {"invoices", NULL,
     "SELECT id,year,serial,number,kind,account,month,watermark,since,currency,total,sha256,"
     "previous,replaces,finalized_us,document FROM invoice WHERE watermark<?1 ORDER BY id"},
    {"corrections", NULL,
     "SELECT c.invoice,c.account,c.month,c.since FROM invoice i JOIN correction c ON c.invoice=i.id"
     " WHERE i.watermark<?1 ORDER BY c.invoice,c.account,c.month"},
    {"late usage", NULL,
     "SELECT id,version,account,month,scope,owner,edge,day,data FROM late WHERE version<=?1"
     " ORDER BY id"},
    {"price books", NULL,
     "SELECT id,name,currency,effective_us,sha256,version,added_us,supersedes,document FROM book"
     " WHERE version<=?1 ORDER BY id"},
    {"bills of shadow books", NULL,
     "SELECT shadow,month,account,watermark,currency,invoice,billed,would,unpriced,made_us"
     " FROM shadow_bill WHERE watermark<?1 ORDER BY shadow,month,account,watermark"},
    {"declarations", NULL,
     "SELECT kind,id,from_us,version,document," OPEN_THEN("to_us") "," OPEN_THEN("closed_version")
     " FROM declaration WHERE version<=?1 ORDER BY kind,id,from_us,version"},
    {"attachments", NULL,
     "SELECT zone,balancer,from_us,version," OPEN_THEN("to_us") "," OPEN_THEN("closed_version")
     " FROM attachment WHERE version<=?1 ORDER BY zone,balancer,from_us,version"},
    {"billing regions", NULL,
     "SELECT code,version,billing FROM region_billing WHERE version<=?1 ORDER BY code,version"},
    {"accounts", NULL, DECLARED("account", "id")},
    {"pull zones", NULL, DECLARED("zone", "id,account")},
    {"load balancers", NULL, DECLARED("balancer", "id,account")},
    {"shield zones", NULL, DECLARED("shield_zone", "id,account")},
    {"runs of months", NULL,
     "SELECT id,account,month,watermark,outcome,invoice,run_us,reason FROM month_run"
     " WHERE watermark<?1 ORDER BY id"},
    {"audit entries", "SELECT coalesce(max(id),0) FROM audit",
     "SELECT id,at_us,key,origin,operation,arguments,chain FROM audit WHERE id<=?2 ORDER BY id"},
    {"withdrawals", NULL,
     "SELECT segment,version,withdrawn_us,source,rungs FROM withdrawal WHERE version<=?1"
     " ORDER BY segment"},
    {"closings", "SELECT coalesce(max(id),0) FROM closing",
     "SELECT id,month,closed_us,version,entries,sha256,document,"
     "iif(reopened_version>?1," FOR_EVER ",reopened_us) FROM closing WHERE id<=?2 ORDER BY id"},
    {"segments of inputs", "SELECT coalesce(max(id),0) FROM segment", NULL},
};

#define PARTS  ((int)(sizeof parts / sizeof *parts))
#define GROUPS (PARTS - 1) /* of segments */
/* The newest segments: those after ?1. */
static const char newest_rows[] = "SELECT " SEGMENT " FROM segment WHERE id>?1 AND id<=?2 ORDER BY id";

#define SHA256 (crypto_hash_sha256_BYTES * 2)

typedef struct anchor {
    int64_t parts, version;
    int64_t rows[PARTS];
    int64_t full; /* segments up to it are hashed by groups */
    char sha256[SHA256 + 1], newest[SHA256 + 1]; /* newest: "" in older digests */
} anchor;

/* --- its text --- */

static void put_anchor(const anchor *a, char out[TB_ANCHOR_MAX])
{
    int n = snprintf(out, TB_ANCHOR_MAX, "%" PRIx64 "-%" PRIx64, (uint64_t)a->parts,
                     (uint64_t)a->version);
    for (int64_t i = 0; i < a->parts; i++)
        if (parts[i].count)
            n += snprintf(out + n, TB_ANCHOR_MAX - (size_t)n, "-%" PRIx64, (uint64_t)a->rows[i]);
    snprintf(out + n, TB_ANCHOR_MAX - (size_t)n, "-%s-%s", a->sha256, a->newest);
}

/* Up to 15 digits, without zeros before them, and the hyphen behind. */
static bool take_number(const char **text, int64_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    const char *p = *text;
    const size_t len = strspn(p, digits);
    if (len == 0 || len > 15 || p[len] != '-' || (p[0] == '0' && len > 1)) return false;
    *ret = 0;
    for (size_t i = 0; i < len; i++)
        *ret = *ret * 16 + (strchr(digits, p[i]) - digits);
    *text = p + len + 1;
    return true;
}

static bool take_hash(const char **text, char ret[SHA256 + 1])
{
    if (strspn(*text, "0123456789abcdef") != SHA256) return false;
    memcpy(ret, *text, SHA256);
    *text += SHA256;
    return true;
}

static bool take_anchor(const char *text, anchor *ret)
{
    *ret = (anchor){.parts = 0};
    if (!take_number(&text, &ret->parts) || ret->parts < 1 || ret->parts > PARTS ||
        !take_number(&text, &ret->version))
        return false;
    for (int64_t i = 0; i < ret->parts; i++)
        if (parts[i].count && !take_number(&text, &ret->rows[i])) return false;
    return take_hash(&text, ret->sha256) && (ret->parts <= GROUPS || (*text++ == '-' && take_hash(&text, ret->newest))) &&
           !*text;
}

/* --- the covered data --- */

/* Type and length first, so that no two rows hash alike. number: an integer, or of how many bytes. */
static void hash_typed(crypto_hash_sha256_state *hash, int type, uint64_t number, const void *bytes)
{
    uint8_t head[9] = {(uint8_t)type};
    for (int i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)(number >> (8 * i));
    crypto_hash_sha256_update(hash, head, sizeof head);
    if (bytes) crypto_hash_sha256_update(hash, bytes, number);
}

static bool hash_value(crypto_hash_sha256_state *hash, sqlite3_stmt *s, int column)
{
    const int type = sqlite3_column_type(s, column);
    uint64_t number = (uint64_t)sqlite3_column_int64(s, column);
    const void *bytes = NULL;
    if (type != SQLITE_INTEGER) {
        bytes = sqlite3_column_blob(s, column);
        number = (uint64_t)sqlite3_column_bytes(s, column);
        if (!bytes && number) return false;
    }
    hash_typed(hash, type, number, bytes);
    return true;
}

static tb_code prepare(tb_store *store, const char *sql, const int64_t values[2],
                       sqlite3_stmt **ret, tb_error *err)
{
    int rc = sqlite3_prepare_v2(store->db, sql, -1, ret, NULL);
    if (rc != SQLITE_OK) return tb__sqlite_fail(store->db, rc, store->path, err);
    for (int i = 0; i < sqlite3_bind_parameter_count(*ret); i++)
        sqlite3_bind_int64(*ret, i + 1, values[i]);
    return TB_OK;
}

static tb_code hash_rows(tb_store *store, const char *sql, const int64_t values[2],
                         crypto_hash_sha256_state *hash, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = prepare(store, sql, values, &s, err);
    if (code) return code;
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        for (int c = 0; !code && c < sqlite3_column_count(s); c++)
            if (!hash_value(hash, s, c)) code = tb_no_memory(err);
    sqlite3_finalize(s);
    return code;
}

static void hash_text(crypto_hash_sha256_state *hash, const tb_buf *text)
{
    hash_typed(hash, SQLITE_TEXT, text->len, text->data);
}

/* As the row that the group is folded into. */
static tb_code hash_group(void *ctx, const tb__segment_group *g, tb_error *err)
{
    crypto_hash_sha256_state *hash = ctx;
    if (!g->readable)
        return tb_fail(err, TB_E_CORRUPT, "segment", "Segment %" PRId64 ": its sums cannot be read.", g->number[TB__G_ID]);
    for (int i = 0; i < TB__SEGMENT_NUMBERS; i++)
        hash_typed(hash, SQLITE_INTEGER, (uint64_t)g->number[i], NULL);
    if (g->named) hash_text(hash, &g->name);
    else hash_typed(hash, SQLITE_NULL, 0, NULL);
    hash_text(hash, &g->source);
    hash_text(hash, &g->sums);
    hash_typed(hash, SQLITE_BLOB, sizeof g->hash, g->hash);
    hash_typed(hash, SQLITE_BLOB, sizeof g->head, g->head);
    return TB_OK;
}

/* Block by block; a->full is then the last one's end. */
static tb_code hash_groups(tb_store *store, anchor *a, crypto_hash_sha256_state *hash, tb_error *err)
{
    int64_t end = 0;
    tb_code code = tb__meta_get(store, "segments_before", &a->full, err);
    while (!code && !(code = tb__segment_block(store, a->full, &end, err)) && end <= a->rows[GROUPS]) {
        code = tb__segment_groups(store, a->full + 1, end, hash_group, hash, err);
        a->full = end;
    }
    return code;
}

static tb_code hash_part(tb_store *store, anchor *a, int64_t i, crypto_hash_sha256_state *hash, tb_error *err)
{
    const int64_t values[2] = {a->version, a->rows[i]};
    crypto_hash_sha256_update(hash, (const unsigned char *)parts[i].name, strlen(parts[i].name) + 1);
    return parts[i].rows ? hash_rows(store, parts[i].rows, values, hash, err) : hash_groups(store, a, hash, err);
}

/* Behind a->full. */
static tb_code hash_newest(tb_store *store, anchor *a, tb_error *err)
{
    const int64_t values[2] = {a->full, a->rows[GROUPS]};
    unsigned char bytes[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    tb_code code = hash_rows(store, newest_rows, values, &hash, err);
    crypto_hash_sha256_final(&hash, bytes);
    if (!code) sodium_bin2hex(a->newest, sizeof a->newest, bytes, sizeof bytes);
    return code;
}

/* The hash of the parts as they stood at a->version, a->rows. */
static tb_code hash_all(tb_store *store, anchor *a, tb_error *err)
{
    unsigned char bytes[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    tb_code code = TB_OK;
    for (int64_t i = 0; !code && i < a->parts; i++)
        code = hash_part(store, a, i, &hash, err);
    crypto_hash_sha256_final(&hash, bytes);
    if (!code) sodium_bin2hex(a->sha256, sizeof a->sha256, bytes, sizeof bytes);
    return code;
}

static tb_code count_rows(tb_store *store, int64_t i, int64_t *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret = 0;
    if (!parts[i].count) return TB_OK;
    tb_code code = prepare(store, parts[i].count, NULL, &s, err);
    if (code) return code;
    code = tb__step(store, s, &row, err);
    if (!code && row) *ret = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return code;
}

/* How far the file reaches now. */
static tb_code reach(tb_store *store, int64_t n, anchor *ret, tb_error *err)
{
    *ret = (anchor){.parts = n};
    tb_code code = tb__meta_get(store, "data_version", &ret->version, err);
    for (int64_t i = 0; !code && i < n; i++)
        code = count_rows(store, i, &ret->rows[i], err);
    return code;
}

/* --- digest and comparison --- */

tb_code tb_store_anchor(tb_store *store, char ret_digest[TB_ANCHOR_MAX], tb_error *err)
{
    anchor now;
    const bool own = sqlite3_get_autocommit(store->db);
    tb_code code = own ? tb_store_read_begin(store, err) : TB_OK;
    if (code) return code;
    code = reach(store, PARTS, &now, err);
    if (!code) code = hash_all(store, &now, err);
    if (!code) code = hash_newest(store, &now, err);
    if (own) tb_store_read_end(store);
    if (!code) put_anchor(&now, ret_digest);
    return code;
}

typedef struct telling {
    tb_say say;
    void *ctx;
    uint64_t n;
} telling;

static void tell(telling *t, const char *sentence)
{
    t->n++;
    if (t->say) t->say(t->ctx, sentence);
}

/* What was there then and is not now needs no hash. */
static void tell_gone(telling *t, const anchor *then, const anchor *now)
{
    char text[200];
    if (now->version < then->version) {
        snprintf(text, sizeof text,
                 "The file is at data version %" PRId64 "; it was at %" PRId64
                 " when the anchor was made: it is an older copy, or it was cut.",
                 now->version, then->version);
        tell(t, text);
    }
    for (int64_t i = 0; i < then->parts; i++) {
        if (now->rows[i] >= then->rows[i]) continue;
        snprintf(text, sizeof text,
                 "There are %" PRId64 " %s; there were %" PRId64 " when the anchor was made.",
                 now->rows[i], parts[i].name, then->rows[i]);
        tell(t, text);
    }
}

static void tell_changed(telling *t)
{
    tell(t, "Something that the anchor covers has changed since the anchor was made.");
}

/* Segments that have been merged since are not compared: a remark says so, it is no difference. */
static tb_code compare_newest(tb_store *store, const anchor *then, anchor *again, telling *t, tb_error *err)
{
    const int64_t left = then->rows[GROUPS] - again->full;
    int64_t folding = 0;
    char text[200];
    if (left <= 0) return TB_OK;
    tb_code code = tb__meta_get(store, "segments_folding", &folding, err);
    if (code) return code;
    if (folding <= again->full) {
        code = hash_newest(store, again, err);
        if (!code && strcmp(again->newest, then->newest) != 0) tell_changed(t);
        return code;
    }
    snprintf(text, sizeof text,
             TB_NOTE "The last %" PRId64 " of %" PRId64 " segments of inputs that the anchor covers were folded since and are "
             "not compared: a later anchor covers them.",
             left, then->rows[GROUPS]);
    if (t->say) t->say(t->ctx, text);
    return TB_OK;
}

static tb_code compare(tb_store *store, const anchor *then, telling *t, tb_error *err)
{
    anchor now, again = *then;
    tb_code code = reach(store, then->parts, &now, err);
    if (code) return code;
    tell_gone(t, then, &now);
    if (t->n) return TB_OK;
    code = hash_all(store, &again, err);
    if (!code && strcmp(again.sha256, then->sha256) != 0) tell_changed(t);
    else if (!code && then->parts > GROUPS) code = compare_newest(store, then, &again, t, err);
    return code;
}

tb_code tb_store_verify_against(tb_store *store, const char *digest, tb_say say, void *ctx,
                                uint64_t *ret_differences, tb_error *err)
{
    anchor then;
    telling t = {say, ctx, 0};
    tb_code code = tb_anchor_check(digest, err);
    if (code) return code;
    take_anchor(digest, &then);
    const bool own = sqlite3_get_autocommit(store->db);
    if (own) code = tb_store_read_begin(store, err);
    if (code) return code;
    code = compare(store, &then, &t, err);
    if (own) tb_store_read_end(store);
    if (!code) *ret_differences = t.n;
    return code;
}

tb_code tb_anchor_check(const char *digest, tb_error *err)
{
    anchor ignored;
    if (take_anchor(digest, &ignored)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "against",
                   "This is not a digest of `anchor` of this version or an earlier one; "
                   "give its first word, complete.");
}
