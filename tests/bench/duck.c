/* The library is found by name at run time, each function by the table in duck.h. */
#include "duck.h"

#include "measure.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* A function's address, written through its bytes: C has no conversion between the two kinds of
 * pointer, POSIX promises that they are alike. */
static void find(void *library, const char *name, void *ret_function)
{
    void *address = dlsym(library, name);
    if (!address) bench_fail("DuckDB's library has no %s", name);
    memcpy(ret_function, &address, sizeof address);
}

void duck_start(duck *d, const char *path)
{
    const char *file = getenv("TB_DUCKDB");
    void *library = dlopen(file ? file : "libduckdb.so", RTLD_NOW);
    if (!library) bench_fail("DuckDB's library: %s (TB_DUCKDB names the file)", dlerror());
#define DUCK_X(result, name, parameters) find(library, "duckdb_" #name, &d->name);
    DUCK_FUNCTIONS(DUCK_X)
#undef DUCK_X
    if (d->open(path, &d->database) || d->connect(d->database, &d->connection))
        bench_fail("DuckDB does not open %s", path ? path : "a database in memory");
}

void duck_stop(duck *d)
{
    d->disconnect(&d->connection);
    d->close(&d->database);
}

void duck_run(duck *d, const char *sql, duck_result *ret)
{
    if (d->query(d->connection, sql, ret)) bench_fail("%s\n%s", sql, d->result_error(ret));
}

void duck_exec(duck *d, const char *sql)
{
    duck_result result;
    duck_run(d, sql, &result);
    d->destroy_result(&result);
}
