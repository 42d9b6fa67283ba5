/* libxml2's text writer. The declaration is written as text: requesting an encoding by name would fill a table of the
 * process, which is not safe from several threads. Texts are UTF-8 on both sides. */
#include <libxml/xmlwriter.h>

#include "tollbook/api.h"
#include "ubl/face.h"

extern const tb__xml_face tb__xml_face_1;

static const xmlChar *as_xml(const char *text)
{
    return (const xmlChar *)text;
}

static xmlTextWriter *as_writer(tb__xml_writer *w)
{
    return (xmlTextWriter *)(void *)w;
}

static tb__xml_writer *writer_open(int (*add)(void *ctx, const char *bytes, int len), void *ctx)
{
    xmlOutputBuffer *sink = xmlOutputBufferCreateIO(add, NULL, ctx, NULL);
    if (!sink) return NULL;
    xmlTextWriter *writer = xmlNewTextWriter(sink);
    if (!writer) {
        xmlOutputBufferClose(sink);
        return NULL;
    }
    if (xmlTextWriterSetIndent(writer, 1) < 0 ||
        xmlTextWriterWriteRaw(writer, as_xml("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")) < 0) {
        xmlFreeTextWriter(writer);
        return NULL;
    }
    return (tb__xml_writer *)(void *)writer;
}

static int writer_start(tb__xml_writer *w, const char *name)
{
    return xmlTextWriterStartElement(as_writer(w), as_xml(name));
}

static int writer_attribute(tb__xml_writer *w, const char *name, const char *value)
{
    return xmlTextWriterWriteAttribute(as_writer(w), as_xml(name), as_xml(value));
}

static int writer_words(tb__xml_writer *w, const char *value)
{
    return xmlTextWriterWriteString(as_writer(w), as_xml(value));
}

static int writer_end(tb__xml_writer *w)
{
    return xmlTextWriterEndElement(as_writer(w));
}

static int writer_close(tb__xml_writer *w)
{
    const int ended = xmlTextWriterEndDocument(as_writer(w));
    const int flushed = xmlTextWriterFlush(as_writer(w));
    xmlFreeTextWriter(as_writer(w));
    return ended < 0 ? ended : flushed;
}

__attribute__((visibility("default"))) const tb__xml_face tb__xml_face_1 = {
    .version = TB_VERSION,
    .open = writer_open,
    .start = writer_start,
    .attribute = writer_attribute,
    .words = writer_words,
    .end = writer_end,
    .close = writer_close,
};
