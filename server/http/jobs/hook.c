/* The program has a process group of its own, so that its children end with it. It inherits only the server's
 * environment: signals are at their defaults, standard input is empty, no other descriptor is open. One poll waits for
 * its output, its end (a pidfd) and the stop. It gets SIGTERM first and SIGKILL later. */
#include "http/jobs/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/clock.h"

#define GRACE_US  INT64_C(2000000) /* between SIGTERM and SIGKILL */
#define LINE_MAX_BYTES 500
#define LINES_MAX 1000

extern char **environ;

typedef struct running {
    const hook_call *call;
    pid_t pid;
    int out, end; /* the output's reading end, a pidfd */
    int64_t until_us;
    bool late, stopped;
    unsigned lines;
    size_t len;
    char line[LINE_MAX_BYTES + 1];
} running;

/* --- output --- */

static void end_line(running *h)
{
    if (h->len == 0) return;
    h->line[h->len] = 0;
    h->len = 0;
    if (h->lines < LINES_MAX) h->call->line(h->call->ctx, h->line);
    if (h->lines++ == LINES_MAX) h->call->line(h->call->ctx, "(more output, not shown)");
}

/* Reads the available output; closes the pipe at its end. */
static void read_output(running *h)
{
    char bytes[4096];
    ssize_t n = 0;
    for (int i = 0; i < 64 && h->out >= 0 && (n = read(h->out, bytes, sizeof bytes)) > 0; i++)
        for (ssize_t at = 0; at < n; at++) {
            const unsigned char c = (unsigned char)bytes[at];
            if (c == '\n' || h->len == LINE_MAX_BYTES) end_line(h);
            if (c != '\n' && c != '\r') h->line[h->len++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
        }
    if (h->out < 0 || n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) return;
    close(h->out);
    h->out = -1;
}

/* --- starting --- */

static int spawn(running *h, int output, char *const *environment)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int rc = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!rc) rc = posix_spawn_file_actions_adddup2(&files, output, 1);
    if (!rc) rc = posix_spawn_file_actions_adddup2(&files, output, 2);
    if (!rc) rc = posix_spawn_file_actions_addclosefrom_np(&files, 3);
    if (!rc)
        rc = posix_spawn(&h->pid, h->call->arguments[0], &files, &attributes, h->call->arguments,
                         environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

/* Returns an errno, or 0 if the program runs. */
static int start(running *h)
{
    int ends[2];
    size_t n = 0, m = 0;
    while (environ[n])
        n++;
    while (h->call->environment[m])
        m++;
    char **environment = malloc((n + m + 1) * sizeof *environment);
    if (!environment) return ENOMEM;
    /* The call's come first: of two variables of one name the first counts. */
    memcpy(environment, h->call->environment, m * sizeof *environment);
    memcpy(environment + m, environ, (n + 1) * sizeof *environment);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(environment);
        return errno;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    int rc = spawn(h, ends[1], environment);
    close(ends[1]);
    free(environment);
    if (rc) close(ends[0]);
    else h->out = ends[0];
    return rc;
}

/* --- waiting --- */

static void wait_for_end(running *h)
{
    for (;;) {
        const bool asked = h->late || h->stopped;
        struct pollfd fds[3] = {{.fd = h->end, .events = POLLIN}, {.fd = h->out, .events = POLLIN},
                                {.fd = asked ? -1 : h->call->stop_fd, .events = POLLIN}};
        const int64_t left_us = h->until_us - clock_mono_us();
        poll(fds, 3, left_us <= 0 ? 0 : left_us > INT64_C(60000000) ? 60000 : (int)(left_us / 1000) + 1);
        read_output(h);
        if (fds[0].revents) break;
        const int64_t now_us = clock_mono_us();
        if (!fds[2].revents && now_us < h->until_us) continue;
        if (!asked) { /* its time is over, or the server stops */
            *(fds[2].revents ? &h->stopped : &h->late) = true;
            kill(-h->pid, SIGTERM);
            h->until_us = now_us + GRACE_US;
        } else if (now_us >= h->until_us) {
            kill(-h->pid, SIGKILL);
            h->until_us = INT64_MAX;
        }
    }
    if (h->late || h->stopped) kill(-h->pid, SIGKILL); /* children left running; the process id is still its own */
    read_output(h);
    end_line(h);
}

hook_end hook_run(const hook_call *call, char reason[HOOK_REASON])
{
    running h = {.call = call, .out = -1, .end = -1, .until_us = clock_mono_us() + call->limit_us};
    int status = 0, rc = start(&h);
    if (call->ret_status) *call->ret_status = -1;
    if (rc) {
        snprintf(reason, HOOK_REASON, "it does not start: %s", strerror(rc));
        return HOOK_FAILED;
    }
    h.end = pidfd_open(h.pid, 0);
    if (h.end >= 0) wait_for_end(&h);
    else kill(-h.pid, SIGKILL); /* out of descriptors: it cannot be watched */
    while (waitpid(h.pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (h.end >= 0) close(h.end);
    if (h.out >= 0) close(h.out);
    if (call->ret_status && WIFEXITED(status)) *call->ret_status = WEXITSTATUS(status);
    if (h.stopped) return HOOK_STOPPED;
    if (h.late)
        snprintf(reason, HOOK_REASON, "it did not end within %lld ms", (long long)(call->limit_us / 1000));
    else if (WIFSIGNALED(status))
        snprintf(reason, HOOK_REASON, "signal %d ended it", WTERMSIG(status));
    else if (WEXITSTATUS(status))
        snprintf(reason, HOOK_REASON, "it ended with status %d", WEXITSTATUS(status));
    else return HOOK_DONE;
    return HOOK_FAILED;
}
