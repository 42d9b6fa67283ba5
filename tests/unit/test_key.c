/* key.h: roles and what they open (contract 0.1), keys and their hashes. */
#include "tollbook/key.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bit(tb_role role)
{
    return UINT32_C(1) << role;
}

START_TEST(operator_keys_belong_to_account_0_alone)
{
    const uint32_t user = 1u << TB_ROLE_USER, ingest = 1u << TB_ROLE_INGEST,
                   operators = 1u << TB_ROLE_OPERATOR, finance = 1u << TB_ROLE_FINANCE,
                   support = 1u << TB_ROLE_SUPPORT, admin = 1u << TB_ROLE_CUSTOMER_ADMIN;
    ck_assert_ptr_null(tb_roles_refusal(0, ingest | operators));
    ck_assert_ptr_null(tb_roles_refusal(0, finance | support));
    ck_assert_ptr_null(tb_roles_refusal(0, 1u << TB_ROLE_REPLICA));
    ck_assert_ptr_nonnull(tb_roles_refusal(1, 1u << TB_ROLE_REPLICA));
    ck_assert_ptr_null(tb_roles_refusal(1, user | ingest));
    ck_assert_ptr_null(tb_roles_refusal(1, admin));
    ck_assert_ptr_nonnull(tb_roles_refusal(0, admin));
    ck_assert_ptr_nonnull(tb_roles_refusal(1, finance));
    ck_assert_ptr_nonnull(tb_roles_refusal(1, support | user));
    ck_assert_ptr_nonnull(tb_roles_refusal(0, user));
    ck_assert_ptr_nonnull(tb_roles_refusal(1, operators));
    ck_assert_ptr_nonnull(tb_roles_refusal(1, user | operators));
}
END_TEST

START_TEST(a_sealed_key_opens_under_its_secret_alone)
{
    static const uint8_t secret[TB_KEY_SECRET] = "s", other[TB_KEY_SECRET] = "t",
                         random[TB_KEY_RANDOM] = {7}, nonce[TB_KEY_NONCE] = "n";
    char text[TB_KEY_TEXT + 1], found[TB_KEY_TEXT + 1];
    tb_key key = {0};
    tb_key_format(random, text);
    tb_key_take(&key, text);
    ck_assert(!tb_key_unseal(&key, secret, found));
    tb_key_seal(&key, text, secret, nonce);
    ck_assert(tb_key_unseal(&key, secret, found));
    ck_assert_str_eq(found, text);
    ck_assert(!tb_key_unseal(&key, other, found));
    for (size_t i = 0; i < TB_KEY_SEALED; i++) {
        key.sealed[i] ^= 1;
        ck_assert(!tb_key_unseal(&key, secret, found));
        key.sealed[i] ^= 1;
    }
    key.hash[3] ^= 1; /* another key's row */
    ck_assert(!tb_key_unseal(&key, secret, found));
}
END_TEST

START_TEST(a_masked_key_shows_its_beginning)
{
    static const uint8_t random[TB_KEY_RANDOM] = {0xab, 0xcd, 0xef, 0x12};
    char text[TB_KEY_TEXT + 1], mask[TB_KEY_TEXT + 1];
    tb_key key = {0};
    tb_key_format(random, text);
    tb_key_take(&key, text);
    tb_key_mask(&key, mask);
    ck_assert_uint_eq(strlen(mask), TB_KEY_TEXT);
    ck_assert_int_eq(memcmp(mask, "abcdef*", 7), 0);
    ck_assert_uint_eq(strspn(mask + 6, "*"), TB_KEY_TEXT - 6);
}
END_TEST

START_TEST(every_role_is_found_by_its_name)
{
    for (int r = 0; r < TB_ROLE_COUNT; r++) {
        tb_role found;
        ck_assert(tb_role_parse(tb_role_name((tb_role)r), &found));
        ck_assert_int_eq(found, r);
    }
}
END_TEST

START_TEST(role_names_are_case_sensitive_and_whole)
{
    tb_role role = TB_ROLE_OPERATOR;
    ck_assert(!tb_role_parse("user", &role));
    ck_assert(!tb_role_parse("Use", &role));
    ck_assert(!tb_role_parse("UserA", &role));
    ck_assert(!tb_role_parse("", &role));
    ck_assert_int_eq(role, TB_ROLE_OPERATOR);
    ck_assert_str_eq(tb_role_name(TB_ROLE_COUNT), "");
}
END_TEST

/* Whom CustomerAdmin may make keys for (issue 42, section 5). */
START_TEST(a_customers_admin_is_above_its_accounts_roles_and_no_others)
{
    const uint32_t admin = bit(TB_ROLE_CUSTOMER_ADMIN), user = bit(TB_ROLE_USER);
    for (int r = 0; r < TB_ROLE_COUNT; r++) {
        const bool foreign = r == TB_ROLE_INGEST || r == TB_ROLE_OPERATOR || r == TB_ROLE_FINANCE ||
                             r == TB_ROLE_SUPPORT || r == TB_ROLE_REPLICA;
        ck_assert_int_eq(tb_roles_within(bit((tb_role)r), admin), !foreign);
        ck_assert_int_eq(tb_roles_within(bit((tb_role)r) | admin, user), 0);
    }
    ck_assert(!tb_roles_within(user | bit(TB_ROLE_INGEST), admin));
    ck_assert(tb_roles_within(0, 0));
}
END_TEST

/* Contract 0.1, and section 5 of issue 42, spelled out a second time. */
START_TEST(roles_open_what_the_contract_says)
{
    static const struct {
        const char *name;
        bool statistics, zones, billing, ingest, operator_, keys, reads, money, admin, stream;
    } rows[] = {
        {"User", 1, 1, 1, 0, 0, 1, 0, 0, 0, 0},
        {"UserApi", 1, 1, 1, 0, 0, 1, 0, 0, 0, 0},
        {"SubuserAPIStatistics", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
        {"SubuserStatistics", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
        {"SubuserManage", 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
        {"SubuserAPIManage", 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
        {"SubuserAPIPullZones", 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
        {"SubuserPullZones", 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
        {"SubuserAPIBilling", 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
        {"SubuserBilling", 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
        {"Ingest", 0, 0, 0, 1, 0, 0, 0, 0, 0, 0},
        {"Operator", 0, 0, 0, 1, 1, 0, 1, 1, 1, 1},
        {"Finance", 0, 0, 0, 0, 0, 0, 1, 1, 0, 0},
        {"Support", 0, 0, 0, 0, 0, 0, 1, 0, 0, 0},
        {"CustomerAdmin", 1, 1, 1, 0, 0, 1, 0, 0, 1, 0},
        {"Replica", 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    };
    ck_assert_uint_eq(sizeof rows / sizeof *rows, TB_ROLE_COUNT);
    for (size_t i = 0; i < TB_ROLE_COUNT; i++) {
        tb_role role;
        ck_assert(tb_role_parse(rows[i].name, &role));
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_STATISTICS), rows[i].statistics);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_PULL_ZONES), rows[i].zones);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_BILLING), rows[i].billing || rows[i].reads);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_INGEST), rows[i].ingest);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_OPERATOR), rows[i].operator_);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_KEYS), rows[i].keys);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_READ), rows[i].reads);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_MONEY), rows[i].money);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_ADMIN), rows[i].admin);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_ADMIN_READ), rows[i].admin || rows[i].reads);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_INSIGHTS), rows[i].statistics || rows[i].reads);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_STREAM), rows[i].stream);
        ck_assert_int_eq(tb_roles_open(bit(role), TB_ACCESS_REPLICA), rows[i].stream || rows[i].reads);
    }
}
END_TEST

START_TEST(a_set_of_roles_opens_what_any_of_them_opens)
{
    uint32_t both = bit(TB_ROLE_SUB_BILLING) | bit(TB_ROLE_SUB_STATISTICS);
    ck_assert(tb_roles_open(both, TB_ACCESS_BILLING));
    ck_assert(tb_roles_open(both, TB_ACCESS_STATISTICS));
    ck_assert(!tb_roles_open(both, TB_ACCESS_PULL_ZONES));
}
END_TEST

START_TEST(no_roles_open_only_what_asks_for_none)
{
    ck_assert(tb_roles_open(0, TB_ACCESS_NONE));
    ck_assert(tb_roles_open(0, TB_ACCESS_ANY));
    for (int a = TB_ACCESS_STATISTICS; a < TB_ACCESS_COUNT; a++)
        ck_assert(!tb_roles_open(0, (tb_access)a));
}
END_TEST

START_TEST(unknown_role_bits_and_accesses_open_nothing)
{
    ck_assert(!tb_roles_open(~UINT32_C(0) << TB_ROLE_COUNT, TB_ACCESS_STATISTICS));
    ck_assert(!tb_roles_open(~UINT32_C(0), TB_ACCESS_COUNT));
}
END_TEST

START_TEST(a_key_is_lower_case_hex_of_its_random_bytes)
{
    uint8_t random[TB_KEY_RANDOM];
    for (size_t i = 0; i < sizeof random; i++)
        random[i] = (uint8_t)(i * 11 + 1);
    char text[TB_KEY_TEXT + 1];
    tb_key_format(random, text);
    ck_assert_str_eq(text, "010c17222d38434e59646f7a85909ba6b1bcc7d2dde8f3fe");
    ck_assert_uint_eq(strlen(text), TB_KEY_TEXT);
}
END_TEST

static void assert_hash(const char *text, size_t len, const char *hex)
{
    uint8_t hash[TB_KEY_HASH];
    tb_key_hash(text, len, hash);
    char got[2 * TB_KEY_HASH + 1] = "";
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < TB_KEY_HASH; i++) {
        got[2 * i] = digits[hash[i] >> 4];
        got[2 * i + 1] = digits[hash[i] & 15];
    }
    ck_assert_str_eq(got, hex);
}

/* FIPS 180-2, appendix B, and the empty string. */
START_TEST(hashes_are_sha256)
{
    assert_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    assert_hash(million, 1000000,
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}
END_TEST

START_TEST(equal_means_all_bytes)
{
    uint8_t a[TB_KEY_HASH] = {0}, b[TB_KEY_HASH] = {0};
    ck_assert(tb_key_equal(a, b));
    for (size_t i = 0; i < TB_KEY_HASH; i++) {
        b[i] = 0x80;
        ck_assert(!tb_key_equal(a, b));
        b[i] = 0;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key");
    TCase *t = tcase_create("key");
    tcase_add_test(t, operator_keys_belong_to_account_0_alone);
    tcase_add_test(t, a_sealed_key_opens_under_its_secret_alone);
    tcase_add_test(t, a_masked_key_shows_its_beginning);
    tcase_add_test(t, every_role_is_found_by_its_name);
    tcase_add_test(t, role_names_are_case_sensitive_and_whole);
    tcase_add_test(t, a_customers_admin_is_above_its_accounts_roles_and_no_others);
    tcase_add_test(t, roles_open_what_the_contract_says);
    tcase_add_test(t, a_set_of_roles_opens_what_any_of_them_opens);
    tcase_add_test(t, no_roles_open_only_what_asks_for_none);
    tcase_add_test(t, unknown_role_bits_and_accesses_open_nothing);
    tcase_add_test(t, a_key_is_lower_case_hex_of_its_random_bytes);
    tcase_add_test(t, hashes_are_sha256);
    tcase_add_test(t, equal_means_all_bytes);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
