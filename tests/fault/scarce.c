#include "fault/scarce.h"

#include <sqlite3.h>
#include <stdlib.h>

static struct {
    uint64_t count, at;
    bool from_then_on, failed, paused;
} memory;

static bool fails(void)
{
    if (memory.paused) return false;
    memory.count++;
    if (!memory.at || memory.count < memory.at) return false;
    if (memory.count > memory.at && !memory.from_then_on) return false;
    memory.failed = true;
    return true;
}

void scarce_arm(uint64_t at, bool from_then_on)
{
    memory.count = 0;
    memory.at = at;
    memory.from_then_on = from_then_on;
    memory.failed = false;
}

void scarce_pause(bool pause)
{
    memory.paused = pause;
}

uint64_t scarce_count(void)
{
    return memory.count;
}

bool scarce_failed(void)
{
    return memory.failed;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

static sqlite3_mem_methods real;

static void *on_malloc(int size)
{
    return fails() ? NULL : real.xMalloc(size);
}

static void *on_realloc(void *p, int size)
{
    return fails() ? NULL : real.xRealloc(p, size);
}

void scarce_init(void)
{
    sqlite3_mem_methods ours;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK) abort();
    ours = real;
    ours.xMalloc = on_malloc;
    ours.xRealloc = on_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) != SQLITE_OK) abort();
    /* No cache of pages beside the allocator: each page is an allocation that may fail. */
    if (sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0) != SQLITE_OK) abort();
    if (sqlite3_initialize() != SQLITE_OK) abort();
}
