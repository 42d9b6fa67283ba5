/* One writer per database. Two control files by mistake, or a copy of one beside the running one, would use the same ids, count
 * each other's rows, and drop the rows that the other one compacted. So a writer claims its spans of ids:
 *
 * 1. It draws a number and stores it in its file.
 * 2. It writes the number and its last span to the table `writer` of every shard that accepts it.
 * 3. It checks on all shards whether another writer claimed a span since it began. Of two that begin at once at least one sees the
 *    other.
 *
 * A running writer checks again at times (tb_store_usage_look), and sends no more statements once another one has begun. A
 * claimed span is never used again.
 *
 * A file with no usage here yet refuses a database in which others claimed spans, or which has rows of an earlier build.
 *
 * A server that lacks a claim for a span of the file's usage (meta.usage_claimed) is older than the file: it was restored
 * from a backup, and lacks newer usage. */
#include "store/clickhouse/cache.h"
#include "store/clickhouse/private.h"

#include <inttypes.h>
#include <string.h>

#define TOKEN "usage_token" /* a row of meta: the number of the last writer of this file */

tb_code tb__ch_make_claims(tb_store *store, size_t shard, tb_error *err)
{
    tb_buf_fmt(tb__ch_start(store), "CREATE TABLE IF NOT EXISTS %s.writer(epoch UInt64,token UInt64)ENGINE=MergeTree ORDER BY epoch",
               tb__ch_of(store)->client->database);
    return tb__ch_query(store, shard, err);
}

/* A shard's claims; 0 if there are none. */
static tb_code ask_claims(tb_store *store, size_t shard, int64_t *ret, size_t n, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    memset(ret, 0, n * sizeof *ret);
    const tb_code code = tb__ch_query(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(ch);
    if (code || !ch->answer.len) return code;
    for (size_t i = 0; i < n; i++)
        ret[i] = (int64_t)tb__ch_column(&r, 8);
    return tb__ch_check_read(&r, err);
}

static tb_code not_ours(const tb_store *store, size_t shard, tb_error *err)
{
    return tb_fail(err, TB_E_USAGE, "usage",
                   "The database %s of server %zu of --usage has the usage of another control file, and %s has none there. Give another "
                   "database name after the hosts, which is created if it does not exist, or serve the file that it belongs to.",
                   tb__ch_of(store)->client->database, shard + 1, store->path);
}

static tb_code too_old(const tb_store *store, size_t shard, const int64_t spans[2], tb_error *err)
{
    return tb_fail(err, TB_E_USAGE, "usage",
                   "Server %zu of --usage is older than %s: its database %s ends with span %" PRId64 " of %" PRId64 ", so rows that count are "
                   "missing. Was it restored from a backup? Restore the newest one, with its table writer, or the control file of the same "
                   "backup, and send the logs since then again.",
                   shard + 1, store->path, tb__ch_of(store)->client->database, spans[0], spans[1]);
}

tb_code tb__ch_look_at_claims(tb_store *store, size_t shard, bool used, bool rows, int64_t *claimed, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    int64_t mine = 0, counts = 0, said[3];
    tb_code code = tb__ch_meta(store, TOKEN, 0, &mine, err);
    if (!code) code = tb__ch_meta(store, TB__CH_CLAIMED, 0, &counts, err);
    tb_buf_fmt(tb__ch_start(store), "SELECT maxIf(epoch,token!=%" PRId64 "),countIf(token!=%" PRId64 "),max(epoch) FROM %s.writer FORMAT RowBinary",
               ch->token_of, mine, ch->client->database);
    if (!code) code = ask_claims(store, shard, said, 3, err);
    if (code) return code;
    if (said[0] > *claimed) *claimed = said[0];
    if (used) return said[2] < counts ? too_old(store, shard, (int64_t[]){said[2], counts}, err) : TB_OK;
    return said[1] || rows ? not_ours(store, shard, err) : TB_OK;
}

static tb_code check_alone(tb_store *store, size_t shard, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    int64_t said[2];
    tb_buf_fmt(tb__ch_start(store), "SELECT max(epoch),count() FROM %s.writer WHERE epoch>=%" PRId64 " AND token!=%" PRId64 " FORMAT RowBinary",
               ch->client->database, ch->first, ch->token_of);
    const tb_code code = ask_claims(store, shard, said, 2, err);
    if (code || !said[1]) return code;
    tb__ch_cache_fence(ch->cache);
    return tb_fail(err, TB_E_USAGE, "usage",
                   "Another tollbook began to write to the database %s of server %zu of --usage, with another copy of %s: this one asks "
                   "and sends nothing any more. One alone may run: stop the other, and start this one again; or leave this one "
                   "stopped.",
                   ch->client->database, shard + 1, store->path);
}

tb_code tb__ch_check_alone(tb_store *store, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && shard < ch->client->shards; shard++)
        code = check_alone(store, shard, err);
    return code;
}

/* Every writer checks all servers, so a claim on one of them is enough: others may be full or unreachable. */
tb_code tb__ch_claim(tb_store *store, int64_t epoch, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = TB_OK;
    size_t there = 0;
    for (size_t shard = 0; (!code || code == TB_E_AWAY) && shard < ch->client->shards; shard++) {
        tb_buf_fmt(tb__ch_start(store), "INSERT INTO %s.writer VALUES(%" PRId64 ",%" PRId64 ")", ch->client->database, epoch,
                   ch->token_of);
        code = tb__ch_query(store, shard, err);
        there += !code;
    }
    ch->claimed = there == ch->client->shards;
    return there ? tb__ch_check_alone(store, err) : code;
}

tb_code tb__ch_note_claim(tb_store *store, int64_t epoch, tb_error *err)
{
    return tb__ch_of(store)->claimed ? tb__ch_meta_put(store, TB__CH_CLAIMED, epoch, err) : TB_OK;
}

static tb_code keep_token(tb_store *store, void *ctx, tb_error *err)
{
    return tb__ch_meta_put(store, TOKEN, *(int64_t *)ctx, err);
}

/* The server draws the number, as it does a database's. */
static tb_code draw_token(tb_store *store, tb_error *err)
{
    int64_t drawn[2];
    tb_buf_fmt(tb__ch_start(store), "SELECT toUInt64(rand64()%%9223372036854775807+1),toUInt64(0) FORMAT RowBinary");
    tb_code code = ask_claims(store, 0, drawn, 2, err);
    if (!code && !drawn[0]) code = tb_fail(err, TB_E_AWAY, "usage", "Usage server 1 draws no number. Look at its log.");
    tb__ch_of(store)->token_of = drawn[0];
    return code ? code : tb_store_write(store, keep_token, &drawn[0], err);
}

/* The number is stored in the file before it is sent to a server. So a first start that was interrupted recognises its own claim. */
tb_code tb__ch_begin_claims(tb_store *store, bool used, int64_t epoch, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    int64_t kept = 0;
    tb_code code = ch->token_of ? TB_OK : tb__ch_meta(store, TOKEN, 0, &kept, err);
    if (ch->token_of) used = false, kept = ch->token_of; /* it tried before */
    if (!code && (used || !kept)) code = draw_token(store, err);
    if (!code && kept && !used) ch->token_of = kept;
    ch->first = epoch;
    return code ? code : tb__ch_claim(store, epoch, err);
}

tb_code tb__ch_fenced(tb_error *err)
{
    return tb_fail(err, TB_E_AWAY, "usage",
                   "Another tollbook has begun to write to these usage servers, with another copy of this control file. One alone may run: stop "
                   "the other, and start this one again; or leave this one stopped.");
}
