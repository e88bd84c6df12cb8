/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP client on libcurl's multi interface and the loop's event base.
 *
 * An exchange goes through three lists: waiting (one for each priority), in flight, finished.
 * http_send() only queues.  One timer hands requests to libcurl within the caps, another timer
 * calls `done`.  So libcurl is never entered from its own callbacks, and `done` never runs inside
 * http_send().
 *
 * libcurl opens a connection for each request when it may.  Its cap on connections per host, and
 * the caps here, keep 2,000 requests from making 2,000 connections.  Streams (no timeout) do not
 * count against the caps: they are few, last forever, and would leave no room for other requests.
 *
 * Sockets that are ready queue up, and in each turn of the loop libcurl acts on them for a short
 * time, however long the others of the turn took: a list of 10,000 nodes, read in one go, would
 * make each timer late, and each person wait.  Of an answer that goes on libcurl reads a part in
 * each turn, whatever we ask for (201 kB).
 */
#include "base/map.h"
#include "base/memory.h"
#include "base/world/http_exchange.h"

#include <event2/event.h>

enum {
    IN_FLIGHT = 256,
    IN_FLIGHT_PER_HOST = 64,
    WAITING_LIMIT = 16384,
    ACTING_MS = 5, /* of a turn of the loop are libcurl's */
};

/* A socket of libcurl's. */
struct curl_socket {
    TAILQ_ENTRY(curl_socket) links;
    struct http_curl *client;
    curl_socket_t fd;
    struct event *event;
    int ready; /* CURL_CSELECT_...; not 0: it is queued */
};

struct http_curl {
    struct http http;
    struct loop *loop;
    CURLM *multi;
    struct http_limits limits;
    struct timer *send_waiting;
    struct timer *tell_finished;
    struct timer *curl_timeout;
    struct timer *act; /* on the sockets that are ready */
    TAILQ_HEAD(, curl_socket) ready;
    struct exchange_list waiting[HTTP_PRIORITY_COUNT];
    struct exchange_list in_flight;
    struct exchange_list finished;
    struct exchange_list telling; /* a part of finished, so that a turn ends */
    size_t waiting_count;
    size_t in_flight_count;
    struct map *host_counts; /* in flight by host: struct host_count */
    bool is_inside_curl;
    bool is_telling;
};

struct host_count {
    size_t count;
};

static void move_to(struct http_exchange *exchange, struct exchange_list *list)
{
    if (exchange->list)
        TAILQ_REMOVE(exchange->list, exchange, links);
    exchange->list = list;
    if (list)
        TAILQ_INSERT_TAIL(list, exchange, links);
}

static size_t host_in_flight(const struct http_curl *client, const char *host)
{
    const struct host_count *entry = map_get(client->host_counts, host);

    return entry ? entry->count : 0;
}

static void count_sent(struct http_curl *client, const struct http_exchange *exchange)
{
    struct host_count *entry = map_get(client->host_counts, exchange->host);

    if (exchange->is_stream)
        return;
    if (!entry) {
        entry = mem_new(sizeof *entry);
        map_set(client->host_counts, exchange->host, entry);
    }
    entry->count++;
    client->in_flight_count++;
}

static void count_ended(struct http_curl *client, const struct http_exchange *exchange)
{
    struct host_count *entry = map_get(client->host_counts, exchange->host);

    if (exchange->is_stream)
        return;
    if (--entry->count == 0)
        map_remove(client->host_counts, exchange->host);
    client->in_flight_count--;
}

/* Takes an exchange from libcurl; only when libcurl is not on the stack. */
static void leave_flight(struct http_exchange *exchange)
{
    struct http_curl *client = exchange->client;

    curl_multi_remove_handle(client->multi, exchange->easy);
    exchange->is_in_flight = false;
    count_ended(client, exchange);
    timer_set_sooner(client->send_waiting, 0);
}

static void finish(struct http_exchange *exchange)
{
    move_to(exchange, &exchange->client->finished);
    timer_set_sooner(exchange->client->tell_finished, 0);
}

static void drop(struct http_exchange *exchange)
{
    move_to(exchange, NULL);
    exchange_free(exchange);
}

static void collect_finished(struct http_curl *client)
{
    const CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(client->multi, &left))) {
        struct http_exchange *exchange = NULL;
        CURLcode code = message->data.result;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
        leave_flight(exchange);
        if (exchange->is_cancelled) {
            drop(exchange);
            continue;
        }
        exchange_finish(exchange, code);
        finish(exchange);
    }
}

static void free_cancelled(struct http_curl *client)
{
    struct http_exchange *next = NULL;

    for (struct http_exchange *exchange = TAILQ_FIRST(&client->in_flight); exchange;
         exchange = next) {
        next = TAILQ_NEXT(exchange, links);
        if (!exchange->is_cancelled)
            continue;
        leave_flight(exchange);
        drop(exchange);
    }
}

static void act_on_socket(struct http_curl *client, curl_socket_t fd, int what)
{
    int running;

    client->is_inside_curl = true;
    curl_multi_socket_action(client->multi, fd, what, &running);
    client->is_inside_curl = false;
    collect_finished(client);
}

static void on_curl_timeout(void *context)
{
    act_on_socket(context, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timeout_wanted(CURLM *multi, long delay_ms, void *context)
{
    struct http_curl *client = context;

    (void)multi;
    if (delay_ms < 0)
        timer_stop(client->curl_timeout);
    else
        timer_set(client->curl_timeout, delay_ms);
    return 0;
}

static void unqueue(struct curl_socket *socket)
{
    if (socket->ready)
        TAILQ_REMOVE(&socket->client->ready, socket, links);
    socket->ready = 0;
}

/* Those that stay in the queue are first in the next turn. */
static void act_on_ready(void *context)
{
    struct http_curl *client = context;
    int64_t began_ms = loop_turn_ms(client->loop);
    struct curl_socket *socket;

    while ((socket = TAILQ_FIRST(&client->ready))) {
        int ready = socket->ready;

        unqueue(socket);
        act_on_socket(client, socket->fd, ready); /* the socket may end with it */
        if (loop_turn_ms(client->loop) - began_ms >= ACTING_MS)
            break;
    }
    if (!TAILQ_EMPTY(&client->ready))
        timer_set(client->act, 0);
}

static void on_socket_ready(evutil_socket_t fd, short what, void *context)
{
    struct curl_socket *socket = context;

    (void)fd;
    if (!socket->ready)
        TAILQ_INSERT_TAIL(&socket->client->ready, socket, links);
    socket->ready |= ((what & EV_READ) ? CURL_CSELECT_IN : 0) |
                     ((what & EV_WRITE) ? CURL_CSELECT_OUT : 0);
    timer_set_sooner(socket->client->act, 0);
}

static struct curl_socket *curl_socket_new(struct http_curl *client, curl_socket_t fd)
{
    struct curl_socket *socket = mem_new(sizeof *socket);

    socket->client = client;
    socket->fd = fd;
    require(curl_multi_assign(client->multi, fd, socket) == CURLM_OK);
    return socket;
}

static void curl_socket_free(struct curl_socket *socket)
{
    unqueue(socket);
    event_free(socket->event);
    mem_free(socket);
}

static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *context, void *assigned)
{
    struct http_curl *client = context;
    struct curl_socket *socket = assigned;
    short wanted = EV_PERSIST;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket)
            curl_socket_free(socket);
        return 0;
    }
    if (what & CURL_POLL_IN)
        wanted |= EV_READ;
    if (what & CURL_POLL_OUT)
        wanted |= EV_WRITE;
    if (!socket)
        socket = curl_socket_new(client, fd);
    if (socket->event)
        event_free(socket->event);
    socket->event = event_new(loop_event_base(client->loop), fd, wanted, on_socket_ready, socket);
    require(socket->event && event_add(socket->event, NULL) == 0);
    return 0;
}

static bool may_send(const struct http_curl *client, const struct http_exchange *exchange)
{
    return exchange->is_stream ||
           (client->in_flight_count < client->limits.in_flight &&
            host_in_flight(client, exchange->host) < client->limits.in_flight_per_host);
}

static void hand_to_curl(struct http_exchange *exchange)
{
    struct http_curl *client = exchange->client;

    client->waiting_count--;
    move_to(exchange, &client->in_flight);
    exchange->is_in_flight = true;
    count_sent(client, exchange);
    require(curl_multi_add_handle(client->multi, exchange->easy) == CURLM_OK);
}

static void on_send_waiting(void *context)
{
    struct http_curl *client = context;
    struct http_exchange *next = NULL;

    free_cancelled(client);
    for (int priority = 0; priority < HTTP_PRIORITY_COUNT; priority++)
        for (struct http_exchange *exchange = TAILQ_FIRST(&client->waiting[priority]); exchange;
             exchange = next) {
            next = TAILQ_NEXT(exchange, links);
            if (may_send(client, exchange))
                hand_to_curl(exchange);
        }
}

static void on_tell_finished(void *context)
{
    struct http_curl *client = context;
    struct http_exchange *exchange;

    while ((exchange = TAILQ_FIRST(&client->finished)))
        move_to(exchange, &client->telling);
    client->is_telling = true;
    while ((exchange = TAILQ_FIRST(&client->telling))) {
        move_to(exchange, NULL);
        exchange_tell(exchange, loop_wall(client->loop));
        exchange_free(exchange);
    }
    client->is_telling = false;
}

static struct http_exchange *curl_send(struct http *http, const struct http_request *request,
                                       http_done_fn done, void *context)
{
    struct http_curl *client = (struct http_curl *)http;
    struct http_exchange *exchange = exchange_new(request);

    exchange->client = client;
    exchange->done = done;
    exchange->context = context;
    if (exchange->easy && client->waiting_count >= WAITING_LIMIT)
        error_set(&exchange->err, ERROR_TRANSIENT, "%d requests wait already", WAITING_LIMIT);
    if (exchange->err.kind != ERROR_NONE) {
        finish(exchange);
        return exchange;
    }
    client->waiting_count++;
    move_to(exchange, &client->waiting[exchange->priority]);
    timer_set_sooner(client->send_waiting, 0);
    return exchange;
}

static void curl_cancel(struct http_exchange *exchange)
{
    struct http_curl *client = exchange->client;

    if (!exchange->list) /* its `done` is running: there is nothing left to end */
        return;
    if (exchange->is_in_flight && client->is_inside_curl) {
        exchange->is_cancelled = true;
        timer_set_sooner(client->send_waiting, 0);
        return;
    }
    if (exchange->is_in_flight)
        leave_flight(exchange);
    else if (exchange->list == &client->waiting[exchange->priority])
        client->waiting_count--;
    drop(exchange);
}

static void free_list(struct exchange_list *list)
{
    struct http_exchange *exchange;

    while ((exchange = TAILQ_FIRST(list)))
        curl_cancel(exchange);
}

static void curl_free_client(struct http *http)
{
    struct http_curl *client = (struct http_curl *)http;

    require(!client->is_inside_curl && !client->is_telling);
    for (int priority = 0; priority < HTTP_PRIORITY_COUNT; priority++)
        free_list(&client->waiting[priority]);
    free_list(&client->in_flight);
    free_list(&client->finished);
    free_list(&client->telling);
    if (client->multi)
        curl_multi_cleanup(client->multi);
    timer_free(client->send_waiting);
    timer_free(client->tell_finished);
    timer_free(client->curl_timeout);
    timer_free(client->act);
    map_free(client->host_counts);
    mem_free(client);
    curl_global_cleanup();
}

static const struct http_verbs verbs = {
    .send = curl_send,
    .cancel = curl_cancel,
    .free = curl_free_client,
};

static int set_up_multi(struct http_curl *client)
{
    CURLM *multi = client->multi = curl_multi_init();

    /* Streams share the connections of a host with as many requests as the cap lets through. */
    long connections = (long)client->limits.in_flight_per_host * 2;

    if (!multi || curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket_wanted) ||
        curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client) ||
        curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timeout_wanted) ||
        curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client) ||
        curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections))
        return -1;
    return 0;
}

static void set_up_lists(struct http_curl *client)
{
    for (int priority = 0; priority < HTTP_PRIORITY_COUNT; priority++)
        TAILQ_INIT(&client->waiting[priority]);
    TAILQ_INIT(&client->in_flight);
    TAILQ_INIT(&client->finished);
    TAILQ_INIT(&client->telling);
    TAILQ_INIT(&client->ready);
}

struct http *http_curl_new(struct loop *loop, const struct http_limits *limits, struct error *err)
{
    require(loop_event_base(loop));
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        error_set(err, ERROR_BUG, "cannot set up libcurl");
        return NULL;
    }

    struct http_curl *client = mem_new(sizeof *client);

    client->http.verbs = &verbs;
    client->loop = loop;
    client->limits.in_flight = limits && limits->in_flight ? limits->in_flight : IN_FLIGHT;
    client->limits.in_flight_per_host = limits && limits->in_flight_per_host
                                            ? limits->in_flight_per_host
                                            : IN_FLIGHT_PER_HOST;
    client->host_counts = map_new(mem_free);
    client->send_waiting = timer_new(loop, on_send_waiting, client);
    client->tell_finished = timer_new(loop, on_tell_finished, client);
    client->curl_timeout = timer_new(loop, on_curl_timeout, client);
    client->act = timer_new(loop, act_on_ready, client);
    set_up_lists(client);
    if (set_up_multi(client) < 0) {
        curl_free_client(&client->http);
        error_set(err, ERROR_BUG, "cannot set up libcurl's multi interface");
        return NULL;
    }
    return &client->http;
}
