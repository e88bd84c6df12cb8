/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See losses.h.
 */
#include "broker/planning/losses.h"

#include "base/input/json.h"
#include "base/memory.h"

#include <math.h>

static const double half_life_ms = 7.0 * 24 * 3600 * 1000;
static const double forgotten_gpu_s = 1; /* less than this is nothing */

void losses_init(struct losses *losses)
{
    *losses = (struct losses){ .teams = map_new(mem_free) };
}

void losses_clear(struct losses *losses)
{
    map_free(losses->teams);
}

/* Everything as of `now`.  A clock that went back forgets nothing. */
static void fade(struct losses *losses, struct wall_time now)
{
    double factor;
    const char *team;
    void *value;

    if (now.ms <= losses->at.ms)
        return;
    factor = exp2(-(double)(now.ms - losses->at.ms) / half_life_ms);
    require(factor >= 0 && factor <= 1); /* no loss grows with time */
    for (size_t i = 0; map_next(losses->teams, &i, &team, &value);) {
        double *gpu_s = value;

        *gpu_s *= factor;
        if (*gpu_s < forgotten_gpu_s)
            (void)map_remove(losses->teams, team);
    }
    losses->at = now;
}

void losses_add(struct losses *losses, const char *team, double gpu_s, struct wall_time now)
{
    double *sum;

    require(gpu_s >= 0);
    fade(losses, now);
    sum = map_get(losses->teams, team);
    if (!sum) {
        sum = mem_new(sizeof *sum);
        map_set(losses->teams, team, sum);
    }
    *sum += gpu_s;
    require(losses->at.ms >= now.ms && *sum >= gpu_s);
}

double losses_share(const struct losses *losses, const char *team)
{
    const double *mine = map_get(losses->teams, team);
    double all = 0;
    double share;
    void *value;

    for (size_t i = 0; map_next(losses->teams, &i, NULL, &value);)
        all += *(double *)value;
    share = mine && all > 0 ? *mine / all : 0;
    require(share >= 0 && share <= 1); /* a price is only ever raised by it, and within a bound */
    return share;
}

json_t *losses_encode(const struct losses *losses)
{
    json_t *teams = json_object();
    char text[WALL_TEXT_SIZE];
    const char *team;
    void *value;

    for (size_t i = 0; map_next(losses->teams, &i, &team, &value);)
        json_object_set_new(teams, team, json_real(*(double *)value));
    return json_make("{ss so}", "at", wall_format(losses->at, text), "gpu_s", teams);
}

int losses_decode(struct losses *losses, const json_t *value, struct error *err)
{
    const char *at;
    struct wall_time time;
    json_t *teams;
    const char *team;
    json_t *gpu_s;

    if (json_need_text(value, "at", &at, err) < 0 || wall_parse(at, false, &time, err) < 0 ||
        json_need_object(value, "gpu_s", &teams, err) < 0)
        return -1;
    json_object_foreach(teams, team, gpu_s)
        if (!json_is_number(gpu_s) || json_number_value(gpu_s) < 0)
            return error_set(err, ERROR_CORRUPT, "gpu_s/%s: expected a number, 0 or more", team);
    losses->at = time;
    json_object_foreach(teams, team, gpu_s) {
        double *sum = mem_new(sizeof *sum);

        *sum = json_number_value(gpu_s);
        map_set(losses->teams, team, sum);
    }
    return 0;
}
