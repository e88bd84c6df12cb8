/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice validate: is what people wrote correct, and do schedules and configuration agree?  It
 * reports every file's first mistake, not only the first file's.
 */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "broker/cli/commands.h"
#include "broker/fleet/config.h"
#include "windows/schedule.h"

#include <stdio.h>
#include <string.h>

const struct command_option validate_options[] = { { 0 } };

const char validate_examples[] = "sluice validate\n"
                                 "sluice validate schedules/weekday-peak.yaml\n"
                                 "sluice validate --config staging/sluice.yaml\n";

const char validate_text[] =
    "Without files: the configuration and the schedules of all its windows.  With files: those; a\n"
    "file with a key `clusters` is a configuration, any other a schedule, which is then also held\n"
    "against the configuration where there is one.  Exit code 1 when a file has a mistake.\n"
    "\n"
    "JSON: is_valid, files: [{path, kind (config, schedule), is_valid, error (null, or with file,\n"
    "line and key)}].\n";

struct validation {
    const struct config *config; /* NULL: schedules are checked for themselves */
    json_t *files;
    bool is_valid;
};

static void add_result(struct validation *validation, const char *path, const char *kind,
                       const struct error *err)
{
    bool is_valid = err->kind == ERROR_NONE;

    validation->is_valid = validation->is_valid && is_valid;
    json_array_append_new(validation->files,
                          json_make("{s:s, s:s, s:b, s:o}", "path", path, "kind", kind, "is_valid",
                                    is_valid, "error",
                                    is_valid ? json_null() : json_string(err->text)));
}

static const struct config_workload *find_workload(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->workload_count; i++)
        if (text_equal(config->workloads[i].name, name))
            return &config->workloads[i];
    return NULL;
}

static int check_replicas(const struct config *config, const struct schedule *schedule,
                          const char *path, struct error *err)
{
    for (size_t i = 0; i < schedule->replicas_count; i++) {
        const struct schedule_replicas *item = &schedule->replicas[i];
        const struct config_workload *workload = find_workload(config, item->workload);
        bool runs_there = false;

        if (!workload)
            return error_set(err, ERROR_INVALID,
                             "%s: workloads.%s: the configuration has no such workload", path,
                             item->workload);
        for (size_t at = 0; at < workload->share_count; at++)
            runs_there = runs_there ||
                         text_equal(workload->shares[at].cluster->name, item->cluster);
        if (!runs_there)
            return error_set(err, ERROR_INVALID,
                             "%s: workloads.%s.%s: the workload does not run in that cluster", path,
                             item->workload, item->cluster);
    }
    return 0;
}

/* Nodes that the schedule gives to one reservation, over all clusters. */
static int64_t nodes_in(const struct schedule *schedule,
                        const struct config_reservation *reservation)
{
    int64_t sum = 0;

    for (size_t i = 0; i < schedule->nodes_count; i++)
        if (text_equal(schedule->nodes[i].machine, reservation->machine) &&
            text_equal(schedule->nodes[i].region, reservation->region) &&
            reservation->zone_index < schedule->nodes[i].zone_count)
            sum += schedule->nodes[i].counts[reservation->zone_index];
    return sum;
}

/* Whether the cluster has a pool of that machine in that zone of the region. */
static bool has_pool(const struct config *config, const struct schedule_nodes *nodes, size_t zone)
{
    for (size_t i = 0; i < config->pool_count; i++) {
        const struct config_pool *pool = &config->pools[i];

        if (text_equal(pool->cluster->name, nodes->cluster) &&
            text_equal(pool->reservation->machine, nodes->machine) &&
            text_equal(pool->reservation->region, nodes->region) &&
            pool->reservation->zone_index == zone)
            return true;
    }
    return false;
}

static int check_nodes(const struct config *config, const struct schedule *schedule,
                       const char *path, struct error *err)
{
    for (size_t i = 0; i < schedule->nodes_count; i++) {
        const struct schedule_nodes *nodes = &schedule->nodes[i];

        for (size_t zone = 0; zone < nodes->zone_count; zone++)
            if (nodes->counts[zone] > 0 && !has_pool(config, nodes, zone))
                return error_set(err, ERROR_INVALID,
                                 "%s: compute.%s.%s.%s.counts[%zu]: the cluster has no pool there",
                                 path, nodes->machine, nodes->region, nodes->cluster, zone);
    }
    for (size_t i = 0; i < config->reservation_count; i++) {
        const struct config_reservation *reservation = &config->reservations[i];
        int64_t sum = nodes_in(schedule, reservation);

        if (sum > reservation->nodes)
            return error_set(err, ERROR_INVALID,
                             "%s: compute.%s.%s: %lld nodes in zone %s, but reservation %s has "
                             "%lld",
                             path, reservation->machine, reservation->region, (long long)sum,
                             reservation->zone, reservation->name, (long long)reservation->nodes);
    }
    return 0;
}

static void validate_schedule(struct validation *validation, const char *path)
{
    struct error err = { 0 };
    owned(schedule) struct schedule *schedule = schedule_read(path, &err);

    if (schedule && validation->config &&
        check_replicas(validation->config, schedule, path, &err) == 0)
        (void)check_nodes(validation->config, schedule, path, &err);
    add_result(validation, path, "schedule", &err);
}

static void validate_config(struct validation *validation, const char *path)
{
    struct error err = { 0 };
    owned(config) struct config *config = config_read(path, &err);

    require(config || err.kind != ERROR_NONE);
    add_result(validation, path, "config", &err);
}

static bool is_config(const char *path)
{
    owned(yaml_document) struct yaml_document *document = yaml_read(path, NULL);

    return document && yaml_root(document)->kind == YAML_MAPPING &&
           yaml_get(yaml_root(document), "clusters");
}

static void validate_all(struct validation *validation, const char *path)
{
    struct error err = { 0 };
    owned(config) struct config *config = config_read(path, &err);

    add_result(validation, path, "config", &err);
    if (!config)
        return;
    validation->config = config;
    for (size_t i = 0; i < config->windows->count; i++) {
        owned(chars) char *file = text_format("%s/%s.yaml", config->schedules,
                                              config->windows->items[i].name);

        validate_schedule(validation, file);
    }
    validation->config = NULL;
}

static int print_result(struct command_call *call, const struct validation *validation)
{
    if (text_equal(call_text_or(call, "output", "table"), "json")) {
        owned(json) json_t *root = json_make("{s:b, s:O}", "is_valid", validation->is_valid,
                                             "files", validation->files);
        owned(chars) char *text = json_print_pretty(root);

        fputs(text, stdout);
    } else {
        for (size_t i = 0; i < json_array_size(validation->files); i++) {
            const json_t *file = json_array_get(validation->files, i);

            if (json_bool_or(file, "is_valid", false))
                printf("%s: good\n", json_text_or(file, "path", ""));
            else
                fprintf(stderr, "%s\n", json_text_or(file, "error", ""));
        }
    }
    return validation->is_valid ? EXIT_DONE : EXIT_ERROR;
}

int cmd_validate(struct command_call *call)
{
    owned(json) json_t *files = json_array();
    struct validation validation = { .files = files, .is_valid = true };
    struct error err = { 0 };
    owned(chars) char *path = config_find(call_text(call, "config"), &err);

    if (call_argument_count(call) == 0) {
        if (!path)
            return call_fail(call, EXIT_ERROR, &err);
        validate_all(&validation, path);
        return print_result(call, &validation);
    }

    /* A configuration that is not there or broken is the business of those who ask for it. */
    owned(config) struct config *config = path ? config_read(path, NULL) : NULL;

    validation.config = config;
    for (size_t i = 0; i < call_argument_count(call); i++)
        (is_config(call_argument(call, i)) ? validate_config : validate_schedule)(
            &validation, call_argument(call, i));
    return print_result(call, &validation);
}
