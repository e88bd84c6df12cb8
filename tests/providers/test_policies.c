/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The files of tools/policies are what the tables of requests say.
 */
#include "providers/kinds.h"
#include "providers/policy.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

static void files_follow_from_the_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < provider_kind_count; i++) {
        const struct provider_kind *kind = provider_kinds[i];
        owned(text) struct text *policy = text_new(1 << 20);
        owned(chars) char *path = NULL;

        if (!policy_file(kind))
            continue;
        path = text_format("../tools/policies/%s", policy_file(kind));
        policy_print(kind, policy);
        golden_check(path, policy->chars);
    }
}

/* The cloud answers these to anybody: Google's and AWS's references say that none is needed. */
static const char *const free_requests[] = { "projects.testIamPermissions", "GetCallerIdentity" };

static bool is_free(const struct provider_kind *kind, const char *name)
{
    if (text_equal(kind->account.name, "ssh")) /* no cloud: machines have no permissions by name */
        return true;
    for (size_t i = 0; i < COUNT_OF(free_requests); i++)
        if (text_equal(free_requests[i], name))
            return true;
    return false;
}

/* A row without a permission or a purpose would leave a hole in a policy. */
static void each_request_is_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < provider_kind_count; i++)
        for (size_t k = 0; k < provider_kinds[i]->action_count; k++) {
            const struct provider_action *action = &provider_kinds[i]->actions[k];

            assert_true(action->name && action->name[0] != '\0');
            assert_non_null(action->permission);
            assert_true((action->permission[0] == '\0') ==
                        is_free(provider_kinds[i], action->name));
            assert_true(action->purpose && action->purpose[0] != '\0');
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_follow_from_the_tables),
        cmocka_unit_test(each_request_is_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
