/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What can make it unsafe or impossible to resize a pool: read in turn are the pool, its Machines,
 * the health checks of its namespace, and our own permissions.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "clusters/kube/kube_error.h"
#include "providers/capi/capi_call.h"
#include "providers/capi/capi_machine.h"
#include "providers/capi/capi_verbs.h"

#include <stdarg.h>
#include <string.h>

#define AUTOSCALER "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"

/* A finding without its sentence. */
struct about {
    enum finding_verdict verdict;
    const char *subject;
    const char *remedy;
};

static void __attribute__((format(printf, 3, 4)))
tell(struct capi_call *call, const struct about *about, const char *format, ...)
{
    struct finding finding = { .subject = about->subject, .remedy = about->remedy };
    char sentence[512];
    va_list arguments;

    va_start(arguments, format);
    text_print_arguments(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    finding.verdict = about->verdict;
    finding.text = sentence;
    call->found(call->context, &finding);
}

/* An answer that is missing for lack of a permission: the reviews at the end name it. */
static bool is_refusal(const struct error *err)
{
    return err && err->kind == ERROR_DENIED;
}

/* ---- permissions ---- */

static void ask_review(struct capi_call *call);

/* "GROUP RESOURCE[/SUBRESOURCE] VERB" */
struct permission {
    char group[64];
    char resource[64];
    char subresource[32];
    char verb[32];
};

static struct permission permission_of(const struct provider_action *action)
{
    struct permission read = { 0 };
    const char *at = action->permission;
    size_t group = strcspn(at, " ");
    size_t resource = strcspn(at + group + 1, " ");
    const char *middle = at + group + 1;
    size_t plain = strcspn(middle, "/ ");

    text_print(read.group, sizeof read.group, "%.*s", (int)group, at);
    text_print(read.resource, sizeof read.resource, "%.*s", (int)plain, middle);
    if (plain < resource)
        text_print(read.subresource, sizeof read.subresource, "%.*s", (int)(resource - plain - 1),
                   middle + plain + 1);
    text_copy(read.verb, sizeof read.verb, middle + resource + 1);
    return read;
}

/* Whether this pool needs it.  Anyone may ask for a review. */
static bool is_needed(const struct capi_call *call, size_t action)
{
    bool is_of_deployment = action == CAPI_GET_DEPLOYMENT || action == CAPI_SCALE_DEPLOYMENT;
    bool is_of_pool = action == CAPI_GET_POOL || action == CAPI_SCALE_POOL;

    return action != CAPI_REVIEW && !(call->is_pool ? is_of_deployment : is_of_pool);
}

static void on_review(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    const struct provider_action *action = &capi_actions[call->at];
    bool is_allowed = json_bool_or(body, "status/allowed", false);

    if (is_refusal(err)) {
        tell(call,
             &(struct about){ FINDING_DOUBTFUL, capi_actions[CAPI_REVIEW].permission,
                              "give it to sluice's user by a ClusterRole, or check its Roles by "
                              "hand" },
             "it is not known which permissions there are (%s)", error_leaf(err));
        capi_finish_done(call, "", NULL);
        return;
    }
    if (err) {
        capi_finish_failed(call, err);
        return;
    }
    if (is_allowed)
        tell(call, &(struct about){ FINDING_RIGHT, action->permission, "" }, "it is allowed (%s)",
             action->purpose);
    else
        tell(call,
             &(struct about){ call->at == CAPI_LIST_CHECKS ? FINDING_DOUBTFUL : FINDING_WRONG,
                              action->permission,
                              "give it to sluice's user by a Role in the namespace of the pool" },
             "the permission is missing (%s)", action->purpose);
    call->at++;
    ask_review(call);
}

static void ask_review(struct capi_call *call)
{
    while (call->at < CAPI_ACTION_COUNT && !is_needed(call, call->at))
        call->at++;
    if (call->at == CAPI_ACTION_COUNT) {
        capi_finish_done(call, "", NULL);
        return;
    }

    struct permission wanted = permission_of(&capi_actions[call->at]);
    owned(json) json_t *body = json_make(
        "{s:s, s:s, s:{s:{s:s, s:s, s:s, s:s, s:s}}}", "apiVersion", "authorization.k8s.io/v1",
        "kind", "SelfSubjectAccessReview", "spec", "resourceAttributes", "namespace",
        call->namespace, "group", wanted.group, "resource", wanted.resource, "subresource",
        wanted.subresource, "verb", wanted.verb);

    capi_send(call,
              &(struct capi_request){
                  .action = CAPI_REVIEW,
                  .target = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                  .body = body,
              },
              on_review);
}

/* ---- health checks ---- */

/* Whether the check selects Machines with the labels of the pool's template. */
static bool selects(const json_t *check, const json_t *pool)
{
    json_t *labels = json_at(pool, "spec/template/metadata/labels");
    json_t *wanted = json_at(check, "spec/selector/matchLabels");
    const char *key;
    json_t *value;

    if (!text_equal(json_text_or(check, "spec/clusterName", ""),
                    json_text_or(pool, "spec/clusterName", "?")))
        return false;
    json_object_foreach(wanted, key, value) {
        const char *own = json_string_value(json_object_get(labels, key));
        bool is_own_name = text_equal(key, "cluster.x-k8s.io/deployment-name") &&
                           text_equal(json_string_value(value),
                                      json_text_or(pool, "metadata/name", ""));
        bool is_cluster = text_equal(key, "cluster.x-k8s.io/cluster-name");

        if (!is_own_name && !is_cluster && !text_equal(own, json_string_value(value)))
            return false;
    }
    return true;
}

static void on_checks(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    const json_t *check;
    size_t at;

    if (err && !is_refusal(err) && err->kind != ERROR_INVALID) {
        capi_finish_failed(call, err);
        return;
    }
    json_array_foreach(json_at(body, "items"), at, check) {
        if (selects(check, call->seen))
            tell(call,
                 &(struct about){ FINDING_DOUBTFUL, "MachineHealthCheck",
                                  "give its node startup timeout more time than a machine takes "
                                  "here, or remove it" },
                 "%s may delete a Machine that it finds unhealthy, and the pool then replaces it",
                 json_text_or(check, "metadata/name", ""));
    }
    call->at = 0;
    ask_review(call);
}

static void ask_checks(struct capi_call *call)
{
    owned(chars) char *target = text_format("%.*s/machinehealthchecks",
                                            (int)(strlen(call->machines) - strlen("/machines")),
                                            call->machines);

    capi_send(call, &(struct capi_request){ .action = CAPI_LIST_CHECKS, .target = target },
              on_checks);
}

/* ---- Machines ---- */

static void tell_machine(struct capi_call *call, const struct instance *machine,
                         const json_t *object, const char *first_zone)
{
    if (!capi_is_leaving(object) && capi_mark_of(object))
        tell(call,
             &(struct about){
                 FINDING_WRONG, CAPI_DELETE_MACHINE,
                 "remove the annotation, unless a removal of this Machine is in progress" },
             "Machine %s is marked, and goes first whenever the pool gets smaller", machine->name);
    if (machine->zone[0] != '\0' && !text_equal(machine->zone, first_zone))
        tell(call,
             &(struct about){ FINDING_WRONG, "spec.failureDomain",
                              "use one MachineDeployment for each failure domain" },
             "Machine %s is in %s and others in %s: a new one may come to either", machine->name,
             machine->zone, first_zone);
}

static void tell_machines(struct capi_call *call, const json_t *items)
{
    char first_zone[INSTANCE_ZONE_SIZE] = "";
    struct capi_group group;
    const json_t *item;
    size_t at;

    if (call->is_pool && json_is_array(items) && json_array_size(items) == 0 &&
        capi_read_group(call->seen, &group, NULL) == 0 && group.present > 0)
        tell(call, &(struct about){ FINDING_WRONG, "MachinePool", "use a MachineDeployment" },
             "its provider makes no Machines, so that no chosen one can leave it");
    json_array_foreach(items, at, item) {
        struct instance machine;

        if (capi_read_machine(item, &machine, NULL) < 0)
            continue;
        if (first_zone[0] == '\0')
            text_copy(first_zone, sizeof first_zone, machine.zone);
        tell_machine(call, &machine, item, first_zone);
    }
    if (first_zone[0] != '\0' && call->zone[0] != '\0' && !text_equal(first_zone, call->zone))
        tell(call,
             &(struct about){ FINDING_DOUBTFUL, "spec.failureDomain",
                              "compare it with the zone of the reservation" },
             "the Machines are in failure domain %s, and the reservation is in zone %s", first_zone,
             call->zone);
}

static void on_machines(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;

    if (err && !is_refusal(err)) {
        capi_finish_failed(call, err);
        return;
    }
    tell_machines(call, json_at(body, "items"));
    ask_checks(call);
}

/* ---- the pool ---- */

static void tell_rivals(struct capi_call *call, const json_t *pool)
{
    const char *least = capi_annotation(pool, AUTOSCALER "min-size");
    const char *most = capi_annotation(pool, AUTOSCALER "max-size");
    const char *manager = capi_annotation(pool, "cluster.x-k8s.io/replicas-managed-by");

    if (least || most)
        tell(call,
             &(struct about){
                 FINDING_WRONG, AUTOSCALER "min-size, max-size",
                 "remove both annotations, so that the Cluster Autoscaler leaves the pool alone" },
             "the Cluster Autoscaler keeps the pool between %s and %s", least ?: "0",
             most ?: "no limit");
    if (manager)
        tell(call,
             &(struct about){ FINDING_WRONG, "cluster.x-k8s.io/replicas-managed-by",
                              "let sluice alone size the pool" },
             "its size is managed by %s", manager);
    if (capi_label(pool, "topology.cluster.x-k8s.io/owned"))
        tell(call,
             &(struct about){
                 FINDING_DOUBTFUL, "topology.cluster.x-k8s.io/owned",
                 "leave `replicas` of this pool empty in spec.topology.workers of the Cluster" },
             "the pool is made from a ClusterClass, which sets its replicas back if they are named "
             "there");
}

static void tell_pool(struct capi_call *call, const json_t *pool)
{
    json_t *domains = json_at(pool, "spec/failureDomains");
    struct capi_group group;
    struct error err = { 0 };

    if (capi_read_group(pool, &group, &err) < 0)
        tell(call, &(struct about){ FINDING_WRONG, capi_kind_name(call), "look at the object" },
             "%s", err.text);
    else if (group.busy[0] != '\0' || group.is_lagging)
        tell(call,
             &(struct about){ FINDING_DOUBTFUL, capi_kind_name(call),
                              "wait until it has ended, or end it" },
             "sluice leaves it alone for now: %s", group.busy[0] != '\0' ? group.busy : capi_lags);
    else
        tell(call, &(struct about){ FINDING_RIGHT, capi_kind_name(call), "" },
             "it is at rest, with %d Machines", (int)group.wanted);
    if (json_array_size(domains) > 1)
        tell(call,
             &(struct about){ FINDING_WRONG, "spec.failureDomains",
                              "use one pool for each failure domain" },
             "it has %zu failure domains, and a new machine may come to any of them",
             json_array_size(domains));
    tell_rivals(call, pool);
}

static void on_pool(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    owned(chars) char *target = NULL;

    if (err && err->cause == &kube_cause_no_group)
        tell(call,
             &(struct about){ FINDING_WRONG, "cluster.x-k8s.io",
                              "name the management cluster in the kubeconfig of the provider" },
             "the server does not have Cluster API");
    else if (err && err->kind == ERROR_NOT_FOUND)
        tell(call,
             &(struct about){ FINDING_WRONG, capi_kind_name(call),
                              "correct its name or namespace in sluice.yaml" },
             "namespace %s has no %s %s", call->namespace, capi_kind_name(call), call->name);
    else if (err && !is_refusal(err)) {
        capi_finish_failed(call, err);
        return;
    }
    if (body) {
        tell_pool(call, body);
        call->seen = json_deep_copy(body);
        target = capi_list_target(call, NULL);
        capi_send(call, &(struct capi_request){ .action = CAPI_LIST_MACHINES, .target = target },
                  on_machines);
        return;
    }
    ask_review(call);
}

void capi_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                  provider_done_fn done, void *context)
{
    struct capi_call *call = capi_call_new(provider, pool);

    call->found = found;
    call->done = done;
    call->context = context;
    capi_read_size(call, on_pool);
}
