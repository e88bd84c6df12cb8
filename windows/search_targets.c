/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See search_targets.h.
 */
#include "windows/search_targets.h"

#include "windows/search_days.h"

#include <math.h>

double search_target_s(const struct replay_target *target, enum search_target which)
{
    return which == SEARCH_WAIT   ? (double)target->wait_ms / SECOND_MS
           : which == SEARCH_TTFT ? target->ttft.limit_s
                                  : target->itl.limit_s;
}

double search_target_percentile(const struct replay_target *target, enum search_target which)
{
    return which == SEARCH_WAIT   ? target->percentile
           : which == SEARCH_TTFT ? target->ttft.percentile
                                  : target->itl.percentile;
}

int64_t search_target_late(const struct replay_class *found, enum search_target which)
{
    return which == SEARCH_WAIT   ? found->violations
           : which == SEARCH_TTFT ? found->ttft.violations
                                  : found->itl.violations;
}

const char *search_target_name(enum search_target which)
{
    static const char *const names[SEARCH_TARGETS] = { "wait", "ttft", "itl" };

    return names[which];
}

bool search_has_tokens(const struct service_time *service)
{
    return service->engine && !service->engine->is_short;
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
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            double *found_s = targets->found_s;

            found_s[SEARCH_TTFT] = fmax(found_s[SEARCH_TTFT],
                                        result.classes[class].ttft.quantile_s);
            found_s[SEARCH_ITL] = fmax(found_s[SEARCH_ITL], result.classes[class].itl.quantile_s);
        }
    }
    return 0;
}

void search_targets_judge(struct search_targets *targets, const struct replay_target *target)
{
    static const double tick_s = 1.0 / TICKS_PER_SECOND; /* to which times of tokens are rounded */
    double worst = -1;

    targets->is_met = true;
    for (int i = 0; i < SEARCH_TARGETS; i++) {
        double limit_s = search_target_s(target, (enum search_target)i);
        double ratio = targets->found_s[i] / limit_s;

        if (i != SEARCH_WAIT && !(limit_s > 0))
            continue;
        if (targets->found_s[i] > limit_s + (i == SEARCH_WAIT ? 0 : tick_s))
            targets->is_met = false;
        if (ratio > worst) {
            worst = ratio;
            targets->binds = (enum search_target)i;
        }
    }
}
