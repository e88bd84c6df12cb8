/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice.yaml: a whole good file is read as it says, and each way of getting one key wrong is
 * answered with file, line and key.  The cases are made from the settings tables, so that a new key
 * is tested the day it is added; what the messages say is in tests/golden/config/errors.txt.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/config/config.h"
#include "broker/config/config_tables.h"
#include "clusters/kube_cluster.h"
#include "providers/gcp/gcp.h"
#include "tests/broker/config_edits.h"
#include "tests/support/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOLDEN SLUICE_SOURCE "/tests/golden/config/"

enum { BROKEN_SIZE = 10 << 20, TOGETHER = 3 /* edits of a case */ };

static char folder[64];

/* Compares with the golden file, or writes it when that is asked for. */
static void expect_golden(const char *name, const struct text *have)
{
    owned(chars) char *path = text_format("%s%s", GOLDEN, name);

    assert_false(have->is_cut);
    if (getenv("SLUICE_ACCEPT_GOLDENS")) {
        write_whole(path, have->chars, have->length);
        return;
    }
    owned(text) struct text *want = read_whole(path);

    assert_string_equal(have->chars, want->chars);
}

static struct text *read_good(void)
{
    return read_whole(GOLDEN "good/sluice.yaml");
}

static struct config *config_of(const struct text *file)
{
    struct error err = { 0 };

    write_whole("sluice.yaml", file->chars, file->length);
    struct config *config = config_read("sluice.yaml", &err);

    if (!config)
        fail_msg("%s", err.text);
    return config;
}

/* Where in the good file one entry of each table stands. */
static const char *const table_places[CONFIG_TABLE_COUNT] = {
    [CONFIG_TOP] = "",
    [CONFIG_DRAIN] = "drain.",
    [CONFIG_GUARD] = "guard.",
    [CONFIG_LEAD] = "lead.",
    [CONFIG_JOIN] = "join.",
    [CONFIG_TRACES] = "traces.",
    [CONFIG_LISTEN] = "listen.",
    [CONFIG_ACCESS] = "access.operator.",
    [CONFIG_TOKENS] = "tokens.",
    [CONFIG_VICTIMS] = "victims.",
    [CONFIG_HEADROOM] = "headroom.",
    [CONFIG_CLUSTERS] = "clusters.prod-a.",
    [CONFIG_RESERVATIONS] = "reservations.main.",
    [CONFIG_PROVIDERS] = "providers.google.",
    [CONFIG_POOLS] = "pools.prod-a-main.",
    [CONFIG_SOURCES] = "sources.metrics.",
    [CONFIG_QUEUES] = "queues.chat-large.",
    [CONFIG_ENGINES] = "queues.answers.engine.",
    [CONFIG_WORKLOADS] = "workloads.chat-large-8x.",
    [CONFIG_SHARES] = "workloads.chat-large-8x.clusters.prod-a.",
    [CONFIG_QUOTAS] = "quotas.shared.",
};

static void refuse_setting(struct text *said, const struct text *good, const char *place,
                           const struct setting *setting)
{
    static const char *const wrong[] = {
        [SETTING_TEXT] = "[1]",   [SETTING_INT] = "many",    [SETTING_DOUBLE] = "many",
        [SETTING_BOOL] = "yes",   [SETTING_DURATION] = "10", [SETTING_NODE] = "7",
        [SETTING_SECONDS] = "10", [SETTING_PATH] = "[1]",    [SETTING_URL] = "[1]",
    };
    owned(chars) char *path = text_format("%s%s", place, setting->key);
    owned(chars) char *above = text_format("%" PRId64, setting->max < 9999999 ? (int64_t)9999999
                                                                              : setting->max + 1);

    expect_edit_refused(said, good, &(struct edit){ path, wrong[setting->type] }, 1);
    if (!setting->otherwise)
        expect_edit_refused(said, good, &(struct edit){ path, NULL }, 1);
    if (setting->type == SETTING_TEXT || setting->type == SETTING_PATH ||
        setting->type == SETTING_URL)
        expect_edit_refused(said, good, &(struct edit){ path, "\"\"" }, 1);
    if (setting->type == SETTING_INT || setting->type == SETTING_DOUBLE) {
        expect_edit_refused(said, good, &(struct edit){ path, "-1" }, 1);
        expect_edit_refused(said, good, &(struct edit){ path, above }, 1);
    }
    if (setting->type == SETTING_SECONDS) {
        expect_edit_refused(said, good, &(struct edit){ path, "-5us" }, 1);
        expect_edit_refused(said, good, &(struct edit){ path, "1000d" }, 1);
    }
    if (setting->type == SETTING_DURATION) {
        expect_edit_refused(said, good, &(struct edit){ path, "-5m" }, 1);
        expect_edit_refused(said, good, &(struct edit){ path, "1000d" }, 1);
    }
}

/* Where in the good file an entry of each kind stands. */
static const struct {
    enum config_table_id table;
    const char *kind;
    const char *place;
} kind_places[] = {
    { CONFIG_CLUSTERS, "kubernetes", "clusters.prod-a." },
    { CONFIG_CLUSTERS, "slurm", "clusters.lab." },
    { CONFIG_PROVIDERS, "gcp", "providers.google." },
    { CONFIG_PROVIDERS, "capi", "providers.management." },
    { CONFIG_POOLS, "gcp", "pools.prod-a-main." },
    { CONFIG_PROVIDERS, "azure", "providers.azure." },
    { CONFIG_POOLS, "azure", "pools.research-b-azure." },
    { CONFIG_POOLS, "capi", "pools.research-b-second." },
    { CONFIG_PROVIDERS, "aws", "providers.amazon." },
    { CONFIG_POOLS, "aws", "pools.research-b-amazon." },
    { CONFIG_PROVIDERS, "oci", "providers.oracle." },
    { CONFIG_POOLS, "oci", "pools.research-b-oracle." },
    { CONFIG_PROVIDERS, "ssh", "providers.rack." },
    { CONFIG_POOLS, "ssh", "pools.research-b-rack." },
    { CONFIG_SOURCES, "prometheus", "sources.metrics." },
    { CONFIG_SOURCES, "cloudwatch", "sources.aws." },
    { CONFIG_SOURCES, "monitoring", "sources.google." },
};

static const char *place_of_kind(enum config_table_id table, const char *kind)
{
    for (size_t i = 0; i < COUNT_OF(kind_places); i++)
        if (kind_places[i].table == table && text_equal(kind_places[i].kind, kind))
            return kind_places[i].place;
    fail_msg("the good file has no entry of kind %s", kind);
    return NULL;
}

static void each_key_of_a_kind(struct text *said, const struct text *good,
                               enum config_table_id table)
{
    const struct settings_kind *kind;

    for (size_t at = 0; (kind = config_tables[table].kinds(at)); at++)
        for (size_t i = 0; i < kind->count; i++)
            refuse_setting(said, good, place_of_kind(table, kind->name), &kind->settings[i]);
}

static void each_key_alone(struct text *said, const struct text *good)
{
    for (size_t i = 0; i < CONFIG_TABLE_COUNT; i++) {
        const struct config_table *table = &config_tables[i];
        owned(chars) char *unknown = text_format("%sunheard_of", table_places[i]);

        for (size_t j = 0; j < table->count; j++)
            refuse_setting(said, good, table_places[i], &table->settings[j]);
        if (table->kinds)
            each_key_of_a_kind(said, good, (enum config_table_id)i);
        expect_edit_refused(said, good, &(struct edit){ unknown, "1" }, 1);
    }
}

static const struct edit keys_of_sources[][TOGETHER] = {
    { { "sources.metrics.kind", "graphite" } },
    { { "sources.metrics.endpoint", NULL } },
    { { "sources.metrics.endpoint", "metrics.example.com" } },
    { { "sources.metrics.region", "us-east-1" } },
    { { "sources.metrics.missing", "nothing" } },
    { { "sources.aws.region", NULL } },
    { { "sources.aws.token", "t" } },
    { { "sources.aws.role", NULL } },
    { { "sources.metrics.role", "r" } },
    { { "sources.google.project", NULL } },
    { { "sources.google.query", "up" } },
    { { "sources.metrics.query", "up" } },
    { { "sources.aws.region", "us east" } },
    { { "sources", "{}" } },
    { { "queues.chat-large.source", NULL } },
    { { "queues.chat-large.source", "other" } },
    { { "queues.chat-large.arrivals", "{}" } },
    { { "queues.chat-large.arrivals_low", "b" } },
    { { "queues.speech.arrivals_low", NULL } },
};

static const struct edit keys_of_services[][TOGETHER] = {
    { { "queues.speech.service", "0s" } },
    { { "queues.speech.service", NULL } },
    { { "queues.speech.service_law", "pareto" } },
    { { "queues.chat-large.service_law", "constant" } },
    { { "queues.chat-large.service_law", "exponential" },
      { "queues.chat-large.service_cv", "0.5" } },
    { { "queues.speech.service_file", "times.csv" } },
    { { "queues.speech.service_histogram", "x" } },
    { { "queues.speech.service_max", "10s" } },
};

static const struct edit keys_of_engines[][TOGETHER] = {
    { { "queues.answers.service", "6s" } },
    { { "queues.answers.service_cv", "1" } },
    { { "queues.answers.service_file", "times.csv" } },
    { { "queues.answers.engine.slots", "4097" } },
    { { "queues.answers.engine.iteration", "0s" },
      { "queues.answers.engine.iteration_per_request", "0s" } },
    { { "queues.answers.engine.tokens_out", "0.5" } },
    { { "queues.answers.engine.tokens_out", NULL } },
    { { "queues.answers.engine.tokens_law", "pareto" } },
    { { "queues.answers.engine.tokens_law", "constant" },
      { "queues.answers.engine.tokens_cv", "1" } },
    { { "queues.answers.engine.tokens_law", "exponential" },
      { "queues.answers.engine.tokens_cv", "0.5" } },
    { { "queues.answers.engine.tokens_file", "tokens.csv" } },
    { { "queues.answers.engine.tokens_in", NULL } },
    { { "queues.answers.engine.tokens_in", NULL },
      { "queues.answers.engine.prefill_per_token", NULL } },
    { { "queues.answers.engine.router", "fastest" } },
    { { "queues.answers.wait_target", "50ms" } },
    { { "queues.answers.ttft_target", "50ms" } },
    { { "queues.answers.itl_target", "20ms" } },
    { { "queues.answers.engine.tokens_in", NULL },
      { "queues.answers.engine.tokens_out", NULL },
      { "queues.answers.wait_target", "20ms" } },
    { { "queues.answers.engine.tokens_in", NULL },
      { "queues.answers.engine.tokens_out", NULL },
      { "queues.answers.ttft_target", "20ms" } },
    { { "queues.answers.engine.tokens_in", NULL },
      { "queues.answers.engine.tokens_out", NULL },
      { "queues.answers.itl_target", "20ms" } },
    { { "queues.answers.itl_target", NULL } },
    { { "queues.answers.itl_percentile", "100" } },
    { { "queues.titles.service", NULL } },
    { { "queues.titles.itl_target", "20ms" } },
    { { "queues.titles.engine", "{slots: 64, tokens_out: 200}" } },
    { { "queues.speech.ttft_target", "20s" } },
};

static const struct edit keys_of_the_calendar[][TOGETHER] = {
    { { "holidays.2026-02-30", "sunday" } },
    { { "holidays.christmas", "sunday" } },
    { { "holidays.2026-12-26", "holiday" } },
    { { "holidays.2026-12-26", "[sunday]" } },
    { { "events.launch.multiplier", NULL } },
    { { "events.launch.multiplier", "0" } },
    { { "events.launch.multiplier", "1001" } },
    { { "events.launch.to", "2026-12-01 09:00" } },
    { { "events.launch.to", "tomorrow" } },
    { { "events.launch.to", "2026-12-02T10:00:30Z" } },
    { { "events.launch.queues", "[chat]" } },
    { { "events.launch.queues", "[]" } },
    { { "events.launch.queues", "chat-large" } },
    { { "events.launch.days", "mon" } },
    { { "events.Launch", "{from: 2026-12-05 09:00, to: 2026-12-05 10:00, multiplier: 2}" } },
    { { "events.weekday-day", "{from: 2026-12-05 09:00, to: 2026-12-05 10:00, multiplier: 2}" } },
    { { "events.other", "{from: 2026-12-03 17:59, to: 2026-12-05 10:00, multiplier: 2}" } },
};

static const struct edit keys_of_what_is_in_clusters[][TOGETHER] = {
    { { "quotas.shared.cluster", "research-x" } },
    { { "quotas.shared.pool", "research" } },
    { { "quotas.shared.pool", "prod-a-main" } },
    { { "quotas.again", "{cluster: research-a, cluster_queue: research-shared, flavor: "
                        "ephemeral}" } },
    { { "workloads.chat-large-8x.kind", "statefulset" } },
    { { "workloads.chat-large-8x.keeps", "pods" } },
    { { "workloads.chat-large-8x.autoscaler", "web" } },
    { { "join.stable", "12m" } },
    { { "join.startup_taints", "a/b/c" } },
    { { "join.daemons", "driver" } },
    { { "join.daemons", "gpu/driver, kube-system/" } },
};

static const struct edit keys_together[][TOGETHER] = {
    { { "clusters.prod-a.kind", "nomad" } },
    { { "clusters.prod-a.role", "staging" } },
    { { "clusters.prod-a.plugin", "aws" } },
    { { "clusters.research-a.slurm", "lap" } },
    { { "clusters.research-a.slurm", "research-a" } },
    { { "clusters.lab.slurm", "lab" } },
    { { "pools.research-b-second.cluster", "lab" }, { "clusters.lab.machine", NULL } },
    { { "pools.prod-a-main.cluster", "prod-x" } },
    { { "pools.prod-a-main.reservation", "third" } },
    { { "pools.prod-a-main.provider", "other" } },
    { { "workloads.chat-large-8x.queue", "chat" } },
    { { "workloads.chat-large-8x.clusters.prod-x", "{}" } },
    { { "workloads.chat-large-8x.clusters.research-a", "{}" } },
    { { "clusters.prod-c", "{role: production, kubeconfig: c.yaml}" },
      { "workloads.chat-large-8x.clusters.prod-c", "{}" } },
    { { "workloads.chat-large-8x.clusters", "{}" } },
    { { "workloads.chat-large-8x.gpus", "3" } },
    { { "workloads.chat-large-8x.gpus", "16" } },
    { { "pools.prod-b-main.group", "gke-prod-a-main" } },
    { { "pools.prod-b-main.cluster", "prod-a" } },
    { { "pools.research-b-second.machine_pool", "b" } },
    { { "pools.research-b-second.machine_deployment", NULL } },
    { { "providers.management.plugin", "aws" } },
    { { "pools.prod-b-main.static_nodes", "57" } },
    { { "pools.prod-a-main.node_max", "7" } },
    { { "reservations.second.zone", "us-central1-c" } },
    { { "ephemeral_label", "ephemeral" } },
    { { "ephemeral_label", "=true" } },
    { { "ephemeral_label", "a b=true" } },
    { { "ephemeral_label", "a=b=c" } },
    { { "poll", "3m" } },
    { { "lead.prior_p95", "29m" } },
    { { "lead", "{prior_p50: 2h}" } },
    { { "workloads.chat-large-8x.headroom", "{rack: true}" } },
    { { "workloads.chat-large-8x.headroom.zone", "most" } },
    { { "queues.chat-large.percentile", "100" } },
    { { "queues.chat-large.scale_up", "0" } },
    { { "time_zone", "Mars/Olympus" } },
    { { "time_zone", "../../etc/passwd" } },
    { { "providers.google.kind", "mainframe" } },
    { { "providers.google.endpoint", "ftp://example.com" } },
    { { "providers.google.metadata", "metadata" } },
    { { "clusters", "{}" } },
    { { "pools", "{}" } },
    { { "clusters.prod-a", "" } },
    { { "clusters.prod/a", "{}" } },
    { { "clusters.-prod", "{}" } },
    { { "clusters.a12345678901234567890123456789012345678901234567890123456789012345", "{}" } },
    { { "windows", "{}" } },
    { { "windows.weekday-day", NULL } },
    { { "windows.weekend-night", NULL } },
    { { "windows.weekday-day",
        "{days: mon-fri, from: \"08:00\", to: \"20:00\", within: weekday-peak}" } },
    { { "windows.weekday-day", "{days: mon-fri, from: \"08:00\", to: \"21:00\"}" } },
    { { "windows.weekday-peak",
        "{days: mon-fri, from: \"07:00\", to: \"09:00\", within: weekday-day}" } },
    { { "windows.weekday-day", "{days: mon-fri, from: 8, to: \"20:00\"}" } },
    { { "windows.weekday-day", "{days: weekdays, from: \"08:00\", to: \"20:00\"}" } },
    { { "windows.weekday-day", "{from: \"08:00\", to: \"20:00\"}" } },
    { { "windows.weekday-day", "{days: mon, from: \"08:00\", till: \"20:00\"}" } },
    { { "pools.prod-a-main.static_node", "1" } },
    { { "queues.unserved", "{wait_target: 1s, service: 1s}" } },
    { { "workloads.Chat", "{queue: chat-large, gpus: 8, clusters: {prod-a: {}}}" } },
    { { "workloads.chat-large-8x.namespace", "Chat" } },
    { { "socket",
        "a/very/long/path/that/no/socket/can/have/because/the/kernel/keeps/only/one/hundred/"
        "and/eight/characters/sluice.sock" } },
};

static void whole_files(struct text *said, const struct text *good)
{
    static const char *const files[][2] = {
        { "an empty file", "" },
        { "comments alone", "# nothing\n" },
        { "a list", "- 1\n" },
        { "a word", "sluice\n" },
        { "a brace that stays open", "clusters: {a: 1\n" },
        { "a tab", "clusters:\n\ta: 1\n" },
        { "a key twice", "poll: 1s\npoll: 2s\n" },
        { "an alias", "poll: &a 1s\nsocket: *a\n" },
        { "two documents", "poll: 1s\n---\npoll: 1s\n" },
        { "bytes that are no text", "poll: \xff\xfe\n" },
    };
    char *broken = mem_new(BROKEN_SIZE);

    for (size_t i = 0; i < COUNT_OF(files); i++)
        expect_refusal(said, files[i][0], files[i][1], strlen(files[i][1]));
    memset(broken, '[', BROKEN_SIZE);
    expect_refusal(said, "10 MB of [", broken, BROKEN_SIZE);
    expect_refusal(said, "1000 of [", broken, 1000);
    mem_free(broken);
    expect_refusal(said, "half of the good file", good->chars, good->length / 2);
}

static void refuse_each(struct text *said, const struct text *good,
                        const struct edit (*cases)[TOGETHER], size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_edit_refused(said, good, cases[i], TOGETHER);
}

static void every_mistake_is_answered_with_file_line_and_key(void **state)
{
    owned(text) struct text *good = read_good();
    owned(text) struct text *said = text_new(FILE_SIZE_LIMIT);

    (void)state;
    each_key_alone(said, good);
    refuse_each(said, good, keys_together, COUNT_OF(keys_together));
    refuse_each(said, good, keys_of_what_is_in_clusters, COUNT_OF(keys_of_what_is_in_clusters));
    refuse_each(said, good, keys_of_sources, COUNT_OF(keys_of_sources));
    refuse_each(said, good, keys_of_services, COUNT_OF(keys_of_services));
    refuse_each(said, good, keys_of_engines, COUNT_OF(keys_of_engines));
    refuse_each(said, good, keys_of_the_calendar, COUNT_OF(keys_of_the_calendar));
    whole_files(said, good);
    expect_golden("errors.txt", said);
}

static void the_good_file_is_read_as_it_says(void **state)
{
    owned(text) struct text *good = read_good();
    owned(config) struct config *config = config_of(good);

    (void)state;
    assert_int_equal(config->cluster_count, 5);
    assert_int_equal(config->reservation_count, 6);
    assert_int_equal(config->pool_count, 12);
    assert_int_equal(config->queue_count, 8);
    assert_int_equal(config->workload_count, 8);
    assert_int_equal(config->windows->weekly_count, 5);
    assert_int_equal(config->windows->count, 6);
    assert_int_equal(config->windows->holiday_count, 2);
    assert_true(window_multiplier(&config->windows->items[5], "chat-large") == 1.6);
    assert_true(window_multiplier(&config->windows->items[5], "speech") == 1);
    assert_int_equal(config->windows->items[5].event->from.ms, 1796133600000); /* 09:00 EST */
    assert_int_equal(config->poll_ms, 15 * SECOND_MS);
    assert_int_equal(config->drain.notice_ms, 30 * MINUTE_MS);
    assert_int_equal(config->guard.in_flight_per_cluster, 50);
    assert_int_equal(config->lead.prior_p95_ms, 60 * MINUTE_MS);
    assert_int_equal(config->join.deadline_ms, 12 * MINUTE_MS);
    assert_string_equal(config->join.daemons, "gpu-operator/driver, kube-system/device-plugin");

    const struct config_cluster *research = config_cluster(config, "research-a");
    const struct config_pool *pool = config_pool(config, "prod-a-second");

    assert_true(research->role == ROLE_RESEARCH && research->weight == 2);
    assert_ptr_equal(research->kind, &cluster_kubernetes);
    assert_null(((const struct kube_cluster_settings *)research->own.settings)->context);
    assert_ptr_equal(pool->cluster, config_cluster(config, "prod-a"));
    assert_ptr_equal(pool->reservation, &config->reservations[1]);
    assert_ptr_equal(pool->provider, &config->providers[0]);
    assert_true(pool->static_nodes == 2 && pool->node_max == 0);
    assert_true(!config_pool(config, "prod-x") && !config_cluster(config, "prod-x"));

    const struct config_workload *workload = &config->workloads[0];

    assert_string_equal(workload->name, "chat-large-8x");
    assert_string_equal(workload->namespace, "chat");
    assert_string_equal(workload->queue->name, "chat-large");
    assert_true(workload->queue->scale_up > 1.09 && workload->queue->scale_up < 1.11);
    assert_int_equal(workload->share_count, 2);
    assert_true(workload->headroom.node && workload->headroom.zone);
    assert_true(config->workloads[1].headroom.node && !config->workloads[1].headroom.zone);
    assert_string_equal(workload->shares[0].cluster->name, "prod-a");
    assert_int_equal(workload->shares[0].weight, 3);
    assert_int_equal(workload->shares[1].replica_min, 1);
}

static void zones_are_ranked_inside_machine_and_region(void **state)
{
    owned(text) struct text *good = read_good();
    owned(text) struct text *elsewhere = edited(
        good, &(struct edit){ "reservations.second.region", "europe-west4" });
    owned(config) struct config *same = config_of(good);
    owned(config) struct config *other = config_of(elsewhere);

    (void)state;
    assert_string_equal(same->reservations[0].zone, "us-central1-c");
    assert_int_equal(same->reservations[0].zone_index, 1);
    assert_int_equal(same->reservations[1].zone_index, 0);
    assert_int_equal(other->reservations[0].zone_index, 0);
    assert_int_equal(other->reservations[1].zone_index, 0);
}

static void expect_path(const char *have, const char *start, const char *end)
{
    owned(chars) char *want = text_format("%s%s", start, end);

    assert_string_equal(have, want);
}

static void paths_are_absolute_against_the_folder_of_the_file(void **state)
{
    owned(text) struct text *good = read_good();
    owned(text) struct text *memory = edited(good, &(struct edit){ "journal", "\":memory:\"" });
    owned(text) struct text *home = edited(
        memory, &(struct edit){ "clusters.prod-b.kubeconfig", "~/.kube/config" });
    owned(text) struct text *pod = edited(
        good, &(struct edit){ "clusters.prod-b.kubeconfig", "in-cluster" });
    const char *key = "";

    (void)state;
    setenv("HOME", "/home/someone", 1);
    owned(config) struct config *config = config_of(good);
    owned(config) struct config *changed = config_of(home);
    owned(config) struct config *of_pod = config_of(pod);

    expect_path(config->schedules, folder, "/schedules");
    expect_path(config->journal, folder, "/state/sluice.db");
    expect_path(config->socket, folder, "/state/sluice.sock");
    expect_path(config_cluster_access(&config->clusters[0], &key), folder, "/kube/prod-a.yaml");
    expect_path(config_cluster_access(&config->clusters[3], &key), "/etc/sluice",
                "/research-b.yaml");
    assert_string_equal(key, "kubeconfig");
    expect_path(config_provider_file(&config->providers[0]), folder, "/keys/broker.json");
    assert_string_equal(changed->journal, ":memory:");
    assert_string_equal(config_cluster_access(&changed->clusters[1], &key),
                        "/home/someone/.kube/config");
    assert_string_equal(config_cluster_access(&of_pod->clusters[1], &key), "in-cluster");
}

static void what_is_left_out_has_its_default(void **state)
{
    static const struct edit gone[] = {
        { "windows", NULL },
        { "holidays", NULL },
        { "events", NULL },
        { "schedules", NULL },
        { "journal", NULL },
        { "ephemeral_label", NULL },
        { "poll", NULL },
        { "drain", NULL },
        { "guard", NULL },
        { "lead", "{}" },
        { "join", NULL },
        { "headroom", NULL },
        { "providers.google.endpoint", NULL },
        { "queues.chat-large.percentile", NULL },
        { "workloads.chat-large-8x.namespace", NULL },
    };
    struct text *file = read_good();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(gone); i++) {
        struct text *next = edited(file, &gone[i]);

        text_free(file);
        file = next;
    }
    owned(config) struct config *config = config_of(file);

    text_free(file);
    assert_int_equal(config->windows->count, 5);
    assert_non_null(window_find(config->windows, "weekday-peak"));
    expect_path(config->schedules, folder, "/schedules");
    expect_path(config->journal, folder, "/sluice.db");
    assert_string_equal(config->ephemeral_label, "sluice.dev/ephemeral=true");
    assert_int_equal(config->poll_ms, 15 * SECOND_MS);
    assert_int_equal(config->drain.deadline_ms, 10 * MINUTE_MS);
    assert_int_equal(config->drain.settle_ms, 5 * SECOND_MS);
    assert_int_equal(config->guard.attempts, 5);
    assert_int_equal(config->lead.prior_p50_ms, 30 * MINUTE_MS);
    assert_int_equal(config->join.deadline_ms, 45 * MINUTE_MS);
    assert_int_equal(config->guard.breaker, 3);
    assert_false(config->guard.canary);
    assert_false(config->workloads[0].headroom.node || config->headroom.zone);
    assert_true(config->workloads[0].headroom.zone); /* its own */
    assert_null(((const struct gcp_account *)config->providers[0].own.settings)->endpoint);
    assert_true(config->queues[0].percentile > 97.9);
    assert_string_equal(config->workloads[0].namespace, "default");
}

static void expect_found(const char *option, const char *want)
{
    struct error err = { 0 };
    owned(chars) char *path = config_find(option, &err);
    owned(chars) char *absolute = text_format("%s/%s", folder, want ? want : "");

    if (!want) {
        assert_null(path);
        assert_int_equal(err.kind, ERROR_NOT_FOUND);
    } else if (!path) {
        fail_msg("%s", err.text);
    } else {
        assert_string_equal(path, absolute);
    }
}

static void touch(const char *path)
{
    write_whole(path, "", 0);
}

static void the_file_is_looked_for_in_the_stated_order(void **state)
{
    owned(chars) char *xdg = text_format("%s/xdg", folder);
    owned(chars) char *said = text_format("%s/said.yaml", folder);

    (void)state;
    unsetenv("SLUICE_CONFIG");
    setenv("XDG_CONFIG_HOME", xdg, 1);
    assert_int_equal(mkdir("tree", 0755) | mkdir("tree/below", 0755), 0);
    assert_int_equal(mkdir("xdg", 0755) | mkdir("xdg/sluice", 0755), 0);
    touch("said.yaml");
    touch("sluice.yaml");
    assert_int_equal(chdir("tree/below"), 0);
    expect_found(NULL, NULL); /* what stands above is another user's */
    touch("../../xdg/sluice/config.yaml");
    expect_found(NULL, "xdg/sluice/config.yaml");
    touch("../.git");
    expect_found(NULL, "xdg/sluice/config.yaml"); /* not above the checkout */
    touch("../sluice.yaml");
    expect_found(NULL, "tree/sluice.yaml");
    touch("sluice.yaml");
    expect_found(NULL, "tree/below/sluice.yaml");
    setenv("SLUICE_CONFIG", said, 1);
    expect_found(NULL, "said.yaml");
    setenv("SLUICE_CONFIG", "/nowhere/sluice.yaml", 1);
    expect_found(NULL, NULL); /* what was asked for by name is not replaced by another */
    expect_found(said, "said.yaml");
    expect_found("/nowhere/sluice.yaml", NULL);
    unsetenv("SLUICE_CONFIG");
    assert_int_equal(chdir(folder), 0);
}

static void the_documentation_is_that_of_the_tables(void **state)
{
    owned(text) struct text *document = text_new(FILE_SIZE_LIMIT);

    (void)state;
    config_document(document);
    expect_golden("settings.md", document);
}

static void a_file_that_is_not_there_is_not_found(void **state)
{
    struct error err = { 0 };

    (void)state;
    assert_null(config_read("nowhere/sluice.yaml", &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "nowhere/sluice.yaml"));
}

static int make_folder(void **state)
{
    (void)state;
    text_copy(folder, sizeof folder, "/tmp/sluice-config-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {
        "tree/below/sluice.yaml",
        "tree/below",
        "tree/sluice.yaml",
        "tree/.git",
        "tree",
        "xdg/sluice/config.yaml",
        "xdg/sluice",
        "xdg",
        "said.yaml",
        "sluice.yaml",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        remove(names[i]);
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_good_file_is_read_as_it_says),
        cmocka_unit_test(zones_are_ranked_inside_machine_and_region),
        cmocka_unit_test(paths_are_absolute_against_the_folder_of_the_file),
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(every_mistake_is_answered_with_file_line_and_key),
        cmocka_unit_test(a_file_that_is_not_there_is_not_found),
        cmocka_unit_test(the_file_is_looked_for_in_the_stated_order),
        cmocka_unit_test(the_documentation_is_that_of_the_tables),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
