/* PDFs: the same words and sums as the page of HTML, fonts inside, the same bytes whatever the
 * locale, the time zone and the folder. Read back with poppler's tools; skipped where they are not
 * there. */
#include "unit/print_fixture.h"

#include <locale.h>
#include <time.h>
#include <unistd.h>

#include "seed.h"


/* What Debian's cairo and fontconfig keep is theirs: some 800 bytes of some documents, and caches. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libcairo.so\nleak:libfontconfig.so\n";
}

static tb_printer *printer;

static tb_buf pdf_of(const print_fixture *p)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_PRINT_MAX, NULL);
    ck_assert_msg(
        tb_print_pdf(printer, &p->f.s, PRINT_SHA256, &p->names, &p->options, &out, &err) == TB_OK,
        "%s", err.message);
    ck_assert(out.len > 1000 && memcmp(out.data, "%PDF-1.", 7) == 0);
    return out;
}

/* What a program says of the PDF; free(). */
static char *said_of(const tb_buf *pdf, const char *command, const char *more)
{
    char path[] = "/tmp/tb-print-XXXXXX", line[256];
    const int file = mkstemp(path);
    ck_assert(file >= 0 && write(file, pdf->data, pdf->len) == (ssize_t)pdf->len);
    close(file);
    snprintf(line, sizeof line, "%s %s %s", command, path, more);
    FILE *pipe = popen(line, "r");
    char *text = calloc(1, (size_t)4 << 20);
    ck_assert_ptr_nonnull(pipe);
    const size_t n = fread(text, 1, ((size_t)4 << 20) - 1, pipe);
    ck_assert_int_eq(pclose(pipe), 0);
    unlink(path);
    text[n] = '\0';
    return text;
}

static char *text_of_pdf(const print_fixture *p)
{
    tb_buf pdf = pdf_of(p);
    char *text = said_of(&pdf, "pdftotext -layout", "-");
    tb_buf_release(&pdf);
    return text;
}

/* --- the same words --- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\f' || c == '\t';
}

static void squeeze(char *text)
{
    char *out = text;
    for (const char *at = text; *at; at++)
        if (!is_space(*at)) *out++ = *at;
    *out = '\0';
}

/* The texts of the page of HTML, one after the other; each is in the PDF. */
static void assert_same_words(const print_fixture *p)
{
    char *html = html_of(p), *pdf = text_of_pdf(p), *at = strstr(html, "<body>");
    squeeze(pdf);
    size_t words = 0;
    while ((at = strchr(at, '>')) != NULL) {
        char *end = strchr(++at, '<');
        if (!end) break;
        *end = '\0';
        squeeze(at);
        if (*at && !strchr(at, '&')) {
            ck_assert_msg(strstr(pdf, at) != NULL, "lacks %s", at);
            words++;
        }
        at = end + 1;
    }
    ck_assert_uint_gt(words, 30);
    free(html);
    free(pdf);
}

/* What has a QR code. */
static const tb_invoice_proof coded = {.log = "example.com/log", .index = 5, .root = "0123456789abcdef",
                                       .address = "https://billing.example.com/billing/invoices/2026-000007/proof"};

START_TEST(a_pdf_has_the_words_and_sums_of_the_page)
{
    print_fixture p;
    print_fixture_make(&p);
    assert_same_words(&p);
    p.buyer.text[TB_PARTY_LANGUAGE] = "de";
    assert_same_words(&p);
    strcpy(p.f.s.kind, "credit_note");
    strcpy(p.f.s.corrects, "2026-000005");
    assert_same_words(&p);
    fixture_make(&p.f);
    assert_same_words(&p);
    p.names.proof = &(tb_invoice_proof){.log = "example.com/log", .index = 5, .root = "0123456789abcdef"};
    assert_same_words(&p);
    p.names.proof = &coded;
    assert_same_words(&p);
}
END_TEST

START_TEST(a_pdf_says_what_it_is)
{
    print_fixture p;
    print_fixture_make(&p);
    tb_buf pdf = pdf_of(&p);
    char *info = said_of(&pdf, "TZ=UTC pdfinfo", "");
    HAS(info, "Invoice 2026-000007");
    HAS(info, "Example CDN");
    HAS(info, "Wed Nov  4 00:00:00 2026 UTC");
    HAS(info, "(A4)");
    free(info);
    tb_buf_release(&pdf);
    p.options.letter = true;
    pdf = pdf_of(&p);
    info = said_of(&pdf, "pdfinfo", "");
    HAS(info, "(letter)");
    free(info);
    tb_buf_release(&pdf);
    p.names.proof = &coded;
    pdf = pdf_of(&p);
    info = said_of(&pdf, "pdfinfo -url", "");
    HAS(info, "Annotation    https://billing.example.com/billing/invoices/2026-000007/proof");
    free(info);
    tb_buf_release(&pdf);
}
END_TEST

START_TEST(all_fonts_are_inside)
{
    print_fixture p;
    print_fixture_make(&p);
    p.zones[0].name = "\u6771\u4eac \u05d7\u05d1\u05e8\u05d4 \u0639\u0631\u0628\u064a";
    tb_buf pdf = pdf_of(&p);
    char *fonts = said_of(&pdf, "pdffonts", "");
    size_t n = 0;
    char *rest = NULL;
    for (char *line = strtok_r(fonts, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (!strchr(line, '+')) continue;
        ck_assert_msg(strstr(line, " yes yes ") != NULL, "%s", line); /* embedded, a subset */
        n++;
    }
    ck_assert_uint_ge(n, 2);
    free(fonts);
    tb_buf_release(&pdf);
}
END_TEST

/* --- the same bytes --- */

START_TEST(the_same_bytes_whatever_the_locale_the_zone_and_the_folder)
{
    static const char *const locales[] = {"C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"};
    print_fixture p;
    char folder[512];
    print_fixture_make(&p);
    p.zones[0].name = "\u6771\u4eac \u05d7\u05d1\u05e8\u05d4";
    p.names.proof = &coded;
    tb_buf first = pdf_of(&p);
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    ck_assert_int_eq(chdir("/"), 0);
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        setenv("TZ", i % 2 ? "Asia/Tokyo" : "America/New_York", 1);
        setenv("LANGUAGE", i % 2 ? "ja" : "zh_TW", 1);
        setenv("LC_ALL", locales[i], 1);
        tzset();
        setlocale(LC_ALL, locales[i]); /* where this machine has it */
        tb_printer *same = printer;
        ck_assert_int_eq(tb_printer_new(&printer, NULL), TB_OK);
        tb_buf again = pdf_of(&p);
        ck_assert_uint_eq(again.len, first.len);
        ck_assert_int_eq(memcmp(again.data, first.data, first.len), 0);
        tb_printer_free(printer);
        printer = same;
        tb_buf_release(&again);
    }
    setlocale(LC_ALL, "C");
    ck_assert_int_eq(chdir(folder), 0);
    tb_buf_release(&first);
}
END_TEST

/* What a printer drew before changes nothing. */
START_TEST(a_printer_remembers_nothing_that_shows)
{
    print_fixture p, other;
    print_fixture_make(&p);
    print_fixture_make(&other);
    tb_buf first = pdf_of(&p);
    other.buyer.text[TB_PARTY_LANGUAGE] = "de";
    other.buyer.text[TB_PARTY_COUNTRY] = "JP";
    tb_buf between = pdf_of(&other), again = pdf_of(&p);
    ck_assert_uint_eq(again.len, first.len);
    ck_assert_int_eq(memcmp(again.data, first.data, first.len), 0);
    tb_buf_release(&first);
    tb_buf_release(&between);
    tb_buf_release(&again);
}
END_TEST

START_TEST(without_a_printer_one_is_made)
{
    print_fixture p;
    tb_buf out;
    print_fixture_make(&p);
    tb_buf first = pdf_of(&p);
    tb_buf_init(&out, TB_PRINT_MAX, NULL);
    ck_assert_int_eq(tb_print_pdf(NULL, &p.f.s, PRINT_SHA256, &p.names, NULL, &out, NULL), TB_OK);
    ck_assert_uint_eq(out.len, first.len);
    ck_assert_int_eq(memcmp(out.data, first.data, first.len), 0);
    tb_buf_release(&out);
    tb_buf_release(&first);
}
END_TEST

/* --- pages --- */

typedef struct many {
    tb_bill_line *lines;
    tb_bill_tier *tiers;
} many;

/* n lines of n / 2 zones. */
static many make_many(print_fixture *p, size_t n)
{
    many m = {calloc(n, sizeof *m.lines), calloc(n, sizeof *m.tiers)};
    for (size_t i = 0; i < n; i++) {
        char resource[40];
        snprintf(resource, sizeof resource, "zone:%zu", 1000 + i / 2);
        m.lines[i] = make_line(TB_LINE_BANDWIDTH, (int64_t)(1000 + i / 2), resource,
                               i % 2 ? "NA" : "EU", (tb_i128)(1000000007 * (i + 1)), "1.5", "1.50");
        m.tiers[i] = make_tier(0, m.lines[i].quantity, "0.00000000001", "0.01", "1.5");
        m.lines[i].tiers = &m.tiers[i];
        m.lines[i].n_tiers = 1;
        m.lines[i].number = (uint32_t)(i + 1);
    }
    p->f.bill.lines = m.lines;
    p->f.bill.n_lines = n;
    return m;
}

static void free_many(many *m)
{
    free(m->lines);
    free(m->tiers);
}

static size_t pages_of(const tb_buf *pdf)
{
    char *info = said_of(pdf, "pdfinfo", "");
    const char *pages = strstr(info, "Pages:");
    ck_assert_ptr_nonnull(pages);
    const size_t n = strtoul(pages + 6, NULL, 10);
    free(info);
    return n;
}

START_TEST(long_invoices_have_numbered_pages_each_with_its_head)
{
    print_fixture p;
    char want[32];
    print_fixture_make(&p);
    many m = make_many(&p, 200);
    tb_buf pdf = pdf_of(&p);
    const size_t pages = pages_of(&pdf);
    ck_assert_msg(pages >= 9 && pages <= 14, "%zu", pages);
    char *text = said_of(&pdf, "pdftotext -layout", "-"), *page = text;
    for (size_t i = 1; i <= pages; i++) {
        char *end = strchr(page, '\f');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        snprintf(want, sizeof want, "Page %zu of %zu", i, pages);
        HAS(page, want);
        HAS(page, "Amount (USD)");
        HAS(page, "Fingerprint 0123");
        page = end + 1;
    }
    free(text);
    tb_buf_release(&pdf);
    free_many(&m);
}
END_TEST

START_TEST(bookmarks_lead_to_the_parts)
{
    print_fixture p;
    print_fixture_make(&p);
    tb_buf pdf = pdf_of(&p);
    char *outline = said_of(&pdf, "pdftohtml -xml -stdout -i", "");
    char *from = strstr(outline, "<outline>");
    ck_assert_ptr_nonnull(from);
    HAS(from, "page=\"1\">Summary");
    HAS(from, "Charges in detail");
    HAS(from, "images.example.com");
    free(outline);
    tb_buf_release(&pdf);
}
END_TEST

/* --- any text --- */

START_TEST(characters_without_a_font_are_counted)
{
    print_fixture p;
    print_fixture_make(&p);
    tb_buf pdf = pdf_of(&p);
    ck_assert_uint_eq(tb_printer_unknown(printer), 0);
    tb_buf_release(&pdf);
    p.zones[0].name = "\U000F0000\U000F0001"; /* of private use: no font has them */
    pdf = pdf_of(&p);
    ck_assert_uint_ge(tb_printer_unknown(printer), 2);
    tb_buf_release(&pdf);
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Text of all kinds of characters, at most 255 bytes. */
static void random_text(uint64_t *state, char out[256])
{
    static const uint32_t starts[] = {' ',    'A',    '0',    0xE0,    0x5D0, 0x627,  0x905, 0xE01,
                                      0x3042, 0x4E00, 0xAC00, 0x1F600, 0x300, 0x200B, 0x2028, 0xFDD0, 0xFFE8, 0x10FFE8};
    size_t len = next_random(state) % 252, at = 0;
    const bool one_word = next_random(state) % 4 == 0;
    while (at < len) {
        uint32_t c = one_word ? 'W'
                              : starts[next_random(state) % (sizeof starts / sizeof *starts)] +
                                    (uint32_t)(next_random(state) % 24);
        if (c < 0x80) {
            out[at++] = (char)c;
        } else if (c < 0x800) {
            out[at++] = (char)(0xC0 | c >> 6);
            out[at++] = (char)(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            out[at++] = (char)(0xE0 | c >> 12);
            out[at++] = (char)(0x80 | (c >> 6 & 0x3F));
            out[at++] = (char)(0x80 | (c & 0x3F));
        } else {
            out[at++] = (char)(0xF0 | c >> 18);
            out[at++] = (char)(0x80 | (c >> 12 & 0x3F));
            out[at++] = (char)(0x80 | (c >> 6 & 0x3F));
            out[at++] = (char)(0x80 | (c & 0x3F));
        }
    }
    out[at] = '\0';
}

/* Whatever names and figures are, there is a document. */
START_TEST(any_names_and_figures_give_a_document)
{
    static char texts[2 * TB_PARTY_FIELDS + 3][256];
    uint64_t state = test_seed();
    const int rounds = (test_long() ? 400 : 8) / TB_PART + 1;
    for (int round = 0; round < rounds; round++) {
        print_fixture p;
        print_fixture_make(&p);
        many m = make_many(&p, 1 + next_random(&state) % 40);
        for (size_t i = 0; i < 2 * TB_PARTY_FIELDS + 3; i++)
            random_text(&state, texts[i]);
        for (size_t i = 0; i < TB_PARTY_FIELDS; i++) {
            p.seller.text[i] = next_random(&state) % 4 ? texts[i] : NULL;
            p.buyer.text[i] = next_random(&state) % 4 ? texts[TB_PARTY_FIELDS + i] : NULL;
        }
        for (size_t i = 0; i < 3; i++)
            p.zones[i] = (tb_zone_name){(int64_t)(1000 + i), texts[2 * TB_PARTY_FIELDS + i], NULL};
        if (next_random(&state) % 2) p.buyer.text[TB_PARTY_LANGUAGE] = "de";
        for (size_t i = 0; i < p.f.bill.n_lines; i++) {
            tb_bill_line *line = &p.f.bill.lines[i];
            line->kind = (tb_line_kind)(next_random(&state) % TB_LINE_CORRECTION);
            line->quantity = (tb_i128)next_random(&state) << next_random(&state) % 60;
            if (next_random(&state) % 3 == 0) line->quantity = -line->quantity;
        }
        p.options = (tb_print_options){next_random(&state) % 2, next_random(&state) % 2};
        tb_buf pdf = pdf_of(&p);
        tb_buf_release(&pdf);
        char *html = html_of(&p);
        free(html);
        free_many(&m);
    }
}
END_TEST

static void set_up(void)
{
    tb_error err = {0};
    ck_assert_msg(tb_printer_new(&printer, &err) == TB_OK, "%s", err.message);
}

static void tear_down(void)
{
    tb_printer_free(printer);
    printer = NULL;
}

int main(void)
{
    Suite *suite = suite_create("print_pdf");
    TCase *test = tcase_create("print_pdf");
    tcase_set_timeout(test, 300);
    tcase_add_checked_fixture(test, set_up, tear_down);
    if (system("command -v pdftotext pdffonts pdfinfo >/dev/null") == 0) {
        tcase_add_test(test, a_pdf_has_the_words_and_sums_of_the_page);
        tcase_add_test(test, a_pdf_says_what_it_is);
        tcase_add_test(test, all_fonts_are_inside);
        tcase_add_test(test, long_invoices_have_numbered_pages_each_with_its_head);
        tcase_add_test(test, bookmarks_lead_to_the_parts);
    }
    tcase_add_test(test, the_same_bytes_whatever_the_locale_the_zone_and_the_folder);
    tcase_add_test(test, a_printer_remembers_nothing_that_shows);
    tcase_add_test(test, without_a_printer_one_is_made);
    tcase_add_test(test, characters_without_a_font_are_counted);
    tcase_add_test(test, any_names_and_figures_give_a_document);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
