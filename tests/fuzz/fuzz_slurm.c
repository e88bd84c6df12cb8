/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Slurm prints: an object with its lists and lines, as the recorded ones (seeds/slurm), or any
 * text as a list of hosts, GRES, a comment, a release, lines of scontrol.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "clusters/slurm/slurm_errors.h"
#include "clusters/slurm/slurm_hosts.h"
#include "clusters/slurm/slurm_read.h"
#include "clusters/slurm_snapshot.h"
#include "tests/fuzz/fuzz.h"

static const struct slurm_view view = { .cluster = "lab",
                                        .machine = "gce://p/z/{name}{extra}",
                                        .signal = "USR1" };

/* Lines where the object has a text, else the array itself. */
static json_t *rows_of(const json_t *object, const char *key, const char *first, const char *none)
{
    json_t *value = json_object_get(object, key);
    struct error err = { 0 };
    json_t *rows = json_is_string(value)
                       ? slurm_read_lines(json_string_value(value), first, none, &err)
                       : json_incref(value);

    if (json_is_string(value) && !rows)
        fuzz_expect_error(&err);
    return rows;
}

/* Each job's part is on a node that is there, and no two have one UID. */
static void judge(const struct snapshot *snapshot)
{
    const char *uid;
    void *value;

    for (size_t i = 0; map_next(snapshot->pods, &i, &uid, &value);) {
        const struct pod *pod = value;

        require(text_equal(uid, pod->uid) && map_get(snapshot->nodes, pod->node_name));
        require(pod->gang.key && pod_must_leave(pod));
    }
}

static void read_lists(const json_t *object)
{
    owned(json) json_t *reservations = rows_of(object, "reservations", "ReservationName",
                                               "No reservations");
    owned(json)
        json_t *partitions = rows_of(object, "partitions", "PartitionName", "No partitions");
    const struct slurm_lists lists = { json_object_get(object, "nodes"),
                                       json_object_get(object, "jobs"), reservations, partitions };
    struct snapshot snapshot;
    struct error err = { 0 };

    snapshot_init(&snapshot);
    if (slurm_snapshot_fill(&snapshot, &lists, &view, &err) < 0)
        fuzz_expect_error(&err);
    else
        judge(&snapshot);
    snapshot_clear(&snapshot);
    err = (struct error){ 0 };
    if (slurm_check_answer(200, object, &err) < 0)
        fuzz_expect_error(&err);
}

static void read_text(const char *chars)
{
    owned(slurm_hosts) struct slurm_hosts hosts = { 0 };
    owned(json) json_t *gpus = slurm_read_gpus(chars);
    owned(json) json_t *notes = json_object();
    struct error err = { 0 };

    slurm_read_notes(chars, notes);
    require(json_is_object(gpus) && slurm_read_release(chars) >= 0);
    if (strlen(chars) < 200 && slurm_hosts_read(chars, &hosts, &err) < 0)
        fuzz_expect_error(&err);
    for (size_t i = 0; i < hosts.names.count; i++)
        require(hosts.names.items[i][0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    owned(chars) char *chars = fuzz_chars(bytes, size);
    owned(json) json_t *object = json_parse_foreign(chars, size, "input", NULL);

    if (json_is_object(object))
        read_lists(object);
    read_text(chars);
    return 0;
}
