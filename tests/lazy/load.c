/* The part of a stand-in (lazy.py) that is C: where a function of the real library lies. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAZY_HIDDEN __attribute__((visibility("hidden")))

extern LAZY_HIDDEN _Atomic(void *) lazy_slots[];
extern LAZY_HIDDEN const char lazy_names[]; /* one after another */
extern LAZY_HIDDEN const char lazy_library[];

LAZY_HIDDEN void *lazy_load(size_t index);

static void *lazy_required(void *found)
{
    if (found) return found;
    fprintf(stderr, "%s: %s\n", lazy_library, dlerror());
    abort();
}

/* Once, not with each function: the thread sanitizer takes tens of milliseconds for a dlopen, and a handshake with TLS calls
 * hundreds of functions. */
static void *lazy_open(void)
{
    static _Atomic(void *) opened;
    void *library = atomic_load_explicit(&opened, memory_order_acquire);
    if (library) return library;
    library = lazy_required(dlopen(lazy_library, RTLD_LAZY | RTLD_LOCAL));
    atomic_store_explicit(&opened, library, memory_order_release);
    return library;
}

/* Called at the first call of each function. Threads that are here at once find the same. */
void *lazy_load(size_t index)
{
    const char *name = lazy_names;
    for (size_t i = 0; i < index; i++)
        name += strlen(name) + 1;
    void *function = lazy_required(dlsym(lazy_open(), name));
    atomic_store_explicit(&lazy_slots[index], function, memory_order_release);
    return function;
}
