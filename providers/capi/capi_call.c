/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See capi_call.h.
 */
#include "providers/capi/capi_call.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "clusters/kube/served.h"
#include "providers/capi/capi_machine.h"

enum { TIMEOUT_MS = 30 * SECOND_MS, PAGE_ITEMS = 500 };

#define CLUSTER_API "cluster.x-k8s.io"
#define ANY_VERSION "v1beta2" /* served_send() puts the server's own */

/* Permissions in the words of an RBAC rule: API group, resource, verb. */
const struct provider_action capi_actions[CAPI_ACTION_COUNT] = {
    [CAPI_LIST_MACHINES] = { "list machines", CLUSTER_API " machines list", false,
                             "which machines a pool has" },
    [CAPI_GET_MACHINE] = { "get machine", CLUSTER_API " machines get", false,
                           "whether a machine is gone" },
    [CAPI_MARK_MACHINE] = { "patch machine", CLUSTER_API " machines patch", true,
                            "marks the machine that leaves" },
    [CAPI_GET_DEPLOYMENT] = { "get machinedeployment", CLUSTER_API " machinedeployments get", false,
                              "the size of a pool" },
    [CAPI_SCALE_DEPLOYMENT] = { "patch machinedeployment scale",
                                CLUSTER_API " machinedeployments/scale patch", true,
                                "changes the size of a pool" },
    [CAPI_GET_POOL] = { "get machinepool", CLUSTER_API " machinepools get", false,
                        "the size of a pool" },
    [CAPI_SCALE_POOL] = { "patch machinepool scale", CLUSTER_API " machinepools/scale patch", true,
                          "changes the size of a pool" },
    [CAPI_LIST_CHECKS] = { "list machinehealthchecks", CLUSTER_API " machinehealthchecks list",
                           false, "whether machines are replaced when they fail" },
    [CAPI_REVIEW] = { "create selfsubjectaccessreview",
                      "authorization.k8s.io selfsubjectaccessreviews create", false,
                      "which of these permissions there are" },
};

struct capi_call *capi_call_new(struct provider *provider, const struct pool_address *address)
{
    const struct capi_pool *pool = capi_pool_of(address);
    struct capi *capi = (struct capi *)provider;
    struct capi_call *call = mem_new(sizeof *call);

    call->capi = capi;
    call->is_pool = pool->machine_pool != NULL;
    call->name = mem_copy_chars(call->is_pool ? pool->machine_pool : pool->machine_deployment);
    call->namespace = mem_copy_chars(pool->namespace);
    call->zone = mem_copy_chars(pool->zone ?: "");
    call->machines = url_format("/apis/" CLUSTER_API "/" ANY_VERSION "/namespaces/%s/machines",
                                pool->namespace);
    call->group = call->is_pool ? url_format("/apis/" CLUSTER_API "/" ANY_VERSION
                                             "/namespaces/%s/machinepools/%s",
                                             pool->namespace, call->name)
                                : url_format("/apis/" CLUSTER_API "/" ANY_VERSION
                                             "/namespaces/%s/machinedeployments/%s",
                                             pool->namespace, call->name);
    call->next = capi->first;
    if (capi->first)
        capi->first->previous = call;
    capi->first = call;
    return call;
}

void capi_call_free(struct capi_call *call)
{
    if (call->previous)
        call->previous->next = call->next;
    else
        call->capi->first = call->next;
    if (call->next)
        call->next->previous = call->previous;

    growth_leave(&call->turn);
    timer_free(call->late);
    json_decref(call->seen);
    mem_free(call->name);
    mem_free(call->namespace);
    mem_free(call->zone);
    mem_free(call->group);
    mem_free(call->machines);
    mem_free(call->instance);
    mem_free(call->request_id);
    mem_free(call->progress);
    mem_free(call);
}

static enum kube_verb verb_of(enum capi_action action)
{
    return action == CAPI_REVIEW              ? KUBE_CREATE
           : capi_actions[action].is_mutation ? KUBE_PATCH
                                              : KUBE_READ;
}

void capi_send(struct capi_call *call, const struct capi_request *request, kube_done_fn then)
{
    const struct provider_action *action = &capi_actions[request->action];
    struct kube_call sent = {
        .verb = verb_of(request->action),
        .priority = action->is_mutation ? HTTP_RECLAIM : HTTP_POLL,
        .target = request->target,
        .content_type = action->is_mutation ? "application/merge-patch+json" : NULL,
        .body = request->body,
        .timeout_ms = TIMEOUT_MS,
        .is_long = request->action == CAPI_LIST_MACHINES,
    };

    served_send(call->capi->served, &sent, then, call);
}

void capi_finish_done(struct capi_call *call, const char *operation, const struct error *err)
{
    provider_list_fn listed = call->listed;
    provider_look_fn looked = call->looked;
    provider_done_fn done = call->done;
    void *context = call->context;

    capi_call_free(call);
    if (listed)
        listed(context, NULL, err);
    else if (looked)
        looked(context, NULL, err);
    else
        done(context, operation, err);
}

static void on_late(void *context)
{
    struct capi_call *call = context;
    struct error failure = call->failure;

    error_context(&failure, "capi: %s %s", capi_kind_name(call), call->name);
    capi_finish_done(call, "", &failure);
}

/* In a turn of its own: the failure may come from within the question for the server's version,
   which must outlive the call. */
void capi_finish_failed(struct capi_call *call, const struct error *err)
{
    require(!call->late);
    call->failure = *err;
    growth_failed(&call->turn, &call->failure);
    call->late = timer_new(call->capi->world->loop, on_late, call);
    timer_set(call->late, 0);
}

const char *capi_kind_name(const struct capi_call *call)
{
    return call->is_pool ? "MachinePool" : "MachineDeployment";
}

static const char *label_key(const struct capi_call *call)
{
    return call->is_pool ? CLUSTER_API "/pool-name" : CLUSTER_API "/deployment-name";
}

char *capi_list_target(const struct capi_call *call, const char *page)
{
    owned(chars) char *selector = text_format("%s=%s", label_key(call), call->name);
    owned(chars) char *query = url_format("?labelSelector=%s", selector);
    owned(chars) char *rest = page ? url_format("&continue=%s", page) : mem_copy_chars("");

    return text_format("%s%s&limit=%d%s", call->machines, query, PAGE_ITEMS, rest);
}

bool capi_is_of_pool(const struct capi_call *call, const json_t *machine)
{
    return text_equal(capi_label(machine, label_key(call)), call->name);
}

void capi_read_size(struct capi_call *call, kube_done_fn then)
{
    capi_send(call,
              &(struct capi_request){
                  .action = call->is_pool ? CAPI_GET_POOL : CAPI_GET_DEPLOYMENT,
                  .target = call->group,
              },
              then);
}
