/* Upgrades cut off: a database of each earlier schema (fixtures/db) is opened by the newest writer
 * while operations of the file system fail, once, for lack of room, or with the power gone. What is
 * left is the old file with all it held, or the new one, and nothing between; the next writer makes
 * of it what an undisturbed upgrade makes. In the long form every schema and each operation is tried, else the
 * oldest schema, the newest earlier one and one that the seed draws, and some operations (workload_takes). */
#include "fault/faultvfs.h"
#include "fault/workload.h"
#include "seed.h"
#include "store/core/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL_STRIDE   40  /* of the first schema, which takes every step */
#define SHORT_STRIDE 160 /* of the others, which take the last of these */
#define TEXT_MAX     (1 << 20)

static const struct {
    const char *what;
    fault_mode mode;
} kinds[] = {
    {"an error", FAULT_ERROR_ONCE}, {"a full disk", FAULT_FULL_ON}, {"a power cut", FAULT_POWER}};

/* What a file holds: its schema's number and a hash over it and every row. */
typedef struct content {
    int64_t version;
    uint64_t digest;
} content;

typedef struct upgrade {
    int version;
    char path[64];
    char *file; /* as its own tollbook left it */
    size_t len;
    content old, done;
} upgrade;

/* --- files --- */

/* NULL: there is none of that name. The caller frees. */
static char *read_whole(const char *path, size_t *ret_len)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *bytes = malloc(2 * TEXT_MAX);
    REQUIRE(bytes, "no memory");
    *ret_len = fread(bytes, 1, 2 * TEXT_MAX - 1, f);
    bytes[*ret_len] = 0;
    REQUIRE(*ret_len < 2 * TEXT_MAX - 1, "%s is too large for this test", path);
    fclose(f);
    return bytes;
}

static void write_whole(const upgrade *u)
{
    workload_remove(u->path);
    FILE *f = fopen(u->path, "wb");
    REQUIRE(f && fwrite(u->file, 1, u->len, f) == u->len && fclose(f) == 0, "%s", u->path);
}

static sqlite3 *open_plain(const char *path)
{
    sqlite3 *db;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    REQUIRE(sqlite3_open_v2(path, &db, flags, "unix") == SQLITE_OK, "%s", path);
    return db;
}

static void run_sql(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    REQUIRE(sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK, "%s", why);
}

static int add_row(void *digest, int n, char **cells, char **names)
{
    uint64_t *d = digest; /* FNV-1a */
    (void)names;
    for (int i = 0; i < n; i++)
        for (const char *p = cells[i] ? cells[i] : "\1";; p++) {
            *d = (*d ^ (unsigned char)*p) * UINT64_C(1099511628211);
            if (!*p) break;
        }
    return 0;
}

static int add_table(void *ctx, int n, char **cells, char **names)
{
    (void)n, (void)names;
    sqlite3 *db = ((void **)ctx)[0];
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT * FROM \"%s\"", cells[0]);
    return sqlite3_exec(db, sql, add_row, ((void **)ctx)[1], NULL);
}

static int read_number(void *number, int n, char **cells, char **names)
{
    (void)n, (void)names;
    *(int64_t *)number = strtoll(cells[0], NULL, 10);
    return 0;
}

static content content_of(const char *path)
{
    content c = {.digest = UINT64_C(14695981039346656037)};
    sqlite3 *db = open_plain(path);
    void *both[] = {db, &c.digest};
    bool ok = sqlite3_exec(db, "PRAGMA user_version", read_number, &c.version, NULL) == SQLITE_OK &&
              sqlite3_exec(db, "SELECT type,name,sql FROM sqlite_schema ORDER BY 1,2", add_row,
                           &c.digest, NULL) == SQLITE_OK &&
              sqlite3_exec(db, "SELECT name FROM sqlite_schema WHERE type='table' ORDER BY 1",
                           add_table, both, NULL) == SQLITE_OK;
    REQUIRE(ok, "%s: %s", path, sqlite3_errmsg(db));
    sqlite3_close(db);
    return c;
}

static bool same(content a, content b)
{
    return a.version == b.version && a.digest == b.digest;
}

/* --- upgrading --- */

static tb_code upgrade_file(const char *path, tb_error *err)
{
    const tb_store_options writer = {.write = true, .owner = "test", .vfs = FAULT_VFS};
    tb_store *store = NULL;
    tb_code code = tb_store_open(path, &writer, &store, err);
    tb_store_close(store);
    return code;
}

static void verify_file(const char *path, int version)
{
    const tb_store_options reader = {.vfs = FAULT_VFS};
    tb_store *store = NULL;
    tb_error err = {0};
    uint64_t differences = 0;
    tb_code code = tb_store_open(path, &reader, &store, &err);
    if (!code) code = tb_store_verify(store, NULL, NULL, &differences, &err);
    REQUIRE(!code && differences == 0, "schema %d upgraded: %llu differences; %s", version,
            (unsigned long long)differences, err.message);
    tb_store_close(store);
}

static void name_fixture(char out[512], int version)
{
    const char *source = getenv("TB_SOURCE");
    snprintf(out, 512, "%.400s/fixtures/db/v%d.sql", source ? source : ".", version);
}

/* false: there is no file of this schema (some came together with the next). */
static bool load(upgrade *u)
{
    char name[512];
    size_t len;
    name_fixture(name, u->version);
    char *sql = read_whole(name, &len);
    if (!sql) return false;
    workload_remove(u->path);
    sqlite3 *db = open_plain(u->path);
    run_sql(db, sql);
    run_sql(db, "PRAGMA journal_mode=WAL");
    REQUIRE(sqlite3_close(db) == SQLITE_OK, "%s", name);
    free(sql);
    u->file = read_whole(u->path, &u->len);
    u->old = content_of(u->path);
    REQUIRE(u->old.version == u->version, "%s has another schema", name);
    return true;
}

/* An undisturbed upgrade; its operations, as this kind of fault counts them. */
static uint64_t upgrade_undisturbed(upgrade *u, fault_mode mode)
{
    tb_error err = {0};
    write_whole(u);
    fault_arm(mode, 0, 0);
    REQUIRE(!upgrade_file(u->path, &err), "schema %d: %s", u->version, err.message);
    uint64_t operations = fault_operations();
    fault_arm(FAULT_NONE, 0, 0);
    verify_file(u->path, u->version);
    u->done = content_of(u->path);
    REQUIRE(u->done.version == tb__schema_version, "schema %d is not upgraded", u->version);
    return operations;
}

static void upgrade_disturbed(const upgrade *u, fault_mode mode, uint64_t at, uint64_t seed)
{
    tb_error err = {0};
    int status = 0;
    fflush(NULL);
    pid_t child = fork(); /* the power goes with its process */
    REQUIRE(child >= 0, "fork");
    if (child == 0) {
        fault_arm(mode, at, seed);
        tb_code code = upgrade_file(u->path, &err);
        bool expected = !code || code == TB_E_IO || code == TB_E_DISK_FULL;
        if (!expected || (code && !strstr(err.message, u->path)))
            fprintf(stderr, "%s: %s\n", tb_code_name(code), err.message);
        _exit(expected ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == FAULT_EXIT),
            "schema %d, operation %llu (seed %llu): another failure", u->version,
            (unsigned long long)at, (unsigned long long)seed);
}

static void check_after(const upgrade *u, const char *what, uint64_t at, uint64_t seed)
{
    tb_error err = {0};
    content left = content_of(u->path);
    REQUIRE(same(left, u->old) || same(left, u->done),
            "schema %d, %s at operation %llu (seed %llu): schema %lld is left, neither the old file "
            "nor the new one",
            u->version, what, (unsigned long long)at, (unsigned long long)seed,
            (long long)left.version);
    REQUIRE(!upgrade_file(u->path, &err), "schema %d, after %s at operation %llu: %s", u->version,
            what, (unsigned long long)at, err.message);
    REQUIRE(same(content_of(u->path), u->done), "schema %d, after %s at operation %llu: another file",
            u->version, what, (unsigned long long)at);
}

/* The newest earlier schema that there is a file of. */
static int newest_earlier(void)
{
    char name[512];
    int version = tb__schema_version;
    do
        name_fixture(name, --version);
    while (version > 1 && access(name, R_OK) != 0);
    return version;
}

static void try_all(upgrade *u, uint64_t seed)
{
    const unsigned stride = u->version == 1 ? ALL_STRIDE : SHORT_STRIDE;
    /* A sanitizer sees the same code in each kind, and in the first schema's faults all others'. */
    const bool sanitized = workload_stride() > 1;
    for (size_t k = 0; k < (sanitized ? 1 : sizeof kinds / sizeof *kinds); k++) {
        uint64_t total = upgrade_undisturbed(u, kinds[k].mode), points = 0;
        if (sanitized && u->version > 1) continue;
        for (uint64_t at = 1; at <= total; at++) {
            if (!workload_takes(at, total, stride, seed + k)) continue;
            points++;
            write_whole(u);
            upgrade_disturbed(u, kinds[k].mode, at, seed + at);
            check_after(u, kinds[k].what, at, seed + at);
        }
        printf("schema %d, %s: %llu of %llu operations, the old file or the new one\n", u->version,
               kinds[k].what, (unsigned long long)points, (unsigned long long)total);
    }
}

int main(void)
{
    upgrade u = {.version = 1};
    const uint64_t seed = test_seed();
    const int last = newest_earlier(), drawn = 2 + (int)(seed % (uint64_t)(last - 2));
    int tried = 0;
    fault_register();
    workload_folder(u.path);
    for (; u.version < tb__schema_version; u.version++) {
        const bool wanted = test_long() || u.version == 1 || u.version == drawn || u.version == last;
        if (!wanted || !load(&u)) continue;
        try_all(&u, seed + (uint64_t)u.version);
        free(u.file);
        tried++;
    }
    REQUIRE(tried >= (test_long() ? 10 : 2), "there are files of %d earlier schemas", tried);
    workload_remove_folder(u.path);
    return 0;
}
