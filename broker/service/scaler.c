/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas: each workload's Deployment in each cluster has the number that the schedules in force
 * (and those within reach) want.  Level-triggered: read, compare, write when different.  A write is
 * journaled before and after, and repeating it is harmless, because it names the number itself.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"

enum { READ_MS = 60 * SECOND_MS, SOON_MS = 5 * SECOND_MS };

struct scale {
    struct scaler *scaler;
    const struct config_workload *workload;
    const struct config_cluster *cluster;
    int64_t replicas; /* as last read; -1: unknown */
    int64_t wanted;   /* -1: no schedule names it */
    bool is_under_way;
    int64_t read_ms; /* when the last read was asked for */
    int64_t not_before_ms;
    char trouble[256];
    uint64_t rev;
};

struct scaler {
    struct service *service;
    struct scale *scales;
    size_t count;
};

static char *scale_id(const struct scale *scale)
{
    return text_format("%s@%s", scale->workload->name, scale->cluster->name);
}

static void look_again(struct scale *scale, int64_t delay_ms)
{
    struct service *service = scale->scaler->service;

    scale->is_under_way = false;
    scale->not_before_ms = loop_now(service->world->loop) + delay_ms;
    timer_set_sooner(service->timer, delay_ms);
}

static void note_trouble(struct scale *scale, const struct error *err)
{
    if (!text_equal(scale->trouble, err->text))
        log_warn("scale_failed", FIELD_TEXT("workload", scale->workload->name),
                 FIELD_TEXT("cluster", scale->cluster->name), FIELD_TEXT("text", err->text));
    text_copy(scale->trouble, sizeof scale->trouble, err->text);
    look_again(scale, err->retry_after_ms > READ_MS ? err->retry_after_ms : READ_MS);
}

static void read_answered(void *context, const json_t *body, const struct error *err)
{
    struct scale *scale = context;
    struct error broken;
    int64_t replicas = 0; /* absent in a scale means zero */

    if (err)
        return note_trouble(scale, err);
    if (json_find_int(body, "spec/replicas", &replicas, &broken) < 0)
        return note_trouble(scale, &broken);
    scale->replicas = replicas;
    scale->trouble[0] = '\0';
    look_again(scale, replicas == scale->wanted ? READ_MS : 0);
}

static int store(struct scale *scale, const char *state, const char *outcome, struct error *err)
{
    struct service *service = scale->scaler->service;
    struct journal_batch *batch = journal_batch_new(service->epoch);
    owned(chars) char *id = scale_id(scale);
    owned(json) json_t *value = json_make(
        "{ss ss sI ss ss}", "workload", scale->workload->name, "cluster", scale->cluster->name,
        "replicas", (json_int_t)scale->wanted, "state", state, "outcome", outcome);

    journal_put(batch, "scale", id, scale->rev, value);
    if (text_equal(state, "intent")) {
        owned(json) json_t *event = json_make(
            "{ss ss ss sI sI}", "event", "scale", "workload", scale->workload->name, "cluster",
            scale->cluster->name, "from", (json_int_t)scale->replicas, "to",
            (json_int_t)scale->wanted);

        journal_event(batch, loop_wall(service->world->loop), event);
    }
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return -1;
    }
    scale->rev++;
    return 0;
}

static void write_answered(void *context, const json_t *body, const struct error *err)
{
    struct scale *scale = context;
    struct error broken;

    (void)body;
    if (store(scale, "answered", error_kind_name(err ? err->kind : ERROR_NONE), &broken) < 0)
        return;
    /* Accepted or not: what counts is what the next read says. */
    scale->replicas = -1;
    if (err)
        note_trouble(scale, err);
    else
        look_again(scale, SOON_MS);
}

static void advance(struct scale *scale)
{
    struct service *service = scale->scaler->service;
    struct cluster *cluster = fleet_cluster(service->fleet, scale->cluster);
    int64_t now = loop_now(service->world->loop);
    struct reach reach = survey_reach(service, scale->cluster);
    struct target target = target_replicas(service->config, service->book, scale->workload,
                                           scale->cluster, loop_wall(service->world->loop), &reach);
    struct error err;

    if (target.wanted != scale->wanted)
        scale->not_before_ms = now;
    scale->wanted = target.wanted;
    if (scale->wanted < 0 || scale->is_under_way || now < scale->not_before_ms)
        return;
    if (scale->replicas < 0 ||
        (scale->replicas == scale->wanted && now - scale->read_ms >= READ_MS)) {
        scale->is_under_way = true;
        scale->read_ms = now;
        cluster_read_scale(cluster, scale->workload->namespace, scale->workload->name,
                           read_answered, scale);
        return;
    }
    if (scale->replicas == scale->wanted)
        return;
    if (guard_allows_effect(&service->guard, scale->cluster, false, &err) < 0)
        return;
    if (store(scale, "intent", "", &err) < 0)
        return;
    log_info("scale", FIELD_TEXT("workload", scale->workload->name),
             FIELD_TEXT("cluster", scale->cluster->name), FIELD_INT("from", scale->replicas),
             FIELD_INT("to", scale->wanted));
    scale->is_under_way = true;
    cluster_write_scale(cluster, scale->workload->namespace, scale->workload->name, scale->wanted,
                        write_answered, scale);
}

struct scaler *scaler_new(struct service *service)
{
    const struct config *config = service->config;
    struct scaler *scaler = mem_new(sizeof *scaler);
    size_t count = 0;

    for (size_t i = 0; i < config->workload_count; i++)
        count += config->workloads[i].share_count;
    scaler->service = service;
    scaler->scales = mem_new_array(count, sizeof *scaler->scales);
    for (size_t i = 0; i < config->workload_count; i++) {
        for (size_t k = 0; k < config->workloads[i].share_count; k++) {
            struct scale *scale = &scaler->scales[scaler->count++];

            scale->scaler = scaler;
            scale->workload = &config->workloads[i];
            scale->cluster = config->workloads[i].shares[k].cluster;
            scale->replicas = -1;
            scale->wanted = -1;
        }
    }
    return scaler;
}

void scaler_free(struct scaler *scaler)
{
    if (!scaler)
        return;
    mem_free(scaler->scales);
    mem_free(scaler);
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct scaler *scaler = context;

    (void)value;
    (void)err;
    for (size_t i = 0; i < scaler->count; i++) {
        owned(chars) char *own = scale_id(&scaler->scales[i]);

        if (text_equal(own, id))
            scaler->scales[i].rev = rev;
    }
    return 0;
}

int scaler_load(struct scaler *scaler, struct error *err)
{
    return journal_each(scaler->service->world->journal, "scale", load_one, scaler, err);
}

void scaler_advance(struct scaler *scaler)
{
    for (size_t i = 0; i < scaler->count && !scaler->service->runner->is_broken; i++)
        advance(&scaler->scales[i]);
}

bool scaler_is_settled(const struct scaler *scaler, const struct config_cluster *cluster)
{
    for (size_t i = 0; i < scaler->count; i++) {
        const struct scale *scale = &scaler->scales[i];

        if (scale->cluster == cluster && scale->wanted >= 0 && scale->replicas != scale->wanted)
            return false;
    }
    return true;
}

json_t *scaler_describe(const struct scaler *scaler)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < scaler->count; i++) {
        const struct scale *scale = &scaler->scales[i];

        json_array_append_new(
            rows,
            json_make("{ss ss so so ss}", "workload", scale->workload->name, "cluster",
                      scale->cluster->name, "replicas",
                      scale->replicas < 0 ? json_null() : json_integer((json_int_t)scale->replicas),
                      "wanted_replicas",
                      scale->wanted < 0 ? json_null() : json_integer((json_int_t)scale->wanted),
                      "trouble", scale->trouble));
    }
    return rows;
}
