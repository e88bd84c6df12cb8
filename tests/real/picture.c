/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See picture.h.
 */
#include "tests/real/picture.h"

#include "base/text.h"
#include "tests/real/untouched.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"

void picture_clear(struct picture *picture)
{
    for (size_t i = 0; i < CLUSTERS; i++) {
        json_decref(picture->nodes[i]);
        json_decref(picture->pods[i]);
    }
}

void picture_take(struct pair *pair, struct picture *ret_picture)
{
    for (size_t at = 0; at < CLUSTERS; at++) {
        owned(json) json_t *nodes = pair_items(
            pair, at, "/api/v1/nodes?labelSelector=test.sluice.dev/run=", "");
        owned(json) json_t *pods = pair_items(pair, at, "/api/v1/namespaces/", "/pods");
        size_t i;
        json_t *item;

        ret_picture->nodes[at] = json_object();
        ret_picture->pods[at] = json_object();
        json_array_foreach(nodes, i, item) {
            json_object_set_new(ret_picture->nodes[at], json_text_or(item, "metadata/name", ""),
                                untouched_of(item));
        }
        json_array_foreach(pods, i, item) {
            if (json_at(item, "spec/nodeName") && !json_at(item, "metadata/deletionTimestamp"))
                json_object_set(ret_picture->pods[at], json_text_or(item, "metadata/uid", ""),
                                json_at(item, "spec/nodeName"));
        }
    }
}

/* Only the pods of a node that left may be gone. */
static void check_pods(const struct picture *before, const struct picture *after, size_t at)
{
    const char *uid;
    const json_t *node;

    json_object_foreach(before->pods[at], uid, node) {
        const char *name = json_string_value(node);

        if (json_object_get(after->nodes[at], name) && !json_object_get(after->pods[at], uid))
            fail_msg("a pod of %s, which stays, is gone", name);
    }
}

/* Each node of the cluster has a machine in its pool, is open, and carries no mark of ours. */
static void check_nodes(const struct pair *pair, const struct picture *after, size_t at)
{
    const char *name;
    const json_t *said;

    json_object_foreach(after->nodes[at], name, said) {
        owned(chars) char *chars = json_print(said);
        const struct machine *machine = NULL;

        for (size_t p = 0; p < pair->simulator->pool_count && !machine; p++)
            machine = sim_machine_find(&pair->simulator->pools[p], name);
        if (!machine || machine->pool->cluster->index != at)
            fail_msg("%s has no machine there", name);
        if (!untouched_serves(said))
            fail_msg("%s is not as a node that serves: %s", name, chars);
    }
}

/* The Jobs that a move stopped go on. */
static void check_jobs(struct pair *pair)
{
    owned(json) json_t *jobs = pair_items(pair, RESEARCH, "/apis/batch/v1/namespaces/", "/jobs");
    size_t i;
    json_t *job;

    assert_int_equal(json_array_size(jobs), pair->movable + 1);
    json_array_foreach(jobs, i, job) {
        if (json_is_true(json_at(job, "spec/suspend")))
            fail_msg("Job %s stands still for ever", json_text_or(job, "metadata/name", ""));
    }
}

void picture_check_move(struct pair *pair, const struct picture *before)
{
    const struct simulator *simulator = pair->simulator;
    struct picture after;

    assert_int_equal(simulator_pool_running(simulator, "prod-a-east"), 2 + pair->moves);
    assert_int_equal(simulator_pool_running(simulator, "research-a-east"),
                     pair->movable + 1 - pair->moves);
    assert_int_equal(simulator->machines_created, pair->moves + pair->spoiled);
    assert_int_equal(simulator->machines_deleted, pair->moves + pair->spoiled);
    picture_take(pair, &after);
    for (size_t at = 0; at < CLUSTERS; at++) {
        int change = at == PROD ? pair->moving : -pair->moving;
        size_t was = json_object_size(before->nodes[at]);

        assert_int_equal(json_object_size(after.nodes[at]), (int)was + change);
        assert_int_equal(untouched_count(before->nodes[at], after.nodes[at]),
                         at == PROD ? was : was - (size_t)pair->moving);
        check_pods(before, &after, at);
        check_nodes(pair, &after, at);
    }
    check_jobs(pair);
    picture_clear(&after);
}
