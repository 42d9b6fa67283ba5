#include "feed/foreign.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct foreign {
    const char *begins, *what, *command;
    uint16_t len, at; /* of the magic bytes: their length and offset */
} foreign;

#define F(at, begins, what, command)                                                               \
    {                                                                                              \
        begins, what, command, sizeof begins - 1, at                                               \
    }
static const foreign kinds[] = {
    F(0, "BZh", "bzip2", "bzip2 -dc FILE"),
    F(0, "\3757zXZ\0", "xz", "xz -dc FILE"),
    F(0, "\x5d\0\0", "lzma", "xz -dc FILE"),
    F(0, "LZIP\1", "lzip", "lzip -dc FILE"),
    F(0, "\x04\x22\x4d\x18", "lz4", "lz4 -dc FILE"),
    F(0, "\x89LZO\0", "lzop", "lzop -dc FILE"),
    F(0, "\xff\x06\0\0sNaPpY", "snappy", "snzip -dc FILE"),
    F(0, "\x1f\x9d", "compress", "gzip -dc FILE"),
    F(0, "PK\3\4", "zip", "unzip -p FILE"),
    F(0, "7z\xbc\xaf\x27\x1c", "7z", "7z x -so FILE"),
    F(0, "Rar!\x1a\7", "rar", "unrar p -inul FILE"),
    F(257, "ustar", "tar", "tar -xOf FILE"),
    F(0, "PAR1\x15", "parquet", "duckdb -c \"COPY (FROM 'FILE') TO '/dev/stdout' (FORMAT json)\""),
    F(0, "\xff\xfe\0\0", "UTF-32", "iconv -f UTF-32 -t UTF-8 FILE"),
    F(0, "\0\0\xfe\xff", "UTF-32", "iconv -f UTF-32 -t UTF-8 FILE"),
    F(0, "\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"),
    F(0, "\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"),
    F(0, "LPKSHHRH", "systemd-journald", "journalctl -o cat --file FILE"),
};
#undef F

#define LOOKED_AT 512

static bool has_control(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)bytes[i] < 0x20 && !memchr("\t\n\r", bytes[i], 3)) return true;
    return false;
}

tb_code feed_foreign_check(const char *bytes, size_t len, tb_error *err)
{
    if (!has_control(bytes, len < LOOKED_AT ? len : LOOKED_AT)) return TB_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const foreign *f = &kinds[i];
        if (len < (size_t)f->at + f->len || memcmp(bytes + f->at, f->begins, f->len) != 0) continue;
        return tb_fail(
            err, TB_E_BAD_INPUT, NULL,
            "It is a file of %s, which is not read: plain text, gzip and zstd are. To take it in: "
            "%s | tollbook ingest -",
            f->what, f->command);
    }
    return TB_OK;
}
