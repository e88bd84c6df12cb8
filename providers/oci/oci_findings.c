/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tables of properties; what needs more than one member is written out below them.
 */
#include "providers/oci/oci_findings.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

static const struct property {
    const char *path;
    const char *value; /* a text; NULL: true */
    enum finding_verdict verdict;
    const char *text;
    const char *remedy;
} of_pool[] = {
    { "lifecycleState", "ACTIVE", FINDING_RIGHT, "the node pool is active", "" },
    { "lifecycleState", "UPDATING", FINDING_DOUBTFUL, "the node pool is being changed",
      "wait until it is ACTIVE" },
    { "lifecycleState", "NEEDS_ATTENTION", FINDING_DOUBTFUL,
      "Oracle's cloud could not carry out the last change", "read lifecycleDetails of the pool" },
    { "lifecycleState", "FAILED", FINDING_WRONG, "the node pool has failed",
      "use another node pool" },
    { "lifecycleState", "DELETING", FINDING_WRONG, "the node pool is being deleted",
      "use another node pool" },
    { "lifecycleState", "DELETED", FINDING_WRONG, "the node pool is deleted",
      "use another node pool" },
    { "nodePoolCyclingDetails/isNodeCyclingEnabled", NULL, FINDING_DOUBTFUL,
      "node cycling replaces machines when the node pool is changed",
      "cycle nodes outside of the hours in which nodes move" },
};

static void report(const struct oci_findings *findings, enum finding_verdict verdict,
                   const char *subject, const char *text, const char *remedy)
{
    struct finding finding = { verdict, subject, text, remedy };

    findings->found(findings->context, &finding);
}

static void check_domain(const struct oci_findings *findings, const json_t *placement)
{
    static const char path[] = "placementConfigs/availabilityDomain";
    const char *domain = json_text_or(placement, "availabilityDomain", "");

    if (text_equal(domain, findings->pool->zone)) {
        report(findings, FINDING_RIGHT, path, "the node pool is in the zone of its reservation",
               "");
        return;
    }

    owned(chars) char *sentence = text_format("the node pool is in %.60s, its reservation in %.60s",
                                              domain, findings->pool->zone);

    report(findings, FINDING_WRONG, path, sentence,
           "correct `zone` of the reservation, or use a node pool of that domain");
}

static void check_reservation(const struct oci_findings *findings, const json_t *placement)
{
    static const char path[] = "placementConfigs/capacityReservationId";
    const char *wanted = findings->pool->capacity_reservation;
    const char *used = json_text_or(placement, "capacityReservationId", NULL);

    if (!wanted)
        return;
    if (text_equal(wanted, used))
        report(findings, FINDING_RIGHT, path, "the node pool uses the reservation", "");
    else
        report(findings, FINDING_WRONG, path,
               "the node pool does not use the reservation: it cannot use what others free in it",
               "set capacityReservationId of the placement configuration");
}

void oci_findings_pool(const struct oci_findings *findings, const json_t *body)
{
    static const char path[] = "nodeConfigDetails/placementConfigs";
    const json_t *placements = json_at(body, path);
    const json_t *first = json_array_get(placements, 0);

    for (size_t i = 0; i < COUNT_OF(of_pool); i++) {
        const struct property *property = &of_pool[i];
        bool holds = property->value
                         ? text_equal(json_text_or(body, property->path, ""), property->value)
                         : json_bool_or(body, property->path, false);

        if (holds)
            report(findings, property->verdict, property->path, property->text, property->remedy);
    }
    if (json_array_size(placements) != 1)
        report(findings, FINDING_WRONG, path,
               "the node pool is not in exactly one availability domain: a new machine may come to "
               "another one",
               "use a node pool with one placement configuration");
    if (json_array_size(placements) != 1)
        return;
    check_domain(findings, first);
    check_reservation(findings, first);
    if (json_at(first, "preemptibleNodeConfig"))
        report(findings, FINDING_WRONG, "placementConfigs/preemptibleNodeConfig",
               "the machines are preemptible: the cloud may take them back at any time",
               "use a node pool without preemptible nodes");
}

void oci_findings_reservation(const struct oci_findings *findings, const json_t *body)
{
    const char *state = json_text_or(body, "lifecycleState", "");
    int64_t reserved = json_int_or(body, "reservedInstanceCount", -1);
    int64_t used = json_int_or(body, "usedInstanceCount", -1);

    if (text_equal(state, "ACTIVE"))
        report(findings, FINDING_RIGHT, "lifecycleState", "the reservation is active", "");
    else
        report(findings, FINDING_WRONG, "lifecycleState", "the reservation is not active",
               "wait until it is ACTIVE, or use another one");
    if (reserved < 0 || used < 0) {
        report(findings, FINDING_DOUBTFUL, "reservedInstanceCount",
               "the reservation does not say how many machines it has",
               "read the reservation in the console");
        return;
    }

    owned(chars) char *sentence = text_format("%" PRId64 " of the %" PRId64
                                              " machines of the reservation are free",
                                              reserved > used ? reserved - used : 0, reserved);

    report(findings, FINDING_RIGHT, "reservedInstanceCount", sentence, "");
}
