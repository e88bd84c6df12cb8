/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From settings to hosts.
 */
#include "base/world/ssh_settings.h"

#include "base/memory.h"
#include "base/world/ssh_keys.h"

#include <string.h>

static int refuse(const char **ret_key, const char *key, const char *why, struct error *err)
{
    *ret_key = key;
    return error_set(err, ERROR_INVALID, "%s", why);
}

/* Reads [USER@]HOST[:PORT]. */
static int read_jump(const struct ssh_access *access, struct ssh_target *target, struct error *err)
{
    const char *at = strrchr(access->jump, '@');
    const char *host = at ? at + 1 : access->jump, *end;
    long long port = access->port;

    if (*host == '[' && strchr(host, ']')) {
        end = strchr(++host, ']');
        if (end[1] != '\0' && (end[1] != ':' || !text_to_int(end + 2, 1, 65535, &port)))
            return error_set(err, ERROR_INVALID, "the port after ] is no number");
    } else {
        end = strchrnul(host, ':');
        if (*end == ':' && !text_to_int(end + 1, 1, 65535, &port))
            return error_set(err, ERROR_INVALID, "the port after : is no number");
    }
    if (end == host || at == access->jump)
        return error_set(err, ERROR_INVALID, "not of the form USER@HOST:PORT");
    target->jump_user = at ? text_format("%.*s", (int)(at - access->jump), access->jump)
                           : mem_copy_chars(access->user);
    target->jump_address = text_format("%.*s", (int)(end - host), host);
    target->jump = (struct ssh_host){
        .address = target->jump_address,
        .port = (int)port,
        .user = target->jump_user,
        .host_key = access->jump_host_key,
        .key_file = access->key,
        .agent_socket = access->agent,
    };
    return 0;
}

static int make_access(const struct ssh_access *access, struct ssh_target *target,
                       const char **ret_key, struct error *err)
{
    if (!access->key == !access->agent)
        return refuse(ret_key, "key", "exactly one of key and agent must be set", err);
    if (access->agent && access->agent[0] != '/')
        return refuse(ret_key, "agent", "the path of the agent's socket must be absolute", err);
    target->host = (struct ssh_host){
        .port = (int)access->port,
        .user = access->user,
        .key_file = access->key,
        .agent_socket = access->agent,
    };
    if (!access->jump)
        return access->jump_host_key ? refuse(ret_key, "jump_host_key", "needs jump", err) : 0;
    *ret_key = "jump";
    if (read_jump(access, target, err) < 0)
        return -1;
    if (!access->jump_host_key)
        return refuse(ret_key, "jump_host_key", "jump needs the jump host's key", err);
    *ret_key = "jump_host_key";
    if (ssh_keys_check(access->jump_host_key, err) < 0)
        return -1;
    target->host.jump = &target->jump;
    return 0;
}

int ssh_access_check(const struct ssh_access *access, const char **ret_key, struct error *err)
{
    struct ssh_target target = { 0 };
    int result = make_access(access, &target, ret_key, err);

    ssh_target_clear(&target);
    return result;
}

int ssh_target_make(const struct ssh_place *place, const struct ssh_access *access,
                    struct ssh_target *target, const char **ret_key, struct error *err)
{
    *target = (struct ssh_target){ 0 };
    if (make_access(access, target, ret_key, err) < 0) {
        ssh_target_clear(target);
        return -1;
    }
    target->host.address = place->address;
    target->host.host_key = place->host_key;
    if (place->address && place->host_key && ssh_keys_check(place->host_key, err) == 0)
        return 0;
    ssh_target_clear(target);
    if (!place->address)
        return refuse(ret_key, "address", "required", err);
    *ret_key = "host_key";
    return place->host_key
               ? -1
               : refuse(ret_key, "host_key",
                        "required: `ssh-keyscan -t ed25519 HOST` shows it; compare it with "
                        "/etc/ssh/ssh_host_ed25519_key.pub on the machine itself",
                        err);
}

void ssh_target_clear(struct ssh_target *target)
{
    mem_free(target->jump_user);
    mem_free(target->jump_address);
    *target = (struct ssh_target){ 0 };
}
