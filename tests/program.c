/* The main program of all tests of a folder (tests/CMakeLists.txt): runs the one that is named. Linking takes longer than
 * compiling, so there is one program and not one a test. Each test's own main() is compiled under the name of its file. */
#include <stdio.h>
#include <string.h>

#define TB_X(name) int name(void);
#include TB_LIST
#undef TB_X

static const struct {
    const char *name;
    int (*run)(void);
} tests[] = {
#define TB_X(name) {#name, name},
#include TB_LIST
#undef TB_X
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) return tests[i].run();
    fprintf(stderr, "usage: %s TEST, one of:\n", argv[0]);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        fprintf(stderr, "  %s\n", tests[i].name);
    return 2;
}
