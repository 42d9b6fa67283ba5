/* What a check says, for people and as JSON (bundle.h). */
#include "check/steps.h"

#include <stdio.h>
#include <string.h>

#include "tollbook/json.h"

static const char *const step_names[TB_CHECK_STEP_COUNT] = {
#define TB_X(e, name) [TB_CHECK_##e] = name,
    TB_CHECK_STEPS(TB_X)
#undef TB_X
};

static const char *const marks[] = {
    [TB_CHECK_SKIPPED] = "", [TB_CHECK_OK] = "ok", [TB_CHECK_UNABLE] = "not checked", [TB_CHECK_DIFFERS] = "WRONG"};

/* The first reason: a difference before what could not be checked. NULL: none. A void counts first, as it says that nothing is due. */
static const tb_check_step *find_reason(const tb_check_result *result)
{
    const tb_check_state state = tb_check_status(result) == 1 ? TB_CHECK_DIFFERS : TB_CHECK_UNABLE;
    if (result->steps[TB_CHECK_VOID].state == state) return &result->steps[TB_CHECK_VOID];
    for (int i = 0; i < TB_CHECK_STEP_COUNT; i++)
        if (result->steps[i].state == state) return &result->steps[i];
    return NULL;
}

/* --- for people --- */

static void say_subject(const tb_check_result *result, tb_buf *out)
{
    const tb_check_rated *rated = &result->rated;
    if (result->is_receipts) tb_buf_fmt(out, "the usage of %s so far", rated->month);
    else {
        tb_buf_str(out, strcmp(rated->kind, "credit_note") == 0 ? "credit note " : "invoice ");
        tb_buf_shown(out, rated->number, strlen(rated->number));
        tb_buf_fmt(out, " of %s, account %lld", rated->month, (long long)rated->account);
    }
    if (rated->total[0]) {
        tb_buf_fmt(out, ", %s ", rated->total);
        tb_buf_shown(out, rated->currency, strlen(rated->currency));
    }
}

static void say_verdict(const tb_check_result *result, const char *file, tb_buf *out)
{
    static const char *const verdicts[] = {"RIGHT", "WRONG", "NOT CHECKED"};
    const int status = tb_check_status(result);
    const tb_check_step *reason = find_reason(result);
    tb_buf_shown(out, file, strlen(file));
    tb_buf_fmt(out, ": %s. ", verdicts[status]);
    if (reason) tb_buf_shown(out, reason->detail, strlen(reason->detail));
    if (result->is_receipts || result->rated.number[0]) {
        tb_buf_str(out, reason ? "\n  This is " : "This is ");
        say_subject(result, out);
        tb_buf_str(out, ".");
    }
    tb_buf_str(out, "\n");
}

static void say_step(const tb_check_step *step, const char *name, tb_buf *out)
{
    if (step->state == TB_CHECK_SKIPPED) return;
    tb_buf_fmt(out, "  %-12s %-11s  ", name, marks[step->state]);
    tb_buf_shown(out, step->detail, strlen(step->detail));
    tb_buf_str(out, "\n");
}

/* What the file cannot show. */
static void say_limits(const tb_check_result *result, tb_buf *out)
{
    const bool rated = result->steps[TB_CHECK_RATING].state == TB_CHECK_OK;
    tb_buf_str(out, "  Not shown: that all usage was recorded and measured rightly");
    if (result->steps[TB_CHECK_WITNESS].state != TB_CHECK_OK) tb_buf_str(out, "; that others are shown the same log (--witness)");
    if (result->steps[TB_CHECK_CONSISTENCY].state != TB_CHECK_OK) tb_buf_str(out, "; that nothing was taken out of the log before (--since)");
    if (rated) tb_buf_str(out, "; that terms and prices are as agreed");
    if (rated && result->rated.unbilled) tb_buf_fmt(out, "; that nothing was billed before of %u months that it adds", result->rated.unbilled);
    if (rated && result->rated.stated)
        tb_buf_fmt(out, "; the amounts of %u earlier months that a commit counts, which are as the terms state them", result->rated.stated);
    tb_buf_str(out, result->is_receipts ? ".\n" : "; whether it is paid, or was made void later.\n");
}

/* What to do where a step differs. */
static const char *const nexts[TB_CHECK_STEP_COUNT] = {
    [TB_CHECK_SIGNATURE] = "Compare the key with the one that you were given first, and fetch the file again. If it stays wrong, do not pay by it: ask the operator.",
    [TB_CHECK_WITNESS] = "Fetch the file again. If it stays wrong, keep it, and send the operator this answer.",
    [TB_CHECK_COMMITMENTS] = "Keep this file, and fetch it again into another folder. If that is wrong too, do not pay by it: send the operator this answer.",
    [TB_CHECK_INCLUSION] = "Keep this file, and fetch it again into another folder. If that is wrong too, do not pay by it: send the operator this answer.",
    [TB_CHECK_USAGE] = "Keep this file, do not pay by it yet, and send the operator this answer.",
    [TB_CHECK_RATING] = "Keep this file, do not pay by it yet, and send the operator this answer.",
    [TB_CHECK_CONSISTENCY] = "Fetch the file again. If it stays wrong, keep both files: they show anybody what the operator signed.",
    [TB_CHECK_VOID] = "Pay nothing by it. Ask the operator for the document that replaces it.",
};

/* The 16 hex digits in fours, as documents print them. */
static void say_digits(const char *digits, tb_buf *out)
{
    for (int i = 0; i < 16; i += 4)
        tb_buf_fmt(out, " %.4s", digits + i);
}

static void say_log(const tb_check_result *result, tb_buf *out)
{
    char digits[17], size[TB__GROUPED];
    for (int i = 0; i < 8; i++)
        snprintf(digits + 2 * i, 3, "%02x", result->root.bytes[i]);
    if (result->fingerprint[0]) {
        tb_buf_str(out, "  Fingerprint");
        say_digits(result->fingerprint, out);
        tb_buf_str(out, ".\n");
    }
    tb_buf_str(out, "  Log ");
    tb_buf_shown(out, result->log, strlen(result->log));
    tb_buf_fmt(out, " of %s entries", tb__check_grouped((tb_u128)result->size, size));
    if (result->index >= 0) tb_buf_fmt(out, ", the document is entry %lld", (long long)result->index);
    tb_buf_str(out, ", checkpoint");
    say_digits(digits, out);
    tb_buf_str(out, ".\n");
}

void tb_check_say(const tb_check_result *result, const char *file, tb_buf *out)
{
    say_verdict(result, file, out);
    if (result->size >= 0) say_log(result, out);
    for (int i = 0; i < TB_CHECK_STEP_COUNT && (result->is_receipts || result->log[0]); i++)
        say_step(&result->steps[i], step_names[i], out);
    if (tb_check_status(result) == 0) say_limits(result, out);
    if (tb_check_status(result) == 1) tb_buf_fmt(out, "  Next: %s\n", nexts[find_reason(result) - result->steps]);
}

/* --- JSON --- */

static void add_string(tb_buf *out, const char *name, const char *text)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (*text) tb_json_string(out, text, strlen(text));
    else tb_buf_str(out, "null");
}

static void add_number(tb_buf *out, const char *name, int64_t value)
{
    if (value < 0) tb_buf_fmt(out, ",\"%s\":null", name);
    else tb_buf_fmt(out, ",\"%s\":%lld", name, (long long)value);
}

static void add_steps(tb_buf *out, const tb_check_result *result)
{
    const char *before = "";
    tb_buf_str(out, ",\"checks\":[");
    for (int i = 0; i < TB_CHECK_STEP_COUNT; i++) {
        const tb_check_step *step = &result->steps[i];
        if (step->state == TB_CHECK_SKIPPED) continue;
        tb_buf_fmt(out, "%s{\"name\":\"%s\",\"ok\":%s", before, step_names[i], step->state == TB_CHECK_OK ? "true" : "false");
        add_string(out, "detail", step->detail);
        tb_buf_str(out, "}");
        before = ",";
    }
    tb_buf_str(out, "]");
}

void tb_check_json(const tb_check_result *result, const char *file, tb_buf *out)
{
    const int status = tb_check_status(result);
    tb_buf_fmt(out, "{\"ok\":%s", status == 0 ? "true" : "false");
    add_string(out, "invoice", result->rated.number);
    add_string(out, "month", result->rated.month);
    add_string(out, "total", result->rated.total);
    add_string(out, "currency", result->rated.currency);
    add_string(out, "fingerprint", result->fingerprint);
    add_string(out, "log", result->log);
    add_number(out, "size", result->size);
    add_number(out, "index", result->index);
    add_steps(out, result);
    tb_buf_fmt(out, ",\"status\":%d", status);
    add_string(out, "file", file);
    tb_buf_str(out, "}\n");
}
