/* A thread that may be lent to a store (tb_helper). It starts with the first work. */
#ifndef TOLLBOOK_FEED_HELPER_H
#define TOLLBOOK_FEED_HELPER_H

#include <pthread.h>

#include "tollbook/store.h"

typedef struct feed_helper {
    pthread_t thread;
    pthread_mutex_t lock; /* of the members below */
    pthread_cond_t changed;
    void (*work)(void *arg); /* NULL: nothing is to be done */
    void *arg;
    bool begun, over;
} feed_helper;

/* The helper stays where it is until feed_helper_end. */
tb_helper feed_helper_begin(feed_helper *helper);
void feed_helper_end(feed_helper *helper);

#endif
