/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * TLS of the HTTP client: whom it trusts, by which name, and what it shows of itself.  The server
 * answers with the name in the client's certificate.
 */
#include "tests/base/http_fixture.h"
#include "tests/support/identity.h"

#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>
#include <stdio.h>

static struct identity authority, stranger, server_identity, client_identity;
static SSL_CTX *tls_context;
static int request_count;

static void on_tls_read(struct bufferevent *connection, void *context)
{
    struct evbuffer *input = bufferevent_get_input(connection);
    X509 *peer = SSL_get1_peer_certificate(bufferevent_openssl_get_ssl(connection));
    char name[64] = "nobody";

    (void)context;
    if (evbuffer_search(input, "\r\n\r\n", 4, NULL).pos >= 0) {
        struct evbuffer_ptr host = evbuffer_search(input, "Host: 127.0.0.1:", 16, NULL);

        if (peer)
            X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name,
                                      sizeof name);
        request_count++;
        evbuffer_drain(input, evbuffer_get_length(input));
        evbuffer_add_printf(bufferevent_get_output(connection),
                            "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nX-Probe: %s\r\n\r\n%s",
                            strlen(name), host.pos >= 0 ? "by address" : "by name", name);
    }
    X509_free(peer);
}

static void on_tls_accept(struct evconnlistener *listener, evutil_socket_t fd,
                          struct sockaddr *address, int size, void *context)
{
    struct http_fixture *fixture = context;
    struct bufferevent *connection = bufferevent_openssl_socket_new(
        evconnlistener_get_base(listener), fd, SSL_new(tls_context), BUFFEREVENT_SSL_ACCEPTING,
        BEV_OPT_CLOSE_ON_FREE);

    (void)address;
    (void)size;
    bufferevent_openssl_set_allow_dirty_shutdown(connection, 1);
    fixture->raw_connections[fixture->raw_connection_count++] = connection;
    bufferevent_setcb(connection, on_tls_read, NULL, NULL, fixture);
    bufferevent_enable(connection, EV_READ | EV_WRITE);
}

static int set_up(void **state)
{
    struct http_fixture *fixture;

    fixture_set_up(state);
    fixture = *state;
    evconnlistener_set_cb(fixture->raw, on_tls_accept, fixture);
    request_count = 0;
    return 0;
}

static int set_up_identities(void **state)
{
    (void)state;
    authority = identity_make("authority", NULL, NULL);
    stranger = identity_make("stranger", NULL, NULL);
    server_identity = identity_make("server", "IP:127.0.0.1,DNS:api.internal", &authority);
    client_identity = identity_make("sluice", NULL, &authority);
    tls_context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(tls_context, server_identity.certificate);
    SSL_CTX_use_PrivateKey(tls_context, server_identity.key);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(tls_context), authority.certificate);
    SSL_CTX_set_verify(tls_context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_id_context(tls_context, (const unsigned char *)"test", 4);
    return 0;
}

static int tear_down_identities(void **state)
{
    (void)state;
    SSL_CTX_free(tls_context);
    identity_clear(&authority);
    identity_clear(&stranger);
    identity_clear(&server_identity);
    identity_clear(&client_identity);
    return 0;
}

static const struct result *ask(struct http_fixture *fixture, const char *host,
                                const struct http_tls *tls, bool is_mutation)
{
    owned(chars) char *url = text_format("https://%s:%d/", host, fixture->raw_port);
    const struct http_request request = {
        .url = url, .timeout_ms = FIXTURE_HANGS_MS, .tls = tls, .is_mutation = is_mutation
    };
    struct result *result = &fixture->results[0];

    result->count = 0;
    result->status = 0;
    result->kind = ERROR_NONE;
    text_reset(result->body);
    http_send(fixture->http, &request, fixture_done, result);
    fixture_await(fixture, 1);
    return result;
}

static void only_the_given_authority_is_trusted(void **state)
{
    struct http_fixture *fixture = *state;
    const struct http_tls right = { .ca_pem = authority.certificate_pem };
    const struct http_tls wrong = { .ca_pem = stranger.certificate_pem };

    for (int is_mutation = 0; is_mutation < 2; is_mutation++) {
        assert_int_equal(ask(fixture, "127.0.0.1", &right, is_mutation)->status, 200);
        assert_string_equal(fixture->results[0].body->chars, "nobody");
        assert_int_equal(ask(fixture, "127.0.0.1", &wrong, is_mutation)->kind, ERROR_TRANSIENT);
        assert_int_equal(ask(fixture, "127.0.0.1", NULL, is_mutation)->kind, ERROR_TRANSIENT);
    }
    assert_int_equal(request_count, 2);
}

static void the_name_must_be_the_servers(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_tls tls = { .ca_pem = authority.certificate_pem };

    assert_int_equal(ask(fixture, "localhost", &tls, false)->kind, ERROR_TRANSIENT);
    tls.server_name = "other.internal";
    assert_int_equal(ask(fixture, "127.0.0.1", &tls, false)->kind, ERROR_TRANSIENT);
    assert_int_equal(request_count, 0);
    tls.server_name = "api.internal";
    assert_int_equal(ask(fixture, "127.0.0.1", &tls, false)->status, 200);
    assert_string_equal(fixture->results[0].header, "by address");
    tls.server_name = "not a name";
    assert_int_equal(ask(fixture, "127.0.0.1", &tls, false)->kind, ERROR_INVALID);
}

/* Each identity has connections of its own: a kept one must not speak for another client. */
static void the_client_shows_the_certificate_of_the_request(void **state)
{
    struct http_fixture *fixture = *state;
    const struct http_tls nobody = { .ca_pem = authority.certificate_pem };
    const struct http_tls somebody = { .ca_pem = authority.certificate_pem,
                                       .certificate_pem = client_identity.certificate_pem,
                                       .key_pem = client_identity.key_pem };
    const struct http_tls mismatched = { .ca_pem = authority.certificate_pem,
                                         .certificate_pem = client_identity.certificate_pem,
                                         .key_pem = "nonsense" };

    for (int i = 0; i < 3; i++) {
        ask(fixture, "127.0.0.1", &somebody, false);
        assert_string_equal(fixture->results[0].body->chars, "sluice");
        ask(fixture, "127.0.0.1", &nobody, false);
        assert_string_equal(fixture->results[0].body->chars, "nobody");
    }
    assert_int_equal(fixture->raw_connection_count, 2);
    assert_int_equal(ask(fixture, "127.0.0.1", &mismatched, true)->kind, ERROR_INVALID);
}

#define TLS_TEST(test)                                                                             \
    {                                                                                              \
#test, test, set_up, fixture_tear_down, NULL                                               \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TLS_TEST(only_the_given_authority_is_trusted),
        TLS_TEST(the_name_must_be_the_servers),
        TLS_TEST(the_client_shows_the_certificate_of_the_request),
    };

    return cmocka_run_group_tests(tests, set_up_identities, tear_down_identities);
}
