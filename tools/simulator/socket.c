/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The same fakes behind real sockets on the loopback address, and the kubeconfigs that point
 * there.
 */
#include "base/crypto.h"
#include "base/file.h"
#include "base/world/http_server.h"
#include "base/world/tls_identity.h"
#include "tools/simulator/certificate.h"
#include "tools/simulator/model/cloud.h"
#include "tools/simulator/model/model.h"

struct socket_server {
    struct simulator *sim;
    struct http_server *server;
    struct http_server *tls_server; /* NULL: plain http alone */
    struct tls_identity *identity;  /* of it */
    ARRAY(struct served *) live;
};

struct served {
    struct actor actor;
    struct socket_server *socket;
    struct http_call *call;
    struct sim_answer answer;
    struct kube_watch *watch;
};

static void free_served(struct actor *actor)
{
    struct served *served = (struct served *)actor;

    sim_answer_clear(&served->answer);
    mem_free(served);
}

static void end_served(struct served *served)
{
    struct socket_server *socket = served->socket;

    if (served->actor.is_gone)
        return;
    for (size_t i = 0; i < socket->live.count; i++)
        if (socket->live.items[i] == served) {
            array_remove(&socket->live, i);
            break;
        }
    if (served->watch)
        sim_watch_close(steal(&served->watch));
    sim_actor_end(&served->actor);
}

static void client_left(void *context)
{
    end_served(context);
}

static void watch_ends(void *context)
{
    struct served *served = context;

    served->watch = NULL;
    http_call_stream_end(served->call);
    end_served(served);
}

static void send_frames(void *context, const char *bytes, size_t size)
{
    struct served *served = context;

    if (http_call_stream_send(served->call, bytes, size))
        return;
    http_call_stream_end(served->call);
    end_served(served);
}

static void deliver(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct served *served = (struct served *)actor;
    struct sim_answer *answer = &served->answer;

    (void)sim;
    (void)stamp;
    if (answer->is_lost || answer->is_refused)
        http_call_drop(served->call);
    else
        http_call_answer(served->call, &(struct http_reply){ .status = answer->status,
                                                             .content_type = answer->content_type,
                                                             .headers = answer->headers,
                                                             .header_count = answer->header_count,
                                                             .body = answer->body->chars,
                                                             .body_size = answer->body->length });
    end_served(served);
}

static const char *const passed_headers[] = { "Authorization",
                                              "Content-Type",
                                              "Metadata-Flavor",
                                              "Host",
                                              "Accept",
                                              "Impersonate-User",
                                              "If-Match",
                                              "Metadata",
                                              "X-Forwarded-Proto",
                                              "X-Amz-Date",
                                              "X-Amz-Security-Token",
                                              "X-Amz-Content-SHA256",
                                              "X-Amz-Target",
                                              "Amz-Sdk-Request",
                                              "Amz-Sdk-Invocation-Id",
                                              "Date",
                                              "x-date",
                                              "x-content-sha256" };

static void arrive(struct simulator *sim, struct actor *actor, uint64_t back_ms)
{
    struct served *served = (struct served *)actor;
    struct http_header headers[COUNT_OF(passed_headers)];
    struct sim_request request = { .method = http_call_method(served->call),
                                   .target = http_call_target(served->call),
                                   .headers = headers };

    for (size_t i = 0; i < COUNT_OF(passed_headers); i++) {
        const char *value = http_call_header(served->call, passed_headers[i]);

        if (value)
            headers[request.header_count++] = (struct http_header){ passed_headers[i], value };
    }
    request.body = http_call_body(served->call, &request.body_size);
    sim_answer_request(sim, &request, &served->answer);
    if (!served->answer.watch.cluster) {
        sim_after(sim, (int64_t)back_ms + served->answer.delay_ms, deliver, actor, 0);
        return;
    }
    http_call_stream_begin(served->call, "application/json", client_left, served);
    served->watch = sim_watch_open(sim, &served->answer.watch, send_frames, watch_ends, served);
}

static void serve(void *context, struct http_call *call)
{
    struct socket_server *socket = context;
    struct simulator *sim = socket->sim;
    struct served *served = mem_new(sizeof *served);
    int64_t way_ms = sim_draw(&sim->latency, &sim->scenario->latency.api);

    served->actor.free = free_served;
    served->socket = socket;
    served->call = call;
    *array_add(&socket->live) = served;
    sim_after(sim, way_ms / 2, arrive, &served->actor, (uint64_t)(way_ms - way_ms / 2));
}

static struct socket_server *socket_of(struct simulator *sim)
{
    if (!sim->socket) {
        sim->socket = mem_new(sizeof *sim->socket);
        sim->socket->sim = sim;
        sim->socket->server = http_server_new(sim->loop, serve, sim->socket);
    }
    return sim->socket;
}

int simulator_listen(struct simulator *sim, int port, int *ret_port, struct error *err)
{
    return http_server_listen_loopback(socket_of(sim)->server, port, ret_port, err);
}

/* Its clients are few, and all come from one address. */
static void lift_limits(struct http_server *server)
{
    static const struct http_rate often = { .burst = 10000, .period_ms = 1 };
    struct http_server_limits limits = http_server_limits();

    limits.address_connections = limits.tcp_connections;
    limits.handshakes = limits.address_handshakes = often;
    http_server_limit(server, &limits);
}

int simulator_listen_tls(struct simulator *sim, const struct simulator_tls *tls, int *ret_port,
                         struct error *err)
{
    struct socket_server *socket = socket_of(sim);
    owned(chars) char *address = text_format("127.0.0.1:%d", tls->port);

    require(!socket->tls_server);
    if (certificate_write(tls->certificate_path, tls->key_path, err) < 0)
        return -1;
    socket->identity = tls_identity_read(
        &(struct tls_files){ .certificate = tls->certificate_path, .key = tls->key_path }, err);
    if (!socket->identity)
        return -1;
    socket->tls_server = http_server_new_tls(sim->loop, socket->identity, serve, socket);
    lift_limits(socket->tls_server);
    return http_server_listen_tls(socket->tls_server, address, ret_port, err);
}

void sim_socket_free(struct socket_server *socket)
{
    if (!socket)
        return;
    while (socket->live.count)
        end_served(socket->live.items[0]);
    array_clear(&socket->live);
    http_server_free(socket->server);
    http_server_free(socket->tls_server);
    tls_identity_free(socket->identity);
    mem_free(socket);
}

/* A file for one client of one API server. */
struct kubeconfig {
    const char *folder;
    const char *name; /* of the cluster */
    const char *path; /* of the API server, "clusters" */
    const char *user; /* the token's first part: "sim" for sluice, "admin" for people */
};

/* The parts of a kubeconfig that are lists, each with one cluster more. */
struct entries {
    struct text *clusters, *users, *contexts;
};

static void add_entry(const struct kubeconfig *config, const struct simulator_urls *urls,
                      struct entries *out)
{
    text_add(out->clusters, "  - name: %s\n    cluster:\n      server: %s/%s/%s\n", config->name,
             urls->base_url, config->path, config->name);
    if (urls->ca_pem) {
        text_add(out->clusters, "      certificate-authority-data: ");
        crypto_add_base64(out->clusters, urls->ca_pem, strlen(urls->ca_pem));
        text_add(out->clusters, "\n");
    }
    text_add(out->users, "  - name: %s\n    user:\n      token: %s-%s\n", config->name,
             config->user, config->name);
    text_add(out->contexts, "  - name: %s\n    context:\n      cluster: %s\n      user: %s\n",
             config->name, config->name, config->name);
}

static struct entries entries_new(void)
{
    return (struct entries){ text_new(1 << 20), text_new(1 << 20), text_new(1 << 20) };
}

/* Frees the entries. */
static int write_entries(struct entries *entries, const char *path, const char *current,
                         struct error *err)
{
    owned(text) struct text *file = text_new(4 << 20);

    text_add(file, "apiVersion: v1\nkind: Config\ncurrent-context: %s\nclusters:\n%s", current,
             entries->clusters->chars);
    text_add(file, "users:\n%scontexts:\n%s", entries->users->chars, entries->contexts->chars);
    text_free(entries->clusters);
    text_free(entries->users);
    text_free(entries->contexts);
    return file_write(path, file->chars, file->length, 0600, err);
}

static int write_kubeconfig(const struct kubeconfig *config, const struct simulator_urls *urls,
                            struct error *err)
{
    owned(chars) char *path = text_format("%s/%s.kubeconfig", config->folder, config->name);
    struct entries entries = entries_new();

    add_entry(config, urls, &entries);
    return write_entries(&entries, path, config->name, err);
}

/* One file for kubectl, with a context for each cluster. */
static int write_admin(struct simulator *sim, const char *folder, const struct simulator_urls *urls,
                       struct error *err)
{
    owned(chars) char *path = text_format("%s/admin.kubeconfig", folder);
    struct entries entries;

    if (sim_cluster(sim, "admin"))
        return error_set(err, ERROR_INVALID, "%s: would replace that of the cluster \"admin\"",
                         path);
    entries = entries_new();
    for (size_t i = 0; i < sim->cluster_count; i++)
        add_entry(&(struct kubeconfig){ folder, sim->clusters[i].plan->name, "clusters", "admin" },
                  urls, &entries);
    return write_entries(&entries, path, sim->cluster_count ? sim->clusters[0].plan->name : "",
                         err);
}

/* What slurmrestd takes as the token of a user. */
static int write_token(const char *folder, const char *cluster, struct error *err)
{
    owned(chars) char *path = text_format("%s/%s.token", folder, cluster);
    owned(chars) char *token = text_format("slurm-%s", cluster);

    return file_write(path, token, strlen(token), 0600, err);
}

static int write_cluster(const struct kube_cluster *cluster, const char *folder,
                         const struct simulator_urls *urls, struct error *err)
{
    const struct kubeconfig config = { folder, cluster->plan->name, "clusters", "sim" };

    return cluster->slurm ? write_token(folder, cluster->plan->name, err)
                          : write_kubeconfig(&config, urls, err);
}

int simulator_write_kubeconfigs(struct simulator *sim, const char *folder, const char *base_url,
                                struct error *err)
{
    return simulator_write_access(sim, folder, &(struct simulator_urls){ .base_url = base_url },
                                  err);
}

int simulator_write_access(struct simulator *sim, const char *folder,
                           const struct simulator_urls *urls, struct error *err)
{
    if (file_make_folder(folder, 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < sim->cluster_count; i++)
        if (write_cluster(&sim->clusters[i], folder, urls, err) < 0)
            return -1;
    for (size_t i = 0; i < sim->pool_count; i++) {
        const struct sim_cloud *cloud = sim->pools[i].cloud;
        const struct yaml_node *provider = sim->pools[i].plan->provider;

        if (cloud->is_kubernetes && provider &&
            write_kubeconfig(&(struct kubeconfig){ folder, provider->key, cloud->kind, "sim" },
                             urls, err) < 0)
            return -1;
    }
    return urls->has_admin ? write_admin(sim, folder, urls, err) : 0;
}
