/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_read.h.
 */
#include "clusters/slurm/slurm_read.h"

#include "base/input/json.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- members of both shapes ---- */

/* 5, or {"set": true, "infinite": false, "number": 5}; null, and one that is not set: 0. */
static int find_number(const json_t *item, const char *key, int64_t *ret, struct error *err)
{
    const json_t *value = json_object_get(item, key);

    *ret = 0;
    if (!value || json_is_null(value))
        return 0;
    if (json_is_object(value)) {
        if (!json_is_true(json_object_get(value, "set")))
            return 0;
        value = json_object_get(value, "number");
    }
    if (json_is_number(value)) {
        *ret = (int64_t)json_number_value(value);
        return 0;
    }
    return error_set(err, ERROR_CORRUPT, "%s is no number", key);
}

static int need_number(const json_t *item, const char *key, int64_t *ret, struct error *err)
{
    if (!json_object_get(item, key))
        return error_set(err, ERROR_CORRUPT, "%s is missing", key);
    return find_number(item, key, ret, err);
}

/* true, 1, or {"set": true, "infinite": false, "number": 1}; and what is false.  A form that is not
   understood is no answer. */
static int need_bool(const json_t *item, const char *key, bool *ret, struct error *err)
{
    const json_t *value = json_object_get(item, key);

    if (json_is_object(value) && json_is_true(json_object_get(value, "set")))
        value = json_object_get(value, "number");
    if (!json_is_boolean(value) && !(json_is_integer(value) && (json_integer_value(value) == 0 ||
                                                                json_integer_value(value) == 1)))
        return error_set(err, ERROR_CORRUPT, "%s is %s", key,
                         value ? "neither yes nor no" : "missing");
    *ret = json_is_true(value) || json_integer_value(value) == 1;
    return 0;
}

/* A text; "" for one that is missing, null, an empty array or "(null)". */
static int find_text(const json_t *item, const char *key, const char **ret, struct error *err)
{
    const json_t *value = json_object_get(item, key);

    *ret = "";
    if (!value || json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0))
        return 0;
    if (!json_is_string(value))
        return error_set(err, ERROR_CORRUPT, "%s is no text", key);
    if (!text_equal(json_string_value(value), "(null)"))
        *ret = json_string_value(value);
    return 0;
}

static int need_text(const json_t *item, const char *key, const char **ret, struct error *err)
{
    if (find_text(item, key, ret, err) < 0)
        return -1;
    return (*ret)[0] != '\0' ? 0 : error_set(err, ERROR_CORRUPT, "%s is missing", key);
}

/* The words of a text with commas, or of an array of texts; the caller releases them. */
static json_t *words_of(const json_t *value)
{
    json_t *words = json_array();
    const json_t *word;
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach(value, i, word)
            if (json_is_string(word))
                json_array_append_new(words, json_text(json_string_value(word)));
        return words;
    }
    for (const char *at = json_is_string(value) ? json_string_value(value) : ""; *at;) {
        size_t length = strcspn(at, ", ");
        owned(chars) char *one = text_format("%.*s", (int)length, at);

        if (length > 0)
            json_array_append_new(words, json_text(one));
        at += length + (at[length] != '\0');
    }
    return words;
}

/* ---- nodes ---- */

static const struct {
    const char *word;
    unsigned bits;
} node_words[] = {
    { "IDLE", SLURM_NODE_IDLE },
    { "ALLOCATED", SLURM_NODE_BUSY },
    { "MIXED", SLURM_NODE_BUSY },
    { "DOWN", SLURM_NODE_DOWN },
    { "ERROR", SLURM_NODE_DOWN },
    { "UNKNOWN", SLURM_NODE_DOWN | SLURM_NODE_UNKNOWN },
    { "FUTURE", SLURM_NODE_FUTURE },
    { "DRAIN", SLURM_NODE_DRAIN },
    { "FAIL", SLURM_NODE_DRAIN },
    { "COMPLETING", SLURM_NODE_COMPLETING },
    { "NOT_RESPONDING", SLURM_NODE_SILENT },
    { "POWERED_DOWN", SLURM_NODE_OFF },
    { "POWER_DOWN", SLURM_NODE_CHANGING },
    { "POWERING_DOWN", SLURM_NODE_CHANGING },
    { "POWER_UP", SLURM_NODE_CHANGING },
    { "POWERING_UP", SLURM_NODE_CHANGING },
    { "REBOOT_ISSUED", SLURM_NODE_CHANGING },
    { "REBOOT_REQUESTED", SLURM_NODE_CHANGING },
    { "MAINT", SLURM_NODE_MAINT },
    { "MAINTENANCE", SLURM_NODE_MAINT },
    { "DYNAMIC_NORM", SLURM_NODE_DYNAMIC },
    { "INVALID", SLURM_NODE_INVALID },
    { "INVALID_REG", SLURM_NODE_INVALID },
    { "CLOUD", SLURM_NODE_CLOUD },
};

static void add_states(const json_t *words, struct slurm_node *node)
{
    const json_t *word;
    size_t i;

    json_array_foreach(words, i, word) {
        size_t length = strlen(node->state_words);
        const char *chars = json_string_value(word);

        text_print(node->state_words + length, sizeof node->state_words - length, "%s%s",
                   length > 0 ? "+" : "", chars);
        for (char *at = node->state_words + length; *at; at++) /* 22.05 has small letters */
            *at = (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
        for (size_t k = 0; k < COUNT_OF(node_words); k++)
            if (strcasecmp(node_words[k].word, chars) == 0)
                node->states |= node_words[k].bits;
    }
}

int slurm_read_node(const json_t *item, struct slurm_node *ret, struct error *err)
{
    struct slurm_node node = { 0 };
    owned(json) json_t *states = words_of(json_object_get(item, "state"));
    owned(json) json_t *flags = words_of(json_object_get(item, "state_flags"));
    const json_t *features = json_object_get(item, "active_features");

    if (need_text(item, "name", &node.name, err) < 0 ||
        find_text(item, "gres", &node.gres, err) < 0 ||
        find_text(item, "address", &node.address, err) < 0 ||
        find_text(item, "hostname", &node.hostname, err) < 0 ||
        find_text(item, "instance_id", &node.instance_id, err) < 0 ||
        find_text(item, "comment", &node.comment, err) < 0 ||
        find_text(item, "extra", &node.extra, err) < 0 ||
        find_text(item, "reason", &node.reason, err) < 0 ||
        find_number(item, "slurmd_start_time", &node.slurmd_start_s, err) < 0)
        return -1;
    add_states(states, &node);
    add_states(flags, &node);
    if (node.states == 0)
        return error_set(err, ERROR_CORRUPT, "node %.80s has no state that sluice knows: \"%s\"",
                         node.name, node.state_words);
    node.reason_by = node.reason[0] != '\0' ? json_text_or(item, "reason_set_by_user", "") : "";
    node.features = words_of(features ?: json_object_get(item, "features"));
    *ret = node;
    return 0;
}

void slurm_node_clear(struct slurm_node *node)
{
    json_decref(node->features);
}

/* ---- jobs ---- */

/* PENDING with COMPLETING (a requeued job that still ends) is COMPLETING.  Each state that is not
   named here has ended. */
static int read_job_state(const json_t *item, enum slurm_job_state *ret, struct error *err)
{
    static const struct {
        const char *word;
        enum slurm_job_state state;
    } rows[] = { /* the first counts */
                 { "COMPLETING", SLURM_JOB_COMPLETING }, { "STAGE_OUT", SLURM_JOB_COMPLETING },
                 { "SIGNALING", SLURM_JOB_RUNNING },     { "STOPPED", SLURM_JOB_RUNNING },
                 { "RESIZING", SLURM_JOB_RUNNING },      { "RUNNING", SLURM_JOB_RUNNING },
                 { "SUSPENDED", SLURM_JOB_RUNNING },     { "CONFIGURING", SLURM_JOB_RUNNING },
                 { "PENDING", SLURM_JOB_PENDING }
    };
    owned(json) json_t *words = words_of(json_object_get(item, "job_state"));
    const json_t *word;
    size_t k;

    if (json_array_size(words) == 0)
        return error_set(err, ERROR_CORRUPT, "job_state is missing");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        json_array_foreach(words, k, word)
            if (strcasecmp(json_string_value(word), rows[i].word) == 0) {
                *ret = rows[i].state;
                return 0;
            }
    *ret = SLURM_JOB_ENDED;
    return 0;
}

static int read_job_numbers(const json_t *item, struct slurm_job *job, struct error *err)
{
    return need_number(item, "job_id", &job->id, err) < 0 ||
                   find_number(item, "array_job_id", &job->array_id, err) < 0 ||
                   find_number(item, "array_task_id", &job->task_id, err) < 0 ||
                   find_number(item, "het_job_id", &job->het_id, err) < 0 ||
                   find_number(item, "restart_cnt", &job->restarts, err) < 0 ||
                   find_number(item, "priority", &job->priority, err) < 0 ||
                   find_number(item, "submit_time", &job->submit_s, err) < 0 ||
                   find_number(item, "start_time", &job->start_s, err) < 0 ||
                   find_number(item, "end_time", &job->end_s, err) < 0
               ? -1
               : 0;
}

static int read_job_texts(const json_t *item, struct slurm_job *job, struct error *err)
{
    return find_text(item, "nodes", &job->nodes, err) < 0 ||
                   find_text(item, "batch_host", &job->host, err) < 0 ||
                   find_text(item, "account", &job->account, err) < 0 ||
                   find_text(item, "qos", &job->qos, err) < 0 ||
                   find_text(item, "partition", &job->partition, err) < 0 ||
                   find_text(item, "name", &job->name, err) < 0 ||
                   find_text(item, "user_name", &job->user, err) < 0 ||
                   find_text(item, "comment", &job->comment, err) < 0 ||
                   find_text(item, "admin_comment", &job->admin_comment, err) < 0 ||
                   find_text(item, "extra", &job->extra, err) < 0
               ? -1
               : 0;
}

static bool is_suspended(const json_t *item)
{
    owned(json) json_t *words = words_of(json_object_get(item, "job_state"));
    bool is_found = false;
    const json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
        is_found |= strcasecmp(json_string_value(word), "SUSPENDED") == 0 ||
                    strcasecmp(json_string_value(word), "STOPPED") == 0;
    return is_found;
}

int slurm_read_job(const json_t *item, struct slurm_job *ret, struct error *err)
{
    struct slurm_job job = { 0 };

    if (read_job_numbers(item, &job, err) < 0 || read_job_texts(item, &job, err) < 0 ||
        read_job_state(item, &job.state, err) < 0 ||
        need_bool(item, "requeue", &job.can_requeue, err) < 0 ||
        need_bool(item, "batch_flag", &job.is_batch, err) < 0)
        return error_context(err, "job %lld", (long long)job.id);
    job.gres = json_object_get(item, "gres_detail");
    if (is_suspended(item)) /* its end moves with each minute */
        job.end_s = 0;
    *ret = job;
    return 0;
}

void slurm_job_print(const struct slurm_job *job, char *out, size_t size)
{
    if (job->array_id != 0)
        text_print(out, size, "%lld_%lld", (long long)job->array_id, (long long)job->task_id);
    else
        text_print(out, size, "%lld", (long long)(job->het_id ? job->het_id : job->id));
}

/* ---- reservations, and what scontrol prints for people ---- */

int slurm_read_reservation(const json_t *item, struct slurm_reservation *ret, struct error *err)
{
    struct slurm_reservation one = { 0 };
    bool is_line = json_object_get(item, "ReservationName") != NULL;
    owned(json) json_t *flags = words_of(json_object_get(item, is_line ? "Flags" : "flags"));
    const json_t *flag;
    size_t i;

    if (need_text(item, is_line ? "ReservationName" : "name", &one.name, err) < 0 ||
        find_text(item, is_line ? "Nodes" : "node_list", &one.nodes, err) < 0)
        return -1;
    if (is_line) {
        one.start_s = strtoll(json_text_or(item, "StartTime", "0"), NULL, 10);
        one.end_s = strtoll(json_text_or(item, "EndTime", "0"), NULL, 10);
    } else if (find_number(item, "start_time", &one.start_s, err) < 0 ||
               find_number(item, "end_time", &one.end_s, err) < 0) {
        return -1;
    }
    json_array_foreach(flags, i, flag)
        one.is_maintenance = one.is_maintenance || text_equal(json_string_value(flag), "MAINT");
    *ret = one;
    return 0;
}

/* The KEY=VALUE words of one line.  A value with spaces keeps only its first word. */
static json_t *read_line(const char *line, size_t size)
{
    json_t *object = json_object();

    for (size_t at = 0; at < size;) {
        size_t length = strcspn(line + at, " \n");
        const char *equals = memchr(line + at, '=', length);

        if (equals) {
            owned(chars) char *key = text_format("%.*s", (int)(equals - line - (ptrdiff_t)at),
                                                 line + at);
            owned(chars) char *value = text_format("%.*s", (int)(line + at + length - equals - 1),
                                                   equals + 1);

            if (!json_object_get(object, key))
                json_put(object, key, json_text(value));
        }
        at += length + 1;
    }
    return object;
}

json_t *slurm_read_lines(const char *text, const char *first, const char *none, struct error *err)
{
    owned(json) json_t *rows = json_array();

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");

        if (text_starts_with(at, first) && at[strlen(first)] == '=')
            json_array_append_new(rows, read_line(at, length));
        else if (length > 0 && !text_starts_with(at, none)) {
            (void)error_set(err, ERROR_CORRUPT, "\"%.*s\" is no line of %s=...",
                            (int)(length < 60 ? length : 60), at, first);
            return NULL;
        }
        at += length + (at[length] != '\0');
    }
    if (json_array_size(rows) == 0 && !strstr(text, none)) {
        (void)error_set(err, ERROR_CORRUPT, "scontrol printed nothing");
        return NULL;
    }
    return steal(&rows);
}

char *slurm_read_setting(const char *text, const char *key)
{
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at != '\0') {
        size_t length = strlen(key);

        if (strncmp(at, key, length) != 0 || (at[length] != ' ' && at[length] != '='))
            continue;
        at += length + strspn(at + length, " =");
        return text_format("%.*s", (int)strcspn(at, "\n"), at);
    }
    return NULL;
}

int slurm_read_release(const char *text)
{
    const char *space = text_starts_with(text, "slurm") ? strchr(text, ' ') : NULL;
    char *end;
    long major = space ? strtol(space + 1, &end, 10) : 0;
    long minor = major > 0 && *end == '.' ? strtol(end + 1, &end, 10) : -1;

    return major >= 10 && major < 100 && minor >= 0 && minor < 13 ? (int)(major * 100 + minor) : 0;
}

/* ---- GPUs ---- */

/* "1g.10gb" within a type such as "a100_1g.10gb"; NULL: it is no slice. */
static const char *find_profile(const char *type)
{
    for (const char *at = type; *at; at++) {
        size_t slices = strspn(at, "0123456789");

        if (slices > 0 && at[slices] == 'g' && at[slices + 1] == '.' &&
            strspn(at + slices + 2, "0123456789") > 0)
            return at;
        at += slices > 0 ? slices - 1 : 0;
    }
    return NULL;
}

static char *resource_of(const char *type)
{
    const char *profile = find_profile(type);

    if (profile)
        return text_format("nvidia.com/mig-%s", profile);
    return mem_copy_chars(strncasecmp(type, "mi", 2) == 0 && strspn(type + 2, "0123456789") > 0
                              ? "amd.com/gpu"
                              : "nvidia.com/gpu");
}

static void add_gpus(json_t *gpus, const char *type, const char *digits)
{
    owned(chars) char *resource = resource_of(type);
    long long count, before = 0;
    bool is_read = text_to_int(digits, 0, 100000, &count);

    if (is_read && json_object_get(gpus, resource))
        is_read = text_to_int(json_string_value(json_object_get(gpus, resource)), 0, 100000,
                              &before);
    owned(chars) char *sum = text_format("%lld", count + before);

    if (is_read)
        json_put(gpus, resource, json_text(sum));
    else
        json_put(gpus, "slurm/gpu-unread", json_text("1"));
}

json_t *slurm_read_gpus(const char *gres)
{
    json_t *gpus = json_object();

    for (const char *at = gres; *at;) {
        size_t length = strcspn(at, ",("); /* "(S:0-1)", "(IDX:0,2-3)" follow */
        owned(chars) char *item = text_format("%.*s", (int)length, at);
        char *type = strchr(item, ':');
        char *count = type ? strrchr(type, ':') : NULL;

        if (type && strncmp(item, "gpu:", 4) == 0) {
            *count++ = '\0';
            add_gpus(gpus, type < count - 1 ? type + 1 : "", count);
        } else if (text_equal(item, "gpu")) {
            add_gpus(gpus, "", "1");
        }
        at += length;
        at += *at == '(' ? strcspn(at, ")") + (strchr(at, ')') != NULL) : 0;
        at += *at == ',';
    }
    return gpus;
}

/* ---- notes ---- */

void slurm_read_notes(const char *comment, json_t *notes)
{
    owned(json) json_t *object =
        comment[0] == '{' ? json_parse_foreign(comment, strlen(comment), "a comment", NULL) : NULL;
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
        if (json_is_string(value))
            json_put(notes, key, json_text(json_string_value(value)));
    for (const char *at = object ? "" : comment; *at;) {
        size_t length = strcspn(at, " ,;");
        const char *equals = memchr(at, '=', length);

        if (equals && equals > at) {
            owned(chars) char *name = text_format("%.*s", (int)(equals - at), at);
            owned(chars) char *rest = text_format("%.*s", (int)(at + length - equals - 1),
                                                  equals + 1);

            json_put(notes, name, json_text(rest));
        }
        at += length + (at[length] != '\0');
    }
}
