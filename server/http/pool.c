/* One list of free blocks a class; the last block freed is the first taken, being the warmest. A block's class follows from its size, which the allocator
 * interface hands back at every call, so blocks carry no header. */
#include "http/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SMALL ((size_t)32 << 10)   /* below: malloc */
#define STEPS 32                   /* up to 1 MiB in steps of 32 KiB, then four to a doubling */
#define CLASSES (STEPS + 6 * 4)    /* up to 64 MiB; above: malloc */

typedef struct block {
    struct block *next;
} block;

struct pool {
    pthread_mutex_t lock;
    block *kept[CLASSES];
    size_t kept_bytes, keep_bytes;
    tb_alloc alloc;
};

static size_t class_bytes(int c)
{
    const int above = c - STEPS;
    if (above < 0) return SMALL * (size_t)(c + 1);
    return (SMALL * STEPS / 4 * (size_t)(5 + above % 4)) << above / 4;
}

/* -1: not a pooled size. */
static int class_of(size_t size)
{
    if (size < SMALL) return -1;
    int c = size <= SMALL * STEPS ? (int)((size - 1) / SMALL) : STEPS;
    while (c < CLASSES && class_bytes(c) < size)
        c++;
    return c < CLASSES ? c : -1;
}

size_t pool_block(size_t size)
{
    int c = class_of(size);
    return c < 0 ? size : class_bytes(c);
}

static void *take(pool *p, size_t size)
{
    int c = class_of(size);
    if (c < 0) return malloc(size);
    pthread_mutex_lock(&p->lock);
    block *b = p->kept[c];
    if (b) {
        p->kept[c] = b->next;
        p->kept_bytes -= class_bytes(c);
    }
    pthread_mutex_unlock(&p->lock);
    return b ? (void *)b : malloc(class_bytes(c));
}

static void give(pool *p, void *ptr, size_t size)
{
    int c = class_of(size);
    if (c < 0) {
        free(ptr);
        return;
    }
    pthread_mutex_lock(&p->lock);
    bool keep = p->kept_bytes + class_bytes(c) <= p->keep_bytes;
    if (keep) {
        block *b = ptr;
        b->next = p->kept[c];
        p->kept[c] = b;
        p->kept_bytes += class_bytes(c);
    }
    pthread_mutex_unlock(&p->lock);
    if (!keep) free(ptr);
}

static void *resize(void *ctx, void *ptr, size_t old, size_t size)
{
    pool *p = ctx;
    if (size == 0) {
        if (ptr) give(p, ptr, old);
        return NULL;
    }
    if (!ptr) return take(p, size);
    int was = class_of(old), is = class_of(size);
    if (was >= 0 && was == is) return ptr;
    if (was < 0 && is < 0) return realloc(ptr, size);
    void *moved = take(p, size);
    if (!moved) return NULL;
    memcpy(moved, ptr, old < size ? old : size);
    give(p, ptr, old);
    return moved;
}

pool *pool_new(size_t keep_bytes)
{
    pool *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->keep_bytes = keep_bytes;
    p->alloc = (tb_alloc){resize, p};
    return p;
}

void pool_clear(pool *p)
{
    pthread_mutex_lock(&p->lock);
    for (int c = 0; c < CLASSES; c++) {
        while (p->kept[c]) {
            block *b = p->kept[c];
            p->kept[c] = b->next;
            free(b);
        }
    }
    p->kept_bytes = 0;
    pthread_mutex_unlock(&p->lock);
}

void pool_free(pool *p)
{
    if (!p) return;
    pool_clear(p);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

const tb_alloc *pool_alloc(const pool *p)
{
    return &p->alloc;
}
