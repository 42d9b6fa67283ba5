#include "http/merger.h"

#include <pthread.h>
#include <stdlib.h>

struct merger {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    tb_store *reader;
    tb_merges *merges;
    bool asked, stop;
};

static void *run_merger(void *arg)
{
    merger *m = arg;
    pthread_mutex_lock(&m->lock);
    while (!m->stop) {
        if (!m->asked) {
            pthread_cond_wait(&m->wake, &m->lock);
            continue;
        }
        m->asked = false;
        pthread_mutex_unlock(&m->lock);
        (void)!tb_merges_prepare(m->merges, m->reader, NULL); /* what fails the writer meets, and says */
        pthread_mutex_lock(&m->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

merger *merger_start(tb_store *reader)
{
    merger *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->reader = reader;
    m->merges = tb_merges_new();
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->wake, NULL);
    if (m->merges && pthread_create(&m->thread, NULL, run_merger, m) == 0) return m;
    tb_merges_free(m->merges);
    free(m);
    return NULL;
}

tb_merges *merger_merges(merger *m)
{
    return m->merges;
}

void merger_wake(merger *m)
{
    if (!m || !tb_merges_wanted(m->merges)) return;
    pthread_mutex_lock(&m->lock);
    m->asked = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
}

void merger_stop(merger *m)
{
    if (!m) return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    tb_merges_free(m->merges);
    free(m);
}
