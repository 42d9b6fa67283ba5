/* A sheet: the contents of an invoice, block by block, in reading order. It is made once from a statement; HTML and
 * PDF draw it without knowledge of bills. All text is UTF-8 without control characters, in the sheet's own memory. */
#ifndef TOLLBOOK_PRINT_SHEET_H
#define TOLLBOOK_PRINT_SHEET_H

#include "base/arena.h"
#include "print/words.h"
#include "tollbook/print.h"

#define TB__CELLS 5

typedef enum tb__block_kind {
    TB__TITLE,   /* text: kind of document; rows: its number, then who sends it */
    TB__FACTS,   /* rows of name and value */
    TB__PARTIES, /* boxes side by side: a row of kind BOX and its lines */
    TB__HERO,    /* the one figure that matters, and a row of words below it */
    TB__ALERT,   /* a warning: text, and rows of one cell */
    TB__HEADING, /* text; a bookmark */
    TB__TABLE,   /* columns and rows */
    TB__TOTALS,  /* rows of name and amount */
    TB__NOTES,   /* rows: a paragraph each; text: a heading, or NULL */
    TB__PROOF,   /* rows: where its entry in the log is; then, with a code of the address, text and the address */
    TB__DETAILS, /* the blocks after it go on pages of their own if they do not fit */
    TB__NEW_PAGE
} tb__block_kind;

typedef enum tb__row_kind {
    TB__ROW,    /* cells; the note below the wide one */
    TB__OPEN,   /* the same, and parts of it follow */
    TB__PART,   /* of the row above it */
    TB__LAST,   /* the last part */
    TB__GROUP,  /* names the rows that follow; the note beside it */
    TB__STRONG, /* what counts */
    TB__SOFT,   /* what explains the row above it */
    TB__BOX,    /* the first line of a box of parties: its label */
    TB__NAME,   /* of a party */
} tb__row_kind;

typedef struct tb__row {
    tb__row_kind kind;
    const char *cell[TB__CELLS]; /* NULL: empty */
    const char *note;            /* NULL: none */
} tb__row;

typedef struct tb__column {
    const char *head;
    bool end;  /* figures: they end where the column ends */
    bool wide; /* takes the room that is left; one of a table */
    bool mono; /* codes and hashes */
} tb__column;

typedef struct tb__block {
    tb__block_kind kind;
    const char *text;
    tb__column columns[TB__CELLS];
    size_t n_columns;
    size_t first, n_rows; /* of the sheet's rows */
} tb__block;

typedef struct tb__sheet {
    tb__language language;
    const char *title;   /* "Invoice 2026-000123" */
    const char *author;  /* "": there is no seller */
    const char *running; /* above later pages: title and author */
    const char *foot;    /* "Fingerprint 0123 4567 89ab cdef" */
    const char *stamp;   /* across every page: "Void"; NULL: none */
    const char *country; /* of the buyer, for the choice of Han's forms; "" */
    char created[21];    /* RFC 3339, the document's creation date */
    bool letter;
    tb__block *blocks;
    size_t n_blocks, cap_blocks;
    tb__row *rows;
    size_t n_rows, cap_rows;
    tb__arena texts;
} tb__sheet;

#define TB__QR_TEXT  400 /* bytes: an address */
#define TB__QR_WIDTH 97  /* squares of a side, of version 20 */

/* A QR code, without the margin of four squares that it needs. */
typedef struct tb__qr {
    int width;
    bool dark[TB__QR_WIDTH][TB__QR_WIDTH]; /* rows of squares */
} tb__qr;

/* Makes the sheet of a statement; release it in any case. */
TB_MUST_USE tb_code tb__sheet_make(tb__sheet *sheet, const tb_statement *statement,
                                   const char *sha256, const tb_invoice_names *names,
                                   const tb_print_options *options, tb_error *err);
void tb__sheet_release(tb__sheet *sheet);

#endif
