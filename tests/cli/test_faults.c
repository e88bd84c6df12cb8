/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bad luck by seed: lists that lie, lost answers, refusals, stock-outs, slow boots, machines that
 * never join, pods that never stop, watches that forget.  Each seed plays a day there and back;
 * whatever happens, the referee must have nothing to say, and every node must be somewhere in the
 * end.
 */
#include "tests/cli/stepwise.h"

#include <stdlib.h>

static const char faults[] =
    "faults: {lost_answer: 0.02, http_429: 0.02, http_500: 0.02, http_500_after: 0.01,"
    " stockout: 0.1, slow_boot: 0.1, never_joins: 0.1, no_gpus: 0.05, stuck_pod: 0.1,"
    " watch_gap: 0.02, empty_list: 0.01}\n";

/* Of half of those an API server has another time anyway: most do not deny the jump then. */
static bool has_jumps(uint64_t seed)
{
    return seed % 3 == 0;
}

static const char *clocks_of(uint64_t seed)
{
    return has_jumps(seed) && seed % 2 == 0 ? "clocks: { research-a: 90s }\n" : "";
}

/* How far and when the wall clock of the broker's machine jumps, by seed; most do not.  A jump that
   is followed moves the windows: in all by less than two hours, so that midnight is at rest. */
static void run_with_jumps(struct rehearsal *rehearsal, uint64_t seed, int64_t duration_ms)
{
    static const int64_t sizes[] = { 20 * SECOND_MS, 10 * MINUTE_MS, 35 * MINUTE_MS, DAY_MS };
    struct random random;
    int64_t most_ms = duration_ms - 3 * HOUR_MS;
    uint64_t jumps;

    random_seed(&random, random_mix(seed, "jumps", 0, 0));
    jumps = has_jumps(seed) ? 1 + random_below(&random, 3) : 0;
    for (uint64_t i = 0; i < jumps; i++) {
        int64_t wait_ms = (int64_t)random_below(&random, (uint64_t)(most_ms / 2));
        int64_t by_ms = sizes[random_below(&random, COUNT_OF(sizes))];

        rehearsal_run(rehearsal, wait_ms);
        loop_virtual_jump(rehearsal->loop, random_below(&random, 2) == 0 ? by_ms : -by_ms);
        duration_ms -= wait_ms;
        most_ms -= wait_ms;
    }
    rehearsal_run(rehearsal, duration_ms);
}

/* One seed in three has a lie or two, at the time of a move; the caller frees the text. */
static char *lies_of(uint64_t seed)
{
    static const char *const lists[][2] = {
        { "machines", "prod-a-east" }, { "machines", "research-a-east" },
        { "nodes", "prod-a" },         { "nodes", "research-a" },
        { "pods", "prod-a" },          { "pods", "research-a" },
    };
    static const char *const kinds[] = { "empty", "half", "some", "new", "old" };
    owned(text) struct text *lies = text_new(1024);
    struct random random;

    random_seed(&random, random_mix(seed, "lies", 0, 0));
    if (random_below(&random, 3) > 0)
        return mem_copy_chars("");
    for (uint64_t left = 1 + random_below(&random, 2); left > 0; left--) {
        size_t list = random_below(&random, COUNT_OF(lists));
        size_t kind = random_below(&random, COUNT_OF(kinds));
        int from = (int)random_below(&random, 180) + (random_below(&random, 2) ? 0 : 13 * 60);
        int minutes = 1 + (int)random_below(&random, 60);

        text_add(lies, "%s  - {list: %s, of: %s, kind: %s, age: %dm, from: %dm, to: %dm}\n",
                 lies->length > 0 ? "" : "lies:\n", lists[list][0], lists[list][1], kinds[kind],
                 1 + (int)random_below(&random, 60), from, from + minutes);
    }
    return mem_copy_chars(lies->chars);
}

static void expect_notice_was_kept(struct rehearsal *rehearsal)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    assert_int_equal(json_int_or(status, "notice_violations", -1), 0);
}

/* Six machines in a row that never join take longer than until midnight.  Without further bad luck
   whatever is under way then must end. */
static void heal(struct rehearsal *rehearsal)
{
    memset(rehearsal->simulator->scenario->faults, 0,
           sizeof rehearsal->simulator->scenario->faults);
    if (transfers_of(rehearsal, false) > 0)
        rehearsal_run(rehearsal, 4 * HOUR_MS); /* the night goes on */
}

static void play(uint64_t seed, const char *world, uint64_t *ret_hash)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *lies = lies_of(seed);
    owned(chars) char *whole = text_format("%s%s%s", world, clocks_of(seed), lies);
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, seed, whole);

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 10, 6);
    run_with_jumps(rehearsal, seed, 18 * HOUR_MS); /* midnight */
    heal(rehearsal);
    if (transfers_of(rehearsal, false) > 0 ||
        nodes_of(rehearsal, "prod-a-east") + nodes_of(rehearsal, "research-a-east") != 16 ||
        rehearsal_violations(rehearsal) > 0)
        print_message("seed %llu\n%s", (unsigned long long)seed, lies);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    assert_int_equal(transfers_of(rehearsal, false), 0);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east") + nodes_of(rehearsal, "research-a-east"),
                     16);
    simulator_check_end(rehearsal->simulator);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    expect_notice_was_kept(rehearsal);
    *ret_hash = simulator_trace_hash(rehearsal->simulator);
}

static void bad_luck_breaks_no_promise(void **state)
{
    const char *wish = getenv("SLUICE_SEEDS");
    const char *dash = wish ? strchr(wish, '-') : NULL;
    owned(chars) char *begin = dash ? text_format("%.*s", (int)(dash - wish), wish) : NULL;
    long long first = 1, last = 3;
    uint64_t hash;

    (void)state;
    if (wish && (!text_to_int(dash ? dash + 1 : wish, 1, 1000000, &last) ||
                 (dash && !text_to_int(begin, 1, last, &first))))
        fail_msg("SLUICE_SEEDS: \"%s\" is neither a number of seeds nor FIRST-LAST", wish);
    for (uint64_t seed = (uint64_t)first; seed <= (uint64_t)last; seed++)
        play(seed, faults, &hash);
}

static void the_same_seed_gives_the_same_run(void **state)
{
    uint64_t first;
    uint64_t second;

    (void)state;
    play(7, faults, &first);
    play(7, faults, &second);
    assert_true(first == second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_luck_breaks_no_promise),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
