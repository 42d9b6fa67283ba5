/* The list of --server: which server is asked after which. */
#include <check.h>
#include <string.h>

#include "cli/servers.h"

static void check_round(server_list *list, const char *primary, const char *order)
{
    char seen[200] = "";
    servers_begin(list);
    do {
        strcat(seen, servers_url(list) + strlen("http://"));
        strcat(seen, " ");
    } while (servers_next(list, primary));
    ck_assert_str_eq(seen, order);
}

static void check_order(const char *servers, const char *primary, const char *order)
{
    server_list list;
    ck_assert(servers_read(&list, servers));
    check_round(&list, primary, order);
}

START_TEST(each_is_asked_once)
{
    check_order("http://a", NULL, "a ");
    check_order("http://a", "http://b", "a ");
    check_order("http://a,http://b,http://c", NULL, "a b c ");
    check_order("http://a/,http://b//", "", "a b ");
}
END_TEST

START_TEST(the_named_primary_is_asked_next)
{
    check_order("http://a,http://b,http://c", "http://c", "a c b ");
    check_order("http://a,http://b,http://c", "http://a", "a b c ");
    check_order("http://a,http://b,http://c", "http://elsewhere", "a b c ");
    check_order("http://a,http://b/api,http://c/api", "http://c", "a c/api b/api ");
    check_order("http://a,http://b:80801,http://b:8080", "HTTP://B:8080", "a b:8080 b:80801 ");
}
END_TEST

START_TEST(the_next_round_begins_where_one_answered)
{
    server_list list;
    ck_assert(servers_read(&list, "http://a,http://b,http://c"));
    servers_begin(&list);
    ck_assert(servers_next(&list, NULL));
    servers_keep(&list);
    ck_assert(servers_next(&list, NULL));
    check_round(&list, NULL, "b c a ");
}
END_TEST

START_TEST(what_is_no_list)
{
    server_list list;
    char long_one[3000] = "http://";
    static const char *const bad[] = {"", ",", "a", "http://a,", ",http://a", "http://a,,http://b", "http://a, http://b", "ftp://a",
                                      "http://a\x7f", "http://1,http://2,http://3,http://4,http://5,http://6,http://7,http://8,http://9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!servers_read(&list, bad[i]), "%s", bad[i]);
    memset(long_one + 7, 'a', sizeof long_one - 8);
    ck_assert(!servers_read(&list, long_one));
    ck_assert(servers_read(&list, "http://1,http://2,http://3,http://4,http://5,http://6,http://7,http://8"));
    ck_assert_uint_eq(list.n, 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("servers");
    TCase *tc = tcase_create("list");
    tcase_add_test(tc, each_is_asked_once);
    tcase_add_test(tc, the_named_primary_is_asked_next);
    tcase_add_test(tc, the_next_round_begins_where_one_answered);
    tcase_add_test(tc, what_is_no_list);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
