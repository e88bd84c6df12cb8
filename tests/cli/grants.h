/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An account with the rights of a generated policy, and no other: the policy is read as its cloud
 * reads it, and becomes the list `granted` of world.yaml.
 */
#pragma once

#include "base/input/json.h"
#include "providers/kinds.h"
#include "providers/policy.h"
#include "tests/support/unit.h"

#include <string.h>

static const char granted_mark[] = "granted: [";

static inline void add_grant(struct text *out, const struct provider_kind *kind, const char *action,
                             const char *without)
{
    if (!text_equal(action, without))
        text_add(out, "%s{ whose: %s, action: '%s' }",
                 text_equal(out->chars, granted_mark) ? " " : ", ", kind->account.name, action);
}

static inline void add_json_grants(struct text *out, const struct provider_kind *kind,
                                   const json_t *actions, const char *without)
{
    const json_t *action;
    size_t i;

    json_array_foreach(actions, i, action)
        add_grant(out, kind, json_string_value(action), without);
}

/* Statements of AWS, except the optional one; a role of Azure. */
static inline void read_json_policy(struct text *out, const struct provider_kind *kind,
                                    const char *policy, const char *without)
{
    struct error err = { 0 };
    owned(json) json_t *root = json_parse(policy, strlen(policy), "policy", &err);
    const json_t *statement;
    size_t i;

    assert_non_null(root);
    add_json_grants(out, kind, json_object_get(root, "Actions"), without);
    json_array_foreach(json_object_get(root, "Statement"), i, statement)
        if (!text_equal(json_text_or(statement, "Sid", ""), "SluiceDoctor"))
            add_json_grants(out, kind, json_object_get(statement, "Action"), without);
}

/* Each line's text between the two marks; the second may be absent. */
static inline void read_lines_policy(struct text *out, const struct provider_kind *kind,
                                     const char *policy, const char *const marks[2],
                                     const char *without)
{
    owned(chars) char *copy = mem_copy_chars(policy);

    for (char *at = copy, *line; (line = strsep(&at, "\n"));) {
        char *from = strstr(line, marks[0]);
        char *to = from ? strstr(from, marks[1]) : NULL;

        if (!from)
            continue;
        if (to)
            *to = '\0';
        add_grant(out, kind, from + strlen(marks[0]), without);
    }
}

/* A line for world.yaml, without one action ("": with all); NULL: the kind has no policy. */
static inline char *grants_of(const struct provider_kind *kind, const char *without)
{
    static const char *const google[2] = { "- ", " #" };
    static const char *const oracle[2] = { "Allow group sluice to ", " in compartment" };
    owned(text) struct text *policy = text_new(1 << 16);
    owned(text) struct text *out = text_new(1 << 16);

    if (!policy_file(kind))
        return NULL;
    policy_print(kind, policy);
    text_add(out, "%s", granted_mark);
    if (policy->chars[0] == '{')
        read_json_policy(out, kind, policy->chars, without);
    else
        read_lines_policy(out, kind, policy->chars,
                          text_starts_with(policy->chars, "Allow ") ? oracle : google, without);
    text_add(out, " ]\n");
    return mem_copy_chars(out->chars);
}
