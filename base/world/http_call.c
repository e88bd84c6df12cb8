/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One request to the server and its answer.
 *
 * libevent frees its request when it has sent the answer.  But if the client leaves first, libevent
 * cuts the request off from the connection, and we free it.
 */
#include "base/memory.h"
#include "base/world/http_connection.h"
#include "base/world/http_peer.h"
#include "base/world/tls_identity.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <string.h>
#include <strings.h>

enum { STREAM_WAITING_LIMIT = 1 << 20 };

static bool find_method(struct evhttp_request *request, enum http_method *ret_method)
{
    static const struct {
        enum evhttp_cmd_type command;
        enum http_method method;
    } methods[] = {
        { EVHTTP_REQ_GET, HTTP_GET },       { EVHTTP_REQ_POST, HTTP_POST },
        { EVHTTP_REQ_PUT, HTTP_PUT },       { EVHTTP_REQ_PATCH, HTTP_PATCH },
        { EVHTTP_REQ_DELETE, HTTP_DELETE },
    };

    for (size_t i = 0; i < COUNT_OF(methods); i++)
        if (methods[i].command == evhttp_request_get_command(request)) {
            *ret_method = methods[i].method;
            return true;
        }
    return false;
}

static bool has_control_character(const char *value)
{
    for (; *value; value++)
        if ((unsigned char)*value < ' ' && *value != '\t')
            return true;
    return false;
}

/* Refuses a request that two parsers could read differently: this is how requests are smuggled. */
static bool is_ambiguous(struct evhttp_request *request)
{
    int hosts = 0, lengths = 0, encodings = 0;
    const struct evkeyval *header;

    TAILQ_FOREACH(header, evhttp_request_get_input_headers(request), next) {
        hosts += strcasecmp(header->key, "Host") == 0;
        lengths += strcasecmp(header->key, "Content-Length") == 0;
        encodings += strcasecmp(header->key, "Transfer-Encoding") == 0;
        if (has_control_character(header->value))
            return true;
    }
    return hosts > 1 || lengths > 1 || encodings > 1 || (lengths && encodings) ||
           evhttp_request_get_uri(request)[0] != '/';
}

static void copy_body(struct http_call *call)
{
    struct evbuffer *input = evhttp_request_get_input_buffer(call->request);

    call->body_size = evbuffer_get_length(input);
    call->body = mem_new(call->body_size + 1);
    evbuffer_copyout(input, call->body, call->body_size);
}

struct http_call *call_new(struct http_server *server, struct connection *connection,
                           struct evhttp_request *request)
{
    enum http_method method;

    if (!find_method(request, &method)) {
        evhttp_send_error(request, HTTP_BADMETHOD, NULL);
        return NULL;
    }
    if (is_ambiguous(request)) {
        evhttp_send_error(request, HTTP_BADREQUEST, NULL);
        return NULL;
    }

    struct http_call *call = mem_new(sizeof *call);

    call->server = server;
    call->connection = connection;
    call->request = request;
    call->method = method;
    call->peer = connection->peer;
    call->target = mem_copy_chars(evhttp_request_get_uri(request));
    copy_body(call);
    connection->call = call;
    TAILQ_INSERT_TAIL(server_calls(server), call, links);
    return call;
}

void call_free(struct http_call *call)
{
    if (call->connection)
        call->connection->call = NULL;
    TAILQ_REMOVE(server_calls(call->server), call, links);
    if (call->is_waiting)
        TAILQ_REMOVE(&call->server->waiting, call, queue);
    mem_free(call->target);
    mem_free(call->body);
    mem_free(call);
}

/* Separates call and request: the call is gone, the request is returned. */
static struct evhttp_request *end_call(struct http_call *call)
{
    struct evhttp_request *request = call->request;

    call_free(call);
    return request;
}

void call_discard(struct http_call *call)
{
    struct evhttp_request *request = end_call(call);

    if (request)
        evhttp_request_free(request);
}

void call_close_stream(struct http_call *call)
{
    void (*on_close)(void *context) = call->on_close;
    void *context = call->close_context;
    struct evhttp_request *request = end_call(call);

    if (request)
        evhttp_request_free(request);
    if (on_close)
        on_close(context);
}

void call_lose_connection(struct http_call *call)
{
    call->connection = NULL;
    if (evhttp_request_get_connection(call->request))
        call->request = NULL; /* still libevent's, which frees it now */
    if (call->is_stream)
        call_close_stream(call);
}

enum http_method http_call_method(const struct http_call *call)
{
    return call->method;
}

const char *http_call_target(const struct http_call *call)
{
    return call->target;
}

const char *http_call_header(const struct http_call *call, const char *name)
{
    if (!call->request)
        return NULL;
    return evhttp_find_header(evhttp_request_get_input_headers(call->request), name);
}

const char *http_call_body(const struct http_call *call, size_t *ret_size)
{
    if (ret_size)
        *ret_size = call->body_size;
    return call->body;
}

struct http_peer http_call_peer(const struct http_call *call)
{
    return call->peer;
}

bool http_call_has_client(const struct http_call *call)
{
    return call->connection != NULL;
}

bool http_call_has_group(const struct http_call *call, gid_t group)
{
    return call->connection && peer_has_group(call->connection->fd, group);
}

enum http_login http_call_login(const struct http_call *call, uid_t *ret_uid)
{
    if (!call->connection || !call->peer.is_local)
        return LOGIN_UNKNOWN;
    return peer_login(call->connection->fd, call->peer.pid, ret_uid);
}

struct text *http_call_certificate_names(const struct http_call *call)
{
    struct bufferevent *bufferevent;

    if (!call->connection || !call->connection->evcon || !call->peer.is_encrypted)
        return NULL;
    bufferevent = evhttp_connection_get_bufferevent(call->connection->evcon);
    return tls_peer_names(bufferevent_openssl_get_ssl(bufferevent));
}

struct wall_time http_call_certificate_ends(const struct http_call *call)
{
    struct bufferevent *bufferevent;

    if (!call->connection || !call->connection->evcon || !call->peer.is_encrypted)
        return (struct wall_time){ 0 };
    bufferevent = evhttp_connection_get_bufferevent(call->connection->evcon);
    return tls_peer_ends(bufferevent_openssl_get_ssl(bufferevent));
}

bool http_call_names_server(const struct http_call *call)
{
    const struct tls_identity *identity = server_identity(call->server);
    const char *host = http_call_header(call, "Host");

    return identity && host && tls_identity_is_for(identity, host);
}

static void add_headers(struct evhttp_request *request, const char *content_type,
                        const struct http_header *headers, size_t header_count)
{
    struct evkeyvalq *output = evhttp_request_get_output_headers(request);

    evhttp_add_header(output, "Content-Type", content_type ? content_type : "application/json");
    for (size_t i = 0; i < header_count; i++)
        require(evhttp_add_header(output, headers[i].name, headers[i].value) == 0);
}

void http_call_answer(struct http_call *call, const struct http_reply *reply)
{
    require(!call->is_stream);

    struct connection *connection = call->connection;
    struct evhttp_request *request = end_call(call);

    if (connection)
        server_expect_reader(connection);

    if (!request)
        return;

    struct evbuffer *buffer = evbuffer_new();

    require(buffer &&
            (reply->body_size == 0 || evbuffer_add(buffer, reply->body, reply->body_size) == 0));
    add_headers(request, reply->content_type, reply->headers, reply->header_count);
    evhttp_send_reply(request, reply->status, NULL, buffer);
    evbuffer_free(buffer);
}

void http_call_add_header(struct http_call *call, const struct http_header *header)
{
    if (call->request)
        require(evhttp_add_header(evhttp_request_get_output_headers(call->request), header->name,
                                  header->value) == 0);
}

static struct evbuffer *output_of(const struct http_call *call)
{
    return bufferevent_get_output(evhttp_connection_get_bufferevent(call->connection->evcon));
}

void http_call_stream_begin(struct http_call *call, const char *content_type,
                            void (*on_close)(void *context), void *context)
{
    require(!call->is_stream);
    call->is_stream = true;
    call->on_close = on_close;
    call->close_context = context;
    if (!call->connection) {
        server_tick_soon(call->server); /* which calls on_close */
        return;
    }
    add_headers(call->request, content_type, NULL, 0);
    evhttp_send_reply_start(call->request, HTTP_OK, NULL);
}

bool http_call_stream_send(struct http_call *call, const void *bytes, size_t size)
{
    require(call->is_stream);
    if (!call->connection)
        return true;
    if (evbuffer_get_length(output_of(call)) > STREAM_WAITING_LIMIT)
        return false;

    struct evbuffer *buffer = evbuffer_new();

    require(buffer && (size == 0 || evbuffer_add(buffer, bytes, size) == 0));
    evhttp_send_reply_chunk(call->request, buffer);
    evbuffer_free(buffer);
    return true;
}

void http_call_stream_end(struct http_call *call)
{
    require(call->is_stream);

    struct connection *connection = call->connection;
    struct evhttp_request *request = end_call(call);

    if (connection)
        server_expect_reader(connection);
    if (request)
        evhttp_send_reply_end(request);
}

void http_call_drop(struct http_call *call)
{
    struct connection *connection = call->connection;
    struct evhttp_request *request = end_call(call);

    if (connection)
        server_doom(connection);
    else if (request)
        evhttp_request_free(request);
}
