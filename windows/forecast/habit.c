/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See habit.h.
 */
#include "windows/forecast/habit.h"

enum { OCCURRENCES_MIN = 3, OFTEN_NUMERATOR = 3, OFTEN_DENOMINATOR = 4 };

void habit_init(struct habit *habit, size_t place_count)
{
    *habit = (struct habit){ .unknown = mem_new_array(place_count, sizeof *habit->unknown) };
}

void habit_clear(struct habit *habit)
{
    for (size_t i = 0; i < HABIT_OCCURRENCES; i++)
        array_clear(&habit->last[i].list);
    mem_free(habit->unknown);
    habit->unknown = NULL;
}

void habit_add(struct habit *habit, const struct habit_places *unknown)
{
    struct habit_places *oldest = &habit->last[habit->seen++ % HABIT_OCCURRENCES];

    for (size_t i = 0; i < oldest->list.count; i++)
        habit->unknown[oldest->list.items[i]]--;
    oldest->list.count = 0;
    for (size_t i = 0; i < unknown->list.count; i++) {
        *array_add(&oldest->list) = unknown->list.items[i];
        habit->unknown[unknown->list.items[i]]++;
    }
}

size_t habit_count(const struct habit *habit, const struct habit_places *unknown)
{
    size_t votes = habit->seen < HABIT_OCCURRENCES ? habit->seen : HABIT_OCCURRENCES;
    size_t count = 0;

    if (votes < OCCURRENCES_MIN)
        return 0;
    for (size_t i = 0; i < unknown->list.count; i++)
        count += habit->unknown[unknown->list.items[i]] * OFTEN_DENOMINATOR >=
                 votes * OFTEN_NUMERATOR;
    return count;
}
