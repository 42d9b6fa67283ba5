#include "cli/archive_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tollbook/calendar.h"

#define READ_SIZE ((size_t)1 << 20)

bool archive_path(const char *folder, const char *name, char ret[ARCHIVE_PATH_MAX])
{
    const int n = snprintf(ret, ARCHIVE_PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < ARCHIVE_PATH_MAX;
}

void archive_file_path(const char *folder, const tb_archive_file *file, char ret[ARCHIVE_PATH_MAX])
{
    char name[TB_ARCHIVE_NAME_MAX];
    tb_archive_name(file, name);
    archive_path(folder, name, ret);
}

void archive_moment(int64_t at_us, char ret[ARCHIVE_MOMENT])
{
    char second[20];
    tb_time_format(at_us, second);
    snprintf(ret, ARCHIVE_MOMENT, "%.19s.%06dZ", second, (int)((at_us % 1000000 + 1000000) % 1000000));
}

tb_code archive_read_list(const char *folder, archive_list *ret, tb_error *err)
{
    const struct dirent *entry;
    size_t cap = 0;
    tb_code code = TB_OK;
    *ret = (archive_list){.n = 0};
    DIR *all = opendir(folder);
    if (!all) return tb_fail(err, TB_E_IO, NULL, "%.500s: %s.", folder, strerror(errno));
    while (!code && (entry = readdir(all)) != NULL) {
        tb_archive_file file;
        if (!tb_archive_parse(entry->d_name, &file)) continue;
        if (ret->n == cap) {
            cap = cap ? 2 * cap : 256;
            tb_archive_file *more = realloc(ret->files, cap * sizeof *more);
            if (more) ret->files = more;
            else code = tb_no_memory(err);
        }
        if (!code) ret->files[ret->n++] = file;
    }
    closedir(all);
    if (code) archive_list_release(ret);
    else if (ret->n) qsort(ret->files, ret->n, sizeof *ret->files, tb_archive_compare);
    return code;
}

void archive_list_release(archive_list *list)
{
    free(list->files);
    *list = (archive_list){.n = 0};
}

static tb_code read_whole(const char *path, tb_buf *ret, tb_error *err)
{
    ssize_t n = 1;
    tb_code code = TB_OK;
    tb_buf_init(ret, TB_ARCHIVE_FILE_MAX, NULL);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (!code && fd >= 0 && n > 0) {
        char *room = tb_buf_room(ret, READ_SIZE);
        if (!room) code = tb_buf_check(ret, err);
        else if ((n = read(fd, room, READ_SIZE)) > 0) ret->len += (size_t)n;
    }
    if (!code && (fd < 0 || n < 0)) code = tb_fail(err, TB_E_IO, NULL, "%.500s: %s.", path, strerror(errno));
    if (fd >= 0) close(fd);
    return code;
}

tb_code archive_read_pieces(const char *folder, const tb_archive_file *file, tb_buf *ret_bytes, tb_piece *ret_before,
                            tb_piece *ret_last, tb_error *err)
{
    char path[ARCHIVE_PATH_MAX], name[TB_ARCHIVE_NAME_MAX];
    tb_error why = {.byte = 0};
    *ret_last = *ret_before = (tb_piece){.number = 0};
    archive_file_path(folder, file, path);
    tb_archive_name(file, name);
    tb_code code = read_whole(path, ret_bytes, err);
    if (code) return code;
    code = tb_archive_check(ret_bytes->data ? ret_bytes->data : "", ret_bytes->len, ret_before, ret_last, &why);
    if (code) return tb_fail(err, code, NULL, "%s: byte %llu: %.120s", name, (unsigned long long)why.byte, why.message);
    if (ret_before->number + 1 != file->first || ret_last->number != file->last)
        return tb_fail(err, TB_E_CORRUPT, NULL, "%s: It has the pieces %lld to %lld, and its name says others.", name,
                       (long long)(ret_before->number + 1), (long long)ret_last->number);
    return TB_OK;
}

/* What a reader makes beside a file. Nobody else has a base open. */
static void remove_beside(const char *path)
{
    static const char *const ends[] = {"-wal", "-shm"};
    char name[ARCHIVE_PATH_MAX + 8];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

tb_code archive_read_base(const char *folder, const tb_archive_file *file, tb_piece *ret_last, tb_error *err)
{
    const tb_store_options reader = {.control = true};
    char path[ARCHIVE_PATH_MAX], name[TB_ARCHIVE_NAME_MAX];
    tb_store *store;
    tb_replication state = {.first = 0};
    archive_file_path(folder, file, path);
    tb_archive_name(file, name);
    tb_code code = tb_store_open(path, &reader, &store, err);
    if (code) return code;
    code = tb_store_replication(store, &state, err);
    tb_store_close(store);
    remove_beside(path);
    *ret_last = state.last;
    if (!code && state.last.number != file->first)
        code = tb_fail(err, TB_E_CORRUPT, NULL, "%s: Its newest piece is %lld, and its name says another.", name,
                       (long long)state.last.number);
    return code;
}

void archive_remove_work(const char *path)
{
    const struct dirent *entry;
    DIR *all = opendir(path);
    while (all && (entry = readdir(all)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) unlinkat(dirfd(all), entry->d_name, 0);
    if (all) closedir(all);
    rmdir(path);
}
