/* Meters of catalogues in the store: declared, changed, and removed. */
#include "billing_fixture.h"
#include "tollbook/meterstore.h"
#include "tollbook/operation.h"

#define CATALOG(meters) "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}],\"meters\":[" meters "]}"
#define REQUESTS "{\"meter\":\"requests\",\"kind\":\"counter\",\"unit\":\"request\",\"resource\":\"script\",\"dimensions\":[\"region\"]}"
#define STORAGE(more) "{\"meter\":\"storage\",\"kind\":\"gauge\",\"unit\":\"byte\",\"display\":{\"unit\":\"GB\",\"per\":1000000000}" more "}"

static tb_applied apply(fixture *f, const char *text, int64_t after_us)
{
    tb_applied applied;
    fixture_apply(f, text, NOW_US + after_us, &applied);
    return applied;
}

static void apply_refused(fixture *f, const char *text, const char *field, const char *message)
{
    tb_error err = {0};
    tb_catalog c;
    tb_applied applied;
    ok(tb_catalog_parse(text, strlen(text), &c, &err));
    ok(tb_store_begin(f->store, &err));
    ck_assert_int_eq(tb_store_apply_catalog(f->store, &c, NOW_US + 1000, &applied, &err), TB_E_CATALOG);
    tb_store_rollback(f->store);
    ck_assert_str_eq(err.field, field);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    tb_catalog_release(&c);
}

START_TEST(meters_are_declared_changed_removed_and_brought_back)
{
    fixture f;
    tb_error err = {0};
    tb_meter *meters = NULL, meter;
    size_t n = 0;
    fixture_init(&f);
    ck_assert_uint_eq(apply(&f, CATALOG(STORAGE("") "," REQUESTS), 0).meters_added, 2);
    ck_assert_uint_eq(apply(&f, CATALOG(REQUESTS "," STORAGE("")), 1).changed, 0);
    ok(tb_store_meters(f.store, &meters, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(meters[0].id, "requests");
    ck_assert_int_eq(meters[0].number, 2);
    ck_assert_int_eq(meters[1].number, 1);
    free(meters);
    ck_assert_uint_eq(apply(&f, CATALOG(STORAGE(",\"name\":\"Disk\"")), 2).deleted, 1);
    ok(tb_store_meter(f.store, "storage", &meter, &err));
    ck_assert_str_eq(meter.name, "Disk");
    ck_assert_int_eq(meter.number, 1);
    ck_assert_int_eq(tb_store_meter(f.store, "requests", &meter, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_store_meter(f.store, "storag", &meter, &err), TB_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "Did you mean \"storage\"?"));
    fixture_verify(&f);
    tb_applied back = apply(&f, CATALOG(STORAGE(",\"name\":\"Disk\"") "," REQUESTS), 3);
    ck_assert_uint_eq(back.restored, 1);
    ck_assert_uint_eq(back.meters_added, 0);
    ok(tb_store_meter(f.store, "requests", &meter, &err));
    ck_assert_int_eq(meter.number, 2);
    ck_assert_uint_eq(apply(&f, "{\"accounts\":[{\"id\":1,\"name\":\"acme\"}]}", 4).deleted, 2);
    ok(tb_store_meters(f.store, &meters, &n, &err));
    ck_assert_uint_eq(n, 0);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(a_meter_with_usage_keeps_what_it_counts)
{
    fixture f;
    fixture_init(&f);
    apply(&f, CATALOG(REQUESTS "," STORAGE("")), 0);
    apply(&f, CATALOG(REQUESTS "," STORAGE(",\"dimensions\":[\"region\"]")), 1);
    sql(&f, "INSERT INTO meter_resource(noun,name,account,segment)VALUES('script','s',1,5),('resource','z',1,5)");
    sql(&f, "INSERT INTO meter_series(id,meter,account,resource,dimension_1,dimension_2)VALUES(1,1,1,'s','DE',''),(2,2,1,'z','','')");
    static const char *const changed[][2] = {
        {CATALOG("{\"meter\":\"requests\",\"kind\":\"sample\",\"unit\":\"request\",\"resource\":\"script\",\"dimensions\":[\"region\"]}"),
         "meters[0].kind"},
        {CATALOG("{\"meter\":\"requests\",\"kind\":\"counter\",\"unit\":\"call\",\"resource\":\"script\",\"dimensions\":[\"region\"]}"),
         "meters[0].unit"},
        {CATALOG("{\"meter\":\"requests\",\"kind\":\"counter\",\"unit\":\"request\",\"resource\":\"script\"}"), "meters[0].dimensions"},
        {CATALOG("{\"meter\":\"requests\",\"kind\":\"counter\",\"unit\":\"request\",\"resource\":\"script\",\"dimensions\":[\"plan\"]}"),
         "meters[0].dimensions"},
        {CATALOG("{\"meter\":\"requests\",\"kind\":\"counter\",\"unit\":\"request\",\"dimensions\":[\"region\"]}"), "meters[0].resource"},
    };
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        apply_refused(&f, changed[i][0], changed[i][1], "Meter requests has usage and keeps its");
    apply_refused(&f, CATALOG(REQUESTS ",{\"meter\":\"storage\",\"kind\":\"sample\",\"interval\":3600,\"unit\":\"byte\"}"),
                  "meters[1].kind", "Declare another meter");
    ck_assert_uint_eq(apply(&f, CATALOG(REQUESTS "," STORAGE(",\"dimensions\":[\"region\"],\"round_up\":64,\"charge\":\"Storage\"")),
                            2000)
                          .changed,
                      1);
    ck_assert_uint_eq(apply(&f, CATALOG(""), 2001).deleted, 2);
    apply_refused(&f, CATALOG("{\"meter\":\"requests\",\"kind\":\"gauge\",\"unit\":\"request\"}"), "meters[0].kind", "keeps its kind");
    fixture_release(&f);
}
END_TEST

START_TEST(a_resource_has_an_account)
{
    fixture f;
    tb_error err = {0};
    int64_t account = -1, segment = 0;
    fixture_init(&f);
    apply(&f, CATALOG(REQUESTS), 0);
    ok(tb_store_meter_resource(f.store, "script", "s", &account, &segment, &err));
    ck_assert_int_eq(account, 0);
    sql(&f, "INSERT INTO meter_resource(noun,name,account,segment)VALUES('script','s',1,5)");
    ok(tb_store_meter_resource(f.store, "script", "s", &account, &segment, &err));
    ck_assert_int_eq(account, 1);
    ck_assert_int_eq(segment, 5);
    fixture_release(&f);
}
END_TEST

START_TEST(a_wrong_declaration_in_the_file_is_found)
{
    fixture f;
    tb_error err = {0};
    tb_meter *meters;
    size_t n;
    fixture_init(&f);
    apply(&f, CATALOG(REQUESTS), 0);
    edit(f.store->db, "UPDATE meter SET document='{\"meter\":\"requests\",\"kind\":\"gage\",\"unit\":\"request\"}'");
    ck_assert_int_eq(tb_store_meters(f.store, &meters, &n, &err), TB_E_CORRUPT);
    verify_finds(&f, "Meter 1 is not what it was declared to be.");
    edit(f.store->db, "UPDATE declaration SET document=(SELECT document FROM meter)");
    verify_finds(&f, "Meter 1: kind: Must be counter, gauge or sample. Apply a catalogue that corrects it.");
    edit(f.store->db, "UPDATE meter SET name='other'");
    verify_finds(&f, "Meter 1 is not what its document says.");
    fixture_release(&f);
}
END_TEST

/* --- operations --- */

typedef struct call {
    tb_args args;
    tb_reply reply;
    tb_error err;
} call;

static tb_code run(fixture *f, call *c, const char *name, const char *const pairs[][2], size_t n)
{
    tb_ops ops = {.store = f->store, .now_us = NOW_US + 5000};
    *c = (call){.err = {0}};
    tb_args_init(&c->args, tb_operation_find(name, strlen(name)));
    tb_reply_init(&c->reply);
    for (size_t i = 0; i < n; i++) {
        const tb_param *p = tb_param_find(c->args.operation, pairs[i][0], strlen(pairs[i][0]));
        ck_assert_int_eq(tb_args_add(&c->args, p, pairs[i][1], strlen(pairs[i][1]), &c->err), TB_OK);
    }
    ck_assert_int_eq(tb_args_end(&c->args, false, &c->err), TB_OK);
    return tb_operation_run(&ops, &c->args, &c->reply, &c->err);
}

static void release(call *c)
{
    tb_args_release(&c->args);
    tb_reply_release(&c->reply);
}

#define RUN(f, c, name, ...)                                                                       \
    run(f, c, name, (const char *const[][2]){__VA_ARGS__}, sizeof((const char *const[][2]){__VA_ARGS__}) / sizeof(char *[2]))

START_TEST(a_book_must_price_what_is_declared)
{
    static const char head[] = "{\"book\":\"b\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\",\"meters\":{";
    static const struct {
        const char *meters, *field, *message; /* field NULL: taken */
    } cases[] = {
        {"\"storage\":{\"per\":\"TB\",\"time\":\"month\",\"price\":\"1\"}", "meters.storage.per",
         "display unit. Meter storage is declared as a gauge of byte, shown in GB."},
        {"\"storage\":{\"per\":\"GB\",\"price\":\"1\"}", "meters.storage.time", "needs hour or month"},
        {"\"requests\":{\"per\":\"1\",\"time\":\"hour\",\"price\":\"1\"}", "meters.requests.time", "counter of request."},
        {"\"requests\":{\"per\":\"1\",\"by\":\"plan\",\"prices\":{\"*\":{\"price\":\"1\"}}}", "meters.requests.by", "dimensions"},
        {"\"requests\":{\"per\":\"1\",\"included\":\"0.5\",\"price\":\"1\"}", "meters.requests.included", "Finer"},
        {"\"storage\":{\"per\":\"GB\",\"time\":\"month\",\"price\":\"1\"},\"later\":{\"per\":\"x\",\"price\":\"1\"}", NULL, NULL},
    };
    fixture f;
    call c;
    fixture_init(&f);
    apply(&f, CATALOG(REQUESTS "," STORAGE("")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s}}", head, cases[i].meters);
        tb_code code = RUN(&f, &c, "book add", {"document", text});
        ck_assert_int_eq(code, cases[i].field ? TB_E_BOOK : TB_OK);
        if (cases[i].field) {
            ck_assert_str_eq(c.err.field, cases[i].field);
            ck_assert_msg(strstr(c.err.message, cases[i].message) != NULL, "%s", c.err.message);
        } else {
            ck_assert_ptr_nonnull(strstr(c.reply.said.data, "Meter later is not declared: its price counts once"));
        }
        release(&c);
    }
    fixture_release(&f);
}
END_TEST

START_TEST(one_meter_is_shown_and_changed)
{
    fixture f;
    call c;
    fixture_init(&f);
    apply(&f, CATALOG(REQUESTS "," STORAGE("")), 0);
    ck_assert_int_eq(RUN(&f, &c, "catalog show", {"list", "meters"}), TB_OK);
    ck_assert_ptr_nonnull(strstr(c.reply.out.data, "{\"meters\":[{\"dimensions\":[\"region\"],\"kind\":\"counter\",\"meter\":\"requests\""));
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog show", {"list", "meters"}, {"meter", "storage"}), TB_OK);
    ck_assert_ptr_nonnull(strstr(c.reply.json.data, "\"meter\":\"storage\""));
    ck_assert_ptr_null(strstr(c.reply.json.data, "requests"));
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog show", {"list", "meters"}, {"meter", "disk"}), TB_E_NOT_FOUND);
    ck_assert_str_eq(c.err.message, "There is no meter disk.");
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog show", {"list", "zones"}, {"meter", "disk"}), TB_E_VALIDATION);
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog change", {"list", "meters"}, {"document", STORAGE(",\"name\":\"Disk\"")}), TB_OK);
    ck_assert_ptr_nonnull(strstr(c.reply.json.data, "\"changed\":1"));
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog change", {"list", "meters"}, {"document", "{\"meter\":\"disk\",\"kind\":\"gauge\"}"}), TB_E_CATALOG);
    ck_assert_str_eq(c.err.field, "unit");
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog change", {"list", "meters"}, {"document", "{\"kind\":\"gauge\"}"}), TB_E_CATALOG);
    ck_assert_str_eq(c.err.field, "meter");
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog change", {"list", "meters"}, {"remove", "1"}), TB_E_VALIDATION);
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog change", {"list", "meters"}, {"remove-meter", "storage"}), TB_OK);
    ck_assert_ptr_nonnull(strstr(c.reply.json.data, "\"deletions\":[{\"list\":\"meters\",\"meter\":\"storage\"}],\"deleted\":1"));
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog change", {"list", "meters"}, {"remove-meter", "storage"}), TB_E_NOT_FOUND);
    release(&c);
    ck_assert_int_eq(RUN(&f, &c, "catalog show", {"list", "accounts"}), TB_OK);
    ck_assert_ptr_nonnull(strstr(c.reply.out.data, "acme"));
    release(&c);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("meter_declared");
    TCase *t = tcase_create("meter_declared");
    tcase_add_test(t, meters_are_declared_changed_removed_and_brought_back);
    tcase_add_test(t, a_meter_with_usage_keeps_what_it_counts);
    tcase_add_test(t, a_resource_has_an_account);
    tcase_add_test(t, a_wrong_declaration_in_the_file_is_found);
    tcase_add_test(t, a_book_must_price_what_is_declared);
    tcase_add_test(t, one_meter_is_shown_and_changed);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
