/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text that a person or a server gives, in any characters and of any length, neither ends the
 * service nor leaves a record that the next start cannot read.
 */
#include "tests/cli/small_world.h"
#include "tests/cli/stepwise.h"
#include "tools/simulator/model/model.h"

#include <string.h>

/* A character of two bytes stands where the sentence is cut. */
static void a_reason_is_cut_at_a_character(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 2, "");
    owned(chars) char *reason = text_format("%089d\xc3\xa9 ist ein Grund", 0);
    owned(json) json_t *request = NULL;
    owned(json) json_t *answer = NULL;
    struct error err = { 0 };
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    transfer = run_to(rehearsal, STEP_NOTICE);
    assert_non_null(transfer);
    request = json_make("{ss si ss}", "node", transfer->node, "for_s", 60, "reason", reason);
    answer = service_hold(rehearsal->service, request, "anna", &err);
    if (!answer)
        fail_msg("%s", err.text);
    assert_int_equal(strlen(json_text_or(answer, "held", "")), strlen("anna: ") + 89);
    restart(rehearsal);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_rest(rehearsal, 10);
}

static struct kube_cluster *cluster_of(struct rehearsal *rehearsal, const char *name)
{
    for (size_t i = 0; i < rehearsal->simulator->cluster_count; i++)
        if (text_equal(rehearsal->simulator->clusters[i].plan->name, name))
            return &rehearsal->simulator->clusters[i];
    fail_msg("there is no cluster %s", name);
    return NULL;
}

/* The API server is not ours: the name of a pod there is whatever it says. */
static void add_pod(struct rehearsal *rehearsal, const char *node, const char *name)
{
    struct simulator *sim = rehearsal->simulator;
    struct kube_cluster *cluster = cluster_of(rehearsal, "research-a");
    struct kube_pod *pod = sim_pod_new(sim, cluster, "ml", name);

    pod->written = json_make(
        "{s{ss s{ss} s[{ss ss ss ss}]} s{ss s[{ss}]}}", "metadata", "name", name, "annotations",
        "sluice.dev/extension-until", name, "ownerReferences", "apiVersion", "batch/v1", "kind",
        "Job", "name", name, "uid", name, "spec", "nodeName", node, "containers", "name", name);
    sim_pod_changed(sim, pod, CHANGE_ADDED);
    sim_pod_bind(sim, pod, map_get(cluster->nodes, node));
}

static void a_name_is_cut_at_a_character(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 2, "");
    owned(chars) char *name = text_format("%0159d\xc3\xa9", 0);
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    transfer = run_to(rehearsal, STEP_NOTICE);
    assert_non_null(transfer);
    add_pod(rehearsal, transfer->node, name);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_rest(rehearsal, 10);
}

/* Letters of one to four bytes, each begun at each byte: wherever such a text is cut, some of these
   are cut within a letter. */
enum { TEXTS = 10, TEXT_LENGTH = 200 };

static char *text_of(int number, size_t length)
{
    static const char *const letters[] = { "n", "\xc3\xb6", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
    struct text *text = text_new(length);
    int width = 1;

    for (; number >= width; width++)
        number -= width;
    text_add(text, "%.*s", number, "xxxx");
    while (!text->is_cut)
        text_add(text, "%s", letters[width - 1]);
    return text_take(text);
}

struct sweep {
    struct rehearsal *rehearsal;
    const char *node; /* of a transfer that waits for its departure */
    int cases;
};

static void hold(struct sweep *sweep, const char *chars, const char *by)
{
    owned(json)
        json_t *request = json_make("{ss si ss}", "node", sweep->node, "for_s", 1, "reason", chars);
    struct error err = { 0 };
    owned(json) json_t *answer = service_hold(sweep->rehearsal->service, request, by, &err);

    if (!answer)
        fail_msg("%s", err.text);
}

static void hold_nobody(struct sweep *sweep, const char *chars, const char *by)
{
    owned(json)
        json_t *request = json_make("{ss si ss}", "node", chars, "for_s", 1, "reason", chars);
    struct error err = { 0 };

    assert_null(service_hold(sweep->rehearsal->service, request, by, &err));
}

static void freeze(struct sweep *sweep, const char *chars, const char *by)
{
    owned(json) json_t *request = json_make("{ss ss ss}", "cluster", "prod-a", "until",
                                            "2026-11-18T06:00:00Z", "reason", chars);
    struct error err = { 0 };
    owned(json) json_t *answer = service_freeze(sweep->rehearsal->service, request, by, &err);

    if (!answer)
        fail_msg("%s", err.text);
}

static void freeze_nothing(struct sweep *sweep, const char *chars, const char *by)
{
    owned(json) json_t *request = json_make("{ss ss ss}", "cluster", chars, "until", chars,
                                            "reason", chars);
    struct error err = { 0 };

    assert_null(service_freeze(sweep->rehearsal->service, request, by, &err));
    assert_null(service_unfreeze(sweep->rehearsal->service, request, by, &err));
}

static void reclaim_for(struct sweep *sweep, const char *chars, const char *by)
{
    owned(json) json_t *request = json_make("{ss si ss sb}", "cluster", "prod-a", "nodes", 1,
                                            "reason", chars, "is_dry_run", 1);
    struct error err = { 0 };
    owned(json) json_t *answer = service_reclaim(sweep->rehearsal->service, request, by, &err);

    if (!answer)
        fail_msg("%s", err.text);
}

static void apply_by(struct sweep *sweep, const char *chars, const char *by)
{
    owned(json) json_t *good = small_schedules(10, 10);
    owned(json) json_t *bad = json_make("{ss ss}", chars, chars, "day", chars);
    struct error err = { 0 };
    owned(json) json_t *answer = service_apply(sweep->rehearsal->service, good, NULL, by, &err);

    if (!answer)
        fail_msg("%s", err.text);
    assert_null(service_apply(sweep->rehearsal->service, bad, chars, by, &err));
    assert_null(service_apply(sweep->rehearsal->service, good, chars, by, &err));
}

static void release_host(struct sweep *sweep, const char *chars, const char *by)
{
    owned(json) json_t *request = json_make("{ss}", "host", chars);
    struct error err = { 0 };

    assert_null(service_release_host(sweep->rehearsal->service, request, by, &err));
    assert_null(service_transfer(sweep->rehearsal->service, chars, &err));
}

/* THE table of what people say to the service. */
static const struct {
    const char *name;
    void (*say)(struct sweep *sweep, const char *chars, const char *by);
    size_t step; /* of the lengths that are said */
} entries[] = {
    { "hold", hold, 40 },           { "hold of an unknown node", hold_nobody, 1 },
    { "freeze", freeze, 1 },        { "freeze of nothing", freeze_nothing, 1 },
    { "reclaim", reclaim_for, 40 }, { "apply", apply_by, 40 },
    { "hosts", release_host, 1 },
};

/* All that is told can be told, and all that is stored can be read again. */
static void expect_readable(struct rehearsal *rehearsal)
{
    struct error err = { 0 };
    owned(json) json_t *status = service_status(rehearsal->service);
    owned(json) json_t *transfers = service_transfers(rehearsal->service, true);
    owned(json) json_t *events = service_events(rehearsal->service, 10000, &err);
    owned(chars) char *told = json_print(status);

    assert_non_null(transfers);
    assert_non_null(events);
    assert_non_null(told);
    restart(rehearsal);
    assert_int_equal(json_array_size(rehearsal->service->unreadable.records), 0);
    rehearsal_run(rehearsal, 20 * SECOND_MS);
}

static void say_all(struct sweep *sweep, size_t entry)
{
    for (int i = 0; i < TEXTS; i++) {
        owned(chars) char *by = text_of(i, 63);

        for (size_t length = 1; length <= TEXT_LENGTH; length += entries[entry].step) {
            owned(chars) char *chars = text_of(i, length);

            if (chars[0] == '\0')
                continue;
            entries[entry].say(sweep, chars, by);
            sweep->cases++;
        }
    }
    expect_readable(sweep->rehearsal);
}

static void what_people_say_is_kept(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 2, "");
    struct sweep sweep = { .rehearsal = rehearsal };
    owned(chars) char *node = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    node = mem_copy_chars(run_to(rehearsal, STEP_NOTICE)->node);
    sweep.node = node;
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        say_all(&sweep, i);
    print_message("sweep text: %d cases of %zu things that people say\n", sweep.cases,
                  COUNT_OF(entries));
}

/* What servers say: names of pods and of what owns them, and what is written on them. */
static void what_servers_say_is_kept(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 2, "");
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    transfer = run_to(rehearsal, STEP_NOTICE);
    assert_non_null(transfer);
    for (int i = 0; i < TEXTS; i++) {
        owned(chars) char *name = text_of(i, 253);

        add_pod(rehearsal, transfer->node, name);
    }
    for (int i = 0; i < 12; i++) {
        rehearsal_run(rehearsal, 10 * MINUTE_MS);
        expect_readable(rehearsal);
    }
    expect_rest(rehearsal, 10);
    print_message("sweep text: %d names of pods, each evicted\n", (int)TEXTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reason_is_cut_at_a_character),
        cmocka_unit_test(a_name_is_cut_at_a_character),
        cmocka_unit_test(what_people_say_is_kept),
        cmocka_unit_test(what_servers_say_is_kept),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
