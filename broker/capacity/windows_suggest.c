/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The need of a slot is in closed form: replicas for the highest rate seen in it, times their GPUs.
 * That is enough to find where demand turns; how many replicas a window gets is allocate's work.
 */
#include "broker/capacity/windows_suggest.h"

#include "base/text.h"
#include "broker/capacity/proposed_days.h"
#include "windows/calendar/calendar.h"
#include "windows/calendar/suggest.h"
#include "windows/queueing/target_limits.h"
#include "windows/servers/erlang.h"

#include <inttypes.h>
#include <stdio.h>

enum { DAYS_LIMIT = 1 << 20 };

/* GPUs of a replica of the first workload that serves the queue; 0: no workload does. */
static double gpus_of(const struct config *config, const struct config_queue *queue)
{
    for (size_t i = 0; i < config->workload_count; i++)
        if (config->workloads[i].queue == queue)
            return (double)config->workloads[i].gpus;
    return 0;
}

static const struct config_queue *find_queue(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->queue_count; i++)
        if (text_equal(config->queues[i].name, name))
            return &config->queues[i];
    return NULL;
}

/* What one queue needs at a rate: GPUs, or without a configuration the rate itself. */
static double need_at(const struct config *config, const struct config_queue *queue, double rate)
{
    if (!config)
        return rate;
    if (!queue || rate <= 0)
        return 0;

    const struct replay_target target = config_target(queue, 0);
    int servers = target_servers(queue->service, (double)queue->service_ms / SECOND_MS,
                                 rate * queue->scale_up, &target);

    return (servers < 0 ? ERLANG_SERVERS_MAX : servers) * gpus_of(config, queue);
}

/* Returns how many slots no queue knows; they need what those beside them do. */
static size_t sum_needs(const struct windows_question *question, double need[SUGGEST_WEEK])
{
    double rates[SUGGEST_WEEK];
    bool is_known[SUGGEST_WEEK] = { false };
    owned(odd_days) struct odd_days odd = { 0 };
    size_t unknown = 0;

    odd_days_find(question->demand, question->windows, &odd);

    for (size_t i = 0; i < SUGGEST_WEEK; i++)
        need[i] = -1;
    for (size_t at = 0; at < question->demand->count; at++) {
        const struct demand_series *series = &question->demand->series[at];
        const struct config_queue *queue = question->config
                                               ? find_queue(question->config, series->queue)
                                               : NULL;

        suggest_rates(series, question->windows, &odd, rates);
        for (size_t i = 0; i < SUGGEST_WEEK; i++)
            is_known[i] = is_known[i] || rates[i] >= 0;
        suggest_join(rates);
        for (size_t i = 0; i < SUGGEST_WEEK; i++)
            if (rates[i] >= 0)
                need[i] = (need[i] < 0 ? 0 : need[i]) + need_at(question->config, queue, rates[i]);
    }
    for (size_t i = 0; i < SUGGEST_WEEK; i++)
        unknown += !is_known[i];
    return unknown;
}

/* "mon-fri", "sat-sun", "tue-sat": a run of days that may pass Sunday. */
static char *days_text(unsigned days)
{
    int first = 0;
    int last;

    require(days > 0 && days < 0x7f); /* some, and not all: else there is no first one */
    while (!(days >> first & 1) || (days >> ((first + 6) % 7) & 1))
        first++;
    for (last = first; days >> ((last + 1) % 7) & 1;)
        last = (last + 1) % 7;
    return text_format("%.3s-%.3s", calendar_day_name(first), calendar_day_name(last));
}

static json_t *window_json(const struct suggest_window *window)
{
    owned(chars) char *days = days_text(window->days);
    owned(chars) char *from = text_format("%02d:%02d", window->from_minute / 60,
                                          window->from_minute % 60);
    owned(chars) char *to = text_format("%02d:%02d", window->to_minute / 60,
                                        window->to_minute % 60);
    owned(chars) char *name = text_format("%s-%.2s%.2s", days, from, from + 3);

    return json_make("{s:s, s:s, s:s, s:s, s:f}", "window", name, "days", days, "from", from, "to",
                     to, "need", window->level);
}

json_t *windows_suggest(const struct windows_question *question, struct error *err)
{
    size_t shortest = (size_t)(question->shortest_ms / MINUTE_MS / SUGGEST_SLOT_MINUTES);
    double *need = mem_new_array(SUGGEST_WEEK, sizeof *need);
    json_t *windows = json_array();
    json_t *root;

    if (shortest * (size_t)question->count > SUGGEST_DAY) {
        mem_free(need);
        json_decref(windows);
        error_set(err, ERROR_INVALID, "%" PRId64 " windows of this length do not fit into a day",
                  question->count);
        return NULL;
    }

    size_t unknown = sum_needs(question, need);

    if (suggest_check(need, err) < 0) {
        mem_free(need);
        json_decref(windows);
        return NULL;
    }

    struct suggestion found = suggest_windows(need, (size_t)question->count,
                                              shortest > 0 ? shortest : 1);

    require(found.count <= (size_t)question->count && unknown <= SUGGEST_WEEK);
    for (size_t i = 0; i < found.count; i++)
        json_array_append_new(windows, window_json(&found.windows[i]));
    root = json_make("{s:s, s:o, s:f, s:f, s:f, s:f, s:I, s:o}", "unit",
                     question->config ? "gpu_hours_per_week" : "arrivals_per_s_times_hours",
                     "windows", windows, "suggested", found.hours, "configured",
                     suggest_hours_of(question->windows, need), "peak", found.peak_hours, "floor",
                     found.floor_hours, "unknown_minutes",
                     (json_int_t)(unknown * SUGGEST_SLOT_MINUTES), "days",
                     proposed_days(question->demand, question->windows));
    mem_free(need);
    return root;
}

void windows_suggest_print(const json_t *suggested)
{
    const json_t *windows = json_object_get(suggested, "windows");
    static const char *const keys[] = { "peak", "configured", "suggested", "floor" };
    static const char *const titles[] = { "one window for all", "the windows as they are",
                                          "the windows below", "a window for each 5 minutes" };
    int64_t unknown = json_int_or(suggested, "unknown_minutes", 0);

    printf("# %s\n", json_text_or(suggested, "unit", ""));
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        printf("# %12.1f  %s\n", json_number_value(json_object_get(suggested, keys[i])), titles[i]);
    if (unknown > 0)
        printf("# of %" PRId64 " minutes of the week nothing is known\n", unknown);
    printf("windows:\n");
    for (size_t i = 0; i < json_array_size(windows); i++) {
        const json_t *row = json_array_get(windows, i);

        printf("  %s: {days: %s, from: \"%s\", to: \"%s\"}   # %.1f\n",
               json_text_or(row, "window", ""), json_text_or(row, "days", ""),
               json_text_or(row, "from", ""), json_text_or(row, "to", ""),
               json_number_value(json_object_get(row, "need")));
    }

    owned(text) struct text *days = text_new(DAYS_LIMIT);

    proposed_days_yaml(json_object_get(suggested, "days"), days);
    fputs(days->chars, stdout);
}
