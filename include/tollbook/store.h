/* The store: one SQLite file, and the only module that contains SQL.
 *
 * Life cycle: tb_store_create makes an empty database; tb_store_open gives a reader (read-only, any number, one
 * thread each) or the writer (one among all processes: it holds a lock on the file itself, commits and
 * checkpoints). A failed write leaves the transaction open: call tb_store_rollback, then go on.
 *
 * Everything between tb_store_begin and tb_store_commit is atomic, and durable once commit has returned TB_OK
 * (WAL, synchronous=FULL). TB_E_GONE: the file is no longer at its path, and the transaction may be lost with it;
 * once the same file is back, the writer can be used again.
 *
 * Usage is kept per series: (scope, id, edge location), as chunks of 24 hours and of a month's days. Scopes: a
 * zone at one edge location, a zone, an account at one edge location, an account, a load balancer. A zone or
 * account with a single location has no series over all locations; readers see no difference. */
#ifndef TOLLBOOK_STORE_H
#define TOLLBOOK_STORE_H

#include "tollbook/answer.h"
#include "tollbook/catalog.h"
#include "tollbook/key.h"
#include "tollbook/rollup.h"
#include "tollbook/series.h"
#include "tollbook/usageclient.h"

TB_API_BEGIN

/* SQLite's application_id of a database, and of a standby's copy that was not promoted (replica.h). */
#define TB_APPLICATION_ID      0x746f6c6c /* "toll" */
#define TB_COPY_APPLICATION_ID 0x746f6c63 /* "tolc" */

typedef struct tb_store tb_store;

typedef struct tb_store_options {
    bool write;
    const char *owner; /* writer: the name that is shown for the lock's holder ("serve 127.0.0.1:8080") */
    int cache_kib;     /* page cache; 0: 32 MiB for the writer, 8 MiB for a reader */
    const char *vfs;   /* SQLite VFS name; NULL: the default. Tests inject faults here */
    int64_t now_us;    /* recorded by migrations */
    int64_t (*clock)(void); /* writer: microseconds since 1970, for the moments of commits (replica.h); NULL: now_us */
    bool copy; /* of a copy (replica.h). The writer applies pieces and trims them, commits nothing else
                * (TB_E_REPLICA_READ_ONLY), and migrates no older schema: that comes as a piece. A reader reads the older
                * schema as far as it goes */
    const tb_usage_client *usage; /* usage servers that hold the counters, once a writer has named them; NULL: the
                                   * file holds them. Must outlive the store */
    /* Hears of a writer's upgrade of an older file, in tb_store_open: the schema that the file has, the one that is reached
     * so far and the one that it gets. Called at the beginning, about a hundred times a second, after each step, and with
     * `reached` as `to` once all of it is stored. NULL: nobody hears of it. */
    void (*upgrading)(void *ctx, int from, int reached, int to);
    void *upgrading_ctx;
    bool control; /* opens a file whose usage is on servers without them (`usage` is NULL), for what is done with the file alone:
                   * pieces, copies and their verification, which then leaves out the usage. No usage is read or written */
} tb_store_options; /* NULL in its place: all zero */

/* Whether it was opened so, and its usage is on servers. */
bool tb_store_without_usage(const tb_store *store);

/* The newest schema: the one that a writer gives a file. */
int tb_store_schema(void);
/* The schema of the file. */
int tb_store_schema_of(const tb_store *store);
/* The version of the SQLite library that runs. */
const char *tb_store_sqlite(void);
/* Makes a file with the newest schema. TB_E_IO: the file exists already. */
TB_MUST_USE tb_code tb_store_create(const char *path, const tb_store_options *options,
                                    tb_error *err);
/* TB_E_NOT_OURS, TB_E_NEWER, TB_E_CORRUPT, TB_E_LOCKED (message names the holder), TB_E_LINKED (a
 * writer's file has a second name), TB_E_READ_ONLY, TB_E_IO. The writer migrates an older schema, in
 * one transaction. */
TB_MUST_USE tb_code tb_store_open(const char *path, const tb_store_options *options,
                                  tb_store **ret_store, tb_error *err);
/* Connects to usage servers that could not be reached before. A writer that has used its servers before opens also
 * while some are unreachable; until this call succeeds, reads of their usage are TB_E_AWAY and no usage is written.
 * Called by the writer, outside of a transaction, and now and then afterwards: once another process has begun to
 * write to a server, this writer sends nothing any more (TB_E_USAGE). TB_E_AWAY: a server is still unreachable.
 * TB_E_USAGE and others: a server's data is not the expected one. A reader learns from it whether the writer has
 * connected. */
TB_MUST_USE tb_code tb_store_usage_look(tb_store *store, tb_error *err);
/* TB_E_GONE where the path leads to another file than the open one, or to none; for a writer the -wal and -shm
 * files count too. *ret_links (may be NULL): the number of hard links to the file, normally 1. Costs three stats;
 * any thread may call it while the store is open. */
TB_MUST_USE tb_code tb_store_still_there(const tb_store *store, unsigned *ret_links, tb_error *err);
/* The number of hard links when the file was opened, or at the writer's last commit; normally 1. */
unsigned tb_store_links(const tb_store *store);
/* The process that has the file open for writing: this or another one, as it wrote its name into FILE.lock. false: none
 * has. Costs a few system calls. */
#define TB_WRITER_MAX 204
typedef struct tb_writer {
    char name[TB_WRITER_MAX]; /* "serve 127.0.0.1:8080 (process 4711)" */
    int64_t since_us;         /* INT64_MIN: unknown */
} tb_writer;
bool tb_store_writer(const tb_store *store, tb_writer *ret_writer);
/* A second thread that a writer may use. */
typedef struct tb_helper {
    /* Starts work(arg) on the other thread and returns at once; false: it cannot. Every start is followed by a
     * wait before the next one. */
    bool (*start)(void *ctx, void (*work)(void *arg), void *arg);
    void (*wait)(void *ctx); /* returns when work has returned */
    void *ctx;
} tb_helper;
/* Large batches are written with its help from here on; NULL: without. It runs only within calls that write. */
void tb_store_lend(tb_store *store, const tb_helper *helper);
/* The writer checkpoints. NULL is fine. */
void tb_store_close(tb_store *store);

/* --- writing --- */

/* One transaction: runs the function in it and commits; rolls back where either fails. */
typedef tb_code (*tb_store_change)(tb_store *store, void *ctx, tb_error *err);
TB_MUST_USE tb_code tb_store_write(tb_store *store, tb_store_change change, void *ctx,
                                   tb_error *err);
/* The same by hand, for writing while an input is read. */
TB_MUST_USE tb_code tb_store_begin(tb_store *store, tb_error *err);
TB_MUST_USE tb_code tb_store_commit(tb_store *store, tb_error *err);
void tb_store_rollback(tb_store *store);
/* A savepoint inside a transaction, so that one bad batch of a group does not undo the others. If rolling back to
 * it fails, the transaction is lost: tb_store_mark and tb_store_commit are TB_E_IO until tb_store_rollback. */
TB_MUST_USE tb_code tb_store_mark(tb_store *store, tb_error *err);
TB_MUST_USE tb_code tb_store_keep_mark(tb_store *store, tb_error *err);
void tb_store_back_to_mark(tb_store *store);
/* Moves committed pages from the WAL into the file when the WAL has grown past its limit, or always if `all`. When
 * a reader has let the WAL grow to twice the limit, the first call after that reader's end empties it. An error
 * leaves the WAL as it is and loses no data. */
void tb_store_checkpoint(tb_store *store, bool all);
/* Empties the WAL if it may still hold log lines or refused lines that were deleted. */
void tb_store_scrub(tb_store *store);

typedef struct tb_hash128 {
    uint64_t high, low;
} tb_hash128;

typedef enum tb_batch_kind { TB_BATCH_LOG = 1, TB_BATCH_BUCKETS = 2 } tb_batch_kind;

/* A batch is known by its name: the id given on a command line or with a key of account 0, or "account 7/ID" for an
 * id given with a key of account 7. So equal ids of two accounts are two batches. */
#define TB_BATCH_ID_MAX   255
#define TB_BATCH_NAME_MAX (TB_BATCH_ID_MAX + 28)

/* One committed segment of an input: the bytes start..length of it. A small input is one segment. hash is XXH3-128
 * over the first `length` decompressed bytes. head is the same over the first line without its end, at most TB_HEAD
 * bytes: it finds candidates cheaply and does not change when the input grows. */
#define TB_HEAD 4096
typedef struct tb_segment {
    tb_batch_kind kind;
    const char *name;   /* explicit batch id; NULL: the input is known by its content */
    const char *source; /* where the input came from; shown to users */
    uint64_t start, length;
    tb_hash128 hash, head;
    uint64_t lines_before;       /* lines of the input before this segment */
    uint64_t accepted, rejected; /* lines of this segment */
    uint64_t ambiguous;          /* of accepted: lines with columns that could not be told apart */
    uint64_t heads;              /* of accepted: lines that are not requests */
    bool final;                  /* the input ends here */
    int64_t now_us;
    int64_t samples; /* tb_directory.samples, with which its lines were read; 0: no account ever kept samples */
} tb_segment;

/* Adds the cursor's counters to all series that they belong to. May be called several times before
 * tb_store_add_segment, which then records their sum. TB_E_OVERFLOW: a counter is full. */
TB_MUST_USE tb_code tb_store_add_usage(tb_store *store, tb_rollup_cursor *cursor, tb_error *err);
/* Keeps a refused line: its text is cut to TB_REJECT_TEXT_MAX bytes, and past TB_REJECTS_KEPT lines a segment only
 * counts them. Call before add_segment. Addresses are hidden before they are stored, as the zone's settings say;
 * completely where the zone is unknown. */
#define TB_REJECT_TEXT_MAX 2048
#define TB_REJECTS_KEPT 100000
typedef struct tb_refused {
    uint64_t line; /* from 1 over the whole input */
    uint32_t byte;
    const char *reason;
    const char *text;
    size_t len;
    int64_t zone; /* 0: unknown */
} tb_refused;
TB_MUST_USE tb_code tb_store_add_reject(tb_store *store, const tb_refused *line, tb_error *err);
/* Groups the newest TB_REJECTS_COUNTED refused lines by reason, and calls `each` for the most frequent reasons, at
 * most `most`, with the newest line of each. The argument lives during the call. */
#define TB_REJECTS_COUNTED 20000
typedef struct tb_refused_kind {
    uint64_t lines;
    tb_refused newest; /* zone 0 */
} tb_refused_kind;
typedef void (*tb_refused_fn)(void *ctx, const tb_refused_kind *kind);
TB_MUST_USE tb_code tb_store_refused(tb_store *store, int64_t most, tb_refused_fn each, void *ctx,
                                     tb_error *err);
/* Refused lines that were taken in within [from_us, to_us), the newest first, while `each` returns true. Those whose text
 * has expired are not among them. The argument lives during the call. */
typedef struct tb_refused_line {
    tb_refused line; /* zone 0; text NULL unless it was asked for */
    int64_t added_us;
    const char *source;
} tb_refused_line;
typedef bool (*tb_refused_line_fn)(void *ctx, const tb_refused_line *line);
TB_MUST_USE tb_code tb_store_refused_lines(tb_store *store, int64_t from_us, int64_t to_us, bool texts,
                                           tb_refused_line_fn each, void *ctx, tb_error *err);
/* Lists the sources of the newest TB_SOURCES_SEGMENTS segments, at most `most`, the source of the newest segment
 * first. The argument lives during the call. */
#define TB_SOURCES_SEGMENTS 2000
typedef struct tb_source {
    const char *name;  /* as the sender gave it */
    tb_batch_kind kind;
    int64_t newest_us; /* when the newest of its segments was taken in */
    uint64_t segments, accepted, rejected;
} tb_source;
typedef void (*tb_source_fn)(void *ctx, const tb_source *source);
TB_MUST_USE tb_code tb_store_sources(tb_store *store, int64_t most, tb_source_fn each, void *ctx,
                                     tb_error *err);
/* Codes of edge locations with usage that belong to no region, at most `most`, ascending. */
typedef void (*tb_code_fn)(void *ctx, const char *code);
TB_MUST_USE tb_code tb_store_unpriced_locations(tb_store *store, int64_t most, tb_code_fn each, void *ctx,
                                                tb_error *err);
/* Deletes the text of refused lines that were taken in TB_REJECT_KEPT_US or longer before now_us, in the caller's
 * transaction; line number and reason stay. *ret_segments: the number of segments changed. The `some` variant
 * changes at most *room lines and subtracts their number from *room; 0 left: call it again. */
#define TB_REJECT_KEPT_US (INT64_C(72) * 3600 * 1000000)
TB_MUST_USE tb_code tb_store_forget_some_rejects(tb_store *store, int64_t now_us, size_t *room, tb_error *err);
TB_MUST_USE tb_code tb_store_forget_rejects(tb_store *store, int64_t now_us, uint64_t *ret_segments,
                                            tb_error *err);
/* Deletes expired data in the caller's transaction: request logs, shield events (logstore.h) and the text of
 * refused lines; joins consecutive segments of a log. Each member of *room limits one kind, and is reduced by the
 * number handled: 0 left: call it again. SIZE_MAX: no limit. */
typedef struct tb_ageing {
    size_t log_blocks, event_blocks, texts, segments;
} tb_ageing;
TB_MUST_USE tb_code tb_store_drop_aged(tb_store *store, int64_t now_us, tb_ageing *room, tb_error *err);
/* New edge locations of zones and accounts are kept in a table of their own until there are many, and are then
 * moved to their series. This moves a part of them in the caller's transaction, for quiet hours. *ret_more false:
 * none is left. */
TB_MUST_USE tb_code tb_store_place_series(tb_store *store, bool *ret_more, tb_error *err);
/* Limits the extra work of writes from here on, so that other work is not delayed. When an owner gets its second
 * edge location, the history of the first one is copied, and when an account gets its second pull zone, that of the first
 * one at each location: tb_store_add_usage and tb_store_add_packed copy at most `copies` days, each copied location
 * counting as TB_COPY_COSTS days more; beyond that they fail with TB_E_TOO_LARGE, err->field "copies", and the
 * transaction, or everything since the mark, is to be rolled back. alone: the first owner's copy is always made, as no
 * smaller body can do without it. Kept log lines are joined with the short blocks before them at most TB_JOINS_MOST
 * times, and are stored as they came after that. 0: no limit. */
#define TB_COPY_COSTS 8
#define TB_JOINS_MOST 1000
void tb_store_bound_work(tb_store *store, size_t copies, bool alone);
/* The hour of the newest usage added since the transaction's last segment; INT64_MIN: none. */
int64_t tb_store_segment_newest(const tb_store *store);
TB_MUST_USE tb_code tb_store_add_segment(tb_store *store, const tb_segment *segment,
                                         int64_t *ret_segment_id, tb_error *err);

/* Known segments: those with this head and kind, whatever their name, or those of a named batch. Ascending by
 * (start, length). Free the array with free(). */
typedef struct tb_known {
    uint64_t start, length, lines; /* lines of the input up to length */
    uint64_t accepted, rejected;   /* of that segment */
    tb_hash128 hash;
    tb_batch_kind kind;
    bool final;
} tb_known;
TB_MUST_USE tb_code tb_store_known_by_head(tb_store *store, tb_batch_kind kind, tb_hash128 head,
                                           tb_known **ret_known, size_t *ret_n, tb_error *err);
/* The same by head, from byte `from` on: segments that start before it cost nothing. */
TB_MUST_USE tb_code tb_store_known_from(tb_store *store, tb_batch_kind kind, tb_hash128 head,
                                        uint64_t from, tb_known **ret_known, size_t *ret_n,
                                        tb_error *err);
/* Segments by head that start before byte `before`, the first TB_KNOWN_BEFORE of them. */
#define TB_KNOWN_BEFORE 1024 /* about as many as 64 KiB have lines */
TB_MUST_USE tb_code tb_store_known_before(tb_store *store, tb_batch_kind kind, tb_hash128 head, uint64_t before,
                                          tb_known **ret_known, size_t *ret_n, tb_error *err);
/* A place in an input: `length` bytes and `lines` lines from its start. The hash of its head names the input. */
typedef struct tb_input_position {
    tb_batch_kind kind;
    tb_hash128 head;
    uint64_t length, lines;
} tb_input_position;
/* Whether a known segment ends here. *ret_start (may be NULL): the byte at which the segment starts, which moves
 * back when earlier segments are merged into it. */
TB_MUST_USE tb_code tb_store_known_end(tb_store *store, const tb_input_position *end, bool *ret_known,
                                       uint64_t *ret_start, tb_error *err);
TB_MUST_USE tb_code tb_store_known_by_name(tb_store *store, const char *name, tb_known **ret_known,
                                           size_t *ret_n, tb_error *err);
/* Whether the batch is stored under a bare id that a key of this account gave, as versions before 1.1 did. A batch
 * that came with a token does not record its account, and counts too. */
TB_MUST_USE tb_code tb_store_batch_is_bare(tb_store *store, const char *id, int64_t account, bool *ret_so,
                                           tb_error *err);

/* Rungs: hashes of an input's prefixes, at the first line end at or past 512 bytes and at each doubling of it. They
 * identify a shorter copy of a known log that ends between two segment ends. */
typedef struct tb_rung {
    uint64_t length;
    tb_hash128 hash; /* of the first `length` bytes, as a segment's */
} tb_rung;
/* In the caller's transaction, with the segment that covers them. Stored rungs are kept as they are. */
TB_MUST_USE tb_code tb_store_add_rungs(tb_store *store, tb_hash128 head, const tb_rung *rungs,
                                       size_t n, tb_error *err);
/* Ascending by length. Free the array with free(). */
TB_MUST_USE tb_code tb_store_rungs_by_head(tb_store *store, tb_hash128 head, tb_rung **ret_rungs,
                                           size_t *ret_n, tb_error *err);

typedef struct tb_applied {
    size_t sellers_added; /* 0 or 1 */
    size_t accounts_added, zones_added, balancers_added, shields_added, regions;
    size_t containers_added; /* container applications, limits and registries */
    size_t meters_added;
    size_t changed;  /* objects with another document than the stored one */
    size_t deleted;  /* objects that the catalogue no longer names */
    size_t restored; /* deleted objects that it names again */
    size_t adopted;  /* zones with usage that had no account until now */
    size_t rebilled; /* edge locations with usage that are billed as another region from now on */
    size_t unbooked; /* accounts with a contract that names a price book missing in their currency */
} tb_applied;
/* X(NAME, one object, its list in a catalogue). The kinds of objects that a catalogue declares. */
#define TB_DECLARED_KINDS(X)                                                                       \
    X(SELLER, "seller", "seller")                                                                  \
    X(ACCOUNT, "account", "accounts")                                                              \
    X(ZONE, "pull zone", "zones")                                                                  \
    X(BALANCER, "load balancer", "load_balancers")                                                 \
    X(SHIELD, "shield zone", "shield_zones")                                                       \
    X(REGISTRY, "registry", "registries")                                                          \
    X(APP, "container application", "container_apps")                                              \
    X(LIMITS, "container limit", "container_limits")                                               \
    X(METER, "meter", "meters")                                                                    \
    X(REGION, "region", "regions")                                                                 \
    X(HOSTNAME, "hostname", "hostnames")

typedef enum tb_declared_kind {
#define TB_X(name, word, list) TB_DECLARED_##name,
    TB_DECLARED_KINDS(TB_X)
#undef TB_X
        TB_DECLARED_KIND_COUNT
} tb_declared_kind;

/* An object that is declared now and that a catalogue does not name. */
typedef struct tb_unnamed {
    tb_declared_kind kind;
    int64_t id;   /* of a registry, an application or a limit: its account; of a hostname: its pull zone */
    tb_text name; /* of a registry, an application or a meter: its id; of a region: its code; may be empty */
} tb_unnamed;
/* Calls `each` for every object that applying the catalogue would delete, by kind, ascending; ret_live: the number
 * of declared objects of each kind. A region counts if there is usage from it or it differs from the built-in one, a
 * hostname if its zone stays. `each` must not use the store. */
TB_MUST_USE tb_code tb_store_unnamed(tb_store *store, const tb_catalog *catalog,
                                     void (*each)(void *ctx, const tb_unnamed *one), void *ctx,
                                     size_t ret_live[TB_DECLARED_KIND_COUNT], tb_error *err);
/* An object that is declared now: neither a region nor a hostname. */
typedef struct tb_declared {
    tb_declared_kind kind;
    int64_t id;        /* of a registry, an application or a limit: its account; of a meter: 0 */
    tb_text name;      /* of a registry, an application or a meter: its id; else "" */
    tb_text document;  /* canonical JSON */
} tb_declared;
/* Calls `each` for every object that is declared now, by kind, ascending. `each` must not use the store. */
TB_MUST_USE tb_code tb_store_declared(tb_store *store, void (*each)(void *ctx, const tb_declared *one), void *ctx,
                                      tb_error *err);
/* The declared regions, ascending by id; NULL and 0 where the built-in table is in force. Free with free(). */
TB_MUST_USE tb_code tb_store_declared_regions(tb_store *store, tb_region **ret_regions, size_t *ret_n, tb_error *err);
/* Makes the stored catalogue equal to this one, in the caller's transaction. Idempotent.
 * TB_E_CATALOG: a zone or balancer would change its account, or a meter with usage its kind, unit, interval, dimensions or
 * resource. */
TB_MUST_USE tb_code tb_store_apply_catalog(tb_store *store, const tb_catalog *catalog,
                                           int64_t now_us, tb_applied *ret_applied, tb_error *err);

TB_MUST_USE tb_code tb_store_key_add(tb_store *store, tb_key *key, tb_error *err); /* sets id */
/* TB_E_NOT_FOUND: no such key. Revoking twice keeps the first moment. */
TB_MUST_USE tb_code tb_store_key_revoke(tb_store *store, int64_t id, int64_t now_us,
                                        tb_error *err);

/* --- reading: a writer reads too --- */

/* One snapshot for all reads until tb_store_read_end. */
TB_MUST_USE tb_code tb_store_read_begin(tb_store *store, tb_error *err);
void tb_store_read_end(tb_store *store);

/* The data version. Grows with every commit that may change answers or bills; survives restarts. */
TB_MUST_USE tb_code tb_store_version(tb_store *store, uint64_t *ret_version, tb_error *err);

/* TB_E_NOT_FOUND where there is no such account; the message says how to declare one. */
TB_MUST_USE tb_code tb_store_need_account(tb_store *store, int64_t account, tb_error *err);
TB_MUST_USE tb_code tb_store_account_exists(tb_store *store, int64_t account, bool *ret_exists,
                                            tb_error *err);
/* The scope of figures: an account or one of its zones, at all locations or in one region. */
#define TB_ALL INT64_C(-1)
typedef struct tb_view {
    int64_t account;
    int64_t zone;   /* TB_ALL, or a zone of that account */
    int64_t region; /* TB_ALL, or a region id */
} tb_view;
/* TB_E_ZONE_NOT_FOUND where view->zone is not a zone of view->account (deleted zones are still
 * its own). An unknown region is an empty one: zeros. */
TB_MUST_USE tb_code tb_store_view_check(tb_store *store, const tb_view *view, tb_error *err);
/* Fills the columns of an initialised series; TB_E_ZONE_NOT_FOUND as above. A range that ends before
 * the zone's `created` is zeros. Costs its points, not the stored history. */
TB_MUST_USE tb_code tb_store_read_series(tb_store *store, const tb_view *view, tb_series *series,
                                         tb_error *err);
/* The same, and the bytes per region over the series' range, ascending by region name, names in
 * *ret_geo's own memory (one free() releases all). Edge locations that no region names are
 * "Other: CODE". ret_geo may be NULL. */
TB_MUST_USE tb_code tb_store_read_view(tb_store *store, const tb_view *view, tb_series *series,
                                       tb_geo **ret_geo, size_t *ret_n_geo, tb_error *err);
TB_MUST_USE tb_code tb_store_regions(tb_store *store, tb_region **ret_regions, size_t *ret_n,
                                     tb_error *err); /* ascending by id; free() */
/* The part of the catalogue that intake looks up. Immutable: any thread may read it. */
typedef struct tb_directory {
    const tb_known_edge *edges; /* codes of all regions, ascending, ranked by price */
    size_t n_edges;
    const struct tb_known_hosts *hosts;   /* of existing zones, system hostnames included; NULL: not requested */
    const struct tb_logged_zones *logged; /* zones that keep their log lines; NULL: none does */
    const struct tb_logged_zones *ever_logged; /* zones that ever kept lines, with all columns; NULL: none did */
    const struct tb_sampled_zones *sampled; /* zones of accounts that keep samples, or once did; NULL: there are none */
    int64_t samples;                        /* the data version in which it last changed who keeps samples; 0: nobody ever did */
    const struct tb_meter *meters, *ever_meters; /* those that are declared, and all that ever were; ascending by id */
    size_t n_meters, n_ever_meters;
} tb_directory;
/* Borrowed: valid until the catalogue changes or the transaction is rolled back; once retained, until it is
 * released. A writer returns the same directory until the catalogue changes, except for the first call that asks
 * for hosts. */
TB_MUST_USE tb_code tb_store_directory(tb_store *store, bool hosts,
                                       const tb_directory **ret_directory, tb_error *err);
const tb_directory *tb_directory_retain(const tb_directory *directory); /* the same */
void tb_directory_release(const tb_directory *directory);               /* NULL is fine */
TB_MUST_USE tb_code tb_store_keys(tb_store *store, tb_key **ret_keys, size_t *ret_n,
                                  tb_error *err); /* ascending by id, revoked too; free() */
typedef struct tb_key_page {
    tb_key *list; /* free() */
    size_t n;
    int64_t total; /* of all pages */
} tb_key_page;
/* A page of the account's valid keys, ascending by id: `limit` of them after the first `skip`. */
TB_MUST_USE tb_code tb_store_account_keys(tb_store *store, int64_t account, int64_t skip,
                                          int64_t limit, tb_key_page *ret_page, tb_error *err);

/* Figures for an operator. */
typedef struct tb_store_figures {
    uint64_t file_bytes, wal_bytes;
    int64_t newest_hour; /* hours since 1970 of the newest bucket; INT64_MIN where none */
    uint64_t segments, accepted, rejected;
    uint64_t zones, unassigned_zones;   /* zones of the catalogue; ids with usage and no account */
    uint64_t unpriced_locations;        /* edge locations that no region names */
    int64_t newest_log_us, newest_buckets_us; /* when the newest segment was stored; INT64_MIN: never */
} tb_store_figures;
TB_MUST_USE tb_code tb_store_read_figures(tb_store *store, tb_store_figures *ret_figures,
                                          tb_error *err);

/* Re-sums and re-checks everything stored. Calls say (may be NULL) with a sentence per difference found, and with notes of
 * what could not be checked, which begin with TB_NOTE. TB_OK also when differences were found: *ret_differences counts
 * them, without the notes. */
#define TB_NOTE "Note: "
typedef void (*tb_say)(void *ctx, const char *sentence);
TB_MUST_USE tb_code tb_store_verify(tb_store *store, tb_say say, void *ctx,
                                    uint64_t *ret_differences, tb_error *err);
/* A digest over all append-only data (ledger, invoices, inputs, books, declarations, keys), to be kept elsewhere: it
 * exposes an edited file even where the editor has recomputed every seal and chain. A terminated word of hexadecimal
 * digits and hyphens. Any reader can make it. */
#define TB_ANCHOR_MAX 384
TB_MUST_USE tb_code tb_store_anchor(tb_store *store, char ret_digest[TB_ANCHOR_MAX], tb_error *err);
/* Checks that everything the anchor covered is unchanged; later additions are no difference. Differences as in
 * tb_store_verify. TB_E_VALIDATION: no digest. */
TB_MUST_USE tb_code tb_store_verify_against(tb_store *store, const char *digest, tb_say say,
                                            void *ctx, uint64_t *ret_differences, tb_error *err);
/* TB_E_VALIDATION where this version cannot check the digest. */
TB_MUST_USE tb_code tb_anchor_check(const char *digest, tb_error *err);
/* The check of a copy: tb_store_verify, or a stricter one (rating bills again takes the billing module). Counts
 * differences in *ret_differences and is TB_OK also if there are some. */
typedef tb_code (*tb_check)(tb_store *store, tb_say say, void *ctx, uint64_t *ret_differences,
                            tb_error *err);
/* Progress: pages copied of all; then, while the copy is checked, pages read (total 0). */
typedef void (*tb_progress)(void *ctx, uint64_t done, uint64_t total);
/* Copies a consistent snapshot to a new file (TB_E_IO where it exists), checks the copy with `check`
 * (NULL: tb_store_verify) and gives it its name last. TB_E_DIFFERENT, naming the first difference:
 * there is no copy then. progress may be NULL. */
TB_MUST_USE tb_code tb_store_backup(tb_store *store, const char *to, tb_check check,
                                    tb_progress progress, void *ctx, tb_error *err);

/* Read-only SQL over the file, the virtual table `buckets` included: header first, then rows, as
 * text cells (NULL for SQL NULL). cells live until the call returns. */
typedef bool (*tb_row_fn)(void *ctx, int n, const char *const *cells, bool is_header);
TB_MUST_USE tb_code tb_store_query(tb_store *store, const char *sql, tb_row_fn row, void *ctx,
                                   tb_error *err);

/* From any thread: interrupts a running query, which fails with TB_E_STOPPED. SQLite checks between steps, so not
 * within a single long call of a function. */
void tb_store_interrupt(tb_store *store);
/* From any thread, or in its progress function: ends a running backup, which fails with TB_E_STOPPED. */
void tb_store_stop_backup(tb_store *store);
/* From now on `stops` is called at intervals while the store reads or writes; when it returns another value than 0
 * the operation fails with TB_E_BUSY. NULL: not any more. */
void tb_store_watch(tb_store *store, int (*stops)(void *ctx), void *ctx);
/* Pages read from the file since it was opened, for the progress of a long read. */
uint64_t tb_store_pages_read(const tb_store *store);
/* Limits SQLite's memory in this process, over all stores; beyond it operations are TB_E_NOMEM. Call before the
 * first store is opened, while there is one thread. */
void tb_store_bound_memory(int64_t bytes);

TB_API_END

#endif
