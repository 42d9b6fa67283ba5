#include "checker/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "checker/files.h"
#include "http/new_file.h"

#define FILE_MAX ((size_t)64 << 20)

/* --- the file --- */

static tb_code list_logs(trust *t, tb_error *err)
{
    size_t n = 0;
    tb_error why;
    tb_check_log *logs = malloc(TB_CHECK_LOGS_MAX * sizeof *logs);
    if (!logs) return tb_no_memory(err);
    const tb_code code = tb_check_logs_read(t->text.data, t->text.len, logs, &n, &why);
    for (size_t i = 0; !code && i < n; i++)
        t->logs[i] = (trust_log){.log = logs[i], .before = logs[i].checkpoint};
    t->n = n;
    free(logs);
    return code ? tb_fail(err, TB_E_VALIDATION, NULL, "%.160s is no file of --trust-on-first-use: %.160s", t->path, why.message) : TB_OK;
}

/* The file is replaced, so its folder is locked: of two checks at once the second waits, else one would forget what the other learned.
 * -1: there is no such folder, which writing the file will say. A file system without locks is used as it is. */
static int lock_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const int len = snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    const int fd = len < (int)sizeof folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) (void)flock(fd, LOCK_EX);
    return fd;
}

tb_code trust_open(const char *path, trust *ret, tb_error *err)
{
    *ret = (trust){.path = path};
    tb_buf_init(&ret->text, FILE_MAX, NULL);
    if (!path) return TB_OK;
    ret->lock = lock_folder(path);
    ret->logs = calloc(TB_CHECK_LOGS_MAX, sizeof *ret->logs);
    if (!ret->logs) return tb_no_memory(err);
    const tb_code code = checker_read(path, &ret->text, err);
    if (code == TB_E_NOT_FOUND) return TB_OK;
    return code ? code : list_logs(ret, err);
}

tb_code trust_save(trust *t, tb_error *err)
{
    tb_buf out;
    if (!t->changed) return TB_OK;
    tb_check_log *logs = malloc(TB_CHECK_LOGS_MAX * sizeof *logs);
    if (!logs) return tb_no_memory(err);
    for (size_t i = 0; i < t->n; i++)
        logs[i] = t->logs[i].log;
    tb_buf_init(&out, FILE_MAX, NULL);
    tb_check_logs_write(logs, t->n, &out);
    free(logs);
    tb_code code = tb_buf_check(&out, err);
    if (!code && !new_file_put(AT_FDCWD, t->path, 0600, out.data, out.len))
        code = tb_fail(err, TB_E_IO, NULL, "%.200s cannot be written: %s.", t->path, strerror(errno));
    tb_buf_release(&out);
    return code;
}

void trust_close(trust *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->logs[i].kept);
    free(t->logs);
    tb_buf_release(&t->text);
    if (t->lock > 0) close(t->lock);
}

/* --- logs --- */

static trust_log *find_log(const trust *t, tb_text name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strlen(t->logs[i].log.key.name) == name.len && memcmp(t->logs[i].log.key.name, name.data, name.len) == 0) return &t->logs[i];
    return NULL;
}

/* Entries of the tree of a note; -1: it is none. */
static int64_t note_size(tb_text text)
{
    tb_note note;
    tb_checkpoint checkpoint;
    if (tb_note_read(text.data, text.len, &note, NULL) || tb_checkpoint_read(note.text, &checkpoint, NULL)) return -1;
    return checkpoint.size;
}

static void add_since(tb_check_input *input, const char *name, tb_text note)
{
    input->since[input->n_since++] = (tb_check_since){.name = name, .note = note};
}

void trust_use(const trust *t, tb_check_input *input)
{
    const trust_log *log = find_log(t, input->bundle->log);
    if (!log) return;
    input->remembered = &log->log.key;
    if (log->before.data) add_since(input, t->path, log->before);
    /* Files of one run may be of any order; two of one size have to be the same tree. */
    if (log->kept && note_size(log->log.checkpoint) == note_size(input->bundle->checkpoint))
        add_since(input, "another file of this run", log->log.checkpoint);
}

static tb_code keep_checkpoint(trust *t, trust_log *log, tb_text note, tb_error *err)
{
    char *copy = malloc(note.len);
    if (!copy) return tb_no_memory(err);
    memcpy(copy, note.data, note.len);
    free(log->kept);
    log->kept = copy;
    log->log.checkpoint = (tb_text){copy, note.len};
    t->changed = true;
    return TB_OK;
}

tb_code trust_learn(trust *t, const tb_check_input *input, const tb_check_result *result, tb_error *err)
{
    const tb_check_state grown = result->steps[TB_CHECK_CONSISTENCY].state;
    trust_log *log = find_log(t, input->bundle->log);
    if (!t->path || result->steps[TB_CHECK_SIGNATURE].state != TB_CHECK_OK || grown > TB_CHECK_OK) return TB_OK;
    if (log && note_size(log->log.checkpoint) >= result->size) return TB_OK;
    if (!log && t->n == TB_CHECK_LOGS_MAX) return tb_fail(err, TB_E_TOO_LARGE, NULL, "%.200s has %d logs; that is the most.", t->path, TB_CHECK_LOGS_MAX);
    if (!log) {
        log = &t->logs[t->n++];
        *log = (trust_log){.log = {.key = *input->key}};
    }
    return keep_checkpoint(t, log, input->bundle->checkpoint, err);
}
