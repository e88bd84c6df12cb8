/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The doctor's rounds beside a running service: what they find twice is a condition with since-when
 * and remedy, what is mended ends, what the service says itself is not said twice, and no round
 * makes a move late.
 */
#include "base/file.h"
#include "broker/doctor/rounds.h"
#include "tests/cli/small_world.h"

static void hold_rounds(struct rehearsal *rehearsal, struct rounds *rounds)
{
    service_set_face(rehearsal->service, FACE_ROUNDS,
                     &(struct service_face){ .look = rounds_look, .context = rounds });
}

/* The condition of that kind, or NULL; borrowed from `status`. */
static const json_t *condition_in(const json_t *status, const char *id)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_at(status, "health/conditions"), i, row)
        if (text_equal(json_text_or(row, "id", ""), id))
            return row;
    return NULL;
}

static bool holds(struct rehearsal *rehearsal, const char *id)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    return condition_in(status, id) != NULL;
}

static struct rehearsal *begin(const char *folder, const char *world)
{
    struct rehearsal *rehearsal = small_rehearsal(folder, 1, world);

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    return rehearsal;
}

static const char denied[] = "denied: [ { whose: prod-a, action: create pods/eviction } ]\n";

static void what_is_found_twice_is_a_condition(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, denied);
    owned(rounds) struct rounds *rounds = rounds_new(&rehearsal->world, rehearsal->config);
    owned(json) json_t *status = NULL;
    const json_t *found;

    (void)state;
    hold_rounds(rehearsal, rounds);
    rehearsal_run(rehearsal, ROUNDS_FIRST_MS + ROUNDS_PATIENCE_MS + SECOND_MS);
    assert_false(holds(rehearsal, "doctor_wrong")); /* found once */
    rehearsal_run(rehearsal, ROUNDS_AGAIN_MS + ROUNDS_PATIENCE_MS);
    status = service_status(rehearsal->service);
    found = condition_in(status, "doctor_wrong");
    assert_non_null(found);
    assert_string_equal(json_text_or(found, "severity", ""), "warning");
    assert_string_equal(json_text_or(found, "cluster", ""), "prod-a");
    assert_non_null(strstr(json_text_or(found, "text", ""), "cluster prod-a: create of pods/evic"));
    assert_true(json_text_or(found, "advice", "")[0] != '\0');
    assert_true(strcmp(json_text_or(found, "since", ""), "2026-11-17T06:04:30Z") < 0);
    service_set_face(rehearsal->service, FACE_ROUNDS, &(struct service_face){ 0 });
}

static void what_is_right_is_no_condition(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "");
    owned(rounds) struct rounds *rounds = rounds_new(&rehearsal->world, rehearsal->config);

    (void)state;
    hold_rounds(rehearsal, rounds);
    for (int i = 0; i < 20; i++) {
        rehearsal_run(rehearsal, 10 * MINUTE_MS);
        assert_false(holds(rehearsal, "doctor_wrong"));
        assert_false(holds(rehearsal, "doctor_doubtful"));
    }
    service_set_face(rehearsal->service, FACE_ROUNDS, &(struct service_face){ 0 });
}

/* The configuration that is examined names a kubeconfig that is there only later. */
static void what_is_mended_ends(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "");
    owned(chars) char *text = text_format("%s", small_config);
    char *at = strstr(text, "prod-a.kubeconfig");
    owned(text) struct text *good = NULL;
    owned(chars) char *from = text_format("%s/prod-a.kubeconfig", folder);
    struct error err = { 0 };

    (void)state;
    memcpy(at, "absent", strlen("absent"));

    owned(chars) char *path = test_folder_write(folder, "other.yaml", text);
    owned(config) struct config *config = config_read(path, &err);

    if (!config)
        fail_msg("%s", err.text);

    owned(rounds) struct rounds *rounds = rounds_new(&rehearsal->world, config);

    hold_rounds(rehearsal, rounds);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_true(holds(rehearsal, "doctor_wrong"));
    good = file_read(from, 1 << 20, &err);
    assert_non_null(good);
    mem_free(test_folder_write(folder, "absent.kubeconfig", good->chars));
    rehearsal_run(rehearsal, ROUNDS_AGAIN_MS + 2 * (int64_t)ROUNDS_PATIENCE_MS);
    assert_false(holds(rehearsal, "doctor_wrong"));
    service_set_face(rehearsal->service, FACE_ROUNDS, &(struct service_face){ 0 });
}

/* One cause is one warning; and when the cluster is back, an old finding does not outlive it. */
static void a_dead_cluster_is_said_once(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "");
    owned(rounds) struct rounds *rounds = rounds_new(&rehearsal->world, rehearsal->config);

    (void)state;
    hold_rounds(rehearsal, rounds);
    simulator_cut_off(rehearsal->simulator, "research-a");
    for (int i = 0; i < 24; i++) {
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        assert_true(i == 0 || holds(rehearsal, "cluster_unreachable"));
        assert_false(holds(rehearsal, "doctor_wrong"));
    }
    simulator_cut_off(rehearsal->simulator, NULL);
    for (int i = 0; i < 10; i++) {
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        assert_false(holds(rehearsal, "doctor_wrong"));
    }
    assert_false(holds(rehearsal, "cluster_unreachable"));
    service_set_face(rehearsal->service, FACE_ROUNDS, &(struct service_face){ 0 });
}

/* Rounds in the middle of a move find nothing that is only so because of it. */
static void a_move_is_no_finding(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "");
    owned(rounds) struct rounds *rounds = rounds_new(&rehearsal->world, rehearsal->config);

    (void)state;
    hold_rounds(rehearsal, rounds);
    apply(rehearsal, 10, 10);
    for (int i = 0; i < 120; i++) {
        rehearsal_run(rehearsal, MINUTE_MS);
        assert_false(holds(rehearsal, "doctor_wrong"));
    }
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 10);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    service_set_face(rehearsal->service, FACE_ROUNDS, &(struct service_face){ 0 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_found_twice_is_a_condition),
        cmocka_unit_test(what_is_right_is_no_condition),
        cmocka_unit_test(what_is_mended_ends),
        cmocka_unit_test(a_dead_cluster_is_said_once),
        cmocka_unit_test(a_move_is_no_finding),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
