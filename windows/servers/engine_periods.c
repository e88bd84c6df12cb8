/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Periods are closed one after the other, as soon as they are long enough and have enough requests.
 * What is left behind the last goes to it.  Borders are whole minutes, which steps never cross.
 */
#include "windows/servers/engine_periods.h"

#include "base/memory.h"
#include "base/timestamp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BITS_MAX = 16 };

_Static_assert(1 << BITS_MAX == (int)ENGINE_LENGTHS, "what is drawn has 16 bits");

struct timed_pair {
    int64_t ms;
    struct token_pair pair;
};

static int compare_pairs(const void *left, const void *right)
{
    const struct token_pair *a = left;
    const struct token_pair *b = right;

    if (a->out != b->out)
        return a->out < b->out ? -1 : 1;
    return a->in < b->in ? -1 : a->in > b->in;
}

static int compare_times(const void *left, const void *right)
{
    const struct timed_pair *a = left;
    const struct timed_pair *b = right;

    if (a->ms != b->ms)
        return a->ms < b->ms ? -1 : 1;
    return compare_pairs(&a->pair, &b->pair);
}

void engine_fill_places(struct token_pair *pairs, size_t count, float *out, float *in,
                        size_t places)
{
    double requests = 0;
    double before = 0;
    size_t at = 0;

    require(count > 0);
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < count; i++)
        requests += (double)pairs[i].count;
    for (size_t i = 0; i < places; i++) {
        double place = (2 * (double)i + 1) * requests / (2 * (double)places);

        while (at + 1 < count && before + (double)pairs[at].count <= place)
            before += (double)pairs[at++].count;
        out[i] = pairs[at].out;
        in[i] = pairs[at].in;
    }
}

static int64_t minute_of(int64_t ms)
{
    return ms - ((ms % MINUTE_MS) + MINUTE_MS) % MINUTE_MS;
}

static struct timed_pair *by_time(const struct token_pairs *pairs)
{
    struct timed_pair *timed = mem_new_array(pairs->list.count, sizeof *timed);

    for (size_t i = 0; i < pairs->list.count; i++)
        timed[i] = (struct timed_pair){ pairs->times.items[i], pairs->list.items[i] };
    qsort(timed, pairs->list.count, sizeof *timed, compare_times);
    return timed;
}

/* Whether those from `first` to before `end`, of which the last may be any, make a period that ends
   at this time. */
static bool is_enough(const struct timed_pair *timed, size_t first, size_t end, int64_t end_ms)
{
    return end - first >= ENGINE_PERIOD_PAIRS &&
           end_ms - minute_of(timed[first].ms) >= ENGINE_PERIOD_MS;
}

/* The first pair of each period, into `firsts`; how many there are. */
static size_t find_borders(const struct timed_pair *timed, size_t count, int64_t end_ms,
                           size_t *firsts)
{
    size_t found = 0;

    firsts[found++] = 0;
    for (size_t i = 1; i < count; i++) {
        int64_t begin_ms = minute_of(timed[i].ms);

        if (begin_ms != minute_of(timed[i - 1].ms) &&
            is_enough(timed, firsts[found - 1], i, begin_ms) && is_enough(timed, i, count, end_ms))
            firsts[found++] = i;
    }
    return found;
}

static unsigned bits_for(size_t pairs)
{
    unsigned bits = 1;

    while (bits < BITS_MAX && (size_t)1 << bits < 2 * pairs)
        bits++;
    return bits;
}

/* Fills the period's places, behind those of the periods before. */
static void measure(struct engine_periods *periods, struct engine_period *period,
                    const struct engine *engine)
{
    size_t count = (size_t)1 << period->bits;
    double squares = 0;
    double out = 0;
    double in = 0;

    for (size_t i = period->first; i < period->first + count; i++) {
        out += (double)periods->out[i];
        in += (double)periods->in[i];
        squares += (double)periods->out[i] * (double)periods->out[i];
    }
    out /= (double)count;
    in /= (double)count;
    period->work = out / engine->mean_out;
    if (engine->mean_in > 0 && engine->law.prefill_s > 0)
        period->work = fmax(period->work, in / engine->mean_in);
    periods->work_most = fmax(periods->work_most, period->work);
    periods->cv_most = fmax(periods->cv_most,
                            sqrt(fmax(0, squares / (double)count / (out * out) - 1)));
}

static void fill_period(struct engine_periods *periods, size_t at, const struct timed_pair *timed,
                        size_t count, const struct engine *engine)
{
    struct engine_period *period = &periods->items[at];
    struct token_pair *pairs = mem_new_array(count, sizeof *pairs);
    size_t places;

    *period = (struct engine_period){ .begin_ms = minute_of(timed[0].ms),
                                      .first = periods->places,
                                      .bits = bits_for(count) };
    places = (size_t)1 << period->bits;
    periods->places += places;
    periods->out = mem_resize(periods->out, periods->places, sizeof *periods->out);
    periods->in = mem_resize(periods->in, periods->places, sizeof *periods->in);
    for (size_t i = 0; i < count; i++)
        pairs[i] = timed[i].pair;
    engine_fill_places(pairs, count, periods->out + period->first, periods->in + period->first,
                       places);
    mem_free(pairs);
    measure(periods, period, engine);
}

struct engine_periods *engine_periods_new(const struct token_pairs *pairs,
                                          const struct engine *engine)
{
    struct engine_periods *periods = NULL;
    size_t count = pairs->list.count;
    struct timed_pair *timed;
    size_t *firsts;
    size_t found;
    int64_t end_ms;

    if (pairs->times.count == 0)
        return NULL;
    require(pairs->times.count == count);
    timed = by_time(pairs);
    firsts = mem_new_array(count / ENGINE_PERIOD_PAIRS + 2, sizeof *firsts);
    end_ms = minute_of(timed[count - 1].ms) + MINUTE_MS;
    found = find_borders(timed, count, end_ms, firsts);
    firsts[found] = count;
    if (found > 1) {
        periods = mem_new(sizeof *periods);
        *periods = (struct engine_periods){ .items = mem_new_array(found, sizeof *periods->items),
                                            .count = found,
                                            .end_ms = end_ms,
                                            .work_most = 1,
                                            .cv_most = engine->cv_out };
        for (size_t i = 0; i < found; i++)
            fill_period(periods, i, timed + firsts[i], firsts[i + 1] - firsts[i], engine);
    }
    mem_free(firsts);
    mem_free(timed);
    return periods;
}

void engine_periods_free(struct engine_periods *periods)
{
    if (!periods)
        return;
    mem_free(periods->items);
    mem_free(periods->out);
    mem_free(periods->in);
    mem_free(periods);
}

size_t engine_period_at(const struct engine *engine, int64_t ms)
{
    const struct engine_periods *periods = engine ? engine->periods : NULL;
    size_t at = 0; /* begins no later */

    if (!periods || ms < periods->items[0].begin_ms || ms >= periods->end_ms)
        return ENGINE_WHOLE;
    for (size_t after = periods->count; after - at > 1;) {
        size_t middle = at + (after - at) / 2;

        if (periods->items[middle].begin_ms <= ms)
            at = middle;
        else
            after = middle;
    }
    return at + 1;
}

/* The period of that number, which is one more than its place. */
static const struct engine_period *period_of(const struct engine *engine, size_t period)
{
    require(engine->periods && period <= engine->periods->count);
    return &engine->periods->items[period - 1];
}

struct engine_draw engine_draw_of(const struct engine *engine, size_t period)
{
    if (period == ENGINE_WHOLE)
        return (struct engine_draw){ engine->out, engine->in, 0 };

    const struct engine_period *here = period_of(engine, period);

    return (struct engine_draw){ engine->periods->out + here->first,
                                 engine->periods->in + here->first, BITS_MAX - here->bits };
}

double engine_period_work(const struct engine *engine, size_t period)
{
    return period == ENGINE_WHOLE ? 1 : period_of(engine, period)->work;
}

double engine_work_most(const struct engine *engine)
{
    return engine->periods ? engine->periods->work_most : 1;
}

double engine_cv_most(const struct engine *engine)
{
    return engine->periods ? engine->periods->cv_most : engine->cv_out;
}

static void *copy_of(const void *items, size_t count, size_t size)
{
    void *copy = mem_new_array(count, size);

    memcpy(copy, items, count * size);
    return copy;
}

static struct engine_periods *periods_copy(const struct engine_periods *periods)
{
    struct engine_periods *copy = mem_new(sizeof *copy);

    *copy = *periods;
    copy->items = copy_of(periods->items, periods->count, sizeof *periods->items);
    copy->out = copy_of(periods->out, periods->places, sizeof *periods->out);
    copy->in = copy_of(periods->in, periods->places, sizeof *periods->in);
    return copy;
}

struct engine *engine_copy(const struct engine *engine)
{
    struct engine *copy = mem_new(sizeof *copy);

    *copy = *engine;
    if (engine->periods)
        copy->periods = periods_copy(engine->periods);
    return copy;
}

void engine_free(struct engine *engine)
{
    if (engine)
        engine_periods_free(engine->periods);
    mem_free(engine);
}
