/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of metrics, and the two text formats: Prometheus 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/) and OpenMetrics 1.0
 * (https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md).
 */
#include "broker/api/metrics.h"

#include "base/array.h"
#include "base/input/json.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/text_items.h"
#include "base/timestamp.h"

#include <string.h>

/* COUNTER_TOO: its name without "_total" is a gauge's.  OpenMetrics has no counter beside a gauge
   of the same name: there it is unknown. */
enum kind { GAUGE, COUNTER, SUMMARY, HISTOGRAM, COUNTER_TOO };

static const char *const kind_names[] = { "gauge", "counter", "summary", "histogram", "counter" };

/* Rows whose labels are equal make one sample: the sum of their values. */
/* clang-format off */
static const struct family {
    const char *name; /* without "sluice_", and a counter's without "_total" */
    enum kind kind;
    const char *rows;   /* the array of the status that has the samples; "": the status itself */
    const char *labels; /* members of a row, with commas; "label=member" where the names differ,
                           and "label:text" for a text that is always the same */
    const char *value;  /* member: a number, a time (RFC 3339) or true and false; "": 1 each.  A
                           histogram's row is one of counters_describe(), and has no other */
    const char *help;
} families[] = {
    { "build_info", GAUGE, "", "version", "", "1; the version of the service that answers" },
    { "health_severity", GAUGE, "", "", "severity", "0 all is well, 1 note, 2 warning, 3 critical" },
    { "conditions", GAUGE, "condition_counts", "id,severity,cluster", "count", "Problems that hold now, by kind and cluster" },
    { "condition_since_timestamp_seconds", GAUGE, "condition_dates", "id,severity,cluster", "since", "Since when there is such a condition: of several the first" },
    { "condition_info", GAUGE, "condition_table", "id,affects,advice", "", "1; what a kind of condition affects, and what to do" },
    { "broken", GAUGE, "", "", "is_broken", "1 after the journal failed: the service changes nothing" },
    { "loop_lag_seconds", GAUGE, "", "", "loop_lag_s", "By how much the latest timer of the last minute or two fired late: steps are late by as much" },
    { "door_open", GAUGE, "doors", "door", "is_open", "1 while the service answers there; 0: a condition says why not" },
    { "certificate_end_timestamp_seconds", GAUGE, "doors", "door", "certificate_ends", "When the first certificate ends that the service shows there" },
    { "client_authority_end_timestamp_seconds", GAUGE, "doors", "door", "authorities_end", "When the first authority in client_ca ends: no client certificate of it is believed then" },
    { "refused", COUNTER, "refused", "reason", "count", "Requests and connections that were refused, since the service's doors were opened" },

    { "webhook_messages", COUNTER, "webhooks", "webhook,result:sent", "sent", "Messages for a webhook: sent were accepted, refused were not, dropped waited too long" },
    { "webhook_messages", COUNTER, "webhooks", "webhook,result:refused", "refused", "" },
    { "webhook_messages", COUNTER, "webhooks", "webhook,result:dropped", "dropped", "" },
    { "webhook_behind", GAUGE, "webhooks", "webhook", "behind", "Messages that wait for the webhook" },
    { "webhook_failing", GAUGE, "webhooks", "webhook", "is_failing", "1; the webhook did not accept the last message" },

    { "window_info", GAUGE, "", "window,next=next_window", "", "1; the window in force and the one that follows" },
    { "window_seconds_until_next", GAUGE, "numbers", "", "window_left_s", "Until the window in force ends and the next one begins" },
    { "window_end_timestamp_seconds", GAUGE, "", "", "window_until", "When the window in force ends" },
    { "margin_seconds", GAUGE, "", "", "margin_s", "From the expected end (p95) of the tightest move to its window's start; negative: late" },
    { "lead_time_seconds", SUMMARY, "leads", "key,direction,quantile:0.5", "p50_s", "Learned time of a transfer, from cordon to GPUs, by lead key" },
    { "lead_time_seconds", SUMMARY, "leads", "key,direction,quantile:0.95", "p95_s", "" },
    { "lead_times_known", GAUGE, "leads", "key,direction", "known", "Transfers from which the key's lead time is learned; while they are few, the configured one counts" },
    { "step_time_seconds", SUMMARY, "lead_steps", "key,direction,step,quantile:0.5", "p50_s", "Learned time of one step of a transfer, by lead key" },
    { "step_time_seconds", SUMMARY, "lead_steps", "key,direction,step,quantile:0.95", "p95_s", "" },

    { "move_step_duration_seconds", HISTOGRAM, "numbers/counts/steps", "provider,machine,step", "", "How long steps of transfers took that went on, since the start or the last reload" },
    { "last_apply_timestamp_seconds", GAUGE, "numbers", "", "applied", "When schedules came into force last" },
    { "apply_success", GAUGE, "numbers", "", "apply_success", "1: the last apply since the start or reload came into force; 0: it was refused" },
    { "forecast_need_gpus", GAUGE, "numbers/forecast/windows", "window,bound:lower", "need/gpus/lower", "GPUs that a window needs by the forecast in force: more than the lower bound on most days, less than the upper one" },
    { "forecast_need_gpus", GAUGE, "numbers/forecast/windows", "window,bound:point", "need/gpus/point", "" },
    { "forecast_need_gpus", GAUGE, "numbers/forecast/windows", "window,bound:upper", "need/gpus/bound", "" },
    { "forecast_coverage_ratio", GAUGE, "numbers/forecast/scores", "queue", "score/coverage", "Past days on which the forecast's upper bound held, by the scorecard" },
    { "forecast_coverage_high_ratio", GAUGE, "numbers/forecast/scores", "queue", "score/coverage_high", "The same, at most: with so few days it may be so high" },
    { "forecast_coverage_promised_ratio", GAUGE, "numbers/forecast/scores", "queue", "score/coverage_promised", "Days on which the bound is meant to hold" },
    { "telemetry_age_seconds", GAUGE, "numbers/sources", "kind,source", "age_s", "Age of what is known of a cluster (its watch) or a pool (its cloud's list)" },
    { "telemetry_limit_seconds", GAUGE, "numbers", "", "fresh_s", "guard.fresh: with what is older nothing is planned" },
    { "orphans", GAUGE, "numbers/orphans", "provider,cluster,kind", "count", "Machines that run, that no Node shows, and that no transfer takes or brings" },
    { "drift", GAUGE, "numbers/drift", "cluster,kind", "count", "Replicas and quotas that another writer has set back, and that are left alone" },

    { "nodes", GAUGE, "pools", "cluster,machine,zone,pool,role:static", "static_nodes", "Nodes of a pool; static ones never move" },
    { "nodes", GAUGE, "pools", "cluster,machine,zone,pool,role:ephemeral", "ephemeral_nodes", "" },
    { "nodes_by_state", GAUGE, "numbers/states", "cluster,machine,zone,pool,state", "count", "Machines of a pool, each in one state: ready, not_ready, draining (from the cordon on) or joining" },
    { "nodes_target", GAUGE, "pools", "cluster,machine,zone,pool", "wanted_nodes", "Nodes that the windows within reach want of a production pool" },
    { "nodes_incoming", GAUGE, "pools", "cluster,machine,zone,pool", "incoming_nodes", "Nodes that transfers bring to the pool" },
    { "nodes_outgoing", GAUGE, "pools", "cluster,machine,zone,pool", "outgoing_nodes", "Nodes that transfers take from the pool" },
    { "pool_age_seconds", GAUGE, "pools", "cluster,pool", "age_s", "Age of the cloud's list of the pool" },
    { "ready_gpus", GAUGE, "clusters", "cluster,role", "ready_gpus", "Allocatable GPUs on Ready nodes" },

    { "reservation_nodes", GAUGE, "reservations", "reservation,machine,zone", "reserved_nodes", "Machines that are paid for" },
    { "reservation_nodes_used", GAUGE, "reservations", "reservation,machine,zone", "nodes", "Machines that exist in its pools" },
    { "reservation_nodes_moving", GAUGE, "reservations", "reservation,machine,zone", "moving_nodes", "Machines that transfers will make in its pools" },

    { "lent_gpu_seconds", COUNTER, "ledger/pools", "cluster,reservation", "lent_gpu_s", "Ready GPUs of research beyond the static ones, times seconds; as the journal has it" },
    { "transit_gpu_seconds", COUNTER, "ledger/pools", "cluster,reservation", "transit_gpu_s", "GPUs of nodes that left the cluster, from cordon to hand-over, times seconds" },
    { "lost_gpu_seconds", COUNTER, "ledger/pools", "cluster,reservation", "lost_gpu_s", "Work of jobs that moves stopped, as estimated when each move began" },
    { "lent_unseen_seconds", COUNTER, "ledger/pools", "cluster,reservation", "unseen_s", "Seconds in which the service did not know what was lent: not counted as lent" },
    { "gpu_hour_price", GAUGE, "ledger/prices", "reservation,currency,basis,date", "price", "Price of a GPU for an hour, as the configuration has it" },
    { "queue_wait_target_seconds", GAUGE, "ledger/queue_targets", "queue,percentile", "wait_target_s", "Wait target of a queue, which that percentile of its requests should meet" },

    { "moves", GAUGE, "transfers", "from,to,step", "", "Transfers under way" },
    { "moves_total", COUNTER_TOO, "numbers/counts/moves", "from,to,result", "count", "Transfers that ended since the start or the last reload: done, undone or returned" },
    { "moves_stuck", GAUGE, "steps", "", "needs_operator", "Transfers under way that need a person" },
    { "notice_violations", COUNTER, "", "", "notice_violations", "Pods that had to leave with less notice than was promised" },
    { "notice_seconds", HISTOGRAM, "numbers/counts/notices", "reason", "", "How long before they were asked to leave pods of research had their node's departure on it, since the start or the last reload" },
    { "evicted_jobs", COUNTER, "numbers/counts/evictions", "cluster,reason", "count", "Jobs, and pods without one, that were asked to leave since the start or the last reload: planned, or for an emergency" },
    { "emergency_evictions", COUNTER, "", "", "emergency_evictions", "Pods that left for an emergency, without notice" },

    { "replicas", GAUGE, "workloads", "workload,cluster", "replicas", "Replicas of a workload's Deployment" },
    { "replicas_target", GAUGE, "workloads", "workload,cluster", "wanted_replicas", "Replicas that the schedule in force wants" },
    { "quota_gpus", GAUGE, "quotas", "quota,cluster", "gpus", "GPUs of a Kueue quota that sluice sets" },
    { "quota_gpus_target", GAUGE, "quotas", "quota,cluster", "wanted_gpus", "GPUs that sluice wants the quota to have" },
    { "freeze", GAUGE, "overrides/freezes", "cluster", "", "1; scheduled moves of the cluster are frozen" },
    { "frozen_nodes", GAUGE, "overrides/frozen_nodes", "cluster", "", "Nodes that people froze: no move takes them" },
    { "reclaims", GAUGE, "overrides/reclaims", "pool", "", "Emergency reclaims in force" },
};
/* clang-format on */

enum metrics_form metrics_form_of(const char *accept)
{
    return accept && strstr(accept, "application/openmetrics-text") ? METRICS_OPEN : METRICS_TEXT;
}

const char *metrics_content_type(enum metrics_form form)
{
    return form == METRICS_OPEN ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                : "text/plain; version=0.0.4; charset=utf-8";
}

/* Both formats escape the same three characters in label values. */
static void add_escaped(struct text *out, const char *chars)
{
    for (; *chars != '\0'; chars++) {
        if (*chars == '\n')
            text_add(out, "\\n");
        else if (*chars == '"' || *chars == '\\')
            text_add(out, "\\%c", *chars);
        else
            text_add_bytes(out, chars, 1);
    }
}

static void add_label(struct text *out, const json_t *row, const char *label)
{
    size_t name = strcspn(label, "=:");
    const char *rest = label[name] == '\0' ? label : label + name + 1;

    text_add(out, "%s%.*s=\"", out->length > 0 ? "," : "", (int)name, label);
    add_escaped(out, label[name] == ':' ? rest : json_text_or(row, rest, ""));
    text_add(out, "\"");
}

/* `cluster="prod-a",pool="prod-a-east"`; the caller frees it. */
static char *print_labels(const json_t *row, const char *labels)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    const char *item;
    size_t length;

    while (text_items_next(&labels, &item, &length)) {
        owned(chars) char *label = text_format("%.*s", (int)length, item);

        add_label(out, row, label);
    }
    return text_take(out);
}

/* false: not known */
static bool read_value(const json_t *row, const char *member, double *ret_value)
{
    const json_t *value = json_at(row, member);
    struct wall_time wall;
    struct error err;

    if (member[0] == '\0')
        *ret_value = 1;
    else if (json_is_number(value))
        *ret_value = json_number_value(value);
    else if (json_is_boolean(value))
        *ret_value = json_is_true(value);
    else if (json_is_string(value) && wall_parse(json_string_value(value), false, &wall, &err) == 0)
        *ret_value = (double)wall.ms / SECOND_MS;
    else
        return false;
    return true;
}

struct sample {
    char *labels;
    double value;
};

/* The samples of one name, in the order of the status. */
struct samples {
    ARRAY(struct sample) list;
    struct map *by_labels; /* -> index + 1, as uintptr_t */
};

static void samples_add(struct samples *samples, const struct family *family, const json_t *row)
{
    owned(chars) char *labels = print_labels(row, family->labels);
    uintptr_t at = (uintptr_t)map_get(samples->by_labels, labels);
    double value = 0;

    if (!read_value(row, family->value, &value))
        return;
    if (at == 0) {
        *array_add(&samples->list) = (struct sample){ mem_copy_chars(labels), 0 };
        at = samples->list.count;
        map_set(samples->by_labels, labels, (void *)at);
    }
    samples->list.items[at - 1].value += value;
}

static void samples_add_all(struct samples *samples, const struct family *family,
                            const json_t *status)
{
    const json_t *rows = family->rows[0] == '\0' ? status : json_at(status, family->rows);
    const json_t *row;
    size_t i;

    if (json_is_object(rows))
        samples_add(samples, family, rows);
    json_array_foreach(rows, i, row)
        samples_add(samples, family, row);
}

static void print_head(struct text *out, const struct family *family, enum metrics_form form)
{
    const char *suffix = family->kind == COUNTER && form == METRICS_TEXT ? "_total" : "";

    text_add(out, "# HELP sluice_%s%s %s\n", family->name, suffix, family->help);
    text_add(out, "# TYPE sluice_%s%s %s\n", family->name, suffix,
             family->kind == COUNTER_TOO && form == METRICS_OPEN ? "unknown"
                                                                 : kind_names[family->kind]);
}

static void print_sample(struct text *out, const struct family *family, const struct sample *sample)
{
    bool has_labels = sample->labels[0] != '\0';

    text_add(out, "sluice_%s%s%s%s%s %.15g\n", family->name,
             family->kind == COUNTER ? "_total" : "", has_labels ? "{" : "", sample->labels,
             has_labels ? "}" : "", sample->value);
}

/* The length of a summary's labels without the quantile, which is the last one. */
static size_t length_of_rest(const struct sample *sample)
{
    const char *quantile = strstr(sample->labels, "quantile=\"");

    return quantile ? (size_t)(quantile - sample->labels) : strlen(sample->labels);
}

/* OpenMetrics wants the quantiles of one summary together. */
static void print_summaries(struct text *out, const struct family *family,
                            const struct samples *samples)
{
    for (size_t i = 0; i < samples->list.count; i++) {
        const struct sample *first = &samples->list.items[i];
        size_t length = length_of_rest(first);
        bool is_printed = false;

        for (size_t k = 0; k < samples->list.count; k++) {
            const struct sample *other = &samples->list.items[k];

            if (length_of_rest(other) != length ||
                strncmp(other->labels, first->labels, length) != 0)
                continue;
            if (k < i)
                is_printed = true;
            if (!is_printed)
                print_sample(out, family, other);
        }
    }
}

static void print_samples(struct text *out, const struct family *family,
                          const struct samples *samples)
{
    if (family->kind == SUMMARY)
        return print_summaries(out, family, samples);
    for (size_t i = 0; i < samples->list.count; i++)
        print_sample(out, family, &samples->list.items[i]);
}

/* A row of counters_describe(): its buckets, the last one for all, their sum and their count. */
static void print_histogram(struct text *out, const struct family *family, const json_t *row)
{
    owned(chars) char *labels = print_labels(row, family->labels);
    const char *comma = labels[0] != '\0' ? "," : "";
    double count = json_number_value(json_object_get(row, "count"));
    const json_t *bucket;
    size_t i;

    json_array_foreach(json_object_get(row, "buckets"), i, bucket)
        text_add(out, "sluice_%s_bucket{%s%sle=\"%.1f\"} %.15g\n", family->name, labels, comma,
                 json_number_value(json_array_get(bucket, 0)),
                 json_number_value(json_array_get(bucket, 1)));
    text_add(out, "sluice_%s_bucket{%s%sle=\"+Inf\"} %.15g\n", family->name, labels, comma, count);
    text_add(out, "sluice_%s_sum{%s} %.15g\n", family->name, labels,
             json_number_value(json_object_get(row, "sum")));
    text_add(out, "sluice_%s_count{%s} %.15g\n", family->name, labels, count);
}

static void print_histograms(struct text *out, const struct family *family, const json_t *status)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_at(status, family->rows), i, row)
        print_histogram(out, family, row);
}

static void samples_clear(struct samples *samples)
{
    for (size_t i = 0; i < samples->list.count; i++)
        mem_free(samples->list.items[i].labels);
    array_clear(&samples->list);
    map_free(samples->by_labels);
}

char *metrics_print(const json_t *status, enum metrics_form form)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    for (size_t i = 0; i < COUNT_OF(families);) {
        const struct family *first = &families[i];
        struct samples samples = { .by_labels = map_new(NULL) };

        for (; i < COUNT_OF(families) && text_equal(families[i].name, first->name); i++)
            if (families[i].kind != HISTOGRAM)
                samples_add_all(&samples, &families[i], status);
        print_head(out, first, form);
        print_samples(out, first, &samples);
        if (first->kind == HISTOGRAM)
            print_histograms(out, first, status);
        samples_clear(&samples);
    }
    if (form == METRICS_OPEN)
        text_add(out, "# EOF\n");
    return text_take(out);
}

json_t *metrics_steps(const json_t *leads)
{
    json_t *rows = json_array();
    const json_t *lead;
    size_t i;

    json_array_foreach(leads, i, lead) {
        const json_t *step;
        size_t k;

        json_array_foreach(json_object_get(lead, "steps"), k, step) {
            json_t *row = json_deep_copy(step);

            json_object_set(row, "key", json_object_get(lead, "key"));
            json_object_set(row, "direction", json_object_get(lead, "direction"));
            json_array_append_new(rows, row);
        }
    }
    return rows;
}

/* The names of the labels, as people write them: "cluster, pool". */
static void print_label_names(struct text *out, const char *labels)
{
    const char *item;
    size_t length;

    for (bool is_first = true; text_items_next(&labels, &item, &length); is_first = false)
        text_add(out, "%s%.*s", is_first ? "" : ", ", (int)strcspn(item, ",=:"), item);
}

char *metrics_page(void)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    text_add(out, "| metric | type | labels | what it says |\n|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        const struct family *family = &families[i];

        if (family->help[0] == '\0')
            continue;
        text_add(out, "| `sluice_%s%s` | %s | ", family->name,
                 family->kind == COUNTER ? "_total" : "", kind_names[family->kind]);
        print_label_names(out, family->labels);
        text_add(out, " | %s |\n", family->help);
    }
    return text_take(out);
}
