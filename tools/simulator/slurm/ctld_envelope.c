/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What each answer has around its list.
 */
#include "tools/simulator/slurm/ctld.h"

static json_t *meta_of(const struct ctld *slurm, bool is_rest)
{
    if (slurm->release < 2411)
        return json_make("{s{ss ss} s{s{si si si} ss}}", "plugin", "type", "openapi/v0.0.38",
                         "name", "Slurm OpenAPI v0.0.38", "Slurm", "version", "major", 22, "micro",
                         8, "minor", 5, "release", "22.05.8");
    return json_make("{s{ss ss ss} s{ss} s{s{ss ss ss} ss ss}}", "plugin", "type",
                     is_rest ? "openapi/slurmctld" : "", "name",
                     is_rest ? "Slurm OpenAPI slurmctld" : "", "data_parser", "data_parser/v0.0.42",
                     "client", "user", "root", "slurm", "version", "major", "24", "micro", "5",
                     "minor", "11", "release", "24.11.5", "cluster", slurm->cluster->plan->name);
}

json_t *ctld_envelope(const struct ctld *slurm, const char *list, json_t *items, bool is_rest)
{
    json_t *body = json_object();

    if (list && slurm->release >= 2411)
        json_put(body, list, items);
    json_put(body, "meta", meta_of(slurm, is_rest));
    json_put(body, "errors", json_array());
    if (slurm->release >= 2411)
        json_put(body, "warnings", json_array());
    if (list && slurm->release < 2411)
        json_put(body, list, items);
    return body;
}

void ctld_envelope_refuse(const struct ctld *slurm, json_t *envelope,
                          const struct ctld_refusal *refusal)
{
    json_t *error;

    (void)slurm;
    if (refusal->is_short)
        error = json_make("{ss si}", "error", refusal->error, "errno", refusal->number);
    else
        error = json_make("{ss si ss ss}", "description", refusal->description, "error_number",
                          refusal->number, "error", refusal->error, "source", refusal->source);
    json_array_append_new(json_object_get(envelope, "errors"), error);
}
