/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The settings of machines that are reached over SSH: rows for a kind's own table, and from what
 * they filled to a struct ssh_host.
 *
 *     struct own { struct ssh_place place; struct ssh_access access; };
 *     static const struct setting settings[] = {
 *         SSH_PLACE_SETTINGS("ssh_", struct own, place),
 *         SSH_ACCESS_SETTINGS("ssh_", struct own, access),
 *     };
 */
#pragma once

#include "base/input/settings.h"
#include "base/world/ssh.h"

#include <stddef.h>

/* Which machine. */
struct ssh_place {
    char *address;
    char *host_key;
};

/* How to get in; many machines may share it. */
struct ssh_access {
    int64_t port;
    char *user;
    char *key;   /* file */
    char *agent; /* socket */
    char *jump;  /* [USER@]HOST[:PORT]; an IPv6 address in brackets */
    char *jump_host_key;
};

#define SSH_PLACE_SETTINGS(prefix, type, member)                                                   \
    { prefix "address",                                                                            \
      SETTING_TEXT,                                                                                \
      offsetof(type, member.address),                                                              \
      "",                                                                                          \
      0,                                                                                           \
      0,                                                                                           \
      "the machine's host name or address" },                                                      \
    {                                                                                              \
        prefix "host_key", SETTING_TEXT, offsetof(type, member.host_key), "", 0, 0,                \
            "its SSH host key, as `ssh-keyscan -t ed25519` prints it without the name; more than " \
            "one: commas between them"                                                             \
    }

#define SSH_ACCESS_SETTINGS(prefix, type, member)                                                  \
    { prefix "port", SETTING_INT, offsetof(type, member.port), "22", 1, 65535, "SSH port" },       \
        { prefix "user",                                                                           \
          SETTING_TEXT,                                                                            \
          offsetof(type, member.user),                                                             \
          "root",                                                                                  \
          0,                                                                                       \
          0,                                                                                       \
          "the user that logs in there" },                                                         \
        { prefix "key",                                                                            \
          SETTING_PATH,                                                                            \
          offsetof(type, member.key),                                                              \
          "",                                                                                      \
          0,                                                                                       \
          0,                                                                                       \
          "private key: a file with mode 0600, ed25519 or ecdsa, without a passphrase" },          \
        { prefix "agent",                                                                          \
          SETTING_TEXT,                                                                            \
          offsetof(type, member.agent),                                                            \
          "",                                                                                      \
          0,                                                                                       \
          0,                                                                                       \
          "socket of an SSH agent, instead of the key's file" },                                   \
        { prefix "jump",                                                                           \
          SETTING_TEXT,                                                                            \
          offsetof(type, member.jump),                                                             \
          "",                                                                                      \
          0,                                                                                       \
          0,                                                                                       \
          "the jump host: `USER@HOST:PORT`; user and port as above if left out; it takes the "     \
          "same key" },                                                                            \
    {                                                                                              \
        prefix "jump_host_key", SETTING_TEXT, offsetof(type, member.jump_host_key), "", 0, 0,      \
            "the jump host's SSH host key"                                                         \
    }

/* A host, and what it points to.  `host.jump` points into the struct: it must not be moved. */
struct ssh_target {
    struct ssh_host host; /* borrows from place and access */
    struct ssh_host jump;
    char *jump_user;
    char *jump_address;
};

/* -1: ERROR_INVALID. *ret_key: the key, without a prefix, that is wrong. */
int ssh_target_make(const struct ssh_place *place, const struct ssh_access *access,
                    struct ssh_target *target, const char **ret_key, struct error *err)
    __attribute__((warn_unused_result));
void ssh_target_clear(struct ssh_target *target);

/* The checks of ssh_target_make() that concern the access alone. */
int ssh_access_check(const struct ssh_access *access, const char **ret_key, struct error *err)
    __attribute__((warn_unused_result));
