/* A filter of request logs in SQL, a little wider than itself: the lines that come are held against the filter again,
 * by the code that filters blocks (requestlog.h), so that its rules of letter case, hosts and addresses stand in one
 * place. */
#include "store/clickhouse/lines.h"

#include <string.h>

/* What free text is searched in; a hit over two of them is held against the filter again. */
#define SEARCHED "concat(cache,edge,origin,path,agent,referer,byte_range,id)"

static void put_holds(tb_buf *sql, const char *what, tb_text needle)
{
    tb_buf_fmt(sql, "positionCaseInsensitive(%s,", what);
    tb__ch_quote(sql, needle);
    tb_buf_str(sql, ")>0");
}

static void put_holding(tb_buf *sql, const char *what, tb_text needle)
{
    if (!needle.len) return;
    tb_buf_str(sql, " AND ");
    put_holds(sql, what, needle);
}

static void put_statuses(tb_buf *sql, const tb_log_filter *f)
{
    if (!f->by_status) return;
    tb_buf_str(sql, " AND status IN(''"); /* one without is held against the filter again */
    for (unsigned s = 0; s < 600; s++)
        if (f->status[s / 8] >> (s % 8) & 1) tb_buf_fmt(sql, ",'%03u'", s);
    tb_buf_str(sql, ")");
}

static void put_list(tb_buf *sql, const char *what, const tb_log_list *list)
{
    if (!list->n) return;
    tb_buf_fmt(sql, " AND lower(%s) IN(", what);
    for (size_t i = 0; i < list->n; i++) {
        const tb_text one = list->item[i];
        if (i) tb_buf_str(sql, ",");
        tb__ch_quote(sql, one);
        if (one.len == 1 && *one.data == '-') tb_buf_str(sql, ",''");
    }
    tb_buf_str(sql, ")");
}

static void put_address(tb_buf *sql, const tb_log_filter *f)
{
    const unsigned n = f->ip_bits / 8;
    if (!f->by_ip) return;
    if (f->ip_is_v4) {
        const uint32_t a = (uint32_t)f->ip[0] << 24 | (uint32_t)f->ip[1] << 16 | (uint32_t)f->ip[2] << 8 | f->ip[3];
        const unsigned drop = 32 - f->ip_bits;
        tb_buf_fmt(sql, " AND bitShiftRight(IPv4StringToNum(ip),%u)=%u", drop, (unsigned)((uint64_t)a >> drop));
        return;
    }
    tb_buf_fmt(sql, " AND substring(toString(IPv6StringToNum(ip)),1,%u)=", n);
    tb__ch_quote(sql, (tb_text){(const char *)f->ip, n});
}

static void put_id(tb_buf *sql, const tb_log_filter *f)
{
    if (!f->by_id) return;
    tb_buf_str(sql, " AND id='");
    for (int i = 0; i < 16; i++)
        tb_buf_fmt(sql, "%02x", f->id[i]);
    tb_buf_str(sql, "'");
}

static void put_search(tb_buf *sql, const tb_log_filter *f)
{
    if (!f->tokens.n) return;
    tb_buf_str(sql, " AND(0");
    for (size_t i = 0; i < f->tokens.n; i++) {
        const tb_text token = f->tokens.item[i];
        tb_buf_str(sql, " OR ");
        put_holds(sql, SEARCHED, token);
        if (token.len == 1 && *token.data == '-') tb_buf_str(sql, " OR cache=''");
    }
    tb_buf_str(sql, ")");
}

void tb__ch_put_filter(tb_buf *sql, const tb_log_filter *f)
{
    put_statuses(sql, f);
    put_list(sql, "cache", &f->cache);
    put_list(sql, "country", &f->country);
    if (f->edge.len) {
        tb_buf_str(sql, " AND edge=");
        tb__ch_quote(sql, f->edge);
    }
    put_id(sql, f);
    put_address(sql, f);
    put_holding(sql, "agent", f->agent);
    put_holding(sql, "referer", f->referer);
    put_holding(sql, "concat(origin,path)", f->url);
    put_search(sql, f);
}
