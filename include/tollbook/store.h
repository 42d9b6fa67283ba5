/* The store: one SQLite file, the only place that knows SQL.
 *
 * Life cycle: tb_store_create makes an empty database; tb_store_open gives a reader (read-only,
 * any number, one thread each) or the writer (one in all processes: it holds a lock on the file
 * itself, commits and checkpoints). A failed write leaves the transaction open: tb_store_rollback, then go on.
 *
 * Everything between tb_store_begin and tb_store_commit is atomic and durable once commit returned
 * TB_OK (WAL, synchronous=FULL). TB_E_GONE: the file is not where it was opened any more, and what the
 * transaction held may have gone with it; once the same file is back, writing goes on.
 *
 * Usage is kept per series: (scope, id, edge location), as chunks of 24 hours and of a month's
 * days. Scopes: a zone at one edge location, a zone, an account at one edge location, an account,
 * a load balancer. The all-locations series of a zone or account is left out while it has a single
 * location (readers never notice). */
#ifndef TOLLBOOK_STORE_H
#define TOLLBOOK_STORE_H

#include "tollbook/answer.h"
#include "tollbook/catalog.h"
#include "tollbook/key.h"
#include "tollbook/rollup.h"
#include "tollbook/series.h"
#include "tollbook/usageclient.h"

TB_API_BEGIN

#define TB_APPLICATION_ID 0x746f6c6c /* "toll" */

typedef struct tb_store tb_store;

typedef struct tb_store_options {
    bool write;
    const char *owner; /* writer: who holds the lock, for people ("serve 127.0.0.1:8080") */
    int cache_kib;     /* page cache; 0: 32 MiB for the writer, 8 MiB for a reader */
    const char *vfs;   /* SQLite VFS name; NULL: the default. Tests inject faults here */
    int64_t now_us;    /* recorded by migrations */
    const tb_usage_client *usage; /* counters lie there, from the first writer on that names it; NULL: in the
                                   * file. Lives as long as the store */
} tb_store_options; /* NULL in its place: all zero */

/* TB_E_IO where the file exists already. Makes FILE with the newest schema. */
TB_MUST_USE tb_code tb_store_create(const char *path, const tb_store_options *options,
                                    tb_error *err);
/* TB_E_NOT_OURS, TB_E_NEWER, TB_E_CORRUPT, TB_E_LOCKED (message names the holder), TB_E_LINKED (a
 * writer's file has a second name), TB_E_READ_ONLY, TB_E_IO. The writer migrates an older schema, in
 * one transaction. */
TB_MUST_USE tb_code tb_store_open(const char *path, const tb_store_options *options,
                                  tb_store **ret_store, tb_error *err);
/* A writer that names usage servers and has been there before opens without those that are away. What lies on them is not
 * answered (TB_E_AWAY), and no usage is taken, until this looks at them: by the writer, outside of a transaction. TB_E_AWAY:
 * one still is. TB_E_USAGE and others: one is not what it was, or another process has begun to write there, after which this one asks and
 * sends nothing any more: so a writer looks now and then. A reader learns from it whether the writer has looked. */
TB_MUST_USE tb_code tb_store_usage_look(tb_store *store, tb_error *err);
/* TB_E_GONE where the path leads to another file than the one that is open, or to none; for a writer
 * its -wal and -shm count too. *ret_links (may be NULL): how many names the file has, 1 as a rule. Costs
 * three stats; any thread, as long as the store is open. */
TB_MUST_USE tb_code tb_store_still_there(const tb_store *store, unsigned *ret_links, tb_error *err);
/* How many names the file had when it was opened, or at the writer's last commit; 1 as a rule. */
unsigned tb_store_links(const tb_store *store);
/* Another thread, lent to a writer. */
typedef struct tb_helper {
    /* Has the other thread call work(arg) and returns at once; false: it cannot. Never twice without
     * a wait between. */
    bool (*start)(void *ctx, void (*work)(void *arg), void *arg);
    void (*wait)(void *ctx); /* until that call has returned */
    void *ctx;
} tb_helper;
/* From here on large batches are written with its help; NULL: without. It is started and waited for
 * within calls that write. */
void tb_store_lend(tb_store *store, const tb_helper *helper);
/* The writer checkpoints. NULL is fine. */
void tb_store_close(tb_store *store);

/* --- writing --- */

/* One transaction: runs the function in it and commits; rolls back where either fails. */
typedef tb_code (*tb_store_change)(tb_store *store, void *ctx, tb_error *err);
TB_MUST_USE tb_code tb_store_write(tb_store *store, tb_store_change change, void *ctx,
                                   tb_error *err);
/* The same by hand, for what is written while an input is read. */
TB_MUST_USE tb_code tb_store_begin(tb_store *store, tb_error *err);
TB_MUST_USE tb_code tb_store_commit(tb_store *store, tb_error *err);
void tb_store_rollback(tb_store *store);
/* A mark inside a transaction, so that one bad batch of a group does not lose the others. Where it
 * could not be gone back to, the transaction is lost: marking and committing are TB_E_IO until it
 * is rolled back. */
TB_MUST_USE tb_code tb_store_mark(tb_store *store, tb_error *err);
TB_MUST_USE tb_code tb_store_keep_mark(tb_store *store, tb_error *err);
void tb_store_back_to_mark(tb_store *store);
/* Moves committed pages from the WAL into the file when the WAL has grown past its bound, or
 * always when `all`. A WAL that grew to twice the bound beside a reader is emptied by the first call after the reader has
 * ended. An error leaves the WAL as it is, and loses no data. */
void tb_store_checkpoint(tb_store *store, bool all);
/* Empties the WAL where it may still hold logs or refused lines that were dropped. */
void tb_store_scrub(tb_store *store);

typedef struct tb_hash128 {
    uint64_t high, low;
} tb_hash128;

typedef enum tb_batch_kind { TB_BATCH_LOG = 1, TB_BATCH_BUCKETS = 2 } tb_batch_kind;

/* A batch is known by its name: the id that a command line or a key of account 0 gave, or "account 7/ID" where a
 * key of account 7 gave it, so that ids of one account are nothing to another. */
#define TB_BATCH_ID_MAX   255
#define TB_BATCH_NAME_MAX (TB_BATCH_ID_MAX + 28)

/* One committed segment of an input: the bytes start..length of it. A small input is one segment.
 * hash is XXH3-128 over the first `length` decompressed bytes; head is the same over the first line
 * without its end, at most TB_HEAD bytes of it: it finds candidates cheaply, and does not change
 * when the input grows. */
#define TB_HEAD 4096
typedef struct tb_segment {
    tb_batch_kind kind;
    const char *name;   /* explicit batch id, or NULL: content decides */
    const char *source; /* where it came from, for people */
    uint64_t start, length;
    tb_hash128 hash, head;
    uint64_t lines_before;       /* lines of the input before this segment */
    uint64_t accepted, rejected; /* lines of this segment */
    uint64_t ambiguous;          /* of accepted: with columns that could not be told apart */
    uint64_t heads;              /* of accepted: lines that are no requests */
    bool final;                  /* the input ends here */
    int64_t now_us;
} tb_segment;

/* Adds what the cursor holds to all series it touches. May be called several times before
 * tb_store_add_segment, which then records their sum. TB_E_OVERFLOW: a counter is full. */
TB_MUST_USE tb_code tb_store_add_usage(tb_store *store, tb_rollup_cursor *cursor, tb_error *err);
/* Keeps a refused line (text cut to TB_REJECT_TEXT_MAX bytes; at most TB_REJECTS_KEPT a segment,
 * the rest only counted). Call before add_segment. What its zone's settings hide of addresses is
 * hidden before it is stored; all of it where the zone cannot be told. */
#define TB_REJECT_TEXT_MAX 2048
#define TB_REJECTS_KEPT 100000
typedef struct tb_refused {
    uint64_t line; /* from 1 over the whole input */
    uint32_t byte;
    const char *reason;
    const char *text;
    size_t len;
    int64_t zone; /* 0: it cannot be told */
} tb_refused;
TB_MUST_USE tb_code tb_store_add_reject(tb_store *store, const tb_refused *line, tb_error *err);
/* Refused lines by reason, of the newest TB_REJECTS_COUNTED that are kept: the most frequent reasons, at most
 * `most`, each with its newest line. What is given lives during the call. */
#define TB_REJECTS_COUNTED 20000
typedef struct tb_refused_kind {
    uint64_t lines;
    tb_refused newest; /* zone 0 */
} tb_refused_kind;
typedef void (*tb_refused_fn)(void *ctx, const tb_refused_kind *kind);
TB_MUST_USE tb_code tb_store_refused(tb_store *store, int64_t most, tb_refused_fn each, void *ctx,
                                     tb_error *err);
/* Where inputs came from, of the newest TB_SOURCES_SEGMENTS segments: at most `most` sources, that of the newest
 * segment first. What is given lives during the call. */
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
/* Codes of edge locations that have usage and that no region names, at most `most`, ascending. */
typedef void (*tb_code_fn)(void *ctx, const char *code);
TB_MUST_USE tb_code tb_store_unpriced_locations(tb_store *store, int64_t most, tb_code_fn each, void *ctx,
                                                tb_error *err);
/* Empties the text of refused lines that were taken in TB_REJECT_KEPT_US or longer before now_us, in
 * the caller's transaction; their place and reason stay. *ret_segments: of how many segments. Some: *room lines at
 * most, which it lessens by them: 0 left, and there may be more. */
#define TB_REJECT_KEPT_US (INT64_C(72) * 3600 * 1000000)
TB_MUST_USE tb_code tb_store_forget_some_rejects(tb_store *store, int64_t now_us, size_t *room, tb_error *err);
TB_MUST_USE tb_code tb_store_forget_rejects(tb_store *store, int64_t now_us, uint64_t *ret_segments,
                                            tb_error *err);
/* Lets go of what is too old at now_us, in the caller's transaction: request logs (logstore.h), shield events
 * (eventstore.h) and the text of refused lines. Segments of a log that go on from each other become one. Of each no more than there is room for: 0 is left of it where there may be more. SIZE_MAX: all. */
typedef struct tb_ageing {
    size_t log_blocks, event_blocks, texts, segments;
} tb_ageing;
TB_MUST_USE tb_code tb_store_drop_aged(tb_store *store, int64_t now_us, tb_ageing *room, tb_error *err);
/* New locations of zones and accounts are noted side by side until there are many, and then move to where each belongs.
 * In quiet hours these calls move them, a part in each transaction of the caller's. *ret_more false: none was left. */
TB_MUST_USE tb_code tb_store_place_series(tb_store *store, bool *ret_more, tb_error *err);
/* What others wait for: some of the work that what is stored makes of what comes is bounded, from here on.
 * An owner's second edge location begins with a copy of what its first one holds: tb_store_add_usage and
 * tb_store_add_packed may copy so many days, of which each such owner costs TB_COPY_COSTS more; then they say TB_E_TOO_LARGE, of
 * the field "copies", and all of the transaction, or since the mark, is to be undone. Kept lines join the short blocks before them
 * a thousand times at most, and are left as they came after that. 0: any. */
#define TB_COPY_COSTS 8
#define TB_JOINS_MOST 1000
void tb_store_bound_work(tb_store *store, size_t copies);
/* The hour of the newest usage that was added since the transaction's last segment; INT64_MIN: none was. */
int64_t tb_store_segment_newest(const tb_store *store);
TB_MUST_USE tb_code tb_store_add_segment(tb_store *store, const tb_segment *segment,
                                         int64_t *ret_segment_id, tb_error *err);

/* Known segments. name NULL: those whose head is `head` and kind is `kind`, whatever their name;
 * else those of the named batch. Ascending by (start, length). Free the array with free(). */
typedef struct tb_known {
    uint64_t start, length, lines; /* lines of the input up to length */
    uint64_t accepted, rejected;   /* of that segment */
    tb_hash128 hash;
    tb_batch_kind kind;
    bool final;
} tb_known;
TB_MUST_USE tb_code tb_store_known_by_head(tb_store *store, tb_batch_kind kind, tb_hash128 head,
                                           tb_known **ret_known, size_t *ret_n, tb_error *err);
/* The same by head, only those that start at byte `from` or behind it: what it costs does not grow with
 * the segments before. */
TB_MUST_USE tb_code tb_store_known_from(tb_store *store, tb_batch_kind kind, tb_hash128 head,
                                        uint64_t from, tb_known **ret_known, size_t *ret_n,
                                        tb_error *err);
/* Only those that start before byte `before`, the first TB_KNOWN_BEFORE of them. */
#define TB_KNOWN_BEFORE 1024 /* about as many as 64 KiB have lines */
TB_MUST_USE tb_code tb_store_known_before(tb_store *store, tb_batch_kind kind, tb_hash128 head, uint64_t before,
                                          tb_known **ret_known, size_t *ret_n, tb_error *err);
/* Whether a known segment with this head ends at byte `length`, after so many lines of its input. ret_start: where it
 * begins, which is earlier once others are folded into it; NULL: that is not asked. */
TB_MUST_USE tb_code tb_store_known_end(tb_store *store, tb_batch_kind kind, tb_hash128 head, uint64_t length,
                                       uint64_t lines, bool *ret_known, uint64_t *ret_start, tb_error *err);
TB_MUST_USE tb_code tb_store_known_by_name(tb_store *store, const char *name, tb_known **ret_known,
                                           size_t *ret_n, tb_error *err);
/* Whether a batch is known by a bare id that a key of this account gave: builds up to 1.1 stored it so. What a
 * token brought does not say of which account it was, and counts too. */
TB_MUST_USE tb_code tb_store_batch_is_bare(tb_store *store, const char *id, int64_t account, bool *ret_so,
                                           tb_error *err);

/* Rungs: hashes of an input's prefixes, at the first line end at or past 512 bytes and each doubling
 * of it. A shorter copy of a known log that ends between two segment ends is told by them. */
typedef struct tb_rung {
    uint64_t length;
    tb_hash128 hash; /* of the first `length` bytes, as a segment's */
} tb_rung;
/* In the caller's transaction, beside the segment that covers them. What is there already stays. */
TB_MUST_USE tb_code tb_store_add_rungs(tb_store *store, tb_hash128 head, const tb_rung *rungs,
                                       size_t n, tb_error *err);
/* Ascending by length. Free the array with free(). */
TB_MUST_USE tb_code tb_store_rungs_by_head(tb_store *store, tb_hash128 head, tb_rung **ret_rungs,
                                           size_t *ret_n, tb_error *err);

typedef struct tb_applied {
    size_t sellers_added; /* 0 or 1 */
    size_t accounts_added, zones_added, balancers_added, shields_added, regions;
    size_t containers_added; /* container applications, limits and registries */
    size_t changed;  /* things whose document differs from the stored one */
    size_t deleted;  /* things that the catalogue no longer names */
    size_t restored; /* things marked deleted that it names again */
    size_t adopted;  /* zones with usage that had no account until now */
    size_t rebilled; /* edge locations with usage that are billed as another region from now on */
    size_t unbooked; /* accounts whose contract names a price book that is not there in their currency */
} tb_applied;
/* X(NAME, what one is called, its list in a catalogue). What a catalogue declares and can stop to name. */
#define TB_DECLARED_KINDS(X)                                                                       \
    X(SELLER, "seller", "seller")                                                                  \
    X(ACCOUNT, "account", "accounts")                                                              \
    X(ZONE, "pull zone", "zones")                                                                  \
    X(BALANCER, "load balancer", "load_balancers")                                                 \
    X(SHIELD, "shield zone", "shield_zones")                                                       \
    X(REGISTRY, "registry", "registries")                                                          \
    X(APP, "container application", "container_apps")                                              \
    X(LIMITS, "container limit", "container_limits")                                               \
    X(REGION, "region", "regions")                                                                 \
    X(HOSTNAME, "hostname", "hostnames")

typedef enum tb_declared_kind {
#define TB_X(name, word, list) TB_DECLARED_##name,
    TB_DECLARED_KINDS(TB_X)
#undef TB_X
        TB_DECLARED_KIND_COUNT
} tb_declared_kind;

/* A thing that is declared now and that a catalogue does not name. */
typedef struct tb_unnamed {
    tb_declared_kind kind;
    int64_t id;   /* of a registry, an application or a limit: its account; of a hostname: its pull zone */
    tb_text name; /* of a registry or an application: its id; of a region: its code; may be empty */
} tb_unnamed;
/* Calls `each` for everything that applying the catalogue would delete, kind after kind, ascending; ret_live: how many
 * of each kind are declared now. A region counts where usage came from it or where it is not the built-in
 * one, a hostname where its zone stays. `each` leaves the store alone. */
TB_MUST_USE tb_code tb_store_unnamed(tb_store *store, const tb_catalog *catalog,
                                     void (*each)(void *ctx, const tb_unnamed *one), void *ctx,
                                     size_t ret_live[TB_DECLARED_KIND_COUNT], tb_error *err);
/* Makes the stored catalogue equal to this one, in the caller's transaction. Idempotent.
 * TB_E_CATALOG: a zone or balancer would change its account. */
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

/* Grows with every commit that changed what answers and bills are made of; survives restarts. */
TB_MUST_USE tb_code tb_store_version(tb_store *store, uint64_t *ret_version, tb_error *err);

/* TB_E_NOT_FOUND, with what to do, where there is no such account. */
TB_MUST_USE tb_code tb_store_need_account(tb_store *store, int64_t account, tb_error *err);
TB_MUST_USE tb_code tb_store_account_exists(tb_store *store, int64_t account, bool *ret_exists,
                                            tb_error *err);
/* Whose figures: an account's, one of its zones', at all locations or at one region. */
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
/* What intake looks up of the catalogue. It never changes: any thread may read it. */
typedef struct tb_directory {
    const tb_known_edge *edges; /* the codes that regions have, ascending, ranked by their prices */
    size_t n_edges;
    const struct tb_known_hosts *hosts;   /* of the zones that are there, the system's own among them;
                                           * NULL: nobody asked for them */
    const struct tb_logged_zones *logged; /* the zones that keep their lines; NULL: there is none */
    const struct tb_logged_zones *ever_logged; /* those that may ever have kept lines, with all columns; NULL: none */
} tb_directory;
/* Borrowed: good until the catalogue changes or the transaction is undone; retained, until it is
 * released. While the catalogue of a writer stays, it is the same directory at each call, but for the
 * first one that asks for hosts. */
TB_MUST_USE tb_code tb_store_directory(tb_store *store, bool hosts,
                                       const tb_directory **ret_directory, tb_error *err);
const tb_directory *tb_directory_retain(const tb_directory *directory); /* the same */
void tb_directory_release(const tb_directory *directory);               /* NULL is fine */
TB_MUST_USE tb_code tb_store_keys(tb_store *store, tb_key **ret_keys, size_t *ret_n,
                                  tb_error *err); /* ascending by id, revoked too; free() */
/* An account's valid keys, ascending by id: `limit` of them past the first `skip`, and how many there
 * are. free(). */
TB_MUST_USE tb_code tb_store_account_keys(tb_store *store, int64_t account, int64_t skip,
                                          int64_t limit, tb_key **ret_keys, size_t *ret_n,
                                          int64_t *ret_total, tb_error *err);

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

/* Re-sums and re-checks everything stored. Calls say (may be NULL) with a sentence per difference
 * found. TB_OK also when differences were found: they are counted in *ret_differences. */
typedef void (*tb_say)(void *ctx, const char *sentence);
TB_MUST_USE tb_code tb_store_verify(tb_store *store, tb_say say, void *ctx,
                                    uint64_t *ret_differences, tb_error *err);
/* One digest over all that only grows (ledger, invoices, inputs, books, what was declared, keys), to
 * be kept elsewhere: who edits the file and makes every seal and chain fit again is found by it. A
 * word of hexadecimal digits and hyphens, terminated. Any reader can make it. */
#define TB_ANCHOR_MAX 384
TB_MUST_USE tb_code tb_store_anchor(tb_store *store, char ret_digest[TB_ANCHOR_MAX], tb_error *err);
/* Whether all that an anchor covered is there and as it was; what was added since is no difference.
 * Differences as in tb_store_verify. TB_E_VALIDATION: no digest. */
TB_MUST_USE tb_code tb_store_verify_against(tb_store *store, const char *digest, tb_say say,
                                            void *ctx, uint64_t *ret_differences, tb_error *err);
/* TB_E_VALIDATION where it is no digest that this version can check. */
TB_MUST_USE tb_code tb_anchor_check(const char *digest, tb_error *err);
/* What a copy must pass: like tb_store_verify, or more than it (a bill can be rated again only by
 * who knows billing). Counts differences in *ret_differences and is TB_OK also if there are some. */
typedef tb_code (*tb_check)(tb_store *store, tb_say say, void *ctx, uint64_t *ret_differences,
                            tb_error *err);
/* How far it is: pages copied of all; then, while the copy is checked, pages read (total 0). */
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

/* From any thread: a query under way ends as soon as SQLite looks, with TB_E_STOPPED. It looks
 * between steps, so not within a single long call of a function. */
void tb_store_interrupt(tb_store *store);
/* From now on `stops` is called now and then while the store reads or writes; once it says other
 * than 0 that fails with TB_E_BUSY. NULL: no more. */
void tb_store_watch(tb_store *store, int (*stops)(void *ctx), void *ctx);
/* Pages that were read from the file since it was opened: how far a long reading is. */
uint64_t tb_store_pages_read(const tb_store *store);
/* SQLite's memory in this process, all stores together, may not pass bytes; TB_E_NOMEM where it
 * would. Before the first store is opened, from the only thread. */
void tb_store_bound_memory(int64_t bytes);

TB_API_END

#endif
