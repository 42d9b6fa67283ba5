/* What an account has used, as JSON.
 *
 *   cc statistics.c $(pkg-config --cflags --libs tollbook) -o statistics
 *   ./statistics tollbook.db 1            the last month up to now
 *   ./statistics tollbook.db 1 2026-10    a month
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tollbook/tollbook.h>

int main(int argc, char **argv)
{
    int64_t now_us = (int64_t)time(NULL) * TB_US_PER_S, month;
    char first[12] = "", *json;
    tb_error err;
    if (argc < 2) {
        fprintf(stderr, "usage: statistics DB [ACCOUNT [MONTH]]\n");
        return 2;
    }
    if (argc > 3) { /* as it was asked for at the month's end */
        if (!tb_month_parse(argv[3], strlen(argv[3]), &month)) {
            fprintf(stderr, "statistics: %s is not a month, as 2026-10 is\n", argv[3]);
            return 2;
        }
        snprintf(first, sizeof first, "%.7s-01", argv[3]);
        now_us = tb_month_start_us(month + 1) - TB_US_PER_S;
    }
    int64_t account = argc > 2 ? strtoll(argv[2], NULL, 10) : 1;
    if (tb_statistics_file(argv[1], account, first, NULL, now_us, &json, &err)) {
        fprintf(stderr, "statistics: %s\n", err.message);
        return tb_code_exit(err.code);
    }
    puts(json);
    free(json);
    return 0;
}
