/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See farm.h.
 */
#include "tests/real/capi/farm.h"

#include "base/text.h"
#include "providers/capi/capi_machine.h"
#include "tests/real/untouched.h"
#include "tests/support/unit.h"

#include <stdio.h>

#define STARTING "sluice.dev/starting"
#define API "/apis/cluster.x-k8s.io/v1beta2/namespaces/default"

enum { RESEARCH_PODS = 4 }; /* fit on two nodes; production's are the service's to say */

static const char *const pool_names[CLUSTERS] = { "prod", "research" };

/* ---- what runs on the nodes ---- */

static void post_namespace(struct farm *farm, struct asker *asker)
{
    ask_server(asker, ASK_POST,
               json_make("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
                         "name", farm->name),
               "/api/v1/namespaces");
    ask_expect(asker, 201);
}

static void post_deployment(struct farm *farm, struct asker *asker)
{
    json_t *gpus = json_make("{s:s}", "nvidia.com/gpu", "2");
    json_t *template = json_make("{s:{s:{s:s}}, s:{s:{s:s}, s:[{s:s, s:s, s:{s:o}}]}}", "metadata",
                                 "labels", "app", "work", "spec", "nodeSelector",
                                 "test.sluice.dev/run", farm->name, "containers", "name", "main",
                                 "image", "registry.example/main:1", "resources", "limits", gpus);

    ask_server(asker, ASK_POST,
               json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:{s:{s:s}}, s:o}}", "apiVersion", "apps/v1",
                         "kind", "Deployment", "metadata", "name", "chat-2x", "spec", "replicas",
                         RESEARCH_PODS, "selector", "matchLabels", "app", "work", "template",
                         template),
               "/apis/apps/v1/namespaces/%s/deployments", farm->name);
    ask_expect(asker, 201);
}

void farm_begin(struct farm *farm)
{
    farm->ever = json_object();
    for (size_t i = 0; i < CLUSTERS; i++) {
        farm->machines[i] = json_object();
        farm->nodes[i] = json_object();
        post_namespace(farm, &farm->askers[i]);
        post_deployment(farm, &farm->askers[i]);
    }
}

void farm_end(struct farm *farm)
{
    json_decref(farm->ever);
    for (size_t i = 0; i < CLUSTERS; i++) {
        json_decref(farm->machines[i]);
        json_decref(farm->nodes[i]);
        json_decref(farm->askers[i].body);
    }
}

/* ---- looking ---- */

static json_t *resources(void)
{
    return json_make("{s:s, s:s, s:s, s:s}", "cpu", "192", "memory", "1800Gi", "pods", "110",
                     "nvidia.com/gpu", "8");
}

static void post_node(struct farm *farm, size_t at, const json_t *machine)
{
    struct asker *asker = &farm->askers[at];
    const char *node = json_text_or(machine, "status/nodeRef/name", "");
    json_t *labels = json_make("{s:s, s:s, s:s, s:s}", "kubernetes.io/hostname", node,
                               "topology.kubernetes.io/zone", "us-east5-a", "sluice.dev/ephemeral",
                               farm->name, "test.sluice.dev/run", farm->name);
    json_t *taints = farm->are_new
                         ? json_make("[{s:s, s:s}]", "key", STARTING, "effect", "NoSchedule")
                         : json_array();

    json_object_set_new(farm->nodes[at], json_text_or(machine, "metadata/name", ""),
                        json_string(node));
    ask_server(asker, ASK_POST,
               json_make("{s:s, s:s, s:{s:s, s:o}, s:{s:s, s:o}, s:{s:o, s:o}}", "apiVersion", "v1",
                         "kind", "Node", "metadata", "name", node, "labels", labels, "spec",
                         "providerID", json_text_or(machine, "spec/providerID", ""), "taints",
                         taints, "status", "allocatable", resources(), "capacity", resources()),
               "/api/v1/nodes");
    ask_expect(asker, 201);
}

static void register_nodes(struct farm *farm, size_t at)
{
    const char *uid;
    const json_t *machine;

    json_object_foreach(farm->machines[at], uid, machine) {
        if (json_at(machine, "status/nodeRef/name") && json_at(machine, "spec/providerID") &&
            !capi_is_leaving(machine) &&
            !json_object_get(farm->nodes[at], json_text_or(machine, "metadata/name", "")))
            post_node(farm, at, machine);
    }
}

static bool has_machine(const struct farm *farm, size_t at, const char *name)
{
    const char *uid;
    const json_t *machine;

    json_object_foreach(farm->machines[at], uid, machine) {
        if (text_equal(json_text_or(machine, "metadata/name", ""), name))
            return true;
    }
    return false;
}

static void delete_nodes(struct farm *farm, size_t at)
{
    const char *name;
    const json_t *node;
    void *next;

    json_object_foreach_safe(farm->nodes[at], next, name, node) {
        if (has_machine(farm, at, name))
            continue;
        ask_server(&farm->askers[at], ASK_DELETE, NULL, "/api/v1/nodes/%s",
                   json_string_value(node));
        if (farm->askers[at].status != 404) /* sluice was first */
            ask_expect(&farm->askers[at], 200);
        json_object_del(farm->nodes[at], name);
    }
}

/* Both pools by one list, so that no moment lies between them. */
static void list_machines(struct farm *farm)
{
    struct asker *asker = &farm->askers[PROD];
    owned(chars) char *prod = text_format("%s-%s", farm->name, pool_names[PROD]);
    json_t *machine;
    size_t i;

    ask_server(asker, ASK_GET, NULL,
               API "/machines?labelSelector=cluster.x-k8s.io/deployment-name%%20in%%20(%s,%s-%s)",
               prod, farm->name, pool_names[RESEARCH]);
    ask_expect(asker, 200);
    for (i = 0; i < CLUSTERS; i++)
        json_object_clear(farm->machines[i]);
    json_array_foreach(json_at(asker->body, "items"), i, machine) {
        const char *of = capi_label(machine, "cluster.x-k8s.io/deployment-name");
        const char *uid = json_text_or(machine, "metadata/uid", "");

        json_object_set(farm->machines[text_equal(of, prod) ? PROD : RESEARCH], uid, machine);
        json_object_set(farm->ever, uid, json_at(machine, "metadata/name"));
    }
}

static int64_t read_pool(struct farm *farm, size_t at, const char *path)
{
    struct asker *asker = &farm->askers[PROD];
    struct error err = { 0 };
    int64_t value = 0;

    ask_server(asker, ASK_GET, NULL, API "/machinedeployments/%s-%s", farm->name, pool_names[at]);
    ask_expect(asker, 200);
    if (json_need_int(asker->body, path, &value, &err) < 0)
        fail_msg("%s", err.text);
    return value;
}

/* The message says whether the pools want so many: a starved controller of Cluster API, whose cache
   is behind, makes some twice by itself. */
static void count_machines(struct farm *farm)
{
    size_t all = 0, staying = 0;

    for (size_t i = 0; i < CLUSTERS; i++) {
        const char *uid;
        const json_t *machine;

        json_object_foreach(farm->machines[i], uid, machine) {
            all++;
            staying += !capi_is_leaving(machine);
        }
    }
    if (all > farm->most)
        fail_msg("there are %zu Machines, and their pools want %d and %d", all,
                 (int)read_pool(farm, PROD, "spec/replicas"),
                 (int)read_pool(farm, RESEARCH, "spec/replicas"));
    if (staying < farm->least)
        fail_msg("only %zu Machines stay", staying);
}

void farm_look(struct farm *farm)
{
    list_machines(farm);
    count_machines(farm);
    for (size_t i = 0; i < CLUSTERS; i++) {
        register_nodes(farm, i);
        delete_nodes(farm, i);
    }
}

bool farm_is_at(const struct farm *farm, size_t at, size_t wanted)
{
    const char *uid;
    const json_t *machine;

    json_object_foreach(farm->machines[at], uid, machine) {
        if (capi_is_leaving(machine) ||
            !text_equal(json_text_or(machine, "status/phase", ""), "Running"))
            return false;
    }
    return json_object_size(farm->machines[at]) == wanted &&
           json_object_size(farm->nodes[at]) == wanted;
}

/* ---- comparing ---- */

static void take_nodes(struct farm *farm, size_t at, struct farm_picture *picture)
{
    struct asker *asker = &farm->askers[at];
    const json_t *node;
    size_t i;

    ask_server(asker, ASK_GET, NULL, "/api/v1/nodes?labelSelector=test.sluice.dev/run=%s",
               farm->name);
    ask_expect(asker, 200);
    json_array_foreach(json_at(asker->body, "items"), i, node) {
        json_object_set_new(picture->nodes[at], json_text_or(node, "metadata/name", ""),
                            untouched_of(node));
    }
}

void farm_picture_take(struct farm *farm, struct farm_picture *ret_picture)
{
    farm_look(farm);
    for (size_t i = 0; i < CLUSTERS; i++) {
        const char *uid;
        const json_t *machine;

        ret_picture->uids[i] = json_object();
        ret_picture->nodes[i] = json_object();
        json_object_foreach(farm->machines[i], uid, machine) {
            json_object_set(ret_picture->uids[i], uid, json_at(machine, "metadata/name"));
        }
        take_nodes(farm, i, ret_picture);
        ret_picture->generations[i] = read_pool(farm, i, "metadata/generation");
        ret_picture->replicas[i] = read_pool(farm, i, "spec/replicas");
    }
    ret_picture->ever = json_object_size(farm->ever);
}

void farm_picture_clear(struct farm_picture *picture)
{
    for (size_t i = 0; i < CLUSTERS; i++) {
        json_decref(picture->uids[i]);
        json_decref(picture->nodes[i]);
    }
}

/* Of the UIDs in `some` the only one that is not in `others`, by name. */
static const char *only_other(const json_t *some, const json_t *others)
{
    const char *uid, *found = NULL;
    const json_t *name;

    json_object_foreach((json_t *)(uintptr_t)some, uid, name) {
        if (json_object_get(others, uid))
            continue;
        if (found)
            fail_msg("both %s and %s", found, json_string_value(name));
        found = json_string_value(name);
    }
    return found ?: "none";
}

static void check_machines(const struct farm *farm)
{
    for (size_t at = 0; at < CLUSTERS; at++) {
        const char *uid;
        const json_t *machine;

        json_object_foreach(farm->machines[at], uid, machine) {
            if (capi_mark_of(machine) || capi_is_leaving(machine))
                fail_msg("%s is marked, or leaves", json_text_or(machine, "metadata/name", ""));
        }
    }
}

static void check_nodes(const struct farm_picture *after, size_t at)
{
    const char *name;
    const json_t *said;

    json_object_foreach(after->nodes[at], name, said) {
        owned(chars) char *chars = json_print(said);

        if (!untouched_serves(said))
            fail_msg("%s is not as a node that serves: %s", name, chars);
    }
}

void farm_picture_check(struct farm *farm, const struct farm_picture *before,
                        const struct farm_move *move)
{
    size_t to = move->from == PROD ? RESEARCH : PROD;
    struct farm_picture after;
    size_t kept;

    farm_picture_take(farm, &after);
    assert_string_equal(only_other(before->uids[move->from], after.uids[move->from]), move->left);
    assert_string_equal(only_other(after.uids[to], before->uids[to]), move->came);
    assert_string_equal(only_other(after.uids[move->from], before->uids[move->from]), "none");
    assert_string_equal(only_other(before->uids[to], after.uids[to]), "none");
    assert_int_equal(after.ever, before->ever + 1);
    check_machines(farm);
    for (size_t at = 0; at < CLUSTERS; at++) {
        int change = at == to ? 1 : -1;

        assert_int_equal(after.replicas[at], before->replicas[at] + change);
        assert_int_equal(after.generations[at], before->generations[at] + 1);
        assert_int_equal(json_object_size(after.nodes[at]), after.replicas[at]);
        kept = json_object_size(before->nodes[at]) - (at == to ? 0 : 1);
        assert_int_equal(untouched_count(before->nodes[at], after.nodes[at]), kept);
        check_nodes(&after, at);
    }
    farm_picture_clear(&after);
}
