/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See aws_machine.h.
 */
#include "providers/aws/aws_machine.h"

#include "base/text.h"

#include <string.h>

static const char id_scheme[] = "aws:///";

bool aws_machine_is_id(const char *id)
{
    size_t length = strlen(id);

    return text_starts_with(id, "i-") && length > 2 && length <= 19 &&
           strspn(id + 2, "0123456789abcdef") == length - 2;
}

int aws_machine_name(const char *id, const char *zone, struct instance *instance, struct error *err)
{
    if (!aws_machine_is_id(id))
        return error_set(err, ERROR_CORRUPT, "\"%.40s\" is no ID of an instance", id);
    if (zone[0] == '\0' || strchr(zone, '/') || strlen(zone) >= INSTANCE_ZONE_SIZE)
        return error_set(err, ERROR_CORRUPT, "%s: \"%.80s\" is no zone", id, zone);
    text_copy(instance->name, sizeof instance->name, id);
    text_copy(instance->id, sizeof instance->id, id);
    text_copy(instance->zone, sizeof instance->zone, zone);
    text_print(instance->provider_id, sizeof instance->provider_id, "%s%s/%s", id_scheme, zone, id);
    return 0;
}

static enum instance_state state_of(const char *state)
{
    if (text_equal(state, "running"))
        return INSTANCE_RUNNING;
    if (text_equal(state, "pending"))
        return INSTANCE_CREATING;
    return text_equal(state, "shutting-down") ? INSTANCE_DELETING : INSTANCE_OTHER;
}

static const struct xml_element *find(const struct xml_element *answer, const char *id)
{
    for (const struct xml_element *set = xml_first(answer, "reservationSet/item"); set;
         set = xml_next(set))
        for (const struct xml_element *item = xml_first(set, "instancesSet/item"); item;
             item = xml_next(item))
            if (text_equal(xml_text_or(item, "instanceId", ""), id))
                return item;
    return NULL;
}

int aws_machine_read(const struct xml_element *answer, const char *id,
                     struct instance *ret_instance, struct error *err)
{
    const struct xml_element *item = find(answer, id);
    const char *state = NULL;
    const char *zone = NULL;

    if (!xml_first(answer, "reservationSet"))
        return error_set(err, ERROR_CORRUPT, "reservationSet: is missing");
    if (!item)
        return 0;
    if (xml_need_text(item, "instanceState/name", &state, err) < 0 ||
        xml_need_text(item, "placement/availabilityZone", &zone, err) < 0 ||
        aws_machine_name(id, zone, ret_instance, err) < 0)
        return -1;
    if (text_equal(state, "terminated"))
        return 0;
    ret_instance->state = state_of(state);
    return 1;
}

bool aws_machine_read_provider_id(const char *zone, const char *provider_id,
                                  char ret_name[INSTANCE_NAME_SIZE])
{
    size_t length = strlen(zone);
    const char *at = provider_id + strlen(id_scheme);

    if (!text_starts_with(provider_id, id_scheme) || strncmp(at, zone, length) != 0 ||
        at[length] != '/' || !aws_machine_is_id(at + length + 1))
        return false;
    text_copy(ret_name, INSTANCE_NAME_SIZE, at + length + 1);
    return true;
}
