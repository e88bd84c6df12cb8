/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which requests the API server knows: by method and path, each with the answer that it begins
 * with.
 */
#include "tests/simulator/bench.h"

#define NODES "/api/v1/nodes"
#define PODS "/api/v1/namespaces/research/pods"
#define BUDGETS "/apis/policy/v1/namespaces/research/poddisruptionbudgets"
#define RULES "/apis/admissionregistration.k8s.io/v1/"
#define ATTACHMENTS "/apis/storage.k8s.io/v1/volumeattachments"
#define CLAIMS "/api/v1/namespaces/research/persistentvolumeclaims"
#define DEPLOYMENT "/apis/apps/v1/namespaces/research/deployments/nobody"
#define UNKNOWN "the server could not find the requested resource"

static const struct {
    enum http_method method;
    const char *path;
    int status;
    const char *says; /* of a refusal */
} rows[] = {
    { HTTP_GET, NODES, 200, "" },
    { HTTP_DELETE, NODES, 404, UNKNOWN },
    { HTTP_POST, NODES, 422, "name" },
    { HTTP_GET, NODES "/nobody", 404, "nodes \"nobody\" not found" },
    { HTTP_PATCH, NODES "/nobody", 404, "nodes \"nobody\" not found" },
    { HTTP_DELETE, NODES "/nobody", 404, "nodes \"nobody\" not found" },
    { HTTP_PUT, NODES "/nobody", 405, "not allowed on a node" },
    { HTTP_PATCH, NODES "/nobody/status", 404, "nodes \"nobody\" not found" },
    { HTTP_GET, NODES "/nobody/status", 404, UNKNOWN },
    { HTTP_GET, NODES "/nobody/proxy/x", 404, UNKNOWN },
    { HTTP_GET, "/api/v1/pods", 200, "" },
    { HTTP_GET, PODS, 200, "" },
    { HTTP_DELETE, PODS, 404, UNKNOWN },
    { HTTP_POST, PODS, 422, "name" },
    { HTTP_GET, PODS "/nobody", 404, "pods \"nobody\" not found" },
    { HTTP_PATCH, PODS "/nobody", 404, "pods \"nobody\" not found" },
    { HTTP_DELETE, PODS "/nobody", 404, "pods \"nobody\" not found" },
    { HTTP_PUT, PODS "/nobody", 405, "not allowed on a pod" },
    { HTTP_PATCH, PODS "/nobody/status", 404, "pods \"nobody\" not found" },
    { HTTP_GET, PODS "/nobody/status", 405, "not allowed on a pod" },
    { HTTP_POST, PODS "/nobody/eviction", 404, "pods \"nobody\" not found" },
    { HTTP_GET, PODS "/nobody/eviction", 405, "not allowed on a pod" },
    { HTTP_GET, PODS "/nobody/log", 405, "not allowed on a pod" },
    { HTTP_GET, PODS "/nobody/log/x", 404, UNKNOWN },
    { HTTP_GET, "/api/v1/namespaces/nobody", 404, "namespaces \"nobody\" not found" },
    { HTTP_DELETE, "/api/v1/namespaces/nobody", 404, "namespaces \"nobody\" not found" },
    { HTTP_PATCH, "/api/v1/namespaces/research", 404, UNKNOWN },
    { HTTP_POST, "/api/v1/namespaces", 422, "name" },
    { HTTP_POST, "/api/v1/namespaces/research/events", 422, "name" },
    { HTTP_GET, "/apis/policy/v1/poddisruptionbudgets", 200, "" },
    { HTTP_POST, BUDGETS, 422, "a budget needs a name" },
    { HTTP_GET, BUDGETS "/nobody", 404, "poddisruptionbudgets.policy \"nobody\" not found" },
    { HTTP_DELETE, BUDGETS "/nobody", 404, "poddisruptionbudgets.policy \"nobody\" not found" },
    { HTTP_GET, RULES "validatingwebhookconfigurations", 200, "" },
    { HTTP_GET, RULES "validatingadmissionpolicies", 200, "" },
    { HTTP_GET, RULES "validatingadmissionpolicybindings", 200, "" },
    { HTTP_GET, RULES "mutatingwebhookconfigurations", 200, "" },
    { HTTP_POST, RULES "mutatingwebhookconfigurations", 404, UNKNOWN },
    { HTTP_POST, RULES "validatingadmissionpolicies", 422, "the only expression here is false" },
    { HTTP_DELETE, RULES "validatingadmissionpolicies/nobody", 404,
      "validatingadmissionpolicies.admissionregistration.k8s.io \"nobody\" not found" },
    { HTTP_PATCH, RULES "validatingadmissionpolicies/nobody", 404, UNKNOWN },
    { HTTP_GET, ATTACHMENTS, 200, "" },
    { HTTP_POST, ATTACHMENTS, 422, "an attachment has an attacher" },
    { HTTP_DELETE, ATTACHMENTS "/nobody", 404, "volumeattachments.storage.k8s.io \"nobody\"" },
    { HTTP_PATCH, ATTACHMENTS "/nobody", 404, "volumeattachments.storage.k8s.io \"nobody\"" },
    { HTTP_PUT, ATTACHMENTS "/nobody", 404, UNKNOWN },
    { HTTP_POST, CLAIMS, 422, "a claim has a name" },
    { HTTP_GET, CLAIMS "/nobody", 404, "persistentvolumeclaims \"nobody\" not found" },
    { HTTP_DELETE, CLAIMS "/nobody", 404, UNKNOWN },
    { HTTP_GET, DEPLOYMENT, 404, "deployments.apps \"nobody\" not found" },
    { HTTP_DELETE, DEPLOYMENT, 404, UNKNOWN },
    { HTTP_GET, DEPLOYMENT "/scale", 404, "deployments.apps \"nobody\" not found" },
    { HTTP_PATCH, DEPLOYMENT "/scale", 404, "deployments.apps \"nobody\" not found" },
    { HTTP_PUT, DEPLOYMENT "/scale", 404, "deployments.apps \"nobody\" not found" },
    { HTTP_POST, DEPLOYMENT "/scale", 405, "not allowed on a scale" },
    { HTTP_GET, DEPLOYMENT "/status", 404, UNKNOWN },
};

static void each_route_has_its_answer(void **state)
{
    struct bench bench;
    int wrong = 0;

    (void)state;
    bench_open(&bench, bench_config, bench_world, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *path = text_format("/clusters/lab%s", rows[i].path);
        owned(bench_answer) struct bench_answer answer = bench_ask(
            &bench, &(struct bench_request){ .method = rows[i].method,
                                             .path = path,
                                             .bearer = "sim-lab",
                                             .type = "application/json",
                                             .body = rows[i].method == HTTP_GET ? NULL : "{}" });
        const char *says = json_text_or(answer.body, "message", "");

        if (answer.status == rows[i].status && strstr(says, rows[i].says))
            continue;
        print_error("%s %s: %d %s\n", http_method_name(rows[i].method), rows[i].path, answer.status,
                    says);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_route_has_its_answer),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
