/* Chained slots under one lock; answers are copied in and out. */
#include "store/usage/sums.h"

#include "base/hash.h"
#include "store/core/held.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 4096

typedef struct entry {
    struct entry *next;
    size_t n, len;  /* words of the question, bytes of the answer */
    int64_t word[]; /* the key, followed by the answer */
} entry;

typedef struct sums {
    pthread_mutex_t lock;
    uint64_t version; /* of all entries */
    size_t bytes;
    entry *slot[SLOTS];
} sums;

static void empty(sums *s)
{
    for (size_t i = 0; i < SLOTS; i++)
        for (entry *e; (e = s->slot[i]);) {
            s->slot[i] = e->next;
            free(e);
        }
    s->bytes = 0;
}

static void *make_sums(void)
{
    sums *s = calloc(1, sizeof *s);
    if (s) pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void free_sums(void *shared)
{
    sums *s = shared;
    empty(s);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* NULL: no memory. */
static sums *sums_of(tb_store *store)
{
    return tb__held_share(store->held, TB__SHARED_SUMS, make_sums, free_sums);
}

void tb__kept_sums_ask(tb__kept_sums_key *key, int64_t word)
{
    key->word[key->n++] = word;
}

void tb__kept_sums_ask_range(tb__kept_sums_key *key, tb_range range)
{
    tb__kept_sums_ask(key, range.first);
    tb__kept_sums_ask(key, (int64_t)range.count * 2 + range.hourly);
}

tb_code tb__kept_sums_begin(tb_store *store, tb__kept_sums_key *key, bool *ret_may, tb_error *err)
{
    *ret_may = !sqlite3_get_autocommit(store->db) && sqlite3_txn_state(store->db, NULL) != SQLITE_TXN_WRITE;
    return *ret_may ? tb_store_version(store, &key->version, err) : TB_OK;
}

static entry **slot_of(sums *s, const tb__kept_sums_key *key)
{
    return &s->slot[XXH3_64bits(key->word, key->n * sizeof *key->word) % SLOTS];
}

/* With the lock. */
static const entry *find_entry(sums *s, const tb__kept_sums_key *key)
{
    const entry *e = s->version == key->version ? *slot_of(s, key) : NULL;
    while (e && (e->n != key->n || memcmp(e->word, key->word, key->n * sizeof *key->word) != 0))
        e = e->next;
    return e;
}

bool tb__kept_sums_known(tb_store *store, const tb__kept_sums_key *key)
{
    sums *s = sums_of(store);
    if (!s) return false;
    pthread_mutex_lock(&s->lock);
    const bool known = find_entry(s, key) != NULL;
    pthread_mutex_unlock(&s->lock);
    return known;
}

void *tb__kept_sums_get(tb_store *store, const tb__kept_sums_key *key, size_t *ret_len)
{
    sums *s = sums_of(store);
    void *copy = NULL;
    if (!s) return NULL;
    pthread_mutex_lock(&s->lock);
    const entry *e = find_entry(s, key);
    if (e && (copy = malloc(e->len + 1))) {
        memcpy(copy, e->word + e->n, e->len);
        *ret_len = e->len;
    }
    pthread_mutex_unlock(&s->lock);
    return copy;
}

void tb__kept_sums_put(tb_store *store, const tb__kept_sums_key *key, const void *answer, size_t len)
{
    sums *s = sums_of(store);
    const size_t bytes = sizeof(entry) + key->n * sizeof *key->word + len;
    entry *e = s && bytes <= TB__KEPT_SUMS_BYTES ? malloc(bytes) : NULL;
    if (!e) return;
    e->n = key->n;
    e->len = len;
    memcpy(e->word, key->word, key->n * sizeof *key->word);
    memcpy(e->word + e->n, answer, len);
    pthread_mutex_lock(&s->lock);
    if (s->version < key->version || s->bytes + bytes > TB__KEPT_SUMS_BYTES) empty(s);
    if (s->version < key->version) s->version = key->version;
    const bool keep = s->version == key->version && !find_entry(s, key);
    if (keep) {
        entry **slot = slot_of(s, key);
        e->next = *slot;
        *slot = e;
        s->bytes += bytes;
    }
    pthread_mutex_unlock(&s->lock);
    if (!keep) free(e);
}

size_t tb__kept_sums_bytes(tb_store *store)
{
    sums *s = sums_of(store);
    if (!s) return 0;
    pthread_mutex_lock(&s->lock);
    const size_t bytes = s->bytes;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}
