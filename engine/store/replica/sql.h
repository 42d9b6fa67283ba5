/* Statements over pieces. The table is the only one whose changes make no piece. */
#ifndef TOLLBOOK_STORE_REPLICA_SQL_H
#define TOLLBOOK_STORE_REPLICA_SQL_H

#define TB__PIECE_COLUMNS "id,epoch,at_us,version,total,chain,data"
#define TB__PIECE_HEAD    "id,epoch,at_us,version,total,chain,length(data)" /* which reads no page of the data */

#define TB__REPLICA_STATEMENTS(X)                                                                  \
    X(PIECE_LAST, "SELECT " TB__PIECE_HEAD " FROM piece ORDER BY id DESC LIMIT 1")                 \
    X(PIECE_FIRST, "SELECT " TB__PIECE_HEAD " FROM piece ORDER BY id LIMIT 1")                     \
    X(PIECE_HEAD, "SELECT " TB__PIECE_HEAD " FROM piece WHERE id=?1")                              \
    X(PIECE_AT, "SELECT at_us,total FROM piece WHERE id=?1")                                       \
    X(PIECES_AFTER, "SELECT " TB__PIECE_COLUMNS " FROM piece WHERE id>?1 ORDER BY id")             \
    X(PIECE_INSERT, "INSERT INTO piece(" TB__PIECE_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7)")       \
    X(PIECES_DELETE, "DELETE FROM piece")                                                          \
    X(PIECES_TRIM, "DELETE FROM piece WHERE id<?1")                                                \
    X(APPLICATION_ID, "PRAGMA application_id")                                                    \
    X(STANDBYS, "SELECT name,url,program_schema FROM standby ORDER BY name")                       \
    X(STANDBY_PUT, "INSERT INTO standby(name,url,program_schema) VALUES(?1,?2,?3) ON CONFLICT(name) DO UPDATE" \
      " SET url=excluded.url,program_schema=excluded.program_schema")                              \
    X(STANDBYS_DELETE, "DELETE FROM standby")                                                      \
    X(STANDBY_DELETE, "DELETE FROM standby WHERE name=?1")                                         \
    X(TABLE_COLUMNS, "SELECT s.name,c.pk,c.type='INTEGER' AND s.sql NOT LIKE '%WITHOUT ROWID%'"     \
      " FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type='table'"                    \
      " AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND s.name<>'piece' AND s.sql NOT LIKE 'CREATE VIRTUAL%'" \
      " ORDER BY s.name,c.cid")

#endif
