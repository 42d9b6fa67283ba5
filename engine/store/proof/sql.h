/* Statements over the log of documents. */
#ifndef TOLLBOOK_STORE_PROOF_SQL_H
#define TOLLBOOK_STORE_PROOF_SQL_H

#include "store/core/sql.h"
#include "tollbook/retain.h"

/* The month of a day's name. */
#define TB__PROOF_MONTH(day) "(substr(" day ",1,4)-1970)*12+substr(" day ",6,2)-1"

#define TB__PROOF_STATEMENTS(X)                                                                    \
    X(PROOF_SIZE, "SELECT coalesce(max(id),-1)+1 FROM proof_entry")                                \
    /* entries that have their hash in a tile */                                                   \
    X(PROOF_WRITTEN, "SELECT min((SELECT coalesce(max(id),-1)+1 FROM proof_entry),coalesce((SELECT number*256+length(hashes)/32" \
      " FROM proof_tile WHERE level=0 ORDER BY number DESC LIMIT 1),0))")                          \
    X(PROOF_ENTRY_PUT, "INSERT INTO proof_entry(id,type,account,subject,entry,version) VALUES(?1,?2,?3,?4,?5,?6)") \
    X(PROOF_ENTRIES, "SELECT id,type,account,subject,entry FROM proof_entry WHERE id>=?1 AND id<?2 ORDER BY id") \
    X(PROOF_ENTRY_BY_ID, "SELECT type,account,subject,entry,version FROM proof_entry WHERE id=?1") \
    X(PROOF_BEGAN, "SELECT version FROM proof_entry WHERE id=0")                                   \
    X(PROOF_ENTRIES_OF, "SELECT id,entry,version FROM proof_entry WHERE subject=?1 AND account=?2 AND type=?3 ORDER BY id") \
    /* entries of an account's days of the month that day ?2 is in */                             \
    X(PROOF_DAYS, "SELECT unixepoch(subject)/86400,id,version FROM proof_entry WHERE account=?1 AND type='usage'" \
      " AND substr(subject,1,7)=strftime('%Y-%m',?2*86400,'unixepoch') ORDER BY subject,id")       \
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
    X(PROOF_CHANGES, "SELECT account,day FROM proof_change ORDER BY account,day LIMIT ?1")         \
    X(PROOF_CHANGES_OF, "SELECT account,day FROM proof_change WHERE account=?1 ORDER BY day")      \
    X(PROOF_OPEN_CHANGED, "INSERT OR IGNORE INTO proof_change(account,day) SELECT id,?1 FROM account") \
    X(PROOF_CHANGED, "SELECT EXISTS(SELECT 1 FROM proof_change)")                                  \
    X(PROOF_CHANGE_GONE, "DELETE FROM proof_change WHERE account=?1 AND day=?2")                   \
    /* values of gauges of a segment, from ?2 on, of days before ?3 */                             \
    X(PROOF_GAUGES_CHANGED, "INSERT OR IGNORE INTO proof_change(account,day) SELECT DISTINCT m.account,g.at_us/86400000000" \
      " FROM gauge g CROSS JOIN meter_series m ON m.id=g.series WHERE g.segment=?1 AND g.at_us>=?2 AND g.at_us<?3*86400000000") \
    X(PROOF_LATE_PUT, "INSERT INTO proof_late(version,account,day,scope,owner,edge,data) VALUES(?1,?2,?3,?4,?5,?6,?7)") \
    X(PROOF_LATE_OF, "SELECT scope,owner,edge,data,id FROM proof_late WHERE account=?1 AND day=?2 AND version>?3 ORDER BY scope,owner,edge,id") \
    /* usage of a day that came, or was withdrawn, after version ?4 and by version ?5 */           \
    X(PROOF_CAME, "SELECT EXISTS(SELECT 1 FROM late WHERE account=?1 AND month=?2 AND day=?3 AND version>?4 AND version<=?5" \
      " AND edge<>" TB__NUMERAL(TB__LATE_GAUGE) ") OR EXISTS(SELECT 1 FROM meter_series m CROSS JOIN gauge g ON g.series=m.id"  \
      " WHERE m.account=?1 AND g.at_us>=?3*86400000000 AND g.at_us<(?3+1)*86400000000 AND((g.version>?4 AND g.version<=?5)" \
      " OR(g.gone_version>?4 AND g.gone_version<=?5)))")                                           \
    X(PROOF_VOID_OF, "SELECT voided_us FROM invoice WHERE number=?1 AND account=?2 AND state='void'") \
    X(PROOF_TERMLESS, "SELECT i.id FROM invoice i WHERE i.id>?1 AND NOT EXISTS(SELECT 1 FROM proof_entry e WHERE e.subject=i.number" \
      " AND e.account=i.account AND e.type='terms') ORDER BY i.id LIMIT ?2")                       \
    X(PROOF_FORGOTTEN, "SELECT 1 FROM account WHERE id=?1 AND name='" TB_FORGOTTEN_NAME "'")      \
    X(PROOF_BOOK_TEXT, "SELECT document FROM book WHERE name=?1")                                  \
    X(PROOF_INVOICE_TEXT, "SELECT document FROM invoice WHERE number=?1 AND account=?2")           \
    X(PROOF_BOOKS, "SELECT name,document FROM book ORDER BY id")                                   \
    X(PROOF_INVOICES, "SELECT account,number,month,document FROM invoice ORDER BY id")             \
    X(PROOF_VOIDS, "SELECT account,number,voided_us FROM invoice WHERE state='void' ORDER BY voided_us,id") \
    X(PROOF_SERIES, "SELECT id FROM account_series UNION SELECT id FROM series WHERE scope IN(3,4)") \
    X(PROOF_GAUGE_FIRST, "SELECT min(at_us)/86400000000 FROM gauge HAVING count(*)>0")             \
    X(PROOF_BALANCERS, "SELECT b.id,s.id FROM balancer b CROSS JOIN series s ON s.scope=3 AND s.owner=b.id" \
      " WHERE b.account=?1 ORDER BY b.id")                                                         \
    X(PROOF_GAUGE, "SELECT at_us,value FROM gauge WHERE series=?1 AND at_us>=?2 AND at_us<?3 AND version<=?4 AND gone_version>?4" \
      " ORDER BY at_us,segment")

#endif
