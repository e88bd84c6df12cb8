/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lists in one text: their items one by one, and whether one is there.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/text_items.h"
#include "tests/support/unit.h"

static void items_come_one_by_one(void **state)
{
    static const struct {
        const char *list, *want; /* items with bars behind them */
    } rows[] = {
        { NULL, "" },           { "", "" },
        { "a", "a|" },          { "a, b", "a|b|" },
        { "a,b ,c", "a|b|c|" }, { "ab  c,", "ab|c|" },
        { ", a", "|a|" },       { "x/y, z", "x/y|z|" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(text) struct text *found = text_new(64);
        const char *list = rows[i].list;
        const char *item;
        size_t length;

        while (text_items_next(&list, &item, &length))
            text_add(found, "%.*s|", (int)length, item);
        assert_string_equal(found->chars, rows[i].want);
    }
}

static void a_part_of_an_item_is_not_there(void **state)
{
    (void)state;
    assert_true(text_items_have("ab, c", "ab"));
    assert_true(text_items_have("ab, c", "c"));
    assert_false(text_items_have("ab, c", "a"));
    assert_false(text_items_have("ab, c", "abc"));
    assert_false(text_items_have(NULL, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_one_by_one),
        cmocka_unit_test(a_part_of_an_item_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
