/* Pieces: what makes one, what does not, the chain, trimming, and copies that do not fit. Whole files are replayed by
 * fault_replay. */
#include "store_fixture.h"
#include "store/core/sealed.h"
#include "store/replica/capture.h"
#include "tollbook/replica.h"

#define HOUR 498600 /* 2026-11-18T00:00 */

static const char catalog[] = "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],\"zones\":[{\"id\":101,\"account\":1,\"name\":\"a\"}]}";

static fixture f;

static tb_code switch_on(tb_store *store, void *ctx, tb_error *err)
{
    (void)ctx;
    return tb_store_replicate(store, NOW_US, err);
}

static tb_code switch_off(tb_store *store, void *ctx, tb_error *err)
{
    (void)ctx;
    return tb_store_replicate_end(store, err);
}

static tb_replication state(tb_store *store)
{
    tb_error err = {0};
    tb_replication now;
    ok(tb_store_replication(store, &now, &err));
    return now;
}

static void begin(void)
{
    tb_error err = {0};
    fixture_init_in_file(&f);
    ok(tb_store_write(f.store, switch_on, NULL, &err));
    fixture_apply(&f, catalog, NOW_US, NULL);
}

static void end(void)
{
    fixture_release(&f);
}

static void add(uint64_t number)
{
    const tb_row row = row_of(101, "DE", HOUR, TB_M_BYTES, 1000 + number);
    fixture_add(&f, &row, 1, number);
}

/* Keeps the pieces that are read; data of the first `n`. */
typedef struct kept {
    size_t n;
    tb_piece piece[16];
    char data[16][8192];
} kept;

static bool keep(void *ctx, const tb_piece *piece)
{
    kept *k = ctx;
    ck_assert_uint_le(piece->len, sizeof k->data[0]);
    k->piece[k->n] = *piece;
    memcpy(k->data[k->n], piece->data, piece->len);
    k->piece[k->n].data = k->data[k->n];
    return ++k->n < 16;
}

static void read_after(int64_t after, kept *ret)
{
    tb_error err = {0};
    ret->n = 0;
    ok(tb_store_pieces(f.store, after, keep, ret, &err));
}

START_TEST(each_commit_that_changes_something_is_a_piece)
{
    tb_error err = {0};
    ck_assert_int_eq(state(f.store).last.number, 2); /* the beginning, and the catalogue */
    add(1);
    ck_assert_int_eq(state(f.store).last.number, 3);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_int_eq(state(f.store).last.number, 3);
    ok(tb_store_begin(f.store, &err));
    const tb_row row = row_of(101, "DE", HOUR, TB_M_BYTES, 7);
    ok(add_rows(&f, &row, 1, &err));
    tb_store_rollback(f.store);
    add(2);
    ck_assert_int_eq(state(f.store).last.number, 4);
    kept k;
    read_after(1, &k);
    ck_assert_uint_eq(k.n, 3);
    for (size_t i = 1; i < k.n; i++)
        ck_assert(tb_piece_follows(&k.piece[i], &k.piece[i - 1]));
    k.data[1][0] ^= 1;
    ck_assert(!tb_piece_follows(&k.piece[1], &k.piece[0]));
    ck_assert(!tb_piece_follows(&k.piece[2], &k.piece[0]));
}
END_TEST

/* A file opened again goes on with its chain. */
START_TEST(replication_is_the_files)
{
    const tb_replication before = state(f.store);
    tb_store_close(f.store);
    fixture_open(&f, true);
    add(1);
    const tb_replication after = state(f.store);
    ck_assert_int_eq(after.last.number, before.last.number + 1);
    ck_assert_int_eq(after.last.at_us, NOW_US);
    tb_error err = {0};
    ok(tb_store_write(f.store, switch_off, NULL, &err));
    ck_assert_int_eq(state(f.store).last.number, 0);
    add(2);
    ck_assert_int_eq(state(f.store).last.number, 0);
    fixture_verify(&f);
    /* Copies of the earlier chain meet a higher epoch, and not their own. */
    ok(tb_store_write(f.store, switch_on, NULL, &err));
    ck_assert_int_eq(state(f.store).last.epoch, after.last.epoch + 1);
    fixture_verify(&f);
}
END_TEST

START_TEST(what_is_undone_is_in_no_piece)
{
    tb_error err = {0};
    kept alone, beside;
    static const char count[] = "UPDATE head SET n=n+1 WHERE name='edge'";
    const tb_row one = row_of(101, "DE", HOUR, TB_M_BYTES, 5), other = row_of(101, "NY", HOUR, TB_M_BYTES, 9);
    tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1, .hash = {1, 1}, .head = {1, 1}, .accepted = 1,
                          .final = true, .now_us = NOW_US};
    for (int undone = 0; undone < 2; undone++) {
        ok(tb_store_begin(f.store, &err));
        ok(add_rows(&f, &one, 1, &err));
        ok(tb_store_add_segment(f.store, &segment, NULL, &err));
        edit(f.store->db, count);
        ok(tb_store_mark(f.store, &err));
        if (undone) {
            edit(f.store->db, count); /* the entry before it is not the undone job's */
            segment.hash.low = 2;
            ok(add_rows(&f, &other, 1, &err));
            ok(tb_store_add_segment(f.store, &segment, NULL, &err));
            tb_store_back_to_mark(f.store);
        } else {
            ok(tb_store_keep_mark(f.store, &err));
        }
        ok(tb_store_commit(f.store, &err));
        read_after(2, undone ? &beside : &alone);
        end();
        begin();
        segment.hash.low = 1;
    }
    ck_assert_uint_eq(alone.n, 1);
    ck_assert_uint_eq(beside.n, 1);
    ck_assert_uint_eq(alone.piece[0].len, beside.piece[0].len);
    ck_assert_int_eq(memcmp(alone.data[0], beside.data[0], alone.piece[0].len), 0);
}
END_TEST

START_TEST(old_pieces_are_trimmed)
{
    tb_error err = {0};
    bool more = false;
    for (uint64_t i = 1; i <= 6; i++)
        add(i);
    const tb_replication all = state(f.store);
    ck_assert_int_eq(all.first, 1);
    kept k;
    read_after(0, &k);
    int64_t newest_three = 0;
    for (size_t i = k.n - 3; i < k.n; i++)
        newest_three += (int64_t)k.piece[i].len;
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_trim_pieces(f.store, 0, newest_three, 2, &more, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert(more);
    ck_assert_int_eq(state(f.store).first, 3);
    ok(tb_store_begin(f.store, &err));
    ok(tb_store_trim_pieces(f.store, 0, newest_three, 100, &more, &err));
    ok(tb_store_commit(f.store, &err));
    const tb_replication now = state(f.store);
    ck_assert(!more);
    ck_assert_int_eq(now.first, all.last.number - 2);
    ck_assert_int_eq(now.bytes, newest_three);
    ck_assert_int_eq(now.last.number, all.last.number);
    ck_assert_int_eq(tb_store_pieces(f.store, 2, keep, &k, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_store_pieces(f.store, all.last.number + 1, keep, &k, &err), TB_E_NOT_FOUND);
    ok(tb_store_begin(f.store, &err)); /* all are older: the newest stays */
    ok(tb_store_trim_pieces(f.store, NOW_US + 1, INT64_MAX, 100, &more, &err));
    ok(tb_store_commit(f.store, &err));
    ck_assert_int_eq(state(f.store).first, all.last.number);
    fixture_verify(&f);
}
END_TEST

START_TEST(a_copy_takes_what_follows_alone)
{
    tb_error err = {0};
    fixture copy = f;
    kept k;
    snprintf(copy.path, sizeof copy.path, "%.80s/copy.db", f.folder);
    ok(tb_store_backup(f.store, copy.path, NULL, NULL, NULL, &err));
    add(1);
    add(2);
    read_after(2, &k);
    fixture_open(&copy, true);
    ck_assert_int_eq(tb_store_apply_piece(copy.store, &k.piece[1], &err), TB_E_DIFFERENT); /* one is missing */
    k.data[0][k.piece[0].len / 2] ^= 4;
    ck_assert_int_eq(tb_store_apply_piece(copy.store, &k.piece[0], &err), TB_E_DIFFERENT);
    k.data[0][k.piece[0].len / 2] ^= 4;
    k.data[1][k.piece[1].len / 2] ^= 4;
    ck_assert_int_eq(tb_store_apply_pieces(copy.store, k.piece, 2, &err), TB_E_DIFFERENT); /* all or none */
    ck_assert_int_eq(state(copy.store).last.number, 2);
    k.data[1][k.piece[1].len / 2] ^= 4;
    ok(tb_store_apply_piece(copy.store, &k.piece[0], &err));
    ok(tb_store_apply_piece(copy.store, &k.piece[0], &err)); /* again: nothing */
    ok(tb_store_apply_pieces(copy.store, k.piece, 2, &err)); /* one that it has, and the next one */
    const tb_replication ours = state(f.store), theirs = state(copy.store);
    ck_assert_int_eq(memcmp(ours.last.chain, theirs.last.chain, TB_PIECE_CHAIN), 0);
    ck_assert_int_eq(theirs.last.number, 4);
    ck_assert_uint_eq(total_of(&copy, (tb_view){1, TB_ALL, TB_ALL}, (tb_range){HOUR / 24, 1, false}, TB_M_BYTES), 2003);
    fixture_verify(&copy);
    uint64_t differences = 0;
    edit(copy.store->db, "DROP TRIGGER piece_no_update; UPDATE piece SET at_us=at_us+1 WHERE id=3");
    ok(tb_store_verify(copy.store, NULL, NULL, &differences, &err));
    ck_assert_uint_gt(differences, 1); /* the trigger, and the chain */
    edit(copy.store->db, "UPDATE piece SET at_us=at_us-1 WHERE id=3");
    /* A copy whose rows are others is none any more. */
    edit(copy.store->db, "UPDATE meta SET name='data_versions' WHERE name='data_version'");
    add(3);
    read_after(4, &k);
    ck_assert_int_eq(tb_store_apply_piece(copy.store, &k.piece[0], &err), TB_E_DIFFERENT);
    ck_assert_ptr_nonnull(strstr(err.message, "table meta"));
    tb_store_close(copy.store);
    unlink(copy.path);
}
END_TEST

static tb_code add_key(tb_store *store, void *ctx, tb_error *err)
{
    tb_key key = {.account = 1, .roles = 1, .revoked_us = INT64_MAX, .hash = {7}};
    (void)ctx;
    return tb_store_key_add(store, &key, err);
}

static tb_code trim(tb_store *store, void *ctx, tb_error *err)
{
    return tb_store_trim_pieces(store, INT64_MAX, 0, INT64_MAX, ctx, err);
}

/* Opened as a copy, a file takes pieces and lets them be trimmed, and nothing else. */
START_TEST(a_copy_is_changed_by_pieces_alone)
{
    tb_error err = {0};
    const tb_store_options as_copy = {.write = true, .copy = true, .now_us = NOW_US};
    char path[128];
    tb_store *copy;
    bool more;
    kept k;
    snprintf(path, sizeof path, "%.80s/copy.db", f.folder);
    ok(tb_store_backup(f.store, path, NULL, NULL, NULL, &err));
    add(1);
    ok(tb_store_write(f.store, add_key, NULL, &err));
    read_after(2, &k);
    ok(tb_store_open(path, &as_copy, &copy, &err));
    ck_assert_int_eq(tb_store_write(copy, add_key, NULL, &err), TB_E_REPLICA_READ_ONLY);
    ok(tb_store_apply_piece(copy, &k.piece[0], &err));
    ck_assert(!tb_store_applied_keys(copy));
    ok(tb_store_apply_piece(copy, &k.piece[1], &err));
    ck_assert(tb_store_applied_keys(copy));
    ck_assert_int_eq(tb_store_write(copy, switch_off, NULL, &err), TB_E_REPLICA_READ_ONLY);
    ok(tb_store_write(copy, trim, &more, &err));
    const tb_replication ours = state(f.store), theirs = state(copy);
    ck_assert_int_eq(memcmp(ours.last.chain, theirs.last.chain, TB_PIECE_CHAIN), 0);
    ck_assert_int_eq(theirs.first, theirs.last.number);
    tb_store_close(copy);
    unlink(path);
}
END_TEST

static tb_store *open_copy(const char *path)
{
    const tb_store_options options = {.write = true, .copy = true, .now_us = NOW_US};
    tb_error err = {0};
    tb_store *copy;
    ok(tb_store_open(path, &options, &copy, &err));
    return copy;
}

static void close_copy(tb_store *copy, const char *path)
{
    fixture made = f;
    snprintf(made.path, sizeof made.path, "%s", path);
    made.store = copy;
    fixture_verify(&made);
    tb_store_close(copy);
    unlink(path);
}

static void refuse_writer(const char *path, tb_code expected)
{
    tb_error err = {0};
    tb_store *store;
    ck_assert_int_eq(tb_store_open(path, &(tb_store_options){.write = true}, &store, &err), expected);
}

/* A file that has taken a piece is marked until it is promoted. Its backups are not. */
START_TEST(a_copy_is_known_by_itself)
{
    tb_error err = {0};
    char path[128], backup[128];
    int64_t epoch;
    tb_piece last;
    kept k;
    snprintf(path, sizeof path, "%.80s/copy.db", f.folder);
    snprintf(backup, sizeof backup, "%.80s/backup.db", f.folder);
    ok(tb_store_backup(f.store, path, NULL, NULL, NULL, &err));
    add(1);
    add(2);
    read_after(2, &k);
    tb_store *copy = open_copy(path);
    ck_assert_int_eq(tb_store_apply_pieces(copy, &k.piece[1], 1, &err), TB_E_DIFFERENT);
    ck_assert(!state(copy).copied); /* a piece that does not follow changes nothing */
    ok(tb_store_apply_pieces(copy, k.piece, k.n, &err));
    ck_assert(state(copy).copied && !state(f.store).copied);
    ok(tb_store_backup(copy, backup, NULL, NULL, NULL, &err));
    tb_store_close(copy);
    refuse_writer(path, TB_E_REPLICA_READ_ONLY);
    ok(tb_store_open(backup, &(tb_store_options){.write = true}, &copy, &err));
    ok(tb_store_write(copy, add_key, NULL, &err));
    tb_store_close(copy);
    unlink(backup);
    ok(tb_store_backup_base(f.store, backup, NULL, NULL, &last, &err));
    ok(tb_store_mark_base(backup, &err));
    refuse_writer(backup, TB_E_REPLICA_READ_ONLY);
    unlink(backup);
    copy = open_copy(path);
    ok(tb_store_promote(copy, "b", &epoch, &err));
    ck_assert(!state(copy).copied);
    tb_store_close(copy);
    ok(tb_store_open(path, &(tb_store_options){.write = true}, &copy, &err));
    close_copy(copy, path);
}
END_TEST

/* Reading the catalogue costs more than applying a piece. */
START_TEST(a_copy_reads_the_catalogue_again_only_after_pieces_of_it)
{
    tb_error err = {0};
    const tb_store_options as_copy = {.write = true, .copy = true, .now_us = NOW_US};
    const tb_directory *before, *after;
    char path[128];
    tb_store *copy;
    kept k;
    snprintf(path, sizeof path, "%.80s/copy.db", f.folder);
    ok(tb_store_backup(f.store, path, NULL, NULL, NULL, &err));
    add(1);
    fixture_apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],\"zones\":[{\"id\":102,\"account\":1,\"name\":\"b\"}]}", NOW_US, NULL);
    read_after(2, &k);
    ok(tb_store_open(path, &as_copy, &copy, &err));
    ok(tb_store_directory(copy, true, &before, &err));
    before = tb_directory_retain(before);
    ok(tb_store_apply_piece(copy, &k.piece[0], &err));
    ok(tb_store_directory(copy, true, &after, &err));
    ck_assert_ptr_eq(before, after);
    ok(tb_store_apply_piece(copy, &k.piece[1], &err));
    ok(tb_store_directory(copy, true, &after, &err));
    ck_assert_ptr_nonnull(tb_logged_find(after->logged, 102));
    tb_directory_release(before);
    tb_store_close(copy);
    unlink(path);
}
END_TEST

START_TEST(pieces_are_bytes_and_again_pieces)
{
    tb_error err = {0};
    kept k;
    tb_buf bytes;
    tb_piece piece;
    size_t at = 0, len;
    add(1);
    add(2);
    read_after(1, &k);
    tb_buf_init(&bytes, 1 << 20, NULL);
    for (size_t i = 0; i < k.n; i++)
        tb_piece_put(&k.piece[i], &bytes);
    for (size_t i = 0; i < k.n; i++, at += len) {
        for (size_t cut = 0; cut < TB_PIECE_HEAD + k.piece[i].len; cut += 7) {
            ok(tb_piece_read(bytes.data + at, cut, &piece, &len, &err));
            ck_assert_uint_eq(len, 0);
        }
        ok(tb_piece_read(bytes.data + at, bytes.len - at, &piece, &len, &err));
        ck_assert_uint_eq(len, TB_PIECE_HEAD + k.piece[i].len);
        ck_assert(i == 0 || tb_piece_follows(&piece, &k.piece[i - 1]));
        ck_assert_int_eq(piece.at_us, k.piece[i].at_us);
        ck_assert_int_eq(piece.version, k.piece[i].version);
    }
    ck_assert_uint_eq(at, bytes.len);
    bytes.data[3] ^= 1;
    ck_assert_int_eq(tb_piece_read(bytes.data, bytes.len, &piece, &len, &err), TB_E_CORRUPT);
    bytes.data[3] ^= 1;
    bytes.data[47] = 1;
    ck_assert_int_eq(tb_piece_read(bytes.data, bytes.len, &piece, &len, &err), TB_E_CORRUPT);
    tb_buf_release(&bytes);
}
END_TEST

START_TEST(a_base_is_a_copy_with_its_pieces)
{
    tb_error err = {0};
    fixture copy = f;
    tb_piece last;
    add(1);
    snprintf(copy.path, sizeof copy.path, "%.80s/base.db", f.folder);
    ok(tb_store_backup_base(f.store, copy.path, NULL, NULL, &last, &err));
    ck_assert_int_eq(tb_store_backup_base(f.store, copy.path, NULL, NULL, &last, &err), TB_E_IO); /* it is there */
    fixture_open(&copy, false);
    ck_assert_int_eq(state(copy.store).first, state(f.store).first);
    ck_assert_int_eq(state(copy.store).last.number, last.number);
    fixture_verify(&copy);
    tb_store_close(copy.store);
    unlink(copy.path);
}
END_TEST

/* The file as a tollbook of schema 30 left it. */
static void make_older(const char *path)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    edit(db, "DROP TABLE standby; DROP TABLE proof_tile; DROP TABLE proof_entry; DROP TABLE proof_change; DROP TABLE proof_late; DROP TABLE proof_checkpoint;"
             "DELETE FROM head WHERE name='standby' OR name LIKE 'proof%';"
             "UPDATE head SET n=n-2,seals=(seals-(SELECT sum(seal&" TB__SEAL_MASK ") FROM meta WHERE name IN('superseded','proof_open')))&"
             TB__SEAL_MASK " WHERE name='meta'; DELETE FROM meta WHERE name IN('superseded','proof_open');"
             "PRAGMA user_version=30; PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite3_close(db);
}

/* The file and its copy, both of schema 30; the copy is open, the file is not. */
static tb_store *two_older(char path[128])
{
    tb_error err = {0};
    add(1);
    snprintf(path, 128, "%.80s/copy.db", f.folder);
    ok(tb_store_backup(f.store, path, NULL, NULL, NULL, &err));
    tb_store_close(f.store);
    make_older(f.path);
    make_older(path);
    tb_store *copy = open_copy(path);
    ck_assert_int_eq(tb_store_schema_of(copy), 30);
    return copy;
}

START_TEST(a_copy_takes_the_upgrade_of_its_primary)
{
    char path[128];
    tb_error err = {0};
    kept k;
    tb_store *copy = two_older(path);
    fixture_open(&f, true); /* upgrades it */
    add(2);
    read_after(state(copy).last.number, &k);
    ck_assert_uint_eq(k.n, 2);
    ok(tb_store_apply_piece(copy, &k.piece[0], &err));
    ck_assert_int_eq(tb_store_schema_of(copy), tb_store_schema());
    ok(tb_store_apply_piece(copy, &k.piece[1], &err));
    ck_assert_mem_eq(state(copy).last.chain, state(f.store).last.chain, TB_PIECE_CHAIN);
    ck_assert_int_eq(tb_store_write(copy, add_key, NULL, &err), TB_E_REPLICA_READ_ONLY);
    close_copy(copy, path);
}
END_TEST

START_TEST(a_promoted_copy_is_upgraded_and_commits)
{
    char path[128];
    tb_error err = {0};
    int64_t epoch;
    tb_store *copy = two_older(path);
    const tb_replication before = state(copy);
    ok(tb_store_promote(copy, "b", &epoch, &err));
    ck_assert_int_eq(epoch, before.last.epoch + 1);
    ck_assert_int_eq(tb_store_schema_of(copy), tb_store_schema());
    ok(tb_store_write(copy, add_key, NULL, &err));
    const tb_replication after = state(copy);
    ck_assert_int_eq(after.last.number, before.last.number + 3); /* the epoch, the schema, the key */
    ck_assert_int_eq(after.last.epoch, epoch);
    ck_assert_int_eq(tb_store_promote(copy, "b", &epoch, &err), TB_E_USAGE);
    close_copy(copy, path);
    fixture_open(&f, true);
}
END_TEST

static tb_code add_standby(tb_store *store, void *ctx, tb_error *err)
{
    return tb_store_standby_add(store, ctx, err);
}

static tb_code drop_standby(tb_store *store, void *ctx, tb_error *err)
{
    return tb_store_standby_drop(store, ctx, err);
}

START_TEST(standbys_are_listed_in_the_file_and_its_copies)
{
    char path[128];
    tb_error err = {0};
    tb_standby b = {.name = "b", .url = "http://b.example", .schema = tb_store_schema()}, c = {.name = "c", .schema = 30};
    tb_standby list[TB_STANDBYS_MAX];
    int64_t epoch;
    size_t n;
    kept k;
    snprintf(path, sizeof path, "%.80s/copy.db", f.folder);
    ok(tb_store_backup(f.store, path, NULL, NULL, NULL, &err));
    tb_store *copy = open_copy(path);
    const int64_t from = state(copy).last.number;
    ok(tb_store_write(f.store, add_standby, &c, &err));
    ok(tb_store_write(f.store, add_standby, &b, &err));
    ok(tb_store_write(f.store, add_standby, &b, &err)); /* nothing new: no piece */
    ck_assert_int_eq(state(f.store).last.number, from + 2);
    ck_assert_int_eq(tb_store_write(f.store, drop_standby, (char[]){"d"}, &err), TB_E_NOT_FOUND);
    read_after(from, &k);
    for (size_t i = 0; i < 2; i++)
        ok(tb_store_apply_piece(copy, &k.piece[i], &err));
    ok(tb_store_promote(copy, "b", &epoch, &err));
    ok(tb_store_standbys(copy, list, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(list[0].name, "c");
    close_copy(copy, path);
    /* A later schema: the file is not upgraded beside a standby that would not know it. */
    ok(tb__standbys_know(f.store, 30, &err));
    ck_assert_int_eq(tb__standbys_know(f.store, tb_store_schema(), &err), TB_E_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, "its standby c knows up to 30"));
}
END_TEST

START_TEST(a_superseded_file_takes_no_writes)
{
    char path[128];
    tb_error err = {0};
    tb_store *copy;
    int64_t epoch;
    kept k;
    snprintf(path, sizeof path, "%.80s/copy.db", f.folder);
    ok(tb_store_backup(f.store, path, NULL, NULL, NULL, &err));
    copy = open_copy(path);
    ok(tb_store_promote(copy, "b", &epoch, &err));
    ok(tb_store_write(copy, add_key, NULL, &err));
    const tb_replication before = state(f.store);
    ok(tb_store_supersede(f.store, epoch, &err));
    ck_assert_int_eq(state(f.store).superseded, epoch);
    ck_assert_int_eq(state(f.store).last.number, before.last.number);
    ck_assert_int_eq(tb_store_write(f.store, add_key, NULL, &err), TB_E_REPLICA_SUPERSEDED);
    tb_store_close(f.store);
    ck_assert_int_eq(tb_store_open(f.path, &(tb_store_options){.write = true}, &f.store, &err), TB_E_REPLICA_SUPERSEDED);
    /* As a copy it follows, and forgets that. */
    f.store = open_copy(f.path);
    fixture other = f;
    f.store = copy;
    read_after(before.last.number, &k);
    f.store = other.store;
    ok(tb_store_apply_piece(f.store, &k.piece[0], &err));
    ck_assert_int_eq(state(f.store).superseded, 0);
    fixture_verify(&f); /* after the piece of the promotion alone */
    for (size_t i = 1; i < k.n; i++)
        ok(tb_store_apply_piece(f.store, &k.piece[i], &err));
    ck_assert_mem_eq(state(f.store).last.chain, state(copy).last.chain, TB_PIECE_CHAIN);
    close_copy(copy, path);
    tb_store_close(f.store);
    refuse_writer(f.path, TB_E_REPLICA_READ_ONLY);
    f.store = open_copy(f.path);
}
END_TEST

START_TEST(every_table_has_a_key)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(f.store->db,
                                        "SELECT name FROM sqlite_schema t WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
                                        " AND NOT EXISTS(SELECT 1 FROM pragma_table_info(t.name) WHERE pk>0)",
                                        -1, &s, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_step(s) == SQLITE_DONE, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replica");
    TCase *t = tcase_create("pieces");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, each_commit_that_changes_something_is_a_piece);
    tcase_add_test(t, replication_is_the_files);
    tcase_add_test(t, what_is_undone_is_in_no_piece);
    tcase_add_test(t, old_pieces_are_trimmed);
    tcase_add_test(t, a_copy_takes_what_follows_alone);
    tcase_add_test(t, a_copy_is_changed_by_pieces_alone);
    tcase_add_test(t, a_copy_is_known_by_itself);
    tcase_add_test(t, a_copy_reads_the_catalogue_again_only_after_pieces_of_it);
    tcase_add_test(t, pieces_are_bytes_and_again_pieces);
    tcase_add_test(t, a_base_is_a_copy_with_its_pieces);
    tcase_add_test(t, a_copy_takes_the_upgrade_of_its_primary);
    tcase_add_test(t, a_promoted_copy_is_upgraded_and_commits);
    tcase_add_test(t, standbys_are_listed_in_the_file_and_its_copies);
    tcase_add_test(t, a_superseded_file_takes_no_writes);
    tcase_add_test(t, every_table_has_a_key);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
