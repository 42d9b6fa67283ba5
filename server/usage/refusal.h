/* Explains a usage server's error: the cause and the remedy. */
#ifndef TOLLBOOK_SERVER_USAGE_REFUSAL_H
#define TOLLBOOK_SERVER_USAGE_REFUSAL_H

#include "tollbook/api.h"

#include <stdbool.h>
#include <stddef.h>

#define USAGE_WHY_MAX 260 /* bytes of a cause and its remedy, with the terminator */

/* What a server refuses until an administrator acts. */
typedef enum usage_refuses {
    USAGE_REFUSES_NOTHING, /* this statement failed; others may be answered */
    USAGE_REFUSES_ROWS,    /* it answers, but stores nothing: its disk is full */
    USAGE_REFUSES_ALL      /* for example, the password is wrong */
} usage_refuses;

/* text: the body of an HTTP status that is not 200, such as "Code: 243, e.displayText() = DB::Exception: ...". */
usage_refuses usage_refusal(long status, const char *text, size_t len, char ret_why[USAGE_WHY_MAX]);

#endif
