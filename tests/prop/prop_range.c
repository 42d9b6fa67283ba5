/* Properties of dates and ranges that hold for every input, asked of random ones: dates close to
 * `now` and to the limits, so that most questions are answered and many only just.
 *
 * TB_SEED reruns a failing run; the seed is printed at the start. */
#include "tollbook/range.h"
#include "prop/random.h"
#include "seed.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS test_rounds(20000)

/* low..high, both included. */
static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)(random_bits() % (uint64_t)(high - low + 1));
}

/* An instant of any year; half the time within a microsecond of an hour. */
static int64_t any_instant(void)
{
    int64_t us = between(TB_US_FIRST, TB_US_LAST);
    if (one_in(2)) us = tb_hour_from_us(us) * TB_US_PER_HOUR + between(-1, 1);
    if (us < TB_US_FIRST) us = TB_US_FIRST;
    return us > TB_US_LAST ? TB_US_LAST : us;
}

/* ---- dates ---- */

/* Writes us as the local time of a zone `offset` minutes ahead of UTC. */
static int write_local(char *out, size_t room, int64_t us, int offset)
{
    char stamp[20];
    int64_t local = us + offset * 60 * TB_US_PER_S;
    int64_t micro = local - tb_day_from_us(local) * TB_US_PER_DAY;
    tb_time_format(local, stamp);
    return snprintf(out, room, "%.19s.%06d%c%02d:%02d", stamp, (int)(micro % TB_US_PER_S),
                    offset < 0 ? '-' : '+', abs(offset) / 60, abs(offset) % 60);
}

START_TEST(an_instant_reads_the_same_in_every_zone_and_by_both_readers)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        char text[64];
        int64_t us = any_instant(), lax, strict;
        int offset = (int)between(-1439, 1439);
        if (us + offset * 60 * TB_US_PER_S < TB_US_FIRST ||
            us + offset * 60 * TB_US_PER_S > TB_US_LAST)
            continue;
        size_t len = (size_t)write_local(text, sizeof text, us, offset);
        ck_assert_int_eq(tb_date_parse(text, len, &lax, NULL), TB_OK);
        ck_assert_int_eq(tb_rfc3339_parse(text, len, &strict, NULL), TB_OK);
        ck_assert_msg(lax == us && strict == us, "seed %" PRIu64 ": %s", seed, text);
    }
}
END_TEST

START_TEST(a_written_time_reads_back_to_its_second)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        char text[20];
        int64_t us = any_instant(), back;
        tb_time_format(us, text);
        ck_assert_int_eq(tb_rfc3339_parse(text, sizeof text, &back, NULL), TB_OK);
        ck_assert_msg(back <= us && us - back < TB_US_PER_S, "seed %" PRIu64 ": %.20s", seed, text);
    }
}
END_TEST

START_TEST(a_day_is_its_months_first_plus_its_place)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        int64_t day = tb_day_from_us(any_instant()), month = tb_month_from_day(day);
        ck_assert_int_eq(tb_month_first_day(month) + tb_day_of_month(day), day);
        ck_assert(tb_month_first_day(month) <= day && day < tb_month_first_day(month + 1));
        tb_date date = tb_date_from_day(day);
        ck_assert_int_eq(tb_day_from_date(date), day);
        ck_assert_int_eq(tb_month_first_day(month + 1) - tb_month_first_day(month),
                         tb_days_in_month(date.year, date.month));
    }
}
END_TEST

START_TEST(every_instant_lies_in_its_hour_and_its_hour_in_its_day)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        int64_t us = any_instant(), hour = tb_hour_from_us(us), day = tb_day_from_us(us);
        ck_assert(hour * TB_US_PER_HOUR <= us && us - hour * TB_US_PER_HOUR < TB_US_PER_HOUR);
        ck_assert(day * 24 <= hour && hour < day * 24 + 24);
    }
}
END_TEST

/* ---- ranges ---- */

/* A question with its dates as instants beside their texts. */
typedef struct question {
    tb_range_query query;
    int64_t now, from, to;
    char from_text[64], to_text[64];
} question;

static tb_text write_date(char out[64], int64_t us)
{
    return (tb_text){out, (size_t)write_local(out, 64, us, 0)};
}

/* Dates within the year before now, and often on the limits of 30 and 40 days. */
static void ask(question *q)
{
    static const int ages[] = {0, 1, 29, 30, 31, 40, 41, 364, 365, 366};
    static const int widths[] = {0, 0, 1, 2, 30, 39, 40, 41};
    memset(q, 0, sizeof *q);
    q->now = between(0, 20000) * TB_US_PER_DAY + between(0, TB_US_PER_DAY - 1);
    int64_t age = one_in(2) ? ages[between(0, 9)] : between(0, 35);
    int64_t width = one_in(2) ? widths[between(0, 7)] : between(0, 35);
    q->from = (tb_day_from_us(q->now) - age) * TB_US_PER_DAY + between(0, 23) * TB_US_PER_HOUR;
    q->to = q->from + width * TB_US_PER_DAY + between(0, 5) * TB_US_PER_HOUR;
    if (one_in(2)) q->from += between(0, TB_US_PER_HOUR - 1);
    if (one_in(2)) q->to += between(-TB_US_PER_HOUR, TB_US_PER_HOUR);
    q->query = (tb_range_query){
        .hourly = one_in(2), .exact = one_in(2), .latest = one_in(5), .statistics = !one_in(3)};
    if (!one_in(6)) q->query.from = write_date(q->from_text, q->from);
    if (!one_in(4)) q->query.to = write_date(q->to_text, q->to);
}

static bool is_exact(const tb_range_query *query)
{
    return query->exact && query->hourly && query->statistics;
}

static void check_refusal(tb_code code, const tb_error *err)
{
    ck_assert(code == TB_E_VALIDATION || code == TB_E_DATE_RANGE);
    ck_assert_int_eq(err->code, code);
    ck_assert(!strcmp(err->field, "dateFrom") || !strcmp(err->field, "dateTo"));
    ck_assert(err->message[0] && !strchr(err->message, '\n'));
}

static void check_limits(const question *q, tb_range range)
{
    int64_t unit = range.hourly ? TB_US_PER_HOUR : TB_US_PER_DAY;
    int64_t today = tb_day_from_us(q->now);
    int64_t start = range.first * unit, end = (range.first + range.count) * unit;
    int64_t start_day = tb_day_from_us(start);
    ck_assert_int_eq(range.hourly, q->query.hourly);
    ck_assert(range.count >= 1 && start <= q->now + TB_US_PER_DAY);
    ck_assert_int_le(end, (today + 1) * TB_US_PER_DAY);
    if (!(q->query.latest && q->query.statistics))
        ck_assert_int_ge(start_day, today - (range.hourly ? 30 : 366));
    if (q->query.statistics)
        ck_assert_int_le(end - start, (q->query.latest ? 2 : 41) * TB_US_PER_DAY);
    if (!is_exact(&q->query)) ck_assert(start % TB_US_PER_DAY == 0 && end % TB_US_PER_DAY == 0);
    if (q->query.from.data) ck_assert(start <= q->from && q->from < start + TB_US_PER_DAY);
}

START_TEST(every_answer_keeps_the_limits_and_every_refusal_says_why)
{
    begin();
    int answered = 0;
    for (int i = 0; i < ROUNDS; i++) {
        question q;
        tb_range range;
        tb_error err = {0};
        ask(&q);
        tb_code code = tb_range_resolve(&q.query, q.now, &range, &err);
        if (code)
            check_refusal(code, &err);
        else
            check_limits(&q, range), answered++;
    }
    ck_assert_msg(answered > ROUNDS / 4, "only %d answered", answered);
}
END_TEST

/* Whole days are asked for by any instant of their last day, exact hours by their exclusive end. */
START_TEST(asking_for_the_answers_own_ends_gives_the_answer_again)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        question q;
        tb_range range, again;
        ask(&q);
        if (q.query.latest || tb_range_resolve(&q.query, q.now, &range, NULL)) continue;
        int64_t unit = range.hourly ? TB_US_PER_HOUR : TB_US_PER_DAY;
        int64_t end = (range.first + range.count) * unit - !is_exact(&q.query);
        q.query.from = write_date(q.from_text, range.first * unit);
        q.query.to = write_date(q.to_text, end);
        ck_assert_int_eq(tb_range_resolve(&q.query, q.now, &again, NULL), TB_OK);
        ck_assert_msg(again.first == range.first && again.count == range.count,
                      "seed %" PRIu64 ": %s..%s", seed, q.from_text, q.to_text);
    }
}
END_TEST

START_TEST(hours_are_the_days_times_24_and_exact_hours_a_part_of_them)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        question q;
        tb_range hours, days, exact;
        ask(&q);
        if (!q.query.from.data || !q.query.to.data) continue;
        q.query.exact = false;
        q.query.hourly = true;
        if (tb_range_resolve(&q.query, q.now, &hours, NULL)) continue;
        q.query.hourly = false;
        ck_assert_int_eq(tb_range_resolve(&q.query, q.now, &days, NULL), TB_OK);
        ck_assert(hours.first == days.first * 24 && hours.count == days.count * 24);
        q.query.hourly = q.query.exact = q.query.statistics = true;
        if (tb_range_resolve(&q.query, q.now, &exact, NULL)) continue;
        ck_assert(exact.first >= hours.first && exact.first - hours.first < 24);
        ck_assert(exact.first + exact.count <= hours.first + hours.count);
    }
}
END_TEST

START_TEST(the_time_of_day_does_not_change_an_answer_with_both_dates)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        question q;
        tb_range one = {0, 0, false}, other = {0, 0, false};
        ask(&q);
        if (!q.query.from.data || !q.query.to.data) continue;
        int64_t midnight = tb_day_from_us(q.now) * TB_US_PER_DAY;
        tb_code code = tb_range_resolve(&q.query, q.now, &one, NULL);
        int64_t later = midnight + between(0, TB_US_PER_DAY - 1);
        ck_assert_int_eq(tb_range_resolve(&q.query, later, &other, NULL), code);
        ck_assert(one.first == other.first && one.count == other.count);
    }
}
END_TEST

static Suite *range_suite(void)
{
    Suite *suite = suite_create("range properties");
    TCase *t = tcase_create("properties");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, an_instant_reads_the_same_in_every_zone_and_by_both_readers);
    tcase_add_test(t, a_written_time_reads_back_to_its_second);
    tcase_add_test(t, a_day_is_its_months_first_plus_its_place);
    tcase_add_test(t, every_instant_lies_in_its_hour_and_its_hour_in_its_day);
    tcase_add_test(t, every_answer_keeps_the_limits_and_every_refusal_says_why);
    tcase_add_test(t, asking_for_the_answers_own_ends_gives_the_answer_again);
    tcase_add_test(t, hours_are_the_days_times_24_and_exact_hours_a_part_of_them);
    tcase_add_test(t, the_time_of_day_does_not_change_an_answer_with_both_dates);
    suite_add_tcase(suite, t);
    return suite;
}

int main(void)
{
    seed = test_seed();
    SRunner *runner = srunner_create(range_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
