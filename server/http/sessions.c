/* A table of fixed size with chains by the first bytes of the hash. Texts carry 256 random bits and are hashed before
 * they are looked up, so timing tells nothing about stored ones. Sign-ins are rare: each walks the whole table once,
 * removes expired sessions, and finds the one to evict. */
#include "http/sessions.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE 0 /* slots count from 1 */

typedef struct slot {
    uint64_t order; /* of opening; 0: free */
    unsigned next;  /* in its chain, or of the free ones */
    uint8_t hash[TB_KEY_HASH];
    session session;
} slot;

struct sessions {
    pthread_mutex_t lock;
    uint64_t opened;
    slot one_time; /* order 0: none */
    unsigned free;
    unsigned chains[SESSIONS_MAX];
    slot slots[SESSIONS_MAX + 1];
};

static unsigned *chain_of(sessions *s, const uint8_t hash[TB_KEY_HASH])
{
    unsigned at;
    memcpy(&at, hash, sizeof at);
    return &s->chains[at % SESSIONS_MAX];
}

sessions *sessions_new(void)
{
    sessions *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    pthread_mutex_init(&s->lock, NULL);
    for (unsigned i = 1; i < SESSIONS_MAX; i++)
        s->slots[i].next = i + 1;
    s->free = 1;
    return s;
}

void sessions_free(sessions *s)
{
    if (!s) return;
    pthread_mutex_destroy(&s->lock);
    sodium_memzero(s, sizeof *s);
    free(s);
}

/* The link in the chain to the slot of this hash; *link is NONE if there is none. */
static unsigned *find_link(sessions *s, const uint8_t hash[TB_KEY_HASH])
{
    unsigned *link = chain_of(s, hash);
    while (*link != NONE && !tb_key_equal(s->slots[*link].hash, hash))
        link = &s->slots[*link].next;
    return link;
}

static void remove_session(sessions *s, unsigned *link)
{
    const unsigned at = *link;
    if (at == NONE) return;
    *link = s->slots[at].next;
    sodium_memzero(&s->slots[at], sizeof s->slots[at]);
    s->slots[at].next = s->free;
    s->free = at;
}

static unsigned older_of(const sessions *s, unsigned a, unsigned b)
{
    return a == NONE || s->slots[b].order < s->slots[a].order ? b : a;
}

static void make_room_for_session(sessions *s, const session *opened, int64_t now_us)
{
    unsigned oldest = NONE, own_oldest = NONE, own = 0;
    for (unsigned i = 1; i <= SESSIONS_MAX; i++) {
        if (s->slots[i].order == 0) continue;
        if (s->slots[i].session.until_us <= now_us) {
            remove_session(s, find_link(s, s->slots[i].hash));
            continue;
        }
        oldest = older_of(s, oldest, i);
        if (s->slots[i].session.key != opened->key || s->slots[i].session.account != opened->account) continue;
        own_oldest = older_of(s, own_oldest, i);
        own++;
    }
    if (own >= SESSIONS_OF_KEY) remove_session(s, find_link(s, s->slots[own_oldest].hash));
    else if (s->free == NONE) remove_session(s, find_link(s, s->slots[oldest].hash));
}

static void make_text(const uint8_t random[SESSION_RANDOM], char out[SESSION_TEXT + 1],
                      uint8_t ret_hash[TB_KEY_HASH])
{
    sodium_bin2hex(out, SESSION_TEXT + 1, random, SESSION_RANDOM);
    tb_key_hash(out, SESSION_TEXT, ret_hash);
}

void sessions_open(sessions *s, const session *opened, int64_t now_us,
                   const uint8_t random[SESSION_RANDOM], char out[SESSION_TEXT + 1])
{
    uint8_t hash[TB_KEY_HASH];
    make_text(random, out, hash);
    pthread_mutex_lock(&s->lock);
    make_room_for_session(s, opened, now_us);
    const unsigned at = s->free;
    slot *p = &s->slots[at];
    unsigned *chain = chain_of(s, hash);
    s->free = p->next;
    *p = (slot){.order = ++s->opened, .next = *chain, .session = *opened};
    memcpy(p->hash, hash, sizeof hash);
    *chain = at;
    pthread_mutex_unlock(&s->lock);
}

bool sessions_find(sessions *s, tb_text text, int64_t now_us, session *ret_session)
{
    uint8_t hash[TB_KEY_HASH];
    if (text.len != SESSION_TEXT) return false;
    tb_key_hash(text.data, text.len, hash);
    pthread_mutex_lock(&s->lock);
    const unsigned at = *find_link(s, hash);
    const bool there = at != NONE && now_us < s->slots[at].session.until_us;
    if (there) *ret_session = s->slots[at].session;
    pthread_mutex_unlock(&s->lock);
    return there;
}

void sessions_close(sessions *s, tb_text text)
{
    uint8_t hash[TB_KEY_HASH];
    if (text.len != SESSION_TEXT) return;
    tb_key_hash(text.data, text.len, hash);
    pthread_mutex_lock(&s->lock);
    remove_session(s, find_link(s, hash));
    pthread_mutex_unlock(&s->lock);
}

void sessions_put_one_time(sessions *s, const session *opened, const uint8_t random[SESSION_RANDOM],
                    char out[SESSION_TEXT + 1])
{
    pthread_mutex_lock(&s->lock);
    s->one_time = (slot){.order = 1, .session = *opened};
    make_text(random, out, s->one_time.hash);
    pthread_mutex_unlock(&s->lock);
}

bool sessions_redeem(sessions *s, tb_text text, session *ret_session)
{
    uint8_t hash[TB_KEY_HASH];
    if (text.len != SESSION_TEXT) return false;
    tb_key_hash(text.data, text.len, hash);
    pthread_mutex_lock(&s->lock);
    const bool there = s->one_time.order && tb_key_equal(s->one_time.hash, hash);
    if (there) {
        *ret_session = s->one_time.session;
        sodium_memzero(&s->one_time, sizeof s->one_time);
    }
    pthread_mutex_unlock(&s->lock);
    return there;
}

tb_text sessions_cookie(tb_text cookies, unsigned port, size_t *at)
{
    char name[sizeof SESSION_COOKIE + 16];
    const size_t n = (size_t)snprintf(name, sizeof name, SESSION_COOKIE "%u=", port);
    while (cookies.data && *at < cookies.len) {
        const char *start = cookies.data + *at;
        const char *mark = memchr(start, ';', cookies.len - *at);
        const size_t len = mark ? (size_t)(mark - start) : cookies.len - *at;
        *at += len + (mark != NULL);
        while (*at < cookies.len && cookies.data[*at] == ' ')
            ++*at;
        if (len >= n && memcmp(start, name, n) == 0) return (tb_text){start + n, len - n};
    }
    return (tb_text){0};
}
