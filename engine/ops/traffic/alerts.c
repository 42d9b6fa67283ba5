/* Rounds over the accounts with alerts. A round remembers a mark of each account, so that the next one skips unchanged
 * accounts: both lists ascend by account and are walked side by side.
 *
 * The last row of an alert is its state. It is raised when its threshold is passed and no row of the month is open; it
 * is cleared when a row is open and the threshold is not passed, or the alert is no longer declared. An open row of an
 * earlier month is closed silently, and the alert raised anew. An alert that was raised while the outbox was off gets
 * its message when it is switched on. */
#include "tollbook/alerts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "ops/traffic/alert_kinds.h"
#include "tollbook/issue.h"
#include "tollbook/json.h"

typedef struct looked_at {
    int64_t account;
    uint64_t mark;
} looked_at;

typedef struct looks {
    looked_at *list;
    size_t n, cap;
} looks;

struct tb_alert_watch {
    looks before, now;
    size_t at; /* in before */
    int64_t account; /* the last that was looked at */
    bool all, caps;  /* caps: and nothing else */
};

tb_alert_watch *tb_alert_watch_new(void)
{
    return calloc(1, sizeof(tb_alert_watch));
}

tb_alert_watch *tb_alert_watch_from(int64_t account)
{
    tb_alert_watch *w = tb_alert_watch_new();
    if (!w) return NULL;
    w->account = account;
    w->all = true;
    return w;
}

int64_t tb_alert_watch_at(const tb_alert_watch *w)
{
    return w->account;
}

void tb_alert_watch_free(tb_alert_watch *w)
{
    if (!w) return;
    free(w->before.list);
    free(w->now.list);
    free(w);
}

void tb_alert_watch_caps(tb_alert_watch *w)
{
    w->caps = true;
}

void tb_alert_watch_begin(tb_alert_watch *w, bool all)
{
    const looks before = w->before;
    w->before = w->now;
    w->now = (looks){.list = before.list, .cap = before.cap};
    w->at = 0;
    w->account = 0;
    w->all = all;
}

void tb_alert_changes_release(tb_alert_changes *changes)
{
    for (size_t i = 0; i < changes->n; i++)
        free(changes->list[i].body);
    free(changes->list);
    free(changes->unpriced);
    *changes = (tb_alert_changes){0};
}

/* --- what a message says --- */

/* An object. more: further members of it. */
static void put_data(tb_buf *out, const tb_alert_state *s, const tb_buf *more)
{
    char month[8];
    tb_month_format(s->month, month);
    tb_buf_fmt(out, "{\"account\":%" PRId64 ",\"alert\":", s->account);
    tb_json_string(out, s->alert, strlen(s->alert));
    tb_buf_fmt(out, ",\"kind\":\"%s\",\"month\":\"%s\",\"%s\":\"%s\"", tb_alert_kind_name(s->kind), month,
               tb__alert_limit_name(s->kind), s->limit);
    tb_buf_add(out, more->data, more->len);
    tb_buf_str(out, "}");
}

/* The body around its data. */
static tb_code wrap_data(tb_alert_change *c, int64_t at_us, const char *data, size_t len, tb_error *err)
{
    char at[21] = "";
    tb_buf body;
    tb_time_format(at_us, at);
    tb_buf_init(&body, TB_MESSAGE_MAX, NULL);
    tb_buf_fmt(&body, "{\"type\":\"alert.%s\",\"timestamp\":\"%.20s\",\"data\":",
               c->raise ? "raised" : "cleared", at);
    tb_buf_add(&body, data, len);
    tb_buf_add(&body, "}", 2);
    tb_code code = tb_buf_check(&body, err);
    if (code)
        tb_buf_release(&body);
    else
        c->body = body.data;
    return code;
}

static tb_code say_change(tb_alert_change *c, int64_t now_us, const tb_buf *more, tb_error *err)
{
    tb_buf data;
    tb_buf_init(&data, TB_MESSAGE_MAX, NULL);
    put_data(&data, &c->state, more);
    tb_code code = tb_buf_check(&data, err);
    if (!code && data.len > TB_ALERT_DATA)
        code = tb_fail(err, TB_E_INTERNAL, NULL, "What an alert says has %zu bytes.", data.len);
    if (!code) code = wrap_data(c, now_us, data.data, data.len, err);
    if (!code && c->raise) memcpy(c->state.data, data.data, data.len);
    tb_buf_release(&data);
    return code;
}

/* --- one account --- */

typedef struct judging {
    tb__alert_look look;
    tb_alert_state *last;
    size_t n_last;
    bool messages; /* are wanted */
    bool caps;     /* alone */
    tb_alert_changes *changes;
} judging;

static tb_code add_change(judging *j, const tb_alert_change *c, tb_error *err)
{
    tb_code code = tb__grow(&j->changes->list, j->changes->n, &j->changes->cap, sizeof *c, err);
    if (!code) j->changes->list[j->changes->n++] = *c;
    return code;
}

static const tb_alert_state *last_of(const judging *j, const char *alert)
{
    for (size_t i = 0; i < j->n_last; i++)
        if (strcmp(j->last[i].alert, alert) == 0) return &j->last[i];
    return NULL;
}

static bool stands(const tb_alert_state *last)
{
    return last && last->cleared_us == TB_ALERT_OPEN;
}

/* data NULL: another message says it. */
static tb_code clear_alert(judging *j, const tb_alert_state *last, const tb_buf *data, tb_error *err)
{
    tb_alert_change c = {.state = *last, .last = last->id, .quiet = !data};
    c.state.cleared_us = j->look.now_us;
    tb_code code = data ? say_change(&c, j->look.now_us, data, err) : TB_OK;
    if (!code) code = add_change(j, &c, err);
    if (code) free(c.body);
    return code;
}

static tb_code raise_alert(judging *j, const tb_alert_rule *rule, const tb_alert_state *last,
                     const tb__alert_found *found, const tb_buf *data, tb_error *err)
{
    tb_alert_change c = {.last = last ? last->id : 0, .raise = true,
                         .state = {.account = j->look.account,
                                   .month = j->look.month,
                                   .kind = rule->kind,
                                   .raised_us = j->look.now_us,
                                   .cleared_us = TB_ALERT_OPEN}};
    memcpy(c.state.alert, rule->id, sizeof c.state.alert);
    *tb_decimal_put(c.state.limit, rule->limit) = 0;
    *tb_decimal_put(c.state.seen, found->seen) = 0;
    tb_code code = say_change(&c, j->look.now_us, data, err);
    if (!code) code = add_change(j, &c, err);
    if (code) free(c.body);
    return code;
}

/* The message that was not put when it was raised, as it would have been then. */
static tb_code say_late(judging *j, const tb_alert_state *last, tb_error *err)
{
    tb_alert_change c = {.state = *last, .last = last->id, .raise = true, .late = true};
    tb_code code = wrap_data(&c, last->raised_us, last->data, strlen(last->data), err);
    if (!code) code = add_change(j, &c, err);
    if (code) free(c.body);
    return code;
}

/* Whether the cap was raised since, or is in another currency now: it has an alert of its own. */
static bool is_other_cap(const judging *j, const tb_alert_state *last, const tb_alert_rule *rule)
{
    tb_decimal limit;
    char currency[24];
    if (!last || rule->kind != TB_ALERT_CAP || last->kind != TB_ALERT_CAP) return false;
    snprintf(currency, sizeof currency, "\"currency\":\"%s\"", j->look.currency);
    if (!strstr(last->data, currency)) return true;
    return !tb_decimal_parse(last->limit, strlen(last->limit), TB_PRICE_SCALE_MAX, &limit, NULL) &&
           tb_decimal_compare(limit, rule->limit) < 0;
}

static tb_code judge_rule(judging *j, size_t i, tb_error *err)
{
    const tb_alert_rule *rule = &j->look.rules[i];
    const tb_alert_state *last = last_of(j, rule->id);
    const bool this_month = last && last->month == j->look.month;
    tb__alert_found found;
    tb_buf data;
    tb_buf_init(&data, TB_MESSAGE_MAX, NULL);
    tb_code code = tb__alert_look_at(&j->look, i, &found, &data, err);
    if (!code && !found.breached && stands(last)) code = clear_alert(j, last, &data, err);
    const bool wanted = !code && found.breached &&
                        (!this_month || (!stands(last) && tb__alert_again(rule->kind)) || is_other_cap(j, last, rule));
    if (!code && !wanted && found.breached && this_month && stands(last) && !last->raised[0] && j->messages)
        code = say_late(j, last, err);
    if (wanted && stands(last)) code = clear_alert(j, last, NULL, err);
    if (wanted && !code) code = raise_alert(j, rule, last, &found, &data, err);
    tb_buf_release(&data);
    return code;
}

static bool is_declared(const judging *j, const char *alert)
{
    for (size_t i = 0; i < j->look.n_rules; i++)
        if (strcmp(j->look.rules[i].id, alert) == 0) return true;
    return false;
}

/* Open alerts that the catalogue no longer names. */
static tb_code clear_removed(judging *j, tb_error *err)
{
    tb_code code = TB_OK;
    tb_buf data;
    tb_buf_init(&data, TB_MESSAGE_MAX, NULL);
    tb_buf_str(&data, ",\"removed\":true");
    for (size_t i = 0; !code && i < j->n_last; i++)
        if (stands(&j->last[i]) && (!j->caps || j->last[i].kind == TB_ALERT_CAP) && !is_declared(j, j->last[i].alert))
            code = clear_alert(j, &j->last[i], &data, err);
    tb_buf_release(&data);
    return code;
}

static tb_code add_unpriced(judging *j, tb_error *err)
{
    tb_alert_changes *to = j->changes;
    tb_code code =
        tb__grow(&to->unpriced, to->n_unpriced, &to->cap_unpriced, sizeof *to->unpriced, err);
    if (!code) to->unpriced[to->n_unpriced++] = j->look.account;
    return code;
}

/* The contract's cap, as an alert. */
static tb_code add_cap(judging *j, tb_error *err)
{
    tb_account_cap cap;
    tb_code code = tb_store_account_cap(j->look.store, j->look.account, j->look.month, &cap, err);
    if (!code && cap.action)
        j->look.rules[j->look.n_rules++] = (tb_alert_rule){.id = TB_ALERT_CAP_ID, .kind = TB_ALERT_CAP, .limit = cap.amount};
    return code;
}

static tb_code judge_account(judging *j, tb_error *err)
{
    tb_store *store = j->look.store;
    tb_code code = j->caps ? TB_OK : tb_store_alert_rules(store, j->look.account, j->look.rules, &j->look.n_rules, err);
    if (!code) code = add_cap(j, err);
    if (!code) code = tb_store_alerts_last(store, j->look.account, &j->last, &j->n_last, err);
    for (size_t i = 0; !code && i < j->look.n_rules; i++)
        code = judge_rule(j, i, err);
    if (!code) code = clear_removed(j, err);
    free(j->last);
    return code || !j->look.unpriced ? code : add_unpriced(j, err);
}

/* --- a round --- */

/* Whether the account's mark is the one of the last round. */
static bool as_before(tb_alert_watch *w, const looked_at *now)
{
    while (w->at < w->before.n && w->before.list[w->at].account < now->account)
        w->at++;
    return w->at < w->before.n && w->before.list[w->at].account == now->account &&
           w->before.list[w->at].mark == now->mark;
}

static tb_code keep_look(tb_alert_watch *w, const looked_at *now, tb_error *err)
{
    tb_code code = tb__grow(&w->now.list, w->now.n, &w->now.cap, sizeof *now, err);
    if (!code) w->now.list[w->now.n++] = *now;
    return code;
}

/* An error of one account is reported, and its changes are dropped. */
static tb_code say_trouble(const judging *j, size_t before, tb_code code, tb_say say, void *ctx,
                           const tb_error *why)
{
    char sentence[512];
    if (!code || !tb_issue_is_its_own(code)) return code;
    while (j->changes->n > before)
        free(j->changes->list[--j->changes->n].body);
    snprintf(sentence, sizeof sentence, "The alerts of account %" PRId64 " were not looked at: %s",
             j->look.account, why->message);
    if (say) say(ctx, sentence);
    return TB_OK;
}

static tb_code look_at_account(tb_alert_watch *w, judging *j, tb_say say, void *ctx, tb_error *err)
{
    const size_t before = j->changes->n;
    looked_at now = {.account = j->look.account};
    tb_code code = tb_store_alert_mark(j->look.store, now.account, j->look.month, &now.mark, err);
    if (code) return code;
    const bool same = as_before(w, &now);
    code = keep_look(w, &now, err);
    if (code || (same && !w->all)) return code;
    code = judge_account(j, err);
    return say_trouble(j, before, code, say, ctx, err);
}

static tb_code look_at_some(tb_store *store, tb_alert_watch *w, const int64_t *accounts, size_t n,
                            int64_t now_us, tb_say say, void *ctx, tb_alert_changes *changes,
                            tb_error *err)
{
    tb_month_books books;
    bool messages = false;
    tb_code code = tb_store_outbox_on(store, &messages, err);
    if (!code) code = tb_month_books_read(store, &books, err);
    if (code) return code;
    for (size_t i = 0; !code && i < n; i++) {
        judging j = {.look = {.store = store, .books = &books, .account = accounts[i],
                              .now_us = now_us, .month = tb_month_from_us(now_us)},
                     .messages = messages,
                     .caps = w->caps,
                     .changes = changes};
        code = look_at_account(w, &j, say, ctx, err);
        w->account = accounts[i];
    }
    tb_month_books_release(&books);
    return code;
}

tb_code tb_alerts_look(tb_store *store, tb_alert_watch *w, int64_t now_us, tb_say say, void *ctx,
                       tb_alert_changes *ret_changes, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_error own;
    if (!err) err = &own; /* its sentence may be said */
    *ret_changes = (tb_alert_changes){0};
    tb_code code =
        tb_store_alert_accounts(store, w->account, TB_ALERT_ACCOUNTS, &accounts, &n, err);
    if (!code && n) code = look_at_some(store, w, accounts, n, now_us, say, ctx, ret_changes, err);
    free(accounts);
    if (code) tb_alert_changes_release(ret_changes);
    ret_changes->complete = n < TB_ALERT_ACCOUNTS;
    return code;
}

/* --- noting --- */

/* The id of the alert's last row, 0 where it has none. */
static tb_code read_last(tb_store *store, const tb_alert_state *of, int64_t *ret_id, bool *ret_stands,
                         tb_error *err)
{
    tb_alert_state *all = NULL;
    size_t n = 0;
    tb_code code = tb_store_alerts_last(store, of->account, &all, &n, err);
    if (code) return code;
    *ret_id = 0;
    *ret_stands = false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].alert, of->alert) == 0) {
            *ret_id = all[i].id;
            *ret_stands = stands(&all[i]);
        }
    free(all);
    return TB_OK;
}

static tb_code put_message(tb_store *store, const tb_alert_change *c, int64_t now_us,
                           char ret_id[TB_MESSAGE_ID + 1], tb_error *err)
{
    const size_t len = c->quiet ? 0 : strlen(c->body);
    const tb_buf body = {.data = c->body, .len = len, .cap = len, .max = TB_MESSAGE_MAX};
    if (c->quiet) return TB_OK;
    return tb_store_outbox_put(store, c->raise ? "alert.raised" : "alert.cleared", c->state.account,
                               now_us, &body, ret_id, err);
}

static tb_code note_change(tb_store *store, const tb_alert_change *c, int64_t now_us, bool *ret_moved,
                           tb_error *err)
{
    tb_alert_state state = c->state;
    int64_t last = 0;
    bool is_open = false;
    tb_code code = read_last(store, &state, &last, &is_open, err);
    if (code) return code;
    if (last != c->last || is_open != (c->late || !c->raise)) {
        *ret_moved = true;
        return TB_OK;
    }
    code = put_message(store, c, now_us, c->raise ? state.raised : state.cleared, err);
    if (code) return code;
    if (c->late) return tb_store_alert_said(store, &state, err);
    return c->raise ? tb_store_alert_raise(store, &state, err)
                    : tb_store_alert_clear(store, &state, err);
}

tb_code tb_alerts_note(tb_store *store, const tb_alert_changes *changes, int64_t now_us,
                       bool *ret_moved, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_moved = false;
    for (size_t i = 0; !code && i < changes->n; i++)
        code = note_change(store, &changes->list[i], now_us, ret_moved, err);
    return code;
}
