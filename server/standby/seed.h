/* The first copy of a standby: the primary's base over HTTP, checked before it gets its name. */
#ifndef TOLLBOOK_SERVER_STANDBY_SEED_H
#define TOLLBOOK_SERVER_STANDBY_SEED_H

#include "standby/link.h"
#include "tollbook/store.h"

typedef struct seed_options {
    link_options link;
    const char *db;  /* of the copy; its folder is there */
    tb_check check;  /* of the whole copy */
    void (*note)(const char *fmt, ...) TB_PRINTF(1, 2); /* progress, in lines */
    void (*warn)(const char *fmt, ...) TB_PRINTF(1, 2); /* what somebody has to look at */
} seed_options;

/* Fetches the base into DB.partial, goes on where it was cut off as long as the primary keeps that base, checks it and
 * renames it. Tries again while the primary is away. TB_E_DIFFERENT: the base that came is damaged. */
TB_MUST_USE tb_code seed_copy(const seed_options *options, tb_error *err);

#endif
