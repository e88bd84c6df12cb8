/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every fault that a provider can meet, on every kind.
 */
#include "base/log.h"
#include "base/text.h"
#include "tests/providers/contract/contract.h"

static const struct contract_case *const tables[] = { contract_orders, contract_capacity,
                                                      contract_rivals, contract_malformed };

struct play {
    const struct contract_case *of;
    char name[160];
    const struct contract_kind *kind;
};

static void play(void **state)
{
    const struct play *it = *state;

    it->of->play(it->kind);
}

int main(void)
{
    struct CMUnitTest tests[256] = { 0 };
    static struct play plays[256];
    size_t count = 0;

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        for (const struct contract_case *of = tables[i]; of->name; of++)
            for (size_t k = 0; k < contract_kind_count; k++) {
                require(count + 1 < COUNT_OF(tests));
                plays[count] = (struct play){ .of = of, .kind = &contract_kinds[k] };
                text_print(plays[count].name, sizeof plays[count].name, "%s: %s", of->name,
                           contract_kinds[k].name);
                tests[count] = (struct CMUnitTest){ plays[count].name, play, NULL, NULL,
                                                    &plays[count] };
                count++;
            }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(contract_check_page);
    return _cmocka_run_group_tests("contract", tests, count, NULL, NULL);
}
