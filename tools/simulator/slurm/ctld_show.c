/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Objects as JSON.  22.05: a number is a number or null, and a list of words one text; states are
 * small letters.  24.11: {set, infinite, number}, arrays, capitals.
 */
#include "tools/simulator/slurm/ctld.h"

#include <ctype.h>

json_t *ctld_number(const struct ctld *slurm, bool is_set, int64_t value)
{
    if (slurm->release >= 2411)
        return json_make("{sb sb sI}", "set", (int)is_set, "infinite", 0, "number",
                         (json_int_t)(is_set ? value : 0));
    return is_set ? json_integer(value) : json_null();
}

static json_t *time_of(const struct ctld *slurm, int64_t loop_ms)
{
    return ctld_number(slurm, true, ctld_seconds(slurm, loop_ms));
}

static json_t *words(const struct ctld *slurm, const char *word)
{
    return slurm->release >= 2411 ? word[0] ? json_make("[s]", word) : json_array()
                                  : json_text(word);
}

/* ---- nodes ---- */

const char *ctld_base_word(const struct ctld_node *node)
{
    static const char *const rows[] = { "UNKNOWN", "DOWN", "IDLE", "FUTURE" };

    if (node->base != CTLD_IDLE)
        return rows[node->base];
    /* alloc_cpus is as old as the last refresh, and so is MIXED. */
    if (node->cpus_shown > 0 && node->cpus_shown < CTLD_CPUS)
        return "MIXED";
    return node->jobs > node->completing || node->cpus_shown > 0 ? "ALLOCATED" : "IDLE";
}

size_t ctld_flag_words(const struct ctld *slurm, const struct ctld_node *node, const char *ret[8])
{
    const struct ctld_reservation *reservation = ctld_node_reservation(slurm, node);
    const struct {
        bool is_set;
        const char *word;
    } rows[] = {
        { (node->flags & CTLD_CLOUD) != 0, "CLOUD" },
        { node->completing > 0, "COMPLETING" },
        { (node->flags & CTLD_DRAIN) != 0, "DRAIN" },
        { (node->flags & CTLD_DYNAMIC) != 0, "DYNAMIC_NORM" },
        { reservation != NULL, "RESERVED" },
        { reservation && reservation->flags & CTLD_MAINT, "MAINTENANCE" },
        { (node->flags & CTLD_NOT_RESPONDING) != 0, "NOT_RESPONDING" },
        { (node->flags & CTLD_POWERED_DOWN) != 0, "POWERED_DOWN" },
    };
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].is_set)
            ret[count++] = rows[i].word;
    return count;
}

bool ctld_is_listed(const struct ctld_node *node)
{
    bool is_off = node->flags & CTLD_CLOUD && node->flags & CTLD_POWERED_DOWN;

    return node->base != CTLD_FUTURE && (!is_off || node->slurm->release >= 2411);
}

static void put_state(const struct ctld *slurm, const struct ctld_node *node, json_t *object)
{
    const char *flags[8];
    size_t count = ctld_flag_words(slurm, node, flags);
    json_t *list = json_array();
    char word[24];

    text_copy(word, sizeof word, ctld_base_word(node));
    if (slurm->release >= 2411)
        json_array_append_new(list, json_text(word));
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_text(flags[i]));
    for (char *at = word; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (slurm->release < 2411) {
        json_put(object, "state", json_text(word));
        json_put(object, "state_flags", list);
        json_put(object, "next_state_after_reboot_flags", json_array());
    } else {
        json_put(object, "state", list);
    }
}

static void put_node_of_release(const struct ctld *slurm, const struct ctld_node *node,
                                json_t *object)
{
    const struct ctld_reservation *reservation = ctld_node_reservation(slurm, node);
    bool is_new = slurm->release >= 2411;
    const char *label = slurm->sim->scenario->label_key;
    const char *gpu = node->kind_count ? node->kinds[0].type : "h100";
    owned(chars) char *feature = node->is_movable ? text_format("%s,%s", gpu, label)
                                                  : mem_copy_chars(gpu);

    if (is_new) {
        json_put(object, "features",
                 node->is_movable ? json_make("[ss]", gpu, label) : json_make("[s]", gpu));
        json_put(object, "active_features", json_copy(json_object_get(object, "features")));
        json_put(object, "instance_id", json_text(node->machine ? node->machine->name : ""));
        json_put(object, "instance_type", json_text(""));
        json_put(object, "reservation", json_text(reservation ? reservation->name : ""));
        json_put(object, "version", json_text("24.11.5"));
    } else {
        json_put(object, "features", json_text(feature));
        json_put(object, "active_features", json_text(feature));
        json_put(object, "slurmd_version", json_text("22.05.8"));
    }
    json_put(object, "next_state_after_reboot",
             is_new ? json_make("[s]", "INVALID") : json_text("invalid"));
    json_put(object, "reason_set_by_user",
             node->reason_user[0] ? json_text(node->reason_user)
             : is_new             ? json_text("")
                                  : json_null());
}

json_t *ctld_show_node(const struct ctld *slurm, const struct ctld_node *node)
{
    owned(chars) char *gres = ctld_gres_of_node(node, false);
    owned(chars) char *used = ctld_gres_of_node(node, true);
    json_t *partitions = node->kind_count ? json_make("[s]", "slices")
                                          : json_make("[ss]", "train", "urgent");
    json_t *object = json_make(
        "{ss si ss si si ss ss ss ss ss ss ss so si si ss ss si si si}", "architecture", "x86_64",
        "boards", 1, "comment", node->comment, "cores", 48, "cpus", CTLD_CPUS, "extra", node->extra,
        "gres", gres, "gres_drained", "N/A", "gres_used", used, "name", node->name, "address",
        node->name, "hostname", node->name, "partitions", partitions, "port", 6818, "real_memory",
        CTLD_MEMORY_MB, "reason", node->reason, "tres", "cpu=96,mem=1000000M,billing=96", "sockets",
        2, "alloc_cpus", node->cpus_shown, "weight", 1);

    put_state(slurm, node, object);
    put_node_of_release(slurm, node, object);
    json_put(object, "boot_time", time_of(slurm, node->boot_ms));
    json_put(object, "last_busy", time_of(slurm, node->busy_ms));
    json_put(object, "reason_changed_at", time_of(slurm, node->reason_ms));
    json_put(object, "slurmd_start_time", time_of(slurm, node->slurmd_ms));
    return object;
}

/* ---- jobs ---- */

const char *ctld_job_state_name(enum ctld_job_state state)
{
    static const char *const rows[] = { "PENDING", "RUNNING", "COMPLETED", "CANCELLED",
                                        "FAILED",  "TIMEOUT", "NODE_FAIL" };

    return rows[state];
}

static void put_job_state(const struct ctld *slurm, const struct ctld_job *job, json_t *object)
{
    const char *state = ctld_job_state_name(job->state);

    if (slurm->release < 2411)
        json_put(object, "job_state", json_text(job->is_completing ? "COMPLETING" : state));
    else
        json_put(object, "job_state",
                 job->is_completing ? json_make("[ss]", state, "COMPLETING")
                                    : json_make("[s]", state));
}

static json_t *gres_detail(const struct ctld_job *job)
{
    json_t *list = json_array();

    for (int i = 0; i < job->node_count && job->gpus > 0; i++)
        if (job->state == CTLD_RUNNING && job->nodes[i]) {
            owned(chars) char *text = ctld_gres_of_job(job, i);

            json_array_append_new(list, json_text(text));
        }
    return list;
}

static void put_groups(const struct ctld *slurm, const struct ctld_job *job, json_t *object)
{
    owned(chars) char *set = job->het_id ? text_format("%d-%d", job->het_id,
                                                       job->het_id + job->het_count - 1)
                                         : mem_copy_chars("");

    json_put(object, "array_job_id", ctld_number(slurm, true, job->array_id));
    json_put(object, "array_task_id", ctld_number(slurm, job->array_id != 0, job->array_task));
    json_put(object, "array_task_string", json_text(""));
    json_put(object, "het_job_id", ctld_number(slurm, true, job->het_id));
    json_put(object, "het_job_id_set", json_text(set));
    json_put(object, "het_job_offset", ctld_number(slurm, true, job->het_offset));
}

json_t *ctld_show_job(const struct ctld *slurm, const struct ctld_job *job)
{
    owned(chars) char *nodes = ctld_names_of_job(job);
    json_t *object = json_make(
        "{ss ss ss sb ss si ss ss ss sb si ss ss ss}", "account", job->account, "admin_comment",
        job->admin_comment, "comment", job->comment, "batch_flag", 1, "cluster",
        slurm->cluster->plan->name, "job_id", job->id, "name", job->name, "nodes", nodes,
        "partition", job->partition, "requeue", (int)job->may_requeue, "restart_cnt", job->restarts,
        "state_reason", job->why, "user_name", job->user, "required_nodes", job->wanted);

    put_job_state(slurm, job, object);
    put_groups(slurm, job, object);
    json_put(object, "gres_detail", gres_detail(job));
    json_put(object, "submit_time", time_of(slurm, job->submit_ms));
    json_put(object, "eligible_time", time_of(slurm, job->eligible_ms));
    json_put(object, "start_time", time_of(slurm, job->start_ms));
    json_put(object, "end_time", time_of(slurm, job->end_ms));
    json_put(object, "time_limit", ctld_number(slurm, job->limit_min > 0, job->limit_min));
    json_put(object, "priority", ctld_number(slurm, true, 4294901759 - job->id));
    json_put(object, "node_count", ctld_number(slurm, true, job->node_count));
    json_put(object, "qos", json_text(""));
    json_put(object, "batch_host", json_text(job->node_names[0]));
    json_put(object, "shared",
             job->is_exclusive       ? words(slurm, "none")
             : slurm->release < 2411 ? json_null()
                                     : json_array());
    if (slurm->release >= 2411)
        json_put(object, "extra", json_text(job->extra));
    return object;
}

/* ---- the rest ---- */

json_t *ctld_show_reservation(const struct ctld *slurm, const struct ctld_reservation *reservation)
{
    owned(map) struct map *names = map_new(NULL);
    owned(text) struct text *list = text_new(4096);
    json_t *flags = json_array();
    json_t *object;

    (void)ctld_names_split(reservation->nodes, names);
    ctld_names_print(list, names);
    if (reservation->flags & CTLD_MAINT)
        json_array_append_new(flags, json_text("MAINT"));
    if (reservation->flags & CTLD_IGNORE_JOBS)
        json_array_append_new(flags, json_text("IGNORE_JOBS"));
    json_array_append_new(flags, json_text("SPEC_NODES"));
    object = json_make("{so ss si ss ss ss}", "flags", flags, "name", reservation->name,
                       "node_count", (int)map_count(names), "node_list", list->chars, "partition",
                       "", "users", reservation->users);
    json_put(object, "start_time", time_of(slurm, reservation->start_ms));
    json_put(object, "end_time", time_of(slurm, reservation->end_ms));
    return object;
}

json_t *ctld_show_partitions(const struct ctld *slurm, bool is_rest)
{
    static const struct {
        const char *name, *preempts;
        int tier;
    } rows[] = { { "slices", "REQUEUE", 1 }, { "train", "REQUEUE", 1 }, { "urgent", "OFF", 10 } };
    json_t *list = json_array();

    (void)is_rest;
    for (size_t i = slurm->sliced ? 0 : 1; i < COUNT_OF(rows); i++) {
        json_t *object = json_make("{ss}", "name", rows[i].name);

        if (slurm->release >= 2411) {
            json_put(object, "nodes", json_make("{ss}", "configured", "ALL"));
            json_put(object, "priority",
                     json_make("{si si}", "job_factor", 1, "tier", rows[i].tier));
            json_put(object, "partition", json_make("{s[s]}", "state", "UP"));
            json_put(object, "preempt_mode", words(slurm, rows[i].preempts));
        } else {
            json_put(object, "preemption_mode", json_make("[s]", "disabled"));
            json_put(object, "priority_tier", json_integer(rows[i].tier));
            json_put(object, "state", json_text("UP"));
        }
        json_array_append_new(list, object);
    }
    return list;
}
