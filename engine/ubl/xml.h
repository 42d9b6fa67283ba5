/* Elements of XML written into a buffer, by libxml2's text writer (face.h). */
#ifndef TOLLBOOK_UBL_XML_H
#define TOLLBOOK_UBL_XML_H

#include "tollbook/buf.h"
#include "ubl/face.h"

typedef struct tb__xml {
    const tb__xml_face *face;
    tb__xml_writer *writer;
    tb_buf clean; /* of a text, what XML can hold */
    bool failed;  /* stays; told by tb__xml_end */
} tb__xml;

/* Writes the declaration. out gets all that is written. TB_E_IO: the shared object with libxml2 cannot
 * be loaded (base/heavy.h). */
TB_MUST_USE tb_code tb__xml_begin(tb__xml *xml, tb_buf *out, tb_error *err);
/* Closes open elements and releases the writer, after an error too. */
TB_MUST_USE tb_code tb__xml_end(tb__xml *xml, tb_error *err);

void tb__xml_open(tb__xml *xml, const char *name);
/* Of the element opened last, before anything is in it. Nothing where the value is blank. */
void tb__xml_attribute(tb__xml *xml, const char *name, const char *value);
void tb__xml_close(tb__xml *xml);
/* Its text: what XML 1.0 cannot hold becomes U+FFFD, control characters a blank; no blanks at its
 * ends. */
void tb__xml_words(tb__xml *xml, const char *value);
/* An element of a text alone; none where the text is blank, for norms forbid empty elements. */
void tb__xml_text(tb__xml *xml, const char *name, const char *value);
bool tb__xml_is_blank(const char *value);

#endif
