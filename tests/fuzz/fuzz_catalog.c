/* Fuzzes the catalogue parser with documents as they come. What is accepted must keep the promises
 * of catalog.h, its canonical documents must be canonical already, and bills must read them. */
#include "model/document.h"
#include "store/money/billing.h"
#include "tollbook/catalog.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

/* The text of a document reads back, and writes as itself. */
static void check_document(const char *text)
{
    tb__arena arena;
    tb__arena_init(&arena, NULL);
    tb__document doc;
    size_t len;
    MUST(tb__document_parse(text, strlen(text), TB_E_CATALOG, &arena, NULL, &doc, NULL) == TB_OK);
    const char *again = tb__document_canonical(&doc, 0, &arena, &len);
    MUST(again && strcmp(again, text) == 0);
    tb__document_release(&doc);
    tb__arena_release(&arena);
}

/* Whatever is taken can be billed by. */
static void check_terms(const tb_catalog *c)
{
    tb_error why[TB__PARTS], err;
    int64_t created_us, ended_us;
    for (size_t i = 0; i < c->n_accounts; i++) {
        const char *text = c->accounts[i].document;
        tb__account_terms terms;
        MUST(!tb__account_terms_of(text, strlen(text), 1, &terms, why, &err));
        for (int part = 0; part < TB__PARTS; part++)
            MUST(why[part].code == TB_OK);
        MUST(terms.n_tax <= TB_BILL_TAXES_MAX && strlen(terms.currency) == 3);
    }
    for (size_t i = 0; i < c->n_zones; i++) {
        const char *text = c->zones[i].document;
        tb__terms terms;
        MUST(!tb__zone_terms(text, strlen(text), 1, &terms, &created_us, &why[0], &err));
        MUST(why[0].code == TB_OK && created_us == c->zones[i].created_us);
    }
    for (size_t i = 0; i < c->n_balancers; i++) {
        const char *text = c->balancers[i].document;
        MUST(!tb__balancer_span(text, strlen(text), 1, &created_us, &ended_us, &err));
        MUST(created_us == c->balancers[i].created_us && ended_us == c->balancers[i].deleted_us);
    }
}

static bool has_account(const tb_catalog *c, int64_t id)
{
    for (size_t i = 0; i < c->n_accounts; i++)
        if (c->accounts[i].id == id) return true;
    return false;
}

static void check_zones(const tb_catalog *c)
{
    for (size_t i = 0; i < c->n_zones; i++) {
        const tb_catalog_zone *z = &c->zones[i];
        MUST(z->id > 0 && has_account(c, z->account));
        MUST(z->name[0] && strlen(z->name) <= 255);
        MUST(strcmp(z->type, "premium") == 0 || strcmp(z->type, "volume") == 0);
        check_document(z->settings);
        check_document(z->document);
    }
}

static void check_balancers(const tb_catalog *c)
{
    for (size_t i = 0; i < c->n_balancers; i++) {
        const tb_catalog_balancer *b = &c->balancers[i];
        MUST(b->id > 0 && has_account(c, b->account) && b->deleted_us >= b->created_us);
        check_document(b->document);
        for (size_t j = 0; j < b->n_zones; j++) {
            bool found = false;
            for (size_t k = 0; k < c->n_zones && !found; k++)
                found = c->zones[k].id == b->zones[j] && c->zones[k].account == b->account;
            MUST(found);
        }
    }
}

static void check_regions(const tb_catalog *c)
{
    for (size_t i = 0; i < c->n_regions; i++) {
        const tb_region *r = &c->regions[i];
        MUST(r->id > 0 && r->code[0] && strstr(r->name, ": ") && r->billing[0] && r->price[0]);
        MUST(r->latitude >= -90 && r->latitude <= 90);
        MUST(r->longitude >= -180 && r->longitude <= 180);
    }
}

/* A stored declaration is read as the catalogue's was. */
static void check_meters(const tb_catalog *c)
{
    MUST(c->n_meters <= TB_METERS_MAX);
    for (size_t i = 0; i < c->n_meters; i++) {
        const tb_meter *m = &c->meters[i].meter;
        tb_meter again;
        tb_error err;
        check_document(c->meters[i].document);
        MUST(!tb_meter_parse(c->meters[i].document, strlen(c->meters[i].document), &again, &err));
        MUST(strcmp(m->id, again.id) == 0 && strcmp(m->name, again.name) == 0 && strcmp(m->unit, again.unit) == 0);
        MUST(m->id[0] && m->name[0] && m->unit[0] && m->noun[0] && m->unece[0] && m->display_per >= 1 && m->round_up >= 0);
        MUST(m->kind == again.kind && m->round_up == again.round_up && m->n_dimensions == again.n_dimensions);
        MUST((m->kind == TB_METER_SAMPLE) == (m->interval != 0));
        MUST(!m->charge[0] || tb_meter_charge_known(m->charge));
        for (size_t k = 0; k < i; k++)
            MUST(strcmp(m->id, c->meters[k].meter.id) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    if (size) memcpy(text, data, size);
    tb_catalog c;
    tb_error err;
    tb_code code = tb_catalog_parse(text, size, &c, &err);
    /* Nothing of the catalogue may point into the input. */
    free(text);
    if (code != TB_OK) {
        MUST(code == TB_E_CATALOG && err.code == code && err.message[0] && err.byte <= size + 1);
        return 0;
    }
    for (size_t i = 0; i < c.n_accounts; i++)
        check_document(c.accounts[i].document);
    for (size_t i = 0; i < c.n_containers; i++)
        check_document(c.containers[i].document);
    check_terms(&c);
    check_zones(&c);
    check_balancers(&c);
    check_regions(&c);
    check_meters(&c);
    tb_catalog_release(&c);
    return 0;
}
