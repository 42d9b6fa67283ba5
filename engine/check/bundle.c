/* Bundles and receipts as text (bundle.h): written member by member, and read in the same order, strings unescaped in place. */
#include "tollbook/bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "check/strict_json.h"
#include "proof/text.h"
#include "tollbook/calendar.h"

/* What a part has beside its text and its proof. */
typedef enum part_form { PART_BOOK, PART_SALTED, PART_DAY } part_form;

/* --- writing --- */

static void add_member(tb_buf *out, const char *name, tb_text text)
{
    tb_buf_fmt(out, "\"%s\":", name);
    tb__strict_add(out, text);
}

static void add_part(tb_buf *out, part_form form, const tb_tollproof_part *part)
{
    const tb_date date = tb_date_from_day(form == PART_DAY ? part->day : 0);
    tb_buf_str(out, "{");
    if (form == PART_DAY) {
        tb_buf_fmt(out, "\"day\":\"%04d-%02d-%02d\",\"of\":", (int)date.year, (int)date.month, (int)date.day);
        if (part->of < 0) tb_buf_str(out, "null,");
        else tb_buf_fmt(out, "%" PRId64 ",", part->of);
    }
    add_member(out, "text", part->text);
    if (form != PART_BOOK) {
        tb_buf_str(out, ",\"salt\":\"");
        tb__proof_add_base64(out, part->salt, sizeof part->salt);
        tb_buf_str(out, "\"");
    }
    tb_buf_str(out, ",");
    add_member(out, "proof", part->proof);
    tb_buf_str(out, "}");
}

static void add_list(tb_buf *out, const char *name, part_form form, const tb_tollproof_list *list)
{
    tb_buf_fmt(out, ",\"%s\":[", name);
    for (size_t i = 0; i < list->n; i++) {
        if (i) tb_buf_str(out, ",");
        add_part(out, form, &list->parts[i]);
    }
    tb_buf_str(out, "]");
}

static void add_growth(tb_buf *out, const tb_tollproof *bundle)
{
    char hash[TB_MERKLE_BASE64];
    if (!bundle->has_growth) {
        tb_buf_str(out, "null");
        return;
    }
    tb_buf_fmt(out, "{\"from\":%" PRId64 ",\"hashes\":[", bundle->growth_from);
    for (size_t i = 0; i < bundle->growth.n; i++) {
        tb_merkle_write(&bundle->growth.hashes[i], hash);
        tb_buf_fmt(out, "%s\"%s\"", i ? "," : "", hash);
    }
    tb_buf_str(out, "]}");
}

static void add_named(tb_buf *out, const char *name, const tb_tollproof_part *part)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    add_part(out, PART_SALTED, part);
}

void tb_tollproof_write(const tb_tollproof *bundle, tb_buf *out)
{
    char month[8];
    tb_month_format(bundle->is_receipts ? bundle->month : 0, month);
    if (bundle->is_receipts) tb_buf_fmt(out, "{\"month\":\"%s\",", month);
    else tb_buf_str(out, "{\"v\":1,");
    add_member(out, "log", bundle->log);
    tb_buf_str(out, ",");
    add_member(out, "checkpoint", bundle->checkpoint);
    if (!bundle->is_receipts) {
        add_named(out, "invoice", &bundle->invoice);
        add_named(out, "terms", &bundle->terms);
        add_list(out, "books", PART_BOOK, &bundle->books);
    }
    add_list(out, "days", PART_DAY, &bundle->days);
    if (!bundle->is_receipts) {
        add_list(out, "earlier", PART_SALTED, &bundle->earlier);
        if (bundle->voided.text.data) add_named(out, "void", &bundle->voided);
        tb_buf_str(out, ",\"consistency\":");
        add_growth(out, bundle);
    }
    tb_buf_str(out, "}");
}

/* --- reading --- */

static int64_t take_day(tb__strict *r)
{
    int64_t us = 0;
    const tb_text text = tb__strict_member(r, "day");
    if (!r->code && (text.len != 10 || text.data[4] != '-' || tb_date_parse(text.data, text.len, &us, NULL)))
        tb__strict_refuse(r, "day", "expected a day such as 2026-10-01 before it");
    return tb_day_from_us(us);
}

static void take_salt(tb__strict *r, uint8_t salt[TB_PROOF_SALT])
{
    tb__strict_take(r, "salt", ",");
    const tb_text text = tb__strict_member(r, "salt");
    if (!r->code && !tb__proof_bytes(text, salt, TB_PROOF_SALT)) tb__strict_refuse(r, "salt", "expected base64 of 32 bytes before it");
}

static void take_part(tb__strict *r, part_form form, tb_tollproof_part *part)
{
    *part = (tb_tollproof_part){.of = -1};
    tb__strict_take(r, "", "{");
    if (form == PART_DAY) {
        part->day = take_day(r);
        tb__strict_take(r, "of", ",\"of\":");
        if (!tb__strict_try(r, "null")) part->of = tb__strict_number(r, "of");
        tb__strict_take(r, "text", ",");
    }
    part->text = tb__strict_member(r, "text");
    if (form != PART_BOOK) take_salt(r, part->salt);
    tb__strict_take(r, "proof", ",");
    part->proof = tb__strict_member(r, "proof");
    tb__strict_take(r, "", "}");
}

static void take_named(tb__strict *r, const char *name, tb_tollproof_part *part)
{
    char literal[32];
    snprintf(literal, sizeof literal, "\"%s\":", name);
    if (!tb__strict_take(r, name, literal)) return;
    snprintf(r->part, sizeof r->part, "%s", name);
    take_part(r, PART_SALTED, part);
    r->part[r->code ? strlen(r->part) : 0] = '\0';
}

static void take_items(tb__strict *r, const char *name, part_form form, tb_tollproof_list *list)
{
    size_t cap = 0;
    do {
        snprintf(r->part, sizeof r->part, "%s[%zu]", name, list->n);
        if (list->n == TB_TOLLPROOF_LIST) tb__strict_refuse(r, "", "expected at most %d", TB_TOLLPROOF_LIST);
        else if (!r->code) r->code = tb__grow(&list->parts, list->n, &cap, sizeof *list->parts, r->err);
        if (r->code) return;
        take_part(r, form, &list->parts[list->n]);
        list->n += !r->code;
    } while (tb__strict_try(r, ","));
    if (!r->code) r->part[0] = '\0';
}

static void take_list(tb__strict *r, const char *name, part_form form, tb_tollproof_list *list)
{
    char literal[32];
    snprintf(literal, sizeof literal, "\"%s\":[", name);
    if (!tb__strict_take(r, name, literal) || tb__strict_try(r, "]")) return;
    take_items(r, name, form, list);
    tb__strict_take(r, name, "]");
}

static void take_growth(tb__strict *r, tb_tollproof *bundle)
{
    tb_merkle_proof *growth = &bundle->growth;
    snprintf(r->part, sizeof r->part, "consistency");
    tb__strict_take(r, "from", "{\"from\":");
    bundle->growth_from = tb__strict_number(r, "from");
    tb__strict_take(r, "hashes", ",\"hashes\":[");
    while (!r->code && !tb__strict_try(r, "]")) {
        if (growth->n) tb__strict_take(r, "hashes", ",");
        const tb_text text = tb__strict_string(r, "hashes");
        if (!r->code && (growth->n == TB_MERKLE_PROOF_MAX || !tb_merkle_read(text.data, text.len, &growth->hashes[growth->n])))
            tb__strict_refuse(r, "hashes", "expected at most %d hashes in base64", TB_MERKLE_PROOF_MAX);
        growth->n += !r->code;
    }
    tb__strict_take(r, "", "}");
    bundle->has_growth = true;
}

static void take_month(tb__strict *r, int64_t *ret)
{
    const tb_text month = tb__strict_string(r, "month");
    if (!r->code && !tb_month_parse(month.data, month.len, ret)) tb__strict_refuse(r, "month", "expected a month such as 2026-10 before it");
}

static void take_all(tb__strict *r, tb_tollproof *bundle)
{
    bundle->is_receipts = tb__strict_try(r, "{\"month\":");
    if (bundle->is_receipts) take_month(r, &bundle->month);
    else if (tb__strict_take(r, "v", "{\"v\":")) tb__strict_take(r, "v", "1");
    tb__strict_take(r, "log", ",");
    bundle->log = tb__strict_member(r, "log");
    tb__strict_take(r, "checkpoint", ",");
    bundle->checkpoint = tb__strict_member(r, "checkpoint");
    tb__strict_take(r, "", ",");
    if (!bundle->is_receipts) {
        take_named(r, "invoice", &bundle->invoice);
        tb__strict_take(r, "terms", ",");
        take_named(r, "terms", &bundle->terms);
        tb__strict_take(r, "books", ",");
        take_list(r, "books", PART_BOOK, &bundle->books);
        tb__strict_take(r, "days", ",");
    }
    take_list(r, "days", PART_DAY, &bundle->days);
    if (!bundle->is_receipts) {
        tb__strict_take(r, "earlier", ",");
        take_list(r, "earlier", PART_SALTED, &bundle->earlier);
        tb__strict_take(r, "consistency", ",");
        if (r->end - r->at >= 7 && memcmp(r->at, "\"void\":", 7) == 0) {
            take_named(r, "void", &bundle->voided);
            tb__strict_take(r, "consistency", ",");
        }
        tb__strict_take(r, "consistency", "\"consistency\":");
        if (!r->code && !tb__strict_try(r, "null")) take_growth(r, bundle);
    }
    tb__strict_take(r, "", "}");
    if (!r->code && r->at != r->end) tb__strict_refuse(r, "", "expected the end of the text");
}

/* The sentence for a customer; err has what was expected where. */
static void explain(const tb__strict *r)
{
    char why[sizeof r->err->message];
    tb_error *err = r->err;
    if (!err || r->code != TB_E_VALIDATION) return;
    memcpy(why, err->message, sizeof why);
    if (r->start == r->end) snprintf(err->message, sizeof err->message, "The file is empty: fetch it again.");
    else if (r->at == r->start)
        snprintf(err->message, sizeof err->message, "This is no bundle of a bill, and no receipts: is it the PDF, or an error of the server?");
    else
        snprintf(err->message, sizeof err->message, "The file is incomplete or was changed: fetch it again. (%s%s%.200s)", err->field,
                 *err->field ? ": " : "", why);
}

tb_code tb_tollproof_read(char *text, size_t len, tb_tollproof *ret, tb_error *err)
{
    tb_tollproof bundle = {0};
    tb__strict r = {.start = text, .at = text, .end = text + len, .err = err};
    if (len > TB_TOLLPROOF_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, "bundle", "It has %zu bytes; %d is the most.", len, TB_TOLLPROOF_MAX);
    take_all(&r, &bundle);
    explain(&r);
    if (r.code) tb_tollproof_release(&bundle);
    else *ret = bundle;
    return r.code;
}

void tb_tollproof_release(tb_tollproof *bundle)
{
    free(bundle->books.parts);
    free(bundle->days.parts);
    free(bundle->earlier.parts);
    bundle->books = bundle->days = bundle->earlier = (tb_tollproof_list){0};
}
