/* What a transaction changes, as SQLite's patchset: the body of its piece (tollbook/replica.h).
 *
 * The session extension would record the same. Its table of changed rows is hashed by the low bits of the key, which are
 * the day in most of ours: ingesting a million lines took 17 to 46 s of processor with a session, and takes 0.7 s with this
 * one (docs/design/replica.md). Changes are written here in the order in which they were made, without a table: several to
 * one row are several entries, which sqlite3changeset_apply applies one after the other. */
#ifndef TOLLBOOK_STORE_CAPTURE_H
#define TOLLBOOK_STORE_CAPTURE_H

#include "store/core/internal.h"

/* Begins to record the changes of this connection. Once, for a writer whose file is replicated. */
TB_MUST_USE tb_code tb__capture_begin(tb_store *store, tb_error *err);
void tb__capture_end(tb_store *store);
/* Stops recording, and goes on. */
void tb__capture_hold(tb_store *store, bool held);
/* Whether nothing was recorded. */
bool tb__capture_is_empty(const tb_store *store);
/* Forgets what was recorded: of the transaction, or since the mark. */
void tb__capture_forget(tb_store *store, bool whole);
void tb__capture_mark(tb_store *store);
/* The transaction's patchset, compressed, appended to `out`; nothing where it changed nothing. */
TB_MUST_USE tb_code tb__capture_take(tb_store *store, tb_buf *out, tb_error *err);
/* Whether rows are changed as pieces say: without triggers, also those behind virtual tables. It lasts until the next
 * transaction of another kind (tb_store_begin), since SQLite compiles all statements again after each change of it. */
void tb__capture_settle(tb_store *store, bool applies);
/* Applies one of these, in the caller's transaction. TB_E_DIFFERENT: the file's rows are not those that it is for. */
TB_MUST_USE tb_code tb__capture_apply(tb_store *store, const void *data, size_t len, tb_error *err);

/* At opening: begins to record where the file is replicated. */
TB_MUST_USE tb_code tb__pieces_begin(tb_store *store, tb_error *err);
/* Empties the list of standbys. */
TB_MUST_USE tb_code tb__standbys_forget(tb_store *store, tb_error *err);
/* Before an upgrade of the schema: whether the programs of all listed standbys know this one. TB_E_USAGE names one that does
 * not. */
TB_MUST_USE tb_code tb__standbys_know(tb_store *store, int schema, tb_error *err);
/* In the transaction of an upgrade of the schema, where the file is replicated: its piece has no changes, but the number of
 * the schema, and copies take the same steps. So a step depends on nothing but the file. */
TB_MUST_USE tb_code tb__piece_of_schema(tb_store *store, tb_error *err);
/* At opening a writer: refuses a file that another one took the place of, and a copy that was not promoted, unless it is opened
 * as a copy. */
TB_MUST_USE tb_code tb__check_primary(tb_store *store, tb_error *err);
/* Marks the file as a copy, or as none, in the caller's transaction. */
TB_MUST_USE tb_code tb__mark_copied(tb_store *store, bool copied, tb_error *err);
/* Before a piece is applied: ends that, where the piece is of the other file. */
TB_MUST_USE tb_code tb__supersede_end(tb_store *store, int64_t epoch, tb_error *err);
/* At commit: the piece of the transaction, where it changed something. */
TB_MUST_USE tb_code tb__piece_add(tb_store *store, tb_error *err);

#endif
