/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How libcurl is told what to do, and how its answer is kept within bounds.
 *
 * libcurl calls us just before it sends a request, on a new connection and on a kept one alike.
 * That moment, not the error code, separates "did not happen" from "may have happened".
 */
#include "base/world/http_exchange.h"

#include "base/memory.h"
#include "base/timestamp.h"
#include "base/world/http_target.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    CONNECT_TIMEOUT_MS = 5000,
    ANSWER_LIMIT = 1 << 20,
    /* libcurl's least.  It reads two hundred times so much before it returns, and a list in gzip is
       twelve times as long as what is read. */
    READ_SIZE = 1024,
};

/* A failing setopt is our mistake, a lack of memory, or a libcurl without the option. */
#define set_option(easy, option, value)                                                            \
    require(curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

/* curl_slist_append() leaves the list alone when it fails. */
static void add_item(struct curl_slist **list, const char *chars)
{
    struct curl_slist *longer = curl_slist_append(*list, chars);

    require(longer);
    *list = longer;
}

static int on_request_begins(void *context, char *peer_ip, char *own_ip, int peer_port,
                             int own_port)
{
    struct http_exchange *exchange = context;

    (void)peer_ip;
    (void)own_ip;
    (void)peer_port;
    (void)own_port;
    exchange->may_have_arrived = true;
    exchange->err = (struct error){ 0 }; /* another address of the name may have been refused */
    return CURL_PREREQFUNC_OK;
}

static size_t on_body(char *bytes, size_t one, size_t size, void *context)
{
    struct http_exchange *exchange = context;
    long status = 0;

    (void)one;
    if (exchange->is_cancelled)
        return CURL_WRITEFUNC_ERROR;
    curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    if (exchange->on_chunk && status / 100 == 2) {
        http_secrets_stream(exchange->secrets, bytes, size, exchange->on_chunk, exchange->context);
        return exchange->is_cancelled ? CURL_WRITEFUNC_ERROR : size;
    }
    if (size > exchange->answer_limit - exchange->answer_body->length) {
        error_set(&exchange->err, ERROR_CORRUPT, "the answer is longer than %zu bytes",
                  exchange->answer_limit);
        return CURL_WRITEFUNC_ERROR;
    }
    text_add_bytes(exchange->answer_body, bytes, size);
    return size;
}

static void forget_headers(struct http_exchange *exchange)
{
    for (size_t i = 0; i < exchange->received_count; i++) {
        /* The name is where the block of both begins, and is ours. */
        char *block = (char *)(uintptr_t)exchange->received[i].name;

        mem_free(block);
    }
    exchange->received_count = 0;
    exchange->received_size = 0;
}

static void keep_header(struct http_exchange *exchange, const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length);

    if (!colon || exchange->received_count == EXCHANGE_HEADER_COUNT ||
        length >= EXCHANGE_HEADER_SIZE - exchange->received_size ||
        http_secrets_show(exchange->secrets, line, length))
        return;

    char *block = mem_new(length + 1);
    char *value = block + (colon - line) + 1;

    memcpy(block, line, length);
    value[-1] = '\0';
    exchange->received[exchange->received_count++] =
        (struct http_header){ block, value + strspn(value, " \t") };
    exchange->received_size += length;
}

/* One line at a time; a status line begins the headers of another answer (after a 100). */
static size_t on_header(char *line, size_t one, size_t size, void *context)
{
    struct http_exchange *exchange = context;
    size_t length = size;

    (void)one;
    while (length && strchr("\r\n \t", line[length - 1]))
        length--;
    if (size > 5 && memcmp(line, "HTTP/", 5) == 0)
        forget_headers(exchange);
    else
        keep_header(exchange, line, length);
    return size;
}

/* A line break in a header would let a value add headers of its own. */
static int add_header(struct http_exchange *exchange, const struct http_header *header,
                      struct error *err)
{
    if (strpbrk(header->name, "\r\n:; ") || strpbrk(header->value, "\r\n"))
        return error_set(err, ERROR_INVALID,
                         "header %.40s has a character that headers cannot hold", header->name);

    /* "Name:" would remove libcurl's own header; "Name;" sends an empty one. */
    owned(chars) char *line = *header->value ? text_format("%s: %s", header->name, header->value)
                                             : text_format("%s;", header->name);

    add_item(&exchange->headers, line);
    return 0;
}

static int add_headers(struct http_exchange *exchange, const struct http_request *request,
                       const struct http_target *target, struct error *err)
{
    const struct http_header authority = { "Host", target->authority };

    for (size_t i = 0; i < request->header_count; i++)
        if (add_header(exchange, &request->headers[i], err) < 0)
            return -1;
    if (target->authority && !http_header_find(request->headers, request->header_count, "Host") &&
        add_header(exchange, &authority, err) < 0)
        return -1;
    if (!http_header_find(request->headers, request->header_count, "Content-Type"))
        add_item(&exchange->headers, "Content-Type:");
    /* Waiting for a 100 costs a round trip, and a 417 would make libcurl send twice. */
    add_item(&exchange->headers, "Expect:");
    set_option(exchange->easy, CURLOPT_HTTPHEADER, exchange->headers);
    return 0;
}

static void set_blob(CURL *easy, CURLoption option, const char *pem)
{
    /* libcurl copies it, and takes no const. */
    struct curl_blob blob = { (void *)(uintptr_t)pem, strlen(pem), CURL_BLOB_COPY };

    set_option(easy, option, &blob);
}

static void set_tls(CURL *easy, const struct http_tls *tls)
{
    set_option(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (!tls)
        return;
    if (tls->ca_pem) {
        set_blob(easy, CURLOPT_CAINFO_BLOB, tls->ca_pem);
        /* Given authorities replace the system's: otherwise the system's folder would still
           count. */
        set_option(easy, CURLOPT_CAPATH, NULL);
    }
    if (tls->certificate_pem)
        set_blob(easy, CURLOPT_SSLCERT_BLOB, tls->certificate_pem);
    if (tls->key_pem)
        set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key_pem);
}

static void set_method(struct http_exchange *exchange, const struct http_request *request)
{
    CURL *easy = exchange->easy;
    bool has_body = request->body || request->method == HTTP_POST || request->method == HTTP_PUT ||
                    request->method == HTTP_PATCH;

    if (has_body) {
        exchange->request_body = mem_new(request->body_size + 1);
        if (request->body_size)
            memcpy(exchange->request_body, request->body, request->body_size);
        set_option(easy, CURLOPT_POST, 1L);
        set_option(easy, CURLOPT_POSTFIELDS, exchange->request_body);
        set_option(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
    }
    set_option(easy, CURLOPT_CUSTOMREQUEST, http_method_name(request->method));
}

/* Each new connection of a request that is_outward: a name may lead to any address. */
static curl_socket_t on_socket_opens(void *context, curlsocktype purpose,
                                     struct curl_sockaddr *address)
{
    struct http_exchange *exchange = context;

    (void)purpose;
    if (http_is_link_address(&address->addr)) {
        error_set(&exchange->err, ERROR_INVALID, "%s leads to where clouds answer their machines",
                  exchange->host);
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* A mutation gets a connection that no request used before: on a used one that dies, libcurl sends
   again by itself.  HTTP/1.1 for all: on HTTP/2 libcurl repeats a refused stream, and 7.88 gives
   the bytes of one stream to another when a server answers two long lists on one connection: one of
   them breaks ("Unsupported protocol"), or hangs until its time is over. */
static void set_connection(CURL *easy, const struct http_request *request,
                           const struct http_target *target)
{
    set_option(easy, CURLOPT_PROTOCOLS_STR, target->is_plain ? "http" : "https");
    set_option(easy, CURLOPT_FOLLOWLOCATION, 0L);
    set_option(easy, CURLOPT_PROXY, "");
    set_option(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    set_option(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    set_option(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    set_option(easy, CURLOPT_BUFFERSIZE, (long)READ_SIZE);
    set_option(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    set_option(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    set_option(easy, CURLOPT_TCP_KEEPINTVL, 10L);
    set_option(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (request->accepts_gzip)
        set_option(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    if (request->unix_socket)
        set_option(easy, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
    if (request->is_mutation) {
        long is_alone = !request->is_repeatable;

        set_option(easy, CURLOPT_FRESH_CONNECT, is_alone);
        set_option(easy, CURLOPT_FORBID_REUSE, is_alone);
    }
}

static void set_callbacks(struct http_exchange *exchange)
{
    CURL *easy = exchange->easy;

    set_option(easy, CURLOPT_PRIVATE, exchange);
    set_option(easy, CURLOPT_ERRORBUFFER, exchange->reason);
    set_option(easy, CURLOPT_PREREQFUNCTION, on_request_begins);
    set_option(easy, CURLOPT_PREREQDATA, exchange);
    set_option(easy, CURLOPT_WRITEFUNCTION, on_body);
    set_option(easy, CURLOPT_WRITEDATA, exchange);
    set_option(easy, CURLOPT_HEADERFUNCTION, on_header);
    set_option(easy, CURLOPT_HEADERDATA, exchange);
    set_option(easy, CURLOPT_NOSIGNAL, 1L);
    /* A slow name server must not block the loop after a request was cancelled. */
    set_option(easy, CURLOPT_QUICK_EXIT, 1L);
    set_option(easy, CURLOPT_USERAGENT, "sluice/" SLUICE_VERSION);
}

static int prepare(struct http_exchange *exchange, const struct http_request *request,
                   struct error *err)
{
    owned(http_target) struct http_target target = { 0 };

    if (http_target_read(request, &target, err) < 0)
        return -1;
    exchange->host = steal(&target.host);
    exchange->easy = curl_easy_init();
    require(exchange->easy);
    set_callbacks(exchange);
    set_option(exchange->easy, CURLOPT_URL, target.url);
    set_connection(exchange->easy, request, &target);
    if (request->is_outward) {
        set_option(exchange->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket_opens);
        set_option(exchange->easy, CURLOPT_OPENSOCKETDATA, exchange);
    }
    set_method(exchange, request);
    if (!target.is_plain)
        set_tls(exchange->easy, request->tls);
    if (target.connect_to) {
        add_item(&exchange->connect_to, target.connect_to);
        set_option(exchange->easy, CURLOPT_CONNECT_TO, exchange->connect_to);
    }
    return add_headers(exchange, request, &target, err);
}

struct http_exchange *exchange_new(const struct http_request *request)
{
    struct http_exchange *exchange = mem_new(sizeof *exchange);

    exchange->priority = request->priority;
    exchange->on_chunk = request->on_chunk;
    exchange->is_stream = request->timeout_ms == 0;
    exchange->is_outward = request->is_outward;
    exchange->answer_limit = request->answer_limit ? request->answer_limit : ANSWER_LIMIT;
    exchange->answer_body = text_new(exchange->answer_limit);
    exchange->secrets = http_secrets_new(request);
    if (prepare(exchange, request, &exchange->err) < 0 && exchange->easy) {
        curl_easy_cleanup(exchange->easy);
        exchange->easy = NULL;
    }
    return exchange;
}

void exchange_free(struct http_exchange *exchange)
{
    if (exchange->easy)
        curl_easy_cleanup(exchange->easy);
    curl_slist_free_all(exchange->headers);
    curl_slist_free_all(exchange->connect_to);
    forget_headers(exchange);
    text_free(exchange->answer_body);
    http_secrets_free(exchange->secrets);
    mem_free(exchange->request_body);
    mem_free(exchange->host);
    mem_free(exchange);
}

/* Credentials that do not parse are the caller's to correct; repeating will not help. */
static bool is_wrong_credential(CURLcode code)
{
    return code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE;
}

/* What is wrong with a certificate is only in libcurl's longer words. */
static void set_failure(struct http_exchange *exchange, enum error_kind kind, CURLcode code)
{
    const char *words = curl_easy_strerror(code), *reason = exchange->reason;

    if (reason[0] != '\0' && code == CURLE_PEER_FAILED_VERIFICATION)
        error_set(&exchange->err, kind, "%s: %s", exchange->host, reason);
    else if (reason[0] != '\0' && code == CURLE_SSL_CONNECT_ERROR)
        error_set(&exchange->err, kind, "%s: %s: %s", exchange->host, words, reason);
    else
        error_set(&exchange->err, kind, "%s: %s", exchange->host, words);
}

void exchange_finish(struct http_exchange *exchange, CURLcode code)
{
    long status = 0;
    enum error_kind kind = ERROR_TRANSIENT;

    curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    exchange->status = (int)status;
    if (exchange->is_outward && status >= 200)
        exchange->err = (struct error){ 0 };
    if (exchange->err.kind != ERROR_NONE || (code == CURLE_OK && status >= 100) ||
        (exchange->is_outward && status >= 200))
        return;
    if (exchange->may_have_arrived)
        kind = ERROR_UNKNOWN_OUTCOME;
    else if (is_wrong_credential(code))
        kind = ERROR_INVALID;
    set_failure(exchange, kind, code);
}

void exchange_tell(struct http_exchange *exchange, struct wall_time now)
{
    if (exchange->err.kind != ERROR_NONE) {
        exchange->done(exchange->context, NULL, &exchange->err);
        return;
    }
    http_secrets_strike(exchange->secrets, exchange->answer_body);

    const struct http_answer answer = {
        .status = exchange->status,
        .body = exchange->answer_body->chars,
        .body_size = exchange->answer_body->length,
        .retry_after_ms = http_retry_after_ms(exchange->received, exchange->received_count, now),
        .headers = exchange->received,
        .header_count = exchange->received_count,
    };

    exchange->done(exchange->context, &answer, NULL);
}
