/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A folder to foretell in: the small configuration, and five weeks of a queue that grows by a tenth
 * of its first level a week.
 */
#pragma once

#include "base/timestamp.h"
#include "tests/cli/said.h"
#include "tests/cli/small_world.h"

/* When weeks.csv ends. */
#define NOW " --now 2026-11-16T00:00:00Z"

/* A row of a table that begins with "t,queue,count". */
static inline void add_count(struct text *csv, int64_t ms, double count)
{
    char time[WALL_TEXT_SIZE];

    text_add(csv, "%s,chat,%.0f\n", wall_format((struct wall_time){ ms }, time), count);
}

/* Steps of ten minutes, the last day with a factor. */
static inline void write_demand(const char *folder, const char *name, double last_day)
{
    owned(text) struct text *csv = text_new(1 << 20);
    int64_t first = civil_day(2026, 10, 12) * DAY_MS;

    text_add(csv, "t,queue,count\n");
    for (int step = 0; step < 35 * 144; step++) {
        double level = 300 + 30.0 * (step / 1008);

        add_count(csv, first + step * (10 * (int64_t)MINUTE_MS),
                  step / 144 == 34 ? level * last_day : level);
    }
    mem_free(test_folder_write(folder, name, csv->chars));
}

/* With weeks.csv and sluice.yaml in it. */
static inline char *weeks_folder(double last_day)
{
    char *folder = test_folder_new();

    write_demand(folder, "weeks.csv", last_day);
    mem_free(test_folder_write(folder, "sluice.yaml", small_config));
    return folder;
}
