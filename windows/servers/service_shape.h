/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The distribution of a service time: a mean and a law, or measurements as parts of the requests
 * between two times.  Times are uniform within a part; if the mean is known more accurately than by
 * the parts, all times are scaled to it.
 *
 * If a replica is an engine that serves many requests at once, the shape has this engine.  The
 * times are then those of a request alone in it or, in the short form, in a full batch.
 */
#pragma once

#include "base/error.h"
#include "windows/servers/engine.h"

#include <stddef.h>

enum service_law {
    SERVICE_BY_CV, /* cv 0: constant; 1: exponential; anything else: lognormal */
    SERVICE_CONSTANT,
    SERVICE_EXPONENTIAL,
    SERVICE_LOGNORMAL,
    SERVICE_MEASURED,
    SERVICE_TOKENS, /* by the engine's law and its lengths */
    SERVICE_LAWS,
};

enum { SERVICE_REQUESTS_MIN = 100, SERVICE_SECONDS_MAX = 86400 };

struct service_part {
    double from_s;
    double to_s; /* equal: all took just that long */
    double count;
};

struct service_shape {
    enum service_law law;
    double mean_s;
    double cv;
    struct service_part *parts; /* ascending; of SERVICE_MEASURED only */
    size_t count;
    double requests;       /* that were measured */
    char *origin;          /* where it comes from, for people */
    struct engine *engine; /* owned; NULL: one request at a time; its slots may be 1.  In the short
                              form (of other laws than SERVICE_TOKENS) without a table of lengths */
};

/* A bucket of a classic Prometheus histogram: how many took at most upper_s (INFINITY: all). */
struct service_bucket {
    double upper_s;
    double count;
};

struct service_shape *service_shape_new(enum service_law law, double mean_s, double cv,
                                        const char *origin)
    __attribute__((returns_nonnull, warn_unused_result));
void service_shape_free(struct service_shape *shape);

/* Makes a shape from parts in any order, copied; mean_s 0: their own mean.  ERROR_INVALID for
   invalid times: parts that are negative or no numbers, too few requests, a mean outside of them.
   */
struct service_shape *service_shape_measured(const struct service_part *parts, size_t count,
                                             double mean_s, const char *origin, struct error *err)
    __attribute__((warn_unused_result));

struct service_histogram {
    struct service_bucket *buckets; /* in any order; they are sorted */
    size_t count;
    double sum_s; /* of all times */
    double max_s; /* how long what lies above the last bound takes at most; 0: not known */
};

/* From a histogram.  Counts that fall by less than
   a hundredth of all (each bucket is extrapolated on its own) are raised to the one before.  What
   lies above the last bound counts as that bound; more than a hundredth there is refused, unless
   max_s is known. */
struct service_shape *service_shape_of_histogram(const struct service_histogram *histogram,
                                                 const char *origin, struct error *err)
    __attribute__((warn_unused_result));

/* The same of tokens instead of seconds: lengths of prompts or answers, up to TOKENS_MAX
   (engine_lengths.h).  Histogram and shape have tokens in the places of seconds. */
struct service_shape *service_shape_of_lengths(const struct service_histogram *histogram,
                                               const char *origin, struct error *err)
    __attribute__((warn_unused_result));

/* Makes a shape from an engine with its lengths (engine_lengths.h), which it takes whatever is
   returned.  ERROR_INVALID when a request alone takes over a day, or less than a millisecond on
   average. */
struct service_shape *service_shape_of_engine(struct engine *engine, const char *origin,
                                              struct error *err)
    __attribute__((warn_unused_result));

/* The short form: these are the times of requests in a full batch of so many slots (at least 1). */
void service_shape_set_slots(struct service_shape *shape, int slots, enum engine_router router);

/* Every time is multiplied; not of SERVICE_TOKENS, whose times follow from its engine. */
void service_shape_scale(struct service_shape *shape, double factor);

/* The engine that serves many at once; NULL for one slot, and where there is no shape. */
static inline const struct engine *service_shape_engine(const struct service_shape *shape)
{
    return shape && shape->engine && shape->engine->law.slots > 1 ? shape->engine : NULL;
}

/* "constant", "exponential", "lognormal", "measured", "tokens"; of SERVICE_BY_CV by its cv. */
const char *service_law_name(enum service_law law, double cv);

/* constant, exponential or lognormal; SERVICE_LAWS for anything else. */
enum service_law service_law_parse(const char *name);

static inline void owned_service_shape(struct service_shape **shape)
{
    service_shape_free(*shape);
}
