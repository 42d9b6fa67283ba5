/* Files that hold no lines as they are, and are not unpacked here: told by their first bytes, so
 * that who names one is told what to do, and not that each of its "lines" is wrong. */
#ifndef TOLLBOOK_SERVER_FEED_FOREIGN_H
#define TOLLBOOK_SERVER_FEED_FOREIGN_H

#include <stddef.h>

#include "tollbook/error.h"

/* TB_E_BAD_INPUT: the input that begins so is such a file; the sentence names it and the command
 * that makes lines of it. No log that a server wrote is one, whatever its clients sent: besides the
 * file's own first bytes it must have a control character. */
TB_MUST_USE tb_code feed_foreign_check(const char *bytes, size_t len, tb_error *err);

#endif
