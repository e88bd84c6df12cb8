/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The metric names of each inference engine (THE table), and the queries that sluice builds from
 * them.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum engine_name {
    /* Counters and gauges of each instance, at each scrape. */
    NAME_ITERATIONS,
    NAME_GENERATED,   /* tokens */
    NAME_COMPUTED,    /* tokens of prompts, without those from a cache */
    NAME_PROMPTS,     /* tokens of prompts, with them */
    NAME_GAP_SECONDS, /* between tokens */
    NAME_GAPS,
    NAME_RUNNING,
    NAME_WAITING,
    /* Growth or greatest value in all, over the whole span. */
    NAME_FINISHED,  /* requests */
    NAME_CACHED,    /* tokens of prompts from a cache */
    NAME_DRAFTED,   /* tokens of speculative decoding */
    NAME_PREEMPTED, /* requests that lost their place in the cache */
    NAME_KV_USAGE,  /* share of the cache */
    /* Histograms, without _bucket. */
    NAME_TOKENS_OUT,
    NAME_TOKENS_IN,
    NAME_WAITS,
    /* A gauge whose labels, or whose value, give the size of the cache. */
    NAME_CACHE,
    ENGINE_NAMES,
};

enum { ENGINE_OTHER_NAMES = 3 };

struct engine_kind {
    const char *name;
    const char *prefix; /* of all its names */
    const char *by;     /* labels that tell its instances apart */
    /* The first that an instance has counts.  "a - b" is the difference; labels stand in braces. */
    const char *names[ENGINE_NAMES][ENGINE_OTHER_NAMES];
    bool gaps_are_iterations; /* NAME_GAPS are the engine's, not those of its requests */
    const char *advice;       /* what to do, if its counters do not tell its law; NULL: they do */
};

/* vllm, sglang, tgi, dynamo; NULL for another name. */
const struct engine_kind *engine_kind_find(const char *name);

/* The kind, by the beginning of a metric's name; NULL: none has such names. */
const struct engine_kind *engine_kind_of(const char *metric);

/* "vllm{model_name=\"chat\"}": the kind, and the matchers without their braces, the caller's to
   free. ERROR_INVALID for an unknown kind, or braces that do not close. */
int engine_metrics_parse(const char *metrics, const struct engine_kind **ret_kind,
                         char **ret_selector, struct error *err)
    __attribute__((warn_unused_result));

/* Matchers without the braces that may stand around them; the caller frees them. */
char *engine_matchers(const char *matchers) __attribute__((returns_nonnull, warn_unused_result));

/* "vllm, sglang, ..." for people. */
const char *engine_kind_names(void);

/* What is asked of a name's series. */
enum engine_question {
    ASK_VALUE,  /* of each instance: a counter */
    ASK_GAUGE,  /* likewise; ranks of one instance show the same */
    ASK_SERIES, /* how many series an instance has, at most: one, or its labels are too few */
    ASK_TIME,   /* of the scrape: seconds since 1970 */
    ASK_LEAST,  /* of each instance since the step before */
    ASK_MEAN,
    ASK_GROWTH, /* of all, over the step */
    ASK_MOST,
    ASK_BUCKETS, /* the same, by le */
};

/* The question in Prometheus' language; NULL where the engine has no such name.  `selector` are
   matchers without braces ("" for all).  The caller frees it. */
char *engine_query(const struct engine_kind *kind, enum engine_name name,
                   enum engine_question question, const char *selector, int64_t step_ms)
    __attribute__((warn_unused_result));

/* The first name of a histogram with its selector, as source_measure() wants it; NULL: none. */
char *engine_histogram(const struct engine_kind *kind, enum engine_name name, const char *selector)
    __attribute__((warn_unused_result));

/* Gauges of the cache have no model label: those of the instances that the selector names. */
char *engine_cache_query(const struct engine_kind *kind, const char *selector)
    __attribute__((warn_unused_result));
