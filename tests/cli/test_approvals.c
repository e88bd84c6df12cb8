/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Large acts wait for a second person.  Nothing is done before, once only after, and never what was
 * not seen.
 */
#include "broker/access/persons.h"
#include "tests/cli/stepwise.h"

static const char from_three[] = "guard: {approval_nodes: 3, approval_wait: 2h}\n";

static struct rehearsal *open_calm(const char *folder, uint64_t seed, const char *settings)
{
    struct rehearsal *rehearsal = small_rehearsal_with(folder, seed, "", settings, "");
    owned(json) json_t *schedules = small_schedules(6, 6);
    struct error err = { 0 };
    owned(json) json_t *plan = NULL;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    plan = service_apply(rehearsal->service, schedules, NULL, "timer", &err);
    if (!plan || !json_bool_or(plan, "is_applied", false))
        fail_msg("%s", err.text);
    return rehearsal;
}

static json_t *reclaim_as(struct rehearsal *rehearsal, int nodes, const char *by, const char *key)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss si ss ss}", "cluster", "prod-a", "nodes", nodes,
                                            "reason", "launch", "key", key);
    json_t *answer = service_reclaim(rehearsal->service, request, by, &err);

    if (!answer)
        fail_msg("%s", err.text);
    return answer;
}

static json_t *apply_as(struct rehearsal *rehearsal, int day, const char *by, struct error *err)
{
    owned(json) json_t *schedules = small_schedules(day, 6);

    return service_apply(rehearsal->service, schedules, NULL, by, err);
}

/* The last approval; NULL: there is none. */
static json_t *last_row(struct rehearsal *rehearsal)
{
    owned(json) json_t *answer = service_approvals(rehearsal->service, true);
    const json_t *rows = json_object_get(answer, "approvals");

    return json_incref(json_array_get(rows, json_array_size(rows) - 1));
}

static void expect_state(struct rehearsal *rehearsal, const char *state)
{
    owned(json) json_t *row = last_row(rehearsal);

    assert_non_null(row);
    assert_string_equal(json_text_or(row, "state", ""), state);
}

/* Decides on the last approval, as it is seen now. */
static json_t *decide(struct rehearsal *rehearsal, const char *by, bool is_rejected,
                      struct error *err)
{
    owned(json) json_t *row = last_row(rehearsal);
    owned(json) json_t *request = json_make("{sO sO sb ss}", "id", json_object_get(row, "id"),
                                            "fingerprint", json_object_get(row, "fingerprint"),
                                            "is_rejected", (int)is_rejected, "reason", "too many");

    return service_approve(rehearsal->service, request, by, err);
}

static void must_approve(struct rehearsal *rehearsal, const char *by)
{
    struct error err = { 0 };
    owned(json) json_t *row = decide(rehearsal, by, false, &err);

    if (!row)
        fail_msg("%s", err.text);
    assert_string_equal(json_text_or(row, "state", ""), "approved");
    assert_false(json_bool_or(row, "is_repeat", true));
}

static void must_fail(struct rehearsal *rehearsal, const char *by, bool is_rejected,
                      enum error_kind kind)
{
    struct error err = { 0 };

    assert_null(decide(rehearsal, by, is_rejected, &err));
    if (err.kind != kind)
        fail_msg("%s: %s: %s", by, error_kind_name(err.kind), err.text);
}

static json_t *worst(struct rehearsal *rehearsal)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    return json_incref(json_array_get(json_at(status, "health/conditions"), 0));
}

static void a_large_reclaim_waits_for_a_second_person(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 61, from_three);
    owned(json) json_t *answer = reclaim_as(rehearsal, 3, "ada", "k-1");
    owned(json) json_t *condition = worst(rehearsal);
    owned(json) json_t *again = NULL;
    owned(json) json_t *like = NULL;
    owned(json) json_t *after = NULL;
    const struct reclaim *reclaim;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(json_int_or(answer, "accepted_nodes", -1), 0);
    assert_string_equal(json_text_or(answer, "approval/state", ""), "waits");
    assert_int_equal(json_int_or(answer, "approval/nodes", 0), 3);
    assert_string_equal(json_text_or(condition, "id", ""), "reclaim_waits");
    assert_string_equal(json_text_or(condition, "severity", ""), "critical");
    assert_string_equal(json_text_or(condition, "cluster", ""), "prod-a");

    /* asked again, under the same key or in the same words: one request */
    again = reclaim_as(rehearsal, 3, "ada", "k-1");
    like = reclaim_as(rehearsal, 3, "ada", "k-2");
    assert_true(json_bool_or(again, "is_repeat", false) && json_bool_or(like, "is_repeat", false));
    assert_int_equal(story_count(rehearsal, "approval_asked"), 1);

    restart(rehearsal);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfers_of(rehearsal, true), 0);
    must_approve(rehearsal, "ben");
    reclaim = &rehearsal->service->reclaims.items[0];
    assert_string_equal(reclaim->by, "ada");
    assert_string_equal(reclaim->approved_by, "ben");
    assert_true(reclaim->until.ms > loop_wall(rehearsal->loop).ms + 119 * MINUTE_MS);

    /* twice is once */
    after = decide(rehearsal, "ben", false, &err);
    assert_true(json_bool_or(after, "is_repeat", false));
    assert_int_equal(rehearsal->service->reclaims.count, 1);
    must_fail(rehearsal, "cyd", true, ERROR_CONFLICT);
    json_decref(steal(&again));
    again = reclaim_as(rehearsal, 3, "ada", "k-1"); /* the answer was lost: it is that order */
    assert_true(json_bool_or(again, "is_repeat", false));
    assert_string_equal(json_text_or(again, "id", ""), reclaim->order);
    restart(rehearsal);
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    expect_rest(rehearsal, 9);
    assert_int_equal(story_count(rehearsal, "approved"), 1);
}

static void two_names_of_one_person_are_one_person(void **state)
{
    static const struct {
        const char *name;
        const char *other;
        bool differ;
    } pairs[] = {
        { "ada", "ben", true },
        { "ada", "ada", false },
        { "ada", "root (login ada)", false },
        { "root (login ada)", "root (login ben)", true },
        { "root (login ada)", "root (login ada)", false },
        { "sluice (login ada)", "ben (login ada)", false },
        { "ada", "ada@example.com", false },
        { "Ada@example.com", "ada@other.example", false },
        { "ada@example.com", "ben@example.com", true },
        { "ada", "root", false },
        { "root", "root", false },
        { "ada", "root (login unknown)", false },
        { "uid 1000", "ada", false },
        { "ada", "uid 1000", false },
        { "ada", "root (login uid 1000)", false },
        { "spiffe://a/ada", "spiffe://a/ben", true },
        { "spiffe://ada@a/x", "spiffe://ada@a/y", true },
        { "unknown", "ada", true },
        { "", "ada", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        if (persons_differ(pairs[i].name, pairs[i].other) != pairs[i].differ ||
            persons_differ(pairs[i].other, pairs[i].name) != pairs[i].differ ||
            (pairs[i].differ && persons_agree(pairs[i].name, pairs[i].other)))
            fail_msg("%s and %s", pairs[i].name, pairs[i].other);
}

static void nobody_approves_what_that_person_asked_for(void **state)
{
    static const char *const same[] = { "ada",  "root (login ada)",     "ada@example.com",
                                        "root", "root (login unknown)", "uid 1000" };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 62, from_three);
    owned(json) json_t *answer = reclaim_as(rehearsal, 3, "root (login ada)", "");
    owned(json) json_t *request = json_make("{ss si ss}", "cluster", "prod-a", "nodes", 4, "reason",
                                            "launch");
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(same); i++)
        must_fail(rehearsal, same[i], false, ERROR_DENIED);
    expect_state(rehearsal, "waits");

    /* whom sluice does not know asks for nothing that needs two */
    assert_null(service_reclaim(rehearsal->service, request, "root", &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfers_of(rehearsal, true), 0);
}

static void a_rejection_ends_it(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 63, from_three);
    owned(json) json_t *answer = reclaim_as(rehearsal, 3, "ada", "");
    struct error err = { 0 };
    owned(json)
        json_t *row = decide(rehearsal, "ada", true, &err); /* one's own may be taken back */
    owned(json) json_t *again = NULL;

    (void)state;
    assert_string_equal(json_text_or(row, "state", ""), "rejected");
    assert_string_equal(json_text_or(row, "why", ""), "too many");
    again = decide(rehearsal, "ben", true, &err);
    assert_true(json_bool_or(again, "is_repeat", false));
    must_fail(rehearsal, "ben", false, ERROR_CONFLICT);
    restart(rehearsal);
    must_fail(rehearsal, "ben", false, ERROR_CONFLICT);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfers_of(rehearsal, true), 0);
}

static void it_ends_by_itself(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 64, from_three);
    owned(json) json_t *answer = reclaim_as(rehearsal, 3, "ada", "");

    (void)state;
    rehearsal_run(rehearsal, 119 * MINUTE_MS);
    expect_state(rehearsal, "waits");
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    expect_state(rehearsal, "expired");
    assert_false(warns_of(rehearsal, "second person"));
    assert_int_equal(story_count(rehearsal, "approval_expired"), 1);
    must_fail(rehearsal, "ben", false, ERROR_CONFLICT);
    restart(rehearsal);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(story_count(rehearsal, "approval_expired"), 1);
    assert_int_equal(transfers_of(rehearsal, true), 0);
}

/* Also when the service was down as the time ended: the first to ask finds it over. */
static void it_ends_while_the_service_is_down(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 65, from_three);
    owned(json) json_t *answer = reclaim_as(rehearsal, 3, "ada", "");
    struct error err = { 0 };

    (void)state;
    rehearsal_kill(rehearsal);
    rehearsal_run(rehearsal, 121 * MINUTE_MS);
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    must_fail(rehearsal, "ben", false, ERROR_CONFLICT);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfers_of(rehearsal, true), 0);
}

static void schedules_wait_as_well(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 66, from_three);
    struct error err = { 0 };
    owned(json) json_t *plan = apply_as(rehearsal, 9, "ada", &err);
    owned(json) json_t *again = apply_as(rehearsal, 9, "timer", &err);
    owned(json) json_t *condition = worst(rehearsal);
    const json_t *change = json_array_get(json_at(plan, "approval/changes"), 0);

    (void)state;
    assert_false(json_bool_or(plan, "is_applied", true));
    assert_int_equal(json_int_or(plan, "approval/nodes", 0), 3);
    assert_string_equal(json_text_or(change, "window", ""), "day");
    assert_int_equal(json_int_or(change, "nodes", 0), 6);
    assert_int_equal(json_int_or(change, "wanted_nodes", 0), 9);
    assert_string_equal(json_text_or(again, "approval/id", ""),
                        json_text_or(plan, "approval/id", "-"));
    assert_string_equal(json_text_or(condition, "id", ""), "apply_waits");
    must_fail(rehearsal, "ada", false, ERROR_DENIED);
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    assert_int_equal(transfers_of(rehearsal, true), 0);
    restart(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    must_approve(rehearsal, "ben");
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    expect_rest(rehearsal, 9);

    /* what is in force changes nothing, and needs no second person */
    json_decref(steal(&again));
    again = apply_as(rehearsal, 9, "timer", &err);
    assert_true(json_bool_or(again, "is_applied", false));
}

static void what_was_rejected_is_not_asked_again_by_a_timer(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 67, from_three);
    struct error err = { 0 };
    owned(json) json_t *plan = apply_as(rehearsal, 9, "timer", &err);
    owned(json) json_t *row = decide(rehearsal, "ben", true, &err);
    owned(json) json_t *later = NULL;

    (void)state;
    assert_non_null(row);
    assert_null(apply_as(rehearsal, 9, "timer", &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    restart(rehearsal);
    assert_null(apply_as(rehearsal, 9, "timer", &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    rehearsal_run(rehearsal, 121 * MINUTE_MS);
    later = apply_as(rehearsal, 9, "timer", &err);
    assert_string_equal(json_text_or(later, "approval/state", ""), "waits");
}

/* Schedules that came into force meanwhile are not what the second person would replace. */
static void other_schedules_overtake_it(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 68, from_three);
    struct error err = { 0 };
    owned(json) json_t *plan = apply_as(rehearsal, 9, "ada", &err);
    owned(json) json_t *same = apply_as(rehearsal, 6, "cyd", &err); /* those in force */
    owned(json) json_t *other = NULL;

    (void)state;
    assert_true(json_bool_or(same, "is_applied", false));
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_state(rehearsal, "waits");
    other = apply_as(rehearsal, 7, "cyd", &err);
    assert_true(json_bool_or(other, "is_applied", false));
    must_fail(rehearsal, "ben", false, ERROR_CONFLICT);
    expect_state(rehearsal, "expired");
}

/* Research nodes that are frozen when it is asked, and not when it is approved. */
static void what_has_grown_is_looked_at_again(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 69, from_three);
    owned(json) json_t *freeze = NULL;
    owned(json) json_t *answer = NULL;
    owned(json) json_t *seen = NULL;
    owned(json) json_t *open = NULL;
    struct error err = { 0 };
    owned(json) json_t *node = json_make("{ss ss ss sI}", "cluster", "research-a", "node", "",
                                         "reason", "look", "for_s", (json_int_t)3600);
    const struct map *nodes = sim_cluster(rehearsal->simulator, "research-a")->nodes;
    const char *name;
    void *value;
    int frozen = 0;

    (void)state;
    for (size_t i = 0; map_next(nodes, &i, &name, &value) && frozen < 5;) {
        if (((struct kube_node *)value)->is_static)
            continue;
        json_object_set_new(node, "node", json_text(name));
        json_decref(steal(&freeze));
        freeze = service_freeze(rehearsal->service, node, "ada", &err);
        assert_non_null(freeze);
        frozen++;
    }
    answer = reclaim_as(rehearsal, 8, "ada", "");
    assert_int_equal(json_int_or(answer, "approval/nodes", 0), 4);
    seen = last_row(rehearsal);
    json_object_del(node, "for_s");
    open = service_unfreeze(rehearsal->service, node, "ada", &err);
    assert_non_null(open);
    must_fail(rehearsal, "ben", false, ERROR_CONFLICT); /* five now */
    expect_state(rehearsal, "waits");
    assert_int_equal(rehearsal->service->reclaims.count, 0);

    /* nor is it approved by what was seen before */
    owned(json) json_t *old = json_make("{sO sO}", "id", json_object_get(seen, "id"), "fingerprint",
                                        json_object_get(seen, "fingerprint"));

    assert_null(service_approve(rehearsal->service, old, "ben", &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    must_approve(rehearsal, "ben");
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    expect_rest(rehearsal, 11);
}

static void a_large_act_in_parts_is_a_large_act(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 70, from_three);
    owned(json) json_t *first = reclaim_as(rehearsal, 2, "ada", "");
    owned(json) json_t *second = NULL;
    owned(json) json_t *other = NULL;
    owned(json) json_t *plan = NULL;
    owned(json) json_t *tomorrow = NULL;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(json_int_or(first, "accepted_nodes", 0), 2);
    restart(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    second = reclaim_as(rehearsal, 1, "root (login ada)", "");
    assert_string_equal(json_text_or(second, "approval/state", ""), "waits");
    plan = apply_as(rehearsal, 7, "ada@example.com", &err);
    assert_false(json_bool_or(plan, "is_applied", true));
    other = reclaim_as(rehearsal, 2, "ben", "");
    assert_true(json_bool_or(other, "is_repeat", false)); /* ada's is that order */
    rehearsal_run(rehearsal, 25 * HOUR_MS);
    tomorrow = reclaim_as(rehearsal, 2, "ada", "");
    assert_int_equal(json_int_or(tomorrow, "accepted_nodes", 0), 2);
}

/* Each act counts for 24 hours: no time of day begins a new count. */
static void parts_around_the_end_of_a_day_count_together(void **state)
{
    static const struct {
        int64_t at_ms; /* since the first one */
        int nodes;
        bool waits;
    } parts[] = {
        { 0, 1, false },
        { 24 * HOUR_MS - MINUTE_MS, 4, false },
        { 24 * HOUR_MS + MINUTE_MS, 5, true },
        { 48 * HOUR_MS - 2 * MINUTE_MS, 2, true },
        { 48 * HOUR_MS, 5, false },
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 72,
                                                             "guard: {approval_nodes: 6}\n");
    int64_t began_ms = loop_now(rehearsal->loop);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        owned(json) json_t *answer = NULL;

        rehearsal_run(rehearsal, began_ms + parts[i].at_ms - loop_now(rehearsal->loop));
        answer = reclaim_as(rehearsal, parts[i].nodes, "ada", "");
        if (text_equal(json_text_or(answer, "approval/state", ""), "waits") != parts[i].waits ||
            json_int_or(answer, "accepted_nodes", -1) != (parts[i].waits ? 0 : parts[i].nodes))
            fail_msg("part %zu: %s, %lld nodes", i, json_text_or(answer, "approval/state", "-"),
                     (long long)json_int_or(answer, "accepted_nodes", -1));
        if (i % 2 == 0)
            restart(rehearsal);
    }
}

static int take_rev(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    (void)value;
    (void)err;
    if (text_equal(id, "ada"))
        *(uint64_t *)context = rev;
    return 0;
}

/* Of which only the sum and the first time are known: no part of it counts for less than a day. */
static void a_count_of_an_older_release_counts_on(void **state)
{
    static const struct {
        int64_t ago_ms; /* the first act */
        bool waits;
    } cases[] = {
        { HOUR_MS, true },
        { 47 * HOUR_MS, true },
        { 49 * HOUR_MS, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 73, from_three);
        owned(json) json_t *first = reclaim_as(rehearsal, 2, "ada", "k-1");
        struct wall_time since = { loop_wall(rehearsal->loop).ms - cases[i].ago_ms };
        owned(json) json_t *older = json_make("{si so}", "nodes", 2, "since", json_wall(since));
        owned(json) json_t *answer = NULL;
        struct journal_batch *batch;
        uint64_t epoch;
        uint64_t rev = 0;
        struct error err = { 0 };

        rehearsal_kill(rehearsal);
        rehearsal->is_dead = false;
        assert_int_equal(journal_begin_epoch(rehearsal->journal, &epoch, &err), 0);
        assert_int_equal(journal_each(rehearsal->journal, "unapproved", take_rev, &rev, &err), 0);
        assert_true(rev > 0);
        batch = journal_batch_new(epoch);
        journal_put(batch, "unapproved", "ada", rev, older);
        assert_int_equal(journal_commit(rehearsal->journal, &batch, &err), 0);
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("%s", err.text);
        rehearsal_run(rehearsal, MINUTE_MS);
        answer = reclaim_as(rehearsal, 1, "ada", "k-2");
        if (text_equal(json_text_or(answer, "approval/state", ""), "waits") != cases[i].waits)
            fail_msg("case %zu: %s", i, json_text_or(answer, "approval/state", "-"));
    }
}

static void without_the_setting_nothing_waits(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 71, "");
    owned(json) json_t *answer = reclaim_as(rehearsal, 6, "root", "");

    (void)state;
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 6);
    assert_int_equal(rehearsal->service->unapproved.count, 0);
}

static void a_dry_run_asks_nobody(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 72, from_three);
    owned(json) json_t *request = json_make("{ss si ss sb}", "cluster", "prod-a", "nodes", 6,
                                            "reason", "launch", "is_dry_run", 1);
    struct error err = { 0 };
    owned(json) json_t *answer = service_reclaim(rehearsal->service, request, "ada", &err);

    (void)state;
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 6);
    assert_int_equal(rehearsal->service->approvals.count, 0);
}

/* The service dies at the commit that asks or that approves, before it is written or after: then
   the reclaim is there, or the approval still waits, and never both or neither. */
static void a_death_does_it_once_or_leaves_it(void **state)
{
    (void)state;
    for (int is_after = 0; is_after < 2; is_after++)
        for (int at_approval = 0; at_approval < 2; at_approval++) {
            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 73, from_three);
            owned(json) json_t *answer = NULL;
            owned(json) json_t *row = NULL;
            struct error err = { 0 };
            bool waits;

            rehearsal_run(rehearsal, MINUTE_MS);
            answer = at_approval ? reclaim_as(rehearsal, 3, "ada", "") : NULL;
            rehearsal_run(rehearsal, MINUTE_MS);
            if (is_after)
                rehearsal_kill_after_commit(rehearsal, 1);
            else
                rehearsal_kill_at_commit(rehearsal, 1);
            if (at_approval) {
                row = decide(rehearsal, "ben", false, &err);
            } else {
                owned(json) json_t *request = json_make("{ss si ss}", "cluster", "prod-a", "nodes",
                                                        3, "reason", "launch");

                answer = service_reclaim(rehearsal->service, request, "ada", &err);
            }
            restart(rehearsal);
            rehearsal->kill_at = 0;
            waits = rehearsal->service->approvals.count > 0 &&
                    rehearsal->service->approvals.items[0].state == APPROVAL_WAITS;
            assert_int_equal(rehearsal->service->approvals.count, at_approval || is_after);
            assert_int_equal(rehearsal->service->reclaims.count, at_approval && is_after);
            assert_int_equal(waits, at_approval != is_after);
            rehearsal_run(rehearsal, 40 * MINUTE_MS);
            expect_rest(rehearsal, at_approval && is_after ? 9 : 6);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_reclaim_waits_for_a_second_person),
        cmocka_unit_test(two_names_of_one_person_are_one_person),
        cmocka_unit_test(nobody_approves_what_that_person_asked_for),
        cmocka_unit_test(a_rejection_ends_it),
        cmocka_unit_test(it_ends_by_itself),
        cmocka_unit_test(it_ends_while_the_service_is_down),
        cmocka_unit_test(schedules_wait_as_well),
        cmocka_unit_test(what_was_rejected_is_not_asked_again_by_a_timer),
        cmocka_unit_test(other_schedules_overtake_it),
        cmocka_unit_test(what_has_grown_is_looked_at_again),
        cmocka_unit_test(a_large_act_in_parts_is_a_large_act),
        cmocka_unit_test(parts_around_the_end_of_a_day_count_together),
        cmocka_unit_test(a_count_of_an_older_release_counts_on),
        cmocka_unit_test(without_the_setting_nothing_waits),
        cmocka_unit_test(a_dry_run_asks_nobody),
        cmocka_unit_test(a_death_does_it_once_or_leaves_it),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
