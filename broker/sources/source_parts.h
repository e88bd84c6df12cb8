/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of broker/sources share.  A fetch has lines (one class of one queue); it is cut
 * into parts, each as large as one request of its kind of source may be; a part is asked for page
 * by page.  A kind writes the request of a page and reads its answer, and keeps nothing between.
 */
#pragma once

#include "base/array.h"
#include "base/world/http.h"
#include "broker/sources/source.h"
#include "providers/aws/aws_login.h"
#include "providers/gcp/gcp_token.h"

enum { SOURCE_HEADERS_MAX = 8 };

/* How much of a line the pages so far had. */
enum line_state { LINE_UNHEARD, LINE_PARTIAL, LINE_BROKEN, LINE_COMPLETE };

struct source_line {
    size_t queue;
    enum demand_class class;
    char *name;
    double *points; /* NAN: unknown */
    enum line_state state;
};

struct source_part {
    struct source_line *lines;
    size_t line_count;
    struct source_span span;
    size_t first_step; /* of the whole fetch */
    char *page;        /* token of the page that is asked for; NULL: the first */
    size_t points;     /* that the page brought */
};

struct source_request {
    enum http_method method;
    char *url;
    struct text *body; /* NULL: none */
    struct {
        const char *name;
        char *value;
    } headers[SOURCE_HEADERS_MAX];
    size_t header_count;
};

/* The credentials of a request. */
struct source_access {
    const char *bearer;          /* of Google; NULL elsewhere */
    const struct aws_keys *keys; /* of AWS; NULL elsewhere */
    struct wall_time now;        /* the time by the source's clock */
};

#define SOURCE_ENDPOINT_HELP                                                                       \
    "URL of the API, without /api/v1 (https, or loopback); absent: the cloud's own"

/* A row of the table where a kind fills one member of the settings. */
#define SOURCE_SETTING(key, type, otherwise, help)                                                 \
    {                                                                                              \
#key, type, offsetof(struct source_settings, key), otherwise, 0, 0, help                   \
    }

struct source_kind {
    struct settings_kind own; /* its keys of `sources.NAME`; its name is the kind's */
    size_t lines_max;         /* in one request */
    size_t steps_max;         /* of one line in one request; 0: any number */
    size_t points_max;        /* of all lines in one request; 0: any number */
    bool is_google;           /* asks with an access token */
    bool is_aws;              /* signs with keys */
    bool has_histograms;      /* it also keeps what engines count: source_measure() */

    /* Whether the source still keeps points of that step; NULL: it does. */
    int (*check)(const struct source *source, const struct source_span *span, struct error *err);
    int (*write)(const struct source *source, const struct source_part *part,
                 const struct source_access *access, struct source_request *request,
                 struct error *err);
    /* Adds the points; *ret_next is the token of the next page, to be freed by the caller, and
       stays NULL after the last.  ERROR_CONFLICT: ask for the pages again, from the first one. */
    int (*read)(const struct source *source, struct source_part *part,
                const struct http_answer *answer, char **ret_next, struct error *err);
};

struct source {
    struct world *world;
    const struct source_settings *settings;
    const struct source_kind *kind;
    struct gcp_token *google;
    struct aws_login *aws;
    struct text *ca;
    struct http_tls tls;
    struct source_ask *asks; /* all that are asked, or may be */
    uint64_t turns;          /* given out so far */
    struct source_effort effort;
};

extern const struct source_kind source_prometheus, source_cloudwatch, source_monitoring;

/* The header "NAME: PREFIXVALUE"; `name` must outlive the request. */
void source_request_header(struct source_request *request, const char *name, const char *prefix,
                           const char *value);
void source_request_clear(struct source_request *request);

/* The template with $arrivals and $step replaced; the caller frees it. */
char *source_expand(const char *template, const char *arrivals, int64_t step_ms)
    __attribute__((warn_unused_result));

/* One point: the arrivals of the step that begins at `ms`.  Points outside the part are dropped.
   One between two steps, or a number that is no count, is ERROR_CORRUPT. */
int source_add_point(struct source_part *part, size_t line, int64_t ms, double value,
                     struct error *err) __attribute__((warn_unused_result));

/* The error for a status other than 200; `said` is the source's own message. */
int source_refused(const struct http_answer *answer, const char *said, struct error *err);

/* The points of a whole fetch.  Borrowed. */
struct source_points {
    const struct source_line *lines; /* each of one of the queues, with a point for each step */
    size_t line_count;
    const struct source_queue *queues;
    size_t queue_count;
    struct source_span span;
    bool missing_zero; /* steps without a point, in an hour that has points, are 0 */
};

/* The demand that they are; the caller frees it.  series.c */
struct demand *source_make_demand(const struct source_points *points)
    __attribute__((returns_nonnull, warn_unused_result));

static inline size_t source_steps(const struct source_span *span)
{
    return (size_t)((span->to.ms - span->from.ms) / span->step_ms);
}

static inline void owned_source_request(struct source_request *request)
{
    source_request_clear(request);
}
