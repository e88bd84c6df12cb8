/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The replay of engines against a simulation of every iteration, on the same requests: whole
 * tokens, prompts in chunks within a budget.  What the replay leaves out of an iteration may not
 * matter by more than a tenth, and has to be on the safe side.
 */
#include "tests/support/unit.h"
#include "tools/engine_stream.h"
#include "windows/servers/engine_lengths.h"

#include <string.h>

enum { REQUESTS = 12000 };

/* By how much the replay may be below: the noise of another order of starts. */
static const double unsafe = 0.03;

static struct service_time *service_of(struct engine *engine)
{
    struct error err = { 0 };
    owned(service_shape) struct service_shape *shape = service_shape_of_engine(engine, "test",
                                                                               &err);

    if (!shape)
        fail_msg("%s", err.text);
    return service_time_shaped(shape);
}

struct shape {
    double in;
    int replicas;
    double share; /* of what they can end */
};

static void assert_alike(const struct shape *shape, const char *what, double real, double found)
{
    if (found < (1 - unsafe) * real || found > 1.1 * real)
        fail_msg("prompts of %.0f, %d replicas at %.2f: %s is %.4f s, and %.4f s by iterations",
                 shape->in, shape->replicas, shape->share, what, found, real);
}

/* Waits that are shorter than an iteration of a full batch are not told apart. */
static void waits_are_those_of_every_iteration(void **state)
{
    static const struct shape shapes[] = {
        { 500, 1, 0.7 },  { 500, 1, 0.8 },  { 500, 1, 0.9 },  { 4000, 1, 0.7 },
        { 4000, 1, 0.8 }, { 4000, 1, 0.9 }, { 500, 4, 0.7 },  { 500, 4, 0.9 },
        { 4000, 4, 0.7 }, { 4000, 4, 0.9 }, { 1500, 4, 0.8 },
    };
    const struct engine_law law = { 16, 0.010, 0.0005, 20e-6, 0, ENGINE_LEAST_OUTSTANDING };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const struct shape *shape = &shapes[i];
        struct service_time *service = service_of(
            engine_new_by_law(&law, &(struct engine_tokens){ shape->in, 200, 1, SERVICE_BY_CV }));
        double rate = shape->share * shape->replicas * engine_rate(service->engine, law.slots);
        double floor_s = engine_floor_s(service->engine);
        struct iteration_result real;
        struct replay_result found;
        struct stream stream;

        stream_init(&stream, service, rate, REQUESTS, i + 1);

        struct iteration_case what = stream_case(&stream, 0);
        owned(arrivals) struct arrivals *arrivals = search_arrivals(&stream.setup, 0, NULL);
        const struct replay_class *all = &found.classes[DEMAND_LOW];
        double rest_s = engine_iteration_s(&law, 1) / 2; /* at least, of the iteration that runs */

        what.replicas = shape->replicas;
        iterations_run(&what, &real);
        assert_int_equal(
            replay_report(arrivals, shape->replicas, &stream.setup.target, &found, NULL), 0);
        assert_alike(shape, "the mean wait", fmax(floor_s, real.mean_wait_s),
                     fmax(floor_s, all->mean_s + rest_s));
        assert_alike(shape, "p90 of waits",
                     fmax(floor_s, iterations_at(real.waits, real.count, 90)),
                     fmax(floor_s, all->p90_s));
        assert_alike(shape, "p98 of waits",
                     fmax(floor_s, iterations_at(real.waits, real.count, 98)),
                     fmax(floor_s, all->p98_s));
        assert_alike(shape, "the mean first token", real.mean_first_s, all->ttft.mean_s);
        assert_alike(shape, "p98 of first tokens", iterations_at(real.firsts, real.count, 98),
                     all->ttft.p98_s);
        iterations_clear(&real);
        stream_case_clear(&what);
        stream_clear(&stream);
    }
}

/* Like those of an assistant for code: long prompts, short answers that have little to do with
   them, or of conversations. */
static void add_pairs(struct token_pairs *pairs, bool is_code, uint64_t seed)
{
    struct random random;

    random_seed(&random, seed);
    for (int i = 0; i < 8000; i++) {
        double in = is_code ? fmin(7400, exp(7.2 + 1.0 * random_normal(&random)))
                            : fmin(14000, exp(6.7 + 0.8 * random_normal(&random)));
        double out = is_code ? fmin(1900, exp(2.6 + 0.9 * random_normal(&random)))
                     : random_below(&random, 3) == 0 ? 400 + random_normal(&random) * 20
                                                     : exp(4.6 + 0.5 * random_normal(&random));

        *array_add(&pairs->list) = (struct token_pair){ roundf((float)fmax(1, in)),
                                                        roundf((float)fmax(1, out)), 1 };
    }
}

/* As many replicas as the simulation asks for, or one more or less. */
static void the_number_of_replicas_is_that_of_every_iteration(void **state)
{
    static const struct {
        bool is_code;
        double load; /* replicas that could just end what comes */
        struct replay_target target;
    } rows[] = {
        { false, 2, { 500, 98, { 0, 0 }, { 0, 0 } } },
        { false, 5, { 500, 98, { 0, 0 }, { 0, 0 } } },
        { false, 10, { DAY_MS, 98, { 0.5, 98 }, { 0, 0 } } },
        { true, 2, { 500, 98, { 0, 0 }, { 0, 0 } } },
        { true, 5, { DAY_MS, 98, { 0.5, 98 }, { 0, 0 } } },
        { true, 10, { DAY_MS, 98, { 0.5, 98 }, { 0, 0 } } },
    };
    const struct engine_law law = { 32, 0.012, 0.0004, 20e-6, 0, ENGINE_LEAST_OUTSTANDING };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(token_pairs) struct token_pairs pairs = { 0 };
        struct search_result found;
        struct stream stream;

        add_pairs(&pairs, rows[i].is_code, i + 1);

        struct service_time *service = service_of(engine_new_by_pairs(&law, &pairs));

        stream_init(&stream, service, rows[i].load * engine_rate(service->engine, law.slots),
                    REQUESTS, i + 1);
        stream.setup.target = rows[i].target;
        assert_int_equal(search_servers(&stream.setup, &found, NULL), 0);

        int fewest = stream_fewest(&stream, found.servers);

        if (abs(found.servers - fewest) > 1)
            fail_msg("row %zu: %d replicas, and %d by iterations", i, found.servers, fewest);
        stream_clear(&stream);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_those_of_every_iteration),
        cmocka_unit_test(the_number_of_replicas_is_that_of_every_iteration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
