/* tollbook restore: a base of a continuous backup and the pieces after it, up to a moment. The copy grows in a folder
 * beside FILE, and gets its name when it is verified. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/archive_folder.h"
#include "cli/meter.h"
#include "tollbook/calendar.h"
#include "tollbook/operation.h"

#define WORK      ".tollbook-restore"
#define COPY_SIZE ((size_t)1 << 20)

typedef struct restoring {
    const cli_call *call;
    const char *folder, *out;
    char work[ARCHIVE_PATH_MAX - 16], copy[ARCHIVE_PATH_MAX];
    int work_fd;
    archive_list list;
    tb_restore_end end;
    size_t base;   /* of the list */
    tb_store *store;
    tb_piece last; /* that was applied */
    uint64_t version;
    char anchor[TB_ANCHOR_MAX];
    meter progress;
} restoring;

/* --- the end --- */

static int read_end(restoring *r)
{
    const char *at = cli_text(r->call, "at");
    tb_error err;
    r->end = (tb_restore_end){.at_us = INT64_MAX, .piece = cli_number(r->call, "piece", 0)};
    if (at && r->end.piece) {
        cli_say(r->call, "--at and --piece exclude each other. Give one of them.");
        return tb_code_exit(TB_E_USAGE);
    }
    if (!at || tb_rfc3339_parse(at, strlen(at), &r->end.at_us, &err) == TB_OK) return 0;
    cli_say(r->call, "--at: \"%.64s\" is not an RFC 3339 time. Write it like 2026-11-19T14:05:00Z or 2026-11-19T15:05:00+01:00.", at);
    return tb_code_exit(TB_E_USAGE);
}

/* "--piece 42 (2026-11-19T14:05:00.250000Z)" */
#define PLACE_MAX 80
static void put_place(const tb_piece *last, char ret[PLACE_MAX])
{
    char moment[ARCHIVE_MOMENT];
    archive_moment(last->at_us, moment);
    snprintf(ret, PLACE_MAX, "--piece %" PRId64 " (%s)", last->number, moment);
}

static tb_code find_base(restoring *r, tb_error *err)
{
    tb_code code = archive_read_list(r->folder, &r->list, err);
    if (code) return code;
    r->base = tb_archive_base(r->list.files, r->list.n, r->end.at_us, r->end.piece);
    if (r->base < r->list.n) return TB_OK;
    const size_t any = tb_archive_base(r->list.files, r->list.n, INT64_MAX, 0);
    size_t first = 0;
    while (first < r->list.n && r->list.files[first].kind != TB_ARCHIVE_BASE)
        first++;
    if (any == r->list.n)
        return tb_fail(err, TB_E_NOT_FOUND, NULL, "%.120s has no base of a continuous backup. Name the folder of: tollbook backup --follow",
                       r->folder);
    const tb_piece oldest = {.number = r->list.files[first].first, .at_us = r->list.files[first].at_us};
    char place[PLACE_MAX];
    put_place(&oldest, place);
    return tb_fail(err, TB_E_NOT_FOUND, NULL, "%.120s begins later: the first state that it has is %s.", r->folder, place);
}

/* --- the copy --- */

static tb_code copy_failed(const char *path, tb_error *err)
{
    return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL, "%.500s: %s.", path, strerror(errno));
}

/* The lock on the working folder ends with the process: a folder without one is what a killed restore has left. */
static tb_code make_work(restoring *r, tb_error *err)
{
    struct stat st;
    if (lstat(r->out, &st) == 0)
        return tb_fail(err, TB_E_IO, NULL, "%.500s exists already; remove it or name another file.", r->out);
    const int n = snprintf(r->work, sizeof r->work, "%s" WORK, r->out);
    if (n < 0 || (size_t)n >= sizeof r->work) return tb_fail(err, TB_E_IO, NULL, "%.200s...: the path is too long.", r->out);
    if (mkdir(r->work, 0700) && errno != EEXIST) return copy_failed(r->work, err);
    r->work_fd = open(r->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->work_fd < 0) return copy_failed(r->work, err);
    if (flock(r->work_fd, LOCK_EX | LOCK_NB) != 0) {
        close(r->work_fd);
        r->work_fd = -1;
        return tb_fail(err, TB_E_BUSY, NULL, "%.500s: another restore writes it.", r->out);
    }
    archive_remove_work(r->work);
    if (mkdir(r->work, 0700)) return copy_failed(r->work, err);
    close(r->work_fd);
    r->work_fd = open(r->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->work_fd < 0 || flock(r->work_fd, LOCK_EX | LOCK_NB) != 0) return copy_failed(r->work, err);
    archive_path(r->work, "copy.db", r->copy);
    return TB_OK;
}

static tb_code copy_base(restoring *r, tb_error *err)
{
    char from[ARCHIVE_PATH_MAX];
    static char part[COPY_SIZE];
    struct stat st = {.st_size = 0};
    uint64_t done = 0;
    ssize_t n = 1;
    archive_file_path(r->folder, &r->list.files[r->base], from);
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0 || fstat(in, &st) != 0) return copy_failed(from, err);
    int out = open(r->copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    tb_code code = out < 0 ? copy_failed(r->copy, err) : TB_OK;
    meter_init(&r->progress, from);
    while (!code && (n = read(in, part, sizeof part)) > 0) {
        for (ssize_t at = 0, put; !code && at < n; at += put)
            if ((put = write(out, part + at, (size_t)(n - at))) < 0) code = copy_failed(r->copy, err);
        meter_share(&r->progress, done += (uint64_t)n, (uint64_t)st.st_size);
    }
    if (!code && n < 0) code = copy_failed(from, err);
    meter_end(&r->progress);
    close(in);
    if (out >= 0 && close(out) != 0 && !code) code = copy_failed(r->copy, err);
    return code;
}

static tb_code damaged_base(const restoring *r, const char *why, tb_error *err)
{
    char name[TB_ARCHIVE_NAME_MAX];
    bool older = false;
    for (size_t i = 0; i < r->base; i++)
        older = older || r->list.files[i].kind == TB_ARCHIVE_BASE;
    tb_archive_name(&r->list.files[r->base], name);
    return tb_fail(err, TB_E_CORRUPT, NULL, "%s is no whole base: %.130s%s", name, why,
                   older ? " Move it away and restore again: the base before it is used then." : "");
}

static tb_code open_copy(restoring *r, tb_error *err)
{
    const tb_store_options writer = {.write = true, .owner = "restore", .copy = true, .control = true};
    const tb_archive_file *base = &r->list.files[r->base];
    tb_replication state = {.first = 0};
    tb_error why;
    tb_code code = copy_base(r, err);
    if (code) return code;
    code = tb_store_open(r->copy, &writer, &r->store, &why);
    if (!code) code = tb_store_replication(r->store, &state, &why);
    r->last = state.last;
    if (!code && state.last.number != base->first) /* an upgrade begins a new chain */
        return tb_fail(err, TB_E_DIFFERENT, NULL,
                       "The newest piece of the base is %" PRId64 ", and its name says %" PRId64 ". If an older tollbook made it, restore with that"
                       " one, and then upgrade the result.", state.last.number, base->first);
    if (code == TB_E_CORRUPT || code == TB_E_NOT_OURS) return damaged_base(r, why.message, err);
    return code ? tb_fail(err, code, NULL, "%s", why.message) : TB_OK;
}

/* --- pieces --- */

/* Whether the pieces go on from the last one: after a promotion there may be others of the same numbers, of the old primary. */
static bool is_ours(const restoring *r, const tb_buf *bytes)
{
    tb_piece piece = {.number = 0};
    tb_error ignored;
    for (size_t at = 0, len; at < bytes->len && piece.number < r->last.number; at += len)
        if (tb_piece_read(bytes->data + at, bytes->len - at, &piece, &len, &ignored) || !len) return false;
    return piece.number == r->last.number && memcmp(piece.chain, r->last.chain, TB_PIECE_CHAIN) == 0;
}

/* Of a damaged file what is whole, where that is enough. A file of another chain, which has the same numbers, is left out. */
static tb_code apply_file(restoring *r, const tb_archive_file *file, bool *ret_reached, tb_error *err)
{
    tb_buf bytes;
    tb_piece before, last;
    char place[PLACE_MAX];
    tb_error why;
    *ret_reached = false;
    const tb_code found = archive_read_pieces(r->folder, file, &bytes, &before, &last, &why);
    tb_code code = found && found != TB_E_CORRUPT ? found : TB_OK;
    if (code) tb_fail(err, code, NULL, "%s", why.message);
    if (!code && (found || is_ours(r, &bytes))) {
        tb_error ignored;
        tb_replication state;
        code = bytes.len ? tb_store_restore(r->store, bytes.data, bytes.len, &r->end, ret_reached, found ? &ignored : err) : TB_OK;
        if (tb_store_replication(r->store, &state, &ignored) == TB_OK) r->last = state.last;
        *ret_reached = *ret_reached || (r->end.piece && r->last.number == r->end.piece);
        put_place(&r->last, place);
        if (found && *ret_reached) code = TB_OK;
        else if (found) code = tb_fail(err, TB_E_CORRUPT, NULL, "%.250s What can be restored is %s.", why.message, place);
    }
    tb_buf_release(&bytes);
    return code;
}

/* The pieces after the base, file by file. */
static tb_code apply_all(restoring *r, bool *ret_reached, tb_error *err)
{
    const int64_t begin = r->last.number;
    int64_t total = 1;
    tb_code code = TB_OK;
    *ret_reached = r->end.piece && r->last.number == r->end.piece;
    for (size_t i = 0; i < r->list.n; i++)
        if (r->list.files[i].last - begin > total) total = r->list.files[i].last - begin;
    meter_init(&r->progress, r->out);
    for (size_t i = 0; !code && !*ret_reached && i < r->list.n; i++) {
        const tb_archive_file *file = &r->list.files[i];
        if (file->kind != TB_ARCHIVE_PIECES || file->first > r->last.number + 1 || file->last <= r->last.number) continue;
        code = apply_file(r, file, ret_reached, err);
        meter_share(&r->progress, (uint64_t)(r->last.number - begin), (uint64_t)total);
    }
    meter_end(&r->progress);
    return code;
}

/* Whether the folder goes on with this file, but not from the last piece. */
static bool is_beyond(const restoring *r, const tb_archive_file *file)
{
    if (file->kind == TB_ARCHIVE_BASE) return file->at_us > r->last.at_us || file->first > r->last.number;
    return file->at_us >= r->last.at_us && file->first > r->last.number + 1;
}

/* The folder has nothing behind the last piece, or the state that is wanted cannot be reached. */
static tb_code check_end(const restoring *r, tb_error *err)
{
    char place[PLACE_MAX], moment[ARCHIVE_MOMENT];
    put_place(&r->last, place);
    for (size_t i = r->base + 1; i < r->list.n; i++) {
        const tb_archive_file *file = &r->list.files[i];
        if (!is_beyond(r, file)) continue;
        if (file->kind == TB_ARCHIVE_PIECES)
            return tb_fail(err, TB_E_NOT_FOUND, NULL, "%.80s: Pieces %" PRId64 " to %" PRId64 " are missing, and the state that you want is"
                           " behind them or among them. What can be restored is %s.", r->folder, r->last.number + 1, file->first - 1, place);
        archive_moment(file->at_us, moment);
        return tb_fail(err, TB_E_NOT_FOUND, NULL, "%.80s: Behind piece %" PRId64 " the backup begins anew with the base of %s. What can be"
                       " restored before it is %s.", r->folder, r->last.number, moment, place);
    }
    if (r->end.piece)
        return tb_fail(err, TB_E_NOT_FOUND, NULL, "%.80s ends before piece %" PRId64 ". What can be restored is %s.", r->folder, r->end.piece,
                       place);
    if (r->end.at_us != INT64_MAX)
        cli_say(r->call, "%s ends before that moment. It is restored as of its last piece: %s.", r->folder, place);
    return TB_OK;
}

/* Whether the pieces that were followed, which the file has, lead to this base. */
static bool leads_to(const restoring *r, const tb_archive_file *file, const tb_piece *base)
{
    tb_buf bytes;
    tb_piece before, last, piece = {.number = 0};
    tb_error ignored;
    const bool read = file->kind == TB_ARCHIVE_PIECES && file->first <= base->number && file->last >= base->number && file->at_us <= base->at_us;
    if (!read) return false;
    bool ok = archive_read_pieces(r->folder, file, &bytes, &before, &last, &ignored) == TB_OK;
    for (size_t at = 0, len; ok && at < bytes.len && piece.number < base->number; at += len)
        ok = tb_piece_read(bytes.data + at, bytes.len - at, &piece, &len, &ignored) == TB_OK && len;
    tb_buf_release(&bytes);
    return ok && piece.number == base->number && memcmp(piece.chain, base->chain, TB_PIECE_CHAIN) == 0;
}

/* Says so where the folder goes on with a base of a promoted standby, which not all pieces here lead to: what was restored may be
 * of the old primary alone. Where the two part is not in the folder. */
static void say_other_history(const restoring *r)
{
    tb_piece base;
    tb_error ignored;
    char place[PLACE_MAX];
    size_t i = r->base + 1;
    bool leads = false;
    for (; i < r->list.n; i++)
        if (r->list.files[i].kind == TB_ARCHIVE_BASE && archive_read_base(r->folder, &r->list.files[i], &base, &ignored) == TB_OK &&
            base.epoch > r->last.epoch)
            break;
    if (i == r->list.n) return;
    for (size_t k = 0; !leads && k < r->list.n; k++)
        leads = leads_to(r, &r->list.files[k], &base);
    if (leads) return;
    put_place(&base, place);
    cli_say(r->call, "This state is of the primary with epoch %" PRId64 ". The backup goes on with epoch %" PRId64 ", of a standby that took its place: that may "
                     "lack what was written here last. The first state of the new primary is %s.", r->last.epoch, base.epoch, place);
}

/* --- the result --- */

static void say_difference(void *ctx, const char *sentence)
{
    cli_say(ctx, "%s", sentence);
}

static tb_code verify_copy(restoring *r, tb_error *err)
{
    const tb_store_options reader = {.control = true};
    tb_store *store;
    uint64_t differences = 0;
    cli_say(r->call, "Piece %" PRId64 " is applied. The copy is being verified.", r->last.number);
    tb_code code = tb_store_open(r->copy, &reader, &store, err);
    if (code) return code;
    code = tb_verify(store, say_difference, (void *)(uintptr_t)r->call, &differences, err);
    if (!code) code = tb_store_version(store, &r->version, err);
    if (!code) code = tb_store_anchor(store, r->anchor, err);
    tb_store_close(store);
    if (!code && differences)
        code = tb_fail(err, TB_E_DIFFERENT, NULL, "The restored database does not agree with itself; there is no %.300s.", r->out);
    return code;
}

static tb_code name_copy(const restoring *r, tb_error *err)
{
    char parent[ARCHIVE_PATH_MAX];
    const char *slash = strrchr(r->out, '/');
    snprintf(parent, sizeof parent, "%.*s.", slash ? (int)(slash - r->out) + 1 : 0, r->out);
    int fd = open(r->copy, O_RDONLY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    if (done && renameat2(AT_FDCWD, r->copy, AT_FDCWD, r->out, RENAME_NOREPLACE) != 0)
        done = errno == EINVAL && rename(r->copy, r->out) == 0;
    if (!done) return copy_failed(r->out, err);
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) return copy_failed(parent, err);
    close(fd);
    return TB_OK;
}

static int print_restored(const restoring *r)
{
    char moment[ARCHIVE_MOMENT];
    archive_moment(r->last.at_us, moment);
    printf("version %" PRIu64 "\nmoment %s\npiece %" PRId64 "\nanchor %s\n", r->version, moment, r->last.number, r->anchor);
    cli_say(r->call, "%s is restored and verified. It is a database of its own: replication is off, and serve --replicas begins a new one.",
            r->out);
    return cli_done(r->call);
}

static tb_code restore(restoring *r, tb_error *err)
{
    bool reached = false;
    tb_code code = find_base(r, err);
    if (!code) code = make_work(r, err);
    if (!code) code = open_copy(r, err);
    if (!code) code = apply_all(r, &reached, err);
    if (!code && !reached) code = check_end(r, err);
    if (!code) say_other_history(r);
    if (!code) code = tb_store_restored(r->store, err);
    tb_store_close(r->store);
    if (!code) code = verify_copy(r, err);
    return code ? code : name_copy(r, err);
}

int cli_restore(const cli_call *call)
{
    restoring r = {.call = call, .folder = call->operands[0], .out = cli_text(call, "out"), .work_fd = -1};
    tb_error err = {.byte = 0};
    int status = read_end(&r);
    if (status) return status;
    const tb_code code = restore(&r, &err);
    if (r.work_fd >= 0) {
        archive_remove_work(r.work);
        close(r.work_fd);
    }
    archive_list_release(&r.list);
    return code ? cli_fail(call, NULL, &err) : print_restored(&r);
}
