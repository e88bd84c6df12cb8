/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See search_targets.h.
 */
#include "windows/queueing/search_targets.h"

#include "windows/queueing/search_days.h"

#include <math.h>

double search_target_s(const struct replay_target *target, enum replay_figure which)
{
    return which == REPLAY_WAIT   ? (double)target->wait_ms / SECOND_MS
           : which == REPLAY_TTFT ? target->ttft.limit_s
                                  : target->itl.limit_s;
}

double search_target_percentile(const struct replay_target *target, enum replay_figure which)
{
    return which == REPLAY_WAIT   ? target->percentile
           : which == REPLAY_TTFT ? target->ttft.percentile
                                  : target->itl.percentile;
}

int64_t search_target_late(const struct replay_class *found, enum replay_figure which)
{
    return which == REPLAY_WAIT   ? found->violations
           : which == REPLAY_TTFT ? found->ttft.violations
                                  : found->itl.violations;
}

const char *search_target_name(enum replay_figure which)
{
    static const char *const names[REPLAY_FIGURES] = { "wait", "ttft", "itl" };

    return names[which];
}

bool search_has_tokens(const struct service_time *service)
{
    return engine_has_tokens(service->engine);
}

/* The day of the setup on which a step lies. */
static struct wall_time day_begin(const struct search_setup *setup, size_t step)
{
    size_t begin = step;

    for (size_t i = 0; i < setup->segments->days.count; i++)
        if (setup->segments->days.items[i] <= step)
            begin = setup->segments->days.items[i];
    return demand_time(setup->series, begin);
}

static void raise_day(struct search_late_day *day, const struct search_setup *setup,
                      const struct replay_result *result)
{
    const struct replay_day *const found[REPLAY_FIGURES] = {
        [REPLAY_WAIT] = &result->wait_day,
        [REPLAY_TTFT] = &result->ttft_day,
        [REPLAY_ITL] = &result->itl_day,
    };

    for (int i = 0; i < REPLAY_FIGURES; i++) {
        enum replay_figure which = (enum replay_figure)i;
        bool is_held = which == REPLAY_WAIT || search_target_s(&setup->target, which) > 0;

        if (is_held && (day->begin.ms == 0 || found[i]->used > day->used))
            *day = (struct search_late_day){ day_begin(setup, found[i]->day), which, found[i]->used,
                                             found[i]->quantile_s };
    }
}

int search_tokens_under(const struct search_setup *setup, int seed, int servers,
                        struct search_targets *targets, struct error *err)
{
    if (!search_has_tokens(setup->service))
        return 0;

    owned(search_days) struct search_days days;

    search_days_init(&days, setup);
    for (size_t i = 0; i < days.count; i++) {
        owned(arrivals) struct arrivals *arrivals = search_arrivals(&days.items[i], seed, err);
        struct replay_result result;

        if (!arrivals || replay_report(arrivals, servers, &setup->target, &result, err) < 0)
            return -1;
        if (setup->target.ttft.limit_s > 0 || setup->target.itl.limit_s > 0)
            raise_day(&targets->day, setup, &result);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            double *found_s = targets->found_s;

            found_s[REPLAY_TTFT] = fmax(found_s[REPLAY_TTFT],
                                        result.classes[class].ttft.quantile_s);
            found_s[REPLAY_ITL] = fmax(found_s[REPLAY_ITL], result.classes[class].itl.quantile_s);
        }
    }
    return 0;
}

void search_targets_judge(struct search_targets *targets, const struct replay_target *target)
{
    static const double tick_s = 1.0 / TICKS_PER_SECOND; /* to which times of tokens are rounded */
    double worst = -1;

    targets->is_met = true;
    for (int i = 0; i < REPLAY_FIGURES; i++) {
        double limit_s = search_target_s(target, (enum replay_figure)i);
        double ratio = targets->found_s[i] / limit_s;

        if (i != REPLAY_WAIT && !(limit_s > 0))
            continue;
        if (targets->found_s[i] > limit_s + (i == REPLAY_WAIT ? 0 : tick_s))
            targets->is_met = false;
        if (ratio > worst) {
            worst = ratio;
            targets->binds = (enum replay_figure)i;
        }
    }
}
