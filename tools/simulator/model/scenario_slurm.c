/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The clusters of kind slurm:
 *     slurm: { research-a: { release: '22.05', nodes: fixed, scancel: 20s,
 *                            return_to_service: 0,
 *                            power_saving: true } }
 * release: '22.05' or '24.11' (the default).  nodes: `dynamic` (the default) or `fixed`, those of
 * slurm.conf, whose names stay when their machines go.  scancel: how long the command takes; as any
 * other if absent.  return_to_service: 0, 1 or 2 (the default), as ReturnToService in slurm.conf.
 * power_saving: nodes are CLOUD, and can be powered down and up.
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

static int read_one(struct scenario_cluster *cluster, const struct yaml_node *own,
                    struct error *err)
{
    const char *release = text_at(own, "release", releases[0].text);
    const char *nodes = text_at(own, "nodes", "dynamic");
    const char *returns = text_at(own, "return_to_service", "2");
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
    if (power && yaml_bool(power, &cluster->saves_power, err) < 0)
        return -1;
    cluster->return_to_service = returns[0] - '0';
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
