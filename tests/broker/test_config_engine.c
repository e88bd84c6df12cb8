/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Engines of queues in sluice.yaml: what is made of them, and which targets they cannot meet.
 */
#include "base/memory.h"
#include "base/text.h"
#include "broker/config/config.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "windows/servers/service_time.h"

#include <math.h>
#include <string.h>

static const char head[] =
    "time_zone: UTC\n"
    "clusters:\n"
    "  prod: {role: production, kubeconfig: p}\n"
    "reservations:\n"
    "  east: {machine: m8, region: r1, zone: r1-a, gpus_per_node: 8, nodes: 24}\n"
    "providers:\n"
    "  cloud: {kind: gcp}\n"
    "pools:\n"
    "  pe: {cluster: prod, reservation: east, provider: cloud, project: x, group: pe}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, gpus: 2, clusters: {prod: {}}}\n"
    "queues:\n"
    "  chat: {";

#define R1 "engine: {slots: 16, iteration: 10ms, iteration_per_request: 0.5ms, tokens_out: 200}"

static struct config *read_queue(const char *folder, const char *queue, struct error *err)
{
    owned(chars) char *file = text_format("%s%s}\n", head, queue);
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", file);

    return config_read(path, err);
}

static void an_engine_is_made_as_it_is_written(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct error err = { 0 };
    owned(config) struct config *config = read_queue(folder,
                                                     "wait_target: 2s, ttft_target: 750.5ms, "
                                                     "itl_target: 20ms, itl_percentile: 90, " R1,
                                                     &err);

    (void)state;
    if (!config)
        fail_msg("%s", err.text);

    const struct config_queue *queue = &config->queues[0];
    owned(service_time) struct service_time *service = service_time_shaped(queue->service);
    struct replay_target target = config_target(queue, 0);

    assert_non_null(service->engine);
    assert_int_equal(service->engine->law.slots, 16);
    assert_true(service->engine->law.iteration_s == 0.010);
    assert_true(service->engine->law.per_request_s == 0.0005);
    assert_true(fabs(engine_rate(service->engine, 16) - 16 / (200 * 0.018)) < 1e-6);
    assert_int_equal(service->engine->law.router, ENGINE_LEAST_OUTSTANDING);
    assert_true(fabs(service->mean_s - 2.1) < 1e-9);
    assert_int_equal(target.wait_ms, 2000);
    assert_true(target.percentile == 98);
    assert_true(target.ttft.limit_s == 0.7505 && target.ttft.percentile == 98);
    assert_true(target.itl.limit_s == 0.020 && target.itl.percentile == 90);
    target = config_target(queue, 99);
    assert_true(target.percentile == 99 && target.ttft.percentile == 99 &&
                target.itl.percentile == 90);
}

static void slots_beside_a_service_time_stay_when_times_are_measured(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct error err = { 0 };
    owned(config) struct config *config = read_queue(
        folder, "wait_target: 1ms, service: 6s, engine: {slots: 64, router: random}", &err);

    (void)state;
    if (!config)
        fail_msg("%s", err.text);
    config_set_service(&config->queues[0], service_shape_new(SERVICE_BY_CV, 8, 0, "measured"));

    const struct engine *engine = config->queues[0].service->engine;

    assert_int_equal(config->queues[0].service_ms, 8000);
    assert_int_equal(engine->law.slots, 64);
    assert_int_equal(engine->law.router, ENGINE_RANDOM);
    assert_true(fabs(engine_rate(engine, 64) - 8) < 1e-12);
}

static void measured_lengths_are_read_beside_the_file(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(text) struct text *rows = text_new(1 << 16);
    struct error err = { 0 };

    (void)state;
    text_add(rows, "queue,input_tokens,output_tokens\n");
    text_add(rows, "chat,500,0\n");
    for (int i = 0; i < 200; i++)
        text_add(rows, "%s,%d,%d\n", i % 2 ? "code" : "chat", i % 2 ? 3000 : 500, 100 + i % 2);

    owned(chars) char *path = test_folder_write(folder, "tokens.csv", rows->chars);
    owned(config) struct config *config = read_queue(
        folder,
        "wait_target: 2s, engine: {slots: 8, iteration: 10ms, prefill_per_token: 20us, "
        "tokens_file: tokens.csv, kv_tokens: 3300}",
        &err);

    if (!config)
        fail_msg("%s", err.text);

    const struct engine *engine = config->queues[0].service->engine;

    assert_string_equal(config->queues[0].engine.tokens_file, path);
    assert_true(engine->mean_in == 500 && engine->mean_out == 100);
    assert_true(config->queues[0].service->requests == 100);
    assert_non_null(
        strstr(config->queues[0].service->origin, "tokens.csv, without 1 row that has no answer"));
    assert_true(engine->is_kv_limited && engine->law.slots == 6);
    assert_true(fabs(engine_floor_s(engine) - 0.020) < 1e-12);
}

#define BARE "slots: 8, iteration: 10ms, prefill_per_token: 20us, kv_tokens: 3300"

/* A command that reads no demand needs no lengths; another has those of its rows, as pairs. */
static void an_engine_without_lengths_waits_for_a_demand(void **state)
{
    static const struct {
        const char *queue;
        const char *header;
        const char *want; /* NULL: accepted */
    } rows[] = {
        { "wait_target: 2s, engine: {" BARE "}", "t,queue,input_tokens,output_tokens", NULL },
        { "wait_target: 2s, engine: {" BARE "}", "t,count,other,another",
          ":13: queues.chat.engine: needs tokens_out" },
        { "wait_target: 11ms, engine: {" BARE "}", "t,queue,input_tokens,output_tokens",
          ":13: queues.chat.wait_target: must be at least" },
        { "wait_target: 2s, engine: {" BARE ", tokens_in: 5}", NULL,
          ":13: queues.chat.engine: needs tokens_out" },
        { "wait_target: 2s, engine: {" BARE ", tokens_law: constant}", NULL,
          ":13: queues.chat.engine: needs tokens_out" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(config) struct config *config = read_queue(folder, rows[i].queue, &err);
        owned(text) struct text *log = text_new(1 << 16);

        print_message("    %s\n", rows[i].queue);
        assert_int_equal(!config, !rows[i].header);
        if (config) {
            const struct demand_options options = { .missing_zero = true };

            assert_null(config->queues[0].service);
            text_add(log, "%s\n", rows[i].header);
            for (int at = 0; at < 200; at++)
                text_add(log, "2026-11-17T12:%02d:%02dZ,%s,%d,%d\n", at / 60, at % 60,
                         strstr(rows[i].header, "queue") ? "chat" : "7", at % 2 ? 3000 : 500,
                         at % 2 ? 400 : 100);

            owned(demand) struct demand *demand = demand_parse(log->chars, log->length, "chat.csv",
                                                               &options, &err);

            if (!demand)
                fail_msg("%s", err.text);
            assert_int_equal(config_take_lengths(config, demand, &err), rows[i].want ? -1 : 0);
        }
        if (rows[i].want) {
            assert_non_null(strstr(err.text, rows[i].want));
            continue;
        }

        const struct service_shape *shape = config->queues[0].service;

        assert_true(shape->engine->mean_in == 1750 && shape->engine->mean_out == 250);
        assert_true(shape->engine->is_kv_limited && shape->engine->law.slots == 1);
        assert_true(shape->requests == 200);
        assert_string_equal(shape->origin, "the demand's rows");
        for (int at = 0; at < ENGINE_LENGTHS; at++)
            assert_true((shape->engine->in[at] == 3000) == (shape->engine->out[at] == 400));
    }
}

static void one_slot_has_no_engine(void **state)
{
    static const char *const queues[] = {
        "wait_target: 2s, service: 6s",
        "wait_target: 2s, service: 6s, engine: {slots: 1}",
    };
    owned(test_folder) char *folder = test_folder_new();
    struct service_time *services[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        owned(config) struct config *config = read_queue(folder, queues[i], NULL);

        services[i] = service_time_shaped(config->queues[0].service);
    }
    assert_memory_equal(services[0], services[1], sizeof *services[0]);
    service_time_free(services[0]);
    service_time_free(services[1]);
}

static void targets_below_the_floor_are_refused_with_the_figure(void **state)
{
    static const struct {
        const char *queue;
        const char *want; /* NULL: accepted */
    } rows[] = {
        { "wait_target: 18ms, " R1, NULL },
        { "wait_target: 17ms, " R1, ":13: queues.chat.wait_target: must be at least 18ms, " },
        { "wait_target: 2s, ttft_target: 18ms, " R1, NULL },
        { "wait_target: 2s, ttft_target: 17.9ms, " R1,
          ":13: queues.chat.ttft_target: must be at least 18ms, " },
        { "wait_target: 2s, itl_target: 10.5ms, " R1, NULL },
        { "wait_target: 2s, itl_target: 10.4ms, " R1,
          ":13: queues.chat.itl_target: must be at least 10.5ms, " },
        { "wait_target: 1ms, service: 6s, engine: {slots: 64}", NULL },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(config) struct config *config = read_queue(folder, rows[i].queue, &err);

        print_message("    %s\n", rows[i].queue);
        if (rows[i].want)
            assert_non_null(strstr(err.text, rows[i].want));
        assert_int_equal(!config, rows[i].want != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_is_made_as_it_is_written),
        cmocka_unit_test(slots_beside_a_service_time_stay_when_times_are_measured),
        cmocka_unit_test(measured_lengths_are_read_beside_the_file),
        cmocka_unit_test(an_engine_without_lengths_waits_for_a_demand),
        cmocka_unit_test(one_slot_has_no_engine),
        cmocka_unit_test(targets_below_the_floor_are_refused_with_the_figure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
