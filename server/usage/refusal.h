/* Explains a usage server's error: the cause and the remedy. */
#ifndef TOLLBOOK_SERVER_USAGE_REFUSAL_H
#define TOLLBOOK_SERVER_USAGE_REFUSAL_H

#include "tollbook/api.h"

#include <stdbool.h>
#include <stddef.h>

#define USAGE_WHY_MAX 260 /* bytes of a cause and its remedy, with the terminator */

/* text: the body of an HTTP status that is not 200, such as "Code: 243, e.displayText() = DB::Exception: ...". Returns
 * true if the server refuses every statement until an administrator acts, for example on a wrong password; false if it
 * may answer others. */
bool usage_refusal(long status, const char *text, size_t len, char ret_why[USAGE_WHY_MAX]);

#endif
