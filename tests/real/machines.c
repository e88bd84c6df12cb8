/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plays: new machines that never serve.  Each is discarded with its Node when its time is over, its
 * host is not used again, and the move ends with another.
 */
#include "base/text.h"
#include "tests/real/picture.h"
#include "tests/real/plays.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"

#include <stdio.h>
#include <string.h>

enum { DEADLINE_MS = MINUTE_MS }; /* of a join: no configuration may have less */

/* The first attempt, as it was looked at until it was over. */
struct attempt {
    char machine[128];
    char waits_for[512]; /* as the service said last */
    int host;
    int64_t ran_ms;   /* its join began, */
    int64_t ended_ms; /* and given up */
    bool has_node;    /* in the real server at some time, with the GPUs that it should have */
};

static const struct machine *new_machine(const struct pair *pair, const char *name)
{
    for (size_t i = 0; i < pair->simulator->pool_count; i++) {
        const struct pool *pool = &pair->simulator->pools[i];
        const struct machine *machine = pool->cluster->index == PROD ? sim_machine_find(pool, name)
                                                                     : NULL;

        if (machine)
            return machine;
    }
    return NULL;
}

/* Whether the machine has a real Node, with so many GPUs (NULL: any); its start-up taint closes it.
 */
static bool has_closed_node(struct pair *pair, const char *name, const char *gpus)
{
    struct asker *asker = &pair->askers[PROD];
    const json_t *taint;
    const json_t *shown;
    bool is_closed = false;
    size_t i;

    ask_server(asker, ASK_GET, NULL, "/api/v1/nodes/%s", name);
    if (asker->status == 404)
        return false;
    ask_expect(asker, 200);
    json_array_foreach(json_at(asker->body, "spec/taints"), i, taint) {
        is_closed |= text_equal(json_text_or(taint, "key", ""), SIM_STARTING);
    }
    if (!is_closed)
        fail_msg("%s, which never served, is open", name);
    shown = json_object_get(json_at(asker->body, "status/allocatable"), "nvidia.com/gpu");
    return !gpus || text_equal(json_string_value(shown), gpus);
}

/* Goes on until the service gives the machine up. */
static struct attempt see_first_attempt(struct pair *pair, const char *gpus)
{
    struct attempt first = { .host = -1 };
    int64_t end_ms = loop_now(pair->loop) + MOVE_MS;

    while (first.ended_ms == 0) {
        owned(json) json_t *live = pair_live(pair);
        const json_t *row = json_array_get(live, 0);
        const char *name = json_text_or(row, "new_instance", "");
        const struct machine *machine = name[0] != '\0' ? new_machine(pair, name) : NULL;

        if (loop_now(pair->loop) >= end_ms)
            fail_msg("it is never given up: %s/serve.log", pair->folder);
        if (first.ran_ms > 0 && live && !text_equal(json_text_or(row, "step", ""), "join")) {
            first.ended_ms = loop_now(pair->loop);
        } else if (machine && text_equal(json_text_or(row, "step", ""), "join")) {
            first.ran_ms = first.ran_ms ?: loop_now(pair->loop);
            first.host = machine->host;
            text_copy(first.machine, sizeof first.machine, name);
            text_copy(first.waits_for, sizeof first.waits_for, json_text_or(row, "waits_for", ""));
            first.has_node |= has_closed_node(pair, first.machine, gpus);
        }
        assert_false(pair_go_on(pair));
    }
    return first;
}

/* The service knows why, and says the host when asked. */
static void check_quarantine(struct pair *pair, const struct attempt *first, const char *why)
{
    owned(json) json_t *answer = mortal_service_ask(pair->service, HTTP_GET, "/v1/hosts", NULL);
    const json_t *hosts = json_object_get(answer, "hosts");
    owned(chars) char *host = text_format("host-%03d", first->host);
    const json_t *row = json_array_get(hosts, 0);

    assert_int_equal(json_array_size(hosts), 1);
    if (!strstr(json_text_or(row, "host", ""), host) ||
        !strstr(json_text_or(row, "text", ""), why) ||
        !strstr(json_text_or(row, "text", ""), "never served, 1m"))
        fail_msg("%s: %s", json_text_or(row, "host", "no host"), json_text_or(row, "text", ""));
}

static const struct machine *only_other(const struct pair *pair, const struct picture *before,
                                        json_t *nodes)
{
    const char *name;
    json_t *said;

    json_object_foreach(nodes, name, said) {
        if (!json_object_get(before->nodes[PROD], name))
            return new_machine(pair, name);
    }
    return NULL;
}

static void replace(struct pair *pair, const char *fault, const char *gpus, const char *why)
{
    struct picture before, after;
    struct attempt first;
    const struct machine *second;
    int64_t began_ms;
    char step[24];

    pair->movable = 1;
    pair->join = "deadline: 1m, stable: 1s";
    pair_begin(pair);
    picture_take(pair, &before);
    simulator_fault_next(pair->simulator, fault, NULL);
    pair_order(pair, 1);
    pair->spoiled = 1;
    began_ms = loop_now(pair->loop);
    pair_apply(pair);
    first = see_first_attempt(pair, gpus);
    if (!strstr(first.waits_for, why))
        fail_msg("it waited for \"%s\", not \"%s\"", first.waits_for, why);
    assert_int_equal(first.has_node, gpus != NULL);
    assert_in_range(first.ended_ms - first.ran_ms, DEADLINE_MS - SECOND_MS,
                    DEADLINE_MS + 15 * SECOND_MS);
    check_quarantine(pair, &first, why);
    assert_int_equal(pair_follow(pair, step), 0);

    picture_check_move(pair, &before);
    picture_take(pair, &after);
    second = only_other(pair, &before, after.nodes[PROD]);
    assert_non_null(second);
    assert_int_not_equal(second->host, first.host);
    assert_null(json_object_get(after.nodes[PROD], first.machine));
    printf("%s: \"%s\" for %.1f s, then the machine%s went, its host %03d is in quarantine, and"
           " another served on host %03d: %.1f s in all\n",
           pair->name, first.waits_for, (double)(first.ended_ms - first.ran_ms) / SECOND_MS,
           gpus ? " and its Node" : "", first.host, second->host,
           (double)(loop_now(pair->loop) - began_ms) / SECOND_MS);
    picture_clear(&before);
    picture_clear(&after);
    pair_end(pair);
}

void seven_of_eight_gpus_are_not_enough(void **state)
{
    replace(*state, "one_gpu_less", "7", "7 of 8 GPUs allocatable");
}

void a_machine_that_never_joins_is_replaced(void **state)
{
    replace(*state, "never_joins", NULL, "to register");
}
