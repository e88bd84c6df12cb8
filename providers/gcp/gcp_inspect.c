/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The order of the reads, and what a refusal of one of them means.
 */
#include "providers/gcp/gcp_inspect.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/gcp/gcp_findings.h"

#include <string.h>

static const struct step {
    enum gcp_verb verb;
    void (*read)(const struct gcp_findings *findings, const json_t *body);
} steps[] = {
    { GCP_TEST_PERMISSIONS, gcp_findings_permissions },
    { GCP_READ_GROUP, gcp_findings_group },
    { GCP_LIST, gcp_findings_machines },
    { GCP_LIST_RESIZES, gcp_findings_resizes },
    { GCP_READ_NODE_POOL, gcp_findings_node_pool },
    { GCP_READ_RESERVATION, gcp_findings_reservation },
};

struct inspection {
    struct gcp_call call; /* first */
    struct gcp_client *client;
    struct gcp_pool pool; /* its texts are owned */
    finding_fn found;
    provider_done_fn done;
    void *context;
    size_t at; /* of steps */
};

static void step(struct inspection *inspection);

static void clear(struct gcp_call *call)
{
    struct gcp_pool *pool = &((struct inspection *)call)->pool;
    const char *const texts[] = { pool->project,        pool->group,     pool->zone,
                                  pool->gke_cluster,    pool->node_pool, pool->gke_location,
                                  pool->gce_reservation };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        mem_free((void *)(uintptr_t)texts[i]);
}

static void end(struct inspection *inspection, const struct error *err)
{
    provider_done_fn done = inspection->done;
    void *context = inspection->context;

    clear(&inspection->call);
    mem_free(inspection);
    done(context, "", err);
}

/* A refusal is a finding: with its permission, because that is what a person can give. */
static void report_refusal(const struct inspection *inspection, const struct error *err)
{
    const struct provider_action *action = &gcp_actions[inspection->call.verb];
    bool is_permission = inspection->call.status == 403;
    owned(chars) char *denied = text_format("Google refuses %s: %s", action->name, error_leaf(err));
    struct finding finding = {
        .verdict = FINDING_WRONG,
        .subject = is_permission ? action->permission : action->name,
        .text = denied,
        .remedy = is_permission ? "grant it to the account in the project"
                                : "correct the names under `pools` in sluice.yaml",
    };

    if (action->permission[0] == '\0') {
        finding.verdict = FINDING_DOUBTFUL;
        finding.subject = action->name;
        finding.remedy = "enable the Cloud Resource Manager API in the project";
    }
    inspection->found(inspection->context, &finding);
}

static void on_answer(struct gcp_call *call, const json_t *body, const struct error *err)
{
    struct inspection *inspection = (struct inspection *)call;
    const struct gcp_findings findings = { &inspection->pool, inspection->found,
                                           inspection->context };
    const struct step *now = &steps[inspection->at];
    bool is_refused = err && (call->status == 403 || call->status == 404) &&
                      (err->kind == ERROR_DENIED || err->kind == ERROR_NOT_FOUND);

    if (err && !is_refused) {
        end(inspection, err);
        return;
    }
    if (err)
        report_refusal(inspection, err);
    else
        now->read(&findings, body);
    if (!err && now->verb == GCP_READ_NODE_POOL && !inspection->pool.gce_reservation) {
        const char *used = gcp_reservation_of(body);

        if (used)
            inspection->pool.gce_reservation = text_format("%.*s", (int)strcspn(used, "/"), used);
    }
    inspection->at++;
    step(inspection);
}

/* NULL: nothing is to be read there. */
static char *path_of(const struct gcp_pool *pool, enum gcp_verb verb)
{
    switch (verb) {
    case GCP_TEST_PERMISSIONS:
        return url_format("/projects/%s:testIamPermissions", pool->project);
    case GCP_READ_GROUP:
        return url_format("/projects/%s/zones/%s/instanceGroupManagers/%s", pool->project,
                          pool->zone, pool->group);
    case GCP_LIST:
        return url_format("/projects/%s/zones/%s/instanceGroupManagers/%s/"
                          "listManagedInstances?maxResults=500",
                          pool->project, pool->zone, pool->group);
    case GCP_LIST_RESIZES:
        return url_format("/projects/%s/zones/%s/instanceGroupManagers/%s/resizeRequests",
                          pool->project, pool->zone, pool->group);
    case GCP_READ_NODE_POOL:
        return pool->node_pool
                   ? url_format("/projects/%s/locations/%s/clusters/%s/nodePools/%s", pool->project,
                                pool->gke_location, pool->gke_cluster, pool->node_pool)
                   : NULL;
    case GCP_READ_RESERVATION:
        return pool->gce_reservation ? url_format("/projects/%s/zones/%s/reservations/%s",
                                                  pool->project, pool->zone, pool->gce_reservation)
                                     : NULL;
    case GCP_REMOVE:
    case GCP_CREATE:
    case GCP_READ_INSTANCE:
    case GCP_VERB_COUNT:
        break;
    }
    return NULL;
}

/* Each permission once. */
static json_t *wanted_permissions(const struct gcp_pool *pool)
{
    json_t *list = json_array();

    for (size_t i = 0; i < GCP_VERB_COUNT; i++) {
        const char *permission = gcp_actions[i].permission;
        bool is_new = gcp_needs_permission(pool, permission);

        for (size_t j = 0; j < i && is_new; j++)
            is_new = !text_equal(gcp_actions[j].permission, permission);
        if (is_new)
            json_array_append_new(list, json_text(permission));
    }
    return json_make("{s:o}", "permissions", list);
}

static void step(struct inspection *inspection)
{
    owned(chars) char *path = NULL;
    owned(json) json_t *body = NULL;
    owned(chars) char *label = NULL;

    while (inspection->at < COUNT_OF(steps) &&
           !(path = path_of(&inspection->pool, steps[inspection->at].verb)))
        inspection->at++;
    if (inspection->at == COUNT_OF(steps)) {
        end(inspection, NULL);
        return;
    }

    enum gcp_verb verb = steps[inspection->at].verb;
    const struct gcp_question question = {
        .verb = verb,
        .path = path,
        .body = verb == GCP_TEST_PERMISSIONS ? (body = wanted_permissions(&inspection->pool))
                                             : NULL,
        .label = (label = text_format("%s for %s in %s", gcp_actions[verb].name,
                                      inspection->pool.group, inspection->pool.zone)),
    };

    gcp_client_ask(inspection->client, &question, &inspection->call, on_answer);
}

void gcp_inspect(struct gcp_client *client, const struct gcp_pool *pool, finding_fn found,
                 provider_done_fn done, void *context)
{
    struct inspection *inspection = mem_new(sizeof *inspection);

    inspection->call.clear = clear;
    inspection->client = client;
    inspection->pool = (struct gcp_pool){
        .project = mem_copy_chars(pool->project),
        .group = mem_copy_chars(pool->group),
        .zone = mem_copy_chars(pool->zone),
        .gke_location = mem_copy_chars(pool->gke_location),
        .gke_cluster = mem_copy_chars(pool->gke_cluster),
        .node_pool = mem_copy_chars(pool->node_pool),
        .gce_reservation = mem_copy_chars(pool->gce_reservation),
    };
    inspection->found = found;
    inspection->done = done;
    inspection->context = context;
    step(inspection);
}
