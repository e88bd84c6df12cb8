/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loop of the replay, run from one change of the number of servers to the next.  Waits come in
 * the order of arrivals within a class, so a span's waits are a stretch of them, which is judged
 * and forgotten as soon as all of it has started.
 */
#include "windows/backtest/judge.h"

#include "base/array.h"
#include "windows/backtest/staff.h"

#include <stdlib.h>

enum { DRAWS = 4 };

struct line {
    ARRAY(uint64_t) arrived; /* who has not started is from `first` on */
    size_t first;
    ARRAY(uint64_t) waits; /* of those whose span is not judged yet, */
    size_t judged;         /* without who came before them */
    size_t total;          /* arrivals so far */
    size_t *marks;         /* two a span: arrivals before its begin and before its end */
    size_t marked;
};

struct bench {
    struct arrivals *arrivals;
    const struct judge_plan *plan;
    const struct replay_target *target;
    const struct judge_span *spans;
    size_t span_count;
    size_t span; /* the first that is not judged */
    struct judge_score *scores;
    struct line lines[DEMAND_CLASSES];
    struct staff staff;
    ARRAY(uint64_t) leaving; /* when those that have to go are done */
    struct random random;
    uint64_t word;
    unsigned draws;
    int64_t origin_ms; /* of ticks: the segment's start */
};

static int servers_at(const struct judge_plan *plan, int64_t slot)
{
    int servers;

    if (slot < 0)
        slot = 0;
    servers = plan->servers[(size_t)slot < plan->slots ? (size_t)slot : plan->slots - 1];
    return (size_t)slot + 1 >= plan->slots && servers < 1 ? 1 : servers;
}

static int64_t slot_at(const struct bench *bench, uint64_t tick)
{
    int64_t since = bench->origin_ms + (int64_t)(tick / TICKS_PER_MS) - bench->plan->begin.ms;

    return since < 0 ? -1 : since / JUDGE_SLOT_MS;
}

/* The first moment after `tick` at which the number of servers is another one; UINT64_MAX: never.
 */
static uint64_t next_change(const struct bench *bench, uint64_t tick)
{
    int64_t slot = slot_at(bench, tick);
    int now = servers_at(bench->plan, slot);

    for (int64_t next = slot < 0 ? 1 : slot + 1; next < (int64_t)bench->plan->slots; next++)
        if (servers_at(bench->plan, next) != now)
            return (uint64_t)(bench->plan->begin.ms + next * JUDGE_SLOT_MS - bench->origin_ms) *
                   TICKS_PER_MS;
    return UINT64_MAX;
}

static int compare_descending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a > b ? -1 : a < b;
}

/* Of all that are busy at `tick`, the last to be done stay, as many as there are servers. */
static void change_servers(struct bench *bench, uint64_t tick)
{
    const struct servers *tree = &bench->staff.tree;
    size_t wanted = (size_t)servers_at(bench->plan, slot_at(bench, tick));
    ARRAY(uint64_t) busy = { 0 };

    for (size_t i = 0; i < tree->count; i++)
        if (tree->keys[tree->leaves + i] >> tree->bits > tick)
            *array_add(&busy) = tree->keys[tree->leaves + i] >> tree->bits;
    for (size_t i = 0; i < bench->leaving.count; i++)
        if (bench->leaving.items[i] > tick)
            *array_add(&busy) = bench->leaving.items[i];
    if (busy.count > wanted)
        qsort(busy.items, busy.count, sizeof *busy.items, compare_descending);
    bench->leaving.count = 0;
    for (size_t i = wanted; i < busy.count; i++)
        *array_add(&bench->leaving) = busy.items[i];
    staff_set(&bench->staff, wanted, busy.items, busy.count < wanted ? busy.count : wanted, tick);
    array_clear(&busy);
}

/* Every start before `horizon`, with the servers there are. */
static void run_starts(struct bench *bench, uint64_t horizon)
{
    struct line *lines = bench->lines;
    const uint64_t *high = lines[DEMAND_HIGH].arrived.items + lines[DEMAND_HIGH].first;
    const uint64_t *low = lines[DEMAND_LOW].arrived.items + lines[DEMAND_LOW].first;
    uint64_t *waits[] = { lines[DEMAND_HIGH].waits.items + lines[DEMAND_HIGH].waits.count,
                          lines[DEMAND_LOW].waits.items + lines[DEMAND_LOW].waits.count };
    const uint64_t *service = arrivals_setup_of(bench->arrivals)->service->ticks;
    struct servers servers = bench->staff.tree;
    struct random random = bench->random;
    uint64_t first = servers_first(&servers);
    uint64_t idle_since = staff_can_grow(&bench->staff) ? bench->staff.idle_since : UINT64_MAX;
    uint64_t word = bench->word;
    unsigned draws = bench->draws;

    while (servers.count > 0) {
        uint64_t next = *high < *low ? *high : *low;
        uint64_t free_at = servers_free_at(&servers, first);
        uint64_t start = next > free_at ? next : free_at;
        size_t is_low = *high > start;

        if (start > next && free_at > idle_since) {
            staff_grow(&bench->staff);
            servers = bench->staff.tree;
            first = servers_first(&servers);
            idle_since = staff_can_grow(&bench->staff) ? idle_since : UINT64_MAX;
            continue;
        }
        if (start >= horizon || next == UINT64_MAX)
            break;
        *waits[is_low]++ = start - (is_low ? *low : *high);
        high += 1 - is_low;
        low += is_low;
        if (draws == 0) {
            word = random_next(&random);
            draws = DRAWS;
        }
        first = servers_occupy(&servers, first, start + service[word & (SERVICE_TIMES - 1)]);
        word >>= 16;
        draws--;
    }
    lines[DEMAND_HIGH].first = (size_t)(high - lines[DEMAND_HIGH].arrived.items);
    lines[DEMAND_LOW].first = (size_t)(low - lines[DEMAND_LOW].arrived.items);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        lines[class].waits.count = (size_t)(waits[class] - lines[class].waits.items);
    bench->random = random;
    bench->word = word;
    bench->draws = draws;
}

static void run_until(struct bench *bench, uint64_t *change, uint64_t horizon)
{
    while (*change < horizon) {
        bool is_idle = bench->lines[DEMAND_HIGH].first == bench->lines[DEMAND_HIGH].arrived.count &&
                       bench->lines[DEMAND_LOW].first == bench->lines[DEMAND_LOW].arrived.count;

        if (is_idle && horizon == UINT64_MAX)
            return;
        run_starts(bench, *change);
        change_servers(bench, *change);
        *change = next_change(bench, *change);
    }
    run_starts(bench, horizon);
}

static void begin_segment(struct bench *bench, const struct arrivals_chunk *chunk)
{
    const struct arrivals_setup *setup = arrivals_setup_of(bench->arrivals);
    size_t busy;
    const uint64_t *left = arrivals_before(bench->arrivals, chunk->segment, &busy);

    bench->origin_ms = demand_time(setup->series, chunk->first).ms;

    size_t servers = (size_t)servers_at(bench->plan, slot_at(bench, 0));

    bench->leaving.count = 0;
    staff_set(&bench->staff, servers, left, busy < servers ? busy : servers, 0);
    random_seed(&bench->random, arrivals_service_seed(setup, chunk->first));
    bench->draws = 0;
}

/* How many of the chunk arrive before `wall`. */
static size_t count_before(const struct bench *bench, const struct arrivals_chunk *chunk,
                           enum demand_class class, struct wall_time wall)
{
    int64_t since_ms = wall.ms - bench->origin_ms;
    size_t low = 0;
    size_t high = chunk->count[class];

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (since_ms > 0 && chunk->at[class][middle] < (uint64_t)since_ms * TICKS_PER_MS)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct wall_time border(const struct bench *bench, size_t at)
{
    return at % 2 ? bench->spans[at / 2].end : bench->spans[at / 2].begin;
}

/* Room for `count` more without asking again. */
static void line_reserve(struct line *line, size_t count)
{
    size_t waiting = line->arrived.count - line->first;
    size_t arrived = waiting + count + 1; /* UINT64_MAX behind the last */
    size_t waits = line->waits.count + arrived;

    if (line->first > 0)
        memmove(line->arrived.items, line->arrived.items + line->first,
                waiting * sizeof *line->arrived.items);
    line->first = 0;
    line->arrived.count = waiting;
    if (arrived > line->arrived.capacity) {
        line->arrived.capacity = 2 * arrived;
        line->arrived.items = mem_resize(line->arrived.items, 2 * arrived, sizeof(uint64_t));
    }
    if (waits > line->waits.capacity) {
        line->waits.capacity = 2 * waits;
        line->waits.items = mem_resize(line->waits.items, 2 * waits, sizeof(uint64_t));
    }
}

static void add_chunk(struct bench *bench, const struct arrivals_chunk *chunk)
{
    int64_t end_ms = bench->origin_ms + (int64_t)(chunk->end / TICKS_PER_MS);

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        struct line *line = &bench->lines[class];
        size_t count = chunk->count[class];

        for (; line->marked < 2 * bench->span_count && border(bench, line->marked).ms <= end_ms;
             line->marked++)
            line->marks[line->marked] = line->total + count_before(bench, chunk,
                                                                   (enum demand_class) class,
                                                                   border(bench, line->marked));
        line_reserve(line, count);
        if (count > 0)
            memcpy(line->arrived.items + line->arrived.count, chunk->at[class],
                   count * sizeof *chunk->at[class]);
        line->arrived.count += count;
        line->arrived.items[line->arrived.count] = UINT64_MAX;
        line->total += count;
    }
}

/* The waits of a class in a span; they are forgotten with all before them. */
static void score_class(struct bench *bench, struct judge_score *score, enum demand_class class)
{
    struct line *line = &bench->lines[class];
    uint64_t target = (uint64_t)bench->target->wait_ms * TICKS_PER_MS;
    size_t begin = line->marks[2 * bench->span];
    size_t end = line->marks[2 * bench->span + 1];
    uint64_t *waits = line->waits.items + (begin - line->judged);

    score->count[class] = (int64_t)(end - begin);
    for (size_t i = 0; i < end - begin; i++)
        score->violations[class] += waits[i] > target;
    if (end > begin)
        score->wait_s[class] = (double)replay_quantile(waits, end - begin,
                                                       bench->target->percentile) /
                               TICKS_PER_SECOND;
    if (score->violations[class] > replay_allowed(score->count[class], bench->target->percentile))
        score->is_met = false;
    line->waits.count -= end - line->judged;
    if (line->waits.count > 0)
        memmove(line->waits.items, line->waits.items + (end - line->judged),
                line->waits.count * sizeof *line->waits.items);
    line->judged = end;
}

/* Whether all that arrived in the first span that is not judged have started. */
static bool is_over(const struct bench *bench)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        const struct line *line = &bench->lines[class];

        if (line->marked < 2 * bench->span + 2 ||
            line->judged + line->waits.count < line->marks[2 * bench->span + 1])
            return false;
    }
    return true;
}

static void score_spans(struct bench *bench)
{
    for (; bench->span < bench->span_count && is_over(bench); bench->span++) {
        struct judge_score *score = &bench->scores[bench->span];

        *score = (struct judge_score){ .is_met = true };
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            score_class(bench, score, (enum demand_class) class);
    }
}

static void run_chunks(struct bench *bench)
{
    uint64_t change = UINT64_MAX;

    for (size_t i = 0; i < arrivals_chunks(bench->arrivals); i++) {
        const struct arrivals_chunk *chunk = arrivals_chunk(bench->arrivals, i);

        if (chunk->is_first) {
            begin_segment(bench, chunk);
            change = next_change(bench, 0);
        }
        add_chunk(bench, chunk);
        run_until(bench, &change, chunk->is_last ? UINT64_MAX : chunk->end);
        score_spans(bench);
    }
}

void judge(struct arrivals *arrivals, const struct judge_plan *plan,
           const struct replay_target *target, const struct judge_span *spans, size_t count,
           struct judge_score *ret_scores)
{
    struct bench bench = { .arrivals = arrivals,
                           .plan = plan,
                           .target = target,
                           .spans = spans,
                           .span_count = count,
                           .scores = ret_scores };

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        bench.lines[class].marks = mem_new_array(2 * count, sizeof(size_t));
    run_chunks(&bench);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (struct line *line = &bench.lines[class]; line->marked < 2 * count; line->marked++)
            line->marks[line->marked] = line->total;
    score_spans(&bench);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        array_clear(&bench.lines[class].arrived);
        array_clear(&bench.lines[class].waits);
        mem_free(bench.lines[class].marks);
    }
    array_clear(&bench.leaving);
    staff_clear(&bench.staff);
}
