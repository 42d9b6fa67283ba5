/* The schema, as the list of migrations that lead to it: entry n brings schema n to n+1. A file runs the migrations
 * that it has not had in one transaction, a new database all of them. Never edit an entry that has shipped; add one.
 *
 * Usage plane: series, chunk, country_day, late, log_block, log_run, event_block. Control plane: everything else.
 * Times are integers, microseconds since 1970 UTC (_us) or days; INT64_MIN and INT64_MAX mean "without a beginning"
 * and "without an end". Triggers protect append-only tables. */
#include "store/core/internal.h"
#include "store/core/sealed.h"

static const char v1[] =
    /* data_version grows with every commit that changed something; series_id is the last given;
     * newest_hour the hour of the newest bucket. */
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO meta VALUES('data_version',0),('series_id',0),"
    "('newest_hour',-9223372036854775807);"

    "CREATE TABLE account(id INTEGER PRIMARY KEY CHECK(id>0), name TEXT NOT NULL,"
    " document TEXT NOT NULL,"
    " declared_us INTEGER NOT NULL, deleted_us INTEGER NOT NULL) STRICT;"

    "CREATE TABLE zone(id INTEGER PRIMARY KEY CHECK(id>0),"
    " account INTEGER NOT NULL REFERENCES account(id), name TEXT NOT NULL,"
    " type TEXT NOT NULL CHECK(type IN('premium','volume')), created_us INTEGER NOT NULL,"
    " settings TEXT NOT NULL,"
    " document TEXT NOT NULL,"
    " declared_us INTEGER NOT NULL, deleted_us INTEGER NOT NULL) STRICT;"
    "CREATE INDEX zone_by_account ON zone(account,id);"

    "CREATE TABLE balancer(id INTEGER PRIMARY KEY CHECK(id>0),"
    " account INTEGER NOT NULL REFERENCES account(id), created_us INTEGER NOT NULL,"
    " ended_us INTEGER NOT NULL, document TEXT NOT NULL,"
    " declared_us INTEGER NOT NULL, deleted_us INTEGER NOT NULL) STRICT;"
    "CREATE INDEX balancer_by_account ON balancer(account,id);"

    /* What a thing was declared to be, from when to when. kind: account, zone, balancer,
     * shield_zone, seller. */
    "CREATE TABLE declaration(kind TEXT NOT NULL, id INTEGER NOT NULL, from_us INTEGER NOT NULL,"
    " to_us INTEGER NOT NULL, document TEXT NOT NULL, PRIMARY KEY(kind,id,from_us))"
    " STRICT, WITHOUT ROWID;"
    /* Which balancer a zone was attached to, from when to when. */
    "CREATE TABLE attachment(zone INTEGER NOT NULL, balancer INTEGER NOT NULL,"
    " from_us INTEGER NOT NULL, to_us INTEGER NOT NULL, PRIMARY KEY(zone,balancer,from_us))"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX attachment_by_balancer ON attachment(balancer,from_us);"

    "CREATE TABLE region(id INTEGER PRIMARY KEY CHECK(id>0), code TEXT NOT NULL UNIQUE,"
    " name TEXT NOT NULL, billing TEXT NOT NULL, continent TEXT NOT NULL, country TEXT NOT NULL,"
    " price TEXT NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL,"
    " latency_routing INTEGER NOT NULL CHECK(latency_routing IN(0,1))) STRICT;"
    /* Unused: it held the lists of a catalogue that v8 and v9 gave tables of their own. It stays, empty, as the schema
     * tells valid files from damaged ones. */
    "CREATE TABLE extra(name TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT, WITHOUT ROWID;"

    "CREATE TABLE key(id INTEGER PRIMARY KEY, account INTEGER NOT NULL CHECK(account>=0),"
    " roles INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE CHECK(length(hash)=32),"
    " hint TEXT NOT NULL, created_us INTEGER NOT NULL, revoked_us INTEGER NOT NULL) STRICT;"

    /* Edge location codes as numbers. 0 means all locations. */
    "CREATE TABLE edge(id INTEGER PRIMARY KEY CHECK(id>0), code TEXT NOT NULL UNIQUE,"
    " seal INTEGER NOT NULL) STRICT;"
    /* scope: 1 zone, 2 account, 3 balancer. */
    "CREATE TABLE series(scope INTEGER NOT NULL CHECK(scope IN(1,2,3)), owner INTEGER NOT NULL,"
    " edge INTEGER NOT NULL CHECK(edge>=0), id INTEGER NOT NULL CHECK(id>0),"
    " seal INTEGER NOT NULL,"
    " PRIMARY KEY(scope,owner,edge)) STRICT, WITHOUT ROWID;"
    /* Usage that no account pays for yet, and locations that no region names. */
    "CREATE VIEW unassigned AS SELECT DISTINCT owner AS zone FROM series"
    " WHERE scope=1 AND NOT EXISTS(SELECT 1 FROM zone WHERE zone.id=series.owner);"
    "CREATE VIEW unpriced AS SELECT code FROM edge"
    " WHERE NOT EXISTS(SELECT 1 FROM region WHERE region.code=edge.code);"
    /* key: series id, grain and day or month: see chunk.h. */
    "CREATE TABLE chunk(key INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"
    "CREATE TABLE country_day(zone INTEGER NOT NULL, day INTEGER NOT NULL, data BLOB NOT NULL,"
    " PRIMARY KEY(zone,day)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE segment(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL CHECK(kind IN(1,2)),"
    " name TEXT, source TEXT NOT NULL, start INTEGER NOT NULL CHECK(start>=0),"
    " length INTEGER NOT NULL CHECK(length>=start), hash BLOB NOT NULL CHECK(length(hash)=16),"
    " head BLOB NOT NULL CHECK(length(head)=16), lines_before INTEGER NOT NULL,"
    " accepted INTEGER NOT NULL CHECK(accepted>=0), rejected INTEGER NOT NULL CHECK(rejected>=0),"
    " final INTEGER NOT NULL CHECK(final IN(0,1)), added_us INTEGER NOT NULL,"
    " sums TEXT NOT NULL, seal INTEGER NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX segment_by_name ON segment(name,start) WHERE name IS NOT NULL;"
    "CREATE INDEX segment_by_head ON segment(head,kind,start,length);"
    "CREATE TRIGGER segment_no_update BEFORE UPDATE ON segment BEGIN"
    " SELECT raise(ABORT,'segments are append-only'); END;"
    "CREATE TRIGGER segment_no_delete BEFORE DELETE ON segment BEGIN"
    " SELECT raise(ABORT,'segments are append-only'); END;"
    /* Hashes of prefixes between segment ends: see store.h. */
    "CREATE TABLE rung(head BLOB NOT NULL CHECK(length(head)=16), length INTEGER NOT NULL"
    " CHECK(length>0), hash BLOB NOT NULL CHECK(length(hash)=16), PRIMARY KEY(head,length,hash))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE reject(segment INTEGER NOT NULL"
    " REFERENCES segment(id) DEFERRABLE INITIALLY DEFERRED, line INTEGER NOT NULL,"
    " byte INTEGER NOT NULL, reason TEXT NOT NULL, text BLOB NOT NULL, PRIMARY KEY(segment,line))"
    " STRICT, WITHOUT ROWID;";

/* The money module. Declarations and regions can be read as of every data version, so that a final invoice can be
 * rated again: declaration and attachment rows carry the version that opened and the one that closed them (0: before
 * this schema), region_billing gets a row whenever a code changes its billing region ('': no region any more). The
 * two R*Trees index hours since 1970, both ends included; they are derived from book and invoice. */
static const char v2[] =
    "ALTER TABLE declaration ADD COLUMN version INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE declaration ADD COLUMN closed_version INTEGER NOT NULL"
    " DEFAULT 9223372036854775807;"
    "UPDATE declaration SET closed_version=0 WHERE to_us<9223372036854775807;"
    "ALTER TABLE attachment ADD COLUMN version INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE attachment ADD COLUMN closed_version INTEGER NOT NULL"
    " DEFAULT 9223372036854775807;"
    "UPDATE attachment SET closed_version=0 WHERE to_us<9223372036854775807;"
    "CREATE TABLE region_billing(code TEXT NOT NULL, version INTEGER NOT NULL,"
    " billing TEXT NOT NULL, PRIMARY KEY(code,version)) STRICT, WITHOUT ROWID;"
    "INSERT INTO region_billing SELECT code,0,billing FROM region;"

    "CREATE TABLE book(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " currency TEXT NOT NULL CHECK(length(currency)=3), effective_us INTEGER NOT NULL"
    " CHECK(effective_us%3600000000=0), sha256 TEXT NOT NULL UNIQUE CHECK(length(sha256)=64),"
    " version INTEGER NOT NULL, added_us INTEGER NOT NULL, document TEXT NOT NULL,"
    " UNIQUE(currency,effective_us)) STRICT;"
    "CREATE TRIGGER book_no_update BEFORE UPDATE ON book BEGIN"
    " SELECT raise(ABORT,'price books are append-only'); END;"
    "CREATE TRIGGER book_no_delete BEFORE DELETE ON book BEGIN"
    " SELECT raise(ABORT,'price books are append-only'); END;"
    "CREATE VIRTUAL TABLE book_span USING rtree_i32(id,first_hour,last_hour);"

    /* A final invoice changes in one way: it becomes void. since: credit notes, the watermark from
     * which they credit; 0 for invoices. */
    "CREATE TABLE invoice(id INTEGER PRIMARY KEY, year INTEGER NOT NULL,"
    " serial INTEGER NOT NULL CHECK(serial>0), number TEXT NOT NULL UNIQUE,"
    " kind TEXT NOT NULL CHECK(kind IN('invoice','credit_note')),"
    " state TEXT NOT NULL CHECK(state IN('final','void')),"
    " account INTEGER NOT NULL REFERENCES account(id), month INTEGER NOT NULL,"
    " watermark INTEGER NOT NULL, since INTEGER NOT NULL,"
    " currency TEXT NOT NULL CHECK(length(currency)=3), total TEXT NOT NULL,"
    " sha256 TEXT NOT NULL CHECK(length(sha256)=64), previous TEXT NOT NULL,"
    " replaces TEXT NOT NULL, finalized_us INTEGER NOT NULL, voided_us INTEGER NOT NULL,"
    " document TEXT NOT NULL, UNIQUE(year,serial)) STRICT;"
    "CREATE UNIQUE INDEX invoice_live ON invoice(account,month,kind,since) WHERE state='final';"
    "CREATE INDEX invoice_by_account ON invoice(account,month,id);"
    "CREATE INDEX invoice_by_month ON invoice(month,id);"
    "CREATE INDEX invoice_replaces ON invoice(replaces) WHERE replaces<>'';"
    "CREATE TRIGGER invoice_in_turn BEFORE INSERT ON invoice"
    " WHEN NEW.serial<>(SELECT coalesce(max(serial),0)+1 FROM invoice WHERE year=NEW.year)"
    " OR NEW.previous<>coalesce((SELECT sha256 FROM invoice ORDER BY id DESC LIMIT 1),'')"
    " OR NEW.state<>'final' OR NEW.id<>(SELECT coalesce(max(id),0)+1 FROM invoice) BEGIN"
    " SELECT raise(ABORT,'invoices are numbered and chained without gaps'); END;"
    "CREATE TRIGGER invoice_no_update BEFORE UPDATE ON invoice WHEN NOT(OLD.state='final'"
    " AND NEW.state='void' AND NEW.id=OLD.id AND NEW.year=OLD.year AND NEW.serial=OLD.serial"
    " AND NEW.number=OLD.number AND NEW.kind=OLD.kind AND NEW.account=OLD.account"
    " AND NEW.month=OLD.month AND NEW.watermark=OLD.watermark AND NEW.since=OLD.since"
    " AND NEW.currency=OLD.currency AND NEW.total=OLD.total AND NEW.sha256=OLD.sha256"
    " AND NEW.previous=OLD.previous AND NEW.replaces=OLD.replaces"
    " AND NEW.finalized_us=OLD.finalized_us AND NEW.document=OLD.document) BEGIN"
    " SELECT raise(ABORT,'final invoices do not change'); END;"
    "CREATE TRIGGER invoice_no_delete BEFORE DELETE ON invoice BEGIN"
    " SELECT raise(ABORT,'final invoices do not change'); END;"
    "CREATE VIRTUAL TABLE invoice_span USING rtree_i32(id,first_hour,last_hour);"
    /* Late usage from `since` on that an invoice or credit note bills, up to its watermark. */
    "CREATE TABLE correction(invoice INTEGER NOT NULL REFERENCES invoice(id),"
    " account INTEGER NOT NULL, month INTEGER NOT NULL, since INTEGER NOT NULL,"
    " PRIMARY KEY(account,month,invoice)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX correction_by_invoice ON correction(invoice,month);"
    "CREATE TRIGGER correction_no_update BEFORE UPDATE ON correction BEGIN"
    " SELECT raise(ABORT,'corrections are append-only'); END;"
    "CREATE TRIGGER correction_no_delete BEFORE DELETE ON correction BEGIN"
    " SELECT raise(ABORT,'corrections are append-only'); END;"

    /* Usage that arrived for a month after an invoice of it: see late.c. */
    "CREATE TABLE late(id INTEGER PRIMARY KEY, version INTEGER NOT NULL, account INTEGER NOT NULL,"
    " month INTEGER NOT NULL, scope INTEGER NOT NULL CHECK(scope IN(1,3)), owner INTEGER NOT NULL,"
    " edge INTEGER NOT NULL, day INTEGER NOT NULL, data BLOB NOT NULL) STRICT;"
    "CREATE INDEX late_by_month ON late(account,month,version);"
    "CREATE TRIGGER late_no_update BEFORE UPDATE ON late BEGIN"
    " SELECT raise(ABORT,'late usage is append-only'); END;"
    "CREATE TRIGGER late_no_delete BEFORE DELETE ON late BEGIN"
    " SELECT raise(ABORT,'late usage is append-only'); END;"

    /* chain: SHA-256 over the entry and the chain before it: see chain.c. */
    "CREATE TABLE ledger(id INTEGER PRIMARY KEY, account INTEGER NOT NULL REFERENCES account(id),"
    " at_us INTEGER NOT NULL, kind TEXT NOT NULL CHECK(kind IN"
    "('invoice','void','credit_note','payment','adjustment')),"
    " currency TEXT NOT NULL CHECK(length(currency)=3), amount TEXT NOT NULL,"
    " reference TEXT NOT NULL, note TEXT NOT NULL,"
    " chain BLOB NOT NULL CHECK(length(chain)=32)) STRICT;"
    "CREATE INDEX ledger_by_account ON ledger(account,id);"
    "CREATE UNIQUE INDEX ledger_reference ON ledger(kind,reference) WHERE reference<>'';"
    "CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger BEGIN"
    " SELECT raise(ABORT,'the ledger is append-only'); END;"
    "CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN"
    " SELECT raise(ABORT,'the ledger is append-only'); END;";

/* Plans: shadow books and shadow bills, scenarios. None of it bills. seal: a hash over the row's other columns, for
 * a row without a text of its own. */
static const char v3[] =
    "CREATE TABLE shadow_book(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " currency TEXT NOT NULL CHECK(length(currency)=3), effective_us INTEGER NOT NULL"
    " CHECK(effective_us%3600000000=0), sha256 TEXT NOT NULL CHECK(length(sha256)=64),"
    " added_us INTEGER NOT NULL, state TEXT NOT NULL CHECK(state IN('live','dropped','activated')),"
    " closed_us INTEGER NOT NULL, document TEXT NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX shadow_book_live ON shadow_book(name) WHERE state='live';"
    "CREATE TRIGGER shadow_book_no_update BEFORE UPDATE ON shadow_book WHEN NOT(OLD.state='live'"
    " AND NEW.state<>'live' AND NEW.id=OLD.id AND NEW.name=OLD.name AND NEW.currency=OLD.currency"
    " AND NEW.effective_us=OLD.effective_us AND NEW.sha256=OLD.sha256"
    " AND NEW.added_us=OLD.added_us AND NEW.document=OLD.document) BEGIN"
    " SELECT raise(ABORT,'price books are append-only'); END;"
    "CREATE TRIGGER shadow_book_no_delete BEFORE DELETE ON shadow_book BEGIN"
    " SELECT raise(ABORT,'price books are append-only'); END;"
    "CREATE TABLE shadow_bill(shadow INTEGER NOT NULL REFERENCES shadow_book(id),"
    " account INTEGER NOT NULL REFERENCES account(id), month INTEGER NOT NULL,"
    " watermark INTEGER NOT NULL, currency TEXT NOT NULL CHECK(length(currency)=3),"
    " invoice TEXT NOT NULL, billed TEXT NOT NULL, would TEXT NOT NULL,"
    " unpriced INTEGER NOT NULL CHECK(unpriced>=0), made_us INTEGER NOT NULL,"
    " seal INTEGER NOT NULL, PRIMARY KEY(shadow,month,account,watermark)) STRICT, WITHOUT ROWID;"
    "CREATE TRIGGER shadow_bill_no_update BEFORE UPDATE ON shadow_bill BEGIN"
    " SELECT raise(ABORT,'shadow bills are append-only'); END;"
    "CREATE TRIGGER shadow_bill_no_delete BEFORE DELETE ON shadow_bill BEGIN"
    " SELECT raise(ABORT,'shadow bills are append-only'); END;"
    /* For people. */
    "CREATE VIEW shadow_report AS SELECT s.name AS book, s.state,"
    " format('%04d-%02d',1970+b.month/12,b.month%12+1) AS month, b.account, b.currency, b.billed,"
    " b.would, b.unpriced, b.invoice FROM shadow_bill b JOIN shadow_book s ON s.id=b.shadow"
    " ORDER BY s.id, b.month, b.account, b.watermark;"

    "CREATE TABLE scenario(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " sha256 TEXT NOT NULL CHECK(length(sha256)=64), added_us INTEGER NOT NULL,"
    " document TEXT NOT NULL) STRICT;"
    "CREATE INDEX scenario_by_name ON scenario(name,id);"
    "CREATE TRIGGER scenario_no_update BEFORE UPDATE ON scenario BEGIN"
    " SELECT raise(ABORT,'scenarios are append-only'); END;"
    "CREATE TRIGGER scenario_no_delete BEFORE DELETE ON scenario BEGIN"
    " SELECT raise(ABORT,'scenarios are append-only'); END;";

/* A book may take the place of another of the same moment, in months that are not final: then it
 * names it. So of each moment there is one chain of books, and the last of it holds. */
static const char v4[] =
    "CREATE TABLE book_v4(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " currency TEXT NOT NULL CHECK(length(currency)=3), effective_us INTEGER NOT NULL"
    " CHECK(effective_us%3600000000=0), sha256 TEXT NOT NULL UNIQUE CHECK(length(sha256)=64),"
    " version INTEGER NOT NULL, added_us INTEGER NOT NULL, supersedes TEXT NOT NULL,"
    " document TEXT NOT NULL) STRICT;"
    "INSERT INTO book_v4 SELECT id,name,currency,effective_us,sha256,version,added_us,'',document"
    " FROM book;"
    "DROP TABLE book;"
    "ALTER TABLE book_v4 RENAME TO book;"
    "CREATE INDEX book_by_moment ON book(currency,effective_us,id);"
    "CREATE UNIQUE INDEX book_moment ON book(currency,effective_us) WHERE supersedes='';"
    "CREATE UNIQUE INDEX book_supersedes ON book(supersedes) WHERE supersedes<>'';"
    "CREATE TRIGGER book_no_update BEFORE UPDATE ON book BEGIN"
    " SELECT raise(ABORT,'price books are append-only'); END;"
    "CREATE TRIGGER book_no_delete BEFORE DELETE ON book BEGIN"
    " SELECT raise(ABORT,'price books are append-only'); END;";

static const char v5[] = /* pages of an account's zones */
    "CREATE INDEX zone_there ON zone(account,deleted_us,id);"
    "CREATE TABLE zone_count(account INTEGER PRIMARY KEY, n INTEGER NOT NULL CHECK(n>=0)) STRICT;"
    "INSERT INTO zone_count SELECT account,count(*) FROM zone"
    " WHERE deleted_us=9223372036854775807 GROUP BY account;"
    "CREATE TRIGGER zone_counted AFTER INSERT ON zone WHEN NEW.deleted_us=9223372036854775807 BEGIN"
    " INSERT INTO zone_count VALUES(NEW.account,1) ON CONFLICT(account) DO UPDATE SET n=n+1; END;"
    "CREATE TRIGGER zone_recounted AFTER UPDATE OF deleted_us,account ON zone"
    " WHEN OLD.deleted_us<>NEW.deleted_us OR OLD.account<>NEW.account BEGIN"
    " UPDATE zone_count SET n=n-1 WHERE account=OLD.account AND OLD.deleted_us=9223372036854775807;"
    " INSERT INTO zone_count SELECT NEW.account,1 WHERE NEW.deleted_us=9223372036854775807"
    " ON CONFLICT(account) DO UPDATE SET n=n+1; END;";

static const char v6[] = /* the text of keys, sealed: see tb_key_seal */
    "ALTER TABLE key ADD COLUMN sealed BLOB CHECK(sealed IS NULL OR length(sealed)=88);"
    "CREATE INDEX key_valid ON key(account,id) WHERE revoked_us=9223372036854775807;";

/* Request logs, see logs.c. meta.log_seals is the sum of the seals of all blocks, so that one that is
 * lost is missed. log_span's zone is folded into 31 bits; log_block is its truth. */
static const char v7[] =
    "INSERT INTO meta VALUES('log_seals',0);"
    "CREATE TABLE log_block(id INTEGER PRIMARY KEY, zone INTEGER NOT NULL CHECK(zone>0),"
    " first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL CHECK(last_ms>=first_ms),"
    " lines INTEGER NOT NULL CHECK(lines>0), seal INTEGER NOT NULL, data BLOB NOT NULL) STRICT;"
    "CREATE INDEX log_block_by_zone ON log_block(zone,id,lines,first_ms,last_ms);"
    "CREATE INDEX log_block_by_end ON log_block(last_ms);"
    "CREATE TRIGGER log_block_no_update BEFORE UPDATE ON log_block BEGIN"
    " SELECT raise(ABORT,'blocks of request logs do not change'); END;"
    "CREATE VIRTUAL TABLE log_span USING rtree_i32(id,zone,zone_too,first_hour,last_hour);";

/* Shield zones and their events, see events.c. Until v8 a catalogue's shield zones were kept as text
 * and meant nothing: they are declared by the next catalogue applied. An event_block's first is the
 * key of its first event; meta.event_seals is the sum of the seals of all blocks, so that one that is
 * lost is missed. secret: random bytes that tokens are hashed under. */
static const char v8[] =
    "DELETE FROM extra WHERE name='shield_zones';"
    "CREATE TABLE shield_zone(id INTEGER PRIMARY KEY CHECK(id BETWEEN 1 AND 2147483647),"
    " account INTEGER NOT NULL REFERENCES account(id), name TEXT NOT NULL, zone INTEGER NOT NULL,"
    " document TEXT NOT NULL, declared_us INTEGER NOT NULL, deleted_us INTEGER NOT NULL) STRICT;"
    "CREATE INDEX shield_zone_by_account ON shield_zone(account,id);"
    "INSERT INTO meta VALUES('event_seals',0);"
    "CREATE TABLE event_block(id INTEGER PRIMARY KEY, zone INTEGER NOT NULL CHECK(zone>0),"
    " day INTEGER NOT NULL, first BLOB NOT NULL CHECK(length(first)>8),"
    " events INTEGER NOT NULL CHECK(events>0), seal INTEGER NOT NULL, data BLOB NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX event_block_by_zone ON event_block(zone,first);"
    "CREATE INDEX event_block_by_day ON event_block(day,id,seal);"
    "CREATE TRIGGER event_block_no_update BEFORE UPDATE ON event_block BEGIN"
    " SELECT raise(ABORT,'blocks of shield events do not change'); END;"
    "CREATE TABLE secret(name TEXT PRIMARY KEY, value BLOB NOT NULL CHECK(length(value)=32),"
    " seal INTEGER NOT NULL) STRICT, WITHOUT ROWID;";

/* Containers, see containers.c. kind: 0 registries, 1 applications, 2 limits of an account. Those that an earlier
 * catalogue declared were never validated: the next catalogue declares them again. */
static const char v9[] =
    "DELETE FROM extra WHERE name IN('registries','container_apps','container_limits');"
    "CREATE TABLE container(kind INTEGER NOT NULL CHECK(kind IN(0,1,2)), account INTEGER NOT NULL"
    " CHECK(account>=0), id TEXT NOT NULL, document TEXT NOT NULL, seal INTEGER NOT NULL,"
    " PRIMARY KEY(kind,account,id)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE deployment(account INTEGER NOT NULL, app TEXT NOT NULL, status TEXT NOT NULL"
    " CHECK(status IN('unknown','active','progressing','inactive','failing','suspended')),"
    " asked INTEGER NOT NULL, changed_us INTEGER NOT NULL, seal INTEGER NOT NULL,"
    " PRIMARY KEY(account,app)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX deployment_waiting ON deployment(changed_us) WHERE status='progressing';";

/* Tables that earlier files do not have. The first form of the step to schema 5 made only an index: its pages of
 * zones are rebuilt, whichever form the file has. rungs_before: see tb__rungs_adopt. Request logs of schemas 7 and 8
 * are in blocks of a form that is no longer read; user_version is still that of the file, for it is set after all
 * steps. */
static const char v10[] =
    "DROP TRIGGER IF EXISTS zone_counted;"
    "DROP TRIGGER IF EXISTS zone_recounted;"
    "DROP TABLE IF EXISTS zone_count;"
    "DROP INDEX IF EXISTS zone_there;"
    "CREATE INDEX zone_there ON zone(account,deleted_us,id);"
    "CREATE TABLE zone_count(account INTEGER PRIMARY KEY, n INTEGER NOT NULL CHECK(n>=0)) STRICT;"
    "INSERT INTO zone_count SELECT account,count(*) FROM zone"
    " WHERE deleted_us=9223372036854775807 GROUP BY account;"
    "CREATE TRIGGER zone_counted AFTER INSERT ON zone WHEN NEW.deleted_us=9223372036854775807 BEGIN"
    " INSERT INTO zone_count VALUES(NEW.account,1) ON CONFLICT(account) DO UPDATE SET n=n+1; END;"
    "CREATE TRIGGER zone_recounted AFTER UPDATE OF deleted_us,account ON zone"
    " WHEN OLD.deleted_us<>NEW.deleted_us OR OLD.account<>NEW.account BEGIN"
    " UPDATE zone_count SET n=n-1 WHERE account=OLD.account AND OLD.deleted_us=9223372036854775807;"
    " INSERT INTO zone_count SELECT NEW.account,1 WHERE NEW.deleted_us=9223372036854775807"
    " ON CONFLICT(account) DO UPDATE SET n=n+1; END;"

    "INSERT INTO meta VALUES('rungs_before',0);"

    "DELETE FROM log_span WHERE (SELECT user_version FROM pragma_user_version) IN(7,8);"
    "DELETE FROM log_block WHERE (SELECT user_version FROM pragma_user_version) IN(7,8);"
    "UPDATE meta SET value=0 WHERE name='log_seals'"
    " AND (SELECT user_version FROM pragma_user_version) IN(7,8);";

/* When the text of refused lines was taken in, of each segment that has text left: see rejects.c. */
static const char v11[] =
    "CREATE TABLE reject_due(added_us INTEGER NOT NULL, segment INTEGER NOT NULL"
    " REFERENCES segment(id) DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY(added_us,segment))"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX reject_due_by_segment ON reject_due(segment);"
    "INSERT INTO reject_due SELECT added_us,id FROM segment"
    " WHERE EXISTS(SELECT 1 FROM reject WHERE reject.segment=segment.id);";

/* Runs of months, see runs.c: account, month, data version and outcome; account 0 means all accounts without usage
 * then. Its seals are those of sealed.h from the next step on, which drops meta.run_seals. A month is billed once:
 * no invoice of a month beside corrections of it, and no correction that begins before the end of another. */
static const char v12[] =
    "CREATE TABLE month_run(id INTEGER PRIMARY KEY, account INTEGER NOT NULL CHECK(account>=0),"
    " month INTEGER NOT NULL, watermark INTEGER NOT NULL CHECK(watermark>=0),"
    " outcome TEXT NOT NULL CHECK(outcome IN('final','nothing','refused')),"
    " invoice TEXT NOT NULL, run_us INTEGER NOT NULL, reason TEXT NOT NULL,"
    " seal INTEGER NOT NULL, CHECK((outcome='final')=(invoice<>'')),"
    " CHECK(account>0 OR outcome='nothing')) STRICT;"
    "INSERT INTO month_run SELECT row_number() OVER (ORDER BY id),account,month,watermark,'final',"
    "number,finalized_us,'',0 FROM invoice WHERE kind='invoice' ORDER BY id;"
    "INSERT INTO meta VALUES('run_seals',0);"
    "CREATE INDEX month_run_by_account ON month_run(account,month,id);"
    "CREATE INDEX month_run_by_month ON month_run(month,account);"
    "CREATE UNIQUE INDEX month_run_everybody ON month_run(month) WHERE account=0;"
    "CREATE UNIQUE INDEX month_run_invoice ON month_run(invoice) WHERE invoice<>'';"
    "CREATE INDEX month_run_refused ON month_run(account,month) WHERE outcome='refused';"
    "CREATE TRIGGER month_run_in_turn BEFORE INSERT ON month_run"
    " WHEN NEW.id<>(SELECT coalesce(max(id),0)+1 FROM month_run) OR NEW.watermark<"
    "coalesce((SELECT watermark FROM month_run ORDER BY id DESC LIMIT 1),0) BEGIN"
    " SELECT raise(ABORT,'runs of months are noted in turn'); END;"
    "CREATE TRIGGER month_run_no_update BEFORE UPDATE ON month_run BEGIN"
    " SELECT raise(ABORT,'runs of months are append-only'); END;"
    "CREATE TRIGGER month_run_no_delete BEFORE DELETE ON month_run BEGIN"
    " SELECT raise(ABORT,'runs of months are append-only'); END;"
    "CREATE TRIGGER correction_in_turn BEFORE INSERT ON correction WHEN EXISTS(SELECT 1 FROM"
    " correction c JOIN invoice i ON i.id=c.invoice WHERE c.account=NEW.account"
    " AND c.month=NEW.month AND i.state='final' AND i.watermark>NEW.since) BEGIN"
    " SELECT raise(ABORT,'late usage is billed once'); END;"
    "CREATE TRIGGER invoice_billed_once BEFORE INSERT ON invoice WHEN NEW.kind='invoice' AND EXISTS"
    "(SELECT 1 FROM correction c JOIN invoice i ON i.id=c.invoice WHERE c.account=NEW.account"
    " AND c.month=NEW.month AND i.state='final') BEGIN"
    " SELECT raise(ABORT,'a month that corrections have billed gets no invoice beside them'); END;";

/* Seals: see sealed.h. A declaration and an attachment are found by their version too, so that two declarations at one
 * moment are both kept. revoked_version: the data version that revoked a key. */
static const char v13[] =
    "CREATE TABLE head(name TEXT PRIMARY KEY, n INTEGER NOT NULL, seals INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"

    "CREATE TABLE declaration_v9 AS SELECT * FROM declaration;"
    "DROP TABLE declaration;"
    "CREATE TABLE declaration(kind TEXT NOT NULL, id INTEGER NOT NULL, from_us INTEGER NOT NULL,"
    " to_us INTEGER NOT NULL, document TEXT NOT NULL, version INTEGER NOT NULL,"
    " closed_version INTEGER NOT NULL DEFAULT 9223372036854775807,"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ", PRIMARY KEY(kind,id,from_us,version))"
    " STRICT, WITHOUT ROWID;"
    "INSERT INTO declaration(kind,id,from_us,to_us,document,version,closed_version)"
    " SELECT kind,id,from_us,to_us,document,version,closed_version FROM declaration_v9;"
    "DROP TABLE declaration_v9;"
    "CREATE TABLE attachment_v9 AS SELECT * FROM attachment;"
    "DROP TABLE attachment;"
    "CREATE TABLE attachment(zone INTEGER NOT NULL, balancer INTEGER NOT NULL,"
    " from_us INTEGER NOT NULL, to_us INTEGER NOT NULL, version INTEGER NOT NULL,"
    " closed_version INTEGER NOT NULL DEFAULT 9223372036854775807,"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ", PRIMARY KEY(zone,balancer,from_us,version))"
    " STRICT, WITHOUT ROWID;"
    "INSERT INTO attachment(zone,balancer,from_us,to_us,version,closed_version)"
    " SELECT zone,balancer,from_us,to_us,version,closed_version FROM attachment_v9;"
    "DROP TABLE attachment_v9;"
    "CREATE INDEX attachment_by_balancer ON attachment(balancer,from_us);"
    "ALTER TABLE key ADD COLUMN revoked_version INTEGER NOT NULL DEFAULT 9223372036854775807;"
    "UPDATE key SET revoked_version=0 WHERE revoked_us<9223372036854775807;"
    "INSERT OR IGNORE INTO zone_count SELECT DISTINCT account,0 FROM zone;"

    "DROP TRIGGER segment_no_update;"
    "DROP TRIGGER book_no_update;"
    "DROP TRIGGER shadow_bill_no_update;"
    "DROP TRIGGER scenario_no_update;"
    "DROP TRIGGER correction_no_update;"
    "DROP TRIGGER late_no_update;"
    "DROP TRIGGER ledger_no_update;"
    "DROP TRIGGER invoice_no_update;"
    "DROP TRIGGER shadow_book_no_update;"
    "DROP TRIGGER month_run_no_update;"
    "DELETE FROM meta WHERE name='run_seals';"

    TB__SEAL_COLUMN(meta) TB__SEAL_COLUMN(account) TB__SEAL_COLUMN(zone)
    TB__SEAL_COLUMN(balancer) TB__SEAL_COLUMN(shield_zone) TB__SEAL_COLUMN(region)
    TB__SEAL_COLUMN(region_billing) TB__SEAL_COLUMN(key) TB__SEAL_COLUMN(book)
    TB__SEAL_COLUMN(shadow_book) TB__SEAL_COLUMN(scenario) TB__SEAL_COLUMN(invoice)
    TB__SEAL_COLUMN(correction) TB__SEAL_COLUMN(late) TB__SEAL_COLUMN(ledger)
    TB__SEAL_ROWS(meta) TB__SEAL_ROWS(account) TB__SEAL_ROWS(zone) TB__SEAL_ROWS(balancer)
    TB__SEAL_ROWS(shield_zone) TB__SEAL_ROWS(declaration) TB__SEAL_ROWS(attachment)
    TB__SEAL_ROWS(region) TB__SEAL_ROWS(region_billing) TB__SEAL_ROWS_OF(key, key_v13) TB__SEAL_ROWS(edge)
    TB__SEAL_ROWS(series) TB__SEAL_ROWS(segment) TB__SEAL_ROWS(book) TB__SEAL_ROWS(shadow_book)
    TB__SEAL_ROWS(shadow_bill) TB__SEAL_ROWS(scenario) TB__SEAL_ROWS(invoice)
    TB__SEAL_ROWS(correction) TB__SEAL_ROWS(late) TB__SEAL_ROWS_OF(ledger, ledger_v13) TB__SEAL_ROWS(container)
    TB__SEAL_ROWS(deployment) TB__SEAL_ROWS(secret) TB__SEAL_ROWS(month_run)
    TB__SEAL_ADDED(meta, "name=NEW.name")
    TB__SEAL_CHANGED(meta, "name=NEW.name")
    TB__SEAL_ADDED(account, "id=NEW.id")
    TB__SEAL_CHANGED(account, "id=NEW.id")
    TB__SEAL_ADDED(zone, "id=NEW.id")
    TB__SEAL_CHANGED(zone, "id=NEW.id")
    TB__SEAL_ADDED(balancer, "id=NEW.id")
    TB__SEAL_CHANGED(balancer, "id=NEW.id")
    TB__SEAL_ADDED(shield_zone, "id=NEW.id")
    TB__SEAL_CHANGED(shield_zone, "id=NEW.id")
    TB__SEAL_ADDED(declaration, "kind=NEW.kind AND id=NEW.id"
                                " AND from_us=NEW.from_us AND version=NEW.version")
    TB__SEAL_CHANGED(declaration, "kind=NEW.kind AND id=NEW.id"
                                  " AND from_us=NEW.from_us AND version=NEW.version")
    TB__SEAL_ADDED(attachment, "zone=NEW.zone AND balancer=NEW.balancer"
                               " AND from_us=NEW.from_us AND version=NEW.version")
    TB__SEAL_CHANGED(attachment, "zone=NEW.zone AND balancer=NEW.balancer"
                                 " AND from_us=NEW.from_us AND version=NEW.version")
    TB__SEAL_KEPT(region, "id=NEW.id")
    TB__SEAL_ADDED(region_billing, "code=NEW.code AND version=NEW.version")
    TB__SEAL_CHANGED(region_billing, "code=NEW.code AND version=NEW.version")
    TB__SEAL_ADDED_OF(key, key_v13, "id=NEW.id")
    TB__SEAL_CHANGED_OF(key, key_v13, "id=NEW.id")
    TB__SEAL_ADDED(edge, "id=NEW.id")
    TB__SEAL_ADDED(series, "scope=NEW.scope AND owner=NEW.owner AND edge=NEW.edge")
    TB__SEAL_ADDED(segment, "id=NEW.id")
    TB__SEAL_ADDED(book, "id=NEW.id")
    TB__SEAL_ADDED(shadow_book, "id=NEW.id")
    TB__SEAL_CHANGED(shadow_book, "id=NEW.id")
    TB__SEAL_ADDED(shadow_bill, "shadow=NEW.shadow AND month=NEW.month"
                               " AND account=NEW.account AND watermark=NEW.watermark")
    TB__SEAL_ADDED(scenario, "id=NEW.id")
    TB__SEAL_ADDED(invoice, "id=NEW.id")
    TB__SEAL_CHANGED(invoice, "id=NEW.id")
    TB__SEAL_ADDED(correction, "account=NEW.account AND month=NEW.month AND invoice=NEW.invoice")
    TB__SEAL_ADDED(late, "id=NEW.id")
    TB__SEAL_ADDED_OF(ledger, ledger_v13, "id=NEW.id")
    TB__SEAL_KEPT(container, "kind=NEW.kind AND account=NEW.account AND id=NEW.id")
    TB__SEAL_KEPT(deployment, "account=NEW.account AND app=NEW.app")
    TB__SEAL_ADDED(secret, "name=NEW.name")
    TB__SEAL_ADDED(month_run, "id=NEW.id")
    TB__APPEND_ONLY(segment, "segments are append-only")
    TB__APPEND_ONLY(book, "price books are append-only")
    TB__APPEND_ONLY(shadow_bill, "shadow bills are append-only")
    TB__APPEND_ONLY(scenario, "scenarios are append-only")
    TB__APPEND_ONLY(correction, "corrections are append-only")
    TB__APPEND_ONLY(late, "late usage is append-only")
    TB__APPEND_ONLY_OF(ledger, ledger_v13, "the ledger is append-only")
    TB__APPEND_ONLY(month_run, "runs of months are append-only")
    "CREATE TRIGGER invoice_no_update BEFORE UPDATE OF " TB__C_invoice("")
    " ON invoice WHEN NOT(OLD.state='final'"
    " AND NEW.state='void' AND NEW.id=OLD.id AND NEW.year=OLD.year AND NEW.serial=OLD.serial"
    " AND NEW.number=OLD.number AND NEW.kind=OLD.kind AND NEW.account=OLD.account"
    " AND NEW.month=OLD.month AND NEW.watermark=OLD.watermark AND NEW.since=OLD.since"
    " AND NEW.currency=OLD.currency AND NEW.total=OLD.total AND NEW.sha256=OLD.sha256"
    " AND NEW.previous=OLD.previous AND NEW.replaces=OLD.replaces"
    " AND NEW.finalized_us=OLD.finalized_us AND NEW.document=OLD.document) BEGIN"
    " SELECT raise(ABORT,'final invoices do not change'); END;"
    "CREATE TRIGGER shadow_book_no_update BEFORE UPDATE OF " TB__C_shadow_book("")
    " ON shadow_book WHEN NOT(OLD.state='live'"
    " AND NEW.state<>'live' AND NEW.id=OLD.id AND NEW.name=OLD.name AND NEW.currency=OLD.currency"
    " AND NEW.effective_us=OLD.effective_us AND NEW.sha256=OLD.sha256"
    " AND NEW.added_us=OLD.added_us AND NEW.document=OLD.document) BEGIN"
    " SELECT raise(ABORT,'price books are append-only'); END;";

/* What was done, with which key (0: none) and from where ('': the command line): see audit.h.
 * chain: see chain.c. */
static const char v14[] =
    "CREATE TABLE audit(id INTEGER PRIMARY KEY CHECK(id>0), at_us INTEGER NOT NULL,"
    " key INTEGER NOT NULL CHECK(key>=0), origin TEXT NOT NULL, operation TEXT NOT NULL,"
    " arguments TEXT NOT NULL,"
    " chain BLOB NOT NULL CHECK(length(chain)=32), seal INTEGER NOT NULL DEFAULT " TB__UNSEALED
    ") STRICT;"
    TB__SEAL_ROWS(audit)
    TB__SEAL_ADDED(audit, "id=NEW.id")
    TB__APPEND_ONLY(audit, "the audit log is append-only")
    "CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN"
    " SELECT raise(ABORT,'the audit log is append-only'); END;";

/* Nothing changes but the number: an older tollbook does not know the counter cache_unknown, and must not
 * read chunks that hold it. In those from before it is absent, which is 0. */
static const char v15[] = "";

/* Sorted runs of what batches added, pending until it is compacted into base: see store/lsm/lsm.h. kind: 0 counters,
 * 1 countries; seal: over the other columns. A page's id is its run's id and its number in the run. cell_max: the
 * largest counter of a chunk so far; of an older file, the largest sum of one.
 *
 * series is made again: a check of IN() costs more than the rest of an insert, and so does a trigger that seals rows
 * which come with their seals. Its view must be dropped for that. From now on the series of an owner have adjacent
 * ids: see new_series in usage/usage.c; series_before: the ids below it do not. */
static const char v16[] =
    "DROP VIEW unassigned; ALTER TABLE series RENAME TO series_before;"
    "CREATE TABLE series(scope INTEGER NOT NULL CHECK(scope BETWEEN 1 AND 3),"
    " owner INTEGER NOT NULL, edge INTEGER NOT NULL CHECK(edge>=0),"
    " id INTEGER NOT NULL CHECK(id>0), seal INTEGER NOT NULL,"
    " PRIMARY KEY(scope,owner,edge)) STRICT, WITHOUT ROWID;"
    "INSERT INTO series SELECT scope,owner,edge,id,seal FROM series_before ORDER BY 1,2,3;"
    "DROP TABLE series_before;"
    "CREATE TRIGGER series_sealed AFTER INSERT ON series BEGIN"
    " UPDATE series SET seal=" TB__SEAL(series, "NEW.") " WHERE scope=NEW.scope"
    " AND owner=NEW.owner AND edge=NEW.edge AND NEW.seal<>" TB__SEAL(series, "NEW.") ";"
    " UPDATE head SET n=n+1,seals=(seals+" TB__SEAL(series, "NEW.") ")&" TB__SEAL_MASK
    " WHERE name='series'; END;"
    "CREATE VIEW unassigned AS SELECT DISTINCT owner AS zone FROM series"
    " WHERE scope=1 AND NOT EXISTS(SELECT 1 FROM zone WHERE zone.id=series.owner);"
    "INSERT INTO meta(name,value) SELECT 'series_before',value FROM meta WHERE name='series_id';"
    "CREATE TABLE usage_run(id INTEGER PRIMARY KEY CHECK(id>0),"
    " kind INTEGER NOT NULL CHECK(kind IN(0,1)), level INTEGER NOT NULL CHECK(level>=0),"
    " entries INTEGER NOT NULL CHECK(entries>0), sum INTEGER NOT NULL CHECK(sum>=0),"
    " seal INTEGER NOT NULL, directory BLOB NOT NULL) STRICT;"
    "CREATE TABLE usage_page(id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"
    "INSERT INTO meta(name,value) VALUES('fold_run_chunks',0),('fold_run_countries',0),"
    "('fold_owner_chunks',-9223372036854775808),('fold_owner_countries',-9223372036854775808),"
    "('fold_day',0),('cell_max',0);"
    "UPDATE meta SET value=(SELECT coalesce(max(most),0) FROM (SELECT iif(sum(s.millions)<"
    "9223372036854,sum(s.millions)*1000000,9223372036854775807) AS most FROM (SELECT j.key AS name,"
    "CAST(j.value AS INTEGER)/1000000+1 AS millions FROM segment,"
    "json_each(iif(json_valid(sums),sums,'{}')) AS j WHERE j.key<>'rung_seals') AS s"
    " GROUP BY s.name)) WHERE name='cell_max';";

/* withdrawal: segments that were withdrawn, see logs/withdraw.c. A segment's own row is not changed, and its batch's
 * name can be used for another segment. version: the data version that withdrew it; rungs: the sum of the seals of
 * the rungs that were deleted with it. retention, usage_gone: expired usage, see usage/retain.c. Of an account's
 * months before hours_month hours may be deleted, of those before days_month days too; 0: none. sums: of the deleted
 * days, by counter. */
static const char v17[] =
    "CREATE TABLE withdrawal(segment INTEGER PRIMARY KEY REFERENCES segment(id),"
    " version INTEGER NOT NULL, withdrawn_us INTEGER NOT NULL, source TEXT NOT NULL,"
    " rungs INTEGER NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"
    TB__SEAL_ROWS(withdrawal)
    TB__SEAL_ADDED(withdrawal, "segment=NEW.segment")
    TB__APPEND_ONLY(withdrawal, "withdrawals are append-only")
    "CREATE TRIGGER withdrawal_no_delete BEFORE DELETE ON withdrawal BEGIN"
    " SELECT raise(ABORT,'withdrawals are append-only'); END;"
    "DROP INDEX segment_by_name;"
    "CREATE INDEX segment_by_name ON segment(name,start) WHERE name IS NOT NULL;"
    "CREATE TRIGGER segment_named_once BEFORE INSERT ON segment WHEN NEW.name IS NOT NULL"
    " AND EXISTS(SELECT 1 FROM segment s WHERE s.name=NEW.name AND s.start=NEW.start"
    " AND NOT EXISTS(SELECT 1 FROM withdrawal w WHERE w.segment=s.id)) BEGIN"
    " SELECT raise(ABORT,'a batch takes each of its bytes once'); END;"
    "CREATE TABLE retention(account INTEGER PRIMARY KEY CHECK(account>0),"
    " hours_month INTEGER NOT NULL CHECK(hours_month>=0), days_month INTEGER NOT NULL"
    " CHECK(days_month BETWEEN 0 AND hours_month),"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"
    "CREATE TABLE usage_gone(account INTEGER NOT NULL CHECK(account>0), month INTEGER NOT NULL,"
    " sums TEXT NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ","
    " PRIMARY KEY(account,month)) STRICT, WITHOUT ROWID;"
    TB__SEAL_ROWS(retention) TB__SEAL_ROWS(usage_gone)
    TB__SEAL_KEPT(retention, "account=NEW.account")
    TB__SEAL_KEPT(usage_gone, "account=NEW.account AND month=NEW.month");

/* Only the number changes: an older version knows neither declarations of a seller (kind seller, id 1) nor invoices
 * with parties, and would report both as damage. */
static const char v18[] = "";

/* More kinds of ledger entries, with the documents that they concern: see ledgerstore.h. Existing entries keep their
 * chain values (chain.c). Books of scope contract may begin when others of their currency do.
 *
 * alert: raised alerts, see things/alerts.c. cleared_us: 2^63-1 while it is open. raised, cleared: the messages of
 * both, '' without a message; data: the message's data when it was raised. outbox: see things/outbox.c. meta.outbox:
 * whether it is on. The index of accounts with alerts reads the canonical text, where a string cannot hold these
 * characters. */
static const char v19[] =
    "CREATE TABLE ledger_v18 AS SELECT * FROM ledger;"
    "DROP TABLE ledger;"
    "CREATE TABLE ledger(id INTEGER PRIMARY KEY, account INTEGER NOT NULL REFERENCES account(id),"
    " at_us INTEGER NOT NULL, kind TEXT NOT NULL CHECK(kind IN"
    "('invoice','void','credit_note','payment','adjustment','usage','usage_reversal','credit',"
    "'credit_drawn','credit_expired')),"
    " currency TEXT NOT NULL CHECK(length(currency)=3), amount TEXT NOT NULL,"
    " reference TEXT NOT NULL, note TEXT NOT NULL, document TEXT NOT NULL, expires TEXT NOT NULL,"
    " chain BLOB NOT NULL CHECK(length(chain)=32), seal INTEGER NOT NULL DEFAULT " TB__UNSEALED
    ") STRICT;"
    "INSERT INTO ledger SELECT id,account,at_us,kind,currency,amount,reference,note,'','',chain,"
    TB__UNSEALED " FROM ledger_v18 ORDER BY id;"
    "DROP TABLE ledger_v18;"
    "CREATE INDEX ledger_by_account ON ledger(account,id,amount,kind);" /* a balance reads it alone */
    "CREATE UNIQUE INDEX ledger_reference ON ledger(kind,reference) WHERE reference<>'';"
    "CREATE INDEX ledger_credit ON ledger(account,expires) WHERE kind='credit';"
    "CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN"
    " SELECT raise(ABORT,'the ledger is append-only'); END;"
    TB__SEAL_ROWS(ledger)
    TB__SEAL_ADDED(ledger, "id=NEW.id")
    TB__APPEND_ONLY(ledger, "the ledger is append-only")
    "DROP INDEX book_moment;"
    "CREATE UNIQUE INDEX book_moment ON book(currency,effective_us) WHERE supersedes=''"
    " AND NOT instr(document,'\"scope\":\"contract\"');"
    "CREATE TABLE alert(id INTEGER PRIMARY KEY CHECK(id>0), account INTEGER NOT NULL CHECK(account>0),"
    " alert TEXT NOT NULL, kind TEXT NOT NULL, month INTEGER NOT NULL, threshold TEXT NOT NULL,"
    " seen TEXT NOT NULL, raised_us INTEGER NOT NULL, cleared_us INTEGER NOT NULL,"
    " raised TEXT NOT NULL, cleared TEXT NOT NULL, data TEXT NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED
    ") STRICT;"
    "CREATE INDEX alert_by_account ON alert(account,alert,id);"
    "CREATE INDEX alert_open ON alert(account) WHERE cleared_us=9223372036854775807;"
    "CREATE TABLE outbox(id INTEGER PRIMARY KEY CHECK(id>0), message TEXT NOT NULL UNIQUE"
    " CHECK(length(message)=36), type TEXT NOT NULL, account INTEGER NOT NULL CHECK(account>0),"
    " created_us INTEGER NOT NULL, since_us INTEGER NOT NULL,"
    " state TEXT NOT NULL CHECK(state IN('waiting','delivered','failed')),"
    " attempts INTEGER NOT NULL CHECK(attempts>=0), next_us INTEGER NOT NULL,"
    " delivered_us INTEGER NOT NULL, status INTEGER NOT NULL, error TEXT NOT NULL, body TEXT NOT NULL,"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"
    "CREATE INDEX outbox_waiting ON outbox(min(attempts,1),next_us,id) WHERE state='waiting';"
    "CREATE INDEX outbox_since ON outbox(since_us) WHERE state='waiting';"
    "CREATE INDEX outbox_failed ON outbox(id) WHERE state='failed';"
    "CREATE INDEX outbox_over ON outbox(created_us) WHERE state<>'waiting';"
    "CREATE INDEX outbox_by_account ON outbox(account,id);"
    "CREATE INDEX account_with_alerts ON account(id) WHERE " TB__ALERTS_DECLARED ";"
    "INSERT INTO meta(name,value) VALUES('outbox',0);"
    TB__SEAL_ROWS(alert) TB__SEAL_ROWS(outbox)
    TB__SEAL_KEPT(alert, "id=NEW.id")
    TB__SEAL_KEPT(outbox, "id=NEW.id")
    /* for how many days zones of an empty prepaid account stay enabled: see prepaidstore.h */
    "INSERT INTO meta(name,value) VALUES('grace_days',0);"
    /* months of the general ledger that are closed: see closingstore.h */
    "CREATE TABLE closing(id INTEGER PRIMARY KEY, month INTEGER NOT NULL, closed_us INTEGER NOT NULL,"
    " version INTEGER NOT NULL, entries INTEGER NOT NULL, sha256 TEXT NOT NULL,"
    " reopened_us INTEGER NOT NULL, reopened_version INTEGER NOT NULL, document TEXT NOT NULL, seal INTEGER NOT NULL DEFAULT "
    TB__UNSEALED ") STRICT;"
    "CREATE UNIQUE INDEX closing_live ON closing(month) WHERE reopened_us=9223372036854775807;"
    TB__SEAL_ROWS(closing)
    TB__SEAL_KEPT(closing, "id=NEW.id")
    "CREATE TRIGGER closing_no_update BEFORE UPDATE OF " TB__C_closing("") " ON closing WHEN NOT("
    "OLD.reopened_us=9223372036854775807 AND NEW.reopened_us<9223372036854775807 AND NEW.id=OLD.id"
    " AND NEW.month=OLD.month AND NEW.closed_us=OLD.closed_us AND NEW.version=OLD.version"
    " AND (NEW.reopened_version<9223372036854775807) AND NEW.entries=OLD.entries AND NEW.sha256=OLD.sha256 AND NEW.document=OLD.document) BEGIN"
    " SELECT raise(ABORT,'a closing does not change'); END;"
    "CREATE TRIGGER closing_no_delete BEFORE DELETE ON closing BEGIN"
    " SELECT raise(ABORT,'a closing does not change'); END;";

/* deployment_end: how the last deployment of an application ended, see deployments.c; exit_status: -1, it has none.
 *
 * usage_day: the newest batch that added to a day of any owner; empty where counters are not in ClickHouse
 * (store/clickhouse). */
static const char v20[] =
    "CREATE TABLE deployment_end(account INTEGER NOT NULL, app TEXT NOT NULL,"
    " asked INTEGER NOT NULL, ended_us INTEGER NOT NULL,"
    " succeeded INTEGER NOT NULL CHECK(succeeded IN(0,1)),"
    " exit_status INTEGER NOT NULL CHECK(exit_status BETWEEN -1 AND 255), reason TEXT NOT NULL,"
    " output TEXT NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ","
    " PRIMARY KEY(account,app)) STRICT, WITHOUT ROWID;"
    TB__SEAL_ROWS(deployment_end)
    TB__SEAL_KEPT(deployment_end, "account=NEW.account AND app=NEW.app")
    "CREATE TABLE usage_day(day INTEGER PRIMARY KEY, batch INTEGER NOT NULL) STRICT;";

/* log_run: pending lines of many zones, see logs/log_run.h. zones: the zone of each row; data: the block.
 * meta.log_run_seals is the sum of the seals of all runs; log_run_spent: runs up to it are obsolete; log_fold_run:
 * runs up to it are being compacted, 0: none; log_fold_zone: lines of zones below it are compacted. */
static const char v21[] =
    "CREATE TABLE log_run(id INTEGER PRIMARY KEY CHECK(id>0),"
    " first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL CHECK(last_ms>=first_ms),"
    " lines INTEGER NOT NULL CHECK(lines>0), seal INTEGER NOT NULL, zones BLOB NOT NULL, data BLOB NOT NULL) STRICT;"
    "CREATE INDEX log_run_list ON log_run(id,lines,first_ms,last_ms,seal);" /* the list reads it alone */
    "CREATE TRIGGER log_run_no_update BEFORE UPDATE ON log_run BEGIN"
    " SELECT raise(ABORT,'runs of request logs do not change'); END;"
    "INSERT INTO meta(name,value) VALUES('log_run_seals',0),('log_run_spent',0),('log_fold_run',0),('log_fold_zone',0);";

/* meta.usage_twice: of the rows of batches up to it some may lie on their usage server twice. Builds before this
 * schema did not note it. */
static const char v22[] =
    "INSERT INTO meta(name,value) VALUES('usage_twice',coalesce((SELECT value FROM meta WHERE name='usage_batch'),0));";

/* series_new: new series, a few thousand at most, that are to be moved to series_placed: see usage/owners.c. For
 * readers the view series is what the table was. head has both as 'series'; a row that is moved was counted when it
 * was added, and is still in series_new while it is inserted into series_placed. */
#define SERIES_SEALED(name, when)                                                                  \
    "CREATE TRIGGER " name "_sealed AFTER INSERT ON " name when " BEGIN"                           \
    " UPDATE " name " SET seal=" TB__SEAL(series, "NEW.") " WHERE scope=NEW.scope"                 \
    " AND owner=NEW.owner AND edge=NEW.edge AND NEW.seal<>" TB__SEAL(series, "NEW.") ";"           \
    " UPDATE head SET n=n+1,seals=(seals+" TB__SEAL(series, "NEW.") ")&" TB__SEAL_MASK             \
    " WHERE name='series'; END;"
#define SERIES_UNASSIGNED(table)                                                                   \
    "SELECT owner AS zone FROM " table " WHERE scope=1"                                            \
    " AND NOT EXISTS(SELECT 1 FROM zone WHERE zone.id=" table ".owner)"
#define SERIES_VIEW                                                                                \
    "CREATE VIEW series AS SELECT scope,owner,edge,id,seal FROM series_placed"                     \
    " UNION ALL SELECT scope,owner,edge,id,seal FROM series_new;"
#define SERIES_TRIGGERS                                                                            \
    SERIES_SEALED("series_new", "")                                                                \
    SERIES_SEALED("series_placed", " WHEN NOT EXISTS(SELECT 1 FROM series_new AS w WHERE w.scope=NEW.scope" \
                                   " AND w.owner=NEW.owner AND w.edge=NEW.edge)")
static const char v23[] =
    "DROP VIEW unassigned; DROP TRIGGER series_sealed; ALTER TABLE series RENAME TO series_placed;"
    "CREATE TABLE series_new(scope INTEGER NOT NULL CHECK(scope BETWEEN 1 AND 3),"
    " owner INTEGER NOT NULL, edge INTEGER NOT NULL CHECK(edge>=0),"
    " id INTEGER NOT NULL CHECK(id>0), seal INTEGER NOT NULL,"
    " PRIMARY KEY(scope,owner,edge)) STRICT, WITHOUT ROWID;"
    SERIES_VIEW SERIES_TRIGGERS
    "CREATE VIEW unassigned AS " SERIES_UNASSIGNED("series_placed") " UNION " SERIES_UNASSIGNED("series_new") ";";

#define SEGMENT_FOLDS                                                                              \
    "OLD.name IS NULL AND OLD.rejected=0 AND OLD.id>(SELECT value FROM meta WHERE name='segments_before')" \
    " AND OLD.id<=(SELECT value FROM meta WHERE name='segments_folding')"
/* Segments that go on from each other are folded into one: see logs/segment_fold.c, also for the values of meta. */
static const char v24[] =
    "INSERT INTO meta(name,value) VALUES('fold_ids',65535);"
    "INSERT INTO meta(name,value) SELECT n.column1,(SELECT coalesce(max(id),0) FROM segment)"
    " FROM (VALUES('segments_before'),('segments_folding'),('segments_folded')) AS n;"
    "DROP TRIGGER segment_no_update; DROP TRIGGER segment_no_delete;"
    TB__SEAL_CHANGED(segment, "id=NEW.id") TB__SEAL_GONE(segment)
    "CREATE TRIGGER segment_no_update BEFORE UPDATE OF " TB__C_segment("") " ON segment WHEN NOT("
    "NEW.id=OLD.id AND NEW.kind=OLD.kind AND OLD.name IS NULL AND NEW.name IS NULL AND NEW.source=OLD.source"
    " AND NEW.start<OLD.start AND NEW.length=OLD.length AND NEW.hash=OLD.hash AND NEW.head=OLD.head"
    " AND NEW.lines_before+NEW.accepted=OLD.lines_before+OLD.accepted AND NEW.rejected=OLD.rejected"
    " AND NEW.final=OLD.final AND NEW.added_us=OLD.added_us AND " SEGMENT_FOLDS ") BEGIN"
    " SELECT raise(ABORT,'segments are append-only'); END;"
    "CREATE TRIGGER segment_no_delete BEFORE DELETE ON segment WHEN NOT(" SEGMENT_FOLDS ") BEGIN"
    " SELECT raise(ABORT,'segments are append-only'); END;";

/* meta.covered_since: above this entry of the ledger, invoices say by the rules of docs/ledger.md what money in the
 * account has paid of them. Builds before this schema did not always. */
static const char v25[] =
    "INSERT INTO meta(name,value) VALUES('covered_since',(SELECT coalesce(max(id),0) FROM ledger));";

/* series_shared: an account that has usage of one pull zone shares its series, and has none of its own: see usage/owners.c.
 * An account that has series keeps them. Its row is found wrong by verify from what it says: it has no seal. */
#define SHARED_FROM(table) "SELECT h.account,s.edge,s.id FROM series_shared AS h CROSS JOIN " table " AS s ON s.scope=1 AND s.owner=h.zone"
#define ACCOUNT_SERIES                                                                             \
    "CREATE VIEW account_series AS SELECT owner AS account,edge,id FROM series_placed WHERE scope=2" \
    " UNION ALL SELECT owner,edge,id FROM series_new WHERE scope=2"                                \
    " UNION ALL " SHARED_FROM("series_placed") " UNION ALL " SHARED_FROM("series_new") ";"
static const char v26[] =
    "CREATE TABLE series_shared(account INTEGER PRIMARY KEY, zone INTEGER NOT NULL) STRICT;"
    ACCOUNT_SERIES;

/* own_alert: alerts that an account's people have set, beside those of the catalogue, which an apply replaces. document: one
 * of the catalogue's `alerts`. key.name: what a key is for, in its maker's words. Sealed: a key
 * whose row did not match its seal keeps that seal, and the head keeps what it differed by, so verify still finds both. */
static const char v27[] =
    "CREATE TABLE own_alert(account INTEGER NOT NULL CHECK(account>0), id TEXT NOT NULL, document TEXT NOT NULL,"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ", PRIMARY KEY(account,id)) STRICT, WITHOUT ROWID;"
    TB__SEAL_ROWS(own_alert)
    TB__SEAL_KEPT(own_alert, "account=NEW.account AND id=NEW.id")
    "ALTER TABLE key ADD COLUMN name TEXT NOT NULL DEFAULT '';"
    "DROP TRIGGER key_sealed; DROP TRIGGER key_resealed;"
    "UPDATE head SET seals=(seals-(SELECT " TB__SEAL_SUM " FROM key))&" TB__SEAL_MASK " WHERE name='key';"
    "UPDATE key SET seal=" TB__SEAL(key, "") " WHERE seal=" TB__SEAL_OF(key, key_v13, "") ";"
    "UPDATE head SET seals=(seals+(SELECT " TB__SEAL_SUM " FROM key))&" TB__SEAL_MASK " WHERE name='key';"
    TB__SEAL_ADDED(key, "id=NEW.id")
    TB__SEAL_CHANGED(key, "id=NEW.id");

/* charge: one-off charges of months; amount and charge_billed.amount count the currency's smallest units. charge_billed: what
 * invoices have billed of a charge; of void ones it is due again. A charge is dropped, never deleted: void invoices name it. */
#define CHARGE_BILLED(charge)                                                                      \
    "coalesce((SELECT sum(b.amount) FROM charge_billed b JOIN invoice i ON i.id=b.invoice WHERE b.charge=" charge \
    " AND i.state='final'),0)"
#define CHARGE_NO_UPDATE(columns, more)                                                            \
    "CREATE TRIGGER charge_no_update BEFORE UPDATE OF " columns " ON charge WHEN NOT("             \
    "NEW.id=OLD.id AND NEW.account=OLD.account AND NEW.month=OLD.month AND NEW.amount=OLD.amount"  \
    " AND NEW.currency=OLD.currency AND NEW.description=OLD.description AND NEW.reference=OLD.reference" \
    " AND NEW.version=OLD.version AND NEW.added_us=OLD.added_us AND OLD.dropped_version=9223372036854775807" \
    more " AND " CHARGE_BILLED("OLD.id") "=0) BEGIN"                                               \
    " SELECT raise(ABORT,'a charge does not change'); END;"
static const char v28[] =
    "CREATE TABLE charge(id INTEGER PRIMARY KEY CHECK(id>0), account INTEGER NOT NULL REFERENCES account(id),"
    " month INTEGER NOT NULL, amount INTEGER NOT NULL CHECK(amount<>0),"
    " currency TEXT NOT NULL CHECK(length(currency)=3), description TEXT NOT NULL CHECK(description<>''),"
    " reference TEXT NOT NULL, version INTEGER NOT NULL, added_us INTEGER NOT NULL, dropped_version INTEGER NOT NULL,"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"
    "CREATE INDEX charge_by_account ON charge(account,month);"
    "CREATE UNIQUE INDEX charge_reference ON charge(account,reference)"
    " WHERE reference<>'' AND dropped_version=9223372036854775807;"
    "CREATE TABLE charge_billed(charge INTEGER NOT NULL REFERENCES charge(id),"
    " invoice INTEGER NOT NULL REFERENCES invoice(id), amount INTEGER NOT NULL CHECK(amount<>0),"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ", PRIMARY KEY(charge,invoice)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX charge_billed_by_invoice ON charge_billed(invoice);"
    TB__SEAL_ROWS_OF(charge, charge_v28) TB__SEAL_ROWS(charge_billed)
    TB__SEAL_ADDED_OF(charge, charge_v28, "id=NEW.id")
    TB__SEAL_CHANGED_OF(charge, charge_v28, "id=NEW.id")
    TB__SEAL_GONE_OF(charge, charge_v28)
    TB__SEAL_ADDED(charge_billed, "charge=NEW.charge AND invoice=NEW.invoice")
    TB__APPEND_ONLY(charge_billed, "what an invoice billed of a charge does not change")
    "CREATE TRIGGER charge_billed_no_delete BEFORE DELETE ON charge_billed BEGIN"
    " SELECT raise(ABORT,'what an invoice billed of a charge does not change'); END;"
    "CREATE TRIGGER charge_billed_once BEFORE INSERT ON charge_billed WHEN NOT EXISTS(SELECT 1 FROM charge c"
    " JOIN invoice v ON v.id=NEW.invoice WHERE c.id=NEW.charge AND c.account=v.account"
    " AND c.dropped_version=9223372036854775807 AND (c.amount>0)=(NEW.amount>0)"
    " AND abs(" CHARGE_BILLED("c.id") "+NEW.amount)<=abs(c.amount)) BEGIN"
    " SELECT raise(ABORT,'a charge is billed once'); END;"
    CHARGE_NO_UPDATE(TB__C_charge_v28(""), "")
    "CREATE TRIGGER charge_no_delete BEFORE DELETE ON charge BEGIN"
    " SELECT raise(ABORT,'a charge does not change'); END;";

#define SERIES_TABLE(name)                                                                         \
    "CREATE TABLE " name "(scope INTEGER NOT NULL CHECK(scope BETWEEN 1 AND 4),"                   \
    " owner INTEGER NOT NULL, edge INTEGER NOT NULL CHECK(edge>=0),"                               \
    " id INTEGER NOT NULL CHECK(id>0), seal INTEGER NOT NULL,"                                     \
    " PRIMARY KEY(scope,owner,edge)) STRICT, WITHOUT ROWID;"
/* Meters. meter: what catalogues have declared; its history is in declaration, kind meter. meter_resource: the account of a
 * resource, whatever meters count for it, and the segment that named it first. meter_series: the owners of scope 4 of the table series; dimension_1 and 2 are in
 * the meter's order, '' where it has none. gauge: a value of a gauge from a moment on; segment: the input that brought it, the
 * latest holds; version: the data version that added it; gone_version: that withdrew it. The tables of series and of late
 * usage are made again, because their checks name the scopes. event_id_...: see logs/event_ids.c. charge.tax_category: '' has
 * the account's taxes. */
#define EVENT_IDS                                                                                  \
    "CREATE TABLE event_id_run(id INTEGER PRIMARY KEY CHECK(id>0), month INTEGER NOT NULL,"        \
    " level INTEGER NOT NULL, ids INTEGER NOT NULL CHECK(ids>0), bits INTEGER NOT NULL CHECK(bits BETWEEN 0 AND 14)," \
    " digest INTEGER NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"           \
    "CREATE TABLE event_id_page(id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"               \
    "CREATE TABLE event_id_month(month INTEGER NOT NULL, account INTEGER NOT NULL,"                \
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ", PRIMARY KEY(month,account)) STRICT, WITHOUT ROWID;" \
    TB__SEAL_ROWS(event_id_run) TB__SEAL_ROWS(event_id_month)                                      \
    TB__SEAL_ADDED(event_id_run, "id=NEW.id") TB__SEAL_GONE(event_id_run)                          \
    TB__APPEND_ONLY(event_id_run, "runs of event ids do not change")                               \
    TB__SEAL_ADDED(event_id_month, "month=NEW.month AND account=NEW.account") TB__SEAL_GONE(event_id_month) \
    TB__APPEND_ONLY(event_id_month, "months of event ids do not change")
static const char v29[] =
    "CREATE TABLE meter(id INTEGER PRIMARY KEY CHECK(id>0), name TEXT NOT NULL UNIQUE, document TEXT NOT NULL,"
    " declared_us INTEGER NOT NULL, deleted_us INTEGER NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"
    "CREATE TABLE meter_resource(noun TEXT NOT NULL, name TEXT NOT NULL, account INTEGER NOT NULL REFERENCES account(id),"
    " segment INTEGER NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ", PRIMARY KEY(noun,name)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX meter_resource_by_account ON meter_resource(account);"
    "CREATE TABLE meter_series(id INTEGER PRIMARY KEY CHECK(id>0), meter INTEGER NOT NULL REFERENCES meter(id),"
    " account INTEGER NOT NULL REFERENCES account(id), resource TEXT NOT NULL, dimension_1 TEXT NOT NULL,"
    " dimension_2 TEXT NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ","
    " UNIQUE(account,meter,resource,dimension_1,dimension_2)) STRICT;"
    "CREATE INDEX meter_series_by_meter ON meter_series(meter,account);"
    "CREATE INDEX meter_series_by_account ON meter_series(account);"
    "CREATE TABLE gauge(series INTEGER NOT NULL REFERENCES meter_series(id), at_us INTEGER NOT NULL,"
    " segment INTEGER NOT NULL, value INTEGER NOT NULL CHECK(value>=0), version INTEGER NOT NULL,"
    " gone_version INTEGER NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ","
    " PRIMARY KEY(series,at_us,segment)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX gauge_by_segment ON gauge(segment);"
    TB__SEAL_ROWS(meter) TB__SEAL_ROWS(meter_resource) TB__SEAL_ROWS(meter_series) TB__SEAL_ROWS(gauge)
    TB__SEAL_KEPT(meter, "id=NEW.id")
    TB__SEAL_ADDED(meter_resource, "noun=NEW.noun AND name=NEW.name")
    TB__SEAL_ADDED(meter_series, "id=NEW.id")
    TB__SEAL_KEPT(gauge, "series=NEW.series AND at_us=NEW.at_us AND segment=NEW.segment")
    TB__APPEND_ONLY(meter_resource, "a resource stays with its account")
    TB__APPEND_ONLY(meter_series, "series of meters do not change")
    EVENT_IDS

    "DROP VIEW unassigned; DROP VIEW account_series; DROP VIEW series;"
    "ALTER TABLE series_placed RENAME TO series_placed_28; ALTER TABLE series_new RENAME TO series_new_28;"
    "DROP TRIGGER series_placed_sealed; DROP TRIGGER series_new_sealed;"
    SERIES_TABLE("series_placed") SERIES_TABLE("series_new")
    "INSERT INTO series_placed SELECT scope,owner,edge,id,seal FROM series_placed_28 ORDER BY 1,2,3;"
    "INSERT INTO series_new SELECT scope,owner,edge,id,seal FROM series_new_28 ORDER BY 1,2,3;"
    "DROP TABLE series_placed_28; DROP TABLE series_new_28;" SERIES_VIEW SERIES_TRIGGERS
    "CREATE VIEW unassigned AS " SERIES_UNASSIGNED("series_placed") " UNION " SERIES_UNASSIGNED("series_new") ";"
    ACCOUNT_SERIES

    "DROP INDEX late_by_month; DROP TRIGGER late_sealed; DROP TRIGGER late_no_update; DROP TRIGGER late_no_delete;"
    "ALTER TABLE late RENAME TO late_28;"
    "CREATE TABLE late(id INTEGER PRIMARY KEY, version INTEGER NOT NULL, account INTEGER NOT NULL,"
    " month INTEGER NOT NULL, scope INTEGER NOT NULL CHECK(scope IN(1,3,4)), owner INTEGER NOT NULL,"
    " edge INTEGER NOT NULL, day INTEGER NOT NULL, data BLOB NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"
    "INSERT INTO late SELECT " TB__C_late("") ",seal FROM late_28 ORDER BY id;"
    "DROP TABLE late_28;"
    "CREATE INDEX late_by_month ON late(account,month,version);"
    TB__SEAL_ADDED(late, "id=NEW.id")
    TB__APPEND_ONLY(late, "late usage is append-only")
    "CREATE TRIGGER late_no_delete BEFORE DELETE ON late BEGIN"
    " SELECT raise(ABORT,'late usage is append-only'); END;"

    "CREATE INDEX account_with_cap ON account(id) WHERE " TB__CAP_DECLARED ";"
    "CREATE INDEX alert_of_cap ON alert(account,month) WHERE kind='cap';"

    "ALTER TABLE charge ADD COLUMN tax_category TEXT NOT NULL DEFAULT ''"
    " CHECK(tax_category IN('','Z','E','AE','K','G','O'));"
    "DROP TRIGGER charge_sealed; DROP TRIGGER charge_resealed; DROP TRIGGER charge_unsealed;"
    "DROP TRIGGER charge_no_update;"
    "UPDATE head SET seals=(seals-(SELECT " TB__SEAL_SUM " FROM charge))&" TB__SEAL_MASK " WHERE name='charge';"
    "UPDATE charge SET seal=" TB__SEAL(charge, "") " WHERE seal=" TB__SEAL_OF(charge, charge_v28, "") ";"
    "UPDATE head SET seals=(seals+(SELECT " TB__SEAL_SUM " FROM charge))&" TB__SEAL_MASK " WHERE name='charge';"
    TB__SEAL_KEPT(charge, "id=NEW.id")
    CHARGE_NO_UPDATE(TB__C_charge(""), " AND NEW.tax_category=OLD.tax_category");

/* Pieces of replication (tollbook/replica.h): what each commit changed. Their rows have a chain of their own. */
static const char v30[] =
    "CREATE TABLE piece(id INTEGER PRIMARY KEY CHECK(id>0), epoch INTEGER NOT NULL CHECK(epoch>0),"
    " at_us INTEGER NOT NULL, version INTEGER NOT NULL, total INTEGER NOT NULL CHECK(total>=0), chain BLOB NOT NULL CHECK(length(chain)=32), data BLOB NOT NULL) STRICT;"
    "INSERT INTO meta(name,value) VALUES('epoch',0);"
    "CREATE TRIGGER piece_no_update BEFORE UPDATE ON piece BEGIN SELECT raise(ABORT,'pieces do not change'); END;";

/* Standbys that may take the primary's place (tollbook/replica.h). meta.superseded: the epoch of the file that took this one's
 * place, or 0. */
static const char v31[] =
    "CREATE TABLE standby(name TEXT PRIMARY KEY CHECK(length(name) BETWEEN 1 AND 64), url TEXT NOT NULL,"
    " program_schema INTEGER NOT NULL, seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT, WITHOUT ROWID;"
    TB__SEAL_ROWS(standby) TB__SEAL_KEPT(standby, "name=NEW.name")
    "INSERT INTO meta(name,value) VALUES('superseded',0);";

/* The log of documents (tollbook/prooflog.h). proof_tile: the widest of each. proof_entry.id: the index in the log; subject: the
 * book, the number of the invoice, the day; version: the data version that its content was read at. proof_change: closed days whose
 * usage has changed. proof_late: those changes, after the month was run. meta.proof_open: the first day that is not closed;
 * INT64_MIN: there is no log. charge_billed has, with the opposite sign, what a credit note makes due again of a charge. */
static const char v32[] =
    "CREATE TABLE proof_tile(level INTEGER NOT NULL CHECK(level BETWEEN 0 AND 7), number INTEGER NOT NULL CHECK(number>=0),"
    " hashes BLOB NOT NULL CHECK(length(hashes) BETWEEN 32 AND 8192 AND length(hashes)%32=0),"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ", PRIMARY KEY(level,number)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE proof_entry(id INTEGER PRIMARY KEY CHECK(id>=0), type TEXT NOT NULL, account INTEGER NOT NULL,"
    " subject TEXT NOT NULL, entry TEXT NOT NULL, version INTEGER NOT NULL CHECK(version>=0),"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"
    "CREATE INDEX proof_entry_of ON proof_entry(subject,account,type);"
    "CREATE INDEX proof_entry_month ON proof_entry(substr(subject,1,7),account);"
    "CREATE TABLE proof_late(id INTEGER PRIMARY KEY, version INTEGER NOT NULL, account INTEGER NOT NULL, day INTEGER NOT NULL,"
    " scope INTEGER NOT NULL CHECK(scope IN(1,3,4)), owner INTEGER NOT NULL, edge INTEGER NOT NULL, data BLOB NOT NULL,"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"
    "CREATE INDEX proof_late_of ON proof_late(account,day,version);"
    "CREATE TABLE proof_change(account INTEGER NOT NULL, day INTEGER NOT NULL,"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ", PRIMARY KEY(account,day)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE proof_checkpoint(size INTEGER PRIMARY KEY CHECK(size>0), note TEXT NOT NULL,"
    " seal INTEGER NOT NULL DEFAULT " TB__UNSEALED ") STRICT;"
    TB__SEAL_ROWS(proof_tile) TB__SEAL_ROWS(proof_entry) TB__SEAL_ROWS(proof_change) TB__SEAL_ROWS(proof_checkpoint)
    TB__SEAL_ROWS(proof_late)
    TB__SEAL_ADDED(proof_tile, "level=NEW.level AND number=NEW.number")
    TB__SEAL_CHANGED(proof_tile, "level=NEW.level AND number=NEW.number")
    TB__SEAL_ADDED(proof_entry, "id=NEW.id")
    TB__APPEND_ONLY(proof_entry, "the log of documents is append-only")
    "CREATE TRIGGER proof_entry_no_delete BEFORE DELETE ON proof_entry BEGIN"
    " SELECT raise(ABORT,'the log of documents is append-only'); END;"
    TB__SEAL_ADDED(proof_late, "id=NEW.id")
    TB__APPEND_ONLY(proof_late, "changes of closed days are append-only")
    "CREATE TRIGGER proof_late_no_delete BEFORE DELETE ON proof_late BEGIN"
    " SELECT raise(ABORT,'changes of closed days are append-only'); END;"
    TB__SEAL_ADDED(proof_change, "account=NEW.account AND day=NEW.day") TB__SEAL_GONE(proof_change)
    TB__SEAL_ADDED(proof_checkpoint, "size=NEW.size") TB__SEAL_CHANGED(proof_checkpoint, "size=NEW.size")
    "CREATE TRIGGER proof_checkpoint_grows BEFORE INSERT ON proof_checkpoint WHEN"
    " NEW.size<(SELECT max(size) FROM proof_checkpoint) BEGIN SELECT raise(ABORT,'checkpoints grow'); END;"
    "CREATE TRIGGER proof_checkpoint_no_delete BEFORE DELETE ON proof_checkpoint BEGIN"
    " SELECT raise(ABORT,'checkpoints are kept'); END;"
    "INSERT INTO meta(name,value) VALUES('proof_open',-9223372036854775808);"

    "DROP TRIGGER charge_billed_once;"
    "CREATE TRIGGER charge_billed_once BEFORE INSERT ON charge_billed WHEN NOT EXISTS(SELECT 1 FROM charge c"
    " JOIN invoice v ON v.id=NEW.invoice WHERE c.id=NEW.charge AND c.account=v.account"
    " AND c.dropped_version=9223372036854775807 AND (v.kind='invoice')=((c.amount>0)=(NEW.amount>0))"
    " AND " CHARGE_BILLED("c.id") "+NEW.amount BETWEEN min(c.amount,0) AND max(c.amount,0)) BEGIN"
    " SELECT raise(ABORT,'a charge is billed once'); END;";

const char *const tb__migrations[] = {v1, v2,  v3,  v4,  v5,  v6,  v7,  v8, v9,
                                      v10, v11, v12, v13, v14, v15, v16, v17, v18, v19, v20, v21, v22, v23, v24, v25, v26, v27, v28, v29, v30, v31, v32};
const int tb__schema_version = sizeof tb__migrations / sizeof *tb__migrations;

const int tb__schema_copied = 30;

/* Hash of the resulting schema: see verify/rows.c. A test gives the expected value. */
const char tb__schema_sha256[] =
    "e5efeb66096fcf79a10578c005711c335f432d1462b12d012f507c8507e744ad";
