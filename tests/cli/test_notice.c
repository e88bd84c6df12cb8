/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The promise of the notice, watched by an observer that sees only the cluster: from the moment at
 * which a node tells its departure to the first pod that is asked to leave it, the whole notice
 * passes; unless the jobs themselves say that they need no more of it.
 */
#include "base/log.h"
#include "base/map.h"
#include "broker/service/service_parts.h"
#include "broker/transfer/notice.h"
#include "broker/transfer/pod_wishes.h"
#include "tests/cli/health_scene.h"
#include "tools/simulator/model/model.h"

#include <string.h>

enum { NOTICE_MS = 5 * MINUTE_MS, LOOK_MS = 100 };

/* What the watcher knows of a node. */
struct witness {
    int64_t told_ms; /* loop time at which the departure was first on it; 0: it is not */
    int64_t left_ms; /* at which a pod of a job was first asked to leave; 0: none was */
    char departure[WALL_TEXT_SIZE]; /* as it was told last */
};

struct watch {
    struct rehearsal *rehearsal;
    struct map *nodes; /* "NODE UID" -> struct witness */
    int evicted;       /* nodes from which a pod had to go */
    int64_t shortest_ms;
};

static struct kube_cluster *research(struct rehearsal *rehearsal)
{
    for (size_t i = 0; i < rehearsal->simulator->cluster_count; i++)
        if (!rehearsal->simulator->clusters[i].plan->is_production)
            return &rehearsal->simulator->clusters[i];
    fail_msg("there is no research cluster");
    return NULL;
}

static bool somebody_leaves(const struct kube_node *node)
{
    for (size_t i = 0; i < node->pods.count; i++)
        if (node->pods.items[i]->job && node->pods.items[i]->deletion_ms > 0)
            return true;
    return false;
}

static void look_at(struct watch *watch, const struct kube_node *node)
{
    int64_t now = loop_now(watch->rehearsal->loop);
    owned(chars) char *key = text_format("%s %s", node->name, node->uid);
    const char *departure = json_string_value(
        json_object_get(node->annotations, SLUICE_NOTE_DEPARTURE));
    struct witness *witness = map_get(watch->nodes, key);

    if (!witness) {
        witness = mem_new(sizeof *witness);
        map_set(watch->nodes, key, witness);
    }
    if (witness->told_ms == 0 && departure)
        witness->told_ms = now;
    if (departure)
        text_copy(witness->departure, sizeof witness->departure, departure);
    if (witness->left_ms > 0 || !somebody_leaves(node))
        return;
    witness->left_ms = now;
    watch->evicted++;
    assert_int_not_equal(witness->told_ms, 0);
    if (watch->shortest_ms == 0 || now - witness->told_ms < watch->shortest_ms)
        watch->shortest_ms = now - witness->told_ms;
}

static void look(struct watch *watch, int64_t duration_ms)
{
    for (int64_t ms = 0; ms < duration_ms; ms += LOOK_MS) {
        void *value;

        for (size_t i = 0; map_next(research(watch->rehearsal)->nodes, &i, NULL, &value);)
            look_at(watch, value);
        rehearsal_run(watch->rehearsal, LOOK_MS);
    }
}

struct row {
    const char *label;
    const char *faults;
    int refused;           /* patches of nodes that the server refuses first */
    int64_t kill_after_ms; /* of the announcement; 0: the service lives */
    int64_t least_ms;      /* what the shortest notice was at least, */
    int64_t most_ms;       /* and at most */
};

static int64_t counted(struct rehearsal *rehearsal, const char *key)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    return json_int_or(status, key, -1);
}

static void play(const struct row *row, uint64_t seed)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, seed, row->faults);
    owned(map) struct map *nodes = map_new(mem_free);
    struct watch watch = { .rehearsal = rehearsal, .nodes = nodes };

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    for (int i = 0; i < row->refused; i++)
        simulator_fault_next(rehearsal->simulator, "http_500", "patch_node");
    apply(rehearsal, 10, 10); /* four nodes leave at once */
    if (row->kill_after_ms > 0) {
        look(&watch, row->kill_after_ms);
        restart(rehearsal);
    }
    look(&watch, 25 * MINUTE_MS);
    if (watch.evicted == 0 || watch.shortest_ms < row->least_ms || watch.shortest_ms > row->most_ms)
        fail_msg("%s: %d nodes, the shortest notice was %lld ms", row->label, watch.evicted,
                 (long long)watch.shortest_ms);
    assert_int_equal(counted(rehearsal, "notice_violations"), 0);
    assert_int_equal(counted(rehearsal, "emergency_evictions"), 0);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 10);
}

/* A look can be LOOK_MS late. */
static void each_node_had_its_whole_notice(void **state)
{
    static const struct row rows[] = {
        { "all is well", "", 0, 0, NOTICE_MS - LOOK_MS, NOTICE_MS + 30 * SECOND_MS },
        { "the announcement is refused for minutes", "", 24, 0, NOTICE_MS - LOOK_MS,
          NOTICE_MS + 5 * MINUTE_MS },
        { "the service dies before it has seen its announcement", "", 0, 60, NOTICE_MS - LOOK_MS,
          NOTICE_MS + MINUTE_MS },
        { "the service dies within the notice", "", 0, 2 * MINUTE_MS, NOTICE_MS - LOOK_MS,
          NOTICE_MS + MINUTE_MS },
        { "answers get lost", "faults: {lost_answer: 0.1, http_500: 0.1, watch_gap: 0.05}\n", 0, 0,
          NOTICE_MS - LOOK_MS, NOTICE_MS + 5 * MINUTE_MS },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (uint64_t seed = 1; seed <= 2; seed++)
            play(&rows[i], seed);
}

/* An announcement that comes late moves the departure, on the node and on the board. */
static void a_late_announcement_moves_the_departure(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 31, "");
    owned(map) struct map *nodes = map_new(mem_free);
    struct watch watch = { .rehearsal = rehearsal, .nodes = nodes };
    int moved = 0;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    for (int i = 0; i < 12; i++)
        simulator_fault_next(rehearsal->simulator, "http_500", "patch_node");
    apply(rehearsal, 10, 10);
    look(&watch, 5 * MINUTE_MS);
    for (size_t i = 0; i < rehearsal->service->runner->transfers.count; i++) {
        const struct transfer *transfer = rehearsal->service->runner->transfers.items[i];
        owned(chars) char *key = text_format("%s %s", transfer->node, transfer->node_uid);
        const struct witness *witness = map_get(nodes, key);
        char departure[WALL_TEXT_SIZE];

        assert_non_null(witness);
        assert_string_equal(witness->departure, wall_format(transfer->departure, departure));
        moved += transfer->departure.ms > transfer->created.ms + NOTICE_MS + 30 * SECOND_MS;
    }
    assert_int_equal(moved, 4);
}

static const json_t *condition_of(const struct kube_node *node, const char *type)
{
    const json_t *condition;
    size_t i;

    json_array_foreach(node->conditions, i, condition) {
        if (text_equal(json_text_or(condition, "type", ""), type))
            return condition;
    }
    return NULL;
}

static bool is_true(const struct kube_node *node, const char *type)
{
    return text_equal(json_text_or(condition_of(node, type), "status", ""), "True");
}

/* Events of this reason that the cluster was sent. */
static int events_of(struct kube_cluster *cluster, const char *reason)
{
    const char *path;
    void *value;
    int count = 0;

    for (size_t i = 0; map_next(cluster->objects, &i, &path, &value);)
        count += strncmp(path, "events/", 7) == 0 &&
                 text_equal(json_text_or(value, "reason", ""), reason);
    return count;
}

/* The node as it was before anybody announced anything. */
static void a_withdrawn_announcement_leaves_no_trace(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 32, "");
    struct kube_cluster *cluster = research(rehearsal);
    struct transfer *transfer;
    struct kube_node *node;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    rehearsal_run(rehearsal, MINUTE_MS);
    transfer = rehearsal->service->runner->transfers.items[0];
    node = map_get(cluster->nodes, transfer->node);
    assert_string_equal(json_string_value(json_object_get(node->annotations, SLUICE_NOTE_REASON)),
                        "production needs it (to pool prod-a-east)");
    assert_string_equal(json_text_or(json_array_get(node->taints, 0), "key", ""),
                        SLUICE_TAINT_LEAVING);
    assert_string_equal(json_text_or(json_array_get(node->taints, 0), "effect", ""),
                        "PreferNoSchedule");
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(transfers_of(rehearsal, false), 0);
    assert_int_equal(json_object_size(node->annotations), 0);
    assert_int_equal(json_array_size(node->taints), 0);
    assert_false(node->is_unschedulable);
    assert_non_null(condition_of(node, "MaintenancePlanned"));
    assert_false(is_true(node, "MaintenancePlanned"));
    assert_int_equal(events_of(cluster, "DepartureWithdrawn"), 4);
}

/* What `kubectl describe node` shows, from the announcement to the end. */
static void the_node_tells_where_it_stands(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 33, "");
    struct kube_cluster *cluster = research(rehearsal);
    char departure[WALL_TEXT_SIZE];
    char name[TRANSFER_NAME_SIZE];
    const struct transfer *transfer;
    const struct kube_node *node;
    bool was_draining = false;
    bool was_drained = false;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    rehearsal_run(rehearsal, MINUTE_MS);
    transfer = rehearsal->service->runner->transfers.items[0];
    text_copy(name, sizeof name, transfer->node);
    node = map_get(cluster->nodes, name);
    assert_true(is_true(node, "MaintenancePlanned"));
    assert_false(is_true(node, "DrainInProgress"));
    assert_non_null(strstr(json_text_or(condition_of(node, "MaintenancePlanned"), "message", ""),
                           wall_format(transfer->departure, departure)));
    assert_int_equal(events_of(cluster, "DepartureAnnounced"), 4);
    assert_true(events_of(cluster, "NodeLeaves") > 0);

    restart(rehearsal); /* and tells nothing twice */
    for (int i = 0; i < 30 * 60; i++) {
        rehearsal_run(rehearsal, SECOND_MS);
        node = map_get(cluster->nodes, name);
        if (!node)
            break;
        was_draining |= is_true(node, "DrainInProgress");
        was_drained |= is_true(node, "Drained") && !is_true(node, "DrainInProgress");
    }
    assert_true(was_draining);
    assert_true(was_drained);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(events_of(cluster, "DepartureAnnounced"), 4);
    assert_int_equal(events_of(cluster, "DepartureBegins"), 4);
    assert_int_equal(events_of(cluster, "DepartureDrained"), 4);
    expect_rest(rehearsal, 10);
}

static uint64_t asked(struct rehearsal *rehearsal, const char *verb)
{
    return *(uint64_t *)map_get(rehearsal->simulator->verbs, verb);
}

/* Neither permission is needed to move anything; a lack of it is not asked about again for an hour,
   and a server that fails is not asked forever. */
static void nothing_waits_for_a_courtesy(void **state)
{
    static const struct {
        const char *fault;
        uint64_t most;
    } rows[] = { { "http_403", 20 }, { "http_500", 200 } };

    (void)state;
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 34, "");

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        for (int i = 0; i < 1000; i++) {
            simulator_fault_next(rehearsal->simulator, rows[k].fault, "patch_node_status");
            simulator_fault_next(rehearsal->simulator, rows[k].fault, "create_event");
        }
        apply(rehearsal, 10, 10);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(events_of(research(rehearsal), "DepartureAnnounced"), 0);
        assert_in_range(asked(rehearsal, "create_event"), 1, rows[k].most);
        assert_in_range(asked(rehearsal, "patch_node_status"), 1, rows[k].most);
        expect_rest(rehearsal, 10);
    }
}

/* The pods of jobs on the node say something. */
static void say(struct rehearsal *rehearsal, const char *node_name, const char *key,
                const char *value)
{
    struct kube_node *node = map_get(research(rehearsal)->nodes, node_name);

    for (size_t i = 0; i < node->pods.count; i++) {
        struct kube_pod *pod = node->pods.items[i];

        if (!pod->job)
            continue;
        if (!pod->annotations)
            pod->annotations = json_object();
        json_object_set_new(pod->annotations, key, json_string(value));
        sim_pod_changed(rehearsal->simulator, pod, CHANGE_MODIFIED);
    }
}

static struct transfer *transfer_at(struct rehearsal *rehearsal, size_t at)
{
    assert_true(at < rehearsal->service->runner->transfers.count);
    return rehearsal->service->runner->transfers.items[at];
}

/* Four nodes are announced, and a minute later their jobs answer. */
static struct rehearsal *announced(const char *folder, uint64_t seed)
{
    struct rehearsal *rehearsal = small_rehearsal(folder, seed, "");

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(rehearsal->service->runner->transfers.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(transfer_at(rehearsal, i)->step, STEP_NOTICE);
    return rehearsal;
}

static void who_is_ready_leaves_early(void **state)
{
    static const struct {
        size_t ready; /* of four nodes that leave together */
        bool is_early;
    } cases[] = { { 4, true }, { 3, false }, { 0, false } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = announced(folder, 35);

        for (size_t k = 0; k < cases[i].ready; k++)
            say(rehearsal, transfer_at(rehearsal, k)->node, SLUICE_NOTE_READY, "true");
        rehearsal_run(rehearsal, MINUTE_MS);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(transfer_at(rehearsal, k)->step > STEP_CORDON, cases[i].is_early);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(counted(rehearsal, "notice_violations"), 0);
        expect_rest(rehearsal, 10);
    }
}

/* A pod that came after the others had said that they are ready has the whole notice. */
static void who_came_last_has_the_whole_notice(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = announced(folder, 36);
    struct wall_time departure = transfer_at(rehearsal, 0)->departure;

    (void)state;
    for (size_t k = 0; k < 4; k++)
        say(rehearsal, transfer_at(rehearsal, k)->node, SLUICE_NOTE_READY, "true");
    while (transfer_at(rehearsal, 0)->step == STEP_NOTICE)
        rehearsal_run(rehearsal, 1);
    say(rehearsal, transfer_at(rehearsal, 0)->node, SLUICE_NOTE_READY, "false");
    rehearsal_run(rehearsal, departure.ms - loop_wall(rehearsal->loop).ms - SECOND_MS);
    assert_int_equal(transfer_at(rehearsal, 0)->step, STEP_CORDON);
    rehearsal_run(rehearsal, 10 * SECOND_MS);
    assert_true(transfer_at(rehearsal, 0)->step > STEP_CORDON);
    assert_true(transfer_at(rehearsal, 0)->cordoned.ms >= departure.ms); /* its drain is whole */
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(counted(rehearsal, "notice_violations"), 0);
    expect_rest(rehearsal, 10);
}

static void set_due(struct rehearsal *rehearsal, int64_t after_ms)
{
    for (size_t i = 0; i < 4; i++)
        transfer_at(rehearsal, i)->due.ms = transfer_at(rehearsal, i)->departure.ms + after_ms;
}

static json_t *hold(struct rehearsal *rehearsal, const char *node, int for_s, struct error *err)
{
    owned(json) json_t *request = json_make("{ss si ss}", "node", node, "for_s", for_s, "reason",
                                            "a checkpoint");

    return service_hold(rehearsal->service, request, "ada", err);
}

/* The move leaves at the new time: on the nodes, on the board, and after a restart. */
static void expect_departure(struct rehearsal *rehearsal, struct wall_time departure)
{
    owned(json) json_t *board = service_departures(rehearsal->service, DAY_MS);
    const json_t *row;
    char text[WALL_TEXT_SIZE];
    size_t i;

    wall_format(departure, text);
    for (size_t k = 0; k < 4; k++) {
        const struct kube_node *node = map_get(research(rehearsal)->nodes,
                                               transfer_at(rehearsal, k)->node);

        assert_int_equal(transfer_at(rehearsal, k)->departure.ms, departure.ms);
        assert_string_equal(
            json_string_value(json_object_get(node->annotations, SLUICE_NOTE_DEPARTURE)), text);
    }
    json_array_foreach(json_object_get(board, "departures"), i, row) {
        assert_string_equal(json_text_or(row, "leaves", ""), text);
        assert_non_null(strstr(json_text_or(row, "held", ""), "ada: a checkpoint"));
    }
}

static void an_extension_is_granted_within_the_margin(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = announced(folder, 37);
    struct wall_time departure = transfer_at(rehearsal, 0)->departure;
    owned(chars) char *node = mem_copy_chars(transfer_at(rehearsal, 2)->node);
    struct wall_time latest;
    struct error err = { 0 };
    owned(json) json_t *granted = NULL;
    owned(json) json_t *cut = NULL;

    (void)state;
    set_due(rehearsal, 2 * HOUR_MS);
    latest = notice_latest(rehearsal->service->runner, transfer_at(rehearsal, 0));
    assert_true(latest.ms > departure.ms + 30 * MINUTE_MS);
    assert_true(latest.ms < departure.ms + 110 * MINUTE_MS); /* the lead time is kept free */

    granted = hold(rehearsal, node, 20 * 60, &err);
    assert_non_null(granted);
    departure.ms += 20 * MINUTE_MS;
    rehearsal_run(rehearsal, 30 * SECOND_MS);
    expect_departure(rehearsal, departure);
    restart(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_departure(rehearsal, departure);

    cut = hold(rehearsal, transfer_at(rehearsal, 0)->id, 10 * 3600, &err);
    assert_non_null(cut);
    rehearsal_run(rehearsal, 30 * SECOND_MS);
    expect_departure(rehearsal, latest);
    assert_null(hold(rehearsal, node, 60, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "no margin"));

    rehearsal_run(rehearsal, latest.ms - loop_wall(rehearsal->loop).ms - MINUTE_MS);
    assert_int_equal(transfer_at(rehearsal, 0)->step, STEP_NOTICE);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    assert_true(transfer_at(rehearsal, 0)->step > STEP_NOTICE);
    assert_null(hold(rehearsal, transfer_at(rehearsal, 0)->id, 60, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 10);
}

static void a_pod_may_ask_for_an_extension(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = announced(folder, 38);
    struct wall_time asked = { transfer_at(rehearsal, 0)->departure.ms + 15 * MINUTE_MS };
    char text[WALL_TEXT_SIZE];

    (void)state;
    set_due(rehearsal, 2 * HOUR_MS);
    say(rehearsal, transfer_at(rehearsal, 1)->node, SLUICE_NOTE_EXTENSION, "soon");
    say(rehearsal, transfer_at(rehearsal, 2)->node, SLUICE_NOTE_EXTENSION,
        wall_format(asked, text));
    rehearsal_run(rehearsal, MINUTE_MS);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(transfer_at(rehearsal, i)->departure.ms, asked.ms);
        assert_non_null(strstr(transfer_at(rehearsal, i)->held, "pod "));
    }
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_int_equal(counted(rehearsal, "notice_violations"), 0);
    expect_rest(rehearsal, 10);
}

/* `violated_ago_ms` 0: the record of an older release, which has no time. */
static void put_counts(struct rehearsal *rehearsal, int64_t violated_ago_ms)
{
    struct service *service = rehearsal->service;
    struct journal_batch *batch = journal_batch_new(service->epoch);
    int64_t now_ms = loop_wall(service->world->loop).ms;
    owned(json) json_t *counts = json_make("{si si}", "violations", 2, "emergencies", 0);
    struct error err = { 0 };

    if (violated_ago_ms > 0)
        json_object_set_new(counts, "violated", json_integer(now_ms - violated_ago_ms));
    journal_put(batch, "notice", "counts", service->runner->notices.rev, counts);
    if (journal_commit(service->world->journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
    restart(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
}

/* The condition is for who comes to work; the counter is for good. */
static void a_broken_notice_is_told_for_a_day(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 39, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    put_counts(rehearsal, 0);
    expect_condition(rehearsal, "notice_broken", NULL);
    put_counts(rehearsal, DAY_MS - HOUR_MS);
    expect_condition(rehearsal, "notice_broken", "than was promised, 2 so far");
    expect_member(rehearsal, "notice_broken", "since", "2026-11-16T07:03:00Z");
    rehearsal_run(rehearsal, HOUR_MS);
    expect_condition(rehearsal, "notice_broken", NULL);
    assert_int_equal(counted(rehearsal, "notice_violations"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_node_had_its_whole_notice),
        cmocka_unit_test(a_late_announcement_moves_the_departure),
        cmocka_unit_test(a_withdrawn_announcement_leaves_no_trace),
        cmocka_unit_test(the_node_tells_where_it_stands),
        cmocka_unit_test(nothing_waits_for_a_courtesy),
        cmocka_unit_test(who_is_ready_leaves_early),
        cmocka_unit_test(who_came_last_has_the_whole_notice),
        cmocka_unit_test(an_extension_is_granted_within_the_margin),
        cmocka_unit_test(a_pod_may_ask_for_an_extension),
        cmocka_unit_test(a_broken_notice_is_told_for_a_day),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
