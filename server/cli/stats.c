/* tollbook stats: exactly the bytes that the HTTP endpoint answers. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "tollbook/statistics.h"

static tb_answer_kind kind_of(const cli_call *call)
{
    for (int kind = 0; kind < TB_ANSWER_KINDS_; kind++)
        if (cli_is(call, "kind", tb_answer_name((tb_answer_kind)kind)))
            return (tb_answer_kind)kind;
    return TB_ANSWER_STATISTICS;
}

static tb_text text_of(const cli_call *call, const char *option)
{
    const char *text = cli_text(call, option);
    return (tb_text){.data = text, .len = text ? strlen(text) : 0};
}

static int usage(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

static int check_kind(const cli_call *call, tb_answer_kind kind)
{
    if (kind == TB_ANSWER_STATISTICS) return 0;
    if (!cli_given(call, "zone"))
        return usage(call, "These figures belong to a pull zone. Give --zone ID.");
    if (cli_given(call, "exact") || cli_given(call, "latest"))
        return usage(call, "--exact and --latest need --kind statistics.");
    return 0;
}

static int read_range(const cli_call *call, tb_answer_kind kind, int64_t now_us,
                      tb_range *ret_range)
{
    tb_error err;
    tb_range_query query = {.from = text_of(call, "from"),
                            .to = text_of(call, "to"),
                            .hourly = cli_given(call, "hourly"),
                            .exact = cli_given(call, "exact"),
                            .latest = cli_given(call, "latest"),
                            .statistics = kind == TB_ANSWER_STATISTICS};
    if (tb_range_resolve(&query, now_us, ret_range, &err) == TB_OK) return 0;
    bool to = strcmp(err.field, "dateTo") == 0;
    return cli_fail(call, to ? "--to" : "--from", &err);
}

static tb_code answer(tb_store *store, const tb_view *view, tb_range range, tb_answer_kind kind,
                      int64_t now_us, tb_buf *out, tb_error *err)
{
    bool exists;
    tb_code code = tb_store_account_exists(store, view->account, &exists, err);
    if (code) return code;
    if (!exists)
        return tb_fail(err, TB_E_NOT_FOUND, "account",
                       "There is no account %" PRId64 ". Declare it with `tollbook apply` first.",
                       view->account);
    return tb_statistics(store, view, range, kind, now_us, out, err);
}

int cli_stats(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    tb_range range;
    int64_t now_us;
    tb_buf out;
    tb_answer_kind kind = kind_of(call);
    tb_view view = {.account = cli_number(call, "account", 0),
                    .zone = cli_number(call, "zone", TB_ALL),
                    .region = TB_ALL};
    int status = check_kind(call, kind);
    if (status == 0) status = cli_clock(call, &now_us);
    if (status == 0) status = read_range(call, kind, now_us, &range);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_buf_init(&out, TB_STATISTICS_MAX, NULL);
    if (answer(store, &view, range, kind, now_us, &out, &err)) {
        status = cli_fail(call, NULL, &err);
    } else {
        fwrite(out.data, 1, out.len, stdout);
        status = cli_done(call);
    }
    tb_buf_release(&out);
    tb_store_close(store);
    return status;
}
