/* What a refusal says beyond what the place knew that refused: which thing there is none of, what a document is instead
 * of what is wanted, and how a number is written. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ops/operations.h"
#include "ops/prices/slices.h"

/* --- documents --- */

typedef struct kind {
    const char *what;    /* it is */
    const char *keys;    /* one of which it has, and no other kind */
    const char *command; /* that takes it */
    const char *takers;  /* operations that want it */
} kind;

static const kind kinds[] = {
    {"a price book", "book", "book add", "book add"},
    {"a what-if scenario", "scenario", "scenario add", "scenario add|whatif"},
    {"a catalogue", "accounts|zones|regions|load_balancers|shield_zones|seller", "apply", "apply"},
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static bool is_among(const char *words, const char *text)
{
    const size_t len = strlen(text);
    for (const char *word = words; *word;) {
        const size_t n = strcspn(word, "|");
        if (n == len && memcmp(word, text, n) == 0) return true;
        word += n + (word[n] == '|');
    }
    return false;
}

static const kind *kind_of(tb_text text)
{
    const kind *found = NULL;
    const char *name;
    json_t *value, *root = json_loadb(text.data, text.len, 0, NULL);
    json_object_foreach(root, name, value)
    {
        for (size_t i = 0; !found && i < N_KINDS; i++)
            if (is_among(kinds[i].keys, name)) found = &kinds[i];
    }
    json_decref(root);
    return found;
}

static const tb_arg *document_of(const tb_args *args, const tb_reply *reply)
{
    if (reply->about) return reply->about;
    for (size_t i = 0; i < args->n; i++)
        if (args->list[i].param->kind == TB_PARAM_DOCUMENT) return &args->list[i];
    return NULL;
}

/* A price book that is given where a catalogue is wanted is no catalogue with an unknown key. */
static void say_kind(const tb_args *args, const tb_reply *reply, tb_error *err)
{
    const tb_arg *document = document_of(args, reply);
    const kind *wanted = NULL;
    for (size_t i = 0; i < N_KINDS; i++)
        if (is_among(kinds[i].takers, args->operation->name)) wanted = &kinds[i];
    if (!wanted || !document || !err->byte) return;
    const kind *given = kind_of(document->text);
    const tb_code code = err->code;
    if (given && given != wanted)
        tb_fail(err, code, NULL, "It is %s; this command takes %s. Add it with: tollbook %s FILE", given->what, wanted->what,
                given->command);
    else if (document->text.len && !strchr("{[ \t\r\n", document->text.data[0]))
        tb_fail(err, code, NULL, "It is not JSON; this command takes %s. Take in a request log with: tollbook ingest FILE",
                wanted->what);
}

/* Documents are judged by bytes; people look for lines. */
static void say_line(const tb_args *args, const tb_reply *reply, tb_error *err)
{
    const tb_arg *document = document_of(args, reply);
    if (!document || !err->byte || err->line || err->byte > document->text.len + 1) return;
    err->line = 1;
    for (size_t at = 0; at + 1 < err->byte; at++)
        err->line += document->text.data[at] == '\n';
}

/* --- things --- */

static const struct {
    tb_code code;
    const char *params; /* one of which names it */
    const char *what, *quote, *list;
} things[] = {
    {TB_E_ZONE_NOT_FOUND, "zone", "pull zone", "", TB__LIST_ZONES},
    {TB_E_BALANCER_NOT_FOUND, "balancer", "load balancer", "", TB__LIST_BALANCERS},
    {TB_E_INVOICE_NOT_FOUND, "number|void", "invoice", "\"", TB__LIST_INVOICES},
};

/* "The requested Pull Zone was not found." says not which. */
static void say_thing(const tb_args *args, tb_error *err)
{
    const char *account = tb_arg_text(args, "account");
    const size_t len = strlen(err->message);
    const bool no_account = strncmp(err->message, "There is no account ", 20) == 0;
    if (err->code == TB_E_NOT_FOUND && no_account && !strstr(err->message, ": tollbook"))
        snprintf(err->message + len, sizeof err->message - len, " See: tollbook account list");
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        if (things[i].code != err->code || strcmp(err->message, tb_code_text(err->code)) != 0) continue;
        for (size_t a = 0; a < args->n; a++) {
            const tb_arg *arg = &args->list[a];
            if (!is_among(things[i].params, arg->param->name)) continue;
            tb_fail(err, err->code, err->field, "There is no %s %s%.40s%s%s%s. See: tollbook %s", things[i].what,
                    things[i].quote, arg->text.data, things[i].quote, account ? " of account " : "", account ? account : "",
                    things[i].list);
            return;
        }
    }
}

void tb__say_more(const tb_args *args, const tb_reply *reply, tb_error *err)
{
    if (!err) return;
    if (err->code == TB_E_CATALOG || err->code == TB_E_BOOK || err->code == TB_E_VALIDATION) {
        say_kind(args, reply, err);
        say_line(args, reply, err);
    } else {
        say_thing(args, err);
    }
}

/* --- numbers --- */

/* "10,50", "$10" or "1.000,50" as it was meant, or an example. */
static void write_decimal(const char *text, size_t len, char out[32])
{
    size_t n = 0, point = len;
    tb_decimal ignored;
    for (size_t i = 0; i < len; i++)
        if (text[i] == ',' || text[i] == '.') point = i;
    for (size_t i = 0; i < len && n < 31; i++) {
        if (i == point && i + 1 < len) out[n++] = '.';
        else if ((text[i] >= '0' && text[i] <= '9') || (text[i] == '-' && n == 0)) out[n++] = text[i];
    }
    out[n] = 0;
    if (tb_decimal_parse(out, n, TB_DECIMAL_SCALE_MAX, &ignored, NULL)) snprintf(out, 32, "12.50");
    else if (n == len && memcmp(out, text, len) == 0) out[0] = 0; /* how it is written is not what is wrong */
}

tb_code tb__refuse_decimal(const char *field, const char *text, size_t len, const tb_error *why, tb_error *err)
{
    char example[32];
    write_decimal(text, len, example);
    return tb_fail(err, TB_E_VALIDATION, field, "\"%.*s\": %s%s%s%s", (int)(len < 40 ? len : 40), text, why->message,
                   *example ? " Write it like " : "", example, *example ? "." : "");
}
