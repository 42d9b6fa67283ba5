/* Entries of the log and their commitments: one form of each, written and read back. */
#include "tollbook/proof.h"

#include "tollbook/calendar.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define N(list) (sizeof(list) / sizeof *(list))
#define COMMIT  "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0="
#define COMMITTED "{\"commit\":\"" COMMIT "\","
#define HEX     "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"

static tb_proof_entry entry_of(tb_proof_type type)
{
    return (tb_proof_entry){.type = type, .book = "standard-2026", .hash = tb_merkle_leaf("", 0),
                            .day = tb_day_from_date((tb_date){2026, 10, 31}), .month = 12 * 56 + 9, .of = -1};
}

static const char *write_entry(const tb_proof_entry *entry)
{
    static char text[1024];
    tb_buf out;
    tb_buf_init(&out, sizeof text - 1, NULL);
    tb_proof_entry_write(entry, &out);
    ck_assert_int_eq(tb_buf_check(&out, NULL), TB_OK);
    memcpy(text, out.data, out.len);
    text[out.len] = '\0';
    tb_buf_release(&out);
    return text;
}

static void reads_back(const char *text, const tb_proof_entry *entry)
{
    tb_proof_entry got;
    tb_error err = {0};
    ck_assert_msg(tb_proof_entry_read(text, strlen(text), &got, &err) == TB_OK, "%s: %s", text, err.message);
    ck_assert_int_eq(got.type, entry->type);
    ck_assert(tb_merkle_same(&got.hash, &entry->hash));
    ck_assert_int_eq(got.of, entry->of);
    if (entry->type == TB_PROOF_BOOK) ck_assert_str_eq(got.book, entry->book);
    if (entry->type == TB_PROOF_USAGE) ck_assert_int_eq(got.day, entry->day);
    if (entry->type == TB_PROOF_INVOICE || entry->type == TB_PROOF_TERMS) ck_assert_int_eq(got.month, entry->month);
    ck_assert_str_eq(write_entry(&got), text);
}

START_TEST(each_type_has_its_form)
{
    static const char *const forms[TB_PROOF_TYPE_COUNT] = {
        [TB_PROOF_BOOK] = "{\"book\":\"standard-2026\",\"sha256\":\"" HEX "\",\"type\":\"book\",\"v\":1}",
        [TB_PROOF_USAGE] = COMMITTED "\"day\":\"2026-10-31\",\"type\":\"usage\",\"v\":1}",
        [TB_PROOF_INVOICE] = COMMITTED "\"month\":\"2026-10\",\"type\":\"invoice\",\"v\":1}",
        [TB_PROOF_TERMS] = COMMITTED "\"month\":\"2026-10\",\"type\":\"terms\",\"v\":1}",
        [TB_PROOF_VOID] = COMMITTED "\"type\":\"void\",\"v\":1}",
    };
    for (int type = 0; type < TB_PROOF_TYPE_COUNT; type++) {
        const tb_proof_entry entry = entry_of((tb_proof_type)type);
        ck_assert_str_eq(write_entry(&entry), forms[type]);
        reads_back(forms[type], &entry);
        ck_assert(strstr(forms[type], tb_proof_type_name((tb_proof_type)type)));
    }
    ck_assert_str_eq(tb_proof_type_name(TB_PROOF_TYPE_COUNT), "");
}
END_TEST

START_TEST(values_at_their_bounds_read_back)
{
    tb_proof_entry entry = entry_of(TB_PROOF_USAGE);
    entry.of = 0;
    ck_assert_str_eq(write_entry(&entry), COMMITTED "\"day\":\"2026-10-31\",\"of\":0,\"type\":\"usage\",\"v\":1}");
    reads_back(write_entry(&entry), &entry);
    entry.of = INT64_MAX;
    reads_back(COMMITTED "\"day\":\"2026-10-31\",\"of\":9223372036854775807,\"type\":\"usage\",\"v\":1}", &entry);
    const tb_date days[] = {{1, 1, 1}, {1969, 12, 31}, {2024, 2, 29}, {9999, 12, 31}};
    for (size_t i = 0; i < N(days); i++) {
        entry.day = tb_day_from_date(days[i]);
        reads_back(write_entry(&entry), &entry);
    }
    static const char *const books[] = {"b", "a\"b\\c\n\x01/", "\xc3\xa9t\xc3\xa9", "sha256\",\"type\":\"book\",\"v\":1}",
                                        "1234567890123456789012345678901234567890123456789012345678901234",
                                        "\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"
                                        "\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"
                                        "\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"};
    for (size_t i = 0; i < N(books); i++) {
        tb_proof_entry book = entry_of(TB_PROOF_BOOK);
        memcpy(book.book, books[i], strlen(books[i]) + 1);
        char text[1024];
        const char *written = write_entry(&book);
        memcpy(text, written, strlen(written) + 1); /* reads_back writes it again */
        reads_back(text, &book);
    }
}
END_TEST

START_TEST(everything_else_is_refused)
{
    static const char *const wrong[] = {
        "", "{}", "{\"v\":1}", "{\"type\":\"void\",\"v\":1}", "\"type\":\"void\",\"v\":1}",
        COMMITTED "\"type\":\"void\",\"v\":2}", COMMITTED "\"type\":\"void\",\"v\":1}\n",
        " {\"commit\":\"" COMMIT "\",\"type\":\"void\",\"v\":1}", "{\"commit\": \"" COMMIT "\",\"type\":\"void\",\"v\":1}",
        "{\"type\":\"void\",\"commit\":\"" COMMIT "\",\"v\":1}", COMMITTED "\"extra\":1,\"type\":\"void\",\"v\":1}",
        COMMITTED "\"month\":\"2026-10\",\"type\":\"void\",\"v\":1}", "{\"commit\":\"" HEX "\",\"type\":\"void\",\"v\":1}",
        "{\"commit\":\"bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0\",\"type\":\"void\",\"v\":1}",
        COMMITTED "\"month\":\"2026-13\",\"type\":\"invoice\",\"v\":1}",
        COMMITTED "\"month\":\"2026-1\",\"type\":\"invoice\",\"v\":1}",
        COMMITTED "\"month\":\"0000-01\",\"type\":\"terms\",\"v\":1}", COMMITTED "\"type\":\"invoice\",\"v\":1}",
        COMMITTED "\"day\":\"2026-02-29\",\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"day\":\"2026-02-00\",\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"day\":\"2026-00-01\",\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"day\":\"0000-01-01\",\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"day\":\"2026/10/31\",\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"day\":\"2026-1x-31\",\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"day\":\"2026-10-31\",\"of\":-1,\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"day\":\"2026-10-31\",\"of\":01,\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"day\":\"2026-10-31\",\"of\":9223372036854775808,\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"day\":\"2026-10-31\",\"of\":\"5\",\"type\":\"usage\",\"v\":1}",
        COMMITTED "\"month\":\"2026-10\",\"of\":5,\"type\":\"invoice\",\"v\":1}",
        "{\"book\":\"\",\"sha256\":\"" HEX "\",\"type\":\"book\",\"v\":1}",
        "{\"book\":\"b\",\"sha256\":\"" COMMIT "\",\"type\":\"book\",\"v\":1}",
        "{\"book\":\"b\",\"sha256\":\"6E340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d\",\"type\":\"book\",\"v\":1}",
        "{\"book\":\"\\u0062\",\"sha256\":\"" HEX "\",\"type\":\"book\",\"v\":1}",
        "{\"book\":\"a\\u0000b\",\"sha256\":\"" HEX "\",\"type\":\"book\",\"v\":1}",
        "{\"book\":\"\\x\",\"sha256\":\"" HEX "\",\"type\":\"book\",\"v\":1}", "{\"book\":\"b\\",
        "{\"book\":\"\xff\",\"sha256\":\"" HEX "\",\"type\":\"book\",\"v\":1}",
        "{\"book\":\"12345678901234567890123456789012345678901234567890123456789012345\",\"sha256\":\"" HEX "\",\"type\":\"book\",\"v\":1}",
        "{\"book\":\"b\",\"sha256\":\"" HEX "\",\"type\":\"bill\",\"v\":1}",
    };
    tb_proof_entry entry;
    tb_error err;
    static const char end[] = "\",\"type\":\"book\",\"v\":1}";
    char longest[10000];
    memset(longest, 'b', sizeof longest);
    memcpy(longest, "{\"book\":\"", 9);
    memcpy(longest + sizeof longest - sizeof end, end, sizeof end);
    ck_assert_int_eq(tb_proof_entry_read(longest, sizeof longest - 1, &entry, &err), TB_E_VALIDATION);
    for (size_t i = 0; i < N(wrong); i++) {
        ck_assert_msg(tb_proof_entry_read(wrong[i], strlen(wrong[i]), &entry, &err) == TB_E_VALIDATION, "%s", wrong[i]);
        ck_assert_str_eq(err.field, "entry");
    }
}
END_TEST

/* Each part of an entry alone, and each byte replaced: no other text is the same entry. */
START_TEST(one_text_is_one_entry)
{
    for (int type = 0; type < TB_PROOF_TYPE_COUNT; type++) {
        tb_proof_entry entry = entry_of((tb_proof_type)type), got;
        char text[1024];
        const char *written = write_entry(&entry);
        const size_t len = strlen(written);
        memcpy(text, written, len + 1);
        for (size_t n = 0; n < len; n++) {
            ck_assert_int_eq(tb_proof_entry_read(text, n, &got, NULL), TB_E_VALIDATION);
            for (int bit = 0; bit < 8; bit++) {
                text[n] ^= (char)(1 << bit);
                if (tb_proof_entry_read(text, len, &got, NULL) == TB_OK) ck_assert_str_eq(write_entry(&got), text);
                text[n] ^= (char)(1 << bit);
            }
        }
    }
}
END_TEST

START_TEST(a_commitment_hides_its_content)
{
    const uint8_t salt[TB_PROOF_SALT] = {0}, other[TB_PROOF_SALT] = {1};
    char both[TB_PROOF_SALT + 3] = {0};
    memcpy(both + TB_PROOF_SALT, "abc", 3);
    const tb_merkle_hash commit = tb_proof_commit(salt, "abc", 3), digest = tb_proof_digest(both, sizeof both),
                         changed = tb_proof_commit(other, "abc", 3), abc = tb_proof_digest("abc", 3);
    char text[TB_MERKLE_BASE64];
    ck_assert(tb_merkle_same(&commit, &digest));
    ck_assert(!tb_merkle_same(&commit, &changed));
    tb_merkle_write(&abc, text); /* FIPS 180-4's example */
    ck_assert_str_eq(text, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("proof entry");
    TCase *tc = tcase_create("entries");
    tcase_add_test(tc, each_type_has_its_form);
    tcase_add_test(tc, values_at_their_bounds_read_back);
    tcase_add_test(tc, everything_else_is_refused);
    tcase_add_test(tc, one_text_is_one_entry);
    tcase_add_test(tc, a_commitment_hides_its_content);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
