/* Reads portfolios, a record a line, and prints what their scenarios come to, as text.
 *
 *   portfolio        begins one: books and scenarios of the last are forgotten
 *   scenario JSON
 *   records of records.h; books before all months
 *   account N        whose month it is; behind "month"
 *   feed             ends the month
 *   results          ends the portfolio: the answer follows, then "end" */
#include "tollbook/whatif.h"

#include "records.h"

#define SCENARIOS 64

static tb_scenario scenarios[SCENARIOS];
static size_t n_scenarios;
static tb_whatif *replay;

static void begin_portfolio(void)
{
    tb_whatif_free(replay);
    replay = NULL;
    forget_books();
    while (n_scenarios > 0)
        tb_scenario_release(&scenarios[--n_scenarios]);
}

static void read_scenario(void)
{
    tb_error err;
    if (n_scenarios == SCENARIOS) stop("too many", "scenarios");
    if (tb_scenario_parse(rest, strcspn(rest, "\n"), NULL, &scenarios[n_scenarios++], &err)) {
        fprintf(stderr, "%s", rest);
        stop(err.field, err.message);
    }
}

static void feed(void)
{
    tb_error err;
    if (!replay && tb_whatif_new(scenarios, n_scenarios, m.books, m.n_books, NULL, &replay, &err))
        stop(err.field, err.message);
    if (tb_whatif_add(replay, &m.in, &err)) stop(err.field, err.message);
}

/* --- printing --- */

static const char *plain(tb_decimal value)
{
    static char texts[8][TB_DECIMAL_TEXT_MAX + 1];
    static unsigned turn;
    char *text = texts[turn++ % 8];
    *tb_decimal_put(text, value) = '\0';
    return text;
}

static void print_change(const tb_whatif_change *c)
{
    printf(" %s %s %s %s", plain(c->before), plain(c->after), plain(c->delta),
           c->has_percent ? plain(c->percent) : "-");
}

static void print_spread(const char *name, const tb_whatif_spread *s)
{
    printf("%s %zu %s %s %s\n", name, s->n, plain(s->p5), plain(s->p50), plain(s->p95));
}

static void print_increase(const tb_whatif_increase *x)
{
    printf("increase %lld", (long long)x->account);
    print_change(&x->change);
    printf(" %zu\n", x->more_lines);
    for (size_t i = 0; i < x->n_lines; i++) {
        const tb_whatif_line *line = &x->lines[i];
        printf("line %s %s %s", tb_line_kind_name(line->kind), line->resource,
               line->region[0] ? line->region : "-");
        print_change(&line->change);
        putchar('\n');
    }
}

static void print_group(const tb_whatif_group *g)
{
    printf("group %s %zu", g->currency, g->bills);
    print_change(&g->total);
    printf(" %zu %zu %zu\n", g->losers, g->winners, g->same);
    for (size_t i = 0; i < g->n_accounts; i++) {
        printf("account %lld %u", (long long)g->accounts[i].account, g->accounts[i].months);
        print_change(&g->accounts[i].change);
        putchar('\n');
    }
    for (size_t i = 0; i < g->n_months; i++) {
        printf("month %lld %zu", (long long)g->months[i].month, g->months[i].accounts);
        print_change(&g->months[i].change);
        putchar('\n');
    }
    print_spread("delta", &g->delta);
    print_spread("percent", &g->percent);
    for (size_t i = 0; i < g->n_increases; i++)
        print_increase(&g->increases[i]);
}

static void print_unpriced(const tb_whatif_unpriced *u)
{
    printf("unpriced %lld %lld %s %s %s %s %d\n", (long long)u->account, (long long)u->month,
           u->usage.resource, u->usage.what, plain(tb_decimal_from_int(u->usage.quantity)),
           u->usage.unit, u->before);
}

static void print_results(void)
{
    tb_error err;
    if (tb_whatif_finish(replay, &err)) stop("finish", err.message);
    for (size_t k = 0; k < n_scenarios; k++) {
        tb_whatif_result r;
        if (tb_whatif_result_make(replay, k, &r, &err)) stop("result", err.message);
        printf("scenario %s %zu %zu %zu %zu\n", r.scenario->name, r.other_accounts, r.other_bills,
               r.unpriced_bills, r.more_unpriced);
        for (size_t i = 0; i < r.n_books; i++)
            printf("book %s %s\n", r.books[i].base->id, r.books[i].book->sha256);
        for (size_t i = 0; i < r.n_groups; i++)
            print_group(&r.groups[i]);
        for (size_t i = 0; i < r.n_unpriced; i++)
            print_unpriced(&r.unpriced[i]);
        tb_whatif_result_release(&r);
    }
    puts("end");
}

static void take(char *line)
{
    const char *what = strtok_r(line, " \n", &rest);
    if (!what || read_record(what)) return;
    if (strcmp(what, "portfolio") == 0)
        begin_portfolio();
    else if (strcmp(what, "scenario") == 0)
        read_scenario();
    else if (strcmp(what, "account") == 0)
        m.in.account = number();
    else if (strcmp(what, "feed") == 0)
        feed();
    else if (strcmp(what, "results") == 0)
        print_results();
    else
        stop("unknown record", what);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0)
        take(line);
    free(line);
    begin_portfolio();
    return 0;
}
