/* JSON that has one form: members in a fixed order, no blanks, strings as tb__quote writes them. What is read and written again is
 * the same bytes. It is read in one pass, without a tree: a bundle may have 100 MB. */
#ifndef TOLLBOOK_CHECK_STRICT_JSON_H
#define TOLLBOOK_CHECK_STRICT_JSON_H

#include "tollbook/buf.h"

/* Appends a quoted string. */
void tb__strict_add(tb_buf *out, tb_text text);

/* A text that is read. After the first failure every further step does nothing. */
typedef struct tb__strict {
    char *start, *at, *end;
    char part[32]; /* where it is, for the error's field: "days[3]"; "" at the top */
    tb_code code;
    tb_error *err;
} tb__strict;

/* Fails with TB_E_VALIDATION: the field is the part and this member of it. */
void tb__strict_refuse(tb__strict *r, const char *member, const char *fmt, ...) TB_PRINTF(3, 4);
/* Takes the literal if it is next. */
bool tb__strict_try(tb__strict *r, const char *literal);
/* The literal has to be next. */
bool tb__strict_take(tb__strict *r, const char *member, const char *literal);
/* A string, unescaped where it stands. data NULL: none. */
tb_text tb__strict_string(tb__strict *r, const char *member);
/* The member's name, and a string as its value. */
tb_text tb__strict_member(tb__strict *r, const char *name);
/* A number from 0 to INT64_MAX. */
int64_t tb__strict_number(tb__strict *r, const char *member);

#endif
