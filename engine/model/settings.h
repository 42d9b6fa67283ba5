/* A pull zone's settings: judged and written along the table of pullzone.h. */
#ifndef TOLLBOOK_MODEL_SETTINGS_H
#define TOLLBOOK_MODEL_SETTINGS_H

#include "model/document.h"
#include "tollbook/pullzone.h"

#define TB__SETTINGS_MAX ((size_t)4 << 20) /* bytes of one zone's normal form */
/* Of a buffer that it is written to: a string takes six times its length until it is written. */
#define TB__SETTINGS_ROOM (8 * TB__SETTINGS_MAX)

/* Appends the normal form of a field's value: enums as numbers, decimals without exponent, objects with all their
 * fields in order, null lists as []. TB_E_CATALOG: err->field is the field's name, err->message the valid values,
 * err->byte the place. */
TB_MUST_USE tb_code tb__field_write(const tb_field *field, const tb__document *doc, uint32_t node,
                                    tb_buf *out, tb_error *err);

/* Appends the object of those settings that differ from a fresh zone's, keys sorted. TB_E_CATALOG
 * as above, also for names that are no field and fields that are known from elsewhere. */
TB_MUST_USE tb_code tb__settings_write(const tb__document *doc, uint32_t object, tb_buf *out,
                                       tb_error *err);

/* Appends a zone's hostnames: a string is one's Value, an object a HostnameModel. first, with
 * system true, goes before them unless it is among them. Those without an Id get numbers from
 * first_id on. Without certificates, they are null. */
typedef struct tb__hostnames {
    const char *first;
    size_t first_len;
    int64_t first_id;
    bool certificates;
} tb__hostnames;
/* node: the list; doc NULL: none. */
TB_MUST_USE tb_code tb__hostnames_write(const tb__hostnames *with, const tb__document *doc,
                                        uint32_t node, tb_buf *out, tb_error *err);

#endif
