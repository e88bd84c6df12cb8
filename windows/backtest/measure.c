/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See measure.h.
 */
#include "windows/backtest/measure.h"

#include <math.h>

static const double slot_h = (double)JUDGE_SLOT_MS / HOUR_MS;

/* Each node is needed or not, independent of the others: gaps are filled node by node. */
static void fill_gaps(int *nodes, size_t slots, int node, size_t gap_max, const size_t *known)
{
    size_t last = SIZE_MAX;

    for (size_t i = 0; i < slots; i++) {
        if (nodes[i] < node)
            continue;
        if (last != SIZE_MAX && i - last - 1 <= gap_max && known[i] <= last + 1)
            for (size_t at = last + 1; at < i; at++)
                nodes[at] = node;
        last = i;
    }
}

void measure_nodes(const struct fleet *fleet, const int *gpus, size_t slots, const size_t *known,
                   int *ret_nodes)
{
    double cost_ms = (double)(fleet->up_ms + fleet->down_ms) +
                     fleet->evicted_h / fleet->gpus_per_node * HOUR_MS;
    int most = 0;

    for (size_t i = 0; i < slots; i++) {
        ret_nodes[i] = (gpus[i] + fleet->gpus_per_node - 1) / fleet->gpus_per_node;
        most = ret_nodes[i] > most ? ret_nodes[i] : most;
    }
    for (int node = most; known && node > 0; node--)
        fill_gaps(ret_nodes, slots, node, (size_t)(cost_ms / JUDGE_SLOT_MS), known);
}

static bool is_counted(const struct measure_slots *slots, size_t slot)
{
    return !slots->counted || slots->counted[slot];
}

/* The last counted slot before this one; without any, the slot itself. */
static size_t counted_before(const struct measure_slots *slots, size_t slot)
{
    for (size_t before = slot; before-- > 0;)
        if (is_counted(slots, before))
            return before;
    return slot;
}

void measure_capacity(const struct fleet *fleet, const int *nodes,
                      const struct measure_slots *slots, struct measure *measure)
{
    size_t before = counted_before(slots, slots->first);
    size_t count = 0;
    int64_t up = 0;
    int64_t down = 0;
    int64_t held = 0;

    for (size_t i = slots->first; i < slots->end; i++) {
        if (!is_counted(slots, i))
            continue;

        int change = before < i ? nodes[i] - nodes[before] : 0;

        up += change > 0 ? change : 0;
        down -= change < 0 ? change : 0;
        held += nodes[i];
        before = i;
        count++;
    }
    measure->production_h += (double)held * fleet->gpus_per_node * slot_h;
    measure->transit_h += (double)(up * fleet->up_ms + down * fleet->down_ms) / HOUR_MS *
                          fleet->gpus_per_node;
    measure->evicted_h += (double)up * fleet->evicted_h;
    measure->moves_a_week += count > 0
                                 ? (double)(up + down) / ((double)count * JUDGE_SLOT_MS / WEEK_MS)
                                 : 0;
    measure->research_h = (double)count * fleet->nodes * fleet->gpus_per_node * slot_h -
                          measure->production_h - measure->transit_h - measure->evicted_h;
}

void measure_promises(const struct course *course, struct course_weeks weeks,
                      const struct judge_score *scores, const struct replay_target *target,
                      struct measure *measure)
{
    for (size_t i = 0; i < course->spans.count; i++) {
        const struct course_span *span = &course->spans.items[i];
        const struct judge_score *score = &scores[i];
        double found_s[REPLAY_FIGURES];

        if (span->week < weeks.from || span->week >= weeks.to ||
            score->count[DEMAND_HIGH] + score->count[DEMAND_LOW] == 0)
            continue;
        measure->spans++;
        measure->spans_met += score->is_met;
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            measure->requests += score->count[class];
            measure->late += score->violations[class];
        }
        judge_found(score, found_s);
        for (int which = 0; which < REPLAY_FIGURES; which++) {
            double target_s = search_target_s(target, (enum replay_figure)which);

            if (which == REPLAY_WAIT || target_s > 0)
                measure->worst = fmax(measure->worst, found_s[which] / target_s);
        }
    }
    measure->attainment = measure->spans > 0 ? (double)measure->spans_met / (double)measure->spans
                                             : 1;
    measure->violations = measure->requests > 0 ? (double)measure->late / (double)measure->requests
                                                : 0;
}

void measure_shortage(const struct field *field, const int *servers, size_t first, size_t end,
                      struct measure *measure)
{
    for (size_t i = first; i < end; i++) {
        double load = field_slot_load(field, course_slot(field->course, i));

        if (load > servers[i])
            measure->shortage_h += (load - servers[i]) * field->queue->gpus * slot_h;
    }
}
