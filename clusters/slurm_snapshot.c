/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_snapshot.h.  A node that Slurm shows as busy, and on which no job is shown, gets a
 * stand-in: the answer about jobs may be incomplete (PrivateData), or older than the node's state.
 */
#include "clusters/slurm_snapshot.h"

#include "base/index.h"
#include "base/input/json.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "clusters/node_marks.h"
#include "clusters/slurm/slurm_hosts.h"
#include "clusters/slurm/slurm_machine.h"
#include "clusters/slurm/slurm_node.h"
#include "clusters/slurm/slurm_read.h"
#include "clusters/slurm/slurm_scripts.h"

#include <limits.h>
#include <string.h>

enum { GRACE_S = 30 };

/* What is built, before it takes the place of what was there. */
struct build {
    const struct slurm_view *view;
    struct map *nodes;      /* name -> struct node */
    struct map *pods;       /* UID -> struct pod */
    struct map *busy;       /* nodes that Slurm shows as busy, until a job is seen there */
    struct map *reserved;   /* node -> struct reserved: by sluice */
    struct map *claimed;    /* node -> struct reserved: by people, the first that begins */
    struct map *unbreaking; /* partitions with PreemptMode=OFF */
    struct map *leaders;    /* name of a heterogeneous job -> its leader's host, a copy */
};

struct reserved {
    char *name;
    int64_t start_s;
};

static void reserved_free(void *value)
{
    struct reserved *reserved = value;

    mem_free(reserved->name);
    mem_free(reserved);
}

static void free_node(void *node)
{
    node_free(node);
}

static void free_pod(void *pod)
{
    pod_free(pod);
}

/* ---- reservations and partitions ---- */

static int add_reservation(struct build *build, const json_t *item, struct error *err)
{
    struct slurm_reservation one;
    owned(slurm_hosts) struct slurm_hosts hosts = { 0 };

    if (slurm_read_reservation(item, &one, err) < 0)
        return -1;
    bool is_ours = text_starts_with(one.name, SLURM_RESERVATION_START);
    struct map *map = is_ours ? build->reserved : build->claimed;

    if (slurm_hosts_read(one.nodes, &hosts, err) < 0)
        return is_ours ? error_context(err, "reservation %.80s", one.name) : 0;
    for (size_t i = 0; i < hosts.names.count; i++) {
        const struct reserved *before = map_get(map, hosts.names.items[i]);
        struct reserved *reserved;

        if (!is_ours && before && before->start_s <= one.start_s)
            continue;
        reserved = mem_new(sizeof *reserved);
        reserved->name = mem_copy_chars(one.name);
        reserved->start_s = one.start_s;
        map_set(map, hosts.names.items[i], reserved);
    }
    return 0;
}

/* Under any other PreemptType the mode of a partition says nothing: with preempt/none, Slurm's
   default, which 24.11 prints as "(null)", it is OFF for each. */
static void add_partition(struct build *build, const json_t *item)
{
    const char *preempts = build->view->preempts;

    if (preempts && !text_equal(preempts, "preempt/partition_prio"))
        return;
    if (text_equal(json_text_or(item, "PreemptMode", ""), "OFF"))
        map_set(build->unbreaking, json_text_or(item, "PartitionName", ""), build);
}

/* ---- nodes ---- */

static json_t *labels_of(const struct slurm_node *node)
{
    json_t *labels = json_object();
    const json_t *feature;
    size_t i;

    json_array_foreach(node->features, i, feature) {
        const char *word = json_string_value(feature);
        const char *equals = strchr(word, '=');
        owned(chars) char *key = text_format("%.*s", equals ? (int)(equals - word) : INT_MAX, word);

        json_put(labels, key, json_text(equals ? equals + 1 : "true"));
    }
    return labels;
}

/* The transfer named after `start`: "sluice-leaving t-1 (to pool a)" -> "t-1". */
static char *transfer_of(const char *chars, const char *start)
{
    const char *at = text_starts_with(chars, start) ? chars + strlen(start) : "";

    return text_format("%.*s", (int)strcspn(at, " "), at);
}

static json_t *notes_of(const struct build *build, const struct slurm_node *node)
{
    json_t *notes = json_object();
    const struct reserved *reserved = map_get(build->reserved, node->name);
    bool has_parked = text_starts_with(node->reason, SLURM_REASON_PARKED);
    owned(chars) char *leaving = transfer_of(node->reason, SLURM_REASON_LEAVING);
    bool is_drained = node->states & SLURM_NODE_DRAIN;
    char start[WALL_TEXT_SIZE];

    json_put(notes, SLURM_NOTE_STATE, json_text(node->state_words));
    json_put(notes, SLURM_NOTE_REASON, json_text(node->reason));
    if (node->reason_by[0] != '\0')
        json_put(notes, SLURM_NOTE_REASON_BY, json_text(node->reason_by));
    json_put(notes, SLURM_NOTE_COMMENT, json_text(node->comment));
    if (node->states & SLURM_NODE_DYNAMIC)
        json_put(notes, SLURM_NOTE_DYNAMIC, json_text("true"));
    if (slurm_node_out_of(node))
        json_put(notes, SLURM_NOTE_OUT, json_text(slurm_node_out_of(node)));
    if (slurm_node_is_held_down(node))
        json_put(notes, SLURM_NOTE_HELD_DOWN, json_text("true"));
    if (is_drained)
        json_put(notes, SLURM_NOTE_DRAIN,
                 json_text(has_parked || leaving[0] != '\0' ? "ours" : "other"));
    if (is_drained && !has_parked && leaving[0] != '\0')
        json_put(notes, SLUICE_NOTE_TRANSFER, json_text(leaving));
    if (reserved)
        json_put(notes, SLURM_NOTE_RESERVATION, json_text(reserved->name));
    if (reserved && !slurm_node_is_parked(node)) {
        owned(chars) char *transfer = transfer_of(reserved->name, SLURM_RESERVATION_START);

        json_put(notes, SLUICE_NOTE_TRANSFER, json_text(transfer));
        json_put(
            notes, SLUICE_NOTE_DEPARTURE,
            json_text(wall_format((struct wall_time){ reserved->start_s * SECOND_MS }, start)));
    }
    return notes;
}

static json_t *taints_of(const struct slurm_node *node, const json_t *notes)
{
    json_t *taints = json_array();
    const char *transfer = json_string_value(json_object_get(notes, SLUICE_NOTE_TRANSFER)) ?: "";
    const char *key = text_starts_with(node->reason, SLURM_REASON_PARKED)    ? SLUICE_TAINT_STARTING
                      : text_starts_with(node->reason, SLURM_REASON_LEAVING) ? SLUICE_TAINT_LEAVING
                                                                             : NULL;

    if (key && node->states & SLURM_NODE_DRAIN)
        json_array_append_new(
            taints, json_make("{ssssss}", "key", key, "value", transfer, "effect", "NoSchedule"));
    return taints;
}

/* A maintenance reservation of another keeps jobs away as a drain does, and so does DOWN. */
static bool is_closed(const struct build *build, const struct slurm_node *node)
{
    return node->states & SLURM_NODE_DRAIN || slurm_node_out_of(node) ||
           (node->states & SLURM_NODE_MAINT && !map_get(build->reserved, node->name));
}

static void add_node(struct build *build, const struct slurm_node *from)
{
    struct node *node = mem_new(sizeof *node);
    owned(json) json_t *devices = slurm_read_gpus(from->gres);
    owned(json) json_t *labels = labels_of(from);
    owned(json) json_t *notes = notes_of(build, from);
    owned(chars) char *uid = text_format("%s/%s", build->view->cluster, from->name);
    owned(chars) char *machine = slurm_machine_of(from, build->view->machine ?: "");
    const struct reserved *claimed = map_get(build->claimed, from->name);
    const unsigned ill = SLURM_NODE_DOWN | SLURM_NODE_SILENT | SLURM_NODE_OFF |
                         SLURM_NODE_CHANGING | SLURM_NODE_INVALID;
    owned(chars) char *trouble = text_format("%s%s%s%s", from->state_words,
                                             from->reason[0] != '\0' ? " (" : "", from->reason,
                                             from->reason[0] != '\0' ? ")" : "");

    node->name = shared_text_of(from->name);
    node->uid = shared_text_of(uid);
    node->resource_version = shared_text_of("");
    node->provider_id = shared_text_of(machine);
    node->troubles = shared_text_of(from->states & ill ? trouble : "");
    node->devices = packed_map_new(devices, NULL);
    node->labels = packed_map_new(labels, NULL);
    node->annotations = packed_map_new(notes, NULL);
    node->gpu_facts = gpu_facts_of(node->labels);
    node->taints = taints_of(from, notes);
    node->created.ms = from->slurmd_start_s * SECOND_MS;
    node->is_ready = !(from->states & ill) && from->states & (SLURM_NODE_IDLE | SLURM_NODE_BUSY);
    node->is_silent = (from->states & (SLURM_NODE_DOWN | SLURM_NODE_SILENT)) != 0;
    node->is_unschedulable = is_closed(build, from);
    if (claimed) /* one that has begun may show no start */
        node->reserved.ms = (claimed->start_s > 0 ? claimed->start_s : 1) * SECOND_MS;
    map_set(build->nodes, node->name, node);
    if (from->states & (SLURM_NODE_BUSY | SLURM_NODE_COMPLETING))
        map_set(build->busy, node->name, build);
}

static int read_node(struct build *build, const json_t *item, struct error *err)
{
    struct slurm_node node;

    if (slurm_read_node(item, &node, err) < 0)
        return -1;
    if (!slurm_node_is_vacant(&node))
        add_node(build, &node);
    slurm_node_clear(&node);
    return 0;
}

/* ---- jobs ---- */

static struct pod *pod_new(const char *namespace, const char *name, const char *node)
{
    struct pod *pod = mem_new(sizeof *pod);

    pod->namespace = shared_text_of(namespace);
    pod->name = shared_text_of(name);
    pod->node_name = shared_text_of(node);
    pod->owner_version = shared_text_of("");
    pod->finalizers = shared_text_of("");
    pod->device_claims = packed_map_new(NULL, NULL);
    pod->labels = packed_map_new(NULL, NULL);
    pod->gang.kind = GANG_SLURM_JOB;
    pod->gang.key = text_format("%s/%s", namespace, name);
    pod->phase = POD_RUNNING;
    pod->is_ready = true;
    pod->grace_s = GRACE_S;
    return pod;
}

static void add_pod(struct build *build, struct pod *pod, const char *uid)
{
    pod->uid = shared_text_of(uid);
    map_set(build->pods, pod->uid, pod);
    (void)map_remove(build->busy, pod->node_name);
}

/* Where the batch script runs that gets the job's signals, whichever of its parts is asked for; "":
   it is not shown. */
static const char *host_of(const struct build *build, const struct slurm_job *job, const char *name)
{
    const char *host = job->het_id ? map_get(build->leaders, name) : job->host;

    return job->is_batch && host ? host : "";
}

/* Its comment wins over its script, and this over the cluster's signal. */
static void note_signal(const struct slurm_view *view, const char *key, json_t *notes)
{
    const struct slurm_script *script = view->scripts ? map_get(view->scripts, key) : NULL;
    const char *signal = view->signal ?: "";

    (void)json_object_del(notes, SLURM_NOTE_STEPS);
    (void)json_object_del(notes, SLURM_NOTE_SCRIPT);
    if (json_object_get(notes, SLURM_NOTE_SIGNAL))
        return;
    if (view->scripts && !(script && script->is_known))
        json_put(notes, SLURM_NOTE_SCRIPT, json_text(SLURM_SCRIPT_UNREAD));
    else if (script && script->why)
        json_put(notes, SLURM_NOTE_SCRIPT, json_text(script->why));
    else if (script && script->signal.name[0] != '\0')
        signal = script->signal.name;
    if (signal[0] != '\0')
        json_put(notes, SLURM_NOTE_SIGNAL, json_text(signal));
    if (script && script->signal.is_for_steps)
        json_put(notes, SLURM_NOTE_STEPS, json_text("true"));
}

static json_t *job_notes(const struct build *build, const struct slurm_job *job, const char *name,
                         size_t nodes)
{
    json_t *notes = json_object();
    const char *host = host_of(build, job, name);
    owned(chars) char *count = text_format("%zu", nodes);
    owned(chars) char *key = text_format("%s.%lld", name, (long long)job->restarts);

    slurm_read_notes(job->comment, notes);
    slurm_read_notes(job->extra, notes);
    slurm_read_notes(job->admin_comment, notes);
    if (host[0] != '\0') {
        note_signal(build->view, key, notes);
        json_put(notes, SLURM_NOTE_HOST, json_text(host));
    } else { /* a signal would go to a step, or to nothing */
        (void)json_object_del(notes, SLURM_NOTE_SIGNAL);
        (void)json_object_del(notes, SLURM_NOTE_SCRIPT);
    }
    if (job->admin_comment && job->admin_comment[0] != '\0')
        json_put(notes, SLURM_NOTE_ADMIN_COMMENT, json_text(job->admin_comment));
    json_put(notes, SLURM_NOTE_JOB, json_text(name));
    json_put(notes, SLURM_NOTE_RESTARTS, json_text(key));
    json_put(notes, SLURM_NOTE_NODES, json_text(count));
    return notes;
}

/* at: which of its nodes.  A job that was requeued and still ends shows no GPUs any more. */
static void add_part(struct build *build, const struct slurm_job *job,
                     const struct slurm_hosts *hosts, size_t at)
{
    char name[64];
    const char *team = job->account[0] != '\0' ? job->account
                       : job->user[0] != '\0'  ? job->user
                                               : "jobs";
    const char *node = hosts->names.items[at];
    const json_t *gres = json_array_get(job->gres, at);
    bool is_requeued = job->can_requeue && job->is_batch;

    slurm_job_print(job, name, sizeof name);
    owned(json) json_t *notes = job_notes(build, job, name, hosts->names.count);
    owned(json)
        json_t *devices = slurm_read_gpus(json_is_string(gres) ? json_string_value(gres) : "");
    owned(chars) char *uid = text_format("%s/%lld.%lld@%s", build->view->cluster,
                                         (long long)job->id, (long long)job->restarts, node);
    struct pod *pod = pod_new(team, name, node);

    pod->owner_kind = shared_text_of(is_requeued ? SLURM_OWNER_KIND : "");
    pod->owner_name = shared_text_of(is_requeued ? name : "");
    pod->annotations = packed_map_new(notes, NULL);
    pod->gang.times = gang_times(notes);
    pod->gang.is_protected = map_get(build->unbreaking, job->partition) != NULL;
    pod->devices = packed_map_new(devices, NULL);
    pod->priority_class = shared_text_of(job->qos);
    pod->priority = (int)((job->priority < UINT_MAX ? job->priority : UINT_MAX) / 2);
    pod->created.ms = job->submit_s * SECOND_MS;
    pod->started.ms = job->start_s * SECOND_MS;
    pod->ends.ms = job->end_s * SECOND_MS;
    pod->is_unread = json_array_size(job->gres) > 0 &&
                     json_array_size(job->gres) != hosts->names.count;
    if (job->state == SLURM_JOB_COMPLETING)
        pod->deletion.ms = (job->end_s > 0 ? job->end_s : 1) * SECOND_MS;
    add_pod(build, pod, uid);
}

/* Its other components name it, and may be listed before it. */
static void note_leader(struct build *build, const json_t *item)
{
    struct slurm_job job;
    struct error err;
    char name[64];

    if (slurm_read_job(item, &job, &err) < 0 || job.het_id == 0 || job.het_id != job.id ||
        job.host[0] == '\0')
        return;
    slurm_job_print(&job, name, sizeof name);
    map_set(build->leaders, name, mem_copy_chars(job.host));
}

static int read_job(struct build *build, const json_t *item, struct error *err)
{
    struct slurm_job job;
    owned(slurm_hosts) struct slurm_hosts hosts = { 0 };

    if (slurm_read_job(item, &job, err) < 0)
        return -1;
    if (job.state != SLURM_JOB_RUNNING && job.state != SLURM_JOB_COMPLETING)
        return 0;
    if (slurm_hosts_read(job.nodes, &hosts, err) < 0)
        return error_context(err, "job %lld", (long long)job.id);
    for (size_t i = 0; i < hosts.names.count; i++)
        if (map_get(build->nodes, hosts.names.items[i]))
            add_part(build, &job, &hosts, i);
    return 0;
}

static void add_stand_ins(struct build *build)
{
    const char *node;

    for (size_t i = 0; map_next(build->busy, &i, &node, NULL);) {
        owned(chars) char *uid = text_format("%s/unshown@%s", build->view->cluster, node);
        struct pod *pod = pod_new("jobs", "unshown", node);

        pod->owner_kind = shared_text_of("");
        pod->owner_name = shared_text_of("");
        pod->annotations = packed_map_new(NULL, NULL);
        pod->devices = packed_map_new(NULL, NULL);
        pod->priority_class = shared_text_of("");
        pod->is_unread = true;
        pod->uid = shared_text_of(uid);
        map_set(build->pods, pod->uid, pod);
    }
}

/* ---- all of it ---- */

static int read_all(struct build *build, const struct slurm_lists *lists, struct error *err)
{
    const json_t *item;
    size_t i;

    json_array_foreach(lists->partitions, i, item)
        add_partition(build, item);
    json_array_foreach(lists->reservations, i, item)
        if (add_reservation(build, item, err) < 0)
            return -1;
    json_array_foreach(lists->nodes, i, item)
        if (read_node(build, item, err) < 0)
            return -1;
    json_array_foreach(lists->jobs, i, item)
        note_leader(build, item);
    json_array_foreach(lists->jobs, i, item)
        if (read_job(build, item, err) < 0)
            return -1;
    add_stand_ins(build);
    return 0;
}

/* The new maps take the place of the old ones, and so do their indexes. */
static void adopt(struct snapshot *snapshot, struct build *build)
{
    void *value;

    index_free(snapshot->nodes_by_provider);
    index_free(snapshot->pods_by_node);
    map_free(snapshot->nodes);
    map_free(snapshot->pods);
    snapshot->nodes = steal(&build->nodes);
    snapshot->pods = steal(&build->pods);
    snapshot->nodes_by_provider = index_new();
    snapshot->pods_by_node = index_new();
    for (size_t i = 0; map_next(snapshot->nodes, &i, NULL, &value);)
        index_change(snapshot->nodes_by_provider, "", NULL, ((struct node *)value)->provider_id,
                     value);
    for (size_t i = 0; map_next(snapshot->pods, &i, NULL, &value);)
        index_change(snapshot->pods_by_node, "", NULL, ((struct pod *)value)->node_name, value);
    snapshot_node_replaced(snapshot, NULL, NULL);
    snapshot_pod_replaced(snapshot, NULL, NULL);
}

int slurm_snapshot_fill(struct snapshot *snapshot, const struct slurm_lists *lists,
                        const struct slurm_view *view, struct error *err)
{
    struct build build = { .view = view,
                           .nodes = map_new(free_node),
                           .pods = map_new(free_pod),
                           .busy = map_new(NULL),
                           .reserved = map_new(reserved_free),
                           .claimed = map_new(reserved_free),
                           .unbreaking = map_new(NULL),
                           .leaders = map_new(mem_free) };
    int result = read_all(&build, lists, err);

    if (result == 0)
        adopt(snapshot, &build);
    map_free(build.nodes);
    map_free(build.pods);
    map_free(build.busy);
    map_free(build.reserved);
    map_free(build.claimed);
    map_free(build.unbreaking);
    map_free(build.leaders);
    return result;
}
