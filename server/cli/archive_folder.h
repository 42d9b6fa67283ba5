/* The folder of a continuous backup (tollbook/archive.h) as the command line sees it: its files in order, and the contents
 * of one. */
#ifndef TOLLBOOK_SERVER_CLI_ARCHIVE_FOLDER_H
#define TOLLBOOK_SERVER_CLI_ARCHIVE_FOLDER_H

#include "cli/cli.h"
#include "tollbook/archive.h"

#define ARCHIVE_PATH_MAX 4096

typedef struct archive_list {
    tb_archive_file *files; /* ascending (tb_archive_compare) */
    size_t n;
} archive_list;

TB_MUST_USE tb_code archive_read_list(const char *folder, archive_list *ret, tb_error *err);
void archive_list_release(archive_list *list);
/* FOLDER/NAME. false: it is too long. */
bool archive_path(const char *folder, const char *name, char ret[ARCHIVE_PATH_MAX]);
void archive_file_path(const char *folder, const tb_archive_file *file, char ret[ARCHIVE_PATH_MAX]);
/* A moment for people, to the microsecond: 2026-11-19T14:05:00.250000Z. */
#define ARCHIVE_MOMENT 28
void archive_moment(int64_t at_us, char ret[ARCHIVE_MOMENT]);

/* Reads a file of pieces and checks it, also that it has the pieces of its name. TB_E_CORRUPT: *ret_last is the last piece
 * that is whole; the message names the file, the place and what to do. The caller releases *ret_bytes. */
TB_MUST_USE tb_code archive_read_pieces(const char *folder, const tb_archive_file *file, tb_buf *ret_bytes, tb_piece *ret_before,
                                        tb_piece *ret_last, tb_error *err);
/* The newest piece of a base, without data. */
TB_MUST_USE tb_code archive_read_base(const char *folder, const tb_archive_file *file, tb_piece *ret_last, tb_error *err);

/* Removes a working folder, which has files alone, and what is in it. Nothing where it is not there. */
void archive_remove_work(const char *path);

#endif
