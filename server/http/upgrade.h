/* What people hear of an upgrade of a database: a line once it is done, and some while it takes long. */
#ifndef TOLLBOOK_SERVER_HTTP_UPGRADE_H
#define TOLLBOOK_SERVER_HTTP_UPGRADE_H

#include <stdint.h>

#include "http/message.h"
#include "tollbook/store.h"

#define UPGRADE_TEXT_MAX 4400 /* a path and two sentences */

typedef struct upgrade_watch {
    const char *path;
    int64_t start_us, told_us;
    int reached; /* 0: it has not begun */
} upgrade_watch;

/* For the tb_store_open that follows: options and path are borrowed until then. */
void upgrade_watch_begin(upgrade_watch *w, const char *path, tb_store_options *options);

/* What is said at a moment: schemas are the one that the file had, the one that is reached and the one that it gets. false:
 * nothing. */
bool upgrade_tell(upgrade_watch *w, int64_t now_us, const int schemas[3], message_level *ret_level, char text[UPGRADE_TEXT_MAX]);

#endif
