/* Snapshots of readers, and how one is gone on with while nothing is committed.
 *
 * With each commit, before it returns, SQLite writes two copies of a head of 48 bytes to the front of its WAL-index,
 * memory that all connections of all processes share. A number of the change is in it, and a checksum over all frames
 * of the WAL (walformat.html, 2.1). Behind it stands how much of the WAL a checkpoint has moved into the file.
 *
 * Kept true: a snapshot is gone on with only where all of this is what it was before the snapshot began, so nothing was
 * committed in between, nor since. Whoever asks after a commit was acknowledged sees it, whichever process made it. And
 * once a checkpoint has moved something the snapshot gives way, so the WAL can be begun anew.
 *
 * Where the index is of a format that is not known, or this user may not write it, each snapshot begins anew. */
#include "store/core/internal.h"

#include <string.h>

#define INDEX_BYTES  32768                 /* that SQLite maps at once */
#define INDEX_FORMAT UINT32_C(3007000)     /* its first four bytes, in this machine's order */

static const uint64_t *map_index(tb_store *store)
{
    sqlite3_file *file = NULL;
    void volatile *index = NULL;
    if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        !file->pMethods || file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap(file, 0, INDEX_BYTES, 0, &index) != SQLITE_OK)
        return NULL;
    return (const uint64_t *)(uintptr_t)index;
}

/* Mapped by SQLite with the connection's first read, and until it is closed. false: it cannot be read. */
static bool copy_index(tb_store *store, tb__wal_index *ret)
{
    uint32_t format = 0;
    if (!store->wal_index) store->wal_index = map_index(store);
    if (!store->wal_index) return false;
    for (int i = 0; i < TB__WAL_INDEX_WORDS; i++)
        ret->word[i] = __atomic_load_n(&store->wal_index[i], __ATOMIC_ACQUIRE);
    memcpy(&format, ret->word, sizeof format);
    return format == INDEX_FORMAT;
}

tb_code tb_store_read_begin(tb_store *store, tb_error *err)
{
    store->read_version_known = false;
    return tb__run_ints(store, TB__SQL_BEGIN_READ, NULL, 0, err);
}

tb_code tb_store_read_again(tb_store *store, tb_error *err)
{
    tb__wal_index now;
    const bool known = copy_index(store, &now);
    if (!sqlite3_get_autocommit(store->db)) {
        if (known && memcmp(&now, &store->read_index, sizeof now) == 0) return TB_OK;
        tb_store_read_end(store);
    }
    if (known) store->read_index = now;
    else store->read_index = (tb__wal_index){{0}};
    return tb_store_read_begin(store, err);
}

void tb_store_read_end(tb_store *store)
{
    tb_error ignored;
    if (!sqlite3_get_autocommit(store->db) && tb__run_ints(store, TB__SQL_COMMIT, NULL, 0, &ignored)) return;
}
