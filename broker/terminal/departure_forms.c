/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See departure_forms.h.
 */
#include "broker/terminal/departure_forms.h"

#include "base/input/json.h"
#include "broker/api/departure_calendar.h"
#include "broker/terminal/forms.h"

#include <inttypes.h>

int64_t departure_gpus(const json_t *row)
{
    const json_t *job;
    int64_t gpus = 0;
    size_t i;

    json_array_foreach(json_object_get(row, "jobs"), i, job)
        gpus += json_int_or(job, "gpus", 0);
    return gpus;
}

void departures_csv(const json_t *answer, bool has_titles, struct text *out)
{
    static const char *const keys[] = { "leaves", "node",      "cluster", "pool",
                                        "to",     "certainty", "due",     "window" };
    const json_t *row;
    size_t i;

    for (size_t k = 0; has_titles && k < COUNT_OF(keys); k++)
        text_add(out, "%s,", keys[k]);
    text_add(out, "%s", has_titles ? "gpus,jobs\r\n" : "");
    json_array_foreach(json_object_get(answer, "departures"), i, row) {
        owned(chars) char *jobs = departure_jobs(row, "; ");

        for (size_t k = 0; k < COUNT_OF(keys); k++) {
            csv_add(out, json_text_or(row, keys[k], ""));
            text_add(out, ",");
        }
        text_add(out, "%" PRId64 ",", departure_gpus(row));
        csv_add(out, jobs);
        text_add(out, "\r\n");
    }
}
