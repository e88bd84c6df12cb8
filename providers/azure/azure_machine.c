/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See azure_machine.h.
 */
#include "providers/azure/azure_machine.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { SUFFIX_DIGITS = 6, PARTS_MAX = 16 };

static const char id_scheme[] = "azure://";

/* The parts of "/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/...". */
struct resource_id {
    const char *parts[PARTS_MAX];
    int lengths[PARTS_MAX];
    size_t count;
};

static void split(const char *id, struct resource_id *ret)
{
    *ret = (struct resource_id){ .count = 0 };
    while (*id == '/' && ret->count < PARTS_MAX) {
        ret->parts[ret->count] = id + 1;
        ret->lengths[ret->count] = (int)strcspn(id + 1, "/");
        id += 1 + ret->lengths[ret->count];
        ret->count++;
    }
}

static bool is_part(const struct resource_id *id, size_t at, const char *word)
{
    return at < id->count && (size_t)id->lengths[at] == strlen(word) &&
           strncasecmp(id->parts[at], word, strlen(word)) == 0;
}

static bool is_virtual_machine(const struct resource_id *id)
{
    for (size_t i = 0; i < id->count; i++)
        if (id->lengths[i] == 0)
            return false;
    return (id->count == 8 || id->count == 10) && is_part(id, 0, "subscriptions") &&
           is_part(id, 2, "resourceGroups") && is_part(id, 4, "providers") &&
           is_part(id, 5, "Microsoft.Compute");
}

/* A scale set counts its machines in base 10, and names them in base 36. */
static bool write_suffix(const char *digits, int length, char out[SUFFIX_DIGITS + 1])
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    owned(chars) char *number = text_format("%.*s", length, digits);
    long long value;

    if (!text_to_int(number, 0, 2176782335, &value)) /* 36 to the power of 6, less 1 */
        return false;
    for (int i = SUFFIX_DIGITS - 1; i >= 0; i--, value /= 36)
        out[i] = letters[value % 36];
    out[SUFFIX_DIGITS] = '\0';
    return true;
}

static void make_lower(char *chars)
{
    for (; *chars; chars++)
        *chars = (char)tolower((unsigned char)*chars);
}

/* False: it is no machine's ID. */
static bool name_of_id(const char *chars, char out[INSTANCE_NAME_SIZE])
{
    char suffix[SUFFIX_DIGITS + 1] = "";
    struct resource_id id;
    bool fits;

    split(chars, &id);
    if (!is_virtual_machine(&id))
        return false;
    if (id.count == 8 && !is_part(&id, 6, "virtualMachines"))
        return false;
    if (id.count == 10 &&
        (!is_part(&id, 6, "virtualMachineScaleSets") || !is_part(&id, 8, "virtualMachines") ||
         !write_suffix(id.parts[9], id.lengths[9], suffix)))
        return false;
    fits = text_print(out, INSTANCE_NAME_SIZE, "%.*s%s", id.lengths[7], id.parts[7], suffix);
    make_lower(out);
    return fits;
}

/* The cloud controller writes the resource group in lower case, and the rest as it is. */
static bool print_provider_id(const char *chars, char out[PROVIDER_ID_SIZE])
{
    struct resource_id id;

    if (!text_print(out, PROVIDER_ID_SIZE, "%s%s", id_scheme, chars))
        return false;
    split(out + strlen(id_scheme), &id);
    for (int i = 0; i < id.lengths[3]; i++) {
        char *at = out + (id.parts[3] - out) + i;

        *at = (char)tolower((unsigned char)*at);
    }
    return true;
}

/* Zones of machines are "1", those of Nodes and of the configuration "REGION-1". */
static void print_zone(const json_t *item, const char *configured, struct instance *instance)
{
    const char *zone = json_string_value(json_array_get(json_at(item, "zones"), 0));
    const char *dash = configured ? strrchr(configured, '-') : NULL;

    if (zone && dash)
        text_print(instance->zone, sizeof instance->zone, "%.*s-%s", (int)(dash - configured),
                   configured, zone);
}

/* Most versions of the API tell no state: what is listed exists, and its Node shows the rest. */
static enum instance_state state_of(const json_t *item)
{
    static const struct {
        const char *name;
        enum instance_state state;
    } states[] = {
        { "", INSTANCE_RUNNING },          { "Succeeded", INSTANCE_RUNNING },
        { "Creating", INSTANCE_CREATING }, { "Deleting", INSTANCE_DELETING },
        { "Updating", INSTANCE_RUNNING },
    };
    const char *name = json_text_or(item, "properties/provisioningState", "");

    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (strcasecmp(name, states[i].name) == 0)
            return states[i].state;
    return INSTANCE_OTHER;
}

int azure_read_machine(const json_t *item, const struct azure_place *place,
                       struct instance *ret_instance, const char **ret_listed, struct error *err)
{
    const char *id = NULL;

    if (json_need_text(item, "name", ret_listed, err) < 0 ||
        json_need_text(item, "properties/resourceId", &id, err) < 0)
        return -1;
    if ((*ret_listed)[0] == '\0')
        return error_set(err, ERROR_CORRUPT, "a machine without a name");
    *ret_instance = (struct instance){ .state = state_of(item) };
    if (!name_of_id(id, ret_instance->name) || !print_provider_id(id, ret_instance->provider_id))
        return error_set(err, ERROR_CORRUPT, "machine %.80s: \"%.200s\" is no virtual machine",
                         *ret_listed, id);
    text_copy(ret_instance->id, sizeof ret_instance->id, strrchr(id, '/') + 1);
    print_zone(item, place->zone, ret_instance);
    return 0;
}

/* "aks-POOL-12345678-vmss000002" */
static size_t claim_of(const char *agent_pool, const char *name)
{
    static const char start[] = "aks-";
    size_t length = strlen(agent_pool);
    const char *rest = name + strlen(start);

    return text_starts_with(name, start) && strncasecmp(rest, agent_pool, length) == 0 &&
                   rest[length] == '-'
               ? length
               : 0;
}

bool azure_read_provider_id(const struct pool_address *pool, const char *provider_id,
                            char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim)
{
    char name[INSTANCE_NAME_SIZE];

    if (strncasecmp(provider_id, id_scheme, strlen(id_scheme)) != 0 ||
        !name_of_id(provider_id + strlen(id_scheme), name))
        return false;
    text_copy(ret_name, INSTANCE_NAME_SIZE, name);
    *ret_claim = claim_of(azure_place_of(pool)->agent_pool, name);
    return true;
}
