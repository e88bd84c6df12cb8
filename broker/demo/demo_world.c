/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demo_world.h.
 */
#include "broker/demo/demo_world.h"

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "broker/sizing/demand_input.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PLAY_HOURS = 31, /* from 02:00 of a weekday until 09:00 of the next */
    PLAY_FROM_HOUR = 2,
    CSV_LIMIT = 64 << 20,
    FILE_PEAK_NODES = 56, /* a file's demand is scaled to need about so many */
    FILE_SERVICE_S = 20,
    FILE_GPUS = 2,
};

/* Six queues; rates are at the week's peak.  Replicas of the two chats run many requests at once,
   the others one. */
static const struct demo_queue {
    const char *name;
    double rate_per_s;
    double high_share;
    int target_s;
    int gpus;
    const char *service;
} queues[] = {
    { "chat-large", 12.0, 0.5, 10, 4,
      "ttft_target: 1s, engine: {slots: 64, iteration: 25ms, iteration_per_request: 300us,"
      " prefill_per_token: 60us, tokens_in: 1500, tokens_out: 4000, kv_tokens: 240000}" },
    { "chat-small", 9.0, 0.5, 5, 1,
      "ttft_target: 500ms, engine: {slots: 64, iteration: 9ms, iteration_per_request: 250us,"
      " prefill_per_token: 12us, tokens_in: 900, tokens_out: 900, kv_tokens: 27000}" },
    { "image", 0.45, 0.3, 60, 4, "service: 45s, service_cv: 0.5" },
    { "video", 0.07, 0.2, 240, 8, "service: 120s, service_cv: 0.5" },
    { "speech", 5.0, 0.6, 3, 1, "service: 5s, service_cv: 1" },
    { "embed", 10.0, 0.4, 2, 1, "service: 2s, service_cv: 0.5" },
};

/* The wave of a weekday, local time: climbs from the morning, peaks at nine, bottoms at twenty. */
static const struct {
    int hour;
    double level;
} wave[] = {
    { 0, 0.43 },  { 4, 0.48 },  { 6, 0.60 },  { 7, 0.72 },  { 8, 0.87 },
    { 9, 1.00 },  { 10, 0.98 }, { 12, 0.88 }, { 14, 0.74 }, { 16, 0.61 },
    { 18, 0.50 }, { 20, 0.41 }, { 24, 0.43 },
};

/* Of a file's queue. */
#define FILE_SERVICE "service: 20s, service_cv: 1"

static const char config_head[] =
    "# Made by `sluice demo`.\n"
    "time_zone: America/New_York\n"
    "windows:\n"
    "  weekday-day: {days: mon-fri, from: '08:00', to: '20:00'}\n"
    "  weekday-peak: {days: mon-fri, from: '08:30', to: '12:30', within: weekday-day}\n"
    "  weekday-evening: {days: mon-fri, from: '16:00', to: '20:00', within: weekday-day}\n"
    "  weekday-night: {days: mon-fri, from: '20:00', to: '08:00'}\n"
    "  weekday-early: {days: tue-fri, from: '05:00', to: '08:00', within: weekday-night}\n"
    "  weekend-day: {days: [sat, sun], from: '08:00', to: '20:00'}\n"
    "  weekend-night: {days: [sat, sun], from: '20:00', to: '08:00'}\n"
    "journal: ':memory:'\n"
    "drain: {notice: 30m, deadline: 10m, settle: 5s}\n"
    "guard: {in_flight: 60, in_flight_per_cluster: 40}\n";

static char *path_in(const char *folder, const char *name)
{
    return text_format("%s/%s", folder, name);
}

static double level_at(int64_t minute_of_day)
{
    for (size_t i = 0; i + 1 < COUNT_OF(wave); i++) {
        double from = wave[i].hour * 60;
        double to = wave[i + 1].hour * 60;

        if ((double)minute_of_day < to)
            return wave[i].level + (wave[i + 1].level - wave[i].level) *
                                       ((double)minute_of_day - from) / (to - from);
    }
    return wave[0].level;
}

/* Draws a number of arrivals around `mean`: Poisson, by multiplication for small means and by the
   normal law for large ones. */
static int64_t draw_count(struct random *random, double mean)
{
    double product = 1;
    double limit = exp(-mean);
    int64_t count = -1;

    if (mean > 50)
        return llround(fmax(0, mean + sqrt(mean) * random_normal(random)));
    do {
        product *= random_unit(random);
        count++;
    } while (product > limit);
    return count;
}

/* One minute's expected arrivals per second, before chance. */
static double rate_at(const struct time_zone *zone, const struct demo_queue *queue,
                      struct wall_time minute)
{
    struct local_time local = time_zone_local(zone, minute);

    return queue->rate_per_s * level_at(local.minute_of_day) *
           (local.weekday == 5   ? 0.66
            : local.weekday == 6 ? 0.58
                                 : 1.0);
}

/* One of the demand files: the past that is planned from, and the day that is played. */
struct demand_file {
    struct wall_time from;
    int64_t minutes;
    uint64_t number; /* makes its chance differ from the other's */
    struct text *rows;
    const char *path;
};

/* Rows of one queue: the wave, the day's own level, a slow wander, now and then a burst. */
static void write_queue(const struct demand_file *file, const struct time_zone *zone,
                        const struct demo_queue *queue, uint64_t seed)
{
    struct random random;
    double wander = 0;
    int burst_left = 0;
    double burst = 1;
    char text[WALL_TEXT_SIZE];

    random_seed(&random, random_mix(seed, queue->name, file->number, 0));
    for (int64_t i = 0; i < file->minutes; i++) {
        struct wall_time minute = { file->from.ms + i * MINUTE_MS };
        double mean;
        int64_t high;
        int64_t low;

        wander = 0.98 * wander + 0.006 * random_normal(&random);
        if (burst_left > 0)
            burst_left--;
        else if (random_below(&random, 360) == 0) {
            burst_left = 2 + (int)random_below(&random, 4);
            burst = random_between(&random, 1.1, 1.35);
        }
        mean = 60 * rate_at(zone, queue, minute) * exp(wander) * (burst_left > 0 ? burst : 1);
        high = draw_count(&random, mean * queue->high_share);
        low = draw_count(&random, mean * (1 - queue->high_share));
        wall_format(minute, text);
        text_add(file->rows, "%s,%s,%" PRId64 ",high\n%s,%s,%" PRId64 ",low\n", text, queue->name,
                 high, text, queue->name, low);
    }
}

static int write_file(const char *path, const struct text *text, struct error *err)
{
    require(!text->is_cut);
    return file_write(path, text->chars, text->length, 0644, err);
}

static int write_generated(const struct demo_world *world, uint64_t seed, struct error *err)
{
    owned(time_zone) struct time_zone *zone = time_zone_open("America/New_York", err);
    owned(text) struct text *past = text_new(CSV_LIMIT);
    owned(text) struct text *day = text_new(CSV_LIMIT);
    const struct demand_file files[] = {
        { .from = { world->start.ms - DEMO_PAST_DAYS * DAY_MS },
          .minutes = DEMO_PAST_DAYS * 24 * 60,
          .number = 1,
          .rows = past,
          .path = world->past_path },
        { .from = world->start,
          .minutes = world->length_ms / MINUTE_MS,
          .number = 2,
          .rows = day,
          .path = world->day_path },
    };

    if (!zone)
        return -1;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        text_add(files[i].rows, "minute_utc_iso,queue,count,priority\n");
        for (size_t at = 0; at < COUNT_OF(queues); at++)
            write_queue(&files[i], zone, &queues[at], seed);
        if (write_file(files[i].path, files[i].rows, err) < 0)
            return -1;
    }
    return 0;
}

/* A queue's name as Kubernetes would have it in a workload's. */
static char *kube_name(const char *queue)
{
    char *name = mem_copy_chars(queue);

    for (char *at = name; *at; at++)
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    return name;
}

/* out: queues and, apart from them, their workloads. */
static void add_queue(const struct demo_world *world, struct text *out, struct text *workloads,
                      const struct demo_queue *queue)
{
    owned(chars) char *model = kube_name(queue->name);

    text_add(out, "  %s: {wait_target: %ds, percentile: 98, %s, scale_up: 1.1}\n", queue->name,
             queue->target_s, queue->service);
    text_add(workloads,
             "  task-worker-%dx-h100-%s:\n    queue: %s\n    namespace: serving\n    gpus: %d\n"
             "    clusters: {%s}\n",
             queue->gpus, model, queue->name, queue->gpus, world->layout->shares);
}

static int write_config(const struct demo_world *world, const char *only_queue, struct error *err)
{
    owned(text) struct text *out = text_new(1 << 16);
    owned(text) struct text *workloads = text_new(1 << 16);

    text_add(out, "%s%squeues:\n", config_head, world->layout->config);
    if (only_queue)
        add_queue(
            world, out, workloads,
            &(struct demo_queue){
                .name = only_queue, .target_s = 30, .gpus = FILE_GPUS, .service = FILE_SERVICE });
    for (size_t i = 0; !only_queue && i < COUNT_OF(queues); i++)
        add_queue(world, out, workloads, &queues[i]);
    text_add(out, "workloads:\n%s", workloads->chars);
    return write_file(world->config_path, out, err);
}

static int64_t count_at(const struct demand_series *series, size_t step)
{
    int64_t sum = 0;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        if (series->counts[class])
            sum += series->counts[class][step] > 0 ? series->counts[class][step] : 0;
    return sum;
}

static bool is_known(const struct demand_series *series, int64_t from_ms, int64_t length_ms)
{
    size_t unknown = 0;
    size_t steps = (size_t)(length_ms / series->step_ms);

    for (size_t i = 0; i < steps; i++) {
        int64_t at = (from_ms - series->start.ms) / series->step_ms + (int64_t)i;

        if (at < 0 || at >= (int64_t)series->count)
            return false;
        unknown += !demand_is_known(series, (size_t)at);
    }
    return unknown * 50 <= steps;
}

/* The weekday to play, from 02:00 local: the wanted one, or the first with its own demand and that
   of the seven days before in the file. */
static int find_day(struct demo_world *world, const struct demand_series *series,
                    const struct civil_date *wanted, struct error *err)
{
    owned(time_zone) struct time_zone *zone = time_zone_open("America/New_York", err);
    int64_t first = wanted ? civil_day(wanted->year, wanted->month, wanted->day)
                           : series->start.ms / DAY_MS;
    int64_t last = wanted ? first
                          : (series->start.ms + (int64_t)series->count * series->step_ms) / DAY_MS;

    if (!zone)
        return -1;
    for (int64_t day = first; day <= last; day++) {
        struct wall_time from = time_zone_wall(zone, civil_date_of_day(day), PLAY_FROM_HOUR * 60);

        if ((civil_weekday(day) > 3 && !wanted) ||
            !is_known(series, from.ms - DEMO_PAST_DAYS * DAY_MS,
                      DEMO_PAST_DAYS * DAY_MS + world->length_ms))
            continue;
        world->start = from;
        return 0;
    }
    return error_set(err, ERROR_INVALID,
                     "queue %s: %s has its own demand and that of the 7 days before it known",
                     series->queue, wanted ? "the day is not one that" : "no weekday");
}

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* The factor that makes the busiest minutes of the past week (p99.5 of the smoothed counts) need
   about FILE_PEAK_NODES nodes. */
static double find_scale(const struct demo_world *world, const struct demand_series *series)
{
    size_t wide = (size_t)(10 * MINUTE_MS / series->step_ms ?: 1);
    size_t first = (size_t)((world->start.ms - DEMO_PAST_DAYS * DAY_MS - series->start.ms) /
                            series->step_ms);
    size_t count = (size_t)(DEMO_PAST_DAYS * DAY_MS / series->step_ms) / wide;
    int64_t *sums = mem_new_array(count, sizeof *sums);
    double rate_per_s;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < wide; k++)
            sums[i] += count_at(series, first + i * wide + k);
    qsort(sums, count, sizeof *sums, by_size);
    rate_per_s = (double)sums[count * 995 / 1000] /
                 ((double)(wide * (size_t)series->step_ms) / 1000);
    mem_free(sums);
    return FILE_PEAK_NODES * 8.0 / FILE_GPUS / FILE_SERVICE_S / fmax(rate_per_s, 1e-9);
}

static void write_series(const struct demand_series *series, int64_t from_ms, int64_t length_ms,
                         double scale, struct text *out)
{
    char text[WALL_TEXT_SIZE];
    double carry = 0; /* so that a small factor loses no request to rounding */

    text_add(out, "minute_utc_iso,queue,count\n");
    for (int64_t at = from_ms; at < from_ms + length_ms; at += series->step_ms) {
        int64_t step = (at - series->start.ms) / series->step_ms;
        double wanted;

        if (!demand_is_known(series, (size_t)step))
            continue;
        wanted = (double)count_at(series, (size_t)step) * scale + carry;
        carry = wanted - floor(wanted);
        text_add(out, "%s,%s,%.0f\n", wall_format((struct wall_time){ at }, text), series->queue,
                 floor(wanted));
    }
}

static int write_from_file(struct demo_world *world, const char *path,
                           const struct civil_date *day_wanted, struct error *err)
{
    struct demand_options options = { 0 };
    owned(demand) struct demand *demand = demand_input_read(path, &options, err);
    const struct demand_series *series;
    owned(text) struct text *past = text_new(CSV_LIMIT);
    owned(text) struct text *day = text_new(CSV_LIMIT);

    if (!demand)
        return -1;
    series = &demand->series[0];
    if (find_day(world, series, day_wanted, err) < 0)
        return -1;
    world->scale = find_scale(world, series);
    world->source = text_format("%s, queue %s, arrivals x %.3f", path, series->queue, world->scale);
    write_series(series, world->start.ms - DEMO_PAST_DAYS * DAY_MS, DEMO_PAST_DAYS * DAY_MS,
                 world->scale, past);
    write_series(series, world->start.ms, world->length_ms, world->scale, day);
    if (write_file(world->past_path, past, err) < 0 || write_file(world->day_path, day, err) < 0)
        return -1;
    return write_config(world, series->queue, err);
}

static int write_credentials(const struct demo_world *world, struct error *err)
{
    owned(chars) char *path = path_in(world->folder, DEMO_CREDENTIALS);

    return world->layout->credentials ? file_write(path, world->layout->credentials,
                                                   strlen(world->layout->credentials), 0600, err)
                                      : 0;
}

struct demo_world *demo_world_new(const struct demo_layout *layout, const char *demand_path,
                                  const struct civil_date *day, uint64_t seed, struct error *err)
{
    owned(demo_world) struct demo_world *world = mem_new(sizeof *world);
    owned(chars) char *folder = mem_copy_chars("/tmp/sluice-demo-XXXXXX");

    if (!mkdtemp(folder)) {
        error_errno(err, ERROR_INVALID, "cannot make a folder in /tmp");
        return NULL;
    }
    world->folder = steal(&folder);
    world->layout = layout;
    if (write_credentials(world, err) < 0)
        return NULL;
    world->config_path = path_in(world->folder, "sluice.yaml");
    world->world_path = path_in(world->folder, "world.yaml");
    world->past_path = path_in(world->folder, "past.csv");
    world->day_path = path_in(world->folder, "day.csv");
    world->length_ms = (int64_t)PLAY_HOURS * HOUR_MS;
    world->scale = 1;
    if (demand_path)
        return write_from_file(world, demand_path, day, err) < 0 ? NULL : steal(&world);

    /* Wednesday, 11 November 2026, 02:00 in New York. */
    world->start.ms = civil_day(2026, 11, 11) * DAY_MS + (PLAY_FROM_HOUR + 5) * HOUR_MS;
    world->source = text_format("made by seed %" PRIu64, seed);
    if (write_generated(world, seed, err) < 0 || write_config(world, NULL, err) < 0)
        return NULL;
    return steal(&world);
}

void demo_world_free(struct demo_world *world)
{
    static const char *const names[] = {
        "sluice.yaml", "world.yaml", "past.csv", "day.csv", DEMO_CREDENTIALS,
    };

    if (!world)
        return;
    for (size_t i = 0; world->folder && i < COUNT_OF(names); i++) {
        owned(chars) char *path = path_in(world->folder, names[i]);

        (void)unlink(path);
    }
    for (size_t i = 0; world->folder && i < world->layout->count; i++) {
        owned(chars) char *production = text_format("%s/%s.kubeconfig", world->folder,
                                                    world->layout->places[i].production);
        owned(chars) char *research = text_format("%s/%s.kubeconfig", world->folder,
                                                  world->layout->places[i].research);

        owned(chars) char *token = text_format("%s/%s.token", world->folder,
                                               world->layout->places[i].research);

        (void)unlink(production);
        (void)unlink(research);
        (void)unlink(token);
    }
    if (world->folder)
        (void)rmdir(world->folder);
    mem_free(world->folder);
    mem_free(world->config_path);
    mem_free(world->world_path);
    mem_free(world->past_path);
    mem_free(world->day_path);
    mem_free(world->source);
    mem_free(world);
}

int demo_world_populate(const struct demo_world *world, const int *prod_nodes, const char *replicas,
                        uint64_t seed, struct error *err)
{
    const struct demo_layout *layout = world->layout;
    owned(text) struct text *out = text_new(1 << 16);

    text_add(out, "seed: %" PRIu64 "\npools:\n", seed);
    for (size_t i = 0; i < layout->count; i++)
        text_add(out, "  %s: {nodes: %d}\n  %s: {nodes: %d}\n", layout->places[i].production_pool,
                 prod_nodes[i], layout->places[i].research_pool,
                 layout->places[i].nodes - prod_nodes[i]);
    text_add(out,
             "replicas:\n%s"
             "latency: {api: 5ms..60ms, delete: 3m..7m, create: 6m..14m, join: 8m..20m,"
             " gpus: 2m..6m, pod_start: 30s..90s, pod_stop: 1s..40s}\n"
             "jobs: {backlog: %d, duration: 30m..8h}\n"
             "demand: %s\n%s",
             replicas, layout->backlog, world->day_path, layout->world);
    return write_file(world->world_path, out, err);
}
