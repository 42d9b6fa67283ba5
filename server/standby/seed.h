/* The first copy of a standby: the primary's base over HTTP. Its hash is checked before it gets its name, and its content once it is
 * served (http/copy.c): until then FILE.unverified stands beside it. */
#ifndef TOLLBOOK_SERVER_STANDBY_SEED_H
#define TOLLBOOK_SERVER_STANDBY_SEED_H

#include "standby/link.h"
#include "tollbook/store.h"

typedef struct seed_options {
    link_options link;
    const char *db;  /* of the copy; its folder is there */
    void (*note)(const char *fmt, ...) TB_PRINTF(1, 2); /* progress, in lines */
    void (*warn)(const char *fmt, ...) TB_PRINTF(1, 2); /* what somebody has to look at */
} seed_options;

/* Fetches the base into DB.partial, goes on where it was cut off as long as the primary keeps that base, and renames it. Tries again
 * while the primary is away. TB_E_DIFFERENT: the base was damaged on its way. */
TB_MUST_USE tb_code seed_copy(const seed_options *options, tb_error *err);
bool seed_is_unverified(const char *db);
void seed_verified(const char *db);

#endif
