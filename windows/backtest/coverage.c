/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See coverage.h.
 */
#include "windows/backtest/coverage.h"

/* Whether a step that overlaps the slot is known. */
static bool is_known(const struct demand_series *series, struct wall_time slot)
{
    int64_t since = slot.ms - series->start.ms;
    int64_t first = since >= 0 ? since / series->step_ms : 0;
    int64_t end = (since + JUDGE_SLOT_MS + series->step_ms - 1) / series->step_ms;

    for (int64_t step = first; step < end && step < (int64_t)series->count; step++)
        if (demand_is_known(series, (size_t)step))
            return true;
    return false;
}

static size_t count_blanks(const struct coverage *coverage, const struct course *course,
                           size_t first_week)
{
    size_t blanks = 0;

    for (size_t week = first_week; week < course->weeks; week++) {
        size_t slot = course_week_slot(course, week);
        size_t end = course_week_slot(course, week + 1);

        while (slot < end && !coverage->counted[slot])
            slot++;
        blanks += slot == end;
    }
    return blanks;
}

void coverage_init(struct coverage *coverage, const struct backtest_queue *queues,
                   size_t queue_count, const struct course *course, size_t first_week)
{
    size_t first = course_week_slot(course, first_week);

    *coverage = (struct coverage){
        .counted = mem_new_array(course->slots, sizeof *coverage->counted),
        .unknown = mem_new_array(queue_count, sizeof *coverage->unknown),
        .judged = course->slots - first,
    };
    for (size_t slot = 0; slot < course->slots; slot++) {
        size_t known = 0;

        for (size_t queue = 0; queue < queue_count; queue++) {
            bool is_one = is_known(queues[queue].series, course_slot(course, slot));

            known += is_one;
            coverage->unknown[queue] += slot >= first && !is_one;
        }
        coverage->counted[slot] = known == queue_count;
        coverage->left_out += slot >= first && known < queue_count;
        coverage->has_arrivals = coverage->has_arrivals ||
                                 (slot >= first && known > 0 && known < queue_count);
    }
    for (size_t queue = 1; queue < queue_count; queue++)
        if (coverage->unknown[queue] > coverage->unknown[coverage->worst])
            coverage->worst = queue;
    coverage->blanks = count_blanks(coverage, course, first_week);
}

void coverage_clear(struct coverage *coverage)
{
    mem_free(coverage->counted);
    mem_free(coverage->unknown);
}
