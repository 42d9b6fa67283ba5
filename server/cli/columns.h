/* Text for a terminal: rows with tabs between their cells stand in columns. */
#ifndef TOLLBOOK_SERVER_CLI_COLUMNS_H
#define TOLLBOOK_SERVER_CLI_COLUMNS_H

#include "tollbook/buf.h"

/* Characters, not bytes: UTF-8 continuation bytes take no room. */
int columns_width(const char *text, size_t len);
/* Rows that follow each other share their columns; lines without a tab stay as they are. */
void columns_put(const char *text, size_t len, tb_buf *out);

#endif
