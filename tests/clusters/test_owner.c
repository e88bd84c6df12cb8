/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Owners of gangs: from what pods carry to a path, from objects to what can be done with them, and
 * the patches that do it and take it back.
 */
#include "base/input/json.h"
#include "base/input/yaml.h"
#include "base/text.h"
#include "clusters/owner.h"
#include "tests/support/unit.h"

#include <string.h>

static json_t *parse(const char *chars)
{
    struct error err = { 0 };
    json_t *json = json_parse(chars, strlen(chars), "case", &err);

    if (!json)
        fail_msg("%s: %s", chars, err.text);
    return json;
}

#define LABELS(text) ",\"labels\":{" text "}"
#define NOTES(text) ",\"annotations\":{" text "}"
#define OWNER(version, kind, name)                                                                 \
    ",\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"name\":\"" name \
    "\",\"controller\":true}]"
#define KUBEFLOW(name)                                                                             \
    LABELS("\"training.kubeflow.org/job-name\":\"bert\",\"training.kubeflow.org/operator-name\":"  \
           "\"" name "\"")
#define IN_ML "/namespaces/ml/"

static const struct {
    const char *members;
    const char *path; /* NULL: nothing to ask */
} pods[] = {
    { "", NULL },
    { OWNER("apps/v1", "ReplicaSet", "web-6d4"), NULL },
    { OWNER("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm"), NULL },
    { LABELS("\"scheduling.x-k8s.io/pod-group\":\"pg\""), NULL },
    { OWNER("batch/v1", "Job", "sweep"), "/apis/batch/v1" IN_ML "jobs/sweep" },
    { OWNER("batch.volcano.sh/v1alpha1", "Job", "sweep"), NULL },
    { OWNER("batchv1", "Job", "sweep"), NULL },
    { OWNER("trainer.kubeflow.org/v1", "TrainJob", "sft"),
      "/apis/trainer.kubeflow.org/v1" IN_ML "trainjobs/sft" },
    { LABELS("\"batch.kubernetes.io/job-name\":\"j\",\"jobset.sigs.k8s.io/jobset-name\":\"sft\""),
      "/apis/jobset.x-k8s.io/v1alpha2" IN_ML "jobsets/sft" },
    { NOTES("\"kueue.x-k8s.io/workload\":\"w\"") OWNER("batch/v1", "Job", "j"),
      "/apis/kueue.x-k8s.io/v1beta2" IN_ML "workloads/w" },
    { LABELS("\"kueue.x-k8s.io/pod-group-name\":\"g\""),
      "/apis/kueue.x-k8s.io/v1beta2" IN_ML "workloads/g" },
    /* a queue's scheduler names a group of its own, but the job is what can be told */
    { NOTES("\"scheduling.k8s.io/group-name\":\"pg\"")
          OWNER("kubeflow.org/v1", "PyTorchJob", "bert"),
      "/apis/kubeflow.org/v1" IN_ML "pytorchjobs/bert" },
    { KUBEFLOW("pytorchjob-controller"), "/apis/kubeflow.org/v1" IN_ML "pytorchjobs/bert" },
    { KUBEFLOW("tfjob-controller"), "/apis/kubeflow.org/v1" IN_ML "tfjobs/bert" },
    { KUBEFLOW("xgboostjob-controller"), "/apis/kubeflow.org/v1" IN_ML "xgboostjobs/bert" },
    { KUBEFLOW("paddlejob-controller"), "/apis/kubeflow.org/v1" IN_ML "paddlejobs/bert" },
    { KUBEFLOW("jaxjob-controller"), "/apis/kubeflow.org/v1" IN_ML "jaxjobs/bert" },
    { KUBEFLOW("mpijob-controller"), "/apis/kubeflow.org/v1" IN_ML "mpijobs/bert" },
    { KUBEFLOW("mpi-operator") OWNER("batch/v1", "Job", "bert-launcher"),
      "/apis/kubeflow.org/v2beta1" IN_ML "mpijobs/bert" },
    { OWNER("ray.io/v1", "RayJob", "tune"), "/apis/ray.io/v1" IN_ML "rayjobs/tune" },
    { LABELS("\"ray.io/cluster\":\"tune\""), "/apis/ray.io/v1" IN_ML "rayclusters/tune" },
    { LABELS("\"workflows.argoproj.io/workflow\":\"eval\"")
          OWNER("argoproj.io/v1alpha1", "Workflow", "eval"),
      "/apis/argoproj.io/v1alpha1" IN_ML "workflows/eval" },
};

static struct pod *pod_with(const char *members, const char *phase)
{
    owned(chars) char *chars = text_format(
        "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"p\",\"uid\":\"u\"%s},\"spec\":{},"
        "\"status\":{\"phase\":\"%s\"}}",
        members, phase);
    owned(json) json_t *object = parse(chars);
    struct error err = { 0 };
    struct pod *pod = pod_decode(object, &err);

    if (!pod)
        fail_msg("%s: %s", chars, err.text);
    return pod;
}

static void a_pod_names_its_outermost_owner(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(pods); i++) {
        struct pod *pod = pod_with(pods[i].members, "Running");
        owned(chars) char *path = owner_of_pod(pod);

        if (!text_equal(path, pods[i].path))
            fail_msg("%s: %s, not %s", pods[i].members, path ?: "(none)", pods[i].path ?: "(none)");
        pod_free(pod);
    }
}

#define DELETED ",\"deletionTimestamp\":\"2026-11-17T12:00:00Z\",\"deletionGracePeriodSeconds\":30"
#define UNCOUNTED ",\"finalizers\":[\"" POD_JOB_FINALIZER "\"]"
#define OF_SET                                                                                     \
    LABELS("\"jobset.sigs.k8s.io/jobset-name\":\"sft\"") OWNER("batch/v1", "Job", "sft-0")

/* What evictions make of a Job is asked of that Job, though its pods belong to something larger. */
static void a_pod_names_the_job_that_counts_it(void **state)
{
    static const struct {
        const char *members;
        const char *phase;
        const char *job;
        bool counts;
    } cases[] = {
        { OF_SET UNCOUNTED, "Running", "/apis/batch/v1" IN_ML "jobs/sft-0", true },
        { OF_SET UNCOUNTED DELETED, "Running", "/apis/batch/v1" IN_ML "jobs/sft-0", true },
        { OF_SET DELETED, "Running", "/apis/batch/v1" IN_ML "jobs/sft-0", false },
        { OF_SET, "Succeeded", "/apis/batch/v1" IN_ML "jobs/sft-0", false },
        { OWNER("batch.volcano.sh/v1alpha1", "Job", "j"), "Running", NULL, true },
        { OWNER("kubeflow.org/v1", "PyTorchJob", "j"), "Running", NULL, true },
        { "", "Running", NULL, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pod *pod = pod_with(cases[i].members, cases[i].phase);
        owned(chars) char *job = owner_job_of_pod(pod);

        if (!text_equal(job, cases[i].job) || owner_counts_pod(pod) != cases[i].counts)
            fail_msg("%s: %s", cases[i].members, job ?: "(none)");
        pod_free(pod);
    }
}

static bool has_item(const struct yaml_node *rule, const char *key, const char *item, size_t size)
{
    const struct yaml_node *list = yaml_get(rule, key);

    for (size_t i = 0; list && i < list->count; i++)
        if (strlen(list->children[i].text) == size && !memcmp(list->children[i].text, item, size))
            return true;
    return false;
}

/* Whether clusters/role.yaml lets us do that with "/apis/GROUP/VERSION/namespaces/ml/PLURAL/NAME".
 */
static bool role_grants(const struct yaml_node *rules, const char *verb, const char *path)
{
    const char *group = path + strlen("/apis/");
    const char *plural = strstr(path, IN_ML) + strlen(IN_ML);

    for (size_t i = 0; i < rules->count; i++)
        if (has_item(&rules->children[i], "apiGroups", group, strcspn(group, "/")) &&
            has_item(&rules->children[i], "resources", plural, strcspn(plural, "/")) &&
            has_item(&rules->children[i], "verbs", verb, strlen(verb)))
            return true;
    return false;
}

/* A kind that it forgets would be evicted pod by pod. */
static void the_role_reaches_every_owner(void **state)
{
    struct error err = { 0 };
    struct yaml_document *role = yaml_read(SLUICE_SOURCE "/clusters/role.yaml", &err);

    (void)state;
    if (!role)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(pods); i++) {
        const struct yaml_node *rules = yaml_get(yaml_root(role), "rules");
        const char *path = pods[i].path;

        if (path && (!role_grants(rules, "get", path) ||
                     (!strstr(path, "/rayclusters/") && !role_grants(rules, "patch", path))))
            fail_msg("%s is not granted", path);
    }
    yaml_document_free(role);
}

#define META "\"uid\":\"u1\",\"resourceVersion\":\"7\""
#define JOB "/apis/batch/v1/namespaces/ml/jobs/j"
#define TORCH "/apis/kubeflow.org/v1/namespaces/ml/pytorchjobs/j"
#define RAY_JOB "/apis/ray.io/v1/namespaces/ml/rayjobs/r"
#define WORKLOAD "/apis/kueue.x-k8s.io/v1beta2/namespaces/ml/workloads/w"

/* What is read: "can stopped part was above"; a bag can be stopped, but has no need. */
static const struct {
    const char *path;
    const char *metadata;
    const char *spec;
    const char *want;
} objects[] = {
    { JOB, META, "{}", "can - - absent " },
    { JOB, META, "{\"suspend\":false}", "can - - false " },
    { JOB, META, "{\"suspend\":true}", "can stopped - true " },
    /* numbered pods need each other, a bag of tasks does not */
    { JOB, META, "{\"parallelism\":4,\"completionMode\":\"Indexed\"}", "can - - absent " },
    { JOB, META, "{\"parallelism\":4}", "bag - - absent " },
    { JOB, META, "{\"parallelism\":1}", "can - - absent " },
    { TORCH, META, "{\"suspend\":true}", "can - - absent " },
    { TORCH, META, "{\"runPolicy\":{\"suspend\":true}}", "can stopped - true " },
    { WORKLOAD, META, "{}", "can - - absent " },
    { WORKLOAD, META, "{\"active\":true}", "can - - true " },
    { WORKLOAD, META, "{\"active\":false}", "can stopped - false " },
    /* else KubeRay calls it invalid, leaves its pods, and never looks at it again */
    { RAY_JOB, META, "{\"shutdownAfterJobFinishes\":true}", "can - - absent " },
    { RAY_JOB, META, "{\"shutdownAfterJobFinishes\":true,\"clusterSelector\":{}}",
      "can - - absent " },
    { RAY_JOB, META, "{}", "- - - absent " },
    { RAY_JOB, META, "{\"shutdownAfterJobFinishes\":false}", "- - - absent " },
    { RAY_JOB, META,
      "{\"shutdownAfterJobFinishes\":true,\"clusterSelector\":{\"ray.io/cluster\":\"c\"}}",
      "- - - absent " },
    { "/apis/ray.io/v1/namespaces/ml/rayclusters/r", META OWNER("ray.io/v1", "RayJob", "tune"),
      "{\"suspend\":true}", "- - part absent /apis/ray.io/v1/namespaces/ml/rayjobs/tune" },
    { JOB, META OWNER("kubeflow.org/v2beta1", "MPIJob", "bert"), "{}",
      "can - part absent /apis/kubeflow.org/v2beta1/namespaces/ml/mpijobs/bert" },
    { JOB, META OWNER("example.com/v1", "Widget", "w"), "{}", "can - part absent " },
    { JOB, META OWNER("batch/v1", "CronJob", "nightly"), "{}", "can - - absent " },
};

static void an_object_says_what_can_be_done_with_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        owned(chars) char *chars = text_format("{\"metadata\":{%s},\"spec\":%s}",
                                               objects[i].metadata, objects[i].spec);
        owned(json) json_t *object = parse(chars);
        owned(chars) char *got = NULL;
        struct owner owner;
        struct error err = { 0 };

        if (owner_read(objects[i].path, object, &owner, &err) < 0)
            fail_msg("%s: %s", chars, err.text);
        got = text_format("%s %s %s %s %s",
                          owner.is_bag     ? "bag"
                          : owner.can_stop ? "can"
                                           : "-",
                          owner.is_stopped ? "stopped" : "-", owner.is_part ? "part" : "-",
                          owner.was, owner.above);
        if (!text_equal(got, objects[i].want))
            fail_msg("%s %s: \"%s\", not \"%s\"", objects[i].path, chars, got, objects[i].want);
    }
}

#define RULES(rules) "{\"podFailurePolicy\":{\"rules\":[" rules "]}}"
#define RULE(action, type, status)                                                                 \
    "{\"action\":\"" action "\",\"onPodConditions\":[{\"type\":\"" type "\"" status "}]}"
#define DISRUPTED "DisruptionTarget"

/* How many evictions a Job survives, as Kubernetes counts them. */
static const struct {
    const char *path;
    const char *spec;
    const char *status;
    int64_t spare;
} limits[] = {
    { JOB, "{}", "{}", 6 },
    { JOB, "{\"backoffLimit\":0}", "{}", 0 },
    { JOB, "{\"backoffLimit\":10}", "{\"failed\":4}", 6 },
    { JOB, "{\"backoffLimit\":1}", "{\"failed\":4}", 0 },
    { JOB, "{}", "{\"failed\":1,\"uncountedTerminatedPods\":{\"failed\":[\"u1\",\"u2\"]}}", 3 },
    { JOB, "{\"backoffLimitPerIndex\":2}", "{}", 2 },
    { JOB, "{\"backoffLimitPerIndex\":9,\"backoffLimit\":3}", "{}", 3 },
    { JOB, RULES(RULE("Ignore", DISRUPTED, "")), "{}", INT64_MAX },
    { JOB, RULES(RULE("Ignore", DISRUPTED, ",\"status\":\"True\"")), "{}", INT64_MAX },
    { JOB, RULES(RULE("Ignore", DISRUPTED, ",\"status\":\"False\"")), "{}", 6 },
    { JOB, RULES(RULE("Ignore", "ConfigIssue", "")), "{}", 6 },
    { JOB, RULES(RULE("Count", DISRUPTED, "") "," RULE("Ignore", DISRUPTED, "")), "{}", 6 },
    { JOB, RULES(RULE("FailJob", DISRUPTED, "")), "{}", 0 },
    { JOB, RULES("{\"action\":\"FailJob\",\"onExitCodes\":{}}," RULE("Ignore", DISRUPTED, "")),
      "{}", INT64_MAX },
    { TORCH, "{}", "{\"failed\":4}", INT64_MAX },
    { RAY_JOB, "{\"backoffLimit\":0}", "{}", INT64_MAX },
};

static void a_job_survives_so_many_evictions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        owned(chars) char *chars = text_format("{\"metadata\":{" META
                                               "},\"spec\":%s,\"status\":%s}",
                                               limits[i].spec, limits[i].status);
        owned(json) json_t *object = parse(chars);
        struct owner owner;
        struct error err = { 0 };

        assert_int_equal(owner_read(limits[i].path, object, &owner, &err), 0);
        if (owner.spare != limits[i].spare)
            fail_msg("%s: %lld, not %lld", chars, (long long)owner.spare,
                     (long long)limits[i].spare);
    }
}

static void an_object_without_uid_or_version_is_refused(void **state)
{
    owned(json) json_t *object = parse("{\"metadata\":{\"uid\":\"u\"},\"spec\":{}}");
    struct owner owner;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(owner_read(JOB, object, &owner, &err), -1);
    assert_int_equal(err.kind, ERROR_CORRUPT);
}

/* RFC 7386, enough of it for these patches. */
static void merge(json_t *into, json_t *patch)
{
    const char *key;
    json_t *value;

    json_object_foreach(patch, key, value) {
        if (json_is_null(value)) {
            json_object_del(into, key);
        } else if (json_is_object(value)) {
            if (!json_object_get(into, key))
                json_object_set_new(into, key, json_object());
            merge(json_object_get(into, key), value);
        } else {
            json_object_set(into, key, value);
        }
    }
}

/* Stops the object and takes it back: it is as before, whatever stood there. */
static void what_was_is_restored_exactly(void **state)
{
    static const struct {
        const char *path;
        const char *spec;
        const char *stopped;
    } cases[] = {
        { JOB, "{}", "{\"suspend\":true}" },
        { JOB, "{\"suspend\":false}", "{\"suspend\":true}" },
        { TORCH, "{\"runPolicy\":{\"ttl\":1}}", "{\"runPolicy\":{\"ttl\":1,\"suspend\":true}}" },
        { WORKLOAD, "{\"active\":true}", "{\"active\":false}" },
        { WORKLOAD, "{}", "{\"active\":false}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *chars = text_format(
            "{\"metadata\":{" META ",\"annotations\":{\"a\":\"b\"}},\"spec\":%s}", cases[i].spec);
        owned(json) json_t *object = parse(chars);
        owned(json) json_t *before = json_deep_copy(object);
        owned(json) json_t *stopped = parse(cases[i].stopped);
        owned(json) json_t *stop = NULL;
        owned(json) json_t *restore = NULL;
        struct owner owner;
        struct error err = { 0 };

        assert_int_equal(owner_read(cases[i].path, object, &owner, &err), 0);
        stop = owner_stop_patch(cases[i].path, &owner, "t-1");
        assert_string_equal(json_text_or(stop, "metadata/uid", ""), "u1");
        assert_string_equal(json_text_or(stop, "metadata/resourceVersion", ""), "7");
        merge(object, stop);
        assert_true(json_equal(json_object_get(object, "spec"), stopped));
        assert_int_equal(owner_read(cases[i].path, object, &owner, &err), 0);
        assert_true(owner.is_stopped);
        assert_string_equal(owner.stopped_by, "t-1");
        restore = owner_restore_patch(cases[i].path, &owner);
        merge(object, restore);
        assert_true(json_equal(object, before));
    }
}

/* A person who starts it again has decided: only the notes go. */
static void what_goes_again_is_not_touched(void **state)
{
    owned(json) json_t *object = parse(
        "{\"metadata\":{" META ",\"annotations\":{\"sluice.dev/suspended-by\":\"t-1\","
        "\"sluice.dev/suspended-was\":\"absent\"}},\"spec\":{\"suspend\":false}}");
    owned(json) json_t *patch = NULL;
    struct owner owner;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(owner_read(JOB, object, &owner, &err), 0);
    patch = owner_restore_patch(JOB, &owner);
    assert_null(json_object_get(patch, "spec"));
    assert_int_equal(json_object_size(json_at(patch, "metadata/annotations")), 2);
}

static void the_workload_of_an_owner_is_found_by_its_uid(void **state)
{
    owned(json) json_t *list = parse(
        "{\"items\":[{\"metadata\":{\"name\":\"w1\",\"ownerReferences\":[{\"uid\":\"other\"}]}},"
        "{\"metadata\":{\"name\":\"old\",\"ownerReferences\":[{\"uid\":\"u1\"}]},"
        "\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\"}]}},"
        "{\"metadata\":{\"name\":\"w2\",\"ownerReferences\":[{\"uid\":\"u1\"}]}}]}");
    owned(chars) char *found = owner_workload_in(list, JOB, "u1");
    owned(chars) char *none = owner_workload_in(list, JOB, "u2");
    owned(chars) char *path = owner_workloads_path(JOB, "u1");

    (void)state;
    assert_string_equal(found, "/apis/kueue.x-k8s.io/v1beta2/namespaces/ml/workloads/w2");
    assert_null(none);
    assert_string_equal(path, "/apis/kueue.x-k8s.io/v1beta2/namespaces/ml/workloads"
                              "?labelSelector=kueue.x-k8s.io%2Fjob-uid%3Du1&limit=500");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_names_its_outermost_owner),
        cmocka_unit_test(a_pod_names_the_job_that_counts_it),
        cmocka_unit_test(the_role_reaches_every_owner),
        cmocka_unit_test(an_object_says_what_can_be_done_with_it),
        cmocka_unit_test(a_job_survives_so_many_evictions),
        cmocka_unit_test(an_object_without_uid_or_version_is_refused),
        cmocka_unit_test(what_was_is_restored_exactly),
        cmocka_unit_test(what_goes_again_is_not_touched),
        cmocka_unit_test(the_workload_of_an_owner_is_found_by_its_uid),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
