/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Machines of Cluster API: lists in pages, one by its name, and the mark that chooses one to go.
 */
#include "tools/simulator/cloud/capi_cloud.h"
#include "tools/simulator/cloud/clouds.h"
#include "tools/simulator/model/lies.h"

#define GROUP "cluster.x-k8s.io"
#define MARK "cluster.x-k8s.io/delete-machine"

enum { PAGE_MOST = 6 }; /* a server may send fewer than were asked for */

static struct machine *find_machine(const struct capi_asked *asked)
{
    for (size_t i = 0; i < asked->call->sim->pool_count; i++) {
        const struct pool *pool = &asked->call->sim->pools[i];
        struct machine *machine = sim_capi_is_of(pool, asked->provider) &&
                                          text_equal(sim_capi_namespace(pool), asked->namespace)
                                      ? sim_machine_find(pool, asked->name)
                                      : NULL;

        if (machine)
            return machine;
    }
    sim_kube_status(asked->call->answer, 404, "NotFound", "machines." GROUP " \"%s\" not found",
                    asked->name);
    return NULL;
}

/* Of the page after the token; text: as a list that lies has it. */
static void list_shown(const struct capi_asked *asked, struct pool *pool, const char *after)
{
    struct shown_list shown = { 0 };
    json_t *items = json_array();
    const char *next = NULL;
    struct error err = { 0 };

    sim_machines_shown(asked->call->sim, pool, &shown);
    for (size_t i = 0; i < shown.count; i++) {
        const struct shown *one = &shown.items[i];

        if (after && strcmp(one->name, after) <= 0)
            continue;
        if (json_array_size(items) == PAGE_MOST) {
            next = shown.items[i - 1].name;
            break;
        }
        json_array_append_new(
            items, one->machine
                       ? sim_capi_machine_json(asked->call->sim, one->machine, asked->is_old)
                       : json_parse(one->text, strlen(one->text), "past", &err));
    }
    sim_capi_answer_list(asked, items, next);
    array_clear(&shown);
}

/* The pool that "cluster.x-k8s.io/deployment-name=NAME" selects; NULL: none. */
static struct pool *selected(const struct capi_asked *asked, const char *selector)
{
    for (size_t i = 0; i < asked->call->sim->pool_count; i++) {
        struct pool *pool = &asked->call->sim->pools[i];
        owned(chars) char *own = text_format(
            GROUP "/%s=%s", sim_capi_is_machine_pool(pool) ? "pool-name" : "deployment-name",
            sim_capi_name(pool));

        if (sim_capi_is_of(pool, asked->provider) &&
            text_equal(sim_capi_namespace(pool), asked->namespace) && text_equal(own, selector))
            return pool;
    }
    return NULL;
}

void sim_capi_list_machines(const struct capi_asked *asked)
{
    static const char *const known[] = { "labelSelector", "limit", "continue" };
    struct sim_call *call = asked->call;
    owned(chars) char *selector = url_query(call->request->target, "labelSelector");
    owned(chars) char *limit = url_query(call->request->target, "limit");
    owned(chars) char *after = url_query(call->request->target, "continue");
    struct pool *pool = selected(asked, selector);
    long long most = 0;

    call->verb = "list_machines";
    if (sim_call_fault(call))
        return;
    if (!sim_kube_query_is_known(call, known, COUNT_OF(known)))
        return;
    if (!limit || !text_to_int(limit, 1, 1000000, &most))
        sim_kube_status(call->answer, 400, "BadRequest", "limit: a list must come in pages");
    else if (after && sim_fault_scripted(call->sim, FAULT_WATCH_GAP, call->verb))
        sim_kube_status(call->answer, 410, "Expired",
                        "The provided continue parameter is too old to display a consistent list "
                        "result.");
    else if (!pool || sim_fault_now(call->sim, FAULT_EMPTY_LIST, call->verb))
        sim_capi_answer_list(asked, json_array(), NULL);
    else
        list_shown(asked, pool, after);
}

static void answer_machine(const struct capi_asked *asked, const struct machine *machine)
{
    sim_answer_json(asked->call->answer, 200,
                    sim_capi_machine_json(asked->call->sim, machine, asked->is_old));
}

/* Only what is the same in all versions of a Machine may be written. */
static bool patch_is_known(struct sim_call *call, const json_t *body)
{
    json_t *metadata = json_object_get(body, "metadata");
    const char *key;
    json_t *value;

    json_object_foreach(metadata, key, value) {
        if (!text_equal(key, "uid") && !text_equal(key, "resourceVersion") &&
            !text_equal(key, "annotations")) {
            sim_kube_status(call->answer, 400, "BadRequest", "metadata.%s: unknown field", key);
            return false;
        }
    }
    json_object_foreach(json_object_get(metadata, "annotations"), key, value) {
        if (!text_equal(key, MARK) || (!json_is_string(value) && !json_is_null(value))) {
            sim_kube_status(call->answer, 400, "BadRequest", "metadata.annotations: %s", key);
            return false;
        }
    }
    if (metadata && json_object_size(body) == 1)
        return true;
    sim_kube_status(call->answer, 400, "BadRequest", "only metadata is written here");
    return false;
}

static void patch_machine(const struct capi_asked *asked, struct machine *machine)
{
    struct sim_call *call = asked->call;
    owned(json) json_t *shown = sim_capi_machine_json(call->sim, machine, false);
    struct capi_machine_state *state = sim_capi_machine(call->sim, machine);
    owned(json) json_t *body = NULL;
    json_t *mark;

    if (!sim_kube_is_content(call, "application/merge-patch+json"))
        return;
    body = sim_kube_body(call);
    if (!body || !patch_is_known(call, body) ||
        !sim_kube_uid_stays(call, "Machine", machine->name, json_text_or(shown, "metadata/uid", ""),
                            json_text_or(body, "metadata/uid", NULL)) ||
        !sim_capi_version_is_current(
            call, body, json_text_or(shown, "metadata/resourceVersion", ""), machine->name))
        return;
    mark = json_object_get(json_at(body, "metadata/annotations"), MARK);
    if (mark)
        text_copy(state->mark, sizeof state->mark, json_string_value(mark) ?: "");
    state->edits++;
    sim_trace(call->sim, "mark %s %s", machine->name, state->mark);
    answer_machine(asked, machine);
}

/* kubectl delete machine: its pool makes another in its place, once it is gone. */
static void delete_machine(const struct capi_asked *asked, struct machine *machine)
{
    struct capi_pool_state *state = sim_capi_pool(asked->call->sim, machine->pool);

    sim_machine_remove(asked->call->sim, machine);
    sim_capi_wake(asked->call->sim, state);
    answer_machine(asked, machine);
}

void sim_capi_on_machine(const struct capi_asked *asked)
{
    struct sim_call *call = asked->call;
    enum http_method method = call->request->method;
    struct machine *machine;

    call->verb = method == HTTP_GET ? "get_machine" : "mark_machine";
    if (sim_call_fault(call))
        return;
    machine = find_machine(asked);
    if (!machine)
        return;
    if (method == HTTP_GET)
        answer_machine(asked, machine);
    else if (method == HTTP_PATCH)
        patch_machine(asked, machine);
    else if (method == HTTP_DELETE && asked->is_admin)
        delete_machine(asked, machine);
    else
        sim_kube_status(call->answer, 403, "Forbidden", "User \"sluice\" cannot do that");
}
