/* Addresses and ids as bytes: taken exactly where the C library prints the bytes as the same text. */
#include <arpa/inet.h>
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logs/format.h"
#include "seed.h"

static uint64_t state;

static unsigned below(unsigned n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % n;
}

/* The text alone in its memory, so that a read past it is seen. */
static unsigned parse(const char *text, uint8_t out[16])
{
    const size_t len = strlen(text);
    char *alone = malloc(len ? len : 1);
    memcpy(alone, text, len);
    const unsigned family = tb__log_ip_parse((tb_text){alone, len}, out);
    free(alone);
    return family;
}

/* What the library makes of it. */
static unsigned wanted(const char *text, uint8_t out[16])
{
    char back[INET6_ADDRSTRLEN];
    if (inet_pton(AF_INET, text, out) == 1 && inet_ntop(AF_INET, out, back, sizeof back) &&
        strcmp(back, text) == 0)
        return 4;
    if (inet_pton(AF_INET6, text, out) == 1 && inet_ntop(AF_INET6, out, back, sizeof back) &&
        strcmp(back, text) == 0)
        return 6;
    return 0;
}

static void check(const char *text)
{
    uint8_t ours[16] = {0}, theirs[16] = {0};
    const unsigned family = wanted(text, theirs);
    ck_assert_msg(parse(text, ours) == family, "\"%s\": %u, not %u", text, parse(text, ours), family);
    if (family) ck_assert_msg(memcmp(ours, theirs, family == 4 ? 4 : 16) == 0, "%s", text);
}

START_TEST(addresses_are_those_that_print_as_they_were)
{
    static const char *const texts[] = {
        "0.0.0.0", "255.255.255.255", "1.2.3.4", "10.20.30.40", "100.200.100.200", "256.1.1.1",
        "1.256.1.1", "1.1.1.256", "01.1.1.1", "1.1.1.01", "1.1.1.00", "1.00.1.1", "1.1.1", "1.1.1.",
        ".1.1.1", "1..1.1", "1.1.1.1.", "1.1.1.1.1", "1111.1.1.1", "1.1.1.1111", "1.1.1.a", "1.1.1.1 ",
        " 1.1.1.1", "999.999.999.999", "12345678", "1.2.3./", "1.2.3.:", "", "1", "-", "::", "::1",
        "1::", "1::1", "0::1", "1:0::1", "1:0:0:2::", "2001:db8::1", "2001:DB8::1", "2001:db8::01",
        "2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1", "2001:db8:0:0:1::1", "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:0:3:4:5:6:7:8",
        "1::3:4:5:6:7:8", "1:2:3:4:5:6:7:", ":2:3:4:5:6:7:8", "1::2::3", ":::", "1:::2", "12345::",
        "::1.2.3.4", "::ffff:1.2.3.4", "::1:2", "::ffff:1:2", "::fffe:1:2", "0:0:0:0:0:0:0:0",
        "0:0:0:0:0:0:0:1", "1:0:0:0:0:0:0:0", "fe80::1%eth0", "g::1", "ffff:ffff:ffff:ffff:ffff:ffff:"
        "ffff:ffff", "64:ff9b::192.0.2.33", "::0:1", "::1:0:0", "1:0:0:1:0:0:0:1", "1::1:0:0:1",
        "no address", "1.2.3.4:80", "[::1]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check(texts[i]);
}
END_TEST

static void random_v4(char *out, size_t size)
{
    snprintf(out, size, "%u.%u.%u.%u", below(300), below(300), below(30), below(12));
}

static void random_v6(char *out, size_t size)
{
    size_t n = 0;
    const unsigned groups = 1 + below(9), gap = below(10);
    if (gap == 0) n += (size_t)snprintf(out, size, ":");
    for (unsigned i = 0; i < groups && n + 8 < size; i++) {
        const unsigned value = below(3) ? below(2) * below(65536) : 0;
        n += (size_t)snprintf(out + n, size - n, "%x", value);
        if (i + 1 == gap) n += (size_t)snprintf(out + n, size - n, "::");
        else if (i + 1 < groups) n += (size_t)snprintf(out + n, size - n, ":");
    }
}

START_TEST(random_addresses_are_read_as_the_library_does)
{
    static const char others[] = "0123456789abcdefABF:.- x";
    char text[64];
    state = test_seed();
    for (int i = 0; i < 300000 / TB_PART; i++) {
        if (i % 3) random_v6(text, sizeof text);
        else random_v4(text, sizeof text);
        if (below(4) == 0) text[below((unsigned)strlen(text))] = others[below(sizeof others - 1)];
        check(text);
    }
}
END_TEST

START_TEST(ids_are_32_hex_digits_or_a_uuid)
{
    static const char good[] = "0f1E2d3C4b5A69788796a5B4c3D2e1F0";
    static const uint8_t bytes[16] = {0x0f, 0x1e, 0x2d, 0x3c, 0x4b, 0x5a, 0x69, 0x78,
                                      0x87, 0x96, 0xa5, 0xb4, 0xc3, 0xd2, 0xe1, 0xf0};
    uint8_t out[16];
    ck_assert(tb_log_id_parse((tb_text){good, 32}, out));
    ck_assert_mem_eq(out, bytes, 16);
    ck_assert(tb_log_id_parse((tb_text){"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", 36}, out));
    ck_assert_mem_eq(out, bytes, 16);
    ck_assert(!tb_log_id_parse((tb_text){good, 31}, out));
    ck_assert(!tb_log_id_parse((tb_text){"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", 35}, out));
    for (int at = 0; at < 32; at++)
        for (int c = 0; c < 256; c++) {
            char text[32];
            memcpy(text, good, 32);
            text[at] = (char)c;
            const bool digit = c && strchr("0123456789abcdefABCDEF", c);
            ck_assert_msg(tb_log_id_parse((tb_text){text, 32}, out) == digit, "%d at %d", c, at);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log_address");
    TCase *t = tcase_create("log_address");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, addresses_are_those_that_print_as_they_were);
    tcase_add_test(t, random_addresses_are_read_as_the_library_does);
    tcase_add_test(t, ids_are_32_hex_digits_or_a_uuid);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
