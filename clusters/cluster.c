/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cluster: its session, its snapshot and the watches that feed it.
 */
#include "base/log.h"
#include "base/text.h"
#include "clusters/cluster_session.h"
#include "clusters/kube/kube_config.h"
#include "clusters/kube/kube_error.h"
#include "clusters/kube/served.h"
#include "clusters/kube_kinds.h"
#include "clusters/kube_verbs.h"

enum {
    DISCOVERY_RETRY_MS = 30 * SECOND_MS,
    ABSENCE_MS = 15 * MINUTE_MS,
    CLOCK_LIMIT_MS = 10 * SECOND_MS
};

const char *const cluster_kinds[] = { "kubernetes", NULL };

struct cluster {
    struct world *world;
    char *name;
    struct kube_session *session;
    struct served *served;
    struct snapshot snapshot;
    struct kube_share share;
    struct kube_watch *nodes;
    struct kube_watch *pods;
    struct kube_watch *budgets; /* NULL: it is not known which version the server has */
    struct kube_watch *slices;  /* NULL: it is not known whether the server has them */
    struct kube_watch *claims;
    struct timer *discovery_timer;
    int discovery_failures;
    struct timer *devices_timer;
    int devices_failures;
    const char *policy_version;
    struct timer *news_timer; /* many changes of one turn are one piece of news */
    cluster_news_fn news;
    void *news_context;
};

static void on_changed(void *context)
{
    struct cluster *cluster = context;
    cluster->snapshot.ahead_ms = kube_ahead_ms(cluster->session);
    cluster->snapshot.budgets_are_known = cluster->budgets && kube_watch_is_known(cluster->budgets);
    cluster->snapshot.is_known = kube_watch_is_known(cluster->nodes) &&
                                 kube_watch_is_known(cluster->pods);
    timer_set_sooner(cluster->news_timer, 0);
}

static void on_news(void *context)
{
    struct cluster *cluster = context;
    cluster->news(cluster->news_context);
}

static struct kube_watch *watch_budgets(struct cluster *cluster, const struct kube_kind *kind)
{
    struct snapshot *snapshot = &cluster->snapshot;
    struct kube_store store = { &snapshot->budgets,
                                snapshot->unreadable,
                                &snapshot->budgets_seen_ms,
                                &snapshot->budgets_by_namespace,
                                snapshot->texts,
                                &cluster->share };

    return kube_watch_new(cluster->session, kind, &store, on_changed, cluster);
}

static void on_policy(void *context, const char *version, const struct error *err)
{
    struct cluster *cluster = context;
    bool is_new = text_equal(version, "v1");

    if (err) {
        if (cluster->discovery_failures++ == 0)
            log_warn("budgets_unknown", FIELD_TEXT("cluster", cluster->name),
                     FIELD_TEXT("text", err->text));
        timer_set(cluster->discovery_timer, err->retry_after_ms > DISCOVERY_RETRY_MS
                                                ? err->retry_after_ms
                                                : DISCOVERY_RETRY_MS);
        return;
    }
    cluster->policy_version = is_new ? "policy/v1" : "policy/v1beta1";
    cluster->budgets = watch_budgets(cluster, is_new ? &kube_budgets : &kube_old_budgets);
    kube_watch_start(cluster->budgets);
}

static void discover(void *context)
{
    struct cluster *cluster = context;

    served_ask(cluster->served, "policy", on_policy, cluster);
}

static struct kube_watch *watch_devices(struct cluster *cluster, const struct kube_kind *kind,
                                        struct map **objects, int64_t *seen_ms,
                                        struct index **index)
{
    struct snapshot *snapshot = &cluster->snapshot;
    struct kube_store store = { objects, snapshot->unreadable, seen_ms,
                                index,   snapshot->texts,      &cluster->share };
    struct kube_watch *watch = kube_watch_new(cluster->session, kind, &store, on_changed, cluster);

    kube_watch_start(watch);
    return watch;
}

/* A server without the API is asked again, for it may be upgraded. */
static void on_resource(void *context, const char *version, const struct error *err)
{
    struct cluster *cluster = context;
    struct snapshot *snapshot = &cluster->snapshot;

    if (err && err->cause == &kube_cause_no_group) {
        timer_set(cluster->devices_timer, ABSENCE_MS);
        return;
    }
    if (err) {
        if (cluster->devices_failures++ == 0)
            log_warn("devices_unknown", FIELD_TEXT("cluster", cluster->name),
                     FIELD_TEXT("text", err->text));
        timer_set(cluster->devices_timer, err->retry_after_ms > DISCOVERY_RETRY_MS
                                              ? err->retry_after_ms
                                              : DISCOVERY_RETRY_MS);
        return;
    }
    cluster->slices = watch_devices(cluster, kube_slices_of(version), &snapshot->slices,
                                    &snapshot->slices_seen_ms, &snapshot->slices_by_node);
    cluster->claims = watch_devices(cluster, kube_claims_of(version), &snapshot->claims,
                                    &snapshot->claims_seen_ms, &snapshot->claims_by_key);
}

static void discover_devices(void *context)
{
    struct cluster *cluster = context;

    served_ask(cluster->served, "resource.k8s.io", on_resource, cluster);
}

bool cluster_has_file(const char *kubeconfig)
{
    return !text_equal(kubeconfig, KUBE_CONFIG_IN_CLUSTER);
}

struct cluster *cluster_open(struct world *world, const struct cluster_settings *settings,
                             struct error *err)
{
    struct kube_config *config = kube_config_open(settings->kubeconfig, settings->context,
                                                  settings->plugin, err);
    if (!config) {
        error_context(err, "cluster %s", settings->name);
        return NULL;
    }
    struct cluster *cluster = mem_new(sizeof *cluster);
    cluster->world = world;
    cluster->name = mem_copy_chars(settings->name);
    cluster->session = kube_session_new(world, cluster->name, config);
    cluster->served = served_new(cluster->session);
    snapshot_init(&cluster->snapshot);
    cluster->snapshot.accelerators = settings->accelerators;
    cluster->share.most = (settings->memory_mb > 0 ? settings->memory_mb : CLUSTER_MEMORY_MB) << 20;
    cluster->policy_version = "policy/v1";
    cluster->discovery_timer = timer_new(world->loop, discover, cluster);
    cluster->devices_timer = timer_new(world->loop, discover_devices, cluster);
    cluster->news_timer = timer_new(world->loop, on_news, cluster);

    struct snapshot *snapshot = &cluster->snapshot;
    struct kube_store nodes = { &snapshot->nodes,         snapshot->unreadable,
                                &snapshot->nodes_seen_ms, &snapshot->nodes_by_provider,
                                snapshot->texts,          &cluster->share };
    struct kube_store pods = { &snapshot->pods,         snapshot->unreadable,
                               &snapshot->pods_seen_ms, &snapshot->pods_by_node,
                               snapshot->texts,         &cluster->share };
    cluster->nodes = kube_watch_new(cluster->session, &kube_nodes, &nodes, on_changed, cluster);
    cluster->pods = kube_watch_new(cluster->session, &kube_pods, &pods, on_changed, cluster);
    return cluster;
}

void cluster_close(struct cluster *cluster)
{
    if (!cluster)
        return;
    kube_watch_free(cluster->nodes);
    kube_watch_free(cluster->pods);
    kube_watch_free(cluster->budgets);
    kube_watch_free(cluster->slices);
    kube_watch_free(cluster->claims);
    timer_free(cluster->discovery_timer);
    timer_free(cluster->devices_timer);
    served_free(cluster->served);
    kube_session_free(cluster->session);
    timer_free(cluster->news_timer);
    snapshot_clear(&cluster->snapshot);
    mem_free(cluster->name);
    mem_free(cluster);
}

void cluster_watch(struct cluster *cluster, cluster_news_fn news, void *context)
{
    require(!cluster->news);
    cluster->news = news;
    cluster->news_context = context;
    kube_watch_start(cluster->nodes);
    kube_watch_start(cluster->pods);
}

void cluster_watch_budgets(struct cluster *cluster)
{
    timer_set(cluster->discovery_timer, 0);
}

void cluster_watch_devices(struct cluster *cluster)
{
    timer_set(cluster->devices_timer, 0);
}

const char *cluster_policy_version(const struct cluster *cluster)
{
    return cluster->policy_version;
}

bool cluster_knows_dry_runs(const struct cluster *cluster)
{
    return cluster->budgets && text_equal(cluster->policy_version, "policy/v1");
}

const char *cluster_name(const struct cluster *cluster)
{
    return cluster->name;
}

const struct snapshot *cluster_snapshot(const struct cluster *cluster)
{
    return &cluster->snapshot;
}

int64_t cluster_held(const struct cluster *cluster)
{
    return cluster->share.held + cluster->share.listed;
}

const char *cluster_trouble(const struct cluster *cluster)
{
    const char *trouble = kube_watch_trouble(cluster->nodes);
    if (trouble[0] == '\0')
        trouble = kube_watch_trouble(cluster->pods);
    if (trouble[0] == '\0' && cluster->budgets)
        trouble = kube_watch_trouble(cluster->budgets);
    return trouble;
}

static void forget(void *context, const json_t *body, const struct error *err)
{
    (void)context;
    (void)body;
    (void)err;
}

void cluster_ask_clock(struct cluster *cluster)
{
    const struct kube_call call = {
        .verb = KUBE_READ,
        .priority = HTTP_POLL,
        .target = "/apis/policy",
        .timeout_ms = CLOCK_LIMIT_MS,
    };

    kube_send(cluster->session, &call, forget, NULL);
}

bool cluster_clock(const struct cluster *cluster, int64_t since_ms, int64_t *ret_ahead_ms)
{
    *ret_ahead_ms = kube_ahead_ms(cluster->session);
    return kube_clock_heard_ms(cluster->session) > since_ms;
}

void cluster_wall_moved(struct cluster *cluster)
{
    cluster->snapshot.ahead_ms = kube_ahead_ms(cluster->session);
}

bool cluster_is_heard(const struct cluster *cluster)
{
    return kube_watch_trouble(cluster->nodes)[0] == '\0' &&
           kube_watch_trouble(cluster->pods)[0] == '\0';
}

struct kube_session *cluster_session(const struct cluster *cluster)
{
    return cluster->session;
}

struct served *cluster_served(const struct cluster *cluster)
{
    return cluster->served;
}
