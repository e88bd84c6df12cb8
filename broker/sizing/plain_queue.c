/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See plain_queue.h.
 */
#include "broker/sizing/plain_queue.h"

static int refuse(const struct command_call *call, const char *name, struct error *err)
{
    return call_text(call, name)
               ? error_set(err, ERROR_INVALID,
                           "--%s requires --service; without it the configuration says", name)
               : 0;
}

int plain_queue_read(struct plain_queue *queue, const struct command_call *call,
                     const char *const *more, struct error *err)
{
    static const char *const names[] = { "service-cv", "wait-target", "percentile", "time-zone",
                                         "queue" };

    *queue = (struct plain_queue){ .service_cv = 1,
                                   .target = { .wait_ms = 30 * SECOND_MS, .percentile = 98 },
                                   .scale = 1 };
    if (call_duration(call, "service", &queue->service_ms, err) < 0 ||
        call_double(call, "service-cv", (struct double_range){ 0, 10 }, &queue->service_cv, err) <
            0 ||
        call_duration(call, "wait-target", &queue->target.wait_ms, err) < 0 ||
        call_double(call, "percentile", (struct double_range){ 50, 99.999 },
                    &queue->target.percentile, err) < 0 ||
        call_double(call, "scale", (struct double_range){ 1e-6, 1e6 }, &queue->scale, err) < 0)
        return -1;
    if (queue->service_ms < 0 || queue->service_ms > DAY_MS ||
        (call_text(call, "service") && queue->service_ms == 0))
        return error_set(err, ERROR_INVALID,
                         "--service: expected more than nothing, a day at most");
    require(queue->scale > 0);
    if (queue->service_ms > 0)
        return 0;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (refuse(call, names[i], err) < 0)
            return -1;
    for (; *more; more++)
        if (refuse(call, *more, err) < 0)
            return -1;
    return 0;
}

struct window_set *plain_queue_windows(const struct command_call *call, struct error *err)
{
    struct time_zone *zone = time_zone_open(call_text_or(call, "time-zone", "UTC"), err);
    struct window_set *set = zone ? window_set_read(NULL, zone, err) : NULL;

    if (!set)
        time_zone_free(zone);
    return set;
}
