/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Watches of other clients.  A watch compares what its filter takes with what it has sent, after
 * each change of the cluster.  So it follows all kinds of objects, and an object that enters or
 * leaves a selector is ADDED or DELETED.  What a list showed is remembered for a while: a watch
 * from the list's version starts there.
 */
#include "tools/simulator/apiserver/answers.h"
#include "tools/simulator/apiserver/owners.h"

#include <inttypes.h>

enum { LISTS_KEPT = 16, LIST_LIMIT = 4000, WATCH_S = 1800 };

struct follow {
    struct kube_cluster *cluster;
    struct api_filter filter;
    enum api_form form;
    char *target;     /* of the request: a Table depends on it */
    bool wants_start; /* all objects come first, and a bookmark that ends them */
    struct map *sent; /* key -> JSON */
};

static void free_json(void *json)
{
    json_decref(json);
}

/* ---- what lists showed ---- */

static char *list_key(const struct api_resource *resource, uint64_t version)
{
    char name[SIM_NAME_SIZE];

    api_resource_full_name(resource, name);
    return text_format("%" PRIu64 " %s", version, name);
}

static json_t *by_key(const json_t *items)
{
    json_t *map = json_object(), *object;
    size_t i;

    json_array_foreach(items, i, object) {
        char key[3 * SIM_NAME_SIZE];

        api_object_key(object, key);
        json_object_set(map, key, object);
    }
    return map;
}

void api_remember(struct sim_call *call, const struct api_filter *filter, const json_t *items)
{
    struct map *lists = client_memory_of(call->cluster)->lists;
    owned(chars) char *key = list_key(filter->resource, call->cluster->version);
    json_t *known = map_get(lists, key);
    const char *oldest;

    if (json_array_size(items) > LIST_LIMIT)
        return;
    if (known) {
        owned(json) json_t *more = by_key(items);

        json_object_update(known, more);
        return;
    }
    for (size_t i = 0; map_count(lists) >= LISTS_KEPT && map_next(lists, &i, &oldest, NULL);)
        map_remove(lists, oldest);
    map_set(lists, key, by_key(items));
}

/* ---- frames ---- */

static void add_frame(const struct follow *follow, struct sim_call *call, const char *type,
                      json_t *object, struct text *frames)
{
    owned(json) json_t *items = json_make("[O]", object);
    owned(json) json_t *shown = follow->form == API_FORM_TABLE
                                    ? api_table(call, follow->filter.resource, items)
                                : follow->form == API_FORM_METADATA ? api_metadata_of(object)
                                                                    : json_incref(object);
    owned(chars) char *chars = json_print(shown);

    text_add(frames, "{\"type\":\"%s\",\"object\":", type);
    text_add_bytes(frames, chars, strlen(chars));
    text_add(frames, "}\n");
}

/* A call for what makes the objects, when no request is under way. */
struct quiet_call {
    struct sim_call call;
    struct sim_request request;
    struct sim_answer answer;
};

static struct sim_call *quiet(struct quiet_call *quiet, struct simulator *sim,
                              const struct follow *follow)
{
    quiet->request = (struct sim_request){ .target = follow->target };
    quiet->call = (struct sim_call){
        .sim = sim, .request = &quiet->request, .answer = &quiet->answer, .cluster = follow->cluster
    };
    return &quiet->call;
}

static void send_gone(struct follow *follow, struct sim_call *call, const json_t *present,
                      struct text *frames)
{
    const char *key;
    void *value;

    for (size_t i = 0; map_next(follow->sent, &i, &key, &value);) {
        char version[24];
        owned(json) json_t *last = NULL;

        if (json_object_get(present, key))
            continue;
        last = json_deep_copy(value);
        snprintf(version, sizeof version, "%" PRIu64, follow->cluster->version);
        json_object_set_new(json_object_get(last, "metadata"), "resourceVersion",
                            json_string(version));
        add_frame(follow, call, "DELETED", last, frames);
        map_remove(follow->sent, key);
    }
}

static void add_bookmark(struct simulator *sim, const struct follow *follow, bool ends_start,
                         struct text *frames)
{
    const struct api_resource *resource = follow->filter.resource;
    struct quiet_call space = { 0 };
    const char *version = api_resource_version(quiet(&space, sim, follow), resource);
    text_add(frames,
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\","
             "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\",\"creationTimestamp\":null%s}}}\n",
             resource->kind, resource->group, resource->group[0] ? "/" : "", version,
             follow->cluster->version,
             ends_start ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
}

void sim_follow_frames(struct simulator *sim, struct follow *follow, struct text *frames)
{
    struct quiet_call space = { 0 };
    struct sim_call *call = quiet(&space, sim, follow);
    owned(json) json_t *items = api_filter_collect(call, &follow->filter);
    owned(json) json_t *present = by_key(items);
    const char *key;
    json_t *object;

    send_gone(follow, call, present, frames);
    json_object_foreach(present, key, object) {
        const json_t *before = map_get(follow->sent, key);

        if (before && json_equal(before, object))
            continue;
        add_frame(follow, call, before ? "MODIFIED" : "ADDED", object, frames);
        map_set(follow->sent, key, json_incref(object));
    }
    if (follow->wants_start) {
        follow->wants_start = false;
        add_bookmark(sim, follow, true, frames);
    }
}

void sim_follow_bookmark(struct simulator *sim, struct follow *follow, struct text *frames)
{
    add_bookmark(sim, follow, false, frames);
}

void sim_follow_free(struct follow *follow)
{
    if (!follow)
        return;
    api_filter_clear(&follow->filter);
    map_free(follow->sent);
    mem_free(follow->target);
    mem_free(follow);
}

/* ---- the beginning ---- */

/* What the client has seen: a list of that version, or the present state. */
static void start_from(struct sim_call *call, struct follow *follow, uint64_t version)
{
    struct client_memory *memory = client_memory_of(call->cluster);
    owned(chars) char *key = list_key(follow->filter.resource, version);
    owned(json) json_t *known = json_incref(map_get(memory->lists, key));
    owned(json) json_t *items = api_filter_collect(call, &follow->filter);
    const char *name;
    json_t *object;

    if (!known)
        known = by_key(items);
    json_object_foreach(known, name, object) {
        if (api_filter_takes(&follow->filter, object))
            map_set(follow->sent, name, json_incref(object));
    }
}

static bool is_true(const struct sim_call *call, const char *name)
{
    owned(chars) char *value = url_query(call->request->target, name);

    return value && (text_equal(value, "true") || text_equal(value, "1"));
}

/* A whole number up to `most`, or `otherwise`. */
static long long number(const struct sim_call *call, const char *name, long long most,
                        long long otherwise)
{
    owned(chars) char *chars = url_query(call->request->target, name);
    long long value;

    return chars && text_to_int(chars, 0, most, &value) ? value : otherwise;
}

void api_follow(const struct api_request *request, struct api_filter *filter)
{
    struct sim_call *call = request->call;
    struct kube_cluster *cluster = call->cluster;
    uint64_t version = (uint64_t)number(call, "resourceVersion", INT64_MAX, 0);
    struct watch_query *query = &call->answer->watch;
    struct follow *follow;

    if (version > cluster->version) {
        api_filter_clear(filter);
        sim_kube_status(call->answer, 504, "Timeout",
                        "Too large resource version: %" PRIu64 ", current: %" PRIu64, version,
                        cluster->version);
        return;
    }
    follow = mem_new(sizeof *follow);
    follow->cluster = cluster;
    follow->filter = *filter;
    *filter = (struct api_filter){ 0 };
    follow->form = api_form_of(call);
    follow->target = mem_copy_chars(call->request->target);
    follow->sent = map_new(free_json);
    follow->wants_start = is_true(call, "sendInitialEvents");
    if (version && !follow->wants_start)
        start_from(call, follow, version);
    query->cluster = cluster;
    query->kind = OBJECTS;
    query->version = cluster->version;
    query->wants_bookmarks = is_true(call, "allowWatchBookmarks");
    query->timeout_ms = number(call, "timeoutSeconds", INT32_MAX, WATCH_S) * SECOND_MS;
    query->follow = follow;
    call->answer->status = 200;
    call->answer->content_type = "application/json";
}
