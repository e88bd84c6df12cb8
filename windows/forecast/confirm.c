/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See confirm.h.
 */
#include "windows/forecast/confirm.h"

#include "windows/forecast/occurrences.h"
#include "windows/queueing/search_targets.h"

#include <math.h>

enum {
    OCCURRENCES = 2,
    REQUESTS_ENOUGH = 20000, /* in one occurrence, for the ratio of that one alone */
    SERVERS_ENOUGH = 40,     /* of which a fraction of one says nothing */
};

/* For each target the share of late requests, of the class with the greater share; never 0. */
static int late_shares(const struct search_setup *setup, int servers,
                       double ret_shares[REPLAY_FIGURES], struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = search_arrivals(setup, 0, err);
    struct replay_result result;

    if (!arrivals || replay_report(arrivals, servers, &setup->target, &result, err) < 0)
        return -1;
    for (int i = 0; i < REPLAY_FIGURES; i++) {
        ret_shares[i] = 0;
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            const struct replay_class *found = &result.classes[class];
            double late = (double)search_target_late(found, (enum replay_figure)i);

            if (found->count > 0)
                ret_shares[i] = fmax(ret_shares[i], fmax(late, 0.5) / (double)found->count);
        }
    }
    return 0;
}

/* Servers with a fraction, by the target with the greatest need among those that one server fewer
   misses. */
static double need_between(const struct search_setup *setup, int servers,
                           const double passes[REPLAY_FIGURES], const double fails[REPLAY_FIGURES])
{
    double need = 0;

    for (int i = 0; i < REPLAY_FIGURES; i++) {
        double p = search_target_percentile(&setup->target, (enum replay_figure)i) / 100;

        if ((i == REPLAY_WAIT || search_target_s(&setup->target, (enum replay_figure)i) > 0) &&
            fails[i] > 1 - p)
            need = fmax(need, occurrences_between(servers, passes[i], fails[i], p));
    }
    return need > 0 ? need : servers;
}

/* As occurrences_need(), by replays. */
static int replayed_need(const struct search_setup *setup, double *ret_need, int64_t *ret_requests,
                         struct error *err)
{
    struct search_result found;
    double passes[REPLAY_FIGURES];
    double fails[REPLAY_FIGURES] = { 1, 1, 1 };

    *ret_need = 0;
    if (search_servers(setup, &found, err) < 0)
        return -1;
    *ret_requests = found.requests[DEMAND_HIGH] + found.requests[DEMAND_LOW];
    *ret_need = found.servers - 0.5;
    if (found.servers == 0 || found.servers >= SERVERS_ENOUGH) {
        *ret_need = fmax(*ret_need, 0);
        return 0;
    }
    if (late_shares(setup, found.servers, passes, err) < 0 ||
        (found.servers > 1 && late_shares(setup, found.servers - 1, fails, err) < 0))
        return -1;
    *ret_need = need_between(setup, found.servers, passes, fails);
    return 0;
}

int confirm_ratio(const struct confirm_queue *queue, size_t window, double *ret_ratio,
                  struct error *err)
{
    const struct forecast_setup *setup = queue->setup;
    const struct forecast_cell *cell = &queue->forecast->cells[window];
    double replayed = 0;
    double closed = 0;
    int64_t requests = 0;
    int left = OCCURRENCES;

    for (size_t i = cell->past.count; i-- > 0 && left > 0 && requests < REQUESTS_ENOUGH;) {
        const struct forecast_occurrence *item = &cell->past.items[i];
        owned(segments) struct segment_list segments = { 0 };
        struct search_setup search = {
            setup->series, &segments, queue->service, setup->scale, setup->target, 1, 1, false
        };
        int64_t more;
        double need;

        if (!item->is_known || item->end.ms > setup->end.ms)
            continue;
        segments_of_window(setup->series, setup->set, window,
                           (struct wall_span){ item->begin, item->end }, &segments);
        if (replayed_need(&search, &need, &more, err) < 0)
            return -1;
        replayed += need;
        closed += item->need;
        requests += more;
        left--;
    }
    *ret_ratio = closed > 0 ? replayed / closed : 0;
    return 0;
}
