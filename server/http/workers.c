/* The workers: their readers, and the readers of long answers. */
#include "http/server_parts.h"

#include "http/clock.h"

#define STREAM_CACHE_KIB 2048 /* of a reader of long answers, which reads each page once */
#define READER_CACHE_KIB 32768   /* of each reader: the pages of a few thousand daily answers */

worker *server_remote_worker(server *s, const tb_store *store)
{
    unsigned i = 0;
    while (s->remote_workers[i].store != store)
        i++;
    return &s->remote_workers[i];
}

size_t server_metrics(const server *s, const metrics **ret_blocks)
{
    size_t n = 0;
    for (unsigned i = 0; i < s->options.threads; i++)
        ret_blocks[n++] = &s->workers[i].metrics;
    for (unsigned i = 0; s->options.usage && i < SERVER_REMOTE_THREADS; i++)
        ret_blocks[n++] = &s->remote_workers[i].metrics;
    return n;
}

tb_code workers_open(server *s, tb_error *err)
{
    tb_store_options options = {
        .write = false, .now_us = clock_wall_us(), .cache_kib = READER_CACHE_KIB, .copy = s->copy != NULL,
        .usage = usage_servers_client(s->options.usage)};
    for (unsigned i = 0; i < s->options.threads; i++) {
        worker *w = &s->workers[i];
        w->server = s;
        w->index = i;
        w->gzip = gzip_new();
        tb_buf_init(&w->scratch, ANSWER_MAX, NULL);
        if (!w->gzip) return tb_no_memory(err);
        tb_code code = tb_store_open(s->options.db, &options, &w->store, err);
        if (code != TB_OK) return code;
    }
    tb_code code = job_pool_open(s->pool, s->options.db, &options, err);
    for (unsigned i = 0; !code && s->options.usage && i < SERVER_REMOTE_THREADS; i++) {
        s->remote_workers[i] = (worker){.server = s, .store = job_pool_reader(s->pool, LANE_REMOTE, i)};
        tb_buf_init(&s->remote_workers[i].scratch, ANSWER_MAX, NULL);
    }
    return code;
}

tb_code worker_take_reader(worker *w, int64_t account, tb_store **ret_store, tb_error *err)
{
    server *s = w->server;
    const tb_store_options options = {
        .now_us = clock_wall_us(), .cache_kib = STREAM_CACHE_KIB, .copy = s->copy != NULL, .usage = usage_servers_client(s->options.usage)};
    tb_code code = stream_slots_take(s->stream_slots, account, err);
    *ret_store = NULL;
    if (code) return code;
    for (int i = 0; i < WORKER_IDLE_READERS && !*ret_store; i++) {
        *ret_store = w->idle_reader[i];
        w->idle_reader[i] = NULL;
    }
    if (!*ret_store) code = tb_store_open(s->options.db, &options, ret_store, err);
    if (code) stream_slots_release(s->stream_slots, account, 0);
    return code;
}

void worker_return_reader(worker *w, int64_t account, size_t bytes, tb_store *store)
{
    stream_slots_release(w->server->stream_slots, account, bytes);
    tb_store_read_end(store);
    for (int i = 0; i < WORKER_IDLE_READERS; i++) {
        if (w->idle_reader[i]) continue;
        w->idle_reader[i] = store;
        return;
    }
    tb_store_close(store);
}

static void drop_worker(worker *w)
{
    for (int k = 0; k < WORKER_IDLE_READERS; k++)
        tb_store_close(w->idle_reader[k]);
    gzip_free(w->gzip);
    tb_buf_release(&w->scratch);
    published_release(&w->keys);
    published_release(&w->token);
    published_release(&w->secret);
    published_release(&w->directory);
}

void workers_close(server *s)
{
    for (unsigned i = 0; i < SERVER_WORKERS_MAX; i++) {
        tb_store_close(s->workers[i].store);
        drop_worker(&s->workers[i]);
    }
    for (unsigned i = 0; i < SERVER_REMOTE_THREADS; i++)
        drop_worker(&s->remote_workers[i]);
}
