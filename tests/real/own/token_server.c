/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See token_server.h.
 */
#include "tests/real/own/token_server.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/world/http_server.h"
#include "base/world/tls_identity.h"
#include "tests/support/folder.h"
#include "tests/support/identity.h"
#include "tests/support/unit.h"

#include <sys/stat.h>

#define SECRETS "/api/v1/namespaces/kube-system/secrets"

enum { TOKENS = 512 };

struct token {
    char id[16];
    char secret[32];
    bool is_gone;
};

struct token_server {
    struct identity authority;
    struct tls_identity *identity;
    struct http_server *server;
    struct token tokens[TOKENS];
    int made, refused;
    bool refuses;
};

static struct token *find(struct token_server *server, const char *id)
{
    for (int i = 0; i < server->made; i++)
        if (!server->tokens[i].is_gone && text_equal(server->tokens[i].id, id))
            return &server->tokens[i];
    return NULL;
}

static void answer(struct http_call *call, int status, const char *reason)
{
    owned(chars) char *body = text_format("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"
                                          "\"%s\",\"reason\":\"%s\",\"code\":%d}",
                                          status < 300 ? "Success" : "Failure", reason, status);

    http_call_answer(
        call, &(struct http_reply){ .status = status, .body = body, .body_size = strlen(body) });
}

static void make(struct token_server *server, struct http_call *call)
{
    size_t size;
    const char *bytes = http_call_body(call, &size);
    owned(json) json_t *body = json_parse(bytes, size, "token", NULL);
    const json_t *data = json_object_get(body, "stringData");
    const char *id = json_text_or(data, "token-id", "");
    owned(chars) char *name = text_format("bootstrap-token-%s", id);
    struct token *token = &server->tokens[server->made];

    assert_non_null(body);
    assert_string_equal(json_text_or(body, "type", ""), "bootstrap.kubernetes.io/token");
    assert_string_equal(json_text_or(json_object_get(body, "metadata"), "name", ""), name);
    assert_int_equal(strlen(id), 6);
    assert_int_equal(strlen(json_text_or(data, "token-secret", "")), 16);
    assert_string_equal(json_text_or(data, "usage-bootstrap-authentication", ""), "true");
    assert_int_equal(json_text_or(data, "expiration", "")[10], 'T');
    if (find(server, id)) {
        answer(call, 409, "AlreadyExists");
        return;
    }
    assert_true(server->made < TOKENS);
    server->made++;
    text_copy(token->id, sizeof token->id, id);
    text_copy(token->secret, sizeof token->secret, json_text_or(data, "token-secret", ""));
    answer(call, 201, "");
}

static void handle(void *context, struct http_call *call)
{
    struct token_server *server = context;
    const char *target = http_call_target(call);
    struct token *token;

    if (http_call_method(call) == HTTP_POST && text_equal(target, SECRETS)) {
        make(server, call);
        return;
    }
    assert_int_equal(http_call_method(call), HTTP_DELETE);
    assert_true(text_starts_with(target, SECRETS "/bootstrap-token-"));
    if (server->refuses) {
        server->refused++;
        answer(call, 500, "InternalError");
        return;
    }
    token = find(server, target + strlen(SECRETS "/bootstrap-token-"));
    if (token)
        token->is_gone = true;
    answer(call, token ? 200 : 404, token ? "" : "NotFound");
}

struct token_server *token_server_new(struct loop *loop, const char *folder)
{
    struct token_server *server = mem_new(sizeof *server);
    struct error err = { 0 };
    struct identity own;
    int port;

    server->authority = identity_make("the authority", NULL, NULL);
    own = identity_make("server", "IP:127.0.0.1", &server->authority);
    owned(chars) char *certificate = test_folder_write(folder, "server.pem", own.certificate_pem);
    owned(chars) char *key = test_folder_write(folder, "server.key", own.key_pem);
    owned(chars) char *ca = test_folder_write(folder, "ca.pem", server->authority.certificate_pem);

    identity_clear(&own);
    assert_int_equal(chmod(key, 0600), 0);
    server->identity = tls_identity_read(
        &(struct tls_files){ .certificate = certificate, .key = key }, &err);
    if (!server->identity)
        fail_msg("%s", err.text);
    server->server = http_server_new_tls(loop, server->identity, handle, server);
    assert_int_equal(http_server_listen_tls(server->server, "127.0.0.1:0", &port, &err), 0);
    owned(chars) char *config = text_format(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\n"
        "clusters: [{name: it, cluster: {server: 'https://127.0.0.1:%d', certificate-authority: "
        "ca.pem}}]\nusers: [{name: it, user: {token: t}}]\n"
        "contexts: [{name: it, context: {cluster: it, user: it}}]\n",
        port);

    owned(chars) char *path = test_folder_write(folder, "kubeconfig", config);
    assert_int_equal(chmod(path, 0600), 0);
    return server;
}

void token_server_free(struct token_server *server)
{
    http_server_free(server->server);
    tls_identity_free(server->identity);
    identity_clear(&server->authority);
    mem_free(server);
}

int token_server_count(const struct token_server *server)
{
    int count = 0;

    for (int i = 0; i < server->made; i++)
        count += !server->tokens[i].is_gone;
    return count;
}

int token_server_made(const struct token_server *server)
{
    return server->made;
}

const char *token_server_secret(const struct token_server *server, int at)
{
    return server->tokens[at].secret;
}

void token_server_refuse(struct token_server *server, bool refuses)
{
    server->refuses = refuses;
}

int token_server_refused(const struct token_server *server)
{
    return server->refused;
}
