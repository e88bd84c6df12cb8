/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rows of an answer as CSV, for spreadsheets and scripts.
 */
#include "base/input/json.h"
#include "broker/cli/event_rows.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/transfer_page.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct {
    const char *rows;
    bool has_titles;
    const char *csv;
} cases[] = {
    { "[]", true, "" },
    { "[{\"id\":\"t-1\",\"nodes\":2,\"is_late\":true}]", true,
      "id,nodes,is_late\r\nt-1,2,true\r\n" },
    { "[{\"id\":\"t-1\"}]", false, "t-1\r\n" },
    /* RFC 4180: quotes only where they are needed */
    { "[{\"text\":\"a, \\\"b\\\"\"},{\"text\":\"c\\nd\"}]", true,
      "text\r\n\"a, \"\"b\"\"\"\r\n\"c\nd\"\r\n" },
    /* lists and objects are no cells; null and what is missing are empty */
    { "[{\"id\":\"a\",\"steps\":[1],\"p50_s\":null},{\"id\":\"b\",\"p95_s\":1.5}]", true,
      "id,p50_s,p95_s\r\na,,\r\nb,,1.5\r\n" },
    /* a member that is a cell in one row only */
    { "[{\"due\":{\"at\":1}},{\"due\":\"now\"}]", true, "due\r\n\r\nnow\r\n" },
    { "[{\"text\":\"\"}]", true, "text\r\n\r\n" },
};

static void rows_become_csv(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(json) json_t *rows = json_parse(cases[i].rows, strlen(cases[i].rows), "rows", &err);
        owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

        assert_non_null(rows);
        rows_csv(rows, cases[i].has_titles, out);
        assert_string_equal(out->chars, cases[i].csv);
    }
}

/* Alike ones within a minute are one row; a person's act says who and why. */
static void events_become_rows(void **state)
{
    static const char text[] =
        "[{\"at\":\"2026-11-17T06:00:01Z\",\"event\":\"freeze\",\"by\":\"ann\",\"freeze\":"
        "{\"cluster\":\"\",\"reason\":\"upgrade\"}},"
        "{\"at\":\"2026-11-17T06:00:02Z\",\"event\":\"reclaim\",\"by\":\"bob\",\"reclaim\":"
        "{\"pool\":\"east\",\"nodes\":2,\"reason\":\"launch\"}},"
        "{\"at\":\"2026-11-17T06:00:02Z\",\"event\":\"reclaim\",\"by\":\"bob\",\"reclaim\":"
        "{\"pool\":\"east\",\"nodes\":1,\"reason\":\"launch\"}},"
        "{\"at\":\"2026-11-17T06:00:03Z\",\"event\":\"step\",\"transfer\":\"t-1\",\"step\":"
        "\"drain\",\"node\":\"g-1\","
        "\"to\":\"east\",\"text\":\"node g-1 to show it\"},"
        "{\"at\":\"2026-11-17T06:00:04Z\",\"event\":\"replicas\",\"workload\":\"chat\","
        "\"cluster\":\"prod\",\"from\":3,\"to\":5},"
        "{\"at\":\"2026-11-17T06:01:03Z\",\"event\":\"step\",\"transfer\":\"t-1\",\"step\":"
        "\"drain\",\"node\":\"g-2\","
        "\"to\":\"east\",\"text\":\"node g-2 to show it\"},"
        "{\"at\":\"2026-11-17T06:01:04Z\",\"event\":\"step\",\"transfer\":\"t-1\",\"step\":"
        "\"drain\",\"node\":\"g-3\","
        "\"to\":\"east\",\"text\":\"node g-3 to show it\\u001b[2J\\nREADY IN TIME\"},"
        "{\"at\":\"2026-11-17T06:01:05Z\",\"event\":\"schedules_applied\",\"changed_nodes\":4,"
        "\"by\":\"ann\"}]";
    struct error err = { 0 };
    owned(json) json_t *events = json_parse(text, strlen(text), "events", &err);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    (void)state;
    assert_non_null(events);
    event_rows_table(events, out);
    text_add(out, "\n");
    event_rows_screen(events, false, 120, out);
    text_add(out, "\n");
    event_rows_screen(events, true, 120, out);
    golden_check("golden/events.txt", out->chars);
}

/* A transfer with all that it may have, and one that has ended. */
static void a_transfer_becomes_a_page(void **state)
{
    static const char live[] =
        "{\"transfer\":\"t-1\",\"move\":\"m-1\",\"node\":\"g-1\",\"from\":\"lab\",\"to\":\"east\","
        "\"state\":\"live\",\"step\":\"acquire\",\"is_emergency\":true,\"is_undoing\":false,"
        "\"needs_operator\":true,\"created\":\"2026-11-17T06:00:00Z\","
        "\"since\":\"2026-11-17T06:05:00Z\",\"departure\":\"2026-11-17T06:01:00Z\","
        "\"due\":null,\"expected\":\"2026-11-17T06:50:00Z\","
        "\"expected_p50\":\"2026-11-17T06:30:00Z\",\"announced\":null,\"held\":\"\","
        "\"waits_for\":\"machine g-9, attempt 2: ZONE_RESOURCE_POOL_EXHAUSTED\\nStep: done\","
        "\"instance\":\"g-1\",\"new_instance\":\"g-9\",\"new_node\":\"\",\"attempt\":2,"
        "\"reason\":\"launch\",\"blockers\":[{\"pod\":\"ml/a\",\"class\":\"job\",\"owner\":\"ml/"
        "j\","
        "\"verdict\":\"never\",\"text\":\"the budget allows none\",\"advice\":\"raise it\"}]}";
    static const char done[] = "{\"transfer\":\"t-2\",\"node\":\"g-2\",\"state\":\"done\","
                               "\"step\":\"join\",\"waits_for\":\"\",\"lead_s\":2460}";
    struct error err = { 0 };
    owned(json) json_t *first = json_parse(live, strlen(live), "live", &err);
    owned(json) json_t *second = json_parse(done, strlen(done), "done", &err);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    (void)state;
    assert_non_null(first);
    assert_non_null(second);
    transfer_page(first, out);
    text_add(out, "\n");
    transfer_page(second, out);
    golden_check("golden/cli/transfer.txt", out->chars);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_becomes_a_page),
        cmocka_unit_test(events_become_rows),
        cmocka_unit_test(rows_become_csv),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
