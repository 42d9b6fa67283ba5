#include "http/followers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct known_follower {
    tb_follower is;
    int64_t asked_us;
} known_follower;

struct followers {
    pthread_mutex_t lock;
    size_t n;
    known_follower list[FOLLOWERS_MAX]; /* ascending by name */
};

followers *followers_new(void)
{
    followers *f = calloc(1, sizeof *f);
    if (f) pthread_mutex_init(&f->lock, NULL);
    return f;
}

void followers_free(followers *f)
{
    if (!f) return;
    pthread_mutex_destroy(&f->lock);
    free(f);
}

bool followers_read(tb_text header, tb_follower *ret)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    static const char word[] = "promotable";
    const char *at = header.data;
    size_t n = 0, left;
    *ret = (tb_follower){.piece = 0};
    while (n < header.len && at[n] && strchr(letters, at[n]))
        n++;
    if (n == 0 || n > TB_FOLLOWER_NAME) return false;
    memcpy(ret->name, at, n);
    if (n == header.len) return true;
    if (at[n] != ';') return false;
    at += n + 1;
    for (left = header.len - n - 1; left && *at == ' '; left--)
        at++;
    ret->promotable = left == sizeof word - 1 && memcmp(at, word, left) == 0;
    return ret->promotable;
}

static void remove_at(followers *f, size_t i)
{
    memmove(&f->list[i], &f->list[i + 1], (f->n - i - 1) * sizeof *f->list);
    f->n--;
}

static void forget(followers *f, int64_t now_us)
{
    for (size_t i = f->n; i-- > 0;)
        if (now_us - f->list[i].asked_us > FOLLOWERS_FORGET_US) remove_at(f, i);
}

static void drop_oldest(followers *f)
{
    size_t oldest = 0;
    for (size_t i = 1; i < f->n; i++)
        if (f->list[i].asked_us < f->list[oldest].asked_us) oldest = i;
    if (f->n == FOLLOWERS_MAX) remove_at(f, oldest);
}

void followers_note(followers *f, const tb_follower *one, int64_t now_us)
{
    size_t at = 0;
    pthread_mutex_lock(&f->lock);
    while (at < f->n && strcmp(f->list[at].is.name, one->name) != 0)
        at++;
    if (at < f->n) remove_at(f, at);
    drop_oldest(f);
    for (at = f->n; at > 0 && strcmp(f->list[at - 1].is.name, one->name) > 0; at--)
        f->list[at] = f->list[at - 1];
    f->list[at] = (known_follower){*one, now_us};
    f->n++;
    pthread_mutex_unlock(&f->lock);
}

size_t followers_list(followers *f, int64_t now_us, tb_follower out[FOLLOWERS_MAX])
{
    pthread_mutex_lock(&f->lock);
    forget(f, now_us);
    const size_t n = f->n;
    for (size_t i = 0; i < n; i++)
        out[i] = f->list[i].is;
    pthread_mutex_unlock(&f->lock);
    return n;
}
