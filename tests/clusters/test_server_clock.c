/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The clock of an API server, by the Date of its answers: only young ones say what it is.
 */
#include "clusters/cluster_session.h"
#include "clusters/kube_verbs.h"
#include "tests/clusters/cluster_bench.h"

#include <inttypes.h>

#define NODE SERVER "/api/v1/nodes/n"
#define ALREADY "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}"

/* The bench begins at 14:13:20. */
#define AT(time) "Mon, 21 Sep 2026 " time " GMT"

enum { ASKED = 3 };

static const struct {
    const char *name;
    struct script_step answers[ASKED]; /* in turn, each asked for when the one before has come */
    int64_t ahead_ms;
} rows[] = {
    { "the same", { { .date = AT("14:13:20") } }, 0 },
    { "ninety seconds ahead", { { .date = AT("14:14:50") } }, 90500 },
    { "two seconds are nothing", { { .date = AT("14:13:22") } }, 0 },
    { "an hour behind", { { .date = AT("13:13:20") } }, -3599500 },
    { "no date", { { .date = NULL } }, 0 },
    { "a watch that ends after minutes says when it began",
      { { .date = AT("14:13:20"), .delay_ms = 290 * SECOND_MS } },
      0 },
    { "and takes nothing back",
      { { .date = AT("14:14:50") }, { .date = AT("14:13:20"), .delay_ms = 290 * SECOND_MS } },
      90500 },
    { "small changes are not followed",
      { { .date = AT("14:14:50") }, { .date = AT("14:14:52") } },
      90500 },
    { "what was there is there until it is clearly over",
      { { .date = AT("14:13:23") }, { .date = AT("14:13:22") } },
      3500 },
    { "and is then over", { { .date = AT("14:13:23") }, { .date = AT("14:13:20") } }, 0 },
};

static void only_young_answers_set_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct script_step steps[ASKED];
        struct bench bench;
        size_t count = 0;

        for (; count < ASKED && (count == 0 || rows[i].answers[count].date); count++) {
            steps[count] = rows[i].answers[count];
            steps[count].url = NODE;
            steps[count].status = 200;
            steps[count].answer = ALREADY;
        }
        bench_open(&bench, steps, count);
        for (size_t k = 0; k < count; k++) {
            cluster_read_at(bench.cluster, "/api/v1/nodes/n", bench_done, &bench);
            loop_run_until(bench.loop, loop_now(bench.loop) + steps[k].delay_ms);
            assert_int_equal(bench.calls, k + 1);
        }
        if (kube_ahead_ms(cluster_session(bench.cluster)) != rows[i].ahead_ms)
            fail_msg("%s: %" PRId64, rows[i].name, kube_ahead_ms(cluster_session(bench.cluster)));
        bench_close(&bench);
    }
}

/* When our clock is moved, the server's is where it was. */
static void our_clock_moves_alone(void **state)
{
    struct script_step step = {
        .url = NODE, .status = 200, .answer = ALREADY, .date = AT("14:13:20")
    };
    struct bench bench;
    int64_t ahead_ms;

    (void)state;
    bench_open(&bench, &step, 1);
    assert_false(cluster_clock(bench.cluster, 0, &ahead_ms));
    loop_run_until(bench.loop, loop_now(bench.loop) + SECOND_MS);
    cluster_read_at(bench.cluster, "/api/v1/nodes/n", bench_done, &bench);
    loop_run_until(bench.loop, loop_now(bench.loop) + SECOND_MS);
    assert_true(cluster_clock(bench.cluster, 0, &ahead_ms));
    assert_int_equal(ahead_ms, 0);
    assert_false(cluster_clock(bench.cluster, loop_now(bench.loop), &ahead_ms));
    loop_wall_move(bench.loop, HOUR_MS);
    cluster_wall_moved(bench.cluster);
    assert_true(cluster_clock(bench.cluster, 0, &ahead_ms));
    assert_int_equal(ahead_ms, -HOUR_MS);
    assert_int_equal(cluster_snapshot(bench.cluster)->ahead_ms, -HOUR_MS);
    loop_wall_move(bench.loop, SECOND_MS - HOUR_MS);
    assert_true(cluster_clock(bench.cluster, 0, &ahead_ms));
    assert_int_equal(ahead_ms, 0);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(only_young_answers_set_it),
                                        cmocka_unit_test(our_clock_moves_alone) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
