/* Invoices as PDF, in process on one thread, by seconds of processor:
 *
 * usage: bench_print own DOCUMENTS LINES     documents of so many lines, each with figures of its
 * own: seconds, bytes, texts of one document bench_print bare DOCUMENTS TEXTS    the peer: Pango
 * and cairo alone, a layout for each text
 */
#include <cairo-pdf.h>
#include <inttypes.h>
#include <pango/pangocairo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure.h"
#include "print/sheet.h"

#define MONTH 681 /* October 2026 */

static double processor(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- ours --- */

typedef struct invoice {
    tb_statement s;
    tb_bill_taxed tax;
    tb_bill bill;
    tb_bill_line *lines;
    tb_bill_tier *tiers;
    tb_zone_name *zones;
    char (*names)[48];
    tb_party seller, buyer;
    tb_invoice_names known;
} invoice;

static void make_parties(invoice *in)
{
    in->seller = (tb_party){{[TB_PARTY_NAME] = "Example Networks GmbH",
                             [TB_PARTY_STREET] = "Hauptstrasse 12",
                             [TB_PARTY_CITY] = "Berlin",
                             [TB_PARTY_POSTAL_CODE] = "10115",
                             [TB_PARTY_COUNTRY] = "DE",
                             [TB_PARTY_VAT_ID] = "DE123456789",
                             [TB_PARTY_PAYMENT_IBAN] = "DE89370400440532013000"}};
    in->buyer = (tb_party){{[TB_PARTY_NAME] = "Sample Ltd",
                            [TB_PARTY_STREET] = "1 High Street",
                            [TB_PARTY_CITY] = "London",
                            [TB_PARTY_COUNTRY] = "GB"}};
    in->s.seller = &in->seller;
    in->s.buyer = &in->buyer;
}

static void make_invoice(invoice *in, size_t lines)
{
    *in = (invoice){.lines = calloc(lines, sizeof *in->lines),
                    .tiers = calloc(lines, sizeof *in->tiers),
                    .zones = calloc(lines, sizeof *in->zones),
                    .names = calloc(lines, sizeof *in->names)};
    if (!in->lines || !in->tiers || !in->zones || !in->names) bench_fail("out of memory");
    for (size_t i = 0; i < lines; i++) {
        snprintf(in->names[i], sizeof in->names[i], "images-%zu.example.com", i);
        in->zones[i] = (tb_zone_name){(int64_t)(100 + i), in->names[i], NULL};
    }
    in->known = (tb_invoice_names){.account = "sample", .zones = in->zones, .n_zones = lines};
    in->bill = (tb_bill){.lines = in->lines, .n_lines = lines, .tax = &in->tax, .n_tax = 1, .minor_digits = 2};
    in->bill.tax[0].rate = (tb_bill_tax){.name = "VAT", .percent = {19, 0}};
    in->s = (tb_statement){.version = TB_INVOICE_VERSION,
                           .kind = "invoice",
                           .state = "final",
                           .account = 1,
                           .month = MONTH,
                           .currency = "USD",
                           .bill = &in->bill,
                           .issued = "2026-11-04",
                           .due = "2026-11-18"};
    make_parties(in);
}

/* Two regions a zone; no document has another's figures. */
static void fill(invoice *in, uint64_t document)
{
    tb_i128 total = 0;
    snprintf(in->s.number, sizeof in->s.number, "2026-%06u", (unsigned)(document % 999999 + 1));
    for (size_t i = 0; i < in->bill.n_lines; i++) {
        const tb_i128 bytes =
            (tb_i128)((document + 3) * UINT64_C(1234567891) * (i + 7) % UINT64_C(99999999999999));
        const tb_decimal amount = {bytes / 1000000000, 2};
        in->tiers[i] = (tb_bill_tier){
            .to = bytes, .units = bytes, .price = {1, 11}, .shown = {1, 2}, .amount = amount};
        in->lines[i] = (tb_bill_line){.number = (uint32_t)(i + 1),
                                      .kind = TB_LINE_BANDWIDTH,
                                      .id = (int64_t)(100 + i / 2),
                                      .quantity = bytes,
                                      .exact = amount,
                                      .amount = amount,
                                      .tiers = &in->tiers[i],
                                      .n_tiers = 1,
                                      .period_month = MONTH};
        strcpy(in->lines[i].region, i % 2 ? "NA" : "EU");
        total += amount.mantissa;
    }
    in->bill.subtotal = in->bill.tax[0].base = (tb_decimal){total, 2};
    in->bill.tax[0].amount = (tb_decimal){total * 19 / 100, 2};
    in->bill.total = (tb_decimal){total + total * 19 / 100, 2};
}

static size_t count(const char *text)
{
    return text && *text;
}

/* The texts that a document has drawn, heads of tables once. */
static size_t count_texts(const invoice *in)
{
    tb__sheet sheet;
    tb_error err;
    size_t n = 2;
    if (tb__sheet_make(&sheet, &in->s, "", &in->known, NULL, &err)) bench_fail("%s", err.message);
    for (size_t i = 0; i < sheet.n_rows; i++) {
        n += count(sheet.rows[i].note);
        for (size_t c = 0; c < TB__CELLS; c++)
            n += count(sheet.rows[i].cell[c]);
    }
    for (size_t i = 0; i < sheet.n_blocks; i++) {
        n += count(sheet.blocks[i].text);
        for (size_t c = 0; c < sheet.blocks[i].n_columns; c++)
            n += count(sheet.blocks[i].columns[c].head);
    }
    tb__sheet_release(&sheet);
    return n;
}

static void own(size_t documents, size_t lines)
{
    tb_printer *printer = NULL;
    invoice in;
    tb_buf out;
    tb_error err;
    make_invoice(&in, lines);
    tb_buf_init(&out, TB_PRINT_MAX, NULL);
    if (tb_printer_new(&printer, &err)) bench_fail("%s", err.message);
    size_t bytes = 0;
    const double begin = processor();
    for (size_t i = 0; i < documents; i++) {
        fill(&in, i);
        out.len = 0;
        if (tb_print_pdf(printer, &in.s, "0123456789abcdef", &in.known, NULL, &out, &err))
            bench_fail("%s", err.message);
        bytes += out.len;
    }
    printf("%.6f %zu %zu\n", processor() - begin, bytes, count_texts(&in));
    tb_printer_free(printer);
    tb_buf_release(&out);
    free(in.lines);
    free(in.tiers);
    free(in.zones);
    free(in.names);
}

/* --- the peer --- */

static cairo_status_t take(void *ctx, const unsigned char *data, unsigned int len)
{
    (void)data;
    *(size_t *)ctx += len;
    return CAIRO_STATUS_SUCCESS;
}

static void bare_document(PangoLayout *layout, size_t texts, size_t document, size_t *bytes)
{
    cairo_surface_t *pdf = cairo_pdf_surface_create_for_stream(take, bytes, 595.276, 841.89);
    cairo_t *cr = cairo_create(pdf);
    char text[64];
    for (size_t i = 0; i < texts; i++) {
        snprintf(text, sizeof text, "Item %zu.%02zu GB", document * 31 + i, i);
        pango_layout_set_text(layout, text, -1);
        cairo_move_to(cr, 50 + (double)(i % 5) * 100, 50 + (double)(i / 5 % 60) * 12);
        pango_cairo_show_layout(cr, layout);
        if (i % 300 == 299) cairo_show_page(cr);
    }
    cairo_show_page(cr);
    cairo_destroy(cr);
    cairo_surface_finish(pdf);
    cairo_surface_destroy(pdf);
}

static void bare(size_t documents, size_t texts)
{
    PangoFontMap *fonts = pango_cairo_font_map_new();
    PangoContext *context = pango_font_map_create_context(fonts);
    PangoFontDescription *font = pango_font_description_from_string("Noto Sans 9");
    PangoLayout *layout = pango_layout_new(context);
    pango_layout_set_font_description(layout, font);
    size_t bytes = 0;
    const double begin = processor();
    for (size_t i = 0; i < documents; i++)
        bare_document(layout, texts, i, &bytes);
    printf("%.6f %zu %zu\n", processor() - begin, bytes, texts);
    g_object_unref(layout);
    pango_font_description_free(font);
    g_object_unref(context);
    g_object_unref(fonts);
}

int main(int argc, char **argv)
{
    if (argc != 4) bench_fail("usage: bench_print own|bare DOCUMENTS LINES|TEXTS");
    const size_t documents = (size_t)bench_number(argv[2], 1, 1000000);
    const size_t n = (size_t)bench_number(argv[3], 1, 100000);
    if (strcmp(argv[1], "own") == 0)
        own(documents, n);
    else
        bare(documents, n);
    return 0;
}
