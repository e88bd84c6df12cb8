/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See doors.h.
 */
#include "broker/api/doors.h"

#include "base/memory.h"
#include "base/world/tls_identity.h"
#include "broker/api/api.h"

#include <unistd.h>

struct doors {
    const struct config *config;
    struct access *access;
    struct tls_identity *identity; /* NULL: no TLS */
    struct api *api;
    struct http_server *server; /* on this machine */
    struct http_server *remote; /* a server of its own, so that its connections count apart */
    int tls_port;
};

struct doors *doors_new(const struct config *config, struct error *err)
{
    const struct config_listen *listen = &config->listen;
    const struct access_rules rules = { config->access, config->access_count, &config->tokens };
    /* With a token a client needs no certificate. */
    const struct tls_files files = { listen->certificate, listen->key, listen->client_ca,
                                     !config->tokens.issuer };
    owned(doors) struct doors *doors = mem_new(sizeof *doors);

    doors->config = config;
    doors->access = access_new(&rules, err);
    if (!doors->access)
        return NULL;
    if (listen->address) {
        doors->identity = tls_identity_read(&files, err);
        if (!doors->identity) {
            error_context(err, "listen");
            return NULL;
        }
    }
    return steal(&doors);
}

/* The socket's group may open it. */
static int give_socket(const struct config *config, struct error *err)
{
    gid_t group;

    if (!config->socket_group)
        return 0;
    if (access_find_group(config->socket_group, &group, err) < 0)
        return error_context(err, "socket_group");
    if (chown(config->socket, (uid_t)-1, group) < 0)
        return error_errno(err, ERROR_DENIED,
                           "cannot give %s to the group %s: the service's user must be its member",
                           config->socket, config->socket_group);
    return 0;
}

/* Port 0 means none here. */
static int listen_for_metrics(struct doors *doors, struct error *err)
{
    int port = (int)doors->config->metrics_port;

    if (port == 0 || http_server_listen_loopback(doors->server, port, &port, err) == 0)
        return 0;
    return error_context(err, "metrics_port %d", port);
}

static int listen_for_remote(struct doors *doors, struct loop *loop, struct error *err)
{
    if (!doors->identity)
        return 0;
    doors->remote = http_server_new_tls(loop, doors->identity, api_handle, doors->api);
    if (http_server_listen_tls(doors->remote, doors->config->listen.address, &doors->tls_port,
                               err) == 0)
        return 0;
    return error_context(err, "listen.address");
}

int doors_open(struct doors *doors, struct loop *loop, struct service *service, struct error *err)
{
    const struct config *config = doors->config;

    require(!doors->server);
    api_free(doors->api);
    doors->api = api_new(service, doors->access, loop);
    doors->server = http_server_new(loop, api_handle, doors->api);
    if (http_server_listen_unix(doors->server, config->socket, 0660, err) < 0 ||
        give_socket(config, err) < 0 || listen_for_metrics(doors, err) < 0)
        return -1;
    return listen_for_remote(doors, loop, err);
}

void doors_close(struct doors *doors)
{
    if (!doors)
        return;
    http_server_free(steal(&doors->remote));
    http_server_free(steal(&doors->server));
    doors->tls_port = 0;
}

void doors_free(struct doors *doors)
{
    if (!doors)
        return;
    doors_close(doors);
    api_free(doors->api);
    tls_identity_free(doors->identity);
    access_free(doors->access);
    mem_free(doors);
}

int doors_tls_port(const struct doors *doors)
{
    return doors->tls_port;
}
