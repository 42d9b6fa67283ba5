/* POST /books, DELETE /books/{id} and POST /books/{id}/activate, for an operator. Activating rates a
 * billed month of every account, which takes its time: the desk compares, then the writer activates
 * if the same months are billed still. */
#include <stdio.h>
#include <string.h>

#include "api/handlers.h"
#include "api/operator_body.h"
#include "http/query.h"
#include "tollbook/activate.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

/* --- adding --- */

typedef struct add_work {
    bool shadow, known;
    char id[65], currency[4], sha256[65];
    int64_t effective_us;
} add_work;

static tb_code add(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    add_work *w = (add_work *)(void *)r->work;
    tb_book book;
    tb_code code = tb_book_parse(r->body ? r->body : "", r->body_len, NULL, &book, err);
    if (code) return code;
    memcpy(w->id, book.id, sizeof w->id);
    memcpy(w->currency, book.currency, sizeof w->currency);
    memcpy(w->sha256, book.sha256, sizeof w->sha256);
    w->effective_us = book.effective_us;
    code = w->shadow ? tb_store_add_shadow(store, &book, request_now_us(r), &w->known, err)
                     : tb_store_add_book(store, &book, request_now_us(r), &w->known, err);
    tb_book_release(&book);
    return code;
}

void api_books_add(request *r)
{
    static const query_spec specs[] = {{"shadow", QUERY_BOOL, offsetof(add_work, shadow)}};
    tb_text query = request_query(r);
    tb_error err;
    memset(r->work, 0, sizeof(add_work));
    tb_code code = query_parse(query.data, query.len, specs, 1, r->work, r->scratch, &err);
    if (!code && r->body_len > TB_BOOK_MAX)
        code = tb_fail(&err, TB_E_TOO_LARGE, NULL, "A book has at most %zu bytes.",
                       (size_t)TB_BOOK_MAX);
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    r->job.run = add;
    r->job.bytes = r->body_len;
    request_submit(r);
}

/* Where a book is wrong its sentence does not know: the path goes before it. */
static void fail_book(request *r)
{
    tb_error placed = r->job.err;
    if (placed.code == TB_E_BOOK && placed.field[0] && placed.byte)
        snprintf(placed.message, sizeof placed.message, "%s: %.270s", placed.field,
                 r->job.err.message);
    request_fail_at(r, &placed);
}

void api_books_added(request *r)
{
    const add_work *w = (const add_work *)(const void *)r->work;
    char from[20];
    if (r->job.code) {
        fail_book(r);
        return;
    }
    tb_time_format(w->effective_us, from);
    tb_buf_fmt(request_text(r),
               "{\"book\":\"%s\",\"currency\":\"%s\",\"effectiveFrom\":\"%.20s\",\"sha256\":\"%s\","
               "\"shadow\":%s,\"known\":%s}",
               w->id, w->currency, from, w->sha256, w->shadow ? "true" : "false",
               w->known ? "true" : "false");
    request_answer_text(r, w->known ? 200 : 201, "application/json");
}

/* --- the path's id --- */

/* Ids need no escapes. false: it is none. */
static bool id_of(const request *r, char id[65])
{
    if (r->id.len == 0 || r->id.len > 64) return false;
    memcpy(id, r->id.data, r->id.len);
    id[r->id.len] = 0;
    return true;
}

static tb_code no_book(tb_error *err)
{
    return tb_fail(err, TB_E_NOT_FOUND, "book", "There is no shadow book of this name.");
}

/* --- dropping --- */

static tb_code drop(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    char id[65];
    if (!id_of(r, id)) return no_book(err);
    return tb_store_drop_shadow(store, id, request_now_us(r), err);
}

void api_books_drop(request *r)
{
    r->job.run = drop;
    r->job.bytes = 0;
    request_submit(r);
}

void api_books_dropped(request *r)
{
    if (r->job.code)
        request_fail_as(r, &r->job.err);
    else
        request_answer_empty(r, 204);
}

/* --- activating --- */

typedef struct activate_work {
    tb_shadow_activation what;
    bool compared; /* and to be activated */
} activate_work;

_Static_assert(sizeof(activate_work) <= sizeof((request *)0)->work, "fits a request's own memory");

static activate_work *work_of(request *r)
{
    return (activate_work *)(void *)r->work;
}

static bool step(void *ctx, size_t done, size_t total)
{
    request *r = ctx;
    (void)done, (void)total;
    return desk_time_left(r->worker->server->desk);
}

static tb_code compare_all(request *r, tb_store *store, tb_error *err)
{
    tb_shadow_activation *a = &work_of(r)->what;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_shadow_compare(store, a, err);
    tb_store_read_end(store);
    if (code == TB_E_BUSY && !atomic_load(&r->worker->server->stopping))
        return tb_fail(err, TB_E_VALIDATION, "months",
                       "It was not compared in %d seconds. Compare fewer months, or activate it with"
                       " --db while no server runs.",
                       (int)(DESK_JOB_US / 1000000));
    return code;
}

/* On the desk's thread. The lines wait in the answer for what becomes of it. */
static tb_code compare(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    tb_shadow_activation *a = &work_of(r)->what;
    answer *made = answer_new(r->worker->server->pool);
    if (!made) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    r->reply.what = made;
    tb_code code = compare_all(r, store, err);
    if (code) return code;
    tb_shadow_say_over(a, answer_body(made));
    tb_shadow_activation_release(a);
    return tb_buf_check(answer_body(made), err);
}

static tb_code activate(write_job *job, tb_store *store, tb_error *err)
{
    return tb_shadow_activate(store, &work_of(job->owner)->what, err);
}

typedef struct activate_params {
    tb_text limit;
    int64_t months;
    bool anyway;
} activate_params;

static tb_code read_params(request *r, tb_shadow_activation *a, tb_error *err)
{
    static const query_spec specs[] = {
        {"maxChange", QUERY_TEXT, offsetof(activate_params, limit)},
        {"months", QUERY_INT, offsetof(activate_params, months)},
        {"anyway", QUERY_BOOL, offsetof(activate_params, anyway)},
    };
    activate_params p = {.months = 1};
    tb_text query = request_query(r);
    tb_code code = query_parse(query.data, query.len, specs, 3, &p, r->scratch, err);
    if (code) return code;
    if (!p.limit.len) p.limit = (tb_text){TB_SHADOW_LIMIT_TEXT, sizeof TB_SHADOW_LIMIT_TEXT - 1};
    if (!tb_shadow_limit(a, p.limit.data, p.limit.len))
        return tb_fail(err, TB_E_VALIDATION, "maxChange", "maxChange is percent like 10 or 2.5.");
    if (p.months < 1 || p.months > 120)
        return tb_fail(err, TB_E_VALIDATION, "months", "months is 1 to 120.");
    a->months = p.months;
    a->anyway = p.anyway;
    return id_of(r, a->book) ? TB_OK : no_book(err);
}

void api_books_activate(request *r)
{
    tb_error err;
    activate_work *w = work_of(r);
    *w = (activate_work){.what = {.now_us = request_now_us(r), .step = step, .ctx = r}};
    if (read_params(r, &w->what, &err)) {
        request_fail_as(r, &err);
        return;
    }
    r->job.run = compare;
    r->job.bytes = 0;
    request_submit_long(r);
}

static void answer_activation(request *r, bool active, answer *lines)
{
    const tb_shadow_activation *a = &work_of(r)->what;
    tb_buf *out = request_text(r);
    tb_shadow_say_end(a, answer_body(lines));
    tb_buf_fmt(out,
               "{\"book\":\"%s\",\"active\":%s,\"months\":%zu,\"accounts\":%zu,\"over\":%zu,"
               "\"maxChange\":\"%s\",\"said\":",
               a->book, active ? "true" : "false", a->n, a->accounts, a->over, a->limit_text);
    body_put_lines(out, answer_body(lines));
    tb_buf_str(out, "}");
    request_answer_text(r, 200, "application/json");
}

/* After the desk, and again after the writer. */
void api_books_activated(request *r)
{
    activate_work *w = work_of(r);
    if (!r->job.code && !w->compared && !tb_shadow_stays(&w->what)) {
        w->compared = true;
        r->job.run = activate;
        request_submit(r);
        return;
    }
    answer *lines = r->reply.what;
    r->reply.what = NULL;
    if (r->job.code)
        request_fail_as(r, &r->job.err);
    else
        answer_activation(r, w->compared, lines);
    answer_drop(lines);
}
