/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * As `sluice windows --suggest`: the GPUs of each five minutes of the week in closed form, cut
 * where that is cheapest.
 */
#include "broker/sizing/backtest_windows.h"

#include "base/text.h"
#include "windows/calendar/calendar.h"
#include "windows/calendar/suggest.h"
#include "windows/queueing/target_limits.h"
#include "windows/servers/erlang.h"

enum { YAML_LIMIT = 1 << 14, WEEKDAYS = 5 };

static void add_need(const struct backtest_queue *queue, const struct window_set *set,
                     struct wall_time until, double need[SUGGEST_WEEK])
{
    struct demand_series past = *queue->series;
    int64_t steps = (until.ms - past.start.ms) / past.step_ms;
    double rates[SUGGEST_WEEK];

    past.count = steps < (int64_t)past.count ? (size_t)(steps > 0 ? steps : 0) : past.count;
    suggest_rates(&past, set, NULL, rates);
    suggest_join(rates);
    for (size_t i = 0; i < SUGGEST_WEEK; i++) {
        int servers = rates[i] > 0 ? target_servers(queue->shape, queue->service_s,
                                                    rates[i] * queue->scale, &queue->target)
                                   : 0;

        servers = servers < 0 ? ERLANG_SERVERS_MAX : servers;
        if (rates[i] >= 0)
            need[i] = (need[i] > 0 ? need[i] : 0) + (double)servers * queue->gpus;
        require(need[i] >= 0 || !(rates[i] >= 0)); /* negative: no queue tells */
    }
}

static void add_window(const struct suggest_window *window, struct text *yaml)
{
    static const char *const names[] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun" };
    const char *separator = "";

    require(window->days != 0 && window->days < 1 << 7);
    require(window->from_minute < 24 * 60 && window->to_minute <= 24 * 60);
    text_add(yaml, "w%02x-%02d%02d: {days: [", window->days, window->from_minute / 60,
             window->from_minute % 60);
    for (int day = 0; day < 7; day++)
        if (window->days >> day & 1) {
            text_add(yaml, "%s%s", separator, names[day]);
            separator = ", ";
        }
    text_add(yaml, "], from: '%02d:%02d', to: '%02d:%02d'}\n", window->from_minute / 60,
             window->from_minute % 60, window->to_minute / 60, window->to_minute % 60);
}

/* What all queues need in each slot of the week. */
static int find_need(const struct backtest_past *past, double need[SUGGEST_WEEK], struct error *err)
{
    for (size_t i = 0; i < SUGGEST_WEEK; i++)
        need[i] = -1;
    for (size_t i = 0; i < past->queue_count; i++)
        add_need(&past->queues[i], past->judged, past->until, need);
    return suggest_check(need, err);
}

static double mean_of(const double need[SUGGEST_WEEK], size_t first, size_t count, size_t step)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += need[first + i * step];
    return sum / (double)count;
}

double backtest_regularity(const struct backtest_past *past)
{
    double need[SUGGEST_WEEK];
    struct error err = { 0 };
    double all = 0;
    double rest = 0;

    if (find_need(past, need, &err) < 0)
        return 0;

    double mean = mean_of(need, 0, WEEKDAYS * SUGGEST_DAY, 1);

    for (size_t i = 0; i < WEEKDAYS * SUGGEST_DAY; i++) {
        double usual = mean_of(need, i % SUGGEST_DAY, WEEKDAYS, SUGGEST_DAY);

        all += (need[i] - mean) * (need[i] - mean);
        rest += (need[i] - usual) * (need[i] - usual);
    }
    return all > 0 ? 1 - rest / all : 0;
}

struct window_set *backtest_windows(const struct backtest_past *past, size_t count,
                                    struct error *err)
{
    owned(text) struct text *yaml = text_new(YAML_LIMIT);
    struct time_zone *zone = time_zone_open(time_zone_name(past->judged->zone), err);
    double need[SUGGEST_WEEK];

    if (!zone)
        return NULL;
    if (find_need(past, need, err) < 0) {
        time_zone_free(zone);
        return NULL;
    }

    struct suggestion found = suggest_windows(need, count, 1);

    require(found.count > 0 && found.count <= count);

    for (size_t i = 0; i < found.count; i++)
        add_window(&found.windows[i], yaml);

    struct yaml_document *document = yaml_parse(yaml->chars, yaml->length, "proposed windows", err);
    struct window_set *set = document ? window_set_read(yaml_root(document), zone, err) : NULL;

    yaml_document_free(document);
    if (set)
        calendar_copy(past->judged, set);
    else
        time_zone_free(zone);
    return set;
}
