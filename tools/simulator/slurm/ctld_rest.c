/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * slurmrestd.  A token is `slurm-CLUSTER`.  One of its sockets takes no tokens: it acts as its own
 * user, who is no operator, for callers that are this user or root, as sluice is here.  22.05 has
 * v0.0.36 to v0.0.38, which read, and change only jobs; 24.11 has v0.0.40 to v0.0.42.  What the
 * real one answers in each case is in tests/slurm/README.md.
 */
#include "tools/simulator/slurm/ctld.h"

enum { READS = 1, WRITES = 2, DELETES = 4 };

struct rest {
    struct sim_call *call;
    struct ctld *slurm;
    const char *name; /* the last item of the path */
    bool is_local;    /* through the socket that takes no tokens */
};

static bool is_new(const struct rest *rest)
{
    return rest->slurm->release >= 2411;
}

static void answer_plain(struct rest *rest, int status, const char *text)
{
    struct sim_answer *answer = rest->call->answer;

    answer->status = status;
    answer->content_type = "text/plain";
    text_free(answer->body);
    answer->body = text_new(4096);
    text_add(answer->body, "%s", text);
}

static void answer_list(struct rest *rest, const char *list, json_t *items)
{
    sim_answer_json(rest->call->answer, 200, ctld_envelope(rest->slurm, list, items, true));
}

/* list: NULL: the answer has none. */
static void refuse(struct rest *rest, int status, const char *list,
                   const struct ctld_refusal *refusal)
{
    json_t *body = ctld_envelope(rest->slurm, list, list ? json_array() : NULL, true);

    ctld_envelope_refuse(rest->slurm, body, refusal);
    sim_answer_json(rest->call->answer, status, body);
}

static void refuse_errno(struct rest *rest, enum ctld_errno error, const char *description,
                         const char *source)
{
    const struct ctld_refusal refusal = { description, source, (int)error, ctld_errno_text(error),
                                          false };

    refuse(rest, error == CTLD_ERROR_INVALID_JOB && is_new(rest) ? 404 : 500, NULL, &refusal);
}

/* ---- reads ---- */

static void ping(struct rest *rest, bool is_up)
{

    answer_list(rest, "pings",
                is_new(rest) ? json_make("[{ss ss sb si ss sb}]", "hostname", "login", "pinged",
                                         is_up ? "UP" : "DOWN", "responding", (int)is_up, "latency",
                                         900, "mode", "primary", "primary", 1)
                             : json_make("[{ss ss si ss}]", "hostname", "login", "ping", "UP",
                                         "status", 0, "mode", "primary"));
}

static void ping_server(struct rest *rest)
{
    ping(rest, true);
}

static void list_nodes(struct rest *rest)
{
    json_t *items = json_array();
    void *value;

    for (size_t i = 0; map_next(rest->slurm->nodes, &i, NULL, &value);)
        if (ctld_is_listed(value))
            json_array_append_new(items, ctld_show_node(rest->slurm, value));
    answer_list(rest, "nodes", items);
}

static void get_node(struct rest *rest)
{
    const struct ctld_node *node = map_get(rest->slurm->nodes, rest->name);

    if (node && node->base != CTLD_FUTURE) {
        answer_list(rest, "nodes", json_make("[o]", ctld_show_node(rest->slurm, node)));
        return;
    }
    owned(chars) char *why = text_format("Failure to query node %s", rest->name);

    if (is_new(rest))
        refuse(rest, 200, NULL, &(struct ctld_refusal){ why, "_dump_nodes", 0, "No error", false });
    else
        refuse(rest, 500, "nodes",
               &(struct ctld_refusal){ NULL, NULL, CTLD_ERROR_INVALID_NODE,
                                       "Invalid node name specified", true });
}

static void list_jobs(struct rest *rest)
{
    json_t *items = json_array();

    for (size_t i = 0; i < rest->slurm->jobs.count; i++)
        json_array_append_new(items, ctld_show_job(rest->slurm, rest->slurm->jobs.items[i]));
    answer_list(rest, "jobs", items);
}

static void get_job(struct rest *rest)
{
    const struct ctld_job *job = ctld_job_find(rest->slurm, (int)ctld_leading(rest->name));
    owned(chars) char *why = text_format(
        is_new(rest) ? "Unable to query JobId=%s" : "Unable to find JobId=%s", rest->name);
    const struct ctld_refusal refusal = { why, is_new(rest) ? "_handle_job_get" : "slurm_load_job",
                                          CTLD_ERROR_INVALID_JOB,
                                          ctld_errno_text(CTLD_ERROR_INVALID_JOB), false };

    if (job)
        answer_list(rest, "jobs", json_make("[o]", ctld_show_job(rest->slurm, job)));
    else
        refuse(rest, is_new(rest) ? 404 : 500, "jobs", &refusal);
}

static void list_partitions(struct rest *rest)
{
    answer_list(rest, "partitions", ctld_show_partitions(rest->slurm, true));
}

static void list_reservations(struct rest *rest)
{
    json_t *items = json_array();

    for (size_t i = 0; i < rest->slurm->reservations.count; i++)
        json_array_append_new(
            items, ctld_show_reservation(rest->slurm, &rest->slurm->reservations.items[i]));
    answer_list(rest, "reservations", items);
}

static void get_reservation(struct rest *rest)
{
    const struct ctld_reservation *found = ctld_reservation_find(rest->slurm, rest->name);

    if (found)
        answer_list(rest, "reservations",
                    json_make("[o]", ctld_show_reservation(rest->slurm, found)));
    else if (is_new(rest))
        refuse(rest, 200, NULL,
               &(struct ctld_refusal){ "Unable to query reservations", "slurm_load_reservations()",
                                       0, "No error", false });
    else
        refuse(rest, 500, "reservations",
               &(struct ctld_refusal){ NULL, NULL, CTLD_ERROR_RESERVATION,
                                       "Requested reservation is invalid", true });
}

static void reconfigure(struct rest *rest)
{
    if (rest->is_local) {
        refuse_errno(rest, CTLD_ERROR_USER, "slurm_reconfigure() failed", "op_handler_reconfigure");
        return;
    }
    ctld_reread(rest->slurm, false);
    answer_list(rest, NULL, NULL);
}

/* ---- changes ---- */

/* The state: a word, or a list of one. */
static const char *state_of(const json_t *body)
{
    const json_t *state = json_object_get(body, "state");

    return json_string_value(json_is_array(state) ? json_array_get(state, 0) : state);
}

static void post_node(struct rest *rest)
{
    const struct sim_request *request = rest->call->request;
    owned(json) json_t *body = json_loadb(request->body ?: "", request->body_size, 0, NULL);
    owned(chars) char *why = text_format("Failure to update node %s", rest->name);
    enum ctld_errno error;

    if (!json_is_object(body)) {
        answer_plain(rest, 400, "Unable to parse query.");
        return;
    }
    const struct ctld_node_change change = {
        .state = state_of(body),
        .reason = json_string_value(json_object_get(body, "reason")),
        .comment = json_string_value(json_object_get(body, "comment")),
        .extra = json_string_value(json_object_get(body, "extra")),
        .user = "root",
    };

    error = !ctld_state_is_known(change.state) ? CTLD_ERROR_WORD
            : rest->is_local                   ? CTLD_ERROR_USER
                                               : ctld_update_node(rest->slurm, rest->name, &change);
    if (error == CTLD_OK)
        answer_list(rest, NULL, NULL);
    else if (error == CTLD_ERROR_WORD)
        refuse(rest, 500, NULL,
               &(struct ctld_refusal){ "Unknown flag", "#/state[0]/", (int)error,
                                       "Data parser unable to parse invalid flag", false });
    else
        refuse_errno(rest, error, why, "_update_node");
}

static void delete_node(struct rest *rest)
{
    owned(chars) char *why = text_format("Failure to update node %s", rest->name);
    enum ctld_errno error = rest->is_local ? CTLD_ERROR_USER
                                           : ctld_delete_node(rest->slurm, rest->name);

    if (error == CTLD_OK)
        answer_list(rest, NULL, NULL);
    else
        refuse_errno(rest, error, why, "op_handler_node");
}

/* The jobs of others. */
static bool may_not_kill(const struct rest *rest)
{
    ctld_job_list jobs = { 0 };
    bool is_there = ctld_jobs_named(rest->slurm, rest->name, &jobs) && jobs.count > 0;

    array_clear(&jobs);
    return rest->is_local && is_there;
}

/* 24.11 takes an unknown signal for none, which is KILL, says that it is unknown, and ends the
   job.  It answers 200 for a job that is not there. */
static void delete_job(struct rest *rest)
{
    owned(chars) char *signal = url_query(rest->call->request->target, "signal");
    owned(chars) char *flags = url_query(rest->call->request->target, "flags");
    bool is_unknown = signal && !ctld_signal_is_known(signal);
    json_t *body;
    enum ctld_errno error;

    if (is_unknown && !is_new(rest)) {
        refuse(rest, 400, NULL,
               &(struct ctld_refusal){ "invalid signal: 0", "HTTP request: signal", 9000,
                                       "Query empty or not RFC7320 compliant", false });
        return;
    }
    if (is_new(rest) && may_not_kill(rest)) { /* 24.11.5 hangs: only a restart helps */
        rest->slurm->is_down = true;
        rest->call->answer->delay_ms = 10 * SECOND_MS;
        ctld_answer_trouble(rest->call, rest->slurm, rest->name, false);
        return;
    }
    error = may_not_kill(rest)
                ? CTLD_ERROR_DENIED
                : ctld_kill(rest->slurm, rest->name, is_unknown || !signal ? "KILL" : signal,
                            text_equal(flags, "BATCH_JOB"));
    if (!is_new(rest)) {
        if (error == CTLD_OK)
            answer_list(rest, NULL, NULL);
        else
            refuse_errno(rest, error, "unable to kill the job", "slurm_kill_job");
        return;
    }
    body = ctld_envelope(rest->slurm, NULL, NULL, true);
    json_put(body, "status",
             error == CTLD_OK ? json_array()
                              : json_make("[{s{ss si ss} ss}]", "error", "string",
                                          ctld_errno_text(error), "code", (int)error, "message",
                                          ctld_errno_text(error), "step_id", rest->name));
    if (is_unknown)
        ctld_envelope_refuse(
            rest->slurm, body,
            &(struct ctld_refusal){ "Unknown signal (null)", "#/signal/", 0, "No error", false });
    sim_answer_json(rest->call->answer, 200, body);
}

/* ---- routes ---- */

static const struct route {
    const char *collection;
    bool has_name;
    enum http_method method;
    int since; /* release */
    const char *verb;
    void (*answer)(struct rest *rest);
    bool changes;
} routes[] = {
    { "ping", false, HTTP_GET, 0, "slurm_ping", ping_server, false },
    { "nodes", false, HTTP_GET, 0, "slurm_nodes", list_nodes, false },
    { "node", true, HTTP_GET, 0, "slurm_node", get_node, false },
    { "node", true, HTTP_POST, 2411, "slurm_change_node", post_node, true },
    { "node", true, HTTP_DELETE, 2411, "slurm_delete_node", delete_node, true },
    { "jobs", false, HTTP_GET, 0, "slurm_jobs", list_jobs, false },
    { "job", true, HTTP_GET, 0, "slurm_job", get_job, false },
    { "job", true, HTTP_DELETE, 0, "slurm_kill", delete_job, true },
    { "partitions", false, HTTP_GET, 0, "slurm_partitions", list_partitions, false },
    { "reservations", false, HTTP_GET, 0, "slurm_reservations", list_reservations, false },
    { "reservation", true, HTTP_GET, 0, "slurm_reservation", get_reservation, false },
    { "reconfigure", false, HTTP_GET, 2411, "slurm_reconfigure", reconfigure, true },
};

static const struct {
    int release, first, last;
} versions[] = { { 2205, 36, 38 }, { 2411, 40, 42 } };

static bool has_version(const struct ctld *slurm, int version)
{
    for (size_t i = 0; i < COUNT_OF(versions); i++)
        if (versions[i].release == slurm->release)
            return version >= versions[i].first && version <= versions[i].last;
    return false;
}

/* The server's description of itself: each path with its methods. */
static void describe(struct rest *rest)
{
    static const char *const names[] = {
        [HTTP_GET] = "get", [HTTP_POST] = "post", [HTTP_DELETE] = "delete"
    };
    json_t *paths = json_object();

    for (int version = 36; version <= 42; version++)
        for (size_t i = 0; has_version(rest->slurm, version) && i < COUNT_OF(routes); i++) {
            const struct route *route = &routes[i];
            owned(chars) char *path = text_format(
                "/slurm/v0.0.%d/%s%s%s%s", version, route->collection,
                route->has_name ? "/{"
                : is_new(rest)  ? "/"
                                : "",
                route->has_name ? route->collection : "",
                !route->has_name                       ? ""
                : text_equal(route->collection, "job") ? "_id}"
                                                       : "_name}");
            json_t *own;

            if (route->since > rest->slurm->release)
                continue;
            own = json_object_get(paths, path);
            if (!own) {
                own = json_object();
                json_object_set_new(paths, path, own);
            }
            json_put(own, names[route->method], json_object());
        }
    sim_answer_json(rest->call->answer, 200,
                    json_make("{s{ss} ss so}", "info", "version",
                              is_new(rest) ? "Slurm-24.11.5&openapi/slurmctld" : "0.0.38",
                              "openapi", "3.0.3", "paths", paths));
}

/* A token, or what a slurmrestd that takes none refuses beside it. */
static const char *header_of(const struct rest *rest, const char *name)
{
    const struct sim_request *request = rest->call->request;

    return http_header_find(request->headers, request->header_count, name);
}

/* No token is refused by slurmrestd, a bad one by slurmctld. */
static bool is_authentic(struct rest *rest)
{
    const char *token = header_of(rest, "X-SLURM-USER-TOKEN");
    bool is = rest->is_local ? !token && !header_of(rest, "X-SLURM-USER-NAME") : token != NULL;

    if (!is)
        answer_plain(rest, 401, "Authentication failure");
    return is;
}

static bool is_let_in(struct rest *rest)
{
    owned(chars) char *good = text_format("slurm-%s", rest->slurm->cluster->plan->name);
    bool is_down = rest->slurm->is_down;
    bool is_good;

    if (!is_authentic(rest))
        return false;
    is_good = rest->is_local || text_equal(header_of(rest, "X-SLURM-USER-TOKEN"), good);
    if (is_good && !is_down)
        return true;
    if (is_new(rest) && text_equal(rest->call->verb, "slurm_ping"))
        ping(rest, false);
    else
        ctld_answer_trouble(rest->call, rest->slurm, rest->name, !is_down);
    return false;
}

static void go(struct rest *rest, const char *collection, bool has_name)
{
    static const char unknown[] =
        "Unable find requested URL. Please view /openapi/v3 for API reference.";
    static const char other[] = "Requested REST method is not defined at URL. Please view "
                                "/openapi/v3 for API reference.";
    bool is_path = false;

    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        const struct route *route = &routes[i];

        if (!text_equal(route->collection, collection) || route->has_name != has_name ||
            route->since > rest->slurm->release)
            continue;
        is_path = true;
        if (route->method != rest->call->request->method)
            continue;
        rest->call->verb = route->verb;
        if (!sim_call_fault(rest->call) && is_let_in(rest))
            route->answer(rest);
        return;
    }
    answer_plain(rest, is_path && !is_new(rest) ? 405 : 404,
                 is_path && !is_new(rest) ? other : unknown);
}

void sim_slurm_answer(struct sim_call *call, size_t at)
{
    char **items = call->path->items + at;
    size_t count = call->path->count - at;
    struct rest rest = { .call = call,
                         .slurm = call->cluster->slurm,
                         .name = count == 4 ? items[3] : "",
                         .is_local = call->request->unix_socket &&
                                     text_equal(call->request->unix_socket,
                                                call->cluster->plan->local_socket) };

    if (count == 2 && text_equal(items[0], "openapi") && text_equal(items[1], "v3")) {
        call->verb = "slurm_openapi";
        if (!sim_call_fault(call) && is_authentic(&rest)) /* slurmctld is not asked */
            describe(&rest);
    } else if ((count == 3 || count == 4) && text_equal(items[0], "slurm") &&
               text_starts_with(items[1], "v0.0.") &&
               has_version(rest.slurm, (int)ctld_leading(items[1] + strlen("v0.0.")))) {
        go(&rest, items[2], count == 4);
    } else {
        answer_plain(&rest, 404,
                     "Unable find requested URL. Please view /openapi/v3 for API "
                     "reference.");
    }
}

void sim_slurm_answer_socket(struct sim_call *call)
{
    struct simulator *sim = call->sim;

    for (size_t i = 0; i < sim->cluster_count && !call->cluster; i++) {
        const struct scenario_cluster *plan = sim->clusters[i].plan;

        if (text_equal(call->request->unix_socket, plan->token_socket) ||
            text_equal(call->request->unix_socket, plan->local_socket))
            call->cluster = &sim->clusters[i];
    }
    if (call->cluster)
        sim_slurm_answer(call, 0);
    else
        call->answer->is_refused = true;
}

void sim_slurm_fail(struct sim_call *call, int code)
{
    struct rest rest = { .call = call, .slurm = call->cluster->slurm };

    if (code == 403)
        answer_plain(&rest, 401, "Authentication failure");
    else
        refuse(&rest, code == 429 ? 503 : 500, NULL,
               &(struct ctld_refusal){ "injected", "slurm", -1, "Unspecified error", false });
}
