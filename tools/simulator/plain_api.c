/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cluster of another kind: nodes and jobs, and none of Kubernetes' objects.  It is the control
 * plane of a cluster of the world, which tests ask by /plain/NAME/.
 *
 *     GET  nodes
 *         {nodes: [{name, id, machine, is_ready, is_open, is_new, is_movable, gpus, transfer,
 *                   leaves, jobs: [{name, id, gpus, is_stopping}]}]}
 *     POST nodes/NAME/VERB
 *         {id, ...}; VERB: note (transfer, leaves), close, open, serve, forget
 *     POST jobs/NAME/stop
 *         {id, grace_s}
 *
 * A node or job of another id is a conflict, and one that is not there is not found.
 */
#include "tools/simulator/model/model.h"

#define TRANSFER "plain-transfer"
#define LEAVES "plain-leaves"

static void answer_code(struct sim_call *call, int status)
{
    sim_answer_json(call->answer, status, json_make("{si}", "status", status));
}

static json_t *describe_jobs(const struct kube_node *node)
{
    json_t *jobs = json_array();

    for (size_t i = 0; i < node->pods.count; i++) {
        const struct kube_pod *pod = node->pods.items[i];
        owned(chars) char *name = text_format("%s.%s", pod->namespace, pod->name);

        if (sim_pod_must_leave(pod))
            json_array_append_new(jobs,
                                  json_make("{ss ss si sb}", "name", name, "id", pod->uid, "gpus",
                                            pod->gpus, "is_stopping", (int)(pod->deletion_ms > 0)));
    }
    return jobs;
}

static json_t *describe_node(const struct kube_node *node)
{
    return json_make("{ss ss ss sb sb sb sb si ss ss so}", "name", node->name, "id", node->uid,
                     "machine", node->provider_id, "is_ready", (int)(node->readiness == NODE_READY),
                     "is_open", (int)!node->is_unschedulable, "is_new",
                     (int)sim_node_has_taint(node, SIM_STARTING), "is_movable",
                     (int)!node->is_static, "gpus", node->gpus, "transfer",
                     json_text_or(node->annotations, TRANSFER, ""), "leaves",
                     json_text_or(node->annotations, LEAVES, ""), "jobs", describe_jobs(node));
}

static void list_nodes(struct sim_call *call)
{
    json_t *nodes = json_array();
    void *value;

    call->verb = "plain_list";
    if (sim_call_fault(call)) {
        json_decref(nodes);
        return;
    }
    for (size_t i = 0; map_next(call->cluster->nodes, &i, NULL, &value);)
        json_array_append_new(nodes, describe_node(value));
    sim_answer_json(call->answer, 200, json_make("{so}", "nodes", nodes));
}

static void set_note(struct kube_node *node, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_object_set_new(node->annotations, key, json_text(text));
    else
        json_object_del(node->annotations, key);
}

static void lift_starting(struct kube_node *node)
{
    for (size_t i = json_array_size(node->taints); i-- > 0;)
        if (text_equal(json_text_or(json_array_get(node->taints, i), "key", ""), SIM_STARTING))
            json_array_remove(node->taints, i);
}

static const char *const verbs[][2] = {
    { "note", "plain_note" },   { "close", "plain_close" },   { "open", "plain_open" },
    { "serve", "plain_serve" }, { "forget", "plain_forget" },
};

static void change_node(struct sim_call *call, struct kube_node *node, const char *verb,
                        const json_t *body)
{
    struct simulator *sim = call->sim;

    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (text_equal(verbs[i][0], verb))
            call->verb = verbs[i][1];
    if (!call->verb) {
        answer_code(call, 404);
        return;
    }
    if (sim_call_fault(call))
        return;
    referee_change_plain(sim, call->verb, node, node->name);
    if (text_equal(verb, "forget")) {
        if (node->machine)
            answer_code(call, 409);
        else
            sim_node_delete(sim, node);
    } else {
        if (!text_equal(verb, "serve")) {
            set_note(node, TRANSFER, json_text_or(body, "transfer", ""));
            set_note(node, LEAVES, json_text_or(body, "leaves", ""));
        }
        if (text_equal(verb, "serve"))
            lift_starting(node);
        if (text_equal(verb, "close") || text_equal(verb, "open"))
            node->is_unschedulable = text_equal(verb, "close");
        sim_node_changed(sim, node, CHANGE_MODIFIED);
        sim_node_review(sim, node);
    }
    if (!call->answer->body)
        answer_code(call, 200);
}

static void post_node(struct sim_call *call, const char *name, const char *verb, const json_t *body)
{
    struct kube_node *node = map_get(call->cluster->nodes, name);

    if (!node)
        answer_code(call, 404);
    else if (!text_equal(node->uid, json_text_or(body, "id", "")))
        answer_code(call, 409);
    else
        change_node(call, node, verb, body);
}

static void stop_job(struct sim_call *call, const char *name, const json_t *body)
{
    owned(chars) char *key = mem_copy_chars(name);
    char *dot = strchr(key, '.');
    struct kube_pod *pod;

    call->verb = "plain_stop";
    if (sim_call_fault(call))
        return;
    if (dot)
        *dot = '/';
    pod = map_get(call->cluster->pods, key);
    if (!pod) {
        answer_code(call, 404);
    } else if (!text_equal(pod->uid, json_text_or(body, "id", ""))) {
        answer_code(call, 409);
    } else {
        owned(chars) char *object = text_format("jobs/%s", name);

        referee_change_plain(call->sim, call->verb, pod->node, object);
        sim_pod_terminate(call->sim, pod, json_int_or(body, "grace_s", -1));
        answer_code(call, 200);
    }
}

void sim_plain_answer(struct sim_call *call, size_t at)
{
    char **items = call->path->items + at;
    size_t count = call->path->count - at;
    owned(json) json_t *body = call->request->body ? json_loadb(call->request->body,
                                                                call->request->body_size, 0, NULL)
                                                   : NULL;

    if (count == 1 && text_equal(items[0], "nodes") && call->request->method == HTTP_GET)
        list_nodes(call);
    else if (count == 3 && text_equal(items[0], "nodes") && call->request->method == HTTP_POST)
        post_node(call, items[1], items[2], body);
    else if (count == 3 && text_equal(items[0], "jobs") && text_equal(items[2], "stop") &&
             call->request->method == HTTP_POST)
        stop_job(call, items[1], body);
    else
        answer_code(call, 404);
}
