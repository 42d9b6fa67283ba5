/* Containers as a catalogue declares them: registries, container applications, limits of accounts.
 * All three are JSON objects that belong to an account; docs/catalogue.md has their keys. */
#ifndef TOLLBOOK_CONTAINER_H
#define TOLLBOOK_CONTAINER_H

#include "tollbook/error.h"

TB_API_BEGIN

typedef enum tb_container_kind {
    TB_CONTAINER_REGISTRY,
    TB_CONTAINER_APP,
    TB_CONTAINER_LIMITS,
    TB_CONTAINER_KINDS
} tb_container_kind;

typedef struct tb_container {
    tb_container_kind kind;
    int64_t account;      /* registries: 0, every account's */
    const char *id;       /* "" for limits */
    const char *document; /* the object as canonical JSON */
    size_t index;         /* within its list */
} tb_container;

/* "registries", "container_apps", "container_limits" */
const char *tb_container_list_name(tb_container_kind kind);

#define TB_CONTAINER_ID_MAX       100 /* bytes of an id */
#define TB_CONTAINER_ORIGIN_MAX   255 /* of a registry's address */
#define TB_CONTAINER_REALM_MAX    500 /* of where its tokens come from */
#define TB_CONTAINER_USER_MAX     255
#define TB_CONTAINER_SECRET_MAX   64 /* of a secret's name */

TB_API_END

#endif
