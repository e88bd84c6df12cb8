/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * All plans walk the same chunks of arrivals one after the other, each with a batch of its own.
 * With a constant number it is the replay of batch_replay.h, chance for chance.
 *
 * Plans that are alike are judged once.
 *
 * A figure above zero is kept until its span is over: all that arrived in it have started and,
 * where the time per token counts, ended.
 */
#include "windows/judge/judge_engines.h"

#include "windows/judge/borders.h"
#include "windows/queueing/batch_lead.h"
#include "windows/queueing/batch_replay.h"

#include <math.h>

/* One plan. */
struct bench {
    const struct judge_plan *plan;
    struct judge_score *scores;
    size_t span; /* the first that is not judged */
    struct batch *batch;
    struct batch_tally tally;
    struct batch_told_list told[REPLAY_FIGURES][DEMAND_CLASSES];
};

struct court {
    struct arrivals *arrivals;
    const struct replay_target *target;
    struct borders borders;
    struct wall_time begin;        /* of all plans */
    int64_t origin_ms;             /* of ticks: the segment's begin */
    size_t before[DEMAND_CLASSES]; /* requests that came before the chunk */
    struct bench *benches;
    size_t bench_count;
    ARRAY(uint64_t) values; /* of the span that is scored */
};

/* To a second. */
static const double units[REPLAY_FIGURES] = {
    [REPLAY_WAIT] = TICKS_PER_SECOND,
    [REPLAY_TTFT] = TICKS_PER_SECOND,
    [REPLAY_ITL] = 1e9,
};

/* ---- scores ---- */

/* The values of a span go out of the list, with all before them. */
static void take_values(struct court *court, struct batch_told_list *told, size_t begin, size_t end)
{
    size_t kept = 0;

    court->values.count = 0;
    for (size_t i = 0; i < told->list.count; i++) {
        const struct batch_told *one = &told->list.items[i];

        if (one->number >= end)
            told->list.items[kept++] = *one;
        else if (one->number >= begin)
            *array_add(&court->values) = one->value;
    }
    told->list.count = kept;
}

static void score_figure(struct court *court, struct bench *bench, struct judge_score *score,
                         enum replay_figure figure, int class)
{
    const double percentiles[] = { court->target->percentile, court->target->ttft.percentile,
                                   court->target->itl.percentile };
    double *const found_s[] = { score->wait_s, score->ttft_s, score->itl_s };
    size_t begin = borders_begin(&court->borders, class, bench->span);
    size_t end = borders_behind(&court->borders, class, bench->span);
    int64_t late = 0;

    take_values(court, &bench->told[figure][class], begin, end);
    for (size_t i = 0; i < court->values.count; i++)
        late += court->values.items[i] > bench->tally.limits[figure];
    found_s[figure][class] = (double)replay_quantile_waited(court->values.items,
                                                            court->values.count, end - begin,
                                                            percentiles[figure]) /
                             units[figure];
    score->count[class] = (int64_t)(end - begin);
    score->violations[class] = late > score->violations[class] ? late : score->violations[class];
    if (late > replay_allowed(score->count[class], percentiles[figure]))
        score->is_met = false;
}

static void score_spans(struct court *court, struct bench *bench)
{
    const struct borders *borders = &court->borders;
    size_t open[DEMAND_CLASSES] = { 0 };

    for (; bench->span < borders->count; bench->span++) {
        struct judge_score *score = &bench->scores[bench->span];

        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            if (!borders_are_known(borders, class, bench->span))
                return;
            if (open[class] < borders_behind(borders, class, bench->span))
                open[class] = batch_first_open(bench->batch, (enum demand_class) class);
            if (open[class] < borders_behind(borders, class, bench->span))
                return;
        }
        *score = (struct judge_score){ .is_met = true };
        for (int figure = 0; figure < REPLAY_FIGURES; figure++)
            for (int class = 0; class < DEMAND_CLASSES; class ++)
                if (bench->tally.limits[figure] != UINT64_MAX)
                    score_figure(court, bench, score, (enum replay_figure)figure, class);
    }
}

/* ---- the walk ---- */

static int64_t slot_at(const struct court *court, uint64_t tick)
{
    int64_t since = court->origin_ms + (int64_t)(tick / TICKS_PER_MS) - court->begin.ms;

    return since < 0 ? -1 : since / JUDGE_SLOT_MS;
}

static uint64_t slot_end(const struct court *court, int64_t slot)
{
    return (uint64_t)(court->begin.ms + (slot + 1) * JUDGE_SLOT_MS - court->origin_ms) *
           TICKS_PER_MS;
}

static void begin_chunk(const struct court *court, struct bench *bench, size_t at)
{
    const struct arrivals_setup *setup = arrivals_setup_of(court->arrivals);
    const struct arrivals_chunk *chunk = arrivals_outline(court->arrivals, at);
    uint64_t time_ms = (uint64_t)demand_time(setup->series, chunk->first).ms;

    batch_draw_period(bench->batch, chunk->period);
    if (chunk->is_first) {
        struct random lengths;
        unsigned drawn;

        batch_reset(bench->batch);
        batch_resize(bench->batch, judge_servers(bench->plan, slot_at(court, 0)), 0);
        batch_lead(bench->batch, court->arrivals, chunk->segment);
        arrivals_services(court->arrivals, at, &lengths, &drawn);
        batch_draw_from(bench->batch, &lengths, drawn);
    }
    batch_route_from(bench->batch, random_mix(setup->seed, "router", time_ms, 0), chunk->before);
}

/* How many of a class arrive before `end`, from `from` on. */
static size_t count_until(const struct arrivals_chunk *chunk, int class, size_t from, uint64_t end)
{
    size_t at = from;

    while (at < chunk->count[class] && chunk->at[class][at] < end)
        at++;
    return at - from;
}

/* Slot by slot, with as many replicas as the plan has in each. */
static void run_chunk(const struct court *court, struct bench *bench,
                      const struct arrivals_chunk *chunk, uint64_t begin)
{
    size_t at[DEMAND_CLASSES] = { 0 };

    for (int64_t slot = slot_at(court, begin); begin < chunk->end; slot++) {
        uint64_t end = slot_end(court, slot) < chunk->end ? slot_end(court, slot) : chunk->end;
        struct batch_feed feed = { .horizon = (double)end };

        batch_resize(bench->batch, judge_servers(bench->plan, slot), (double)begin);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            feed.at[class] = chunk->at[class] + at[class];
            feed.count[class] = count_until(chunk, class, at[class], end);
            feed.number[class] = court->before[class] + at[class];
            at[class] += feed.count[class];
        }
        batch_run(bench->batch, &feed);
        begin = end;
    }
}

static bool is_open(const struct bench *bench)
{
    return batch_first_open(bench->batch, DEMAND_HIGH) != SIZE_MAX ||
           batch_first_open(bench->batch, DEMAND_LOW) != SIZE_MAX;
}

/* No more requests arrive: the waiting ones start, and the counted ones end. */
static void drain(const struct court *court, struct bench *bench, uint64_t begin)
{
    for (int64_t slot = slot_at(court, begin); is_open(bench); slot++) {
        bool is_last = slot + 1 >= (int64_t)bench->plan->slots;

        batch_resize(bench->batch, judge_servers(bench->plan, slot), (double)begin);
        begin = slot_end(court, slot);
        batch_run(bench->batch,
                  &(struct batch_feed){ .horizon = is_last ? HUGE_VAL : (double)begin });
    }
}

/* Returns the first chunk behind it. */
static size_t run_segment(struct court *court, size_t at)
{
    const struct arrivals_chunk *chunk;
    const struct demand_series *series = arrivals_setup_of(court->arrivals)->series;
    uint64_t begin = 0;

    court->origin_ms = demand_time(series, arrivals_outline(court->arrivals, at)->first).ms;
    do {
        chunk = arrivals_chunk(court->arrivals, at);
        borders_mark(&court->borders, chunk, court->origin_ms, court->before);
        for (size_t i = 0; i < court->bench_count; i++) {
            begin_chunk(court, &court->benches[i], at);
            run_chunk(court, &court->benches[i], chunk, begin);
            score_spans(court, &court->benches[i]);
        }
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            court->before[class] += chunk->count[class];
        begin = chunk->end;
        at++;
    } while (!chunk->is_last);
    for (size_t i = 0; i < court->bench_count; i++) {
        drain(court, &court->benches[i], begin);
        score_spans(court, &court->benches[i]);
    }
    return at;
}

static int most_servers(const struct judge_plan *plan)
{
    int most = 1;

    for (size_t slot = 0; slot < plan->slots; slot++)
        most = plan->servers[slot] > most ? plan->servers[slot] : most;
    return most;
}

static void bench_init(struct bench *bench, const struct court *court,
                       const struct judge_case *item)
{
    bench->plan = &item->plan;
    bench->scores = item->scores;
    batch_replay_limits(court->target, bench->tally.limits);
    for (int figure = 0; figure < REPLAY_FIGURES; figure++)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            if (bench->tally.limits[figure] != UINT64_MAX)
                bench->tally.told[figure][class] = &bench->told[figure][class];
    bench->batch = batch_new(arrivals_setup_of(court->arrivals)->service->engine,
                             most_servers(&item->plan), &bench->tally);
}

static void court_clear(struct court *court)
{
    for (size_t i = 0; i < court->bench_count; i++) {
        struct bench *bench = &court->benches[i];

        batch_free(bench->batch);
        for (int figure = 0; figure < REPLAY_FIGURES; figure++)
            for (int class = 0; class < DEMAND_CLASSES; class ++)
                array_clear(&bench->told[figure][class].list);
    }
    mem_free(court->benches);
    borders_clear(&court->borders);
    array_clear(&court->values);
}

/* Numbers of replicas are small, so several levels of a policy often give the same plan. */
static size_t first_alike(const struct judge_case *cases, size_t at)
{
    const struct judge_plan *plan = &cases[at].plan;

    for (size_t i = 0; i < at; i++)
        if (cases[i].plan.slots == plan->slots &&
            memcmp(cases[i].plan.servers, plan->servers, plan->slots * sizeof *plan->servers) == 0)
            return i;
    return at;
}

void judge_engines(const struct judge_setup *setup, const struct judge_case *cases, size_t count)
{
    struct court court = { .arrivals = setup->arrivals,
                           .target = setup->target,
                           .begin = cases[0].plan.begin,
                           .benches = mem_new_array(count, sizeof *court.benches) };

    borders_init(&court.borders, setup->spans, setup->span_count);
    for (size_t i = 0; i < count; i++) {
        require(cases[i].plan.begin.ms == court.begin.ms);
        if (first_alike(cases, i) == i)
            bench_init(&court.benches[court.bench_count++], &court, &cases[i]);
    }
    for (size_t at = 0; at < arrivals_chunks(setup->arrivals);)
        at = run_segment(&court, at);
    borders_end(&court.borders, court.before);
    for (size_t i = 0; i < court.bench_count; i++)
        score_spans(&court, &court.benches[i]);
    for (size_t i = 0; i < count; i++)
        if (first_alike(cases, i) != i)
            memcpy(cases[i].scores, cases[first_alike(cases, i)].scores,
                   setup->span_count * sizeof *cases[i].scores);
    court_clear(&court);
}
