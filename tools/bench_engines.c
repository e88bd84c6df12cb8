/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The figures that tools/bench engines prints.  Each run prints NAME=VALUE pairs, one line a row.
 */
#include "tools/engine_rows.h"
#include "tools/iterations.h"
#include "windows/engine_lengths.h"

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

        if (engine_row_run(row, seeds, requests, 1 + 100 * i, &found, &err) < 0) {
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

static void replay_of(const struct service_time *service, int replicas, double rate,
                      double requests, uint64_t seed, struct replay_result *ret)
{
    const struct replay_target target = { .wait_ms = 0, .percentile = 98 };
    struct demand_series series;
    struct segment_list segments = { 0 };
    struct error err = { 0 };

    engine_stream(&series, rate, 0, requests, seed);
    *array_add(&segments.list) = (struct segment){ 1, series.count - 1 };

    struct arrivals_setup setup = { &series, &segments, service, 1, seed };
    struct arrivals *arrivals = arrivals_new(&setup, &err);

    if (!arrivals || replay_report(arrivals, replicas, &target, ret, &err) < 0) {
        fprintf(stderr, "bench-engines: %s\n", err.text);
        exit(1);
    }
    arrivals_free(arrivals);
    segments_clear(&segments);
    engine_stream_clear(&series);
}

static struct iteration_case case_of(const struct service_time *service,
                                     struct iteration_pair pairs[ENGINE_LENGTHS])
{
    const struct engine *engine = service->engine;

    for (size_t i = 0; i < ENGINE_LENGTHS; i++)
        pairs[i] = (struct iteration_pair){ (int)engine->in[i], (int)engine->out[i] };
    return (struct iteration_case){
        .slots = engine->law.slots,
        .iteration_s = engine->law.iteration_s,
        .decode_s = engine->law.per_request_s,
        .prefill_s = engine->law.prefill_s,
        .budget = ITERATION_BUDGET,
        .pairs = pairs,
        .pair_count = ENGINE_LENGTHS,
    };
}

static int iterations(size_t requests)
{
    static const double prompts[] = { 500, 1000, 2000, 4000 };
    static const double shares[] = { 0.5, 0.7, 0.8, 0.9 };
    static const int replicas[] = { 1, 4 };
    struct iteration_pair *pairs = mem_new_array(ENGINE_LENGTHS, sizeof *pairs);

    for (size_t i = 0; i < COUNT_OF(prompts) * COUNT_OF(shares) * COUNT_OF(replicas); i++) {
        double in = prompts[i / COUNT_OF(shares) % COUNT_OF(prompts)];
        double share = shares[i % COUNT_OF(shares)];
        int count = replicas[i / COUNT_OF(shares) / COUNT_OF(prompts)];
        const struct engine_law law = { 16, 0.010, 0.0005, 20e-6, 0, ENGINE_LEAST_OUTSTANDING };
        struct service_time *service = service_of(
            engine_new_by_law(&law, &(struct engine_tokens){ in, 200, 1, SERVICE_BY_CV }));
        struct iteration_case what = case_of(service, pairs);
        struct engine_mean means[4] = { 0 };
        struct engine_mean p98[4] = { 0 };
        double rate = share * count * engine_rate(service->engine, law.slots);

        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct iteration_result real;
            struct replay_result found;

            what.replicas = count;
            what.rate = rate;
            what.requests = requests;
            what.seed = seed + 50 * i;
            iterations_run(&what, &real);
            replay_of(service, count, rate, (double)requests, seed + 50 * i, &found);
            engine_mean_add(&means[0], real.mean_wait_s);
            engine_mean_add(&means[1], found.classes[1].mean_s);
            engine_mean_add(&means[2], real.mean_first_s);
            engine_mean_add(&means[3], found.classes[1].ttft.mean_s);
            engine_mean_add(&p98[0], iterations_at(real.waits, real.count, 98));
            engine_mean_add(&p98[1], found.classes[1].p98_s);
            engine_mean_add(&p98[2], iterations_at(real.firsts, real.count, 98));
            engine_mean_add(&p98[3], found.classes[1].ttft.p98_s);
            iterations_clear(&real);
        }
        printf("replicas=%d in=%.0f rho=%.1f floor=%.4f wait %.4f+-%.4f / %.4f+-%.4f p98 %.3f / "
               "%.3f first %.4f / %.4f p98 %.3f / %.3f\n",
               count, in, share, engine_floor_s(service->engine), engine_mean_of(&means[0]),
               engine_error_of(&means[0]), engine_mean_of(&means[1]), engine_error_of(&means[1]),
               engine_mean_of(&p98[0]), engine_mean_of(&p98[1]), engine_mean_of(&means[2]),
               engine_mean_of(&means[3]), engine_mean_of(&p98[2]), engine_mean_of(&p98[3]));
        fflush(stdout);
        service_time_free(service);
    }
    mem_free(pairs);
    return 0;
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
    return 64;
}
