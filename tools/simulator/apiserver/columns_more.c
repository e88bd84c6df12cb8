/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The columns of what is neither node nor workload; see columns.c.
 */
#include "tools/simulator/apiserver/columns.h"

TEXT_CELL(namespace_status, "status/phase")

const struct api_column api_namespace_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Status", "string", false, namespace_status },
    { "Age", "string", false, api_age_cell },
    { 0 },
};

static json_t *event_last(const struct sim_call *call, const json_t *object)
{
    const char *time = json_text_or(object, "lastTimestamp", NULL);

    return api_since(call, time ?: json_text_or(object, "eventTime", NULL));
}

static json_t *event_first(const struct sim_call *call, const json_t *object)
{
    const char *time = json_text_or(object, "firstTimestamp", NULL);

    return api_since(call, time ?: json_text_or(object, "eventTime", NULL));
}

static json_t *event_object(const struct sim_call *call, const json_t *object)
{
    owned(chars) char *kind = mem_copy_chars(json_text_or(object, "involvedObject/kind", ""));
    owned(chars) char *out = NULL;

    (void)call;
    for (char *at = kind; *at; at++)
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at + 'a' - 'A') : *at;
    out = text_format("%s/%s", kind, json_text_or(object, "involvedObject/name", ""));
    return json_text(out);
}

static json_t *event_source(const struct sim_call *call, const json_t *object)
{
    const char *host = json_text_or(object, "source/host", "");
    owned(chars) char *out = text_format(
        "%s%s%s",
        json_text_or(object, "source/component", json_text_or(object, "reportingComponent", "")),
        host[0] ? ", " : "", host);

    (void)call;
    return json_text(out);
}

static json_t *event_count(const struct sim_call *call, const json_t *object)
{
    (void)call;
    return json_integer(json_int_or(object, "count", 1));
}

static json_t *event_part(const struct sim_call *call, const json_t *object)
{
    (void)call;
    return json_text(json_text_or(object, "involvedObject/fieldPath", ""));
}

TEXT_CELL(event_type, "type")
TEXT_CELL(event_reason, "reason")
TEXT_CELL(event_message, "message")

const struct api_column api_event_columns[] = {
    { "Last Seen", "string", false, event_last },
    { "Type", "string", false, event_type },
    { "Reason", "string", false, event_reason },
    { "Object", "string", false, event_object },
    { "Subobject", "string", true, event_part },
    { "Source", "string", true, event_source },
    { "Message", "string", false, event_message },
    { "First Seen", "string", true, event_first },
    { "Count", "string", true, event_count },
    { "Name", "string", true, api_name_cell },
    { 0 },
};

static json_t *minimum_cell(const struct sim_call *call, const json_t *object)
{
    const json_t *minimum = json_at(object, "spec/minAvailable");
    owned(chars) char *out = text_format("%d", (int)json_integer_value(minimum));

    (void)call;
    return json_string(minimum ? out : "N/A");
}

static json_t *maximum_cell(const struct sim_call *call, const json_t *object)
{
    (void)call;
    (void)object;
    return json_string("N/A");
}

NUMBER_CELL(disruptions_cell, "status/disruptionsAllowed")

const struct api_column api_budget_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Min Available", "string", false, minimum_cell },
    { "Max Unavailable", "string", false, maximum_cell },
    { "Allowed Disruptions", "integer", false, disruptions_cell },
    { "Age", "string", false, api_age_cell },
    { 0 },
};

TEXT_CELL(lease_holder, "spec/holderIdentity")

const struct api_column api_lease_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Holder", "string", false, lease_holder },
    { "Age", "string", false, api_age_cell },
    { 0 },
};

const struct api_column api_plain_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Age", "string", false, api_age_cell },
    { 0 },
};

static json_t *scaled_cell(const struct sim_call *call, const json_t *object)
{
    owned(chars) char *out = text_format("%s/%s",
                                         json_text_or(object, "spec/scaleTargetRef/kind", ""),
                                         json_text_or(object, "spec/scaleTargetRef/name", ""));

    (void)call;
    return json_text(out);
}

static json_t *targets_cell(const struct sim_call *call, const json_t *object)
{
    (void)call;
    (void)object;
    return json_string("<none>");
}

NUMBER_CELL(scaler_minimum, "spec/minReplicas")
NUMBER_CELL(scaler_maximum, "spec/maxReplicas")
NUMBER_CELL(scaler_current, "status/currentReplicas")

const struct api_column api_autoscaler_columns[] = {
    { "Name", "string", false, api_name_cell },     { "Reference", "string", false, scaled_cell },
    { "Targets", "string", false, targets_cell },   { "MinPods", "string", false, scaler_minimum },
    { "MaxPods", "string", false, scaler_maximum }, { "Replicas", "string", false, scaler_current },
    { "Age", "string", false, api_age_cell },       { 0 },
};

static json_t *cohort_cell(const struct sim_call *call, const json_t *object)
{
    (void)call;
    return json_text(
        json_text_or(object, "spec/cohortName", json_text_or(object, "spec/cohort", "")));
}

NUMBER_CELL(pending_cell, "status/pendingWorkloads")
NUMBER_CELL(admitted_cell, "status/admittedWorkloads")
TEXT_CELL(local_queue_target, "spec/clusterQueue")

const struct api_column api_cluster_queue_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Cohort", "string", false, cohort_cell },
    { "Pending Workloads", "integer", false, pending_cell },
    { "Admitted Workloads", "integer", true, admitted_cell },
    { 0 },
};

const struct api_column api_local_queue_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "ClusterQueue", "string", false, local_queue_target },
    { "Pending Workloads", "integer", false, pending_cell },
    { "Admitted Workloads", "integer", false, admitted_cell },
    { 0 },
};
