/* The file that a store works on: which one it is, who writes it, and whether it is still there.
 *
 * One process writes a database. What excludes the others is a lock on the file itself (its inode),
 * so it holds whatever name led there and whatever else is removed: F_OFD_SETLK on a byte far behind
 * those that SQLite locks (0x40000000 and the 511 after it). The -wal is locked in the same way: two
 * databases must not share one either. FILE.lock says who writes. It locks out older versions, which
 * check nothing else; this version relies on the lock on the file.
 *
 * The writer says which -wal is its own by the length of another lock, so that a reader that came by
 * another name, and would see another -wal or none, is refused.
 *
 * Closing any descriptor of a file drops all POSIX locks that the process has on it, SQLite's
 * too. So a process opens a database once for all its stores and closes it after the last of them. */
#ifndef TOLLBOOK_STORE_HELD_H
#define TOLLBOOK_STORE_HELD_H

#include "tollbook/store.h"

#include <sys/stat.h>

typedef struct tb__held tb__held;

/* Finds the file and, with an owner, becomes its writer. Before SQLite opens it. TB_E_LOCKED names the
 * holder; TB_E_LINKED: the writer's file has another name; TB_E_GONE: this process writes another
 * file of this name. */
TB_MUST_USE tb_code tb__hold(const char *path, const char *owner, tb__held **ret_held,
                             tb_error *err);
/* Once SQLite has read, and so has opened the -wal: the writer takes it, a reader makes sure that it
 * is the writer's. */
TB_MUST_USE tb_code tb__hold_wal(tb__held *held, tb_error *err);
/* TB_E_GONE where the path leads to another file than the one that is held, or to none; for a
 * writer its -wal and -shm count too. *ret_links (may be NULL): how many names the file has. */
TB_MUST_USE tb_code tb__still_there(const tb__held *held, unsigned *ret_links, tb_error *err);
/* The process that writes the file; false: none does. */
bool tb__held_writer(const tb__held *held, tb_writer *ret_writer);
/* Absolute, without symbolic links: what SQLite is to open. */
const char *tb__held_path(const tb__held *held);
bool tb__is_held(const tb__held *held, const struct stat *st);
/* Before SQLite closes, which may remove the -wal: no longer says which one it is. */
void tb__release_wal(tb__held *held);
/* What all stores of the file in this process share: made for the first that asks, freed with the last store. NULL:
 * it could not be made. */
typedef enum tb__shared { TB__SHARED_DAYS, TB__SHARED_SUMS, TB__SHARED_COUNT } tb__shared;
void *tb__held_share(tb__held *held, tb__shared what, void *(*make)(void), void (*free_it)(void *shared));
/* After SQLite has closed. NULL is fine. */
void tb__let_go(tb__held *held);

#endif
