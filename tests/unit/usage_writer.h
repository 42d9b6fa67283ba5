/* What a stand-in for a usage server with the database `t` says of who writes to it (engine/store/clickhouse/claim.c): nobody
 * else ever does. */
#ifndef TB_TEST_USAGE_WRITER_H
#define TB_TEST_USAGE_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tollbook/buf.h"

/* The last span that was taken. */
typedef struct usage_writer {
    uint64_t span;
} usage_writer;

/* False: the statement is about something else. */
static inline bool usage_writer_answers(usage_writer *w, const char *sql, tb_buf *answer)
{
    unsigned long long span;
    if (sscanf(sql, "INSERT INTO t.writer VALUES(%llu,", &span) == 1) {
        if (span > w->span) w->span = span;
        return true;
    }
    if (strstr(sql, "rand64()")) {
        tb_buf_add(answer, (uint64_t[]){7, 0}, 16);
        return true;
    }
    if (!strstr(sql, "FROM t.writer")) return false;
    tb_buf_add(answer, (uint64_t[]){0, 0, w->span}, strstr(sql, "maxIf(") ? 24 : 16);
    return true;
}

#endif
