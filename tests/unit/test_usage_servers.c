/* The usage servers of `serve --usage`, against a listener in their place: addresses, logins, what
 * an answer comes to, and what all threads know of a server then. Real servers are asked in
 * tests/http/test_usage_servers.py. */
#include "unit/listener.h"
#include "usage/internal.h"

/* --- addresses --- */

START_TEST(an_address_names_shards_and_a_database)
{
    usage_address a;
    tb_error err = {0};
    ck_assert_int_eq(
        usage_address_parse("clickhouse://a.example,b-2.example:9000,[::1],[fe80::1]:65535/toll_1",
                            &a, &err),
        TB_OK);
    ck_assert_uint_eq(a.shards, 4);
    ck_assert_str_eq(a.shard[0], "a.example:8123");
    ck_assert_str_eq(a.shard[1], "b-2.example:9000");
    ck_assert_str_eq(a.shard[2], "[::1]:8123");
    ck_assert_str_eq(a.shard[3], "[fe80::1]:65535");
    ck_assert_str_eq(a.database, "toll_1");
    ck_assert(!a.secure);
    ck_assert_int_eq(usage_address_parse("clickhouse://a,b/d?secure=1&shards=2", &a, &err), TB_OK);
    ck_assert(a.secure);
    ck_assert_str_eq(a.shard[1], "b:8443");
    ck_assert_int_eq(usage_address_parse("clickhouse://a/d?secure=true&secure=0", &a, &err), TB_OK);
    ck_assert(!a.secure);
}
END_TEST

static void expect_bad(const char *url, const char *words)
{
    usage_address a;
    tb_error err = {0};
    ck_assert_msg(usage_address_parse(url, &a, &err) == TB_E_USAGE, "%s", url);
    ck_assert_msg(strstr(err.message, words) != NULL, "%s: %s", url, err.message);
}

START_TEST(what_is_no_address_is_refused_with_the_reason)
{
    static const char *const hosts[] = {"",        ",",        "a,",     "a,,b", "a:", "a:0",
                                        "a:65536", "a:123456", "a:12b",  "a b",  "[",  "[]",
                                        "[::1",    "[g::]",    "[::1]x", "a:1:2"};
    static const char *const options[] = {
        "secure",    "secure=",    "secure=2",  "shards=", "shards=0",
        "shards=01", "shards=100", "shards=1x", "other=1", "secure=1&&shards=1"};
    char url[2048];
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        snprintf(url, sizeof url, "clickhouse://%s/d", hosts[i]);
        expect_bad(url, "no list of hosts");
    }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        snprintf(url, sizeof url, "clickhouse://a/d?%s", options[i]);
        expect_bad(url, "only secure=1 and shards=N");
    }
    expect_bad("http://a/d", "begin with clickhouse://");
    expect_bad("clickhouse://user:word@a/d", "--usage-credentials");
    expect_bad("clickhouse://a", "database's name is missing");
    expect_bad("clickhouse://a?x/d", "database's name is missing");
    expect_bad("clickhouse://a/", "no database's name");
    expect_bad("clickhouse://a/d-1", "no database's name");
    expect_bad("clickhouse://a,b/d?shards=12", "shards=12, and 2 hosts");
}
END_TEST

static tb_code parse_many(const char *host, size_t n, const char *database)
{
    static usage_address a;
    char url[USAGE_SHARDS_MAX * 8 + USAGE_HOST_MAX + 128], *at = stpcpy(url, "clickhouse://");
    for (size_t i = 0; i < n; i++) {
        if (i) *at++ = ',';
        at = stpcpy(at, host);
    }
    *at++ = '/';
    stpcpy(at, database);
    return usage_address_parse(url, &a, NULL);
}

START_TEST(an_address_is_bounded)
{
    char host[USAGE_HOST_MAX], name[USAGE_NAME_MAX + 2];
    memset(host, 'h', sizeof host);
    memset(name, 'n', sizeof name);
    host[USAGE_HOST_MAX - 5] = name[USAGE_NAME_MAX] = '\0';
    ck_assert_int_eq(parse_many("a", USAGE_SHARDS_MAX, name), TB_OK);
    ck_assert_int_eq(parse_many("a", USAGE_SHARDS_MAX + 1, "d"), TB_E_USAGE);
    ck_assert_int_eq(parse_many(host, 1, "d"), TB_OK);
    host[USAGE_HOST_MAX - 5] = 'h';
    host[USAGE_HOST_MAX - 4] = '\0';
    ck_assert_int_eq(parse_many(host, 1, "d"), TB_E_USAGE);
    name[USAGE_NAME_MAX] = 'n';
    name[USAGE_NAME_MAX + 1] = '\0';
    ck_assert_int_eq(parse_many("a", 1, name), TB_E_USAGE);
}
END_TEST

START_TEST(a_login_is_two_lines)
{
    static const char *const bad[] = {
        "", "\n", "\nword\n", "user\nword\nmore", "us\ter\nword\n", "user\nwo\x7frd"};
    char user[USAGE_LOGIN_MAX + 2];
    usage_login login;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!usage_login_parse(bad[i], strlen(bad[i]), &login), "%s", bad[i]);
    ck_assert(usage_login_parse("user\r\nword\r\n", 12, &login));
    ck_assert_str_eq(login.user, "user");
    ck_assert_str_eq(login.password, "word");
    ck_assert(usage_login_parse("user", 4, &login));
    ck_assert_str_eq(login.password, "");
    memset(user, 'u', sizeof user);
    ck_assert(usage_login_parse(user, USAGE_LOGIN_MAX, &login));
    ck_assert(!usage_login_parse(user, USAGE_LOGIN_MAX + 1, &login));
}
END_TEST

/* --- refusals --- */

static void expect_refusal(const char *text, usage_refuses refuses, const char *why)
{
    char said[USAGE_WHY_MAX];
    ck_assert_msg(usage_refusal(500, text, strlen(text), said) == refuses, "%s", text);
    ck_assert_str_eq(said, why);
}

START_TEST(a_refusal_is_its_first_sentence_and_a_remedy)
{
    expect_refusal("Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. "
                   "(NOT_ENOUGH_SPACE) (version 22)",
                   USAGE_REFUSES_ROWS,
                   "code 243, Cannot reserve 1.00 MiB, not enough space. Make room on its disk; "
                   "what was refused can be sent again.");
    expect_refusal(
        "Code: 516, e.displayText() = DB::Exception: default: Authentication failed, e.what() = "
        "DB::Exception",
        USAGE_REFUSES_ALL, "code 516, default: Authentication failed. Look at the file of --usage-credentials.");
    expect_refusal("Code: 81. DB::Exception: Database t doesn't exist (version 22)", USAGE_REFUSES_NOTHING,
                   "code 81, Database t doesn't exist. Start tollbook serve again: it makes its "
                   "database where that is missing.");
    expect_refusal("Code: 999. DB::Exception: Odd\nmore", USAGE_REFUSES_NOTHING, "code 999, Odd. Look at its log.");
    expect_refusal("Code: x", USAGE_REFUSES_ALL, "it answers HTTP 500: Code: x. Look at its log.");
    expect_refusal("<html>\x1b[2J\x7f", USAGE_REFUSES_ALL, "it answers HTTP 500: <html> [2J . Look at its log.");
    expect_refusal("", USAGE_REFUSES_ALL, "it answers HTTP 500: . Look at its log.");
}
END_TEST

START_TEST(a_long_refusal_is_cut)
{
    char text[600], said[USAGE_WHY_MAX], shown[131];
    memset(text, 'w', sizeof text);
    memset(shown, 'w', 130);
    shown[130] = '\0';
    ck_assert_int_eq(usage_refusal(502, text, sizeof text, said), USAGE_REFUSES_ALL);
    ck_assert_ptr_nonnull(strstr(said, shown));
    ck_assert_ptr_null(strstr(strstr(said, shown) + 1, shown));
}
END_TEST

/* --- statements --- */

#define CLICKHOUSE(status, body_length)                                                            \
    "HTTP/1.1 " status "\r\nX-ClickHouse-Server-Display-Name: a\r\nContent-Length: " body_length   \
    "\r\n\r\n"
#define DONE CLICKHOUSE("200 OK", "0")

typedef struct plane {
    listener l;
    usage_servers *s;
    const tb_usage_client *client;
    tb_buf answer;
    tb_error err;
    const char *text;              /* for each statement; NULL: it gets no answer */
    char last[2048], killed[2048]; /* the last statement's request, the last KILL QUERY's */
    _Atomic int statements, kills;
} plane;

static _Atomic int n_said;
static char said[2][USAGE_WHY_MAX + 512];

static void say(const char *sentence)
{
    const int n = atomic_fetch_add(&n_said, 1);
    if (n < 2) snprintf(said[n], sizeof said[n], "%s", sentence);
}

static const char *reply_to(void *ctx, const char *request)
{
    plane *p = ctx;
    if (strstr(request, "\r\n\r\nSELECT 1 FORMAT")) return CLICKHOUSE("200 OK", "2") "1\n";
    if (strstr(request, "\r\n\r\nKILL QUERY ")) {
        snprintf(p->killed, sizeof p->killed, "%s", request);
        atomic_fetch_add(&p->kills, 1);
        return DONE;
    }
    snprintf(p->last, sizeof p->last, "%s", request);
    atomic_fetch_add(&p->statements, 1);
    return p->text;
}

static plane *new_plane(void)
{
    plane *p = calloc(1, sizeof *p);
    char url[128];
    listener_start(&p->l, reply_to, p);
    snprintf(url, sizeof url, "clickhouse://127.0.0.1:%d,127.0.0.1:%d/toll", p->l.port, p->l.port);
    const usage_options options = {
        .url = url, .login = {"user", "word"}, .limit_ms = 20000, .remember = 77, .say = say};
    atomic_store(&n_said, 0);
    ck_assert_int_eq(usage_servers_open(&options, &p->s, &p->err), TB_OK);
    p->client = usage_servers_client(p->s);
    tb_buf_init(&p->answer, 4096, NULL);
    return p;
}

static void end_plane(plane *p)
{
    usage_servers_close(p->s);
    listener_stop(&p->l);
    tb_buf_release(&p->answer);
    free(p);
}

static tb_code asked(plane *p, const char *sql, const char *body, const char *text)
{
    const tb_usage_statement of = {
        .shard = 1, .sql = sql, .body = body, .len = body ? strlen(body) : 0, .brief = true};
    p->text = text;
    p->answer.len = 0;
    return p->client->ask(p->client->ctx, &of, &p->answer, &p->err);
}

static usage_shard_figures figures_of(plane *p, size_t shard)
{
    usage_shard_figures f;
    usage_servers_read(p->s, shard, &f);
    return f;
}

static void has(const plane *p, const char *part)
{
    ck_assert_msg(strstr(p->last, part) != NULL, "lacks %s: %s", part, p->last);
}

START_TEST(a_statement_is_sent_and_its_answer_appended)
{
    plane *p = new_plane();
    ck_assert_uint_eq(usage_servers_shards(p->s), 2);
    ck_assert_uint_eq(p->client->shards, 2);
    ck_assert_uint_eq(p->client->remember, 77);
    ck_assert_str_eq(p->client->database, "toll");
    ck_assert_int_eq(asked(p, "SELECT 7", NULL, CLICKHOUSE("200 OK", "2") "7\n"), TB_OK);
    ck_assert_uint_eq(p->answer.len, 2);
    ck_assert_mem_eq(p->answer.data, "7\n", 2);
    has(p, "POST /?buffer_size=1048576&max_query_size=1048576&query_id=tollbook-");
    has(p, "&max_execution_time=21 HTTP/1.1\r\n");
    has(p, "\r\nX-ClickHouse-User: user\r\n");
    has(p, "\r\nX-ClickHouse-Key: word\r\n");
    has(p, "\r\n\r\nSELECT 7");
    ck_assert_int_eq(asked(p, "INSERT INTO t FORMAT TSV", "1\t2\n", DONE), TB_OK);
    has(p, "&query=INSERT%20INTO%20t%20FORMAT%20TSV HTTP/1.1\r\n");
    has(p, "\r\n\r\n1\t2\n");
    const usage_shard_figures f = figures_of(p, 1), other = figures_of(p, 0);
    ck_assert_uint_eq(f.statements, 2);
    ck_assert_uint_eq(f.failures, 0);
    ck_assert_uint_eq(f.sent_bytes, strlen("SELECT 7") + strlen("1\t2\n"));
    ck_assert_uint_eq(f.received_bytes, 2);
    ck_assert_int_eq(f.failed_s, 0);
    ck_assert(f.up);
    ck_assert_uint_eq(other.statements, 0);
    ck_assert_int_eq(atomic_load(&n_said), 0);
    end_plane(p);
}
END_TEST

/* Whatever is no whole answer of ClickHouse's is none: the error says so, and nothing is appended.
 */
START_TEST(what_is_no_whole_answer_is_an_error)
{
    static const struct {
        const char *text, *why;
        bool closed; /* to all */
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n7\n", "it is no ClickHouse server: HTTP 200",
         true},
        {"HTTP/1.1 200 OK\r\nX-ClickHouse-Summary: x\r\n\r\n7\n", "Look at its log.",
         true}, /* its end cannot be told */
        {CLICKHOUSE("200 OK", "9") "7\n", "Look at its log.", true},
        {"HTTP/1.1 200 OK\r\nX-ClickHouse-Summary: x\r\nTransfer-Encoding: "
         "chunked\r\n\r\n2\r\n7\n\r\n",
         "Look at its log.", true},
        {CLICKHOUSE("500 Error", "26") "Code: 241. DB::Exception: ", "code 241, ", false},
        {CLICKHOUSE("403 Forbidden", "26") "Code: 516. DB::Exception: ", "--usage-credentials",
         true},
        {"", "Look at its log.", true},
    };
    plane *p = new_plane();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int sentences = atomic_load(&n_said);
        ck_assert_msg(asked(p, "SELECT 7", NULL, cases[i].text) == TB_E_AWAY, "%zu", i);
        ck_assert_msg(strstr(p->err.message, cases[i].why) != NULL, "%zu: %s", i, p->err.message);
        ck_assert_msg(strstr(p->err.message, "(shard 2 of 2): ") != NULL, "%zu: %s", i,
                      p->err.message);
        ck_assert_uint_eq(p->answer.len, 0);
        const usage_shard_figures f = figures_of(p, 1);
        ck_assert_uint_eq(f.failures, i + 1);
        ck_assert_int_gt(f.failed_s, 0);
        ck_assert_msg(cases[i].closed == (atomic_load(&n_said) > sentences), "%zu", i);
        usage_note(p->s, 1, NULL, false); /* as a look that is answered does */
        ck_assert(figures_of(p, 1).up);
    }
    end_plane(p);
}
END_TEST

START_TEST(a_server_that_is_away_is_asked_nothing)
{
    plane *p = new_plane();
    tb_error err = {0};
    ck_assert(usage_servers_up(p->s, &err));
    usage_note(p->s, 1, "it is ill.", false); /* one statement's business */
    ck_assert(usage_servers_up(p->s, &err));
    usage_note(p->s, 1, "it is gone.", true);
    ck_assert_int_eq(asked(p, "SELECT 7", NULL, DONE), TB_E_AWAY);
    ck_assert_ptr_nonnull(strstr(p->err.message, "it is gone."));
    ck_assert_int_eq(atomic_load(&p->statements), 0);
    ck_assert(!usage_servers_up(p->s, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "(shard 2 of 2): it is gone."));
    const usage_shard_figures f = figures_of(p, 1);
    ck_assert(!f.up);
    ck_assert_str_eq(f.why, "it is gone.");
    ck_assert(figures_of(p, 0).up);
    usage_note(p->s, 1, NULL, false);
    ck_assert(usage_servers_up(p->s, &err));
    ck_assert_int_eq(atomic_load(&n_said), 2);
    ck_assert_ptr_nonnull(strstr(said[0], "(shard 2 of 2) is away: it is gone."));
    ck_assert_ptr_nonnull(strstr(said[1], "(shard 2 of 2) is back."));
    end_plane(p);
}
END_TEST

START_TEST(a_thread_that_must_not_wait_asks_no_server)
{
    plane *p = new_plane();
    size_t shard = 0;
    usage_refuse();
    ck_assert_int_eq(asked(p, "SELECT 7", NULL, DONE), TB_E_BUSY);
    ck_assert(usage_refused(&shard));
    ck_assert_uint_eq(shard, 1);
    ck_assert_int_eq(asked(p, "SELECT 7", NULL, DONE), TB_OK);
    usage_refuse();
    ck_assert(!usage_refused(&shard));
    end_plane(p);
}
END_TEST

START_TEST(rows_go_to_several_servers_side_by_side)
{
    const tb_usage_statement rows[] = {
        {.shard = 0, .sql = "INSERT INTO t FORMAT TSV", .body = "1\n", .len = 2},
        {.shard = 1, .sql = "INSERT INTO t FORMAT TSV", .body = "2\n", .len = 2}};
    plane *p = new_plane();
    void *token = NULL;
    p->text = DONE;
    ck_assert_int_eq(p->client->start(p->client->ctx, rows, 2, &token, &p->err), TB_OK);
    ck_assert_int_eq(p->client->finish(p->client->ctx, token, &p->err), TB_OK);
    ck_assert_int_eq(atomic_load(&p->statements), 2);
    usage_note(p->s, 0, "it is gone.", true);
    ck_assert_int_eq(p->client->start(p->client->ctx, rows, 2, &token, &p->err), TB_OK);
    ck_assert_int_eq(p->client->finish(p->client->ctx, token, &p->err), TB_E_AWAY);
    ck_assert_ptr_nonnull(strstr(p->err.message, "(shard 1 of 2): it is gone."));
    ck_assert_int_eq(atomic_load(&p->statements), 3);
    end_plane(p);
}
END_TEST

static bool is_over(void *ctx)
{
    return atomic_load(&((plane *)ctx)->statements) > 0;
}

/* The stop waits for the KILL QUERY. */
START_TEST(a_statement_given_up_is_ended_at_the_server_too)
{
    plane *p = new_plane();
    usage_wait_for(is_over, p);
    ck_assert_int_eq(asked(p, "SELECT 7", NULL, NULL), TB_E_STOPPED);
    usage_wait_for(NULL, NULL);
    ck_assert(figures_of(p, 1).up);
    usage_servers_close(p->s);
    p->s = NULL;
    ck_assert_int_eq(atomic_load(&p->kills), 1);
    end_plane(p);
}
END_TEST

/* Statements end in any order; a KILL QUERY spares those that are on their way to its server. */
START_TEST(a_kill_names_what_still_runs)
{
    plane *p = new_plane();
    usage_running first, second, third, elsewhere, given_up;
    char wanted[2 * USAGE_ID_MAX + 64];
    usage_watch_begin(p->s, 1, &first);
    usage_watch_begin(p->s, 1, &second);
    usage_watch_begin(p->s, 1, &third);
    usage_watch_end(p->s, &second, false);
    usage_watch_end(p->s, &first, false);
    usage_watch_begin(p->s, 0, &elsewhere);
    usage_watch_begin(p->s, 1, &given_up);
    snprintf(wanted, sizeof wanted, " AND query_id NOT IN('','%s') ASYNC ", third.id);
    usage_watch_end(p->s, &given_up, true);
    usage_servers_close(p->s); /* waits for it */
    p->s = NULL;
    ck_assert_int_eq(atomic_load(&p->kills), 1);
    ck_assert_msg(strstr(p->killed, wanted) != NULL, "lacks %s: %s", wanted, p->killed);
    end_plane(p);
}
END_TEST

int main(void)
{
    listener_deadline(30);
    TCase *t = tcase_create("usage servers");
    tcase_add_test(t, an_address_names_shards_and_a_database);
    tcase_add_test(t, what_is_no_address_is_refused_with_the_reason);
    tcase_add_test(t, an_address_is_bounded);
    tcase_add_test(t, a_login_is_two_lines);
    tcase_add_test(t, a_refusal_is_its_first_sentence_and_a_remedy);
    tcase_add_test(t, a_long_refusal_is_cut);
    tcase_add_test(t, a_statement_is_sent_and_its_answer_appended);
    tcase_add_test(t, what_is_no_whole_answer_is_an_error);
    tcase_add_test(t, a_server_that_is_away_is_asked_nothing);
    tcase_add_test(t, a_thread_that_must_not_wait_asks_no_server);
    tcase_add_test(t, rows_go_to_several_servers_side_by_side);
    tcase_add_test(t, a_kill_names_what_still_runs);
    tcase_add_test(t, a_statement_given_up_is_ended_at_the_server_too);
    Suite *s = suite_create("usage servers");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
