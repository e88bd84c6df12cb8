/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The metrics' two text formats, and the page that lists them.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/api/metrics.h"
#include "tests/support/document.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <string.h>

/* As the service gives it, with names that have to be escaped and values that are not known. */
static const char facts[] =
    "{\"version\": \"1.2\", \"severity\": 2, \"is_broken\": false,"
    " \"window\": \"day\", \"next_window\": \"night\","
    " \"window_until\": \"2026-11-17T20:00:00Z\", \"margin_s\": null,"
    " \"notice_violations\": 3, \"emergency_evictions\": 0,"
    " \"condition_counts\": ["
    "  {\"id\": \"pool_closed\", \"severity\": \"warning\", \"cluster\": \"\", \"count\": 0},"
    "  {\"id\": \"pool_closed\", \"severity\": \"warning\", \"cluster\": \"prod\", \"count\": 1},"
    "  {\"id\": \"pool_closed\", \"severity\": \"warning\", \"cluster\": \"prod\", \"count\": 1}],"
    " \"condition_dates\": [{\"id\": \"pool_closed\", \"severity\": \"warning\","
    "  \"cluster\": \"prod\", \"since\": \"2026-11-17T06:00:00Z\"}],"
    " \"condition_table\": [{\"id\": \"pool_closed\", \"affects\": \"nodes\","
    "  \"advice\": \"wait, or `ask`\"}],"
    " \"leads\": [{\"key\": \"gcp/m/z\", \"direction\": \"to_production\", \"known\": 7, "
    "\"p50_s\": 1500, \"p95_s\": 2400, "
    "\"steps\": ["
    "  {\"step\": \"drain\", \"known\": 7, \"p50_s\": 300, \"p95_s\": null},"
    "  {\"step\": \"join\", \"known\": 7, \"p50_s\": 240, \"p95_s\": 400}]}],"
    " \"quotas\": [{\"quota\": \"batch\", \"cluster\": \"r\", \"gpus\": 24, \"wanted_gpus\": 16}],"
    " \"pools\": ["
    "  {\"pool\": \"a \\\"b\\\\\\n\", \"cluster\": \"prod\", \"machine\": \"m\", \"zone\": \"z\","
    "   \"static_nodes\": 4, \"ephemeral_nodes\": null, \"incoming_nodes\": 2,"
    "   \"outgoing_nodes\": 0, \"wanted_nodes\": 9, \"age_s\": 12}],"
    " \"clusters\": [{\"cluster\": \"prod\", \"role\": \"production\", \"ready_gpus\": 32}],"
    " \"reservations\": [], \"workloads\": [],"
    " \"ledger\": {\"pools\": ["
    "  {\"pool\": \"a\", \"cluster\": \"r\", \"reservation\": \"e\", \"lent_gpu_s\": 7200.5,"
    "   \"transit_gpu_s\": 600, \"lost_gpu_s\": 0, \"unseen_s\": 30},"
    "  {\"pool\": \"p\", \"cluster\": \"prod\", \"reservation\": \"e\", \"transit_gpu_s\": 60,"
    "   \"lost_gpu_s\": 0}],"
    "  \"prices\": [{\"reservation\": \"e\", \"price\": 2.1, \"currency\": \"USD\","
    "   \"basis\": \"3y commitment\", \"date\": \"2026-10-01\"}],"
    "  \"queue_targets\": [{\"queue\": \"chat\", \"percentile\": \"98\", \"wait_target_s\": 3}]},"
    " \"numbers\": {\"window_left_s\": 5400, \"applied\": \"2026-11-17T06:00:00Z\","
    "  \"apply_success\": null,"
    "  \"counts\": {"
    "   \"moves\": [{\"from\": \"r\", \"to\": \"p\", \"result\": \"done\", \"count\": 7}],"
    "   \"steps\": [{\"provider\": \"g\", \"machine\": \"m\", \"step\": \"drain\","
    "    \"count\": 3, \"sum\": 71.5, \"buckets\": [[1, 0], [30, 2], [3600, 3]]}],"
    "   \"evictions\": [{\"cluster\": \"r\", \"reason\": \"planned\", \"count\": 2}],"
    "   \"notices\": [{\"reason\": \"planned\", \"count\": 2, \"sum\": 3600,"
    "    \"buckets\": [[1800, 2]]}]},"
    "  \"sources\": [{\"kind\": \"cluster\", \"source\": \"prod\", \"age_s\": 12.5}],"
    "  \"orphans\": [{\"provider\": \"g\", \"cluster\": \"r\", \"kind\": \"machine\","
    "   \"count\": 1}],"
    "  \"states\": [{\"cluster\": \"prod\", \"machine\": \"m\", \"zone\": \"z\","
    "   \"pool\": \"a\", \"state\": \"ready\", \"count\": 4},"
    "   {\"cluster\": \"prod\", \"machine\": \"m\", \"zone\": \"z\","
    "   \"pool\": \"a\", \"state\": \"draining\", \"count\": 0}],"
    "  \"drift\": [{\"cluster\": \"prod\", \"kind\": \"replicas\", \"count\": 1},"
    "   {\"cluster\": \"prod\", \"kind\": \"replicas\", \"count\": 0}],"
    "  \"forecast\": {\"windows\": ["
    "    {\"window\": \"day\", \"need\": {\"gpus\":"
    "     {\"lower\": 20, \"point\": 24.5, \"bound\": 31}}},"
    "    {\"window\": \"night\", \"need\": null}],"
    "   \"scores\": [{\"queue\": \"chat\", \"score\": {\"coverage\": 0.75,"
    "    \"coverage_high\": 0.88, \"coverage_promised\": 0.9}}]}},"
    " \"steps\": {\"needs_operator\": 1},"
    " \"transfers\": ["
    "  {\"from\": \"r\", \"to\": \"p\", \"step\": \"drain\"},"
    "  {\"from\": \"r\", \"to\": \"p\", \"step\": \"join\"},"
    "  {\"from\": \"r\", \"to\": \"p\", \"step\": \"drain\"}],"
    " \"doors\": [{\"door\": \"socket\", \"is_open\": true},"
    "  {\"door\": \"listen\", \"is_open\": false,"
    "   \"certificate_ends\": \"2026-11-30T00:00:00Z\","
    "   \"authorities_end\": \"2027-01-31T00:00:00Z\"}],"
    " \"refused\": [{\"reason\": \"rate\", \"count\": 7}],"
    " \"overrides\": {\"freezes\": [{\"cluster\": \"prod\"}],"
    "  \"reclaims\": [{\"pool\": \"a\"}, {\"pool\": \"a\"}]}}";

static char *print(enum metrics_form form)
{
    struct error err = { 0 };
    owned(json) json_t *status = json_parse(facts, strlen(facts), "facts", &err);

    if (!status)
        fail_msg("%s", err.text);
    json_object_set_new(status, "lead_steps", metrics_steps(json_object_get(status, "leads")));
    return metrics_print(status, form);
}

static void the_text_format_is_that_of_prometheus(void **state)
{
    owned(chars) char *text = print(METRICS_TEXT);

    (void)state;
    golden_check("golden/metrics/text.txt", text);
    assert_non_null(strstr(text, "\nsluice_freeze{cluster=\"prod\"} 1\n"));
    assert_non_null(strstr(text, "\nsluice_reclaims{pool=\"a\"} 2\n"));
}

static void openmetrics_names_counters_without_total_and_ends(void **state)
{
    owned(chars) char *text = print(METRICS_OPEN);

    (void)state;
    golden_check("golden/metrics/open.txt", text);
    assert_non_null(strstr(text, "# TYPE sluice_notice_violations counter\n"));
    assert_non_null(strstr(text, "\nsluice_notice_violations_total 3\n"));
    assert_non_null(strstr(text, "# TYPE sluice_moves_total unknown\nsluice_moves_total{"));
    assert_string_equal(text + strlen(text) - strlen("# EOF\n"), "# EOF\n");
}

static void the_client_chooses_the_format(void **state)
{
    static const struct {
        const char *accept;
        enum metrics_form form;
    } cases[] = {
        { NULL, METRICS_TEXT },
        { "*/*", METRICS_TEXT },
        { "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", METRICS_TEXT },
        { "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3",
          METRICS_OPEN },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(metrics_form_of(cases[i].accept), cases[i].form);
}

/* A metric has one block of samples, because both formats forbid a second one. */
static void each_name_has_one_head(void **state)
{
    owned(chars) char *text = print(METRICS_TEXT);

    (void)state;
    for (const char *at = text; (at = strstr(at, "# TYPE ")); at++) {
        owned(chars) char *head = text_format("%.*s ", (int)(strcspn(at + 7, " ") + 7), at);

        assert_null(strstr(at + 1, head));
    }
}

static void the_page_has_each_metric(void **state)
{
    owned(chars) char *page = metrics_page();

    (void)state;
    document_check("docs/metrics.md", "metrics", page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_format_is_that_of_prometheus),
        cmocka_unit_test(openmetrics_names_counters_without_total_and_ends),
        cmocka_unit_test(the_client_chooses_the_format),
        cmocka_unit_test(each_name_has_one_head),
        cmocka_unit_test(the_page_has_each_metric),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
