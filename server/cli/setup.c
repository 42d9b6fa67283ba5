/* tollbook setup: the operation of that name, and the checks of files and of the machine: the owner of the database, its
 * file, the disk and the clock.
 *
 * A server that runs holds the database, so the first key cannot be made beside it. The service
 * makes it before it starts (setup --unattended), and leaves it in FILE.first-key, which only the
 * database's owner may read. The operator's call shows the key and removes that file. A call that
 * makes the key itself takes the same way: the file is written before the key is committed and
 * removed after the key was printed, so that no key is lost where a call is cut off. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/hint.h"
#include "http/new_file.h"
#include "http/process.h"
#include "http/upgrade.h"
#include "tollbook/operation.h"

#define FIRST_KEY  ".first-key"
#define DISK_LOW   ((uint64_t)1 << 30) /* as in docs/prometheus-rules.yml */

typedef struct setup {
    const cli_call *call;
    const char *db;
    char key_path[PATH_MAX];
    tb_args args;
    tb_ops ops;
    tb_reply reply;
} setup;

/* --- the machine --- */

/* "/var/lib/tollbook" of "/var/lib/tollbook/tollbook.db". */
static void folder_of(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    snprintf(out, PATH_MAX, "%.*s", slash && slash > path ? (int)(slash - path) : 1,
             slash ? path : ".");
}

static void say_owner(const setup *s, const char *what, uid_t owner)
{
    const struct passwd *user = getpwuid(owner);
    tb_buf command;
    tb_buf_init(&command, 16 << 10, NULL);
    if (user) {
        tb_buf_fmt(&command, ": %s -u %s -- tollbook setup --db",
                   geteuid() == 0 ? "runuser" : "sudo", user->pw_name);
        hint_word(s->db, &command);
        if (cli_given(s->call, "unattended")) tb_buf_str(&command, " --unattended");
    }
    cli_say(s->call, "%s belongs to user %u, and this is user %u. Run this as that user%.*s", what,
            owner, geteuid(), (int)command.len, command.len ? command.data : "");
    tb_buf_release(&command);
}

/* Files that another user makes beside a database are in its owner's way. Root may write
 * everywhere, so its new files belong to the owner of the folder. */
static int check_owner(const setup *s)
{
    char folder[PATH_MAX];
    struct stat st;
    const bool there = stat(s->db, &st) == 0;
    folder_of(s->db, folder);
    if (!there && (geteuid() != 0 || stat(folder, &st) != 0)) return 0;
    if (st.st_uid == geteuid()) return 0;
    say_owner(s, there ? s->db : folder, st.st_uid);
    return tb_code_exit(TB_E_READ_ONLY);
}

static void check_disk(const setup *s)
{
    disk_state disk;
    if (!process_disk(s->db, &disk)) return;
    const uint64_t bytes = disk.free_bytes;
    const unsigned long long whole = bytes >> 30, tenths = (bytes & ((UINT64_C(1) << 30) - 1)) * 10 >> 30;
    if (bytes < DISK_LOW) cli_warn(s->call, "Warning: only %llu.%llu GiB are free on the disk of %s.", whole, tenths, s->db);
    else cli_note(s->call, "%llu.%llu GiB are free on the disk of %s.", whole, tenths, s->db);
}

/* Not where the time is set by the environment: then no clock is used. */
static void check_clock(const setup *s)
{
    struct timex state = {.modes = 0};
    const char *fixed = getenv("TOLLBOOK_NOW");
    if ((fixed && *fixed) || adjtimex(&state) != TIME_ERROR) return;
    cli_warn(s->call, "Warning: no time service keeps the clock right (chrony, systemd-timesyncd): "
                     "usage is stored by its hour, and "
                     "lines more than 48 hours ahead are refused.");
}

/* --- the database and the key --- */

static int locked(const setup *s, const char *why, const tb_error *err)
{
    cli_say(s->call,
            "%s%s Stop that process (a server: systemctl stop tollbook) or wait for it to end, "
            "then run this again.",
            why, err->message);
    return tb_code_exit(TB_E_LOCKED);
}

/* A file that exists and cannot be created is checked by the next step. */
static int make_database(const setup *s)
{
    tb_error err;
    struct stat st;
    const tb_store_options options = {
        .write = true, .owner = s->call->command->name, .now_us = s->ops.now_us,
        .clock = cli_now_us};
    const tb_code code = tb_store_create(s->db, &options, &err);
    if (code == TB_E_LOCKED) return locked(s, "", &err);
    if (code == TB_E_IO && stat(s->db, &st) == 0) return 0;
    if (code) return cli_fail(s->call, NULL, &err);
    cli_note(s->call, "%s is now an empty database.", s->db);
    return 0;
}

static void say_lines(const setup *s)
{
    const char *at = s->reply.said.data, *end = at + s->reply.said.len, *stop;
    for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL; at = stop + 1)
        cli_note(s->call, "%.*s", (int)(stop - at), at);
}

static int check_database(setup *s)
{
    tb_error err;
    int status = cli_open(s->call, false, s->ops.now_us, &s->ops.store);
    if (status) return status;
    if (tb_operation_read(&s->ops, &s->args, &s->reply, &err))
        status = cli_fail(s->call, NULL, &err);
    tb_store_close(s->ops.store);
    if (status == 0 && !cli_given(s->call, "unattended")) say_lines(s);
    return status;
}

static tb_code io_failed(const setup *s, tb_error *err)
{
    return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL,
                   "%s: %s.", s->key_path, strerror(errno));
}

/* In the transaction that stores the key: its text is in the file before the key is valid. */
static tb_code write_key(tb_store *store, void *ctx, tb_error *err)
{
    setup *s = ctx;
    new_file f;
    (void)store;
    tb_code code = tb_operation_write(&s->ops, &s->args, &s->reply, err);
    if (code || !s->reply.out.len) return code;
    if (!new_file_open(&f, AT_FDCWD, s->key_path, 0600)) return io_failed(s, err);
    const bool written =
        new_file_write(&f, s->reply.out.data, s->reply.out.len) && fsync(f.fd) == 0;
    return new_file_end(&f, written) ? TB_OK : io_failed(s, err);
}

static int make_key(setup *s)
{
    tb_error err;
    tb_store_options options = {.write = true, .owner = s->call->command->name, .now_us = s->ops.now_us, .clock = cli_now_us};
    upgrade_watch watch;
    upgrade_watch_begin(&watch, s->db, &options);
    tb_code code = tb_store_open(s->db, &options, &s->ops.store, &err);
    if (code == TB_E_LOCKED)
        return locked(s, "There is no key of role Operator, and none can be made now: ", &err);
    if (code) return cli_fail(s->call, NULL, &err);
    code = tb_store_write(s->ops.store, write_key, s, &err);
    tb_store_close(s->ops.store);
    if (code)
        return cli_fail(s->call, NULL, &err); /* a file that is left is checked by the next call */
    if (cli_given(s->call, "unattended"))
        cli_note(s->call, "The first key is in %s until `tollbook setup` shows it.", s->key_path);
    return 0;
}

/* The text in FILE.first-key, with its line end. false: there is none that its owner left. */
static bool read_key(const setup *s, char text[TB_KEY_TEXT + 2])
{
    struct stat st;
    int fd = open(s->key_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    const bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                      (st.st_mode & 077) == 0;
    const ssize_t n = ours ? read(fd, text, TB_KEY_TEXT + 1) : -1;
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n == TB_KEY_TEXT + 1 && text[TB_KEY_TEXT] == '\n';
}

/* The file may be older than the database, where a backup was put in its place. */
static int find_key(const setup *s, const char *text, bool *ret_valid)
{
    tb_error err;
    uint8_t hash[TB_KEY_HASH];
    tb_store *store;
    tb_key *keys = NULL;
    size_t n = 0;
    int status = cli_open(s->call, false, s->ops.now_us, &store);
    if (status) return status;
    tb_key_hash(text, TB_KEY_TEXT, hash);
    tb_code code = tb_store_keys(store, &keys, &n, &err);
    tb_store_close(store);
    if (code) return cli_fail(s->call, NULL, &err);
    *ret_valid = false;
    for (size_t i = 0; i < n; i++)
        *ret_valid |= keys[i].revoked_us == INT64_MAX && tb_key_equal(keys[i].hash, hash);
    free(keys);
    return 0;
}

/* Removed only once it was printed. made: by this call. */
static int show_key(const setup *s, bool made)
{
    char text[TB_KEY_TEXT + 2];
    bool valid = false;
    if (!read_key(s, text)) {
        if (made) cli_note(s->call, "Another `setup` has shown the key of role Operator.");
        return 0;
    }
    int status = find_key(s, text, &valid);
    if (status) return status;
    if (valid) {
        fputs(text, stdout);
        status = cli_done(s->call);
    }
    sodium_memzero(text, sizeof text);
    if (status == 0) unlink(s->key_path);
    if (status == 0 && valid)
        cli_note(s->call, "This is the operator's key. Keep it: it is shown only once.");
    else if (valid)
        cli_note(s->call, "The key is still in %s.", s->key_path);
    return status;
}

/* --- all of it --- */

static int prepare(setup *s)
{
    char real[PATH_MAX];
    int status = cli_clock(s->call, &s->ops.now_us);
    if (status == 0) status = check_owner(s);
    if (status == 0) status = make_database(s);
    if (status) return status;
    const char *path = realpath(s->db, real) ? real : s->db;
    if ((size_t)snprintf(s->key_path, sizeof s->key_path, "%s" FIRST_KEY, path) <
        sizeof s->key_path)
        return 0;
    cli_say(s->call, "%.200s...: the path is too long.", s->db);
    return tb_code_exit(TB_E_IO);
}

static int run(setup *s)
{
    const bool unattended = cli_given(s->call, "unattended");
    struct stat st;
    tb_error err;
    if (unattended && stat(s->db, &st) == 0 && st.st_size > 0) return 0; /* the server upgrades an older one */
    if (tb_args_end(&s->args, false, &err)) return cli_fail(s->call, NULL, &err);
    int status = prepare(s);
    if (status == 0 && !unattended) check_disk(s);
    if (status == 0 && !unattended) check_clock(s); /* the service's system calls are filtered */
    if (status == 0) status = check_database(s);
    const bool make = status == 0 && !s->reply.settled;
    if (make) status = make_key(s);
    if (status == 0 && !unattended) status = show_key(s, make);
    return status;
}

int cli_setup(const cli_call *given)
{
    static const cli_option db = {.name = "db"};
    cli_call call = *given;
    setup s = {.call = &call};
    if (cli_given(given, "server")) return cli_operation(given);
    if (!cli_given(given, "db"))
        call.values[call.n_values++] = (cli_value){.option = &db, .text = CLI_SERVICE_DB};
    int status = cli_check_place(&call);
    if (status) return status;
    s.db = cli_text(&call, "db");
    if (sodium_init() >= 0) s.ops.random = randombytes_buf;
    tb_args_init(&s.args, tb_operation_find("setup", 5));
    tb_reply_init(&s.reply);
    status = run(&s);
    tb_reply_release(&s.reply);
    tb_args_release(&s.args);
    return status;
}
