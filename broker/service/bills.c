/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The transfers of a plan, for people: the loss of each node and its blockers; the bill of all with
 * the cost of their alternatives; the record of each team's losses; and the forecast that the
 * schedules in force were planned for.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/planning/forecast_check.h"
#include "broker/service/service_parts.h"

#include <string.h>

static const char record_id[] = "teams";

static json_t *hours(int64_t gpu_s)
{
    return gpu_s < 0 ? json_null() : json_real((double)gpu_s / 3600.0);
}

static json_t *describe_gangs(const struct plan_input *input, const struct victim_bill *bill)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < bill->gang_count; i++) {
        const struct victim_gang *gang = &input->gangs[bill->gangs[i]];

        json_array_append_new(rows,
                              json_make("{ss ss ss sI so}", "kind", gang->kind, "gang", gang->name,
                                        "team", gang->team, "gpus", (json_int_t)gang->gpus,
                                        "lost_gpu_hours", hours(gang->lost_gpu_s)));
    }
    return rows;
}

/* The teams, in the order of their dearest gangs. */
static json_t *describe_teams(const struct plan_input *input, const struct victim_bill *bill)
{
    owned(json) json_t *sums = json_object();
    json_t *rows = json_array();
    const char *team;
    json_t *sum;

    for (size_t i = 0; i < bill->gang_count; i++) {
        const struct victim_gang *gang = &input->gangs[bill->gangs[i]];

        json_put(sums, gang->team,
                 json_integer(json_integer_value(json_object_get(sums, gang->team)) +
                              (json_int_t)gang->lost_gpu_s));
    }
    json_object_foreach(sums, team, sum) {
        json_array_append_new(rows, json_make("{ss so}", "team", team, "lost_gpu_hours",
                                              hours(json_integer_value(sum))));
    }
    return rows;
}

json_t *bill_describe(const struct plan_input *input, const struct plan *plan, enum bill_part part)
{
    struct plan_bill bill;
    json_t *described;

    plan_bill(input, plan, part, &bill);
    described = json_make(
        "{so sI sI so so sI sb s{so so so so}}", "lost_gpu_hours", hours(bill.bill.lost_gpu_s),
        "nodes", (json_int_t)bill.node_count, "idle_nodes", (json_int_t)bill.bill.idle_nodes,
        "gangs", describe_gangs(input, &bill.bill), "teams", describe_teams(input, &bill.bill),
        "blocks_broken", (json_int_t)bill.bill.blocks_broken, "is_exact", (int)bill.is_exact,
        "alternatives", "random_gpu_hours", hours(bill.rival_gpu_s[RIVAL_RANDOM]),
        "oldest_first_gpu_hours", hours(bill.rival_gpu_s[RIVAL_OLDEST]), "node_greedy_gpu_hours",
        hours(bill.rival_gpu_s[RIVAL_NODE_GREEDY]), "next_best_gpu_hours",
        hours(bill.next_best_gpu_s));
    victim_bill_clear(&bill.bill);
    return described;
}

static int load_losses(void *context, const char *id, uint64_t rev, const json_t *value,
                       struct error *err)
{
    struct service *service = context;

    if (!text_equal(id, record_id))
        return 0;
    if (losses_decode(&service->losses, value, err) < 0) {
        err->kind = ERROR_CORRUPT;
        return -1;
    }
    service->losses.rev = rev;
    return 0;
}

int bills_load(struct service *service, struct error *err)
{
    return journal_load(service->world->journal, "losses", load_losses, service, err);
}

/* Charges the teams that the transfers take work from, each gang once. */
static bool charge_gangs(struct service *service, struct survey *survey,
                         const struct plan_transfer *const *transfers, size_t count)
{
    struct wall_time now = loop_wall(service->world->loop);
    bool is_charged = false;

    for (size_t i = 0; i < count; i++) {
        const struct victim_node *node = &transfers[i]->node->facts;

        for (size_t k = 0; k < node->gang_count; k++) {
            struct victim_gang *gang = &survey->gangs.gangs.items[node->gangs[k]];

            require(gang->lost_gpu_s >= 0);
            if (gang->is_sunk || gang->lost_gpu_s == 0 ||
                transfers[i]->source->cluster->role != ROLE_RESEARCH)
                continue;
            gang->is_sunk = true;
            losses_add(&service->losses, gang->team, (double)gang->lost_gpu_s, now);
            meters_charge(service, transfers[i]->source, (double)gang->lost_gpu_s);
            is_charged = true;
        }
    }
    return is_charged;
}

void bills_charge(struct service *service, struct survey *survey,
                  const struct plan_transfer *const *transfers, size_t count)
{
    struct journal_batch *batch;
    owned(json) json_t *value = NULL;
    struct error err;

    if (!charge_gangs(service, survey, transfers, count))
        return;
    value = losses_encode(&service->losses);
    batch = journal_batch_new(service->epoch);
    journal_put(batch, "losses", record_id, service->losses.rev, value);
    if (journal_commit(service->world->journal, &batch, &err) < 0)
        runner_break(service->runner, &err);
    else
        service->losses.rev++;
    meters_store(service);
}

/* ---- the transfers ---- */

/* The blockers of the plan's nodes that leave the cluster, in the plan's order. */
static json_t *blockers_of(const struct service *service, const struct config_cluster *cluster,
                           const struct plan *plan)
{
    const char **nodes = mem_new_array(plan->transfers.count, sizeof *nodes);
    size_t count = 0;
    json_t *rows;

    for (size_t i = 0; i < plan->transfers.count; i++)
        if (plan->transfers.items[i].source->cluster == cluster)
            nodes[count++] = plan->transfers.items[i].node->facts.name;
    rows = side_of(service->runner, cluster)
               ->blockers(service->runner, cluster, nodes, count,
                          service->config->drain.deadline_ms);
    mem_free(nodes);
    return rows;
}

static json_t *describe_move(const struct plan_transfer *transfer)
{
    return json_make("{ss ss ss sf so sb}", "node", transfer->node->facts.name, "from",
                     transfer->source->name, "to", transfer->target->name, "lost_gpu_hours",
                     (double)transfer->lost_gpu_s / 3600.0, "due", json_wall(transfer->due),
                     "is_emergency", (int)transfer->is_emergency);
}

json_t *moves_describe(const struct plan *plan, enum bill_part part)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < plan->transfers.count; i++)
        if (part == BILL_ALL || plan->transfers.items[i].is_emergency)
            json_array_append_new(rows, describe_move(&plan->transfers.items[i]));
    return rows;
}

json_t *moves_describe_blocked(const struct service *service, const struct plan *plan,
                               enum bill_part part)
{
    const struct config *config = service->config;
    owned(json) json_t *blockers = json_array(); /* as config->clusters */
    size_t *next = mem_new_array(config->cluster_count, sizeof *next);
    json_t *rows = json_array();

    for (size_t i = 0; i < config->cluster_count; i++)
        json_array_append_new(blockers, blockers_of(service, &config->clusters[i], plan));
    for (size_t i = 0; i < plan->transfers.count; i++) {
        const struct plan_transfer *transfer = &plan->transfers.items[i];
        size_t cluster = (size_t)(transfer->source->cluster - config->clusters);
        json_t *found = json_array_get(json_array_get(blockers, cluster), next[cluster]++);
        json_t *row;

        if (part != BILL_ALL && !transfer->is_emergency)
            continue;
        row = describe_move(transfer);
        json_object_set(row, "blockers", found);
        json_array_append_new(rows, row);
    }
    for (size_t i = 0; i < config->cluster_count; i++) /* each node had its row */
        require(json_array_size(json_array_get(blockers, i)) == next[i]);
    mem_free(next);
    return rows;
}

/* ---- what the schedules were planned for: for people, nothing is decided by it ---- */

static const char forecast_id[] = "in_force";

int forecast_decode(const struct service *service, const json_t *schedules,
                    struct forecast_file **ret_file, struct error *err)
{
    const json_t *value = json_object_get(schedules, FORECAST_FILE_NAME);
    const char *chars = json_string_value(value);
    owned(forecast_file) struct forecast_file *file = NULL;

    *ret_file = NULL;
    if (!value)
        return 0;
    if (!chars)
        return error_set(err, ERROR_INVALID,
                         "schedules/" FORECAST_FILE_NAME ": expected the text of a file");
    file = forecast_file_parse(chars, strlen(chars), FORECAST_FILE_NAME, err);
    if (!file || forecast_check(service->config, file, FORECAST_FILE_NAME, err) < 0)
        return -1;
    *ret_file = steal(&file);
    return 0;
}

void forecast_put(const struct service *service, const json_t *schedules,
                  struct journal_batch *batch)
{
    const json_t *text = json_object_get(schedules, FORECAST_FILE_NAME);
    owned(json) json_t *value = NULL;

    if (!text && service->forecast_rev == 0)
        return; /* there was none, and there is none */
    value = json_make("{ss}", "text", text ? json_string_value(text) : "");
    journal_put(batch, "forecast", forecast_id, service->forecast_rev, value);
}

void forecast_set(struct service *service, struct forecast_file *file)
{
    if (file || service->forecast_rev > 0)
        service->forecast_rev++;
    forecast_file_free(service->forecast);
    service->forecast = file;
}

static int load_forecast(void *context, const char *id, uint64_t rev, const json_t *value,
                         struct error *err)
{
    struct service *service = context;
    const char *text;

    if (!text_equal(id, forecast_id))
        return 0;
    if (json_need_text(value, "text", &text, err) < 0)
        return -1;
    if (text[0] != '\0') {
        service->forecast = forecast_file_parse(text, strlen(text), "forecast", err);
        if (!service->forecast) {
            err->kind = ERROR_CORRUPT; /* it is set aside, and its place is empty */
            return -1;
        }
    }
    service->forecast_rev = rev;
    return 0;
}

int forecast_load(struct service *service, struct error *err)
{
    return journal_load(service->world->journal, "forecast", load_forecast, service, err);
}

json_t *service_forecast(const struct service *service)
{
    return forecast_describe(service->config, service->forecast, loop_wall(service->world->loop));
}
