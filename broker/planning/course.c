/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See course.h.
 */
#include "broker/planning/course.h"

#include "base/input/json.h"

struct look {
    int64_t at_ms;
    struct course_point *points; /* a cluster each */
};

struct course {
    size_t cluster_count;
    size_t count; /* of all looks so far; the look i is at i % COURSE_LOOKS */
    struct look looks[COURSE_LOOKS];
};

struct course *course_new(size_t cluster_count)
{
    struct course *course = mem_new(sizeof *course);

    course->cluster_count = cluster_count;
    return course;
}

void course_free(struct course *course)
{
    if (!course)
        return;
    for (size_t i = 0; i < COURSE_LOOKS; i++)
        mem_free(course->looks[i].points);
    mem_free(course);
}

static const struct look *last_look(const struct course *course)
{
    return course->count > 0 ? &course->looks[(course->count - 1) % COURSE_LOOKS] : NULL;
}

bool course_is_due(const struct course *course, int64_t now_ms)
{
    const struct look *last = last_look(course);

    return !last || now_ms - last->at_ms >= COURSE_STEP_MS;
}

bool course_has_looks(const struct course *course)
{
    return course->count > 0;
}

void course_add(struct course *course, int64_t now_ms, const struct course_point *points)
{
    struct look *look = &course->looks[course->count++ % COURSE_LOOKS];

    if (!look->points)
        look->points = mem_new_array(course->cluster_count, sizeof *points);
    look->at_ms = now_ms;
    for (size_t i = 0; i < course->cluster_count; i++)
        look->points[i] = points[i];
}

static json_t *known(int64_t number)
{
    return number < 0 ? json_null() : json_integer((json_int_t)number);
}

json_t *course_describe(const struct course *course, size_t cluster, int64_t now_ms)
{
    size_t first = course->count > COURSE_LOOKS ? course->count - COURSE_LOOKS : 0;
    json_t *rows = json_array();

    require(cluster < course->cluster_count);
    for (size_t i = first; i < course->count; i++) {
        const struct look *look = &course->looks[i % COURSE_LOOKS];
        const struct course_point *point = &look->points[cluster];
        json_int_t age_s = (json_int_t)((now_ms - look->at_ms) / SECOND_MS);

        json_array_append_new(rows, json_make("[I, o, o, o]", age_s, known(point->ready),
                                              known(point->wanted), known(point->lent)));
    }
    return rows;
}

static json_t *wanted_of(const struct horizon *horizon, const struct config_cluster *cluster)
{
    const struct config *config = horizon->config;
    int64_t wanted = -1;

    for (size_t i = 0; i < config->pool_count; i++) {
        int64_t nodes = config->pools[i].cluster == cluster
                            ? target_nodes(horizon, &config->pools[i]).now
                            : -1;

        if (nodes >= 0)
            wanted = (wanted < 0 ? 0 : wanted) + nodes;
    }
    return known(wanted);
}

json_t *course_ahead(const struct horizon *horizon, const struct config_cluster *cluster,
                     struct wall_time until)
{
    struct horizon at = *horizon;
    json_t *rows = json_array();

    while (at.now.ms != 0 && at.now.ms < until.ms) {
        char from[WALL_TEXT_SIZE];

        json_array_append_new(rows, json_make("{ss ss so}", "from", wall_format(at.now, from),
                                              "window", target_window(&at, at.now)->name, "nodes",
                                              wanted_of(&at, cluster)));
        at.now = target_edge(&at, at.now);
    }
    return rows;
}
