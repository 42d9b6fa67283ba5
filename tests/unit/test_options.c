/* The command line's tables: what is accepted, what is refused and what the refusal says. And the page that leads a
 * browser to a link. */
#include "cli/link_file.h"
#include "cli/options.h"
#include "folder.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const cli_option options[] = {
    {.name = "db", .value = "FILE", .help = "the database", .kind = CLI_TEXT, .required = true, .variable = "TB_TEST_DB"},
    {.name = "count", .value = "N", .help = "how many", .kind = CLI_NUMBER, .min = -5, .max = 9},
    {.name = "way", .value = "skip|stop", .help = "which", .kind = CLI_CHOICE},
    {.name = "loud", .help = "say more", .kind = CLI_FLAG},
    {.name = "role", .value = "ROLE", .help = "what", .kind = CLI_TEXT, .repeats = true},
    {.name = "big",
     .value = "N",
     .help = "any",
     .kind = CLI_NUMBER,
     .min = INT64_MIN,
     .max = INT64_MAX},
};

static int run_nothing(const cli_call *call)
{
    (void)call;
    return 0;
}

static const cli_command commands[] = {
    {.name = "take",
     .operands = "LOG...",
     .summary = "Take logs",
     .details = "At length.",
     .min_operands = 1,
     .max_operands = 3,
     .options = options,
     .n_options = sizeof options / sizeof *options,
     .run = run_nothing},
    {.name = "key create",
     .operands = "",
     .summary = "Make a key",
     .details = "",
     .run = run_nothing},
    {.name = "key list", .operands = "", .summary = "List keys", .details = "", .run = run_nothing},
    {.name = "day", .operands = "", .summary = "A day", .details = "", .run = run_nothing, .group = CLI_UNDO},
    {.name = "day pay", .operands = "", .summary = "Pay it", .details = "", .run = run_nothing, .group = CLI_UNDO},
};
static const cli_option places[] = {
    {.name = "db", .value = "FILE", .help = "the database", .kind = CLI_TEXT, .variable = "TB_TEST_DB"},
    {.name = "server", .value = "URL", .help = "the server", .kind = CLI_TEXT, .variable = "TB_TEST_SERVER"},
};
static const cli_command placed = {.name = "take", .operands = "LOG", .summary = "Take a log", .details = "", .max_operands = 1,
                                   .options = places, .n_options = 2, .run = run_nothing};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static cli_call call;
static tb_error err;
static char words_text[1024];
static char *words[256];

/* Splits at spaces; "_" stands for an empty word. */
static int split(const char *line)
{
    int n = 0;
    ck_assert_uint_lt(strlen(line), sizeof words_text);
    memcpy(words_text, line, strlen(line) + 1);
    char *p = words_text;
    while (*p) {
        words[n++] = p;
        p += strcspn(p, " ");
        if (*p) *p++ = '\0';
    }
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], "_") == 0) words[i][0] = '\0';
    words[n] = NULL;
    return n;
}

static tb_code parse(const char *line)
{
    err = (tb_error){0};
    int n = split(line);
    return cli_parse(&commands[0], n, words, NULL, &call, &err);
}

static void refused(const char *line, const char *because)
{
    ck_assert_msg(parse(line) == TB_E_USAGE, "accepted: %s", line);
    ck_assert_msg(strstr(err.message, because) != NULL, "%s: %s", line, err.message);
}

START_TEST(options_and_operands_mix_in_any_order)
{
    ck_assert_int_eq(parse("a --db x.db b --count=3 --loud -"), TB_OK);
    ck_assert_str_eq(cli_text(&call, "db"), "x.db");
    ck_assert_int_eq(cli_number(&call, "count", 7), 3);
    ck_assert(cli_given(&call, "loud"));
    ck_assert_int_eq(call.n_operands, 3);
    ck_assert_str_eq(call.operands[0], "a");
    ck_assert_str_eq(call.operands[1], "b");
    ck_assert_str_eq(call.operands[2], "-");
}
END_TEST

START_TEST(what_is_not_given_has_its_default)
{
    ck_assert_int_eq(parse("--db=x a"), TB_OK);
    ck_assert_int_eq(cli_number(&call, "count", 7), 7);
    ck_assert_ptr_null(cli_text(&call, "way"));
    ck_assert(!cli_given(&call, "loud"));
    ck_assert(!cli_is(&call, "way", "skip"));
}
END_TEST

START_TEST(two_dashes_end_the_options)
{
    ck_assert_int_eq(parse("--db x -- --loud -y"), TB_OK);
    ck_assert_int_eq(call.n_operands, 2);
    ck_assert_str_eq(call.operands[0], "--loud");
    ck_assert(!cli_given(&call, "loud"));
}
END_TEST

START_TEST(a_value_may_look_like_an_option)
{
    ck_assert_int_eq(parse("--db --loud a"), TB_OK);
    ck_assert_str_eq(cli_text(&call, "db"), "--loud");
    ck_assert(!cli_given(&call, "loud"));
}
END_TEST

START_TEST(numbers_are_whole_and_within_their_bounds)
{
    ck_assert_int_eq(parse("--db x a --count -5"), TB_OK);
    ck_assert_int_eq(cli_number(&call, "count", 0), -5);
    ck_assert_int_eq(parse("--db x a --count 9"), TB_OK);
    static const char *const bad[] = {"-6", "10", "1x", "x", "-", "+1", "1.0", "0x1", "_"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[64];
        snprintf(line, sizeof line, "--db x a --count %s", bad[i]);
        refused(line, "--count");
    }
    ck_assert_int_eq(parse("--db x a --big 9223372036854775807"), TB_OK);
    ck_assert_int_eq(cli_number(&call, "big", 0), INT64_MAX);
    ck_assert_int_eq(parse("--db x a --big -9223372036854775808"), TB_OK);
    ck_assert_int_eq(cli_number(&call, "big", 0), INT64_MIN);
    refused("--db x a --big 9223372036854775808", "--big");
    refused("--db x a --big -9223372036854775809", "--big");
    refused("--db x a --big 99999999999999999999999", "--big");
}
END_TEST

START_TEST(a_choice_is_one_of_its_words)
{
    ck_assert_int_eq(parse("--db x a --way stop"), TB_OK);
    ck_assert(cli_is(&call, "way", "stop"));
    ck_assert(!cli_is(&call, "way", "skip"));
    refused("--db x a --way sto", "--way: \"sto\" is not one of skip or stop. Did you mean \"stop\"?");
    refused("--db x a --way skip|stop", "skip or stop");
    refused("--db x a --way _", "needs a value");
}
END_TEST

START_TEST(an_option_repeats_only_where_its_row_says_so)
{
    refused("--db x --db y a", "twice");
    ck_assert_int_eq(parse("--db x a --role A --role B"), TB_OK);
    ck_assert_uint_eq(call.n_values, 3);
    ck_assert_str_eq(cli_text(&call, "role"), "B");
}
END_TEST

START_TEST(more_options_than_there_is_room_for_are_refused)
{
    char line[1024] = "a --db x";
    for (int i = 1; i < CLI_VALUES_MAX; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), " --role r");
    ck_assert_int_eq(parse(line), TB_OK);
    snprintf(line + strlen(line), sizeof line - strlen(line), " --role r");
    refused(line, "More than");
}
END_TEST

START_TEST(what_is_missing_or_too_much_is_named)
{
    refused("a", "--db FILE is missing");
    refused("--db", "needs a value");
    refused("--db x", "LOG... is missing");
    refused("--db x a b c d", "\"d\" is one word too many. See");
    refused("a b c x.db", "\"x.db\" is one word too many. Did you mean --db x.db?");
    refused("--db x a --loud=1", "takes no value");
    refused("--db x a -q", "two dashes");
    refused("--db x a -count 3", "as in --count");
}
END_TEST

START_TEST(an_unknown_option_suggests_the_nearest)
{
    refused("--db x a --cuont 3", "Did you mean \"--count\"?");
    refused("--db x a --roles 3", "Did you mean \"--role\"?");
    refused("--db x a --something=3", "There is no option \"--something\"");
    ck_assert_ptr_null(strstr(err.message, "mean"));
}
END_TEST

START_TEST(a_variable_counts_where_no_place_is_given)
{
    setenv("TB_TEST_DB", "from.db", 1);
    setenv("TB_TEST_SERVER", "http://h", 1);
    ck_assert_int_eq(cli_parse(&placed, split("a"), words, NULL, &call, &err), TB_OK);
    ck_assert_str_eq(cli_text(&call, "db"), "from.db");
    ck_assert_str_eq(cli_text(&call, "server"), "http://h");
    ck_assert_int_eq(cli_parse(&placed, split("a --server http://other"), words, NULL, &call, &err), TB_OK);
    ck_assert(!cli_given(&call, "db"));
    ck_assert_str_eq(cli_text(&call, "server"), "http://other");
    setenv("TB_TEST_DB", "", 1);
    ck_assert_int_eq(cli_parse(&placed, split("a"), words, NULL, &call, &err), TB_OK);
    ck_assert(!cli_given(&call, "db"));
    unsetenv("TB_TEST_DB");
    unsetenv("TB_TEST_SERVER");
}
END_TEST

START_TEST(help_among_the_options_is_all_that_counts)
{
    ck_assert_int_eq(parse("--help"), TB_OK);
    ck_assert(call.help);
    ck_assert_int_eq(parse("a --count 3 -h"), TB_OK);
    ck_assert(call.help);
}
END_TEST

static const cli_command *find(const char *line, int *ret_words)
{
    err = (tb_error){0};
    int n = split(line);
    return cli_find(commands, N_COMMANDS, n, words, ret_words, &err);
}

START_TEST(commands_of_one_and_of_two_words_are_found)
{
    int n = 0;
    ck_assert_ptr_eq(find("take --db", &n), &commands[0]);
    ck_assert_int_eq(n, 1);
    ck_assert_ptr_eq(find("key list x", &n), &commands[2]);
    ck_assert_int_eq(n, 2);
}
END_TEST

START_TEST(a_command_that_is_none_is_explained)
{
    int n = 0;
    ck_assert_ptr_null(find("", &n));
    ck_assert_ptr_nonnull(strstr(err.message, "No subcommand"));
    ck_assert_ptr_null(find("other", &n));
    ck_assert_ptr_null(strstr(err.message, "mean"));
    ck_assert_ptr_null(find("takes", &n));
    ck_assert_ptr_nonnull(strstr(err.message, "mean \"take\""));
    ck_assert_ptr_null(find("key", &n));
    ck_assert_ptr_nonnull(strstr(err.message, "create or list"));
    ck_assert_ptr_null(find("key creat", &n));
    ck_assert_ptr_nonnull(strstr(err.message, "mean \"key create\"? After \"key\" comes create or list"));
    ck_assert_ptr_null(find("key x", &n));
    ck_assert_ptr_nonnull(strstr(err.message, "no subcommand \"key x\". After \"key\" comes create or list"));
    ck_assert_ptr_null(find("TAKE x", &n));
    ck_assert_ptr_nonnull(strstr(err.message, "mean \"take\""));
    ck_assert_ptr_null(find("versoin", &n));
    ck_assert_ptr_nonnull(strstr(err.message, "mean \"version\""));
    ck_assert_ptr_null(find("--db x take", &n));
    ck_assert_ptr_nonnull(strstr(err.message, "behind the subcommand: tollbook SUBCOMMAND --db"));
    ck_assert_ptr_null(find("day pya", &n));
    ck_assert_ptr_nonnull(strstr(err.message, "mean \"day pay\""));
    ck_assert_ptr_eq(find("day --x", &n), &commands[3]);
    ck_assert_ptr_eq(find("day pay", &n), &commands[4]);
    ck_assert_ptr_eq(find("day help", &n), &commands[3]);
    ck_assert_ptr_null(find("key", &n));
    ck_assert_int_eq(err.code, TB_E_USAGE);
}
END_TEST

START_TEST(help_shows_every_row)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    cli_help(out, &commands[0]);
    cli_help_all(out, commands, N_COMMANDS, "key");
    fclose(out);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        ck_assert_ptr_nonnull(strstr(text, options[i].name));
        ck_assert_ptr_nonnull(strstr(text, options[i].help));
    }
    ck_assert_ptr_nonnull(strstr(text, "usage: tollbook take --db FILE [--count N]"));
    ck_assert_ptr_nonnull(strstr(text, "At length."));
    ck_assert_ptr_nonnull(strstr(text, "Make a key"));
    ck_assert_ptr_null(strstr(text, cli_groups[CLI_UNDO].title));
    ck_assert_ptr_null(strstr(text, "\n  take"));
    free(text);
}
END_TEST

/* --- the page with a link --- */

START_TEST(a_link_is_in_a_page_for_its_owner_alone)
{
    static link_file f;
    struct stat file, folder;
    char base[TEST_FOLDER_MAX], text[1024] = "";
    ck_assert(test_folder(base));
    setenv("XDG_RUNTIME_DIR", base, 1);
    ck_assert(link_file_write(&f, "http://127.0.0.1:1/console/open?a=b"));
    ck_assert_int_eq(strncmp(f.path, base, strlen(base)), 0);
    ck_assert_int_eq(stat(f.path, &file), 0);
    ck_assert_int_eq(stat(f.folder, &folder), 0);
    ck_assert_int_eq(file.st_mode & 0777, 0600);
    ck_assert_int_eq(folder.st_mode & 0777, 0700);
    FILE *in = fopen(f.path, "r");
    ck_assert_ptr_nonnull(in);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, in), 0);
    fclose(in);
    ck_assert_ptr_nonnull(strstr(text, "<a href=\"http://127.0.0.1:1/console/open?a=b\">"));
    ck_assert(link_file_remove(&f));
    ck_assert_int_ne(stat(f.folder, &folder), 0);
    ck_assert(!link_file_remove(&f));
    ck_assert_int_eq(rmdir(base), 0);
}
END_TEST

START_TEST(a_link_goes_where_something_can_be_written)
{
    static link_file f;
    char base[TEST_FOLDER_MAX], before[1024];
    const char *own = getenv("TMPDIR");
    snprintf(before, sizeof before, "%s", own ? own : "");
    ck_assert(test_folder(base));
    setenv("XDG_RUNTIME_DIR", "/nothing/is/here", 1);
    setenv("TMPDIR", base, 1);
    ck_assert(link_file_write(&f, "http://a/"));
    ck_assert_int_eq(strncmp(f.path, base, strlen(base)), 0);
    ck_assert(link_file_remove(&f));
    setenv("TMPDIR", "relative", 1);
    ck_assert(link_file_write(&f, "http://a/"));
    ck_assert_int_eq(strncmp(f.path, "/tmp/", 5), 0);
    ck_assert(link_file_remove(&f));
    if (own) setenv("TMPDIR", before, 1);
    else unsetenv("TMPDIR");
    ck_assert_int_eq(rmdir(base), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tc = tcase_create("options");
    tcase_add_test(tc, options_and_operands_mix_in_any_order);
    tcase_add_test(tc, what_is_not_given_has_its_default);
    tcase_add_test(tc, two_dashes_end_the_options);
    tcase_add_test(tc, a_value_may_look_like_an_option);
    tcase_add_test(tc, numbers_are_whole_and_within_their_bounds);
    tcase_add_test(tc, a_choice_is_one_of_its_words);
    tcase_add_test(tc, an_option_repeats_only_where_its_row_says_so);
    tcase_add_test(tc, more_options_than_there_is_room_for_are_refused);
    tcase_add_test(tc, what_is_missing_or_too_much_is_named);
    tcase_add_test(tc, an_unknown_option_suggests_the_nearest);
    tcase_add_test(tc, a_variable_counts_where_no_place_is_given);
    tcase_add_test(tc, help_among_the_options_is_all_that_counts);
    tcase_add_test(tc, commands_of_one_and_of_two_words_are_found);
    tcase_add_test(tc, a_command_that_is_none_is_explained);
    tcase_add_test(tc, help_shows_every_row);
    tcase_add_test(tc, a_link_is_in_a_page_for_its_owner_alone);
    tcase_add_test(tc, a_link_goes_where_something_can_be_written);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
