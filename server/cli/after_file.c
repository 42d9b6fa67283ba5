#include "cli/after_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clocks.h"

#define UNSENT        "unsent"
#define FIRST_WAIT_MS 1000
#define MOST_WAIT_MS  300000
#define END_MS        5000
#define ONCE_TRIES    3

tb_code after_file_init(after_file *a, const cli_call *call, const char *folder, int dir, tb_error *err)
{
    *a = (after_file){.call = call, .command = cli_text(call, "after-file"), .folder = folder, .dir = dir, .waiting = true};
    if (!a->command || mkdirat(dir, UNSENT, 0700) == 0 || errno == EEXIST) return TB_OK;
    return tb_fail(err, TB_E_IO, NULL, "%.200s/" UNSENT ": %s.", folder, strerror(errno));
}

tb_code after_file_add(after_file *a, const char *name, tb_error *err)
{
    char path[sizeof UNSENT + TB_ARCHIVE_NAME_MAX];
    if (!a->command) return TB_OK;
    snprintf(path, sizeof path, UNSENT "/%s", name);
    int fd = openat(a->dir, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL, "%.200s/%s: %s.", a->folder, path,
                       strerror(errno));
    close(fd);
    a->waiting = true;
    return TB_OK;
}

static void remove_mark(const after_file *a, const char *name)
{
    char path[sizeof UNSENT + TB_ARCHIVE_NAME_MAX];
    snprintf(path, sizeof path, UNSENT "/%s", name);
    unlinkat(a->dir, path, 0);
}

/* The oldest unsent file; false: there is none. One that has been deleted since is left out. */
static bool find_oldest(after_file *a)
{
    char path[ARCHIVE_PATH_MAX];
    archive_list list;
    tb_error err;
    bool found = false;
    if (!archive_path(a->folder, UNSENT, path) || archive_read_list(path, &list, &err)) return false;
    for (size_t i = 0; i < list.n && !found; i++) {
        struct stat st;
        tb_archive_name(&list.files[i], a->name);
        found = fstatat(a->dir, a->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (!found) remove_mark(a, a->name);
    }
    archive_list_release(&list);
    return found;
}

static void failed(after_file *a, const char *why, int number)
{
    int64_t wait = FIRST_WAIT_MS;
    for (unsigned i = 0; i < a->failures && wait < MOST_WAIT_MS; i++)
        wait *= 2;
    if (wait > MOST_WAIT_MS) wait = MOST_WAIT_MS;
    a->failures++;
    a->again_ms = clock_now_ms() + wait;
    cli_say(a->call, "--after-file %s %s/%s: %s %d. It is called again in %d s.", a->command, a->folder, a->name, why, number,
            (int)(wait / 1000));
}

static void start(after_file *a)
{
    extern char **environ;
    char path[ARCHIVE_PATH_MAX];
    char *words[] = {(char *)(uintptr_t)a->command, path, NULL};
    posix_spawn_file_actions_t files;
    const int errors = STDERR_FILENO;
    archive_path(a->folder, a->name, path);
    if (posix_spawn_file_actions_init(&files)) return;
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, errors, STDOUT_FILENO);
    const int rc = posix_spawnp(&a->child, a->command, &files, NULL, words, environ);
    posix_spawn_file_actions_destroy(&files);
    if (rc == 0) return;
    a->child = 0;
    failed(a, "it does not start: error", rc);
}

/* Whether it has ended. */
static bool look_after_child(after_file *a)
{
    int status;
    const pid_t ended = waitpid(a->child, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    a->child = 0;
    if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        remove_mark(a, a->name);
        if (a->failures) cli_say(a->call, "--after-file %s: it works again.", a->command);
        a->failures = 0;
        a->again_ms = 0;
    } else if (ended > 0 && WIFSIGNALED(status)) {
        failed(a, "it was ended by signal", WTERMSIG(status));
    } else {
        failed(a, "it ended with", ended > 0 ? WEXITSTATUS(status) : -1);
    }
    return true;
}

void after_file_turn(after_file *a)
{
    if (!a->command || (a->child && !look_after_child(a))) return;
    if (!a->waiting || clock_now_ms() < a->again_ms) return;
    a->waiting = find_oldest(a);
    if (a->waiting) start(a);
}

bool after_file_rests(const after_file *a)
{
    return !a->command || (!a->child && (!a->waiting || a->failures >= ONCE_TRIES));
}

void after_file_end(after_file *a)
{
    const int64_t until = clock_now_ms() + END_MS;
    const atomic_bool never = false;
    while (a->child && !look_after_child(a) && clock_now_ms() < until)
        clock_wait(20, &never);
    if (a->child) kill(a->child, SIGTERM);
}
