/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What accounts may not do, and when clouds do not answer:
 *     denied: [ { whose: prod-a, action: create pods/eviction } ]
 *     granted: [ { whose: aws, action: 'ec2:DescribeInstances' } ] # this account may do no more
 *     outages: [ { cloud: aws, from: 4h, to: 5h } ]
 */
#include "base/text.h"
#include "base/timestamp.h"
#include "tools/simulator/model/scenario.h"

static int text_at(const struct yaml_node *node, const char *key, const char **ret,
                   struct error *err)
{
    const struct yaml_node *found = yaml_get(node, key);

    return found ? yaml_text(found, ret, err) : yaml_error(err, node, "%s is missing", key);
}

static int time_at(const struct yaml_node *node, const char *key, int64_t *ret_ms,
                   struct error *err)
{
    const struct yaml_node *found = yaml_get(node, key);

    return found ? yaml_duration(found, 0, 52 * WEEK_MS, ret_ms, err)
                 : yaml_error(err, node, "%s is missing", key);
}

static int read_outages(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *list = yaml_get(yaml_root(scenario->world), "outages");

    for (size_t i = 0; list && i < list->count; i++) {
        struct scenario_outage *outage = array_add(&scenario->outages);

        if (text_at(&list->children[i], "cloud", &outage->cloud, err) < 0 ||
            time_at(&list->children[i], "from", &outage->from_ms, err) < 0 ||
            time_at(&list->children[i], "to", &outage->to_ms, err) < 0)
            return -1;
    }
    return 0;
}

bool scenario_is_out(const struct scenario *scenario, const char *cloud, int64_t at_ms)
{
    for (size_t i = 0; i < scenario->outages.count; i++) {
        const struct scenario_outage *outage = &scenario->outages.items[i];

        if (text_equal(outage->cloud, cloud) && at_ms >= outage->from_ms && at_ms < outage->to_ms)
            return true;
    }
    return false;
}

/* Read where it is needed; here it is only checked. */
static int check_grants(const struct scenario *scenario, struct error *err)
{
    const struct yaml_node *list = yaml_get(yaml_root(scenario->world), "granted");
    const char *text;

    for (size_t i = 0; list && i < list->count; i++)
        if (text_at(&list->children[i], "whose", &text, err) < 0 ||
            text_at(&list->children[i], "action", &text, err) < 0)
            return -1;
    return 0;
}

int scenario_read_limits(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *list = yaml_get(yaml_root(scenario->world), "denied");

    for (size_t i = 0; list && i < list->count; i++) {
        struct scenario_denial *denial = array_add(&scenario->denials);

        if (text_at(&list->children[i], "whose", &denial->whose, err) < 0 ||
            text_at(&list->children[i], "action", &denial->action, err) < 0)
            return -1;
    }
    if (check_grants(scenario, err) < 0 || scenario_read_slurm(scenario, err) < 0)
        return -1;
    return read_outages(scenario, err);
}

bool scenario_denies(const struct scenario *scenario, const char *whose, const char *action)
{
    for (size_t i = 0; i < scenario->denials.count; i++)
        if (text_equal(scenario->denials.items[i].whose, whose) &&
            text_equal(scenario->denials.items[i].action, action))
            return true;
    return false;
}
