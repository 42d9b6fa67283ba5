/* The limit of a pass over a request log: memchr for every delimiter of every line, one thread,
 * over the mapped file. It finds the fields and uses none of them.
 *
 * usage: bench_fields LOG     prints the lines and fields found */
#include "measure.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define COLUMNS 12

/* The start of what follows the next `delimiter`. */
static const char *after(const char *at, const char *end, char delimiter)
{
    const char *found = memchr(at, delimiter, (size_t)(end - at));
    if (!found) bench_fail("a line of the log lacks a column");
    return found + 1;
}

int main(int argc, char **argv)
{
    struct stat st;
    uint64_t lines = 0, fields = 0;
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) bench_fail("usage: bench_fields LOG");
    const char *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (at == MAP_FAILED) bench_fail("%s cannot be mapped", argv[1]);
    for (const char *end = at + st.st_size; at < end; lines++) {
        for (int i = 1; i < COLUMNS; i++, fields++)
            at = after(at, end, '|');
        at = after(at, end, '\n');
        fields++;
    }
    printf("lines %" PRIu64 " fields %" PRIu64 "\n", lines, fields);
    return 0;
}
