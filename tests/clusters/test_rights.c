/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of rights and clusters/role.yaml are the same.
 */
#include "base/input/yaml.h"
#include "base/map.h"
#include "base/text.h"
#include "clusters/kube_rights.h"
#include "tests/support/unit.h"

static void note(struct map *rights, const char *group, const char *resource, const char *verb)
{
    owned(chars) char *right = text_format("%s %s.%s", verb, resource, group);

    map_set(rights, right, rights);
}

static struct map *of_table(void)
{
    struct map *rights = map_new(NULL);

    for (size_t i = 0; i < kube_right_count; i++)
        for (size_t k = 0; k < KUBE_RIGHT_VERBS && kube_rights[i].verbs[k]; k++)
            note(rights, kube_rights[i].group, kube_rights[i].resource, kube_rights[i].verbs[k]);
    return rights;
}

static const char *item(const struct yaml_node *list, size_t at)
{
    struct error err = { 0 };
    const char *text = NULL;

    if (yaml_text(&list->children[at], &text, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

static void note_rule(struct map *rights, const struct yaml_node *rule)
{
    const struct yaml_node *groups = yaml_get(rule, "apiGroups");
    const struct yaml_node *resources = yaml_get(rule, "resources");
    const struct yaml_node *verbs = yaml_get(rule, "verbs");

    for (size_t i = 0; i < groups->count; i++)
        for (size_t k = 0; k < resources->count; k++)
            for (size_t n = 0; n < verbs->count; n++)
                note(rights, item(groups, i), item(resources, k), item(verbs, n));
}

static void expect_all(const struct map *some, const struct map *others, const char *where)
{
    const char *right;

    for (size_t i = 0; map_next(some, &i, &right, NULL);)
        if (!map_get(others, right))
            fail_msg("%s is not in %s", right, where);
}

static void table_and_role_agree(void **state)
{
    struct error err = { 0 };
    owned(yaml_document) struct yaml_document *document = yaml_read("clusters/role.yaml", &err);
    owned(map) struct map *table = of_table();
    owned(map) struct map *role = map_new(NULL);
    const struct yaml_node *rules;

    (void)state;
    if (!document)
        fail_msg("%s", err.text);
    rules = yaml_get(yaml_root(document), "rules");
    assert_non_null(rules);
    for (size_t i = 0; i < rules->count; i++)
        note_rule(role, &rules->children[i]);
    expect_all(table, role, "clusters/role.yaml");
    expect_all(role, table, "clusters/kube_rights.c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_and_role_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
