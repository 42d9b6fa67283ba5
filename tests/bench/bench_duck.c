/* Runs SQL in DuckDB, the peer of the ingest workload and the loader of the statistics workload.
 *
 * usage: bench_duck DATABASE|:memory: SQL...     (TB_DUCKDB names the library's file)
 *
 * The rows of a SELECT are printed, cells separated by a space. */
#include "duck.h"
#include "measure.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void print(duck *d, duck_result *result)
{
    for (uint64_t row = 0; row < d->row_count(result); row++) {
        for (uint64_t column = 0; column < d->column_count(result); column++) {
            char *text = d->value_varchar(result, column, row);
            printf("%s%s", column ? " " : "", text ? text : "NULL");
            d->free(text);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    duck d;
    if (argc < 3) bench_fail("usage: bench_duck DATABASE|:memory: SQL...");
    duck_start(&d, strcmp(argv[1], ":memory:") == 0 ? NULL : argv[1]);
    for (int i = 2; i < argc; i++) {
        duck_result result;
        duck_run(&d, argv[i], &result);
        if (strncasecmp(argv[i], "select", 6) == 0) print(&d, &result);
        d.destroy_result(&result);
    }
    duck_stop(&d);
    return 0;
}
