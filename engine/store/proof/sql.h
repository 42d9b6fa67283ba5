/* Statements over the log of documents. */
#ifndef TOLLBOOK_STORE_PROOF_SQL_H
#define TOLLBOOK_STORE_PROOF_SQL_H

#include "store/core/sql.h"

#define TB__PROOF_STATEMENTS(X)                                                                    \
    X(PROOF_SIZE, "SELECT coalesce(max(id),-1)+1 FROM proof_entry")                                \
    X(PROOF_ENTRY_PUT, "INSERT INTO proof_entry(id,type,account,subject,entry) VALUES(?1,?2,?3,?4,?5)") \
    X(PROOF_ENTRIES, "SELECT id,type,account,subject,entry FROM proof_entry WHERE id>=?1 AND id<?2 ORDER BY id") \
    X(PROOF_ENTRIES_OF, "SELECT id,entry FROM proof_entry WHERE subject=?1 AND account=?2 AND type=?3 ORDER BY id") \
    X(PROOF_TILE, "SELECT hashes FROM proof_tile WHERE level=?1 AND number=?2")                    \
    X(PROOF_TILE_PUT, "INSERT INTO proof_tile(level,number,hashes) VALUES(?1,?2,?3) ON CONFLICT(level,number)" \
      " DO UPDATE SET hashes=excluded.hashes")                                                     \
    X(PROOF_CHECKPOINT, "SELECT note FROM proof_checkpoint ORDER BY size DESC LIMIT 1")            \
    X(PROOF_CHECKPOINT_OVER, "SELECT note FROM proof_checkpoint WHERE size>?1 ORDER BY size LIMIT 1") \
    X(PROOF_CHECKPOINT_OF, "SELECT note FROM proof_checkpoint WHERE size=?1")                      \
    X(PROOF_CHECKPOINT_COSIGNED, "UPDATE proof_checkpoint SET note=?2 WHERE size=?1")              \
    X(PROOF_CHECKPOINT_SIZE, "SELECT coalesce(max(size),0) FROM proof_checkpoint")                 \
    X(PROOF_CHECKPOINT_FIRST, "SELECT coalesce(min(size),0) FROM proof_checkpoint")                \
    X(PROOF_CHECKPOINT_PUT, "INSERT INTO proof_checkpoint(size,note) VALUES(?1,?2)")               \
    X(PROOF_CHANGE_PUT, "INSERT OR IGNORE INTO proof_change(account,day) VALUES(?1,?2)")           \
    X(PROOF_CHANGES, "SELECT account,day FROM proof_change ORDER BY day,account LIMIT ?1")         \
    X(PROOF_CHANGE_GONE, "DELETE FROM proof_change WHERE account=?1 AND day=?2")                   \
    /* values of gauges of a segment, from ?2 on, of days before ?3 */                             \
    X(PROOF_GAUGES_CHANGED, "INSERT OR IGNORE INTO proof_change(account,day) SELECT DISTINCT m.account,g.at_us/86400000000" \
      " FROM gauge g CROSS JOIN meter_series m ON m.id=g.series WHERE g.segment=?1 AND g.at_us>=?2 AND g.at_us<?3*86400000000") \
    X(PROOF_BOOKS, "SELECT name,document FROM book ORDER BY id")                                   \
    X(PROOF_INVOICES, "SELECT account,number,month,document FROM invoice ORDER BY id")             \
    X(PROOF_VOIDS, "SELECT account,number,voided_us FROM invoice WHERE state='void' ORDER BY voided_us,id") \
    X(PROOF_ACCOUNTS, "SELECT id FROM account ORDER BY id")                                        \
    X(PROOF_SERIES, "SELECT id FROM account_series UNION SELECT id FROM series WHERE scope IN(3,4)") \
    X(PROOF_GAUGE_FIRST, "SELECT min(at_us)/86400000000 FROM gauge HAVING count(*)>0")             \
    X(PROOF_BALANCERS, "SELECT b.id,s.id FROM balancer b CROSS JOIN series s ON s.scope=3 AND s.owner=b.id" \
      " WHERE b.account=?1 ORDER BY b.id")                                                         \
    X(PROOF_GAUGE, "SELECT at_us,value FROM gauge WHERE series=?1 AND at_us>=?2 AND at_us<?3 AND gone_version=" TB__FOR_EVER \
      " ORDER BY at_us,segment")

#endif
