/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The order of the reads, and what a refusal of one of them means.  Whether a change would be
 * allowed cannot be asked: Oracle's cloud has no such request.
 */
#include "providers/oci/oci_inspect.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/oci/oci_findings.h"

struct inspection {
    struct oci_call call; /* first */
    struct oci_client *client;
    struct oci_pool pool; /* its texts are owned */
    finding_fn found;
    provider_done_fn done;
    void *context;
};

static void clear(struct oci_call *call)
{
    const struct oci_pool *pool = &((struct inspection *)call)->pool;

    mem_free((void *)(uintptr_t)pool->node_pool);
    mem_free((void *)(uintptr_t)pool->capacity_reservation);
    mem_free((void *)(uintptr_t)pool->zone);
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
    const struct provider_action *action = &oci_actions[inspection->call.verb];
    owned(chars) char *sentence = text_format("Oracle's cloud refuses %s, or has no such resource: "
                                              "%s",
                                              action->name, error_leaf(err));
    const struct finding finding = {
        .verdict = FINDING_WRONG,
        .subject = action->permission,
        .text = sentence,
        .remedy = "allow it by a policy in the compartment, or correct the OCID",
    };

    inspection->found(inspection->context, &finding);
}

static void on_answer(struct oci_call *call, const struct oci_answer *answer,
                      const struct error *err);

static void ask(struct inspection *inspection, enum oci_verb verb, const char *folder,
                const char *ocid)
{
    owned(chars) char *escaped = url_format("%s", ocid);
    owned(chars) char *path = text_format("%s%s", folder, escaped);
    owned(chars) char *label = text_format("%s of %s", oci_actions[verb].name, ocid);
    const struct oci_question question = { verb, path, NULL, NULL, label };

    oci_client_ask(inspection->client, &question, &inspection->call, on_answer);
}

static void on_answer(struct oci_call *call, const struct oci_answer *answer,
                      const struct error *err)
{
    struct inspection *inspection = (struct inspection *)call;
    const struct oci_findings findings = { &inspection->pool, inspection->found,
                                           inspection->context };
    bool is_refused = err && (call->status == 403 || call->status == 404);
    bool is_first = call->verb == OCI_READ_POOL;

    if (err && !is_refused) {
        end(inspection, err);
        return;
    }
    if (err)
        report_refusal(inspection, err);
    else if (is_first)
        oci_findings_pool(&findings, answer->body);
    else
        oci_findings_reservation(&findings, answer->body);
    if (is_first && inspection->pool.capacity_reservation)
        ask(inspection, OCI_READ_RESERVATION, "/computeCapacityReservations/",
            inspection->pool.capacity_reservation);
    else
        end(inspection, NULL);
}

void oci_inspect(struct oci_client *client, const struct oci_pool *pool, finding_fn found,
                 provider_done_fn done, void *context)
{
    struct inspection *inspection = mem_new(sizeof *inspection);

    inspection->call.clear = clear;
    inspection->client = client;
    inspection->pool = (struct oci_pool){
        .node_pool = mem_copy_chars(pool->node_pool),
        .capacity_reservation = mem_copy_chars(pool->capacity_reservation),
        .zone = mem_copy_chars(pool->zone),
    };
    inspection->found = found;
    inspection->done = done;
    inspection->context = context;
    ask(inspection, OCI_READ_POOL, "/nodePools/", inspection->pool.node_pool);
}
