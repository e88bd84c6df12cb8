/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the instances of an engine counted over a span, as Prometheus scraped it.  Counters come
 * instance by instance, with the times of their scrapes: summed over instances first, a restart of
 * one would look like work of the others.  What no series tells is NAN, never 0.
 */
#pragma once

#include "broker/sources/engines.h"
#include "broker/sources/source.h"
#include "windows/servers/profile.h"

#include <stdint.h>

/* A histogram that was measured, or why not. */
struct engine_lengths {
    struct service_shape *shape; /* tokens in the place of seconds; NULL: why */
    struct error why;
};

struct engine_scrapes {
    struct profile_scrape *scrapes; /* sorted by instance, then time */
    size_t count;
    char **instances; /* what their labels say */
    size_t instance_count;
    double slots_seen; /* the most that ran while others waited; NAN: none ever waited */
    double running_most;
    double totals[ENGINE_NAMES]; /* of NAME_FINISHED to NAME_KV_USAGE; NAN */
    double computed;             /* tokens of prompts, of all instances, */
    double prompts;              /* where both are told: one is a share of the other */
    double cache_tokens;         /* of one instance's cache; NAN: not known */
    bool has_cache_off;          /* it says that it keeps no prefixes */
    struct engine_lengths out;
    struct engine_lengths in;
    struct service_bucket *waits; /* cumulative, ascending; may be none */
    size_t wait_count;
};

struct engine_question_set {
    const struct engine_kind *kind;
    const char *selector; /* matchers without braces; "" for all */
    struct wall_time from;
    struct wall_time to;
    int64_t step_ms; /* of scrapes: more often is not asked */
};

/* Scrapes of 15 s, or as far apart as a server gives points of the whole span; `from` moves forward
   to a step, `to` back to 15 s. */
void engine_question_set_span(struct engine_question_set *questions, struct wall_time from,
                              struct wall_time to);

/* Exactly one of scrapes and err is not NULL; the scrapes are the callee's to free. */
typedef void (*engine_scrapes_fn)(void *context, struct engine_scrapes *scrapes,
                                  const struct error *err);

/* Asks one thing after the other; `done` is called once, in a later turn.  ERROR_NOT_FOUND when no
   series is called so.  The question's texts must live until then. */
int engine_scrapes_ask(struct source *source, const struct engine_question_set *questions,
                       engine_scrapes_fn done, void *context, struct error *err)
    __attribute__((warn_unused_result));

void engine_scrapes_free(struct engine_scrapes *scrapes);

static inline void owned_engine_scrapes(struct engine_scrapes **scrapes)
{
    engine_scrapes_free(*scrapes);
}
