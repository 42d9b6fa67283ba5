/* What a request log looks like: a format's name or its description, compiled once.
 *
 * A format is one of
 *   pipe                 the pipe format (intake.h)
 *   combined             nginx's and Apache's combined format
 *   vcombined            Apache's, with the virtual host in front
 *   nginx:DESCRIPTION    what follows the name in a log_format directive
 *   apache:DESCRIPTION   what follows LogFormat
 *   json                 an object a line, whose fields a map names
 *   cloudfront           W3C lines with tabs, and the head that names their fields
 * docs/formats.md says what each understands.
 *
 * Life cycle: tb_log_layout_init, tb_log_layout_head where there is a beginning to look at, reading,
 * tb_log_layout_release. */
#ifndef TOLLBOOK_LOGFORMAT_H
#define TOLLBOOK_LOGFORMAT_H

#include "tollbook/buf.h"
#include "tollbook/intake.h"

TB_API_BEGIN

#define TB_LOG_TEXT_MAX 2048 /* longest description, and longest map, bytes */

/* What --format, --map, --zone and --region say. Texts that are absent have len 0; zone 0: absent. */
typedef struct tb_log_spec {
    tb_text format, map, region;
    int64_t zone;
} tb_log_spec;

/* A layout for these lines; nothing of spec is borrowed. now_ms, edges and hosts are the caller's to set.
 * Errors: TB_E_VALIDATION, whose field is the parameter ("format", "map", "zone", "region") and whose
 * sentence names the place in it and what is understood; NOMEM. */
TB_MUST_USE tb_code tb_log_layout_init(tb_log_layout *layout, const tb_log_spec *spec,
                                       tb_error *err);
void tb_log_layout_release(tb_log_layout *layout); /* also of a layout that is all zeros */

/* Whether lines that begin with "#" are heads. */
bool tb_log_layout_heads(const tb_log_layout *layout);
/* Looks at a log's first bytes for a head that names its columns, and takes them over, unless the format
 * says them; without a head they are the standard ones. */
TB_MUST_USE tb_code tb_log_layout_head(tb_log_layout *layout, const char *bytes, size_t len,
                                       tb_error *err);

/* The texts that make the same layout again, elsewhere: the fields of a head among them. They live as
 * long as the layout. */
void tb_log_layout_spec(const tb_log_layout *layout, tb_log_spec *ret_spec);
/* The text that tells one layout's logs from another's; the fields of a head are not among it. */
void tb_log_layout_identity(const tb_log_layout *layout, tb_log_spec *ret_spec);

/* Hostnames and the pull zones that have them. */
typedef struct tb_known_hosts tb_known_hosts;
#define TB_HOST_MAX 256
TB_MUST_USE tb_code tb_known_hosts_new(tb_known_hosts **ret_hosts, tb_error *err);
void tb_known_hosts_free(tb_known_hosts *hosts); /* NULL is fine */
/* A name that two zones have is nobody's. */
TB_MUST_USE tb_code tb_known_hosts_add(tb_known_hosts *hosts, const char *name, size_t len,
                                       int64_t zone, tb_error *err);
/* A name of a catalogue: one that is not ASCII is also known as DNS and logs have it ("xn--..."). Clients' names are
 * only added: none of them is worth a conversion, and the two are not one name to a server that knows both. */
TB_MUST_USE tb_code tb_known_hosts_declare(tb_known_hosts *hosts, const char *name, size_t len,
                                           int64_t zone, tb_error *err);
/* For a table that does not have every name: one that is not there is `other`'s (not 0), and missed is called
 * with it in lower case, without port and last point. */
void tb_known_hosts_open(tb_known_hosts *hosts, int64_t other,
                         void (*missed)(void *ctx, const char *name, size_t len), void *ctx);
/* The zone of a host, whatever the letters' case; a port, a last point and the brackets of
 * an IPv6 address are passed over. 0: nobody's. */
int64_t tb_known_hosts_find(const tb_known_hosts *hosts, const char *name, size_t len);

TB_API_END

#endif
