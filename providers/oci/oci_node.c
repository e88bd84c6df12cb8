/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See oci_node.h.
 */
#include "providers/oci/oci_node.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "providers/oci/oci_errors.h"

#include <string.h>

static enum instance_state state_of(const char *state)
{
    static const struct {
        const char *said;
        enum instance_state state;
    } states[] = {
        { "CREATING", INSTANCE_CREATING },
        { "ACTIVE", INSTANCE_RUNNING },
        { "DELETING", INSTANCE_DELETING },
    };

    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (text_equal(states[i].said, state))
            return states[i].state;
    return INSTANCE_OTHER;
}

static int read_node(const json_t *node, const char *id, const char *state,
                     struct instance *ret_instance, struct error *err)
{
    const char *zone = "";

    if (json_find_text(node, "availabilityDomain", &zone, err) < 0)
        return -1;
    if (!text_copy(ret_instance->name, sizeof ret_instance->name, id) ||
        !text_copy(ret_instance->id, sizeof ret_instance->id, id) ||
        !text_copy(ret_instance->zone, sizeof ret_instance->zone, zone))
        return error_set(err, ERROR_CORRUPT, "the ID or domain of %.80s is too long", id);
    text_copy(ret_instance->provider_id, sizeof ret_instance->provider_id, id);
    ret_instance->state = state_of(state);
    if (ret_instance->state != INSTANCE_RUNNING)
        oci_error_of_node(node, &ret_instance->trouble);
    return 0;
}

static int read_nodes(const json_t *nodes, struct oci_node_list *list, struct error *err)
{
    size_t at = 0;
    const json_t *node = NULL;

    json_array_foreach(nodes, at, node) {
        const char *id = "";
        const char *state = "";
        struct instance *instance;

        if (json_find_text(node, "id", &id, err) < 0 ||
            json_find_text(node, "lifecycleState", &state, err) < 0)
            return -1;
        if (text_equal(state, "DELETED"))
            continue;
        if (id[0] == '\0') {
            struct error trouble = { 0 };

            oci_error_of_node(node, &trouble);
            list->failed += trouble.kind != ERROR_NONE && !text_equal(state, "DELETING");
            if (trouble.kind != ERROR_NONE)
                list->trouble = trouble;
            continue;
        }
        instance = array_add(&list->machines);
        if (read_node(node, id, state, instance, err) < 0)
            return -1;
        list->present += instance->state != INSTANCE_DELETING;
    }
    return 0;
}

int oci_read_pool(const json_t *body, const char *node_pool, struct oci_node_list *ret_list,
                  struct error *err)
{
    owned(oci_node_list) struct oci_node_list list = { 0 };
    const char *id = NULL;
    json_t *nodes = NULL;

    if (json_need_text(body, "id", &id, err) < 0 ||
        json_need_array(body, "nodes", &nodes, err) < 0 ||
        json_need_int(body, "nodeConfigDetails/size", &list.wanted, err) < 0)
        return -1;
    if (!text_equal(id, node_pool))
        return error_set(err, ERROR_CORRUPT, "the answer is of another node pool, %.120s", id);
    if (read_nodes(nodes, &list, err) < 0)
        return -1;
    *ret_list = list;
    list = (struct oci_node_list){ 0 };
    return 0;
}

void oci_node_list_clear(struct oci_node_list *list)
{
    array_clear(&list->machines);
}

bool oci_read_provider_id(const struct pool_address *pool, const char *provider_id,
                          char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim)
{
    static const char scheme[] = "oci://";

    (void)pool;
    if (text_starts_with(provider_id, scheme))
        provider_id += strlen(scheme);
    if (!text_starts_with(provider_id, "ocid1.instance.") ||
        strlen(provider_id) >= INSTANCE_NAME_SIZE)
        return false;
    text_copy(ret_name, INSTANCE_NAME_SIZE, provider_id);
    *ret_claim = 0;
    return true;
}
