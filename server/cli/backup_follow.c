/* One thread reads pieces and writes files; another one makes bases, which takes long, so that the pieces go on meanwhile.
 * Pieces are gathered in memory and written as a file every ten seconds or 16 MiB: a file is there whole or not at all, and
 * what a killed process had in memory its source still has. */
#include "cli/backup_follow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/after_file.h"
#include "cli/clocks.h"
#include "cli/duration.h"
#include "cli/folder.h"
#include "cli/piece_source.h"
#include "cli/take.h"

#define DAY_MS         INT64_C(86400000)
#define FILE_MS        10000
#define FILE_BYTES     ((size_t)16 << 20)
#define READ_MS        2000   /* the longest wait for pieces */
#define TROUBLE_MS     1000   /* after a failure; doubled up to */
#define TROUBLE_MOST   10000
#define BASE_MOST      600000 /* a base costs much */
#define KEEP_EVERY_MS  600000 /* how often old files are looked for */
#define WORK           ".new"
#define BASE_NAME      WORK "/base.db"

/* What can fail for a while. */
typedef enum part { READING, WRITING, BASES, PARTS_ } part;

typedef struct base_maker {
    piece_source source;
    pthread_t thread;
    bool running;
    atomic_bool done;
    char path[ARCHIVE_PATH_MAX];
    tb_piece last;
    tb_error err; /* code TB_OK: it is made */
} base_maker;

typedef struct follower {
    const cli_call *call;
    const char *path;
    folder dir;
    int lock;
    piece_source source;
    after_file after;
    int64_t every_ms, base_every_ms, keep_ms;
    bool once, caught_up;
    int fatal;            /* the exit status of what cannot go on; 0: it can */
    tb_piece last;        /* that was taken, without data; number 0: a base has to come first */
    tb_archive_file base; /* the newest; first 0: none */
    base_maker maker;
    tb_buf pieces;         /* the next file */
    tb_archive_file next;  /* its name */
    int64_t due_ms;        /* when it is ended */
    bool broken;           /* a piece came that does not follow the last one */
    int64_t base_again_ms, keep_again_ms;
    char said[PARTS_][sizeof(((tb_error *)0)->message)]; /* the trouble of each part; "": it works */
    int64_t wait_ms[PARTS_];                             /* after its last failure */
} follower;

/* --- messages --- */

/* Says each trouble once. Returns how long to wait. */
static int64_t say_trouble(follower *f, part which, const tb_error *err)
{
    int64_t *wait = &f->wait_ms[which];
    if (strcmp(f->said[which], err->message) != 0) cli_say(f->call, "%s", err->message);
    snprintf(f->said[which], sizeof f->said[which], "%s", err->message);
    *wait = *wait ? 2 * *wait : TROUBLE_MS;
    const int64_t most = which == BASES ? BASE_MOST : TROUBLE_MOST;
    if (*wait > most) *wait = most;
    return *wait;
}

static void say_recovery(follower *f, part which)
{
    static const char *const what[] = {
        [READING] = "Pieces come again.", [WRITING] = "Files can be written again.", [BASES] = "A base can be made again."};
    if (f->said[which][0]) cli_say(f->call, "%s", what[which]);
    f->said[which][0] = 0;
    f->wait_ms[which] = 0;
}

static void wait_for_better(follower *f, part which, const tb_error *err)
{
    const int64_t wait = say_trouble(f, which, err);
    if (!f->once) clock_wait(wait, &take_stop);
}

static bool in_trouble(const follower *f)
{
    return f->said[READING][0] || f->said[WRITING][0] || f->said[BASES][0];
}

static bool signalled(void)
{
    return atomic_load_explicit(&take_stop, memory_order_relaxed);
}

/* --- files --- */

static tb_code sync_folder(const follower *f, tb_error *err)
{
    if (fsync(f->dir.fd) == 0) return TB_OK;
    return tb_fail(err, TB_E_IO, NULL, "%.300s: It cannot be written to disk: %s.", f->path, strerror(errno));
}

static tb_code write_pieces(follower *f, tb_error *err)
{
    char name[TB_ARCHIVE_NAME_MAX];
    if (f->pieces.len == 0 && !f->pieces.failed) return TB_OK;
    tb_code code = tb_buf_check(&f->pieces, err);
    if (code) f->fatal = tb_code_exit(code); /* pieces are missing in it: the next start takes them again */
    f->next.last = f->last.number;
    tb_archive_name(&f->next, name);
    if (!code) code = after_file_add(&f->after, name, err);
    if (!code) code = folder_put(&f->dir, name, f->pieces.data, f->pieces.len, err);
    if (!code) code = sync_folder(f, err);
    if (code) return code;
    f->pieces.len = 0;
    return TB_OK;
}

static bool take_piece(void *ctx, const tb_piece *piece)
{
    follower *f = ctx;
    if (!tb_piece_follows(piece, &f->last)) {
        f->broken = true;
        return false;
    }
    if (f->pieces.len == 0) {
        f->next = (tb_archive_file){.kind = TB_ARCHIVE_PIECES, .at_us = piece->at_us, .first = piece->number};
        f->due_ms = clock_now_ms() + f->every_ms;
        tb_piece_put(&f->last, &f->pieces);
    }
    tb_piece_put(piece, &f->pieces);
    f->last = *piece;
    f->last.data = NULL;
    f->last.len = 0;
    f->caught_up = false;
    return f->pieces.len < FILE_BYTES;
}

/* --- going on with what is in the folder --- */

/* The newest piece of the folder, if the files from its newest base on are whole by their names; number 0: it is not known. */
static tb_code find_last(follower *f, const archive_list *list, tb_error *err)
{
    const size_t base = tb_archive_base(list->files, list->n, INT64_MAX, 0);
    tb_piece before;
    tb_buf bytes;
    if (base == list->n) return TB_OK;
    f->base = list->files[base];
    int64_t number = f->base.first;
    const tb_archive_file *newest = &f->base;
    for (size_t i = 0; i < list->n; i++) {
        const tb_archive_file *file = &list->files[i];
        if (file->kind != TB_ARCHIVE_PIECES || file->last <= number || (i < base && file->first > number)) continue;
        if (file->first > number + 1)
            return tb_fail(err, TB_E_CORRUPT, NULL, "%.120s: Pieces %" PRId64 " to %" PRId64 " are missing.", f->path, number + 1, file->first - 1);
        number = file->last;
        newest = file;
    }
    if (newest->kind == TB_ARCHIVE_BASE) return archive_read_base(f->path, newest, &f->last, err);
    tb_code code = archive_read_pieces(f->path, newest, &bytes, &before, &f->last, err);
    tb_buf_release(&bytes);
    return code;
}

static tb_code go_on(follower *f, tb_error *err)
{
    archive_list list;
    tb_error why;
    char moment[ARCHIVE_MOMENT];
    tb_code code = archive_read_list(f->path, &list, err);
    if (code) return code;
    if (find_last(f, &list, &why)) {
        f->last.number = 0;
        cli_note(f->call, "%s A new base is made.", why.message);
    } else if (f->last.number) {
        archive_moment(f->last.at_us, moment);
        cli_note(f->call, "%s goes on behind piece %" PRId64 " of %s.", f->path, f->last.number, moment);
    } else {
        cli_note(f->call, "%s has no base. It is made now.", f->path);
    }
    archive_list_release(&list);
    return TB_OK;
}

/* --- bases --- */

static void *make_base(void *arg)
{
    base_maker *m = arg;
    m->err.code = piece_source_base(&m->source, m->path, &m->last, &m->err);
    atomic_store(&m->done, true);
    return NULL;
}

static void begin_base(follower *f)
{
    base_maker *m = &f->maker;
    sigset_t all, before;
    char work[ARCHIVE_PATH_MAX];
    *m = (base_maker){.running = false};
    archive_path(f->path, WORK, work);
    archive_path(f->path, BASE_NAME, m->path);
    archive_remove_work(work);
    if (mkdir(work, 0700) && errno != EEXIST) {
        (void)!tb_fail(&m->err, errno == ENOSPC ? TB_E_DISK_FULL : TB_E_IO, NULL, "%.300s: %s.", work, strerror(errno));
        f->base_again_ms = clock_now_ms() + say_trouble(f, BASES, &m->err);
        return;
    }
    f->base_again_ms = clock_now_ms() + TROUBLE_MOST;
    if (piece_source_open(&m->source, f->call)) return;
    sigfillset(&all); /* signals are the other thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    m->running = pthread_create(&m->thread, NULL, make_base, m) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!m->running) piece_source_close(&m->source);
}

static tb_code name_base(follower *f, tb_error *err)
{
    char name[TB_ARCHIVE_NAME_MAX];
    int64_t now_us;
    const tb_archive_file file = {
        .kind = TB_ARCHIVE_BASE, .at_us = f->maker.last.at_us, .first = f->maker.last.number, .last = f->maker.last.number};
    tb_archive_name(&file, name);
    tb_code code = after_file_add(&f->after, name, err);
    if (code) return code;
    const int fd = openat(f->dir.fd, BASE_NAME, O_RDONLY | O_CLOEXEC);
    const bool synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    if (!synced || renameat(f->dir.fd, BASE_NAME, f->dir.fd, name) != 0)
        return tb_fail(err, TB_E_IO, NULL, "%.200s/%s: %s.", f->path, name, strerror(errno));
    code = sync_folder(f, err);
    if (code) return code;
    f->base = file;
    f->keep_again_ms = 0;
    cli_note(f->call, "%s is a verified base.", name);
    if (!cli_given(f->call, "server") && !cli_now(&now_us, err)) cli_mark(f->call, MARK_BASE, now_us); /* for `status` */
    return TB_OK;
}

static void end_base(follower *f)
{
    base_maker *m = &f->maker;
    tb_error err;
    if (!m->running || !atomic_load(&m->done)) return;
    pthread_join(m->thread, NULL);
    piece_source_close(&m->source);
    m->running = false;
    f->base_again_ms = 0;
    tb_code code = m->err.code;
    if (code) err = m->err;
    else code = name_base(f, &err);
    if (code) {
        f->base_again_ms = clock_now_ms() + say_trouble(f, BASES, &err);
        return;
    }
    if (f->last.number == 0) f->last = m->last;
    say_recovery(f, BASES);
}

/* A base without pieces behind it is as good as a new one. */
static bool base_is_due(const follower *f)
{
    int64_t now_us;
    tb_error err;
    if (f->maker.running || clock_now_ms() < f->base_again_ms) return false;
    if (f->last.number == 0) return true;
    if (f->last.number == f->base.first || cli_now(&now_us, &err)) return false;
    return f->base.first == 0 || now_us - f->base.at_us >= f->base_every_ms * 1000;
}

/* --- reading --- */

/* The pieces that were taken until here stay; a new base follows. */
static void begin_anew(follower *f, const char *why)
{
    cli_note(f->call, "%s A new base is made.", why);
    f->broken = false;
    f->last.number = 0;
    f->base_again_ms = 0;
}

static void read_pieces(follower *f)
{
    tb_error err;
    int64_t wait = f->pieces.len ? f->due_ms - clock_now_ms() : READ_MS;
    if (wait > READ_MS) wait = READ_MS;
    if (f->once || wait < 0 || f->after.child) wait = f->once ? 0 : 100;
    f->caught_up = true;
    const tb_code code = piece_source_read(&f->source, &f->last, wait, take_piece, f, &err);
    if (code == TB_OK && !f->broken) {
        say_recovery(f, READING);
    } else if (code == TB_OK || code == TB_E_NOT_FOUND) {
        f->caught_up = false;
        if (write_pieces(f, &err) == TB_OK) begin_anew(f, code ? err.message : "The next piece does not follow.");
        else wait_for_better(f, WRITING, &err);
    } else if (!signalled()) {
        f->caught_up = false;
        wait_for_better(f, READING, &err);
    }
}

/* --- the loop --- */

static void drop_old(follower *f)
{
    archive_list list;
    tb_error err;
    int64_t now_us;
    const bool due = clock_now_ms() >= f->keep_again_ms;
    if (!due || cli_now(&now_us, &err) || archive_read_list(f->path, &list, &err)) return;
    f->keep_again_ms = clock_now_ms() + KEEP_EVERY_MS;
    bool *expired = calloc(list.n + 1, sizeof *expired);
    const size_t n = expired ? tb_archive_expired(list.files, list.n, now_us - f->keep_ms * 1000, expired) : 0;
    for (size_t i = 0; n && i < list.n; i++) {
        char name[TB_ARCHIVE_NAME_MAX];
        tb_archive_name(&list.files[i], name);
        if (expired[i] && unlinkat(f->dir.fd, name, 0) != 0) cli_say(f->call, "%s/%s: %s.", f->path, name, strerror(errno));
    }
    if (n) cli_note(f->call, "%zu file%s older than --keep deleted.", n, n == 1 ? " is" : "s are");
    free(expired);
    archive_list_release(&list);
}

static void write_when_due(follower *f)
{
    tb_error err;
    const bool due = f->pieces.failed || f->pieces.len >= FILE_BYTES || (f->pieces.len && (f->once ? f->caught_up : clock_now_ms() >= f->due_ms));
    if (!due) return;
    if (write_pieces(f, &err)) wait_for_better(f, WRITING, &err);
    else say_recovery(f, WRITING);
}

static bool is_finished(const follower *f)
{
    return f->once && (in_trouble(f) || (f->caught_up && f->pieces.len == 0 && !f->maker.running && after_file_rests(&f->after)));
}

static void run(follower *f)
{
    while (!signalled() && !f->fatal && !is_finished(f)) {
        end_base(f);
        if (base_is_due(f)) begin_base(f);
        if (f->last.number && f->pieces.len < FILE_BYTES) read_pieces(f);
        else if (f->pieces.len == 0) clock_wait(100, &take_stop);
        write_when_due(f);
        if (f->once && f->caught_up) clock_wait(20, &take_stop); /* for the base, or a program */
        drop_old(f);
        after_file_turn(&f->after);
    }
}

/* --- begin and end --- */

static int read_options(follower *f)
{
    int status = cli_check_place(f->call);
    f->path = cli_text(f->call, "follow");
    f->once = cli_given(f->call, "once");
    if (status == 0) status = duration_option(f->call, "every", FILE_MS, &f->every_ms);
    if (status == 0) status = duration_long_option(f->call, "base-every", DAY_MS, &f->base_every_ms);
    if (status == 0) status = duration_long_option(f->call, "keep", 30 * DAY_MS, &f->keep_ms);
    return status;
}

static tb_code lock_folder(follower *f, tb_error *err)
{
    f->lock = openat(f->dir.fd, ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (f->lock >= 0 && flock(f->lock, LOCK_EX | LOCK_NB) == 0) return TB_OK;
    if (f->lock >= 0 && errno == EWOULDBLOCK)
        return tb_fail(err, TB_E_LOCKED, NULL, "%.300s: Another tollbook backup --follow writes here.", f->path);
    return tb_fail(err, TB_E_IO, NULL, "%.300s/.lock: %s.", f->path, strerror(errno));
}

static int start(follower *f)
{
    tb_error err;
    umask(077); /* the files hold everything that the database holds */
    tb_code code = folder_open(&f->dir, f->path, &err);
    if (!code) code = lock_folder(f, &err);
    if (!code) code = after_file_init(&f->after, f->call, f->path, f->dir.fd, &err);
    if (!code) code = go_on(f, &err);
    if (code) return cli_fail(f->call, NULL, &err);
    return piece_source_open(&f->source, f->call);
}

/* What there is by now is written. A base that is being made is given up: the next start removes what there is of it. */
static int end_follower(follower *f)
{
    tb_error err;
    char moment[ARCHIVE_MOMENT];
    f->source.client.leave = NULL;
    if (!f->once && f->last.number && !f->said[READING][0] && piece_source_read(&f->source, &f->last, 0, take_piece, f, &err))
        cli_say(f->call, "%s", err.message);
    int status = write_pieces(f, &err) ? cli_fail(f->call, NULL, &err) : 0;
    after_file_end(&f->after);
    piece_source_close(&f->source);
    archive_moment(f->last.at_us, moment);
    if (f->last.number) cli_note(f->call, "%s has all up to piece %" PRId64 " of %s.", f->path, f->last.number, moment);
    if (status == 0) status = f->fatal;
    if (status == 0 && f->once && (in_trouble(f) || f->after.failures)) status = tb_code_exit(TB_E_IO);
    if (f->maker.running) _exit(status);
    char work[ARCHIVE_PATH_MAX];
    archive_path(f->path, WORK, work);
    archive_remove_work(work);
    return status;
}

int backup_follow(const cli_call *call)
{
    static follower f; /* a base's thread may outlive this call */
    f = (follower){.call = call, .lock = -1, .dir = {.fd = -1}};
    tb_buf_init(&f.pieces, TB_ARCHIVE_FILE_MAX, NULL);
    int status = read_options(&f);
    if (status) return status;
    cli_use_messages(call, true);
    take_catch_signals();
    status = start(&f);
    if (status == 0) {
        run(&f);
        status = end_follower(&f);
    }
    tb_buf_release(&f.pieces);
    if (f.lock >= 0) close(f.lock);
    if (f.dir.fd >= 0) close(f.dir.fd);
    return status;
}
