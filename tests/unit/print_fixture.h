/* An invoice with parties, zone names and one line of everything, for the tests of what is printed.
 */
#ifndef TESTS_UNIT_PRINT_FIXTURE_H
#define TESTS_UNIT_PRINT_FIXTURE_H

#include "tollbook/print.h"
#include "unit/invoice_fixture.h"

#define PRINT_SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

#define HAS(text, part)   ck_assert_msg(strstr(text, part) != NULL, "lacks %s", part)
#define LACKS(text, part) ck_assert_msg(strstr(text, part) == NULL, "has %s", part)

typedef struct print_fixture {
    fixture f;
    tb_party seller, buyer;
    tb_zone_name zones[4];
    tb_invoice_names names;
    tb_correction corrections[6];
    tb_print_options options;
} print_fixture;

static inline void print_fixture_parties(print_fixture *p)
{
    p->seller = (tb_party){{[TB_PARTY_NAME] = "Example Networks GmbH",
                            [TB_PARTY_TRADING_NAME] = "Example CDN",
                            [TB_PARTY_STREET] = "Hauptstra\u00dfe 12",
                            [TB_PARTY_CITY] = "Berlin",
                            [TB_PARTY_POSTAL_CODE] = "10115",
                            [TB_PARTY_COUNTRY] = "DE",
                            [TB_PARTY_VAT_ID] = "DE123456789",
                            [TB_PARTY_CONTACT_EMAIL] = "billing@example.com",
                            [TB_PARTY_PAYMENT_IBAN] = "DE89370400440532013000",
                            [TB_PARTY_PAYMENT_BIC] = "COBADEFFXXX",
                            [TB_PARTY_NOTE] = "Thank you.\nSee you soon.",
                            [TB_PARTY_LEGAL_INFO] = "HRB 12345 B"}};
    p->buyer = (tb_party){{[TB_PARTY_NAME] = "Sample Ltd",
                           [TB_PARTY_STREET] = "1 High Street",
                           [TB_PARTY_CITY] = "London",
                           [TB_PARTY_POSTAL_CODE] = "EC1A 1AA",
                           [TB_PARTY_COUNTRY] = "GB",
                           [TB_PARTY_REFERENCE] = "PO-4711",
                           [TB_PARTY_VAT_ID] = "GB999999973"}};
}

/* The pointers inside lead into p: it must not be moved. */
static inline void print_fixture_make(print_fixture *p)
{
    memset(p, 0, sizeof *p);
    fixture_make(&p->f);
    fixture_final(&p->f);
    print_fixture_parties(p);
    strcpy(p->f.s.due, "2026-11-18");
    strcpy(p->f.bill.tax[0].rate.name, "VATRate");
    p->f.s.seller = &p->seller;
    p->f.s.buyer = &p->buyer;
    p->zones[0] = (tb_zone_name){101, "images.example.com", NULL};
    p->zones[1] = (tb_zone_name){102, "video.example.com", NULL};
    p->zones[2] = (tb_zone_name){104, "shop.example.com", NULL};
    p->names = (tb_invoice_names){.account = "sample", .zones = p->zones, .n_zones = 3};
}

static inline char *html_of(const print_fixture *p)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, TB_PRINT_MAX, NULL);
    tb_print_html_head("Invoices", &p->options, &out);
    ck_assert_msg(tb_print_html(&p->f.s, PRINT_SHA256, &p->names, &p->options, &out, &err) == TB_OK,
                  "%s", err.message);
    tb_print_html_tail(&out);
    return text_of(&out);
}

#endif
