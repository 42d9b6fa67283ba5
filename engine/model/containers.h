/* Reading the catalogue's three lists about containers. */
#ifndef TOLLBOOK_MODEL_CONTAINERS_H
#define TOLLBOOK_MODEL_CONTAINERS_H

#include "model/document.h"
#include "tollbook/catalog.h"

/* The kind of a key of the catalogue; TB_CONTAINER_KINDS: none of these lists. */
tb_container_kind tb__container_list(const tb__node *key);
/* Judges a list's value and fills one element for each of its objects, from `kept`. TB_E_CATALOG,
 * err->field the JSON path, err->byte the place. */
TB_MUST_USE tb_code tb__containers_read(const tb__document *doc, tb_container_kind kind,
                                        uint32_t list, tb__arena *kept, tb_container *ret,
                                        tb_error *err);

#endif
