/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See examination.h.
 */
#include "broker/doctor/examination.h"

#include "base/input/json.h"
#include "broker/sizing/source_world.h"

enum { LOOK_MS = 50 };

struct examination {
    struct loop *loop;
    struct doctor *doctor;
    struct timer *timer;
    int64_t began_ms;
    int64_t timeout_ms;
    json_t *rows;
    int wrong;
};

json_t *examination_row(const struct doctor_row *row)
{
    static const char *const verdicts[] = {
        [FINDING_RIGHT] = "right", [FINDING_DOUBTFUL] = "doubtful", [FINDING_WRONG] = "wrong"
    };

    return json_make("{s:s, s:s, s:s, s:s, s:o, s:o}", "part", row->part, "name", row->name,
                     "verdict", verdicts[row->finding.verdict], "subject", row->finding.subject,
                     "text", json_text(row->finding.text), "remedy",
                     json_text(row->finding.remedy));
}

static void add_row(void *context, const struct doctor_row *row)
{
    struct examination *examination = context;

    examination->wrong += row->finding.verdict == FINDING_WRONG;
    json_array_append_new(examination->rows, examination_row(row));
}

/* Time is up, or nothing is asked any more. */
static void look(void *context)
{
    struct examination *examination = context;
    int64_t waited_ms = loop_now(examination->loop) - examination->began_ms;

    if (waited_ms >= examination->timeout_ms)
        doctor_give_up(examination->doctor, examination->timeout_ms);
    if (doctor_is_done(examination->doctor))
        loop_stop(examination->loop);
    else
        timer_set(examination->timer, LOOK_MS);
}

int examine(const struct config *config, int64_t timeout_ms, json_t *rows, struct error *err)
{
    owned(source_world) struct source_world world = { 0 };
    struct examination examination = { .timeout_ms = timeout_ms, .rows = rows };

    if (source_world_open(&world, err) < 0)
        return -1;
    examination.loop = world.world.loop;
    examination.began_ms = loop_now(examination.loop);
    examination.timer = timer_new(examination.loop, look, &examination);
    examination.doctor = doctor_open(&world.world, config, add_row, &examination);
    timer_set(examination.timer, 0);
    loop_run(examination.loop);
    doctor_close(examination.doctor);
    timer_free(examination.timer);
    return examination.wrong;
}
