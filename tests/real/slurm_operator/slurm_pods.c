/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * slurm_pods KUBECONFIG: the pods of a cluster that sluice takes for nodes of Slurm, one a line:
 * pod, its node, its tool, and its name in Slurm.  Run by tests/real/slinky.
 */
#include "base/log.h"
#include "base/text.h"
#include "base/world/http.h"
#include "clusters/cluster.h"
#include "clusters/kube_cluster.h"

#include <stdio.h>
#include <stdlib.h>

enum { LOOK_MS = 50, PATIENCE_MS = 20 * SECOND_MS };

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "slurm_pods: %s\n", why);
    exit(1);
}

static void nothing(void *context)
{
    (void)context;
}

static void print_pods(const struct snapshot *snapshot)
{
    void *value;

    for (size_t i = 0; map_next(snapshot->pods, &i, NULL, &value);) {
        const struct pod *pod = value;

        if (pod_slurm_tool(pod) && pod->deletion.ms == 0)
            printf("%s %s %s %s\n", pod->name, pod->node_name[0] ? pod->node_name : "-",
                   pod_slurm_tool(pod), pod_slurm_node(pod) ?: "-");
    }
}

int main(int argc, char **argv)
{
    struct error err = { 0 };
    struct random random;

    mem_setup();
    log_setup(LOG_WARN, LOG_FORM_TEXT);
    if (argc != 2) {
        fprintf(stderr, "usage: slurm_pods KUBECONFIG\n");
        return 64;
    }
    random_seed(&random, 1);

    struct loop *loop = loop_libevent_new(&err);
    struct http *http = loop ? http_curl_new(loop, NULL, &err) : NULL;
    struct world world = { .loop = loop, .http = http, .random = &random };
    const struct kube_cluster_settings own = { .kubeconfig = argv[1] };
    const struct cluster_settings settings = { .name = "it",
                                               .kind = &cluster_kubernetes,
                                               .own = &own };
    struct cluster *cluster = http ? cluster_open(&world, &settings, &err) : NULL;

    if (!cluster)
        fail(err.text);
    cluster_watch(cluster, nothing, NULL);
    for (int64_t ms = 0; !cluster_snapshot(cluster)->is_known; ms += LOOK_MS) {
        if (ms >= PATIENCE_MS)
            fail(cluster_trouble(cluster));
        loop_run_until(loop, loop_now(loop) + LOOK_MS);
    }
    print_pods(cluster_snapshot(cluster));
    cluster_close(cluster);
    http_free(http);
    loop_free(loop);
    return 0;
}
