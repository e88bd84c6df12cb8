/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads a kubeconfig: context -> cluster and user -> server, authorities and credentials.
 */
#include "clusters/kube/kube_config.h"

#include "base/crypto.h"
#include "base/file.h"
#include "base/input/yaml.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/url.h"
#include "clusters/kube/kube_plugin.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 4 << 20, PEM_LIMIT = 1 << 20 };
enum { FROM_PATH, FROM_CONTEXT, FROM_PLUGIN }; /* in `from`, of a kubeconfig */

/* A member that may be absent; "" counts as absent, as kubectl writes it. */
static int find_text(const struct yaml_node *mapping, const char *key, const char **ret,
                     struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);
    const char *chars = NULL;
    *ret = NULL;
    if (!node)
        return 0;
    if (yaml_text(node, &chars, err) < 0)
        return -1;
    *ret = chars[0] != '\0' ? chars : NULL;
    return 0;
}

/* The mapping `inner` of the item of list `list` whose name is `name`. */
static const struct yaml_node *find_named(const struct yaml_node *root, const char *list,
                                          const char *inner, const char *name, struct error *err)
{
    const struct yaml_node *items = yaml_get(root, list);
    if (!items) {
        yaml_error(err, root, "there is no list \"%s\"", list);
        return NULL;
    }
    if (yaml_expect(items, YAML_SEQUENCE, err) < 0)
        return NULL;

    for (size_t i = 0; i < items->count; i++) {
        const struct yaml_node *item = &items->children[i];
        const char *found = NULL;
        if (yaml_expect(item, YAML_MAPPING, err) < 0 || find_text(item, "name", &found, err) < 0)
            return NULL;
        if (!found || !text_equal(found, name))
            continue;

        const struct yaml_node *value = yaml_get(item, inner);
        if (!value)
            yaml_error(err, item, "\"%s\" has no \"%s\"", name, inner);
        else if (yaml_expect(value, YAML_MAPPING, err) == 0)
            return value;
        return NULL;
    }
    yaml_error(err, items, "there is no %s \"%s\"", inner, name);
    return NULL;
}

/* Fails when the mapping has the key (false counts as absent). */
static int refuse(const struct yaml_node *mapping, const char *key, const char *why,
                  struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);
    if (!node ||
        (node->kind == YAML_SCALAR && (node->text[0] == '\0' || text_equal(node->text, "false"))))
        return 0;
    return yaml_error(err, node, "%s", why);
}

/* Read once and again: a file that is being written may end too soon. */
static bool is_pem(const char *chars)
{
    const char *begin = strstr(chars, "-----BEGIN ");
    const char *end = NULL;

    for (; begin; begin = strstr(end, "-----BEGIN ")) {
        end = strstr(begin, "-----END ");
        if (!end)
            return false;
    }
    return end != NULL;
}

/* PEM from KEY-data (base64) or else from the file that KEY names. */
static int read_pem(const struct yaml_node *mapping, const char *key, const char *path,
                    const char **ret_pem, struct error *err)
{
    owned(chars) char *data_key = text_format("%s-data", key);
    const char *data = NULL;
    const char *file = NULL;
    *ret_pem = NULL;
    if (find_text(mapping, data_key, &data, err) < 0 || find_text(mapping, key, &file, err) < 0)
        return -1;
    if (!data && !file)
        return 0;

    const struct yaml_node *where = yaml_get(mapping, data ? data_key : key);
    struct error why = { 0 };
    owned(text) struct text *pem = NULL;
    if (data) {
        pem = crypto_decode_base64(data, &why);
    } else {
        owned(chars) char *beside = file_beside(path, file);
        pem = trust_read(beside, PEM_LIMIT, &why);
    }
    if (!pem)
        return yaml_error(err, where, "%s", why.text);
    if (!is_pem(pem->chars))
        return yaml_error(err, where, "holds no whole PEM text");
    *ret_pem = text_take(steal(&pem));
    return 0;
}

static bool is_loopback(const char *host)
{
    bool is_number = host[strspn(host, "0123456789.")] == '\0';
    return text_equal(host, "localhost") || text_equal(host, "::1") || text_equal(host, "[::1]") ||
           (is_number && text_starts_with(host, "127."));
}

static int read_server(struct kube_config *config, const struct yaml_node *cluster,
                       struct error *err)
{
    const char *server = NULL;
    if (find_text(cluster, "server", &server, err) < 0)
        return -1;
    if (!server)
        return yaml_error(err, cluster, "has no server");

    struct url url;
    struct error why = { 0 };
    const struct yaml_node *where = yaml_get(cluster, "server");
    if (url_parse(server, &url, &why) < 0)
        return yaml_error(err, where, "%s", why.text);
    if (text_equal(url.scheme, "http") && !is_loopback(url.host))
        return yaml_error(err, where, "plain http is allowed to loopback addresses only");
    if (strchr(server, '?') || strchr(server, '#'))
        return yaml_error(err, where, "a server's URL has no query and no fragment");

    size_t length = strlen(server);
    while (length > 0 && server[length - 1] == '/')
        length--;
    config->server = text_format("%.*s", (int)length, server);
    return 0;
}

static int read_cluster(struct kube_config *config, const struct yaml_node *cluster,
                        struct error *err)
{
    const char *path = config->from[FROM_PATH];
    const char *server_name = NULL;
    if (refuse(cluster, "insecure-skip-tls-verify",
               "refused: give the cluster's certificate-authority instead", err) < 0 ||
        refuse(cluster, "proxy-url", "proxies are not supported", err) < 0 ||
        read_server(config, cluster, err) < 0 ||
        read_pem(cluster, "certificate-authority", path, &config->tls.ca_pem, err) < 0 ||
        find_text(cluster, "tls-server-name", &server_name, err) < 0)
        return -1;
    config->tls.server_name = mem_copy_chars(server_name);
    return 0;
}

static int read_user(struct kube_config *config, const struct yaml_node *user, struct error *err)
{
    const char *path = config->from[FROM_PATH];
    static const struct {
        const char *key;
        const char *why;
    } refused[] = {
        { "auth-provider", "refused: auth providers are not supported; use a token file or a "
                           "client certificate" },
        { "username", "refused: basic authentication is not supported" },
        { "password", "refused: basic authentication is not supported" },
        { "as", "refused: impersonation is not supported" },
        { "as-uid", "refused: impersonation is not supported" },
        { "as-groups", "refused: impersonation is not supported" },
        { "as-user-extra", "refused: impersonation is not supported" },
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        if (refuse(user, refused[i].key, refused[i].why, err) < 0)
            return -1;
    }
    const char *token = NULL;
    const char *token_file = NULL;
    if (find_text(user, "token", &token, err) < 0 ||
        find_text(user, "tokenFile", &token_file, err) < 0 ||
        read_pem(user, "client-certificate", path, &config->tls.certificate_pem, err) < 0 ||
        read_pem(user, "client-key", path, &config->tls.key_pem, err) < 0)
        return -1;
    if (token && strpbrk(token, "\r\n"))
        return yaml_error(err, yaml_get(user, "token"), "a token is one line");
    if (!config->tls.certificate_pem != !config->tls.key_pem)
        return yaml_error(err, user, "client-certificate and client-key go together");

    if (yaml_get(user, "exec") && !text_equal(config->from[FROM_PLUGIN], KUBE_CONFIG_LOGIN)) {
        config->plugin = kube_plugin_read(yaml_get(user, "exec"), config->from[FROM_PLUGIN],
                                          config->server, &config->tls, err);
        return config->plugin ? 0 : -1;
    }
    /* As kubectl: the file wins, because it is the one that is renewed. */
    if (token_file)
        config->token_file = file_beside(path, token_file);
    else
        config->token = mem_copy_chars(token);
    return 0;
}

static int read_context(struct kube_config *config, const struct yaml_node *root, struct error *err)
{
    const char *name = config->from[FROM_CONTEXT];
    if (!name && find_text(root, "current-context", &name, err) < 0)
        return -1;
    if (!name)
        return yaml_error(err, root, "has no current-context, and none was named");

    const struct yaml_node *chosen = find_named(root, "contexts", "context", name, err);
    const char *cluster_name = NULL;
    const char *user_name = NULL;
    if (!chosen || find_text(chosen, "cluster", &cluster_name, err) < 0 ||
        find_text(chosen, "user", &user_name, err) < 0)
        return -1;
    if (!cluster_name)
        return yaml_error(err, chosen, "names no cluster");

    const struct yaml_node *cluster = find_named(root, "clusters", "cluster", cluster_name, err);
    if (!cluster || read_cluster(config, cluster, err) < 0)
        return -1;
    if (!user_name)
        return 0;

    const struct yaml_node *user = find_named(root, "users", "user", user_name, err);
    return user ? read_user(config, user, err) : -1;
}

static void set_from(struct kube_config *config, const char *first, const char *second,
                     const char *third)
{
    config->from[0] = mem_copy_chars(first);
    config->from[1] = mem_copy_chars(second);
    config->from[2] = mem_copy_chars(third);
}

struct kube_config *kube_config_read(const char *path, const char *context, const char *plugin,
                                     struct error *err)
{
    owned(text) struct text *content = trust_read(path, FILE_LIMIT, err);
    owned(yaml_document) struct yaml_document *document =
        content ? yaml_parse(content->chars, content->length, path, err) : NULL;
    if (!document)
        return NULL;

    const struct yaml_node *root = yaml_root(document);
    owned(kube_config) struct kube_config *config = mem_new(sizeof *config);
    set_from(config, path, context, plugin);
    if (yaml_expect(root, YAML_MAPPING, err) < 0 || read_context(config, root, err) < 0)
        return NULL;
    return steal(&config);
}

struct kube_config *kube_config_of_pod(const char *folder, const char *host, const char *port,
                                       struct error *err)
{
    owned(kube_config) struct kube_config *config = mem_new(sizeof *config);
    owned(chars) char *ca = text_format("%s/ca.crt", folder);
    owned(text) struct text *pem = NULL;

    if (!host || !port || host[0] == '\0' || port[0] == '\0') {
        error_set(err, ERROR_INVALID,
                  "%s: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no "
                  "pod; give a kubeconfig file",
                  KUBE_CONFIG_IN_CLUSTER);
        return NULL;
    }
    pem = file_read(ca, PEM_LIMIT, err);
    if (pem && !is_pem(pem->chars)) {
        error_set(err, ERROR_INVALID, "%s: holds no whole PEM text", ca);
        text_free(steal(&pem));
    }
    if (!pem) {
        error_context(err, "%s", KUBE_CONFIG_IN_CLUSTER);
        return NULL;
    }
    config->server = text_format(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host,
                                 port);
    config->token_file = text_format("%s/token", folder);
    config->tls.ca_pem = text_take(steal(&pem));
    config->is_of_pod = true;
    set_from(config, folder, host, port);
    return steal(&config);
}

struct kube_config *kube_config_open(const char *kubeconfig, const char *context,
                                     const char *plugin, struct error *err)
{
    if (text_equal(kubeconfig, KUBE_CONFIG_IN_CLUSTER))
        return kube_config_of_pod(KUBE_SERVICE_ACCOUNT, getenv("KUBERNETES_SERVICE_HOST"),
                                  getenv("KUBERNETES_SERVICE_PORT"), err);
    return kube_config_read(kubeconfig, context, plugin, err);
}

struct kube_config *kube_config_again(const struct kube_config *config, struct error *err)
{
    char *const *from = config->from;
    owned(kube_config) struct kube_config *now =
        config->is_of_pod ? kube_config_of_pod(from[0], from[1], from[2], err)
                          : kube_config_read(from[0], from[1], from[2], err);

    if (now && !text_equal(now->server, config->server)) {
        error_set(err, ERROR_INVALID, "%s: leads to another server now: %s", from[0], now->server);
        return NULL;
    }
    return steal(&now);
}

static bool words_equal(char *const *left, char *const *right)
{
    size_t i = 0;

    while (left[i] && text_equal(left[i], right[i]))
        i++;
    return !left[i] && !right[i];
}

static bool plugins_equal(const struct kube_plugin *left, const struct kube_plugin *right)
{
    if (!left || !right)
        return left == right;
    return text_equal(left->api_version, right->api_version) &&
           words_equal(left->arguments, right->arguments) &&
           words_equal(left->environment, right->environment);
}

bool kube_config_equals(const struct kube_config *left, const struct kube_config *right)
{
    return text_equal(left->server, right->server) && text_equal(left->token, right->token) &&
           text_equal(left->token_file, right->token_file) &&
           text_equal(left->tls.ca_pem, right->tls.ca_pem) &&
           text_equal(left->tls.certificate_pem, right->tls.certificate_pem) &&
           text_equal(left->tls.key_pem, right->tls.key_pem) &&
           text_equal(left->tls.server_name, right->tls.server_name) &&
           plugins_equal(left->plugin, right->plugin);
}

/* The PEM texts are const for readers of struct http_tls; here is where they were made. */
static void free_pem(const char *const *pem)
{
    char *block = NULL;
    memcpy(&block, pem, sizeof block);
    secret_free(block);
}

void kube_config_free(struct kube_config *config)
{
    if (!config)
        return;
    mem_free(config->server);
    secret_free(config->token);
    mem_free(config->token_file);
    kube_plugin_free(config->plugin);
    free_pem(&config->tls.ca_pem);
    free_pem(&config->tls.certificate_pem);
    free_pem(&config->tls.key_pem);
    free_pem(&config->tls.server_name);
    for (size_t i = 0; i < COUNT_OF(config->from); i++)
        mem_free(config->from[i]);
    mem_free(config);
}
