/* What a usage server's refusal means to people: its cause and what to do about it. */
#ifndef TOLLBOOK_SERVER_USAGE_REFUSAL_H
#define TOLLBOOK_SERVER_USAGE_REFUSAL_H

#include "tollbook/api.h"

#include <stdbool.h>
#include <stddef.h>

#define USAGE_WHY_MAX 260 /* bytes of a cause and its remedy, with the end */

/* text: what came with an HTTP status that is not 200, such as "Code: 243, e.displayText() = DB::Exception: ...". Returns
 * whether the server is of no use to anybody until somebody does something (a wrong password), false where other
 * statements may be answered. */
bool usage_refusal(long status, const char *text, size_t len, char ret_why[USAGE_WHY_MAX]);

#endif
