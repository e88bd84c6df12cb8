/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See doors.h.
 */
#include "broker/api/doors.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/world/tls_identity.h"
#include "broker/access/groups.h"
#include "broker/access/key_source.h"
#include "broker/api/api.h"
#include "broker/api/endings.h"
#include "broker/api/file_stamps.h"
#include "broker/health/health.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RETRY_LEAST_MS = 2 * SECOND_MS,
    LOOK_MS = MINUTE_MS, /* at all files, and for what is still closed */
};

enum part { PART_GROUP, PART_ROLES, PART_METRICS, PART_TLS, PART_TOKENS, PARTS };

static const struct {
    const char *name;        /* of its setting */
    const char *consequence; /* while it is closed */
} parts[PARTS] = {
    [PART_GROUP] = { "socket_group", "only root and the service's user may open the socket" },
    [PART_ROLES] = { "access", "members of a group have no role by it" },
    [PART_METRICS] = { "metrics_port", "the metrics port does not answer" },
    [PART_TLS] = { "listen", "no request comes in over TLS" },
    [PART_TOKENS] = { "tokens", "no token is believed" },
};

/* Files that may be renewed while the service runs. */
struct renewal {
    struct file_stamps stamps;
    struct error refused; /* why renewed files are not in use; ERROR_NONE: they are */
};

struct doors {
    const struct config *config;
    struct loop *loop;
    struct service *service;   /* NULL: they are closed */
    struct key_source *source; /* of tokens' keys; NULL: they are not fetched */
    struct groups *groups;
    size_t socket_group; /* its index there */
    struct access *access;
    struct tls_identity *identity; /* NULL: no TLS */
    struct api *api;
    struct http_server *server; /* on this machine */
    struct http_server *remote; /* a server of its own, so that its connections count apart */
    struct timer *timer;
    int64_t wait_ms;
    int tls_port;
    struct error closed[PARTS]; /* why; ERROR_NONE: it is open, or was not tried yet */
    struct renewal certificates;
    struct renewal keys; /* of tokens, from a file */
};

static struct tls_identity *read_identity(struct doors *doors, struct error *err)
{
    const struct config_listen *listen = &doors->config->listen;
    /* With a token a client needs no certificate. */
    const struct tls_files files = { listen->certificate, listen->key, listen->client_ca,
                                     listen->client_crl, !doors->config->tokens.issuer };
    struct tls_identity *identity;

    (void)file_stamps_changed(&doors->certificates.stamps);
    identity = tls_identity_read(&files, err);
    if (!identity)
        error_context(err, "listen");
    return identity;
}

static int read_keys(struct doors *doors, struct error *err)
{
    (void)file_stamps_changed(&doors->keys.stamps);
    if (access_read_keys(doors->access, doors->config->tokens.keys, err) < 0)
        return -1;
    if (doors->api)
        api_restart_streams(doors->api);
    return 0;
}

/* Fetched ones have changed: who follows the changes comes again, and may not be let in. */
static void on_keys_changed(void *context)
{
    struct doors *doors = context;

    if (doors->server)
        api_restart_streams(doors->api);
}

static int find_socket_group(const struct doors *doors, gid_t *ret_group, struct error *err)
{
    if (groups_number(doors->groups, doors->socket_group, ret_group, err) < 0)
        return error_context(err, "socket_group");
    return 0;
}

struct doors *doors_new(const struct config *config)
{
    struct doors *doors = mem_new(sizeof *doors);
    const struct access_rules rules = { config->access, config->access_count, &config->tokens };
    const struct config_listen *listen = &config->listen;
    struct error *closed = doors->closed;
    gid_t group;

    doors->config = config;
    doors->certificates.stamps = (struct file_stamps){
        .paths = { listen->certificate, listen->key, listen->client_ca, listen->client_crl }
    };
    doors->keys.stamps = (struct file_stamps){ .paths = { config->tokens.keys } };
    doors->groups = groups_new();
    if (config->socket_group) {
        doors->socket_group = groups_add(doors->groups, config->socket_group);
        (void)find_socket_group(doors, &group, &closed[PART_GROUP]);
    }
    doors->access = access_new(&rules, doors->groups);
    (void)access_check_groups(doors->access, &closed[PART_ROLES]);
    if (config->tokens.keys)
        (void)read_keys(doors, &closed[PART_TOKENS]);
    if (listen->address)
        doors->identity = read_identity(doors, &closed[PART_TLS]);
    return doors;
}

/* The socket's group may open it. */
static int give_socket(const struct doors *doors, struct error *err)
{
    const struct config *config = doors->config;
    gid_t group;

    if (!config->socket_group)
        return 0;
    if (find_socket_group(doors, &group, err) < 0)
        return -1;
    if (chown(config->socket, (uid_t)-1, group) < 0 || chmod(config->socket, 0660) < 0)
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

static int listen_for_remote(struct doors *doors, struct error *err)
{
    if (!doors->config->listen.address)
        return 0;
    if (!doors->identity)
        doors->identity = read_identity(doors, err);
    if (!doors->identity)
        return -1;
    if (!doors->remote)
        doors->remote = http_server_new_tls(doors->loop, doors->identity, api_handle, doors->api);
    if (http_server_listen_tls(doors->remote, doors->config->listen.address, &doors->tls_port,
                               err) == 0)
        return 0;
    return error_context(err, "listen.address");
}

/* Tries a part, and logs when its state changes. */
static void try_part(struct doors *doors, enum part part, int result, const struct error *err)
{
    struct error *closed = &doors->closed[part];

    if (result == 0 && closed->kind != ERROR_NONE)
        log_info("door_opened", FIELD_TEXT("door", parts[part].name));
    *closed = result == 0 ? (struct error){ 0 } : *err;
}

static bool is_closed(const struct doors *doors, enum part part)
{
    return doors->closed[part].kind != ERROR_NONE;
}

static bool is_any_closed(const struct doors *doors)
{
    for (int part = 0; part < PARTS; part++)
        if (is_closed(doors, (enum part)part))
            return true;
    return doors->certificates.refused.kind != ERROR_NONE || doors->keys.refused.kind != ERROR_NONE;
}

/* What needs the numbers of groups; this asks no directory server. */
static void mend_groups(void *context)
{
    struct doors *doors = context;
    struct error err = { 0 };

    if (is_closed(doors, PART_GROUP))
        try_part(doors, PART_GROUP, give_socket(doors, &err), &err);
    if (is_closed(doors, PART_ROLES))
        try_part(doors, PART_ROLES, access_check_groups(doors->access, &err), &err);
}

/* Opens what is closed, as far as that is possible now. */
static void mend(struct doors *doors)
{
    struct error err = { 0 };

    mend_groups(doors);
    if (is_closed(doors, PART_METRICS))
        try_part(doors, PART_METRICS, listen_for_metrics(doors, &err), &err);
    if (is_closed(doors, PART_TLS))
        try_part(doors, PART_TLS, listen_for_remote(doors, &err), &err);
    if (is_closed(doors, PART_TOKENS))
        try_part(doors, PART_TOKENS, read_keys(doors, &err), &err);
}

static int renew_identity(struct doors *doors, struct error *err)
{
    struct tls_identity *next = read_identity(doors, err);
    char end[WALL_TEXT_SIZE];

    if (!next)
        return -1;
    if (doors->remote)
        http_server_renew(doors->remote, next);
    if (doors->remote && doors->config->listen.client_crl) { /* who is in may be revoked */
        api_restart_streams(doors->api);
        http_server_retire(doors->remote);
    }
    tls_identity_free(doors->identity);
    doors->identity = next;
    log_info("certificate_renewed", FIELD_TEXT("file", doors->config->listen.certificate),
             FIELD_TEXT("ends", wall_format(tls_identity_ends(next), end)));
    return 0;
}

/* Reads files again that have changed.  Files that do not fit are not in use, and are read again
   until they do: they may be half written. */
static void renew(struct doors *doors, struct renewal *renewal,
                  int (*read)(struct doors *doors, struct error *err))
{
    struct error err = { 0 };

    if (!file_stamps_changed(&renewal->stamps) && renewal->refused.kind == ERROR_NONE)
        return;
    (void)read(doors, &err);
    renewal->refused = err;
}

static void wait(struct doors *doors)
{
    if (!is_any_closed(doors)) {
        doors->wait_ms = 0;
        timer_set(doors->timer, LOOK_MS);
        return;
    }
    doors->wait_ms = doors->wait_ms == 0 ? RETRY_LEAST_MS : 2 * doors->wait_ms;
    if (doors->wait_ms > LOOK_MS)
        doors->wait_ms = LOOK_MS;
    timer_set(doors->timer, doors->wait_ms);
}

static void on_timer(void *context)
{
    struct doors *doors = context;

    mend(doors);
    if (doors->identity)
        renew(doors, &doors->certificates, renew_identity);
    if (!is_closed(doors, PART_TOKENS))
        renew(doors, &doors->keys, read_keys);
    wait(doors);
}

/* Fetched keys: with none no token is believed, and old ones lack what is new. */
static void look_at_keys(const struct doors *doors, struct health *health)
{
    struct condition condition = { .kind = CONDITION_DOOR_CLOSED, .what = parts[PART_TOKENS].name };
    struct wall_time since;
    struct error err;
    char text[WALL_TEXT_SIZE];

    if (!doors->source || key_source_check(doors->source, &since, &err) == 0)
        return;
    if (since.ms == 0) {
        health_add(health, &condition,
                   text_format("%s: %s", parts[PART_TOKENS].consequence, err.text));
        return;
    }
    condition.kind = CONDITION_KEYS_OLD;
    health_add(
        health, &condition,
        text_format("the keys of tokens are those of %s: %s", wall_format(since, text), err.text));
}

static void look_at_renewal(const struct renewal *renewal, const char *what, struct health *health)
{
    const struct condition condition = { .kind = CONDITION_CERTIFICATE_REFUSED, .what = what };

    if (renewal->refused.kind != ERROR_NONE)
        health_add(health, &condition,
                   text_format("changed files are not in use: %s", renewal->refused.text));
}

static void look(void *context, struct health *health)
{
    const struct doors *doors = context;

    for (int part = 0; part < PARTS; part++) {
        const struct condition condition = { .kind = CONDITION_DOOR_CLOSED,
                                             .what = parts[part].name };

        if (doors->closed[part].kind != ERROR_NONE)
            health_add(health, &condition,
                       text_format("%s: %s", parts[part].consequence, doors->closed[part].text));
    }
    look_at_renewal(&doors->certificates, parts[PART_TLS].name, health);
    look_at_renewal(&doors->keys, parts[PART_TOKENS].name, health);
    look_at_keys(doors, health);
    if (doors->identity)
        endings_look(&doors->config->listen, doors->identity, loop_wall(doors->loop), health);
}

static json_t *describe_refused(const struct doors *doors)
{
    const struct http_server *servers[] = { doors->server, doors->remote };
    json_t *rows = json_array();

    for (int i = 0; i < REFUSAL_REASONS; i++)
        json_array_append_new(
            rows, json_make("{ss sI}", "reason", refusal_reason_name((enum refusal_reason)i),
                            "count", (json_int_t)api_refused(doors->api, (enum refusal_reason)i)));
    for (int i = 0; i < HTTP_REFUSALS; i++) {
        json_int_t count = 0;

        for (size_t k = 0; k < COUNT_OF(servers); k++)
            if (servers[k])
                count += http_server_refused(servers[k], (enum http_refusal)i);
        json_array_append_new(rows,
                              json_make("{ss sI}", "reason",
                                        http_refusal_name((enum http_refusal)i), "count", count));
    }
    return rows;
}

static json_t *describe_listen(const struct doors *doors)
{
    const struct tls_identity *identity = doors->identity;
    json_t *row = json_make("{ss sb}", "door", parts[PART_TLS].name, "is_open",
                            doors->tls_port > 0);
    char end[WALL_TEXT_SIZE];

    if (identity)
        json_object_set_new(row, "certificate_ends",
                            json_text(wall_format(tls_identity_ends(identity), end)));
    if (identity && doors->config->listen.client_ca)
        json_object_set_new(row, "authorities_end",
                            json_text(wall_format(tls_identity_authorities_end(identity), end)));
    return row;
}

static void describe(void *context, json_t *status)
{
    const struct doors *doors = context;
    const struct config *config = doors->config;
    json_t *rows = json_make("[{ss sb}]", "door", "socket", "is_open", 1);

    if (config->metrics_port > 0)
        json_array_append_new(rows,
                              json_make("{ss sb}", "door", parts[PART_METRICS].name, "is_open",
                                        doors->closed[PART_METRICS].kind == ERROR_NONE));
    if (config->listen.address)
        json_array_append_new(rows, describe_listen(doors));
    json_object_set_new(status, "doors", rows);
    json_object_set_new(status, "refused", describe_refused(doors));
    json_object_set_new(status, "loop_lag_s",
                        json_real((double)loop_late_ms(doors->loop) / SECOND_MS));
}

int doors_open(struct doors *doors, struct world *world, struct service *service, struct error *err)
{
    const struct config *config = doors->config;
    struct loop *loop = world->loop;
    struct error why = { 0 };

    require(!doors->server);
    doors->loop = loop;
    if (config->tokens.keys_url && !doors->source)
        doors->source = key_source_new(world, config->tokens.keys_url);
    access_set_source(doors->access, doors->source);
    if (doors->source)
        key_source_watch(doors->source, on_keys_changed, doors);
    doors->service = service;
    api_free(doors->api);
    doors->api = api_new(service, doors->access, loop);
    doors->server = http_server_new(loop, api_handle, doors->api);
    /* Until it has its group, it is the service's user's alone. */
    if (http_server_listen_unix(doors->server, config->socket, config->socket_group ? 0600 : 0660,
                                err) < 0)
        return -1;
    try_part(doors, PART_GROUP, give_socket(doors, &why), &why);
    try_part(doors, PART_METRICS, listen_for_metrics(doors, &why), &why);
    try_part(doors, PART_TLS, listen_for_remote(doors, &why), &why);
    service_set_face(service, FACE_DOORS, &(struct service_face){ look, describe, doors });
    groups_retry(doors->groups, loop, mend_groups, doors);
    doors->timer = timer_new(loop, on_timer, doors);
    wait(doors);
    return 0;
}

int doors_lose(const struct doors *doors, const struct doors *next, struct error *err)
{
    for (int part = 0; part < PARTS; part++)
        if (next->closed[part].kind != ERROR_NONE && doors->closed[part].kind == ERROR_NONE) {
            *err = next->closed[part];
            return -1;
        }
    return 0;
}

void doors_tell(const struct doors *doors, doors_told_fn told, void *context)
{
    for (int part = 0; part < PARTS; part++)
        if (doors->closed[part].kind != ERROR_NONE)
            told(context, parts[part].name, &doors->closed[part]);
}

void doors_close(struct doors *doors)
{
    if (!doors)
        return;
    if (doors->service)
        service_set_face(doors->service, FACE_DOORS, &(struct service_face){ 0 });
    doors->service = NULL;
    groups_stop(doors->groups);
    timer_free(steal(&doors->timer));
    api_end_streams(doors->api);
    access_stop(doors->access);
    http_server_free(steal(&doors->remote));
    http_server_free(steal(&doors->server));
    doors->tls_port = 0;
}

void doors_inherit(struct doors *doors, struct doors *before)
{
    require(!doors->server && !before->server);
    if (before->source && !doors->source &&
        text_equal(before->config->tokens.keys_url, doors->config->tokens.keys_url)) {
        doors->source = steal(&before->source);
        key_source_watch(doors->source, NULL, NULL); /* until these doors are open */
    }
    access_set_source(before->access, before->source);
}

void doors_free(struct doors *doors)
{
    if (!doors)
        return;
    doors_close(doors);
    key_source_free(doors->source);
    api_free(doors->api);
    tls_identity_free(doors->identity);
    access_free(doors->access);
    groups_free(doors->groups);
    mem_free(doors);
}

int doors_tls_port(const struct doors *doors)
{
    return doors->tls_port;
}
