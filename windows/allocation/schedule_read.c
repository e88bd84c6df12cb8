/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading a schedule that a person may have edited: every number and every key is checked.
 */
#include "base/input/yaml.h"
#include "windows/allocation/schedule.h"

#include <string.h>

enum { REPLICAS_MAX = 1000 * 1000, NODES_MAX = 1000 * 1000 };

static int read_workload(const struct yaml_node *workload, struct schedule *schedule,
                         struct error *err)
{
    if (yaml_expect(workload, YAML_MAPPING, err) < 0)
        return -1;
    for (size_t i = 0; i < workload->count; i++) {
        const struct yaml_node *cluster = &workload->children[i];
        int64_t replicas;

        if (yaml_int(cluster, 0, REPLICAS_MAX, &replicas, err) < 0)
            return -1;
        schedule_set_replicas(schedule, workload->key, cluster->key, (int)replicas)->line =
            cluster->line;
    }
    return 0;
}

/* The node below `region` that names a cluster. */
static int read_nodes(const struct yaml_node *cluster, struct schedule *schedule, struct error *err)
{
    int counts[SCHEDULE_ZONES_MAX];

    if (yaml_expect(cluster, YAML_MAPPING, err) < 0)
        return -1;

    const struct yaml_node *list = yaml_get(cluster, "counts");

    if (!list || cluster->count != 1)
        return yaml_error(err, cluster, "expected one key, \"counts\"");
    if (yaml_expect(list, YAML_SEQUENCE, err) < 0)
        return -1;
    if (list->count == 0 || list->count > SCHEDULE_ZONES_MAX)
        return yaml_error(err, list, "expected 1 to %d numbers, one a zone, found %zu",
                          SCHEDULE_ZONES_MAX, list->count);
    for (size_t i = 0; i < list->count; i++) {
        int64_t count;

        if (yaml_int(&list->children[i], 0, NODES_MAX, &count, err) < 0)
            return -1;
        counts[i] = (int)count;
    }

    const struct yaml_node *region = cluster->parent;

    const struct schedule_path path = { region->parent->key, region->key, cluster->key };

    schedule_set_nodes(schedule, path, counts, list->count)->line = list->line;
    return 0;
}

static int read_machine(const struct yaml_node *machine, struct schedule *schedule,
                        struct error *err)
{
    if (yaml_expect(machine, YAML_MAPPING, err) < 0)
        return -1;
    for (size_t i = 0; i < machine->count; i++) {
        const struct yaml_node *region = &machine->children[i];

        if (yaml_expect(region, YAML_MAPPING, err) < 0)
            return -1;
        for (size_t at = 0; at < region->count; at++)
            if (read_nodes(&region->children[at], schedule, err) < 0)
                return -1;
    }
    return 0;
}

static int read_root(const struct yaml_node *root, struct schedule *schedule, struct error *err)
{
    if (yaml_expect(root, YAML_MAPPING, err) < 0)
        return -1;
    if (root->count == 0)
        return yaml_error(err, root, "holds neither \"workloads\" nor \"compute\"");
    for (size_t i = 0; i < root->count; i++) {
        const struct yaml_node *part = &root->children[i];
        bool is_workloads = text_equal(part->key, "workloads");

        if (!is_workloads && !text_equal(part->key, "compute"))
            return yaml_error(err, part, "unknown key; \"workloads\" and \"compute\" are known");
        if (yaml_expect(part, YAML_MAPPING, err) < 0)
            return -1;
        for (size_t at = 0; at < part->count; at++)
            if ((is_workloads ? read_workload : read_machine)(&part->children[at], schedule, err) <
                0)
                return -1;
    }
    return 0;
}

static struct schedule *from_document(const struct yaml_document *document, struct error *err)
{
    owned(schedule) struct schedule *schedule = schedule_new();

    if (read_root(yaml_root(document), schedule, err) < 0)
        return NULL;
    return steal(&schedule);
}

struct schedule *schedule_parse(const char *bytes, size_t size, const char *source,
                                struct error *err)
{
    owned(yaml_document) struct yaml_document *document = yaml_parse(bytes, size, source, err);

    return document ? from_document(document, err) : NULL;
}

struct schedule *schedule_read(const char *path, struct error *err)
{
    owned(yaml_document) struct yaml_document *document = yaml_read(path, err);

    return document ? from_document(document, err) : NULL;
}
