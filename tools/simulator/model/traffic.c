/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests against the replicas that are ready: each minute's arrivals, spread evenly at random,
 * served in order of priority, then of arrival, never interrupted.  Played a minute behind, in one
 * sweep over arrivals, completions and changes of the number of servers, because a day holds
 * millions of requests.
 */
#include "tools/simulator/model/traffic.h"

#include "base/file.h"
#include "tools/simulator/model/model.h"

enum { DEMAND_LIMIT = 256 << 20 };

struct demand_row {
    int64_t at_ms; /* since the start */
    int count[2];  /* high, low */
};

struct server_change {
    double at_s;
    int change;
};

struct line {
    const struct scenario_queue *plan;
    ARRAY(struct demand_row) rows;
    size_t next_row;
    ARRAY(struct server_change) changes;
    struct queue_play *play;
};

struct traffic {
    struct simulator *sim;
    struct actor actor;
    struct line *lines;
    size_t count;
};

static struct line *find_line(struct traffic *traffic, const char *name, size_t length)
{
    for (size_t i = 0; i < traffic->count; i++)
        if (strlen(traffic->lines[i].plan->name) == length &&
            strncmp(traffic->lines[i].plan->name, name, length) == 0)
            return &traffic->lines[i];
    return NULL;
}

/* minute,queue,count[,priority] */
static int read_row(struct traffic *traffic, char *row, struct error *err)
{
    char *fields[4] = { row };
    size_t count = 1;
    struct wall_time wall;
    long long arrivals;

    for (char *at = row; *at && count < 4; at++)
        if (*at == ',') {
            *at = '\0';
            fields[count++] = at + 1;
        }
    if (count < 3 || !text_to_int(fields[2], 0, 100000000, &arrivals))
        return error_set(err, ERROR_INVALID, "expected minute,queue,count[,priority]");
    if (wall_parse(fields[0], true, &wall, err) < 0)
        return -1;

    struct line *line = find_line(traffic, fields[1], strlen(fields[1]));
    int64_t at_ms = wall.ms - traffic->sim->wall_offset_ms - traffic->sim->start_ms;
    bool is_low = count == 4 && text_equal(fields[3], "low");

    if (!line || at_ms <= -MINUTE_MS || arrivals == 0)
        return 0;

    size_t rows = line->rows.count;

    if (rows && line->rows.items[rows - 1].at_ms > at_ms)
        return error_set(err, ERROR_INVALID, "the minutes are not in order");
    if (!rows || line->rows.items[rows - 1].at_ms < at_ms)
        array_add(&line->rows)->at_ms = at_ms;
    line->rows.items[line->rows.count - 1].count[is_low] += (int)arrivals;
    return 0;
}

static int read_demand(struct traffic *traffic, const char *path, struct error *err)
{
    owned(text) struct text *file = file_read_unpacked(path, DEMAND_LIMIT, err);
    int number = 0;

    if (!file)
        return -1;
    for (char *row = file->chars; *row;) {
        size_t length = strcspn(row, "\r\n");
        char *next = row + length + strspn(row + length, "\r\n");
        bool is_last = row[length] == '\0';

        row[length] = '\0';
        number++;
        if (row[0] && row[0] != '#' && !(number == 1 && strncmp(row, "minute", 6) == 0) &&
            read_row(traffic, row, err) < 0)
            return error_context(err, "%s:%d", path, number);
        if (is_last)
            break;
        row = next;
    }
    return 0;
}

static void play_line(struct line *line, int64_t to_ms)
{
    while (line->next_row < line->rows.count && line->rows.items[line->next_row].at_ms < to_ms) {
        const struct demand_row *row = &line->rows.items[line->next_row++];

        queue_play_arrivals(line->play, (double)row->at_ms / SECOND_MS, 60, row->count);
    }
    for (size_t i = 0; i < line->changes.count; i++) {
        queue_play_until(line->play, line->changes.items[i].at_s);
        queue_play_servers(line->play, line->changes.items[i].change);
    }
    line->changes.count = 0;
    queue_play_until(line->play, (double)to_ms / SECOND_MS);
}

static void play_all(struct traffic *traffic)
{
    int64_t to_ms = sim_since_start(traffic->sim);

    for (size_t i = 0; i < traffic->count; i++)
        play_line(&traffic->lines[i], to_ms);
}

static void play(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct traffic *traffic = sim->traffic;

    play_all(traffic);
    sim_after(sim, MINUTE_MS, play, actor, stamp);
}

static struct queue_play *new_play(uint64_t seed, const struct scenario_queue *plan)
{
    double target_s = (double)plan->wait_target_ms / SECOND_MS;

    if (plan->engine.slots > 0)
        return queue_play_new_engines(seed, &plan->engine, target_s, plan->first_token_target_s);
    return queue_play_new(seed, (double)plan->service_ms / SECOND_MS, plan->service_cv, target_s);
}

struct traffic *sim_traffic_new(struct simulator *sim, struct error *err)
{
    struct scenario *scenario = sim->scenario;
    struct traffic *traffic = mem_new(sizeof *traffic);

    traffic->sim = sim;
    traffic->count = scenario->queues.count;
    traffic->lines = mem_new_array(traffic->count, sizeof *traffic->lines);
    for (size_t i = 0; i < traffic->count; i++) {
        struct line *line = &traffic->lines[i];
        uint64_t seed = random_mix(scenario->seed, scenario->queues.items[i].name, 0, 0);

        line->plan = &scenario->queues.items[i];
        line->play = new_play(seed, line->plan);
    }
    if (scenario->demand_path && read_demand(traffic, scenario->demand_path, err) < 0) {
        sim_traffic_free(traffic);
        return NULL;
    }
    if (scenario->demand_path)
        sim_after(sim, MINUTE_MS, play, &traffic->actor, 0);
    return traffic;
}

void sim_traffic_free(struct traffic *traffic)
{
    if (!traffic)
        return;
    for (size_t i = 0; i < traffic->count; i++) {
        array_clear(&traffic->lines[i].rows);
        array_clear(&traffic->lines[i].changes);
        queue_play_free(traffic->lines[i].play);
    }
    mem_free(traffic->lines);
    mem_free(traffic);
}

void sim_traffic_servers(struct simulator *sim, size_t queue, int change)
{
    struct server_change *entry;

    if (!sim->scenario->demand_path)
        return;
    entry = array_add(&sim->traffic->lines[queue].changes);
    entry->at_s = (double)sim_since_start(sim) / SECOND_MS;
    entry->change = change;
}

json_t *sim_traffic_report(struct simulator *sim)
{
    json_t *queues = json_object();

    if (sim->scenario->demand_path)
        play_all(sim->traffic);
    for (size_t i = 0; i < sim->traffic->count; i++)
        json_object_set_new(queues, sim->traffic->lines[i].plan->name,
                            queue_play_report(sim->traffic->lines[i].play));
    return queues;
}
