/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bootstrap tokens: a Secret of the cluster that is joined, one for each order, which expires after
 * half an hour and is removed once the machine has joined.  Its ID follows from the order's key, so
 * that a repeat replaces it; the secret half is drawn anew each time, and stored nowhere.
 */
#include "base/crypto.h"
#include "base/input/json.h"
#include "base/map.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/url.h"
#include "clusters/kube/kube_config.h"
#include "providers/ssh/own_verbs.h"

#include <stdlib.h>
#include <string.h>

enum { ID_SIZE = 6, SECRET_SIZE = 16, LIFE_MS = 30 * MINUTE_MS, TIMEOUT_MS = 30 * SECOND_MS };

#define SECRETS "/api/v1/namespaces/kube-system/secrets"

static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

/* The connection to a cluster, kept; pins and server are those of its kubeconfig. */
struct session {
    struct kube_session *session;
    char *server; /* HOST:PORT */
    char *pins;
    char *ca_hash; /* of the authorities, as k3s pins them */
};

static void session_free(void *value)
{
    struct session *session = value;

    kube_session_free(session->session);
    mem_free(session->server);
    mem_free(session->pins);
    mem_free(session->ca_hash);
    mem_free(session);
}

static struct session *session_open(struct own_call *call, struct error *err)
{
    const struct own_pool *pool = &call->pool;
    struct kube_config *config = kube_config_open(pool->kubeconfig, pool->context, NULL, err);
    owned(text) struct text *pins = text_new(TEXT_UNBOUNDED);
    struct session *session;
    const char *host;
    char hash[SHA256_TEXT_SIZE];

    if (!config)
        return NULL;
    if (!config->tls.ca_pem || crypto_add_pins(config->tls.ca_pem, pins, err) < 0) {
        if (!config->tls.ca_pem)
            error_set(err, ERROR_INVALID,
                      "kubeconfig %s: machines join only a server whose authority it has",
                      pool->kubeconfig);
        kube_config_free(config);
        return NULL;
    }
    host = strstr(config->server, "://");
    crypto_k3s_hash(config->tls.ca_pem, hash);
    session = mem_new(sizeof *session);
    session->server = mem_copy_chars(host ? host + 3 : config->server);
    session->pins = mem_copy_chars(pins->chars);
    session->ca_hash = mem_copy_chars(hash);
    session->session = kube_session_new(call->own->world, "of the machines' cluster", config);
    return session;
}

static struct session *session_of(struct own_call *call, struct error *err)
{
    owned(chars) char *key = text_format("%s %s", call->pool.kubeconfig, call->pool.context ?: "");
    struct map *sessions = call->own->sessions ?: map_new(session_free);
    struct session *session;

    call->own->sessions = sessions;
    session = map_get(sessions, key);
    if (!session && (session = session_open(call, err)))
        map_set(sessions, key, session);
    return session;
}

/* Each key has an ID of its own, but for one pair in two billions. */
static void print_id(const struct own_call *call, char out[ID_SIZE + 1])
{
    unsigned long rest = strtoul(call->request_key, NULL, 16);

    for (size_t i = 0; i < ID_SIZE; i++, rest /= sizeof letters - 1)
        out[i] = letters[rest % (sizeof letters - 1)];
    out[ID_SIZE] = '\0';
}

static void send(struct own_call *call, struct session *session, const json_t *body,
                 kube_done_fn then)
{
    char id[ID_SIZE + 1];

    print_id(call, id);
    owned(chars) char *target = body ? mem_copy_chars(SECRETS)
                                     : text_format(SECRETS "/bootstrap-token-%s", id);

    call->token = kube_send(session->session,
                            &(struct kube_call){ .verb = body ? KUBE_CREATE : KUBE_DELETE,
                                                 .priority = HTTP_RECLAIM,
                                                 .target = target,
                                                 .body = body,
                                                 .timeout_ms = TIMEOUT_MS },
                            then, call);
}

/* Sets call->secret: ID.SECRET; for k3s with the hash of the authority before it. */
static json_t *new_token(struct own_call *call, const struct session *session)
{
    bool is_k3s = text_equal(call->pool.join, "k3s");
    char secret[SECRET_SIZE + 1] = "", id[ID_SIZE + 1], name[32], ends[WALL_TEXT_SIZE];
    json_t *body;

    for (size_t i = 0; i < SECRET_SIZE;) {
        unsigned char byte;

        crypto_secret(&byte, 1);
        if (byte < 252) /* a multiple of 36: each letter is as likely */
            secret[i++] = letters[byte % 36];
    }
    print_id(call, id);
    text_print(name, sizeof name, "bootstrap-token-%s", id);
    wall_format((struct wall_time){ loop_wall(call->own->world->loop).ms + LIFE_MS }, ends);
    secret_free(call->secret);
    call->secret = is_k3s ? text_format("K10%s::%s.%s", session->ca_hash, id, secret)
                          : text_format("%s.%s", id, secret);
    body = json_make("{s:s, s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s}}",
                     "apiVersion", "v1", "kind", "Secret", "type", "bootstrap.kubernetes.io/token",
                     "metadata", "name", name, "namespace", "kube-system", "stringData", "token-id",
                     id, "token-secret", secret, "expiration", ends,
                     "usage-bootstrap-authentication", "true", "usage-bootstrap-signing", "true",
                     "auth-extra-groups", "system:bootstrappers:kubeadm:default-node-token",
                     "description", "sluice: one machine joins");
    explicit_bzero(secret, sizeof secret);
    return body;
}

static void end(struct own_call *call, const struct error *err)
{
    own_token_fn then = call->token_then;
    struct error why = err ? *err : (struct error){ 0 };

    if (err)
        error_context(&why, "bootstrap token of %s", call->pool.kubeconfig);
    then(call, err ? &why : NULL);
}

static void on_made(void *context, const json_t *body, const struct error *err);

static void on_replaced(void *context, const json_t *body, const struct error *err)
{
    struct own_call *call = context;
    struct error why = { 0 };
    struct session *session = err ? NULL : session_of(call, &why);

    (void)body;
    call->token = NULL;
    if (!session) {
        end(call, err ?: &why);
        return;
    }
    owned(json) json_t *token = new_token(call, session);

    send(call, session, token, on_made);
}

/* A token of an earlier exchange, whose secret half is forgotten, is replaced. */
static void on_made(void *context, const json_t *body, const struct error *err)
{
    struct own_call *call = context;
    struct error why = { 0 };
    struct session *session;

    (void)body;
    call->token = NULL;
    if (err && err->kind == ERROR_CONFLICT && call->looks++ < 3 &&
        (session = session_of(call, &why)))
        send(call, session, NULL, on_replaced);
    else
        end(call, err);
}

static void end_at_once(struct own_call *call)
{
    end(call, call->failure.kind == ERROR_NONE ? NULL : &call->failure);
}

void own_make_token(struct own_call *call, own_token_fn then)
{
    struct session *session;

    call->token_then = then;
    if (!call->pool.kubeconfig) {
        own_call_later(call, 0, end_at_once);
        return;
    }
    session = session_of(call, &call->failure);
    if (!session) {
        own_call_later(call, 0, end_at_once);
        return;
    }
    call->pins = mem_copy_chars(session->pins);
    if (!call->pool.server)
        call->pool.server = text_format(
            "%s%s", text_equal(call->pool.join, "k3s") ? "https://" : "", session->server);
    owned(json) json_t *token = new_token(call, session);

    send(call, session, token, on_made);
}

bool own_may_have_token(const struct own_machine *machine)
{
    const struct own_report *report = &machine->report;
    long long in_s;

    return machine->is_seen && machine->silent_ms == 0 && report->state == OWN_IN &&
           !text_equal(report->key, machine->cleared) &&
           text_to_int(report->in_s, 0, LIFE_MS / SECOND_MS, &in_s);
}

static void on_gone(void *context, const json_t *body, const struct error *err)
{
    struct own_call *call = context;

    (void)body;
    call->token = NULL;
    end(call, err && err->kind != ERROR_NOT_FOUND ? err : NULL);
}

void own_drop_token(struct own_call *call, own_token_fn then)
{
    struct session *session = NULL;

    call->token_then = then;
    if (call->pool.kubeconfig && call->request_key[0] != '\0')
        session = session_of(call, &call->failure);
    if (session)
        send(call, session, NULL, on_gone);
    else
        own_call_later(call, 0, end_at_once);
}
