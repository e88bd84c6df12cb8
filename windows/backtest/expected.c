/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The factors were measured on three traces of two to nine weeks, with one queue and with ten.
 */
#include "windows/backtest/expected.h"

static const double step_foretold = 40; /* of a demand's steps, once */

/* Requests of a search, for each repetition. */
static const double last_week_searched = 1.6;
static const double outlook_searched = 4;
static const double need_searched = 6;

/* All requests of the weeks planned. */
static const double oracle_passes = 50;
static const double engine_oracle_passes = 22;
static const double engine_request = 8; /* of an engine, for one of a server */
static const double windowed_passes = 6;
static const double limit_passes = 10;        /* where moves are of whole nodes */
static const double limit_server_passes = 90; /* where they are of servers: queues share nodes */
static const double judged_passes = 0.25;     /* a run, of those that are judged together */

static const double slot_planned = 0.1; /* of any other plan */

double expected_requests(const struct field *field)
{
    const struct demand_series *series = field->queue->series;
    double weeks = (double)series->count * (double)series->step_ms / WEEK_MS;
    double count = 0;

    for (size_t step = 0; step < series->count; step++)
        if (demand_is_known(series, step))
            count += demand_at(series, DEMAND_HIGH, step) + demand_at(series, DEMAND_LOW, step);
    if (field->service->engine)
        count *= engine_request;
    return weeks > 0 ? count * field->queue->scale / weeks : 0;
}

static double all_requests(const struct work *work, size_t queue)
{
    return work->requests[queue] * (double)(work->backtest->planned.weeks - 1);
}

double expected_foretell(const struct work *work, size_t queue)
{
    return step_foretold * (double)work->fields[queue].queue->series->count;
}

double expected_search(const struct work *work, const struct search_item *item, size_t queue)
{
    const struct wall_span *time = &work->backtest->planned.spans.items[item->at].time;
    double requests = work->requests[queue];

    switch (item->kind) {
    case SEARCH_LAST_WEEK:
        return last_week_searched * requests * PLAN_SEEDS;
    case SEARCH_OUTLOOK:
        return outlook_searched * requests * work->setup->seeds;
    case SEARCH_NEED:
        return need_searched * requests * (double)(time->end.ms - time->begin.ms) / WEEK_MS;
    }
    return 0;
}

double expected_plan(const struct work *work, const struct policy *policy, size_t queue)
{
    if (policy == &policies[policies_oracle()])
        return (work->fields[queue].service->engine ? engine_oracle_passes : oracle_passes) *
               all_requests(work, queue);
    return policy->is_oracle ? windowed_passes * all_requests(work, queue)
                             : slot_planned * (double)work->backtest->planned.slots;
}

double expected_judge(const struct work *work, size_t runs, size_t queue)
{
    return (1 + judged_passes * (double)runs) * all_requests(work, queue);
}

double expected_limit(const struct work *work, size_t queue)
{
    return (work->setup->queue_count > 1 ? limit_server_passes : limit_passes) *
           all_requests(work, queue);
}
