/* size: what holds the database's space. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/json.h"
#include "tollbook/audit.h"

#define MOST 20

static tb_code list_sizes(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const tb_size_by by = tb_arg_is(args, "by", "month")  ? TB_SIZE_BY_MONTH
                          : tb_arg_is(args, "by", "zone") ? TB_SIZE_BY_ZONE
                                                          : TB_SIZE_BY_KIND;
    tb_size *sizes = NULL;
    size_t n = 0;
    tb_code code =
        tb_store_sizes(ops->store, by, tb_arg_number(args, "most", MOST), &sizes, &n, err);
    if (code) return code;
    tb_buf_str(&reply->out, "what\tbytes\n");
    tb_buf_str(&reply->json, "{\"sizes\":[");
    for (size_t i = 0; i < n; i++) {
        tb_buf_fmt(&reply->out, "%s\t%" PRId64 "\n", sizes[i].name, sizes[i].bytes);
        tb_buf_str(&reply->json, i ? ",{\"what\":" : "{\"what\":");
        tb_json_string(&reply->json, sizes[i].name, strlen(sizes[i].name));
        tb_buf_fmt(&reply->json, ",\"bytes\":%" PRId64 "}", sizes[i].bytes);
    }
    tb_buf_str(&reply->json, "]}");
    free(sizes);
    tb__print_answer(args, reply);
    return TB_OK;
}

static const tb_param params[] = {
    {.name = "by", .value = "kind|month|zone", .kind = TB_PARAM_CHOICE, .otherwise = "kind",
     .help = "the rows of the list; default kind"},
    {.name = "most", .value = "N", .kind = TB_PARAM_NUMBER, .min = 1, .max = 1000000,
     .help = "at most so many lines; default 20"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "size",
     .summary = "Show what takes the space, by kind, month or pull zone",
     .details = "By kind all pages of the file are counted, those that are free among them. By month and\n"
                "by pull zone it is what is packed of it: counters, countries, request logs, and by month\n"
                "shield events; \"waiting\" is usage of the last days that is not in its place yet. Of a database with its usage in\n"
                "ClickHouse each shard's tables or months follow, with their rows; of pull zones it says nothing. It visits the whole file, so it takes a while on a large one.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = list_sizes},
};
const tb__operations tb__size_operations = TB__OPERATIONS(rows);
