/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pods to gangs: what each owner leaves on its pods, and which of two owners counts.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "clusters/gang.h"
#include "tests/support/unit.h"

#include <string.h>

static struct gang_ref gang_of(const char *members)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format(
        "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"p-0\"%s}}", members);
    owned(json) json_t *pod = json_parse(chars, strlen(chars), "case", &err);

    if (!pod)
        fail_msg("%s: %s", chars, err.text);
    return gang_of_pod(pod);
}

#define LABELS(text) ",\"labels\":{" text "}"
#define NOTES(text) ",\"annotations\":{" text "}"
#define OWNER(kind, name)                                                                          \
    ",\"ownerReferences\":[{\"kind\":\"" kind "\",\"name\":\"" name "\",\"controller\":true}]"
#define JOB "\"batch.kubernetes.io/job-name\":\"sft-workers-0\""
#define JOB_SET "\"jobset.sigs.k8s.io/jobset-name\":\"sft\""
#define LWS "\"leaderworkerset.sigs.k8s.io/name\":\"llm\""
#define KUBEFLOW "\"training.kubeflow.org/job-name\":\"bert\""
#define OPERATOR(name) ",\"training.kubeflow.org/operator-name\":\"" name "\""
#define WORKLOAD NOTES("\"kueue.x-k8s.io/workload\":\"jobset-sft-1a2b3\"")

static const struct {
    const char *members;
    const char *gang; /* "KIND KEY" */
} cases[] = {
    { "", "Pod ml/p-0" },
    { OWNER("ReplicaSet", "web-6d4"), "Pod ml/p-0" },
    { OWNER("StatefulSet", "ps"), "owner ml/StatefulSet/ps" },
    { OWNER("Widget", "w"), "owner ml/Widget/w" },
    /* an owner that does not control it is none */
    { ",\"ownerReferences\":[{\"kind\":\"Widget\",\"name\":\"w\"}]", "Pod ml/p-0" },
    /* each owner alone */
    { OWNER("Job", "sweep"), "Job ml/sweep" },
    { LABELS(JOB), "Job ml/sft-workers-0" },
    { LABELS(JOB_SET), "JobSet ml/sft" },
    { WORKLOAD, "Kueue Workload ml/jobset-sft-1a2b3" },
    { LABELS("\"kueue.x-k8s.io/pod-group-name\":\"g\""), "Kueue Workload ml/g" },
    { NOTES("\"scheduling.k8s.io/group-name\":\"pg\""), "Volcano PodGroup ml/pg" },
    { NOTES("\"scheduling.volcano.sh/group-name\":\"pg\""), "Volcano PodGroup ml/pg" },
    { NOTES("\"pod-group-name\":\"pg\""), "KAI PodGroup ml/pg" },
    { LABELS("\"scheduling.x-k8s.io/pod-group\":\"pg\""), "PodGroup ml/pg" },
    { LABELS("\"pod-group.scheduling.sigs.k8s.io/name\":\"pg\""), "PodGroup ml/pg" },
    { LABELS("\"ray.io/cluster\":\"tune\""), "RayCluster ml/tune" },
    { LABELS("\"workflows.argoproj.io/workflow\":\"eval-7\""), "Argo Workflow ml/eval-7" },
    /* one group of a LeaderWorkerSet is a gang, not all of them */
    { LABELS(LWS ",\"leaderworkerset.sigs.k8s.io/group-index\":\"3\""),
      "LeaderWorkerSet ml/llm/3" },
    { LABELS(LWS), "LeaderWorkerSet ml/llm" },
    /* one label, several operators */
    { LABELS(KUBEFLOW OPERATOR("pytorchjob-controller")), "training job ml/bert" },
    { LABELS(KUBEFLOW OPERATOR("mpi-operator")), "MPIJob ml/bert" },
    { LABELS(KUBEFLOW OPERATOR("mpijob-controller")), "MPIJob ml/bert" },
    { LABELS(KUBEFLOW), "training job ml/bert" },
    /* the outermost wins */
    { LABELS(JOB "," JOB_SET) OWNER("Job", "sft-workers-0"), "JobSet ml/sft" },
    { LABELS(JOB "," JOB_SET) OWNER("Job", "sft-workers-0") WORKLOAD,
      "Kueue Workload ml/jobset-sft-1a2b3" },
    { LABELS(JOB "," KUBEFLOW OPERATOR("mpi-operator")) OWNER("Job", "bert-launcher"),
      "MPIJob ml/bert" },
    { LABELS("\"workflows.argoproj.io/workflow\":\"eval-7\"") OWNER("Job", "step"),
      "Argo Workflow ml/eval-7" },
    { LABELS("\"kueue.x-k8s.io/pod-group-name\":\"g\"," LWS) OWNER("StatefulSet", "llm"),
      "Kueue Workload ml/g" },
    /* what is empty or no text is absent */
    { LABELS("\"jobset.sigs.k8s.io/jobset-name\":\"\"") OWNER("Job", "j"), "Job ml/j" },
    { NOTES("\"kueue.x-k8s.io/workload\":7"), "Pod ml/p-0" },
};

static void the_outermost_owner_names_the_gang(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct gang_ref gang = gang_of(cases[i].members);
        owned(chars) char *got = text_format("%s %s", gang_kind_name(gang.kind), gang.key);

        if (!text_equal(got, cases[i].gang))
            fail_msg("%s\n  want: %s\n  got:  %s", cases[i].members, cases[i].gang, got);
        gang_ref_clear(&gang);
    }
}

static void annotations_that_are_times_are_kept(void **state)
{
    struct gang_ref gang = gang_of(NOTES("\"sluice.dev/last-checkpoint\":\"2026-11-17T12:12:05Z\","
                                         "\"a\":\"yesterday\",\"b\":\"2026-11-17 12:00\""));

    (void)state;
    assert_int_equal(json_object_size(gang.times), 1); /* b says no offset: it may be anywhere */
    assert_int_equal(gang_time(&gang, "sluice.dev/last-checkpoint").ms, 1794917525000);
    assert_int_equal(gang_time(&gang, "a").ms, 0);
    gang_ref_clear(&gang);
    gang = gang_of(NOTES("\"a\":\"yesterday\""));
    assert_null(gang.times);
    assert_int_equal(gang_time(&gang, "a").ms, 0);
    gang_ref_clear(&gang);
}

static void protection_is_what_autoscalers_honour(void **state)
{
    static const struct {
        const char *note;
        bool is_protected;
    } notes[] = {
        { "\"karpenter.sh/do-not-disrupt\":\"true\"", true },
        { "\"karpenter.sh/do-not-disrupt\":\"30m\"", true },
        { "\"karpenter.sh/do-not-disrupt\":\"false\"", false },
        { "\"cluster-autoscaler.kubernetes.io/safe-to-evict\":\"false\"", true },
        { "\"cluster-autoscaler.kubernetes.io/safe-to-evict\":\"true\"", false },
        { "\"other\":\"true\"", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(notes); i++) {
        owned(chars) char *members = text_format(",\"annotations\":{%s}", notes[i].note);
        struct gang_ref gang = gang_of(members);

        if (gang.is_protected != notes[i].is_protected)
            fail_msg("%s", notes[i].note);
        gang_ref_clear(&gang);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outermost_owner_names_the_gang),
        cmocka_unit_test(annotations_that_are_times_are_kept),
        cmocka_unit_test(protection_is_what_autoscalers_honour),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
