/* Media types and content codings of request bodies. Pure. */
#ifndef TOLLBOOK_SERVER_HTTP_MEDIA_H
#define TOLLBOOK_SERVER_HTTP_MEDIA_H

#include "http/router.h"

typedef enum media_coding {
    MEDIA_ABSENT,   /* no Content-Encoding: the first bytes may tell */
    MEDIA_IDENTITY,
    MEDIA_GZIP,
    MEDIA_ZSTD,
    MEDIA_UNKNOWN
} media_coding;

/* From Content-Encoding's value; data NULL: absent. A list of codings is unknown. */
media_coding media_coding_parse(tb_text value);
/* Whether a Content-Type fits; parameters such as charset are ignored, absent fits. */
bool media_type_fits(route_body body, tb_text content_type);

#endif
