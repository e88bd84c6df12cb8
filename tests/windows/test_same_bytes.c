/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plan is a function of its input to the last bit: the same on every machine, for every compiler
 * and optimiser, with any number of threads.  The digests here were made once; a change of theirs
 * is a change of every plan there is and belongs into the changelog.
 */
#include "tests/windows/plant.h"
#include "windows/servers/engine_lengths.h"

#include <inttypes.h>

static uint64_t digest_of_bits(uint64_t digest, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return random_mix(digest, "bits", bits, 0);
}

/* The schedules as they are written, and every wait to its last bit. */
static uint64_t digest_of(const struct allocate_plan *plan)
{
    owned(chars) char *schedules = all_schedules(plan);
    uint64_t digest = random_mix(1, schedules, 0, 0);

    for (size_t i = 0; i < plan->window_count * plan->queue_count; i++) {
        const struct allocate_cell *cell = &plan->cells[i];

        digest = random_mix(digest, "cell", (uint64_t)cell->search.servers,
                            (uint64_t)cell->search.worst_seed);
        digest = digest_of_bits(digest, cell->wait_s);
        digest = digest_of_bits(digest, cell->worst_day.wait_s);
    }
    return digest;
}

static const struct {
    const char *name;
    double scale; /* of the arrivals: a tenth is searched exactly, all in ticks */
    bool is_each_day;
    bool is_saturated;
    bool is_engine; /* each replica serves many at once */
    uint64_t want;
} cases[] = {
    { "few", 0.1, false, false, false, 0x5fda5637b3790b73 },
    { "many", 1, false, false, false, 0x3ecc082bf045d489 },
    { "each day", 0.3, true, false, false, 0xcfb4da31ac893112 },
    { "saturated", 0.2, false, true, false, 0x04dffe8a41479123 },
    { "engines", 0.3, false, true, true, 0x9345ccaa0b146130 },
};

static struct service_shape *engine_shape(void)
{
    const struct engine_law law = { 8, 0.05, 0.005, 50e-6, 0, ENGINE_LEAST_OUTSTANDING };

    return service_shape_of_engine(
        engine_new_by_law(&law, &(struct engine_tokens){ 800, 300, 1, SERVICE_BY_CV }), "test",
        NULL);
}

static void a_plan_has_the_digest_it_has_everywhere(void **state)
{
    static const char *const queues[] = { "a", "b", "c" };
    static const int threads[] = { 1, 2, 8 };
    int wrong = 0;

    owned(service_shape) struct service_shape *engine = engine_shape();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t at = 0; at < COUNT_OF(threads); at++) {
            struct plant plant;

            plant_init(&plant, queues, 3);
            plant.model.seeds = 2;
            plant.model.threads = threads[at];
            plant.model.is_saturated = cases[i].is_saturated;
            for (size_t queue = 0; queue < 3; queue++) {
                plant.queues[queue].scale = cases[i].scale;
                plant.queues[queue].is_each_day = cases[i].is_each_day;
                if (cases[i].is_engine)
                    plant.queues[queue].shape = engine;
            }

            owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);
            uint64_t found = digest_of(plan);

            if (found != cases[i].want) {
                print_message("%s, %d threads: 0x%016" PRIx64 "\n", cases[i].name, threads[at],
                              found);
                wrong++;
            }
            plant_clear(&plant);
        }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_has_the_digest_it_has_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
