"""All rows of a database, by table, for comparison with another one."""
import sqlite3


def content(path, but=()):
    """{table: sorted rows}, without the tables `but`."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
                                              " AND name NOT LIKE 'sqlite_%' ORDER BY name")]
        tables = {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in names if name not in but}
    db.close()
    return tables
