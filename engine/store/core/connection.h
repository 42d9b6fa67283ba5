/* SQLite's functions: in the loadable extension they come through the table of pointers that the
 * loading program hands over. */
#ifndef TOLLBOOK_STORE_CONNECTION_H
#define TOLLBOOK_STORE_CONNECTION_H

#ifdef TB_LOADABLE_EXTENSION
#include <sqlite3ext.h>
extern const sqlite3_api_routines *sqlite3_api;
#else
#include <sqlite3.h>
#endif

#endif
