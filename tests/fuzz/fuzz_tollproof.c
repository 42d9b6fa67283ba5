/* Bundles, receipts and what is remembered of logs. What is read is written again and has to be the same bytes; what is refused has a
 * place. What is read is checked: none is right, as no key signs the input. It is rated too, whatever its proofs say. */
#include "tollbook/bundle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

static const char any_key[] = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

static char *copy_of(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    PROMISE(copy);
    if (size) memcpy(copy, data, size);
    return copy;
}

static void is_same(const tb_buf *out, const uint8_t *data, size_t size)
{
    PROMISE(!out->failed && out->len == size && memcmp(out->data, data, size) == 0);
}

static void check(const tb_tollproof *bundle)
{
    tb_note_key key;
    tb_check_result result;
    tb_buf out;
    PROMISE(tb_note_key_read(any_key, sizeof any_key - 1, &key, NULL) == TB_OK);
    const tb_check_input input = {.bundle = bundle, .key = &key, .witnesses = &key, .n_witnesses = 1,
                                  .since = {{.name = "itself", .note = bundle->checkpoint}}, .n_since = 1};
    PROMISE(tb_check_bundle(&input, &result, NULL) == TB_OK);
    PROMISE(tb_check_status(&result) != 0);
    tb_buf_init(&out, 1 << 20, NULL);
    tb_check_say(&result, "file", &out);
    tb_check_json(&result, "file", &out);
    PROMISE(!out.failed && out.len);
    tb_buf_release(&out);
}

static void rate(const tb_tollproof *bundle)
{
    tb_text books[4], earlier[4];
    tb_check_day days[16];
    tb_check_rated rated;
    tb_error err;
    tb_check_parts parts = {.invoice = bundle->invoice.text, .terms = bundle->terms.text, .books = books, .days = days, .earlier = earlier};
    for (; parts.n_books < 4 && parts.n_books < bundle->books.n; parts.n_books++)
        books[parts.n_books] = bundle->books.parts[parts.n_books].text;
    for (; parts.n_earlier < 4 && parts.n_earlier < bundle->earlier.n; parts.n_earlier++)
        earlier[parts.n_earlier] = bundle->earlier.parts[parts.n_earlier].text;
    for (; parts.n_days < 16 && parts.n_days < bundle->days.n; parts.n_days++) {
        const tb_tollproof_part *day = &bundle->days.parts[parts.n_days];
        tb_proof proof;
        if (tb_proof_read(day->proof.data, day->proof.len, &proof, NULL)) return;
        days[parts.n_days] = (tb_check_day){.index = proof.index, .day = day->day, .text = day->text};
        if (parts.n_days && proof.index <= days[parts.n_days - 1].index) return;
    }
    PROMISE(tb_check_rate(&parts, &rated, &err) == TB_OK || err.message[0]);
}

static void read_bundle(const uint8_t *data, size_t size)
{
    tb_tollproof bundle;
    tb_error err;
    tb_buf out;
    char *copy = copy_of(data, size);
    const tb_code code = tb_tollproof_read(copy, size, &bundle, &err);
    if (code) {
        PROMISE(code == TB_E_VALIDATION && err.message[0] && err.byte && err.byte <= size + 1);
        free(copy);
        return;
    }
    tb_buf_init(&out, 6 * size + 64, NULL);
    tb_tollproof_write(&bundle, &out);
    is_same(&out, data, size);
    tb_buf_release(&out);
    check(&bundle);
    if (!bundle.is_receipts) rate(&bundle);
    tb_tollproof_release(&bundle);
    free(copy);
}

static void read_logs(const uint8_t *data, size_t size)
{
    static tb_check_log logs[TB_CHECK_LOGS_MAX];
    size_t n;
    tb_error err;
    tb_buf out;
    char *copy = copy_of(data, size);
    if (tb_check_logs_read(copy, size, logs, &n, &err) == TB_OK) {
        tb_buf_init(&out, 6 * size + 64, NULL);
        tb_check_logs_write(logs, n, &out);
        is_same(&out, data, size);
        tb_buf_release(&out);
    } else PROMISE(err.code == TB_E_VALIDATION && err.message[0]);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_bundle(data, size);
    read_logs(data, size);
    return 0;
}
