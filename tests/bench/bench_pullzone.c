/* A page of pull zones, read from the store and encoded, against the same page built of jansson
 * objects: GET /pullzone?page=1&perPage=N without the socket.
 *
 * usage: bench_pullzone DATABASE ACCOUNT ZONES ROUNDS
 *
 * Prints medians in seconds: the store's reading alone, with the encoder, with jansson; then the
 * bytes of both answers. Both have the same values; that is checked once, by parsing them. */
#include "measure.h"
#include "tollbook/totals.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 1000

static void must(tb_code code, const tb_error *err)
{
    if (code) bench_fail("%s", err->message);
}

static tb_zone_page read_page(tb_store *store, int64_t account, int64_t n)
{
    const tb_zone_query q = {.account = account, .limit = n};
    tb_zone_page page;
    tb_error err;
    must(tb_store_zones(store, &q, &page, &err), &err);
    if ((int64_t)page.n != n) bench_fail("the account has %zu zones", page.n);
    return page;
}

static void encode(const tb_zone_page *page, tb_buf *out)
{
    tb_error err;
    out->len = 0;
    tb_buf_str(out, "[");
    for (size_t i = 0; i < page->n; i++) {
        if (i) tb_buf_str(out, ",");
        must(tb_pullzone_encode(&page->zones[i], false, out, &err), &err);
    }
    tb_buf_str(out, "]");
}

/* --- jansson --- */

static json_t *fresh[TB_PULLZONE_FIELD_COUNT]; /* values that are shared, not built */

/* What the encoder answers for each zone, taken over where it does not follow from the table. */
static json_t *build(const tb_pullzone *zone, json_t *made)
{
    json_t *object = json_object(), *settings = json_loads(zone->settings, 0, NULL);
    for (size_t i = 0; i < TB_PULLZONE_FIELD_COUNT; i++) {
        const char *name = tb_pullzone_fields[i].name;
        json_t *value = json_object_get(settings, name);
        if (strcmp(name, "Id") == 0)
            json_object_set_new_nocheck(object, name, json_integer(zone->id));
        else if (strcmp(name, "Name") == 0)
            json_object_set_new_nocheck(object, name, json_string(zone->name));
        else if (strcmp(name, "Hostnames") == 0 || strcmp(name, "ZoneSecurityKey") == 0 ||
                 strcmp(name, "UserId") == 0)
            json_object_set_new_nocheck(object, name, json_deep_copy(json_object_get(made, name)));
        else
            json_object_set_nocheck(object, name, value ? value : fresh[i]);
    }
    json_decref(settings);
    return object;
}

static char *with_jansson(const tb_zone_page *page, json_t *made)
{
    json_t *list = json_array();
    for (size_t i = 0; i < page->n; i++)
        json_array_append_new(list, build(&page->zones[i], json_array_get(made, i)));
    char *text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

/* --- measuring --- */

int main(int argc, char **argv)
{
    static double took[3][ROUNDS_MAX];
    if (argc != 5) bench_fail("usage: bench_pullzone DATABASE ACCOUNT ZONES ROUNDS");
    int64_t account = bench_number(argv[2], 1, INT64_MAX), n = bench_number(argv[3], 1, 100000);
    size_t rounds = (size_t)bench_number(argv[4], 1, ROUNDS_MAX), peer_len = 0;
    tb_store *store;
    tb_error err;
    tb_buf out;
    must(tb_store_open(argv[1], &(tb_store_options){0}, &store, &err), &err);
    tb_buf_init(&out, (size_t)1 << 30, NULL);
    for (size_t i = 0; i < TB_PULLZONE_FIELD_COUNT; i++)
        fresh[i] = json_loads(tb_pullzone_fields[i].fresh, JSON_DECODE_ANY, NULL);
    tb_zone_page first = read_page(store, account, n);
    encode(&first, &out);
    json_t *made = json_loadb(out.data, out.len, 0, NULL);
    for (size_t r = 0; r < rounds; r++) {
        double begin = bench_now();
        tb_zone_page page = read_page(store, account, n);
        double read = bench_now();
        encode(&page, &out);
        double own = bench_now();
        char *text = with_jansson(&page, made);
        double peer = bench_now();
        took[0][r] = read - begin;
        took[1][r] = own - begin;
        took[2][r] = peer - own + read - begin;
        peer_len = strlen(text);
        if (r == 0) {
            json_t *theirs = json_loads(text, 0, NULL);
            if (!json_equal(theirs, made)) bench_fail("the answers differ");
            json_decref(theirs);
        }
        free(text);
        tb_zone_page_release(&page);
    }
    printf("%.6f %.6f %.6f %zu %zu\n", bench_median(took[0], rounds), bench_median(took[1], rounds),
           bench_median(took[2], rounds), out.len, peer_len);
    tb_zone_page_release(&first);
    tb_buf_release(&out);
    json_decref(made);
    tb_store_close(store);
    return 0;
}
