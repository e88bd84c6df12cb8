/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The window occurrences that the plans of sluice missed, and what is known of each.
 */
#include "windows/backtest/work.h"
#include "windows/forecast/shares.h"

#include <math.h>

/* The slots of a planned span that begin within an occurrence. */
struct part_of_span {
    size_t span; /* planned */
    size_t first;
    size_t end;
};

/* A plan, and what the fleet let it have. */
struct course_of_servers {
    const int *planned; /* a slot */
    const int *held;
};

static int least_of(const int *servers, const struct part_of_span *part)
{
    int least = servers[part->first];

    for (size_t slot = part->first; slot < part->end; slot++)
        least = servers[slot] < least ? servers[slot] : least;
    return least;
}

static bool find_part(const struct course *course, size_t span, const struct wall_span *time,
                      struct part_of_span *ret_part)
{
    const struct wall_span both = {
        .begin.ms = time->begin.ms > course->spans.items[span].time.begin.ms
                        ? time->begin.ms
                        : course->spans.items[span].time.begin.ms,
        .end.ms = time->end.ms < course->spans.items[span].time.end.ms
                      ? time->end.ms
                      : course->spans.items[span].time.end.ms,
    };
    const struct course_span common = { .time = both };

    ret_part->span = span;
    if (both.begin.ms < both.end.ms)
        course_slots_of(course, &common, &ret_part->first, &ret_part->end);
    return both.begin.ms < both.end.ms && ret_part->first < ret_part->end;
}

/* If planned windows are finer than judged ones: the part that lacked most servers.  False: no slot
   begins in it. */
static bool find_worst_part(const struct field *field, const int *held,
                            const struct wall_span *time, struct part_of_span *ret_part)
{
    double most = -1;

    for (size_t span = 0; span < field->course->spans.count; span++) {
        struct part_of_span part = { 0 };

        if (!find_part(field->course, span, time, &part))
            continue;

        double lack = field->needs[span] / fmax(least_of(held, &part), 0.5);

        if (lack > most) {
            most = lack;
            *ret_part = part;
        }
    }
    return most >= 0;
}

/* The number for the safest bound: scaled by the closed form from the searched number. */
static double safest_of(const struct field *field, const struct policy *policy, size_t span)
{
    const struct outlook *outlook = &field->outlooks[policy->outlook];
    double asked = outlook->wanted[outlook->chosen * field->course->spans.count + span];
    double bound = outlook->bounds[span * SHARES + SHARES - 1];

    return asked > 0 ? outlook->numbers[span] * bound / asked : 0;
}

/* Of the policies that met it with more servers, the one that planned closest to the occurrence. */
static const struct policy *find_later(const struct work *work, const struct policy *policy,
                                       const struct backtest_miss *miss,
                                       const struct part_of_span *part, int *ret_servers)
{
    const struct policy *later = NULL;

    for (size_t row = 0; row < work->backtest->count; row++) {
        const struct policy *other = work->backtest->rows[row].policy;
        const struct run *run = work->chosen[row];
        int servers = least_of(run->servers[miss->queue], part);

        if (!other->is_share || other->outlook <= policy->outlook ||
            !run->scores[miss->queue][miss->span].is_met || servers <= miss->facts.planned ||
            (later && later->outlook > other->outlook))
            continue;
        later = other;
        *ret_servers = servers;
    }
    return later;
}

/* The missed target that most requests were over. */
static void set_target(const struct judge_score *score, const struct replay_target *target,
                       struct backtest_miss *miss)
{
    struct search_targets targets = { 0 };

    judge_found(score, targets.found_s);
    search_targets_judge(&targets, target);
    miss->target = targets.binds;
    miss->found_s = targets.found_s[targets.binds];
}

static void add_miss(const struct work *work, size_t row, size_t queue, size_t span,
                     const struct course_of_servers *servers)
{
    const struct field *field = &work->fields[queue];
    const struct policy *policy = work->backtest->rows[row].policy;
    const struct judge_score *score = &work->chosen[row]->scores[queue][span];
    struct backtest_miss miss = { .queue = queue, .span = span };
    struct part_of_span part = { 0 };

    if (!find_worst_part(field, servers->held, &work->spans[span], &part))
        return;
    miss.wait_s = fmax(score->wait_s[DEMAND_HIGH], score->wait_s[DEMAND_LOW]);
    set_target(score, &field->queue->target, &miss);
    miss.facts.held = least_of(servers->held, &part);
    miss.facts.planned = least_of(servers->planned, &part);
    if (miss.facts.planned < miss.facts.held) /* it caught up */
        miss.facts.planned = miss.facts.held;
    miss.facts.needed = field->needs[part.span];
    miss.facts.safest = safest_of(field, policy, part.span);
    miss.later = find_later(work, policy, &miss, &part, &miss.facts.later);
    miss.reason = miss_reason(&miss.facts);
    *array_add(&work->backtest->rows[row].misses) = miss;
}

/* Plans once more: the run has only the servers that the fleet allowed. */
static int add_misses(const struct work *work, size_t row, size_t queue, struct error *err)
{
    const struct backtest *backtest = work->backtest;
    const struct run *run = work->chosen[row];
    int *planned = mem_new_array(backtest->planned.slots, sizeof *planned);
    const struct course_of_servers servers = { planned, run->servers[queue] };
    int result = run->policy->plan(&work->fields[queue], run->level, planned, err);

    for (size_t span = 0; result == 0 && span < backtest->judged.spans.count; span++)
        if (backtest->judged.spans.items[span].week >= backtest->first_week &&
            !run->scores[queue][span].is_met)
            add_miss(work, row, queue, span, &servers);
    mem_free(planned);
    return result;
}

int missed_find(struct work *work, struct error *err)
{
    for (size_t row = 0; row < work->backtest->count; row++)
        for (size_t queue = 0; queue < work->setup->queue_count; queue++)
            if (work->backtest->rows[row].policy->is_share && add_misses(work, row, queue, err) < 0)
                return -1;
    return 0;
}
