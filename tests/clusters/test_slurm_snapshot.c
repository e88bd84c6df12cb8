/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From what Slurm 22.05 and 24.11 really answered (tests/clusters/slurm) to a snapshot; hostlists,
 * GRES and comments; and lists that cannot be read, which change nothing.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "clusters/gpus.h"
#include "clusters/node_marks.h"
#include "clusters/slurm/slurm_hosts.h"
#include "clusters/slurm/slurm_machine.h"
#include "clusters/slurm/slurm_read.h"
#include "clusters/slurm/slurm_scripts.h"
#include "clusters/slurm_snapshot.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct slurm_view view = { .cluster = "lab",
                                        .machine = "gce://p/z/{name}",
                                        .signal = "USR1" };

static json_t *read_file(const char *name)
{
    struct error err = { 0 };
    owned(chars) char *path = text_format("%s/tests/clusters/slurm/%s", SLUICE_SOURCE, name);
    owned(text) struct text *file = file_read(path, 1 << 20, &err);
    json_t *object = file ? json_parse(file->chars, file->length, path, &err) : NULL;

    if (!object)
        fail_msg("%s", err.text);
    return object;
}

static json_t *rows_of(const json_t *recorded, const char *key, const char *first, const char *none)
{
    struct error err = { 0 };
    const json_t *value = json_object_get(recorded, key);
    json_t *rows = json_is_string(value)
                       ? slurm_read_lines(json_string_value(value), first, none, &err)
                       : json_incref((json_t *)(uintptr_t)value);

    if (!rows)
        fail_msg("%s", err.text);
    return rows;
}

static int fill(struct snapshot *snapshot, const json_t *recorded, struct error *err)
{
    owned(json) json_t *reservations = rows_of(recorded, "reservations", "ReservationName",
                                               "No reservations");
    owned(json)
        json_t *partitions = rows_of(recorded, "partitions", "PartitionName", "No partitions");
    const struct slurm_lists lists = { json_object_get(recorded, "nodes"),
                                       json_object_get(recorded, "jobs"), reservations,
                                       partitions };

    return slurm_snapshot_fill(snapshot, &lists, &view, err);
}

/* ---- as text ---- */

static void add_map(struct text *out, const char *packed)
{
    const char *key, *value;

    for (const char *at = packed; packed_map_next(&at, &key, &value);)
        text_add(out, " %s=%s", key, value);
}

static int by_key(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The keys in order, so that the text does not depend on the map's. */
static size_t sorted_keys(const struct map *map, const char *keys[64])
{
    size_t count = 0;
    const char *key;

    for (size_t i = 0; map_next(map, &i, &key, NULL);) {
        assert_in_range(count, 0, 63);
        keys[count++] = key;
    }
    qsort(keys, count, sizeof *keys, by_key);
    return count;
}

static void add_node(struct text *out, const struct snapshot *snapshot, const struct node *node)
{
    owned(chars) char *taints = json_print(node->taints);

    text_add(out, "node %s uid=%s machine=%s%s%s%s gpus=%lld\n", node->name, node->uid,
             node->provider_id, node->is_ready ? " ready" : "",
             node->is_unschedulable ? " closed" : "", node->is_silent ? " silent" : "",
             (long long)gpus_of_node(snapshot, node));
    text_add(out, "    notes:");
    add_map(out, node->annotations);
    text_add(out, "\n    labels:");
    add_map(out, node->labels);
    text_add(out, "\n    taints: %s\n", taints);
}

static void add_pod(struct text *out, const struct pod *pod)
{
    text_add(out, "job %s/%s uid=%s gang=%s%s%s%s%s\n", pod->namespace, pod->name, pod->uid,
             pod->gang.key, pod->owner_kind[0] != '\0' ? " requeues" : "",
             pod->deletion.ms != 0 ? " ends" : "", pod->gang.is_protected ? " protected" : "",
             pod->is_unread ? " unread" : "");
    text_add(out, "    gpus:");
    add_map(out, pod->devices);
    text_add(out, "\n    notes:");
    add_map(out, pod->annotations);
    text_add(out, "\n");
}

static void check_recorded(const char *file, const char *golden)
{
    owned(json) json_t *recorded = read_file(file);
    owned(text) struct text *out = text_new(64 << 10);
    struct snapshot snapshot;
    struct error err = { 0 };
    const char *keys[64];
    size_t count;

    snapshot_init(&snapshot);
    if (fill(&snapshot, recorded, &err) < 0)
        fail_msg("%s", err.text);
    count = sorted_keys(snapshot.nodes, keys);
    for (size_t i = 0; i < count; i++)
        add_node(out, &snapshot, map_get(snapshot.nodes, keys[i]));
    count = sorted_keys(snapshot.pods, keys);
    for (size_t i = 0; i < count; i++)
        add_pod(out, map_get(snapshot.pods, keys[i]));
    golden_check(golden, out->chars);
    snapshot_clear(&snapshot);
}

static void recorded(void **state)
{
    (void)state;
    check_recorded("22.05.json", "golden/slurm/22.05.txt");
    check_recorded("24.11.json", "golden/slurm/24.11.txt");
}

/* n1: DOWN by a person.  n2: so, and then its slurmd ended.  n3: drained before.  n4: its slurmd
   ended; on 24.11 with the reason of an earlier DOWN.  s1: its slurmd ended, and then a person set
   it DOWN.  d1: drained by a person, and its slurmd ended.  d2: so, but resumed before. */
static void recorded_nodes_that_are_down(void **state)
{
    (void)state;
    check_recorded("22.05-down.json", "golden/slurm/22.05-down.txt");
    check_recorded("24.11-down.json", "golden/slurm/24.11-down.txt");
}

/* ---- made up ---- */

static struct snapshot filled_with(const char *nodes, const char *jobs, const char *reservations)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format(
        "{\"nodes\":[%s],\"jobs\":[%s],\"reservations\":[%s],\"partitions\":[]}", nodes, jobs,
        reservations);
    owned(json) json_t *lists = json_parse(chars, strlen(chars), "lists", &err);
    struct snapshot snapshot;

    snapshot_init(&snapshot);
    if (!lists || fill(&snapshot, lists, &err) < 0)
        fail_msg("%s: %s", chars, err.text);
    return snapshot;
}

#define NODE(name, states, more)                                                                   \
    "{\"name\":\"" name "\",\"state\":[" states "],\"gres\":\"gpu:h100:8\"" more "}"

#define REQUEUES ",\"requeue\":true,\"batch_flag\":true"

#define PARKED ",\"reason\":\"sluice-parked t-1 (to pool a)\""

/* A node that Slurm keeps without a machine is no node; one that came back has the start-up taint;
   a reason that outlived its drain says nothing. */
static void vacant_nodes(void **state)
{
    struct snapshot snapshot = filled_with(
        NODE("off", "\"IDLE\",\"CLOUD\",\"POWERED_DOWN\"", "") "," NODE(
            "future", "\"FUTURE\"",
            "") "," NODE("parked", "\"DOWN\",\"DRAIN\",\"NOT_RESPONDING\"",
                         PARKED) "," NODE("back", "\"IDLE\",\"DRAIN\"",
                                          PARKED) "," NODE("stale", "\"DOWN\"", PARKED),
        "", "{\"name\":\"sluice_t-1\",\"node_list\":\"parked,back\",\"start_time\":1}");
    const struct node *back = map_get(snapshot.nodes, "back");

    (void)state;
    assert_int_equal(map_count(snapshot.nodes), 2);
    assert_null(node_annotation(back, SLURM_NOTE_HELD_DOWN));
    assert_true(node_has_taint(back, SLUICE_TAINT_STARTING));
    assert_null(node_annotation(back, SLUICE_NOTE_TRANSFER));
    assert_string_equal(node_annotation(back, SLURM_NOTE_RESERVATION), "sluice_t-1");
    assert_true(((const struct node *)map_get(snapshot.nodes, "stale"))->is_silent);
    snapshot_clear(&snapshot);
}

#define STARTED ",\"slurmd_start_time\":1795647321"

/* Its machine came back, and Slurm keeps it DOWN: it has arrived.  A slurmctld that was started
   again remembers DOWN, but neither that slurmd is silent nor when it began. */
static void parked_nodes_that_are_down(void **state)
{
    static const struct {
        const char *node;
        bool is_there, is_held_down;
    } rows[] = {
        { NODE("n1", "\"DOWN\",\"DRAIN\",\"NOT_RESPONDING\"", PARKED STARTED), false, false },
        { NODE("n1", "\"DOWN\",\"DRAIN\"", PARKED), false, false },
        { NODE("n1", "\"DOWN\",\"DRAIN\",\"MAINTENANCE\"", PARKED STARTED), true, true },
        { "{\"name\":\"n1\",\"state\":\"down\",\"state_flags\":[\"DRAIN\"]" PARKED STARTED "}",
          true, true },
        { NODE("n1", "\"DOWN\",\"DRAIN\",\"INVALID_REG\"", PARKED STARTED), true, false },
        { NODE("n1", "\"DOWN\",\"DRAIN\",\"POWERED_DOWN\"", PARKED STARTED), false, false },
        { NODE("n1", "\"DOWN\",\"DRAIN\"", ",\"reason\":\"bad PSU (anna)\"" STARTED), true, false },
        { NODE("n1", "\"IDLE\",\"DRAIN\"", PARKED STARTED), true, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct snapshot snapshot = filled_with(rows[i].node, "", "");
        const struct node *node = map_get(snapshot.nodes, "n1");

        if (!node != !rows[i].is_there ||
            (node && !node_annotation(node, SLURM_NOTE_HELD_DOWN) != !rows[i].is_held_down))
            fail_msg("%s", rows[i].node);
        snapshot_clear(&snapshot);
    }
}

#define ANNA ",\"reason\":\"bad PSU (anna)\""
#define SLURM_ADDED ",\"reason\":\"bad PSU (anna) : Not responding\""

/* By the state and by the reason: a reason outlives what it was given for. */
static void nodes_taken_out(void **state)
{
    static const struct {
        const char *node, *out; /* NULL: it is not out */
        bool is_closed;
    } rows[] = {
        { NODE("n1", "\"DOWN\"", ANNA), "down", true },
        { NODE("n1", "\"DOWN\",\"NOT_RESPONDING\"", ANNA), "down", true },
        { NODE("n1", "\"IDLE\",\"NOT_RESPONDING\"", ANNA), "silent", true },
        { NODE("n1", "\"IDLE\"", ANNA), NULL, false },
        { NODE("n1", "\"UNKNOWN\"", ANNA), NULL, false },
        { NODE("n1", "\"DOWN\"", ""), NULL, false },
        { NODE("n1", "\"DOWN\"", PARKED), NULL, false },
        { NODE("n1", "\"DOWN\",\"NOT_RESPONDING\"", ",\"reason\":\"Not responding\""), NULL,
          false },
        { NODE("n1", "\"DOWN\",\"NOT_RESPONDING\"", SLURM_ADDED), NULL, false },
        { NODE("n1", "\"IDLE\",\"NOT_RESPONDING\"", SLURM_ADDED), NULL, false },
        { NODE("n1", "\"DOWN\",\"DRAIN\",\"NOT_RESPONDING\"", SLURM_ADDED), NULL, true },
        { NODE("n1", "\"DOWN\",\"DRAIN\"", ANNA), NULL, true },
        { NODE("n1", "\"IDLE\",\"FAIL\"", ANNA), NULL, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct snapshot snapshot = filled_with(rows[i].node, "", "");
        const struct node *node = map_get(snapshot.nodes, "n1");
        const char *out = node_annotation(node, SLURM_NOTE_OUT);

        if (!text_equal(out ?: "", rows[i].out ?: "") ||
            node->is_unschedulable != rows[i].is_closed)
            fail_msg("%s: %s", rows[i].node, out ?: "not out");
        snapshot_clear(&snapshot);
    }
}

/* A busy node without a job that is shown: the list of jobs may be incomplete. */
static void unshown_jobs(void **state)
{
    struct snapshot snapshot = filled_with(NODE("n1", "\"ALLOCATED\"", ""), "", "");
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(&snapshot, "n1", &count);

    (void)state;
    assert_int_equal(count, 1);
    assert_true(pods[0]->is_unread);
    assert_true(pod_must_leave(pods[0]));
    snapshot_clear(&snapshot);
}

/* A person's maintenance closes the node, and their reservation is no mark of a transfer. */
static void others_marks(void **state)
{
    struct snapshot snapshot = filled_with(
        NODE("n1", "\"IDLE\",\"MAINTENANCE\",\"RESERVED\"", "") "," NODE("n2", "\"MIXED\"", ""), "",
        "{\"name\":\"monthly\",\"node_list\":\"n[1-2]\",\"start_time\":1,\"flags\":[\"MAINT\"]}");
    const struct node *node = map_get(snapshot.nodes, "n1");

    (void)state;
    assert_true(node->is_unschedulable);
    assert_null(node_annotation(node, SLUICE_NOTE_TRANSFER));
    assert_false(((const struct node *)map_get(snapshot.nodes, "n2"))->is_unschedulable);
    snapshot_clear(&snapshot);
}

/* People's reservations: the one that begins first counts, ours does not, and what cannot be read
   of them harms nothing.  A job's account is its team, and its time limit is known. */
static void others_claims(void **state)
{
    struct snapshot snapshot = filled_with(
        NODE("n1", "\"MIXED\"", "") "," NODE("n2", "\"IDLE\"", "") "," NODE("n3", "\"IDLE\"", ""),
        "{\"job_id\":7,\"job_state\":\"RUNNING\",\"nodes\":\"n1\",\"account\":\"vision\","
        "\"user_name\":\"ann\",\"start_time\":1000,\"end_time\":4600" REQUEUES "}",
        "{\"name\":\"late\",\"node_list\":\"n[1-2]\",\"start_time\":9000},"
        "{\"name\":\"soon\",\"node_list\":\"n2\",\"start_time\":5000},"
        "{\"name\":\"odd\",\"node_list\":\"n[1-\",\"start_time\":1},"
        "{\"name\":\"sluice_t-1\",\"node_list\":\"n3\",\"start_time\":1}");
    size_t count;
    const struct pod *const *jobs = snapshot_pods_on(&snapshot, "n1", &count);

    (void)state;
    assert_int_equal(((const struct node *)map_get(snapshot.nodes, "n1"))->reserved.ms, 9000000);
    assert_int_equal(((const struct node *)map_get(snapshot.nodes, "n2"))->reserved.ms, 5000000);
    assert_int_equal(((const struct node *)map_get(snapshot.nodes, "n3"))->reserved.ms, 0);
    assert_int_equal(count, 1);
    assert_string_equal(jobs[0]->namespace, "vision");
    assert_int_equal(jobs[0]->ends.ms, 4600000);
    snapshot_clear(&snapshot);
}

/* What cannot be read leaves the snapshot as it was. */
static void damaged_lists(void **state)
{
    static const char *const bad[] = {
        "{\"nodes\":[{\"state\":[\"IDLE\"]}],\"jobs\":[],\"reservations\":[],\"partitions\":[]}",
        "{\"nodes\":[{\"name\":\"n2\",\"state\":[\"SLEEPY\"]}],\"jobs\":[],\"reservations\":[],"
        "\"partitions\":[]}",
        "{\"nodes\":[],\"jobs\":[{\"job_state\":\"RUNNING\"" REQUEUES "}],\"reservations\":[],"
        "\"partitions\":[]}",
        "{\"nodes\":[],\"jobs\":[{\"job_id\":1,\"job_state\":\"RUNNING\",\"nodes\":\"n[1-"
        "\"" REQUEUES "}],\"reservations\":[],\"partitions\":[]}",
        "{\"nodes\":[],\"jobs\":[{\"job_id\":1" REQUEUES
        "}],\"reservations\":[],\"partitions\":[]}",
        "{\"nodes\":[],\"jobs\":[],\"reservations\":[{\"name\":\"sluice_t-1\","
        "\"node_list\":\"n[3-1]\"}],\"partitions\":[]}",
    };
    struct snapshot snapshot = filled_with(NODE("n1", "\"IDLE\"", ""), "", "");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct error err = { 0 };
        owned(json) json_t *lists = json_parse(bad[i], strlen(bad[i]), "lists", &err);

        assert_non_null(lists);
        assert_int_equal(fill(&snapshot, lists, &err), -1);
        assert_int_equal(err.kind, ERROR_CORRUPT);
        assert_non_null(map_get(snapshot.nodes, "n1"));
    }
    snapshot_clear(&snapshot);
}

/* A job is lost if sluice takes it for one that cannot be requeued: what is not understood fails
   the round. */
static void forms_of_yes_and_no(void **state)
{
    enum { YES, NO, CORRUPT };
    static const struct {
        const char *form;
        int means;
    } rows[] = {
        { "true", YES },
        { "false", NO },
        { "1", YES },
        { "0", NO },
        { "{\"set\":true,\"infinite\":false,\"number\":1}", YES },
        { "{\"set\":true,\"infinite\":false,\"number\":0}", NO },
        { "{\"set\":false,\"infinite\":false,\"number\":1}", CORRUPT },
        { "{\"number\":1}", CORRUPT },
        { "2", CORRUPT },
        { "1.5", CORRUPT },
        { "null", CORRUPT },
        { "[]", CORRUPT },
        { "\"yes\"", CORRUPT },
        { NULL, CORRUPT }, /* it is missing */
    };
    static const char *const keys[] = { "requeue", "batch_flag" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t k = 0; k < COUNT_OF(keys); k++) {
            owned(json) json_t *item = json_make("{si ss sb sb}", "job_id", 7, "job_state",
                                                 "RUNNING", "requeue", 1, "batch_flag", 1);
            struct error err = { 0 };
            struct slurm_job job = { 0 };
            int result;

            if (rows[i].form)
                json_put(item, keys[k], json_loads(rows[i].form, JSON_DECODE_ANY, NULL));
            else
                (void)json_object_del(item, keys[k]);
            result = slurm_read_job(item, &job, &err);
            if (result == 0 ? (k == 0 ? job.can_requeue : job.is_batch) != (rows[i].means == YES) ||
                                  rows[i].means == CORRUPT
                            : rows[i].means != CORRUPT || err.kind != ERROR_CORRUPT)
                fail_msg("%s of \"%s\": %d %s", rows[i].form ?: "nothing", keys[k], result,
                         err.text);
        }
}

static const char *host_of(const struct snapshot *snapshot, const char *node)
{
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node, &count);

    assert_int_equal(count, 1);
    return pod_annotation(pods[0], SLURM_NOTE_SIGNAL) ? pod_annotation(pods[0], SLURM_NOTE_HOST)
                                                      : NULL;
}

#define JOB(id, leader, nodes, host)                                                               \
    "{\"job_id\":" id ",\"het_job_id\":" leader ",\"job_state\":\"RUNNING\",\"nodes\":\"" nodes    \
    "\",\"batch_host\":\"" host "\"" REQUEUES "}"

/* Where the batch script of each part's job runs: of a heterogeneous job that of its leader, on
   whichever node that is.  NULL: Slurm does not show it, and no signal is sent. */
static void batch_hosts(void **state)
{
    struct snapshot snapshot = filled_with(
        NODE("n1", "\"MIXED\"", "") "," NODE("n2", "\"MIXED\"", "") "," NODE(
            "n3", "\"MIXED\"", "") "," NODE("n4", "\"MIXED\"",
                                            "") "," NODE("n5", "\"MIXED\"",
                                                         "") "," NODE("n6", "\"MIXED\"", ""),
        JOB("8", "7", "n2", "n2") "," JOB("7", "7", "n1", "n1") "," JOB(
            "9", "0", "n[3-4]", "n3") "," JOB("12", "11", "n5", "n5") "," JOB("13", "0", "n6", ""),
        "");

    (void)state;
    assert_string_equal(host_of(&snapshot, "n1"), "n1");
    assert_string_equal(host_of(&snapshot, "n2"), "n1");
    assert_string_equal(host_of(&snapshot, "n3"), "n3");
    assert_string_equal(host_of(&snapshot, "n4"), "n3");
    assert_null(host_of(&snapshot, "n5"));
    assert_null(host_of(&snapshot, "n6"));
    snapshot_clear(&snapshot);
}

/* Job 9 on n1 as its first start shows it; NULL: no script can be read. */
static void expect_signal(const struct map *scripts, const char *more, const char *const wants[3])
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format(
        "{\"nodes\":[" NODE("n1", "\"MIXED\"",
                            "") "],\"jobs\":[{\"job_id\":9,\"job_state\":"
                                "\"RUNNING\",\"nodes\":\"n1\",\"batch_host\":\"n1\"" REQUEUES
                                "%s}]}",
        more);
    owned(json) json_t *body = json_parse(chars, strlen(chars), "lists", &err);
    const struct slurm_lists lists = { .nodes = json_object_get(body, "nodes"),
                                       .jobs = json_object_get(body, "jobs") };
    const struct slurm_view own = { .cluster = "lab", .signal = "HUP", .scripts = scripts };
    const char *const notes[] = { SLURM_NOTE_SIGNAL, SLURM_NOTE_STEPS, SLURM_NOTE_SCRIPT };
    struct snapshot snapshot;
    size_t count;

    snapshot_init(&snapshot);
    if (!body || slurm_snapshot_fill(&snapshot, &lists, &own, &err) < 0)
        fail_msg("%s: %s", chars, err.text);
    for (size_t i = 0; i < COUNT_OF(notes); i++)
        assert_string_equal(
            pod_annotation(snapshot_pods_on(&snapshot, "n1", &count)[0], notes[i]) ?: "", wants[i]);
    snapshot_clear(&snapshot);
}

#define COMMENT(word) ",\"comment\":\"" word "\""

static void signals_of_scripts(void **state)
{
    struct slurm_script asked = { .job = NULL };
    struct slurm_script lost = { .is_known = true, .why = (char *)(uintptr_t) "no" };
    struct slurm_script script = { .is_known = true, .signal = { "USR1", true } };
    struct slurm_script silent = { .is_known = true };
    owned(map) struct map *scripts = map_new(NULL);
    const struct {
        struct slurm_script *script;
        const char *more;
        const char *wants[3]; /* signal, for steps, script */
    } rows[] = {
        { NULL, "", { "HUP", "", "unread" } },
        { &asked, "", { "HUP", "", "unread" } },
        { &lost, "", { "HUP", "", "no" } },
        { &silent, "", { "HUP", "", "" } },
        { &script, "", { "USR1", "true", "" } },
        { &script, COMMENT("sluice.dev/checkpoint-signal=USR2"), { "USR2", "", "" } },
        { &script, COMMENT("slurm/script=unread"), { "USR1", "true", "" } },
        /* It has started again: what was read is of the start before. */
        { &script, ",\"restart_cnt\":1", { "HUP", "", "unread" } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].script)
            map_set(scripts, "9.0", rows[i].script);
        expect_signal(scripts, rows[i].more, rows[i].wants);
    }
    expect_signal(NULL, "", (const char *const[]){ "HUP", "", "" });
}

/* A partition's mode is its own under preempt/partition_prio only: under preempt/none, which 24.11
   prints as "(null)", it is OFF for each. */
static void partitions_that_are_off(void **state)
{
    static const char off[] = "PartitionName=p PreemptMode=OFF\n";
    static const char lists_text[] = "{\"nodes\":[" NODE(
        "n1", "\"MIXED\"", "") "],\"jobs\":[{\"job_id\":9,\"job_state\":"
                               "\"RUNNING\",\"partition\":\"p\",\"nodes\":\"n1\"" REQUEUES "}]}";
    static const struct {
        const char *preempts;
        bool is_protected;
    } rows[] = { { NULL, true },
                 { "preempt/partition_prio", true },
                 { "preempt/none", false },
                 { "(null)", false },
                 { "preempt/qos", false } };
    struct error err = { 0 };
    owned(json) json_t *body = json_parse(lists_text, strlen(lists_text), "lists", &err);
    owned(json) json_t *partitions = slurm_read_lines(off, "PartitionName", "No partitions", &err);
    const struct slurm_lists lists = { .nodes = json_object_get(body, "nodes"),
                                       .jobs = json_object_get(body, "jobs"),
                                       .partitions = partitions };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct slurm_view own = { .cluster = "lab", .preempts = rows[i].preempts };
        struct snapshot snapshot;
        size_t count;

        snapshot_init(&snapshot);
        if (!body || !partitions || slurm_snapshot_fill(&snapshot, &lists, &own, &err) < 0)
            fail_msg("%s", err.text);
        if (snapshot_pods_on(&snapshot, "n1", &count)[0]->gang.is_protected != rows[i].is_protected)
            fail_msg("%s", rows[i].preempts ?: "not known");
        snapshot_clear(&snapshot);
    }
}

static void machines(void **state)
{
    struct error err = { 0 };

    (void)state;
    assert_int_equal(slurm_machine_check("aws:///us-east-1a/{instance_id}", &err), 0);
    assert_int_equal(slurm_machine_check("{extra}", &err), 0);
    assert_int_equal(slurm_machine_check("gce://p/z/n1", &err), -1);
    assert_int_equal(slurm_machine_check("gce://p/z/{uid}", &err), -1);
    assert_int_equal(slurm_machine_check("gce://p/z/{name", &err), -1);
}

/* ---- parts ---- */

static void hosts(void **state)
{
    static const struct {
        const char *list;
        const char *names; /* NULL: refused */
    } rows[] = {
        { "", "" },
        { "n1", "n1 " },
        { "n[1-3,7]", "n1 n2 n3 n7 " },
        { "gpu-[08-10],login", "gpu-08 gpu-09 gpu-10 login " },
        { "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2 " },
        { "n[1-2]-ib", "n1-ib n2-ib " },
        { "n[1-", NULL },
        { "n[2-1]", NULL },
        { "n[]x", "" },
        { "n1,,n2", NULL },
        { "n1,", NULL },
        { "n]1", NULL },
        { "n[1-999999]", NULL },
        { "a[1][1][1][1][1]", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(slurm_hosts) struct slurm_hosts names = { 0 };
        owned(text) struct text *out = text_new(1000);
        struct error err = { 0 };
        int result = slurm_hosts_read(rows[i].list, &names, &err);

        for (size_t k = 0; k < names.names.count; k++)
            text_add(out, "%s ", names.names.items[k]);
        if (result < 0 ? rows[i].names != NULL
                       : !rows[i].names || strcmp(rows[i].names, out->chars) != 0)
            fail_msg("%s: %d \"%s\"", rows[i].list, result, out->chars);
    }
}

static void gres(void **state)
{
    static const struct {
        const char *gres;
        const char *gpus;
    } rows[] = {
        { "", "{}" },
        { "gpu:h100:8(S:0-1)", "{\"nvidia.com/gpu\":\"8\"}" },
        { "gpu:8", "{\"nvidia.com/gpu\":\"8\"}" },
        { "gpu", "{\"nvidia.com/gpu\":\"1\"}" },
        { "gpu:h100:4(IDX:0-1,3,5),shard:2", "{\"nvidia.com/gpu\":\"4\"}" },
        { "gpu:h100:4,gpu:l40:2", "{\"nvidia.com/gpu\":\"6\"}" },
        { "gpu:a100_1g.10gb:7(S:0),gpu:3g.40gb:1",
          "{\"nvidia.com/mig-1g.10gb\":\"7\",\"nvidia.com/mig-3g.40gb\":\"1\"}" },
        { "gpu:mi300x:8", "{\"amd.com/gpu\":\"8\"}" },
        { "gpu:h100:many", "{\"slurm/gpu-unread\":\"1\"}" },
        { "mps:100", "{}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(json) json_t *gpus = slurm_read_gpus(rows[i].gres);
        owned(chars) char *text = json_print(gpus);

        assert_string_equal(text, rows[i].gpus);
    }
}

static void texts(void **state)
{
    owned(json) json_t *notes = json_object();
    struct error err = { 0 };

    (void)state;
    slurm_read_notes("run 7; sluice.dev/ready-to-leave=true, x=", notes);
    slurm_read_notes("{\"sluice.dev/checkpoint-signal\":\"USR2\",\"n\":1}", notes);
    owned(chars) char *text = json_print(notes);

    assert_string_equal(text, "{\"sluice.dev/ready-to-leave\":\"true\",\"x\":\"\","
                              "\"sluice.dev/checkpoint-signal\":\"USR2\"}");
    assert_int_equal(slurm_read_release("slurm-wlm 22.05.8\n"), 2205);
    assert_int_equal(slurm_read_release("slurm 24.11.5\n"), 2411);
    assert_int_equal(slurm_read_release("bash: scontrol: not found"), 0);
    assert_null(slurm_read_lines("", "ReservationName", "No reservations", &err));
    assert_null(slurm_read_lines("Welcome!\n", "ReservationName", "No reservations", &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded),
        cmocka_unit_test(recorded_nodes_that_are_down),
        cmocka_unit_test(vacant_nodes),
        cmocka_unit_test(parked_nodes_that_are_down),
        cmocka_unit_test(nodes_taken_out),
        cmocka_unit_test(unshown_jobs),
        cmocka_unit_test(others_marks),
        cmocka_unit_test(others_claims),
        cmocka_unit_test(damaged_lists),
        cmocka_unit_test(forms_of_yes_and_no),
        cmocka_unit_test(batch_hosts),
        cmocka_unit_test(machines),
        cmocka_unit_test(hosts),
        cmocka_unit_test(gres),
        cmocka_unit_test(texts),
        cmocka_unit_test(signals_of_scripts),
        cmocka_unit_test(partitions_that_are_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
