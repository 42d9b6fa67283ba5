/* The configuration file: what its lines may say, what is refused and why, and what a call takes of it. */
#include "cli/cli.h"
#include "cli/config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "tollbook/operation.h"

static const cli_option serve_options[] = {
    {.name = "db", .value = "FILE", .help = "the database", .kind = CLI_TEXT, .required = true, .variable = "TB_TEST_DB"},
    {.name = "listen", .value = "ADDR", .help = "where", .kind = CLI_TEXT, .repeats = true},
    {.name = "threads", .value = "N", .help = "how many", .kind = CLI_NUMBER, .min = 1, .max = 9},
    {.name = "console", .value = "on|off", .help = "which", .kind = CLI_CHOICE},
    {.name = "loud", .help = "say more", .kind = CLI_FLAG},
    {.name = "ca", .value = "FILE", .help = "authorities", .kind = CLI_TEXT},
};
static const cli_option bill_options[] = {
    {.name = "db", .value = "FILE", .help = "the database", .kind = CLI_TEXT, .variable = "TB_TEST_DB"},
    {.name = "server", .value = "URL", .help = "a server", .kind = CLI_TEXT, .variable = "TB_TEST_SERVER"},
    {.name = "key", .value = "KEY", .help = "a key", .kind = CLI_TEXT, .secret = true},
    {.name = "key-file", .value = "FILE", .help = "its file", .kind = CLI_TEXT},
    {.name = "ca", .value = "FILE", .help = "authorities", .kind = CLI_TEXT},
    {.name = "format", .value = "FORMAT", .help = "of logs", .kind = CLI_TEXT},
    {.name = "map", .value = "MAP", .help = "its fields", .kind = CLI_TEXT},
    {.name = "seal", .value = "FILE", .help = "a file here", .kind = CLI_TEXT, .here = true},
    {.name = "finalize", .help = "do it", .kind = CLI_FLAG, .per_call = true},
    {.name = "console", .value = "TEXT", .help = "another thing", .kind = CLI_TEXT, .per_call = true},
};

static int run_nothing(const cli_call *call)
{
    (void)call;
    return 0;
}

#define OPTIONS(table) .options = table, .n_options = sizeof table / sizeof *table
static const cli_command commands[] = {
    {.name = "bill", .operands = "", .summary = "Bill", .details = "", OPTIONS(bill_options), .run = run_nothing},
    {.name = "serve", .operands = "", .summary = "Serve", .details = "", OPTIONS(serve_options), .run = run_nothing},
    {.name = "check", .operands = "", .summary = "Check", .details = "", .db_first = true, OPTIONS(bill_options), .run = run_nothing},
};
static const config_commands known = {commands, 2}; /* the third has the options of the first */

static char path[TEST_FOLDER_MAX + 16], folder[TEST_FOLDER_MAX];
static config c;
static cli_call call;
static tb_error err;

static void begin(void)
{
    ck_assert(test_folder(folder));
    snprintf(path, sizeof path, "%s/t.conf", folder);
    unsetenv("TOLLBOOK_KEY");
    unsetenv("TOLLBOOK_KEY_FILE");
}

static void end(void)
{
    config_release(&c);
    unlink(path);
    rmdir(folder);
}

static tb_code read_bytes(const void *bytes, size_t len)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(bytes, 1, len, out), len);
    ck_assert_int_eq(fclose(out), 0);
    config_release(&c);
    err = (tb_error){0};
    return config_read(path, &known, &c, &err);
}

static tb_code read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static void taken(const char *text, size_t n)
{
    ck_assert_msg(read_text(text) == TB_OK, "refused: %s", err.message);
    ck_assert_uint_eq(c.n, n);
}

/* The message names the file, this line, and what is wrong. */
static void refused(const char *text, unsigned line, const char *because)
{
    char where[sizeof path + 32];
    ck_assert_msg(read_text(text) == TB_E_USAGE, "taken: %s", text);
    snprintf(where, sizeof where, "%s: line %u: ", path, line);
    ck_assert_msg(strncmp(err.message, where, strlen(where)) == 0 && strstr(err.message, because), "%s", err.message);
}

static tb_code more(cli_call *to, tb_error *ret_err)
{
    return config_add(&c, to, ret_err);
}

static tb_code parse(const char *line)
{
    static char text[256];
    static char *words[32];
    int n = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *rest = text, *word; (word = strsep(&rest, " "));)
        if (*word) words[n++] = word;
    const cli_command *command = commands;
    while (strcmp(words[0], command->name) != 0)
        command++;
    return cli_parse(command, n - 1, words + 1, more, &call, &err);
}

static void has(const char *name, const char *text)
{
    ck_assert_msg(text ? cli_given(&call, name) && strcmp(cli_text(&call, name), text) == 0 : !cli_given(&call, name),
                  "%s is %s", name, cli_given(&call, name) ? cli_text(&call, name) : "not given");
}

/* --- lines --- */

START_TEST(a_line_is_a_name_and_the_rest_of_the_line)
{
    taken("# a comment\n\n  \t\n db \t a  file # of 'mine'.db \t\nloud\n  listen x\nlisten y", 4);
    ck_assert_str_eq(c.rows[0].text, "a  file # of 'mine'.db");
    ck_assert_uint_eq(c.rows[0].line, 4);
    ck_assert_str_eq(c.rows[1].option->name, "loud");
    ck_assert_str_eq(c.rows[1].text, "");
    ck_assert_str_eq(c.rows[3].text, "y");
    taken("", 0);
    taken("\n", 0);
    taken("#", 0);
    taken("db nginx:'$a \"b\"'", 1);
    ck_assert_str_eq(c.rows[0].text, "nginx:'$a \"b\"'");
}
END_TEST

START_TEST(line_ends_and_marks_of_other_systems_are_taken)
{
    taken("\xef\xbb\xbf" "db x\r\nloud\r\n", 2);
    ck_assert_str_eq(c.rows[0].text, "x");
    taken("db x\r", 1);
    ck_assert_str_eq(c.rows[0].text, "x");
    refused("db x\rloud\n", 1, "control character (0x0d)");
    refused("loud\n\xef\xbb\xbf" "db x\n", 2, "is no option's name");
}
END_TEST

START_TEST(a_bad_line_is_named_with_a_remedy)
{
    refused("db x\nlisen y\n", 2, "No command has an option \"lisen\". Did you mean \"listen\"?");
    refused("nothing-like-it y\n", 1, "See: tollbook help config");
    refused("db=x\n", 1, "Write it without \"=\": db FILE");
    refused("loud = yes\n", 1, "Write it without \"=\": loud");
    refused("--db x\n", 1, "without its dashes: \"db x\"");
    refused("[serve]\n", 1, "There are no sections");
    refused("db: x\n", 1, "is no option's name");
    refused("db \"x\"\n", 1, "without quotes");
    refused("db 'x'\n", 1, "without quotes");
    refused("db\n", 1, "\"db\" needs a value. Write: db FILE");
    refused("loud yes\n", 1, "takes no value");
    refused("threads 10\n", 1, "threads: ");
    refused("threads x\n", 1, "threads: ");
    refused("\n\nconsole maybe\n", 3, "console: \"maybe\" is not one of on or off.");
    refused("finalize\n", 1, "on the command line, as --finalize.");
    refused("db x\nloud\ndb x\n", 3, "\"db\" stands on line 1 already.");
    refused("loud\nloud\n", 2, "stands on line 1 already");
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    ck_assert_int_eq(read_bytes("db x\0y\n", 7), TB_E_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, "line 1: Its byte 5 is a control character (0x00)"));
    ck_assert_int_eq(read_bytes("loud\nd\0b\0", 9), TB_E_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, "line 2: Its byte 2"));
    refused("db \x1b[31m\n", 1, "0x1b");
    refused("# \x7f\n", 1, "0x7f");
    taken("db caf\xe9.db\n", 1); /* a file's name may be any bytes */
}
END_TEST

START_TEST(lines_options_and_files_have_bounds)
{
    static char text[CONFIG_MAX + 2];
    memset(text, 'x', sizeof text);
    memcpy(text, "db ", 3);
    text[CONFIG_LINE_MAX] = '\n';
    ck_assert_int_eq(read_bytes(text, CONFIG_LINE_MAX + 1), TB_OK);
    text[CONFIG_LINE_MAX] = 'x';
    ck_assert_int_eq(read_bytes(text, CONFIG_LINE_MAX + 1), TB_E_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, "line 1: It is longer than 4096 bytes"));
    memset(text, '\n', sizeof text);
    ck_assert_int_eq(read_bytes(text, CONFIG_MAX - 1), TB_OK);
    ck_assert_int_eq(read_bytes(text, CONFIG_MAX), TB_OK);
    ck_assert_int_eq(read_bytes(text, CONFIG_MAX + 1), TB_E_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, "longer than 65536 bytes"));
    for (size_t i = 0; i <= CONFIG_ROWS_MAX; i++)
        memcpy(text + i * 9, "listen x\n", 9);
    ck_assert_int_eq(read_bytes(text, CONFIG_ROWS_MAX * 9), TB_OK);
    ck_assert_int_eq(read_bytes(text, (CONFIG_ROWS_MAX + 1) * 9), TB_E_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, "line 257: A file has at most 256 options"));
}
END_TEST

START_TEST(what_is_no_file_is_named)
{
    ck_assert_int_eq(config_read(folder, &known, &c, &err), TB_E_READ_ONLY);
    ck_assert_ptr_nonnull(strstr(err.message, folder));
    ck_assert_ptr_nonnull(strstr(err.message, "Is a directory"));
    ck_assert_ptr_nonnull(strstr(err.message, "--config none"));
    config_release(&c);
    ck_assert_int_eq(config_read(path, &known, &c, &err), TB_E_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, "No such file"));
    if (geteuid() == 0) return; /* who may read everything */
    taken("loud\n", 1);
    ck_assert_int_eq(chmod(path, 0), 0);
    config_release(&c);
    ck_assert_int_eq(config_read(path, &known, &c, &err), TB_E_READ_ONLY);
    ck_assert_ptr_nonnull(strstr(err.message, "Permission denied"));
}
END_TEST

START_TEST(a_file_with_a_secret_is_its_owners_alone)
{
    taken("loud\n", 1);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(read_text("db x\nkey abc\n"), TB_E_READ_ONLY);
    ck_assert_ptr_nonnull(strstr(err.message, "line 2: \"key\" is a secret"));
    ck_assert_ptr_nonnull(strstr(err.message, "with key-file, or: chmod 600"));
    taken("key-file x\n", 1);
    ck_assert_int_eq(chmod(path, 0600), 0);
    taken("db x\nkey abc\n", 2);
}
END_TEST

/* --- calls --- */

START_TEST(a_command_takes_the_options_that_it_has)
{
    taken("db f.db\nlisten a\nlisten b\nthreads 3\nconsole off\nloud\n", 6);
    ck_assert_int_eq(parse("serve"), TB_OK);
    has("db", "f.db");
    has("console", "off");
    ck_assert(cli_given(&call, "loud"));
    ck_assert_int_eq(cli_number(&call, "threads", 0), 3);
    ck_assert_uint_eq(call.n_values, 6);
    ck_assert_int_eq(parse("bill"), TB_OK); /* whose --console is another thing */
    ck_assert_uint_eq(call.n_values, 1);
}
END_TEST

START_TEST(the_command_line_counts_before_the_environment_and_that_before_the_file)
{
    taken("db f.db\nlisten a\nlisten b\nthreads 3\n", 4);
    setenv("TB_TEST_DB", "e.db", 1);
    ck_assert_int_eq(parse("serve --listen c --threads 4"), TB_OK);
    has("db", "e.db");
    has("listen", "c");
    ck_assert_int_eq(cli_number(&call, "threads", 0), 4);
    ck_assert_uint_eq(call.n_values, 3);
    ck_assert_int_eq(parse("serve --db c.db"), TB_OK);
    has("db", "c.db");
    unsetenv("TB_TEST_DB");
}
END_TEST

START_TEST(of_a_database_and_a_server_the_server_is_taken)
{
    taken("db f.db\nserver http://f\nkey-file k\nca c\nseal s\n", 5);
    ck_assert_int_eq(parse("bill"), TB_OK);
    has("db", NULL);
    has("server", "http://f");
    has("key-file", "k");
    has("ca", "c");
    has("seal", NULL);
    ck_assert_int_eq(parse("serve"), TB_OK);
    has("db", "f.db");
    has("ca", "c");
    ck_assert_int_eq(parse("check"), TB_OK);
    has("db", "f.db");
    has("server", NULL);
    has("key-file", NULL);
    has("ca", NULL);
    has("seal", "s");
    taken("server http://f\nkey-file k\n", 2);
    ck_assert_int_eq(parse("check"), TB_OK);
    has("server", "http://f");
    has("key-file", "k");
}
END_TEST

START_TEST(a_given_place_is_the_only_one)
{
    taken("db f.db\nserver http://f\nkey-file k\nca c\nseal s\n", 5);
    ck_assert_int_eq(parse("bill --db c.db"), TB_OK);
    has("db", "c.db");
    has("server", NULL);
    has("key-file", NULL);
    has("ca", NULL);
    has("seal", "s");
    setenv("TB_TEST_DB", "e.db", 1);
    ck_assert_int_eq(parse("bill"), TB_OK);
    has("db", "e.db");
    has("server", NULL);
    unsetenv("TB_TEST_DB");
    ck_assert_int_eq(parse("bill --server http://c"), TB_OK);
    has("db", NULL);
    has("server", "http://c");
    has("key-file", "k");
}
END_TEST

START_TEST(what_belongs_to_another_option_goes_with_that)
{
    taken("format json\nmap caddy\n", 2);
    ck_assert_int_eq(parse("bill"), TB_OK);
    has("map", "caddy");
    ck_assert_int_eq(parse("bill --map mine"), TB_OK);
    has("format", "json");
    ck_assert_int_eq(parse("bill --format combined"), TB_OK);
    has("map", NULL);
}
END_TEST

START_TEST(a_given_key_is_the_only_one)
{
    taken("server http://f\nkey-file k\n", 2);
    ck_assert_int_eq(parse("bill --key x"), TB_OK);
    has("key-file", NULL);
    setenv("TOLLBOOK_KEY", "e", 1);
    ck_assert_int_eq(parse("bill"), TB_OK);
    has("key-file", NULL);
    unsetenv("TOLLBOOK_KEY");
    setenv("TOLLBOOK_KEY_FILE", "e", 1);
    ck_assert_int_eq(parse("bill"), TB_OK);
    has("key-file", NULL);
    unsetenv("TOLLBOOK_KEY_FILE");
    ck_assert_int_eq(parse("bill"), TB_OK);
    has("key-file", "k");
}
END_TEST

/* Else one line would mean something else to each. */
START_TEST(each_option_means_the_same_to_all_commands)
{
    size_t n = 0;
    tb_operations_start();
    cli_commands_fill();
    for (size_t i = 0; i < cli_n_commands; i++)
        for (size_t k = 0; k < cli_commands[i].n_options; k++) {
            const cli_option *one = &cli_commands[i].options[k];
            for (size_t j = 0; config_takes(one) && j < i; j++) {
                const cli_option *other = cli_option_of(&cli_commands[j], one->name);
                if (!other || !config_takes(other)) continue;
                const bool words = one->value && other->value ? strcmp(one->value, other->value) == 0 : one->value == other->value;
                ck_assert_msg(words && one->kind == other->kind && one->min == other->min && one->max == other->max &&
                                  one->repeats == other->repeats && one->secret == other->secret,
                              "--%s of %s and of %s", one->name, cli_commands[i].name, cli_commands[j].name);
                n++;
            }
        }
    ck_assert_uint_gt(n, 50);
}
END_TEST

START_TEST(help_shows_each_option_once)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    config_help(out, &known);
    fclose(out);
    const char *db = strstr(text, "\n  db FILE "), *list = strstr(text, "\nWhat it may have");
    ck_assert_ptr_nonnull(list);
    ck_assert_ptr_nonnull(db = strstr(list, "\n  db FILE "));
    ck_assert_ptr_null(strstr(db + 1, "\n  db FILE "));
    ck_assert_ptr_nonnull(strstr(db, "the database (bill, serve)\n"));
    ck_assert_ptr_nonnull(strstr(list, "(may repeat) (serve)\n"));
    ck_assert_ptr_null(strstr(list, "\n  finalize"));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tcase = tcase_create("config");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, a_line_is_a_name_and_the_rest_of_the_line);
    tcase_add_test(tcase, line_ends_and_marks_of_other_systems_are_taken);
    tcase_add_test(tcase, a_bad_line_is_named_with_a_remedy);
    tcase_add_test(tcase, bytes_that_are_no_text_are_refused);
    tcase_add_test(tcase, lines_options_and_files_have_bounds);
    tcase_add_test(tcase, what_is_no_file_is_named);
    tcase_add_test(tcase, a_file_with_a_secret_is_its_owners_alone);
    tcase_add_test(tcase, a_command_takes_the_options_that_it_has);
    tcase_add_test(tcase, the_command_line_counts_before_the_environment_and_that_before_the_file);
    tcase_add_test(tcase, of_a_database_and_a_server_the_server_is_taken);
    tcase_add_test(tcase, a_given_place_is_the_only_one);
    tcase_add_test(tcase, what_belongs_to_another_option_goes_with_that);
    tcase_add_test(tcase, a_given_key_is_the_only_one);
    tcase_add_test(tcase, each_option_means_the_same_to_all_commands);
    tcase_add_test(tcase, help_shows_each_option_once);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
