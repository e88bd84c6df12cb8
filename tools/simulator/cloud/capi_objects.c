/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Objects of Cluster API as JSON, in the contract's newer version and in the one before.
 */
#include "tools/simulator/cloud/capi_cloud.h"
#include "tools/simulator/cloud/clouds.h"
#include "tools/simulator/cloud/overlay.h"

#include <inttypes.h>

const char *sim_capi_namespace(const struct pool *pool)
{
    return sim_pool_text(pool, "namespace") ?: "default";
}

bool sim_capi_is_machine_pool(const struct pool *pool)
{
    return sim_pool_text(pool, "machine_pool") != NULL;
}

const char *sim_capi_name(const struct pool *pool)
{
    return sim_pool_text(pool, "machine_pool")
               ?: sim_pool_text(pool, "machine_deployment") ?: pool->plan->name;
}

/* The same for the same name. */
static void uid_of(const char *what, const char *name, char out[SIM_UID_SIZE])
{
    uint64_t high = random_mix(1, what, 0, 0);
    uint64_t low = random_mix(high, name, 0, 0);

    snprintf(out, SIM_UID_SIZE, "%08x-%04x-4%03x-8%03x-%012" PRIx64, (unsigned)(low >> 32),
             (unsigned)(low >> 16 & 0xffff), (unsigned)(low >> 4 & 0xfff), (unsigned)(high & 0xfff),
             (uint64_t)(low ^ high) & UINT64_C(0xffffffffffff));
}

static const char *version_name(bool is_old)
{
    return is_old ? "cluster.x-k8s.io/v1beta1" : "cluster.x-k8s.io/v1beta2";
}

static const char *phase_of(const struct machine *machine)
{
    switch (machine->state) {
    case MACHINE_QUEUED:
    case MACHINE_BOOTING:
        return "Provisioning";
    case MACHINE_RUNNING:
        return machine->node ? "Running" : "Provisioned";
    case MACHINE_STOPPING:
        break;
    }
    return "Deleting";
}

static json_t *conditions_of(const struct machine *machine, bool is_old)
{
    static const char *const messages[] = {
        [TROUBLE_NONE] = "SimulatedMachine status.initialization.provisioned is false",
        [TROUBLE_STOCKOUT] = "failed to create instance: InsufficientInstanceCapacity: We "
                             "currently do not have sufficient capacity in the Availability Zone",
        [TROUBLE_RESERVATION_FULL] = "failed to create instance: ReservationCapacityExceeded: The "
                                     "requested reservation has no free slot",
        [TROUBLE_QUOTA] = "failed to create instance: VcpuLimitExceeded: You have requested more "
                          "vCPU capacity than your current vCPU limit",
    };
    bool is_ready = machine->state == MACHINE_RUNNING;
    json_t *condition = json_make("{s:s, s:s, s:s, s:s}", "type", "InfrastructureReady", "status",
                                  is_ready ? "True" : "False", "reason",
                                  is_ready           ? "Provisioned"
                                  : machine->trouble ? "InstanceProvisionFailed"
                                                     : "NotProvisioned",
                                  "message", is_ready ? "" : messages[machine->trouble]);

    if (is_old && !is_ready)
        json_object_set_new(condition, "severity",
                            json_string(machine->trouble ? "Error" : "Info"));
    return json_make("[o]", condition);
}

static json_t *machine_metadata(struct simulator *sim, const struct machine *machine)
{
    const struct pool *pool = machine->pool;
    const char *pool_label = sim_capi_is_machine_pool(pool) ? "cluster.x-k8s.io/pool-name"
                                                            : "cluster.x-k8s.io/deployment-name";
    const struct capi_machine_state *state = sim ? sim_capi_machine(sim, machine) : NULL;
    char uid[SIM_UID_SIZE], version[48], time[WALL_TEXT_SIZE];
    json_t *metadata;

    uid_of("machine", machine->name, uid);
    snprintf(version, sizeof version, "%" PRIu64,
             UINT64_C(1000) + machine->stamp * 1000 + (uint64_t)machine->state * 100 +
                 (uint64_t)(machine->node != NULL) * 50 + (uint64_t)machine->trouble * 10 +
                 (uint64_t)(state ? state->edits : 0));
    metadata = json_make("{s:s, s:s, s:s, s:s, s:{s:s, s:s}, s:[s]}", "name", machine->name,
                         "namespace", sim_capi_namespace(pool), "uid", uid, "resourceVersion",
                         version, "labels", "cluster.x-k8s.io/cluster-name",
                         pool->cluster->plan->name, pool_label, sim_capi_name(pool), "finalizers",
                         "machine.cluster.x-k8s.io");
    if (sim && machine->state == MACHINE_STOPPING)
        json_object_set_new(metadata, "deletionTimestamp",
                            json_string(sim_time(sim, sim_now(sim), time)));
    if (state && state->mark[0] != '\0')
        json_object_set_new(metadata, "annotations",
                            json_make("{s:s}", "cluster.x-k8s.io/delete-machine", state->mark));
    return metadata;
}

json_t *sim_capi_machine_json(struct simulator *sim, const struct machine *machine, bool is_old)
{
    json_t *object = json_make(
        "{s:s, s:s, s:o, s:{s:s, s:s}, s:{s:s, s:o}}", "kind", "Machine", "apiVersion",
        version_name(is_old), "metadata", machine_metadata(sim, machine), "spec", "clusterName",
        machine->pool->cluster->plan->name, "failureDomain", machine->pool->reservation->plan->zone,
        "status", "phase", phase_of(machine), "conditions", conditions_of(machine, is_old));
    owned(chars) char *provider_id = sim_capi.provider_id(machine);

    if (machine->id[0] != '\0' && machine->state != MACHINE_BOOTING)
        json_object_set_new(json_object_get(object, "spec"), "providerID",
                            json_string(provider_id));
    if (machine->node)
        json_object_set_new(json_object_get(object, "status"), "nodeRef",
                            json_make("{s:s}", "name", machine->node_name));
    return object;
}

void sim_capi_version_of(struct simulator *sim, struct pool *pool, char out[24])
{
    snprintf(out, 24, "%" PRIu64,
             UINT64_C(5000) + pool->version + (uint64_t)sim_capi_pool(sim, pool)->edits);
}

static void put_kept(json_t *metadata, const char *key, const char *kept)
{
    struct error err = { 0 };
    json_t *object = kept[0] != '\0' ? json_parse(kept, strlen(kept), key, &err) : NULL;

    if (object)
        json_object_set_new(metadata, key, object);
}

json_t *sim_capi_pool_json(struct simulator *sim, struct pool *pool, bool is_old)
{
    const struct capi_pool_state *state = sim_capi_pool(sim, pool);
    bool is_rolling = sim_now(sim) < state->rolls_until_ms;
    bool is_machine_pool = sim_capi_is_machine_pool(pool);
    int present = (int)pool->machines.count;
    int current = present - (is_rolling && present > 0);
    char uid[SIM_UID_SIZE], version[24];
    json_t *object, *status;

    uid_of("pool", pool->plan->name, uid);
    sim_capi_version_of(sim, pool, version);
    status = json_make("{s:i, s:i}", "observedGeneration", state->observed, "replicas", present);
    if (!is_old)
        json_object_set_new(status, "upToDateReplicas", json_integer(current));
    else if (!is_machine_pool)
        json_object_set_new(status, "updatedReplicas", json_integer(current));
    object = json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:i}, s:{s:s, s:i, s:b, s:{s:{s:{s:s}}, "
                       "s:{s:s}}}, s:o}",
                       "kind", is_machine_pool ? "MachinePool" : "MachineDeployment", "apiVersion",
                       version_name(is_old), "metadata", "name", sim_capi_name(pool), "namespace",
                       sim_capi_namespace(pool), "uid", uid, "resourceVersion", version,
                       "generation", state->generation, "spec", "clusterName",
                       pool->cluster->plan->name, "replicas", state->wanted, "paused",
                       state->is_paused, "template", "metadata", "labels", "pool",
                       sim_capi_name(pool), "spec", "failureDomain", pool->reservation->plan->zone,
                       "status", status);
    put_kept(json_object_get(object, "metadata"), "annotations", state->annotations);
    put_kept(json_object_get(object, "metadata"), "labels", state->labels);
    sim_overlay(sim, pool, "group", object);
    return object;
}
