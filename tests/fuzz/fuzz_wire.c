/* What a connection sends: the first byte says where the rest is cut. Cut or whole, the same bytes pass,
 * and what is judged wrong stays so. */
#include <stdlib.h>
#include <string.h>

#include "http/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

static char *copy_of(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy) abort();
    memcpy(copy, data, size);
    return copy;
}

/* Shows `step` bytes more each time, behind what did not pass: as a slow client's come. */
static size_t scan_in_steps(wire *w, char *bytes, size_t size, size_t step)
{
    size_t good = 0, shown = 0;
    while (shown < size && w->state != WIRE_BAD) {
        shown = size - shown < step ? size : shown + step;
        good += wire_scan(w, bytes + good, shown - good);
        PROMISE(good <= shown);
        if (w->state != WIRE_BAD && w->state != WIRE_APART) PROMISE(shown - good < WIRE_HEAD_MAX);
    }
    return good;
}

static void check_judging(const char *bytes, size_t size)
{
    for (size_t n = 0; n <= size && n < 512; n++) {
        wire w = {0};
        char *copy = copy_of((const uint8_t *)bytes, n);
        wire_scan(&w, copy, n);
        if (w.heads) PROMISE(wire_can_judge(bytes, n));
        if (wire_can_judge(bytes, n)) PROMISE(w.heads || w.state == WIRE_BAD);
        free(copy);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const size_t step = 1 + data[0];
    char *once = copy_of(data + 1, size - 1), *twice = copy_of(data + 1, size - 1);
    wire whole = {0}, cut = {0};
    check_judging(once, size - 1);
    const size_t good = wire_scan(&whole, once, size - 1);
    PROMISE(scan_in_steps(&cut, twice, size - 1, step) == good);
    PROMISE(whole.heads == cut.heads && whole.state == cut.state && whole.code == cut.code);
    PROMISE(memcmp(once, twice, good) == 0);
    PROMISE(whole.state != WIRE_BAD || whole.code != TB_OK);
    PROMISE(whole.state != WIRE_BAD || wire_scan(&whole, once, size - 1) == 0);
    free(once);
    free(twice);
    return 0;
}
