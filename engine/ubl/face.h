/* Between UBL and libtollbook-print.so.1, where libxml2 is: its text writer as a table of functions,
 * found by its name. Both are of one build. */
#ifndef TOLLBOOK_UBL_FACE_H
#define TOLLBOOK_UBL_FACE_H

typedef struct tb__xml_writer tb__xml_writer;

/* int: below 0 is a failure. */
typedef struct tb__xml_face {
    const char *version; /* TB_VERSION */
    /* What is written goes to `add`, indented, behind a declaration of UTF-8. NULL: no memory. */
    tb__xml_writer *(*open)(int (*add)(void *ctx, const char *bytes, int len), void *ctx);
    int (*start)(tb__xml_writer *w, const char *name);
    int (*attribute)(tb__xml_writer *w, const char *name, const char *value);
    int (*words)(tb__xml_writer *w, const char *value);
    int (*end)(tb__xml_writer *w);
    /* Closes open elements, writes the whole document and frees the writer. */
    int (*close)(tb__xml_writer *w);
} tb__xml_face;

#define TB__XML_SYMBOL "tb__xml_face_1"

#endif
