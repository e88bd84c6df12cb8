/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kind of provider, and its settings.
 */
#include "base/map.h"
#include "base/text.h"
#include "clusters/kube/kube_config.h"
#include "providers/ssh/own.h"
#include "providers/ssh/own_call.h"
#include "providers/ssh/own_errors.h"
#include "providers/ssh/own_nodes.h"
#include "providers/ssh/own_verbs.h"

#include <string.h>

static void set_zone(struct pool_address *pool, const char *zone)
{
    ((struct own_pool *)(void *)pool)->zone = zone;
}

static void print_place(const struct provider_account *given, const struct pool_address *pool,
                        struct text *out)
{
    const struct own_account *account = (const struct own_account *)(const void *)given;

    text_add(out, "group %s of the machines of %s", own_pool_of(pool)->group, account->machines);
}

/* IDs that name the machine: sluice's own, those of k3s, and those of Slurm's nodes. */
static bool read_provider_id(const struct pool_address *pool, const char *provider_id,
                             char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim)
{
    static const char *const starts[] = { "ssh://", "k3s://", "slurm://" };

    (void)pool;
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (text_starts_with(provider_id, starts[i]) && provider_id[strlen(starts[i])] != '\0') {
            *ret_claim = 0; /* any pool may have it: the machine says which */
            return text_copy(ret_name, INSTANCE_NAME_SIZE, provider_id + strlen(starts[i]));
        }
    return false;
}

static struct provider *open(struct world *world, const struct provider_account *given,
                             struct error *err)
{
    const struct own_account *account = (const struct own_account *)(const void *)given;
    struct own *own = mem_new(sizeof *own);

    require(world->ssh);
    own->provider.kind = &ssh_kind;
    own->world = world;
    own->account = account;
    if (own_machines_read(account, &own->machines, err) == 0)
        return &own->provider;
    mem_free(own);
    return NULL;
}

static void close(struct provider *provider)
{
    struct own *own = (struct own *)provider;

    while (own->first)
        own_call_free(own->first);
    own_asks_clear(own);
    map_free(own->sessions);
    own_machines_clear(&own->machines);
    mem_free(own);
}

static int check_account(const void *object, const char **ret_key, struct error *err)
{
    const struct own_account *account = object;

    if (account->folder[0] != '/') {
        *ret_key = "folder";
        return error_set(err, ERROR_INVALID, "expected an absolute path");
    }
    return ssh_access_check(&account->access, ret_key, err);
}

/* They are quoted in shell text on the machine. */
static int check_quotes(const struct own_pool *pool, const char **ret_key, struct error *err)
{
    const struct {
        const char *key, *value;
    } rows[] = {
        { "server", pool->server },
        { "labels", pool->labels },
        { "taints", pool->taints },
        { "kubeadm_api", pool->kubeadm_api },
        { "cri_socket", pool->cri_socket },
        { "script", pool->script },
        { "slurm_options", pool->slurm_options },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        *ret_key = rows[i].key;
        if (rows[i].value && (strpbrk(rows[i].value, "'\\") || !text_is_one_line(rows[i].value)))
            return error_set(err, ERROR_INVALID, "must be one line without ' and \\");
    }
    return 0;
}

/* What cannot reach a Node is refused: it would be missed only when pods do not fit. */
static int check_nodes(const struct own_pool *pool, const char **ret_key, struct error *err)
{
    bool is_slurm = text_equal(pool->join, "slurmd");

    *ret_key = "labels";
    if (pool->labels && is_slurm)
        return error_set(err, ERROR_INVALID,
                         "not of `join: slurmd`: remove it, and give the node its feature in "
                         "slurm.conf or in `slurm_options`");
    if (own_labels_check(pool->labels, err) < 0)
        return -1;
    *ret_key = "taints";
    if (pool->taints && (is_slurm || text_equal(pool->join, "script")))
        return error_set(err, ERROR_INVALID, "not of `join: %s`: remove it%s", pool->join,
                         is_slurm ? "; Slurm's nodes have no taints"
                                  : ", and let the script set the Node's taints");
    return own_taints_check(pool->taints, err);
}

static int check_pool(const void *object, const char **ret_key, struct error *err)
{
    static const char *const kinds[] = { "kubeadm", "k3s", "slurmd", "script" };
    const struct own_pool *pool = object;
    bool is_known = false, needs_token;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        is_known |= text_equal(kinds[i], pool->join);
    *ret_key = "join";
    if (!is_known)
        return error_set(err, ERROR_INVALID,
                         "unknown way to join; known: kubeadm, k3s, slurmd, "
                         "script");
    needs_token = text_equal(pool->join, "kubeadm") || text_equal(pool->join, "k3s");
    *ret_key = "kubeconfig";
    if (needs_token && !pool->kubeconfig)
        return error_set(err, ERROR_INVALID, "%s needs it: tokens are made there", pool->join);
    *ret_key = "script";
    if (text_equal(pool->join, "script") != (pool->script != NULL))
        return error_set(err, ERROR_INVALID, "only of `join: script`, which needs it");
    if (pool->script && pool->script[0] != '/')
        return error_set(err, ERROR_INVALID, "expected an absolute path on the machines");
    *ret_key = "slurm_options";
    if (text_equal(pool->join, "slurmd") != (pool->slurm_options != NULL))
        return error_set(err, ERROR_INVALID, "only of `join: slurmd`, which needs it");
    *ret_key = "group";
    if (strspn(pool->group, "abcdefghijklmnopqrstuvwxyz0123456789-.") != strlen(pool->group) ||
        strlen(pool->group) >= sizeof((struct own_report *)0)->group)
        return error_set(err, ERROR_INVALID, "expected lower-case letters, digits, - and .");
    if (check_quotes(pool, ret_key, err) < 0)
        return -1;
    return check_nodes(pool, ret_key, err);
}

static const struct setting account_settings[] = {
    { "machines", SETTING_PATH, offsetof(struct own_account, machines), NULL, 0, 0,
      "file that lists the machines" },
    SSH_ACCESS_SETTINGS("", struct own_account, access),
    { "folder", SETTING_TEXT, offsetof(struct own_account, folder), "/var/lib/sluice-machine", 0, 0,
      "where a machine keeps its marker" },
    { "fence_after", SETTING_DURATION, offsetof(struct own_account, fence_after_ms), "5m",
      30 * SECOND_MS, DAY_MS,
      "a drained machine that has not answered for this long is switched off, if it has "
      "`redfish`" },
    { "step_limit", SETTING_DURATION, offsetof(struct own_account, step_limit_ms), "30m", MINUTE_MS,
      DAY_MS, "a step of joining or leaving that takes longer is ended, and counts as failed" },
};

static const struct setting pool_settings[] = {
    { "group", SETTING_TEXT, offsetof(struct own_pool, group), NULL, 0, 0,
      "how the machines of this pool are marked" },
    { "join", SETTING_TEXT, offsetof(struct own_pool, join), NULL, 0, 0,
      "how machines join and leave: kubeadm, k3s, slurmd or script" },
    { "kubeconfig", SETTING_PATH, offsetof(struct own_pool, kubeconfig), "", 0, 0,
      "kubeconfig with which sluice makes and removes bootstrap tokens" },
    { "context", SETTING_TEXT, offsetof(struct own_pool, context), "", 0, 0,
      "context in the kubeconfig; absent: its current context" },
    { "server", SETTING_TEXT, offsetof(struct own_pool, server), "", 0, 0,
      "the API server that machines join; absent: the kubeconfig's" },
    { "labels", SETTING_TEXT, offsetof(struct own_pool, labels), "", 0, 0,
      "labels of new Nodes: `key=value,key=value`; not of `join: slurmd`" },
    { "taints", SETTING_TEXT, offsetof(struct own_pool, taints), "", 0, 0,
      "taints of new Nodes, as YAML: `{key: nvidia.com/gpu, effect: NoSchedule}`; of `join: "
      "kubeadm` and `join: k3s`" },
    { "kubeadm_api", SETTING_TEXT, offsetof(struct own_pool, kubeadm_api), "v1beta4", 0, 0,
      "version of kubeadm's API: v1beta4, or v1beta3 before Kubernetes 1.31" },
    { "cri_socket", SETTING_TEXT, offsetof(struct own_pool, cri_socket),
      "unix:///run/containerd/containerd.sock", 0, 0, "the container runtime's socket" },
    { "slurm_options", SETTING_TEXT, offsetof(struct own_pool, slurm_options), "", 0, 0,
      "options of slurmd, as `--conf-server slurm:6817 -Z`" },
    { "script", SETTING_TEXT, offsetof(struct own_pool, script), "", 0, 0,
      "path on the machines of a program that joins and leaves" },
};

const struct provider_kind ssh_kind = {
    .account = { .name = "ssh",
                 .maker = "own machines",
                 .settings = account_settings,
                 .count = COUNT_OF(account_settings),
                 .size = sizeof(struct own_account),
                 .check = check_account },
    .pool = { .name = "ssh",
              .maker = "own machines",
              .settings = pool_settings,
              .count = COUNT_OF(pool_settings),
              .size = sizeof(struct own_pool),
              .check = check_pool },
    .place_key = "group",
    .identity = IDENTITY_BY_KEY,
    .set_zone = set_zone,
    .print_place = print_place,
    .open = open,
    .close = close,
    .list = own_list,
    .remove = own_remove,
    .create = own_create,
    .look = own_look,
    .inspect = own_inspect,
    .actions = own_actions,
    .action_count = OWN_ACTION_COUNT,
    .refusal = own_refusal,
    .read_provider_id = read_provider_id,
};
