/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the keys that say how a Slurm cluster is reached.
 */
#include "base/text.h"
#include "clusters/slurm/slurm_client.h"

#include <string.h>

/* It gets into a command line as it is. */
static bool is_plain_path(const char *path)
{
    return path[0] == '/' &&
           strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/+") ==
               strlen(path);
}

static int check_path(const char *key, const char *path, const char **ret_key, struct error *err)
{
    *ret_key = key;
    return !path || is_plain_path(path)
               ? 0
               : error_set(err, ERROR_INVALID, "expected an absolute path, found \"%s\"", path);
}

/* The keys' names in sluice.yaml have a prefix. */
static int check_ssh(const struct slurm_access *access, const char **ret_key, struct error *err)
{
    static const char *const keys[] = { "ssh_address", "ssh_host_key",     "ssh_port",
                                        "ssh_user",    "ssh_key",          "ssh_agent",
                                        "ssh_jump",    "ssh_jump_host_key" };
    struct ssh_target target = { 0 };
    const char *key = "";

    if (ssh_target_make(&access->place, &access->ssh, &target, &key, err) == 0) {
        ssh_target_clear(&target);
        return 0;
    }
    *ret_key = keys[0];
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (text_equal(keys[i] + strlen("ssh_"), key))
            *ret_key = keys[i];
    return -1;
}

int slurm_access_check(const struct slurm_access *access, const char **ret_key, struct error *err)
{
    *ret_key = "rest";
    if (!access->rest && !access->place.address)
        return error_set(err, ERROR_INVALID, "rest or ssh_address is required");
    if (access->rest && text_starts_with(access->rest, "unix:") &&
        access->rest[strlen("unix:")] != '/')
        return error_set(err, ERROR_INVALID, "expected unix:/path, found \"%s\"", access->rest);
    if (access->rest && !text_starts_with(access->rest, "unix:") &&
        http_check_url(access->rest, err) < 0)
        return -1;
    if (check_path("path", access->path, ret_key, err) < 0 ||
        check_path("conf", access->conf, ret_key, err) < 0)
        return -1;
    return access->place.address ? check_ssh(access, ret_key, err) : 0;
}
