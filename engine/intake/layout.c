/* Layouts: what --format, --map, --zone and --region say, as one value. */
#include "intake/chars.h"
#include "intake/columns.h"

#include <stdlib.h>
#include <string.h>

static bool is_format(tb_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

/* What follows the prefix; false where the text does not begin so. */
static bool after_prefix(tb_text text, const char *prefix, tb_text *ret)
{
    const size_t len = strlen(prefix);
    if (text.len < len || memcmp(text.data, prefix, len) != 0) return false;
    *ret = (tb_text){text.data + len, text.len - len};
    return true;
}

static tb_code bad_option(tb_error *err, const char *field, const char *sentence)
{
    return tb_fail(err, TB_E_VALIDATION, field, "%s", sentence);
}

/* --- zone and region --- */

static tb_code check_region(tb_text region, tb_error *err)
{
    if (region.len == 0) return TB_OK;
    if (region.len <= TB_EDGE_MAX &&
        tb__char_span(region.data, region.data + region.len, TB__CHAR_EDGE) == region.len)
        return TB_OK;
    return bad_option(err, "region", "region must be 1 to 16 letters, digits, '_', '.' or '-'.");
}

static tb_code check_zone(const tb_log_columns *c, int64_t zone, tb_error *err)
{
    const bool told = tb__has_role(c, TB__ROLE_ZONE) || tb__has_role(c, TB__ROLE_HOST);
    if (zone > 0 || told) return TB_OK;
    return bad_option(err, "zone",
               "The lines have neither a pull zone nor a host that can be told from other texts: give zone, from "
               "1 up, or a description with a host, in quotes or before all texts.");
}

/* --- formats --- */

static tb_code init_pipe(tb_log_layout *layout, const tb_log_spec *spec, tb_error *err)
{
    *layout = (tb_log_layout){.format = TB_FORMAT_PIPE};
    if (spec->map.len) return bad_option(err, "map", "Only format json has a map.");
    if (spec->zone || spec->region.len)
        return bad_option(err, spec->zone ? "zone" : "region",
                   "Pipe lines name their zone and edge location themselves: leave out zone "
                   "and region, or give another format.");
    return TB_OK;
}

static tb_code compile_format(tb_log_columns *c, const tb_log_spec *spec, tb_error *err)
{
    static const char vcombined[] = "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" "
                                    "\"%{User-Agent}i\"";
    tb_text text;
    if (is_format(spec->format, "json")) return tb__compile_json(c, spec->map, err);
    if (spec->map.len) return bad_option(err, "map", "Only format json has a map.");
    if (is_format(spec->format, "vcombined"))
        return tb__compile_apache(c, (tb_text){vcombined, sizeof vcombined - 1}, err);
    if (after_prefix(spec->format, "nginx:", &text)) return tb__compile_nginx(c, text, err);
    if (after_prefix(spec->format, "apache:", &text)) return tb__compile_apache(c, text, err);
    if (is_format(spec->format, "cloudfront")) return tb__compile_w3c(c, (tb_text){"", 0}, err);
    if (after_prefix(spec->format, "cloudfront:", &text)) {
        c->given = true;
        return tb__compile_w3c(c, text, err);
    }
    if (is_format(spec->format, "nginx") || is_format(spec->format, "apache"))
        return tb_fail(err, TB_E_VALIDATION, "format",
                       "\"%.*s\" needs the description behind it: %s. For the usual format give combined. Formats are"
                       " pipe, combined, vcombined, nginx:DESCRIPTION, apache:DESCRIPTION, json with a map, and cloudfront.",
                       (int)spec->format.len, spec->format.data,
                       spec->format.data[0] == 'n' ? "nginx:'...', as log_format has it" : "apache:'...', as LogFormat has it");
    char meant[TB_MEANT_MAX];
    return tb_fail(err, TB_E_VALIDATION, "format",
                   "\"%.*s\" is no format.%s Formats are pipe, combined, vcombined, nginx:DESCRIPTION, "
                   "apache:DESCRIPTION, json with a map, and cloudfront.",
                   (int)(spec->format.len < 40 ? spec->format.len : 40), spec->format.data,
                   tb_meant("pipe|combined|vcombined|nginx|apache|json|cloudfront", "", spec->format.data, spec->format.len, meant));
}

static void keep_texts(tb_log_columns *c, const tb_log_spec *spec)
{
    c->format_len = (uint16_t)spec->format.len;
    memcpy(c->format, spec->format.data, spec->format.len);
    c->map_len = (uint16_t)spec->map.len;
    if (spec->map.len) memcpy(c->map, spec->map.data, spec->map.len);
    if (spec->region.len) memcpy(c->edge, spec->region.data, spec->region.len);
}

/* Combined lines are read by a reader of their own; the table here keeps the texts. */
static tb_code init_columns(tb_log_layout *layout, const tb_log_spec *spec, tb_error *err)
{
    const bool combined = is_format(spec->format, "combined");
    tb_log_columns *c = calloc(1, sizeof *c);
    if (!c) return tb_no_memory(err);
    keep_texts(c, spec);
    tb_code code = combined ? TB_OK : compile_format(c, spec, err);
    if (!code && combined && spec->map.len) code = bad_option(err, "map", "Only format json has a map.");
    if (!code && combined && spec->zone < 1)
        code = bad_option(err, "zone", "Combined lines have no zone: give zone, from 1 up.");
    if (!code && !combined) code = check_zone(c, spec->zone, err);
    if (code) {
        free(c);
        return code;
    }
    *layout = (tb_log_layout){.format = combined ? TB_FORMAT_COMBINED : TB_FORMAT_COLUMNS,
                              .zone = spec->zone, .columns = c};
    if (spec->region.len) {
        layout->edge = c->edge;
        layout->edge_len = (uint8_t)spec->region.len;
    } else if (combined || !tb__has_role(c, TB__ROLE_REGION)) {
        layout->edge = "-";
        layout->edge_len = 1;
    }
    return TB_OK;
}

tb_code tb_log_layout_init(tb_log_layout *layout, const tb_log_spec *spec, tb_error *err)
{
    *layout = (tb_log_layout){.format = TB_FORMAT_PIPE};
    if (spec->format.len > TB_LOG_TEXT_MAX || spec->map.len > TB_LOG_TEXT_MAX)
        return tb_fail(err, TB_E_VALIDATION, spec->map.len > TB_LOG_TEXT_MAX ? "map" : "format",
                       "It has more than %d bytes.", TB_LOG_TEXT_MAX);
    if (spec->format.len && memchr(spec->format.data, 0, spec->format.len))
        return bad_option(err, "format", "The description holds a NUL byte.");
    if (spec->zone < 0) return bad_option(err, "zone", "zone is a number from 1 up.");
    if (spec->format.len == 0 || is_format(spec->format, "pipe")) return init_pipe(layout, spec, err);
    tb_code code = check_region(spec->region, err);
    return code ? code : init_columns(layout, spec, err);
}

void tb_log_layout_release(tb_log_layout *layout)
{
    free(layout->columns);
    *layout = (tb_log_layout){.format = TB_FORMAT_PIPE};
}

/* --- heads --- */

/* The names of the first "#Fields:" among the lines that a log begins with. */
static tb_text find_fields(const char *bytes, size_t len)
{
    static const char name[] = "#Fields:";
    for (const char *p = bytes + tb__mark_len(bytes, len), *end = bytes + len; p < end && *p == '#';) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        if ((size_t)(stop - p) > sizeof name - 1 && memcmp(p, name, sizeof name - 1) == 0) {
            p += sizeof name - 1;
            while (p < stop && *p == ' ')
                p++;
            while (stop > p && (stop[-1] == '\r' || stop[-1] == ' '))
                stop--;
            return (tb_text){p, (size_t)(stop - p)};
        }
        p = newline ? newline + 1 : end;
    }
    return (tb_text){NULL, 0};
}

/* The same layout with these fields. */
static tb_code take_fields(tb_log_layout *layout, tb_log_columns *anew, tb_text fields,
                           tb_error *err)
{
    tb_log_spec spec;
    if (fields.len > TB_LOG_TEXT_MAX - sizeof "cloudfront:")
        return bad_option(err, "format", "The log's head is too long.");
    tb_log_layout_identity(layout, &spec);
    keep_texts(anew, &spec);
    tb_code code = tb__compile_w3c(anew, fields, err);
    if (!code) code = check_zone(anew, layout->zone, err);
    if (code) return code;
    *layout->columns = *anew;
    if (spec.region.len) return TB_OK;
    const bool told = tb__has_role(anew, TB__ROLE_REGION);
    layout->edge = told ? NULL : "-";
    layout->edge_len = !told;
    return TB_OK;
}

tb_code tb_log_layout_head(tb_log_layout *layout, const char *bytes, size_t len, tb_error *err)
{
    if (!tb_log_layout_heads(layout) || layout->columns->given) return TB_OK;
    tb_log_columns *anew = calloc(1, sizeof *anew);
    if (!anew) return tb_no_memory(err);
    tb_code code = take_fields(layout, anew, find_fields(bytes, len), err);
    free(anew);
    return code;
}

bool tb_log_layout_heads(const tb_log_layout *layout)
{
    return layout->format == TB_FORMAT_COLUMNS && layout->columns->family == TB__FAMILY_W3C;
}

/* --- texts --- */

void tb_log_layout_identity(const tb_log_layout *layout, tb_log_spec *ret_spec)
{
    const tb_log_columns *c = layout->columns;
    *ret_spec = (tb_log_spec){.format = {"pipe", 4}, .map = {"", 0}, .region = {"", 0}};
    if (!c) return;
    ret_spec->zone = layout->zone;
    ret_spec->format = (tb_text){c->format, c->format_len};
    ret_spec->map = (tb_text){c->map, c->map_len};
    if (layout->edge == c->edge) ret_spec->region = (tb_text){c->edge, layout->edge_len};
    if (tb_log_layout_heads(layout)) ret_spec->format.len = sizeof "cloudfront" - 1;
}

void tb_log_layout_spec(const tb_log_layout *layout, tb_log_spec *ret_spec)
{
    tb_log_columns *c = layout->columns;
    tb_log_layout_identity(layout, ret_spec);
    if (!tb_log_layout_heads(layout)) return;
    const size_t name = sizeof "cloudfront:" - 1;
    memcpy(c->format, "cloudfront:", name);
    memcpy(c->format + name, c->fields, c->fields_len);
    ret_spec->format = (tb_text){c->format, name + c->fields_len};
}
