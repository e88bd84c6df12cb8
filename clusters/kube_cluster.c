/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A Kubernetes cluster: its session, and the watches that feed its snapshot.
 */
#include "clusters/kube_cluster.h"

#include "base/log.h"
#include "base/text.h"
#include "clusters/cluster_base.h"
#include "clusters/cluster_session.h"
#include "clusters/kube/kube_config.h"
#include "clusters/kube/kube_error.h"
#include "clusters/kube/served.h"
#include "clusters/kube_inspect.h"
#include "clusters/kube_kinds.h"
#include "clusters/kube_verbs.h"

enum {
    DISCOVERY_RETRY_MS = 30 * SECOND_MS,
    ABSENCE_MS = 15 * MINUTE_MS,
    CLOCK_LIMIT_MS = 10 * SECOND_MS
};

enum { OPTIONAL_WATCHES = 2 };

/* A resource that a server may lack, or may not let us read. sluice asks for its API group, and
   lists and watches the resources in it. */
struct optional {
    const struct optional_kind *kind;
    struct kube_cluster *cluster;
    struct timer *timer;                          /* of the next question */
    struct kube_watch *watches[OPTIONAL_WATCHES]; /* NULL: no group was found yet */
    int64_t seen_ms[OPTIONAL_WATCHES];
    bool is_absent;       /* the server has no such group, and needs none */
    struct error failure; /* of the last question; ERROR_NONE: it was answered, or never sent */
};

struct optional_kind {
    const char *group;
    const char *unknown; /* for the log */
    bool may_be_absent;
    void (*found)(struct optional *optional, const char *version);
};

struct kube_cluster {
    struct cluster base;
    struct kube_session *session;
    struct served *served;
    struct kube_share share;
    struct kube_watch *nodes;
    struct kube_watch *pods;
    struct optional policy;  /* budgets */
    struct optional devices; /* slices and claims */
    const char *policy_version;
    struct kube_inspection *inspection; /* NULL: there was none */
};

static struct kube_cluster *of(struct cluster *cluster)
{
    require(cluster->kind == &cluster_kubernetes);
    return (struct kube_cluster *)cluster;
}

static const struct kube_cluster *seen(const struct cluster *cluster)
{
    require(cluster->kind == &cluster_kubernetes);
    return (const struct kube_cluster *)cluster;
}

/* Whether the whole resource was listed and is watched, or is known to be absent. */
static bool is_current(const struct optional *optional)
{
    for (size_t i = 0; i < OPTIONAL_WATCHES; i++) {
        const struct kube_watch *watch = optional->watches[i];

        if (watch && (!kube_watch_is_known(watch) || kube_watch_trouble(watch)[0] != '\0'))
            return false;
    }
    return optional->watches[0] || optional->is_absent;
}

static void on_changed(void *context)
{
    struct kube_cluster *cluster = context;
    struct snapshot *snapshot = &cluster->base.snapshot;
    const struct kube_watch *budgets = cluster->policy.watches[0];

    snapshot->ahead_ms = kube_ahead_ms(cluster->session);
    snapshot->budgets_are_known = budgets && kube_watch_is_known(budgets);
    snapshot->devices_are_known = is_current(&cluster->devices);
    snapshot->is_known = kube_watch_is_known(cluster->nodes) && kube_watch_is_known(cluster->pods);
    cluster_tell_news(&cluster->base);
}

static void watch_optional(struct optional *optional, size_t at, const struct kube_kind *kind,
                           struct map **objects, struct index **index)
{
    struct kube_cluster *cluster = optional->cluster;
    struct snapshot *snapshot = &cluster->base.snapshot;
    struct kube_store store = {
        objects,
        snapshot->unreadable,
        &optional->seen_ms[at],
        index,
        snapshot->texts,
        &cluster->share,
        NULL,
        NULL,
    };

    require(at < OPTIONAL_WATCHES && !optional->watches[at]);
    optional->watches[at] = kube_watch_new(cluster->session, kind, &store, on_changed, cluster);
    kube_watch_start(optional->watches[at]);
}

/* A server without the group is asked again, because it may be upgraded. */
static void on_version(void *context, const char *version, const struct error *err)
{
    struct optional *optional = context;
    struct kube_cluster *cluster = optional->cluster;

    optional->is_absent = err && err->cause == &kube_cause_no_group &&
                          optional->kind->may_be_absent;
    if (!err) {
        optional->failure = (struct error){ 0 };
        optional->kind->found(optional, version);
    } else if (optional->is_absent) {
        optional->failure = (struct error){ 0 };
        timer_set(optional->timer, ABSENCE_MS);
    } else {
        if (optional->failure.kind == ERROR_NONE)
            log_warn(optional->kind->unknown, FIELD_TEXT("cluster", cluster->base.name),
                     FIELD_TEXT("text", err->text));
        optional->failure = *err;
        timer_set(optional->timer, err->retry_after_ms > DISCOVERY_RETRY_MS ? err->retry_after_ms
                                                                            : DISCOVERY_RETRY_MS);
    }
    on_changed(cluster);
}

static void discover(void *context)
{
    struct optional *optional = context;

    served_ask(optional->cluster->served, optional->kind->group, on_version, optional);
}

static void found_policy(struct optional *optional, const char *version)
{
    struct kube_cluster *cluster = optional->cluster;
    struct snapshot *snapshot = &cluster->base.snapshot;
    bool is_new = text_equal(version, "v1");

    cluster->policy_version = is_new ? "policy/v1" : "policy/v1beta1";
    watch_optional(optional, 0, is_new ? &kube_budgets : &kube_old_budgets, &snapshot->budgets,
                   &snapshot->budgets_by_namespace);
}

static void found_devices(struct optional *optional, const char *version)
{
    struct snapshot *snapshot = &optional->cluster->base.snapshot;

    watch_optional(optional, 0, kube_slices_of(version), &snapshot->slices,
                   &snapshot->slices_by_node);
    watch_optional(optional, 1, kube_claims_of(version), &snapshot->claims,
                   &snapshot->claims_by_key);
}

static const struct optional_kind policy = { "policy", "budgets_unknown", false, found_policy };
static const struct optional_kind devices = { "resource.k8s.io", "devices_unknown", true,
                                              found_devices };

static void optional_init(struct optional *optional, const struct optional_kind *kind,
                          struct kube_cluster *cluster)
{
    *optional = (struct optional){ .kind = kind, .cluster = cluster };
    optional->timer = timer_new(cluster->base.world->loop, discover, optional);
}

static void optional_clear(struct optional *optional)
{
    for (size_t i = 0; i < OPTIONAL_WATCHES; i++)
        kube_watch_free(optional->watches[i]);
    timer_free(optional->timer);
}

static struct cluster *open_cluster(struct world *world, const struct cluster_settings *chosen,
                                    struct error *err)
{
    const struct kube_cluster_settings *own = chosen->own;
    const char *plugin = own->login.eks ? KUBE_CONFIG_LOGIN : own->plugin;
    struct kube_config *config = kube_config_open(own->kubeconfig, own->context, plugin, err);
    if (!config) {
        error_context(err, "cluster %s", chosen->name);
        return NULL;
    }
    struct kube_cluster *cluster = mem_new(sizeof *cluster);
    cluster_init(&cluster->base, &cluster_kubernetes, world, chosen);
    cluster->session = kube_session_new(world, cluster->base.name, config);
    if (own->login.eks) {
        require(chosen->log_in);
        kube_session_log_in(cluster->session, chosen->log_in(world, &own->login));
    }
    cluster->served = served_new(cluster->session);
    cluster->share.most = (own->memory_mb > 0 ? own->memory_mb : KUBE_CLUSTER_MEMORY_MB) << 20;
    cluster->policy_version = "policy/v1";
    optional_init(&cluster->policy, &policy, cluster);
    optional_init(&cluster->devices, &devices, cluster);

    struct snapshot *snapshot = &cluster->base.snapshot;
    struct kube_store nodes = { &snapshot->nodes,         snapshot->unreadable,
                                &snapshot->nodes_seen_ms, &snapshot->nodes_by_provider,
                                snapshot->texts,          &cluster->share,
                                snapshot_node_replaced,   snapshot };
    struct kube_store pods = { &snapshot->pods,         snapshot->unreadable,
                               &snapshot->pods_seen_ms, &snapshot->pods_by_node,
                               snapshot->texts,         &cluster->share,
                               snapshot_pod_replaced,   snapshot };
    cluster->nodes = kube_watch_new(cluster->session, &kube_nodes, &nodes, on_changed, cluster);
    cluster->pods = kube_watch_new(cluster->session, &kube_pods, &pods, on_changed, cluster);
    return &cluster->base;
}

static void close_cluster(struct cluster *base)
{
    struct kube_cluster *cluster = of(base);

    kube_inspection_free(cluster->inspection);
    kube_watch_free(cluster->nodes);
    kube_watch_free(cluster->pods);
    optional_clear(&cluster->policy);
    optional_clear(&cluster->devices);
    served_free(cluster->served);
    kube_session_free(cluster->session);
    cluster_clear(base);
    mem_free(cluster);
}

static void watch(struct cluster *cluster)
{
    kube_watch_start(of(cluster)->nodes);
    kube_watch_start(of(cluster)->pods);
}

void kube_cluster_watch_budgets(struct cluster *cluster)
{
    timer_set(of(cluster)->policy.timer, 0);
}

void kube_cluster_watch_devices(struct cluster *cluster)
{
    timer_set(of(cluster)->devices.timer, 0);
}

static void watch_more(struct cluster *cluster)
{
    kube_cluster_watch_budgets(cluster);
    kube_cluster_watch_devices(cluster);
}

const char *cluster_policy_version(const struct cluster *cluster)
{
    return seen(cluster)->policy_version;
}

bool cluster_knows_dry_runs(const struct cluster *cluster)
{
    return seen(cluster)->policy.watches[0] &&
           text_equal(seen(cluster)->policy_version, "policy/v1");
}

static int64_t held(const struct cluster *cluster)
{
    return seen(cluster)->share.held + seen(cluster)->share.listed;
}

static const char *optional_trouble(const struct optional *optional)
{
    const char *found = optional->failure.text;

    for (size_t i = 0; i < OPTIONAL_WATCHES && found[0] == '\0'; i++)
        if (optional->watches[i])
            found = kube_watch_trouble(optional->watches[i]);
    return found;
}

static const char *trouble(const struct cluster *base)
{
    const struct kube_cluster *cluster = seen(base);
    const char *found = kube_watch_trouble(cluster->nodes);

    if (found[0] == '\0')
        found = kube_watch_trouble(cluster->pods);
    if (found[0] == '\0')
        found = optional_trouble(&cluster->policy);
    if (found[0] == '\0')
        found = optional_trouble(&cluster->devices);
    return found;
}

static void forget(void *context, const json_t *body, const struct error *err)
{
    (void)context;
    (void)body;
    (void)err;
}

static void ask_clock(struct cluster *cluster)
{
    const struct kube_call call = {
        .verb = KUBE_READ,
        .priority = HTTP_POLL,
        .target = "/apis/policy",
        .timeout_ms = CLOCK_LIMIT_MS,
    };

    kube_send(of(cluster)->session, &call, forget, NULL);
}

static bool read_clock(const struct cluster *cluster, int64_t since_ms, int64_t *ret_ahead_ms)
{
    *ret_ahead_ms = kube_ahead_ms(seen(cluster)->session);
    return kube_clock_heard_ms(seen(cluster)->session) > since_ms;
}

static bool is_heard(const struct cluster *cluster)
{
    return kube_watch_trouble(seen(cluster)->nodes)[0] == '\0' &&
           kube_watch_trouble(seen(cluster)->pods)[0] == '\0';
}

struct kube_session *cluster_session(const struct cluster *cluster)
{
    return seen(cluster)->session;
}

struct served *cluster_served(const struct cluster *cluster)
{
    return seen(cluster)->served;
}

static void inspect(struct cluster *cluster, const struct cluster_needs *needs,
                    const struct cluster_inspector *inspector)
{
    kube_inspection_free(of(cluster)->inspection);
    of(cluster)->inspection = kube_inspect(of(cluster)->session, needs, inspector);
}

/* ---- the kind ---- */

#define LOGIN(key, member, help)                                                                   \
    {                                                                                              \
        key, SETTING_TEXT, offsetof(struct kube_cluster_settings, login.member), "", 0, 0, help    \
    }

static const struct setting settings[] = {
    { "kubeconfig", SETTING_PATH, offsetof(struct kube_cluster_settings, kubeconfig), NULL, 0, 0,
      "path of the kubeconfig file; `in-cluster`: the service account of the pod" },
    { "context", SETTING_TEXT, offsetof(struct kube_cluster_settings, context), "", 0, 0,
      "context in the kubeconfig; absent: its current context" },
    { "plugin", SETTING_TEXT, offsetof(struct kube_cluster_settings, plugin), "", 0, 0,
      "absolute path of the one program that the kubeconfig may run for credentials" },
    LOGIN("eks", eks,
          "name of the EKS cluster: sluice makes the token itself, and runs no program"),
    LOGIN("region", region, "with eks: its region, such as us-east-1"),
    LOGIN("profile", profile,
          "with eks: profile of the shared files; absent: where AWS clients look for keys"),
    LOGIN("iam_role", role, "with eks: ARN of a role that is assumed with those keys"),
    LOGIN("external_id", external_id, "with eks: external ID that the role requires"),
    { "credentials", SETTING_PATH, offsetof(struct kube_cluster_settings, login.credentials), "", 0,
      0, "with eks: path of the shared credentials file" },
    { "sts_endpoint", SETTING_URL, offsetof(struct kube_cluster_settings, login.sts_endpoint), "",
      0, 0,
      "with eks: URL of the token service; absent: $AWS_ENDPOINT_URL_STS, or the cloud's own" },
    { "memory_mb", SETTING_INT, offsetof(struct kube_cluster_settings, memory_mb), "256", 16, 65536,
      "memory that its nodes, pods and budgets may take; twice that while they are listed again. "
      "5,000 nodes and 50,000 pods take a quarter of the default. A cluster that sends more is not "
      "read" },
};

/* Name and region get into a header and into the name of a server. */
static int check_login(const struct kube_login_settings *login, const char **ret_key,
                       struct error *err)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    static const char large[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const struct {
        const char *key;
        const char *value;
    } others[] = { { "region", login->region },           { "profile", login->profile },
                   { "iam_role", login->role },           { "external_id", login->external_id },
                   { "credentials", login->credentials }, { "sts_endpoint", login->sts_endpoint } };

    for (size_t i = 0; i < COUNT_OF(others) && !login->eks; i++) {
        *ret_key = others[i].key;
        if (others[i].value)
            return error_set(err, ERROR_INVALID, "requires eks");
    }
    if (!login->eks)
        return 0;
    *ret_key = "eks";
    for (const char *at = login->eks; *at; at++)
        if (!strchr(small, *at) && !strchr(large, *at))
            return error_set(err, ERROR_INVALID, "\"%s\" is no name of an EKS cluster", login->eks);
    if (!login->region)
        return error_set(err, ERROR_INVALID, "requires region");
    *ret_key = "region";
    if (strspn(login->region, small) != strlen(login->region))
        return error_set(err, ERROR_INVALID, "expected a region like us-east-1, found \"%s\"",
                         login->region);
    *ret_key = "external_id";
    if (login->external_id && !login->role)
        return error_set(err, ERROR_INVALID, "requires iam_role");
    return 0;
}

static int check_settings(const void *object, const char **ret_key, struct error *err)
{
    const struct kube_cluster_settings *own = object;

    if (check_login(&own->login, ret_key, err) < 0)
        return -1;
    *ret_key = "eks";
    if (own->login.eks && (own->plugin || text_equal(own->kubeconfig, KUBE_CONFIG_IN_CLUSTER)))
        return error_set(err, ERROR_INVALID,
                         "makes the token: a plugin or `in-cluster` would make "
                         "another");
    *ret_key = "plugin";
    if (own->plugin && own->plugin[0] != '/')
        return error_set(err, ERROR_INVALID, "expected an absolute path, found \"%s\"",
                         own->plugin);
    return 0;
}

const struct cluster_kind cluster_kubernetes = {
    .settings = { .name = "kubernetes",
                  .settings = settings,
                  .count = COUNT_OF(settings),
                  .size = sizeof(struct kube_cluster_settings),
                  .no_file = KUBE_CONFIG_IN_CLUSTER,
                  .check = check_settings },
    .keeps_replicas = true,
    .keeps_quotas = true,
    .may_host = true,
    .open = open_cluster,
    .close = close_cluster,
    .watch = watch,
    .watch_more = watch_more,
    .ask_clock = ask_clock,
    .clock = read_clock,
    .held = held,
    .trouble = trouble,
    .is_heard = is_heard,
    .inspect = inspect,
};
