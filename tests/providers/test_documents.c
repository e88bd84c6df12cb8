/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The page of providers says what each cloud's errors mean, from the tables of the code.
 */
#include "base/text.h"
#include "providers/kinds.h"
#include "tests/support/document.h"
#include "tests/support/unit.h"

/* Each kind of error that a table has, and what the broker does. */
static const struct {
    enum error_kind kind;
    const char *means;
} meanings[] = {
    { ERROR_NO_CAPACITY, "no machine now: takes the order back, plans again" },
    { ERROR_DENIED, "quota, permission or login: waits for an operator" },
    { ERROR_THROTTLED, "too many requests: waits as long as the cloud asks" },
    { ERROR_CONFLICT, "the cloud is busy, or the machine exists" },
    { ERROR_TRANSIENT, "nothing happened: repeats the request" },
    { ERROR_UNKNOWN_OUTCOME, "it may have happened: lists the pool, then repeats" },
    { ERROR_NOT_FOUND, "the machine is gone" },
    { ERROR_INVALID, "the configuration is wrong: waits for an operator" },
};

static void add_refusal(const struct provider_refusal *refusal, struct text *out)
{
    if (refusal->code)
        text_add(out, "`%s`", refusal->code);
    for (size_t i = 0; i < COUNT_OF(refusal->words) && refusal->words[i]; i++)
        text_add(out, "%s\"%s\"", refusal->code || i > 0 ? " with " : "", refusal->words[i]);
}

static void add_kind(const struct provider_kind *kind, struct text *out)
{
    text_add(out, "\n### %s\n\n| sluice | the cloud says |\n|---|---|\n", kind->account.name);
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        struct provider_refusal refusal;
        bool is_first = true;

        for (size_t at = 0; kind->refusal(at, &refusal); at++) {
            if (refusal.kind != meanings[i].kind)
                continue;
            text_add(out, is_first ? "| %s | " : ", ", meanings[i].means);
            add_refusal(&refusal, out);
            is_first = false;
        }
        text_add(out, "%s", is_first ? "" : " |\n");
    }
}

static void the_page_has_the_tables_of_errors(void **state)
{
    owned(text) struct text *want = text_new(1 << 20);

    (void)state;
    for (size_t i = 0; i < provider_kind_count; i++)
        if (provider_kinds[i]->refusal)
            add_kind(provider_kinds[i], want);
    text_add(want, "\n");
    document_check("providers/README.md", "errors", want->chars);
}

/* A row of another kind would be on no line of the page. */
static void each_row_of_errors_has_a_meaning(void **state)
{
    struct provider_refusal refusal;

    (void)state;
    for (size_t i = 0; i < provider_kind_count; i++)
        for (size_t at = 0; provider_kinds[i]->refusal && provider_kinds[i]->refusal(at, &refusal);
             at++) {
            bool is_known = false;

            for (size_t k = 0; k < COUNT_OF(meanings); k++)
                is_known |= meanings[k].kind == refusal.kind;
            assert_true(is_known);
            assert_true(refusal.code || refusal.words[0]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_has_the_tables_of_errors),
        cmocka_unit_test(each_row_of_errors_has_a_meaning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
