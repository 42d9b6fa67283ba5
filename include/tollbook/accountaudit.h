/* The audit log as an account sees it: changes by its keys and tokens, and changes by others to its keys, alerts and
 * money. What the operator gave as arguments is not shown, nor who it was. Changes of the catalogue, of price books and
 * of all accounts together are not among them. */
#ifndef TOLLBOOK_ACCOUNTAUDIT_H
#define TOLLBOOK_ACCOUNTAUDIT_H

#include "tollbook/buf.h"
#include "tollbook/range.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* X(ENUM, the member of an entry that is compared, which is the parameter's name too). */
#define TB_AUDIT_FIELDS(X)                                                                         \
    X(PRODUCT, "Product")                                                                          \
    X(RESOURCE_TYPE, "ResourceType")                                                               \
    X(RESOURCE_ID, "ResourceId")                                                                   \
    X(ACTOR_ID, "ActorId")

typedef enum tb_audit_field {
#define TB_X(e, name) TB_AUDIT_##e,
    TB_AUDIT_FIELDS(TB_X)
#undef TB_X
        TB_AUDIT_FIELD_COUNT
} tb_audit_field;

#define TB_AUDIT_FILTERS_MAX  32
#define TB_AUDIT_ENTRIES_MAX  10000           /* of one page */
#define TB_AUDIT_PAGE_BYTES   ((size_t)8 << 20) /* a longer page ends early */

typedef struct tb_audit_filter {
    tb_audit_field field;
    tb_text value; /* in any letter case of ASCII */
} tb_audit_filter;

typedef struct tb_audit_ask {
    int64_t account, day;
    bool descending;
    int64_t limit;
    int64_t at; /* the number that is the last page's ContinuationToken; 0: the first page */
    tb_audit_filter filter[TB_AUDIT_FILTERS_MAX]; /* those of one field are alternatives */
    size_t n_filters;
} tb_audit_ask;

/* Appends a page of the day's entries, by time: {"Logs":[...],"HasMoreData":true,"ContinuationToken":"100"}. New entries
 * neither move nor repeat those of later pages. Reads the whole log: it has no index by time. */
TB_MUST_USE tb_code tb_account_audit(tb_store *store, const tb_audit_ask *ask, tb_buf *out, tb_error *err);

TB_API_END

#endif
