/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See policy.h.
 */
#include "providers/policy.h"

#include "base/input/json.h"

/* Each permission once, in the order of the table. */
static bool is_first(const struct provider_kind *kind, size_t at)
{
    if (kind->actions[at].permission[0] == '\0')
        return false;
    for (size_t i = 0; i < at; i++)
        if (text_equal(kind->actions[i].permission, kind->actions[at].permission))
            return false;
    return true;
}

/* Nothing but an inspection asks IAM. */
static bool is_optional(const struct provider_action *action)
{
    return text_starts_with(action->permission, "iam:");
}

static json_t *optional_permissions_of(const struct provider_kind *kind)
{
    json_t *permissions = json_array();

    for (size_t i = 0; i < kind->action_count; i++)
        if (is_first(kind, i) && is_optional(&kind->actions[i]))
            json_array_append_new(permissions, json_text(kind->actions[i].permission));
    return permissions;
}

static json_t *permissions_of(const struct provider_kind *kind, bool are_mutations)
{
    json_t *permissions = json_array();

    for (size_t i = 0; i < kind->action_count; i++)
        if (is_first(kind, i) && !is_optional(&kind->actions[i]) &&
            kind->actions[i].is_mutation == are_mutations)
            json_array_append_new(permissions, json_text(kind->actions[i].permission));
    return permissions;
}

static void print_json(json_t *taken, struct text *out)
{
    owned(json) json_t *root = taken;
    owned(chars) char *chars = json_dumps(root, JSON_INDENT(2));

    require(chars);
    text_add(out, "%s\n", chars);
}

/* A policy of IAM.  Reads cannot be limited to a group; changes can, by the resource. */
static void print_aws(const struct provider_kind *kind, struct text *out)
{
    print_json(json_make("{s:s, s:[{s:s, s:s, s:o, s:s}, {s:s, s:s, s:o, s:s}, {s:s, s:s, s:o, "
                         "s:s}]}",
                         "Version", "2012-10-17", "Statement", "Sid", "SluiceReads", "Effect",
                         "Allow", "Action", permissions_of(kind, false), "Resource", "*", "Sid",
                         "SluiceMovesMachines", "Effect", "Allow", "Action",
                         permissions_of(kind, true), "Resource", "*", "Sid", "SluiceDoctor",
                         "Effect", "Allow", "Action", optional_permissions_of(kind), "Resource",
                         "*"),
               out);
}

/* A custom role of Azure. */
static void print_azure(const struct provider_kind *kind, struct text *out)
{
    json_t *actions = permissions_of(kind, false);
    owned(json) json_t *mutations = permissions_of(kind, true);

    json_array_extend(actions, mutations);
    print_json(json_make("{s:s, s:b, s:s, s:o, s:[], s:[], s:[], s:[s]}", "Name", "sluice",
                         "IsCustom", 1, "Description", "Moves machines between agent pools",
                         "Actions", actions, "NotActions", "DataActions", "NotDataActions",
                         "AssignableScopes", "/subscriptions/SUBSCRIPTION"),
               out);
}

/* A custom role of Google Cloud, for `gcloud iam roles create --file`. */
static void print_google(const struct provider_kind *kind, struct text *out)
{
    text_add(out, "title: sluice\ndescription: Moves machines between managed instance groups\n"
                  "stage: GA\nincludedPermissions:\n");
    for (size_t i = 0; i < kind->action_count; i++)
        if (is_first(kind, i))
            text_add(out, "- %s # %s\n", kind->actions[i].permission, kind->actions[i].purpose);
}

/* Statements of an OCI policy. */
static void print_oci(const struct provider_kind *kind, struct text *out)
{
    for (size_t i = 0; i < kind->action_count; i++)
        if (is_first(kind, i))
            text_add(out, "Allow group sluice to %s in compartment COMPARTMENT\n",
                     kind->actions[i].permission);
}

static const struct {
    const char *kind;
    const char *file;
    void (*print)(const struct provider_kind *kind, struct text *out);
} forms[] = {
    { "gcp", "gcp.yaml", print_google },
    { "aws", "aws.json", print_aws },
    { "azure", "azure.json", print_azure },
    { "oci", "oci.txt", print_oci },
};

const char *policy_file(const struct provider_kind *kind)
{
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (text_equal(forms[i].kind, kind->account.name) && kind->action_count > 0)
            return forms[i].file;
    return NULL;
}

void policy_print(const struct provider_kind *kind, struct text *out)
{
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (text_equal(forms[i].kind, kind->account.name))
            forms[i].print(kind, out);
}
