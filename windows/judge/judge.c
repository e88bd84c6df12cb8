/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * All plans are replayed together on the same arrivals, slot by slot.  A plan without waiting
 * requests is not replayed: it behaves as the offered load (offered.h).  It differs from the first
 * slot that has fewer servers than are busy there, until the same requests finish at the same times
 * again.
 *
 * Only waits above zero are kept, with the index of their request: a span's waits are a stretch of
 * them, which is judged and forgotten as soon as all of the span have started.
 */
#include "windows/judge/judge.h"

#include "windows/judge/borders.h"
#include "windows/judge/judge_engines.h"
#include "windows/judge/offered.h"
#include "windows/judge/staff.h"

struct waited {
    uint64_t index; /* of the request, within its class */
    uint64_t ticks;
};

struct waited_list {
    ARRAY(struct waited) list;
};

/* One plan. */
struct bench {
    const struct judge_plan *plan;
    struct judge_score *scores;
    size_t span;       /* the first that is not judged */
    bool is_offered;   /* goes the way of the offered load; the next five are not set then */
    bool has_vanished; /* servers did not suffice for the requests in progress when the segment
                          began */
    int servers;
    size_t next[DEMAND_CLASSES]; /* the first request that has not started */
    struct service_draws draws;
    struct staff staff;
    ARRAY(uint64_t) leaving; /* when those that have to go are done */
    struct waited_list waited[DEMAND_CLASSES];
};

struct court {
    struct feed feed;
    struct offered offered;
    uint64_t left_until; /* the servers that were busy when the segment began are free by then */
    const struct replay_target *target;
    struct borders borders;
    struct bench *benches;
    size_t bench_count;
    struct wall_time begin; /* of all plans */
    ARRAY(uint64_t) waits;  /* of the span that is scored */
};

/* -1: before the plans begin. */
static int64_t first_slot(const struct court *court)
{
    int64_t since = court->feed.origin_ms - court->begin.ms;

    return since < 0 ? -1 : since / JUDGE_SLOT_MS;
}

static uint64_t slot_end(const struct court *court, int64_t slot)
{
    return (uint64_t)(court->begin.ms + (slot + 1) * JUDGE_SLOT_MS - court->feed.origin_ms) *
           TICKS_PER_MS;
}

/* Of the servers that are busy at `tick`, those that finish last stay, up to the new number. */
static void set_servers(struct bench *bench, uint64_t *busy, size_t count, int servers,
                        uint64_t tick)
{
    size_t wanted = (size_t)servers;

    if (count > wanted)
        arrivals_sort_descending(busy, count);
    bench->leaving.count = 0;
    for (size_t i = wanted; i < count; i++)
        *array_add(&bench->leaving) = busy[i];
    staff_set(&bench->staff, wanted, busy, count < wanted ? count : wanted, tick);
    bench->servers = servers;
}

static void change_servers(struct bench *bench, int servers, uint64_t tick)
{
    const struct servers *tree = &bench->staff.tree;
    ARRAY(uint64_t) busy = { 0 };

    for (size_t i = 0; i < tree->count; i++)
        if (tree->keys[tree->leaves + i] >> tree->bits > tick)
            *array_add(&busy) = tree->keys[tree->leaves + i] >> tree->bits;
    for (size_t i = 0; i < bench->leaving.count; i++)
        if (bench->leaving.items[i] > tick)
            *array_add(&busy) = bench->leaving.items[i];
    set_servers(bench, busy.items, busy.count, servers, tick);
    array_clear(&busy);
}

static void leave_offered(struct bench *bench, struct offered_moment *moment, int servers,
                          uint64_t tick)
{
    bench->is_offered = false;
    memcpy(bench->next, moment->next, sizeof bench->next);
    bench->draws = moment->draws;
    set_servers(bench, moment->busy.items, moment->busy.count, servers, tick);
}

/* No request starts earlier than under the offered load.  So the same number of requests in
   progress, and the same sum of their end times, mean the same requests and times.  This
   does not hold for requests that were in progress when the segment began and got no server
   (has_vanished): until they are over, the answer is no. */
static bool is_offered_again(const struct court *court, const struct bench *bench, uint64_t tick)
{
    const struct offered_moment *after = &court->offered.after;
    const struct servers *tree = &bench->staff.tree;
    uint64_t sum = 0;
    size_t count = 0;

    if (memcmp(bench->next, after->next, sizeof bench->next) != 0 ||
        (bench->has_vanished && tick < court->left_until))
        return false;
    for (size_t i = 0; i < tree->count; i++) {
        uint64_t done = tree->keys[tree->leaves + i] >> tree->bits;

        count += done > tick;
        sum += done > tick ? done : 0;
    }
    for (size_t i = 0; i < bench->leaving.count; i++) {
        count += bench->leaving.items[i] > tick;
        sum += bench->leaving.items[i] > tick ? bench->leaving.items[i] : 0;
    }
    return count == after->busy.count && sum == after->sum;
}

/* Room for the waits of all requests that have arrived. */
static struct waited *reserve_waits(struct bench *bench, const struct feed *feed, int class)
{
    struct waited_list *waited = &bench->waited[class];
    size_t count = waited->list.count + feed_total(feed, class) - bench->next[class] + 1;

    if (count > waited->list.capacity) {
        waited->list.capacity = 2 * count;
        waited->list.items = mem_resize(waited->list.items, 2 * count, sizeof(struct waited));
    }
    return waited->list.items + waited->list.count;
}

/* Every start before `horizon`, with the servers there are. */
static void run_starts(struct bench *bench, const struct feed *feed, uint64_t horizon)
{
    const uint64_t *begin[] = { feed_at(feed, DEMAND_HIGH, bench->next[DEMAND_HIGH]),
                                feed_at(feed, DEMAND_LOW, bench->next[DEMAND_LOW]) };
    struct waited *waited[] = { reserve_waits(bench, feed, DEMAND_HIGH),
                                reserve_waits(bench, feed, DEMAND_LOW) };
    const uint64_t *high = begin[DEMAND_HIGH];
    const uint64_t *low = begin[DEMAND_LOW];
    const uint64_t *service = arrivals_setup_of(feed->arrivals)->service->ticks;
    struct servers servers = bench->staff.tree;
    struct service_draws draws = bench->draws;
    uint64_t first = servers_first(&servers);
    uint64_t idle_since = staff_can_grow(&bench->staff) ? bench->staff.idle_since : UINT64_MAX;

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

        const uint64_t *who = is_low ? low : high;

        *waited[is_low] = (struct waited){
            bench->next[is_low] + (size_t)(who - begin[is_low]),
            start - *who,
        };
        waited[is_low] += start > *who;
        high += 1 - is_low;
        low += is_low;
        first = servers_occupy(&servers, first, start + service_draw(&draws, service));
    }
    bench->next[DEMAND_HIGH] += (size_t)(high - begin[DEMAND_HIGH]);
    bench->next[DEMAND_LOW] += (size_t)(low - begin[DEMAND_LOW]);
    bench->draws = draws;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        bench->waited[class].list.count = (size_t)(waited[class] - bench->waited[class].list.items);
}

static void run_slot(struct court *court, struct bench *bench, int64_t slot, uint64_t begin,
                     uint64_t end)
{
    int servers = judge_servers(bench->plan, slot);

    if (bench->is_offered) {
        if ((size_t)servers >= court->offered.most)
            return;
        leave_offered(bench, &court->offered.before, servers, begin);
    } else if (servers != bench->servers) {
        change_servers(bench, servers, begin);
    }
    run_starts(bench, &court->feed, end);
    bench->is_offered = is_offered_again(court, bench, end);
}

static size_t started(const struct court *court, const struct bench *bench, int class)
{
    return bench->is_offered ? court->offered.after.next[class] : bench->next[class];
}

/* The next chunk, and the borders in it. */
static void load_next(struct court *court, const size_t needed[DEMAND_CLASSES])
{
    const struct arrivals_chunk *chunk = feed_next(&court->feed, needed);
    size_t before[DEMAND_CLASSES];

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        before[class] = feed_total(&court->feed, class) - chunk->count[class];
    borders_mark(&court->borders, chunk, court->feed.origin_ms, before);
}

/* All requests that arrive before `end`. */
static void load_until(struct court *court, uint64_t end)
{
    while (!court->feed.is_over && court->feed.known_end < end) {
        size_t needed[DEMAND_CLASSES];

        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            needed[class] = court->offered.after.next[class];
            for (size_t i = 0; i < court->bench_count; i++)
                if (started(court, &court->benches[i], class) < needed[class])
                    needed[class] = started(court, &court->benches[i], class);
        }
        load_next(court, needed);
    }
}

/* The waits of a class in a span; they are forgotten with all before them. */
static void score_class(struct court *court, struct bench *bench, struct judge_score *score,
                        int class)
{
    struct waited_list *waited = &bench->waited[class];
    uint64_t target = (uint64_t)court->target->wait_ms * TICKS_PER_MS;
    size_t begin = borders_begin(&court->borders, class, bench->span);
    size_t end = borders_behind(&court->borders, class, bench->span);
    size_t at = 0;

    court->waits.count = 0;
    for (; at < waited->list.count && waited->list.items[at].index < end; at++) {
        uint64_t ticks = waited->list.items[at].ticks;

        if (waited->list.items[at].index < begin)
            continue;
        *array_add(&court->waits) = ticks;
        score->violations[class] += ticks > target;
    }
    score->count[class] = (int64_t)(end - begin);
    score->wait_s[class] = (double)replay_quantile_waited(court->waits.items, court->waits.count,
                                                          end - begin, court->target->percentile) /
                           TICKS_PER_SECOND;
    if (score->violations[class] > replay_allowed(score->count[class], court->target->percentile))
        score->is_met = false;
    waited->list.count -= at;
    if (waited->list.count > 0)
        memmove(waited->list.items, waited->list.items + at,
                waited->list.count * sizeof *waited->list.items);
}

/* Whether all that arrived in the first span that is not judged have started. */
static bool is_over(const struct court *court, const struct bench *bench)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        if (!borders_are_known(&court->borders, class, bench->span) ||
            started(court, bench, class) < borders_behind(&court->borders, class, bench->span))
            return false;
    return true;
}

static void score_spans(struct court *court, struct bench *bench)
{
    for (; bench->span < court->borders.count && is_over(court, bench); bench->span++) {
        struct judge_score *score = &bench->scores[bench->span];

        *score = (struct judge_score){ .is_met = true };
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            score_class(court, bench, score, class);
    }
}

static void begin_segment(struct court *court)
{
    size_t segment = arrivals_outline(court->feed.arrivals, court->feed.chunk)->segment;
    size_t busy;
    const uint64_t *left = arrivals_before(court->feed.arrivals, segment, &busy);

    feed_begin(&court->feed);
    offered_begin(&court->offered, &court->feed, left, busy);
    court->left_until = busy > 0 ? left[0] : 0;
    for (size_t i = 0; i < court->bench_count; i++) {
        struct bench *bench = &court->benches[i];
        int servers = judge_servers(bench->plan, first_slot(court));

        bench->is_offered = (size_t)servers >= busy;
        bench->has_vanished = !bench->is_offered;
        if (bench->is_offered)
            continue;
        leave_offered(bench, &court->offered.after, servers, 0);
        bench->leaving.count = 0;
    }
}

/* No more requests arrive, and all waiting ones start. */
static void drain(struct court *court, struct bench *bench, int64_t slot)
{
    uint64_t begin = slot_end(court, slot - 1);

    while (!bench->is_offered &&
           (bench->next[DEMAND_HIGH] < feed_total(&court->feed, DEMAND_HIGH) ||
            bench->next[DEMAND_LOW] < feed_total(&court->feed, DEMAND_LOW))) {
        bool is_last = slot + 1 >= (int64_t)bench->plan->slots;
        uint64_t end = is_last ? UINT64_MAX : slot_end(court, slot);

        if (judge_servers(bench->plan, slot) != bench->servers)
            change_servers(bench, judge_servers(bench->plan, slot), begin);
        run_starts(bench, &court->feed, end);
        begin = end;
        slot++;
    }
}

static void run_segment(struct court *court)
{
    uint64_t begin = 0;
    int64_t slot;

    begin_segment(court);
    for (slot = first_slot(court); !court->feed.is_over || begin < court->feed.known_end; slot++) {
        uint64_t end = slot_end(court, slot);

        load_until(court, end);
        offered_slot(&court->offered, &court->feed, begin, end);
        for (size_t i = 0; i < court->bench_count; i++) {
            run_slot(court, &court->benches[i], slot, begin, end);
            score_spans(court, &court->benches[i]);
        }
        begin = end;
    }
    for (size_t i = 0; i < court->bench_count; i++) {
        drain(court, &court->benches[i], slot);
        score_spans(court, &court->benches[i]);
    }
}

static void court_clear(struct court *court)
{
    for (size_t i = 0; i < court->bench_count; i++) {
        struct bench *bench = &court->benches[i];

        array_clear(&bench->leaving);
        staff_clear(&bench->staff);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            array_clear(&bench->waited[class].list);
    }
    mem_free(court->benches);
    borders_clear(&court->borders);
    array_clear(&court->waits);
    offered_clear(&court->offered);
    feed_clear(&court->feed);
}

void judge_all(const struct judge_setup *setup, const struct judge_case *cases, size_t count)
{
    if (arrivals_setup_of(setup->arrivals)->service->engine) {
        judge_engines(setup, cases, count);
        return;
    }

    struct court court = { .target = setup->target,
                           .bench_count = count,
                           .begin = cases[0].plan.begin };

    feed_init(&court.feed, setup->arrivals);
    court.benches = mem_new_array(count, sizeof *court.benches);
    for (size_t i = 0; i < count; i++) {
        require(cases[i].plan.begin.ms == court.begin.ms);
        court.benches[i].plan = &cases[i].plan;
        court.benches[i].scores = cases[i].scores;
    }
    borders_init(&court.borders, setup->spans, setup->span_count);
    while (court.feed.chunk < arrivals_chunks(setup->arrivals))
        run_segment(&court);
    borders_end(&court.borders, (const size_t[]){ feed_total(&court.feed, DEMAND_HIGH),
                                                  feed_total(&court.feed, DEMAND_LOW) });
    for (size_t i = 0; i < count; i++)
        score_spans(&court, &court.benches[i]);
    court_clear(&court);
}

void judge(const struct judge_setup *setup, const struct judge_plan *plan,
           struct judge_score *ret_scores)
{
    struct judge_case one = { *plan, ret_scores };

    judge_all(setup, &one, 1);
}
