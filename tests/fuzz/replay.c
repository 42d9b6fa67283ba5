/* A fuzz target's seeds, each run once, without libFuzzer: replay of one folder. An input lies in a
 * block of just its size, so that the address sanitizer sees one byte too many. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *folder, const char *name)
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
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    int count = 0;
    const struct dirent *entry;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    while ((entry = readdir(folder))) count += replay_file(argv[1], entry->d_name);
    closedir(folder);
    printf("%d seeds\n", count);
    return count ? 0 : 1;
}
