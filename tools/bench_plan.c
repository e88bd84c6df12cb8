/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The figures that tools/bench prints: nanoseconds of one replay per arrival beside a binary heap
 * on the same arrivals and services; the search of one queue; a weekly plan of many queues; the
 * closed form over all its cells.  Each run prints NAME=VALUE pairs on one line.
 */
#include "base/random.h"
#include "base/world/loop.h"
#include "windows/allocation/allocate.h"
#include "windows/queueing/estimate.h"
#include "windows/servers/engine_lengths.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    DAY_MINUTES = 24 * 60,
    WEEK_MINUTES = 7 * DAY_MINUTES,
    ENGINE_WEEKS = 4,
    ENGINE_ARRIVALS = 2 * 1000 * 1000,
};

static const int64_t monday_ms = 1794805200000; /* 2026-11-16 00:00 in New York */
static const struct replay_target everything = { .wait_ms = DAY_MS, .percentile = 50 };

static int64_t now_ms(void)
{
    struct loop *loop = loop_libevent_new(NULL);
    int64_t now = loop_now(loop);

    loop_free(loop);
    return now;
}

static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static double peak_mb(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* ---- one replay ---- */

static void fill_steady(struct demand_series *series, double rate)
{
    struct random random;
    double share = 0.35; /* of the high class, as in a stationary system (3, 5.5) */
    double due[DEMAND_CLASSES] = { 0, 0 };

    *series = (struct demand_series){ .queue = mem_copy_chars("steady"), .step_ms = MINUTE_MS };
    series->start.ms = monday_ms;
    series->count = (size_t)(ENGINE_ARRIVALS / (rate * 60)) + 1;
    random_seed(&random, 1);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        double mean = rate * 60 * (class == DEMAND_HIGH ? share : 1 - share);

        series->counts[class] = mem_new_array(series->count, sizeof(int32_t));
        for (size_t i = 0; i < series->count; i++) {
            double count = mean + sqrt(mean) * random_normal(&random) + due[class];
            double whole = count > 0 ? floor(count) : 0;

            due[class] = count - whole;
            series->counts[class][i] = (int32_t)whole;
        }
    }
}

static void series_clear(struct demand_series *series)
{
    mem_free(series->queue);
    mem_free(series->counts[DEMAND_HIGH]);
    mem_free(series->counts[DEMAND_LOW]);
}

static void sift(uint64_t *heap, size_t count, uint64_t key)
{
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= key)
            break;
        heap[at] = heap[child];
    }
    heap[at] = key;
}

struct flat {
    uint64_t *at[DEMAND_CLASSES];
    size_t count[DEMAND_CLASSES];
};

static struct flat flatten(struct arrivals *arrivals)
{
    struct flat flat = { 0 };

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        size_t total = (size_t)arrivals_total(arrivals, (enum demand_class) class);

        flat.at[class] = mem_new_array(total + 1, sizeof(uint64_t));
        flat.at[class][total] = UINT64_MAX;
    }
    for (size_t i = 0; i < arrivals_chunks(arrivals); i++) {
        const struct arrivals_chunk *chunk = arrivals_chunk(arrivals, i);

        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            memcpy(flat.at[class] + flat.count[class], chunk->at[class],
                   chunk->count[class] * sizeof(uint64_t));
            flat.count[class] += chunk->count[class];
        }
    }
    return flat;
}

/* The simplest implementation: a heap of free times, with the same two classes and counters. */
static int64_t heap_replay(const struct flat *flat, const struct service_time *service, int servers,
                           uint64_t target)
{
    uint64_t *heap = mem_new_array((size_t)servers, sizeof *heap);
    size_t next[DEMAND_CLASSES] = { 0 };
    size_t total = flat->count[DEMAND_HIGH] + flat->count[DEMAND_LOW];
    int64_t violations[DEMAND_CLASSES] = { 0 };
    struct random random;
    uint64_t word = 0;

    random_seed(&random, 1);
    for (size_t i = 0; i < total; i++) {
        uint64_t high = flat->at[DEMAND_HIGH][next[DEMAND_HIGH]];
        uint64_t low = flat->at[DEMAND_LOW][next[DEMAND_LOW]];
        uint64_t first = high < low ? high : low;
        uint64_t start = heap[0] > first ? heap[0] : first;

        if (i % 4 == 0)
            word = random_next(&random);
        if (high <= start) {
            violations[DEMAND_HIGH] += start - high > target;
            next[DEMAND_HIGH]++;
        } else {
            violations[DEMAND_LOW] += start - low > target;
            next[DEMAND_LOW]++;
        }
        sift(heap, (size_t)servers, start + service->ticks[word & (SERVICE_TIMES - 1)]);
        word >>= 16;
    }
    mem_free(heap);
    return violations[DEMAND_HIGH] + violations[DEMAND_LOW];
}

static int engine(int servers, int turns)
{
    struct demand_series series;
    struct segment_list segments = { 0 };
    struct service_time *service = service_time_new(1, 1);
    double best[2] = { HUGE_VAL, HUGE_VAL };
    int64_t sink = 0;

    fill_steady(&series, servers > 1 ? 0.9 * servers : 0.7);
    segments_of_series(
        &series, (struct wall_span){ series.start, demand_time(&series, series.count) }, &segments);

    struct arrivals_setup setup = { &series, &segments, service, 1, 1 };
    struct arrivals *arrivals = arrivals_new(&setup, NULL);
    double total = (double)arrivals_total(arrivals, DEMAND_HIGH) +
                   (double)arrivals_total(arrivals, DEMAND_LOW);
    double began = cpu_s();
    struct flat flat = flatten(arrivals);
    double draw = cpu_s() - began;

    for (int turn = 0; turn < turns; turn++) {
        began = cpu_s();
        sink += replay_passes(arrivals, servers, &everything, NULL);
        best[0] = fmin(best[0], cpu_s() - began);
        began = cpu_s();
        sink += heap_replay(&flat, service, servers, (uint64_t)DAY_MS * TICKS_PER_MS);
        best[1] = fmin(best[1], cpu_s() - began);
    }
    printf("servers=%d arrivals=%.0f draw_ns=%.2f tree_ns=%.2f heap_ns=%.2f passed=%" PRId64 "\n",
           servers, total, draw / total * 1e9, best[0] / total * 1e9, best[1] / total * 1e9, sink);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(flat.at[class]);
    arrivals_free(arrivals);
    segments_clear(&segments);
    service_time_free(service);
    series_clear(&series);
    return 0;
}

/* ---- the weekly plan ---- */

enum { ENGINE_KINDS = 3 };

struct week {
    struct window_set *windows;
    struct demand_series *series;
    struct allocate_queue *queues;
    struct allocate_workload *workloads;
    struct allocate_cluster cluster;
    struct allocate_share share;
    struct allocate_pool pool;
    struct place_pool place_pool;
    int reservation_nodes;
    struct service_shape *engines[ENGINE_KINDS];
    struct allocate_model model;
};

/* Fills weeks of demand, so many requests a second on average: a daily wave, quiet weekends, and
   levels that drift. */
static void fill_weeks(struct demand_series *series, size_t number, int weeks, double rate)
{
    struct random random;
    double drift = 0;
    double sum = 0;
    int minutes = weeks * WEEK_MINUTES;
    double *rates = mem_new_array((size_t)minutes, sizeof *rates);
    char name[32];

    snprintf(name, sizeof name, "queue-%03zu", number);
    *series = (struct demand_series){ .queue = mem_copy_chars(name), .step_ms = MINUTE_MS };
    series->start.ms = monday_ms;
    series->count = (size_t)minutes;
    random_seed(&random, random_mix(36, name, 0, 0));

    double phase = random_between(&random, -3, 3);

    for (int i = 0; i < minutes; i++) {
        double hour = i / 60.0 - 14 - phase;
        double day = i / DAY_MINUTES % 7 < 5 ? 1 : 0.6;

        if (i % DAY_MINUTES == 0)
            drift = 0.05 * random_normal(&random);
        rates[i] = day * (0.6 + 0.4 * cos(hour / 24 * 2 * M_PI)) *
                   exp(drift + 0.03 * random_normal(&random));
        sum += rates[i];
    }
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        double share = class == DEMAND_HIGH ? 0.25 : 0.75;

        series->counts[class] = mem_new_array((size_t)minutes, sizeof(int32_t));
        for (int i = 0; i < minutes; i++) {
            double mean = 60 * rate * share * rates[i] / sum * minutes;

            series->counts[class][i] = (int32_t)fmax(0, mean + sqrt(mean) * random_normal(&random));
        }
    }
    mem_free(rates);
}

static void week_init(struct week *week, size_t queues, int threads)
{
    static const double services[] = { 2, 10, 40 };
    static const int64_t targets[] = { 5, 30, 30 };

    *week = (struct week){
        .windows = window_set_read(NULL, time_zone_open("America/New_York", NULL), NULL),
        .series = mem_new_array(queues, sizeof *week->series),
        .queues = mem_new_array(queues, sizeof *week->queues),
        .workloads = mem_new_array(queues, sizeof *week->workloads),
        .cluster = { .name = "production", .gpus_per_node = 8 },
        .share = { .weight = 1, .replica_min = 1 },
        .pool = { .machine = "h100", .region = "r1", .zone_count = 1 },
        .place_pool = { .cap = 1 << 20, .group = 1 },
        .reservation_nodes = 1 << 20,
    };
    for (size_t i = 0; i < queues; i++) {
        fill_weeks(&week->series[i], i, 1, 10);
        week->queues[i] = (struct allocate_queue){
            .name = week->series[i].queue,
            .demand = &week->series[i],
            .target = { .wait_ms = targets[i % 3] * SECOND_MS, .percentile = 98 },
            .service_s = services[i % 3],
            .service_cv = 1,
            .scale = 1,
        };
        week->workloads[i] = (struct allocate_workload){
            .name = week->series[i].queue,
            .queue = i,
            .gpus = 1,
            .shares = &week->share,
            .share_count = 1,
        };
    }
    week->model = (struct allocate_model){
        .windows = week->windows,
        .from = { monday_ms },
        .to = { monday_ms + 7 * DAY_MS },
        .queues = week->queues,
        .queue_count = queues,
        .clusters = &week->cluster,
        .cluster_count = 1,
        .workloads = week->workloads,
        .workload_count = queues,
        .pools = &week->pool,
        .place = { &week->place_pool, 1, &week->reservation_nodes, 1 },
        .seeds = PLAN_SEEDS,
        .threads = threads,
        .seed = 1,
    };
}

/* Four weeks of minutes at five requests a second, planned from the last of them: a small model on
   one GPU, a larger one, and one over several GPUs, all with long answers. */
static void week_set_engines(struct week *week)
{
    static const struct {
        struct engine_law law;
        struct engine_tokens tokens;
    } kinds[ENGINE_KINDS] = {
        { { 16, 0.010, 0.0005, 20e-6, 0, ENGINE_LEAST_OUTSTANDING }, { 500, 1000, 1, 0 } },
        { { 64, 0.020, 0.00025, 20e-6, 0, ENGINE_LEAST_OUTSTANDING }, { 1000, 1500, 1, 0 } },
        { { 64, 0.030, 0.0006, 50e-6, 0, ENGINE_LEAST_OUTSTANDING }, { 1500, 1500, 1, 0 } },
    };

    for (size_t i = 0; i < ENGINE_KINDS; i++)
        week->engines[i] = service_shape_of_engine(
            engine_new_by_law(&kinds[i].law, &kinds[i].tokens), "bench", NULL);
    for (size_t i = 0; i < week->model.queue_count; i++) {
        series_clear(&week->series[i]);
        fill_weeks(&week->series[i], i, ENGINE_WEEKS, 5);
        week->queues[i].name = week->workloads[i].name = week->series[i].queue;
        week->queues[i].shape = week->engines[i % ENGINE_KINDS];
        week->queues[i].target.wait_ms = SECOND_MS;
    }
    week->model.to.ms = monday_ms + (int64_t)ENGINE_WEEKS * 7 * DAY_MS;
    week->model.from.ms = week->model.to.ms - (int64_t)7 * DAY_MS;
}

static void week_clear(struct week *week)
{
    for (size_t i = 0; i < ENGINE_KINDS; i++)
        service_shape_free(week->engines[i]);
    for (size_t i = 0; i < week->model.queue_count; i++)
        series_clear(&week->series[i]);
    mem_free(week->series);
    mem_free(week->queues);
    mem_free(week->workloads);
    window_set_free(week->windows);
}

enum plan_kind { PLAN_EXACT, PLAN_ESTIMATE, PLAN_ENGINES };

static int plan(size_t queues, int threads, enum plan_kind kind, bool prints_cells)
{
    struct week week;
    struct error err = { 0 };
    uint64_t digest = 0;
    int64_t requests = 0;

    week_init(&week, queues, threads);
    week.model.is_estimate = kind == PLAN_ESTIMATE;
    if (kind == PLAN_ENGINES)
        week_set_engines(&week);

    int64_t began = now_ms();
    double began_cpu = cpu_s();
    struct allocate_plan *made = allocate_plan(&week.model, &err);
    double seconds = (double)(now_ms() - began) / SECOND_MS;

    if (!made) {
        fprintf(stderr, "bench-plan: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < made->window_count * made->queue_count; i++) {
        const struct search_result *found = &made->cells[i].search;

        digest = random_mix(digest, "cell", (uint64_t)found->servers, (uint64_t)found->worst_seed);
        requests += found->requests[DEMAND_HIGH] + found->requests[DEMAND_LOW];
        if (prints_cells)
            printf("cell=%zu queue=%s window=%s servers=%d worst_seed=%d wait_high=%.6f "
                   "wait_low=%.6f\n",
                   i, week.queues[i % queues].name, week.windows->items[i / queues].name,
                   found->servers, found->worst_seed, found->wait_s[0], found->wait_s[1]);
    }
    printf("queues=%zu cells=%zu threads=%d seconds=%.2f cpu_s=%.2f mb=%.0f arrivals=%" PRId64
           " digest=%016" PRIx64 "\n",
           queues, made->window_count * made->queue_count, threads, seconds, cpu_s() - began_cpu,
           peak_mb(), requests * PLAN_SEEDS, digest);
    allocate_plan_free(made);
    week_clear(&week);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;

    mem_setup();
    if (strcmp(mode, "engine") == 0 && number > 0)
        return engine(number, 5);
    if (strcmp(mode, "plan") == 0 && number > 0)
        return plan((size_t)number, argc > 3 ? (int)strtol(argv[3], NULL, 10) : 2, PLAN_EXACT,
                    argc > 4);
    if (strcmp(mode, "engines") == 0 && number > 0)
        return plan((size_t)number, argc > 3 ? (int)strtol(argv[3], NULL, 10) : 2, PLAN_ENGINES,
                    argc > 4);
    if (strcmp(mode, "estimate") == 0 && number > 0)
        return plan((size_t)number, argc > 3 ? (int)strtol(argv[3], NULL, 10) : 2, PLAN_ESTIMATE,
                    argc > 4);
    fputs("usage: bench-plan engine SERVERS | plan QUEUES [THREADS [cells]] |\n"
          "       estimate QUEUES [THREADS [cells]] | engines QUEUES [THREADS [cells]]\n",
          stderr);
    return 64;
}
