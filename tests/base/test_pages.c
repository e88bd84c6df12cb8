/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Walks over pages end, whatever the server names as the next one.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/world/pages.h"
#include "tests/support/unit.h"

#include <string.h>

enum { MOST = 1000 };

/* Pages until the walk stops, of a server that leads `lead` pages on and then goes round. */
static int walk_round(int lead, int round, struct error *err)
{
    struct pages pages = { 0 };
    int asked = 0;

    pages_start(&pages, MOST);
    for (;; asked++) {
        int at = asked < lead ? asked : lead + (asked - lead) % round;
        owned(chars) char *token = text_format("page-%d", at);

        pages_brought(&pages, 1);
        if (pages_next(&pages, token, err) < 0)
            break;
    }
    pages_clear(&pages);
    return asked;
}

static void a_cycle_of_any_length_ends(void **state)
{
    (void)state;
    for (int lead = 0; lead < 20; lead++) {
        for (int round = 1; round < 20; round++) {
            struct error err = { 0 };
            int asked = walk_round(lead, round, &err);

            assert_int_equal(err.kind, ERROR_CORRUPT);
            assert_string_equal(err.text, "the list repeats a page: it has no end");
            if (asked > 3 * (lead + round))
                fail_msg("after %d pages, then %d in a circle: %d asked", lead, round, asked);
        }
    }
}

static void ever_new_pages_end(void **state)
{
    static const struct {
        size_t items;
        int want;
        const char *text;
    } cases[] = {
        { 0, 99, "100 pages in a row brought nothing but the next one" },
        { 1, MOST - 1, "the list has more than 1000 pages" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pages pages = { 0 };
        struct error err = { 0 };
        int asked = 0;

        pages_start(&pages, MOST);
        for (;; asked++) {
            owned(chars) char *token = text_format("page-%d", asked);

            pages_brought(&pages, cases[i].items);
            if (pages_next(&pages, token, &err) < 0)
                break;
        }
        assert_int_equal(asked, cases[i].want);
        assert_string_equal(err.text, cases[i].text);
        pages_clear(&pages);
    }
}

static void a_name_without_end_is_refused(void **state)
{
    struct pages pages = { 0 };
    struct error err = { 0 };
    owned(chars) char *token = mem_new(PAGES_TOKEN_MOST + 2);

    (void)state;
    memset(token, 'x', PAGES_TOKEN_MOST);
    pages_start(&pages, MOST);
    assert_int_equal(pages_next(&pages, token, &err), 0);
    token[PAGES_TOKEN_MOST] = 'y';
    assert_int_equal(pages_next(&pages, token, &err), -1);
    assert_non_null(strstr(err.text, "longer than"));
    pages_clear(&pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cycle_of_any_length_ends),
        cmocka_unit_test(ever_new_pages_end),
        cmocka_unit_test(a_name_without_end_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
