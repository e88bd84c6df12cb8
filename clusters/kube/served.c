/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See served.h.
 */
#include "clusters/kube/served.h"

#include "base/array.h"
#include "base/input/json.h"
#include "base/text.h"
#include "clusters/kube/kube_error.h"

#include <string.h>

enum {
    FRESH_MS = 10 * MINUTE_MS,
    TIMEOUT_MS = 15 * SECOND_MS,
    KNOWN_MAX = 3,
};

/* Newest first.  The members that sluice reads and writes have the same form in all versions.  But
   an older version lacks members of a newer one, and a write in it removes them (for an autoscaler
   the server keeps them in annotations).  Cluster API's statuses differ: their readers know both.
 */
static const struct {
    const char *group;
    const char *versions[KNOWN_MAX];
} known[] = {
    { "policy", { "v1", "v1beta1" } },
    { "cluster.x-k8s.io", { "v1beta2", "v1beta1" } },
    { "kueue.x-k8s.io", { "v1beta2", "v1beta1" } },
    { "autoscaling", { "v2", "v2beta2", "v1" } },
    { "resource.k8s.io", { "v1", "v1beta2", "v1beta1" } },
};

struct waiter {
    served_done_fn done;
    void *context;
    void (*drop)(void *context); /* when no call will come any more; NULL: the context is the
                                    caller's */
};

struct lookup {
    struct served *served;
    const char *version; /* NULL: not known */
    int64_t asked_ms;
    bool is_under_way;
    ARRAY(struct waiter) waiters;
};

struct served {
    struct kube_session *session;
    struct lookup lookups[COUNT_OF(known)];
};

/* A request that waits for the version to name. */
struct parcel {
    struct served *served;
    struct kube_call call;
    char *target;
    json_t *body;
    kube_done_fn done;
    void *context;
};

struct served *served_new(struct kube_session *session)
{
    struct served *served = mem_new(sizeof *served);

    served->session = session;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        served->lookups[i].served = served;
    return served;
}

void served_free(struct served *served)
{
    if (!served)
        return;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        struct lookup *lookup = &served->lookups[i];

        for (size_t k = 0; k < lookup->waiters.count; k++)
            if (lookup->waiters.items[k].drop)
                lookup->waiters.items[k].drop(lookup->waiters.items[k].context);
        array_clear(&lookup->waiters);
    }
    mem_free(served);
}

static size_t row_of(const struct lookup *lookup)
{
    return (size_t)(lookup - lookup->served->lookups);
}

static bool has_version(const json_t *group, const char *version)
{
    size_t at;
    const json_t *one;

    json_array_foreach(json_object_get(group, "versions"), at, one) {
        if (text_equal(json_text_or(one, "version", ""), version))
            return true;
    }
    return false;
}

static const char *newest_of(size_t row, const json_t *group)
{
    for (size_t i = 0; i < KNOWN_MAX && known[row].versions[i]; i++)
        if (has_version(group, known[row].versions[i]))
            return known[row].versions[i];
    return NULL;
}

static void on_group(void *context, const json_t *body, const struct error *err)
{
    struct lookup *lookup = context;
    size_t row = row_of(lookup);
    struct error none = { 0 };
    struct waiter *waiters = lookup->waiters.items;
    size_t count = lookup->waiters.count;

    lookup->is_under_way = false;
    if (err && lookup->version && (err->kind == ERROR_TRANSIENT || err->kind == ERROR_THROTTLED))
        err = NULL; /* a server that is busy has what it had minutes ago */
    else
        lookup->version = err ? NULL : newest_of(row, body);
    if (err ? err->kind == ERROR_INVALID : !lookup->version) {
        if (err)
            none = *err;
        else
            error_set(&none, ERROR_INVALID, "cluster %s", kube_name(lookup->served->session));
        error_context(&none, "the server has no version of %s that sluice knows", known[row].group);
        if (none.cause == &kube_cause_unserved)
            error_because(&none, &kube_cause_no_group);
        err = &none;
    }
    memset(&lookup->waiters, 0, sizeof lookup->waiters); /* later callers come after these */
    for (size_t i = 0; i < count; i++)
        waiters[i].done(waiters[i].context, lookup->version, err);
    mem_free(waiters);
}

static void ask(struct lookup *lookup, const struct waiter *waiter, enum http_priority priority)
{
    struct kube_session *session = lookup->served->session;
    int64_t now = loop_now(kube_world(session)->loop);
    owned(chars) char *target = text_format("/apis/%s", known[row_of(lookup)].group);
    struct kube_call call = {
        .verb = KUBE_READ,
        .priority = priority,
        .target = target,
        .timeout_ms = TIMEOUT_MS,
    };

    if (lookup->version && now - lookup->asked_ms < FRESH_MS) {
        waiter->done(waiter->context, lookup->version, NULL);
        return;
    }
    *array_add(&lookup->waiters) = *waiter;
    if (lookup->is_under_way)
        return;
    lookup->is_under_way = true;
    lookup->asked_ms = now;
    kube_send(session, &call, on_group, lookup);
}

/* The row of the API group at the head of the text, which ends at a slash or with the text; NULL:
   the group is not in the table. */
static struct lookup *lookup_of(struct served *served, const char *group)
{
    size_t length = strcspn(group, "/");

    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strlen(known[i].group) == length && strncmp(known[i].group, group, length) == 0)
            return &served->lookups[i];
    return NULL;
}

void served_ask(struct served *served, const char *group, served_done_fn done, void *context)
{
    struct lookup *lookup = lookup_of(served, group);

    require(lookup);
    ask(lookup, &(struct waiter){ done, context, NULL }, HTTP_INVENTORY);
}

static void parcel_free(void *context)
{
    struct parcel *parcel = context;

    mem_free(parcel->target);
    json_decref(parcel->body);
    mem_free(parcel);
}

static const char apis[] = "/apis/";

/* "/apis/GROUP/VERSION/REST" with another version. */
static void send_parcel(void *context, const char *version, const struct error *err)
{
    struct parcel *parcel = context;
    const char *group = parcel->target + sizeof apis - 1;
    size_t head = sizeof apis + strcspn(group, "/");
    const char *named = parcel->target + head;
    owned(chars) char *target = NULL;

    if (err) {
        parcel->done(parcel->context, NULL, err);
    } else {
        target = text_format("%.*s%s%s", (int)head, parcel->target, version,
                             named + strcspn(named, "/"));
        parcel->call.target = target;
        kube_send(parcel->served->session, &parcel->call, parcel->done, parcel->context);
    }
    parcel_free(parcel);
}

void served_send(struct served *served, const struct kube_call *call, kube_done_fn done,
                 void *context)
{
    const char *group = text_starts_with(call->target, apis) ? call->target + sizeof apis - 1 : "";
    struct lookup *lookup = strchr(group, '/') ? lookup_of(served, group) : NULL;
    struct parcel *parcel;

    if (!lookup) {
        kube_send(served->session, call, done, context);
        return;
    }
    parcel = mem_new(sizeof *parcel);
    *parcel = (struct parcel){
        .served = served,
        .call = *call,
        .target = mem_copy_chars(call->target),
        .body = call->body ? json_deep_copy(call->body) : NULL,
        .done = done,
        .context = context,
    };
    parcel->call.body = parcel->body;
    ask(lookup, &(struct waiter){ send_parcel, parcel, parcel_free }, call->priority);
}
