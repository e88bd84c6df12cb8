/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work requests of Oracle's Kubernetes service: each change of a pool is one.  It has succeeded
 * once the pool has as many nodes as it wants, and failed once an attempt to make one has.
 */
#include "tools/simulator/cloud/oci_cloud.h"

#include <inttypes.h>

enum { ACCEPTED_MS = 500 };

struct work {
    const struct pool *pool;
    int64_t accepted_ms;
    const char *status;   /* its last one: it does not leave that; NULL: not yet */
    enum trouble trouble; /* why it failed */
};

void sim_oci_accept(struct sim_call *call, const struct pool *pool)
{
    struct sim_answer *answer = call->answer;
    struct work *work = mem_new(sizeof *work);

    work->pool = pool;
    work->accepted_ms = sim_now(call->sim);
    snprintf(answer->own_header, sizeof answer->own_header, "ocid1.workrequest.%" PRIu64,
             ++call->sim->operation_count);
    map_set(call->sim->operations, answer->own_header, work);
    answer->status = 202;
    answer->content_type = "application/json";
    answer->headers[answer->header_count++] = (struct http_header){ "opc-work-request-id",
                                                                    answer->own_header };
}

static const char *status_of(const struct simulator *sim, struct work *work)
{
    bool is_busy = false;

    if (work->status)
        return work->status;
    if (sim_now(sim) - work->accepted_ms < ACCEPTED_MS)
        return "ACCEPTED";
    for (size_t i = 0; i < work->pool->machines.count; i++) {
        const struct machine *machine = work->pool->machines.items[i];

        is_busy |= machine->state != MACHINE_RUNNING;
        if (machine->state == MACHINE_QUEUED && machine->trouble != TROUBLE_NONE)
            work->trouble = machine->trouble;
    }
    if (work->trouble != TROUBLE_NONE)
        work->status = "FAILED";
    else if (!is_busy)
        work->status = "SUCCEEDED";
    return work->status ? work->status : "IN_PROGRESS";
}

/* NULL: answered. */
static struct work *find(struct sim_call *call, const char *id)
{
    struct work *work = text_starts_with(id, "ocid1.workrequest.")
                            ? map_get(call->sim->operations, id)
                            : NULL;

    if (!work)
        sim_oci_refuse_unknown(call);
    return work;
}

void sim_oci_get_work(struct sim_call *call, const char *id)
{
    struct work *work = find(call, id);
    char time[WALL_TEXT_SIZE];

    if (work)
        sim_answer_json(call->answer, 200,
                        json_make("{s:s, s:s, s:s, s:s, s:[{s:s, s:s, s:s}]}", "id", id, "status",
                                  status_of(call->sim, work), "operationType", "NODEPOOL_UPDATE",
                                  "timeAccepted", sim_time(call->sim, work->accepted_ms, time),
                                  "resources", "actionType", "UPDATED", "entityType", "nodepool",
                                  "identifier", sim_pool_text(work->pool, "node_pool")));
}

void sim_oci_list_work_errors(struct sim_call *call, const char *id)
{
    owned(chars) char *compartment = url_query(call->request->target, "compartmentId");
    struct work *work = find(call, id);
    json_t *errors;
    const char *code;
    const char *why;

    if (!work)
        return;
    if (!compartment) {
        sim_oci_error(call->answer, 400, "MissingParameter", "compartmentId is required");
        return;
    }
    errors = json_array();
    status_of(call->sim, work);
    why = sim_oci_why(work->trouble, &code);
    if (work->trouble != TROUBLE_NONE) {
        char time[WALL_TEXT_SIZE];

        json_array_append_new(errors,
                              json_make("{s:s, s:s, s:s}", "code", code, "message", why,
                                        "timestamp", sim_time(call->sim, work->accepted_ms, time)));
    }
    sim_answer_json(call->answer, 200, errors);
}
