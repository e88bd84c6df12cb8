/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See gcp_machine.h.
 */
#include "providers/gcp/gcp_machine.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "providers/gcp/gcp_errors.h"

#include <string.h>

static const char id_scheme[] = "gce://";

/* Reads the provider ID from ".../projects/PROJECT/zones/ZONE/instances/NAME", which the cloud
   controller also writes into the Node.  Another form gives none.  So does a URL whose name differs
   from the instance's: the Node of another machine would count as this one's. */
static void read_place(const char *url, struct instance *instance)
{
    static const char *const words[] = { "/projects/", "/zones/", "/instances/" };
    const char *parts[COUNT_OF(words)];
    int lengths[COUNT_OF(words)];
    const char *at = url ? strstr(url, words[0]) : NULL;

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (!at || !text_starts_with(at, words[i]))
            return;
        parts[i] = at + strlen(words[i]);
        lengths[i] = (int)strcspn(parts[i], "/");
        at = parts[i] + lengths[i];
    }
    if (!text_equal(parts[2], instance->name))
        return;
    if (!text_print(instance->provider_id, sizeof instance->provider_id, "%s%.*s/%.*s/%.*s",
                    id_scheme, lengths[0], parts[0], lengths[1], parts[1], lengths[2], parts[2]))
        instance->provider_id[0] = '\0';
    text_print(instance->zone, sizeof instance->zone, "%.*s", lengths[1], parts[1]);
}

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

/* Whether the machine has come up: then an error of an attempt to create it no longer counts. */
static bool is_past_staging(const char *status)
{
    return status[0] != '\0' && !text_equal(status, "PROVISIONING") &&
           !text_equal(status, "STAGING");
}

/* Keeps the earlier end. */
static int read_end(const json_t *item, const char *path, struct wall_time *ends, struct error *err)
{
    struct wall_time end;
    const char *text = "";

    if (json_find_text(item, path, &text, err) < 0)
        return -1;
    if (text[0] == '\0')
        return 0;
    if (wall_parse(text, false, &end, NULL) < 0)
        return error_set(err, ERROR_CORRUPT, "%s: \"%.40s\" is no time", path, text);
    if (ends->ms == 0 || end.ms < ends->ms)
        *ends = end;
    return 0;
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
        json_find_text(item, "instance", &url, err) < 0 ||
        json_find_text(item, "id", &id, err) < 0 ||
        read_end(item, "scheduling/gracefulShutdownTimestamp", &ret_instance->ends, err) < 0 ||
        read_end(item, "scheduling/terminationTimestamp", &ret_instance->ends, err) < 0)
        return -1;

    if (!name && url)
        name = strrchr(url, '/') ? strrchr(url, '/') + 1 : url;
    if (!name || name[0] == '\0')
        return error_set(err, ERROR_CORRUPT, "an instance without a name");
    if (!text_copy(ret_instance->name, sizeof ret_instance->name, name) ||
        !text_copy(ret_instance->id, sizeof ret_instance->id, id))
        return error_set(err, ERROR_CORRUPT, "name or id of %.80s is too long", name);

    read_place(url, ret_instance);
    ret_instance->state = state_of(action, status);
    if (!is_past_staging(status))
        gcp_error_of_attempt(item, &ret_instance->trouble);
    return 0;
}

/* Only a known status means that the machine runs or will run. */
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
    const char *url = NULL;
    const char *id = "";
    if (json_need_text(body, "name", &name, err) < 0 ||
        json_need_text(body, "status", &status, err) < 0 ||
        json_find_text(body, "selfLink", &url, err) < 0 || json_find_text(body, "id", &id, err) < 0)
        return -1;
    if (!text_copy(ret_instance->name, sizeof ret_instance->name, name) ||
        !text_copy(ret_instance->id, sizeof ret_instance->id, id))
        return error_set(err, ERROR_CORRUPT, "name or id of %.80s is too long", name);
    read_place(url, ret_instance);
    ret_instance->state = state_of_status(status);
    return 0;
}

int gcp_read_group(const json_t *body, const char **ret_group, struct error *err)
{
    static const char word[] = "/instanceGroupManagers/";
    json_t *items = NULL;
    const json_t *item;
    size_t i;

    *ret_group = "";
    if (json_find_array(body, "metadata/items", &items, err) < 0)
        return -1;
    json_array_foreach(items, i, item) {
        const char *maker = json_text_or(item, "value", "");
        const char *at = strstr(maker, word);

        if (at && text_equal(json_text_or(item, "key", ""), "created-by"))
            *ret_group = at + strlen(word);
    }
    return 0;
}

void gcp_name_machine(const struct pool_address *pool, const char *request_key,
                      char out[INSTANCE_NAME_SIZE])
{
    text_print(out, INSTANCE_NAME_SIZE, "%.50s-%.8s", gcp_pool_of(pool)->group, request_key);
}

/* A group "NAME-grp" of GKE names its machines "NAME-xxxx", any other one "GROUP-xxxx". */
static size_t claim_of(const char *group, const char *name)
{
    static const char tail[] = "-grp";
    size_t length = strlen(group);

    if (length > strlen(tail) && text_equal(group + length - strlen(tail), tail))
        length -= strlen(tail);
    return strncmp(name, group, length) == 0 && name[length] == '-' ? strlen(group) : 0;
}

/* The text after "WORD/", or NULL. */
static const char *after(const char *text, const char *word)
{
    size_t length = strlen(word);

    return text && strncmp(text, word, length) == 0 && text[length] == '/' ? text + length + 1
                                                                           : NULL;
}

bool gcp_read_provider_id(const struct pool_address *address, const char *provider_id,
                          char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim)
{
    const struct gcp_pool *pool = gcp_pool_of(address);
    const char *name;

    if (!text_starts_with(provider_id, id_scheme))
        return false;
    name = after(after(provider_id + strlen(id_scheme), pool->project), pool->zone);
    if (!name || name[0] == '\0' || strlen(name) >= INSTANCE_NAME_SIZE)
        return false;
    text_copy(ret_name, INSTANCE_NAME_SIZE, name);
    *ret_claim = claim_of(pool->group, name);
    return true;
}

bool gcp_split_provider_id(const char *provider_id, char ret_project[INSTANCE_NAME_SIZE],
                           char ret_zone[INSTANCE_ZONE_SIZE], char ret_name[INSTANCE_NAME_SIZE])
{
    const char *project = provider_id + strlen(id_scheme);
    const char *zone, *name;

    if (!text_starts_with(provider_id, id_scheme))
        return false;
    zone = project + strcspn(project, "/");
    name = *zone ? zone + 1 + strcspn(zone + 1, "/") : "";
    return *name && name[1] && !strchr(name + 1, '/') &&
           text_print(ret_project, INSTANCE_NAME_SIZE, "%.*s", (int)(zone - project), project) &&
           text_print(ret_zone, INSTANCE_ZONE_SIZE, "%.*s", (int)(name - zone - 1), zone + 1) &&
           text_copy(ret_name, INSTANCE_NAME_SIZE, name + 1);
}
