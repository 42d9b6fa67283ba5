/* The file of --trust-on-first-use: the keys of logs that were trusted once, and the newest checkpoint of each. */
#ifndef TOLLBOOK_SERVER_CHECKER_TRUST_H
#define TOLLBOOK_SERVER_CHECKER_TRUST_H

#include "tollbook/bundle.h"

/* A log: as the file has it, and as it is after this run. */
typedef struct trust_log {
    tb_check_log log; /* its checkpoint is the newest */
    tb_text before;   /* the checkpoint that the file had; data NULL: the log was not in it */
    char *kept;       /* owned: the newest checkpoint where this run found it */
} trust_log;

typedef struct trust {
    const char *path; /* NULL: nothing is remembered */
    tb_buf text;      /* of the file */
    trust_log *logs;
    size_t n;
    bool changed;
    int lock; /* the folder's, until it is closed; 0 or -1: none */
} trust;

/* A file that is not there is an empty one. Close it after any outcome. */
TB_MUST_USE tb_code trust_open(const char *path, trust *ret, tb_error *err);
/* Adds what is remembered of the bundle's log to the input. */
void trust_use(const trust *t, tb_check_input *input);
/* Remembers the key and the checkpoint of a file that was checked, where the key signed it and the log only grew. */
TB_MUST_USE tb_code trust_learn(trust *t, const tb_check_input *input, const tb_check_result *result, tb_error *err);
/* Writes the file where something changed: a new one in its place. */
TB_MUST_USE tb_code trust_save(trust *t, tb_error *err);
void trust_close(trust *t);

#endif
