/* A table of fixed size with chains from the first bytes of the hash. Texts carry 256 random bits and are
 * hashed before they are looked for, so timing says nothing about what is there. Sign-ins are rare: each
 * walks the whole table once, lets go of what is over, and finds whom to let go for the new one. */
#include "http/sessions.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define NONE 0 /* places count from 1 */

typedef struct place {
    uint64_t order; /* of opening; 0: free */
    unsigned next;  /* in its chain, or of the free ones */
    uint8_t hash[TB_KEY_HASH];
    session what;
} place;

struct sessions {
    pthread_mutex_t lock;
    uint64_t opened;
    place left; /* order 0: none */
    unsigned free;
    unsigned chains[SESSIONS_MAX];
    place places[SESSIONS_MAX + 1];
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
        s->places[i].next = i + 1;
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

/* Where the chain names the place of this hash; what it names is NONE where there is none. */
static unsigned *find_link(sessions *s, const uint8_t hash[TB_KEY_HASH])
{
    unsigned *link = chain_of(s, hash);
    while (*link != NONE && !tb_key_equal(s->places[*link].hash, hash))
        link = &s->places[*link].next;
    return link;
}

static void let_go(sessions *s, unsigned *link)
{
    const unsigned at = *link;
    if (at == NONE) return;
    *link = s->places[at].next;
    sodium_memzero(&s->places[at], sizeof s->places[at]);
    s->places[at].next = s->free;
    s->free = at;
}

static bool same_holder(const session *a, const session *b)
{
    return a->key == b->key && a->account == b->account;
}

static unsigned older_of(const sessions *s, unsigned a, unsigned b)
{
    return a == NONE || s->places[b].order < s->places[a].order ? b : a;
}

static void give_way(sessions *s, const session *what, int64_t now_us)
{
    unsigned oldest = NONE, own_oldest = NONE, own = 0;
    for (unsigned i = 1; i <= SESSIONS_MAX; i++) {
        if (s->places[i].order == 0) continue;
        if (s->places[i].what.until_us <= now_us) {
            let_go(s, find_link(s, s->places[i].hash));
            continue;
        }
        oldest = older_of(s, oldest, i);
        if (!same_holder(&s->places[i].what, what)) continue;
        own_oldest = older_of(s, own_oldest, i);
        own++;
    }
    if (own >= SESSIONS_OF_KEY) let_go(s, find_link(s, s->places[own_oldest].hash));
    else if (s->free == NONE) let_go(s, find_link(s, s->places[oldest].hash));
}

static void make_text(const uint8_t random[SESSION_RANDOM], char out[SESSION_TEXT + 1],
                      uint8_t ret_hash[TB_KEY_HASH])
{
    sodium_bin2hex(out, SESSION_TEXT + 1, random, SESSION_RANDOM);
    tb_key_hash(out, SESSION_TEXT, ret_hash);
}

void sessions_open(sessions *s, const session *what, int64_t now_us,
                   const uint8_t random[SESSION_RANDOM], char out[SESSION_TEXT + 1])
{
    uint8_t hash[TB_KEY_HASH];
    make_text(random, out, hash);
    pthread_mutex_lock(&s->lock);
    give_way(s, what, now_us);
    const unsigned at = s->free;
    place *p = &s->places[at];
    unsigned *chain = chain_of(s, hash);
    s->free = p->next;
    *p = (place){.order = ++s->opened, .next = *chain, .what = *what};
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
    const bool there = at != NONE && now_us < s->places[at].what.until_us;
    if (there) *ret_session = s->places[at].what;
    pthread_mutex_unlock(&s->lock);
    return there;
}

void sessions_close(sessions *s, tb_text text)
{
    uint8_t hash[TB_KEY_HASH];
    if (text.len != SESSION_TEXT) return;
    tb_key_hash(text.data, text.len, hash);
    pthread_mutex_lock(&s->lock);
    let_go(s, find_link(s, hash));
    pthread_mutex_unlock(&s->lock);
}

void sessions_leave(sessions *s, const session *what, const uint8_t random[SESSION_RANDOM],
                    char out[SESSION_TEXT + 1])
{
    pthread_mutex_lock(&s->lock);
    s->left = (place){.order = 1, .what = *what};
    make_text(random, out, s->left.hash);
    pthread_mutex_unlock(&s->lock);
}

bool sessions_collect(sessions *s, tb_text text, session *ret_session)
{
    uint8_t hash[TB_KEY_HASH];
    if (text.len != SESSION_TEXT) return false;
    tb_key_hash(text.data, text.len, hash);
    pthread_mutex_lock(&s->lock);
    const bool there = s->left.order && tb_key_equal(s->left.hash, hash);
    if (there) {
        *ret_session = s->left.what;
        sodium_memzero(&s->left, sizeof s->left);
    }
    pthread_mutex_unlock(&s->lock);
    return there;
}

tb_text sessions_cookie(tb_text cookies)
{
    static const char name[] = SESSION_COOKIE "=";
    const size_t n = sizeof name - 1;
    for (size_t at = 0; cookies.data && at < cookies.len;) {
        const char *start = cookies.data + at;
        const char *mark = memchr(start, ';', cookies.len - at);
        const size_t len = mark ? (size_t)(mark - start) : cookies.len - at;
        if (len >= n && memcmp(start, name, n) == 0) return (tb_text){start + n, len - n};
        at += len + 1;
        while (at < cookies.len && cookies.data[at] == ' ')
            at++;
    }
    return (tb_text){0};
}
