/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measured service times and engines into the queues that ask for them.
 */
#include "broker/sizing/measures.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "windows/servers/engine_table.h"
#include "windows/servers/service_file.h"

#include <stdio.h>

/* The queues that name a histogram.  *ret_path: the table, where it is used. */
static int take_services(struct config *config, const char *demand, char **ret_path,
                         struct error *err)
{
    owned(chars) char *path = service_table_path(demand);
    owned(service_table) struct service_table *table = NULL;
    bool is_used = false;

    if (file_exists(path)) {
        table = service_table_read(path, err);
        if (!table)
            return -1;
    }
    for (size_t i = 0; i < config->queue_count; i++) {
        struct config_queue *queue = &config->queues[i];
        struct service_shape *shape = queue->service_histogram
                                          ? service_table_take(table, queue->name)
                                          : NULL;

        if (shape)
            config_set_service(queue, shape);
        else if (queue->service_histogram)
            fprintf(stderr,
                    "note: queue %s: its service time was not measured (%s does not tell); "
                    "`service` counts\n",
                    queue->name, path);
        is_used = is_used || shape;
    }
    if (is_used)
        *ret_path = steal(&path);
    return 0;
}

/* The same of queues whose engine says its metrics. */
static int take_engines(struct config *config, const char *demand, char **ret_path,
                        struct error *err)
{
    owned(chars) char *path = engine_table_path(demand);
    owned(engine_table) struct engine_table *table = NULL;
    bool is_used = false;

    if (file_exists(path)) {
        table = engine_table_read(path, err);
        if (!table)
            return -1;
    }
    for (size_t i = 0; i < config->queue_count; i++) {
        const struct config_queue *queue = &config->queues[i];
        const struct engine_measure *measure = engine_table_find(table, queue->name);

        if (!queue->engine.metrics)
            continue;
        if (measure && config_set_engine(config, i, measure, path, err) < 0)
            return -1;
        if (!measure)
            fprintf(
                stderr,
                "note: queue %s: its engine was not measured (%s does not tell); the configured "
                "one counts\n",
                queue->name, path);
        is_used = is_used || measure;
    }
    if (is_used)
        *ret_path = steal(&path);
    return 0;
}

int measures_take(struct config *config, const struct demand *demand, const char *path,
                  struct measures_used *ret, struct error *err)
{
    *ret = (struct measures_used){ 0 };
    if (take_services(config, path, &ret->services, err) < 0 ||
        take_engines(config, path, &ret->engines, err) < 0)
        return -1;
    return config_take_lengths(config, demand, err);
}

void measures_used_clear(struct measures_used *used)
{
    mem_free(used->services);
    mem_free(used->engines);
    *used = (struct measures_used){ 0 };
}
