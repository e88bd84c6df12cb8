/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the service refuses to be asked for: each wrong request by its kind (a wrong shape is
 * ERROR_CORRUPT, the readers' word) and a word of its sentence, and that nothing of it stays.
 */
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"

#include <string.h>

typedef json_t *(*request_fn)(struct service *service, const json_t *request, const char *by,
                              struct error *err);

static json_t *apply_set(struct service *service, const json_t *request, const char *by,
                         struct error *err)
{
    return service_apply(service, request, NULL, by, err);
}

static const struct {
    request_fn ask;
    const char *request;
    enum error_kind kind;
    const char *says;
} rows[] = {
    { service_reclaim, "{}", ERROR_CORRUPT, "cluster" },
    { service_reclaim, "{'cluster':'prod-z','nodes':1,'reason':'r'}", ERROR_INVALID, "prod-z" },
    { service_reclaim, "{'cluster':'research-a','nodes':1,'reason':'r'}", ERROR_INVALID,
      "research-a" },
    { service_reclaim, "{'cluster':'prod-a','nodes':0,'reason':'r'}", ERROR_INVALID, "nodes" },
    { service_reclaim, "{'cluster':'prod-a','nodes':-3,'reason':'r'}", ERROR_INVALID, "nodes" },
    { service_reclaim, "{'cluster':'prod-a','nodes':'3','reason':'r'}", ERROR_CORRUPT, "nodes" },
    { service_reclaim, "{'cluster':'prod-a','nodes':1}", ERROR_CORRUPT, "reason" },
    { service_reclaim, "{'cluster':'prod-a','nodes':1,'reason':'r','for_s':59}", ERROR_INVALID,
      "minute" },
    { service_reclaim, "{'cluster':'prod-a','nodes':1,'reason':'r','for_s':604801}", ERROR_INVALID,
      "7 days" },
    { service_freeze, "{'until':'2026-11-18T00:00:00Z'}", ERROR_CORRUPT, "reason" },
    { service_freeze, "{'reason':'r'}", ERROR_CORRUPT, "until" },
    { service_freeze, "{'for_s':'1h','reason':'r'}", ERROR_CORRUPT, "for_s" },
    { service_freeze, "{'for_s':0,'reason':'r'}", ERROR_INVALID, "for_s" },
    { service_freeze, "{'for_s':31622401,'reason':'r'}", ERROR_INVALID, "for_s" },
    { service_freeze, "{'until':'tomorrow','reason':'r'}", ERROR_INVALID, "tomorrow" },
    { service_freeze, "{'until':'2026-11-17T05:00:00Z','reason':'r'}", ERROR_INVALID,
      "has passed" },
    { service_freeze, "{'cluster':'x','until':'2026-11-18T00:00:00Z','reason':'r'}", ERROR_INVALID,
      "cluster x" },
    { service_unfreeze, "{'cluster':'prod-a'}", ERROR_NOT_FOUND, "freeze" },
    { service_unfreeze, "{}", ERROR_NOT_FOUND, "freeze" },
    { service_unfreeze, "{'cluster':'x'}", ERROR_INVALID, "cluster x" },
    { service_hold, "{'node':'n','for_s':60}", ERROR_CORRUPT, "reason" },
    { service_hold, "{'for_s':60,'reason':'r'}", ERROR_CORRUPT, "node" },
    { service_hold, "{'node':'ghost','for_s':60,'reason':'r'}", ERROR_NOT_FOUND, "ghost" },
    { service_release_host, "{}", ERROR_CORRUPT, "host" },
    { service_release_host, "{'host':7}", ERROR_CORRUPT, "host" },
    { service_release_host, "{'host':'ghost'}", ERROR_NOT_FOUND,
      "host ghost is not in quarantine" },
    { apply_set, "[]", ERROR_INVALID, "schedules" },
    { apply_set, "{'day':5,'night':''}", ERROR_INVALID, "schedules/day" },
    { apply_set, "{'day':'{workloads: {}, compute: {}}'}", ERROR_INVALID, "window night" },
    { apply_set, "{'noon':'{workloads: {}, compute: {}}'}", ERROR_INVALID, "window \"noon\"" },
    { apply_set, "{'day':'{workloads: {ghost: {prod-a: 3}}, compute: {}}'}", ERROR_INVALID,
      "ghost" },
    { apply_set, "{'day':'{workloads: {chat-2x: {research-a: 3}}, compute: {}}'}", ERROR_INVALID,
      "research-a" },
    { apply_set,
      "{'day':'{workloads: {}, compute: {a3-megagpu-8g: {us-east5: {prod-a: {counts: [6, "
      "1]}}}}}'"
      "}",
      ERROR_INVALID, "counts[1]" },
    { apply_set,
      "{'day':'{workloads: {}, compute: {a3-megagpu-8g: {us-east5: {prod-a: {counts: "
      "[17]}}}}}'}",
      ERROR_INVALID, "reservation east" },
    { apply_set,
      "{'day':'{workloads: {}, compute: {a3-megagpu-8g: {us-east5: {prod-a: {counts: "
      "[1]}}}}}'}",
      ERROR_INVALID, "static" },
    { apply_set,
      "{'day':'{workloads: {}, compute: {a3-megagpu-8g: {us-east5: {research-a: {counts: "
      "[9]}}}}}'}",
      ERROR_INVALID, "research cluster" },
};

static void a_wrong_request_is_refused(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 41, "");
    int64_t commits;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    commits = rehearsal->commits;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *text = mem_copy_chars(rows[i].request);
        owned(json) json_t *request = NULL;
        owned(json) json_t *answer = NULL;
        struct error err = { 0 };

        for (char *at = text; *at; at++)
            if (*at == '\'')
                *at = '"';
        request = json_parse(text, strlen(text), "test", &err);
        if (!request)
            fail_msg("%s: %s", rows[i].request, err.text);
        answer = rows[i].ask(rehearsal->service, request, "test", &err);
        if (answer)
            fail_msg("%s was accepted", rows[i].request);
        if (err.kind != rows[i].kind || !strstr(err.text, rows[i].says))
            fail_msg("%s: %s: %s", rows[i].request, error_kind_name(err.kind), err.text);
    }
    assert_int_equal(rehearsal->commits, commits);
}

static void a_freeze_is_kept_across_a_restart_and_can_be_lifted(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 42, "");
    owned(json) json_t *request = json_make("{ss ss ss}", "cluster", "prod-a", "until",
                                            "2026-11-18T06:00:00Z", "reason", "incident");
    owned(json) json_t *frozen = NULL;
    owned(json) json_t *lifted = NULL;
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    frozen = service_freeze(rehearsal->service, request, "test", &err);
    assert_non_null(frozen);
    apply(rehearsal, 10, 10);
    rehearsal_run(rehearsal, MINUTE_MS);
    rehearsal_kill(rehearsal);
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfers_of(rehearsal, true), 0);
    lifted = service_unfreeze(rehearsal->service, request, "test", &err);
    assert_non_null(lifted);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 10);
}

enum { HOUR_S = 3600 };

/* Freezes of one subject, in turn: who asks, for how long, and which freeze holds then. */
static const struct wanted_freeze {
    const char *by;
    int64_t for_s;
    const char *holds_by;
    int64_t holds_s;
    bool is_kept;
} wanted_freezes[] = {
    { "ada", 48 * HOUR_S, "ada", 48 * HOUR_S, false },
    { "ben", HOUR_S, "ada", 48 * HOUR_S, true },
    { "root (login ben)", HOUR_S, "ada", 48 * HOUR_S, true },
    { "root", HOUR_S, "ada", 48 * HOUR_S, true },
    { "root (login ada)", 24 * HOUR_S, "root (login ada)", 24 * HOUR_S, false },
    { "ben", 72 * HOUR_S, "ben", 72 * HOUR_S, false },
};

/* request: its subject. */
static void freeze_as(struct rehearsal *rehearsal, json_t *request,
                      const struct wanted_freeze *wanted)
{
    const struct service *service = rehearsal->service;
    int64_t end_ms = loop_wall(rehearsal->loop).ms + wanted->holds_s * SECOND_MS;
    int64_t commits = rehearsal->commits;
    struct wall_time until = { 0 };
    struct error err = { 0 };
    owned(json) json_t *answer = NULL;

    json_object_set_new(request, "reason", json_text(wanted->by));
    json_object_set_new(request, "for_s", json_integer(wanted->for_s));
    answer = service_freeze(rehearsal->service, request, wanted->by, &err);
    if (!answer)
        fail_msg("%s", err.text);
    assert_int_equal(wall_parse(json_text_or(answer, "until", ""), false, &until, &err), 0);
    assert_int_equal(until.ms, wall_whole_second(end_ms).ms);
    assert_string_equal(json_text_or(answer, "by", ""), wanted->holds_by);
    assert_string_equal(json_text_or(answer, "reason", ""), wanted->holds_by);
    assert_int_equal(json_bool_or(answer, "is_kept", false), wanted->is_kept);
    assert_int_equal(rehearsal->commits == commits, wanted->is_kept);
    assert_int_equal(service->guard.freezes.count, 1);
    assert_int_equal(service->guard.freezes.items[0].until.ms, until.ms);
}

/* Else moves would begin in the middle of another person's work. */
static void nobody_shortens_the_freeze_of_another_unasked(void **state)
{
    static const struct wanted_freeze last = { "ada", HOUR_S, "ada", HOUR_S, false };

    (void)state;
    for (int of_node = 0; of_node < 2; of_node++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 44, "");
        const struct service *service = rehearsal->service;
        const struct config_cluster *research = config_cluster(service->config, "research-a");
        owned(json) json_t *request = json_make("{ss}", "cluster", "research-a");
        owned(json) json_t *ended = NULL;
        const char *name = NULL;
        struct error err = { 0 };
        size_t at = 0;
        void *value;

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        assert_true(map_next(fleet_snapshot(service->fleet, research)->nodes, &at, &name, &value));
        if (of_node)
            json_object_set_new(request, "node", json_text(name));
        for (size_t i = 0; i < COUNT_OF(wanted_freezes); i++)
            freeze_as(rehearsal, request, &wanted_freezes[i]);
        ended = service_unfreeze(rehearsal->service, request, "ada", &err);
        assert_non_null(ended);
        rehearsal_run(rehearsal, MINUTE_MS);
        freeze_as(rehearsal, request, &last);
    }
}

static void a_dry_reclaim_changes_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 43, "");
    owned(json) json_t *request = json_make("{ss si ss sb}", "cluster", "prod-a", "nodes", 50,
                                            "reason", "launch", "is_dry_run", 1);
    owned(json) json_t *answer = NULL;
    struct error err = { 0 };
    int64_t commits;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    commits = rehearsal->commits;
    answer = service_reclaim(rehearsal->service, request, "test", &err);
    assert_non_null(answer);
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 9); /* ten less its static one */
    assert_int_equal(json_int_or(answer, "wanted_nodes", 0), 50);
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    assert_int_equal(rehearsal->commits, commits);
    rehearsal_run(rehearsal, HOUR_MS); /* in which only the ledger is stored */
    assert_int_equal(transfers_of(rehearsal, true), 0);
    expect_rest(rehearsal, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_request_is_refused),
        cmocka_unit_test(a_freeze_is_kept_across_a_restart_and_can_be_lifted),
        cmocka_unit_test(nobody_shortens_the_freeze_of_another_unasked),
        cmocka_unit_test(a_dry_reclaim_changes_nothing),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
