/* Messages, the clock and the database, for all subcommands. */
#include "cli/cli.h"

#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/hint.h"
#include "cli/secret.h"
#include "feed/source.h"
#include "http/message.h"
#include "http/upgrade.h"
#include "tollbook/calendar.h"

#define USAGE_TIMEOUT_MS 8000
#define USAGE_CACHE_MB 64

#define KEY_MOST 1024 /* bytes of a key file */
#define SAID_MOST ((size_t)4 << 20)

/* Before a message about an option that the configuration file gave: where it stands there. */
static void put_config_line(const cli_call *call, const char *text, tb_buf *out)
{
    const size_t len = strncmp(text, "--", 2) == 0 ? strcspn(text + 2, " :") : 0;
    const config *file = config_in_use();
    for (size_t i = 0; file && i < call->n_values; i++) {
        const cli_value *value = &call->values[i];
        if (!value->line || strlen(value->option->name) != len || strncmp(value->option->name, text + 2, len) != 0) continue;
        tb_buf_fmt(out, "%s: line %u: ", file->path, value->line);
        break;
    }
}

TB_PRINTF(3, 0)
static void say_at(const cli_call *call, message_level level, const char *fmt, va_list args)
{
    char *text;
    tb_buf said;
    if (!message_wanted(level)) return;
    const int n = vasprintf(&text, fmt, args);
    tb_buf_init(&said, SAID_MOST, NULL);
    put_config_line(call, n < 0 ? fmt : text, &said);
    hint_put(call, cli_commands, cli_n_commands, n < 0 ? fmt : text, &said);
    tb_buf_add(&said, "", 1);
    message_put(level, !said.failed ? said.data : n < 0 ? fmt : text);
    tb_buf_release(&said);
    if (n >= 0) free(text);
}

#define SAY_AT(level)                                                                                 \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, fmt);                                                                       \
        say_at(call, level, fmt, args);                                                            \
        va_end(args);                                                                              \
    } while (0)

void cli_say(const cli_call *call, const char *fmt, ...)
{
    SAY_AT(MESSAGE_ERROR);
}

void cli_warn(const cli_call *call, const char *fmt, ...)
{
    SAY_AT(MESSAGE_WARNING);
}

void cli_note(const cli_call *call, const char *fmt, ...)
{
    SAY_AT(MESSAGE_INFO);
}

/* "file: line 3, byte 7: " */
static void place(const char *subject, const tb_error *err, char *out, size_t size)
{
    unsigned long long line = err->line, byte = err->byte;
    int n = snprintf(out, size, "%.200s%s", subject ? subject : "", subject ? ": " : "");
    size_t used = n > 0 ? (size_t)n : 0;
    if (line && byte) snprintf(out + used, size - used, "line %llu, byte %llu: ", line, byte);
    else if (line) snprintf(out + used, size - used, "line %llu: ", line);
    else if (byte) snprintf(out + used, size - used, "byte %llu: ", byte);
}

int cli_fail(const cli_call *call, const char *subject, const tb_error *err)
{
    char where[300];
    place(subject, err, where, sizeof where);
    /* Sentences mostly name their field; a JSON path they cannot know. */
    bool in_document = err->code == TB_E_CATALOG || err->code == TB_E_BOOK ||
                       (err->code == TB_E_VALIDATION && err->byte);
    bool path = in_document && err->field[0];
    cli_say(call, "%s%s%s%s", where, path ? err->field : "", path ? ": " : "", err->message);
    return tb_code_exit(err->code);
}

int cli_refuse(const tb_error *err)
{
    message_put(MESSAGE_ERROR, err->message);
    return tb_code_exit(err->code);
}

int cli_done(const cli_call *call)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    cli_say(call, "The result could not be written to standard output: %s.", strerror(errno));
    return tb_code_exit(TB_E_IO);
}

tb_code cli_now(int64_t *ret_now_us, tb_error *err)
{
    struct timespec now;
    const char *fixed = getenv("TOLLBOOK_NOW");
    if (fixed && *fixed) {
        if (tb_rfc3339_parse(fixed, strlen(fixed), ret_now_us, NULL) == TB_OK) return TB_OK;
        return tb_fail(err, TB_E_USAGE, NULL,
                       "TOLLBOOK_NOW=\"%.64s\" is not an RFC 3339 time: write it like "
                       "2026-11-20T13:00:00Z, or unset it.",
                       fixed);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    *ret_now_us = (int64_t)now.tv_sec * TB_US_PER_S + now.tv_nsec / 1000;
    return TB_OK;
}

void cli_tell_options(const cli_call *call)
{
    const config *file = config_in_use();
    for (size_t i = 0; message_wanted(MESSAGE_DEBUG) && i < call->n_values; i++) {
        const cli_value *value = &call->values[i];
        const char *shown = value->option->secret ? "(a secret)" : value->text, *name = value->option->name;
        if (value->line)
            message_say(MESSAGE_DEBUG, "--%s %s: line %u of %s", name, shown, value->line, file ? file->path : "");
        else message_say(MESSAGE_DEBUG, "--%s %s: %s", name, shown, value->variable ? value->option->variable : "given");
    }
}

void cli_use_messages(const cli_call *call, bool runs_on)
{
    static const char *const names[] = {
#define TB_X(level, name, priority) name,
        MESSAGE_LEVELS(TB_X)
#undef TB_X
    };
    const char *level = cli_text(call, "log-level"), *fixed = getenv("TOLLBOOK_NOW");
    message_options o = {.command = call->command->name,
                         .least = MESSAGE_INFO,
                         .json = cli_is(call, "log-format", "json"),
                         .moments = runs_on,
                         .fixed_us = INT64_MIN};
    tb_error none;
    for (int i = 0; level && i < MESSAGE_LEVEL_COUNT; i++)
        if (strcmp(level, names[i]) == 0) o.least = (message_level)i;
    if (fixed && *fixed && cli_now(&o.fixed_us, &none)) o.fixed_us = INT64_MIN; /* the command says that it is bad */
    message_use(&o);
}

int64_t cli_now_us(void)
{
    int64_t now_us;
    return cli_now(&now_us, NULL) ? 0 : now_us;
}

int cli_clock(const cli_call *call, int64_t *ret_now_us)
{
    tb_error err;
    return cli_now(ret_now_us, &err) ? cli_fail(call, NULL, &err) : 0;
}

/* --- the database --- */

void cli_mark(const cli_call *call, mark_kind which, int64_t now_us)
{
    tb_error err;
    if (mark_set(cli_text(call, "db"), which, now_us, &err) != TB_OK)
        cli_warn(call, "The time of this run is not noted for GET /metrics: %s", err.message);
}

/* The URL of the lock's holder, which wrote where it listens: "serve 127.0.0.1:8080" or "serve https://127.0.0.1:8443". */
static void server_url(const tb_error *err, char *out, size_t size)
{
    static const char mark[] = " by serve ";
    const char *at = strstr(err->message, mark);
    size_t len = at ? strcspn(at + sizeof mark - 1, " ,(") : 0;
    const tb_text where = len ? (tb_text){at + sizeof mark - 1, len} : (tb_text){"HOST:PORT", 9};
    const char *scheme = strncmp(where.data, "https://", 8) == 0 ? "" : "http://";
    snprintf(out, size, "%s%.*s", scheme, (int)where.len, where.data);
}

/* The same command line with --server and --key in the place of --db. */
static void show_remote_form(const cli_call *call, const tb_error *err)
{
    char address[128];
    tb_buf line;
    tb_buf_init(&line, 64 << 10, NULL);
    server_url(err, address, sizeof address);
    tb_buf_fmt(&line, "tollbook %s --server %s", call->command->name, address);
    hint_key(&line);
    hint_values(call, call->command, &line);
    for (int i = 0; i < call->n_operands; i++)
        hint_file(call->operands[i], &line);
    tb_error none;
    if (tb_buf_check(&line, &none) == TB_OK)
        cli_say(call, "Wait for it to end, or send the work to the server: %.*s", (int)line.len,
                line.data);
    tb_buf_release(&line);
}

void cli_warn_links(const cli_call *call, const tb_store *store)
{
    unsigned links = tb_store_links(store);
    if (links > 1)
        cli_warn(call,
                "%s has %u names (hard links). Data in the -wal beside another name is not "
                "visible here.",
                cli_text(call, "db"), links);
}

static usage_servers *usage[2]; /* as long as the process; a move has two */

static void close_usage(void)
{
    for (size_t i = 0; i < sizeof usage / sizeof *usage; i++) {
        usage_servers_close(usage[i]);
        usage[i] = NULL;
    }
}

tb_code cli_reload_usage(const cli_call *call, tb_error *err)
{
    usage_login login;
    tb_code code = usage[0] ? cli_load_usage_login(call, &login, err) : TB_OK;
    if (!code && usage[0]) code = usage_servers_use_login(usage[0], &login, err);
    sodium_memzero(&login, sizeof login);
    return code;
}

static void say_usage(const char *sentence)
{
    message_say(MESSAGE_WARNING, "%s", sentence);
}

const char *cli_ca(const cli_call *call)
{
    const char *file = cli_given(call, "ca") ? cli_text(call, "ca") : getenv("SSL_CERT_FILE");
    return file && *file ? file : NULL;
}

int cli_usage(const cli_call *call, const char *option, usage_servers **ret_servers)
{
    usage_options o = {.url = cli_text(call, option),
                       .ca = cli_text(call, "usage-ca"),
                       .limit_ms = cli_number(call, "usage-timeout-ms", USAGE_TIMEOUT_MS),
                       .remember = (size_t)cli_number(call, "usage-cache-mb", USAGE_CACHE_MB) << 20,
                       .say = say_usage};
    tb_error err;
    *ret_servers = NULL;
    if (!o.url && !usage[0] && (o.ca || cli_text(call, "usage-credentials"))) {
        cli_say(call, "--usage-credentials and --usage-ca need --usage.");
        return tb_code_exit(TB_E_USAGE);
    }
    if (!o.url) return 0;
    tb_code code = cli_load_usage_login(call, &o.login, &err);
    if (code) return cli_fail(call, NULL, &err);
    if (o.ca && access(o.ca, R_OK) != 0) {
        cli_say(call, "--usage-ca %s: %s.", o.ca, strerror(errno));
        return tb_code_exit(TB_E_USAGE);
    }
    if (!o.ca) o.ca = cli_ca(call);
    usage_servers **to = &usage[usage[0] != NULL];
    code = usage_servers_open(&o, to, &err);
    sodium_memzero(&o.login, sizeof o.login);
    if (code) {
        cli_say(call, "--%s: %s", option, err.message);
        return tb_code_exit(code);
    }
    if (to == usage) atexit(close_usage);
    *ret_servers = *to;
    return 0;
}

tb_code cli_try_open(const cli_call *call, bool write, int64_t now_us, tb_store **ret_store, int *ret_status, tb_error *err)
{
    tb_store_options options = {.write = write, .owner = call->command->name, .now_us = now_us, .clock = cli_now_us};
    usage_servers *servers = NULL;
    *ret_status = cli_usage(call, "usage", &servers);
    if (*ret_status) return TB_E_USAGE;
    options.usage = usage_servers_client(servers);
    upgrade_watch watch;
    upgrade_watch_begin(&watch, cli_text(call, "db"), &options);
    return tb_store_open(cli_text(call, "db"), &options, ret_store, err);
}

/* Where the configuration file, which is the machine's, names the primary of a copy. */
static void say_primary(const cli_call *call)
{
    const config *file = config_in_use();
    for (size_t i = 0; file && i < file->n; i++)
        if (strcmp(file->rows[i].option->name, "standby-of") == 0)
            cli_say(call, "By line %u of %s its primary is %s.", file->rows[i].line, file->path, file->rows[i].text);
}

int cli_open_failed(const cli_call *call, bool write, const tb_error *err)
{
    const int status = cli_fail(call, NULL, err);
    if (err->code == TB_E_REPLICA_READ_ONLY) say_primary(call);
    if (err->code != TB_E_LOCKED || !write) return status;
    if (hint_takes(call->command, "server")) show_remote_form(call, err);
    else
        cli_say(call, "Stop that process or wait for it to end, then run this again. Commands that "
                      "only read work beside it.");
    return status;
}

int cli_open(const cli_call *call, bool write, int64_t now_us, tb_store **ret_store)
{
    tb_error err;
    int status;
    const tb_code code = cli_try_open(call, write, now_us, ret_store, &status, &err);
    if (status) return status;
    if (code) return cli_open_failed(call, write, &err);
    if (!write) cli_warn_links(call, *ret_store);
    return 0;
}

/* The file's only line, read once; NULL after an error, which was printed. */
const char *cli_key_of_file(const cli_call *call, const char *path)
{
    static char key[KEY_MOST];
    tb_buf content;
    if (key[0]) return key;
    if (cli_read_file(call, path, sizeof key - 1, &content) != 0) return NULL;
    size_t len = content.len;
    while (len > 0 && (content.data[len - 1] == '\n' || content.data[len - 1] == '\r'))
        len--;
    if (len > 0) memcpy(key, content.data, len);
    key[len] = 0;
    tb_buf_release(&content);
    if (len > 0) cli_warn_open(call, "the key file", path);
    else cli_say(call, "%s: It holds no key. Write what `key create` printed into it.", path);
    return len > 0 ? key : NULL;
}

const char *cli_key(const cli_call *call)
{
    const char *key = cli_text(call, "key"), *path = cli_text(call, "key-file");
    if (!key && path) return cli_key_of_file(call, path);
    if (!key) key = getenv("TOLLBOOK_KEY");
    if (key && *key) return key;
    path = getenv("TOLLBOOK_KEY_FILE");
    return path && *path ? cli_key_of_file(call, path) : NULL;
}

int cli_check_place(const cli_call *call)
{
    bool db = cli_given(call, "db"), server = cli_given(call, "server");
    bool file = cli_given(call, "key-file"), key = file || cli_given(call, "key");
    bool ca = cli_given(call, "ca");
    if (db && !server && !key && !ca) return 0;
    if (!db && server && cli_key(call)) return 0;
    const char *place = getenv("TOLLBOOK_KEY_FILE");
    cli_say(call, db && server ? "--db and --server exclude each other, and so do TOLLBOOK_DB and TOLLBOOK_SERVER. Give one of"
                                 " them."
                  : server && (file || (place && *place)) ? "--server needs a key, and the key file gives none."
                  : server ? "--server needs a key: --key-file FILE, or the variable TOLLBOOK_KEY or TOLLBOOK_KEY_FILE."
                  : file       ? "--key-file needs --server URL."
                  : key        ? "--key needs --server URL."
                  : ca         ? "--ca needs --server URL."
                               : "--db FILE is missing (or --server URL with a key; or the variable TOLLBOOK_DB or TOLLBOOK_SERVER).");
    return tb_code_exit(TB_E_USAGE);
}

/* --- files --- */

int cli_read_file(const cli_call *call, const char *path, size_t max, tb_buf *ret_content)
{
    tb_error err;
    feed_source *source = NULL;
    size_t n = 1;
    tb_buf_init(ret_content, max, NULL);
    tb_code code = feed_source_open(path, NULL, &source, &err);
    while (code == TB_OK && n > 0) {
        char piece[16384];
        code = feed_source_read(source, piece, sizeof piece, &n, &err);
        if (code == TB_OK) tb_buf_add(ret_content, piece, n);
        if (ret_content->failed && ret_content->len + n > max)
            code = tb_fail(&err, TB_E_TOO_LARGE, NULL, "It is longer than %zu bytes.", max);
        else if (code == TB_OK) code = tb_buf_check(ret_content, &err);
    }
    feed_source_close(source);
    if (code == TB_OK) return 0;
    tb_buf_release(ret_content);
    return cli_fail(call, path, &err);
}
