/* From the job on the answer is kept in r->reply.answer, so it is released with the request. */
#include "api/drawn.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/handlers.h"
#include "http/query.h"

/* --- the form --- */

bool drawn_is_word(tb_text text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

tb_shown_form drawn_accepted(const request *r, const drawn_form *from)
{
    const char *types[TB_SHOWN_FORM_COUNT];
    char bare[TB_SHOWN_FORM_COUNT][40];
    for (size_t i = 0; i < from->n; i++) {
        const char *media = tb_shown_media_type(from->forms[i]);
        snprintf(bare[i], sizeof bare[i], "%.*s", (int)strcspn(media, ";"), media);
        types[i] = bare[i];
    }
    const size_t chosen = query_choose_type(request_header(r, HEADER_ACCEPT), types, from->n);
    return from->forms[chosen < from->n ? chosen : 0];
}

static tb_code take_form(const drawn_form *from, tb_text value, tb_shown_form *form, tb_error *err)
{
    *form = tb_shown_form_of(value.data, value.len);
    for (size_t i = 0; i < from->n; i++)
        if (from->forms[i] == *form) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "format", "It must be one of %s.", from->words);
}

tb_code drawn_take(const drawn_form *from, tb_text name, tb_text value, tb_shown_form *form,
                   tb_print_options *pages, tb_error *err)
{
    if (drawn_is_word(name, "format")) return take_form(from, value, form, err);
    if (!drawn_is_word(name, "paper")) return TB_OK;
    pages->letter = drawn_is_word(value, "letter");
    if (pages->letter || drawn_is_word(value, "a4")) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "paper", "It must be a4 or letter.");
}

/* --- the answer --- */

static const drawing *drawing_of(const request *r)
{
    return (const drawing *)(const void *)r->work;
}

static tb_code put_answer(request *r, tb_store *store, tb_error *err)
{
    answer *made = answer_new();
    if (!made) return tb_no_memory(err);
    tb_code code = drawing_of(r)->put(r, store, answer_body(made), err);
    if (code)
        answer_drop(made);
    else
        r->reply.answer = made;
    return code;
}

static tb_code run_drawing(write_job *job, tb_store *store, tb_error *err)
{
    return put_answer(job->owner, store, err);
}

/* As an answer, since it may be longer than the text that a connection keeps. */
static void send_made(request *r, tb_code code, const tb_error *err)
{
    answer *made = r->reply.answer;
    if (code) {
        request_fail_as(r, err);
        return;
    }
    r->reply.answer = NULL;
    request_answer(r, made, false);
    r->reply.content_type = drawing_of(r)->media_type;
    r->reply.tagged = false;
    if (!drawing_of(r)->file) return;
    snprintf(r->scratch, sizeof r->scratch, "inline; filename=\"%s\"", drawing_of(r)->file);
    r->reply.disposition = r->scratch;
}

void drawn_answer(request *r)
{
    tb_error err;
    if (drawing_of(r)->slow) {
        r->job.run = run_drawing;
        r->job.bytes = 0;
        request_submit_slow(r);
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
static bool printer_keyed; /* false: each document makes its own printer */

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
