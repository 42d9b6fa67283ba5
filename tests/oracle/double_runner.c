/* Reads doubles as hexadecimal bits, one a line, and prints each as the engine does. */
#include "tollbook/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    uint64_t bits;
    while (scanf("%" SCNx64, &bits) == 1) {
        double value;
        memcpy(&value, &bits, sizeof value);
        char text[TB_DOUBLE_TEXT_MAX + 1];
        *tb_put_double(text, value) = 0;
        puts(text);
    }
    return 0;
}
