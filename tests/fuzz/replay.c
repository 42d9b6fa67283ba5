/* All fuzz targets in one program, without libFuzzer: runs each seed of one folder once. An input lies in a block of just its
 * size, so that the address sanitizer sees one byte too many. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef int fuzz_target(const uint8_t *data, size_t size);

#define TB_X(name) fuzz_target name;
#include TB_LIST
#undef TB_X

static const struct {
    const char *name;
    fuzz_target *run;
} targets[] = {
#define TB_X(name) {#name, name},
#include TB_LIST
#undef TB_X
};

static fuzz_target *find_target(const char *name)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (strcmp(targets[i].name, name) == 0) return targets[i].run;
    return NULL;
}

static int replay_file(fuzz_target *run, const char *folder, const char *name)
{
    char path[4096];
    struct stat status;
    FILE *file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size);
    if ((!data && size) || !(file = fopen(path, "rb")) || fread(data, 1, size, file) != size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    printf("%s\n", path); /* the last one named is the one that fails */
    fflush(stdout);
    run(data, size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    int count = 0;
    const struct dirent *entry;
    fuzz_target *run = argc == 3 ? find_target(argv[1]) : NULL;
    DIR *folder = run ? opendir(argv[2]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s TARGET FOLDER\n", argv[0]);
        return 2;
    }
    run((const uint8_t *)"", 0);
    while ((entry = readdir(folder)))
        count += replay_file(run, argv[2], entry->d_name);
    closedir(folder);
    printf("%d seeds\n", count);
    return count ? 0 : 1;
}
