/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice doctor names each planted mistake, with what to do, and nothing else.  The simulator plays
 * the right configuration; the doctor reads one with a mistake.
 */
#include "broker/doctor/doctor.h"
#include "broker/doctor/examination.h"
#include "tests/cli/small_world.h"

#include <stdlib.h>

struct mistake {
    const char *world; /* added to world.yaml */
    const char *old;   /* of the configuration; NULL: it is right */
    const char *new;
    const char
        *rows[4]; /* "part name verdict subject": each that is not right, sorted by nothing */
};

static const struct mistake mistakes[] = {
    { "denied: [ { whose: prod-a, action: create pods/eviction } ]\n",
      NULL,
      NULL,
      { "cluster prod-a wrong create of pods/eviction" } },
    { "denied: [ { whose: research-a, action: patch nodes },"
      " { whose: research-a, action: delete nodes } ]\n",
      NULL,
      NULL,
      { "cluster research-a wrong patch, delete of nodes" } },
    { "denied: [ { whose: prod-a, action: list poddisruptionbudgets.policy } ]\n",
      NULL,
      NULL,
      { "cluster prod-a doubtful list of poddisruptionbudgets.policy" } },
    { "denied: [ { whose: prod-a, action: patch deployments/scale.apps } ]\n",
      NULL,
      NULL,
      { "cluster prod-a doubtful patch of deployments/scale.apps" } },
    /* Replicas are production's alone. */
    { "denied: [ { whose: research-a, action: patch deployments/scale.apps } ]\n",
      NULL,
      NULL,
      { NULL } },
    { "",
      "kubeconfig: prod-a.kubeconfig",
      "kubeconfig: missing",
      { "cluster prod-a wrong access" } },
    { "",
      "{role: research, kubeconfig: research-a",
      "{role: research, kubeconfig: prod-a",
      { "pool research-a-east wrong nodes" } },
    { "",
      "project: p, group: research-a-east",
      "project: p, group: other",
      { "pool research-a-east wrong list" } },
    { "",
      "project: p, group: prod-a-east",
      "project: q, group: prod-a-east",
      { "pool prod-a-east wrong list" } },
    { "",
      "zone: us-east5-a",
      "zone: us-east5-b",
      { "pool prod-a-east wrong list", "pool research-a-east wrong list" } },
    { "",
      "sluice.dev/ephemeral=true",
      "example.com/moves=yes",
      { "pool prod-a-east wrong label", "pool research-a-east wrong label" } },
    { "", "static_nodes: 2", "static_nodes: 1", { "pool prod-a-east doubtful label" } },
    { "",
      "gpus_per_node: 8",
      "gpus_per_node: 16",
      { "pool prod-a-east doubtful GPUs", "pool research-a-east doubtful GPUs" } },
    { "", "nodes: 16", "nodes: 8", { "pool research-a-east wrong reservation" } },
    { "",
      "google: {kind: gcp,",
      "google: {kind: gcp, credentials: missing.json,",
      { "provider google wrong access" } },
    { "",
      "queues:\n  chat: {wait_target: 30s, service: 20s}",
      "sources:\n  prom: {kind: prometheus, endpoint: 'http://127.0.0.1:1/prom', query: "
      "'sum(x{q=\"$arrivals\"})'}\n"
      "queues:\n  chat: {wait_target: 30s, service: 20s}",
      { "source prom doubtful queues" } },
    { "faults: {empty_list: 1}\n", NULL, NULL, { NULL } },
};

static void add_row(void *context, const struct doctor_row *row)
{
    if (row->finding.verdict != FINDING_RIGHT) {
        json_array_append_new(context, examination_row(row));
        assert_true(row->finding.remedy[0] != '\0');
    }
    assert_true(row->finding.text[0] != '\0');
}

static bool has_row(const json_t *rows, const char *wanted)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        owned(chars) char *text = text_format(
            "%s %s %s %s", json_text_or(row, "part", ""), json_text_or(row, "name", ""),
            json_text_or(row, "verdict", ""), json_text_or(row, "subject", ""));

        if (text_equal(text, wanted))
            return true;
    }
    return false;
}

static char *changed(const struct mistake *mistake)
{
    const char *at = mistake->old ? strstr(small_config, mistake->old) : NULL;

    if (!at)
        return mem_copy_chars(small_config);
    return text_format("%.*s%s%s", (int)(at - small_config), small_config, mistake->new,
                       at + strlen(mistake->old));
}

/* The rows that are not right; a mistake of the configuration that it refuses itself fails. */
static json_t *examine_with(const struct mistake *mistake)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *world = text_format("seed: 11\n%s%s", small_machines, mistake->world);
    struct rehearsal *rehearsal = world_open(folder, small_config, world, 6, 11);
    owned(chars) char *text = changed(mistake);
    owned(chars) char *path = test_folder_write(folder, "mistaken.yaml", text);
    struct error err = { 0 };
    owned(config) struct config *config = config_read(path, &err);
    json_t *rows = json_array();
    struct doctor *doctor;

    if (!config)
        fail_msg("%s", err.text);
    doctor = doctor_open(&rehearsal->world, config, add_row, rows);
    loop_run_until(rehearsal->loop, loop_now(rehearsal->loop) + MINUTE_MS);
    if (!doctor_is_done(doctor))
        doctor_give_up(doctor, MINUTE_MS);
    assert_true(doctor_is_done(doctor));
    doctor_close(doctor);
    rehearsal_close(rehearsal);
    return rows;
}

static void each_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        owned(json) json_t *rows = examine_with(&mistakes[i]);
        size_t wanted = 0;

        for (; wanted < COUNT_OF(mistakes[i].rows) && mistakes[i].rows[wanted]; wanted++)
            if (!has_row(rows, mistakes[i].rows[wanted])) {
                json_dumpf(rows, stderr, JSON_INDENT(2));
                fail_msg("mistake %zu: %s", i, mistakes[i].rows[wanted]);
            }
        if (json_array_size(rows) != wanted) {
            json_dumpf(rows, stderr, JSON_INDENT(2));
            fail_msg("mistake %zu: %zu rows", i, json_array_size(rows));
        }
    }
}

/* A cluster that never answers is named, and the others are examined all the same. */
static void silence_is_named(void **state)
{
    static const struct mistake silence = { .world = "faults: {refused: 1}\n" };
    owned(json) json_t *rows = examine_with(&silence);

    (void)state;
    assert_true(has_row(rows, "cluster prod-a wrong nodes and pods"));
    assert_true(has_row(rows, "cluster research-a wrong nodes and pods"));
    assert_true(has_row(rows, "pool prod-a-east wrong list"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_named),
        cmocka_unit_test(silence_is_named),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
