/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server's TLS: how many handshakes and connections an address gets, until when a client's
 * certificate counts, and another certificate while connections are open.
 */
#include "base/world/tls_identity.h"
#include "tests/base/http_fixture.h"
#include "tests/support/folder.h"
#include "tests/support/identity.h"

#include <errno.h>
#include <sys/stat.h>

static struct identity authority, client_identity;
static struct wall_time seen_end;

static void answer_fine(void *context, struct http_call *call)
{
    (void)context;
    seen_end = http_call_certificate_ends(call);
    http_call_answer(call, &(struct http_reply){ .status = 200, .body = "fine", .body_size = 4 });
}

/* The server's certificate and key as files of these names. */
static struct tls_identity *identity_on_disk(const char *folder, const struct identity *issuer)
{
    struct identity own = identity_make("server", "IP:127.0.0.1", issuer);
    owned(chars) char *certificate = test_folder_write(folder, "server.pem", own.certificate_pem);
    owned(chars) char *key = test_folder_write(folder, "server.key", own.key_pem);
    owned(chars) char *ca = test_folder_write(folder, "people.pem", authority.certificate_pem);
    const struct tls_files files = { .certificate = certificate, .key = key, .client_ca = ca };
    struct error err = { 0 };
    struct tls_identity *identity = NULL;

    assert_int_equal(chmod(key, 0600), 0);
    identity = tls_identity_read(&files, &err);
    if (!identity)
        fail_msg("%s", err.text);
    identity_clear(&own);
    return identity;
}

struct scene {
    struct http_fixture *fixture;
    char *folder;
    struct tls_identity *identity;
    struct http_server *server;
    int port;
};

static struct scene scene_open(void **state)
{
    struct scene scene = { .fixture = *state, .folder = test_folder_new() };
    struct error err = { 0 };

    scene.fixture->handler = answer_fine;
    scene.identity = identity_on_disk(scene.folder, &authority);
    scene.server = http_server_new_tls(scene.fixture->loop, scene.identity, fixture_handle,
                                       scene.fixture);
    assert_int_equal(http_server_listen_tls(scene.server, "127.0.0.1:0", &scene.port, &err), 0);
    return scene;
}

static void scene_close(struct scene *scene)
{
    http_server_free(scene->server);
    tls_identity_free(scene->identity);
    test_folder_free(scene->folder);
}

/* A mutation comes on a connection of its own. */
static const struct result *ask(struct scene *scene, const struct http_tls *tls, bool is_mutation)
{
    owned(chars) char *url = text_format("https://127.0.0.1:%d/", scene->port);
    const struct http_request request = {
        .url = url, .timeout_ms = FIXTURE_HANGS_MS, .tls = tls, .is_mutation = is_mutation
    };
    struct result *result = &scene->fixture->results[0];

    result->count = 0;
    result->status = 0;
    result->kind = ERROR_NONE;
    http_send(scene->fixture->http, &request, fixture_done, result);
    fixture_await(scene->fixture, 1);
    return result;
}

static void an_address_gets_so_many_handshakes(void **state)
{
    const struct http_tls tls = { .ca_pem = authority.certificate_pem };
    struct scene scene = scene_open(state);
    struct http_server_limits limits = http_server_limits();

    limits.address_handshakes = (struct http_rate){ .burst = 4, .period_ms = HOUR_MS };
    http_server_limit(scene.server, &limits);
    assert_int_equal(ask(&scene, &tls, false)->status, 200); /* this connection is kept */
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask(&scene, &tls, true)->status, 200);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask(&scene, &tls, true)->kind, ERROR_TRANSIENT);
    assert_int_equal(http_server_refused(scene.server, HTTP_REFUSED_ADDRESS_HANDSHAKES), 3);
    assert_int_equal(ask(&scene, &tls, false)->status, 200);
    loop_skip(scene.fixture->loop, HOUR_MS);
    assert_int_equal(ask(&scene, &tls, true)->status, 200);
    assert_int_equal(ask(&scene, &tls, true)->kind, ERROR_TRANSIENT);
    scene_close(&scene);
}

static bool is_closed(int fd)
{
    char byte;

    return recv(fd, &byte, 1, 0) >= 0 || errno != EAGAIN;
}

static void an_address_gets_so_many_connections(void **state)
{
    const struct http_tls tls = { .ca_pem = authority.certificate_pem };
    struct scene scene = scene_open(state);
    struct http_server_limits limits = http_server_limits();
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)scene.port) };
    int fds[6], closed_count = 0;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    limits.address_connections = 4;
    http_server_limit(scene.server, &limits);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fds[i], (struct sockaddr *)&address, sizeof address);
        fixture_run_for(scene.fixture, 50);
    }
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        closed_count += is_closed(fds[i]);
    assert_int_equal(closed_count, 2);
    assert_true(is_closed(fds[4]) && is_closed(fds[5]));
    assert_int_equal(http_server_refused(scene.server, HTTP_REFUSED_ADDRESS_CONNECTIONS), 2);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close(fds[i]);
    fixture_run_for(scene.fixture, SECOND_MS);
    assert_int_equal(ask(&scene, &tls, true)->status, 200);
    scene_close(&scene);
}

/* Made an hour good: the sooner of the client's and its authority's end. */
static void a_call_says_when_its_certificate_ends(void **state)
{
    const struct http_tls with = { .ca_pem = authority.certificate_pem,
                                   .certificate_pem = client_identity.certificate_pem,
                                   .key_pem = client_identity.key_pem };
    const struct http_tls without = { .ca_pem = authority.certificate_pem };
    struct scene scene = scene_open(state);
    int64_t now_ms = loop_wall(scene.fixture->loop).ms;

    ask(&scene, &with, false);
    assert_in_range(seen_end.ms, now_ms, now_ms + HOUR_MS);
    assert_in_range(tls_identity_ends(scene.identity).ms, seen_end.ms, now_ms + HOUR_MS);
    ask(&scene, &without, false);
    assert_int_equal(seen_end.ms, 0);
    scene_close(&scene);
}

static void a_renewed_certificate_is_shown_to_new_connections(void **state)
{
    struct identity next = identity_make("next authority", NULL, NULL);
    const struct http_tls before = { .ca_pem = authority.certificate_pem };
    const struct http_tls after = { .ca_pem = next.certificate_pem };
    struct scene scene = scene_open(state);
    struct tls_identity *renewed = identity_on_disk(scene.folder, &next);

    assert_int_equal(ask(&scene, &before, false)->status, 200);
    assert_int_equal(ask(&scene, &after, false)->kind, ERROR_TRANSIENT);
    http_server_renew(scene.server, renewed);
    tls_identity_free(scene.identity);
    scene.identity = renewed;
    assert_int_equal(ask(&scene, &after, false)->status, 200);
    assert_int_equal(ask(&scene, &before, false)->status, 200); /* the kept one */
    assert_int_equal(ask(&scene, &before, true)->kind, ERROR_TRANSIENT);
    scene_close(&scene);
    identity_clear(&next);
}

static int set_up_identities(void **state)
{
    (void)state;
    authority = identity_make("authority", NULL, NULL);
    client_identity = identity_make("ada", NULL, &authority);
    return 0;
}

static int tear_down_identities(void **state)
{
    (void)state;
    identity_clear(&authority);
    identity_clear(&client_identity);
    return 0;
}

#define SERVER_TEST(test)                                                                          \
    {                                                                                              \
#test, test, fixture_set_up, fixture_tear_down, NULL                                       \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVER_TEST(an_address_gets_so_many_handshakes),
        SERVER_TEST(an_address_gets_so_many_connections),
        SERVER_TEST(a_call_says_when_its_certificate_ends),
        SERVER_TEST(a_renewed_certificate_is_shown_to_new_connections),
    };

    return cmocka_run_group_tests(tests, set_up_identities, tear_down_identities);
}
