/* The folder of a continuous backup: bases, each a whole database (tb_store_backup_base), and files with the pieces after
 * them (replica.h), from which the database is restored as it was at any moment.
 *
 *     base-20261119T140500.250000Z-000000000042.db
 *     pieces-20261119T140501.100000Z-000000000043-000000000057.tbp
 *
 * A name has the moment of the base's newest piece, or of the first of the pieces, and the numbers of pieces. A file of
 * pieces is pieces as bytes (tb_piece_put), one after another. The first has no data: it is the head of the piece before,
 * so that each file can be checked alone. */
#ifndef TOLLBOOK_ARCHIVE_H
#define TOLLBOOK_ARCHIVE_H

#include "tollbook/replica.h"

TB_API_BEGIN

#define TB_ARCHIVE_NAME_MAX 96
/* The longest file of pieces: one piece can be longer than the length at which a file is ended. */
#define TB_ARCHIVE_FILE_MAX (TB_PIECE_MAX + ((size_t)64 << 20))

typedef enum tb_archive_kind { TB_ARCHIVE_BASE = 1, TB_ARCHIVE_PIECES } tb_archive_kind;

typedef struct tb_archive_file {
    tb_archive_kind kind;
    int64_t at_us;
    int64_t first, last; /* the same for a base */
} tb_archive_file;

void tb_archive_name(const tb_archive_file *file, char ret[TB_ARCHIVE_NAME_MAX]);
/* false: this is no file of a backup. */
bool tb_archive_parse(const char *name, tb_archive_file *ret);
/* For qsort: by moment, then by number, a base before the pieces. */
int tb_archive_compare(const void *a, const void *b);
/* Marks the files that no moment from since_us on needs: those before the newest base that is as old. The files ascend.
 * The newest base and what follows it stay. Returns how many are marked. */
size_t tb_archive_expired(const tb_archive_file *files, size_t n, int64_t since_us, bool *ret_expired);
/* The base from which a moment, or a piece if `piece` is not 0, is restored: the newest one that is not newer. n: there
 * is none. */
size_t tb_archive_base(const tb_archive_file *files, size_t n, int64_t at_us, int64_t piece);

/* Checks a file of pieces: each follows the one before it. TB_E_CORRUPT: err->byte says where, and *ret_last is the last
 * piece that is whole; number 0: none. Both pieces are without data. */
TB_MUST_USE tb_code tb_archive_check(const void *bytes, size_t len, tb_piece *ret_before, tb_piece *ret_last, tb_error *err);

/* The end of a restore: the last moment or, if it is not 0, the last piece. */
typedef struct tb_restore_end {
    int64_t at_us, piece;
} tb_restore_end;
/* Applies the pieces of a file to a base, up to the end. The copy keeps the newest piece alone, and is not durable before
 * tb_store_restored. *ret_reached: there was a piece behind the end. TB_E_DIFFERENT, TB_E_CORRUPT: what was applied stays. */
TB_MUST_USE tb_code tb_store_restore(tb_store *store, const void *bytes, size_t len, const tb_restore_end *end, bool *ret_reached,
                                     tb_error *err);
/* Ends a restore: switches replication off, since the file is another one from here on, and makes the file durable. */
TB_MUST_USE tb_code tb_store_restored(tb_store *store, tb_error *err);

TB_API_END

#endif
