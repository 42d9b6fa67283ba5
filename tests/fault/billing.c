/* The method: the steps are a table of command lines. A child process has the failing file system
 * as its only one and its outputs in files, unbuffered, so that what they hold is what somebody has
 * been told. */
#include "fault/billing.h"

#include "cli/cli.h"
#include "fault/workload.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS    8
#define ROWS_MAX 1024
#define ACCOUNTS 53 /* two of the groups in which a run commits; most have one quiet zone */
#define BUSY     5  /* the last of them pays in another currency */

typedef struct step {
    const char *name, *now;
    int status;
    const char *words[WORDS]; /* without --db; "@x" is file x of the folder */
} step;

static const step steps[] = {
    {"init", "2026-01-01T00:00:00Z", 0, {"init"}},
    {"apply", "2026-01-01T00:00:00Z", 0, {"apply", "@catalog"}},
    {"book", "2026-01-01T00:00:00Z", 0, {"book", "@book"}},
    {"import", "2026-11-02T00:00:00Z", 0, {"import", "@october"}},
    {"pay",
     "2026-11-02T00:00:00Z",
     0,
     {"ledger", "pay", "--account=1", "--amount=100", "--reference=p1"}},
    {"credit", "2026-11-02T00:00:00Z", 0, {"ledger", "credit", "--account=2", "--amount=0.75"}},
    /* Some of October's days are closed now, the others then. */
    {"begin the log", "2026-10-15T00:00:00Z", 0, {"proof", "start"}},
    {"close days", "2026-11-02T00:10:00Z", 0, {"proof", "close-days"}},
    /* Two groups; says that no book has a price for one account's usage. */
    {"accrue", "2026-11-02T06:00:00Z", 1, {"ledger", "accrue"}},
    /* Refuses the account that no book has a price for. */
    {"finalise", "2026-11-03T00:00:00Z", 1, {"invoice", "--month=2026-10", "--finalize"}},
    {"another book", "2026-11-04T00:00:00Z", 0, {"book", "@euro"}},
    {"void", "2026-11-04T00:00:00Z", 0, {"invoice", "--void=2026-000002"}},
    {"replace", "2026-11-05T00:00:00Z", 0, {"invoice", "--month=2026-10", "--finalize"}},
    {"late usage", "2026-12-01T00:00:00Z", 0, {"import", "@late"}},
    {"accrue more", "2026-12-01T06:00:00Z", 0, {"ledger", "accrue"}},
    {"correct", "2026-12-02T00:00:00Z", 0, {"invoice", "--month=2026-11", "--finalize"}},
    {"adjust",
     "2026-12-03T00:00:00Z",
     0,
     {"ledger", "adjust", "--account=3", "--amount=-2.5", "--reference=a1"}},
    {"close", "2026-12-03T00:00:00Z", 0, {"ledger", "close", "--month=2026-11"}},
};
#define STEPS_N (sizeof steps / sizeof *steps)
#define FIRST   2 /* what comes before it is fault_io's */

#define BOOK(name, currency) "{\"book\":\"" name "\",\"currency\":\"" currency "\"," BOOK_REST
/* Volume: the whole month at the tier it reached, so that late usage can make a month cheaper. */
#define BOOK_REST                                                                                  \
    "\"effective_from\":\"2026-01-01T00:00:00Z\","                                                 \
    "\"rounding\":\"half_up\",\"minimum_monthly\":\"1.00\",\"bandwidth\":{"                        \
    "\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"0.01\",\"NA\":\"0.01\",\"ASIA\":\"0.03\","  \
    "\"SA\":\"0.045\",\"AF\":\"0.06\"}},\"volume\":{\"per\":\"GB\",\"scope\":\"account\","         \
    "\"mode\":\"volume\",\"tiers\":[{\"from\":\"0\",\"to\":\"500\",\"price\":\"0.005\"},"          \
    "{\"from\":\"500\",\"to\":null,\"price\":\"0.002\"}]}},\"optimizer\":{\"monthly\":\"9.50\"},"  \
    "\"load_balancer\":{\"monthly_fee\":\"9.50\",\"included_requests\":50000000,"                  \
    "\"included_axis\":\"absolute\",\"mode\":\"graduated\",\"tiers\":[{\"from_millions\":50,"      \
    "\"to_millions\":null,\"price_per_million\":\"0.65\"}]}}"

static struct {
    char path[64], folder[64];
    struct {
        uint64_t operations;
        bool happened;
    } * shared; /* with the child */
} billing;

static void name_in_folder(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", billing.folder, name);
}

/* --- files --- */

static char *read_all(const char *name, size_t *ret_len)
{
    char path[128];
    struct stat st;
    name_in_folder(path, name);
    int fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
    char *text = malloc((size_t)st.st_size + 1);
    REQUIRE(text && read(fd, text, (size_t)st.st_size) == st.st_size, "%s", path);
    text[st.st_size] = 0;
    close(fd);
    *ret_len = (size_t)st.st_size;
    return text;
}

static void write_all(const char *name, const void *data, size_t len)
{
    char path[128];
    name_in_folder(path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && write(fd, data, len) == (ssize_t)len && close(fd) == 0, "%s", path);
}

static void keep(size_t number)
{
    char name[16];
    size_t len;
    char *bytes = read_all("t.db", &len);
    snprintf(name, sizeof name, "%zu.db", number);
    write_all(name, bytes, len);
    free(bytes);
}

void billing_restore(size_t number)
{
    char name[16];
    size_t len;
    workload_remove(billing.path);
    snprintf(name, sizeof name, "%zu.db", FIRST + number);
    char *bytes = read_all(name, &len);
    write_all("t.db", bytes, len);
    free(bytes);
}

/* Appends to a file's text. */
#define PUT(...) n += (size_t)snprintf(text + n, sizeof text - n, __VA_ARGS__)

/* Busy accounts have a Premium and a Volume zone, the others a Premium one. */
static bool has_zone(int zone)
{
    return zone < 2 * BUSY || zone % 2 == 0;
}

#define ALERTS                                                                                     \
    ",\"alerts\":[{\"id\":\"low\",\"kind\":\"balance\",\"below\":\"1000000\"},"                    \
    "{\"id\":\"money\",\"kind\":\"month_to_date\",\"above\":\"0\"},"                               \
    "{\"id\":\"soon\",\"kind\":\"forecast\",\"above\":\"0\"},"                                     \
    "{\"id\":\"odd\",\"kind\":\"anomaly\",\"above\":\"2\"}]"

static void write_catalog(void)
{
    static char text[32000];
    size_t n = 0;
    PUT("{\"accounts\":[");
    for (int a = 1; a <= ACCOUNTS; a++)
        PUT("%s{\"id\":%d,\"name\":\"a%d\",\"currency\":\"%s\",\"prepaid\":true%s}", a > 1 ? "," : "", a, a,
            a == BUSY ? "EUR" : "USD", a == 1 ? ALERTS : "");
    PUT("],\"zones\":[");
    for (int z = 0; z < 2 * ACCOUNTS; z++)
        if (has_zone(z))
            PUT("%s{\"id\":%d,\"account\":%d,\"name\":\"z%d\",\"type\":\"%s\","
                "\"created\":\"2026-01-05T00:00:00Z\"}",
                z ? "," : "", 100 + z, 1 + z / 2, z, z % 2 ? "volume" : "premium");
    PUT("],\"load_balancers\":[{\"id\":7,\"account\":3,\"created\":\"2026-01-10T00:00:00Z\","
        "\"zones\":[104]}]}");
    write_all("catalog", text, n);
}

/* A zone's day in one place. */
#define ROW(zone, month, day, region, gigabytes)                                                   \
    PUT("{\"zone\":%d,\"hour\":\"2026-%s-%02dT07:00:00Z\",\"region\":\"%s\",\"requests\":9,"       \
        "\"bytes\":%d000000000}\n",                                                                \
        zone, month, day, region, gigabytes)

static void write_usage(void)
{
    static char text[32000];
    size_t n = 0;
    for (int z = 0; z < 2 * BUSY; z++)
        for (int day = 3; day < 30; day += 9)
            ROW(100 + z, "10", day, z % 3 ? "DE" : "NY", 140 + 7 * z);
    write_all("october", text, n);
    n = 0;
    for (int z = 0; z < 2 * BUSY; z++)
        ROW(100 + z, "11", 5, "DE", 11 + z);
    ROW(100, "10", 20, "SG", 25); /* account 1 pays more */
    ROW(103, "10", 20, "DE", 30); /* account 2 reaches the cheaper tier */
    ROW(107, "10", 21, "DE", 1);
    write_all("late", text, n);
}

/* --- a step in a process of its own --- */

static int call_command(int argc, char **argv)
{
    int words;
    tb_error err;
    cli_call call;
    const cli_command *command = cli_find(cli_commands, cli_n_commands, argc, argv, &words, &err);
    REQUIRE(command, "%s: %s", argv[0], err.message);
    REQUIRE(!cli_parse(command, argc - words, argv + words, NULL, &call, &err), "%s: %s", argv[0],
            err.message);
    return cli_run(&call);
}

static void redirect(int to, const char *name)
{
    char path[128];
    name_in_folder(path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    REQUIRE(fd >= 0 && dup2(fd, to) == to, "%s", path);
    close(fd);
}

static void run_child(const char *now, const char *const *words, const billing_fault *fault)
{
    char db[80], files[WORDS][128], *argv[WORDS + 2];
    int n = 0;
    for (; n < WORDS && words[n]; n++) {
        argv[n] = files[n];
        if (words[n][0] == '@')
            name_in_folder(files[n], words[n] + 1);
        else
            snprintf(files[n], sizeof files[n], "%s", words[n]);
    }
    snprintf(db, sizeof db, "--db=%s", billing.path);
    argv[n] = db;
    argv[n + 1] = NULL;
    setenv("TOLLBOOK_NOW", now, 1);
    redirect(1, "out");
    redirect(2, "err");
    setvbuf(stdout, NULL, _IONBF, 0);
    fault_set_deaf(fault && fault->deaf);
    fault_arm(fault ? fault->mode : FAULT_NONE, fault ? fault->at : 0, fault ? fault->seed : 0);
    int status = call_command(n + 1, argv);
    billing.shared->operations = fault_operations();
    billing.shared->happened = fault_happened();
    exit(status);
}

static size_t count_in(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

/* Credit notes that only a message tells of: where a run ends early they are not printed any more. */
static size_t credit_notes_said(const char *errors, const char *out)
{
    static const char said[] = "credit note ";
    size_t n = 0;
    for (const char *at = errors; (at = strstr(at, said)); at++) {
        char member[40];
        snprintf(member, sizeof member, "\"number\":\"%.11s\"", at + sizeof said - 1);
        n += !strstr(out, member);
    }
    return n;
}

static billing_run run_command(const char *now, const char *const *words,
                               const billing_fault *fault)
{
    billing_run run = {.status = 0};
    int status = 0;
    size_t len;
    fflush(NULL);
    billing.shared->operations = 0;
    billing.shared->happened = false;
    pid_t child = fork();
    REQUIRE(child >= 0, "fork");
    if (child == 0) run_child(now, words, fault);
    REQUIRE(waitpid(child, &status, 0) == child, "waitpid");
    char *out = read_all("out", &len), *errors = read_all("err", &len);
    REQUIRE(WIFEXITED(status), "%s ended by a signal: %s", words[0], errors);
    run.status = WEXITSTATUS(status);
    run.operations = billing.shared->operations;
    run.happened = billing.shared->happened;
    run.printed = count_in(out, "\"number\":\"2") + credit_notes_said(errors, out);
    run.already = strstr(errors, "is void already") || strstr(errors, "was begun already");
    snprintf(run.errors, sizeof run.errors, "%s", errors);
    free(out);
    free(errors);
    return run;
}

billing_run billing_step(size_t number, const billing_fault *fault)
{
    const step *s = &steps[FIRST + number];
    return run_command(s->now, s->words, fault);
}

/* --- looking --- */

typedef struct rows {
    size_t n;
    uint64_t hash[ROWS_MAX]; /* of each row */
} rows;

typedef struct look {
    uint64_t digest; /* of everything */
    rows invoices, entries;
    const char *out, *errors;
    size_t printed; /* rows that somebody was told of */
} look;

static look clean[STEPS_N + 1]; /* before each step; the last: in the end */

static const char *const everything[] = {
    /* how many commits there were depends on where a run over groups of accounts was cut off */
    "SELECT * FROM meta WHERE name<>'data_version' ORDER BY 1",
    "SELECT * FROM alert ORDER BY 1",
    "SELECT * FROM outbox ORDER BY 1",
    "SELECT * FROM buckets ORDER BY zone,region,hour",
    "SELECT * FROM balancer_buckets",
    "SELECT * FROM segment ORDER BY id",
    "SELECT * FROM account",
    "SELECT * FROM zone",
    "SELECT * FROM balancer",
    "SELECT * FROM declaration",
    "SELECT * FROM book ORDER BY id",
    "SELECT * FROM invoice ORDER BY id",
    "SELECT * FROM correction",
    "SELECT * FROM late ORDER BY id",
    "SELECT * FROM ledger ORDER BY id",
    "SELECT id,type,account,subject FROM proof_entry ORDER BY id", /* each try to begin draws a seed of its own */
};

static uint64_t hash_row(uint64_t hash, int n, const char *const *cells)
{
    for (int i = 0; i < n; i++) /* FNV-1a */
        for (const char *p = cells[i] ? cells[i] : "\1";; p++) {
            hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
            if (!*p) break;
        }
    return hash;
}

static bool on_any(void *ctx, int n, const char *const *cells, bool is_header)
{
    (void)is_header;
    *(uint64_t *)ctx = hash_row(*(uint64_t *)ctx, n, cells);
    return true;
}

static bool add_row(rows *to, int n, const char *const *cells)
{
    REQUIRE(to->n < ROWS_MAX, "more rows than there may be");
    to->hash[to->n++] = hash_row(UINT64_C(14695981039346656037), n, cells);
    return true;
}

static bool on_invoice(void *ctx, int n, const char *const *cells, bool is_header)
{
    look *l = ctx;
    char member[96], note[64];
    if (is_header) return true;
    snprintf(member, sizeof member, "\"sha256\":\"%s\"", cells[0]);
    snprintf(note, sizeof note, "credit note %s over", cells[4]);
    l->printed += strstr(l->out, member) || strstr(l->errors, note);
    return add_row(&l->invoices, n, cells);
}

static bool on_entry(void *ctx, int n, const char *const *cells, bool is_header)
{
    return is_header || add_row(&((look *)ctx)->entries, n, cells);
}

/* What the ledger has of invoices is what the invoices that stand come to. */
static tb_code check_balance(tb_store *store, int64_t account, tb_error *err)
{
    tb_invoice *all = NULL;
    tb_ledger_entry *entries = NULL;
    tb_decimal invoiced = TB_DECIMAL_ZERO, entered = TB_DECIMAL_ZERO, total;
    size_t n = 0, n_entries = 0;
    tb_code code = tb_store_invoices(store, account, INT64_MIN, &all, &n, err);
    for (size_t i = 0; i < n; i++) {
        if (!code)
            code = tb_decimal_parse(all[i].total, strlen(all[i].total), TB_DECIMAL_SCALE_MAX,
                                    &total, err);
        if (!code && all[i].state == TB_INVOICE_FINAL)
            code = tb_decimal_add(invoiced, total, &invoiced, err);
        tb_invoice_release(&all[i]);
    }
    free(all);
    if (!code) code = tb_store_ledger(store, account, &entries, &n_entries, err);
    for (size_t i = 0; !code && i < n_entries; i++)
        if (entries[i].kind == TB_LEDGER_INVOICE || entries[i].kind == TB_LEDGER_CREDIT_NOTE ||
            entries[i].kind == TB_LEDGER_VOID)
            code = tb_decimal_add(entered, entries[i].amount, &entered, err);
    free(entries);
    if (!code) code = tb_decimal_add(invoiced, entered, &total, err);
    if (!code && tb_decimal_sign(total))
        code = tb_fail(err, TB_E_DIFFERENT, NULL, "The ledger and the invoices differ.");
    return code;
}

/* out, errors: what was printed. */
static tb_code look_at(look *ret, const char *out, const char *errors, tb_error *err)
{
    static const char invoices[] =
        "SELECT sha256,id,year,serial,number,kind,account,month,watermark,since,currency,total,"
        "previous,replaces,finalized_us,document FROM invoice ORDER BY id";
    tb_store_options options = {.vfs = NULL};
    tb_store *store = NULL;
    *ret = (look){.digest = UINT64_C(14695981039346656037), .out = out, .errors = errors};
    tb_code code = tb_store_open(billing.path, &options, &store, err);
    for (size_t i = 0; !code && i < sizeof everything / sizeof *everything; i++)
        code = tb_store_query(store, everything[i], on_any, &ret->digest, err);
    if (!code) code = tb_store_query(store, invoices, on_invoice, ret, err);
    if (!code) code = tb_store_query(store, "SELECT * FROM ledger ORDER BY id", on_entry, ret, err);
    for (int64_t account = 1; !code && account <= ACCOUNTS; account++)
        code = check_balance(store, account, err);
    tb_store_close(store);
    ret->out = ret->errors = NULL;
    return code;
}

/* The first n of all. */
static bool begins(const rows *part, const rows *all)
{
    return part->n <= all->n && memcmp(part->hash, all->hash, part->n * sizeof *part->hash) == 0;
}

static void check_rows(const look *now, size_t number, const char *what)
{
    const look *before = &clean[FIRST + number], *after = before + 1;
    const char *name = billing_name(number);
    REQUIRE(now->invoices.n >= before->invoices.n && now->entries.n >= before->entries.n,
            "%s, %s: of %zu invoices and %zu entries %zu and %zu are left", what, name,
            before->invoices.n, before->entries.n, now->invoices.n, now->entries.n);
    REQUIRE(begins(&now->invoices, &after->invoices), "%s, %s: other invoices than undisturbed",
            what, name);
    REQUIRE(begins(&now->entries, &after->entries), "%s, %s: other ledger entries", what, name);
}

void billing_check(size_t number, const billing_run *run, bool done, const char *what,
                   bool *ret_lost)
{
    static const char *const verify[WORDS] = {"verify"};
    size_t len;
    tb_error err = {0};
    look now;
    char *out = read_all("out", &len);
    tb_code code = look_at(&now, out, run->errors, &err);
    free(out);
    if (ret_lost) {
        *ret_lost = code || now.printed < run->printed;
        return;
    }
    REQUIRE(!code, "%s, %s: %s", what, billing_name(number), err.message);
    REQUIRE(now.printed == run->printed, "%s, %s: %zu invoices were printed, %zu of them are there",
            what, billing_name(number), run->printed, now.printed);
    check_rows(&now, number, what);
    REQUIRE(!done || now.digest == clean[FIRST + number + 1].digest,
            "%s, %s: another end than undisturbed", what, billing_name(number));
    billing_run verified = run_command(steps[STEPS_N - 1].now, verify, NULL);
    out = read_all("out", &len);
    REQUIRE(verified.status == 0, "%s, %s: verify: %s%s", what, billing_name(number), out,
            verified.errors);
    free(out);
}

uint64_t billing_digest(void)
{
    tb_error err = {0};
    look now;
    REQUIRE(!look_at(&now, "", "", &err), "%s", err.message);
    return now.digest;
}

/* --- undisturbed --- */

static void run_clean(void)
{
    tb_error err = {0};
    for (size_t i = 0; i < STEPS_N; i++) {
        if (i) {
            REQUIRE(!look_at(&clean[i], "", "", &err), "%s", err.message);
            keep(i);
        }
        billing_run run = run_command(steps[i].now, steps[i].words, NULL);
        REQUIRE(run.status == steps[i].status, "%s: %s", steps[i].name, run.errors);
    }
    REQUIRE(!look_at(&clean[STEPS_N], "", "", &err), "%s", err.message);
}

void billing_open(void)
{
    cli_commands_fill();
    workload_folder(billing.path);
    snprintf(billing.folder, sizeof billing.folder, "%.*s",
             (int)(strrchr(billing.path, '/') - billing.path), billing.path);
    billing.shared = mmap(NULL, sizeof *billing.shared, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(billing.shared != MAP_FAILED, "mmap");
    fault_register();
    fault_make_default();
    write_catalog();
    write_all("book", BOOK("b", "USD"), sizeof BOOK("b", "USD") - 1);
    write_all("euro", BOOK("e", "EUR"), sizeof BOOK("e", "EUR") - 1);
    write_usage();
    run_clean();
    const look *end = &clean[STEPS_N];
    REQUIRE(end->invoices.n == 2 * ACCOUNTS + 2, "%zu invoices", end->invoices.n);
}

void billing_close(void)
{
    static const char *const names[] = {"catalog", "book", "euro", "october", "late", "out", "err"};
    char path[128], name[16];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        name_in_folder(path, names[i]);
        unlink(path);
    }
    for (size_t i = 0; i < STEPS_N; i++) {
        snprintf(name, sizeof name, "%zu.db", i);
        name_in_folder(path, name);
        unlink(path);
    }
    workload_remove_folder(billing.path);
}

size_t billing_steps(void)
{
    return STEPS_N - FIRST;
}

const char *billing_name(size_t number)
{
    return steps[FIRST + number].name;
}

int billing_status(size_t number)
{
    return steps[FIRST + number].status;
}

const char *billing_path(void)
{
    return billing.path;
}
