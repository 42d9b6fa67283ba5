/* Whether the terms are the document's own, and a bundle has just what they and the document name: days, price books, earlier
 * documents. */
#include "check/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/list.h"
#include "tollbook/calendar.h"

/* --- days --- */

/* The days that the terms count, each once, ascending by index. */
typedef struct counted_days {
    tb__term_day *days;
    size_t n;
} counted_days;

static int by_index(const void *a, const void *b)
{
    const tb__term_day *x = a, *y = b;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return x->day < y->day ? -1 : x->day > y->day;
}

static tb_code list_days(const tb__doc_terms *terms, counted_days *ret, tb_error *err)
{
    size_t all = 0, n = 0;
    for (size_t i = 0; i < terms->n_all; i++)
        all += terms->all[i]->n_days;
    *ret = (counted_days){.days = malloc((all + 1) * sizeof *ret->days)};
    if (!ret->days) return tb_no_memory(err);
    for (size_t i = 0; i < terms->n_all; i++)
        for (size_t k = 0; k < terms->all[i]->n_days; k++)
            ret->days[n++] = terms->all[i]->days[k];
    if (n) qsort(ret->days, n, sizeof *ret->days, by_index);
    for (size_t i = 0; i < n; i++) /* a correction counts a day in both of its sides */
        if (ret->n == 0 || by_index(&ret->days[ret->n - 1], &ret->days[i]) != 0) ret->days[ret->n++] = ret->days[i];
    return TB_OK;
}

static void say_day(tb__checking *c, tb_check_state state, int64_t day, int64_t index, const char *what)
{
    char date[11];
    tb__check_date(day, date);
    tb__check_set(c, TB_CHECK_USAGE, state, "The usage of %s, entry %lld of the log, %s.", date, (long long)index, what);
}

/* Both lists ascend by index. */
static void compare_days(tb__checking *c, const counted_days *terms)
{
    const size_t n = c->bundle->days.n;
    size_t i = 0, j = 0;
    while (i < n || j < terms->n) {
        const tb_check_day *day = i < n ? &c->days[i] : NULL;
        const tb__term_day *want = j < terms->n ? &terms->days[j] : NULL;
        if (day && want && day->index == want->index && day->day == want->day) {
            i++;
            j++;
        } else if (!day || (want && want->index < day->index)) {
            say_day(c, TB_CHECK_UNABLE, want->day, want->index, "is counted by the terms, but is not in this file");
            j++;
        } else {
            say_day(c, TB_CHECK_DIFFERS, day->day, day->index, "is in this file, but the terms do not count it");
            i++;
        }
    }
}

/* An entry of a day; first: the day's first entry. */
typedef struct version {
    int64_t day, index, first;
} version;

static int by_day(const void *a, const void *b)
{
    const version *x = a, *y = b;
    if (x->day != y->day) return x->day < y->day ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* All entries of a day are versions of one usage: each later one names the first. */
static tb_code compare_versions(tb__checking *c, tb_error *err)
{
    const tb_tollproof_list *list = &c->bundle->days;
    version *days = malloc((list->n + 1) * sizeof *days);
    if (!days) return tb_no_memory(err);
    for (size_t i = 0; i < list->n; i++) {
        const int64_t first = list->parts[i].of < 0 ? c->days[i].index : list->parts[i].of;
        days[i] = (version){c->days[i].day, c->days[i].index, first};
    }
    if (list->n) qsort(days, list->n, sizeof *days, by_day);
    for (size_t i = 1; i < list->n; i++) {
        const version *old = &days[i - 1], *new = &days[i];
        char date[11];
        if (old->day != new->day || old->first == new->first) continue;
        tb__check_date(old->day, date);
        tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_DIFFERS, "Entries %lld and %lld of the log are both of %s, but are not versions of the same usage.",
                      (long long)old->index, (long long)new->index, date);
    }
    free(days);
    return TB_OK;
}

/* --- price books and earlier documents --- */

/* Texts that the document or its terms name. */
typedef struct names {
    const char **list;
    size_t n, cap;
    tb_code code; /* of the first failure */
} names;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* One that was just added is not added again: a document's corrections follow each other. */
static void add_name(names *all, const char *text)
{
    if (!*text || all->code || (all->n && strcmp(all->list[all->n - 1], text) == 0)) return;
    all->code = tb__grow(&all->list, all->n, &all->cap, sizeof *all->list, NULL);
    if (!all->code) all->list[all->n++] = text;
}

static bool has_name(const names *all, const char *name)
{
    return tb__find_sorted(&name, all->list, all->n, sizeof *all->list, by_text) != NULL;
}

static void list_names(const tb__doc_terms *terms, const tb_statement *s, names *books, names *documents)
{
    for (size_t i = 0; i < s->n_books; i++)
        add_name(books, s->books[i].sha256);
    for (size_t i = 0; i < terms->n_books; i++)
        add_name(books, terms->books[i]->sha256);
    add_name(documents, s->corrects);
    add_name(documents, s->replaces);
    for (size_t i = 0; i < s->bill->n_lines; i++)
        if (s->bill->lines[i].kind == TB_LINE_CORRECTION) add_name(documents, s->corrections[i].invoice);
    for (size_t i = 0; i < terms->n_lates; i++) {
        add_name(documents, terms->lates[i].invoice);
        for (size_t k = 0; k < terms->lates[i].n_billed; k++)
            add_name(documents, terms->lates[i].billed[k].number);
    }
    if (books->n) qsort(books->list, books->n, sizeof *books->list, by_text);
    if (documents->n) qsort(documents->list, documents->n, sizeof *documents->list, by_text);
}

static tb_code compare_names(tb__checking *c, tb_error *err)
{
    const tb__contents *has = &c->contents;
    names books = {0}, documents = {0};
    list_names(&has->terms, &has->document.statement, &books, &documents);
    const tb_code code = books.code || documents.code ? tb_no_memory(err) : TB_OK;
    for (size_t i = 0; !code && i < has->n_books; i++)
        if (has->books[i].sha256[0] && !has_name(&books, has->books[i].sha256))
            tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_DIFFERS, "A price book is in this file (SHA-256 %.16s...), but neither the document nor its "
                          "terms name it.", has->books[i].sha256);
    for (size_t i = 0; !code && i < has->n_earlier; i++) {
        const char *number = has->earlier[i].statement.number;
        if (*number && !has_name(&documents, number))
            tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_DIFFERS, "Document %s is in this file, but %s does not refer to it.", number,
                          has->document.statement.number);
    }
    free(books.list);
    free(documents.list);
    return code;
}

/* --- the document's terms --- */

/* What is not shown to be the log's is not judged. */
static void refuse_unproved(tb__checking *c)
{
    if (!tb__check_is_ok(c, TB_CHECK_COMMITMENTS) || !tb__check_is_ok(c, TB_CHECK_INCLUSION))
        tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_UNABLE, "Not judged: not all of this file is shown to be what the log has.");
}

/* n: of all months, each version of a day. A day without usage has no entry, and neither has one that was left
 * out. */
static void say_counted(tb__checking *c, const tb__doc_terms *terms, size_t n)
{
    static const char *const months[] = {"January", "February", "March", "April", "May", "June", "July",
                                         "August", "September", "October", "November", "December"};
    const tb_date first = tb_date_from_day(tb_month_first_day(terms->month));
    const size_t own = terms->n_own ? terms->own->n_days : 0, all = (size_t)tb_days_in_month(first.year, first.month);
    char month[32], head[32] = "All", rest[96] = "";
    snprintf(month, sizeof month, "%s %d", months[first.month - 1], (int)first.year);
    if (own < all) snprintf(head, sizeof head, "%zu of the", own);
    if (n > own) snprintf(rest, sizeof rest, "%zu entries of days of corrected months", n - own);
    if (terms->n_own)
        tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_OK, "%s %zu days of %s have usage and are counted%s%s.", head, all, month, *rest ? ", and " : "", rest);
    else tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_OK, "Counted are %s.", *rest ? rest : "no days of usage");
}

static tb_code check_document(tb__checking *c, tb_error *err)
{
    tb__doc_terms *const terms = &c->contents.terms;
    counted_days days;
    tb_error why;
    tb_code code = tb__terms_read(c->bundle->terms.text, terms, &why);
    if (code == TB_E_NOMEM) return tb_no_memory(err);
    if (code) {
        tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_UNABLE, "The terms cannot be read: %.300s", why.message);
        return TB_OK;
    }
    code = tb__terms_compare(terms, &c->contents.document.statement, &why);
    if (code) tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_DIFFERS, "%s", why.message);
    code = list_days(terms, &days, err);
    const bool ascend = c->out->steps[TB_CHECK_USAGE].state != TB_CHECK_UNABLE; /* each has its entry, in its place */
    if (!code && ascend) compare_days(c, &days);
    if (!code && ascend) code = compare_versions(c, err);
    if (!code) code = compare_names(c, err);
    if (!code) refuse_unproved(c);
    if (!code) say_counted(c, terms, days.n);
    free(days.days);
    return code;
}

/* --- receipts --- */

/* Each is of the month. A day that was committed again is there as its newest version. */
static void check_receipts(tb__checking *c)
{
    const size_t n = c->bundle->days.n;
    int64_t seen = -1; /* bits of days */
    for (size_t i = 0; i < n; i++) {
        const tb_check_day *day = &c->days[i];
        const int64_t bit = INT64_C(1) << tb_day_of_month(day->day);
        if (tb_month_from_day(day->day) != c->bundle->month)
            say_day(c, TB_CHECK_DIFFERS, day->day, day->index, "is of another month");
        if (!(seen & bit)) say_day(c, TB_CHECK_DIFFERS, day->day, day->index, "is of a day that is in this file twice");
        seen &= ~bit;
    }
    refuse_unproved(c);
    tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_OK, "%zu day%s of usage, each of the month, and each once.", n, n == 1 ? "" : "s");
}

tb_code tb__check_usage(tb__checking *c, tb_error *err)
{
    if (c->bundle->is_receipts) check_receipts(c);
    else if (c->has_document) return check_document(c, err);
    else tb__check_set(c, TB_CHECK_USAGE, TB_CHECK_UNABLE, "The document cannot be read.");
    return TB_OK;
}
