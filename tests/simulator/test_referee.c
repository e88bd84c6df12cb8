/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The referee: a run that keeps its promises has no violation, and each broken promise, planted by
 * raw requests, is reported under its number.
 */
#include "tests/simulator/bench.h"

/* The name of the node at a place of the cluster's list: the machine's name too. */
static char *node_at(struct bench *bench, const char *cluster, size_t at)
{
    owned(bench_answer) struct bench_answer nodes = bench_ask_cluster(
        bench, cluster, &(struct bench_request){ .method = HTTP_GET, .path = "/api/v1/nodes" });

    return mem_copy_chars(
        json_text_or(json_array_get(json_at(nodes.body, "items"), at), "metadata/name", ""));
}

/* The static node of the production pool: the one without the label. */
static char *static_node(struct bench *bench)
{
    owned(bench_answer) struct bench_answer nodes = bench_ask_cluster(
        bench, "prod", &(struct bench_request){ .method = HTTP_GET, .path = "/api/v1/nodes" });
    size_t i;
    json_t *node;

    json_array_foreach(json_at(nodes.body, "items"), i, node)
        if (!json_object_get(json_at(node, "metadata/labels"), "sluice.dev/ephemeral"))
            return mem_copy_chars(json_text_or(node, "metadata/name", ""));
    return NULL;
}

static void set_cordon(struct bench *bench, const char *cluster, const char *node)
{
    owned(chars) char *path = text_format("/api/v1/nodes/%s", node);
    owned(bench_answer) struct bench_answer answer = bench_ask_cluster(
        bench, cluster,
        &(struct bench_request){ .method = HTTP_PATCH,
                                 .path = path,
                                 .type = MERGE,
                                 .body = "{\"spec\":{\"unschedulable\":true}}" });

    assert_int_equal(answer.status, 200);
}

/* Evicts or deletes all pods of the node that must leave. */
static void clear_pods(struct bench *bench, const char *cluster, const char *node, bool evicts)
{
    owned(chars) char *list = text_format("/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", node);
    owned(bench_answer) struct bench_answer pods = bench_ask_cluster(
        bench, cluster, &(struct bench_request){ .method = HTTP_GET, .path = list });
    size_t i;
    json_t *pod;

    json_array_foreach(json_at(pods.body, "items"), i, pod) {
        const char *name = json_text_or(pod, "metadata/name", "");
        const char *uid = json_text_or(pod, "metadata/uid", "");
        owned(chars) char *path = text_format("/api/v1/namespaces/%s/pods/%s%s",
                                              json_text_or(pod, "metadata/namespace", ""), name,
                                              evicts ? "/eviction" : "");
        owned(chars) char *body =
            evicts
                ? text_format("{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":"
                              "{\"name\":\"%s\"},\"deleteOptions\":{\"preconditions\":{\"uid\":"
                              "\"%s\"}}}",
                              name, uid)
                : text_format("{\"gracePeriodSeconds\":1,\"preconditions\":{\"uid\":\"%s\"}}", uid);

        if (text_equal(json_text_or(pod, "metadata/namespace", ""), "kube-system"))
            continue;

        owned(bench_answer) struct bench_answer answer = bench_ask_cluster(
            bench, cluster,
            &(struct bench_request){
                .method = evicts ? HTTP_POST : HTTP_DELETE, .path = path, .body = body });

        assert_true(answer.status == 200 || answer.status == 201);
    }
}

static int request_number;

static void cloud_change(struct bench *bench, const char *group, const char *verb,
                         const char *instance)
{
    bool deletes = text_equal(verb, "deleteInstances");
    owned(chars) char *path = text_format(
        "/gcp/compute/v1/projects/acme/zones/zone-a/instanceGroupManagers/%s/%s"
        "?requestId=00000000-0000-4000-8000-%012d",
        group, verb, ++request_number);
    owned(chars) char *body = deletes
                                  ? text_format("{\"instances\":[\"zones/zone-a/instances/%s\"],"
                                                "\"skipInstancesOnValidationError\":true}",
                                                instance)
                                  : text_format("{\"instances\":[{\"name\":\"%s\"}]}", instance);
    owned(bench_answer) struct bench_answer answer = bench_cloud(bench, HTTP_POST, path, body);

    assert_int_equal(answer.status, 200);
}

/* Out of research as it should be done. */
static char *leave(struct bench *bench, size_t at)
{
    owned(chars) char *node = node_at(bench, "lab", at);

    set_cordon(bench, "lab", node);
    clear_pods(bench, "lab", node, true);
    bench_wait(bench, 10 * SECOND_MS);
    cloud_change(bench, "lab-grp", "deleteInstances", node);
    return steal(&node);
}

static void delete_node(struct bench *bench, const char *cluster, const char *name, bool with_uid)
{
    owned(chars) char *path = text_format("/api/v1/nodes/%s", name);
    owned(bench_answer) struct bench_answer node = bench_ask_cluster(
        bench, cluster, &(struct bench_request){ .method = HTTP_GET, .path = path });
    owned(chars) char *body = text_format("{\"preconditions\":{\"uid\":\"%s\"}}",
                                          json_text_or(node.body, "metadata/uid", ""));
    owned(bench_answer) struct bench_answer answer = bench_ask_cluster(
        bench, cluster,
        &(struct bench_request){
            .method = HTTP_DELETE, .path = path, .body = with_uid ? body : NULL });

    assert_int_equal(answer.status, 200);
}

static void plant_nothing(struct bench *bench)
{
    owned(chars) char *node = leave(bench, 0);

    bench_wait(bench, 65 * SECOND_MS);
    delete_node(bench, "lab", node, true);
    cloud_change(bench, "prod-grp", "createInstances", "prod-grp-one");
    bench_wait(bench, 10 * MINUTE_MS);
    simulator_check_end(bench->simulator);
}

/* A machine whose GPUs never come goes back, uncordoned. */
static void plant_give_back(struct bench *bench)
{
    mem_free(leave(bench, 0));
    bench_wait(bench, 65 * SECOND_MS);
    simulator_fault_next(bench->simulator, "no_gpus", NULL);
    cloud_change(bench, "prod-grp", "createInstances", "prod-grp-one");
    bench_wait(bench, 10 * MINUTE_MS);
    cloud_change(bench, "prod-grp", "deleteInstances", "prod-grp-one");
    bench_wait(bench, 5 * MINUTE_MS);
    cloud_change(bench, "lab-grp", "createInstances", "lab-grp-two");
    bench_wait(bench, 10 * MINUTE_MS);
    simulator_check_end(bench->simulator);
}

static void plant_pod_left(struct bench *bench)
{
    owned(chars) char *node = node_at(bench, "lab", 0);

    set_cordon(bench, "lab", node);
    cloud_change(bench, "lab-grp", "deleteInstances", node);
}

static void plant_evicted_not_gone(struct bench *bench)
{
    owned(chars) char *node = node_at(bench, "lab", 0);

    set_cordon(bench, "lab", node);
    clear_pods(bench, "lab", node, true);
    cloud_change(bench, "lab-grp", "deleteInstances", node);
}

static void plant_node_without_uid(struct bench *bench)
{
    owned(chars) char *node = leave(bench, 0);

    bench_wait(bench, 65 * SECOND_MS);
    delete_node(bench, "lab", node, false);
}

static void plant_node_before_machine(struct bench *bench)
{
    owned(chars) char *node = node_at(bench, "lab", 0);

    delete_node(bench, "lab", node, true);
}

static void plant_pod_without_uid(struct bench *bench)
{
    owned(bench_answer) struct bench_answer pods = bench_lab(bench, "/api/v1/pods");
    json_t *pod = json_array_get(json_at(pods.body, "items"),
                                 json_array_size(json_at(pods.body, "items")) - 1);
    owned(chars) char *path = text_format("/api/v1/namespaces/%s/pods/%s",
                                          json_text_or(pod, "metadata/namespace", ""),
                                          json_text_or(pod, "metadata/name", ""));
    owned(bench_answer) struct bench_answer answer = bench_ask_cluster(
        bench, "lab", &(struct bench_request){ .method = HTTP_DELETE, .path = path });

    assert_int_equal(answer.status, 200);
}

static void plant_zero_grace(struct bench *bench)
{
    owned(bench_answer) struct bench_answer pods = bench_ask_cluster(
        bench, "prod", &(struct bench_request){ .method = HTTP_GET, .path = "/api/v1/pods" });
    json_t *pod = json_array_get(json_at(pods.body, "items"), 0);
    owned(chars) char *path = text_format("/api/v1/namespaces/%s/pods/%s",
                                          json_text_or(pod, "metadata/namespace", ""),
                                          json_text_or(pod, "metadata/name", ""));
    owned(bench_answer) struct bench_answer answer = bench_ask_cluster(
        bench, "prod",
        &(struct bench_request){
            .method = HTTP_DELETE, .path = path, .body = "{\"gracePeriodSeconds\":0}" });

    assert_int_equal(answer.status, 200);
}

static void plant_name_twice(struct bench *bench)
{
    mem_free(leave(bench, 0));

    bench_wait(bench, 65 * SECOND_MS);
    cloud_change(bench, "prod-grp", "createInstances", "prod-grp-one");
    bench_wait(bench, 5 * SECOND_MS);
    cloud_change(bench, "prod-grp", "deleteInstances", "prod-grp-one");
    bench_wait(bench, 5 * MINUTE_MS);
    cloud_change(bench, "prod-grp", "createInstances", "prod-grp-one");
}

static void plant_no_request_id(struct bench *bench)
{
    owned(bench_answer) struct bench_answer answer = bench_cloud(
        bench, HTTP_POST, GROUP_URL("prod-grp") "/createInstances",
        "{\"instances\":[{\"name\":\"prod-grp-one\"}]}");

    assert_int_equal(answer.status, 200);
}

static void plant_static_machine(struct bench *bench)
{
    owned(chars) char *node = static_node(bench);

    cloud_change(bench, "prod-grp", "deleteInstances", node);
}

static void plant_static_cordon(struct bench *bench)
{
    owned(chars) char *node = static_node(bench);

    set_cordon(bench, "prod", node);
}

static void plant_below_the_floor(struct bench *bench)
{
    for (size_t i = 0; i < 4; i++) {
        owned(chars) char *node = node_at(bench, "prod", i);

        cloud_change(bench, "prod-grp", "deleteInstances", node);
    }
}

static void plant_too_many(struct bench *bench)
{
    cloud_change(bench, "prod-grp", "createInstances", "prod-grp-one");
}

static void plant_delete_after_empty_list(struct bench *bench)
{
    owned(chars) char *node = node_at(bench, "lab", 0);

    simulator_fault_next(bench->simulator, "empty_list", "list_instances");

    owned(bench_answer) struct bench_answer list = bench_cloud(
        bench, HTTP_POST, GROUP_URL("lab-grp") "/listManagedInstances", NULL);

    assert_int_equal(list.status, 200);
    assert_int_equal(json_array_size(json_at(list.body, "managedInstances")), 0);
    set_cordon(bench, "lab", node);
    clear_pods(bench, "lab", node, true);
    bench_wait(bench, 10 * SECOND_MS);
    cloud_change(bench, "lab-grp", "deleteInstances", node);
}

static void plant_delete_without_cordon(struct bench *bench)
{
    owned(chars) char *node = node_at(bench, "lab", 0);

    clear_pods(bench, "lab", node, false);
    cloud_change(bench, "lab-grp", "deleteInstances", node);
}

static void plant_lost_machine(struct bench *bench)
{
    mem_free(leave(bench, 0));

    bench_wait(bench, 5 * MINUTE_MS);
    simulator_check_end(bench->simulator);
}

static bool knows_nothing(void *context, const char *verb, const char *object)
{
    (void)context;
    (void)object;
    return text_equal(verb, "one_transfer");
}

static void plant_no_intent(struct bench *bench)
{
    owned(chars) char *node = node_at(bench, "lab", 0);

    simulator_set_witness(bench->simulator, knows_nothing, NULL);
    set_cordon(bench, "lab", node);
}

static bool knows_two(void *context, const char *verb, const char *object)
{
    (void)context;
    (void)object;
    return !text_equal(verb, "one_transfer");
}

static void plant_two_transfers(struct bench *bench)
{
    owned(chars) char *node = node_at(bench, "lab", 0);

    simulator_set_witness(bench->simulator, knows_two, NULL);
    set_cordon(bench, "lab", node);
}

static const struct {
    const char *name;
    void (*plant)(struct bench *bench);
    const char *invariant; /* NULL: none may be reported */
    size_t count;          /* 0: any */
} cases[] = {
    { "a clean transfer", plant_nothing, NULL, 0 },
    { "a machine given back", plant_give_back, NULL, 0 },
    { "a machine deleted with work on it", plant_pod_left, "I4", 0 },
    { "a machine deleted while evicted pods stop", plant_evicted_not_gone, "I4", 0 },
    { "a Node deleted without UID", plant_node_without_uid, "I5", 1 },
    { "a Node deleted before its machine", plant_node_before_machine, "I16", 1 },
    { "a pod deleted without UID", plant_pod_without_uid, "I5", 1 },
    { "grace 0 while the machine exists", plant_zero_grace, "I16", 0 },
    { "one name made twice", plant_name_twice, "I6", 0 },
    { "no requestId", plant_no_request_id, "I6", 0 },
    { "a static machine deleted", plant_static_machine, "I17", 0 },
    { "a static node cordoned", plant_static_cordon, "I17", 1 },
    { "a pool below its floor", plant_below_the_floor, "I7", 0 },
    { "more machines than reserved", plant_too_many, "I8", 0 },
    { "a delete after an empty list", plant_delete_after_empty_list, "I10", 1 },
    { "a delete without cordon", plant_delete_without_cordon, "I10", 1 },
    { "a machine lost on the way", plant_lost_machine, "I16", 1 },
    { "no committed intent", plant_no_intent, "I3", 1 },
    { "a node in two transfers", plant_two_transfers, "I1", 1 },
};

static void test_each_broken_promise_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench here, *bench = &here;

        print_message("%s\n", cases[i].name);
        bench_open(bench, bench_config, bench_world, NULL);
        cases[i].plant(bench);

        const struct referee *referee = simulator_referee(bench->simulator);
        const struct violation *first = referee_violation(referee, 0);

        if (!cases[i].invariant && first)
            fail_msg("%s: %s", first->invariant, first->sentence);
        if (cases[i].invariant)
            assert_true(bench_has_violation(bench, cases[i].invariant));
        if (cases[i].count)
            assert_int_equal(referee_violation_count(referee), cases[i].count);
        bench_close(bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_broken_promise_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
