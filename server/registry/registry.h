/* The digest of an image's tag, from an OCI registry (Distribution 1.1, "Pulling manifests"). Requests go
 * only to the registry's address and the declared address for its tokens. */
#ifndef TOLLBOOK_SERVER_REGISTRY_REGISTRY_H
#define TOLLBOOK_SERVER_REGISTRY_REGISTRY_H

#include <stdbool.h>

#include "tollbook/error.h"

#define REGISTRY_DIGEST 71 /* "sha256:" and 64 hex digits */

typedef struct registry_question {
    const char *url;        /* scheme, host and port */
    const char *realm;      /* of tokens; "": none is declared */
    const char *username;   /* "": anonymous */
    const char *password;
    const char *repository; /* registry_is_name */
    const char *tag;        /* registry_is_tag */
    int64_t limit_us;       /* for all requests */
    const char *ca;         /* a file of certificate authorities; NULL: the system's */
    bool (*stop)(void *ctx);
    void *ctx;
} registry_question;

/* TB_E_IMAGE: there is no such tag, or not for these credentials. TB_E_REGISTRY: no answer, or not one of a registry;
 * err has the details for the operator. */
TB_MUST_USE tb_code registry_digest(const registry_question *question,
                                    char ret_digest[REGISTRY_DIGEST + 1], tb_error *err);

/* The forms of the specification; other texts never become part of an address. */
bool registry_is_name(const char *text, size_t len);
bool registry_is_tag(const char *text, size_t len);
bool registry_is_digest(const char *text);
/* A parameter of a challenge, `Bearer realm="...",service="..."`; false: it has none, or it is
 * longer than size - 1. */
bool registry_parameter(const char *challenge, const char *name, char *out, size_t size);

/* Once, before there are threads. */
void registry_start(void);

#endif
