/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * two_clusters PROD RESEARCH BROKER_IN_PROD BROKER_IN_RESEARCH NAME PLAY [NUMBER...]: moves nodes
 * between two real control planes while something is wrong.  The first four are kubeconfigs, two of
 * who may do all, and two of the service.
 *
 * deaths FIRST EACH: with each move `sluice serve` dies by SIGKILL at another point and is started
 * again on its journal: point FIRST, then every EACH-th, until a move has no such point.  Point
 * 2 n - 2 is before commit n of a move, point 2 n - 1 right after it.  Half of the runs have Jobs
 * whose pods are evicted, half those that are stopped as a whole.
 *
 * outage PID: in the middle of the drain that process, the API server of RESEARCH, stands still for
 * minutes.
 *
 * The others are told in plays.h.  What a move leaves is looked at without the service: nodes,
 * machines, cordons, marks, Jobs, and all that should not be touched.
 */
#include "base/log.h"
#include "base/text.h"
#include "tests/real/picture.h"
#include "tests/real/plays.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOVES = 12 };
enum { OUTAGE_MS = 150 * SECOND_MS }; /* longer than a deadline, and than any request's patience */

static long long numbers[2]; /* of the command line */

/* One move with a death at that commit (0: none); false: the move had no such commit. */
static bool move_and_die(struct pair *pair, int64_t commit, enum mortal_moment moment)
{
    int64_t began_ms = loop_now(pair->loop);
    struct picture before;
    char step[24];
    int deaths;

    picture_take(pair, &before);
    pair_order(pair, 1);
    mortal_service_order(pair->service, commit, moment);
    deaths = pair_follow(pair, step);
    printf("%s: commit %" PRId64 " %s: %s, %d deaths, %" PRId64 " commits, %.1f s\n", pair->name,
           commit, moment == MORTAL_BEFORE ? "before" : "after", step, deaths,
           mortal_service_commits(pair->service),
           (double)(loop_now(pair->loop) - began_ms) / SECOND_MS);
    fflush(stdout);
    mortal_service_order(pair->service, 0, MORTAL_BEFORE);
    picture_check_move(pair, &before);
    picture_clear(&before);
    if (commit > 0 && deaths > 0)
        assert_int_equal(deaths, 1);
    return deaths == 1;
}

static void a_node_moves_once_whenever_the_service_dies(void **state)
{
    struct pair *pair = *state;

    pair->is_indexed = numbers[0] / 2 % 2 == 1;
    pair_begin(pair);
    assert_false(move_and_die(pair, 0, MORTAL_BEFORE));
    for (long long point = numbers[0]; pair->moves < pair->movable; point += numbers[1])
        if (!move_and_die(pair, point / 2 + 1, point % 2 == 0 ? MORTAL_BEFORE : MORTAL_AFTER))
            break;
    pair_end(pair);
}

/* No server answers: nothing is taken for done, and no machine goes. */
static void stand_still(struct pair *pair)
{
    char step[24] = "";

    assert_int_equal(kill((pid_t)numbers[0], SIGSTOP), 0);
    for (int64_t end_ms = loop_now(pair->loop) + OUTAGE_MS; loop_now(pair->loop) < end_ms;) {
        loop_run_until(pair->loop, loop_now(pair->loop) + SECOND_MS);
        assert_int_equal(pair_count(pair, "done", step), 0);
        /* The drain's deadline passes meanwhile. */
        assert_true(text_equal(step, "drain") || text_equal(step, "force"));
    }
    assert_int_equal(pair->simulator->machines_deleted, 0);
    assert_int_equal(kill((pid_t)numbers[0], SIGCONT), 0);
}

static void a_node_moves_once_after_a_long_outage(void **state)
{
    struct pair *pair = *state;
    int64_t end_ms;
    struct picture before;
    char step[24] = "";

    pair->stops_in = "5s";
    pair_begin(pair);
    picture_take(pair, &before);
    pair_order(pair, 1);
    pair_apply(pair);
    for (end_ms = loop_now(pair->loop) + MOVE_MS; !text_equal(step, "drain"); pair_go_on(pair)) {
        assert_true(loop_now(pair->loop) < end_ms);
        assert_true(pair_count(pair, "live", step) >= 0);
    }
    stand_still(pair);
    end_ms = loop_now(pair->loop);
    assert_int_equal(pair_follow(pair, step), 0);
    printf("%s: a server stood still for %d s in the middle of a drain, and the move ended %.1f s"
           " after that\n",
           pair->name, OUTAGE_MS / SECOND_MS, (double)(loop_now(pair->loop) - end_ms) / SECOND_MS);
    picture_check_move(pair, &before);
    picture_clear(&before);
    pair_end(pair);
}

static const struct play {
    const char *name;
    void (*function)(void **state);
    const char *numbers; /* for people */
    int number_count;
    long long least[2];
} plays[] = {
    { "deaths", a_node_moves_once_whenever_the_service_dies, " FIRST EACH", 2, { 0, 1 } },
    { "outage", a_node_moves_once_after_a_long_outage, " PID", 1, { 2 } },
    { "gpus", seven_of_eight_gpus_are_not_enough, "", 0, { 0 } },
    { "silence", a_machine_that_never_joins_is_replaced, "", 0, { 0 } },
    { "clocks", grace_is_as_long_by_any_clock, "", 0, { 0 } },
    { "blockers", what_is_said_of_a_pod_comes_true, "", 0, { 0 } },
};

static int usage(void)
{
    fprintf(stderr,
            "usage: two_clusters PROD RESEARCH BROKER_IN_PROD BROKER_IN_RESEARCH NAME PLAY\n"
            "plays:\n");
    for (size_t i = 0; i < COUNT_OF(plays); i++)
        fprintf(stderr, "  %s%s\n", plays[i].name, plays[i].numbers);
    return 64;
}

/* NULL: the words are not those of a play. */
static const struct play *find_play(int count, char **words)
{
    for (size_t i = 0; i < COUNT_OF(plays); i++) {
        bool is_it = count > 0 && text_equal(words[0], plays[i].name) &&
                     count == 1 + plays[i].number_count;

        for (int k = 0; is_it && k < plays[i].number_count; k++)
            is_it = text_to_int(words[1 + k], plays[i].least[k], INT32_MAX, &numbers[k]);
        if (is_it)
            return &plays[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct play *play = argc > 6 ? find_play(argc - 6, argv + 6) : NULL;
    struct pair pair = { .movable = MOVES };

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    if (!play)
        return usage();
    pair.kubeconfigs[PROD] = argv[1];
    pair.kubeconfigs[RESEARCH] = argv[2];
    pair.brokers[PROD] = argv[3];
    pair.brokers[RESEARCH] = argv[4];
    pair.name = argv[5];

    const struct CMUnitTest tests[] = {
        { .name = play->name, .test_func = play->function, .initial_state = &pair },
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
