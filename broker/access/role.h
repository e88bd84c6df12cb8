/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of roles.  A role may do what the roles before it may, and more.
 */
#pragma once

enum access_role {
    ACCESS_NONE,       /* nothing */
    ACCESS_VIEWER,     /* look */
    ACCESS_OPERATOR,   /* stop things, and lift one's own stops */
    ACCESS_DISPATCHER, /* start moves of nodes */
    ACCESS_ADMIN,
    ACCESS_ROLE_COUNT,
};

/* "operator"; never NULL. */
const char *access_role_name(enum access_role role) __attribute__((returns_nonnull));

/* What it may do more than the role before it, for the documentation. */
const char *access_role_help(enum access_role role) __attribute__((returns_nonnull));

/* ACCESS_NONE for an unknown name, and for "none". */
enum access_role access_role_find(const char *name);
