/* Bundles and receipts as text (bundle.h): written member by member, and read in the same order, strings unescaped in place. */
#include "tollbook/bundle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsontext.h"
#include "base/list.h"
#include "proof/text.h"
#include "tollbook/calendar.h"

/* What a part has beside its text and its proof. */
typedef enum part_form { PART_BOOK, PART_SALTED, PART_DAY } part_form;

/* --- writing --- */

#define CHUNK 4096 /* a string is quoted in chunks, as its room is six times its length */

static void add_string(tb_buf *out, tb_text text)
{
    tb_buf_str(out, "\"");
    for (size_t at = 0, n; at < text.len; at += n) {
        n = text.len - at > CHUNK ? CHUNK : text.len - at;
        while (n > 1 && at + n < text.len && ((unsigned char)text.data[at + n] & 0xC0) == 0x80)
            n--; /* a character stays whole */
        char *room = tb_buf_room(out, TB__QUOTED_MAX(n));
        if (!room) return;
        char *before = room - 1, kept = *before; /* the chunk's own quotation marks are not wanted */
        out->len += (size_t)(tb__quote(before, text.data + at, n) - before) - 2;
        *before = kept;
    }
    tb_buf_str(out, "\"");
}

static void add_member(tb_buf *out, const char *name, tb_text text)
{
    tb_buf_fmt(out, "\"%s\":", name);
    add_string(out, text);
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

/* After the first failure every further step does nothing. */
typedef struct reader {
    char *start, *at, *end;
    char part[32]; /* where it is: "days[3]"; "" at the top */
    tb_code code;
    tb_error *err;
} reader;

static void refuse(reader *r, const char *member, const char *fmt, ...) TB_PRINTF(3, 4);

static void refuse(reader *r, const char *member, const char *fmt, ...)
{
    char why[160], field[80];
    va_list args;
    if (r->code) return;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    snprintf(field, sizeof field, "%s%s%s", r->part, *r->part && *member ? "." : "", member);
    r->code = tb_fail(r->err, TB_E_VALIDATION, field, "Byte %zu: %s.", (size_t)(r->at - r->start) + 1, why);
    if (r->err) r->err->byte = (uint64_t)(r->at - r->start) + 1;
}

/* Takes the literal if it is next. */
static bool try_take(reader *r, const char *literal)
{
    const size_t len = strlen(literal);
    if (r->code || (size_t)(r->end - r->at) < len || memcmp(r->at, literal, len) != 0) return false;
    r->at += len;
    return true;
}

static bool take(reader *r, const char *member, const char *literal)
{
    if (try_take(r, literal)) return true;
    refuse(r, member, "%s was expected", r->at == r->end ? "the text ends, but more" : literal);
    return false;
}

/* The bytes of the escape that is next, if it is the one that tb__quote writes for its character; 0 else. */
static size_t take_escape(const reader *r, char *ret)
{
    static const char letters[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    char quoted[TB__QUOTED_MAX(1)], *to = quoted;
    const char *letter = r->end - r->at >= 2 && r->at[1] ? strchr(letters, r->at[1]) : NULL;
    if (letter) {
        *ret = values[letter - letters];
        return 2;
    }
    if (r->end - r->at < 6 || memcmp(r->at, "\\u00", 4) != 0 || tb__unescape(r->at, r->end, &to) != 6 || to != quoted + 1) return 0;
    *ret = quoted[0];
    return tb__quote(quoted, ret, 1) == quoted + 8 && memcmp(quoted + 1, r->at, 6) == 0 ? 6 : 0;
}

/* Takes what is no plain run of a string: an escape or a character that is not ASCII. false: neither. */
static bool take_other(reader *r, char **to)
{
    char c;
    size_t step;
    if (*r->at == '\\') {
        if ((step = take_escape(r, &c)) == 0) return false;
        *(*to)++ = c;
    } else {
        if ((unsigned char)*r->at < 0x80 || (step = tb__utf8_step(r->at, (size_t)(r->end - r->at))) == 0) return false;
        memmove(*to, r->at, step);
        *to += step;
    }
    r->at += step;
    return true;
}

static tb_text take_string(reader *r, const char *member)
{
    if (!take(r, member, "\"")) return (tb_text){NULL, 0};
    char *from = r->at, *to = from;
    while (r->at < r->end && *r->at != '"') {
        const size_t run = tb__plain_run(r->at, (size_t)(r->end - r->at));
        if (run && to != r->at) memmove(to, r->at, run);
        to += run;
        r->at += run;
        if (!run && !take_other(r, &to)) {
            refuse(r, member, "no character or escape of a string in its one form");
            return (tb_text){NULL, 0};
        }
    }
    take(r, member, "\"");
    return (tb_text){from, (size_t)(to - from)};
}

static tb_text take_member(reader *r, const char *name)
{
    char literal[32];
    snprintf(literal, sizeof literal, "\"%s\":", name);
    return take(r, name, literal) ? take_string(r, name) : (tb_text){NULL, 0};
}

static int64_t take_number(reader *r, const char *member)
{
    int64_t value = 0;
    const char *from = r->at;
    while (!r->code && r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    if (!r->code && !tb__proof_number((tb_text){from, (size_t)(r->at - from)}, &value))
        refuse(r, member, "a number from 0 to 2^63 - 1 was expected");
    return value;
}

static int64_t take_day(reader *r)
{
    int64_t us = 0;
    const tb_text text = take_member(r, "day");
    if (!r->code && (text.len != 10 || text.data[4] != '-' || tb_date_parse(text.data, text.len, &us, NULL)))
        refuse(r, "day", "a day such as 2026-10-01 was expected before");
    return tb_day_from_us(us);
}

static void take_salt(reader *r, uint8_t salt[TB_PROOF_SALT])
{
    take(r, "salt", ",");
    const tb_text text = take_member(r, "salt");
    if (!r->code && !tb__proof_bytes(text, salt, TB_PROOF_SALT)) refuse(r, "salt", "base64 of 32 bytes was expected before");
}

static void take_part(reader *r, part_form form, tb_tollproof_part *part)
{
    *part = (tb_tollproof_part){.of = -1};
    take(r, "", "{");
    if (form == PART_DAY) {
        part->day = take_day(r);
        take(r, "of", ",\"of\":");
        if (!try_take(r, "null")) part->of = take_number(r, "of");
        take(r, "text", ",");
    }
    part->text = take_member(r, "text");
    if (form != PART_BOOK) take_salt(r, part->salt);
    take(r, "proof", ",");
    part->proof = take_member(r, "proof");
    take(r, "", "}");
}

static void take_named(reader *r, const char *name, tb_tollproof_part *part)
{
    char literal[32];
    snprintf(literal, sizeof literal, "\"%s\":", name);
    if (!take(r, name, literal)) return;
    snprintf(r->part, sizeof r->part, "%s", name);
    take_part(r, PART_SALTED, part);
    r->part[r->code ? strlen(r->part) : 0] = '\0';
}

static void take_items(reader *r, const char *name, part_form form, tb_tollproof_list *list)
{
    size_t cap = 0;
    do {
        snprintf(r->part, sizeof r->part, "%s[%zu]", name, list->n);
        if (list->n == TB_TOLLPROOF_LIST) refuse(r, "", "at most %d were expected", TB_TOLLPROOF_LIST);
        else if (!r->code) r->code = tb__grow(&list->parts, list->n, &cap, sizeof *list->parts, r->err);
        if (r->code) return;
        take_part(r, form, &list->parts[list->n]);
        list->n += !r->code;
    } while (try_take(r, ","));
    if (!r->code) r->part[0] = '\0';
}

static void take_list(reader *r, const char *name, part_form form, tb_tollproof_list *list)
{
    char literal[32];
    snprintf(literal, sizeof literal, "\"%s\":[", name);
    if (!take(r, name, literal) || try_take(r, "]")) return;
    take_items(r, name, form, list);
    take(r, name, "]");
}

static void take_growth(reader *r, tb_tollproof *bundle)
{
    tb_merkle_proof *growth = &bundle->growth;
    snprintf(r->part, sizeof r->part, "consistency");
    take(r, "from", "{\"from\":");
    bundle->growth_from = take_number(r, "from");
    take(r, "hashes", ",\"hashes\":[");
    while (!r->code && !try_take(r, "]")) {
        if (growth->n) take(r, "hashes", ",");
        const tb_text text = take_string(r, "hashes");
        if (!r->code && (growth->n == TB_MERKLE_PROOF_MAX || !tb_merkle_read(text.data, text.len, &growth->hashes[growth->n])))
            refuse(r, "hashes", "at most %d hashes in base64 were expected", TB_MERKLE_PROOF_MAX);
        growth->n += !r->code;
    }
    take(r, "", "}");
    bundle->has_growth = true;
}

static void take_documents(reader *r, tb_tollproof *bundle)
{
    take_named(r, "invoice", &bundle->invoice);
    take(r, "terms", ",");
    take_named(r, "terms", &bundle->terms);
    take(r, "books", ",");
    take_list(r, "books", PART_BOOK, &bundle->books);
    take(r, "days", ",");
}

static void take_rest(reader *r, tb_tollproof *bundle)
{
    take(r, "earlier", ",");
    take_list(r, "earlier", PART_SALTED, &bundle->earlier);
    take(r, "consistency", ",");
    if (r->end - r->at >= 7 && memcmp(r->at, "\"void\":", 7) == 0) {
        take_named(r, "void", &bundle->voided);
        take(r, "consistency", ",");
    }
    take(r, "consistency", "\"consistency\":");
    if (!r->code && !try_take(r, "null")) take_growth(r, bundle);
}

static void take_all(reader *r, tb_tollproof *bundle)
{
    bundle->is_receipts = try_take(r, "{\"month\":\"");
    if (bundle->is_receipts) {
        r->at--;
        const tb_text month = take_string(r, "month");
        if (!r->code && !tb_month_parse(month.data, month.len, &bundle->month))
            refuse(r, "month", "a month such as 2026-10 was expected before");
    } else {
        take(r, "v", "{\"v\":1");
    }
    take(r, "log", ",");
    bundle->log = take_member(r, "log");
    take(r, "checkpoint", ",");
    bundle->checkpoint = take_member(r, "checkpoint");
    take(r, "", ",");
    if (!bundle->is_receipts) take_documents(r, bundle);
    take_list(r, "days", PART_DAY, &bundle->days);
    if (!bundle->is_receipts) take_rest(r, bundle);
    take(r, "", "}");
    if (!r->code && r->at != r->end) refuse(r, "", "the end was expected");
}

tb_code tb_tollproof_read(char *text, size_t len, tb_tollproof *ret, tb_error *err)
{
    tb_tollproof bundle = {0};
    reader r = {.start = text, .at = text, .end = text + len, .err = err};
    if (len > TB_TOLLPROOF_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, "bundle", "It has %zu bytes; %d is the most.", len, TB_TOLLPROOF_MAX);
    take_all(&r, &bundle);
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
