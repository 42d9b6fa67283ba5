/* Continuous backup: names and contents of its files, and restoring. */
#include "store/replica/capture.h"
#include "tollbook/archive.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define US_PER_S         INT64_C(1000000)
#define RESTORED_AT_ONCE 64 /* pieces, in one transaction */

/* --- names --- */

void tb_archive_name(const tb_archive_file *file, char ret[TB_ARCHIVE_NAME_MAX])
{
    char t[20]; /* 2026-11-19T14:05:00Z */
    tb_time_format(file->at_us, t);
    const int n = snprintf(ret, TB_ARCHIVE_NAME_MAX, "%s-%.4s%.2s%.2sT%.2s%.2s%.2s.%06" PRId64 "Z-%012" PRId64,
                           file->kind == TB_ARCHIVE_BASE ? "base" : "pieces", t, t + 5, t + 8, t + 11, t + 14, t + 17,
                           (file->at_us % US_PER_S + US_PER_S) % US_PER_S, file->first);
    if (file->kind == TB_ARCHIVE_BASE) snprintf(ret + n, TB_ARCHIVE_NAME_MAX - (size_t)n, ".db");
    else snprintf(ret + n, TB_ARCHIVE_NAME_MAX - (size_t)n, "-%012" PRId64 ".tbp", file->last);
}

/* A number of at least 12 digits. */
static bool read_piece_number(const char **text, int64_t *ret)
{
    const size_t digits = strspn(*text, "0123456789");
    if (digits < 12 || digits > 18) return false;
    *ret = 0;
    for (size_t i = 0; i < digits; i++)
        *ret = *ret * 10 + (*text)[i] - '0';
    *text += digits;
    return *ret > 0;
}

/* "20261119T140500.250000Z", as RFC 3339 reads it with its hyphens and colons. */
static bool read_moment(const char **text, int64_t *ret)
{
    static const char form[] = "20261119T140500.250000Z";
    char full[40];
    const char *t = *text;
    if (strnlen(t, sizeof form) < sizeof form) return false;
    snprintf(full, sizeof full, "%.4s-%.2s-%.5s:%.2s:%.10s", t, t + 4, t + 6, t + 11, t + 13);
    *text += sizeof form - 1;
    return tb_rfc3339_parse(full, strlen(full), ret, NULL) == TB_OK;
}

bool tb_archive_parse(const char *name, tb_archive_file *ret)
{
    static const char *const begin[] = {[TB_ARCHIVE_BASE] = "base-", [TB_ARCHIVE_PIECES] = "pieces-"};
    const char *at = name;
    char again[TB_ARCHIVE_NAME_MAX];
    *ret = (tb_archive_file){.kind = strncmp(name, "base-", 5) == 0 ? TB_ARCHIVE_BASE : TB_ARCHIVE_PIECES};
    if (strncmp(name, begin[ret->kind], strlen(begin[ret->kind])) != 0) return false;
    at += strlen(begin[ret->kind]);
    if (!read_moment(&at, &ret->at_us) || *at++ != '-' || !read_piece_number(&at, &ret->first)) return false;
    ret->last = ret->first;
    if (ret->kind == TB_ARCHIVE_PIECES && (*at++ != '-' || !read_piece_number(&at, &ret->last))) return false;
    tb_archive_name(ret, again);
    return ret->last >= ret->first && strcmp(name, again) == 0;
}

int tb_archive_compare(const void *a, const void *b)
{
    const tb_archive_file *x = a, *y = b;
    if (x->at_us != y->at_us) return x->at_us < y->at_us ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return x->last < y->last ? -1 : x->last > y->last;
}

/* Whether the first piece of a file is in the base. */
static bool is_before(const tb_archive_file *pieces, const tb_archive_file *base)
{
    return pieces->at_us < base->at_us || (pieces->at_us == base->at_us && pieces->first <= base->first);
}

/* A file of pieces is still needed where the next one does not begin before the base: it may hold pieces after it. */
size_t tb_archive_expired(const tb_archive_file *files, size_t n, int64_t since_us, bool *ret_expired)
{
    const size_t base = tb_archive_base(files, n, since_us, 0);
    size_t marked = 0, next = n; /* the next file of pieces */
    for (size_t i = n; i-- > 0;) {
        bool old = base < n && files[i].at_us < files[base].at_us;
        if (files[i].kind == TB_ARCHIVE_PIECES) {
            old = old && next < n && is_before(&files[next], &files[base]);
            next = i;
        }
        ret_expired[i] = old;
        marked += old;
    }
    return marked;
}

size_t tb_archive_base(const tb_archive_file *files, size_t n, int64_t at_us, int64_t piece)
{
    for (size_t i = n; i-- > 0;)
        if (files[i].kind == TB_ARCHIVE_BASE && (piece ? files[i].first <= piece : files[i].at_us <= at_us)) return i;
    return n;
}

/* --- contents --- */

static tb_code damaged_at(size_t at, const char *what, tb_error *err)
{
    const tb_code code = tb_fail(err, TB_E_CORRUPT, NULL, "%s", what);
    if (err) err->byte = at + 1;
    return code;
}

/* Reads the piece at *at, which follows *last; number 0: it is the head of the piece before. */
static tb_code read_piece_at(const char *bytes, size_t len, size_t *at, const tb_piece *last, tb_piece *ret, tb_error *err)
{
    size_t n = 0;
    if (tb_piece_read(bytes + *at, len - *at, ret, &n, err)) return damaged_at(*at, "The file is damaged here.", err);
    if (n == 0) return damaged_at(*at, "The file is cut off: its last piece is not whole.", err);
    if (last->number == 0 ? ret->len != 0 : !tb_piece_follows(ret, last))
        return damaged_at(*at, "The piece that begins here is damaged: it does not follow the one before it.", err);
    *at += n;
    return TB_OK;
}

tb_code tb_archive_check(const void *bytes, size_t len, tb_piece *ret_before, tb_piece *ret_last, tb_error *err)
{
    tb_piece last = {.number = 0}, next;
    size_t at = 0;
    *ret_last = *ret_before = last;
    tb_code code = read_piece_at(bytes, len, &at, &last, ret_before, err);
    if (!code) last = *ret_before;
    while (!code && at < len) {
        code = read_piece_at(bytes, len, &at, &last, &next, err);
        if (code) break;
        last = next;
        last.data = NULL;
        last.len = 0;
        *ret_last = last;
    }
    if (!code && ret_last->number == 0) code = damaged_at(at, "The file is cut off: it has no piece.", err);
    return code;
}

/* --- restoring --- */

static bool is_behind(const tb_piece *piece, const tb_restore_end *end)
{
    return end->piece ? piece->number > end->piece : piece->at_us > end->at_us;
}

static tb_code trim_copy_pieces(tb_store *store, tb_error *err)
{
    bool more;
    tb_code code = tb_store_begin(store, err);
    if (!code) code = tb_store_trim_pieces(store, INT64_MAX, 0, INT64_MAX, &more, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    else tb_store_checkpoint(store, false);
    return code;
}

tb_code tb_store_restore(tb_store *store, const void *bytes, size_t len, const tb_restore_end *end, bool *ret_reached,
                         tb_error *err)
{
    const tb_piece none = {.number = 0};
    tb_piece last, pieces[RESTORED_AT_ONCE];
    size_t at = 0, n = 0;
    *ret_reached = false;
    tb_code code = tb__exec(store->db, store->path, "PRAGMA synchronous=OFF", err);
    if (!code) code = read_piece_at(bytes, len, &at, &none, &last, err);
    while (!code && !*ret_reached && at < len) {
        code = read_piece_at(bytes, len, &at, &last, &pieces[n], err);
        if (!code) {
            last = pieces[n];
            *ret_reached = is_behind(&last, end);
            n += !*ret_reached;
            if (n < RESTORED_AT_ONCE && !*ret_reached && at < len) continue;
        }
        const tb_code applied = tb_store_apply_pieces(store, pieces, n, code ? NULL : err); /* also those before a damaged one */
        if (!code) code = applied;
        n = 0;
    }
    return code ? code : trim_copy_pieces(store, err);
}

static tb_code switch_off(tb_store *store, void *ctx, tb_error *err)
{
    (void)ctx;
    const tb_code code = tb__mark_copied(store, false, err);
    return code ? code : tb_store_replicate_end(store, err);
}

tb_code tb_store_restored(tb_store *store, tb_error *err)
{
    tb_code code = tb__exec(store->db, store->path, "PRAGMA synchronous=FULL", err);
    store->copy = false;
    tb__capture_end(store);
    if (!code) code = tb_store_write(store, switch_off, NULL, err);
    if (!code) code = tb__upgrade(store, err);
    if (!code) tb_store_checkpoint(store, true);
    return code;
}
