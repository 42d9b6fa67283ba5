/* Fuzzes the reader of a bank's list of payments. The first line is the map, with a '!' in front for amounts with a
 * comma; the rest is the file, which is read as opening balances too. What is accepted must keep the promises of
 * payments.h, and payments read the same again. */
#include "tollbook/settle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void check_payment(const tb_payment *p, uint64_t before)
{
    char numbers[TB_PAYMENT_NUMBERS][24];
    MUST(p->line > before && p->account >= 0);
    MUST(memchr(p->key, 0, sizeof p->key) && p->key[0]);
    MUST(memchr(p->row, 0, sizeof p->row) && strncmp(p->row, "row ", 4) == 0);
    MUST(!p->currency[0] || strlen(p->currency) == 3);
    const size_t n = tb_payment_numbers(p->reference, numbers);
    MUST(n <= TB_PAYMENT_NUMBERS);
    for (size_t i = 0; i < n; i++)
        MUST(numbers[i][0] && memchr(numbers[i], 0, sizeof numbers[i]));
}

static void check_same(const tb_payments *a, const tb_payments *b)
{
    MUST(a->n == b->n);
    for (size_t i = 0; i < a->n; i++) {
        const tb_payment *x = &a->list[i], *y = &b->list[i];
        MUST(x->line == y->line && x->day == y->day && x->account == y->account);
        MUST(tb_decimal_compare(x->amount, y->amount) == 0 && strcmp(x->key, y->key) == 0);
        MUST(strcmp(x->row, y->row) == 0 && strcmp(x->reference, y->reference) == 0);
        MUST(strcmp(x->payer, y->payer) == 0 && strcmp(x->currency, y->currency) == 0);
    }
}

static void try_balances(const char *text, size_t len, bool comma)
{
    tb_payments list;
    tb_error err = {0};
    tb_code code = tb_balances_parse(text, len, comma, &list, &err);
    if (code) {
        MUST(code == TB_E_BAD_INPUT || code == TB_E_TOO_LARGE);
        MUST(err.code == code && err.message[0]);
        return;
    }
    for (size_t i = 0; i < list.n; i++) {
        const tb_payment *p = &list.list[i];
        MUST(p->account >= 1 && p->line >= (i ? list.list[i - 1].line : 1));
        MUST((!p->currency[0] || strlen(p->currency) == 3) && p->amount.scale >= 0 && strlen(p->reference) <= len);
    }
    tb_payments_release(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    const size_t head = end ? (size_t)(end - data) : size;
    const bool comma = head && data[0] == '!';
    char *map = malloc(head + 1), *text = malloc(size - head + 1);
    tb_payments list, again;
    tb_error err = {0};
    MUST(map && text);
    memcpy(map, data + comma, head - comma);
    map[head - comma] = 0;
    const size_t len = end ? size - head - 1 : 0;
    if (len) memcpy(text, end + 1, len);
    tb_code code = tb_payments_parse(text, len, map, comma, &list, &err);
    if (code) {
        MUST(code == TB_E_VALIDATION || code == TB_E_BAD_INPUT || code == TB_E_TOO_LARGE);
        MUST(err.code == code && err.message[0]);
    } else {
        MUST(tb_payments_parse(text, len, map, comma, &again, &err) == TB_OK);
        for (size_t i = 0; i < list.n; i++)
            check_payment(&list.list[i], i ? list.list[i - 1].line : 0);
        check_same(&list, &again);
        tb_payments_release(&again);
        tb_payments_release(&list);
    }
    try_balances(text, len, comma);
    free(text);
    free(map);
    return 0;
}
