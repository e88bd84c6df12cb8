/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See field.h.
 */
#include "windows/backtest/field.h"

enum { PAST_WEEKS = 8 };

void field_init(struct field *field, const struct backtest_queue *queue,
                const struct course *course)
{
    field->queue = queue;
    field->course = course;
    field->service = service_time_of(queue->shape, queue->service_s, queue->service_cv);
    field->needs = mem_new_array(course->spans.count, sizeof *field->needs);
    field->last_week = mem_new_array(course->weeks * course->set->weekly_count,
                                     sizeof *field->last_week);
    for (int kind = 0; kind < OUTLOOKS; kind++)
        outlook_init(&field->outlooks[kind], field, (enum outlook_kind)kind);
}

void field_clear(struct field *field)
{
    service_time_free(field->service);
    mem_free(field->needs);
    mem_free(field->last_week);
    for (int kind = 0; kind < OUTLOOKS; kind++)
        outlook_clear(&field->outlooks[kind]);
}

struct search_setup field_truth(const struct field *field, const struct segment_list *segments)
{
    return (struct search_setup){ .series = field->queue->series,
                                  .segments = segments,
                                  .service = field->service,
                                  .scale = field->queue->scale,
                                  .target = field->queue->target,
                                  .seed = field->seed,
                                  .seeds = 1 };
}

struct forecast_setup field_forecast_setup(const struct field *field)
{
    return (struct forecast_setup){ .series = field->queue->series,
                                    .set = field->course->set,
                                    .service_s = field->queue->service_s,
                                    .service_cv = field->queue->service_cv,
                                    .engine = field->service->engine,
                                    .scale = field->queue->scale,
                                    .target = field->queue->target,
                                    .without = field->without,
                                    .end = field->course->end };
}

int field_find_need(struct field *field, size_t span, struct error *err)
{
    const struct wall_span *time = &field->course->spans.items[span].time;
    owned(segments) struct segment_list segments = { 0 };
    struct search_setup setup = field_truth(field, &segments);
    struct search_result result;

    segments_of_series(field->queue->series, *time, &segments);
    if (search_servers(&setup, &result, err) < 0)
        return -1;
    field->needs[span] = result.servers;
    return 0;
}

int field_find_last_week(struct field *field, size_t week, struct error *err)
{
    const struct field_how how = { .seeds = PLAN_SEEDS, .scale = 1 };
    size_t windows = field->course->set->weekly_count;

    for (size_t window = 0; window < windows; window++) {
        owned(segments) struct segment_list segments = { 0 };

        field_past(field, window, course_week(field->course, week), &segments);
        if (field_search(field, &segments, &how, &field->last_week[week * windows + window], err) <
            0)
            return -1;
    }
    return 0;
}

void field_past(const struct field *field, size_t window, struct wall_time wall,
                struct segment_list *out)
{
    for (int64_t week = 0; week < PAST_WEEKS && out->list.count == 0; week++)
        segments_of_window(
            field->queue->series, field->course->set, window,
            (struct wall_span){ { wall.ms - (week + 1) * WEEK_MS }, { wall.ms - week * WEEK_MS } },
            out);
}

static double load_of(const struct field *field, double count, double duration_ms)
{
    double whole_s = engine_whole_s(field->service->engine, field->queue->service_s);

    return count * field->queue->scale * whole_s * SECOND_MS / duration_ms;
}

double field_load(const struct field *field, const struct segment_list *segments)
{
    const struct demand_series *series = field->queue->series;
    double count = 0;
    double steps = 0;

    for (size_t i = 0; i < segments->list.count; i++) {
        const struct segment *segment = &segments->list.items[i];

        for (size_t step = segment->first; step < segment->first + segment->count; step++)
            count += demand_at(series, DEMAND_HIGH, step) + demand_at(series, DEMAND_LOW, step);
        steps += (double)segment->count;
    }
    return steps > 0 ? load_of(field, count, steps * (double)series->step_ms) : 0;
}

/* Steps in a slot. */
static int64_t slot_steps(const struct demand_series *series)
{
    return JUDGE_SLOT_MS > series->step_ms ? JUDGE_SLOT_MS / series->step_ms : 1;
}

static double steps_load(const struct field *field, int64_t first)
{
    const struct demand_series *series = field->queue->series;
    int64_t steps = slot_steps(series);
    double count = 0;

    if (first < 0 || first + steps > (int64_t)series->count)
        return -1;
    for (int64_t i = 0; i < steps; i++) {
        size_t step = (size_t)(first + i);

        if (!demand_is_known(series, step))
            return -1;
        count += demand_at(series, DEMAND_HIGH, step) + demand_at(series, DEMAND_LOW, step);
    }
    return load_of(field, count, (double)(steps * series->step_ms));
}

double field_slot_load(const struct field *field, struct wall_time begin)
{
    const struct demand_series *series = field->queue->series;

    if (begin.ms < series->start.ms)
        return -1;
    return steps_load(field, (begin.ms - series->start.ms) / series->step_ms);
}

struct wall_time field_slot_known(const struct field *field, struct wall_time begin)
{
    const struct demand_series *series = field->queue->series;
    int64_t first = begin.ms < series->start.ms ? 0
                                                : (begin.ms - series->start.ms) / series->step_ms;

    return (struct wall_time){ series->start.ms + (first + slot_steps(series)) * series->step_ms };
}

double field_recent_load(const struct field *field, struct wall_time wall)
{
    const struct demand_series *series = field->queue->series;

    return steps_load(field, (wall.ms - series->start.ms) / series->step_ms - slot_steps(series));
}

int field_search(const struct field *field, const struct segment_list *segments,
                 const struct field_how *how, int *ret_servers, struct error *err)
{
    struct search_setup setup = field_truth(field, segments);
    struct search_result result;

    setup.seed = field->seed + 1;
    setup.seeds = how->seeds;
    setup.scale *= how->scale;
    setup.is_each_day = how->is_each_day;
    if (search_servers(&setup, &result, err) < 0)
        return -1;
    *ret_servers = result.servers;
    return 0;
}
