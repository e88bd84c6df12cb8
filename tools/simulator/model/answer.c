/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One request in, one answer out, by socket or in process: finds the fake by the path, counts, and
 * applies the faults of transport before and after the effect.
 */
#include "tools/simulator/model/client.h"
#include "tools/simulator/model/cloud.h"
#include "tools/simulator/model/faults.h"
#include "tools/simulator/model/model.h"
#include "tools/simulator/model/slurm.h"

#include <inttypes.h>

void sim_answer_clear(struct sim_answer *answer)
{
    text_free(answer->body);
    *answer = (struct sim_answer){ 0 };
}

static void set_body(struct sim_answer *answer, char *chars)
{
    text_free(answer->body);
    answer->body = text_new(256 << 20);
    text_add_bytes(answer->body, chars, strlen(chars));
    mem_free(chars);
}

void sim_answer_json(struct sim_answer *answer, int status, json_t *body)
{
    answer->status = status;
    answer->content_type = "application/json";
    set_body(answer, json_print(body));
    json_decref(body);
}

void sim_count_verb(struct simulator *sim, const char *verb)
{
    uint64_t *count = map_get(sim->verbs, verb);

    if (!count) {
        count = mem_new(sizeof *count);
        map_set(sim->verbs, verb, count);
    }
    ++*count;
}

/* An overloaded API server answers in plain text. */
static void refuse(struct sim_call *call, int code)
{
    struct sim_answer *answer = call->answer;

    if (call->cluster && call->cluster->slurm) {
        sim_slurm_fail(call, code);
    } else if (call->cluster && code == 429) {
        answer->status = code;
        answer->content_type = "text/plain; charset=utf-8";
        set_body(answer, mem_copy_chars("Too many requests, please try again later.\n"));
    } else if (call->cluster && code == 409) {
        sim_kube_status(answer, code, "Conflict",
                        "the object has been modified; please apply your "
                        "changes to the latest version and try again");
    } else if (call->cluster) {
        sim_kube_status(answer, code, "InternalError", "Internal error occurred: injected");
    } else {
        call->cloud->fail(call, code, "injected");
    }
    if (code == 429)
        answer->headers[answer->header_count++] =
            (struct http_header){ "Retry-After", call->sim->retry_after ?: "1" };
}

static void forbid(struct sim_call *call, const char *why)
{
    if (call->cluster && call->cluster->slurm)
        sim_slurm_fail(call, 403);
    else if (call->cluster)
        sim_kube_status(call->answer, 403, "Forbidden", "%s", why);
    else
        call->cloud->fail(call, 403, why);
}

bool sim_call_fault(struct sim_call *call)
{
    static const struct {
        enum fault fault;
        int code;
        const char *why; /* of a refusal by permission; NULL: any other */
    } refusals[] = {
        { FAULT_HTTP_429, 429, NULL },
        { FAULT_HTTP_500, 500, NULL },
        { FAULT_HTTP_403, 403, "User \"sluice\" cannot do that" },
        { FAULT_DENIED, 403,
          "admission webhook \"guard.example.com\" denied the request: ask the team first" },
        { FAULT_BUSY, 409, NULL },
    };
    struct simulator *sim = call->sim;

    if (sim->is_other_client)
        return false;
    sim_count_verb(sim, call->verb);
    sim_trace(sim, "%s %.200s", call->verb, call->request->target);
    if (sim_fault_now(sim, FAULT_REFUSED, call->verb) ||
        (call->cloud && scenario_is_out(sim->scenario, call->cloud->kind, sim_since_start(sim)))) {
        call->answer->is_refused = true;
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        if (!sim_fault_now(sim, refusals[i].fault, call->verb))
            continue;
        if (refusals[i].why)
            forbid(call, refusals[i].why);
        else
            refuse(call, refusals[i].code);
        return true;
    }
    return false;
}

static void fault_after(struct sim_call *call)
{
    struct sim_answer *answer = call->answer;

    if (!call->verb || answer->watch.cluster || answer->is_refused)
        return;
    if (sim_fault_now(call->sim, FAULT_LOST_ANSWER, call->verb))
        answer->is_lost = true;
    else if (sim_fault_now(call->sim, FAULT_HTTP_500_AFTER, call->verb))
        refuse(call, 500);
}

/* The clock of the API server or cloud, as a header of its answer. */
static void add_date(const struct sim_call *call)
{
    static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    struct sim_answer *answer = call->answer;
    int64_t ms = loop_now(call->sim->loop) + call->sim->wall_offset_ms +
                 (call->cluster ? call->cluster->plan->ahead_ms : 0);
    int64_t second = ms % DAY_MS / SECOND_MS;
    struct civil_date date = civil_date_of_day(ms / DAY_MS);

    snprintf(answer->date, sizeof answer->date, "%s, %02d %s %04d %02d:%02d:%02d GMT",
             days[civil_weekday(ms / DAY_MS)], date.day, months[date.month - 1], date.year,
             (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60));
    answer->headers[answer->header_count++] = (struct http_header){ "Date", answer->date };
}

static void report_live(struct sim_call *call)
{
    sim_answer_json(call->answer, 200, simulator_report(call->sim));
}

static void answer_cluster(struct sim_call *call)
{
    bool is_other = sim_is_other_client(call);

    call->sim->is_other_client = is_other;
    if (is_other)
        sim_other_client_answer(call, 2);
    else
        sim_kube_answer(call, 2);
    call->sim->is_other_client = false;
    if (call->request->method != HTTP_GET)
        sim_watches_stir(call->sim, call->cluster);
    if (is_other)
        call->verb = NULL; /* no fault afterwards either */
}

static void answer_cloud(struct sim_call *call)
{
    for (size_t i = 0; sim_clouds[i]; i++) {
        call->cloud = sim_clouds[i];
        if (call->cloud->answer(call))
            return;
    }
    call->cloud = NULL;
}

void sim_answer_request(struct simulator *sim, const struct sim_request *request,
                        struct sim_answer *answer)
{
    struct url_segments path = url_split(request->target);
    struct sim_call call = { .sim = sim, .request = request, .path = &path, .answer = answer };
    const char *first = path.count ? path.items[0] : "";

    *answer = (struct sim_answer){ .status = 404, .content_type = "text/plain" };
    if (request->unix_socket)
        sim_slurm_answer_socket(&call);
    else if (text_equal(first, "clusters") && path.count > 1 &&
             (call.cluster = sim_cluster(sim, path.items[1])) != NULL)
        answer_cluster(&call);
    else if (text_equal(first, "plain") && path.count > 1 &&
             (call.cluster = sim_cluster(sim, path.items[1])) != NULL)
        sim_plain_answer(&call, 2);
    else if (text_equal(first, "slurm") && path.count > 1 &&
             (call.cluster = sim_cluster(sim, path.items[1])) != NULL && call.cluster->slurm)
        sim_slurm_answer(&call, 2);
    else if (text_equal(first, "simulator") && path.count == 2 &&
             text_equal(path.items[1], "report"))
        report_live(&call);
    else if (text_equal(first, "simulator") && path.count == 2 &&
             text_equal(path.items[1], "faults"))
        sim_fault_answer(&call);
    else
        answer_cloud(&call);
    fault_after(&call);
    if (call.cluster || call.cloud)
        add_date(&call);
    if (!answer->body)
        answer->body = text_new(1);
    url_segments_free(&path);
}
