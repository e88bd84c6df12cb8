/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The figures that tools/bench engines prints.  Each run prints NAME=VALUE pairs, one line a row.
 */
#include "tools/engine_rows.h"
#include "tools/engine_stream.h"
#include "windows/calendar/segment.h"
#include "windows/demand/demand.h"
#include "windows/servers/engine_lengths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* ---- the reference rows ---- */

static void print_figure(const char *name, const struct engine_figure *figure,
                         const struct engine_mean *found)
{
    if (figure->want > 0)
        printf(" %s=%.5g+-%.2g(%.5g,%.1f)", name, engine_mean_of(found), engine_error_of(found),
               figure->want, engine_apart(figure, found));
}

static int rows(int seeds, double requests)
{
    int wrong = 0;

    for (size_t i = 0; i < COUNT_OF(engine_rows); i++) {
        const struct engine_row *row = &engine_rows[i];
        struct engine_found found;
        struct error err = { 0 };
        double began = cpu_s();

        if (engine_row_run(row, &(struct engine_repeats){ seeds, 1 + 100 * i, requests }, &found,
                           &err) < 0) {
            fprintf(stderr, "bench-engines: %s\n", err.text);
            return 1;
        }
        printf("row=\"%s\" ns=%.0f", row->name, (cpu_s() - began) / found.requests * 1e9);
        print_figure("waits", &row->waits, &found.waits);
        print_figure("mean_s", &row->mean_s, &found.mean_s);
        print_figure("p98_s", &row->p98_s, &found.p98_s);
        print_figure("high_mean_s", &row->high_mean_s, &found.high_mean_s);
        puts("");
        fflush(stdout);
    }
    return wrong;
}

/* ---- nanoseconds of a verdict per arrival ---- */

static const struct replay_target everything = { .wait_ms = DAY_MS, .percentile = 50 };

/* Arrivals are drawn before. */
static int speed(int slots, int replicas, int turns)
{
    const struct engine_law law = { .slots = slots,
                                    .iteration_s = slots > 16 ? 0.020 : 0.010,
                                    .per_request_s = slots > 16 ? 0.00025 : 0.0005,
                                    .router = ENGINE_LEAST_OUTSTANDING };
    struct service_time *service = engine_service(&law, 200, 1, 0);
    struct demand_series series;
    struct segment_list segments = { 0 };
    double best = HUGE_VAL;
    int64_t sink = 0;

    engine_stream(&series, 0.9 * replicas * engine_rate(service->engine, slots), 0.35, 2e6, 1);
    *array_add(&segments.list) = (struct segment){ 1, series.count - 1 };

    struct arrivals_setup setup = { &series, &segments, service, 1, 1 };
    struct arrivals *arrivals = arrivals_new(&setup, NULL);
    double total = (double)arrivals_total(arrivals, DEMAND_HIGH) +
                   (double)arrivals_total(arrivals, DEMAND_LOW);

    for (size_t i = 0; i < arrivals_chunks(arrivals); i++)
        (void)arrivals_chunk(arrivals, i);
    for (int turn = 0; turn < turns; turn++) {
        double began = cpu_s();

        sink += replay_passes(arrivals, replicas, &everything, NULL);
        best = fmin(best, cpu_s() - began);
    }
    printf("slots=%d replicas=%d arrivals=%.0f ns=%.1f passed=%d\n", slots, replicas, total,
           best / total * 1e9, (int)sink);
    arrivals_free(arrivals);
    segments_clear(&segments);
    engine_stream_clear(&series);
    service_time_free(service);
    return 0;
}

/* ---- against an iteration-level simulation ---- */

static struct service_time *service_of(struct engine *engine)
{
    struct error err = { 0 };
    struct service_shape *shape = service_shape_of_engine(engine, "bench", &err);
    struct service_time *service = shape ? service_time_shaped(shape) : NULL;

    if (!service) {
        fprintf(stderr, "bench-engines: %s\n", err.text);
        exit(1);
    }
    service_shape_free(shape);
    return service;
}

/* Means over the floor, and at 98 per cent; of the simulation, and of the replay. */
static void compare(const struct engine_law *law, double in, int replicas, double share,
                    size_t requests)
{
    struct service_time *service = service_of(
        engine_new_by_law(law, &(struct engine_tokens){ in, 200, 1, SERVICE_BY_CV }));
    double rate = share * replicas * engine_rate(service->engine, law->slots);
    double floor_s = engine_floor_s(service->engine);
    struct stream stream;

    stream_init(&stream, service, rate, (double)requests, 1);

    struct iteration_case what = stream_case(&stream, 0);
    struct arrivals *arrivals = search_arrivals(&stream.setup, 0, NULL);
    struct iteration_result real;
    struct replay_result found;

    what.replicas = replicas;
    iterations_run(&what, &real);
    if (replay_report(arrivals, replicas, &stream.setup.target, &found, NULL) < 0)
        exit(1);

    const struct replay_class *all = &found.classes[DEMAND_LOW];

    printf("replicas=%d in=%.0f rho=%.2f wait_s=%.4f/%.4f wait_p98_s=%.3f/%.3f "
           "first_s=%.4f/%.4f first_p98_s=%.3f/%.3f floor_s=%.3f\n",
           replicas, in, share, real.mean_wait_s, all->mean_s,
           fmax(floor_s, iterations_at(real.waits, real.count, 98)), fmax(floor_s, all->p98_s),
           real.mean_first_s, all->ttft.mean_s, iterations_at(real.firsts, real.count, 98),
           all->ttft.p98_s, floor_s);
    fflush(stdout);
    iterations_clear(&real);
    stream_case_clear(&what);
    arrivals_free(arrivals);
    stream_clear(&stream);
}

static int iterations(size_t requests)
{
    static const double prompts[] = { 500, 1000, 2000, 4000 };
    static const double shares[] = { 0.5, 0.7, 0.8, 0.9 };
    static const int replicas[] = { 1, 4 };
    const struct engine_law law = { 16, 0.010, 0.0005, 20e-6, 0, ENGINE_LEAST_OUTSTANDING };

    for (size_t i = 0; i < COUNT_OF(replicas); i++)
        for (size_t at = 0; at < COUNT_OF(prompts) * COUNT_OF(shares); at++)
            compare(&law, prompts[at / COUNT_OF(shares)], replicas[i],
                    shares[at % COUNT_OF(shares)], requests);
    return 0;
}

/* ---- replicas for the token pairs of a trace ---- */

static const struct replay_target token_targets[] = {
    { 500, 98, { 0, 0 }, { 0, 0 } },
    { DAY_MS, 98, { 0.5, 98 }, { 0, 0 } },
};

static int tokens(const char *path, const char *queue, double requests)
{
    static const double loads[] = { 3, 8, 20 };
    const struct engine_law law = { 32, 0.012, 0.0004, 20e-6, 0, ENGINE_LEAST_OUTSTANDING };

    for (size_t i = 0; i < COUNT_OF(loads) * COUNT_OF(token_targets); i++) {
        owned(token_pairs) struct token_pairs pairs = { 0 };
        struct search_result found;
        struct error err = { 0 };
        struct stream stream;

        if (token_pairs_read(&pairs, path, queue, &err) < 0) {
            fprintf(stderr, "bench-engines: %s\n", err.text);
            return 1;
        }

        struct service_time *service = service_of(engine_new_by_pairs(&law, &pairs));
        double rate = loads[i % COUNT_OF(loads)] * engine_rate(service->engine, law.slots);

        stream_init(&stream, service, rate, requests, 1 + i);
        stream.setup.seeds = 3;
        stream.setup.target = token_targets[i / COUNT_OF(loads)];
        if (search_servers(&stream.setup, &found, &err) < 0) {
            fprintf(stderr, "bench-engines: %s\n", err.text);
            return 1;
        }
        printf("queue=%s rate=%.1f target=%s replicas=%d fewest=%d\n", queue, rate,
               i < COUNT_OF(loads) ? "wait" : "ttft", found.servers,
               stream_fewest(&stream, found.servers));
        fflush(stdout);
        stream_clear(&stream);
    }
    return 0;
}

/* ---- replicas for the very requests of a log ---- */

struct request {
    double came_s;
    struct iteration_pair lengths;
};

static int compare_requests(const void *left, const void *right)
{
    double a = ((const struct request *)left)->came_s;
    double b = ((const struct request *)right)->came_s;

    return a < b ? -1 : a > b;
}

/* Each request so many times: its copies come up to 5 s later. */
static struct request *copies_of(const struct token_pairs *pairs, int copies, int64_t begin_ms)
{
    size_t count = pairs->list.count * (size_t)copies;
    struct request *requests = mem_new_array(count, sizeof *requests);
    struct random random;

    random_seed(&random, 77);
    for (size_t i = 0; i < count; i++) {
        const struct token_pair *pair = &pairs->list.items[i / (size_t)copies];
        int64_t ms = pairs->times.items[i / (size_t)copies] - begin_ms;
        double later_s = i % (size_t)copies == 0 ? 0 : 5 * random_unit(&random);

        requests[i] = (struct request){ (double)ms / SECOND_MS + later_s,
                                        { (int)pair->in, (int)pair->out } };
    }
    qsort(requests, count, sizeof *requests, compare_requests);
    return requests;
}

/* Copies of the stream must not have the same lengths at the same time: each request takes the
   lengths of one that arrives up to a minute later. */
static void shuffle_lengths(struct request *requests, size_t count, int copies)
{
    struct random random;

    random_seed(&random, 78);
    for (size_t i = 0; copies > 1 && i + 1 < count; i++) {
        size_t left = count - i - 1;
        size_t reach = 60 * (size_t)copies;
        size_t with = i + 1 + random_below(&random, left < reach ? left : reach);
        struct iteration_pair lengths = requests[i].lengths;

        requests[i].lengths = requests[with].lengths;
        requests[with].lengths = lengths;
    }
}

static struct request_log log_of(const struct demand_series *series, int copies)
{
    int64_t begin_ms = series->start.ms;
    size_t count = series->tokens->list.count * (size_t)copies;
    struct request *requests = copies_of(series->tokens, copies, begin_ms);
    struct request_log log;

    shuffle_lengths(requests, count, copies);
    request_log_init(&log, begin_ms);
    for (size_t i = 0; i < count; i++)
        request_log_add(&log, requests[i].came_s, requests[i].lengths);
    mem_free(requests);
    return log;
}

static int plan_log(const struct request_log *log, const struct engine_law *law,
                    const struct replay_target *target, struct error *err)
{
    struct demand_options options = { 0 };
    owned(demand) struct demand *demand = demand_parse(log->csv->chars, log->csv->length, "log",
                                                       &options, err);
    struct segment_list segments = { 0 };
    struct search_result found;
    int result;

    if (!demand)
        return -1;

    const struct demand_series *series = &demand->series[0];
    struct service_time *service = service_of(engine_new_by_pairs(law, series->tokens));
    struct search_setup setup = { .series = series,
                                  .segments = &segments,
                                  .service = service,
                                  .scale = 1,
                                  .target = *target,
                                  .seed = 1,
                                  .seeds = 5 };

    segments_of_series(
        series, (struct wall_span){ series->start, demand_time(series, series->count) }, &segments);
    result = search_servers(&setup, &found, err);
    segments_clear(&segments);
    service_time_free(service);
    return result < 0 ? -1 : found.servers;
}

static int logs(const char *path, const char *queue)
{
    static const int copies[] = { 1, 3, 8 };
    const struct engine_law law = { 32, 0.012, 0.0004, 20e-6, 0, ENGINE_LEAST_OUTSTANDING };
    struct demand_options options = { 0 };
    struct error err = { 0 };
    owned(demand) struct demand *demand = demand_read(path, &options, &err);
    const struct demand_series *series = demand ? demand_find(demand, queue) : NULL;

    for (size_t i = 0; series && i < COUNT_OF(copies); i++) {
        struct request_log log = log_of(series, copies[i]);

        for (size_t at = 0; at < COUNT_OF(token_targets); at++) {
            int planned = plan_log(&log, &law, &token_targets[at], &err);

            if (planned < 0)
                break;
            printf("queue=%s copies=%d target=%s replicas=%d fewest=%d\n", queue, copies[i],
                   at == 0 ? "wait" : "ttft", planned,
                   request_log_fewest(&log, &law, &token_targets[at], planned));
            fflush(stdout);
        }
        request_log_clear(&log);
    }
    if (series && err.kind == ERROR_NONE)
        return 0;
    fprintf(stderr, "bench-engines: %s\n", err.kind != ERROR_NONE ? err.text : "no such queue");
    return 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    mem_setup();
    if (strcmp(mode, "rows") == 0 && argc > 3)
        return rows((int)strtol(argv[2], NULL, 10), strtod(argv[3], NULL));
    if (strcmp(mode, "speed") == 0 && argc > 3)
        return speed((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10), 5);
    if (strcmp(mode, "iterations") == 0 && argc > 2)
        return iterations((size_t)strtol(argv[2], NULL, 10));
    if (strcmp(mode, "tokens") == 0 && argc > 4)
        return tokens(argv[2], argv[3], strtod(argv[4], NULL));
    if (strcmp(mode, "log") == 0 && argc > 3)
        return logs(argv[2], argv[3]);
    fputs("usage: bench-engines rows SEEDS REQUESTS | speed SLOTS REPLICAS |\n"
          "       iterations REQUESTS | tokens FILE QUEUE REQUESTS |\n"
          "       log FILE QUEUE\n",
          stderr);
    return 64;
}
