#include "feed/helper.h"

static void *help(void *arg)
{
    feed_helper *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->over || h->work) {
        if (!h->work) {
            pthread_cond_wait(&h->changed, &h->lock);
            continue;
        }
        pthread_mutex_unlock(&h->lock);
        h->work(h->arg); /* helper_wait is called before other work is given */
        pthread_mutex_lock(&h->lock);
        h->work = NULL;
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static bool helper_start(void *ctx, void (*work)(void *arg), void *arg)
{
    feed_helper *h = ctx;
    if (!h->begun) h->begun = pthread_create(&h->thread, NULL, help, h) == 0;
    if (!h->begun) return false;
    pthread_mutex_lock(&h->lock);
    h->work = work;
    h->arg = arg;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    return true;
}

static void helper_wait(void *ctx)
{
    feed_helper *h = ctx;
    pthread_mutex_lock(&h->lock);
    while (h->work)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

tb_helper feed_helper_begin(feed_helper *h)
{
    *h = (feed_helper){.work = NULL};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    return (tb_helper){.start = helper_start, .wait = helper_wait, .ctx = h};
}

void feed_helper_end(feed_helper *h)
{
    pthread_mutex_lock(&h->lock);
    h->over = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    if (h->begun) pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
}
