/* Where tests keep files for a while: under TMPDIR, so that tests/run can choose memory, or /tmp. */
#ifndef TOLLBOOK_TESTS_FOLDER_H
#define TOLLBOOK_TESTS_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST_FOLDER_MAX 56

/* Makes a new folder whose name has room for a few more characters. */
static inline bool test_folder(char out[TEST_FOLDER_MAX])
{
    const char *base = getenv("TMPDIR");
    if (!base || !*base || strlen(base) > 32) base = "/tmp";
    snprintf(out, TEST_FOLDER_MAX, "%.32s/tollbook-XXXXXX", base);
    return mkdtemp(out) != NULL;
}

#endif
