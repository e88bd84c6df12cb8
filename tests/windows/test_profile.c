/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether the law of a played engine is found again in its counters, and refused where the counters
 * do not hold it.
 */
#include "base/text.h"
#include "tests/support/unit.h"
#include "tests/windows/engine_play.h"
#include "windows/servers/profile.h"

#define R1                                                                                         \
    .base_s = 0.010, .request_s = 0.0005, .prefill_s = 20e-6, .slots = 16, .tokens_in = 500,       \
    .tokens_out = 200, .noise = 0.05

static const struct profile_hints no_hints;

/* `instances` of one kind, each with a seed of its own. */
static struct profile_scrape *play_all(const struct engine_play *play, uint64_t seed,
                                       size_t instances)
{
    size_t each = (size_t)play->scrapes;
    struct engine_scrape *played = mem_new_array(each, sizeof *played);
    struct profile_scrape *scrapes = mem_new_array(each * instances, sizeof *scrapes);

    for (size_t i = 0; i < instances; i++) {
        engine_play(play, seed + i, i, 1e9, played);
        for (size_t at = 0; at < each; at++)
            scrapes[i * each + at] = played[at].scrape;
    }
    mem_free(played);
    return scrapes;
}

static int measure(const struct profile_scrape *scrapes, size_t count,
                   const struct profile_hints *hints, struct profile_law *law, struct error *err)
{
    owned(profile_intervals) struct profile_intervals *intervals = profile_intervals_new(scrapes,
                                                                                         count);

    return profile_measure(intervals, hints, law, err);
}

static void expect_near(const char *name, const struct profile_law *law,
                        const struct engine_play *play, double within)
{
    const double want[] = { play->base_s, play->request_s, play->prefill_s };
    static const double looser[] = { 1, 1, 5 };

    for (int term = 0; term < PROFILE_TERMS; term++)
        if (fabs(law->value[term] / want[term] - 1) > within * looser[term])
            fail_msg("%s: term %d is %g +- %g, not %g (used %zu)", name, term, law->value[term],
                     law->error[term], want[term], law->used);
}

/* Waves of load from the first share of the capacity (4.44 a second, 4 with prefill) to the second.
 */
static void the_law_of_an_engine_is_found_again(void **state)
{
    static const struct {
        const char *name;
        double low, high, scrape_s;
        size_t instances;
    } rows[] = {
        { "20 to 90 %", 0.8, 3.6, 15, 1 },
        { "50 to 90 %", 2, 3.6, 15, 1 },
        { "constant 70 %", 2.8, 2.8, 15, 1 },
        { "5 to 60 %", 0.2, 2.4, 15, 3 },
        { "once in half a minute", 0.8, 3.6, 30, 2 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct engine_play play = { R1,
                                          .scrape_s = rows[i].scrape_s,
                                          .low = rows[i].low,
                                          .high = rows[i].high,
                                          .waves = 4,
                                          .scrapes = 480 };
        struct profile_scrape *scrapes = play_all(&play, 10 * i + 1, rows[i].instances);
        struct profile_law law;
        struct error err = { 0 };

        if (measure(scrapes, 480 * rows[i].instances, &no_hints, &law, &err) < 0)
            fail_msg("%s: %s", rows[i].name, err.text);
        if (law.method != PROFILE_BY_COUNTERS)
            fail_msg("%s: %s", rows[i].name, law.why[PROFILE_BY_COUNTERS].text);
        expect_near(rows[i].name, &law, &play, 0.02);
        assert_true(law.explained > 0.9 && law.has_prefill);
        mem_free(scrapes);
    }
}

/* What is done to the scrapes of a good hour before they are measured. */
enum harm {
    NO_HARM,
    FIXED_BATCH,
    ALL_IDLE,
    ALWAYS_RESTARTED,
    NOT_A_NUMBER,
    NO_ITERATIONS,
    NO_PREFILL,
    NO_RUNNING,
    FROZEN,
    FEW,
    FASTER_WHEN_FULL,
    IN_STEP,
    TWO_KINDS,
};

static void harm_one(enum harm harm, struct profile_scrape *scrape, size_t at)
{
    double *counters = scrape->counters;
    double iterations = 1000 * (double)at;

    switch (harm) {
    case NO_HARM:
    case FEW:
    case TWO_KINDS:
        break;
    case FIXED_BATCH: /* the time of an iteration still varies a little */
        counters[PROFILE_ITERATIONS] = iterations + (double)(at * at % 7);
        counters[PROFILE_GENERATED] = 14 * counters[PROFILE_ITERATIONS];
        counters[PROFILE_PREFILL] = 100 * (iterations + (double)(at * at % 31));
        counters[PROFILE_GAPS] = counters[PROFILE_GENERATED];
        counters[PROFILE_GAP_SECONDS] = 14 * scrape->at_s;
        scrape->running_least = scrape->running_mean = 14;
        break;
    case ALL_IDLE:
        scrape->running_least = 0;
        break;
    case ALWAYS_RESTARTED:
        for (int i = 0; i < PROFILE_COUNTERS; i++)
            counters[i] = 1e6 - (double)at;
        break;
    case NOT_A_NUMBER:
        for (int i = 0; i < PROFILE_COUNTERS; i++)
            counters[i] = NAN;
        break;
    case NO_ITERATIONS:
        counters[PROFILE_ITERATIONS] = NAN;
        break;
    case NO_PREFILL:
        counters[PROFILE_PREFILL] = NAN;
        break;
    case NO_RUNNING:
        scrape->running_least = NAN;
        break;
    case FROZEN:
        scrape->at_s = 1e9;
        break;
    case FASTER_WHEN_FULL: /* t(b) = 20 ms - 0.5 ms b, at b = 8 + at % 8 */
    case IN_STEP:
        break;
    }
}

/* Intervals of 15 s with a batch each: iterations of base + request b, in order. */
static void draw_line(struct profile_scrape *scrapes, size_t count, double base_s, double request_s,
                      bool in_step)
{
    for (size_t i = 1; i < count; i++) {
        double batch = 8 + (double)(i * 7 % 16) / 2;
        double iterations = 15 / (base_s + request_s * batch);
        double *now = scrapes[i].counters;
        const double *before = scrapes[i - 1].counters;

        now[PROFILE_ITERATIONS] = before[PROFILE_ITERATIONS] + iterations;
        now[PROFILE_GENERATED] = before[PROFILE_GENERATED] + iterations * batch;
        now[PROFILE_PREFILL] = before[PROFILE_PREFILL] +
                               (in_step ? 3 * iterations * batch : 100 * (double)(i * i % 13));
        now[PROFILE_GAPS] = before[PROFILE_GAPS] + iterations * batch;
        now[PROFILE_GAP_SECONDS] = before[PROFILE_GAP_SECONDS] + 15 * batch;
        scrapes[i].running_least = scrapes[i].running_mean = batch;
    }
}

static void harm_all(enum harm harm, struct profile_scrape *scrapes, size_t count, size_t instances)
{
    size_t each = count / instances;

    for (size_t i = 0; i < count; i++)
        harm_one(harm, &scrapes[i], i);
    if (harm == FASTER_WHEN_FULL)
        draw_line(scrapes, count, 0.020, -0.0005, false);
    if (harm == IN_STEP)
        draw_line(scrapes, count, 0.010, 0.0005, true);
    for (size_t i = each; i < count && harm == TWO_KINDS; i++) { /* half as fast a GPU */
        scrapes[i].at_s = 1e9 + 2 * (scrapes[i].at_s - 1e9);
        scrapes[i].counters[PROFILE_GAP_SECONDS] *= 2;
    }
}

static const struct {
    const char *name;
    enum harm harm;
    struct profile_hints hints;
    int tokens_a_step;
    enum profile_method method; /* PROFILE_METHODS: none */
    const char *want;           /* of why counters are not used; or of the error */
} refusals[] = {
    { "a batch of one size", FIXED_BATCH, { 0 }, 0, PROFILE_SAFE, "too little spread: 14 to 14" },
    { "always idle", ALL_IDLE, { 0 }, 0, PROFILE_SAFE, "0 of 239 intervals can be used" },
    { "restarts only", ALWAYS_RESTARTED, { 0 }, 0, PROFILE_METHODS, "restarts all the time" },
    { "no numbers", NOT_A_NUMBER, { 0 }, 0, PROFILE_METHODS, "does not tell the time between" },
    { "no word of what runs", NO_RUNNING, { 0 }, 0, PROFILE_METHODS, "unknown 239" },
    { "frozen time", FROZEN, { 0 }, 0, PROFILE_METHODS, "no instance was scraped twice" },
    { "two minutes", FEW, { 0 }, 0, PROFILE_SAFE, "of 7 intervals can be used, and 12" },
    { "speculative, as it shows", NO_HARM, { 0 }, 3, PROFILE_SAFE, "speculative decoding" },
    { "speculative, as it says",
      NO_HARM,
      { .is_speculative = true },
      0,
      PROFILE_SAFE,
      "decodes speculatively" },
    { "faster when full", FASTER_WHEN_FULL, { 0 }, 0, PROFILE_SAFE, "is no law of an engine" },
    { "prompts in step with tokens", IN_STEP, { 0 }, 0, PROFILE_SAFE, "collinear" },
    { "two kinds of GPU", TWO_KINDS, { 0 }, 0, PROFILE_SAFE, "not of one kind" },
    { "no iterations", NO_ITERATIONS, { 0 }, 0, PROFILE_BY_GAPS, "counts no iterations" },
    { "gaps of half of the slots",
      NO_ITERATIONS,
      { .slots = 30 },
      0,
      PROFILE_BY_GAPS,
      "counts no iterations" },
    { "gaps of a quarter of the slots",
      NO_ITERATIONS,
      { .slots = 64 },
      0,
      PROFILE_SAFE,
      "counts no iterations" },
    { "counters of a quarter of the slots", NO_HARM, { .slots = 64 }, 0, PROFILE_BY_COUNTERS, "" },
    { "a prefix cache that hides prompts",
      NO_HARM,
      { .hides_prefill = true },
      0,
      PROFILE_BY_GAPS,
      "prefix cache" },
    { "no prompts at all", NO_PREFILL, { 0 }, 0, PROFILE_BY_COUNTERS, "" },
};

static void what_the_counters_do_not_hold_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        size_t instances = refusals[i].harm == TWO_KINDS ? 2 : 1;
        const struct engine_play play = { R1,
                                          .scrape_s = 15,
                                          .low = 1.5,
                                          .high = 3.6,
                                          .waves = 2,
                                          .scrapes = refusals[i].harm == FEW ? 8 : 240,
                                          .tokens_a_step = refusals[i].tokens_a_step };
        size_t count = (size_t)play.scrapes * instances;
        struct profile_scrape *scrapes = play_all(&play, 7, instances);
        struct profile_law law = { 0 };
        struct error err = { 0 };
        int result;

        harm_all(refusals[i].harm, scrapes, count, instances);
        result = measure(scrapes, count, &refusals[i].hints, &law, &err);
        if ((result < 0) != (refusals[i].method == PROFILE_METHODS) ||
            (result == 0 && law.method != refusals[i].method) ||
            !strstr(result < 0 ? err.text : law.why[PROFILE_BY_COUNTERS].text, refusals[i].want))
            fail_msg("%s: method %d, \"%s\"; %s", refusals[i].name, law.method,
                     law.why[PROFILE_BY_COUNTERS].text, err.text);
        mem_free(scrapes);
    }
}

/* Without counted iterations: the mean gap counts long iterations more often. */
/* Of half an hour without the counter of prompts nothing is concluded about prompts. */
static void prompts_that_are_told_for_a_while_are_measured_by_that_while(void **state)
{
    enum { SCRAPES = 480, UNTOLD = 120 };
    const struct engine_play play = { R1,          .scrape_s = 15, .low = 0.8,
                                      .high = 3.6, .waves = 4,     .scrapes = SCRAPES };
    struct profile_scrape *scrapes = play_all(&play, 3, 1);
    struct profile_law law;
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < UNTOLD; i++)
        scrapes[i].counters[PROFILE_PREFILL] = NAN;
    if (measure(scrapes, SCRAPES, &no_hints, &law, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(law.method, PROFILE_BY_COUNTERS);
    assert_true(law.has_prefill);
    expect_near("half told", &law, &play, 0.02);
    assert_true(law.dropped[PROFILE_UNKNOWN] > UNTOLD / 2);
    mem_free(scrapes);
}

static void gaps_tell_a_little_too_much(void **state)
{
    const struct engine_play play = { R1,          .scrape_s = 15, .low = 0.8,
                                      .high = 3.6, .waves = 4,     .scrapes = 480 };
    struct profile_scrape *scrapes = play_all(&play, 3, 1);
    double slope = play.request_s + play.prefill_s * play.tokens_in / play.tokens_out;
    struct profile_law law;
    struct error err = { 0 };

    (void)state;
    for (int i = 0; i < play.scrapes; i++)
        scrapes[i].counters[PROFILE_ITERATIONS] = NAN;
    assert_int_equal(measure(scrapes, 480, &no_hints, &law, &err), 0);
    assert_int_equal(law.method, PROFILE_BY_GAPS);
    assert_false(law.has_prefill);
    assert_true(law.value[PROFILE_BASE_S] > play.base_s &&
                law.value[PROFILE_BASE_S] < 1.1 * play.base_s);
    assert_true(law.value[PROFILE_REQUEST_S] > 0.95 * slope &&
                law.value[PROFILE_REQUEST_S] < 1.1 * slope);
    mem_free(scrapes);
}

/* Mean gaps that a real vLLM 0.32 showed on a processor, and how far three repetitions lay apart:
   3.59 ms + 0.0614 ms b with a deviation of 0.41 ms.  Up to 16 requests the slope is chance. */
static size_t draw_vllm(struct profile_scrape *scrapes, const double *batches, size_t count,
                        size_t times)
{
    struct random random;
    size_t at = 0;

    random_seed(&random, 5);
    scrapes[0] = (struct profile_scrape){ .running_least = 1, .running_mean = 1 };
    for (size_t i = 0; i < count * times; i++) {
        double batch = batches[i % count];
        double gap_s = 3.59e-3 + 0.0614e-3 * batch + 0.41e-3 * random_normal(&random);
        struct profile_scrape scrape = scrapes[at++];

        scrape.at_s += 15;
        scrape.running_least = scrape.running_mean = batch;
        scrape.counters[PROFILE_ITERATIONS] += 15 / gap_s;
        scrape.counters[PROFILE_GENERATED] += 15 / gap_s * batch;
        scrape.counters[PROFILE_GAPS] += 15 / gap_s * batch;
        scrape.counters[PROFILE_GAP_SECONDS] += 15 * batch;
        scrape.counters[PROFILE_PREFILL] = NAN;
        scrapes[at] = scrape;
    }
    return at + 1;
}

static void small_batches_of_a_real_engine_are_refused(void **state)
{
    static const double wide[] = { 1, 16, 32, 64, 96, 128 };
    static const double narrow[] = { 1, 4, 8, 12, 16 };
    struct profile_scrape scrapes[100];
    struct profile_law law = { 0 };
    struct error err = { 0 };
    size_t count = draw_vllm(scrapes, wide, COUNT_OF(wide), 8);

    (void)state;
    assert_int_equal(measure(scrapes, count, &no_hints, &law, &err), 0);
    if (law.method != PROFILE_BY_COUNTERS)
        fail_msg("all batches: %s", law.why[PROFILE_BY_COUNTERS].text);
    assert_true(fabs(law.value[PROFILE_BASE_S] - 3.59e-3) < 3 * law.error[PROFILE_BASE_S]);
    assert_true(fabs(law.value[PROFILE_REQUEST_S] - 0.0614e-3) < 3 * law.error[PROFILE_REQUEST_S]);
    count = draw_vllm(scrapes, narrow, COUNT_OF(narrow), 8);
    assert_int_equal(measure(scrapes, count, &no_hints, &law, &err), 0);
    if (law.method != PROFILE_SAFE ||
        !strstr(law.why[PROFILE_BY_COUNTERS].text, "the batches tell too little"))
        fail_msg("up to 16: method %d, %s", law.method, law.why[PROFILE_BY_COUNTERS].text);
}

/* One good hour in which single things happen: what is dropped, and that the law stays. */
static void single_disturbances_are_dropped_with_their_reason(void **state)
{
    const struct engine_play play = { R1,          .scrape_s = 15, .low = 1.5,
                                      .high = 3.6, .waves = 2,     .scrapes = 240 };
    struct profile_scrape *scrapes = play_all(&play, 11, 1);
    struct profile_law law;
    struct error err = { 0 };
    size_t restart = 100;

    (void)state;
    for (size_t i = restart; i < 240; i++) /* began again with 7 of each */
        for (int at = 0; at < PROFILE_COUNTERS; at++)
            scrapes[i].counters[at] -= scrapes[restart].counters[at] - (i == restart ? 7 : 0);
    for (int at = 0; at < PROFILE_COUNTERS; at++)
        scrapes[restart].counters[at] = 7;
    scrapes[50].counters[PROFILE_ITERATIONS] = NAN;
    scrapes[50].counters[PROFILE_GAPS] = NAN;
    scrapes[180].running_least = 0;
    memmove(&scrapes[200], &scrapes[203], 37 * sizeof *scrapes);
    assert_int_equal(measure(scrapes, 237, &no_hints, &law, &err), 0);
    assert_int_equal(law.method, PROFILE_BY_COUNTERS);
    expect_near("disturbed", &law, &play, 0.02);
    assert_int_equal(law.dropped[PROFILE_RESTART], 1);
    assert_int_equal(law.dropped[PROFILE_UNKNOWN], 2);
    assert_int_equal(law.dropped[PROFILE_COLD], 12);
    assert_int_equal(law.dropped[PROFILE_MISSED], 1);
    assert_in_range(law.dropped[PROFILE_IDLE], 2, 30);
    assert_int_equal(law.dropped[PROFILE_USED], law.used);
    mem_free(scrapes);
}

/* An instance that appears later is cold at first; one that was always there is not. */
static void a_new_instance_is_cold(void **state)
{
    const struct engine_play play = { R1,          .scrape_s = 15, .low = 2.5,
                                      .high = 3.6, .waves = 2,     .scrapes = 60 };
    struct profile_scrape *scrapes = play_all(&play, 11, 2);
    owned(profile_intervals) struct profile_intervals *intervals = NULL;
    size_t cold = 0;

    (void)state;
    for (size_t i = 60; i < 120; i++)
        scrapes[i].at_s += 600;
    intervals = profile_intervals_new(scrapes, 120);
    for (size_t i = 0; i < intervals->count; i++)
        cold += intervals->items[i].drop == PROFILE_COLD && intervals->items[i].instance == 1;
    assert_int_equal(intervals->count, 118);
    assert_int_equal(cold, 12);
    mem_free(scrapes);
}

/* Two scrapes that both see requests; 900 iterations whose gaps are 15 ms fill 13.5 s of 15. */
static void an_idle_moment_between_scrapes_shows_in_the_gaps(void **state)
{
    static const struct {
        double iterations;
        enum profile_drop drop;
    } rows[] = { { 1000, PROFILE_USED }, { 960, PROFILE_USED }, { 900, PROFILE_IDLE } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct profile_scrape scrapes[] = {
            { .running_least = 4 },
            { .at_s = 15,
              .running_least = 4,
              .counters = { [PROFILE_ITERATIONS] = rows[i].iterations,
                            [PROFILE_GENERATED] = 4 * rows[i].iterations,
                            [PROFILE_GAP_SECONDS] = 4 * rows[i].iterations * 0.015,
                            [PROFILE_GAPS] = 4 * rows[i].iterations } },
        };
        owned(profile_intervals) struct profile_intervals *intervals = profile_intervals_new(
            scrapes, COUNT_OF(scrapes));

        assert_int_equal(intervals->count, 1);
        assert_int_equal(intervals->items[0].drop, rows[i].drop);
    }
}

/* The pace of the interval in which gaps were longest, and what ran in it. */
static void the_safe_form_takes_the_slowest_that_was_seen(void **state)
{
    struct profile_scrape scrapes[4] = { { .running_least = 1 } };
    static const double gap_s[] = { 0.011, 0.014, 0.012 };
    static const double batch[] = { 2, 8, 4 };
    struct profile_law law;
    struct error err = { 0 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        scrapes[i + 1] = scrapes[i];
        scrapes[i + 1].at_s += 15;
        scrapes[i + 1].counters[PROFILE_GAP_SECONDS] += 15 * batch[i];
        scrapes[i + 1].counters[PROFILE_GAPS] += 15 * batch[i] / gap_s[i];
    }
    assert_int_equal(measure(scrapes, 4, &no_hints, &law, &err), 0);
    assert_int_equal(law.method, PROFILE_SAFE);
    assert_true(fabs(law.slowest_s - 0.014) < 1e-9 && fabs(law.slowest_at - 8) < 1e-9);
}

static void quantiles_are_bounds_of_buckets(void **state)
{
    static const struct service_bucket waits[] = {
        { 0.3, 990 }, { 0.5, 995 }, { 1, 1000 }, { INFINITY, 1000 }
    };
    static const struct service_bucket none[] = { { 0.3, 0 }, { INFINITY, 0 } };
    static const struct {
        double quantile, least, most;
    } rows[] = { { 0.98, 0, 0.3 }, { 0.99, 0, 0.3 }, { 0.992, 0.3, 0.5 }, { 1, 0.5, 1 } };
    double least;
    double most;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(profile_quantile(waits, COUNT_OF(waits), rows[i].quantile, &least, &most),
                         0);
        assert_true(least == rows[i].least && most == rows[i].most);
    }
    assert_int_equal(profile_quantile(none, COUNT_OF(none), 0.98, &least, &most), -1);
    assert_int_equal(profile_quantile(waits, 0, 0.98, &least, &most), -1);
    assert_int_equal(profile_quantile(waits, 3, 0.98, &least, &most), -1);
}

/* Of any law, length, load and distance of scrapes. */
static struct engine_play random_play(struct random *random)
{
    static const int slots[] = { 8, 16, 32, 64, 128 };
    static const double scrapes_s[] = { 15, 15, 30, 60 };
    struct engine_play play = {
        .base_s = random_between(random, 0.003, 0.03),
        .slots = slots[random_below(random, COUNT_OF(slots))],
        .tokens_in = floor(random_between(random, 20, 3000)),
        .tokens_out = random_between(random, 30, 400),
        .prefill_s = random_between(random, 2e-6, 60e-6),
        .noise = random_between(random, 0.02, 0.1),
        .scrape_s = scrapes_s[random_below(random, COUNT_OF(scrapes_s))],
        .waves = 2,
        .scrapes = 240,
    };
    double high = random_between(random, 0.05, 0.95);
    double slope;
    double capacity;

    play.request_s = play.base_s * random_between(random, 0.1, 3) / play.slots;
    slope = play.request_s + play.prefill_s * play.tokens_in / play.tokens_out;
    capacity = play.slots / (play.tokens_out * (play.base_s + slope * play.slots));
    play.high = high * capacity;
    play.low = random_below(random, 2) ? play.high : play.high * random_between(random, 0.05, 1);
    return play;
}

/* Seconds of an iteration of a batch, its share of prompts in it. */
static double with_prompts(const struct engine_play *play, double base_s, double request_s,
                           double prefill_s, double batch)
{
    return base_s + (request_s + prefill_s * play->tokens_in / play->tokens_out) * batch;
}

/* Whatever is not refused tells the time of an iteration, at the mean batch and at a full one. */
static void engines_of_any_kind_are_measured_or_refused(void **state)
{
    struct random random;
    int measured = 0;

    (void)state;
    random_seed(&random, 2);
    for (int i = 0; i < 40; i++) {
        const struct engine_play play = random_play(&random);
        struct profile_scrape *scrapes = play_all(&play, random_next(&random), 1);
        struct profile_law law = { 0 };
        struct error err = { 0 };
        double batches[2] = { 0, play.slots };

        if (measure(scrapes, 240, &no_hints, &law, &err) == 0 &&
            law.method == PROFILE_BY_COUNTERS) {
            measured++;
            batches[0] = law.batch.mean;
            for (int at = 0; at < 2; at++) {
                double want = with_prompts(&play, play.base_s, play.request_s, play.prefill_s,
                                           batches[at]);
                double found = with_prompts(&play, law.value[PROFILE_BASE_S],
                                            law.value[PROFILE_REQUEST_S],
                                            law.value[PROFILE_PREFILL_S], batches[at]);

                if (fabs(found / want - 1) > 0.05)
                    fail_msg("%d: %.1f running take %g s, not %g", i, batches[at], found, want);
            }
        }
        mem_free(scrapes);
    }
    assert_in_range(measured, 25, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_law_of_an_engine_is_found_again),
        cmocka_unit_test(what_the_counters_do_not_hold_is_refused),
        cmocka_unit_test(prompts_that_are_told_for_a_while_are_measured_by_that_while),
        cmocka_unit_test(gaps_tell_a_little_too_much),
        cmocka_unit_test(small_batches_of_a_real_engine_are_refused),
        cmocka_unit_test(single_disturbances_are_dropped_with_their_reason),
        cmocka_unit_test(a_new_instance_is_cold),
        cmocka_unit_test(an_idle_moment_between_scrapes_shows_in_the_gaps),
        cmocka_unit_test(the_safe_form_takes_the_slowest_that_was_seen),
        cmocka_unit_test(quantiles_are_bounds_of_buckets),
        cmocka_unit_test(engines_of_any_kind_are_measured_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
