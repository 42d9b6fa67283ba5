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

/* The text up to the next ';', without the spaces before it; *at is behind that then. */
static tb_text next_part(const char **at, const char *end)
{
    while (*at < end && **at == ' ')
        ++*at;
    const char *from = *at, *stop = memchr(from, ';', (size_t)(end - from));
    if (!stop) stop = end;
    *at = stop < end ? stop + 1 : end;
    return (tb_text){from, (size_t)(stop - from)};
}

static bool begins_with(tb_text part, const char *name, tb_text *ret_value)
{
    const size_t n = strlen(name);
    *ret_value = (tb_text){part.data + n, part.len - n};
    return part.len > n && memcmp(part.data, name, n) == 0;
}

static bool read_schema(tb_text value, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9') return false;
        *ret = *ret * 10 + (value.data[i] - '0');
    }
    return value.len <= 6;
}

/* An address, of letters that need no quotes anywhere. */
static bool read_url(tb_text value, char ret[TB_STANDBY_URL + 1])
{
    tb_text rest;
    if (value.len > TB_STANDBY_URL || (!begins_with(value, "http://", &rest) && !begins_with(value, "https://", &rest))) return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.data[i] <= ' ' || value.data[i] > '~' || strchr("\"'<>\\`", value.data[i])) return false;
    memcpy(ret, value.data, value.len);
    ret[value.len] = 0;
    return true;
}

bool followers_read(tb_text header, tb_follower *ret, tb_standby *ret_standby)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *at = header.data, *end = at + header.len;
    const tb_text name = next_part(&at, end);
    *ret = (tb_follower){.piece = 0};
    *ret_standby = (tb_standby){.schema = 0};
    for (size_t i = 0; i < name.len; i++)
        if (!name.data[i] || !strchr(letters, name.data[i])) return false;
    if (name.len == 0 || name.len > TB_FOLLOWER_NAME) return false;
    memcpy(ret->name, name.data, name.len);
    memcpy(ret_standby->name, name.data, name.len);
    while (at < end) {
        const tb_text part = next_part(&at, end);
        tb_text value;
        if (part.len == 10 && memcmp(part.data, "promotable", 10) == 0) ret->promotable = true;
        else if (begins_with(part, "url=", &value) && read_url(value, ret_standby->url)) continue;
        else if (begins_with(part, "schema=", &value) && read_schema(value, &ret_standby->schema)) continue;
        else return false;
    }
    return end[-1] != ';';
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
