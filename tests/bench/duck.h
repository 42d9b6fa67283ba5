/* DuckDB's C interface, as far as the benches need it, loaded at run time: the library comes from
 * npm, which ships it without a header and only on the machine that measures. */
#ifndef TOLLBOOK_BENCH_DUCK_H
#define TOLLBOOK_BENCH_DUCK_H

#include <stdint.h>

typedef struct duck_handle_ *duck_handle; /* database, connection, statement, chunk and vector */
typedef struct duck_result {
    uint64_t deprecated[3];
    void *columns;
    char *error;
    void *data;
} duck_result;

/* X(result, name after "duckdb_", parameters) */
#define DUCK_FUNCTIONS(X)                                                                          \
    X(int, open, (const char *path, duck_handle *database))                                        \
    X(int, connect, (duck_handle database, duck_handle *connection))                               \
    X(void, disconnect, (duck_handle *connection))                                                 \
    X(void, close, (duck_handle *database))                                                        \
    X(int, query, (duck_handle connection, const char *sql, duck_result *result))                  \
    X(void, destroy_result, (duck_result *result))                                                 \
    X(const char *, result_error, (duck_result *result))                                           \
    X(uint64_t, column_count, (duck_result *result))                                               \
    X(uint64_t, row_count, (duck_result *result))                                                  \
    X(char *, value_varchar, (duck_result *result, uint64_t column, uint64_t row))                 \
    X(void, free, (void *memory))                                                                  \
    X(int, prepare, (duck_handle connection, const char *sql, duck_handle *statement))             \
    X(const char *, prepare_error, (duck_handle statement))                                        \
    X(int, bind_int64, (duck_handle statement, uint64_t index, int64_t value))                     \
    X(int, execute_prepared, (duck_handle statement, duck_result *result))                         \
    X(duck_handle, fetch_chunk, (duck_result result))                                              \
    X(uint64_t, data_chunk_get_size, (duck_handle chunk))                                          \
    X(duck_handle, data_chunk_get_vector, (duck_handle chunk, uint64_t column))                    \
    X(void *, vector_get_data, (duck_handle vector))                                               \
    X(void, destroy_data_chunk, (duck_handle * chunk))

typedef struct duck {
#define DUCK_X(result, name, parameters) result(*name) parameters;
    DUCK_FUNCTIONS(DUCK_X)
#undef DUCK_X
    duck_handle database, connection;
} duck;

/* Loads the library that TB_DUCKDB names and opens a database (NULL: in memory). Ends the program
 * where that fails. */
void duck_start(duck *d, const char *path);
void duck_stop(duck *d);
/* Runs a statement, ends the program with its message where it fails. */
void duck_run(duck *d, const char *sql, duck_result *ret);
void duck_exec(duck *d, const char *sql);

#endif
