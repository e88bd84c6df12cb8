/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See gcp_machine.h.
 */
#include "providers/gcp_machine.h"

#include "base/json.h"
#include "base/text.h"
#include "providers/gcp_errors.h"

#include <string.h>

static enum instance_state state_of(const char *action, const char *status)
{
    if (text_equal(action, "DELETING"))
        return INSTANCE_DELETING;
    if (text_equal(action, "CREATING") || text_equal(action, "CREATING_WITHOUT_RETRIES"))
        return INSTANCE_CREATING;
    if (!text_equal(action, "NONE") && !text_equal(action, "VERIFYING"))
        return INSTANCE_OTHER;
    if (text_equal(status, "RUNNING"))
        return INSTANCE_RUNNING;
    bool is_coming = status[0] == '\0' || text_equal(status, "PROVISIONING") ||
                     text_equal(status, "STAGING");
    return is_coming ? INSTANCE_CREATING : INSTANCE_OTHER;
}

/* An error of an attempt counts only while the machine has not come up since. */
static bool is_past_staging(const char *status)
{
    return status[0] != '\0' && !text_equal(status, "PROVISIONING") &&
           !text_equal(status, "STAGING");
}

int gcp_read_member(const json_t *item, struct instance *ret_instance, struct error *err)
{
    const char *action = NULL;
    const char *status = "";
    const char *name = NULL;
    const char *url = NULL;
    const char *id = "";
    if (json_need_text(item, "currentAction", &action, err) < 0 ||
        json_find_text(item, "instanceStatus", &status, err) < 0 ||
        json_find_text(item, "name", &name, err) < 0 ||
        json_find_text(item, "instance", &url, err) < 0 || json_find_text(item, "id", &id, err) < 0)
        return -1;

    if (!name && url)
        name = strrchr(url, '/') ? strrchr(url, '/') + 1 : url;
    if (!name || name[0] == '\0')
        return error_set(err, ERROR_CORRUPT, "an instance without a name");
    if (!text_copy(ret_instance->name, sizeof ret_instance->name, name) ||
        !text_copy(ret_instance->id, sizeof ret_instance->id, id))
        return error_set(err, ERROR_CORRUPT, "name or id of %.80s is too long", name);

    ret_instance->state = state_of(action, status);
    if (!is_past_staging(status))
        gcp_error_of_attempt(item, &ret_instance->trouble);
    return 0;
}

/* Only a status that says so means that it runs, or that it is on its way. */
static enum instance_state state_of_status(const char *status)
{
    if (text_equal(status, "RUNNING"))
        return INSTANCE_RUNNING;
    if (text_equal(status, "STOPPING"))
        return INSTANCE_DELETING;
    return is_past_staging(status) ? INSTANCE_OTHER : INSTANCE_CREATING;
}

int gcp_read_machine(const json_t *body, struct instance *ret_instance, struct error *err)
{
    const char *name = NULL;
    const char *status = NULL;
    const char *id = "";
    if (json_need_text(body, "name", &name, err) < 0 ||
        json_need_text(body, "status", &status, err) < 0 ||
        json_find_text(body, "id", &id, err) < 0)
        return -1;
    if (!text_copy(ret_instance->name, sizeof ret_instance->name, name) ||
        !text_copy(ret_instance->id, sizeof ret_instance->id, id))
        return error_set(err, ERROR_CORRUPT, "name or id of %.80s is too long", name);
    ret_instance->state = state_of_status(status);
    return 0;
}
