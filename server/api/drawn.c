/* The answer is kept in r->reply.what from the desk's thread on, so it goes with the request,
 * whatever becomes of the client. */
#include "api/drawn.h"

#include <pthread.h>

#include "api/handlers.h"

static const drawing *drawing_of(const request *r)
{
    return (const drawing *)(const void *)r->work;
}

static tb_code put_answer(request *r, tb_store *store, tb_error *err)
{
    answer *made = answer_new(r->worker->server->pool);
    if (!made) return tb_no_memory(err);
    tb_code code = drawing_of(r)->put(r, store, answer_body(made), err);
    if (code)
        answer_drop(made);
    else
        r->reply.what = made;
    return code;
}

static tb_code run_drawing(write_job *job, tb_store *store, tb_error *err)
{
    return put_answer(job->owner, store, err);
}

/* Answers can be longer than what a connection keeps for small ones. */
static void send_made(request *r, tb_code code, const tb_error *err)
{
    answer *made = r->reply.what;
    if (code) {
        request_fail_as(r, err);
        return;
    }
    r->reply.what = NULL;
    request_answer(r, made, false);
    r->reply.content_type = drawing_of(r)->media_type;
    r->reply.tagged = false;
}

void drawn_answer(request *r)
{
    tb_error err;
    if (drawing_of(r)->at_desk) {
        r->job.run = run_drawing;
        r->job.bytes = 0;
        request_submit_long(r);
    } else {
        tb_code code = put_answer(r, r->worker->store, &err);
        send_made(r, code, &err);
    }
}

void api_drawn_done(request *r)
{
    send_made(r, r->job.code, &r->job.err);
}

/* --- the printer of a thread --- */

static pthread_once_t printer_once = PTHREAD_ONCE_INIT;
static pthread_key_t printer_key;
static bool printer_keyed; /* else each document makes its own */

static void free_printer(void *printer)
{
    tb_printer_free(printer);
}

static void make_printer_key(void)
{
    printer_keyed = pthread_key_create(&printer_key, free_printer) == 0;
}

tb_printer *drawn_printer(void)
{
    tb_error err;
    pthread_once(&printer_once, make_printer_key);
    if (!printer_keyed) return NULL;
    tb_printer *printer = pthread_getspecific(printer_key);
    if (printer || tb_printer_new(&printer, &err)) return printer;
    if (pthread_setspecific(printer_key, printer) == 0) return printer;
    tb_printer_free(printer);
    return NULL;
}

void drawn_drop_printer(void)
{
    tb_printer *printer = printer_keyed ? pthread_getspecific(printer_key) : NULL;
    if (printer) pthread_setspecific(printer_key, NULL);
    tb_printer_free(printer);
}
