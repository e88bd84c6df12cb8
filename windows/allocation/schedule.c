/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The schedule as a value: two sorted tables, and the file's text made from them.
 */
#include "windows/allocation/schedule.h"

#include <string.h>

struct schedule *schedule_new(void)
{
    return mem_new(sizeof(struct schedule));
}

void schedule_free(struct schedule *schedule)
{
    if (!schedule)
        return;
    for (size_t i = 0; i < schedule->replicas_count; i++) {
        mem_free(schedule->replicas[i].workload);
        mem_free(schedule->replicas[i].cluster);
    }
    for (size_t i = 0; i < schedule->nodes_count; i++) {
        mem_free(schedule->nodes[i].machine);
        mem_free(schedule->nodes[i].region);
        mem_free(schedule->nodes[i].cluster);
    }
    mem_free(schedule->replicas);
    mem_free(schedule->nodes);
    mem_free(schedule);
}

static int compare_replicas(const struct schedule_replicas *item, const char *workload,
                            const char *cluster)
{
    int order = strcmp(item->workload, workload);

    return order != 0 ? order : strcmp(item->cluster, cluster);
}

static int compare_nodes(const struct schedule_nodes *item, struct schedule_path path)
{
    int order = strcmp(item->machine, path.machine);

    if (order == 0)
        order = strcmp(item->region, path.region);
    return order != 0 ? order : strcmp(item->cluster, path.cluster);
}

struct schedule_replicas *schedule_set_replicas(struct schedule *schedule, const char *workload,
                                                const char *cluster, int replicas)
{
    size_t at = 0;

    while (at < schedule->replicas_count &&
           compare_replicas(&schedule->replicas[at], workload, cluster) < 0)
        at++;
    if (at == schedule->replicas_count ||
        compare_replicas(&schedule->replicas[at], workload, cluster) != 0) {
        schedule->replicas = mem_resize(schedule->replicas, schedule->replicas_count + 1,
                                        sizeof *schedule->replicas);
        memmove(&schedule->replicas[at + 1], &schedule->replicas[at],
                (schedule->replicas_count - at) * sizeof *schedule->replicas);
        schedule->replicas_count++;
        schedule->replicas[at] = (struct schedule_replicas){
            .workload = mem_copy_chars(workload),
            .cluster = mem_copy_chars(cluster),
        };
    }
    schedule->replicas[at].replicas = replicas;
    return &schedule->replicas[at];
}

struct schedule_nodes *schedule_set_nodes(struct schedule *schedule, struct schedule_path path,
                                          const int *counts, size_t zone_count)
{
    size_t at = 0;

    require(zone_count <= SCHEDULE_ZONES_MAX);
    while (at < schedule->nodes_count && compare_nodes(&schedule->nodes[at], path) < 0)
        at++;
    if (at == schedule->nodes_count || compare_nodes(&schedule->nodes[at], path) != 0) {
        schedule->nodes = mem_resize(schedule->nodes, schedule->nodes_count + 1,
                                     sizeof *schedule->nodes);
        memmove(&schedule->nodes[at + 1], &schedule->nodes[at],
                (schedule->nodes_count - at) * sizeof *schedule->nodes);
        schedule->nodes_count++;
        schedule->nodes[at] = (struct schedule_nodes){
            .machine = mem_copy_chars(path.machine),
            .region = mem_copy_chars(path.region),
            .cluster = mem_copy_chars(path.cluster),
        };
    }
    memcpy(schedule->nodes[at].counts, counts, zone_count * sizeof *counts);
    schedule->nodes[at].zone_count = zone_count;
    return &schedule->nodes[at];
}

int schedule_replicas_of(const struct schedule *schedule, const char *workload, const char *cluster)
{
    for (size_t i = 0; i < schedule->replicas_count; i++)
        if (compare_replicas(&schedule->replicas[i], workload, cluster) == 0)
            return schedule->replicas[i].replicas;
    return -1;
}

int schedule_nodes_of(const struct schedule *schedule, const char *machine, const char *region,
                      const char *cluster, size_t zone)
{
    for (size_t i = 0; i < schedule->nodes_count; i++)
        if (compare_nodes(&schedule->nodes[i],
                          (struct schedule_path){ machine, region, cluster }) == 0)
            return zone < schedule->nodes[i].zone_count ? schedule->nodes[i].counts[zone] : -1;
    return -1;
}

/* A header line is a comment; an empty one is a bare "#". */
static void print_header(const char *header, struct text *out)
{
    while (header && *header) {
        size_t length = strcspn(header, "\n");

        text_add(out, length > 0 ? "# %.*s\n" : "#\n", (int)length, header);
        header += length + (header[length] == '\n');
    }
}

/* A key that YAML could read as another type is quoted. */
static void print_key(const char *indent, const char *key, struct text *out)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
    bool is_plain = key[0] != '-' && key[0] != '\0' && key[strspn(key, plain)] == '\0';

    if (is_plain) {
        text_add(out, "%s%s:", indent, key);
        return;
    }
    text_add(out, "%s\"", indent);
    for (; *key; key++)
        text_add(out, *key == '"' || *key == '\\' ? "\\%c" : "%c", *key);
    text_add(out, "\":");
}

static void print_nodes(const struct schedule *schedule, struct text *out)
{
    const struct schedule_nodes *last = NULL;

    for (size_t i = 0; i < schedule->nodes_count; i++) {
        const struct schedule_nodes *item = &schedule->nodes[i];
        bool is_new = !last || strcmp(last->machine, item->machine) != 0;

        if (is_new) {
            print_key("  ", item->machine, out);
            text_add(out, "\n");
        }
        if (is_new || strcmp(last->region, item->region) != 0) {
            print_key("    ", item->region, out);
            text_add(out, "\n");
        }
        print_key("      ", item->cluster, out);
        text_add(out, "\n        counts: [");
        for (size_t zone = 0; zone < item->zone_count; zone++)
            text_add(out, "%s%d", zone > 0 ? ", " : "", item->counts[zone]);
        text_add(out, "]\n");
        last = item;
    }
}

void schedule_print(const struct schedule *schedule, const char *header, struct text *out)
{
    const char *last = NULL;

    print_header(header, out);
    text_add(out, schedule->replicas_count > 0 ? "workloads:\n" : "workloads: {}\n");
    for (size_t i = 0; i < schedule->replicas_count; i++) {
        const struct schedule_replicas *item = &schedule->replicas[i];

        if (!last || strcmp(last, item->workload) != 0) {
            print_key("  ", item->workload, out);
            text_add(out, "\n");
        }
        print_key("    ", item->cluster, out);
        text_add(out, " %d\n", item->replicas);
        last = item->workload;
    }
    text_add(out, schedule->nodes_count > 0 ? "compute:\n" : "compute: {}\n");
    print_nodes(schedule, out);
}
