/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lists and the beginning of watches: pages in the order of the keys, continue tokens that expire
 * with the history, field selectors.
 */
#include "base/crypto.h"
#include "tools/simulator/kube/kube_devices.h"
#include "tools/simulator/kube/kube_versions.h"
#include "tools/simulator/model/lies.h"

#include <inttypes.h>

struct item {
    const char *key;
    const struct blob *blob;
};

struct listing {
    struct sim_call *call;
    enum object_kind kind;
    char name[SIM_NAME_SIZE];
    char node_name[SIM_NAME_SIZE];
    const char *namespace; /* NULL: all */
    long long limit;       /* 0: none */
    uint64_t version;      /* of the first page */
    char *after;           /* key of the last item of the page before; NULL: the first page */
    ARRAY(struct item) items;
};

static const struct {
    const char *name;
    const char *list;
    const char *watch;
} kinds[OBJECTS] = {
    [OBJECT_NODE] = { "Node", "list_nodes", "watch_nodes" },
    [OBJECT_POD] = { "Pod", "list_pods", "watch_pods" },
    [OBJECT_BUDGET] = { "PodDisruptionBudget", "list_budgets", "watch_budgets" },
    [OBJECT_SLICE] = { "ResourceSlice", "list_slices", "watch_slices" },
    [OBJECT_CLAIM] = { "ResourceClaim", "list_device_claims", "watch_device_claims" },
};

const char *sim_kind_name(enum object_kind kind)
{
    return kinds[kind].name;
}

const char *sim_list_verb(enum object_kind kind)
{
    return kinds[kind].list;
}

const char *sim_watch_verb(enum object_kind kind)
{
    return kinds[kind].watch;
}

static int by_key(const void *left, const void *right)
{
    return strcmp(((const struct item *)left)->key, ((const struct item *)right)->key);
}

static bool read_selector(struct listing *listing)
{
    owned(chars) char *selector = url_query(listing->call->request->target, "fieldSelector");
    const char *field = listing->kind == OBJECT_POD ? "spec.nodeName=" : "metadata.name=";
    char *out = listing->kind == OBJECT_POD ? listing->node_name : listing->name;

    if (!selector)
        return true;
    if (text_starts_with(selector, field) && selector[strlen(field)] &&
        text_copy(out, SIM_NAME_SIZE, selector + strlen(field)))
        return true;
    sim_kube_status(listing->call->answer, 400, "BadRequest", "field selector not supported: %s",
                    selector);
    return false;
}

static bool read_number(struct sim_call *call, const char *name, long long max, long long *ret)
{
    owned(chars) char *chars = url_query(call->request->target, name);

    if (!chars || text_to_int(chars, 0, max, ret))
        return true;
    sim_kube_status(call->answer, 400, "BadRequest", "%s: not a number: %s", name, chars);
    return false;
}

/* "VERSION KEY", in base64: opaque, and in need of escaping. */
static bool read_continue(struct listing *listing)
{
    struct sim_call *call = listing->call;
    owned(chars) char *chars = url_query(call->request->target, "continue");
    struct error err = { 0 };

    listing->version = call->cluster->version;
    if (!chars || !chars[0])
        return true;

    owned(text) struct text *token = crypto_decode_base64(chars, &err);
    char *space = token ? strchr(token->chars, ' ') : NULL;
    long long version;

    if (!space) {
        sim_kube_status(call->answer, 400, "BadRequest", "continue key is not valid");
        return false;
    }
    *space = '\0';
    if (!text_to_int(token->chars, 0, INT64_MAX, &version) ||
        (uint64_t)version < call->cluster->history_floor ||
        (uint64_t)version + SIM_HISTORY < call->cluster->version) {
        sim_kube_status(call->answer, 410, "Expired",
                        "The provided continue parameter is too old to display a consistent list "
                        "result.");
        return false;
    }
    listing->version = (uint64_t)version;
    listing->after = mem_copy_chars(space + 1);
    return true;
}

static const struct lie *lie_about(const struct listing *listing)
{
    return listing->kind >= OBJECT_BUDGET
               ? NULL
               : sim_lie_about(listing->call->sim,
                               listing->kind == OBJECT_NODE ? LIE_NODES : LIE_PODS,
                               listing->call->cluster->index);
}

/* Whether the list is of all objects of a cluster: only such a list takes part in a lie. */
static bool is_whole(const struct listing *listing)
{
    return !listing->name[0] && !listing->node_name[0] && !listing->namespace;
}

/* The past state: each object after its last change up to that time. */
static void collect_past(struct listing *listing, int64_t at_ms)
{
    struct kube_cluster *cluster = listing->call->cluster;
    owned(map) struct map *seen = map_new(NULL);
    uint64_t version = cluster->history_floor;
    const char *key;
    void *value;

    for (size_t i = cluster->history.count; i-- > 0;) {
        const struct change *change = &cluster->history.items[i];

        if (change->at_ms > at_ms)
            continue;
        version = version > change->version ? version : change->version;
        if (change->kind != listing->kind || map_get(seen, change->name))
            continue;
        map_set(seen, change->name, cluster);
        if (change->type != CHANGE_DELETED)
            *array_add(&listing->items) = (struct item){ change->name, change->blob };
    }
    listing->version = version;
    /* An object that never changed since the start has no history. */
    for (size_t i = 0; map_next(listing->kind == OBJECT_NODE ? cluster->nodes : cluster->pods, &i,
                                &key, &value);) {
        const struct kube_node *node = value;
        const struct kube_pod *pod = value;
        bool is_node = listing->kind == OBJECT_NODE;

        if ((is_node ? node->version : pod->version) <= version &&
            !map_get(seen, is_node ? node->name : pod->name))
            *array_add(&listing->items) = (struct item){ is_node ? node->name : pod->name,
                                                         is_node ? node->blob : pod->blob };
    }
}

static void collect(struct listing *listing)
{
    struct kube_cluster *cluster = listing->call->cluster;
    const char *key;
    void *value;

    for (size_t i = 0;
         listing->kind == OBJECT_NODE && map_next(cluster->nodes, &i, &key, &value);) {
        const struct kube_node *node = value;

        if (!listing->name[0] || text_equal(listing->name, node->name))
            *array_add(&listing->items) = (struct item){ key, node->blob };
    }
    for (size_t i = 0; listing->kind == OBJECT_POD && map_next(cluster->pods, &i, &key, &value);) {
        const struct kube_pod *pod = value;

        if ((!listing->node_name[0] || text_equal(listing->node_name, pod->node_name)) &&
            (!listing->namespace || text_equal(listing->namespace, pod->namespace)))
            *array_add(&listing->items) = (struct item){ key, pod->blob };
    }
    for (size_t i = 0; listing->kind == OBJECT_BUDGET && i < cluster->budgets.count; i++)
        *array_add(&listing->items) = (struct item){ cluster->budgets.items[i]->uid,
                                                     cluster->budgets.items[i]->blob };
    const struct map *devices = listing->kind > OBJECT_BUDGET
                                    ? sim_devices_of(cluster, listing->kind)
                                    : NULL;

    for (size_t i = 0; devices && map_next(devices, &i, &key, &value);)
        *array_add(&listing->items) = (struct item){ key, sim_device_blob(value) };
}

static void add_continue(struct listing *listing, const char *last_key, size_t left)
{
    owned(chars) char *token = text_format("%" PRIu64 " %s", listing->version, last_key);
    struct text *body = listing->call->answer->body;

    text_add(body, "\"continue\":\"");
    crypto_add_base64(body, token, strlen(token));
    text_add(body, "\",\"remainingItemCount\":%zu,", left);
}

static void write_list(struct listing *listing)
{
    struct sim_answer *answer = listing->call->answer;
    size_t first = 0, count = listing->items.count;

    while (listing->after && first < count &&
           strcmp(listing->items.items[first].key, listing->after) <= 0)
        first++;

    size_t left = count - first;
    size_t taken = listing->limit && (size_t)listing->limit < left ? (size_t)listing->limit : left;

    answer->status = 200;
    answer->content_type = "application/json";
    answer->body = text_new(256 << 20);
    text_add(answer->body, "{\"kind\":\"%sList\",\"apiVersion\":\"%s%s\",\"metadata\":{",
             sim_kind_name(listing->kind),
             listing->kind == OBJECT_BUDGET  ? "policy/"
             : listing->kind > OBJECT_BUDGET ? "resource.k8s.io/"
                                             : "",
             listing->kind == OBJECT_BUDGET ? sim_version_of(listing->call->sim, SCENARIO_POLICY)
                                            : "v1");
    if (taken < left)
        add_continue(listing, listing->items.items[first + taken - 1].key, left - taken);
    text_add(answer->body, "\"resourceVersion\":\"%" PRIu64 "\"},\"items\":[", listing->version);
    for (size_t i = first; i < first + taken; i++) {
        text_add(answer->body, "%s", i > first ? "," : "");
        text_add_bytes(answer->body, listing->items.items[i].blob->chars,
                       listing->items.items[i].blob->size);
    }
    text_add(answer->body, "]}");
}

/* Drops what the lie hides; the key ends with the name. */
static void hide(struct listing *listing, const struct lie *lie)
{
    size_t kept = 0;

    for (size_t i = 0; i < listing->items.count; i++) {
        const char *slash = strchr(listing->items.items[i].key, '/');

        if (!sim_lie_hides(lie, slash ? slash + 1 : listing->items.items[i].key))
            listing->items.items[kept++] = listing->items.items[i];
    }
    listing->items.count = kept;
}

/* Since when lists have failed: a good one ends it; a lie counts as one bad list. */
static void note_list(const struct listing *listing, int64_t *bad_ms)
{
    const struct lie *lie = lie_about(listing);

    if (!lie || !sim_lie_frees(lie))
        *bad_ms = 0;
    else if (*bad_ms == 0 && is_whole(listing))
        *bad_ms = sim_since_start(listing->call->sim) + 1;
}

static void collect_with_lies(struct listing *listing)
{
    const struct simulator *sim = listing->call->sim;
    const struct lie *lie = is_whole(listing) ? lie_about(listing) : NULL;
    int64_t at_ms = sim_lie_time(sim, lie);

    if (at_ms < sim_now(sim))
        collect_past(listing, at_ms);
    else
        collect(listing);
    if (lie)
        hide(listing, lie);
    if (listing->items.count)
        qsort(listing->items.items, listing->items.count, sizeof *listing->items.items, by_key);
}

static void list(struct listing *listing)
{
    static const char *const known[] = { "limit", "continue", "fieldSelector", "resourceVersion",
                                         "resourceVersionMatch" };
    struct sim_call *call = listing->call;
    int64_t *bad_ms = &call->cluster->bad_list_ms[listing->kind];

    if (sim_call_fault(call)) {
        *bad_ms = sim_since_start(call->sim) + 1;
        return;
    }
    if (!sim_kube_query_is_known(call, known, COUNT_OF(known)) || !read_selector(listing) ||
        !read_number(call, "limit", 1000000, &listing->limit) || !read_continue(listing))
        return;
    if (sim_fault_now(call->sim, FAULT_EMPTY_LIST, call->verb))
        *bad_ms = sim_since_start(call->sim) + 1;
    else {
        note_list(listing, bad_ms);
        collect_with_lies(listing);
    }
    write_list(listing);
}

static void begin_watch(struct listing *listing)
{
    static const char *const known[] = { "watch", "fieldSelector", "resourceVersion",
                                         "allowWatchBookmarks", "timeoutSeconds" };
    struct sim_call *call = listing->call;
    long long version = 0, timeout_s = 1800;
    owned(chars) char *bookmarks = url_query(call->request->target, "allowWatchBookmarks");

    if (sim_call_fault(call) || !sim_kube_query_is_known(call, known, COUNT_OF(known)) ||
        !read_selector(listing) || !read_number(call, "resourceVersion", INT64_MAX, &version) ||
        !read_number(call, "timeoutSeconds", 86400, &timeout_s))
        return;
    if (version == 0) {
        sim_kube_status(call->answer, 400, "BadRequest", "a watch must say from which version");
        return;
    }
    if ((uint64_t)version < call->cluster->history_floor) {
        sim_kube_status(call->answer, 410, "Expired", "too old resource version: %lld", version);
        return;
    }
    if ((uint64_t)version > call->cluster->version) {
        sim_kube_status(call->answer, 504, "Timeout",
                        "Too large resource version: %lld, current: %" PRIu64, version,
                        call->cluster->version);
        return;
    }

    struct watch_query *query = &call->answer->watch;

    query->cluster = call->cluster;
    query->kind = listing->kind;
    query->version = (uint64_t)version;
    query->wants_bookmarks = bookmarks &&
                             (text_equal(bookmarks, "true") || text_equal(bookmarks, "1"));
    query->has_gap = sim_fault_now(call->sim, FAULT_WATCH_GAP, call->verb);
    query->timeout_ms = timeout_s * SECOND_MS;
    text_copy(query->name, sizeof query->name, listing->name);
    text_copy(query->node_name, sizeof query->node_name, listing->node_name);
    call->answer->status = 200;
    call->answer->content_type = "application/json";
}

void sim_kube_list(struct sim_call *call, enum object_kind kind, const char *namespace)
{
    struct listing listing = { .call = call, .kind = kind, .namespace = namespace };
    owned(chars) char *watch = url_query(call->request->target, "watch");

    if (!namespace && watch && (text_equal(watch, "1") || text_equal(watch, "true"))) {
        call->verb = sim_watch_verb(kind);
        begin_watch(&listing);
    } else {
        call->verb = sim_list_verb(kind);
        list(&listing);
    }
    mem_free(listing.after);
    array_clear(&listing.items);
}
