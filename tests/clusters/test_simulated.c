/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cluster against the simulator's strict fake of the Kubernetes API, in virtual time: through
 * hours of faults the snapshot ends up equal to what direct reads say.
 */
#include "base/log.h"
#include "clusters/gpus.h"
#include "clusters/kube_cluster.h"
#include "clusters/kube_verbs.h"
#include "tests/clusters/cluster_bench.h"
#include "tools/simulator/model/simulator.h"

struct rehearsal {
    char folder[64];
    struct loop *loop;
    struct simulator *simulator;
    struct random random;
    struct world world;
    struct cluster *cluster;
    int calls;
    struct error err;
    json_t *body;
};

static const char config[] =
    "clusters:\n"
    "  prod: {role: production, kubeconfig: prod.kubeconfig}\n"
    "  lab: {role: research, kubeconfig: lab.kubeconfig}\n"
    "reservations:\n"
    "  main: {machine: a3-megagpu-8g, region: r, zone: r-a, gpus_per_node: 8, nodes: 10}\n"
    "providers:\n"
    "  google: {kind: gcp}\n"
    "pools:\n"
    "  prod-main: {cluster: prod, reservation: main, provider: google, project: p, group: g-prod}\n"
    "  lab-main: {cluster: lab, reservation: main, provider: google, project: p, group: g-lab}\n"
    "queues:\n"
    "  chat: {wait_target: 2s, service: 20s}\n"
    "workloads:\n"
    "  chat-8x: {queue: chat, gpus: 8, clusters: {prod: {}}}\n";

static void ignore(void *context)
{
    (void)context;
}

static void rehearsal_open(struct rehearsal *it, const char *cluster, const char *world)
{
    struct error err = { 0 };
    *it = (struct rehearsal){ .folder = "/tmp/sluice-rehearsal-XXXXXX" };
    assert_non_null(mkdtemp(it->folder));
    bench_write(it->folder, "sluice.yaml", config);
    bench_write(it->folder, "world.yaml", world);
    owned(chars) char *config_path = text_format("%s/sluice.yaml", it->folder);
    owned(chars) char *world_path = text_format("%s/world.yaml", it->folder);
    owned(chars) char *kubeconfig = text_format("%s/%s.kubeconfig", it->folder, cluster);

    it->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    it->simulator = simulator_new(it->loop, config_path, world_path, &err);
    if (!it->simulator)
        fail_msg("%s", err.text);
    assert_int_equal(
        simulator_write_kubeconfigs(it->simulator, it->folder, "http://127.0.0.1:1", &err), 0);
    random_seed(&it->random, 3);
    it->world = (struct world){ it->loop, simulator_http(it->simulator), &it->random, NULL, NULL };
    const struct kube_cluster_settings own = { .kubeconfig = kubeconfig };
    const struct cluster_settings settings = { .name = cluster,
                                               .kind = &cluster_kubernetes,
                                               .own = &own };
    it->cluster = cluster_open(&it->world, &settings, &err);
    if (!it->cluster)
        fail_msg("%s", err.text);
    cluster_watch(it->cluster, ignore, NULL);
}

static void rehearsal_close(struct rehearsal *it)
{
    static const char *const names[] = { "sluice.yaml", "world.yaml", "prod.kubeconfig",
                                         "lab.kubeconfig" };
    cluster_close(it->cluster);
    simulator_free(it->simulator);
    loop_free(it->loop);
    json_decref(it->body);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *path = text_format("%s/%s", it->folder, names[i]);
        unlink(path);
    }
    rmdir(it->folder);
}

static void run_for(struct rehearsal *it, int64_t ms)
{
    loop_run_until(it->loop, loop_now(it->loop) + ms);
}

static void on_done(void *context, const json_t *body, const struct error *err)
{
    struct rehearsal *it = context;
    it->calls++;
    it->err = err ? *err : (struct error){ 0 };
    json_decref(it->body);
    it->body = json_incref((json_t *)(uintptr_t)body);
}

/* Until the verb has answered; its kind. */
static enum error_kind answer_of(struct rehearsal *it)
{
    int before = it->calls;
    for (int i = 0; i < 600 && it->calls == before; i++)
        run_for(it, 100);
    assert_int_equal(it->calls, before + 1);
    return it->err.kind;
}

static const struct node *first_node(const struct rehearsal *it)
{
    void *value = NULL;
    size_t at = 0;
    assert_true(map_next(cluster_snapshot(it->cluster)->nodes, &at, NULL, &value));
    return value;
}

static const struct pod *first_work(const struct rehearsal *it)
{
    void *value = NULL;
    for (size_t at = 0; map_next(cluster_snapshot(it->cluster)->pods, &at, NULL, &value);) {
        const struct pod *pod = value;
        if (pod_must_leave(pod) && pod->node_name[0] != '\0' && pod->deletion.ms == 0)
            return pod;
    }
    fail_msg("no pod is at work");
    return NULL;
}

static void the_simulated_cluster_is_seen(void **state)
{
    struct rehearsal it;
    (void)state;
    rehearsal_open(&it, "lab",
                   "pools: {lab-main: {nodes: 3}}\njobs: {backlog: 5, duration: 8h..9h}\n");
    run_for(&it, 10 * MINUTE_MS);
    const struct snapshot *snapshot = cluster_snapshot(it.cluster);
    assert_true(snapshot->is_known);
    assert_string_equal(cluster_trouble(it.cluster), "");
    assert_int_equal(map_count(snapshot->nodes), 3);
    assert_int_equal(map_count(snapshot->unreadable), 0);
    assert_true(map_count(snapshot->pods) > 3);
    assert_int_equal(gpus_of_node(cluster_snapshot(it.cluster), first_node(&it)), 8);
    assert_true(first_node(&it)->is_ready);
    assert_true(text_starts_with(first_node(&it)->provider_id, "gce://p/r-a/"));
    assert_true(loop_now(it.loop) - snapshot->nodes_seen_ms < 70000);
    rehearsal_close(&it);
}

static void the_verbs_change_it(void **state)
{
    struct rehearsal it;
    (void)state;
    rehearsal_open(&it, "lab",
                   "pools: {lab-main: {nodes: 6}}\njobs: {backlog: 12, duration: 8h..9h}\n");
    run_for(&it, 10 * MINUTE_MS);
    owned(chars) char *name = mem_copy_chars(first_node(&it)->name);
    struct node_change change = { .cordon = NODE_CORDON,
                                  .taint_key = "sluice.dev/moving",
                                  .taint_value = "t",
                                  .taint_effect = "NoSchedule" };
    owned(json) json_t *patch = node_change_patch(first_node(&it), &change);
    cluster_patch_node(it.cluster, name, patch, on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NONE);
    run_for(&it, 1000);
    assert_true(first_node(&it)->is_unschedulable);
    assert_true(node_has_taint(first_node(&it), "sluice.dev/moving"));

    cluster_patch_node(it.cluster, name, patch, on_done, &it); /* of an older version */
    assert_int_equal(answer_of(&it), ERROR_CONFLICT);

    const struct pod *pod = first_work(&it);
    owned(chars) char *uid = mem_copy_chars(pod->uid);
    owned(chars) char *pod_name = mem_copy_chars(pod->name);
    owned(chars) char *namespace = mem_copy_chars(pod->namespace);
    const struct pod_ref bound = { .namespace = namespace, .name = pod_name, .uid = uid };
    const struct pod_ref other = { .namespace = namespace, .name = pod_name, .uid = "another" };
    cluster_evict_pod(it.cluster, &other, 0, on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_CONFLICT);
    cluster_mark_pod(it.cluster, &bound, "moves", on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NONE);
    cluster_evict_pod(it.cluster, &bound, 0, on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NONE);
    run_for(&it, 5 * MINUTE_MS);
    assert_null(map_get(cluster_snapshot(it.cluster)->pods, uid));
    cluster_delete_pod(it.cluster, &bound, 1, on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NONE); /* gone already */
    cluster_evict_pod(it.cluster, &bound, 0, on_done, &it);
    enum error_kind kind = answer_of(&it);
    assert_true(kind == ERROR_NOT_FOUND || kind == ERROR_CONFLICT);
    cluster_read_node(it.cluster, "absent", on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NOT_FOUND);
    rehearsal_close(&it);
}

static void a_deployment_is_scaled(void **state)
{
    struct rehearsal it;
    (void)state;
    rehearsal_open(&it, "prod", "pools: {prod-main: {nodes: 3}}\n");
    run_for(&it, MINUTE_MS);
    owned(json) json_t *patch = json_make("{s:{s:i}}", "spec", "replicas", 2);

    cluster_patch_at(it.cluster, "/apis/apps/v1/namespaces/default/deployments/chat-8x/scale",
                     patch, on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NONE);
    cluster_read_at(it.cluster, "/apis/apps/v1/namespaces/default/deployments/chat-8x", on_done,
                    &it);
    assert_int_equal(answer_of(&it), ERROR_NONE);
    assert_int_equal(json_int_or(it.body, "spec/replicas", -1), 2);
    rehearsal_close(&it);
}

/* Every pod on the node by a direct read is in the snapshot, and as many. */
static void expect_same_pods(struct rehearsal *it, const char *node_name)
{
    enum error_kind kind = ERROR_TRANSIENT;
    for (int i = 0; i < 50 && kind != ERROR_NONE; i++) { /* faults that wait for a list are left */
        cluster_read_pods(it->cluster, node_name, NULL, on_done, it);
        kind = answer_of(it);
    }
    assert_int_equal(kind, ERROR_NONE);
    size_t known = 0;
    void *value = NULL;
    for (size_t at = 0; map_next(cluster_snapshot(it->cluster)->pods, &at, NULL, &value);) {
        const struct pod *pod = value;
        known += text_equal(pod->node_name, node_name) ? 1 : 0;
    }
    const json_t *items = json_at(it->body, "items");
    size_t at = 0;
    const json_t *item = NULL;
    json_array_foreach(items, at, item)
        assert_non_null(
            map_get(cluster_snapshot(it->cluster)->pods, json_text_or(item, "metadata/uid", "?")));
    assert_int_equal(json_array_size(items), known);

    size_t indexed = 0;
    const struct pod *const *pods = snapshot_pods_on(cluster_snapshot(it->cluster), node_name,
                                                     &indexed);
    assert_int_equal(indexed, known);
    for (size_t i = 0; i < indexed; i++)
        assert_ptr_equal(map_get(cluster_snapshot(it->cluster)->pods, pods[i]->uid), pods[i]);
    const struct node *node = map_get(cluster_snapshot(it->cluster)->nodes, node_name);
    assert_ptr_equal(
        snapshot_node_of_provider(cluster_snapshot(it->cluster), node->provider_id, node_name),
        node);
}

static void faults_end_in_the_truth(void **state)
{
    static const char *const faults[] = { "watch_gap",   "http_429", "http_500",
                                          "lost_answer", "refused",  "http_500_after" };
    static const char *const verbs[] = { "watch_nodes", "watch_pods", "list_nodes", "list_pods" };
    struct rehearsal it;
    (void)state;
    rehearsal_open(
        &it, "lab",
        "seed: 5\npools: {lab-main: {nodes: 4}}\njobs: {backlog: 9, duration: 10m..30m}\n");
    for (size_t i = 0; i < 48; i++) {
        const char *fault = faults[random_below(&it.random, COUNT_OF(faults))];
        simulator_fault_next(it.simulator, fault, verbs[i % COUNT_OF(verbs)]);
        run_for(&it, 10 * MINUTE_MS);
        assert_int_equal(map_count(cluster_snapshot(it.cluster)->nodes), 4);
    }
    run_for(&it, 10 * MINUTE_MS);
    assert_string_equal(cluster_trouble(it.cluster), "");
    const char *name = NULL;
    for (size_t at = 0; map_next(cluster_snapshot(it.cluster)->nodes, &at, &name, NULL);)
        expect_same_pods(&it, name);
    rehearsal_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_simulated_cluster_is_seen),
        cmocka_unit_test(the_verbs_change_it),
        cmocka_unit_test(a_deployment_is_scaled),
        cmocka_unit_test(faults_end_in_the_truth),
    };
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
