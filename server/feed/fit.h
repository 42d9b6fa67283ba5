/* Which form refused lines have, where it is not that of the input's format: a sample of them is tried in the
 * other forms that an input may have. Also finds lines that were taken as combined although each begins with a virtual
 * host, by which its pull zone could be found. */
#ifndef TOLLBOOK_SERVER_FEED_FIT_H
#define TOLLBOOK_SERVER_FEED_FIT_H

#include "tollbook/store.h"

struct feed_report;

#define FEED_VHOST_COMMON "apache:%v %h %l %u %t \"%r\" %>s %O"
#define FEED_VHOST        FEED_VHOST_COMMON " \"%{Referer}i\" \"%{User-Agent}i\""

/* X(NAME, name in an answer, what its lines are, command that takes them). Of several the first is named. */
#define FEED_FORMS(X)                                                                              \
    X(PIPE, "pipe", "lines of the pipe format", "tollbook ingest --format pipe")                   \
    X(VCOMBINED, "vcombined", "lines of the combined format with a host and a port in front",      \
      "tollbook ingest --format vcombined")                                                        \
    X(VHOST, "vhost", "lines of the combined format with a host in front",                         \
      "tollbook ingest --format '" FEED_VHOST "' --region CODE")                                   \
    X(VHOST_COMMON, "vhostCommon", "lines of the common format with a host in front",              \
      "tollbook ingest --format '" FEED_VHOST_COMMON "' --region CODE")                            \
    X(COMBINED, "combined", "lines of the combined format",                                        \
      "tollbook ingest --format combined --zone ID --region CODE")                                 \
    X(CLOUDFRONT, "cloudfront", "lines of CloudFront's standard logs",                             \
      "tollbook ingest --format cloudfront")                                                       \
    X(CADDY, "caddy", "lines of Caddy's access log", "tollbook ingest --format json --map caddy")  \
    X(CLOUDFLARE, "cloudflare", "lines of Cloudflare's Logpush",                                   \
      "tollbook ingest --format json --map cloudflare")                                            \
    X(FASTLY, "fastly", "lines of Fastly's JSON log",                                              \
      "tollbook ingest --format json --map fastly")                                                \
    X(ROWS, "buckets", "usage rows or shield events", "tollbook import")

typedef enum feed_form {
#define TB_X(name, label, what, command) FEED_FORM_##name,
    FEED_FORMS(TB_X)
#undef TB_X
        FEED_FORM_COUNT
} feed_form;

#define FEED_FIT_LINES 256 /* refused lines of a run that are tried */

typedef struct feed_fits {
    uint64_t looked;
    uint64_t taken[FEED_FORM_COUNT]; /* of these, by each form; 0 for the form they were refused in */
} feed_fits;

const char *feed_form_name(feed_form form);
const char *feed_form_what(feed_form form);
const char *feed_form_command(feed_form form);

/* Tries one refused line in the other forms, unless enough were tried. */
void feed_fits_look(feed_fits *fits, tb_batch_kind kind, const tb_log_layout *layout,
                    const char *line, size_t len);
/* Whether a combined log has a host in front of its first line, and is of this form. */
bool feed_fits_host(const tb_log_layout *layout, tb_text beginning, feed_form *ret_form);
/* The warning for such a log, and what to do. */
#define FEED_HOST_WARNING 400
void feed_fits_warn(feed_form form, char text[FEED_HOST_WARNING]);
/* The warning for lines that were taken for a pull zone or an edge location that cannot be billed. false: there is none. */
#define FEED_PLACE_WARNING 400
bool feed_place_warn(const struct feed_report *report, const tb_log_layout *layout, char text[FEED_PLACE_WARNING]);
/* The form that would have taken more than half of them. */
bool feed_fits_best(const feed_fits *fits, feed_form *ret_form);

#endif
