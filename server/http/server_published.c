/* What is in force for all workers, and replaced while they run: the key table, the directory, and the operator's secrets. */
#include "http/server_parts.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

tb_code server_publish_keys(server *s, tb_store *store, tb_error *err)
{
    key_table *table;
    tb_code code = key_table_load(store, &table, err);
    return code ? code : published_set(s->keys, table, err);
}

static void drop_table(void *table)
{
    key_table_free(table);
}

static void drop_directory(void *directory)
{
    tb_directory_release(directory);
}

/* Lines that were parsed with an older directory find the change when they are stored (feed_take). */
tb_code server_publish_directory(server *s, tb_store *store, tb_error *err)
{
    const tb_directory *d;
    tb_code code = tb_store_directory(store, true, &d, err);
    if (code || d == s->directory_seen) return code;
    code = published_set(s->directory, (void *)(uintptr_t)tb_directory_retain(d), err);
    if (!code) s->directory_seen = d;
    return code;
}

/* --- secrets of the operator --- */

static void drop_token_key(void *key)
{
    token_key_free(key);
}

static void drop_secret(void *secret)
{
    sodium_memzero(secret, TB_KEY_SECRET);
    free(secret);
}

tb_code server_use_token_key(server *s, token_key *key, tb_error *err)
{
    return published_set(s->token, key, err);
}

tb_code server_use_secret(server *s, const uint8_t secret[TB_KEY_SECRET], tb_error *err)
{
    uint8_t *own = malloc(TB_KEY_SECRET);
    if (!own) return tb_no_memory(err);
    memcpy(own, secret, TB_KEY_SECRET);
    return published_set(s->secret, own, err);
}

/* The size lies before the secret. */
static void drop_alert_secret(void *secret)
{
    size_t *size = (size_t *)secret - 1;
    sodium_memzero(secret, *size);
    free(size);
}

tb_code server_use_alert_secret(server *s, const void *secret, size_t size, tb_error *err)
{
    size_t *own = malloc(sizeof *own + size);
    if (!own) return tb_no_memory(err);
    *own = size;
    memcpy(own + 1, secret, size);
    return published_set(s->alert_secret, own + 1, err);
}

const token_key *worker_token_key(worker *w)
{
    return published_get(w->server->token, &w->token);
}

const uint8_t *worker_secret(worker *w)
{
    return published_get(w->server->secret, &w->secret);
}

const tb_directory *worker_directory(worker *w)
{
    return published_get(w->server->directory, &w->directory);
}

/* --- the whole --- */

bool server_publish_begin(server *s)
{
    s->keys = published_new(drop_table);
    s->token = published_new(drop_token_key);
    s->secret = published_new(drop_secret);
    s->alert_secret = published_new(drop_alert_secret);
    s->directory = published_new(drop_directory);
    return s->keys && s->token && s->secret && s->alert_secret && s->directory;
}

void server_publish_end(server *s)
{
    published_free(s->keys);
    published_free(s->token);
    published_free(s->secret);
    published_free(s->alert_secret);
    published_free(s->directory);
}
