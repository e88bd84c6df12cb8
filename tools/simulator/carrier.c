/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fakes as a struct http: a request travels, takes effect on arrival, and its answer travels
 * back or gets lost on the way.
 */
#include "tools/simulator/model/model.h"

enum { ANSWER_LIMIT = 1 << 20, HEADERS_MAX = 17 };

struct carrier {
    struct http http;
    struct simulator *sim;
    ARRAY(struct http_exchange *) live;
    const struct kube_cluster *cut_off; /* whose API server is out of reach; NULL: none */
};

struct http_exchange {
    struct actor actor;
    struct carrier *carrier;
    struct sim_request request;
    struct http_header headers[HEADERS_MAX];
    char *texts[2 * HEADERS_MAX]; /* what the headers point to */
    char *url;
    char *unix_socket; /* NULL: TCP */
    char *body;
    size_t answer_limit;
    bool is_arrived;
    http_chunk_fn on_chunk;
    http_done_fn done;
    void *context;
    struct sim_answer answer;
    struct kube_watch *watch;
};

static void free_exchange(struct actor *actor)
{
    struct http_exchange *exchange = (struct http_exchange *)actor;

    for (size_t i = 0; i < exchange->request.header_count; i++) {
        mem_free(exchange->texts[2 * i]);
        mem_free(exchange->texts[2 * i + 1]);
    }
    sim_answer_clear(&exchange->answer);
    mem_free(exchange->url);
    mem_free(exchange->unix_socket);
    mem_free(exchange->body);
    mem_free(exchange);
}

static void end_exchange(struct http_exchange *exchange)
{
    struct carrier *carrier = exchange->carrier;

    if (exchange->actor.is_gone)
        return;
    for (size_t i = 0; i < carrier->live.count; i++)
        if (carrier->live.items[i] == exchange) {
            array_remove(&carrier->live, i);
            break;
        }
    if (exchange->watch)
        sim_watch_close(steal(&exchange->watch));
    sim_actor_end(&exchange->actor);
}

/* Calls `done`, once, and lets the exchange end whatever happened in it. */
static void finish(struct http_exchange *exchange, const struct http_answer *answer,
                   const struct error *err)
{
    exchange->actor.pending++;
    exchange->done(exchange->context, answer, err);
    end_exchange(exchange);
    if (--exchange->actor.pending == 0)
        free_exchange(&exchange->actor);
}

static void fail(struct http_exchange *exchange, enum error_kind kind, const char *why)
{
    struct error err = { 0 };

    error_set(&err, kind, "%s: %s", exchange->url, why);
    finish(exchange, NULL, &err);
}

/* Whether the exchange is with an API server that is cut off. */
static bool is_cut_off(const struct http_exchange *exchange)
{
    const struct kube_cluster *cluster = exchange->carrier->cut_off;
    owned(chars) char *start = cluster ? text_format("/clusters/%s/", cluster->plan->name) : NULL;

    return start && text_starts_with(exchange->request.target, start);
}

static void deliver(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct http_exchange *exchange = (struct http_exchange *)actor;
    struct sim_answer *from = &exchange->answer;

    (void)sim;
    (void)stamp;
    if (is_cut_off(exchange))
        return;
    if (from->is_refused) {
        fail(exchange, ERROR_TRANSIENT, "connection refused");
        return;
    }
    if (from->is_lost) {
        fail(exchange, ERROR_UNKNOWN_OUTCOME, "connection reset after the request was sent");
        return;
    }
    if (from->body->length > exchange->answer_limit && !exchange->on_chunk) {
        fail(exchange, ERROR_CORRUPT, "the answer is too long");
        return;
    }
    struct http_answer answer = {
        .status = from->status,
        .body = from->body->chars,
        .body_size = from->body->length,
        .retry_after_ms = http_retry_after_ms(from->headers, from->header_count,
                                              loop_wall(sim->loop)),
        .headers = from->headers,
        .header_count = from->header_count,
    };

    if (exchange->on_chunk && from->status == 200) {
        exchange->on_chunk(exchange->context, from->body->chars, from->body->length);
        answer.body = "";
        answer.body_size = 0;
    }
    if (!exchange->actor.is_gone)
        finish(exchange, &answer, NULL);
}

static void send_frames(void *context, const char *bytes, size_t size)
{
    struct http_exchange *exchange = context;

    if (exchange->on_chunk)
        exchange->on_chunk(exchange->context, bytes, size);
}

static void watch_ends(void *context)
{
    struct http_exchange *exchange = context;
    struct http_answer answer = { .status = 200, .body = "" };

    exchange->watch = NULL;
    finish(exchange, &answer, NULL);
}

static void arrive(struct simulator *sim, struct actor *actor, uint64_t back_ms)
{
    struct http_exchange *exchange = (struct http_exchange *)actor;

    exchange->is_arrived = true; /* for all that its sender can know */
    if (is_cut_off(exchange))
        return;
    sim_answer_request(sim, &exchange->request, &exchange->answer);
    if (exchange->answer.watch.cluster)
        exchange->watch = sim_watch_open(sim, &exchange->answer.watch, send_frames, watch_ends,
                                         exchange);
    else
        sim_after(sim, (int64_t)back_ms + exchange->answer.delay_ms, deliver, actor, 0);
}

static void time_out(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct http_exchange *exchange = (struct http_exchange *)actor;

    (void)sim;
    (void)stamp;
    fail(exchange, exchange->is_arrived ? ERROR_UNKNOWN_OUTCOME : ERROR_TRANSIENT, "timed out");
}

/* As an HTTP client writes it. */
static void add_host(struct http_exchange *exchange, const struct url *url)
{
    size_t at = exchange->request.header_count;
    bool is_usual = url->port == 0 || url->port == (text_equal(url->scheme, "https") ? 443 : 80);

    exchange->texts[2 * at] = mem_copy_chars("Host");
    exchange->texts[2 * at + 1] = is_usual ? text_format("%s", url->host)
                                           : text_format("%s:%d", url->host, url->port);
    exchange->headers[at] = (struct http_header){ exchange->texts[2 * at],
                                                  exchange->texts[2 * at + 1] };
    exchange->request.header_count++;
}

static struct http_exchange *send_request(struct http *http, const struct http_request *request,
                                          http_done_fn done, void *context)
{
    struct carrier *carrier = (struct carrier *)http;
    struct simulator *sim = carrier->sim;
    struct http_exchange *exchange = mem_new(sizeof *exchange);
    struct url url = { .target = "/" };
    struct error err = { 0 };
    int64_t way_ms = sim_draw(&sim->latency, &sim->scenario->latency.api);

    require(request->header_count < HEADERS_MAX);
    exchange->actor.free = free_exchange;
    exchange->carrier = carrier;
    exchange->url = mem_copy_chars(request->url);
    exchange->unix_socket = request->unix_socket ? mem_copy_chars(request->unix_socket) : NULL;
    if (url_parse(exchange->url, &url, &err) < 0)
        url.target = "/";
    exchange->body = mem_new(request->body_size + 1);
    if (request->body)
        memcpy(exchange->body, request->body, request->body_size);
    for (size_t i = 0; i < request->header_count; i++) {
        exchange->texts[2 * i] = mem_copy_chars(request->headers[i].name);
        exchange->texts[2 * i + 1] = mem_copy_chars(request->headers[i].value);
        exchange->headers[i] = (struct http_header){ exchange->texts[2 * i],
                                                     exchange->texts[2 * i + 1] };
    }
    exchange->request = (struct sim_request){
        .method = request->method,
        .target = url.target,
        .unix_socket = exchange->unix_socket,
        .headers = exchange->headers,
        .header_count = request->header_count,
        .body = exchange->body,
        .body_size = request->body ? request->body_size : 0,
    };
    add_host(exchange, &url);
    exchange->answer_limit = request->answer_limit ? request->answer_limit : ANSWER_LIMIT;
    exchange->on_chunk = request->on_chunk;
    exchange->done = done;
    exchange->context = context;
    *array_add(&carrier->live) = exchange;
    sim_after(sim, way_ms / 2, arrive, &exchange->actor, (uint64_t)(way_ms - way_ms / 2));
    if (request->timeout_ms > 0)
        sim_after(sim, request->timeout_ms, time_out, &exchange->actor, 0);
    return exchange;
}

static void cancel(struct http_exchange *exchange)
{
    if (exchange)
        end_exchange(exchange);
}

static void free_nothing(struct http *http)
{
    (void)http; /* the simulator owns its carrier */
}

struct carrier *sim_carrier_new(struct simulator *sim)
{
    static const struct http_verbs verbs = { send_request, cancel, free_nothing };
    struct carrier *carrier = mem_new(sizeof *carrier);

    carrier->http.verbs = &verbs;
    carrier->sim = sim;
    return carrier;
}

void sim_carrier_free(struct carrier *carrier)
{
    if (!carrier)
        return;
    while (carrier->live.count)
        end_exchange(carrier->live.items[0]);
    array_clear(&carrier->live);
    mem_free(carrier);
}

/* Streams do not break: nothing comes any more. */
void simulator_cut_off(struct simulator *simulator, const char *cluster)
{
    struct carrier *carrier = simulator->carrier;

    carrier->cut_off = cluster ? sim_cluster(simulator, cluster) : NULL;
    for (size_t i = 0; i < carrier->live.count; i++)
        if (is_cut_off(carrier->live.items[i]) && carrier->live.items[i]->watch)
            sim_watch_close(steal(&carrier->live.items[i]->watch));
}

struct http *simulator_http(struct simulator *simulator)
{
    return &simulator->carrier->http;
}
