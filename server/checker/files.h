/* Files of tollbook-check. Sentences name the file. */
#ifndef TOLLBOOK_SERVER_CHECKER_FILES_H
#define TOLLBOOK_SERVER_CHECKER_FILES_H

#include "tollbook/proof.h"

/* Appends the content of a file ("-": of standard input) of at most out->max bytes; what is compressed with gzip is expanded.
 * TB_E_NOT_FOUND: there is no such file. TB_E_IO, TB_E_TOO_LARGE, TB_E_NOMEM. */
TB_MUST_USE tb_code checker_read(const char *path, tb_buf *out, tb_error *err);

/* Tiles in a folder, FOLDER/tile/L/N. Borrows the folder's path. */
tb_tile_reader checker_tiles(const char *folder);

#endif
