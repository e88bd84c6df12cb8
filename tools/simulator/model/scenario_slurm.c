/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The clusters of kind slurm:
 *     slurm: { research-a: { release: '22.05', nodes: fixed, scancel: 20s,
 *                            return_to_service: 0,
 *                            power_saving: true,
 *                            sockets: { tokens: /run/a, local: /run/b },
 *                            sliced: { s1: { a100: 1, 3g.20gb: 1 } } } }
 * release: '22.05' or '24.11' (the default).  nodes: `dynamic` (the default) or `fixed`, those of
 * slurm.conf, whose names stay when their machines go.  scancel: how long the command takes; as any
 * other if absent.  return_to_service: 0, 1 or 2 (the default), as ReturnToService in slurm.conf.
 * power_saving: nodes are CLOUD, and can be powered down and up.  sockets: of slurmrestd; `tokens`
 * takes tokens, `local` knows its caller.  sliced: nodes of slurm.conf whose GPUs are cut into
 * slices, with how many of each type; they are in the partition `slices`, and no machine of a pool.
 */
#include "base/text.h"
#include "base/timestamp.h"
#include "tools/simulator/model/scenario.h"

#include <string.h>

static const struct {
    const char *text;
    int release;
} releases[] = { { "24.11", 2411 }, { "22.05", 2205 } };

static const char *text_at(const struct yaml_node *mapping, const char *key, const char *otherwise)
{
    const struct yaml_node *node = mapping ? yaml_get(mapping, key) : NULL;
    const char *text = otherwise;
    struct error err;

    return node && yaml_text(node, &text, &err) < 0 ? "?" : text;
}

enum { GPUS_MOST = 64, TYPES_MOST = 8 };

static int read_sliced(const struct yaml_node *sliced, struct error *err)
{
    if (yaml_expect(sliced, YAML_MAPPING, err) < 0)
        return -1;
    for (size_t i = 0; i < sliced->count; i++) {
        const struct yaml_node *own = &sliced->children[i];
        int64_t sum = 0;

        if (yaml_expect(own, YAML_MAPPING, err) < 0)
            return -1;
        for (size_t k = 0; k < own->count; k++) {
            int64_t count;

            if (yaml_int(&own->children[k], 1, GPUS_MOST, &count, err) < 0)
                return -1;
            sum += count;
        }
        if (own->count == 0 || own->count > TYPES_MOST || sum > GPUS_MOST)
            return yaml_error(err, own, "one to %d types, and at most %d slices and GPUs",
                              TYPES_MOST, GPUS_MOST);
    }
    return 0;
}

static int read_one(struct scenario_cluster *cluster, const struct yaml_node *own,
                    struct error *err)
{
    const char *release = text_at(own, "release", releases[0].text);
    const char *nodes = text_at(own, "nodes", "dynamic");
    const char *returns = text_at(own, "return_to_service", "2");
    const struct yaml_node *sockets = own ? yaml_get(own, "sockets") : NULL;
    const struct yaml_node *power = own ? yaml_get(own, "power_saving") : NULL;
    const struct yaml_node *scancel = own ? yaml_get(own, "scancel") : NULL;

    for (size_t i = 0; i < COUNT_OF(releases); i++)
        if (text_equal(releases[i].text, release))
            cluster->slurm = releases[i].release;
    if (cluster->slurm == 0)
        return yaml_error(err, own, "the simulator plays Slurm 22.05 and 24.11");
    cluster->has_fixed_nodes = text_equal(nodes, "fixed");
    if (!cluster->has_fixed_nodes && !text_equal(nodes, "dynamic"))
        return yaml_error(err, own, "nodes: fixed or dynamic");
    if (strlen(returns) != 1 || !strchr("012", returns[0]))
        return yaml_error(err, own, "return_to_service: 0, 1 or 2");
    if (sockets && yaml_expect(sockets, YAML_MAPPING, err) < 0)
        return -1;
    if (power && yaml_bool(power, &cluster->saves_power, err) < 0)
        return -1;
    cluster->return_to_service = returns[0] - '0';
    cluster->token_socket = text_at(sockets, "tokens", NULL);
    cluster->local_socket = text_at(sockets, "local", NULL);
    cluster->sliced = own ? yaml_get(own, "sliced") : NULL;
    if (cluster->sliced && read_sliced(cluster->sliced, err) < 0)
        return -1;
    return scancel ? yaml_duration(scancel, 0, HOUR_MS, &cluster->scancel_ms, err) : 0;
}

int scenario_read_slurm(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *map = yaml_get(yaml_root(scenario->world), "slurm");
    const struct yaml_node *clusters = yaml_get(yaml_root(scenario->config), "clusters");

    for (size_t i = 0; i < scenario->clusters.count; i++) {
        struct scenario_cluster *cluster = &scenario->clusters.items[i];

        cluster->settings = yaml_get(clusters, cluster->name);
        if (text_equal(text_at(cluster->settings, "kind", ""), "slurm") &&
            read_one(cluster, map ? yaml_get(map, cluster->name) : NULL, err) < 0)
            return -1;
    }
    return 0;
}
